/* SPDX-License-Identifier: MIT */
/*
 * unit/front/front_test.c - fronts by name; words that miss both ways on every CPU; words that move
 */
#include "fake_engine.h"

#include <sys/syscall.h>

#define ID 300u

IN_CHILD(test_by_name)
{
	static const char *const unknown[] = { "", "arra", "arrays", "Array", "slub" };

	CHILD_CHECK(front_by_name("array") == &front_array_ops);
	CHILD_CHECK(front_by_name("cpuslab") == &front_cpuslab_ops);
	CHILD_CHECK(front_by_name("queues") == &front_queues_ops);
	CHILD_CHECK(front_by_name("none") == &front_none_ops);
	for (size_t i = 0; i < ARRAY_SIZE(unknown); i++)
		CHILD_CHECK(!front_by_name(unknown[i]));
}

/*
 * <uslab/layout.h>: a word that misses both ways points at an entry with low byte 248 that is NULL.
 * The tools take the second and the third one for such because of their distance.
 */
IN_CHILD(test_stop_word)
{
	const uintptr_t words[] = { front_stop_word, front_gone_word, front_moved_word };

	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		CHILD_CHECK((words[i] & 255) == USLAB_SHEAF_FULL);
		CHILD_CHECK(*(void **)words[i] == NULL);
		CHILD_CHECK(front_is_stopped(words[i]));
	}
	CHILD_CHECK(front_gone_word == front_stop_word + USLAB_SHEAF_SIZE);
	CHILD_CHECK(front_moved_word == front_gone_word + USLAB_SHEAF_SIZE);
	CHILD_CHECK(!front_is_stopped(0) && !front_is_stopped(front_stop_word - sizeof(void *)));
}

static void words_are(unsigned int id, uintptr_t value)
{
	for (int cpu = -2; cpu < (int)os_topology.nr_cpu_ids; cpu++) {
		CHILD_CHECK(*percpu_inline_word(id, cpu) == value);
		CHILD_CHECK(*percpu_word(id, cpu) == value);
	}
}

static void check_stop_words(void)
{
	for (int cpu = -2; cpu < (int)os_topology.nr_cpu_ids; cpu++) {
		*percpu_inline_word(ID, cpu) = 1;
		*percpu_word(ID, cpu) = 1;
		*percpu_inline_word(ID + 1, cpu) = 1;
		*percpu_word(ID + 1, cpu) = 1;
		*percpu_spare(ID, cpu) = 1;
	}
	front_stop_words(ID);
	words_are(ID, front_stop_word);
	words_are(ID + 1, 1);
	for (int cpu = -2; cpu < (int)os_topology.nr_cpu_ids; cpu++)
		CHILD_CHECK(*percpu_spare(ID, cpu) == 1);
}

IN_CHILD(test_stop_words)
{
	floors_init(0, 0);
	check_stop_words();
}

/* A made-up topology goes without sequences: both the inline and the other word are stopped. */
IN_CHILD(test_stop_words_made_up)
{
	floors_init(16, 2);
	CHILD_CHECK(!percpu_rseq);
	CHILD_CHECK(percpu_inline_word(ID, 3) != percpu_word(ID, 3));
	check_stop_words();
}

#if USLAB_HAVE_RSEQ
/* The inline hit paths miss on a stopped word, on any CPU and without a registration. */
IN_CHILD(test_inline_misses)
{
	void *obj = &obj;

	floors_init(0, 0);
	front_stop_words(ID);
	CHILD_CHECK(!uslab_rseq_pop(percpu_handle(ID), uslab_rseq_offset, &obj));
	CHILD_CHECK(obj == &obj);
	CHILD_CHECK(!uslab_rseq_push(percpu_handle(ID), &obj, uslab_rseq_offset));
	words_are(ID, front_stop_word);
	CHILD_CHECK(*(void **)front_stop_word == NULL);
}
#endif

static void places_are(uintptr_t inlined, uintptr_t other)
{
	for (int cpu = 0; cpu < (int)os_topology.nr_cpu_ids; cpu++) {
		CHILD_CHECK(*percpu_word_at(ID, cpu, 0) == inlined);
		CHILD_CHECK(*percpu_word_at(ID, cpu, USLAB_WINDOW_GENERIC) == other);
	}
	/* by which the tools know stopped words */
	CHILD_CHECK(*percpu_inline_word(ID, -1) == front_stop_word);
}

/* Back and forth. */
IN_CHILD(test_words_move)
{
	struct front f = { .id = ID };

	floors_init(0, 0);
	front_stop_words(ID);
	if (!percpu_rseq)
		return;
	CHILD_CHECK(front_place_words(&f, false) == 0 && percpu_is_inline(ID));
	for (unsigned int round = 0; round < 3; round++) {
		CHILD_CHECK(front_place_words(&f, true) == 0 && !percpu_is_inline(ID));
		places_are(front_moved_word, front_stop_word);
		CHILD_CHECK(percpu_word(ID, 0) == percpu_word_at(ID, 0, USLAB_WINDOW_GENERIC));
		CHILD_CHECK(front_place_words(&f, false) == 0 && percpu_is_inline(ID));
		places_are(front_stop_word, front_moved_word);
		CHILD_CHECK(percpu_word(ID, 0) == percpu_inline_word(ID, 0));
	}
}

/* An array that a CPU has kept, since it could not be fenced: nothing changes. */
IN_CHILD(test_words_stay)
{
	struct front f = { .id = ID };
	int last;

	floors_init(0, 0);
	front_stop_words(ID);
	if (!percpu_rseq)
		return;
	last = (int)os_topology.nr_cpu_ids - 1;
	*percpu_inline_word(ID, last) = 64;
	CHILD_CHECK(front_place_words(&f, true) == -EBUSY);
	CHILD_CHECK(percpu_is_inline(ID) && *percpu_inline_word(ID, last) == 64);
	*percpu_inline_word(ID, last) = front_stop_word;
	places_are(front_stop_word, front_moved_word);
	child_deny(SYS_membarrier, EPERM);
	child_deny(SYS_sched_setaffinity, EPERM);
	CHILD_CHECK(front_place_words(&f, true) == -EPERM && percpu_is_inline(ID));
	places_are(front_stop_word, front_moved_word);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_by_name),
		cmocka_unit_test(test_stop_word),
		cmocka_unit_test(test_stop_words),
		cmocka_unit_test(test_stop_words_made_up),
		cmocka_unit_test(test_words_move),
		cmocka_unit_test(test_words_stay),
#if USLAB_HAVE_RSEQ
		cmocka_unit_test(test_inline_misses),
#endif
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
