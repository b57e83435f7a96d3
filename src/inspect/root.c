/* SPDX-License-Identifier: MIT */
/*
 * inspect/root.c - uslab_root of this process
 *
 * Data:       uslab_root, found by its name in the ELF symbols of the library or program.
 * Invariants: addresses and sizes are set by the linker and loader: a tool never sees them half
 *             filled.
 * Locks:      none; root_init() is called by the thread that initialises the library.
 * Flow:       see root.h; calls nothing.
 */
#include "inspect/root.h"

#include <string.h>

#include "base/atomic.h"
#include "base/bits.h"
#include "cache/control/control.h"
#include "cache/group/group.h"
#include "cache/lent.h"
#include "cache/mobility/mobility.h"
#include "cache/profile/sites.h"
#include "cache/reclaim/ahead.h"
#include "cache/reclaim/shrinker.h"
#include "debug/pages/blocks.h"
#include "debug/debug.h"
#include "debug/kfence/kfence.h"
#include "debug/report/report.h"
#include "debug/stacks.h"
#include "engine/charged.h"
#include "engine/limit.h"
#include "engine/slub/slub.h"
#include "front/depot.h"
#include "front/queues.h"
#include "front/sheaves.h"
#include "os/cpu/cpu.h"
#include "os/process/filter.h"
#include "page/buddy.h"
#include "page/keep.h"
#include "page/large.h"
#include "page/limit.h"
#include "page/meta.h"
#include "page/numa.h"
#include "page/realtime.h"
#include "page/reserve.h"

/*
 * The library writes to this name, not to the exported one: in a program with two of our libraries
 * (linked with one, started with the other) both exported names resolve to the first one's.
 */
static struct uslab_root root = {
	.magic = USLAB_ROOT_MAGIC,
	.version = USLAB_ROOT_VERSION,
	.root_size = sizeof(struct uslab_root),
	.page_size = sizeof(struct page),
	.cache_size = sizeof(struct cache),
	.cpu_state_size = sizeof(struct kmem_cache_cpu),
	.depot_size = sizeof(struct depot),
	.slub_size = sizeof(struct slub),
	.queues_size = sizeof(struct queues),
	.engine_ops_size = sizeof(struct engine_ops),
	.engine_heap_size = sizeof(struct engine_heap),
	.nr_engines = CACHE_NR_ENGINES,
	.debug_size = sizeof(struct debug),
	.control_size = sizeof(struct control),
	.sheaf_size = sizeof(struct slab_sheaf),
	.barn_size = sizeof(struct barn),
	.version_text = USLAB_VERSION_TEXT,
	.page_map = (uint64_t)&page_map,
	.topology = (uint64_t)&os_topology,
	.cache_list = (uint64_t)&cache_list,
	.zones = (uint64_t)&buddy_zones,
	.large_counters = (uint64_t)&large_counters,
	.meta_counters = (uint64_t)&meta_counters,
	.engines = (uint64_t)&cache_engines,
	.rseq_on = (uint64_t)&percpu_rseq,
	.control = (uint64_t)&control,
	.stacks = (uint64_t)&stacks_depot,
	.reports = (uint64_t)&report_counters,
	.kfence = (uint64_t)&kfence_counters,
	.blocks = (uint64_t)&blocks_table,
	.reserve = (uint64_t)&reserve_counters,
	.realtime = (uint64_t)&realtime_counters,
	.lent = (uint64_t)&lent_sheaves,
	.moves = (uint64_t)&mobility_list,
	.sites = (uint64_t)&sites_table,
	.numa = (uint64_t)&numa_counters,
	.groups = (uint64_t)&groups_table,
	.limits = (uint64_t)&limit_counters,
	.cache_limits = (uint64_t)&engine_limits,
	.cache_groups = (uint64_t)&engine_groups,
	.shrinkers = (uint64_t)&shrinker_counters,
	.reclaims = (uint64_t)&reclaim_counters,
	.filters = (uint64_t)&os_filters,
	.large_blocks = (uint64_t)&large_blocks,
	.large_slots = (uint64_t)&large_slots,
	.keep_counters = (uint64_t)&keep_counters,
	.keep_ranges = (uint64_t)&keep_ranges,
	.meta_ranges = (uint64_t)&meta_ranges,
	.reserve_base = (uint64_t)&reserve_base,
	.purge_delay = (uint64_t)&zone_purge_delay,
};

/*
 * In written memory, and so in every core: constants are only in the library's file, which may be
 * gone by then.
 */
static char large_name_text[32];

extern USLAB_API struct uslab_root uslab_root __attribute__((alias("root")));

void root_set_kick(unsigned long *limit)
{
	root.kick = (uint64_t)limit;
}

void root_init(const char *large_name)
{
	size_t len = MIN(strlen(large_name), sizeof(large_name_text) - 1);

	memcpy(large_name_text, large_name, len);
	large_name_text[len] = '\0';
	blocks_name = large_name;
	root.large_name = (uint64_t)large_name_text;
	/* pairs with the check in snapshot_open(), which sees the name when it sees ready */
	store_release(&root.ready, 1);
}
