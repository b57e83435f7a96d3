/* SPDX-License-Identifier: MIT */
/*
 * front/cpuslab_local.c - objects that a CPU holds, for arrays (spec 13.2, LOCAL)
 *
 * Why:        docs/adr/0046.
 * Data:       none of its own.
 * Invariants: those of front/cpuslab.c: a slab leaves the CPU's partial list before it loses its
 *             owner, since another CPU may put it onto its own list at once.
 * Locks:      kmem_cache_cpu.lock over the partial list; none for the free list, which hits empty.
 * Flow:       called through front_cpuslab_ops; calls engine/slub/cpu.c, page/nested.h.
 */
#include "front/cpuslab_hit.h"

/* The slabs of the CPU's partial list, head first. The thread may be migrated: its CPU's then. */
static unsigned int take_partials(struct front *f, struct kmem_cache_cpu *c, unsigned int nr,
				  void **p)
{
	unsigned int n = 0;
	struct page *slab;
	bool empty = true;

	lock_acquire(&c->lock);
	while (n < nr && empty && (slab = c->partial)) {
		struct page *next = slab->next;
		unsigned long slabs = slab->slabs;

		store_relaxed(&c->partial, next);
		slab->next = NULL; /* it may become full, and so be on no list */
		slab->slabs = 0;
		n += slub_cpu_take(f->engine, slab, nr - n, p + n, &empty);
		if (!empty) {
			slab->next = next;
			slab->slabs = slabs;
			store_relaxed(&c->partial, slab);
		}
	}
	lock_release(&c->lock);
	nested_call(); /* what was reported meanwhile is delivered now */
	return n;
}

unsigned int cpuslab_take_local(struct front *f, unsigned int nr, void **p)
{
	int cpu = percpu_cpu();
	struct kmem_cache_cpu *c;
	unsigned int n = 0;

	if (cpu < 0)
		return 0;
	c = percpu_state(f->id, cpu);
	if (load_relaxed(&c->partial))
		n = take_partials(f, c, nr, p);
	while (n < nr && (p[n] = pop(f, NUMA_NO_NODE)))
		n++;
	return n;
}
