/* SPDX-License-Identifier: MIT */
/*
 * unit/os/unwind/unwind_test.c - call stacks, with libgcc's unwinder as the model
 *
 * Frames of many shapes are stacked up at random; at the innermost one both
 * unwinders look at the same stack.
 */
#include <pthread.h>
#include <search.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>
#include <cmocka.h>

#include "arch/unwind.h"
#include "bare.h"
#include "base/bits.h"
#include "child.h"
#include "os/unwind/unwind.h"
#include "stack_model.h"

static __thread unsigned int seed = 1;

static unsigned int rnd(unsigned int n)
{
	seed = seed * 1103515245 + 12345;
	return (seed >> 16) % n;
}

/* ---- shapes of frames ------------------------------------------------------------------------ */

static noinline int descend(unsigned int depth);
static __thread volatile int sink;

static noinline int plain(unsigned int depth)
{
	return descend(depth) + 1;
}

static noinline int with_array(unsigned int depth)
{
	volatile char array[5000];

	array[depth] = 1;
	return descend(depth) + array[depth];
}

static noinline int with_large_array(unsigned int depth)
{
	volatile char array[300000];

	array[depth] = 1;
	return descend(depth) + array[depth];
}

static noinline int with_alloca(unsigned int depth)
{
	volatile char *array = __builtin_alloca(rnd(2000) + 64);

	array[depth] = 1;
	return descend(depth) + array[depth];
}

static noinline int realigned(unsigned int depth)
{
	volatile _Alignas(64) char array[128];

	array[depth] = 1;
	return descend(depth) + array[depth];
}

static noinline int realigned_alloca(unsigned int depth)
{
	volatile _Alignas(128) char array[256];
	volatile char *more = __builtin_alloca(rnd(300) + 64);

	array[depth] = 1;
	more[depth] = 2;
	return descend(depth) + array[depth] + more[depth];
}

static noinline int many_arguments(unsigned int depth, int b, int c, int d, int e, int f, int g,
				   int h, int i)
{
	return descend(depth) + b + c + d + e + f + g + h + i;
}

static noinline int variadic(unsigned int depth, ...)
{
	va_list args;
	int ret;

	va_start(args, depth);
	ret = descend(depth) + va_arg(args, int);
	va_end(args);
	return ret;
}

static noinline int pointed(unsigned int depth)
{
	return descend(depth) + 3;
}

static __thread unsigned int callback_depth;

static int compare(const void *a, const void *b)
{
	unsigned int depth = callback_depth;

	callback_depth = 0; /* once */
	if (depth)
		sink = descend(depth);
	return *(const int *)a - *(const int *)b;
}

static noinline int through_libc(unsigned int depth)
{
	int values[8] = { 5, 3, 7, 1, 8, 2, 6, 4 };

	callback_depth = depth;
	qsort(values, ARRAY_SIZE(values), sizeof(values[0]), compare);
	return values[0];
}

static void on_signal(int number)
{
	(void)number;
	compare(&(int){ 1 }, &(int){ 2 });
}

static noinline int through_signal(unsigned int depth)
{
	callback_depth = depth;
	raise(SIGUSR1);
	return 1;
}

static noinline int descend(unsigned int depth)
{
	if (!depth--) {
		look();
		return 0;
	}
	switch (rnd(12)) {
	case 0:
		return with_array(depth) + 1;
	case 1:
		return with_alloca(depth) + 1;
	case 2:
		return realigned(depth) + 1;
	case 3:
		return realigned_alloca(depth) + 1;
	case 4:
		return many_arguments(depth, 1, 2, 3, 4, 5, 6, 7, 8) + 1;
	case 5:
		return variadic(depth, 7) + 1;
	case 6:
		return pointed(depth) + 1;
	case 7:
		return rnd(8) ? plain(depth) + 1 : with_large_array(depth) + 1;
	case 8:
		return depth ? through_libc(depth) + 1 : plain(depth) + 1;
	case 9:
		return depth && !rnd(4) ? through_signal(depth) + 1 : plain(depth) + 1;
	default:
		return plain(depth) + 1;
	}
}

/* ---- tests ----------------------------------------------------------------------------------- */

static unsigned int rounds(void)
{
	return bare_process() ? 5000 : 100;
}

static void catch_signals(int flags)
{
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = flags | SA_NODEFER };

	sigaction(SIGUSR1, &action, NULL);
}

static void use_other_stack(stack_t *stack)
{
	*stack = (stack_t){ .ss_size = 8ul << 20 };
	stack->ss_sp = mmap(NULL, stack->ss_size, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	sigaltstack(stack, NULL);
}

static void test_random_shapes(void **state)
{
	unsigned int i;

	(void)state;
	catch_signals(0);
	for (i = 0; i < rounds(); i++) {
		sink = descend(rnd(10));
		assert_true(is_like_model());
	}
}

static void test_on_other_stack(void **state)
{
	const stack_t none = { .ss_flags = SS_DISABLE };
	stack_t stack;
	unsigned int i;

	(void)state;
	use_other_stack(&stack);
	catch_signals(SA_ONSTACK);
	for (i = 0; i < rounds() / 10; i++) {
		callback_depth = rnd(5) + 1;
		raise(SIGUSR1);
		assert_true(is_like_model());
		sink = descend(rnd(10));
		assert_true(is_like_model());
	}
	catch_signals(0);
	sigaltstack(&none, NULL);
	munmap(stack.ss_sp, stack.ss_size);
	sink = descend(3);
	assert_true(is_like_model());
}

static void *in_thread(void *arg)
{
	unsigned int i;

	seed = (unsigned int)(uintptr_t)arg;
	for (i = 0; i < rounds() / 4; i++) {
		sink = descend(rnd(10));
		if (!is_like_model())
			return arg;
	}
	return NULL;
}

static void test_in_threads(void **state)
{
	pthread_t thread[4];
	pthread_attr_t attr;
	unsigned int i;

	(void)state;
	catch_signals(0);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 8ul << 20); /* musl's are of 128 KiB */
	for (i = 0; i < ARRAY_SIZE(thread); i++)
		assert_int_equal(pthread_create(&thread[i], &attr, in_thread,
						(void *)(uintptr_t)(i + 7)),
				 0);
	for (i = 0; i < ARRAY_SIZE(thread); i++) {
		void *ret;

		pthread_join(thread[i], &ret);
		assert_null(ret);
	}
}

static noinline unsigned int recurse(unsigned int depth, uintptr_t *pcs, unsigned int max)
{
	volatile unsigned int nr = depth ? recurse(depth - 1, pcs, max) : os_unwind(NULL, pcs, max);

	return nr;
}

static void test_deep_recursion(void **state)
{
	static const unsigned int depths[] = { 20000, 20, 20000, 9000, 300, 12000 };
	uintptr_t pcs[16];
	unsigned int i, j;

	(void)state;
	if (!FINDS_CALLERS)
		skip_because("neither tables nor frame pointers say who called");
	for (i = 0; i < ARRAY_SIZE(depths); i++) {
		assert_int_equal(recurse(depths[i], pcs, ARRAY_SIZE(pcs)), ARRAY_SIZE(pcs));
		for (j = 2; j < ARRAY_SIZE(pcs); j++)
			assert_int_equal(pcs[j], pcs[1]);
	}
	assert_int_equal(recurse(100, pcs, 1), 1);
}

/* More than is looked through page by page, and more than a cached rule can say. */
static noinline int huge_frame(void)
{
	volatile char array[3 << 19];

	array[0] = 1;
	look();
	return array[0];
}

static void test_huge_frame(void **state)
{
	unsigned int i;

	(void)state;
	for (i = 0; i < 3; i++) {
		sink = huge_frame();
		assert_true(is_like_model());
	}
}

static noinline unsigned int inner(const void *caller, struct stack *s, unsigned int max)
{
	s->nr = os_unwind(caller, s->pc, max);
	return s->nr;
}

static noinline void outer(struct stack *all, struct stack *part)
{
	inner(NULL, all, DEPTH);
	inner(__builtin_return_address(0), part, DEPTH);
	sink = 1;
}

/* By the frame of os_unwind() itself, which each CPU has in another form. */
static void test_first_frame(void **state)
{
	uintptr_t here = (uintptr_t)test_first_frame;
	uintptr_t pc = 0;

	(void)state;
	assert_int_equal(os_unwind(NULL, &pc, 1), 1);
	assert_in_range(pc, here, here + 512);
}

static void test_from_caller(void **state)
{
	struct stack all, part;

	(void)state;
	if (!FINDS_CALLERS)
		skip_because("neither tables nor frame pointers say who called");
	outer(&all, &part);
	assert_true(part.nr > 1);
	assert_int_equal(part.nr, all.nr - 2); /* without inner() and outer() */
	assert_memory_equal(part.pc, all.pc + 2, part.nr * sizeof(part.pc[0]));
	assert_int_equal(inner((void *)part.pc[1], &all, 1), 1);
	assert_int_equal(all.pc[0], part.pc[1]);
}

static void test_caller_is_elsewhere(void **state)
{
	uintptr_t pcs[4] = { 0 };

	(void)state;
	assert_int_equal(os_unwind((void *)0x123456, pcs, 4), 1);
	assert_int_equal(pcs[0], 0x123456);
	assert_int_equal(pcs[1], 0);
}

#if HAS_MODEL
/* Code without tables. */
static void *make_code(const void *bytes, size_t size)
{
	void *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_true(code != MAP_FAILED);
	memcpy(code, bytes, size);
	return code;
}

typedef void (*caller_fn)(void (*fn)(void));

/* As JITs make it: it calls what it is given, and keeps its frame pointer. */
static caller_fn make_caller(void)
{
	/* push %rbp; mov %rsp,%rbp; call *%rdi; pop %rbp; ret */
	static const uint8_t bytes[] = { 0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3 };

	return (caller_fn)make_code(bytes, sizeof(bytes));
}

static void test_code_without_tables(void **state)
{
	caller_fn code = make_caller();
	struct stack here;
	unsigned int i;

	(void)state;
	look();
	here = ours;
	for (i = 0; i < 3; i++) {
		code(look);
		/* look, the code, then this function as before, at another place */
		assert_int_equal(ours.nr, here.nr + 1);
		assert_int_equal(ours.pc[1], (uintptr_t)code + 6);
		assert_memory_equal(ours.pc + 3, here.pc + 2, (here.nr - 2) * sizeof(here.pc[0]));
	}
	munmap((void *)code, 4096);
}

static noinline void look_only(void)
{
	ours.nr = os_unwind(NULL, ours.pc, DEPTH);
	__asm__ volatile("" ::: "memory");
}

/* Calls lfind() as its last argument, which calls back the other one. */
typedef void *(*search_fn)(const void *key, const void *base, size_t *nr, size_t size,
			   caller_fn compare, __typeof__(lfind) *lfind);

/* [0] as above; [1] with the address of what it calls in the sixth argument */
static void *run_time_code[2];

static void make_run_time_code(void)
{
	/* push %rbp; mov %rsp,%rbp; call *%r9; pop %rbp; ret */
	static const uint8_t bytes[] = { 0x55, 0x48, 0x89, 0xe5, 0x41, 0xff, 0xd1, 0x5d, 0xc3 };

	run_time_code[0] = (void *)make_caller();
	run_time_code[1] = make_code(bytes, sizeof(bytes));
}

/* Stack: look_only, [0], lfind in libc, [1]. */
static noinline void look_through_libc(void)
{
	size_t nr = 1;

	((search_fn)run_time_code[1])((void *)look_only, "", &nr, 1, (caller_fn)run_time_code[0],
				      lfind);
	__asm__ volatile("" ::: "memory");
}

/*
 * Behind the first frame of such code tables of libraries are read as copies, by system call. The
 * third walk needs none: where the call is denied the table would have gone.
 */
static void walk_without_copies(void *arg)
{
	struct stack first;
	volatile unsigned int i; /* one call, at one place */

	(void)arg;
	for (i = 0; i < 3; i++) { /* learns rules, finds that they hold, makes no more calls */
		first = ours;
		if (i == 2)
			child_deny(SYS_process_vm_readv, EFAULT);
		look_through_libc();
	}
	CHILD_CHECK(ours.nr > 5);
	CHILD_CHECK(ours.pc[1] == (uintptr_t)run_time_code[0] + 6);
	CHILD_CHECK(ours.pc[3] == (uintptr_t)run_time_code[1] + 7);
	CHILD_CHECK(ours.nr == first.nr);
	CHILD_CHECK(!memcmp(ours.pc, first.pc, first.nr * sizeof(first.pc[0])));
}

static void test_run_time_code_again(void **state)
{
	struct child c;

	(void)state;
	if (!bare_process())
		skip(); /* valgrind looks at the arguments of the call for stack pages */
	make_run_time_code();
	c = child_run(walk_without_copies, NULL);
	assert_true(child_passed(&c));
	munmap(run_time_code[0], 4096);
	munmap(run_time_code[1], 4096);
}

/* Whatever the frame pointer is: the stack is right up to there, and nothing is read elsewhere. */
static void try_frame_pointer(void (*code)(void (*fn)(void), uintptr_t fp), uintptr_t fp)
{
	code(look_only, fp);
	assert_in_range(ours.nr, 2, DEPTH);
	assert_int_equal(ours.pc[1], (uintptr_t)code + 6);
}

static void test_garbage_frame_pointers(void **state)
{
	/* push %rbp; mov %rsi,%rbp; call *%rdi; pop %rbp; ret */
	static const uint8_t bytes[] = { 0x55, 0x48, 0x89, 0xf5, 0xff, 0xd7, 0x5d, 0xc3 };
	void (*code)(void (*fn)(void), uintptr_t fp) =
		(void (*)(void (*)(void), uintptr_t))make_code(bytes, sizeof(bytes));
	uintptr_t sp = (uintptr_t)__builtin_frame_address(0);
	char *block = malloc(100);
	unsigned int i;

	(void)state;
	if (getenv("USLAB_TEST_VALGRIND"))
		skip(); /* it says of garbage that it is not initialised */
	for (i = 0; i < rounds(); i++)
		try_frame_pointer(code, sp - 512 + i);
	for (i = 0; i < rounds(); i++)
		try_frame_pointer(code, sp + 512ul * i); /* beyond the end of the stack as well */
	for (i = 0; i < 64; i++)
		try_frame_pointer(code, 1ul << i);
	try_frame_pointer(code, 0);
	try_frame_pointer(code, UINTPTR_MAX);
	try_frame_pointer(code, UINTPTR_MAX - 15);
	try_frame_pointer(code, (uintptr_t)block);
	try_frame_pointer(code, (uintptr_t)look_only);
	free(block);
	munmap((void *)code, 4096);
}
#endif

/* ---- signals at any time --------------------------------------------------------------------- */

static volatile unsigned int nr_ticks, nr_alike;

static void on_tick(int number)
{
	struct stack a = { 0 }, b = { 0 };

	(void)number;
	a.nr = os_unwind(NULL, a.pc, DEPTH);
	_Unwind_Backtrace(add_to_model, &b);
	nr_ticks++;
	nr_alike += a.nr == b.nr && !memcmp(a.pc + 1, b.pc + 1, (a.nr - 1) * sizeof(a.pc[0]));
}

/*
 * Prologues and stubs of the linker are interrupted as well; for a few of
 * these there is no rule here.
 */
static void test_interrupted_anywhere(void **state)
{
	struct itimerval interval = { { 0, 500 }, { 0, 500 } };
	struct sigaction action = { .sa_handler = on_tick, .sa_flags = SA_RESTART };
	unsigned int i = 0;

	(void)state;
	if (!bare_process())
		skip(); /* tools deliver signals at places of their own */
	catch_signals(0);
	sigaction(SIGPROF, &action, NULL);
	setitimer(ITIMER_PROF, &interval, NULL);
	while (nr_ticks < 50 && i++ < 2000000) {
		sink = descend(rnd(6));
		assert_true(is_like_model());
	}
	interval = (struct itimerval){ 0 };
	setitimer(ITIMER_PROF, &interval, NULL);
	assert_true(nr_ticks >= 50);
	assert_true(!HAS_MODEL || nr_alike * 10 >= nr_ticks * 8);
}

/* ---- */

/*
 * A sandbox in which a process may not read its own memory by system call. Stacks do not need it:
 * EFAULT would be an answer, that nothing is there.
 */
static void unwind_in_sandbox(void *arg)
{
	child_deny(SYS_process_vm_readv, *(const int *)arg);
	sink = descend(5);
	CHILD_CHECK(is_like_model());
	sink = huge_frame();
	CHILD_CHECK(is_like_model());
}

static void test_in_sandbox(void **state)
{
	static int errors[] = { EPERM, EFAULT };

	(void)state;
	if (!bare_process())
		skip(); /* valgrind looks at the arguments of the other call */
	for (unsigned int i = 0; i < ARRAY_SIZE(errors); i++) {
		struct child c = child_run(unwind_in_sandbox, &errors[i]);

		assert_true(child_passed(&c));
	}
}

IN_CHILD(test_after_fork)
{
	sink = descend(5);
	CHILD_CHECK(is_like_model());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random_shapes),
		cmocka_unit_test(test_on_other_stack),
		cmocka_unit_test(test_in_threads),
		cmocka_unit_test(test_deep_recursion),
		cmocka_unit_test(test_huge_frame),
		cmocka_unit_test(test_first_frame),
		cmocka_unit_test(test_from_caller),
		cmocka_unit_test(test_caller_is_elsewhere),
#if HAS_MODEL
		cmocka_unit_test(test_code_without_tables),
		cmocka_unit_test(test_garbage_frame_pointers),
		cmocka_unit_test(test_run_time_code_again),
#endif
		cmocka_unit_test(test_interrupted_anywhere),
		cmocka_unit_test(test_after_fork),
		cmocka_unit_test(test_in_sandbox),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
