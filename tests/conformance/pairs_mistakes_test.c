/* SPDX-License-Identifier: MIT */
/*
 * conformance/pairs_mistakes_test.c - USLAB_CONF=hardened with every engine and front: a free of
 * what is free, or of no object of the cache, is reported once and changes nothing, in whatever
 * order, and whatever was written
 */
#define PAIRS_CONF "hardened"
#include "conformance/pairs.h"
#include "unit/cache/refused.h"

#define NR 400 /* more than fronts hold */

static void refused_in_bulk(struct cache *c, void *p)
{
	unsigned long before = reports();
	void *both[] = { get(c), p };
	unsigned long held = in_use(c);

	cache_free_bulk(c, 2, both);
	CHILD_CHECK(reports() == before + 1);
	CHILD_CHECK(in_use(c) == held - 1);
}

static void in_every_order(struct cache *c)
{
	static void *p[NR];

	for (unsigned int i = 0; i < NR; i++)
		p[i] = obj_alloc(c);
	obj_free(c, p[1]);
	refused(obj_free, c, p[1]);
	obj_free(c, p[2]);
	refused(obj_free, c, p[1]);
	refused_in_bulk(c, p[2]);
	refused_elsewhere(obj_free, c, p[1]);
	for (unsigned int i = 3; i < NR; i += 2)
		obj_free(c, p[i]);
	refused(obj_free, c, p[1]);
	refused(obj_free, c, p[NR - 1]);
	cache_shrink(c);
	refused(obj_free, c, p[3]);
	for (unsigned int i = 0; i < NR; i += 2)
		if (i != 2)
			obj_free(c, p[i]);
	CHILD_CHECK(in_use(c) == 0);
}

static void construct(void *obj)
{
	*(long *)obj = 42;
}

static void freed_twice(const struct pair *pair)
{
	static const unsigned int of[] = { 1, 8, 12, 24, 64, 100, 2000, 5000 };

	report_set_hook(quiet, NULL, true);
	for (size_t i = 0; i < ARRAY_SIZE(of); i++) {
		struct cache *c =
			make_pair(pair, of[i], 0, of[i] >= 24 && i % 2 ? construct : NULL);

		in_every_order(c);
		finish(c);
	}
	report_counters.reports = 0;
}

/*
 * The bytes of what is free, links but not those in slabs, are overwritten: frees
 * are found out all the same.
 */
static void written_to(const struct pair *pair)
{
	struct cache *c = make_pair(pair, 64, 0, NULL);
	bool queues = pair->front != &front_none_ops && pair->front != &front_cpuslab_ops;
	void *p;
	void *q;

	stay_here(); /* what this CPU's front holds comes back */
	report_set_hook(quiet, NULL, true);
	p = obj_alloc(c);
	q = obj_alloc(c);
	obj_free(c, p);
	if (queues) {
		memset(p, 0x5a, 64);
		refused(obj_free, c, p);
		refused(obj_free, c, p);
	}
	obj_free(c, q);
	if (queues &&
	    pair->engine == &slub_ops) { /* what has a link there says so when it is handed out */
		unsigned long before = reports();

		q = obj_alloc(c);
		p = obj_alloc(c);
		CHILD_CHECK(reports() == before + 1);
		obj_free(c, p);
		obj_free(c, q);
	}
	report_counters.reports = 0;
}

static void wrong_pointers(const struct pair *pair)
{
	struct cache *c = make_pair(pair, 64, 0, NULL);
	struct cache *other = make_pair(pair, 64, 0, NULL);
	char *p = obj_alloc(c);
	char *q = obj_alloc(other);
	long local[16];
	unsigned long before;

	report_set_hook(quiet, NULL, true);
	memset(p, 0, 64);
	refused(obj_free, c, p + 1);
	refused(obj_free, c, p + 8);
	refused(obj_free, c, p + 32);
	refused(obj_free, c, local);
	refused(obj_free, c, (void *)0x1230);
	before = reports();
	obj_free(c, q); /* goes where it belongs */
	CHILD_CHECK(reports() == before + 1);
	CHILD_CHECK(in_use(c) == 1 && in_use(other) == 0);
	obj_free(c, p);
	finish(c);
	finish(other);
	report_counters.reports = 0;
}

static void freed_while_lent(const struct pair *pair)
{
	struct cache *c = make_pair(pair, 64, 0, NULL);
	struct slab_sheaf *sheaf;
	void *p[NR];

	report_set_hook(quiet, NULL, true);
	for (unsigned int i = 0; i < NR; i++)
		p[i] = obj_alloc(c);
	cache_free_bulk(c, NR, memcpy((void *[NR]){ 0 }, p, sizeof(p)));
	sheaf = lent_prefill(c, GFP_KERNEL, NR, NULL);
	for (unsigned int i = 0; i < NR; i += 7)
		refused(obj_free, c, p[i]);
	refused_elsewhere(obj_free, c, p[1]);
	CHILD_CHECK(sheaf->count == NR);
	lent_return(c, sheaf, NULL);
	finish(c);
	report_counters.reports = 0;
}

int main(int argc, char **argv)
{
	static const struct body bodies[] = {
		{ "freed_twice", freed_twice, true, true },
		{ "written_to", written_to, true, false },
		{ "wrong_pointers", wrong_pointers, true, false },
		{ "freed_while_lent", freed_while_lent, true, false },
		{ 0 },
	};

	return pairs_main(argc, argv, "pairs_mistakes", bodies);
}
