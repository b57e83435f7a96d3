/* SPDX-License-Identifier: MIT */
/*
 * page/thp.c - which memory asks for transparent huge pages
 *
 * Data:       see thp.h.
 * Invariants: see thp.h.
 * Locks:      none.
 * Flow:       see thp.h; calls os/memory/vm.c.
 */
#include "page/thp.h"

#include "os/memory/vm.h"
#include "page/page.h"

static enum thp_policy thp_policy;

void thp_advise_large(void *p, size_t size)
{
	if (thp_policy == THP_NEVER)
		os_small_pages(p, size);
	else if (thp_policy != THP_SYSTEM)
		os_huge_pages(p, size);
}

void thp_advise_arena(void *start, size_t size)
{
	if (thp_policy == THP_NEVER)
		os_small_pages(start, size);
	else if (thp_policy == THP_ALL)
		os_huge_pages(start, size);
}

void thp_set(enum thp_policy policy)
{
	thp_policy = policy;
	thp_advise_arena(page_map.base, page_map.limit << PAGE_SHIFT);
}
