/* SPDX-License-Identifier: MIT */
/*
 * page/clear.c - clears blocks, and leaves memory that is not there where it is
 *
 * Data:       none.
 * Invariants: see page/clear.h.
 * Locks:      see page/clear.h.
 * Flow:       see page/clear.h; calls os/memory/, os/process/filter.h, realtime.h.
 *
 * A large block may lie where another one was, of which little is resident: a table that was used
 * here and there, or addresses without pages (page/keep.h). To write zeros there makes all of it
 * resident. So the system is asked part by part, and a part of which next to nothing is resident is
 * given back: then it reads as zero. Elsewhere zeros are written, since new pages would cost more.
 *
 * Most blocks are dense, and each question is a system call. So behind parts that were dense four
 * times as many, CLEAR_SKIP at most, are taken for dense: a block of 64 MiB has five questions.
 *
 * Where a filter of system calls may forbid to ask, blocks from CLEAR_UNASKED on are given back
 * as a whole: that is what glibc's calloc() does with each block as large, by new mappings.
 */
#include "page/clear.h"

#include "base/bits.h"
#include "os/instrument/memcheck.h"
#include "os/memory/resident.h"
#include "os/memory/vm.h"
#include "os/process/filter.h"
#include "page/realtime.h"

/* Memory that is locked is not given back. A memory checker has to see what is written. */
static void clear_pages(char *start, size_t size, bool sparse)
{
	if (size && (!sparse || os_purge(start, size) != 0))
		memset(start, 0, size);
}

static bool is_sparse(char *start, size_t size)
{
	long pages = os_count_resident(start, size);

	return pages >= 0 && (size_t)pages * CLEAR_FEW < size / os_page_size();
}

/* Neighbouring parts of one kind are cleared together. */
static void clear_parts(char *start, char *end)
{
	char *from = start; /* from there on all parts are of one kind */
	bool sparse = false;
	unsigned int dense = 0; /* parts in a row */
	unsigned int skip = 0;
	char *next;

	for (char *part = start; part < end; part = next) {
		bool was_sparse = sparse;

		next = (char *)ALIGN_DOWN((uintptr_t)part, CLEAR_PART) + CLEAR_PART;
		next = MIN(next, end);
		if (skip > 0) {
			skip--;
			dense++;
			continue;
		}
		sparse = is_sparse(part, (size_t)(next - part));
		dense = sparse ? 0 : dense + 1;
		skip = MIN(4 * dense, CLEAR_SKIP);
		if (sparse == was_sparse)
			continue;
		clear_pages(from, (size_t)(part - from), was_sparse);
		from = part;
	}
	clear_pages(from, (size_t)(end - from), sparse);
}

void page_clear_large(void *p, size_t size)
{
	char *start = (char *)ALIGN_UP((uintptr_t)p, os_page_size());
	char *end = (char *)ALIGN_DOWN((uintptr_t)p + size, os_page_size());
	bool ask = os_filter_lets_through();

	if (realtime_is_on() || unlikely(os_memcheck_on) || (!ask && size < CLEAR_UNASKED)) {
		memset(p, 0, size);
		return;
	}
	memset(p, 0, (size_t)(start - (char *)p));
	memset(end, 0, (size_t)((char *)p + size - end));
	if (ask)
		clear_parts(start, end);
	else
		clear_pages(start, (size_t)(end - start), true);
}
