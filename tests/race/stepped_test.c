/* SPDX-License-Identifier: MIT */
/*
 * race/stepped_test.c - every engine, and every front, with a signal after each of their
 * instructions; with USLAB_TEST_ALL=1 each with each
 *
 * ctest: timeout=300
 *
 * The handler allocates and frees objects of the cache that was interrupted, as GFP_ATOMIC
 * allows it. It is met by hits, misses, new slabs, empty slabs, bulk calls, shrinking and the
 * making of another cache.
 */
#include "conformance/pairs.h"

#include "page/nested.h"
#include "page/reserve.h"
#include "replaced.h"
#include "stepped.h"

#define MANY 20 /* objects: more than a slab of SLUB, which has 16 */
#define HELD 5

static struct {
	struct cache *c;
	void *held[HELD];
	unsigned long allocated;
	unsigned long inside;
} handler;

/*
 * As take() and give(), but for the inline hits: these are sequences on made-up
 * CPUs too, which then miss.
 */
static void *take_slowly(struct cache *c)
{
	void *obj = get(c);

	CHILD_CHECK(obj && is_of(c, obj));
	*(void **)obj = obj;
	return obj;
}

static void give_slowly(struct cache *c, void *obj)
{
	CHILD_CHECK(*(void **)obj == obj);
	cache_free(c, obj);
}

static void on_step(unsigned long step)
{
	void **slot = &handler.held[step % HELD];

	handler.inside += lock_is_inside();
	if (*slot)
		give_slowly(handler.c, *slot);
	*slot = cache_alloc(handler.c, GFP_ATOMIC, NUMA_NO_NODE);
	if (!*slot)
		return;
	*(void **)*slot = *slot;
	handler.allocated++;
}

static void use(void *arg)
{
	struct cache *c = arg;
	void *p[MANY];

	for (unsigned int i = 0; i < MANY; i++)
		p[i] = take_slowly(c);
	for (unsigned int i = 0; i < MANY; i += 2)
		give_slowly(c, p[i]);
	for (unsigned int i = 0; i < MANY; i += 2)
		p[i] = take_slowly(c);
	for (unsigned int i = 0; i < MANY; i++)
		give_slowly(c, p[i]);
}

static void use_bulk(void *arg)
{
	struct cache *c = arg;
	void *p[MANY];

	CHILD_CHECK(cache_alloc_bulk(c, GFP_KERNEL, MANY, p) == MANY);
	for (unsigned int i = 0; i < MANY; i++)
		*(void **)p[i] = p[i];
	for (unsigned int i = 0; i < MANY; i++)
		CHILD_CHECK(*(void **)p[i] == p[i]);
	cache_free_bulk(c, MANY, p);
}

/* By each source in turn, so that the handler meets all of them half done. */
static void use_arrays(void *arg)
{
	struct cache *c = arg;
	unsigned int n = 0;
	void *p[MANY];

	for (unsigned int mode = 1; mode <= SLAB_ARRAY_FULL && n < MANY; mode <<= 1)
		n += cache_alloc_array_for(c, GFP_KERNEL, MANY - n, p + n, mode, NULL);
	CHILD_CHECK(n == MANY);
	for (unsigned int i = 0; i < MANY; i++)
		*(void **)p[i] = p[i];
	for (unsigned int i = 0; i < MANY; i++)
		CHILD_CHECK(*(void **)p[i] == p[i]);
	cache_free_array_for(c, MANY, p, NULL);
}

static void make_another(void *arg)
{
	struct cache *c = arg;
	struct cache *other = made(&(struct cache_spec){ .name = "other",
							 .size = 40,
							 .engine = c->engine.ops,
							 .front = c->front.ops,
							 .no_merge = true });

	cache_free(other, take_slowly(other));
	cache_destroy(other->handle, NULL);
}

static void shrink(void *arg)
{
	cache_shrink(arg); /* the handler has objects: not all slabs go */
}

static void stepped(const struct pair *pair)
{
	static void (*const bodies[])(void *) = { use, shrink, use_bulk, use_arrays, make_another };

	handler.c = make_pair(pair, 1024, 0, NULL);
	alarm(200); /* who waits for a lock waits for ever */
	for (size_t i = 0; i < ARRAY_SIZE(bodies); i++)
		CHILD_CHECK(stepped_run(bodies[i], handler.c, on_step) > 10);
	CHILD_CHECK(handler.allocated > 0 && handler.inside > 0);
	for (unsigned int i = 0; i < HELD; i++)
		if (handler.held[i])
			give_slowly(handler.c, handler.held[i]);
	nested_settle();
	CHILD_CHECK(!nested_waiting() && !nested_lost() && !reserve_count());
	reserve_check();
	finish(handler.c);
}

int main(int argc, char **argv)
{
	/* on made-up CPUs there is no rseq */
	static const struct body bodies[] = { { "stepped", stepped, false, true }, { 0 } };

	if (!stepped_is_possible())
		return TEST_SKIPPED;
	pairs_each_once = true;
	return pairs_main(argc, argv, "stepped", bodies);
}
