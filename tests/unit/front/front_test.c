/* SPDX-License-Identifier: MIT */
/*
 * unit/front/front_test.c - fronts by name; words that miss both ways on every CPU
 */
#include "fake_engine.h"

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
 * The tools take the second one for one because of its distance.
 */
IN_CHILD(test_stop_word)
{
	const uintptr_t words[] = { front_stop_word, front_gone_word };

	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		CHILD_CHECK((words[i] & 255) == USLAB_SHEAF_FULL);
		CHILD_CHECK(*(void **)words[i] == NULL);
		CHILD_CHECK(front_is_stopped(words[i]));
	}
	CHILD_CHECK(front_gone_word == front_stop_word + USLAB_SHEAF_SIZE);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_by_name),
		cmocka_unit_test(test_stop_word),
		cmocka_unit_test(test_stop_words),
		cmocka_unit_test(test_stop_words_made_up),
#if USLAB_HAVE_RSEQ
		cmocka_unit_test(test_inline_misses),
#endif
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
