/* SPDX-License-Identifier: MIT */
/*
 * race/stop_model_test.c - a small model of percpu_stop_xchg() against sequences, all interleavings
 *
 * ctest: timeout=60 label=quick
 *
 * One CPU with three threads (two pops, a push, an install), of which one runs at a time, and a
 * drain on another CPU. A step is one load or store of shared memory. Whenever another thread comes
 * to run, and at each fence, the sequence that was under way goes back to its start. Every state
 * that can be reached is visited; at the end each object must be in one place and each sheaf with
 * one owner. With any one of the rules broken there must be an end where that is not so.
 *
 * The same with a drain after which the front is not open for the sheaf of the install any more: it
 * stays closed, or its sheaves have another capacity. Then no sheaf may be in the word at the end.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { A, B, SHEAVES };
enum { POP, PUSH, INSTALL, THREADS };
enum owner { WORD, SPARE, THREAD, DRAINED };

/* What can be broken; the same five as in race/sequences_test.c. */
enum {
	NOT_RESTARTED = 1, /* another thread's run does not abort a sequence; the fence neither */
	COMMIT_FIRST = 2,  /* install stores, then looks */
	CLOSED_UNSEEN = 4, /* install does not look at closed in its sequence */
	NO_FENCE = 8,
	NO_RETRY = 16,
	ALL_BROKEN = 31,
	NO_SETTLE = 32 /* with change: installs that have looked at closed are not waited for */
};

#define CAPACITY 3
#define OBJECTS 4 /* 1, 2 in sheaf A; 3 in B; 4 is what the push gives back */
#define STOP 0xff
#define DONE 100
#define REF(sheaf, top) ((uint8_t)((sheaf) << 4 | (top)))
#define SHEAF(ref) ((ref) >> 4)
#define TOP(ref) ((ref)&15)

struct thread {
	uint8_t pc;
	uint8_t top; /* of the word as loaded */
	uint8_t obj;
	uint8_t todo;
};

/* All of it is bytes, so that equal states are equal memory. */
struct state {
	uint8_t word; /* REF, or STOP */
	uint8_t closed;
	uint8_t change; /* what closed is after the drain; not 0: B is refused for good */
	uint8_t entry[SHEAVES][CAPACITY + 1];
	uint8_t owner[SHEAVES];
	uint8_t spare_top; /* of the sheaf that is SPARE */
	uint8_t running;
	struct thread t[THREADS];
	uint8_t drain_pc;
	uint8_t drain_value;
	uint8_t held;	 /* bit o: the program has object o */
	uint8_t flushed; /* bit o: back in its slab */
};

#define TABLE (1u << 20)

static struct state table[TABLE];
static bool used[TABLE];
static unsigned int nr_states;
static unsigned int nr_ends;
static unsigned int nr_wrong;
static int broken;

/* ---- steps; each changes s and returns nothing, all that goes wrong is seen at the end ---- */

static void flush_sheaf(struct state *s, uint8_t ref)
{
	for (unsigned int i = 1; i <= TOP(ref); i++)
		s->flushed |= (uint8_t)(1u << s->entry[SHEAF(ref)][i]);
	s->owner[SHEAF(ref)] = DRAINED;
}

static void step_pop(struct state *s, struct thread *t)
{
	switch (t->pc) {
	case 0:
		t->top = s->word;
		t->pc = t->top == STOP || TOP(t->top) == 0 ? DONE : 1;
		break;
	case 1:
		t->obj = s->entry[SHEAF(t->top)][TOP(t->top)];
		t->pc = 2;
		break;
	case 2:
		s->word = (uint8_t)(t->top - 1);
		s->held |= (uint8_t)(1u << t->obj);
		t->pc = --t->todo ? 0 : DONE;
		break;
	}
}

static void step_push(struct state *s, struct thread *t)
{
	switch (t->pc) {
	case 0:
		t->top = s->word;
		t->pc = t->top == STOP || TOP(t->top) == CAPACITY ? DONE : 1;
		break;
	case 1:
		s->entry[SHEAF(t->top)][TOP(t->top) + 1] = OBJECTS;
		t->pc = 2;
		break;
	case 2:
		s->word = (uint8_t)(t->top + 1);
		s->held &= (uint8_t) ~(1u << OBJECTS);
		t->pc = DONE;
		break;
	}
}

/* The sequence is 2 to 4; before it the C code looks at closed and at the word. */
static void step_install(struct state *s, struct thread *t)
{
	const uint8_t mine = REF(B, 1);

	switch (t->pc) {
	case 0:
		t->pc = 1;
		if (s->closed) {
			flush_sheaf(s, mine);
			t->pc = DONE;
		}
		break;
	case 1:
		t->top = s->word;
		t->pc = 2;
		break;
	case 2:
		t->pc = s->word == t->top ? 3 : 0;
		if (broken & COMMIT_FIRST)
			s->word = mine;
		break;
	case 3:
		t->pc = !s->closed || broken & CLOSED_UNSEEN ? 4 : 0;
		break;
	case 4:
		s->word = mine;
		s->owner[B] = WORD;
		if (t->top != STOP) {
			s->owner[SHEAF(t->top)] = SPARE;
			s->spare_top = TOP(t->top);
		}
		t->pc = DONE;
		break;
	}
}

/* Aborts the sequence under way on the CPU. */
static void restart(struct state *s)
{
	struct thread *t = &s->t[s->running];

	if (broken & NOT_RESTARTED || t->pc == DONE)
		return;
	if (s->running != INSTALL)
		t->pc = 0;
	else if (t->pc > 2)
		t->pc = 2;
}

static void step_thread(struct state *s, unsigned int i)
{
	if (s->running != i) {
		restart(s);
		s->running = (uint8_t)i;
	}
	if (i == POP)
		step_pop(s, &s->t[i]);
	else if (i == PUSH)
		step_push(s, &s->t[i]);
	else
		step_install(s, &s->t[i]);
}

static void step_drain(struct state *s)
{
	switch (s->drain_pc++) {
	case 0:
		s->closed = 1;
		break;
	case 1:
		if (s->change && !(broken & NO_SETTLE))
			restart(s);
		break;
	case 2:
		if (s->word == STOP)
			s->drain_pc = 8; /* nothing to take */
		break;
	case 3:
	case 5:
		if (!(broken & NO_FENCE))
			restart(s);
		break;
	case 4:
		s->drain_value = s->word;
		s->word = STOP;
		break;
	case 6:
		if (s->word != STOP && !(broken & NO_RETRY))
			s->drain_pc = 4;
		break;
	case 7:
		if (s->drain_value != STOP)
			flush_sheaf(s, s->drain_value);
		break;
	case 8:
		s->closed = s->change;
		s->drain_pc = DONE;
		break;
	}
}

/* ---- the end ---- */

static void count_sheaf(const struct state *s, unsigned int sheaf, unsigned int top,
			unsigned int *places)
{
	for (unsigned int i = 1; i <= top; i++)
		places[s->entry[sheaf][i]]++;
}

/* Every object once: in a sheaf that somebody owns, with the program, or in its slab. */
static bool end_is_right(const struct state *s)
{
	unsigned int places[OBJECTS + 1] = { 0 };
	unsigned int in_word = s->word == STOP ? SHEAVES : SHEAF(s->word);

	if (s->change && in_word != SHEAVES)
		return false;
	for (unsigned int sheaf = 0; sheaf < SHEAVES; sheaf++) {
		if ((s->owner[sheaf] == WORD) != (sheaf == in_word))
			return false;
		if (s->owner[sheaf] == THREAD)
			return false;
		if (s->owner[sheaf] == SPARE)
			count_sheaf(s, sheaf, s->spare_top, places);
	}
	if (in_word != SHEAVES)
		count_sheaf(s, in_word, TOP(s->word), places);
	for (unsigned int o = 1; o <= OBJECTS; o++) {
		places[o] += s->held >> o & 1;
		places[o] += s->flushed >> o & 1;
		if (places[o] != 1)
			return false;
	}
	return true;
}

/* ---- all of them ---- */

/* true: seen for the first time. */
static bool remember(const struct state *s)
{
	uint64_t hash = 14695981039346656037ull;
	unsigned int i;

	for (i = 0; i < sizeof(*s); i++)
		hash = (hash ^ ((const uint8_t *)s)[i]) * 1099511628211ull;
	for (i = (unsigned int)(hash >> 40) % TABLE; used[i]; i = (i + 1) % TABLE)
		if (!memcmp(&table[i], s, sizeof(*s)))
			return false;
	assert_true(++nr_states < TABLE / 2);
	used[i] = true;
	table[i] = *s;
	return true;
}

static void explore(const struct state *s)
{
	bool end = true;

	/* one wrong end is enough; what is broken may run in circles for long */
	if ((broken && nr_wrong) || !remember(s))
		return;
	for (unsigned int i = 0; i < THREADS; i++)
		if (s->t[i].pc != DONE) {
			struct state next = *s;

			step_thread(&next, i);
			explore(&next);
			end = false;
		}
	if (s->drain_pc != DONE) {
		struct state next = *s;

		step_drain(&next);
		explore(&next);
		end = false;
	}
	if (end) {
		nr_ends++;
		nr_wrong += !end_is_right(s);
	}
}

/* From a word with sheaf A in it, and from a stopped one. Returns the number of wrong ends. */
static unsigned int run_with(int what_is_broken, uint8_t change)
{
	struct state s = {
		.change = change,
		.word = REF(A, 2),
		.entry = { [A] = { 0, 1, 2, 0 }, [B] = { 0, 3, 0, 0 } },
		.owner = { [A] = WORD, [B] = THREAD },
		.t = { [POP] = { .todo = 2 } },
		.held = 1u << OBJECTS,
	};

	broken = what_is_broken;
	memset(used, 0, sizeof(used));
	nr_states = nr_ends = nr_wrong = 0;
	explore(&s);
	s.word = STOP;
	s.owner[A] = DRAINED;
	s.flushed = 1u << 1 | 1u << 2;
	explore(&s);
	printf("broken %2d, change %d: %u states, %u ends, %u of them wrong\n", broken, change,
	       nr_states, nr_ends, nr_wrong);
	return nr_wrong;
}

static unsigned int run(int what_is_broken)
{
	return run_with(what_is_broken, 0);
}

static void test_right(void **state)
{
	(void)state;
	assert_int_equal(run(0), 0);
	assert_true(nr_states > 1000 && nr_ends > 10);
}

static void test_broken(void **state)
{
	(void)state;
	for (int bit = 1; bit < ALL_BROKEN; bit *= 2)
		assert_int_not_equal(run(bit), 0);
}

static void test_change(void **state)
{
	(void)state;
	assert_int_equal(run_with(0, 1), 0);
	assert_true(nr_states > 1000 && nr_ends > 10);
}

static void test_broken_change(void **state)
{
	(void)state;
	assert_int_not_equal(run_with(NO_SETTLE, 1), 0);
	assert_int_not_equal(run_with(CLOSED_UNSEEN, 1), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_right),
		cmocka_unit_test(test_broken),
		cmocka_unit_test(test_change),
		cmocka_unit_test(test_broken_change),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
