/* SPDX-License-Identifier: MIT */
/*
 * engine/slub/oom.c - what is said when there is no memory for a slab (spec 4.16)
 *
 * Data:       the rate limit: ten messages in five seconds, for the whole process.
 * Invariants: nothing here allocates.
 * Locks:      the caller holds none (the free objects of each node are counted under list_lock).
 * Flow:       called by cpu.c, refill.c and debug/alloc.c; calls os/process/say.c.
 */
#include "base/bits.h"
#include "engine/slub/slab.h"
#include "os/time/clock.h"
#include "os/process/die.h"

#define LIMIT_MS 5000
#define LIMIT_BURST 10

static struct {
	uint64_t since; /* ms; of the current interval */
	unsigned int said;
} limit; /* atomics; a message more or less when two threads meet does not matter */

static bool may_speak(void)
{
	uint64_t now = os_clock_ms();

	if (now - load_relaxed(&limit.since) >= LIMIT_MS) {
		store_relaxed(&limit.since, now);
		store_relaxed(&limit.said, 0);
	}
	return fetch_add(&limit.said, 1) < LIMIT_BURST;
}

/* Composites first, so that the longest name wins, as the kernel prints them. */
static const struct {
	gfp_t mask;
	const char *name;
} gfp_names[] = {
	{ GFP_KERNEL_ACCOUNT, "GFP_KERNEL_ACCOUNT" },
	{ GFP_USER, "GFP_USER" },
	{ GFP_KERNEL, "GFP_KERNEL" },
	{ GFP_NOFS, "GFP_NOFS" },
	{ GFP_ATOMIC, "GFP_ATOMIC" },
	{ GFP_NOIO, "GFP_NOIO" },
	{ GFP_NOWAIT, "GFP_NOWAIT" },
	{ __GFP_DMA, "GFP_DMA" },
	{ __GFP_DMA32, "GFP_DMA32" },
	{ __GFP_RECLAIMABLE, "__GFP_RECLAIMABLE" },
	{ __GFP_HIGH, "__GFP_HIGH" },
	{ __GFP_IO, "__GFP_IO" },
	{ __GFP_FS, "__GFP_FS" },
	{ __GFP_ZERO, "__GFP_ZERO" },
	{ __GFP_ATOMIC, "__GFP_ATOMIC" },
	{ __GFP_DIRECT_RECLAIM, "__GFP_DIRECT_RECLAIM" },
	{ __GFP_KSWAPD_RECLAIM, "__GFP_KSWAPD_RECLAIM" },
	{ __GFP_RETRY_MAYFAIL, "__GFP_RETRY_MAYFAIL" },
	{ __GFP_NOFAIL, "__GFP_NOFAIL" },
	{ __GFP_NORETRY, "__GFP_NORETRY" },
	{ __GFP_THISNODE, "__GFP_THISNODE" },
	{ __GFP_ACCOUNT, "__GFP_ACCOUNT" },
};

/* "GFP_KERNEL|__GFP_ZERO"; bits without a name stand at the end in hexadecimal. */
static void format_gfp(char *buf, size_t size, gfp_t gfp)
{
	const char *bar = "";
	size_t used = 0;
	size_t i;

	buf[0] = '\0';
	for (i = 0; i < ARRAY_SIZE(gfp_names) && used < size; i++) {
		if ((gfp & gfp_names[i].mask) != gfp_names[i].mask)
			continue;
		used += os_format(buf + used, size - used, "%s%s", bar, gfp_names[i].name);
		gfp &= ~gfp_names[i].mask;
		bar = "|";
	}
	if (gfp && used < size)
		os_format(buf + used, size - used, "%s0x%x", bar, gfp);
}

cold bool slub_say_oom(const struct engine *e, const struct slab_layout *layout, gfp_t gfp,
		       int node)
{
	unsigned int object_size = load_relaxed(&e->object_size);
	char names[256];

	if ((gfp & __GFP_NOWARN) || !may_speak())
		return false;
	format_gfp(names, sizeof(names), gfp);
	os_say("SLUB: Unable to allocate memory on node %d, gfp=0x%x(%s)", node, gfp, names);
	os_say("  cache: %s, object size: %u, buffer size: %u, default order: %u, min order: %u",
	       e->name, object_size, layout->stride, layout->order, layout->min_order);
	if (get_order(layout->stride) > get_order(object_size))
		os_say("  %s debugging increased min order, use slub_debug=O to disable.", e->name);
	return true;
}

cold void slub_say_oom_node(unsigned int node, unsigned long slabs, unsigned long objects,
			    unsigned long free)
{
	os_say("  node %u: slabs: %lu, objs: %lu, free: %lu", node, slabs, objects, free);
}

cold void slub_warn_oom(struct engine *e, gfp_t gfp, int node)
{
	const struct slub *s = slub_of(e);

	/* acquire: as in slub_new_slab() */
	if (!slub_say_oom(e, load_acquire(&e->layout), gfp, node))
		return;
	for (unsigned int i = 0; i < s->nr_nodes; i++)
		slub_say_oom_node(i, load_relaxed(&s->node[i]->nr_slabs),
				  load_relaxed(&s->node[i]->total_objects),
				  slub_node_count_free(s->node[i]));
}
