/* SPDX-License-Identifier: MIT */
/*
 * cache/fork.c - every lock taken around fork()
 *
 * Why:        docs/adr/0018.
 * Data:       forked_alone.
 * Invariants: a child finds each structure between two operations.
 * Locks:      all of the library, in the order of floors; see below for a fork in a signal handler.
 * Flow:       called by init.c; calls the fork hooks of fronts, engines and of each file below
 *             that has a lock.
 */
#include "base/atomic.h"
#include "cache/control/control.h"
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

/*
 * fork: every lock is taken by the forking thread, floor by floor downward, so that the child finds
 * each structure between two operations. What other threads held (an object, a
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
		store_relaxed(&c->front.closed, c->front.closed & FRONT_CLOSED);
	}
	percpu_fork_child();
	control_fork_child();
	lock_fork_child(&cache_lock);
	lock_fork_leave();
	os_fork_reset_streams();
}
