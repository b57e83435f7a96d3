/* SPDX-License-Identifier: MIT */
/*
 * unit/api/profile_api_test.c - allocation profiling as programs have it: each name that allocates
 * has a tag of its own line, and with _noprof the caller's
 */
#define USLAB_MEM_ALLOC_PROFILING
#include <uslab/kstring.h>
#include <uslab/mempool.h>

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/bits.h"
#include "cache/profile/profile.h"
#include "child.h"

#define TAGS ((size_t)(__stop_uslab_alloc_tags - __start_uslab_alloc_tags))

/* The tag of a line of this file; calls of one line are of one site. */
static struct alloc_tag *tag_of(int line)
{
	struct alloc_tag *tag = __start_uslab_alloc_tags;

	for (size_t i = 0; i < TAGS; i++)
		if (tag[i].line == (uint32_t)line && strstr(tag[i].file, "profile_api_test.c"))
			return &tag[i];
	return NULL;
}

static bool counts(int line, uint64_t calls)
{
	struct alloc_tag_counters sum = alloc_tag_read(tag_of(line));

	return sum.calls == calls && !sum.bytes == !calls;
}

/* Calls of all sites of this program. */
static uint64_t all_calls(void)
{
	uint64_t calls = 0;

	for (uint32_t site = 1; site <= sites_table->nr; site++)
		calls += sites_sum(site).calls;
	return calls;
}

/* The expression allocates one object, of this line, that kfree() takes. */
#define ONE(allocation)                                \
	do {                                           \
		const void *p_ = (allocation);         \
		CHILD_CHECK(p_ &&counts(__LINE__, 1)); \
		kvfree(p_);                            \
		CHILD_CHECK(counts(__LINE__, 0));      \
	} while (0)

static void on(void)
{
	CHILD_CHECK(uslab_set_mem_profiling(true) == 0 && mem_alloc_profiling_enabled());
}

struct point {
	int x;
	int y;
};

struct list {
	unsigned int nr;
	struct point point[];
};

IN_CHILD(test_kmalloc)
{
	struct point *p = NULL;

	on();
	ONE(kmalloc(100, GFP_KERNEL));
	ONE(kzalloc(100, GFP_KERNEL));
	ONE(kmalloc_node(100, GFP_KERNEL, 0));
	ONE(kzalloc_node(100, GFP_KERNEL, 0));
	ONE(kmalloc_array(3, 100, GFP_KERNEL));
	ONE(kcalloc(3, 100, GFP_KERNEL));
	ONE(kmalloc_array_node(3, 100, GFP_KERNEL, 0));
	ONE(kcalloc_node(3, 100, GFP_KERNEL, 0));
	ONE(kmalloc_track_caller(100, GFP_KERNEL));
	ONE(kmalloc_node_track_caller(100, GFP_KERNEL, 0));
	ONE(kvmalloc(100000, GFP_KERNEL));
	ONE(kvmalloc(64 << 20, GFP_KERNEL));
	ONE(kvzalloc(100000, GFP_KERNEL));
	ONE(kvmalloc_node(100, GFP_KERNEL, 0));
	ONE(kvzalloc_node(100, GFP_KERNEL, 0));
	ONE(kvmalloc_array(3, 100, GFP_KERNEL));
	ONE(kvcalloc(3, 100, GFP_KERNEL));
	ONE(kvmalloc_array_node(3, 100, GFP_KERNEL, 0));
	ONE(kvcalloc_node(3, 100, GFP_KERNEL, 0));
	ONE(kvmalloc_node_align(100, 64, GFP_KERNEL, 0));
	ONE(kmalloc_obj(struct point));
	ONE(kzalloc_objs(*p, 3));
	ONE(kvmalloc_flex(struct list, point, 3));
	ONE(krealloc(NULL, 100, GFP_KERNEL));
	CHILD_CHECK(!kmalloc(SIZE_MAX / 2, GFP_KERNEL));
	CHILD_CHECK(kmalloc(0, GFP_KERNEL) == ZERO_SIZE_PTR);
	CHILD_CHECK(all_calls() == 0 && sites_table->lost == 0);
}

IN_CHILD(test_krealloc)
{
	int first, second;
	void *p;

	on();
	p = kmalloc(100, GFP_KERNEL), first = __LINE__;
	p = krealloc(p, 120, GFP_KERNEL), second = __LINE__;
	CHILD_CHECK(counts(first, 1) && counts(second, 0)); /* in place */
	p = krealloc(p, 1000, GFP_KERNEL), second = __LINE__;
	CHILD_CHECK(counts(first, 0) && counts(second, 1));
	p = kvrealloc(p, 64 << 20, GFP_KERNEL), first = __LINE__;
	CHILD_CHECK(counts(first, 1) && counts(second, 0));
	CHILD_CHECK(krealloc(p, 0, GFP_KERNEL) == ZERO_SIZE_PTR && all_calls() == 0);
}

IN_CHILD(test_caches)
{
	struct kmem_cache *s = kmem_cache_create("c", 100, 0, 0, NULL);
	struct slab_sheaf *sheaf = kmem_cache_prefill_sheaf(s, GFP_KERNEL, 3);
	kmem_buckets *b = kmem_buckets_create("b", 0, 0, 0, NULL);
	int line[6];
	void *p[40];

	on();
	p[0] = kmem_cache_alloc(s, GFP_KERNEL), line[0] = __LINE__;
	p[1] = kmem_cache_zalloc(s, GFP_KERNEL), line[1] = __LINE__;
	p[2] = kmem_cache_alloc_node(s, GFP_KERNEL, 0), line[2] = __LINE__;
	p[3] = kmem_cache_alloc_lru(s, NULL, GFP_KERNEL), line[3] = __LINE__;
	p[4] = kmem_cache_alloc_from_sheaf(s, GFP_KERNEL, sheaf), line[4] = __LINE__;
	line[5] = __LINE__ + 1;
	CHILD_CHECK(kmem_cache_alloc_bulk(s, GFP_KERNEL, 35, p + 5) == 35);
	for (size_t i = 0; i < 6; i++)
		CHILD_CHECK(counts(line[i], i == 5 ? 35 : 1));
	kmem_cache_free(s, p[0]);
	CHILD_CHECK(counts(line[0], 0));
	kmem_cache_free_bulk(s, 39, p + 1);
	CHILD_CHECK(all_calls() == 0);
	kmem_cache_return_sheaf(s, GFP_KERNEL, sheaf);
	ONE(kmem_buckets_alloc(b, 100, GFP_KERNEL));
	ONE(kmem_buckets_valloc(b, 100, GFP_KERNEL));
	ONE(kmem_buckets_alloc_track_caller(b, 100, GFP_KERNEL));
	CHILD_CHECK(all_calls() == 0 && sites_table->lost == 0);
}

/* From where the array has them, and as many as it has. */
IN_CHILD(test_arrays)
{
	struct kmem_cache *s = kmem_cache_create("a", 64, 0, 0, NULL);
	void *p[40];
	int line;

	on();
	line = __LINE__ + 1;
	CHILD_CHECK(kmem_cache_alloc_array(s, GFP_KERNEL, 40, p, SLAB_ARRAY_FULL) == 40);
	CHILD_CHECK(counts(line, 40));
	kmem_cache_free_array(s, 40, p);
	line = __LINE__ + 1;
	CHILD_CHECK(kmem_cache_alloc_array(s, GFP_KERNEL, 0, p, SLAB_ARRAY_FULL) == 0);
	CHILD_CHECK(counts(line, 0) && all_calls() == 0);
}

/* What allocates in any context has no tag; what is freed so is counted until it is free. */
IN_CHILD(test_nolock)
{
	void *p, *q;
	int line;

	on();
	p = kmalloc_nolock(100, 0, NUMA_NO_NODE);
	CHILD_CHECK(p && all_calls() == 0);
	q = kmalloc(100, GFP_KERNEL), line = __LINE__;
	CHILD_CHECK(counts(line, 1));
	kfree_nolock(p);
	kfree_nolock(q);
	uslab_trim(); /* settles all that was deferred */
	CHILD_CHECK(counts(line, 0) && all_calls() == 0 && sites_table->lost == 0);
}

__attribute__((__format__(__printf__, 1, 2))) static char *va_text(const char *format, ...)
{
	va_list args;
	char *p;

	va_start(args, format);
	p = kvasprintf(GFP_KERNEL, format, args);
	va_end(args);
	return p;
}

IN_CHILD(test_strings)
{
	const char *constant;
	char *p;

	on();
	ONE(kmemdup("text", 5, GFP_KERNEL));
	ONE(kvmemdup("text", 5, GFP_KERNEL));
	ONE(kmemdup_array("text", 1, 5, GFP_KERNEL));
	ONE(kmemdup_nul("text", 4, GFP_KERNEL));
	ONE(kstrdup("text", GFP_KERNEL));
	ONE(kstrndup("text", 2, GFP_KERNEL));
	ONE(kasprintf(GFP_KERNEL, "%d", 7));
	p = va_text("%d", 7);
	CHILD_CHECK(p && all_calls() == 1);
	kfree(p);
	constant = kstrdup_const("text", GFP_KERNEL);
	kfree_const(constant);
	/* one inside of the other's arguments */
	p = kstrdup(p = kstrdup("text", GFP_KERNEL), GFP_KERNEL);
	CHILD_CHECK(all_calls() == 2);
}

IN_CHILD(test_pools)
{
	struct kmem_cache *s = kmem_cache_create("c", 100, 0, 0, NULL);
	mempool_t *pool;
	mempool_t in;
	int line, first;
	void *p[3];

	memset(&in, 0, sizeof(in));
	on();
	pool = mempool_create_slab_pool(4, s), line = __LINE__;
	CHILD_CHECK(pool && all_calls() >= 4 && !counts(line, 0));
	p[0] = mempool_alloc(pool, GFP_KERNEL), first = __LINE__;
	CHILD_CHECK(counts(first, 1));
	mempool_free(p[0], pool);
	CHILD_CHECK(counts(first, 0));
	p[0] = mempool_alloc_preallocated(pool), first = __LINE__;
	CHILD_CHECK(counts(first, 0)); /* it was the pool's, and still is counted there */
	mempool_free(p[0], pool);
	memset(p, 0, sizeof(p));
	first = __LINE__ + 1;
	CHILD_CHECK(mempool_alloc_bulk(pool, p, 3, 0) == 0);
	CHILD_CHECK(counts(first, 3));
	for (size_t i = 0; i < 3; i++)
		mempool_free(p[i], pool);
	mempool_destroy(pool);
	CHILD_CHECK(all_calls() == 0);
	line = __LINE__ + 1;
	CHILD_CHECK(mempool_init_kmalloc_pool(&in, 3, 200) == 0);
	CHILD_CHECK(!counts(line, 0));
	mempool_exit(&in);
	CHILD_CHECK(all_calls() == 0);
}

/* ---- functions that allocate for their callers ---- */

static void *pair_noprof(void **second)
{
	*second = kmalloc_noprof(200, GFP_KERNEL);
	return kmalloc_noprof(100, GFP_KERNEL);
}

#define pair(second) alloc_hooks(pair_noprof(second))

IN_CHILD(test_hooks)
{
	struct kmem_cache *s = kmem_cache_create("c", 100, 0, 0, NULL);
	DEFINE_ALLOC_TAG(mine);
	struct alloc_tag *old;
	void *p[5];
	int line;

	on();
	p[0] = pair(&p[1]), line = __LINE__;
	CHILD_CHECK(counts(line, 2) && alloc_tag_save(NULL) == NULL);
	p[2] = kmalloc_noprof(100, GFP_KERNEL); /* for nobody */
	CHILD_CHECK(all_calls() == 2);
	old = alloc_tag_save(&mine);
	p[3] = kmem_cache_alloc_noprof(s, GFP_KERNEL);
	CHILD_CHECK(kmem_cache_alloc_bulk_noprof(s, GFP_KERNEL, 1, &p[4]) == 1);
	alloc_tag_restore(&mine, old);
	CHILD_CHECK(alloc_tag_read(&mine).calls == 2);
	for (size_t i = 0; i < 3; i++)
		kfree(p[i]);
	kmem_cache_free_bulk(s, 2, p + 3);
	CHILD_CHECK(all_calls() == 0);
}

/* Off, nothing is done but to look at a word. */
IN_CHILD(test_off)
{
	int line;
	void *p;

	p = kmalloc(100, GFP_KERNEL), line = __LINE__;
	CHILD_CHECK(!sites_table && counts(line, 0));
	on();
	kfree(p);
	CHILD_CHECK(all_calls() == 0);
	CHILD_CHECK(uslab_set_mem_profiling(false) == 0 && !mem_alloc_profiling_enabled());
	/* all sites of this file are known, also those that were not called */
	CHILD_CHECK(sites_table->nr >= 40 && tag_of(line)->site);
}

/* ---- other threads, signal handlers ---- */

static void *free_it(void *p)
{
	kfree(p);
	return NULL;
}

IN_CHILD(test_other_thread)
{
	pthread_t thread;
	int line;
	void *p;

	on();
	p = kmalloc(100, GFP_KERNEL), line = __LINE__;
	CHILD_CHECK(counts(line, 1));
	CHILD_CHECK(!pthread_create(&thread, NULL, free_it, p));
	pthread_join(thread, NULL);
	CHILD_CHECK(counts(line, 0));
}

static volatile sig_atomic_t handled;
static volatile int handler_line;

static void on_signal(int sig)
{
	void *p = kmalloc(64, GFP_NOWAIT);

	handler_line = __LINE__ - 2;
	kfree(p);
	handled = handled + (sig == SIGALRM);
	ualarm(200, 0); /* from its end on: the program goes on, however slow this is */
}

/* In the middle of anything; what was not counted is said, and the rest adds up. */
IN_CHILD(test_signals)
{
	struct kmem_cache *s = kmem_cache_create("c", 64, 0, 0, NULL);
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
	void *p[20];

	sigaction(SIGALRM, &action, NULL);
	on();
	ualarm(200, 0);
	while (handled < 200) {
		for (size_t j = 0; j < ARRAY_SIZE(p); j++)
			p[j] = j % 2 ? kmem_cache_alloc(s, GFP_KERNEL) : kmalloc(64, GFP_KERNEL);
		for (size_t j = 0; j < ARRAY_SIZE(p); j++)
			if (j % 2)
				kmem_cache_free(s, p[j]);
			else
				kfree(p[j]);
	}
	ualarm(0, 0);
	kfree(kmalloc(100000, GFP_KERNEL)); /* deferred frees are done */
	CHILD_CHECK(all_calls() == 0 && tag_of(handler_line));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kmalloc), cmocka_unit_test(test_krealloc),
		cmocka_unit_test(test_caches),	cmocka_unit_test(test_strings),
		cmocka_unit_test(test_pools),	cmocka_unit_test(test_hooks),
		cmocka_unit_test(test_off),	cmocka_unit_test(test_other_thread),
		cmocka_unit_test(test_signals), cmocka_unit_test(test_arrays),
		cmocka_unit_test(test_nolock),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
