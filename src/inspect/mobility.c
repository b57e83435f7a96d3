/* SPDX-License-Identifier: MIT */
/*
 * inspect/mobility.c - caches of a process whose objects move, and what that gave back
 *
 * Data:       struct snapshot of the caller.
 * Invariants: at most as many entries of the process's list are followed as it has caches, each of
 *             which has to point back at the one before.
 * Locks:      none; a list that changes meanwhile is left where it does not fit any more.
 * Flow:       called by snapshot.c; calls the reader.
 */
#include "base/bits.h"
#include "cache/mobility/mobility.h"
#include "inspect/internal.h"

static void fill(struct snapshot *s, const struct mobility *m)
{
	int index = snapshot_find_engine(s, (uintptr_t)m->cache + offsetof(struct cache, engine));
	struct snapshot_cache *c;

	if (index < 0)
		return;
	c = &s->cache[index];
	c->movable = m->functions.move || m->functions.migrate;
	c->defrag_used_ratio = MIN(m->ratio, 100u);
	c->defrag_slabs = m->counters.slabs;
	c->defrag_bytes = m->counters.bytes;
	c->defrag_moved = m->counters.moved;
	c->defrag_refused = m->counters.refused;
}

void snapshot_moves(struct snapshot *s)
{
	uint64_t head = s->root.moves;
	uint64_t before = head;
	struct list_head list;
	struct mobility m;

	if (!head || !snapshot_read(s, head, &list, sizeof(list)))
		return;
	for (unsigned int i = 0; i < s->nr_caches && (uintptr_t)list.next != head; i++) {
		uint64_t address = (uintptr_t)list.next - offsetof(struct mobility, list);

		if (!snapshot_read(s, address, &m, sizeof(m)) || (uintptr_t)m.list.prev != before)
			return;
		fill(s, &m);
		before = (uintptr_t)list.next;
		list = m.list;
	}
}
