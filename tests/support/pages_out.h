/* SPDX-License-Identifier: MIT */
/*
 * support/pages_out.h - what the page floor has handed out (spec 14 vector 16)
 */
#ifndef SUPPORT_PAGES_OUT_H
#define SUPPORT_PAGES_OUT_H

#include "page/buddy.h"
#include "page/large.h"

/* Of the arena, of all nodes. */
static inline unsigned long arena_pages_out(void)
{
	unsigned long pages = 0;
	struct buddy_stats stats;

	for (unsigned int node = 0; node < buddy_nr_nodes; node++) {
		buddy_stats(node, &stats);
		pages += stats.nr_total - stats.nr_free;
	}
	return pages;
}

/* Of the arena and of mapped blocks. */
static inline unsigned long pages_out(void)
{
	return arena_pages_out() + large_bytes() / PAGE_SIZE;
}

static inline unsigned long bytes_out(void)
{
	return arena_pages_out() * PAGE_SIZE + large_bytes();
}

#endif /* SUPPORT_PAGES_OUT_H */
