/* SPDX-License-Identifier: MIT */
/*
 * front/sheaves_all.c - the sheaves of all CPUs: flushed, counted, checked (spec A8)
 *
 * Why:        docs/adr/0049.
 * Data:       main, spare and rcu_free of each CPU.
 * Invariants: see front/sheaves.h. Checked by sheaves_cpus_check().
 * Locks:      sheaf_lock of one CPU after the other, which is waited for: a flush must not miss
 *             what somebody has just put there. One drain at a time: the registry's lock.
 * Flow:       called by sheaves.c and sheaves_capacity.c; calls sheaves_barn.c, sheaves_rcu.c, the
 *             front below.
 */
#include "base/assert.h"
#include "base/bits.h"
#include "front/sheaves.h"
#include "page/nested.h"

static struct kmem_cache_cpu *lock_cpu(struct front *f, int cpu)
{
	struct kmem_cache_cpu *c = percpu_state(f->id, cpu);

	lock_acquire(&c->sheaf_lock);
	return c;
}

static void unlock_cpu(struct kmem_cache_cpu *c)
{
	lock_release(&c->sheaf_lock);
	nested_call(); /* frees that were deferred meanwhile are done now */
}

static void flush_and_delete(struct front *f, struct sheaf *sheaf)
{
	if (!sheaf)
		return;
	sheaves_flush(f, sheaf);
	sheaves_delete(f, sheaf);
}

/* The empty main stays, as in the kernel. */
static void drain_cpu(struct front *f, int cpu)
{
	struct kmem_cache_cpu *c = lock_cpu(f, cpu);
	struct sheaf *spare = c->spare;
	void *objs[SHEAVES_BATCH];
	unsigned int n;

	store_relaxed(&c->spare, NULL);
	for (;;) {
		for (n = 0; n < SHEAVES_BATCH && sheaf_has_objects(c->main); n++)
			objs[n] = sheaf_pop(c->main);
		unlock_cpu(c);
		flush_and_delete(f, spare);
		spare = NULL;
		if (!n)
			return;
		sheaves_count(f, SHEAF_FLUSH, n);
		sheaves_below(f)->free_bulk(f, n, objs);
		c = lock_cpu(f, cpu);
	}
}

void sheaves_drain(struct front *f)
{
	sheaves_hand_over(f, false);
	for (int cpu = 0; cpu < (int)os_topology.nr_cpu_ids; cpu++)
		drain_cpu(f, cpu);
	sheaves_barns_drain(f);
	sheaves_below(f)->drain(f);
}

void sheaves_replace_cpus(struct front *f)
{
	for (int cpu = 0; cpu < (int)os_topology.nr_cpu_ids; cpu++) {
		struct kmem_cache_cpu *c = lock_cpu(f, cpu);
		struct sheaf *main = c->main;
		struct sheaf *spare = c->spare;

		store_relaxed(&c->main, NULL);
		store_relaxed(&c->spare, NULL);
		sheaves_hand_over_locked(c, SHEAVES_NO_NODE);
		unlock_cpu(c);
		flush_and_delete(f, main);
		flush_and_delete(f, spare);
	}
}

static unsigned int count_sheaf(const struct sheaf *sheaf)
{
	return sheaf ? sheaf->nr : 0;
}

unsigned long sheaves_held_cpus(struct front *f)
{
	unsigned long held = 0;

	for (int cpu = 0; cpu < (int)os_topology.nr_cpu_ids; cpu++) {
		struct kmem_cache_cpu *c = lock_cpu(f, cpu);

		held += count_sheaf(c->main) + count_sheaf(c->spare);
		unlock_cpu(c);
	}
	return held;
}

void sheaves_cpus_init(struct front *f)
{
	for (int cpu = 0; cpu < (int)os_topology.nr_cpu_ids; cpu++) {
		struct kmem_cache_cpu *c = percpu_state(f->id, cpu);

		lock_init(&c->sheaf_lock, RANK_CPUSLAB);
		c->main = c->spare = c->rcu_free = NULL;
	}
}

void sheaves_cpus_destroy(struct front *f)
{
	for (int cpu = 0; cpu < (int)os_topology.nr_cpu_ids; cpu++) {
		struct kmem_cache_cpu *c = percpu_state(f->id, cpu);

		sheaves_delete(f, c->main);
		sheaves_delete(f, c->spare);
		c->main = c->spare = NULL;
	}
}

static void check_sheaf(struct front *f, const struct sheaf *sheaf)
{
	if (!sheaf)
		return;
	CHECK(sheaf->front == f && sheaf_is_current(sheaf) && sheaf->nr <= sheaf->capacity);
	for (unsigned int i = 0; i < sheaf->nr; i++) {
		const struct page *page = page_head_of(sheaf->obj[i]);

		CHECK(page && (page->type != PAGE_SLAB || page->engine == f->engine));
	}
}

void sheaves_cpus_check(struct front *f)
{
	for (int cpu = 0; cpu < (int)os_topology.nr_cpu_ids; cpu++) {
		const struct kmem_cache_cpu *c = percpu_state(f->id, cpu);

		CHECK(load_relaxed(percpu_inline_word(f->id, cpu)) == front_stop_word);
		CHECK(c->main || !c->spare);
		CHECK(c->main != c->spare || !c->main);
		check_sheaf(f, c->main);
		check_sheaf(f, c->spare);
		CHECK(!c->rcu_free || (c->rcu_free->front == f && sheaf_is_current(c->rcu_free) &&
				       c->rcu_free->nr && sheaf_has_space(c->rcu_free)));
	}
}
