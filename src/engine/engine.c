/* SPDX-License-Identifier: MIT */
/*
 * engine/engine.c - what all engines do alike: when a cache begins, when objects end
 *
 * Why:        docs/adr/0047.
 * Data:       none.
 * Invariants: see engine.h.
 * Locks:      none: the cache is not known to anybody else.
 * Flow:       called by debug/slab.c, engine/.
 */
#include "engine/engine.h"

void engine_init(struct engine *e, const struct engine_params *params, const struct engine_ops *ops,
		 const struct slab_layout *layout, void *state)
{
	*e = (struct engine){
		.ops = ops,
		.layout = layout,
		.state = state,
		.name = params->name,
		.size = layout->stride,
		.object_size = params->object_size,
		.align = params->align,
		.id = params->id,
		.flags = params->flags,
		.ctor = params->ctor,
		.dtor = params->dtor,
		.page_class = params->page_class,
		.pack = params->pack,
	};
}

gfp_t engine_page_flags(slab_flags_t flags)
{
	gfp_t gfp = 0;

	if (flags & SLAB_CACHE_DMA)
		gfp |= __GFP_DMA;
	if (flags & SLAB_CACHE_DMA32)
		gfp |= __GFP_DMA32;
	if (flags & SLAB_RECLAIM_ACCOUNT)
		gfp |= __GFP_RECLAIMABLE;
	return gfp;
}

void engine_destruct_slab(const struct engine *e, void *first, size_t stride, unsigned int nr)
{
	if (os_memcheck_on)
		os_memcheck_forget(first, stride * nr);
	for (unsigned int i = 0; i < nr; i++)
		e->dtor((char *)first + i * stride);
}
