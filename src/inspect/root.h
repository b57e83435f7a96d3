/* SPDX-License-Identifier: MIT */
/*
 * inspect/root.h - uslab_root: the entry point for tools that read from outside
 *
 * Data:       one exported structure with the addresses of all that a tool reads, a version and the
 *             sizes of the structures, by which a tool refuses another version.
 * Invariants: all but ready, kick and large_name is const from load time
 *             on; addresses never change.
 * Locks:      none. Values change while a tool reads them: it must bound every count and check
 *             every pointer.
 * Flow:       filled by inspect/root.c, called by api/init.c and malloc/init.c; read by
 *             inspect/snapshot.c.
 */
#ifndef INSPECT_ROOT_H
#define INSPECT_ROOT_H

#include <stdint.h>
#include <uslab/slab.h>

#define USLAB_ROOT_MAGIC 0x746f6f7262616c73ull /* "slabroot" */
#define USLAB_ROOT_VERSION 10

struct uslab_root {
	uint64_t magic;
	uint32_t version;
	uint32_t ready; /* 1 once everything below is valid */
	uint32_t root_size;
	uint32_t page_size; /* sizeof(struct page) */
	uint32_t cache_size;
	uint32_t cpu_state_size;
	uint32_t depot_size;
	uint32_t slub_size;
	char version_text[16]; /* at this place in every version */
	uint32_t queues_size;
	uint32_t engine_ops_size;
	uint32_t engine_heap_size;
	uint32_t nr_engines;
	uint32_t debug_size;   /* sizeof(struct debug), up to node[] */
	uint32_t control_size; /* sizeof(struct control) */
	uint32_t sheaf_size;   /* sizeof(struct slab_sheaf) */
	uint32_t barn_size;    /* sizeof(struct barn) */

	uint64_t page_map;	 /* struct page_map */
	uint64_t topology;	 /* struct topology */
	uint64_t cache_list;	 /* struct list_head of struct cache */
	uint64_t zones;		 /* struct buddy_zone[OS_MAX_NODES] */
	uint64_t large_counters; /* struct large_counters */
	uint64_t meta_counters;	 /* struct meta_counters */
	uint64_t rseq_on;	 /* bool percpu_rseq */
	uint64_t engines;	 /* struct engine_ops *[nr_engines] */
	uint64_t control; /* struct control (cache/control/control.h): commands from outside */
	uint64_t kick; /* size_t[2]: with 0 written there the next malloc() polls the mailbox; or 0 */
	uint64_t stacks;	/* struct stacks ** (debug/stacks.h) */
	uint64_t reports;	/* struct report_counters */
	uint64_t kfence;	/* struct kfence_counters */
	uint64_t blocks;	/* struct blocks ** (debug/pages/blocks.h) */
	uint64_t large_name;	/* char[], blocks_name: "kmalloc-large" or "malloc-large" */
	uint64_t reserve;	/* struct reserve_counters */
	uint64_t realtime;	/* struct realtime_counters */
	uint64_t lent;		/* struct list_head of struct slab_sheaf (cache/lent.h) */
	uint64_t sites;		/* struct sites ** (cache/profile/sites.h) */
	uint64_t filters;	/* uint32_t os_filters: of system calls, see os/process/filter.h */
	uint64_t large_blocks;	/* struct large_block *, of so many slots: */
	uint64_t large_slots;	/* unsigned long */
	uint64_t keep_counters; /* struct keep_counters */
	uint64_t keep_ranges;	/* struct keep_range[KEEP_COUNT] */
	uint64_t meta_ranges;	/* struct meta_range[META_RANGES] */
	uint64_t reserve_base;	/* uintptr_t: RESERVE_RANGE bytes begin there */
	uint64_t purge_delay;	/* uint32_t zone_purge_delay */
	uint64_t moves;	       /* struct list_head of struct mobility (cache/mobility/mobility.h) */
	uint64_t numa;	       /* struct numa_counters[OS_MAX_NODES] (page/numa.h) */
	uint64_t groups;       /* struct groups ** (cache/group/group.h) */
	uint64_t limits;       /* struct limit_counters (page/limit.h) */
	uint64_t cache_limits; /* struct engine_limit[USLAB_NR_HANDLES] (engine/limit.h) */
	uint64_t cache_groups; /* struct engine_group[USLAB_NR_HANDLES] (engine/charged.h) */
	uint64_t shrinkers;    /* struct shrinker_counters (cache/reclaim/shrinker.h) */
	uint64_t reclaims;     /* struct reclaim_counters (cache/reclaim/ahead.h) */
};

extern USLAB_API struct uslab_root uslab_root;

/* Where a tool writes 0 so that the next malloc() polls the mailbox; before root_init(). */
void root_set_kick(unsigned long *limit);

/* Makes uslab_root ready; large_name must never be freed. May be called again with another one. */
void root_init(const char *large_name);

#endif /* INSPECT_ROOT_H */
