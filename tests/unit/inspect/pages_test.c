/* SPDX-License-Identifier: MIT */
/*
 * unit/inspect/pages_test.c - page descriptors of a made-up process, honest and not
 */

#include "fake_snapshot.h"

static void test_slabs(void **state)
{
	const struct snapshot_cache *c;

	(void)state;
	fake_cache(&f, 192, "a", 64, 8);
	fake_cache(&f, 193, "b", 128, 8);
	fake_slab(&f, 0, 192, 64, 64, false); /* full */
	fake_slab(&f, 1, 192, 64, 10, false); /* partial */
	fake_slab(&f, 2, 192, 64, 0, false);  /* kept empty, on the list too */
	fake_slab(&f, 3, 192, 64, 64, true);  /* a CPU's */
	fake_slab(&f, 4, 192, 64, 20, true);  /* on a CPU's partial list */
	fake_slab(&f, 8, 193, 64, 1, false)->order = 1;
	fake_take();
	c = fake_result(s, 192);
	assert_int_equal(c->slabs, 5);
	assert_int_equal(c->partial, 2);
	assert_int_equal(c->cpu_slabs, 2);
	assert_int_equal(c->total_objects, 320);
	assert_int_equal(c->objects, 64 + 10 + 64 + 20);
	assert_int_equal(c->objects_partial, 10);
	assert_int_equal(c->slab_bytes, 5 * 4096);
	c = fake_result(s, 193);
	assert_int_equal(c->slabs, 1);
	assert_int_equal(c->slab_bytes, 8192);
	assert_int_equal(s->totals.slab_bytes, 5 * 4096 + 8192);
	assert_int_equal(s->totals.inconsistent, 0);
}

/* SLAB's slabs without objects are on a list of their own; its pages may be of any node. */
static void test_nodes_and_free_slabs(void **state)
{
	const struct snapshot_cache *c;

	(void)state;
	fake_cache(&f, 192, "a", 64, 8);
	fake_text(&f, FAKE_GLOBALS + FAKE_NAMES, "slab");
	fake_slab(&f, 0, 192, 64, 10, false);
	fake_slab(&f, 1, 192, 64, 0, false)->node = 1;
	fake_slab(&f, 2, 192, 64, 20, false)->node = 1;
	fake_slab(&f, 3, 192, 64, 64, true)->node = 1;
	fake_slab(&f, 4, 192, 64, 1, false)->node = 255; /* no such node */
	fake_take();
	c = fake_result(s, 192);
	assert_string_equal(c->engine, "slab");
	assert_int_equal(c->slabs, 5);
	assert_int_equal(c->partial, 3);
	assert_int_equal(c->objects_partial, 31);
	assert_int_equal(c->node[0].slabs, 1);
	assert_int_equal(c->node[0].partial, 1);
	assert_int_equal(c->node[0].objects_partial, 10);
	assert_int_equal(c->node[1].slabs, 3);
	assert_int_equal(c->node[1].partial, 1);
	assert_int_equal(c->node[1].cpu_slabs, 1);
	assert_int_equal(c->node[1].inuse, 84);
	assert_int_equal(c->node[1].total_objects, 192);
	assert_int_equal(c->node[SNAPSHOT_MAX_NODES - 1].slabs, 1);
}

static void test_runs_and_free(void **state)
{
	struct page *run = fake_page(&f, 100);
	struct page *free_block = fake_page(&f, 128);
	const struct snapshot_cache *row;

	(void)state;
	run->type = PAGE_RUN;
	run->nr_pages = 25;
	free_block->type = PAGE_BUDDY;
	free_block->order = 5;
	free_block->nr_pages = 7;     /* dirty ones */
	for (int i = 0; i < 2; i++) { /* on a CPU's list: one written to, one not */
		fake_page(&f, 160 + 8 * i)->type = PAGE_LISTED;
		fake_page(&f, 160 + 8 * i)->order = i ? 3 : 2;
		fake_page(&f, 160 + 8 * i)->nr_pages = i ? 0 : 4;
	}
	fake_page(&f, 181)->type = PAGE_KEPT; /* as long as it is, all of it written to */
	fake_page(&f, 181)->order = 4;
	fake_page(&f, 181)->nr_pages = 10;
	fake_take();
	assert_int_equal(s->totals.runs, 1);
	assert_int_equal(s->totals.run_bytes, 25 * 4096);
	assert_int_equal(s->totals.free_bytes, (32 + 12 + 10) * 4096);
	assert_int_equal(s->totals.dirty_bytes, (7 + 4 + 10) * 4096);
	assert_int_equal(s->totals.listed_bytes, (12 + 10) * 4096);
	assert_int_equal(s->totals.inconsistent, 0);
	assert_int_equal(s->nr_caches, 3);
	row = &s->cache[0];
	assert_string_equal(row->name, "free-pages");
	assert_int_equal(row->objects, 0);
	assert_int_equal(row->slabs, 7 + 4 + 10);
	assert_int_equal(row->slab_bytes, (7 + 4 + 10) * 4096);
	row = &s->cache[1];
	assert_string_equal(row->name, "malloc-large");
	assert_int_equal(row->objects, 1);
	assert_int_equal(row->object_size, 25 * 4096);
	assert_int_equal(row->slab_bytes, 25 * 4096);
	row = &s->cache[2];
	assert_string_equal(row->name, "malloc-mapped");
	assert_int_equal(row->objects, 3);
	assert_int_equal(row->slab_bytes, 30 << 20);
}

/* A slab whose engine is no cache: its bytes are counted apart, and no pointer is followed. */
static void test_unknown_engine(void **state)
{
	(void)state;
	fake_cache(&f, 192, "a", 64, 8);
	fake_slab(&f, 0, 192, 64, 64, false)->engine = (void *)0xdeadbeef;
	fake_slab(&f, 1, 192, 64, 64, false)->engine = NULL;
	fake_slab(&f, 2, 192, 64, 3, false);
	fake_take();
	assert_int_equal(s->totals.unknown_bytes, 8192);
	assert_int_equal(fake_result(s, 192)->slabs, 1);
	assert_int_equal(fake_result(s, 192)->objects, 3);
}

static void test_lies(void **state)
{
	const struct snapshot_cache *c;

	(void)state;
	fake_cache(&f, 192, "a", 64, 8);
	fake_slab(&f, 0, 192, 64, 64, false)->order = 200;
	fake_slab(&f, 1, 192, 10, 65535, false); /* more in use than there are */
	fake_page(&f, 2)->type = 77;
	fake_page(&f, 3)->type = PAGE_RUN;
	fake_page(&f, 3)->nr_pages = ~0u;
	fake_page(&f, 4)->type = PAGE_BUDDY;
	fake_page(&f, 4)->order = 63;
	fake_page(&f, 5)->type = PAGE_BUDDY;
	fake_page(&f, 5)->nr_pages = 2; /* of one */
	fake_take();
	c = fake_result(s, 192);
	assert_int_equal(c->slabs, 1);
	assert_int_equal(c->objects, 10);
	assert_int_equal(s->totals.run_bytes, 0);
	assert_int_equal(s->totals.free_bytes, 0);
	assert_int_equal(s->totals.inconsistent, 5);
}

/* More pages than there are descriptors: the ones that can be read count. */
static void test_missing_descriptors(void **state)
{
	(void)state;
	fake_cache(&f, 192, "a", 64, 8);
	fake_slab(&f, 0, 192, 64, 64, false);
	fake_slab(&f, FAKE_NR_PAGES - 1, 192, 64, 64, false);
	fake_page_map(&f)->nr_pages = 1ul << 20;
	fake_take();
	assert_int_equal(fake_result(s, 192)->slabs, 2);
	assert_int_equal(s->totals.inconsistent, 1);
	assert_true(f.reads < 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FAKE_TEST(test_slabs),	       FAKE_TEST(test_nodes_and_free_slabs),
		FAKE_TEST(test_runs_and_free), FAKE_TEST(test_unknown_engine),
		FAKE_TEST(test_lies),	       FAKE_TEST(test_missing_descriptors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
