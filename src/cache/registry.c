/* SPDX-License-Identifier: MIT */
/*
 * cache/registry.c - which caches exist: the list, the numbers, fork
 *
 * Why:        docs/adr/0018.
 * Data:       cache_list (newest first, as in the kernel), one bit per number.
 * Invariants: a number is taken iff its handle points at a cache; fixed numbers (below
 *             USLAB_ID_FIRST_FREE) are taken on request only. Checked by cache_check_all().
 * Locks:      cache_lock (RANK_CACHE).
 * Flow:       called by create.c, destroy.c, api/; calls the fronts' and engines' fork hooks.
 */
#include "base/assert.h"
#include "base/atomic.h"
#include "cache/control/control.h"
#include "cache/instrument/friends.h"
#include "cache/internal.h"
#include "debug/pages/blocks.h"
#include "debug/kfence/kfence.h"
#include "debug/report/report.h"
#include "debug/stacks.h"
#include "os/cpu/dword.h"
#include "os/lock/fork.h"
#include "os/process/process.h"
#include "os/cpu/rseq.h"
#include "page/buddy.h"
#include "page/large.h"
#include "page/meta.h"
#include "page/pcp.h"
#include <errno.h>
#include <string.h>

struct lock cache_lock = LOCK_INIT(RANK_CACHE);
struct list_head cache_list = { &cache_list, &cache_list };

static uint64_t numbers[USLAB_NR_HANDLES / 64];

static bool number_taken(unsigned int id)
{
	return numbers[id / 64] >> (id % 64) & 1;
}

/* wanted 0: the lowest free one. -ENOSPC, -EEXIST. */
int cache_number_get_locked(unsigned int wanted, unsigned int *id)
{
	unsigned int n = wanted ? wanted : USLAB_ID_FIRST_FREE;

	if (!wanted)
		while (n < USLAB_NR_HANDLES && number_taken(n))
			n++;
	if (n >= USLAB_NR_HANDLES)
		return -ENOSPC;
	if (number_taken(n))
		return -EEXIST;
	numbers[n / 64] |= 1ull << (n % 64);
	*id = n;
	return 0;
}

void cache_number_put_locked(unsigned int id)
{
	numbers[id / 64] &= ~(1ull << (id % 64));
}

void cache_register_locked(struct cache *c)
{
	list_add(&c->list, &cache_list);
	store_release(&c->handle->cache, c); /* read by tools from outside */
}

void cache_unregister_locked(struct cache *c)
{
	store_relaxed(&c->handle->cache, NULL);
	list_del(&c->list);
}

bool cache_matches_locked(const struct cache *c, const char *pattern)
{
	const struct cache_alias *alias = c->aliases;
	char id[32];

	if (cache_pattern_matches(pattern, c->name))
		return true;
	while (alias && !cache_pattern_matches(pattern, alias->name))
		alias = alias->next;
	if (alias)
		return true;
	cache_unique_id(c, id);
	return *pattern == ':' && cache_pattern_matches(pattern, id);
}

static bool matches_any(const struct cache *c, const char *patterns, size_t size)
{
	const char *end = patterns + size;

	for (const char *p = patterns; p < end && *p; p += strlen(p) + 1)
		if (cache_matches_locked(c, p))
			return true;
	return false;
}

void cache_each_locked(const char *patterns, size_t size,
		       long (*act)(struct cache *c, const void *arg), const void *arg,
		       struct cache_result *result)
{
	struct list_head *pos;

	*result = (struct cache_result){ 0 };
	list_for_each(pos, &cache_list) {
		struct cache *c = list_entry(pos, struct cache, list);
		long ret;

		if (!matches_any(c, patterns, size))
			continue;
		ret = act(c, arg);
		result->matched++;
		if (ret >= 0) {
			result->value += (uint64_t)ret;
		} else if (!result->failed++) {
			result->error = (int)ret;
			result->at = c;
		}
	}
}

static bool forked_alone; /* the fork inside that is under way: there is one thread */

static void heap_fork_prepare(const struct engine_heap *heap)
{
	heap->fork_prepare();
}

static void heap_fork_parent(const struct engine_heap *heap)
{
	heap->fork_parent();
}

static void heap_fork_child(const struct engine_heap *heap)
{
	heap->fork_child();
}

static void heap_check(const struct engine_heap *heap)
{
	heap->check();
}

/*
 * fork: every lock is taken by the forking thread, floor by floor downward, so that the child finds
 * each structure between two operations. What other threads held in their hands (an object, a
 * sheaf taken out of a depot) is lost to the child, and nothing else.
 *
 * A signal handler that interrupted this library forks without any of that: it would wait for locks
 * that its own thread holds. A child of the only thread is an exact copy, which goes on as the
 * parent does. In that of one of several threads nobody releases what the others held: there each
 * call is as one in a handler (LOCK_ADRIFT).
 *
 * Why not wait for the others' locks, and leave the child those of its own thread? That holds, say,
 * a node's list_lock. Whoever has a lock that comes before it (a front's, the registry's) may wait
 * for just that, and gets it when the handler has returned, which is after the fork: to wait for
 * him is a deadlock, and to copy what he guards is to copy it half done. It would take that no
 * signal comes while a lock is held: two system calls around each.
 */
void cache_fork_prepare(void)
{
	struct list_head *pos;

	if (!lock_is_inside())
		os_fork_lock_streams();
	if (!lock_fork_enter()) {
		store_relaxed(&forked_alone, os_is_alone());
		return;
	}
	lock_fork_prepare(&cache_lock);
	/* cpuslab's locks are held over the CPUs' and over list_lock: first all fronts */
	list_for_each(pos, &cache_list) {
		struct cache *c = list_entry(pos, struct cache, list);

		c->front.ops->fork_prepare(&c->front);
	}
	percpu_fork_prepare();
	list_for_each(pos, &cache_list) {
		struct cache *c = list_entry(pos, struct cache, list);

		c->engine.ops->fork_prepare(&c->engine);
	}
	cache_heaps_each(heap_fork_prepare);
	/*
	 * a purge gives kept mappings back while it holds its lock: that lock comes before keep's
	 */
	pcp_fork_prepare(); /* they hold their locks while they take the zones' */
	buddy_fork_prepare();
	large_fork_prepare();
	kfence_fork_prepare();
	stacks_fork_prepare();
	meta_fork_prepare();
	blocks_fork_prepare();
	dword_fork_prepare();
}

void cache_fork_parent(void)
{
	struct list_head *pos;

	if (lock_fork_is_inside()) {
		lock_fork_leave();
		return;
	}
	dword_fork_parent();
	blocks_fork_parent();
	meta_fork_parent();
	stacks_fork_parent();
	kfence_fork_parent();
	buddy_fork_parent();
	pcp_fork_parent();
	large_fork_parent();
	cache_heaps_each(heap_fork_parent);
	list_for_each(pos, &cache_list) {
		struct cache *c = list_entry(pos, struct cache, list);

		c->engine.ops->fork_parent(&c->engine);
		c->front.ops->fork_parent(&c->front);
	}
	percpu_fork_parent();
	lock_fork_parent(&cache_lock);
	lock_fork_leave();
	os_fork_unlock_streams();
}

void cache_fork_child(void)
{
	struct list_head *pos;

	os_process_fork_child();
	os_rseq_fork_child();
	if (lock_fork_is_inside()) {
		lock_fork_leave();
		if (!load_relaxed(&forked_alone))
			lock_fork_adrift();
		control_fork_child();
		return;
	}
	meta_fork_child();
	report_fork_child();
	dword_fork_child();
	blocks_fork_child();
	stacks_fork_child();
	kfence_fork_child();
	buddy_fork_child();
	pcp_fork_child();
	large_fork_child();
	cache_heaps_each(heap_fork_child);
	list_for_each(pos, &cache_list) {
		struct cache *c = list_entry(pos, struct cache, list);

		c->engine.ops->fork_child(&c->engine);
		c->front.ops->fork_child(&c->front);
		/* a drain died with its thread */
		store_relaxed(&c->front.closed, c->front.closed & FRONT_SHUT);
	}
	percpu_fork_child();
	control_fork_child();
	lock_fork_child(&cache_lock);
	lock_fork_leave();
	os_fork_reset_streams();
}

static void check_watch(const struct cache *c)
{
	bool shut = c->watch & WATCH_SHUT;

	CHECK(!(c->flags & DEBUG_SLAB_FLAGS) == !(c->watch & WATCH_DEBUG));
	/* some fronts stay shut, see cache_watch_locked() */
	CHECK(!shut || c->watch & WATCH_PAST_FRONT);
	CHECK(shut || !(c->watch & WATCH_PAST_FRONT) || (c->engine.debug && cache_marks_behind(c)));
	CHECK(!(c->watch & WATCH_PAST_FRONT) == !(c->front.closed & FRONT_SHUT));
	CHECK(c->engine.debug || !(c->watch & (WATCH_ROUTE | WATCH_DEBUG)));
	CHECK(!(c->watch & WATCH_DEBUG) || (c->engine.debug->flags && c->engine.debug->layout));
}

void cache_check_all(void)
{
	struct list_head *pos;

	friends_enter();
	lock_acquire(&cache_lock);
	list_for_each(pos, &cache_list) {
		struct cache *c = list_entry(pos, struct cache, list);

		CHECK(number_taken(c->front.id) && c->engine.id == c->front.id);
		CHECK(c->handle == percpu_handle(c->front.id) && c->handle->cache == c);
		CHECK(c->refcount >= 0);
		check_watch(c);
		c->front.ops->check(&c->front);
		c->engine.ops->check(&c->engine);
	}
	cache_heaps_each(heap_check);
	blocks_check();
	cache_unlock();
	friends_leave();
}
