/* SPDX-License-Identifier: MIT */
/*
 * inspect/slabinfo.c - the order of the caches, and the limits of their queues
 *
 * Data:       none.
 * Invariants: the list of caches is followed for at most as many steps as there can be caches.
 * Locks:      none.
 * Flow:       see inspect/slabinfo.h.
 */
#include "inspect/slabinfo.h"

#include <string.h>

#include "base/bits.h"
#include "cache/cache.h"
#include "front/queues.h"
#include "inspect/internal.h"

/* Address of the next list node; 0: cannot be read. */
static uint64_t next_node(const struct snapshot *s, uint64_t address)
{
	struct list_head node;

	return reader_read(s->reader, address, &node, sizeof(node)) ? 0 : (uintptr_t)node.next;
}

/*
 * In the order of the process's list, since numbers of caches are reused. Caches that are not, or
 * not yet, on it follow in the order of numbers.
 */
void slabinfo_order(const struct snapshot *s, uint16_t *order)
{
	uint64_t node = next_node(s, s->root.cache_list);
	bool seen[SNAPSHOT_MAX_CACHES] = { false };
	unsigned int n = 0;

	for (unsigned int steps = 0; steps < USLAB_NR_HANDLES && node && node != s->root.cache_list;
	     steps++, node = next_node(s, node)) {
		int index = snapshot_find_engine(s, node - offsetof(struct cache, list) +
							    offsetof(struct cache, engine));

		if (index < 0 || seen[index])
			continue;
		seen[index] = true;
		order[n++] = (uint16_t)index;
	}
	for (unsigned int i = s->nr_caches; i-- > 0;)
		if (!seen[i] && s->cache[i].id)
			order[n++] = (uint16_t)i;
	for (unsigned int i = 0; i < s->nr_caches; i++)
		if (!s->cache[i].id)
			order[n++] = (uint16_t)i;
}

bool slabinfo_tunables(const struct snapshot *s, unsigned int cache, struct slabinfo_tunables *t)
{
	bool is_cache = s->cache[cache].id != 0;
	uint64_t address = is_cache ? s->work[cache].queues : 0;
	struct queues queues;

	*t = (struct slabinfo_tunables){ 0 };
	if (!address || reader_read(s->reader, address, &queues, sizeof(queues)))
		return false;
	*t = (struct slabinfo_tunables){
		.limit = queues.limit,
		.batchcount = queues.batchcount,
		.shared = queues.shared,
	};
	return true;
}
