/* SPDX-License-Identifier: MIT */
/*
 * unit/front/percpu_test.c - where words lie, and who may change them, in both modes
 *
 * Every test runs with sequences where this process has them, and again with a made-up topology,
 * which goes without.
 */
#include <errno.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <sys/syscall.h>

#include "arch/list_rseq.h"
#include "arch/malloc_rseq.h"
#include "base/atomic.h"
#include "base/mark.h"
#include "engine/slub/slub.h"
#include "fake_engine.h"
#include "sys_rseq.h"

#define ID 400u

BOTH_MODES(test_mode)
{
	CHILD_CHECK(percpu_rseq == os_rseq_on);
	CHILD_CHECK(!(percpu_rseq && os_topology.made_up));
	if (USLAB_HAVE_RSEQ && !os_topology.made_up)
		CHILD_CHECK(percpu_rseq == (__rseq_size != 0));
}

/* <uslab/layout.h> says where; the inline hit paths and tools rely on it. */
BOTH_MODES(test_layout)
{
	char *windows = page_windows();

	CHILD_CHECK(page_map.base + USLAB_WINDOWS_OFFSET == windows);
	for (unsigned int id = 0; id < USLAB_NR_HANDLES; id += 89) {
		char *handle = (char *)percpu_handle(id);

		CHILD_CHECK(handle == windows + id * 8);
		CHILD_CHECK(percpu_id((struct kmem_cache *)handle) == id);
		for (int cpu = -2; cpu < (int)os_topology.nr_cpu_ids; cpu++) {
			char *window = windows + ((long)cpu + 3) * (long)USLAB_WINDOW_SIZE;

			CHILD_CHECK(percpu_window(cpu) == window);
			CHILD_CHECK((char *)percpu_inline_word(id, cpu) ==
				    handle + (((long)cpu + 3) << USLAB_WINDOW_SHIFT));
			CHILD_CHECK((char *)percpu_spare(id, cpu) ==
				    window + USLAB_WINDOW_SPARES + id * 8);
			CHILD_CHECK((char *)percpu_state(id, cpu) ==
				    window + USLAB_WINDOW_STATE + id * USLAB_CPU_STATE_SIZE);
			CHILD_CHECK((char *)percpu_word(id, cpu) ==
				    window + (percpu_rseq ? 0 : USLAB_WINDOW_GENERIC) + id * 8);
		}
	}
}

/* The parts of a window for the highest cache number end before the next part. */
/*
 * Which lines push each other out of a way predictor: <uslab/layout.h>, at USLAB_CLASSES_OFFSET. No
 * distance of what one hit of a cache reads and writes may have that effect, on any CPU.
 */
static unsigned int way_of(uintptr_t p)
{
	static const unsigned char partner[] = { 27, 26, 25, 20, 21, 22, 23, 24 }; /* of 12 to 19 */
	unsigned int hash = 0;

	for (unsigned int i = 0; i < sizeof(partner); i++)
		hash |= (unsigned int)((p >> (12 + i) ^ p >> partner[i]) & 1) << i;
	return hash << 6 | (p >> 6 & 63);
}

BOTH_MODES(test_lines_of_a_hit)
{
	static const unsigned long places[] = { 0, USLAB_WINDOW_GENERIC, USLAB_WINDOW_ACCOUNTS,
						USLAB_WINDOW_OWNERS };

	for (unsigned int id = 1; id < USLAB_NR_HANDLES; id += 31)
		for (unsigned long cpu = 0; cpu < USLAB_MAX_CPUS; cpu++) {
			uintptr_t window = (uintptr_t)page_windows() + id * 8;
			uintptr_t mark = window + USLAB_WINDOW_MARKS;

			window += (cpu + USLAB_WINDOW_CPU0) << USLAB_WINDOW_SHIFT;
			for (size_t i = 0; i < ARRAY_SIZE(places); i++)
				CHILD_CHECK(way_of(window + places[i]) != way_of(mark));
			CHILD_CHECK(way_of(window + USLAB_WINDOW_ACCOUNTS) !=
				    way_of(window + USLAB_WINDOW_OWNERS));
		}
}

BOTH_MODES(test_layout_parts)
{
	char *window = percpu_window(0);
	unsigned int last = USLAB_NR_HANDLES - 1;

	CHILD_CHECK((char *)percpu_inline_word(last, 0) + 8 <= (char *)percpu_spare(0, 0));
	CHILD_CHECK((char *)percpu_spare(last, 0) + 8 <= window + USLAB_WINDOW_TABLES);
	CHILD_CHECK(window + USLAB_WINDOW_GENERIC + 8 * (last + 1) <= percpu_window(1));
	CHILD_CHECK(percpu_window((int)os_topology.nr_cpu_ids) <= (char *)percpu_state(0, 0));
	CHILD_CHECK((char *)percpu_state(last, 0) + USLAB_CPU_STATE_SIZE <=
		    (char *)percpu_state(0, 1));
	/* and it can be written */
	memset(percpu_state(last, (int)os_topology.nr_cpu_ids - 1), 0, USLAB_CPU_STATE_SIZE);
}

#if USLAB_HAVE_RSEQ
/* An area of this thread that the kernel does not know, in front of sequences. */
static __thread struct rseq area;

static ptrdiff_t area_on(int number)
{
	area.cpu_id = (uint32_t)number;
	area.cpu_id_start = number < 0 ? 0 : (uint32_t)number;
	return (char *)&area - (char *)__builtin_thread_pointer();
}

/* One object where all hit paths of that CPU find it. */
static const unsigned char class = ID % 128;

static void put_one(int number, uintptr_t *array, uintptr_t *obj)
{
	/* objects of 64 bytes in slabs of 4 KiB */
	*(uint64_t *)((char *)percpu_handle(ID % 128) + USLAB_WINDOW_MASKS) = PAGE_SIZE - 1;
	*(uint64_t *)((char *)percpu_handle(ID % 128) + USLAB_WINDOW_MAGICS) = UINT64_MAX / 64 + 1;
	obj[0] = 0;
	array[0] = 0;
	array[1] = (uintptr_t)obj;
	store_relaxed(percpu_inline_word(ID % 128, number), (uintptr_t)&array[1]);
	percpu_state(ID, number)->freelist = (uintptr_t)obj;
	percpu_state(ID, number)->slab = (uintptr_t)array;
}

static void take_and_put_one(int number, uintptr_t *array, uintptr_t *obj)
{
	ptrdiff_t rseq = area_on(number);
	void *state = percpu_state(ID, 0);
	void *handle = percpu_handle(ID % 128);
	void *p = NULL;

	CHILD_CHECK(uslab_rseq_pop(handle, rseq, &p) && p == obj);
	CHILD_CHECK(!uslab_rseq_pop(handle, rseq, &p));
	CHILD_CHECK(uslab_rseq_push(handle, obj, rseq) && array[1] == (uintptr_t)obj);
	CHILD_CHECK(arch_malloc_pop(page_map.base, &class, rseq, &p) && p == obj);
	CHILD_CHECK(!arch_malloc_pop(page_map.base, &class, rseq, &p));
	CHILD_CHECK(!mark_is_set(obj, USLAB_MARK_OFFSET));
	CHILD_CHECK(arch_malloc_push(page_map.base, ID % 128, rseq, obj));
	CHILD_CHECK(mark_is_set(obj, USLAB_MARK_OFFSET));
	CHILD_CHECK(!arch_malloc_push(page_map.base, ID % 128, rseq, obj));	/* it is free */
	CHILD_CHECK(!arch_malloc_push(page_map.base, ID % 128, rseq, obj + 1)); /* starts none */
	obj[0] = 0;
	CHILD_CHECK(*percpu_inline_word(ID % 128, number) == (uintptr_t)&array[1]);
	CHILD_CHECK(arch_list_pop(state, rseq, 0, (char *)obj, 64) == obj);
	CHILD_CHECK(!arch_list_pop(state, rseq, 0, (char *)obj, 64));
	CHILD_CHECK(arch_list_push(state, rseq, array, obj, obj));
	CHILD_CHECK(!arch_list_push(state, rseq, array, obj, obj));   /* it is the head */
	CHILD_CHECK(!arch_list_push(state, rseq, obj, array, array)); /* not its slab */
	CHILD_CHECK(percpu_state(ID, number)->freelist == (uintptr_t)obj);
}

/* Every CPU number that the layout has room for, and those of threads that have none. */
IN_CHILD(test_every_cpu_number)
{
	static uintptr_t array[32] __attribute__((aligned(256)));
	static uintptr_t obj[8] __attribute__((aligned(64)));
	void *p = NULL;

	floors_init(USLAB_MAX_CPUS, 1);
	for (int number = 0; number < USLAB_MAX_CPUS; number++) {
		put_one(number, array, obj);
		take_and_put_one(number, array, obj);
		store_relaxed(percpu_inline_word(ID % 128, number), 0ul);
		memset(percpu_state(ID, number), 0, USLAB_CPU_STATE_SIZE);
	}
	front_stop_words(ID % 128);
	for (int number = -2; number < 0; number++) {
		ptrdiff_t rseq = area_on(number);
		void *state = percpu_state(ID, 0);

		CHILD_CHECK(!uslab_rseq_pop(percpu_handle(ID % 128), rseq, &p));
		CHILD_CHECK(!uslab_rseq_push(percpu_handle(ID % 128), obj, rseq));
		CHILD_CHECK(!arch_malloc_pop(page_map.base, &class, rseq, &p));
		CHILD_CHECK(!arch_malloc_push(page_map.base, ID % 128, rseq, obj));
		CHILD_CHECK(!arch_list_pop(state, rseq, 0, page_map.base, PAGE_SIZE));
		CHILD_CHECK(!arch_list_push(state, rseq, array, obj, obj));
	}
}
#endif

BOTH_MODES(test_cpu)
{
	int cpu = here();

	CHILD_CHECK(percpu_cpu() == cpu);
}

static void *unregistered(void *arg)
{
	uintptr_t old = 0;
	int *cpu = arg;

	if (!sys_rseq_unregister())
		return NULL;
	*cpu = percpu_cpu();
	/* no sequence runs for such a thread, whatever CPU it names */
	for (int i = 0; i < (int)os_topology.nr_cpu_ids; i++)
		CHILD_CHECK(percpu_xchg(i, percpu_word(ID, i), 1, &old) == -EAGAIN);
	percpu_count(ID, FREE_SLAB); /* nowhere to count; no harm */
	return NULL;
}

IN_CHILD(test_cpu_unregistered)
{
	pthread_t thread;
	int cpu = -1;

	floors_init(0, 0);
	if (!percpu_rseq)
		return;
	pthread_create(&thread, NULL, unregistered, &cpu);
	pthread_join(thread, NULL);
	CHILD_CHECK(cpu == -1);
}

/* Some CPU of the window that this thread is not on, or -1. */
static int elsewhere(int cpu)
{
	return os_topology.nr_cpu_ids > 1 ? !cpu : -1;
}

BOTH_MODES(test_xchg)
{
	int cpu = here();
	int other = elsewhere(cpu);
	uintptr_t *word = percpu_word(ID, cpu);
	uintptr_t old = 0;

	*word = 11;
	CHILD_CHECK(percpu_xchg(cpu, word, 12, &old) == 0);
	CHILD_CHECK(old == 11 && *word == 12);
	if (other < 0)
		return;
	word = percpu_word(ID, other);
	*word = 21;
	old = 5;
	if (percpu_rseq) {
		CHILD_CHECK(percpu_xchg(other, word, 22, &old) == -EAGAIN);
		CHILD_CHECK(*word == 21);
	} else {
		CHILD_CHECK(percpu_xchg(other, word, 22, &old) == 0);
		CHILD_CHECK(old == 21 && *word == 22);
	}
}

BOTH_MODES(test_cmp2_store)
{
	int cpu = here();
	int other = elsewhere(cpu);
	uintptr_t *word = percpu_word(ID, cpu);
	uintptr_t flag = 7;

	*word = 1;
	CHILD_CHECK(percpu_cmp2_store(cpu, word, 1, &flag, 7, 2) == 0 && *word == 2);
	CHILD_CHECK(percpu_cmp2_store(cpu, word, 1, &flag, 7, 3) == 1 && *word == 2);
	CHILD_CHECK(percpu_cmp2_store(cpu, word, 2, &flag, 6, 3) == 1 && *word == 2);
	CHILD_CHECK(percpu_cmp2_store(cpu, word, 2, &flag, 7 + (1ul << 32), 3) == 1 && *word == 2);
	CHILD_CHECK(percpu_cmp2_store(cpu, word, 2 + (1ul << 32), &flag, 7, 3) == 1 && *word == 2);
	CHILD_CHECK(percpu_cmp2_store(cpu, word, 2, word, 2, ~0ul) == 0 && *word == ~0ul);
	CHILD_CHECK(flag == 7);
	if (other < 0 || !percpu_rseq)
		return;
	word = percpu_word(ID, other);
	*word = 1;
	CHILD_CHECK(percpu_cmp2_store(other, word, 1, &flag, 7, 2) == -EAGAIN && *word == 1);
}

BOTH_MODES(test_cmp2_push)
{
	int cpu = here();
	int other = elsewhere(cpu);
	uintptr_t *word = percpu_word(ID, cpu);
	uintptr_t slot[3] = { 0 };
	uintptr_t end = 7;

	*word = 1;
	CHILD_CHECK(percpu_cmp2_push(cpu, word, 1, &end, 7, &slot[1], 99) == 0);
	CHILD_CHECK(*word == (uintptr_t)&slot[1] && slot[1] == 99);
	CHILD_CHECK(percpu_cmp2_push(cpu, word, 1, &end, 7, &slot[2], 98) == 1);
	CHILD_CHECK(percpu_cmp2_push(cpu, word, *word, &end, 6, &slot[2], 98) == 1);
	CHILD_CHECK(percpu_cmp2_push(cpu, word, *word, &end, 7 + (1ul << 32), &slot[2], 98) == 1);
	CHILD_CHECK(percpu_cmp2_push(cpu, word, *word + (1ul << 32), &end, 7, &slot[2], 98) == 1);
	CHILD_CHECK(*word == (uintptr_t)&slot[1] && !slot[2] && !slot[0] && end == 7);
	if (other < 0 || !percpu_rseq)
		return;
	word = percpu_word(ID, other);
	*word = 1;
	CHILD_CHECK(percpu_cmp2_push(other, word, 1, &end, 7, &slot[2], 98) == -EAGAIN);
	CHILD_CHECK(*word == 1 && !slot[2]);
}

BOTH_MODES(test_stop_xchg)
{
	here();
	for (int cpu = 0; cpu < (int)os_topology.nr_cpu_ids; cpu++) {
		uintptr_t *word = percpu_word(ID, cpu);
		uintptr_t old = 0;

		*word = 100 + (uintptr_t)cpu;
		CHILD_CHECK(percpu_stop_xchg(cpu, word, front_stop_word, &old) == 0);
		CHILD_CHECK(old == 100 + (uintptr_t)cpu && *word == front_stop_word);
	}
}

/* One word, both, none: what is there is taken, and a word with 0 is not written. */
static void stop_both_of(int cpu)
{
	uintptr_t *const word[2] = { percpu_word(ID, cpu), percpu_spare(ID, cpu) };

	for (unsigned int set = 0; set < 4; set++) {
		uintptr_t old[2] = { 1, 1 };

		for (unsigned int i = 0; i < 2; i++)
			*word[i] = set & 1u << i ? 100 + i : 0;
		CHILD_CHECK(percpu_stop_both(cpu, word, front_stop_word, old) == 0);
		for (unsigned int i = 0; i < 2; i++) {
			bool was_set = set & 1u << i;

			CHILD_CHECK(old[i] == (was_set ? 100 + i : 0));
			CHILD_CHECK(*word[i] == (was_set ? front_stop_word : 0));
		}
	}
}

BOTH_MODES(test_stop_both)
{
	here();
	for (int cpu = 0; cpu < (int)os_topology.nr_cpu_ids; cpu++)
		stop_both_of(cpu);
}

/* Of every CPU, and of none that there is not. What it is good for: tests/race/capacity_test.c. */
BOTH_MODES(test_settle)
{
	here();
	for (int cpu = 0; cpu < (int)os_topology.nr_cpu_ids; cpu++)
		CHILD_CHECK(percpu_settle(cpu) == 0);
}

/* The way back is open from any CPU. */
BOTH_MODES(test_put_back)
{
	here();
	for (int cpu = 0; cpu < (int)os_topology.nr_cpu_ids; cpu++) {
		uintptr_t *word = percpu_word(ID, cpu);
		uintptr_t old;

		*word = 5;
		CHILD_CHECK(percpu_stop_xchg(cpu, word, front_stop_word, &old) == 0);
		percpu_put_back(cpu, word, old + 1);
		CHILD_CHECK(*word == 6);
	}
}

/* A filter that comes later, and forbids that too: an error, and nothing is taken. */
static void forbid_moves(void)
{
	int cpu = here();
	uintptr_t *const word[2] = { percpu_word(ID, cpu), percpu_spare(ID, cpu) };
	uintptr_t old[2] = { 0, 0 };

	child_deny(SYS_sched_setaffinity, EPERM);
	*word[0] = 5;
	*word[1] = 6;
	if (!percpu_rseq)
		return;
	CHILD_CHECK(percpu_stop_xchg(cpu, word[0], front_stop_word, old) == -EPERM);
	CHILD_CHECK(percpu_stop_both(cpu, word, front_stop_word, old) == -EPERM);
	CHILD_CHECK(percpu_settle(cpu) == -EPERM);
	CHILD_CHECK(*word[0] == 5 && *word[1] == 6);
}

/* Old kernels have no fence for sequences: the taker goes to that CPU itself. */
IN_CHILD(test_stop_by_migration)
{
	cpu_set_t allowed;
	cpu_set_t after;
	uintptr_t old = 0;

	floors_init(0, 0);
	child_deny(SYS_membarrier, EINVAL);
	sched_getaffinity(0, sizeof(allowed), &allowed);
	for (int cpu = 0; cpu < (int)MIN(os_topology.nr_cpu_ids, (unsigned int)CPU_SETSIZE);
	     cpu++) {
		uintptr_t *word = percpu_word(ID, cpu);
		int ret;

		*word = 100 + (uintptr_t)cpu;
		old = 0;
		ret = percpu_stop_xchg(cpu, word, front_stop_word, &old);
		if (CPU_ISSET(cpu, &allowed) || !percpu_rseq)
			CHILD_CHECK(!ret && old == 100 + (uintptr_t)cpu &&
				    *word == front_stop_word);
		else if (ret) /* outside of the cpuset: nothing may have changed */
			CHILD_CHECK(*word == 100 + (uintptr_t)cpu);
	}
	sched_getaffinity(0, sizeof(after), &after);
	CHILD_CHECK(CPU_EQUAL(&allowed, &after));
	stop_both_of(here());
	forbid_moves();
	/* a CPU that nobody can go to */
	if (percpu_rseq)
		CHILD_CHECK(percpu_stop_xchg(8000, &old, 1, &old) < 0);
}

/* Sequences of several threads on one CPU do not lose a step of one another. */
#define STEPS 20000

static void *add_steps(void *arg)
{
	uintptr_t *done = arg;

	while (*done < STEPS) {
		int cpu = percpu_cpu();
		uintptr_t *word = percpu_word(ID, cpu);
		uintptr_t value = load_relaxed(word);

		if (!percpu_cmp2_store(cpu, word, value, word, value, value + 1))
			++*done;
	}
	return NULL;
}

BOTH_MODES(test_steps_are_atomic)
{
	uintptr_t done[4] = { 0 };
	pthread_t thread[4];
	uintptr_t sum = 0;

	for (int cpu = 0; cpu < (int)os_topology.nr_cpu_ids; cpu++)
		*percpu_word(ID, cpu) = 0;
	for (int i = 0; i < 4; i++)
		pthread_create(&thread[i], NULL, add_steps, &done[i]);
	for (int i = 0; i < 4; i++)
		pthread_join(thread[i], NULL);
	for (int cpu = 0; cpu < (int)os_topology.nr_cpu_ids; cpu++)
		sum += *percpu_word(ID, cpu);
	CHILD_CHECK(sum == 4 * STEPS);
}

BOTH_MODES(test_count)
{
	int cpu = here();
	struct engine e = { .id = ID };

	percpu_count(ID, ALLOC_SLAB);
	percpu_count(ID, ALLOC_SLAB);
	percpu_count(ID, CPU_PARTIAL_DRAIN);
	CHILD_CHECK(percpu_state(ID, cpu)->stat[ALLOC_SLAB] == 2);
	CHILD_CHECK(percpu_state(ID, cpu)->stat[CPU_PARTIAL_DRAIN] == 1);
	CHILD_CHECK(percpu_state(ID, cpu)->stat[FREE_SLAB] == 0);
	CHILD_CHECK(percpu_state(ID + 1, cpu)->stat[ALLOC_SLAB] == 0);

	/* the engine's events: off, on, off again */
	engine_count(&e, FREE_SLAB);
	percpu_set_stats(true);
	engine_count(&e, FREE_SLAB);
	percpu_set_stats(false);
	engine_count(&e, FREE_SLAB);
	CHILD_CHECK(percpu_state(ID, cpu)->stat[FREE_SLAB] == 1);
}

/* And no slot is written by two: each CPU's pushes make a chain of all of them. */
static void *push_steps(void *arg)
{
	uintptr_t *done = arg;

	while (*done < STEPS) {
		int cpu = percpu_cpu();
		uintptr_t *word = percpu_word(ID, cpu);
		uintptr_t top = load_relaxed(word);

		if (!percpu_cmp2_push(cpu, word, top, word, top, (uintptr_t *)top + 1, top))
			++*done;
	}
	return NULL;
}

BOTH_MODES(test_pushes_are_atomic)
{
	unsigned int cpus = os_topology.nr_cpu_ids;
	uintptr_t(*slots)[4 * STEPS + 2] = calloc(cpus, sizeof(*slots));
	uintptr_t done[4] = { 0 };
	unsigned int pushed = 0;
	pthread_t thread[4];

	for (unsigned int cpu = 0; cpu < cpus; cpu++)
		*percpu_word(ID, (int)cpu) = (uintptr_t)slots[cpu];
	for (int i = 0; i < 4; i++)
		pthread_create(&thread[i], NULL, push_steps, &done[i]);
	for (int i = 0; i < 4; i++)
		pthread_join(thread[i], NULL);
	for (unsigned int cpu = 0; cpu < cpus; cpu++)
		for (uintptr_t *slot = slots[cpu]; slot[1]; slot++, pushed++)
			CHILD_CHECK(slot[1] == (uintptr_t)slot);
	CHILD_CHECK(pushed == 4 * STEPS);
	free(slots);
}

/* Without sequences a CPU's lock keeps others out, and fork finds all of them free. */
static void *enter_it(void *arg)
{
	int *done = arg;

	percpu_enter(1);
	store_release(done, 1); /* pairs with the load in test_enter */
	percpu_exit(1);
	return NULL;
}

IN_CHILD(test_enter)
{
	pthread_t thread;
	int done = 0;

	floors_init(4, 2);
	percpu_enter(1);
	pthread_create(&thread, NULL, enter_it, &done);
	usleep(20000);
	CHILD_CHECK(!load_acquire(&done));
	percpu_exit(1);
	pthread_join(thread, NULL);
	CHILD_CHECK(done);
	percpu_enter(0);
	percpu_exit(0);
}

IN_CHILD(test_fork)
{
	uintptr_t word = 1;
	uintptr_t old;

	floors_init(4, 2);
	percpu_each_lock(lock_fork_prepare);
	percpu_each_lock(lock_fork_parent);
	CHILD_CHECK(percpu_xchg(2, &word, 2, &old) == 0);
	percpu_each_lock(lock_fork_prepare);
	percpu_each_lock(lock_fork_child);
	for (int cpu = 0; cpu < 4; cpu++) {
		percpu_enter(cpu);
		percpu_exit(cpu);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mode),
		cmocka_unit_test(test_layout),
		cmocka_unit_test(test_lines_of_a_hit),
		cmocka_unit_test(test_layout_parts),
#if USLAB_HAVE_RSEQ
		cmocka_unit_test(test_every_cpu_number),
#endif
		cmocka_unit_test(test_cpu),
		cmocka_unit_test(test_cpu_unregistered),
		cmocka_unit_test(test_xchg),
		cmocka_unit_test(test_cmp2_store),
		cmocka_unit_test(test_cmp2_push),
		cmocka_unit_test(test_stop_xchg),
		cmocka_unit_test(test_stop_both),
		cmocka_unit_test(test_settle),
		cmocka_unit_test(test_put_back),
		cmocka_unit_test(test_stop_by_migration),
		cmocka_unit_test(test_steps_are_atomic),
		cmocka_unit_test(test_pushes_are_atomic),
		cmocka_unit_test(test_count),
		cmocka_unit_test(test_enter),
		cmocka_unit_test(test_fork),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
