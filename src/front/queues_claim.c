/* SPDX-License-Identifier: MIT */
/*
 * front/queues_claim.c - claims a CPU's array, and has the memory of arrays
 *
 * Data:       {top, bottom, end} of struct kmem_cache_cpu; struct queue_array behind them, made
 *             when the CPU first needs one.
 * Invariants: front/queues.h. An array that was replaced stays readable and is used again.
 *             Checked by queues_cpus_check().
 * Locks:      kmem_cache_cpu.lock from take or seize to release or retire;
 *             retired_lock (RANK_DEPOT).
 * Flow:       called by front/queues.c, front/queues_idle.c; calls front/percpu.c, page/meta.c,
 *             page/nested.h when the lock is released, since a report may be deferred until then.
 *             The contract is at the head of front/queues.c.
 */
#include <string.h>

#include "base/assert.h"
#include "base/atomic.h"
#include "base/bits.h"
#include "front/queues.h"
#include "os/cpu/cpu.h"
#include "page/meta.h"
#include "page/nested.h"

/* Entries may be read by hits whose sequence will fail: no plain stores. */
static void entry_set(void **entry, void *obj)
{
	store_relaxed(entry, obj);
}

/* A block for limit objects: a retired one that is large enough, or new. NULL: out of memory. */
static struct queue_array *array_get(struct queues *q, unsigned int limit)
{
	size_t need = sizeof(struct queue_array) + (limit + 1ul) * sizeof(void *);
	uint32_t bytes = 1u << fls(need - 1);
	struct queue_array **link;
	struct queue_array *a;

	lock_acquire(&q->retired_lock);
	for (link = &q->retired; (a = *link); link = &a->next) {
		if (a->bytes == bytes) {
			*link = a->next;
			break;
		}
	}
	lock_release(&q->retired_lock);
	if (a)
		return a;
	a = meta_alloc(bytes);
	if (a)
		a->bytes = bytes;
	return a;
}

/* Gives a CPU that has none an empty array. false: out of memory. Lock held, top is stopped. */
static bool make_array_locked(struct queues *q, struct kmem_cache_cpu *c)
{
	unsigned int limit = load_relaxed(&q->limit);
	struct queue_array *a = array_get(q, limit);

	if (!a)
		return false;
	entry_set(&a->entry[0], NULL);
	store_relaxed(&c->bottom, (uintptr_t)&a->entry[0]);
	store_relaxed(&c->end, (uintptr_t)&a->entry[limit]);
	return true;
}

static void hold(struct queue_claim *claim, struct kmem_cache_cpu *c, int cpu, uintptr_t top)
{
	claim->c = c;
	claim->cpu = cpu;
	claim->node = os_cpu_to_node((unsigned int)cpu);
	claim->bottom = (void **)c->bottom;
	claim->end = (void **)c->end;
	claim->top = (void **)(top == QUEUES_STOPPED ? c->bottom : top);
}

bool queues_claim_take(struct front *f, struct queue_claim *claim)
{
	struct kmem_cache_cpu *c;
	uintptr_t top;
	int cpu;

	for (;;) {
		cpu = percpu_cpu();
		if (cpu < 0)
			return false;
		c = percpu_state(f->id, cpu);
		lock_acquire(&c->lock);
		if (!percpu_xchg(cpu, &c->top, QUEUES_STOPPED, &top))
			break;
		lock_release(&c->lock); /* migrated meanwhile */
	}
	if (top == QUEUES_STOPPED && !make_array_locked(queues_of(f), c)) {
		lock_release(&c->lock);
		return false;
	}
	hold(claim, c, cpu, top);
	return true;
}

bool queues_claim_seize(struct front *f, int cpu, struct queue_claim *claim)
{
	struct kmem_cache_cpu *c = percpu_state(f->id, cpu);
	uintptr_t top;

	lock_acquire(&c->lock);
	if (c->bottom && !percpu_stop_xchg(cpu, &c->top, QUEUES_STOPPED, &top)) {
		hold(claim, c, cpu, top);
		return true;
	}
	lock_release(&c->lock);
	return false;
}

void queues_claim_release(struct queue_claim *claim)
{
	/* release: pairs with the hits' load of top */
	percpu_put_back(claim->cpu, &claim->c->top, (uintptr_t)claim->top);
	lock_release(&claim->c->lock);
	nested_call(); /* what was reported meanwhile is delivered now */
}

void queues_claim_retire(struct front *f, struct queue_claim *claim)
{
	struct queues *q = queues_of(f);
	struct queue_array *a = container_of(claim->bottom, struct queue_array, entry[0]);

	store_relaxed(&claim->c->bottom, 0);
	store_relaxed(&claim->c->end, 0);
	lock_release(&claim->c->lock); /* top remains stopped */

	lock_acquire(&q->retired_lock);
	a->next = q->retired;
	q->retired = a;
	lock_release(&q->retired_lock);
}

void queues_claim_oldest(struct queue_claim *claim, void **objs, unsigned int n)
{
	void **first = claim->bottom + 1;
	unsigned int rest = claim_avail(claim) - n;

	for (unsigned int i = 0; i < n; i++)
		objs[i] = first[i];
	for (unsigned int i = 0; i < rest; i++)
		entry_set(&first[i], first[n + i]);
	claim->top -= n;
}

void queues_claim_put(struct queue_claim *claim, void *const *objs, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		ASSERT(!queues_is_remote(objs[i], claim->node));
		entry_set(++claim->top, objs[i]);
	}
}

/* ---- all CPUs -------------------------------------------------------------------------------- */

void queues_cpus_init(struct front *f)
{
	struct queues *q = queues_of(f);

	lock_init(&q->retired_lock, RANK_DEPOT);
	for (int cpu = 0; cpu < (int)os_topology.nr_cpu_ids; cpu++) {
		struct kmem_cache_cpu *c = percpu_state(f->id, cpu);

		memset(c, 0, sizeof(*c));
		lock_init(&c->lock, RANK_CPUSLAB);
		c->top = QUEUES_STOPPED;
		c->reap_node = (os_cpu_to_node((unsigned int)cpu) + 1) % q->nr_nodes;
	}
}

static void array_free(uintptr_t bottom)
{
	struct queue_array *a = container_of((void **)bottom, struct queue_array, entry[0]);

	meta_free(a, a->bytes);
}

void queues_cpus_destroy(struct front *f)
{
	struct queues *q = queues_of(f);
	struct queue_array *next;

	for (int cpu = 0; cpu < (int)os_topology.nr_cpu_ids; cpu++) {
		struct kmem_cache_cpu *c = percpu_state(f->id, cpu);

		if (c->bottom)
			array_free(c->bottom);
		memset(c, 0, sizeof(*c));
	}
	for (struct queue_array *a = q->retired; a; a = next) {
		next = a->next;
		meta_free(a, a->bytes);
	}
}

unsigned long queues_held_cpus(struct front *f)
{
	unsigned long held = 0;

	for (int cpu = 0; cpu < (int)os_topology.nr_cpu_ids; cpu++) {
		struct kmem_cache_cpu *c = percpu_state(f->id, cpu);
		uintptr_t bottom = load_relaxed(&c->bottom);
		uintptr_t top = load_relaxed(&c->top);

		/* read apart: the array may have been replaced meanwhile */
		if (bottom && top >= bottom && top <= load_relaxed(&c->end))
			held += (top - bottom) / sizeof(void *);
	}
	return held;
}

static void check_cpu(struct front *f, int cpu)
{
	struct kmem_cache_cpu *c = percpu_state(f->id, cpu);
	void **bottom = (void **)c->bottom;
	void **top = (void **)c->top;

	CHECK(load_relaxed(percpu_inline_word(f->id, cpu)) == front_stop_word);
	if (!bottom) {
		CHECK(c->top == QUEUES_STOPPED && !c->end);
		return;
	}
	CHECK(top >= bottom && c->top <= c->end && !*bottom);
	while (top > bottom) {
		struct page *page = page_head_of(*top--);

		CHECK(page && (page->type != PAGE_SLAB || page->engine == f->engine));
		CHECK(!queues_is_remote(top[1], os_cpu_to_node((unsigned int)cpu)));
	}
}

void queues_cpus_check(struct front *f)
{
	for (int cpu = 0; cpu < (int)os_topology.nr_cpu_ids; cpu++)
		check_cpu(f, cpu);
}
