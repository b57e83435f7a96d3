/* SPDX-License-Identifier: MIT */
/*
 * unit/tools/trace/trace_ops_test.c - events -> operations that cannot misuse an allocator
 *
 * A random trace with every kind of mistake is counted by a model that knows nothing of hash tables
 * (pointers are small numbers, so an array does), and its operations are performed on slots that
 * check what they are given.
 */
#include "unit/tools/trace_fixture.h"

#include <errno.h>
#include <stdio.h>
#include <uslab/slab.h>

static void add(enum trace_kind kind, uint64_t ptr, uint64_t size, unsigned int gfp,
		const char *name)
{
	struct trace_event event = { .kind = kind,
				     .ptr = ptr,
				     .bytes_req = size,
				     .gfp = gfp,
				     .cpu = (unsigned int)ptr % 5 };

	if (name)
		event.name = (struct trace_text){ name, strlen(name) };
	assert_int_equal(trace_ops_add(&t, &event), 0);
}

static void alloc_and_free(void **state)
{
	uint16_t rank[TRACE_MAX_CPUS];

	(void)state;
	add(TRACE_KMALLOC, 0x1001, 100, __GFP_ZERO, NULL);
	add(TRACE_CACHE_ALLOC, 0x2002, 64, __GFP_ACCOUNT, "a");
	add(TRACE_KFREE, 0x2002, 0, 0, NULL);
	add(TRACE_KFREE, 0x1001, 0, 0, NULL);
	assert_int_equal(t.nr_ops, 4);
	assert_int_equal(t.nr_slots, 2);
	assert_int_equal(t.nr_caches, 1);
	assert_int_equal(t.nr_classes, 2);
	assert_string_equal(t.caches[0].name, "a");
	assert_int_equal(t.caches[0].size, 64);
	assert_int_equal(t.classes[t.ops[0].class].cache, TRACE_NO_CACHE);
	assert_int_equal(t.classes[t.ops[0].class].gfp, __GFP_ZERO);
	/* accounting belongs to the cache */
	assert_int_equal(t.classes[t.ops[1].class].gfp, 0);
	assert_int_equal(t.ops[0].kind, TRACE_OP_ALLOC);
	assert_int_equal(t.ops[0].cpu, 0x1001 % 5);
	assert_int_equal(t.ops[2].kind, TRACE_OP_KFREE);
	assert_int_equal(t.ops[2].slot, t.ops[1].slot);
	assert_int_equal(t.ops[3].slot, t.ops[0].slot);
	assert_int_equal(t.counts.peak_bytes, 164);
	assert_int_equal(t.counts.peak_objects, 2);
	assert_int_equal(t.counts.live_bytes, 0);
	assert_int_equal(t.counts.matched_frees, 2);
	assert_int_equal(t.counts.other_cache_frees, 0);
	assert_int_equal(t.counts.cpus, 2);
	trace_ops_rank_cpus(&t, rank);
	assert_int_equal(rank[0x1001 % 5], 0);
	assert_int_equal(rank[0x2002 % 5], 1);
}

static void lost_free(void **state)
{
	(void)state;
	add(TRACE_CACHE_ALLOC, 0x1000, 64, 0, "a");
	add(TRACE_KMALLOC, 0x1000, 32, 0, NULL);
	assert_int_equal(t.nr_ops, 3);
	assert_int_equal(t.ops[1].kind, TRACE_OP_IMPLIED_FREE);
	assert_int_equal(t.ops[1].class, t.ops[0].class);
	assert_int_equal(t.counts.implied_frees, 1);
	assert_int_equal(t.counts.matched_frees, 1);
	assert_int_equal(t.counts.live_objects, 1);
	assert_int_equal(t.counts.live_bytes, 32);
	assert_int_equal(t.counts.peak_bytes, 64);
	/* also when the second one cannot be performed */
	add(TRACE_KMALLOC, 0x1000, KMALLOC_MAX_SIZE + 1, 0, NULL);
	assert_int_equal(t.counts.implied_frees, 2);
	assert_int_equal(t.counts.too_large, 1);
	assert_int_equal(t.counts.live_objects, 0);
	add(TRACE_KFREE, 0x1000, 0, 0, NULL);
	assert_int_equal(t.counts.unmatched_frees, 1);
	assert_int_equal(t.nr_ops, 4);
}

static void what_is_left_out(void **state)
{
	(void)state;
	add(TRACE_KFREE, 0, 0, 0, NULL);
	add(TRACE_KFREE, (uintptr_t)ZERO_SIZE_PTR, 0, 0, NULL);
	assert_int_equal(t.counts.null_frees, 2);
	add(TRACE_KFREE, 0x5000, 0, 0, NULL);
	add(TRACE_CACHE_FREE, 0x5000, 0, 0, "a");
	assert_int_equal(t.counts.unmatched_frees, 2);
	add(TRACE_KMALLOC, 0, 100, 0, NULL);
	assert_int_equal(t.counts.failed, 1);
	add(TRACE_KMALLOC, (uintptr_t)ZERO_SIZE_PTR, 0, 0, NULL);
	add(TRACE_KMALLOC, (uintptr_t)ZERO_SIZE_PTR, 7, 0, NULL);
	add(TRACE_CACHE_ALLOC, 0x6000, 0, 0, "a");
	assert_int_equal(t.counts.zero_size, 3);
	add(TRACE_KMALLOC, 0x7000, KMALLOC_MAX_SIZE + 1, 0, NULL);
	add(TRACE_CACHE_ALLOC, 0x7000, UINT64_MAX, 0, "a");
	assert_int_equal(t.counts.too_large, 2);
	assert_int_equal(t.nr_ops, 0);
	assert_int_equal(t.nr_caches, 0);
	add(TRACE_KMALLOC, 0x7000, KMALLOC_MAX_SIZE, 0, NULL);
	assert_int_equal(t.nr_ops, 1);
	assert_int_equal(t.counts.events[TRACE_KMALLOC], 5);
}

static void caches_by_name_and_size(void **state)
{
	(void)state;
	add(TRACE_CACHE_ALLOC, 0x1000, 64, 0, "a");
	add(TRACE_CACHE_ALLOC, 0x2000, 64, __GFP_ZERO, "a");
	assert_int_equal(t.nr_caches, 1);
	assert_int_equal(t.nr_classes, 2);
	add(TRACE_CACHE_ALLOC_NODE, 0x3000, 65, 0, "a");
	add(TRACE_CACHE_ALLOC, 0x4000, 64, 0, "b");
	assert_int_equal(t.nr_caches, 3);
	/* kernels before 6.1 give no name */
	add(TRACE_CACHE_ALLOC, 0x5000, 64, 0, NULL);
	add(TRACE_CACHE_ALLOC, 0x6000, 64, 0, NULL);
	add(TRACE_CACHE_ALLOC, 0x7000, 72, 0, NULL);
	assert_int_equal(t.nr_caches, 5);
	assert_string_equal(t.caches[3].name, "kmem_cache-64");
	assert_string_equal(t.caches[4].name, "kmem_cache-72");
}

static void add_stride(uint64_t ptr, uint64_t size, uint64_t stride, unsigned int gfp,
		       enum trace_accounted accounted, const char *name)
{
	struct trace_event event = { .kind = TRACE_CACHE_ALLOC,
				     .ptr = ptr,
				     .bytes_req = size,
				     .bytes_alloc = stride,
				     .gfp = gfp,
				     .accounted = accounted };

	if (name)
		event.name = (struct trace_text){ name, strlen(name) };
	assert_int_equal(trace_ops_add(&t, &event), 0);
}

/* Another cache that merges with it makes objects of a cache larger, and no other cache of it. */
static void strides(void **state)
{
	(void)state;
	add_stride(0x1000, 57, 64, 0, TRACE_ACCOUNTED_UNSAID, "a");
	add_stride(0x2000, 64, 64, 0, TRACE_ACCOUNTED_UNSAID, "a");
	add_stride(0x3000, 60, 64, 0, TRACE_ACCOUNTED_UNSAID, "a");
	assert_int_equal(t.nr_caches, 1);
	assert_int_equal(t.caches[0].size, 64);
	assert_int_equal(t.counts.live_bytes, 57 + 64 + 60);
	add_stride(0x4000, 64, 72, 0, TRACE_ACCOUNTED_UNSAID, "a");
	add_stride(0x5000, 56, 64, 0, TRACE_ACCOUNTED_UNSAID, "a");
	assert_int_equal(t.nr_caches, 3);
	add_stride(0x6000, 64, UINT64_MAX, 0, TRACE_ACCOUNTED_UNSAID, "a");
	assert_int_equal(t.nr_caches, 4);
	assert_int_equal(trace_ops_unknown_strides(&t), 1);
	add_stride(0x7000, 224, 256, 0, TRACE_ACCOUNTED_UNSAID, NULL);
	add_stride(0x8000, 224, 224, 0, TRACE_ACCOUNTED_UNSAID, NULL);
	assert_int_equal(t.nr_caches, 6);
	assert_string_equal(t.caches[4].name, "kmem_cache-224-256");
	assert_string_equal(t.caches[5].name, "kmem_cache-224");
}

/* Asked for by the call it says nothing of the cache. */
static void accounted_caches(void **state)
{
	(void)state;
	add_stride(0x1000, 64, 64, __GFP_ACCOUNT, TRACE_ACCOUNTED_YES, "a");
	assert_false(t.caches[0].accounted);
	add_stride(0x2000, 64, 64, 0, TRACE_ACCOUNTED_YES, "a");
	assert_true(t.caches[0].accounted);
	add_stride(0x3000, 64, 64, __GFP_ACCOUNT, TRACE_ACCOUNTED_YES, "a");
	assert_int_equal(t.nr_caches, 1);
	assert_true(t.caches[0].accounted);
	/* without names they are told apart by that */
	add_stride(0x4000, 64, 64, 0, TRACE_ACCOUNTED_YES, NULL);
	add_stride(0x5000, 64, 64, 0, TRACE_ACCOUNTED_NO, NULL);
	add_stride(0x6000, 64, 64, 0, TRACE_ACCOUNTED_UNSAID, NULL);
	assert_int_equal(t.nr_caches, 3);
	assert_true(t.caches[1].accounted && !t.caches[2].accounted);
}

static const struct trace_cache *kmalloc_cache(uint64_t ptr, uint64_t size, unsigned int gfp,
					       enum trace_accounted accounted)
{
	struct trace_event event = { .kind = TRACE_KMALLOC,
				     .ptr = ptr,
				     .bytes_req = size,
				     .bytes_alloc = 8,
				     .gfp = gfp,
				     .accounted = accounted };
	uint32_t cache;

	assert_int_equal(trace_ops_add(&t, &event), 0);
	assert_int_equal(t.classes[t.ops[t.nr_ops - 1].class].size, size);
	cache = t.classes[t.ops[t.nr_ops - 1].class].cache;
	return cache == TRACE_NO_CACHE ? NULL : &t.caches[cache];
}

static void kinds_of_kmalloc(void **state)
{
	(void)state;
	assert_null(kmalloc_cache(0x1000, 100, 0, TRACE_ACCOUNTED_NO));
	assert_null(kmalloc_cache(0x2000, 100, __GFP_ACCOUNT, TRACE_ACCOUNTED_UNSAID));
	assert_null(
		kmalloc_cache(0x3000, 100, __GFP_ACCOUNT | __GFP_RECLAIMABLE, TRACE_ACCOUNTED_YES));
	assert_null(kmalloc_cache(0x4000, 8193, __GFP_ACCOUNT, TRACE_ACCOUNTED_YES));
	assert_int_equal(t.nr_caches, 0);
	assert_string_equal(kmalloc_cache(0x5000, 70, __GFP_ACCOUNT, TRACE_ACCOUNTED_YES)->name,
			    "kmalloc-cg-96");
	assert_string_equal(kmalloc_cache(0x6000, 96, __GFP_ACCOUNT, TRACE_ACCOUNTED_YES)->name,
			    "kmalloc-cg-96");
	assert_int_equal(t.nr_caches, 1);
	assert_string_equal(
		kmalloc_cache(0x7000, 1500, __GFP_DMA | __GFP_ACCOUNT, TRACE_ACCOUNTED_YES)->name,
		"dma-kmalloc-2k");
	/* kfree() is for all of them, kmem_cache_free() for none */
	add(TRACE_KFREE, 0x5000, 0, 0, NULL);
	assert_int_equal(t.counts.other_cache_frees, 0);
	add(TRACE_CACHE_FREE, 0x6000, 0, 0, "kmalloc-cg-96");
	assert_int_equal(t.counts.other_cache_frees, 1);
	assert_int_equal(t.ops[t.nr_ops - 1].kind, TRACE_OP_KFREE);
}

static void long_and_odd_names(void **state)
{
	char name[100];

	(void)state;
	memset(name, 'n', sizeof(name));
	name[99] = '\0';
	add(TRACE_CACHE_ALLOC, 0x1000, 64, 0, name);
	name[50] = '\xff';
	add(TRACE_CACHE_ALLOC, 0x2000, 64, 0, name);
	assert_int_equal(t.nr_caches, 2);
	assert_int_equal(strlen(t.caches[0].name), TRACE_CACHE_NAME - 1);
	assert_int_equal(t.caches[1].name[50], '?');
}

static void frees_that_say_something_else(void **state)
{
	(void)state;
	add(TRACE_CACHE_ALLOC, 0x1000, 64, 0, "a");
	add(TRACE_CACHE_FREE, 0x1000, 0, 0, "b");
	assert_int_equal(t.counts.other_cache_frees, 1);
	assert_int_equal(t.ops[1].kind, TRACE_OP_FREE);
	add(TRACE_KMALLOC, 0x1000, 64, 0, NULL);
	add(TRACE_CACHE_FREE, 0x1000, 0, 0, "b");
	assert_int_equal(t.counts.other_cache_frees, 2);
	/* what kmalloc gave cannot go to a cache */
	assert_int_equal(t.ops[3].kind, TRACE_OP_KFREE);
	/* these are in order */
	add(TRACE_CACHE_ALLOC, 0x1000, 64, 0, "a");
	add(TRACE_CACHE_FREE, 0x1000, 0, 0, "a");
	add(TRACE_CACHE_ALLOC, 0x1000, 64, 0, NULL);
	add(TRACE_CACHE_FREE, 0x1000, 0, 0, "a");
	add(TRACE_CACHE_ALLOC, 0x1000, 64, 0, "a");
	add(TRACE_CACHE_FREE, 0x1000, 0, 0, NULL);
	assert_int_equal(t.counts.other_cache_frees, 2);
	assert_int_equal(t.counts.matched_frees, 5);
}

static void too_many_cpus(void **state)
{
	struct trace_event event = {
		.kind = TRACE_KMALLOC, .ptr = 0x1000, .bytes_req = 8, .cpu = TRACE_MAX_CPUS
	};
	char text[128];

	(void)state;
	assert_int_equal(trace_ops_add(&t, &event), -E2BIG);
	trace_ops_limit(&t, &event, text, sizeof(text));
	assert_string_equal(text, "a CPU below 8192, found 8192");
	assert_int_equal(t.nr_ops, 0);
	event.cpu--;
	assert_int_equal(trace_ops_add(&t, &event), 0);
	assert_int_equal(t.ops[0].cpu, TRACE_MAX_CPUS - 1);
}

/* As if there were as many already: to make them takes long. */
static void too_many_of_the_rest(void **state)
{
	struct trace_event event = { .kind = TRACE_KMALLOC, .ptr = 0x1000, .bytes_req = 8 };
	char text[128];

	(void)state;
	t.nr_classes = TRACE_MAX_CLASSES;
	assert_int_equal(trace_ops_add(&t, &event), -E2BIG);
	trace_ops_limit(&t, &event, text, sizeof(text));
	assert_string_equal(text,
			    "at most 1048576 caches, and as many kinds of allocations (cache, "
			    "size and flags), found one more");
	t.nr_classes = 0;
	t.nr_slots = TRACE_MAX_SLOTS;
	t.counts.live_objects = TRACE_MAX_SLOTS;
	assert_int_equal(trace_ops_add(&t, &event), -E2BIG);
	trace_ops_limit(&t, &event, text, sizeof(text));
	assert_string_equal(text, "at most 268435456 live objects, found one more");
	t.nr_slots = 0;
	t.counts.live_objects = 0;
	assert_int_equal(trace_ops_add(&t, &event), 0);
}

/* ---- a random trace, a model, a performer ---- */

#define NR_POINTERS 3000u
#define NR_EVENTS 60000u

struct model {
	uint32_t size[NR_POINTERS]; /* 0: not alive */
	uint64_t allocations, matched, implied, unmatched, live, bytes, peak_bytes, peak;
};

static void model_end(struct model *m, unsigned int ptr, bool implied)
{
	m->matched++;
	m->implied += implied;
	m->live--;
	m->bytes -= m->size[ptr];
	m->size[ptr] = 0;
}

static void model_alloc(struct model *m, unsigned int ptr, uint32_t size)
{
	if (m->size[ptr])
		model_end(m, ptr, true);
	if (!size || size > KMALLOC_MAX_SIZE)
		return;
	m->size[ptr] = size;
	m->allocations++;
	m->live++;
	m->bytes += size;
	m->peak = m->live > m->peak ? m->live : m->peak;
	m->peak_bytes = m->bytes > m->peak_bytes ? m->bytes : m->peak_bytes;
}

static void random_event(struct model *m)
{
	static const char *const names[] = { "a", "b", "c", NULL };
	static const uint32_t sizes[] = {
		1, 8, 64, 64, 100, 4096, 10000, KMALLOC_MAX_SIZE, 0, KMALLOC_MAX_SIZE + 1
	};
	unsigned int ptr = (unsigned int)random() % NR_POINTERS;
	enum trace_kind kind = (enum trace_kind)(random() % TRACE_NR_KINDS);
	uint32_t size = sizes[random() % 10];

	/* addresses as the kernel's: aligned, high, close together */
	add(kind, 0xffff888000000000 + ptr * 64, size, random() % 2 ? __GFP_ZERO : 0,
	    names[random() % 4]);
	if (trace_kind_is_alloc(kind))
		model_alloc(m, ptr, size);
	else if (m->size[ptr])
		model_end(m, ptr, false);
	else
		m->unmatched++;
}

/* Every operation fits what the slots hold. */
static uint64_t perform_ops(void)
{
	uint32_t *slots = calloc(t.nr_slots + 1, sizeof(*slots)); /* class + 1; 0: free */
	uint64_t live = 0;

	assert_non_null(slots);
	for (size_t i = 0; i < t.nr_ops; i++) {
		const struct trace_op *op = &t.ops[i];

		assert_true(op->slot < t.nr_slots && op->class < t.nr_classes);
		if (op->kind == TRACE_OP_ALLOC) {
			assert_int_equal(slots[op->slot], 0);
			slots[op->slot] = op->class + 1;
			live++;
			continue;
		}
		assert_int_equal(slots[op->slot], op->class + 1);
		if (op->kind == TRACE_OP_FREE)
			assert_int_not_equal(t.classes[op->class].cache, TRACE_NO_CACHE);
		slots[op->slot] = 0;
		live--;
	}
	free(slots);
	return live;
}

static void random_trace(void **state)
{
	static struct model m;

	(void)state;
	srandom(11);
	for (unsigned int i = 0; i < NR_EVENTS; i++)
		random_event(&m);
	trace_ops_finish(&t);
	assert_int_equal(t.counts.allocations, m.allocations);
	assert_int_equal(t.counts.matched_frees, m.matched);
	assert_int_equal(t.counts.implied_frees, m.implied);
	assert_int_equal(t.counts.unmatched_frees, m.unmatched);
	assert_int_equal(t.counts.live_objects, m.live);
	assert_int_equal(t.counts.live_bytes, m.bytes);
	assert_int_equal(t.counts.peak_objects, m.peak);
	assert_int_equal(t.counts.peak_bytes, m.peak_bytes);
	assert_int_equal(t.nr_slots, m.peak);
	assert_int_equal(t.nr_ops, m.allocations + m.matched);
	assert_int_equal(perform_ops(), m.live);
	assert_true(m.implied > 1000 && m.unmatched > 1000);
}

/* Each operation has its own time, also between bursts; clocks that differ stand still. */
static void times(void **state)
{
	(void)state;
	for (uint64_t i = 0; i < 200; i++) {
		uint64_t time = 5000 + i * 10 + (i < 150 ? 0 : 60000000000ul - 1500);
		struct trace_event event = { .kind = TRACE_KMALLOC,
					     .ptr = 4096 + i,
					     .bytes_req = i < 150 ? 8 : 4,
					     .time = i == 64 || i == 100 ? time - 700 : time };

		assert_int_equal(trace_ops_add(&t, &event), 0);
	}
	trace_ops_finish(&t);
	assert_int_equal(trace_ops_time(&t, 0), 0);
	assert_int_equal(trace_ops_time(&t, 33), 330);
	assert_int_equal(trace_ops_time(&t, 64), 630); /* that of op 63 */
	assert_int_equal(trace_ops_time(&t, 65), 650);
	assert_int_equal(trace_ops_time(&t, 128), 1280);
	assert_int_equal(trace_ops_time(&t, 150), 60000000000ul);
	assert_int_equal(trace_ops_time(&t, 199), 60000000490ul);
	assert_int_equal(trace_ops_time(&t, 200), 0);
	assert_int_equal(t.counts.peak_op, 199);
}

static void peak_op(void **state)
{
	(void)state;
	add(TRACE_KMALLOC, 0x1000, 100, 0, NULL);
	add(TRACE_KMALLOC, 0x2000, 100, 0, NULL);
	add(TRACE_KFREE, 0x2000, 0, 0, NULL);
	add(TRACE_KMALLOC, 0x3000, 100, 0, NULL); /* as much again: the first one counts */
	assert_int_equal(t.counts.peak_op, 1);
	add(TRACE_KMALLOC, 0x4000, 1, 0, NULL);
	assert_int_equal(t.counts.peak_op, 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(alloc_and_free, setup, teardown),
		cmocka_unit_test_setup_teardown(lost_free, setup, teardown),
		cmocka_unit_test_setup_teardown(what_is_left_out, setup, teardown),
		cmocka_unit_test_setup_teardown(caches_by_name_and_size, setup, teardown),
		cmocka_unit_test_setup_teardown(strides, setup, teardown),
		cmocka_unit_test_setup_teardown(accounted_caches, setup, teardown),
		cmocka_unit_test_setup_teardown(kinds_of_kmalloc, setup, teardown),
		cmocka_unit_test_setup_teardown(long_and_odd_names, setup, teardown),
		cmocka_unit_test_setup_teardown(frees_that_say_something_else, setup, teardown),
		cmocka_unit_test_setup_teardown(times, setup, teardown),
		cmocka_unit_test_setup_teardown(peak_op, setup, teardown),
		cmocka_unit_test_setup_teardown(too_many_cpus, setup, teardown),
		cmocka_unit_test_setup_teardown(too_many_of_the_rest, setup, teardown),
		cmocka_unit_test_setup_teardown(random_trace, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
