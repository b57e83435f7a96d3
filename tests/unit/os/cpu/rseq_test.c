/* SPDX-License-Identifier: MIT */
/*
 * unit/os/cpu/rseq_test.c - what libc registered, the fence, running on a CPU
 *
 * The fence is tried on the sequences that programs run (<uslab/arch/rseq-x86_64.h>): one thread
 * pushes and pops on its CPU's array, another takes the whole array away time and again. An object
 * seen twice or never is a fence that does not hold.
 */
#include <errno.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <uslab/layout.h>
#include <cmocka.h>

#include "arch/cpu.h"
#include "base/atomic.h"
#include "base/bits.h"
#include "child.h"
#include "sys_rseq.h"
#include "os/cpu/cpu.h"
#include "os/cpu/rseq.h"

#if ARCH_HAS_SEQUENCES && !defined(USLAB_NO_RSEQ)
#include <uslab/arch/rseq-x86_64.h>
#define SEQUENCES 1
#else
#define SEQUENCES 0
#define uslab_rseq_push(handle, obj, rseq) ((void)(handle), (void)(obj), 0)
#define uslab_rseq_pop(handle, rseq, obj) ((void)(handle), (void)(obj), 0)
#endif

/* Of <linux/membarrier.h> since 5.10, as numbers: older headers compile this, too. */
#define FENCE_OF_CPU 1		 /* MEMBARRIER_CMD_FLAG_CPU */
#define FENCE_SEQUENCES (1 << 7) /* MEMBARRIER_CMD_PRIVATE_EXPEDITED_RSEQ */

static cpu_set_t allowed; /* this process's CPUs, at its start */

static int note_allowed(void **state)
{
	(void)state;
	return sched_getaffinity(0, sizeof(allowed), &allowed);
}

static bool affinity_untouched(void)
{
	cpu_set_t now;

	return sched_getaffinity(0, sizeof(now), &now) == 0 && CPU_EQUAL(&allowed, &now);
}

static bool libc_registers(void)
{
	return __rseq_size != 0;
}

static bool kernel_has_fence(void)
{
	long commands = syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0);

	return commands > 0 && (commands & FENCE_SEQUENCES);
}

/* Must be the first test: this process has not been registered for the fence. */
static void test_fence_before_init(void **state)
{
	(void)state;
	errno = 77;
	if (kernel_has_fence()) {
		assert_int_equal(syscall(SYS_membarrier, FENCE_SEQUENCES, 0, 0), -1);
		assert_int_equal(errno, EPERM);
		errno = 77;
		assert_int_equal(os_rseq_fence(0), 0);
	}
	assert_int_equal(errno, 77);
}

static void test_init(void **state)
{
	(void)state;
	errno = 77;
	os_rseq_init();
	assert_int_equal(os_rseq_on, SEQUENCES && libc_registers());
	assert_int_equal(os_rseq_offset, __rseq_offset);
	os_rseq_init();
	assert_int_equal(os_rseq_on, SEQUENCES && libc_registers());
	assert_int_equal(errno, 77);
	os_cpu_check();
}

static void note_cpu(void *arg)
{
	*(int *)arg = os_rseq_cpu();
}

static void test_cpu(void **state)
{
	unsigned int here = os_current_cpu();
	int cpu = -3;

	(void)state;
	if (!libc_registers()) {
		assert_true(os_rseq_cpu() == -1 || os_rseq_cpu() == -2);
		return;
	}
	assert_int_equal(os_run_on_cpu(here, note_cpu, &cpu), 0);
	assert_int_equal(cpu, here);
}

/* The kernel resets the number when a registration ends. */
static void *unregistered(void *arg)
{
	int *cpu = arg;

	if (sys_rseq_unregister())
		*cpu = os_rseq_cpu();
	return NULL;
}

static void test_cpu_unregistered(void **state)
{
	pthread_t thread;
	int cpu = -3;

	(void)state;
	if (!libc_registers())
		skip();
	pthread_create(&thread, NULL, unregistered, &cpu);
	pthread_join(thread, NULL);
	assert_true(cpu == -1 || cpu == -2);
}

struct visit {
	unsigned int calls;
	unsigned int cpu;
};

static void note_visit(void *arg)
{
	struct visit *v = arg;

	v->calls++;
	v->cpu = (unsigned int)sched_getcpu();
}

static void test_run_on_cpu(void **state)
{
	unsigned int cpu;

	(void)state;
	errno = 77;
	for (cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		struct visit v = { 0, ~0u };

		if (!CPU_ISSET(cpu, &allowed))
			continue;
		assert_int_equal(os_run_on_cpu(cpu, note_visit, &v), 0);
		assert_int_equal(v.calls, 1);
		assert_int_equal(v.cpu, cpu);
		assert_true(affinity_untouched());
	}
	assert_int_equal(errno, 77);
}

static void test_run_on_cpu_fails(void **state)
{
	static const unsigned int absent[] = { 5000, 8191, 8192, ~0u };
	struct visit v = { 0, 0 };
	size_t i;

	(void)state;
	errno = 77;
	for (i = 0; i < ARRAY_SIZE(absent); i++)
		assert_int_equal(os_run_on_cpu(absent[i], note_visit, &v), -EINVAL);
	assert_int_equal(errno, 77);
	assert_int_equal(v.calls, 0);
	assert_true(affinity_untouched());
}

static void test_fence_result(void **state)
{
	unsigned int cpu;

	(void)state;
	errno = 77;
	for (cpu = 0; cpu < os_topology.nr_cpu_ids; cpu++) {
		if (kernel_has_fence())
			assert_int_equal(os_rseq_fence(cpu), 0);
		else
			assert_true(os_rseq_fence(cpu) < 0);
	}
	assert_int_equal(errno, 77);
}

/* In a child: registered anew by the hook, and also where the hook was not called. */
static void child_with_hook(void *arg)
{
	(void)arg;
	os_rseq_register_again();
	if (os_rseq_on && kernel_has_fence())
		CHILD_CHECK(syscall(SYS_membarrier, FENCE_SEQUENCES, FENCE_OF_CPU, 0) == 0);
}

static void child_without_hook(void *arg)
{
	(void)arg;
	errno = 77;
	if (kernel_has_fence())
		CHILD_CHECK(os_rseq_fence(0) == 0);
	CHILD_CHECK(errno == 77);
}

static void child_without_membarrier(void *arg)
{
	struct visit v = { 0, 0 };

	(void)arg;
	child_deny(SYS_membarrier, ENOSYS);
	errno = 77;
	os_rseq_init();
	CHILD_CHECK(os_rseq_fence(0) == -ENOSYS);
	CHILD_CHECK(os_run_on_cpu(os_current_cpu(), note_visit, &v) == 0 && v.calls == 1);
	CHILD_CHECK(errno == 77);
}

/* With neither a fence nor a way to other CPUs there are no sequences. */
static void child_that_may_not_move(void *arg)
{
	bool on;

	(void)arg;
	os_rseq_init();
	on = os_rseq_on;
	child_deny(SYS_membarrier, EPERM);
	os_rseq_init();
	CHILD_CHECK(os_rseq_on == on);
	child_deny(SYS_sched_setaffinity, EPERM);
	os_rseq_init();
	CHILD_CHECK(!os_rseq_on);
}

/* A filter that answers EPERM looks like a missing registration: no endless loop. */
static void child_membarrier_eperm(void *arg)
{
	(void)arg;
	child_deny(SYS_membarrier, EPERM);
	CHILD_CHECK(os_rseq_fence(0) == -EPERM);
}

static void test_fence_in_child(void **state)
{
	struct child c;

	(void)state;
	c = child_run(child_with_hook, NULL);
	assert_true(child_passed(&c));
	c = child_run(child_without_hook, NULL);
	assert_true(child_passed(&c));
}

static void test_no_fence(void **state)
{
	struct child c;

	(void)state;
	c = child_run(child_without_membarrier, NULL);
	assert_true(child_passed(&c));
	c = child_run(child_membarrier_eperm, NULL);
	assert_true(child_passed(&c));
	c = child_run(child_that_may_not_move, NULL);
	assert_true(child_passed(&c));
}

/*
 * The chase. Layout as in <uslab/layout.h>: the word of CPU n lies n + 3 windows behind the handle.
 */
#define TAKES 3000
#define OBJECTS 4096 /* numbered 1..OBJECTS-1; an object is its number */

struct chase {
	_Alignas(256) uintptr_t sheaf[32];   /* entry 0 is NULL */
	_Alignas(256) uintptr_t stopped[32]; /* the word that always misses is its last entry's */
	char *windows;			     /* the handle is at its start */
	unsigned int cpu;		     /* the pusher's */
	bool stop;
	unsigned long pushed[OBJECTS]; /* by number; pusher only until joined */
	unsigned long popped[OBJECTS];
	unsigned long taken[OBJECTS]; /* taker only */
	unsigned long nr_taken;
};

static uintptr_t *word_of(struct chase *c, unsigned int cpu)
{
	return (uintptr_t *)(c->windows + (cpu + USLAB_WINDOW_CPU0) * USLAB_WINDOW_SIZE);
}

static void push_and_pop(void *arg)
{
	struct chase *c = arg;
	unsigned int i = 0;
	void *obj;

	while (!load_relaxed(&c->stop)) {
		uintptr_t number = i++ % (OBJECTS - 1) + 1;

		if (uslab_rseq_push(c->windows, (void *)number, __rseq_offset))
			c->pushed[number]++;
		if (i % 3 == 0 && uslab_rseq_pop(c->windows, __rseq_offset, &obj))
			c->popped[(uintptr_t)obj]++;
	}
}

static void *pusher(void *arg)
{
	struct chase *c = arg;

	/* Other CPUs' words miss always, so where it runs otherwise does not matter. */
	os_run_on_cpu(c->cpu, push_and_pop, c);
	return NULL;
}

/* Takes the array of the pusher's CPU: stop its word, wait the sequences out, empty, restart. */
static int take_all(struct chase *c)
{
	uintptr_t *word = word_of(c, c->cpu);
	uintptr_t stopped = (uintptr_t)&c->stopped[31];
	uintptr_t top = 0;
	uintptr_t *entry;
	int ret;

	/* A sequence that was under way may put its top over ours: then that is the top. */
	while (load_relaxed(word) != stopped) {
		top = xchg(word, stopped);
		ret = os_rseq_fence(c->cpu);
		if (ret)
			return ret;
	}
	for (entry = (uintptr_t *)top; entry > c->sheaf; entry--) {
		c->taken[*entry]++;
		c->nr_taken++;
	}
	store_release(word, (uintptr_t)c->sheaf); /* pairs with the sequences' loads */
	return 0;
}

static void check_books(struct chase *c)
{
	unsigned int i;

	for (i = 1; i < OBJECTS; i++)
		assert_int_equal(c->pushed[i], c->popped[i] + c->taken[i]);
	assert_true(c->nr_taken > 0);
}

static void test_fence_holds(void **state)
{
	size_t size = (os_topology.nr_cpu_ids + USLAB_WINDOW_CPU0) * USLAB_WINDOW_SIZE;
	struct chase *c = aligned_alloc(256, sizeof(*c));
	pthread_t thread;
	unsigned int i;

	(void)state;
	if (!os_rseq_on || !kernel_has_fence())
		skip();
	memset(c, 0, sizeof(*c));
	c->windows = mmap(NULL, size, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	assert_ptr_not_equal(c->windows, MAP_FAILED);
	for (i = 0; i < MIN(os_topology.nr_cpu_ids, (unsigned int)CPU_SETSIZE); i++)
		if (CPU_ISSET(i, &allowed))
			c->cpu = i;
	for (i = 0; i < USLAB_WINDOW_CPU0 + os_topology.nr_cpu_ids; i++)
		*(uintptr_t *)(c->windows + i * USLAB_WINDOW_SIZE) = (uintptr_t)&c->stopped[31];
	*word_of(c, c->cpu) = (uintptr_t)c->sheaf;

	pthread_create(&thread, NULL, pusher, c);
	while (load_relaxed(word_of(c, c->cpu)) == (uintptr_t)c->sheaf)
		sched_yield(); /* until it runs */
	for (i = 0; i < TAKES; i++)
		assert_int_equal(take_all(c), 0);
	store_relaxed(&c->stop, true);
	pthread_join(thread, NULL);
	assert_int_equal(take_all(c), 0);
	check_books(c);
	munmap(c->windows, size);
	free(c);
}

static void test_topology_turns_off(void **state)
{
	(void)state;
	assert_int_equal(os_topology_set(4, 2), 0);
	assert_false(os_rseq_on);
	os_rseq_init();
	assert_false(os_rseq_on);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fence_before_init),
		cmocka_unit_test(test_init),
		cmocka_unit_test(test_cpu),
		cmocka_unit_test(test_cpu_unregistered),
		cmocka_unit_test(test_run_on_cpu),
		cmocka_unit_test(test_run_on_cpu_fails),
		cmocka_unit_test(test_fence_result),
		cmocka_unit_test(test_fence_in_child),
		cmocka_unit_test(test_no_fence),
		cmocka_unit_test(test_fence_holds),
		cmocka_unit_test(test_topology_turns_off),
	};

	return cmocka_run_group_tests(tests, note_allowed, NULL);
}
