/* SPDX-License-Identifier: MIT */
/*
 * race/lines_test.c - threads that share nothing share no cache lines, also after they have changed
 * their CPUs
 *
 * Each thread replaces small objects of its own at random, as mimalloc-bench's glibc-thread does.
 * In the end the objects that lie on a line with one of another thread are counted, all of them.
 */
#include <pthread.h>

#include "unit/cache/cache_fixture.h"

#define THREADS 2u
#define OBJECTS 700u /* of each thread */
#define ROUNDS 400000u
#define SIZES 3u       /* 16, 32 and 48 bytes */
#define SHARED_MOST 2u /* of 100 objects */

static struct cache *cache[SIZES];
static pthread_barrier_t barrier;

struct mine {
	void *obj[OBJECTS];
	unsigned int kind[OBJECTS];
	unsigned int id;
};

static struct mine mine[THREADS];

static void replace(struct mine *m, unsigned int *seed, unsigned int rounds)
{
	for (unsigned int i = 0; i < rounds; i++) {
		unsigned int at = (unsigned int)rand_r(seed) % OBJECTS;

		if (m->obj[at])
			obj_free(cache[m->kind[at]], m->obj[at]);
		m->kind[at] = (unsigned int)rand_r(seed) % SIZES;
		m->obj[at] = obj_alloc(cache[m->kind[at]]);
		CHILD_CHECK(m->obj[at]);
	}
}

static void *work(void *arg)
{
	struct mine *m = arg;
	unsigned int rounds = is_emulated() ? ROUNDS / 20 : ROUNDS;
	unsigned int seed = m->id + 1;

	for (unsigned int turn = 0; turn < 4; turn++) {
		/* turn 2: all on one CPU */
		os_act_as_cpu(turn == 2 ? 0 : (m->id + turn) % THREADS);
		pthread_barrier_wait(&barrier);
		replace(m, &seed, rounds);
		pthread_barrier_wait(&barrier);
	}
	return NULL;
}

static uintptr_t line_of(const struct mine *m, unsigned int i)
{
	return (uintptr_t)m->obj[i] / CACHE_LINE;
}

static unsigned int count_shared(void)
{
	unsigned int shared = 0;

	for (unsigned int i = 0; i < OBJECTS; i++)
		for (unsigned int k = 0; k < OBJECTS; k++)
			if (line_of(&mine[0], i) == line_of(&mine[1], k)) {
				shared++;
				break;
			}
	return shared;
}

IN_CHILD(test_lines)
{
	static const char *const names[SIZES] = { "a", "b", "c" };
	pthread_t thread[THREADS];

	CHILD_CHECK(os_topology_set(THREADS, 1) == 0);
	ready();
	for (unsigned int i = 0; i < SIZES; i++)
		cache[i] = make_front(names[i], 16 * (i + 1), "array");
	pthread_barrier_init(&barrier, NULL, THREADS);
	for (unsigned int i = 0; i < THREADS; i++) {
		mine[i].id = i;
		CHILD_CHECK(!pthread_create(&thread[i], NULL, work, &mine[i]));
	}
	for (unsigned int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	printf("%u of %u objects share lines\n", count_shared(), OBJECTS);
	fflush(stdout);
	CHILD_CHECK(count_shared() * 100 <= SHARED_MOST * OBJECTS);
	cache_check_all();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
