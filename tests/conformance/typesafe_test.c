/* SPDX-License-Identifier: MIT */
/*
 * conformance/typesafe_test.c - SLAB_TYPESAFE_BY_RCU and kfree_rcu(), with every engine and front
 */
#include "conformance/pairs.h"
#include "cache/grace/grace.h"
#include "manual_rcu.h"

#define MANY 400

static void *obj[MANY];

static void construct(void *p)
{
	memset(p, 0x11, 100);
}

static struct cache *make_safe(const struct pair *pair)
{
	CHILD_CHECK(os_rcu_is_bound() || os_rcu_bind(&manual_rcu) == 0);
	return made(&(struct cache_spec){ .name = "pair",
					  .size = 100,
					  .flags = SLAB_TYPESAFE_BY_RCU,
					  .ctor = construct,
					  .engine = pair->engine,
					  .front = pair->front });
}

/* What a reader finds in an object that was freed: constructed, or as its last owner left it. */
static void all_have_their_type(void)
{
	for (unsigned int i = 0; i < MANY; i++) {
		const unsigned char *byte = obj[i];

		for (unsigned int n = 0; n < 99; n++)
			CHILD_CHECK(byte[n] == 0x11);
		CHILD_CHECK(byte[99] == 0x11 || byte[99] == 0x22);
	}
}

static void take_all(struct cache *c)
{
	for (unsigned int i = 0; i < MANY; i++) {
		obj[i] = obj_alloc(c);
		CHILD_CHECK(obj[i]);
		((unsigned char *)obj[i])[99] = 0x22; /* another write than the constructor's */
	}
}

static void free_all(struct cache *c)
{
	for (unsigned int i = 0; i < MANY; i++)
		obj_free(c, obj[i]);
}

/* Others allocate all that they can get. */
static void use_memory(const struct pair *pair)
{
	static void *p[2000];
	struct cache *other = make_pair(pair, 100, 0, NULL);

	for (unsigned int i = 0; i < ARRAY_SIZE(p); i++)
		take(other, &p[i]);
	for (unsigned int i = 0; i < ARRAY_SIZE(p); i++)
		give(other, p[i]);
	finish(other);
}

static void readers_look(const struct pair *pair)
{
	struct cache *c = make_safe(pair);

	take_all(c);
	free_all(c);
	all_have_their_type();
	cache_shrink(c);
	use_memory(pair);
	all_have_their_type();
	take_all(c); /* objects of the cache may come again before */
	all_have_their_type();
	free_all(c);
	cache_shrink(c);
	grace_hand_over();
	CHILD_CHECK(rcu.nr >= 1);
	use_memory(pair);
	all_have_their_type();
	while (rcu.nr)
		rcu_grace();
	CHILD_CHECK(in_use(c) == 0);
	cache_check_all();
	cache_destroy(c->handle, NULL);
	grace_hand_over();
	while (rcu.nr)
		rcu_grace();
}

/* An object that is destroyed with its cache may be looked at, too. */
static void destroyed_caches(const struct pair *pair)
{
	struct cache *c = make_safe(pair);

	take_all(c);
	free_all(c);
	cache_destroy(c->handle, NULL);
	if (!pair->engine->reclaim) { /* else it has waited */
		use_memory(pair);
		all_have_their_type();
	}
	while (rcu.nr)
		rcu_grace();
	cache_check_all();
}

/* Objects without headers in a heap have no cache that kfree() could know. */
static void freed_later(const struct pair *pair)
{
	struct cache *c = make_pair(pair, 100, 0, NULL);

	CHILD_CHECK(os_rcu_bind(&manual_rcu) == 0);
	if (pair->engine->heap)
		return;
	for (unsigned int i = 0; i < MANY; i++)
		take(c, &obj[i]);
	for (unsigned int i = 0; i < MANY; i++)
		grace_free(NULL, obj[i], NULL);
	for (unsigned int i = 0; i < MANY; i++)
		check_stamp(c, obj[i]);
	balance(c, MANY);
	grace_wait(c);
	finish(c);
}

static const struct body bodies[] = {
	{ "readers_look", readers_look, true, true },
	{ "destroyed_caches", destroyed_caches, true, true },
	{ "freed_later", freed_later, true, true },
	{ NULL, NULL, false, false },
};

int main(int argc, char **argv)
{
	return pairs_main(argc, argv, "type-safe caches", bodies);
}
