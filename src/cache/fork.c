/* SPDX-License-Identifier: MIT */
/*
 * cache/fork.c - every lock taken around fork()
 *
 * Why:        docs/adr/0018.
 * Data:       alone, inside_alone.
 * Invariants: a child finds each structure between two operations.
 * Locks:      all of the library, in the order of floors; see below for a fork in a signal handler.
 * Flow:       called by init.c; calls each_lock() of fronts, engines and heaps, and of each file
 *             below that has locks.
 */
#include "base/atomic.h"
#include "cache/control/control.h"
#include "cache/grace/grace.h"
#include "cache/group/group.h"
#include "cache/internal.h"
#include "cache/lent.h"
#include "cache/mempool/elements.h"
#include "cache/mobility/mobility.h"
#include "cache/pressure.h"
#include "cache/reclaim/ahead.h"
#include "cache/reclaim/shrinker.h"
#include "cache/profile/sites.h"
#include "debug/pages/blocks.h"
#include "debug/kfence/kfence.h"
#include "debug/report/report.h"
#include "debug/stacks.h"
#include "front/array.h"
#include "os/cpu/dword.h"
#include "os/lock/fork.h"
#include "os/process/process.h"
#include "os/cpu/rseq.h"
#include "page/buddy.h"
#include "page/large.h"
#include "page/meta.h"
#include "page/pcp.h"
#include "page/pcp_runs.h"
#include "page/realtime.h"

/*
 * Of the fork under way: there is one thread. Of each thread, since these bytes lie beside others
 * that are written to anyway: a page that is written to between two forks is copied.
 */
static __thread bool alone __attribute__((tls_model("initial-exec")));
static __thread bool inside_alone __attribute__((tls_model("initial-exec"))); /* the one inside */

/*
 * Each lock but the registry's, in the order in which threads nest them: a lock that is taken under
 * another comes behind it. They may be released in the same order, since a release waits for
 * nobody, and the loops do not change meanwhile: they go over what is const, or changes under a
 * lock that is still held. That is the registry's, which is held around this: for the list of
 * caches, the front and engine of each, and the lists of page/pcp.c; and a shared one for alien
 * arrays (front/queues_node.c). Not here: page/arena.c's lock, which is taken under a zone's, and
 * that of reports (report_reset()).
 */
static void each_lock(void (*act)(struct lock *l))
{
	struct list_head *pos;

	elements_each_lock(act); /* no other is taken under these, nor that of lent sheaves */
	lent_each_lock(act);
	groups_each_lock(act);	    /* they are held over metadata's */
	grace_each_lock(act);	    /* it is held over metadata's and those of os/rcu/rcu.c */
	array_limit_each_lock(act); /* it is held over depots' locks and the engines' */
	/* cpuslab's locks are held over the CPUs' and over list_lock: first all fronts */
	list_for_each(pos, &cache_list) {
		struct front *f = &list_entry(pos, struct cache, list)->front;

		if (f->ops->each_lock)
			f->ops->each_lock(f, act);
	}
	percpu_each_lock(act);
	list_for_each(pos, &cache_list) {
		struct engine *e = &list_entry(pos, struct cache, list)->engine;

		if (e->ops->each_lock)
			e->ops->each_lock(e, act);
	}
	for (unsigned int i = 0; i < CACHE_NR_ENGINES; i++) {
		const struct engine_heap *heap = cache_engines[i]->heap;

		if (heap)
			heap->each_lock(heap, act);
	}
	pcp_runs_each_lock(act); /* it is held over metadata's */
	pcp_each_lock(act);	 /* they are held while the zones' are taken */
	buddy_each_lock(act); /* a purge, under its lock, gives kept mappings back: before keep's */
	large_each_lock(act);
	sites_each_lock(act); /* they are held over metadata's */
	kfence_each_lock(act);
	stacks_each_lock(act);
	meta_each_lock(act);
	blocks_each_lock(act);
	os_rcu_each_lock(act); /* under these nothing is taken */
	groups_each_stock_lock(act);
	dword_each_lock(act);
}

/*
 * fork: every lock is taken by the forking thread, floor by floor downward, so that the child finds
 * each structure between two operations. What other threads held (an object, a sheaf taken out of a
 * depot, with what is charged for it) is lost to the child, and nothing else.
 *
 * The only thread takes none: nobody can hold one, and nothing is half done, so its child is an
 * exact copy. Each lock that is written to costs a page that is copied, in both processes.
 *
 * A signal handler that interrupted this library forks without any of that, too: it would wait for
 * locks that its own thread holds. A child of the only thread goes on as the parent does. In that
 * of one of several threads nobody releases what the others held: there each call is as one in a
 * handler (LOCK_FORKED_INSIDE).
 *
 * Why not wait for the others' locks, and leave the child those of its own thread? That holds, say,
 * a node's list_lock. Whoever has a lock that comes before it (a front's, the registry's) may wait
 * for just that, and gets it when the handler has returned, which is after the fork: to wait for
 * him is a deadlock, and to copy what he guards is to copy it half done. It would take that no
 * signal comes while a lock is held: two system calls around each.
 */
void cache_fork_prepare(void)
{
	bool is_alone = os_is_alone();

	if (!is_alone && !lock_is_inside()) {
		os_rcu_fork_prepare();
		os_fork_lock_streams();
	}
	if (!lock_fork_enter()) {
		inside_alone = is_alone;
		return;
	}
	alone = is_alone;
	if (alone)
		return;
	lock_fork_prepare(&cache_lock);
	each_lock(lock_fork_prepare);
}

static void release_all(void)
{
	each_lock(lock_fork_parent);
	lock_fork_parent(&cache_lock);
	os_rcu_fork_parent();
}

void cache_fork_parent(void)
{
	bool held = !lock_fork_is_inside() && !alone;

	if (held)
		release_all();
	lock_fork_leave();
	if (held)
		os_fork_unlock_streams();
}

/* What other threads of the parent were at ended with them. */
static void forget_others(void)
{
	pressure_forked();
	shrinkers_forked();
	groups_forked();
}

static void reset_all(void)
{
	struct list_head *pos;

	large_forked();
	each_lock(lock_fork_child);
	list_for_each(pos, &cache_list) {
		struct front *f = &list_entry(pos, struct cache, list)->front;

		/* a drain died with its thread */
		store_relaxed(&f->closed, f->closed & ~(uint32_t)FRONT_DRAINING);
	}
	mobility_forked_locked();
	lock_fork_child(&cache_lock);
	os_rcu_fork_child();
}

void cache_fork_child(void)
{
	bool inside = lock_fork_is_inside();
	/* not if a hook that came after this file's began a thread: it may have held locks */
	bool was_alone = (inside ? inside_alone : alone) && os_is_alone();
	bool held = !inside && !was_alone;

	os_thread_id_forget();
	os_rseq_register_again();
	realtime_forked();
	reclaim_forked();
	thread_forked();
	control_discard();
	if (!inside)
		report_reset(was_alone);
	if (!was_alone)
		forget_others();
	if (held)
		reset_all();
	lock_fork_leave();
	if (inside && !was_alone)
		lock_forked_inside();
	if (held)
		os_fork_reset_streams();
}
