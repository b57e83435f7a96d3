/* SPDX-License-Identifier: MIT */
/*
 * race/ascend_test.c - arrays of objects out of SLUB's slabs in the order of addresses, while
 * others free to these slabs, with delays before each exchange of a slab's words
 *
 * engine/slub/ascend.c and refill.c are compiled into this file with the exchange wrapped: the
 * thread may yield before it, so that frees without a lock get in between the two exchanges, and
 * between the look at a list and the first one. Objects are stamped; in the end all are back, and
 * the lists are as they should be.
 */
#include <sched.h>

#include "bare.h"
#include "engine/slub/slab.h"
#include "race/slub_storm.h"

static bool late_exchange(struct engine *e, struct page *slab, const struct slub_state *old,
			  const struct slub_state *new);
unsigned int late_refill(struct engine *e, void **objs, unsigned int want, gfp_t gfp, int node);

#define slub_exchange late_exchange
#define slub_ascend late_ascend
#define slub_take_ascending_locked late_take_ascending_locked
#define slub_refill late_refill
#define slub_refill_near late_refill_near
#define slub_take_partial late_take_partial
#define slub_take_listed late_take_listed
void slub_ascend(const struct engine *e, const struct page *slab, void **objs, unsigned int n);
unsigned int slub_take_ascending_locked(struct engine *e, struct page *slab, void **objs,
					unsigned int max);
unsigned int slub_refill_near(struct engine *e, void **objs, unsigned int want);
unsigned int slub_take_partial(struct engine *e, void **objs, unsigned int want);
unsigned int slub_take_listed(struct engine *e, unsigned int node, void **objs, unsigned int want);
#include "engine/slub/ascend.c"
#include "engine/slub/refill.c"
#undef slub_exchange
#undef slub_ascend
#undef slub_take_ascending_locked
#undef slub_refill
#undef slub_refill_near
#undef slub_take_partial
#undef slub_take_listed

#define ROUNDS 4000
#define POOL 256
#define ARRAY 31

static struct engine shared;
static unsigned long put_back; /* second exchanges of a taking; atomic */
static __thread unsigned int seed;

static bool late_exchange(struct engine *e, struct page *slab, const struct slub_state *old,
			  const struct slub_state *new)
{
	if (rand_r(&seed) % 4 == 0)
		sched_yield();
	if (!slub_exchange(e, slab, old, new))
		return false;
	if (new->counters.inuse < old->counters.inuse) /* only what is put back */
		fetch_add(&put_back, 1);
	return true;
}

/* Frees without a lock come one by one; those of whole arrays take list_lock now and then. */
static void give(void **objs, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		CHILD_CHECK(*(void **)objs[i] == objs[i]);
		*(void **)objs[i] = NULL;
	}
	slub_flush(&shared, objs, n);
}

static void *work(void *arg)
{
	void *pool[POOL];
	unsigned int rounds = is_emulated() ? ROUNDS / 20 : ROUNDS;
	unsigned int nr = 0;

	seed = (unsigned int)(uintptr_t)arg + 1;
	for (unsigned int i = 0; i < rounds; i++) {
		unsigned int n = 0;

		if (nr <= POOL - ARRAY)
			n = late_refill(&shared, pool + nr, ARRAY, 0, -1);
		for (unsigned int k = nr; k < nr + n; k++)
			*(void **)pool[k] = pool[k];
		nr += n;
		for (unsigned int k = nr ? (unsigned int)rand_r(&seed) % MIN(nr, 2 * ARRAY) : 0; k;
		     k--) {
			unsigned int at = (unsigned int)rand_r(&seed) % nr;

			give(&pool[at], 1);
			pool[at] = pool[--nr];
		}
	}
	give(pool, nr);
	return NULL;
}

static void storm(unsigned int size)
{
	struct engine_params params = plain_params(size);

	params.pack = true;
	slub_storm(&shared, &params, work);
	CHILD_CHECK(put_back > 0);
}

IN_CHILD(test_half_a_slab)
{
	storm(64);
}

IN_CHILD(test_quarter_of_a_slab)
{
	storm(32);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_half_a_slab),
		cmocka_unit_test(test_quarter_of_a_slab),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
