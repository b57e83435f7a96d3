/* SPDX-License-Identifier: MIT */
/*
 * page/low.h - which pages lie far above what the memory in use needs, and the lowest free ones
 *
 * Why:        docs/adr/0065.
 * Data:       none.
 * Invariants: below page_far() lie four times as many pages as are held (in use, or free and
 *             resident), so at least three of four are free. They may be in blocks that are too
 *             small: then it says that nothing lies far up, until what is held has changed by an
 *             eighth.
 * Locks:      zone.lock of node 0, for buddy_alloc_low().
 * Flow:       called by engine/nodes.c; calls buddy.c, purge_tables.c.
 *
 * After a burst the pages that stay in use lie anywhere, each with a page of the descriptors of its
 * neighbours. Objects that can be moved go to slabs low in the arena, also to new ones: then whole
 * chunks above them are free, and their descriptors go too.
 */
#ifndef PAGE_LOW_H
#define PAGE_LOW_H

#include "page/page.h"

/*
 * Pages from that index on lie far up: above four times what is in use, of which so many pages are
 * leaving soon, and four chunks more. ULONG_MAX: none does; so it is said on several nodes, whose
 * chunks keep their descriptors. A hint, without a lock.
 */
unsigned long page_far(unsigned long leaving);

#define LOW_MOST_ORDER 5u /* of blocks below: such a block has its bits in one word */

/*
 * A free block of that order below page far, one of the lowest: the first from where the last
 * search ended; then one of a bare chunk. After a look at the bits of 256 MiB.
 * NULL: none was found. Type NONE; the caller marks it with page_set_block().
 */
struct page *buddy_alloc_low(unsigned int order, unsigned long far);

#endif /* PAGE_LOW_H */
