/* SPDX-License-Identifier: MIT */
/*
 * unit/engine/slobseg/check_test.c - broken books are noticed; walk meets what is in use
 */
#include "fixture.h"

/* Three pages of two objects, of which the last has one free; the cache is the child's to break. */
static struct engine e;
static void *objs[6];

static void prepare(const struct engine_ops *ops)
{
	make(&e, ops, 2048);
	CHILD_CHECK(ops->refill(&e, objs, 5, 0, -1) == 5);
}

static void no_harm(void)
{
}

static void wrong_count(void)
{
	listed(&e, 0, 0)->counters += slobseg_of(&e)->one;
}

static void wrong_link(void)
{
	*(void **)listed(&e, 0, 0)->freelist = (char *)objs[4] + 8;
}

static void circle(void)
{
	*(void **)listed(&e, 0, 0)->freelist = listed(&e, 0, 0)->freelist;
}

static void wrong_owner(void)
{
	listed(&e, 0, 0)->engine = NULL;
}

static void wrong_node(void)
{
	slobseg_of(&e)->first[1] = slobseg_of(&e)->first[0];
	slobseg_of(&e)->first[0] = NULL;
}

static void lost_page(void)
{
	slobseg_of(&e)->first[0] = NULL;
}

static void wrong_objects(void)
{
	slobseg_of(&e)->count->objects++;
}

static void wrong_bytes(void)
{
	slobseg_of(&e)->count->bytes += 8;
}

static void wrong_pages(void)
{
	slobseg_of(&e)->count->pages++;
}

static void broken_back_link(void)
{
	listed(&e, 0, 0)->lru.prev = &listed(&e, 0, 0)->lru;
}

static void wrong_class(void)
{
	page_map.class[page_index(objs[4])] = 1;
}

struct breakage {
	void (*break_it)(void);
	const struct engine_ops *ops;
};

static void broken(void *arg)
{
	const struct breakage *b = arg;

	prepare(b->ops);
	b->break_it();
	if (b->ops->heap)
		b->ops->heap->check(b->ops->heap);
	else
		b->ops->check(&e);
}

static void breakage_is_noticed(UNUSED_STATE)
{
	static void (*const breaks[])(void) = { wrong_count,   wrong_link,	circle,
						wrong_owner,   wrong_node,	lost_page,
						wrong_objects, wrong_bytes,	wrong_pages,
						wrong_class,   broken_back_link };
	size_t i;

	for (i = 0; i < 2; i++) {
		struct breakage b = { no_harm, i ? &slobseg_pow2_ops : &slobseg_ops };
		struct child c = child_run(broken, &b);
		size_t k;

		assert_true(child_passed(&c));
		for (k = 0; k < ARRAY_SIZE(breaks); k++) {
			b.break_it = breaks[k];
			c = child_run(broken, &b);
			assert_true(child_aborted(&c));
		}
	}
}

static unsigned int nr_met;

static void meet(void *slab, void *obj, void *arg)
{
	void **expected = arg;
	unsigned int i;

	assert_ptr_equal(slab, page_address(page_head_of(obj)));
	for (i = 0; i < 5; i++)
		if (expected[i] == obj)
			expected[i] = NULL;
	nr_met++;
}

/* Of partial pages, on all nodes. */
static void walk_meets_each_once(UNUSED_STATE)
{
	struct engine w;
	void *p[5];
	void *expected[5];
	unsigned int i;

	make(&w, &slobseg_ops, 1024);
	for (i = 0; i < 5; i++)
		p[i] = take_from(&w, __GFP_THISNODE, i % 2);
	free_one(&w, p[2]);
	memcpy(expected, p, sizeof(p));
	w.ops->walk(&w, meet, expected);
	assert_int_equal(nr_met, 4);
	for (i = 0; i < 5; i++)
		assert_ptr_equal(expected[i], i == 2 ? p[2] : NULL);
	w.ops->flush(&w, (void *[]){ p[0], p[1], p[3], p[4] }, 4);
	END_ENGINE(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(breakage_is_noticed),
		cmocka_unit_test(walk_meets_each_once),
	};

	return cmocka_run_group_tests(tests, slobseg_group_setup, NULL);
}
