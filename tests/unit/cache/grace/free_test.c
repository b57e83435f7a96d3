/* SPDX-License-Identifier: MIT */
/*
 * unit/cache/grace/free_test.c - blocks are freed after their grace period: in batches, and where
 * there is no memory for these; caches that are destroyed; threads, fork
 */
#include <sys/wait.h>

#include "bare.h"
#include "cache/internal.h"
#include "grace_fixture.h"
#include "page/nested.h"
#include "threads.h"

#define BATCH 62 /* blocks of which a batch is full */

/* However many: one call for each batch, and for all that came meanwhile. */
IN_CHILD(batches_are_handed_over_when_full)
{
	struct cache *c;

	bound();
	stay_here();
	c = make("node", sizeof(struct node), 0, 0);
	for (unsigned int i = 0; i < BATCH - 1; i++)
		free_node(new_node(c));
	CHILD_CHECK(rcu.calls == 0 && in_use(c) == BATCH - 1);
	cache_check_all();
	free_node(new_node(c));
	CHILD_CHECK(rcu.calls == 1 && in_use(c) == BATCH);
	for (unsigned int i = 0; i < 3 * BATCH; i++)
		free_node(new_node(c));
	CHILD_CHECK(rcu.calls == 1 && in_use(c) == 4 * BATCH);
	rcu_grace();
	CHILD_CHECK(rcu.calls == 2 && in_use(c) == 3 * BATCH);
	rcu_grace();
	CHILD_CHECK(rcu.calls == 2 && in_use(c) == 0);
	cache_check_all();
	cache_destroy(c->handle, NULL);
}

/* Few that are large are no less memory. */
IN_CHILD(large_blocks_are_handed_over)
{
	void *p;

	bound();
	stay_here();
	for (unsigned int i = 0; i < 2; i++) {
		p = kmalloc_alloc(128 << 10, GFP_KERNEL, NUMA_NO_NODE);
		CHILD_CHECK(p && rcu.calls == 0);
		grace_free(i ? p : NULL, p, NULL);
	}
	CHILD_CHECK(rcu.calls == 1);
	rcu_grace();
	p = kmalloc_alloc(4 << 20, GFP_KERNEL, NUMA_NO_NODE);
	grace_free(NULL, p, NULL);
	CHILD_CHECK(rcu.calls == 2 && grace_holds(p));
	rcu_grace();
	CHILD_CHECK(!grace_holds(p) && large_size_around(p) == 0);
}

/* Readers see all but the head, until the end. */
IN_CHILD(blocks_keep_their_bytes)
{
	struct node *node;
	struct cache *c;

	bound();
	c = make("node", sizeof(struct node), 0, 0);
	node = new_node(c);
	node->key = 17;
	node->value = 4711;
	free_node(node);
	grace_hand_over();
	CHILD_CHECK(node->key == 17 && node->value == 4711 && grace_holds(node));
	rcu_grace();
	CHILD_CHECK(!grace_holds(node) && in_use(c) == 0);
}

IN_CHILD(nothing_is_ignored)
{
	bound();
	grace_free(NULL, NULL, NULL);
	grace_free(NULL, ZERO_SIZE_PTR, NULL);
	grace_hand_over();
	CHILD_CHECK(rcu.calls == 0);
	grace_wait(NULL);
	CHILD_CHECK(rcu.barriers == 0);
}

/* Who destroys a cache, or waits for it, waits only if something of it is there to wait for. */
IN_CHILD(caches_are_waited_for)
{
	struct cache *a;
	struct cache *b;

	bound();
	a = make("a", 40, 0, SLAB_NO_MERGE);
	b = make("b", 40, 0, SLAB_NO_MERGE);
	free_node(new_node(a));
	grace_wait(b);
	CHILD_CHECK(rcu.barriers == 0 && in_use(a) == 1);
	cache_destroy(b->handle, NULL);
	CHILD_CHECK(rcu.barriers == 0 && in_use(a) == 1);
	grace_wait(a);
	CHILD_CHECK(rcu.barriers == 1 && in_use(a) == 0);
	free_node(new_node(a));
	grace_hand_over();
	free_node(new_node(a));
	cache_destroy(a->handle, NULL);
	CHILD_CHECK(rcu.barriers > 1 && report_counters.reports == 0);
	cache_check_all();
}

/* Type-safe caches of engines that share pages have free objects which wait. */
static void settle(void *engine)
{
	struct cache *c;
	void *p[300];

	bound();
	c = made(&(struct cache_spec){
		.name = "safe", .size = 64, .flags = SLAB_TYPESAFE_BY_RCU, .engine = engine });
	CHILD_CHECK(cache_alloc_bulk(c, GFP_KERNEL, 300, p) == 300);
	cache_free_bulk(c, 300, p);
	grace_settle(c);
	CHILD_CHECK(in_use(c) == 0);
	cache_destroy(c->handle, NULL);
	CHILD_CHECK(report_counters.reports == 0);
	grace_hand_over();
	rcu_grace();
	cache_check_all();
}

static void type_safe_caches_are_settled(__attribute__((unused)) void **state)
{
	for (unsigned int i = 0; i < CACHE_NR_ENGINES; i++) {
		struct child c = child_run(settle, (void *)cache_engines[i]);

		assert_true(child_passed(&c));
	}
}

/* Nothing is lost before a program has bound its RCU. */
IN_CHILD(blocks_wait_for_an_rcu)
{
	struct cache *c;

	ready();
	CHILD_CHECK(kmalloc_init() == 0);
	c = make("node", sizeof(struct node), 0, 0);
	for (unsigned int i = 0; i < 1000; i++)
		free_node(new_node(c));
	grace_wait(c);
	CHILD_CHECK(in_use(c) == 1000);
	CHILD_CHECK(os_rcu_bind(&manual_rcu) == 0);
	grace_hand_over();
	CHILD_CHECK(rcu.calls == 1);
	rcu_grace();
	CHILD_CHECK(in_use(c) == 0);
}

/* What waits is freed once. */
IN_CHILD(arenas_are_cleared)
{
	struct cache *c;

	ready();
	CHILD_CHECK(kmalloc_init() == 0);
	c = make("node", sizeof(struct node), 0, SLAB_NO_MERGE);
	for (unsigned int i = 0; i < 10; i++) {
		struct node *node = new_node(c);

		if (i % 3 == 0)
			free_node(node);
	}
	CHILD_CHECK(cache_clear(c, NULL) == -EBUSY && in_use(c) == 10);
	CHILD_CHECK(os_rcu_bind(&manual_rcu) == 0);
	CHILD_CHECK(cache_clear(c, NULL) == 0 && in_use(c) == 0);
	CHILD_CHECK(report_counters.reports == 0);
}

/* ---- without memory for a batch ---- */

/* All that is mapped for metadata is used up. */
static void no_more_metadata(void)
{
	no_more_memory();
	while (meta_alloc(1024)) {}
}

IN_CHILD(heads_need_no_memory)
{
	struct node *node[5];
	struct cache *c;
	void *p;

	if (getenv("USLAB_TEST_VALGRIND") || THREAD_SANITIZED)
		return; /* one gives memory beyond the limit, the other needs some */
	bound();
	c = make("node", sizeof(struct node), 0, 0);
	for (unsigned int i = 0; i < 5; i++)
		node[i] = new_node(c);
	p = kmalloc_alloc(100, GFP_KERNEL, NUMA_NO_NODE);
	no_more_metadata();
	for (unsigned int i = 0; i < 4; i++) {
		node[i]->value = i;
		free_node(node[i]);
	}
	CHILD_CHECK(rcu.calls == 1 && in_use(c) == 5);
	for (unsigned int i = 0; i < 4; i++)
		CHILD_CHECK(grace_holds(node[i]) && node[i]->value == i);
	grace_wait(c);
	CHILD_CHECK(in_use(c) == 1 && rcu.synchronized == 0);
	/* without a head it waits itself */
	grace_free(NULL, p, NULL);
	CHILD_CHECK(rcu.synchronized == 1 && cache_is_free(p));
	cache_check_all();
}

/* ---- where no lock may be taken ---- */

IN_CHILD(nested_calls_are_deferred)
{
	struct lock other = LOCK_INIT(RANK_NONE);
	struct node *node;
	struct cache *c;

	bound();
	c = make("node", sizeof(struct node), 0, 0);
	node = new_node(c);
	lock_acquire(&other);
	free_node(node);
	CHILD_CHECK(!grace_holds(node) && nested_waiting() == 1);
	lock_release(&other);
	CHILD_CHECK(!nested_call() && nested_waiting() == 0 && grace_holds(node));
}

/* ---- threads, fork ---- */

static struct cache *shared;

static void *free_many(void *arg)
{
	for (unsigned int i = 0; i < 5000; i++) {
		free_node(new_node(shared));
		if (i % 500 == 0)
			grace_hand_over();
	}
	return arg;
}

/* A grace period for threads that never look at what they have freed. */
static void end_soon(struct rcu_head *head, void (*func)(struct rcu_head *head))
{
	func(head);
}

static void wait_for_none(void)
{
}

IN_CHILD(threads_free)
{
	static const struct uslab_rcu_ops ops = { end_soon, wait_for_none, wait_for_none };
	pthread_t thread[4];

	ready();
	CHILD_CHECK(kmalloc_init() == 0 && os_rcu_bind(&ops) == 0);
	shared = make("node", sizeof(struct node), 0, 0);
	for (unsigned int i = 0; i < 4; i++)
		CHILD_CHECK(!pthread_create(&thread[i], NULL, free_many, NULL));
	for (unsigned int i = 0; i < 4; i++)
		pthread_join(thread[i], NULL);
	grace_wait(shared);
	CHILD_CHECK(in_use(shared) == 0 && report_counters.reports == 0);
	cache_check_all();
}

/* What waits in a parent waits in its child, which has an RCU of its own kind here. */
IN_CHILD(children_go_on)
{
	struct node *node[2];
	struct cache *c;
	int status;
	pid_t pid;

	bound();
	c = make("node", sizeof(struct node), 0, 0);
	for (unsigned int i = 0; i < 2; i++)
		node[i] = new_node(c);
	free_node(node[0]);
	grace_hand_over();
	free_node(node[1]);
	pid = fork();
	CHILD_CHECK(pid >= 0);
	if (!pid) {
		CHILD_CHECK(grace_holds(node[0]) && grace_holds(node[1]) && in_use(c) == 2);
		grace_wait(NULL);
		CHILD_CHECK(in_use(c) == 0);
		cache_check_all();
		_exit(0);
	}
	CHILD_CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	CHILD_CHECK(in_use(c) == 2);
	grace_wait(NULL);
	CHILD_CHECK(in_use(c) == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(batches_are_handed_over_when_full),
		cmocka_unit_test(large_blocks_are_handed_over),
		cmocka_unit_test(blocks_keep_their_bytes),
		cmocka_unit_test(nothing_is_ignored),
		cmocka_unit_test(caches_are_waited_for),
		cmocka_unit_test(type_safe_caches_are_settled),
		cmocka_unit_test(blocks_wait_for_an_rcu),
		cmocka_unit_test(arenas_are_cleared),
		cmocka_unit_test(heads_need_no_memory),
		cmocka_unit_test(nested_calls_are_deferred),
		cmocka_unit_test(threads_free),
		cmocka_unit_test(children_go_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
