/* SPDX-License-Identifier: MIT */
/*
 * front/sheaves_lent.c - sheaves that the program gets, and gives back (spec A6)
 *
 * Why:        docs/adr/0049.
 * Data:       none of its own: a lent sheaf is in no place of this front.
 * Invariants: see front/sheaves.h.
 * Locks:      sheaf_lock, which is waited for; none while objects or memory are asked for.
 * Flow:       called by cache/lent.c; calls sheaves_barn.c.
 */
#include "base/bits.h"
#include "front/sheaves.h"

/* As sheaves_enter(), but waits for the lock. */
static bool enter_waiting(struct front *f, struct sheaves_at *at)
{
	int cpu = percpu_cpu();

	if (cpu < 0)
		return false;
	at->c = percpu_state(f->id, cpu);
	at->node = os_cpu_to_node((unsigned int)cpu);
	lock_acquire(&at->c->sheaf_lock);
	if (likely(!load_relaxed(&f->closed)))
		return true;
	sheaves_leave(at);
	return false;
}

/* Of this CPU's barn: one with objects, else an empty one; NULL: neither. */
static struct sheaf *from_barn(struct front *f, unsigned int node)
{
	struct barn *barn = sheaves_barn(f, node);
	struct sheaf *sheaf = barn_exchange_empty(barn, NULL);

	sheaves_count(f, SHEAF_PREFILL_SLOW, 1);
	sheaves_count(f, sheaf ? BARN_GET : BARN_GET_FAIL, 1);
	return sheaf ? sheaf : barn_get_empty(barn);
}

struct sheaf *sheaves_lend(struct front *f, gfp_t gfp, unsigned int nr)
{
	struct sheaf *sheaf = NULL;
	struct sheaves_at at;

	if (!enter_waiting(f, &at))
		return NULL;
	sheaf = at.c->spare;
	store_relaxed(&at.c->spare, NULL);
	sheaves_leave(&at);
	if (sheaf)
		sheaves_count(f, SHEAF_PREFILL_FAST, 1);
	else
		sheaf = from_barn(f, at.node);
	if (!sheaf)
		sheaf = sheaves_new(f);
	if (!sheaf)
		return NULL;
	if (sheaf->nr < nr)
		sheaves_fill(f, sheaf, gfp);
	if (sheaf->nr >= nr) /* not full: enough. Full: its capacity may be less by now */
		return sheaf;
	sheaves_flush(f, sheaf);
	sheaves_delete(f, sheaf);
	return NULL;
}

/* Becomes the CPU's spare if that has none. *node: the CPU's, if a barn may take it. */
static bool become_spare(struct front *f, struct sheaf *sheaf, unsigned int *node)
{
	struct sheaves_at at;
	bool done;

	*node = SHEAVES_NO_NODE;
	if (!enter_waiting(f, &at))
		return false;
	done = false;
	if (sheaf_is_current(sheaf)) {
		*node = at.node;
		done = at.c->main && !at.c->spare;
	}
	if (done)
		store_relaxed(&at.c->spare, sheaf);
	sheaves_leave(&at);
	return done;
}

void sheaves_take_back(struct front *f, struct sheaf *sheaf)
{
	unsigned int node;

	if (become_spare(f, sheaf, &node)) {
		sheaves_count(f, SHEAF_RETURN_FAST, 1);
		return;
	}
	sheaves_count(f, SHEAF_RETURN_SLOW, 1);
	if (node != SHEAVES_NO_NODE &&
	    load_relaxed(&sheaves_barn(f, node)->nr_full) < BARN_MAX_FULL &&
	    sheaves_fill(f, sheaf, GFP_NOWAIT)) {
		sheaves_put_full(f, node, sheaf);
		return;
	}
	sheaves_flush(f, sheaf);
	sheaves_delete(f, sheaf);
}
