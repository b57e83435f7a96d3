/* SPDX-License-Identifier: MIT */
/*
 * os/memory/place.c - on which real node the memory behind addresses is, and put it there
 *
 * Why:        docs/adr/0062.
 * Data:       none.
 * Invariants: see place.h.
 * Locks:      see place.h.
 * Flow:       see place.h.
 *
 * mbind(2) with MPOL_BIND would do without the look at each page, but where the node is full the
 * kernel then ends a process instead of refusing the memory. So pages are preferred to be on their
 * node (os_bind()), and those that must be are looked at before anybody has them.
 */
#include "os/memory/place.h"

#include <linux/mempolicy.h>

#include "base/bits.h"
#include "os/memory/policy.h"
#include "os/memory/vm.h"
#include "os/sys.h"

#define BATCH 64u /* pages in one call */

bool os_can_bind(void)
{
	static char byte;
	void *page = (void *)ALIGN_DOWN((uintptr_t)&byte, os_page_size());
	int status;

	byte = 0; /* there is a page */
	return os_syscall(SYS_move_pages, 0, 1ul, &page, NULL, &status, 0) == 0 &&
	       os_syscall(SYS_mbind, page, 0ul, MPOL_DEFAULT, NULL, 0ul, 0) == 0;
}

/* Are they all there? A kernel that does not say so is believed. */
static bool all_on(void **pages, unsigned int n, int node)
{
	int status[BATCH];
	long ret = os_syscall(SYS_move_pages, 0, (unsigned long)n, pages, NULL, status, 0);

	if (ret < 0)
		return ret == -EPERM || ret == -ENOSYS;
	for (unsigned int i = 0; i < n; i++)
		if (status[i] != node)
			return false;
	return true;
}

static bool settle_batch(void **pages, unsigned int n, int node)
{
	int status[BATCH];
	int nodes[BATCH];

	if (all_on(pages, n, node))
		return true;
	for (unsigned int i = 0; i < n; i++)
		nodes[i] = node;
	os_syscall(SYS_move_pages, 0, (unsigned long)n, pages, nodes, status, MPOL_MF_MOVE);
	return all_on(pages, n, node);
}

bool os_settle_on(void *addr, size_t size, unsigned int node)
{
	size_t page = os_page_size();
	char *end = (char *)addr + size;
	char *p = (char *)ALIGN_DOWN((uintptr_t)addr, page);
	void *pages[BATCH];

	while (p < end) {
		unsigned int n;

		for (n = 0; n < BATCH && p < end; n++, p += page) {
			volatile char *byte = p < (char *)addr ? (char *)addr : p;

			*byte = *byte; /* a write: what was only read may be the zero page */
			pages[n] = p;
		}
		if (!settle_batch(pages, n, (int)node))
			return false;
	}
	return true;
}

void os_bind_by(void *addr, size_t size, const struct os_policy *policy)
{
	unsigned long nodes = policy->mask;

	/* The kernel reads one bit less than the argument says. */
	os_syscall(SYS_mbind, addr, size, policy->mode, policy->mask ? &nodes : NULL,
		   policy->mask ? OS_WORD_BITS + 1ul : 0ul, 0);
}
