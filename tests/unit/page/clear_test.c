/* SPDX-License-Identifier: MIT */
/*
 * unit/page/clear_test.c - blocks are zero afterwards, and what was not resident still is not
 */
#include <sys/mman.h>
#include <sys/syscall.h>

#include "fixture.h"
#include "in_memory.h"
#include "os/process/filter.h"
#include "page/clear.h"
#include "page/realtime.h"

#define SIZE (64 * MIB)

/* Its pages that are in memory. */
static size_t resident(const void *p, size_t size)
{
	if (is_emulated())
		child_cannot("mincore is the emulator's");
	return pages_in_memory(p, size);
}

/* Under a filter of system calls, which containers have, all is written to. */
static void need_no_filter(void)
{
	if (!os_filter_lets_through())
		child_cannot("there is a filter of system calls");
}

/* A mapping of which a byte of a page every so many bytes was written to. */
static char *map_touched(size_t every)
{
	char *p = os_map(SIZE, CLEAR_PART);

	CHILD_CHECK(p);
	os_small_pages(p, SIZE);
	for (size_t i = 0; i < SIZE; i += every)
		p[i] = 1;
	return p;
}

IN_CHILD(a_sparse_block_stays_so)
{
	char *p = map_touched(MIB);

	NEEDS_BARE_PROCESS();
	need_no_filter();
	errno = 17;
	page_clear(p, SIZE);
	CHILD_CHECK(errno == 17 && resident(p, SIZE) == 0);
	CHILD_CHECK(all_bytes(p, SIZE, 0));
}

/* Nothing of it is given back, since all would be faulted in again. */
IN_CHILD(a_dense_block_stays_so)
{
	char *p = map_touched(os_page_size());

	memset(p, 0xee, SIZE);
	page_clear(p, SIZE);
	CHILD_CHECK(resident(p, SIZE) == SIZE / os_page_size());
	CHILD_CHECK(all_bytes(p, SIZE, 0));
}

/* Of a part that a block was written to here and there new pages would cost more than zeros. */
IN_CHILD(a_block_in_between_becomes_resident)
{
	char *p = map_touched(8 * os_page_size());

	page_clear(p, SIZE);
	CHILD_CHECK(resident(p, SIZE) == SIZE / os_page_size());
	CHILD_CHECK(all_bytes(p, SIZE, 0));
}

/* Behind a dense part some are not looked at, but not more than CLEAR_SKIP. */
IN_CHILD(dense_parts_do_not_hide_the_others)
{
	char *p = map_touched(SIZE);
	size_t parts;

	NEEDS_BARE_PROCESS();
	need_no_filter();
	for (parts = 1; parts < 16; parts++) {
		size_t size = parts * CLEAR_PART;

		memset(p, 0xee, size);
		page_clear(p, SIZE);
		CHILD_CHECK(all_bytes(p, size, 0));
		CHILD_CHECK(resident(p + size + CLEAR_SKIP * CLEAR_PART,
				     SIZE - size - CLEAR_SKIP * CLEAR_PART) == 0);
		CHILD_CHECK(os_purge(p, SIZE) == 0);
		/* the other way round */
		memset(p + SIZE - size, 0xee, size);
		page_clear(p, SIZE);
		CHILD_CHECK(resident(p, SIZE - size) == 0 && all_bytes(p, SIZE, 0));
		CHILD_CHECK(os_purge(p, SIZE) == 0);
	}
}

/* Only the bytes that were asked for, wherever they begin and end. */
IN_CHILD(ends_are_exact)
{
	static const size_t from[] = { 0, 1, 16, PAGE_SIZE - 1, PAGE_SIZE, CLEAR_PART - 3 };

	for (size_t i = 0; i < sizeof(from) / sizeof(from[0]); i++) {
		for (unsigned int sparse = 0; sparse < 2; sparse++) {
			char *p = map_touched(sparse ? MIB : PAGE_SIZE);
			char *end = p + SIZE - 5 - from[i];

			memset(p, 0xee, from[i]);
			memset(p + from[i], 0xee, 100);
			memset(end - 100, 0xee, 100);
			memset(end, 0xee, (size_t)(p + SIZE - end));
			page_clear(p + from[i], (size_t)(end - p) - from[i]);
			CHILD_CHECK(all_bytes(p, from[i], 0xee));
			CHILD_CHECK(all_bytes(p + from[i], (size_t)(end - p) - from[i], 0));
			CHILD_CHECK(all_bytes(end, (size_t)(p + SIZE - end), 0xee));
			os_release(p, SIZE);
		}
	}
	for (size_t size = 0; size < 3 * PAGE_SIZE; size += 77) {
		static char bytes[4 * PAGE_SIZE];

		memset(bytes, 0xee, sizeof(bytes));
		page_clear(bytes + 1, size);
		CHILD_CHECK(bytes[0] == (char)0xee && bytes[size + 1] == (char)0xee);
		CHILD_CHECK(all_bytes(bytes + 1, size, 0));
	}
}

/* Locked memory is not given back. */
IN_CHILD(locked_memory_is_written_to)
{
	char *p = map_touched(MIB);

	if (mlock(p + 8 * MIB, os_page_size()) != 0)
		child_cannot("no page may be locked");
	page_clear(p, SIZE);
	CHILD_CHECK(all_bytes(p, SIZE, 0));
}

/* A filter that does not know the question may end who asks. */
IN_CHILD(under_a_filter_nothing_is_asked)
{
	char *p = map_touched(MIB);

	child_end_at(SYS_mincore);
	page_clear(p, SIZE);
	CHILD_CHECK(all_bytes(p, SIZE, 0));
}

/* Large blocks are given back unasked then, smaller ones are written to. */
IN_CHILD(under_a_filter_large_blocks_are_taken_for_sparse)
{
	char *p = map_touched(MIB);

	NEEDS_BARE_PROCESS();
	child_end_at(SYS_fchdir);
	memset(p, 0xee, SIZE);
	page_clear(p + 5, CLEAR_UNASKED - 1);
	CHILD_CHECK(resident(p, SIZE) == SIZE / os_page_size());
	CHILD_CHECK(p[4] == (char)0xee && p[5 + CLEAR_UNASKED - 1] == (char)0xee);
	CHILD_CHECK(all_bytes(p + 5, CLEAR_UNASKED - 1, 0));
	page_clear(p + 5, SIZE - 10);
	CHILD_CHECK(resident(p, SIZE) == 2 && all_bytes(p + 5, SIZE - 10, 0));
	CHILD_CHECK(p[4] == (char)0xee && p[SIZE - 5] == (char)0xee);
}

IN_CHILD(a_refusal_is_no_answer)
{
	char *p = map_touched(MIB);

	child_deny(SYS_mincore, EPERM);
	page_clear(p, SIZE);
	CHILD_CHECK(all_bytes(p, SIZE, 0));
}

IN_CHILD(realtime_asks_nothing)
{
	char *p = map_touched(MIB);

	realtime_counters.bytes = MIB;
	page_clear(p, SIZE);
	CHILD_CHECK(resident(p, SIZE) == SIZE / os_page_size());
	CHILD_CHECK(all_bytes(p, SIZE, 0));
}

/* What is counted of a block is as before, and so it is when the block is freed. */
IN_CHILD(counts_stay)
{
	bool zeroed;
	char *p;

	fresh_arena();
	for (unsigned int i = 0; i < 3; i++) {
		p = large_alloc(16 * MIB, 0, &zeroed);
		CHILD_CHECK(p && large_bytes() == 16 * MIB && keep_counters.bytes == 0);
		CHILD_CHECK(zeroed == (i == 0));
		p[i * MIB] = 1;
		page_clear(p, 16 * MIB);
		CHILD_CHECK(all_bytes(p, 16 * MIB, 0));
		CHILD_CHECK(large_bytes() == 16 * MIB && keep_counters.bytes == 0);
		CHILD_CHECK(large_free(p));
		CHILD_CHECK(large_bytes() == 0 && keep_counters.bytes == 16 * MIB);
		large_check();
	}
	/* a page run in the arena */
	p = run_alloc(4 * MIB, 4 * MIB, -1, &zeroed);
	CHILD_CHECK(p && page_in_arena(p));
	page_clear_large(p, 4 * MIB);
	CHILD_CHECK(all_bytes(p, 4 * MIB, 0) && run_free(p));
	run_check();
	buddy_check();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_sparse_block_stays_so),
		cmocka_unit_test(a_dense_block_stays_so),
		cmocka_unit_test(a_block_in_between_becomes_resident),
		cmocka_unit_test(dense_parts_do_not_hide_the_others),
		cmocka_unit_test(ends_are_exact),
		cmocka_unit_test(locked_memory_is_written_to),
		cmocka_unit_test(under_a_filter_nothing_is_asked),
		cmocka_unit_test(under_a_filter_large_blocks_are_taken_for_sparse),
		cmocka_unit_test(a_refusal_is_no_answer),
		cmocka_unit_test(realtime_asks_nothing),
		cmocka_unit_test(counts_stay),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
