/* SPDX-License-Identifier: MIT */
/*
 * unit/engine/slab/check_test.c - slab_check() finds what is wrong; walk finds who is in use
 */
#include "fixture.h"

/*
 * An engine with one partial slab of 64 objects, of which 0..9 are out, and a full and a free one.
 */
struct patient {
	struct engine e;
	struct slab_node *node;
	struct page *slab;
	struct page *full;
	struct page *free;
	uint8_t *index;
	void *objs[64];
	void *full_objs[64];
};

static void make_patient(struct patient *p)
{
	void *objs[64];

	p->e = make_plain(64);
	p->node = node_of(&p->e, 0);
	p->full = fill_slab(&p->e, p->full_objs);
	p->free = fill_slab(&p->e, objs);
	p->slab = fill_slab(&p->e, p->objs);
	slab_flush(&p->e, objs, 64);
	slab_flush(&p->e, p->objs + 10, 54);
	p->index = p->slab->freelist;
}

static void set_counters(struct page *slab, int inuse, int objects, int frozen, int colour)
{
	struct slab_counters counters = engine_counters(slab);

	counters.inuse = (uint16_t)(counters.inuse + inuse);
	counters.objects = (uint16_t)((counters.objects + objects) & 255);
	counters.frozen = frozen & 1;
	counters.colour = (uint16_t)colour;
	engine_set_counters(slab, counters);
}

static void inuse_too_high(struct patient *p)
{
	set_counters(p->slab, 1, 0, 0, 0);
}

static void inuse_too_low(struct patient *p)
{
	p->index[9] = 0;
	set_counters(p->slab, -1, 0, 0, 0);
}

static void objects_wrong(struct patient *p)
{
	set_counters(p->slab, 0, -1, 0, 0);
}

static void frozen(struct patient *p)
{
	set_counters(p->slab, 0, 0, 1, 0);
}

static void no_such_colour(struct patient *p)
{
	set_counters(p->full, 0, 0, 0, 1);
}

static void a_number_twice(struct patient *p)
{
	p->index[20] = p->index[21];
}

static void a_number_too_high(struct patient *p)
{
	p->index[20] = 64;
}

static void array_in_another_object(struct patient *p)
{
	memcpy(object_at(p->slab, 40), p->index, 64);
	p->slab->freelist = object_at(p->slab, 40);
}

static void array_lost(struct patient *p)
{
	p->slab->freelist = NULL;
}

static void array_in_a_full_slab(struct patient *p)
{
	p->full->freelist = p->full_objs[63];
}

static void wrong_owner(struct patient *p)
{
	p->slab->engine = NULL;
}

static void wrong_layout(struct patient *p)
{
	p->slab->layout = NULL;
}

static void wrong_order(struct patient *p)
{
	p->free->order = 1;
}

static void wrong_node(struct patient *p)
{
	p->full->node = 1;
}

static void nr_partial_wrong(struct patient *p)
{
	p->node->nr_partial++;
}

static void free_slabs_wrong(struct patient *p)
{
	p->node->free_slabs--;
}

static void total_slabs_wrong(struct patient *p)
{
	p->node->total_slabs++;
}

static void free_objects_wrong(struct patient *p)
{
	p->node->free_objects++;
}

static void full_slab_on_partial(struct patient *p)
{
	list_del(&p->full->lru);
	list_add(&p->full->lru, &p->node->partial);
	p->node->nr_partial++;
}

static void free_slab_on_full(struct patient *p)
{
	list_del(&p->free->lru);
	list_add(&p->free->lru, &p->node->full);
	p->node->free_slabs--;
}

static void list_links_broken(struct patient *p)
{
	p->slab->lru.prev = &p->slab->lru;
}

static void check_harmed(void *arg)
{
	struct patient p;

	make_patient(&p);
	if (arg)
		((harm_fn *)arg)(&p);
	slab_check(&p.e);
}

static void every_harm_is_found(__attribute__((unused)) void **state)
{
	static harm_fn *const harms[] = {
		inuse_too_high,	      inuse_too_low,
		objects_wrong,	      frozen,
		no_such_colour,	      a_number_twice,
		a_number_too_high,    array_in_another_object,
		array_lost,	      array_in_a_full_slab,
		wrong_owner,	      wrong_layout,
		wrong_order,	      wrong_node,
		nr_partial_wrong,     free_slabs_wrong,
		total_slabs_wrong,    free_objects_wrong,
		full_slab_on_partial, free_slab_on_full,
		list_links_broken,
	};

	assert_harms_are_found(check_harmed, harms, ARRAY_SIZE(harms));
}

static void no_ctor(__attribute__((unused)) void *obj)
{
}

/* The same for arrays elsewhere. */
static void move_the_array(void *arg)
{
	unsigned int size = *(unsigned int *)arg;
	struct engine e = make_with_ctor(size, no_ctor);
	void *obj = take_one(&e);
	struct page *slab = slab_of(obj);

	slab->freelist = memcpy((char *)obj + 1, slab->freelist, 32);
	slab_check(&e);
}

static void arrays_out_of_place_are_found(__attribute__((unused)) void **state)
{
	static unsigned int sizes[] = { 64, 128 }; /* at the end; off the slab */
	size_t i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct child c = child_run(move_the_array, &sizes[i]);

		assert_true(child_aborted(&c));
		assert_non_null(strstr(c.text, "check.c"));
	}
}

/* Partial slabs, then full ones; each object with the start of its slab. */
static void walk_finds_who_is_in_use(__attribute__((unused)) void **state)
{
	struct visit v = { 0 };
	struct patient p;
	unsigned int i;

	make_patient(&p);
	free_one(&p.e, p.objs[4]);
	slab_walk(&p.e, visit, &v);
	assert_int_equal(v.count, 9 + 64);
	for (i = 0; i < 9; i++) {
		assert_ptr_equal(v.obj[i], p.objs[i < 4 ? i : i + 1]);
		assert_ptr_equal(v.slab[i], page_address(p.slab));
	}
	for (i = 0; i < 64; i++) {
		assert_ptr_equal(v.obj[9 + i], p.full_objs[i]);
		assert_ptr_equal(v.slab[9 + i], page_address(p.full));
	}
	slab_flush(&p.e, p.objs, 4);
	slab_flush(&p.e, p.objs + 5, 5);
	slab_flush(&p.e, p.full_objs, 64);
	END_ENGINE(&p.e);
}

/* Objects of a coloured slab do not begin with the page. */
static void walk_knows_colours(__attribute__((unused)) void **state)
{
	struct engine e = make_plain(1088);
	struct visit v = { 0 };
	void *obj = take_one(&e);

	slab_walk(&e, visit, &v);
	assert_int_equal(v.count, 1);
	assert_ptr_equal(v.obj[0], obj);
	assert_ptr_equal((char *)v.slab[0] + 64, obj);
	free_one(&e, obj);
	END_ENGINE(&e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_harm_is_found),
		cmocka_unit_test(arrays_out_of_place_are_found),
		cmocka_unit_test(walk_finds_who_is_in_use),
		cmocka_unit_test(walk_knows_colours),
	};

	return cmocka_run_group_tests(tests, slab_group_setup, NULL);
}
