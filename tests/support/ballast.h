/* SPDX-License-Identifier: MIT */
/*
 * support/ballast.h - slabs that lie far up in the arena
 */
#ifndef SUPPORT_BALLAST_H
#define SUPPORT_BALLAST_H

#include "child.h"
#include "page/buddy.h"
#include "page/low.h"

#define BALLAST_CHUNKS 24
#define BALLAST_BLOCKS 1000

/*
 * Slabs that are made meanwhile lie far up: chunks below them are in use, and all that was free;
 * then it goes back. The first page above.
 */
static inline unsigned long ballast(bool there)
{
	static struct page *block[BALLAST_BLOCKS];
	static unsigned int nr;
	unsigned int order = BUDDY_MAX_ORDER + 1;

	while (!there && nr) {
		nr--;
		buddy_free(block[nr], block[nr]->order, false);
	}
	if (!there)
		buddy_trim(0);
	for (unsigned long before = page_map.nr_pages; /* until the arena has to grow */
	     there && (nr < BALLAST_CHUNKS || page_map.nr_pages == before); nr++)
		CHILD_CHECK((block[nr] = buddy_alloc(0, BUDDY_MAX_ORDER, true, NULL)));
	while (there && order--)
		while ((block[nr] = buddy_try_alloc(0, order)))
			CHILD_CHECK(++nr < BALLAST_BLOCKS);
	return (unsigned long)BALLAST_CHUNKS << BUDDY_MAX_ORDER;
}

#endif /* SUPPORT_BALLAST_H */
