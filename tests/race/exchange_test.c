/* SPDX-License-Identifier: MIT */
/*
 * race/exchange_test.c - what other code does between the steps of an exchange in place
 *
 * front/array_exchange.c is compiled into this one. Before a sequence of it, the first, second or
 * third one of a call, other code runs, as a thread that preempts this one there or a signal
 * handler would: objects go out or come back, sheaves are installed or withdrawn, the front is
 * closed or gets another capacity. Each object has one owner all the time, and after each call all
 * that is out of the engine is either in use or in the front. Nothing depends on time: a round that
 * fails does so each time.
 */
#define array_exchange_empty late_exchange_empty
#define array_exchange_full late_exchange_full
#define array_exchange_empty_run late_exchange_empty_run
#define array_exchange_full_run late_exchange_full_run
#include "unit/front/array_fixture.h"

#include "front/array_sheaf.h"
#include "front/depot.h"

static void between(void);

static inline int late_cmp2_store(int cpu, uintptr_t *word, uintptr_t expect,
				  const uintptr_t *word2, uintptr_t expect2, uintptr_t new_value)
{
	between();
	return percpu_cmp2_store(cpu, word, expect, word2, expect2, new_value);
}

#define percpu_cmp2_store late_cmp2_store
#include "front/array_exchange.c"
#undef percpu_cmp2_store

#define ROUNDS 40000u
#define MOST (6 * CAP)

static uint64_t dice = 88172645463325252ull;
static int cpu;
static void *objects[FAKE_OBJECTS];
static unsigned int nr_objects;
static bool is_mine[FAKE_OBJECTS];
static unsigned int steps_left;	 /* until other code runs; 0: it has */
static unsigned long seen[2][9]; /* done or not, by what ran in between */
static uintptr_t held_back;	 /* a spare that a preempted thread has taken, or 0 */
static unsigned int what;

static unsigned int draw(unsigned int below)
{
	dice ^= dice << 13;
	dice ^= dice >> 7;
	dice ^= dice << 17;
	return (unsigned int)(dice >> 20) % below;
}

static void take(void *obj)
{
	unsigned int i = number(obj);

	CHILD_CHECK(i < FAKE_OBJECTS && !is_mine[i]);
	is_mine[i] = true;
	objects[nr_objects++] = obj;
}

static void *give(void)
{
	void *obj = objects[--nr_objects];

	is_mine[number(obj)] = false;
	return obj;
}

static void get_some(unsigned int nr)
{
	while (nr-- && nr_objects < FAKE_OBJECTS / 2)
		take(get());
}

static void put_some(unsigned int nr)
{
	while (nr-- && nr_objects)
		put(give());
}

static void install_one(void)
{
	uintptr_t top = sheaf_get_empty(&front);

	CHILD_CHECK(top);
	if (draw(2))
		sheaf_install(&front, top);
	else
		sheaf_stash(&front, top);
}

/* Inside the lane's lock only what takes no lock, as hits of a signal handler. */
static void between(void)
{
	bool inside = lock_is_inside();

	if (!steps_left || --steps_left)
		return;
	what = inside ? draw(4) : draw(9);
	switch (what) {
	case 0: /* nothing */
		break;
	case 1: {
		void *obj = array_pop(ID, cpu);

		if (obj)
			take(obj);
		break;
	}
	case 2:
		if (nr_objects && array_push(ID, cpu, objects[nr_objects - 1]))
			give();
		break;
	case 3:
		held_back = sheaf_unstash(&front);
		break;
	case 4:
		get_some(1 + draw(2 * CAP));
		break;
	case 5:
		put_some(1 + draw(2 * CAP));
		break;
	case 6:
		install_one();
		break;
	case 7:
		CHILD_CHECK(!front.ops->set_capacity(&front, front.capacity == CAP ? 5 : CAP));
		break;
	default:
		front_close(&front);
		break;
	}
}

/* The object that is to be freed is nobody's meanwhile. */
static bool free_late(void)
{
	void *p[CAP];
	unsigned int nr = 1 + draw(CAP);
	unsigned int done;

	if (nr > nr_objects)
		return false;
	for (unsigned int i = 0; i < nr; i++)
		p[i] = give();
	done = nr == 1 ? late_exchange_full(&front, cpu, p[0])
		       : late_exchange_full_run(&front, cpu, nr, p);
	CHILD_CHECK(done <= nr);
	for (unsigned int i = done; i < nr; i++)
		take(p[i]);
	return done;
}

static bool alloc_late(void)
{
	void *p[CAP] = { NULL };
	unsigned int nr = 1 + draw(CAP);
	unsigned int done;

	if (nr == 1)
		done = (p[0] = late_exchange_empty(&front, cpu)) != NULL;
	else
		done = late_exchange_empty_run(&front, cpu, nr, p);
	CHILD_CHECK(done <= nr);
	for (unsigned int i = 0; i < done; i++)
		take(p[i]);
	return done;
}

/* A state in which something is likely to be exchanged. */
static void prepare(void)
{
	unsigned int capacity = front.capacity;

	put_some(nr_objects);
	get_some(MOST);
	put_some(MOST - draw(2) * capacity);
	if (draw(2))
		get_some(capacity * (1 + draw(3)));
	for (unsigned int n = 0; n < capacity; n++)
		if (draw(2) ? sheaf_count_at(*percpu_word(ID, cpu), capacity) == 0
			    : sheaf_count_at(*percpu_word(ID, cpu), capacity) == capacity)
			break;
		else if (draw(2))
			get_some(1);
		else
			put_some(1);
}

static void one_round(void)
{
	bool done;

	prepare();
	what = 0;
	steps_left = 1 + draw(3);
	done = draw(2) ? alloc_late() : free_late();
	steps_left = 0;
	seen[done][what]++;
	if (held_back)
		sheaf_stash(&front, held_back);
	held_back = 0;
	if (front.closed) {
		/* what was in the middle has left nothing on the CPU, at most in the depot */
		CHILD_CHECK(front_is_stopped(*percpu_word(ID, cpu)) && !*percpu_spare(ID, cpu));
		front_open(&front);
	}
	balance(nr_objects);
}

static void rounds(void *arg)
{
	size_t used;

	(void)arg;
	floors_init(0, 0);
	if (!percpu_rseq)
		_exit(77);
	cpu = here();
	make(CAP);
	used = used_but_lanes(&front);
	for (unsigned int n = 0; n < ROUNDS; n++)
		one_round();
	/* each ran in the middle of one that was done, but the last two, and of one that was not */
	for (unsigned int i = 0; i < ARRAY_SIZE(seen[0]); i++)
		CHILD_CHECK(seen[0][i] && (i > 6 || seen[1][i]));
	put_some(nr_objects);
	front.ops->drain(&front);
	CHILD_CHECK(fake.nr_out == 0 && used_but_lanes(&front) == used);
}

static void test_between_steps(void **state)
{
	struct child c = child_run(rounds, state);

	if (WIFEXITED(c.status) && WEXITSTATUS(c.status) == 77)
		skip(); /* no sequences here */
	assert_true(child_passed(&c));
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_between_steps) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
