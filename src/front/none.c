/* SPDX-License-Identifier: MIT */
/*
 * front/none.c - nothing cached: every call goes to the engine
 *
 * Data:       none.
 * Invariants: holds no object.
 * Locks:      none; the engine's.
 * Flow:       called through front_none_ops; calls engine->ops.
 */
#include "front/front.h"

#include "base/bits.h"

static int none_init(struct front *f, unsigned int capacity)
{
	(void)capacity;
	f->capacity = 0;
	front_stop_words(f->id);
	return 0;
}

static void *none_alloc(struct front *f, gfp_t gfp, int node)
{
	void *obj;

	return f->engine->ops->refill(f->engine, &obj, 1, gfp, node) ? obj : NULL;
}

static void none_free(struct front *f, void *obj)
{
	f->engine->ops->flush(f->engine, &obj, 1);
}

static unsigned int none_alloc_bulk(struct front *f, gfp_t gfp, unsigned int nr, void **p)
{
	unsigned int got = 0;
	unsigned int n;

	while (got < nr) {
		n = f->engine->ops->refill(f->engine, p + got, nr - got, gfp, NUMA_NO_NODE);
		if (!n)
			break;
		got += n;
	}
	return got;
}

static void none_free_bulk(struct front *f, unsigned int nr, void **p)
{
	for (unsigned int n; nr; nr -= n, p += n) {
		n = MIN(nr, (unsigned int)USLAB_SHEAF_CAPACITY);
		f->engine->ops->flush(f->engine, p, n);
	}
}

static void none_nothing(struct front *f)
{
	(void)f;
}

static unsigned long none_held(struct front *f)
{
	(void)f;
	return 0;
}

const struct front_ops front_none_ops = {
	.name = TEXT_IN_CORES("none"),
	.init = none_init,
	.alloc = none_alloc,
	.free = none_free,
	.alloc_bulk = none_alloc_bulk,
	.free_bulk = none_free_bulk,
	.drain = none_nothing,
	.held = none_held,
	.destroy = none_nothing,
	.check = none_nothing,
};
