/* SPDX-License-Identifier: MIT */
/*
 * front/sheaves_rcu.c - rcu_free: the sheaf of a CPU for objects that wait for RCU (spec A7)
 *
 * Why:        docs/adr/0049.
 * Data:       rcu_free of each CPU. What its entries are its user knows (cache/grace/sheaves.c):
 *             they are no free objects before their grace period is over.
 * Invariants: a sheaf with an entry is in rcu_free or in the chain OS_RCU_SHEAVES, without a gap:
 *             it joins the chain before the CPU's lock is released. Checked by sheaves_check().
 * Locks:      sheaf_lock; under it os_rcu_defer()'s.
 * Flow:       called by cache/grace/ and sheaves_all.c; calls sheaves_barn.c, sheaves.c,
 *             os/rcu/rcu.c.
 */
#include "base/bits.h"
#include "front/sheaves.h"

void sheaves_hand_over_locked(struct kmem_cache_cpu *c, unsigned int node)
{
	struct sheaf *sheaf = c->rcu_free;

	if (!sheaf)
		return;
	sheaf->node = (uint16_t)node;
	store_relaxed(&c->rcu_free, NULL);
	os_rcu_defer(OS_RCU_SHEAVES, &sheaf->item, sheaf->release);
}

/* rcu_free is there, and *at is locked, perhaps of another CPU. false: no memory; not locked. */
static bool find_sheaf(struct front *f, struct sheaves_at *at)
{
	struct sheaf *sheaf = at->c->spare;
	unsigned int node = at->node;

	if (at->c->rcu_free)
		return true;
	if (sheaf && !sheaf->nr)
		store_relaxed(&at->c->spare, NULL);
	else
		sheaf = barn_get_empty(sheaves_barn(f, node));
	if (!sheaf) {
		sheaves_leave(at);
		sheaf = sheaves_new(f);
		if (!sheaf)
			return false;
		if (!sheaves_enter_with(f, at, sheaf)) {
			sheaves_put_empty(f, node, sheaf);
			return false;
		}
	}
	if (at->c->rcu_free)
		sheaves_put_empty(f, at->node, sheaf);
	else
		store_relaxed(&at->c->rcu_free, sheaf);
	return true;
}

/* false: there is no sheaf for it. */
static bool gather(struct front *f, void *entry, os_rcu_release release)
{
	struct sheaves_at at;
	struct sheaf *sheaf;

	if (!sheaves_enter(f, &at) || !find_sheaf(f, &at))
		return false;
	sheaf = at.c->rcu_free;
	sheaf->release = release;
	sheaf_push(sheaf, entry);
	if (!sheaf_has_space(sheaf))
		sheaves_hand_over_locked(at.c, at.node);
	sheaves_leave(&at);
	return true;
}

bool sheaves_gather(struct front *f, const void *obj, void *entry, os_rcu_release release)
{
	bool gathered;

	/* the thread may be moved after this: then a barn gets an object of another node */
	if (sheaves_is_remote(obj, os_current_node()))
		return false;
	gathered = gather(f, entry, release);
	sheaves_count(f, gathered ? FREE_RCU_SHEAF : FREE_RCU_SHEAF_FAIL, 1);
	return gathered;
}

/* The lock is waited for: nothing that came before may be left behind. */
void sheaves_hand_over(struct front *f, bool to_barn)
{
	for (int cpu = 0; cpu < (int)os_topology.nr_cpu_ids; cpu++) {
		struct sheaves_at at = { .c = percpu_state(f->id, cpu) };

		if (!load_relaxed(&at.c->rcu_free))
			continue;
		lock_acquire(&at.c->sheaf_lock);
		sheaves_hand_over_locked(at.c, to_barn ? os_cpu_to_node((unsigned int)cpu)
						       : SHEAVES_NO_NODE);
		sheaves_leave(&at);
	}
}

bool sheaves_find_waiting(struct front *f, bool (*is)(const void *entry, const void *what),
			  const void *what)
{
	bool found = false;

	for (int cpu = 0; !found && cpu < (int)os_topology.nr_cpu_ids; cpu++) {
		struct sheaves_at at = { .c = percpu_state(f->id, cpu) };
		const struct sheaf *sheaf;

		if (!load_relaxed(&at.c->rcu_free))
			continue;
		lock_acquire(&at.c->sheaf_lock);
		sheaf = at.c->rcu_free;
		for (unsigned int i = 0; !found && sheaf && i < sheaf->nr; i++)
			found = is(sheaf->obj[i], what);
		sheaves_leave(&at);
	}
	return found;
}

void sheaves_return(struct front *f, struct sheaf *sheaf)
{
	bool has_barn = sheaf->node != SHEAVES_NO_NODE;
	struct barn *barn = sheaves_barn(f, has_barn ? sheaf->node : 0);

	if (sheaf->nr && has_barn && load_relaxed(&barn->nr_full) < BARN_MAX_FULL) {
		sheaves_put_full(f, sheaf->node, sheaf);
		return;
	}
	sheaves_count(f, BARN_PUT_FAIL, sheaf->nr && has_barn);
	sheaves_flush(f, sheaf);
	if (has_barn && load_relaxed(&barn->nr_empty) < BARN_MAX_EMPTY)
		sheaves_put_empty(f, sheaf->node, sheaf);
	else
		sheaves_delete(f, sheaf);
}
