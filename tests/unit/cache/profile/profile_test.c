/* SPDX-License-Identifier: MIT */
/*
 * unit/cache/profile/profile_test.c - which caches are watched, what is switched, what is lost;
 * what is counted for every engine and front: conformance/profile_test.c
 */
#include "cache/profile/profile.h"
#include "cache/debug/guard.h"
#include "cache/internal.h"
#include "debug/kfence/kfence.h"
#include "unit/cache/cache_fixture.h"

static struct alloc_tag tag = { "a.c", "f", 1, 0, 0 };

static unsigned long calls(void)
{
	return sites_sum(tag.site).calls;
}

IN_CHILD(test_options)
{
	CHILD_CHECK(profile_set_option("0") && profile_set_option("1") && profile_set_option(""));
	CHILD_CHECK(!profile_set_option("2") && !profile_set_option("on"));
	CHILD_CHECK(profile_set_option("never"));
	ready();
	CHILD_CHECK(!uslab_mem_profiling_on);
	CHILD_CHECK(profile_switch(true) == -EPERM && profile_switch(false) == 0);
	CHILD_CHECK(!sites_table && !uslab_mem_profiling_on);
}

IN_CHILD(test_on_from_the_start)
{
	setenv("USLAB_CONF", "mem_profiling=1", 1);
	ready();
	CHILD_CHECK(uslab_mem_profiling_on && sites_table->on && sites_table->generation == 1);
	CHILD_CHECK(profile_switch(true) == 0 && sites_table->generation == 1);
	CHILD_CHECK(profile_switch(false) == 0 && profile_switch(false) == 0);
	CHILD_CHECK(!uslab_mem_profiling_on && !sites_table->on);
	profile_check();
}

/* The words of a cache of before move with the first object that is counted, and move back. */
IN_CHILD(test_front)
{
	struct cache *before;
	struct cache *meanwhile;
	void *p[2];

	ready();
	before = make_front("before", 64, "array");
	CHILD_CHECK(profile_switch(true) == 0);
	meanwhile = make_front("meanwhile", 64, "array");
	CHILD_CHECK(!before->watch && !meanwhile->watch);
	p[0] = get(before);
	p[1] = get(meanwhile);
	profile_add(&tag, before, p[0], false);
	profile_add(&tag, meanwhile, p[1], false);
	CHILD_CHECK(meanwhile->watch == WATCH_TAGS);
	CHILD_CHECK(before->watch == WATCH_TAGS && !before->front.closed);
	CHILD_CHECK(!percpu_is_inline(before->front.id));
	CHILD_CHECK(!percpu_is_inline(meanwhile->front.id));
	CHILD_CHECK(calls() == 2);
	obj_free(before, p[0]);
	obj_free(meanwhile, p[1]);
	CHILD_CHECK(calls() == 0);
	cache_check_all();
	CHILD_CHECK(profile_switch(false) == 0);
	CHILD_CHECK(!before->watch && !meanwhile->watch && !before->front.closed);
	CHILD_CHECK(percpu_is_inline(before->front.id) == percpu_rseq);
	CHILD_CHECK(percpu_is_inline(meanwhile->front.id) == percpu_rseq);
	cache_check_all();
}

/* Of caches by address the front stays open, and allocations are hits. */
IN_CHILD(test_by_address)
{
	struct cache *c;
	void *p;

	CHILD_CHECK(cache_init() == 0 && kmalloc_init() == 0);
	stay_here();
	CHILD_CHECK(profile_switch(true) == 0);
	p = kmalloc_alloc(64, GFP_KERNEL, -1);
	c = cache_of_object(p);
	profile_add(&tag, NULL, p, false);
	CHILD_CHECK(c->watch == WATCH_TAGS && !c->front.closed);
	kmalloc_free(p, NULL);
	CHILD_CHECK(calls() == 0 && kmalloc_alloc(64, GFP_KERNEL, -1) == p);
	kmalloc_free(p, NULL);
	CHILD_CHECK(profile_switch(false) == 0 && !c->watch);
	cache_check_all();
}

/* With a lock held nothing can be counted: that is said. */
IN_CHILD(test_lost)
{
	struct lock lock = LOCK_INIT(RANK_NONE);
	struct cache *c;
	void *p;

	ready();
	c = make("c", 64, 0, 0);
	profile_lose();
	CHILD_CHECK(profile_switch(true) == 0);
	p = get(c);
	lock_acquire(&lock);
	profile_add(&tag, c, p, false);
	lock_release(&lock);
	CHILD_CHECK(sites_table->lost == 1 && !tag.site);
	profile_add(&tag, c, p, false);
	CHILD_CHECK(sites_table->lost == 1 && calls() == 1);
	cache_free(c, p);
	CHILD_CHECK(calls() == 0);
}

/* Objects on guarded pages, which are one to a page, whatever their cache's objects are. */
IN_CHILD(test_guarded)
{
	struct cache *c;
	char *p[20];

	setenv("USLAB_CONF", "kfence.sample=1", 1);
	ready();
	if (!kfence_is_on())
		child_cannot("guarded pages");
	report_set_hook(NULL, NULL, true);
	c = make("c", 64, 0, 0);
	CHILD_CHECK(profile_switch(true) == 0);
	for (unsigned int i = 0; i < ARRAY_SIZE(p); i++) {
		p[i] = get(c);
		profile_add(&tag, c, p[i], false);
	}
	CHILD_CHECK(calls() == ARRAY_SIZE(p) && kfence_is_object(page_head_of(p[0])));
	CHILD_CHECK(sites_sum(tag.site).bytes == ARRAY_SIZE(p) * c->engine.size);
	cache_free(c, p[0] + 8);
	CHILD_CHECK(calls() == ARRAY_SIZE(p));
	for (unsigned int i = 0; i < ARRAY_SIZE(p); i++)
		cache_free(c, p[i]);
	CHILD_CHECK(calls() == 0);
	profile_check();
}

static void set_up(void *obj)
{
	*(long *)obj = 1;
}

/* An inline free would look for the mark behind an object that ends with its page. */
IN_CHILD(test_guarded_meanwhile)
{
	struct cache *c;
	void *p[20];

	setenv("USLAB_CONF", "valgrind=0", 1);
	ready();
	c = made(&(struct cache_spec){
		.name = "c", .size = 64, .ctor = set_up, .front = &front_array_ops });
	CHILD_CHECK(profile_switch(true) == 0);
	p[0] = get(c);
	profile_add(&tag, c, p[0], false);
	CHILD_CHECK(!percpu_is_inline(c->front.id));
	CHILD_CHECK(kfence_set_option("sample", "1") && guard_start() == 0);
	if (!kfence_is_on())
		child_cannot("guarded pages");
	cache_shrink(c);
	for (unsigned int i = 1; i < ARRAY_SIZE(p); i++)
		p[i] = get(c);
	CHILD_CHECK(kfence_is_object(page_head_of(p[1])) && cache_marks_behind(c));
	CHILD_CHECK(profile_switch(false) == 0);
	CHILD_CHECK(!percpu_is_inline(c->front.id) && !c->front.closed);
	for (unsigned int i = 0; i < ARRAY_SIZE(p); i++)
		obj_free(c, p[i]);
	cache_check_all();
}

/* A free of what is no live object is no free of what was counted. */
IN_CHILD(test_wrong_frees)
{
	struct cache *c;
	char *p;

	ready();
	report_set_hook(NULL, NULL, true);
	c = make("c", 64, 0, 0);
	CHILD_CHECK(profile_switch(true) == 0);
	p = get(c);
	profile_add(&tag, c, p, false);
	cache_free(c, p + 8);
	CHILD_CHECK(calls() == 1);
	cache_free(c, p);
	cache_free(c, p);
	CHILD_CHECK(calls() == 0);
	profile_drop(NULL, &p);
	profile_drop(NULL, NULL);
	CHILD_CHECK(calls() == 0);
}

/* A slab that is freed takes its words with it. */
IN_CHILD(test_slab_goes)
{
	struct cache *c;
	void *p[200];

	ready();
	c = make("c", 512, 0, 0);
	CHILD_CHECK(profile_switch(true) == 0);
	for (unsigned int round = 0; round < 3; round++) {
		for (unsigned int i = 0; i < ARRAY_SIZE(p); i++) {
			p[i] = get(c);
			profile_add(&tag, c, p[i], false);
		}
		CHILD_CHECK(calls() == ARRAY_SIZE(p));
		cache_free_bulk(c, ARRAY_SIZE(p), p);
		CHILD_CHECK(calls() == 0 && cache_shrink(c) == 0);
		CHILD_CHECK(stats_of(c).nr_slabs == 0);
		profile_check();
	}
}

/* All objects of a cache at once. */
IN_CHILD(test_arena)
{
	struct cache *c;

	ready();
	c = make_front("c", 512, "array");
	CHILD_CHECK(profile_switch(true) == 0);
	for (unsigned int i = 0; i < 100; i++)
		profile_add(&tag, c, get(c), false);
	CHILD_CHECK(calls() == 100 && cache_clear(c, NULL) == 0 && calls() == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_options), cmocka_unit_test(test_on_from_the_start),
		cmocka_unit_test(test_front),	cmocka_unit_test(test_by_address),
		cmocka_unit_test(test_lost),	cmocka_unit_test(test_wrong_frees),
		cmocka_unit_test(test_guarded), cmocka_unit_test(test_slab_goes),
		cmocka_unit_test(test_arena),	cmocka_unit_test(test_guarded_meanwhile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
