/* SPDX-License-Identifier: MIT */
/*
 * unit/os/unwind/unwind_stack_test.c - stacks of all kinds, and what is remembered of them
 */
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <cmocka.h>

#include "bare.h"
#include "child.h"
#include "os/unwind/unwind_stack.h"
#include "stack_model.h"

#define PAGES 16u /* of a stack of our own */
#define STACK_BYTES (PAGES * STACK_PAGE)

static volatile int sink;

static noinline int descend(unsigned int depth)
{
	volatile char array[300];

	array[depth] = 1;
	if (depth)
		return descend(depth - 1) + array[depth];
	look();
	return array[0];
}

/* A stack at an address, or anywhere, with a page above it that cannot be read. */
static char *map_stack(char *at, bool closed_above)
{
	int flags = MAP_PRIVATE | MAP_ANONYMOUS | (at ? MAP_FIXED_NOREPLACE : 0);
	size_t size = STACK_BYTES + (closed_above ? STACK_PAGE : 0);
	char *stack = mmap(at, size, PROT_READ | PROT_WRITE, flags, -1, 0);

	if (stack == MAP_FAILED)
		return NULL;
	if (closed_above)
		CHILD_CHECK(!mprotect(stack + STACK_BYTES, STACK_PAGE, PROT_NONE));
	return stack;
}

/* ---- coroutines of libc ---------------------------------------------------------------------- */

#ifdef __GLIBC__ /* others have none */
static ucontext_t here, there;

static void coroutine(void)
{
	for (unsigned int i = 0;; i++) {
		sink = descend(i % 10);
		CHILD_CHECK(is_like_model());
		swapcontext(&there, &here);
	}
}

static void switch_stacks(__attribute__((unused)) void *arg)
{
	char *stack = map_stack(NULL, true);

	for (unsigned int round = 0; round < 3; round++) {
		CHILD_CHECK(stack && !getcontext(&there));
		there.uc_stack = (stack_t){ .ss_sp = stack, .ss_size = STACK_BYTES };
		makecontext(&there, coroutine, 0);
		for (unsigned int i = 0; i < 20; i++) {
			swapcontext(&here, &there);
			sink = descend(i % 7);
			CHILD_CHECK(is_like_model());
		}
		munmap(stack, STACK_BYTES + STACK_PAGE);
		sink = descend(3);
		CHILD_CHECK(is_like_model());
		stack = map_stack(NULL, true);
	}
}

static void test_coroutines(void **state)
{
	struct child c;

	if (THREAD_SANITIZED)
		skip(); /* it needs a notification of each switch */
	c = child_run(switch_stacks, state);
	assert_true(child_passed(&c));
}

#endif

/* ---- a stack that shrinks -------------------------------------------------------------------- */

#if HAS_MODEL
/*
 * stack_call(fn, sp): calls fn on the other stack, through a function whose table is wrong: that
 * its return address lies 9 pages up. What is there is 0, which ends the walk, or nothing at all.
 */
__asm__(".text\n"
	".type stack_call, @function\nstack_call:\n"
	"push %rbp\nmov %rsp, %rbp\nmov %rsi, %rsp\ncall stack_liar\nmov %rbp, %rsp\npop %rbp\nret\n"
	".size stack_call, .-stack_call\n"
	".type stack_liar, @function\nstack_liar:\n.cfi_startproc\n.cfi_def_cfa 7, 9 * 4096\n"
	"push %rbx\ncall *%rdi\npop %rbx\nret\n"
	".cfi_endproc\n.size stack_liar, .-stack_liar\n");
extern void stack_call(void (*fn)(void), char *sp);

static noinline void look_alone(void)
{
	ours.nr = os_unwind(NULL, ours.pc, DEPTH);
	__asm__ volatile("" ::: "memory");
}

static void walk_on(char *stack)
{
	stack_call(look_alone, stack + 6 * STACK_PAGE);
	CHILD_CHECK(ours.nr == 2); /* look_alone() and the liar */
}

/*
 * What was found readable is so no longer: as if one coroutine had ended and a
 * smaller one taken its place.
 */
static void shrink_stack(char *at)
{
	char *stack = map_stack(at, false);

	CHILD_CHECK(stack);
	for (unsigned int i = 0; i < 3; i++)
		walk_on(stack);
	CHILD_CHECK(!mprotect(stack + STACK_BYTES / 2, STACK_BYTES / 2, PROT_NONE));
	walk_on(stack);
	CHILD_CHECK(!munmap(stack + STACK_BYTES / 2, STACK_BYTES / 2));
	walk_on(stack);
	munmap(stack, STACK_BYTES / 2);
	look();
	CHILD_CHECK(is_like_model());
}

/* The start of the mapping that has the address. */
static char *mapping_of(uintptr_t address)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	unsigned long start, end, found = 0;
	char line[512];

	CHILD_CHECK(maps);
	while (fgets(line, sizeof(line), maps))
		if (sscanf(line, "%lx-%lx", &start, &end) == 2 && address - start < end - start)
			found = start;
	fclose(maps);
	return (char *)found;
}

static void shrink_anywhere(__attribute__((unused)) void *arg)
{
	shrink_stack(NULL);
}

/*
 * Just below the control block of the first thread, where the kernel likes to put what is mapped
 * next. Where something is there already there is nothing to see.
 */
static void shrink_below_control_block(__attribute__((unused)) void *arg)
{
	char *top = mapping_of((uintptr_t)__builtin_thread_pointer());
	char *stack = map_stack(top - STACK_BYTES, false);

	if (!stack)
		return;
	munmap(stack, STACK_BYTES);
	shrink_stack(stack);
}

/* Where the other stack goes: just below the thread's own one and its guard page. */
static void *shrink_below_thread(void *place)
{
	CHILD_CHECK(!munmap(place, STACK_BYTES));
	shrink_stack(place);
	return NULL;
}

/*
 * One range holds the other stack, a guard page and the thread's stack, so that the place below the
 * thread's stack is ours whatever else the process has mapped. It is free
 * again just before it is used.
 */
static void shrink_in_thread(__attribute__((unused)) void *arg)
{
	char *range = mmap(NULL, 2 * STACK_BYTES + STACK_PAGE, PROT_NONE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *own = range + STACK_BYTES + STACK_PAGE;
	pthread_attr_t attr;
	pthread_t thread;

	CHILD_CHECK(range != MAP_FAILED);
	CHILD_CHECK(!mprotect(own, STACK_BYTES, PROT_READ | PROT_WRITE));
	pthread_attr_init(&attr);
	CHILD_CHECK(!pthread_attr_setstack(&attr, own, STACK_BYTES));
	CHILD_CHECK(!pthread_create(&thread, &attr, shrink_below_thread, range));
	pthread_join(thread, NULL);
}

static void test_stack_that_shrinks(void **state)
{
	void (*const places[])(void *) = { shrink_anywhere, shrink_below_control_block,
					   shrink_in_thread };

	if (!bare_process())
		skip(); /* stacks are of a size, and places are taken */
	for (unsigned int i = 0; i < ARRAY_SIZE(places); i++) {
		struct child c = child_run(places[i], state);

		assert_true(child_passed(&c));
	}
}
#endif

/* ---- threads and signals --------------------------------------------------------------------- */

static void *in_small_thread(void *arg)
{
	for (unsigned int i = 0; i < 20; i++) {
		sink = descend(i % 15);
		if (!is_like_model())
			return arg;
	}
	return NULL;
}

static void test_small_threads(void **state)
{
	size_t size = bare_process() ? PTHREAD_STACK_MIN + 2 * STACK_PAGE : 512 * STACK_PAGE;
	pthread_attr_t attr;
	pthread_t thread;
	void *ret;

	pthread_attr_init(&attr);
	for (unsigned int guard = 0; guard < 2; guard++) {
		assert_int_equal(pthread_attr_setstacksize(&attr, size), 0);
		assert_int_equal(pthread_attr_setguardsize(&attr, guard * STACK_PAGE), 0);
		assert_int_equal(pthread_create(&thread, &attr, in_small_thread, state), 0);
		pthread_join(thread, &ret);
		assert_null(ret);
	}
}

static unsigned int nr_signals;

static void on_signal(__attribute__((unused)) int number)
{
	nr_signals++;
	sink = descend(nr_signals % 10);
	CHILD_CHECK(is_like_model());
}

/* An alternate stack that ends where nothing can be read, and is gone afterwards. */
IN_CHILD(test_alternate_stack)
{
	const stack_t none = { .ss_flags = SS_DISABLE };
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_ONSTACK };

	sigaction(SIGUSR1, &action, NULL);
	for (unsigned int i = 0; i < 5; i++) {
		char *memory = map_stack(NULL, true);
		stack_t stack = { .ss_sp = memory, .ss_size = STACK_BYTES };

		CHILD_CHECK(memory && !sigaltstack(&stack, NULL));
		raise(SIGUSR1);
		raise(SIGUSR1);
		sink = descend(i);
		CHILD_CHECK(is_like_model());
		CHILD_CHECK(!sigaltstack(&none, NULL));
		munmap(memory, STACK_BYTES + STACK_PAGE);
		sink = descend(i);
		CHILD_CHECK(is_like_model());
	}
	CHILD_CHECK(nr_signals == 10);
}

/* ---- the own stack --------------------------------------------------------------------------- */

/*
 * Once a thread has been that deep the kernel is not asked any more: it would say no to everything.
 */
static void ask_no_more(void)
{
	sink = descend(20);
	CHILD_CHECK(is_like_model());
	child_deny(SYS_process_vm_readv, EFAULT);
	child_deny(SYS_rt_sigprocmask, EFAULT);
	for (unsigned int i = 0; i < 20; i++) {
		sink = descend(i);
		CHILD_CHECK(is_like_model());
	}
}

static void ask_no_more_here(__attribute__((unused)) void *arg)
{
	ask_no_more();
}

static void *ask_no_more_in_thread(void *arg)
{
	ask_no_more();
	return arg;
}

static void ask_no_more_there(void *arg)
{
	pthread_t thread;

	CHILD_CHECK(!pthread_create(&thread, NULL, ask_no_more_in_thread, arg));
	pthread_join(thread, NULL);
}

static void test_own_stack_is_known(void **state)
{
	struct child c;

	if (!bare_process())
		skip(); /* tools need these calls themselves */
	c = child_run(ask_no_more_here, state);
	assert_true(child_passed(&c));
	c = child_run(ask_no_more_there, state);
	assert_true(child_passed(&c));
}

static void test_remembered(void **state)
{
	uintptr_t page = ALIGN_DOWN((uintptr_t)__builtin_frame_address(0), STACK_PAGE);
	struct range before = unwind_stack_known();

	(void)state;
	unwind_stack_remember((struct range){ STACK_PAGE, 2 * STACK_PAGE });
	assert_int_equal(unwind_stack_known().start, before.start);
	unwind_stack_remember((struct range){ page - STACK_PAGE, page + STACK_PAGE });
	assert_int_equal(unwind_stack_known().start, page - STACK_PAGE);
	assert_int_equal(unwind_stack_known().end, page + STACK_PAGE);
	unwind_stack_remember((struct range){ page - (STACK_PAGE << 20), page });
	assert_int_equal(unwind_stack_known().end, page + STACK_PAGE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#ifdef __GLIBC__
		cmocka_unit_test(test_coroutines),
#endif
#if HAS_MODEL
		cmocka_unit_test(test_stack_that_shrinks),
#endif
		cmocka_unit_test(test_small_threads),
		cmocka_unit_test(test_alternate_stack),
		cmocka_unit_test(test_own_stack_is_known),
		cmocka_unit_test(test_remembered),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
