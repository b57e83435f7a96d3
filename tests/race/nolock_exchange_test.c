/* SPDX-License-Identifier: MIT */
/*
 * race/nolock_exchange_test.c - one object out of SLUB's slabs and back without waiting, with
 * delays before each exchange of a slab's words, and between the try of a lock and what it guards
 *
 * engine/slub/try.c is compiled into this file with the exchange wrapped: the thread may yield
 * before it, so that threads which refill and flush get in between. Objects are stamped; in the end
 * all are back, and the lists are as they should be.
 */
#include <sched.h>

#include "bare.h"
#include "engine/slub/slab.h"
#include "race/slub_storm.h"

static bool late_cas(struct dword *p, struct dword expect, struct dword update);
static bool late_try(struct lock *l);
void *late_try_alloc(struct engine *e, int node);
bool late_try_free(struct engine *e, void *obj);

#define dword_try_cas late_cas
#define lock_try late_try
#define slub_try_alloc late_try_alloc
#define slub_try_free late_try_free
#include "engine/slub/try.c"
#undef dword_try_cas
#undef lock_try
#undef slub_try_alloc
#undef slub_try_free

#define ROUNDS 20000
#define POOL 8

static struct engine shared;
static unsigned long got; /* by tries; atomic */
static unsigned long failed;
static __thread unsigned int seed;

static void inject(void)
{
	if (rand_r(&seed) % 16 == 0)
		sched_yield();
}

static bool late_cas(struct dword *p, struct dword expect, struct dword update)
{
	inject();
	return dword_try_cas(p, expect, update);
}

static bool late_try(struct lock *l)
{
	bool done = lock_try(l);

	inject();
	return done;
}

static void *take(bool tries)
{
	void *obj = NULL;

	if (!tries)
		return slub_refill(&shared, &obj, 1, 0, -1) ? obj : NULL;
	obj = late_try_alloc(&shared, -1);
	fetch_add(obj ? &got : &failed, 1);
	return obj;
}

static void give(void *obj, bool tries)
{
	CHILD_CHECK(*(void **)obj == obj);
	*(void **)obj = NULL;
	if (!tries || !late_try_free(&shared, obj))
		slub_flush(&shared, &obj, 1);
}

static void *work(void *arg)
{
	void *pool[POOL] = { NULL };
	unsigned int rounds = is_emulated() ? ROUNDS / 20 : ROUNDS;

	seed = (unsigned int)(uintptr_t)arg + 1;
	for (unsigned int i = 0; i < rounds; i++) {
		void **slot = &pool[(unsigned int)rand_r(&seed) % POOL];
		bool tries = rand_r(&seed) % 3;

		if (*slot) {
			give(*slot, tries);
			*slot = NULL;
			continue;
		}
		*slot = take(tries);
		if (*slot)
			*(void **)*slot = *slot;
	}
	for (unsigned int i = 0; i < POOL; i++)
		if (pool[i])
			give(pool[i], true);
	return NULL;
}

static void storm(struct engine_params params)
{
	slub_storm(&shared, &params, work);
	CHILD_CHECK(got > 0);
}

/* Few objects in a slab, so that slabs change lists all the time. */
IN_CHILD(test_few)
{
	storm(plain_params(1024));
}

IN_CHILD(test_many)
{
	storm(plain_params(64));
}

IN_CHILD(test_lazy)
{
	struct engine_params params = plain_params(512);

	params.pack = true;
	storm(params);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_few),
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_lazy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
