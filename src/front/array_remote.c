/* SPDX-License-Identifier: MIT */
/*
 * front/array_remote.c - objects freed on another node than theirs go home by the sheaf
 *
 * Why:        docs/adr/0062.
 * Data:       of each depot an array of struct depot_remote, one for each node, made when the first
 *             object of another node comes; a remote sheaf in each.
 * Invariants: the sheaf in remote[n] of a depot holds objects of node n and no others, at least
 *             one, and has room; nr counts them. Checked by array_remote_check().
 * Locks:      depot_remote.lock (RANK_DEPOT), never together with another one of that rank; the
 *             pointer to the array is stored under depot.lock, once. Both are held for a few loads
 *             and stores.
 * Flow:       called by array.c, array_capacity.c and array_idle.c; calls front/depot.h,
 *             page/numa.h and engine->ops.
 *
 * A hit takes whatever object there is, and puts it into the CPU's array: to ask for its node would
 * cost every free a cache line. So a sheaf is sorted when it is full and about to leave the CPU, in
 * a miss: it keeps the objects of its own node, and those of node n go to the node's remote sheaf
 * for n. A remote sheaf that is full goes to the depot of node n whole, where the CPUs of that node
 * get it as any other, or, if there is no space, to the slabs. A sheaf that had objects of other
 * nodes has room then, and stays with the CPU.
 *
 * Contract. A sheaf that is sorted is its thread's alone (front/array.c). The thread may be moved
 * to a CPU of another node at any time: then the sheaf is sorted for the node that it has left,
 * which costs speed and nothing else. Who drains a depot takes its remote sheaves under their
 * locks; who is about to put objects there meanwhile finds the front closed, or does so after the
 * drain, as others who put sheaves into a depot then.
 */
#include "base/assert.h"
#include "base/atomic.h"
#include "base/bits.h"
#include "front/array_sheaf.h"
#include "os/cpu/cpu.h"
#include "page/meta.h"
#include "page/numa.h"

static size_t remotes_bytes(void)
{
	return os_topology.nr_nodes * sizeof(struct depot_remote);
}

/* NULL: out of memory. */
static cold struct depot_remote *make_remotes(struct depot *d)
{
	struct depot_remote *made = meta_alloc(remotes_bytes());
	struct depot_remote *there;

	for (unsigned int node = 0; made && node < os_topology.nr_nodes; node++)
		lock_init(&made[node].lock, RANK_DEPOT);
	lock_acquire(&d->lock);
	there = d->remote;
	if (!there && made)
		store_release(&d->remote, made); /* pairs with remotes_of() */
	lock_release(&d->lock);
	if (!there)
		return made;
	meta_free(made, remotes_bytes());
	return there;
}

static struct depot_remote *remotes_of(const struct depot *d)
{
	return load_acquire(&d->remote); /* pairs with make_remotes() */
}

/* A sheaf with objects of that node: to its depot, else to the slabs. */
static void send_home(struct front *f, unsigned int node, uintptr_t top)
{
	numa_count_remote_frees(node, sheaf_count(top));
	if (!load_relaxed(&f->closed) && depot_put(&f->depot[node], DEPOT_FULL, top))
		return;
	sheaf_delete(sheaf_flush(f, top));
}

static void flush_home(struct front *f, unsigned int node, void **objs, unsigned int n)
{
	numa_count_remote_frees(node, n);
	f->engine->ops->flush(f->engine, objs, n);
}

/* Moves objects into the sheaf, which has room. Returns how many. Context: lock. */
static unsigned int append_locked(struct depot_remote *r, void *const *objs, unsigned int n)
{
	void **entry = (void **)r->top;

	n = MIN(n, sheaf_room(r->top));
	for (unsigned int i = 0; i < n; i++)
		*++entry = objs[i];
	store_relaxed(&r->top, (uintptr_t)entry);
	return n;
}

/*
 * As many of n objects as the remote sheaf takes; *fresh: an empty one for where there is none, 0
 * if it was used. *full: it is full, and the caller's. 0: there is none.
 */
static unsigned int put_some(struct depot_remote *r, void *const *objs, unsigned int n,
			     uintptr_t *fresh, uintptr_t *full)
{
	unsigned int moved = 0;

	*full = 0;
	lock_acquire(&r->lock);
	if (!r->top && *fresh) {
		store_relaxed(&r->top, *fresh);
		*fresh = 0;
	}
	if (r->top)
		moved = append_locked(r, objs, n);
	if (r->top && !sheaf_room(r->top)) {
		*full = r->top;
		store_relaxed(&r->top, 0);
	}
	store_relaxed(&r->nr, r->top ? sheaf_count(r->top) : 0);
	r->touched = true;
	lock_release(&r->lock);
	return moved;
}

static void put_remote(struct front *f, struct depot *d, unsigned int node, void **objs,
		       unsigned int n)
{
	struct depot_remote *remotes = remotes_of(d);
	uintptr_t fresh = 0;
	uintptr_t full;

	if (unlikely(!remotes))
		remotes = make_remotes(d);
	while (n && remotes && !load_relaxed(&f->closed)) {
		unsigned int moved;

		if (!fresh && !load_relaxed(&remotes[node].top))
			fresh = sheaf_get_empty(f);
		moved = put_some(&remotes[node], objs, n, &fresh, &full);
		if (full)
			send_home(f, node, full);
		else if (!moved)
			break; /* no memory for a sheaf */
		objs += moved;
		n -= moved;
	}
	if (fresh)
		sheaf_delete(fresh);
	if (n)
		flush_home(f, node, objs, n);
}

uintptr_t array_remote_sort(struct front *f, uintptr_t top)
{
	unsigned int local = os_current_node();
	unsigned int count = sheaf_count(top);
	void **bottom = (void **)top - count;
	void *others[USLAB_SHEAF_CAPACITY];
	uint8_t node_of[USLAB_SHEAF_CAPACITY];
	unsigned int nr_others = 0;
	void **keep = bottom;

	for (unsigned int i = 1; i <= count; i++) {
		void *obj = bottom[i];
		uint8_t node = page_head_unchecked(obj)->node;

		if (likely(node == local)) {
			*++keep = obj;
			continue;
		}
		node_of[nr_others] = node;
		others[nr_others++] = obj;
	}
	while (nr_others) { /* all of the last one's node */
		uint8_t node = node_of[nr_others - 1];
		void *objs[USLAB_SHEAF_CAPACITY];
		unsigned int rest = 0;
		unsigned int n = 0;

		for (unsigned int i = 0; i < nr_others; i++) {
			if (node_of[i] == node) {
				objs[n++] = others[i];
				continue;
			}
			node_of[rest] = node_of[i];
			others[rest++] = others[i];
		}
		nr_others = rest;
		put_remote(f, &f->depot[local], node, objs, n);
	}
	return (uintptr_t)keep;
}

/* ---- all remote sheaves of a depot ----------------------------------------------------------- */

/* idle: only if nothing has come since the last time. */
static void take_home(struct front *f, struct depot_remote *r, unsigned int node, bool idle)
{
	uintptr_t top = 0;

	if (!load_relaxed(&r->top)) /* what comes a moment later has come too late */
		return;
	lock_acquire(&r->lock);
	if (!idle || !r->touched) {
		top = r->top;
		store_relaxed(&r->top, 0);
		store_relaxed(&r->nr, 0);
	}
	r->touched = false;
	lock_release(&r->lock);
	if (top && idle)
		send_home(f, node, top);
	else if (top)
		sheaf_delete(sheaf_flush(f, top));
}

static void take_all_home(struct front *f, struct depot *d, bool idle)
{
	struct depot_remote *remotes = remotes_of(d);

	for (unsigned int node = 0; remotes && node < os_topology.nr_nodes; node++)
		take_home(f, &remotes[node], node, idle);
}

void array_remote_drain(struct front *f, struct depot *d)
{
	take_all_home(f, d, false);
}

void array_remote_reap(struct front *f, unsigned int cpu)
{
	unsigned int node = os_cpu_to_node(cpu);

	/* once for each node: by the first of its CPUs */
	if (os_topology.nr_nodes > 1 && (!cpu || os_cpu_to_node(cpu - 1) != node))
		take_all_home(f, &f->depot[node], true);
}

unsigned long array_remote_held(const struct depot *d)
{
	const struct depot_remote *remotes = remotes_of(d);
	unsigned long held = 0;

	for (unsigned int node = 0; remotes && node < os_topology.nr_nodes; node++)
		held += load_relaxed(&remotes[node].nr);
	return held;
}

void array_remote_destroy(struct depot *d)
{
	if (d->remote)
		meta_free(d->remote, remotes_bytes());
	d->remote = NULL;
}

/* That no array is made meanwhile, fork has depot.lock already, or still. */
void array_remote_each_lock(struct depot *d, void (*act)(struct lock *l))
{
	for (unsigned int node = 0; d->remote && node < os_topology.nr_nodes; node++)
		act(&d->remote[node].lock);
}

void array_remote_check(const struct depot *d, unsigned int local)
{
	for (unsigned int node = 0; d->remote && node < os_topology.nr_nodes; node++) {
		const struct depot_remote *r = &d->remote[node];
		unsigned int count = r->top ? sheaf_count(r->top) : 0;

		CHECK(r->nr == count);
		CHECK(!r->top || (count && sheaf_room(r->top) && node != local));
		for (unsigned int i = 0; i < count; i++) {
			const struct page *page = page_head_of(((void **)r->top)[-(long)i]);

			CHECK(page && page->node == node);
		}
	}
}
