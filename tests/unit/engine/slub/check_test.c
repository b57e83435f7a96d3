/* SPDX-License-Identifier: MIT */
/*
 * unit/engine/slub/check_test.c - slub_check() finds what is wrong; walk finds who is in use
 */
#include "fixture.h"

/* An engine with one partial slab of 64 objects, of which 0..9 are out and 10.. are free. */
struct patient {
	struct engine e;
	struct page *slab;
	void *objs[10];
};

static void make_patient(struct patient *p)
{
	p->e = make_plain(64);
	if (slub_refill(&p->e, p->objs, 10, 0, -1) != 10)
		abort();
	p->slab = slab_of(p->objs[0]);
}

static void set_counters(struct patient *p, int inuse, int objects, int formatted, int frozen)
{
	struct slab_counters counters = counters_of(p->slab);

	counters.inuse = (uint16_t)(counters.inuse + inuse);
	counters.objects = (uint16_t)((counters.objects + objects) & SLAB_MAX_OBJECTS);
	counters.formatted = (uint16_t)(counters.formatted + formatted);
	counters.frozen = frozen & 1;
	p->slab->counters = engine_counters_word(counters);
}

static void set_link(struct patient *p, unsigned int from, void *to)
{
	freeptr_set(slub_of(&p->e), p->slab->layout, slub_object(p->slab, from), to);
}

static void inuse_too_high(struct patient *p)
{
	set_counters(p, 1, 0, 0, 0);
}

static void inuse_too_low(struct patient *p)
{
	set_counters(p, -1, 0, 0, 0);
}

static void objects_wrong(struct patient *p)
{
	set_counters(p, 0, -1, 0, 0);
}

static void formatted_wrong(struct patient *p)
{
	set_counters(p, 0, 0, -1, 0);
}

static void frozen_on_the_list(struct patient *p)
{
	set_counters(p, 0, 0, 0, 1);
}

static void list_in_a_circle(struct patient *p)
{
	set_link(p, 63, slub_object(p->slab, 40));
}

static void list_cut(struct patient *p)
{
	set_link(p, 30, NULL);
}

static void list_out_of_the_slab(struct patient *p)
{
	set_link(p, 30, (char *)page_address(p->slab) + PAGE_SIZE);
}

static void list_before_the_slab(struct patient *p)
{
	set_link(p, 30, (char *)page_address(p->slab) - 64);
}

static void list_into_an_object(struct patient *p)
{
	set_link(p, 30, (char *)slub_object(p->slab, 31) + 8);
}

static void wrong_owner(struct patient *p)
{
	p->slab->engine = NULL;
}

static void wrong_order(struct patient *p)
{
	p->slab->order = 1;
}

static void nr_partial_wrong(struct patient *p)
{
	slub_of(&p->e)->node[0]->nr_partial++;
}

static void list_longer_than_nr_partial(struct patient *p)
{
	slub_of(&p->e)->node[0]->nr_partial--;
}

static void fewer_slabs_than_listed(struct patient *p)
{
	slub_of(&p->e)->node[0]->nr_slabs--;
}

static void fewer_objects_than_listed(struct patient *p)
{
	slub_of(&p->e)->node[0]->total_objects--;
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
	slub_check(&p.e);
}

static void every_harm_is_found(__attribute__((unused)) void **state)
{
	static harm_fn *const harms[] = {
		inuse_too_high,
		inuse_too_low,
		objects_wrong,
		formatted_wrong,
		frozen_on_the_list,
		list_in_a_circle,
		list_cut,
		list_out_of_the_slab,
		list_before_the_slab,
		list_into_an_object,
		wrong_owner,
		wrong_order,
		nr_partial_wrong,
		list_longer_than_nr_partial,
		fewer_slabs_than_listed,
		fewer_objects_than_listed,
		list_links_broken,
	};

	assert_harms_are_found(check_harmed, harms, ARRAY_SIZE(harms));
}

static void walk_finds_who_is_in_use(__attribute__((unused)) void **state)
{
	struct visit v = { 0 };
	struct patient p;
	void *full[64];
	unsigned int i;

	make_patient(&p);
	free_one(&p.e, p.objs[4]);
	slub_walk(&p.e, visit, &v);
	assert_int_equal(v.count, 9);
	for (i = 0; i < 9; i++) {
		assert_ptr_equal(v.obj[i], p.objs[i < 4 ? i : i + 1]);
		assert_ptr_equal(v.slab[i], page_address(p.slab));
	}

	/* Full slabs are not listed (spec 5.5). */
	p.objs[4] = slub_object(p.slab, 4);
	assert_int_equal(slub_refill(&p.e, full, 55, 0, -1), 55);
	v.count = 0;
	slub_walk(&p.e, visit, &v);
	assert_int_equal(v.count, 0);
	slub_flush(&p.e, full, 55);
	slub_flush(&p.e, p.objs, 4);
	slub_flush(&p.e, p.objs + 5, 5);
	END_ENGINE(&p.e);
}

/* Objects of a pack cache that were never touched are not in use. */
static void walk_stops_at_the_formatted(__attribute__((unused)) void **state)
{
	struct engine e = make_pack(64);
	struct visit v = { 0 };
	void *objs[3];

	assert_int_equal(slub_refill(&e, objs, 3, 0, -1), 3);
	free_one(&e, objs[0]);
	slub_walk(&e, visit, &v);
	assert_int_equal(v.count, 2);
	assert_ptr_equal(v.obj[0], objs[1]);
	assert_ptr_equal(v.obj[1], objs[2]);
	slub_flush(&e, objs + 1, 2);
	END_ENGINE(&e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_harm_is_found),
		cmocka_unit_test(walk_finds_who_is_in_use),
		cmocka_unit_test(walk_stops_at_the_formatted),
	};

	return cmocka_run_group_tests(tests, slub_group_setup, NULL);
}
