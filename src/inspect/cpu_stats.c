/* SPDX-License-Identifier: MIT */
/*
 * inspect/cpu_stats.c - the CPUs' parts of one cache, read on demand
 *
 * Data:       the caller's array.
 * Invariants: one read for each CPU and at most two descriptors: no endless loop.
 * Locks:      none.
 * Flow:       see inspect/cpu_stats.h.
 */
#include "inspect/cpu_stats.h"

#include <errno.h>
#include <string.h>

#include "base/bits.h"
#include "front/front.h"
#include "front/percpu.h"
#include "inspect/internal.h"
#include "page/page.h"

static uint64_t state_address(const struct snapshot *s, unsigned int id, unsigned int cpu)
{
	return s->totals.arena_base + (uint64_t)USLAB_WINDOWS_OFFSET +
	       ((uint64_t)(cpu + USLAB_WINDOW_CPU0) << USLAB_WINDOW_SHIFT) + USLAB_WINDOW_STATE +
	       (uint64_t)id * USLAB_CPU_STATE_SIZE;
}

/* 0 and *page; 1: that is no slab of this cache (any more); or the error of the reader. */
static int read_slab(const struct snapshot *s, unsigned int cache, uint64_t descriptor,
		     struct page *page)
{
	uint64_t number = (descriptor - s->descriptors) / sizeof(*page);
	int ret;

	if (descriptor < s->descriptors || descriptor % sizeof(*page) || number >= s->nr_pages)
		return 1;
	ret = reader_read(s->reader, descriptor, page, sizeof(*page));
	if (ret)
		return ret == -EFAULT ? 1 : ret;
	return page->type != PAGE_SLAB || page->node >= s->totals.nodes ||
	       (uintptr_t)page->engine != s->work[cache].engine;
}

static int read_slabs(const struct snapshot *s, unsigned int cache,
		      const struct kmem_cache_cpu *state, struct cpu_stats *cpu)
{
	/* bounds a corrupted list */
	unsigned long most = s->cache[cache].slabs;
	struct page page;
	int ret = state->slab ? read_slab(s, cache, state->slab, &page) : 1;

	if (!ret)
		cpu->slab_node = page.node;
	if (ret >= 0)
		ret = state->partial ? read_slab(s, cache, (uintptr_t)state->partial, &page) : 1;
	if (!ret) {
		cpu->partial_slabs = (unsigned int)MIN(page.slabs, most);
		cpu->partial_node = page.node;
	}
	return ret < 0 ? ret : 0;
}

int cpu_stats_read(const struct snapshot *s, unsigned int cache, struct cpu_stats *cpus)
{
	const struct snapshot_cache *c = &s->cache[cache];
	bool has_slabs = snapshot_has_cpu_slabs(c);
	int ret = 0;

	for (unsigned int cpu = 0; cpu < s->totals.cpus; cpu++)
		cpus[cpu] = (struct cpu_stats){ .slab_node = -1, .partial_node = -1 };
	for (unsigned int cpu = 0; c->id && cpu < s->totals.cpus && !ret; cpu++) {
		struct kmem_cache_cpu state;

		ret = reader_read(s->reader, state_address(s, c->id, cpu), &state, sizeof(state));
		if (!ret) {
			memcpy(cpus[cpu].stat, state.stat, sizeof(state.stat));
			if (has_slabs)
				ret = read_slabs(s, cache, &state, &cpus[cpu]);
		} else if (ret == -EFAULT) {
			ret = 0; /* no thread ever ran there */
		}
	}
	return ret;
}
