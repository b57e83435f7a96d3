/* SPDX-License-Identifier: MIT */
/*
 * inspect/groups.c - accounting groups (cache/group/group.h), from outside
 *
 * Data:       struct snapshot of the caller.
 * Invariants: see groups.h.
 * Locks:      none.
 * Flow:       called by tools; calls snapshot.c.
 */
#include "inspect/groups.h"

#include <string.h>

#include "base/bits.h"
#include "front/depot.h"
#include "front/percpu.h"
#include "inspect/internal.h"

#define READ(s, at, type, member, to) \
	snapshot_read((s), (at) + offsetof(type, member), (to), sizeof(*(to)))

/* The address of struct groups; 0: there are none. */
static uint64_t find_table(struct snapshot *s)
{
	uint64_t table;

	return s->root.groups && snapshot_read(s, s->root.groups, &table, sizeof(table)) ? table
											 : 0;
}

static uint32_t id_at(struct snapshot *s, uint64_t group)
{
	uint32_t id;

	return group && READ(s, group, struct group, id, &id) && id < GROUPS_MAX ? id : GROUP_NONE;
}

/* false: the number is free, or cannot be read. */
static bool read_group(struct snapshot *s, uint64_t table, uint32_t id, struct groups_group *to)
{
	struct group group;
	uint64_t at = 0;

	snapshot_read(s, table + offsetof(struct groups, slot) + id * sizeof(at), &at, sizeof(at));
	if (!at || !snapshot_read(s, at, &group, sizeof(group)) || !group.serial)
		return false;
	*to = (struct groups_group){
		.id = id,
		.parent = id_at(s, (uint64_t)(uintptr_t)group.parent),
		.usage = group.usage,
		.peak = group.peak,
		.limit = group.limit,
		.met = group.met,
		.failed = group.failed,
		.threads = group.threads,
		.groups = group.children,
		.dying = group.dying != 0,
	};
	snapshot_text(s, at + offsetof(struct group, name), to->name, sizeof(to->name));
	return true;
}

long groups_visit(struct snapshot *s, void (*visit)(const struct groups_group *group, void *arg),
		  void *arg)
{
	uint64_t table = find_table(s);
	struct groups_group group;
	uint32_t nr = 0;
	long count = 0;

	if (!table || !READ(s, table, struct groups, nr, &nr))
		return s->error;
	nr = MIN(nr, GROUPS_MAX - 1);
	for (uint32_t id = 1; id <= nr && !s->error; id++) {
		if (!read_group(s, table, id, &group))
			continue;
		visit(&group, arg);
		count++;
	}
	return s->error ? s->error : count;
}

struct visit {
	void (*ahead)(uint32_t id, uint64_t bytes, void *arg);
	void *arg;
	long count;
};

static void visit_stock(struct snapshot *s, uint64_t table, uint32_t cpu, struct visit *v)
{
	uint64_t at = table + offsetof(struct groups, stock) + cpu * sizeof(struct group_stock);
	uint64_t word = 0;

	if (!READ(s, at, struct group_stock, word, &word) || !word)
		return;
	v->ahead(STOCK_ID(word), STOCK_BYTES(word), v->arg);
	v->count++;
}

/* The charged array with that top; size: bytes of an object. Entry 0 has bottom and owner. */
static void visit_array(struct snapshot *s, uint64_t top, uint32_t size, struct visit *v)
{
	uint32_t entry[2];
	unsigned int index = sheaf_index(top);

	if (!top || top % sizeof(void *) ||
	    !snapshot_read(s, (uintptr_t)sheaf_base(top), entry, sizeof(entry)))
		return;
	if (!entry[1] || entry[1] >= GROUPS_MAX || index <= entry[0])
		return;
	v->ahead(entry[1], (uint64_t)(index - entry[0]) * size, v->arg);
	v->count++;
}

/* Those of all caches on a CPU, in that place of its window. */
static void visit_arrays(struct snapshot *s, const uint32_t *sizes, uint32_t cpu,
			 unsigned long place, struct visit *v)
{
	uint64_t words[USLAB_NR_HANDLES];
	uint64_t window = s->totals.arena_base + (uint64_t)USLAB_WINDOWS_OFFSET +
			  ((uint64_t)(cpu + USLAB_WINDOW_CPU0) << USLAB_WINDOW_SHIFT);

	if (!snapshot_read(s, window + place, words, sizeof(words)))
		return;
	for (unsigned int id = 0; id < USLAB_NR_HANDLES; id++)
		if (sizes[id] && snapshot_is_array(s, id, words[id]))
			visit_array(s, words[id], sizes[id], v);
}

/* Of a cache that belongs to a group: what CPUs and depots hold. */
static void visit_cache(const struct snapshot_cache *c, struct visit *v)
{
	uint64_t held = c->objects_held - MIN(c->objects_held, c->objects_lent);

	if (!c->group || !held)
		return;
	v->ahead(c->group, held * c->group_size, v->arg);
	v->count++;
}

long groups_visit_ahead(struct snapshot *s, void (*visit)(uint32_t id, uint64_t bytes, void *arg),
			void *arg)
{
	struct visit v = { .ahead = visit, .arg = arg };
	uint64_t table = find_table(s);
	uint32_t sizes[USLAB_NR_HANDLES];
	uint32_t nr_cpus = 0;

	if (!table || !READ(s, table, struct groups, nr_cpus, &nr_cpus) ||
	    !READ(s, table, struct groups, array_size, &sizes))
		return s->error;
	nr_cpus = MIN(nr_cpus, (uint32_t)USLAB_MAX_CPUS);
	for (uint32_t cpu = 0; cpu < nr_cpus && !s->error; cpu++) {
		visit_stock(s, table, cpu, &v);
		visit_arrays(s, sizes, cpu, PERCPU_CHARGED, &v);
		visit_arrays(s, sizes, cpu, USLAB_WINDOW_ACCOUNTS, &v);
	}
	for (unsigned int i = 0; i < s->nr_caches; i++)
		visit_cache(&s->cache[i], &v);
	return s->error ? s->error : v.count;
}
