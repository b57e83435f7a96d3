/* SPDX-License-Identifier: MIT */
/*
 * inspect/lent.c - counts the objects in the lent sheaves of a process
 *
 * Data:       struct snapshot of the caller.
 * Invariants: the list is followed for at most MAX_SHEAVES steps, and only as long as each sheaf
 *             points back at the one before: one that was returned meanwhile does not.
 * Locks:      none.
 * Flow:       called by snapshot.c when the pages are counted, and by address.c.
 */
#include "base/bits.h"
#include "cache/lent.h"
#include "inspect/internal.h"

#define MAX_SHEAVES 65536u
#define MAX_WALKS 4u /* while the program lends and returns sheaves all the time */

bool snapshot_each_sheaf(struct snapshot *s, snapshot_visit_sheaf *visit, void *arg)
{
	uint64_t head = s->root.lent;
	uint64_t before = head;
	struct slab_sheaf sheaf;
	struct list_head list;

	if (!head || !snapshot_read(s, head, &list, sizeof(list)))
		return true;
	for (unsigned int i = 0; (uintptr_t)list.next != head; i++, list = sheaf.list) {
		uint64_t address = (uintptr_t)list.next - offsetof(struct slab_sheaf, list);

		if (i == MAX_SHEAVES || !snapshot_read(s, address, &sheaf, sizeof(sheaf)) ||
		    (uintptr_t)sheaf.list.prev != before || sheaf.count > sheaf.capacity)
			return false;
		if (!visit(s, address, &sheaf, arg))
			break;
		before = (uintptr_t)list.next;
	}
	return true;
}

static bool count(struct snapshot *s, uint64_t address, const struct slab_sheaf *sheaf, void *arg)
{
	int index =
		snapshot_find_engine(s, (uintptr_t)sheaf->cache + offsetof(struct cache, engine));

	(void)address;
	(void)arg;
	if (index >= 0)
		s->cache[index].objects_lent += sheaf->count;
	return true;
}

void snapshot_lent(struct snapshot *s)
{
	for (unsigned int i = 0; i < MAX_WALKS; i++) {
		if (snapshot_each_sheaf(s, count, NULL))
			break;
		for (unsigned int c = 0; c < s->nr_caches; c++)
			s->cache[c].objects_lent = 0;
		if (i == MAX_WALKS - 1)
			s->totals.inconsistent++;
	}
	/* bounded by the objects of all slabs, in case a count is corrupted */
	for (unsigned int c = 0; c < s->nr_caches; c++)
		s->cache[c].objects_lent = MIN(s->cache[c].objects_lent, s->cache[c].total_objects);
}
