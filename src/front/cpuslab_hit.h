/* SPDX-License-Identifier: MIT */
/*
 * front/cpuslab_hit.h - the hit paths of the cpuslab front: pop and push on a CPU's free list
 *
 * Data:       {freelist, slab} of struct kmem_cache_cpu.
 * Invariants: see front/cpuslab.c, whose contract says what a hit is and what may run at the same
 *             time.
 * Locks:      none.
 * Flow:       included by front/cpuslab.c and front/cpuslab_local.c; calls front/percpu.h and
 *             arch/list_rseq.h.
 */
#ifndef FRONT_CPUSLAB_HIT_H
#define FRONT_CPUSLAB_HIT_H

#include "arch/list_rseq.h"
#include "base/atomic.h"
#include "engine/mistake.h"
#include "engine/slub/freeptr.h"
#include "front/front.h"
#include "os/cpu/rseq.h"
#include "page/nested.h"

#define STOPPED 1ul /* freelist while it is drained: empty, and never stored by a hit */

/* As arch/list_rseq.h wants them. */
BUILD_ASSERT(offsetof(struct kmem_cache_cpu, freelist) == 0);
BUILD_ASSERT(offsetof(struct kmem_cache_cpu, slab) == sizeof(uintptr_t));

static inline bool node_matches(const struct page *slab, int node)
{
	return node < 0 || load_relaxed(&slab->node) == node;
}

/*
 * Where the link of a free list's head lies. Between the load of head and the sequence the object
 * may be allocated and its slab freed, so head may be any address: NULL if there is no slab of e
 * there. What is returned can be read; the sequence checks that it still is the link.
 */
static inline uintptr_t *link_slot(struct engine *e, uintptr_t head, int node)
{
	const struct slab_layout *layout;
	struct page *page;
	struct page *slab;
	uintptr_t *slot;

	if (unlikely(!page_in_arena((void *)head))) /* a link that a program has overwritten */
		return NULL;
	page = page_at(page_index((void *)head));
	slab = page_at(load_relaxed(&page->head));
	layout = load_relaxed(&slab->layout);
	if (unlikely(!layout || load_relaxed(&slab->engine) != e) || !node_matches(slab, node))
		return NULL;
	slot = freeptr_slot(layout, (void *)head);
	return page_in_arena(slot) ? slot : NULL;
}

/*
 * The kernel's fast paths, in one sequence each: where there are sequences, links are not encoded,
 * and no node was asked for. The general functions do the same in C, step by step.
 */
static inline bool has_sequences(const struct slub *s)
{
	return USLAB_HAVE_RSEQ && likely(percpu_rseq && !s->hardened);
}

static inline void *pop_plain(struct front *f)
{
	return arch_list_pop(percpu_state(f->id, 0), os_rseq_offset,
			     slub_of(f->engine)->layout.offset, page_map.base,
			     load_relaxed(&page_map.nr_pages) << PAGE_SHIFT);
}

/* A chain, linked from head to tail; the link of tail is set here. One object: head == tail. */
static inline bool push_plain(struct front *f, struct page *slab, void *head, void *tail)
{
	return arch_list_push(percpu_state(f->id, 0), os_rseq_offset, slab, head,
			      freeptr_slot(slab->layout, tail));
}

/* An object of the running CPU's free list if it is of node; NULL: take the slow path. */
static noinline void *pop_general(struct front *f, int node)
{
	const struct slub *s = slub_of(f->engine);

	for (;;) {
		int cpu = percpu_cpu();
		struct kmem_cache_cpu *c;
		uintptr_t *slot;
		uintptr_t head;
		uintptr_t link;
		int err;

		if (unlikely(cpu < 0))
			return NULL;
		c = percpu_state(f->id, cpu);
		head = load_relaxed(&c->freelist);
		if (head <= STOPPED)
			return NULL;
		slot = link_slot(f->engine, head, node);
		if (!slot)
			return NULL;
		link = load_relaxed(slot);
		err = percpu_cmp2_store(cpu, &c->freelist, head, slot, link,
					freeptr_code(s, link, slot));
		if (likely(!err))
			return (void *)head;
		if (err > 0)
			engine_count(f->engine, CMPXCHG_DOUBLE_CPU_FAIL);
	}
}

static inline bool pops_plain(const struct front *f, int node)
{
	return node < 0 && has_sequences(slub_of(f->engine));
}

static inline void *pop(struct front *f, int node)
{
	return pops_plain(f, node) ? pop_plain(f) : pop_general(f, node);
}

/* Likewise in C; false: slab is not that CPU's. */
static noinline bool push_chain_general(struct front *f, struct page *slab, void *head, void *tail)
{
	for (;;) {
		int cpu = percpu_cpu();
		struct kmem_cache_cpu *c;
		uintptr_t first;
		int err;

		if (unlikely(cpu < 0))
			return false;
		c = percpu_state(f->id, cpu);
		if (load_relaxed(&c->slab) != (uintptr_t)slab)
			return false;
		first = load_relaxed(&c->freelist);
		if (unlikely(first == (uintptr_t)tail)) { /* freed twice in a row */
			engine_mistake_now(f->engine, tail, ENGINE_FREE_AGAIN);
			return true;
		}
		freeptr_set(slub_of(f->engine), slab->layout, tail, (void *)first);
		err = percpu_cmp2_store(cpu, &c->freelist, first, &c->slab, (uintptr_t)slab,
					(uintptr_t)head);
		if (likely(!err))
			return true;
		if (err > 0)
			engine_count(f->engine, CMPXCHG_DOUBLE_CPU_FAIL);
	}
}

/* What the sequence refuses may be a double free; push_chain_general() checks for it. */
static inline bool push_chain(struct front *f, struct page *slab, void *head, void *tail)
{
	if (has_sequences(slub_of(f->engine)) && push_plain(f, slab, head, tail))
		return true;
	return push_chain_general(f, slab, head, tail);
}

/* cpuslab_local.c: see struct front_ops */
unsigned int cpuslab_take_local(struct front *f, unsigned int nr, void **p);

#endif /* FRONT_CPUSLAB_HIT_H */
