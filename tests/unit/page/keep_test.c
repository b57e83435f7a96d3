/* SPDX-License-Identifier: MIT */
/*
 * unit/page/keep_test.c - which freed mappings wait, which are found again, when they go
 *
 * mincore() fails for addresses where nothing is mapped.
 */
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "fake_clock.h"
#include "fake_usage.h"
#include "fixture.h"
#include "threads.h"

/* With something unmapped on both sides, so that no two are neighbours. */
static char *map(size_t size)
{
	char *p = os_map(size + 2 * PAGE_SIZE, PAGE_SIZE);

	CHILD_CHECK(p);
	os_release(p, PAGE_SIZE);
	p += PAGE_SIZE;
	os_release(p + size, PAGE_SIZE);
	p[0] = p[size - 1] = 1;
	return p;
}

static void *take_dirty(size_t size)
{
	bool zeroed = true;
	void *p = keep_take(size, PAGE_SIZE, &zeroed);

	CHILD_CHECK(!p || !zeroed);
	return p;
}

static bool is_mapped(char *p)
{
	unsigned char there;

	return mincore(p, PAGE_SIZE, &there) == 0;
}

IN_CHILD(the_best_fit_is_found)
{
	char *large = map(12 * MIB);
	char *small = map(9 * MIB);
	bool zeroed;

	CHILD_CHECK(!keep_take(8 * MIB, PAGE_SIZE, &zeroed));
	CHILD_CHECK(keep_put(large, 12 * MIB) && keep_put(small, 9 * MIB));
	CHILD_CHECK(keep_counters.count == 2 && keep_counters.bytes == 21 * MIB);
	keep_check();
	CHILD_CHECK(take_dirty(8 * MIB) == small);
	CHILD_CHECK(keep_counters.bytes == 13 * MIB);
	CHILD_CHECK(take_dirty(9 * MIB) == large);
	/* What is left of both is for others. */
	CHILD_CHECK(take_dirty(MIB) == small + 8 * MIB && take_dirty(3 * MIB) == large + 9 * MIB);
	CHILD_CHECK(keep_counters.count == 0 && keep_counters.bytes == 0);
	keep_check();
}

/* Blocks of all sizes in turn find the same pages again. */
IN_CHILD(the_rest_waits_for_its_block)
{
	char *p = map(9 * MIB);
	size_t size;

	CHILD_CHECK(keep_put(p, 9 * MIB));
	for (size = 5 * MIB; size < 9 * MIB; size += MIB) {
		CHILD_CHECK(take_dirty(size) == p);
		CHILD_CHECK(keep_counters.bytes == 9 * MIB - size && is_mapped(p + size));
		keep_check();
		CHILD_CHECK(keep_put(p, size));
		CHILD_CHECK(keep_counters.count == 1 && keep_counters.bytes == 9 * MIB);
		keep_check();
	}
	CHILD_CHECK(p[9 * MIB - 1] == 1);
	/* From either side, and between two. */
	CHILD_CHECK(take_dirty(3 * MIB) == p && take_dirty(3 * MIB) == p + 3 * MIB &&
		    take_dirty(3 * MIB) == p + 6 * MIB);
	CHILD_CHECK(keep_put(p, 3 * MIB) && keep_put(p + 6 * MIB, 3 * MIB));
	CHILD_CHECK(keep_counters.count == 2);
	CHILD_CHECK(keep_put(p + 3 * MIB, 3 * MIB) && keep_counters.count == 1);
	keep_check();
	CHILD_CHECK(keep_release(SIZE_MAX) == 9 * MIB);
	keep_check();
}

/* The addresses of what was purged wait on, and make room together with what is beside them. */
IN_CHILD(what_was_purged_is_room)
{
	char *p = map(9 * MIB);
	char *other = map(9 * MIB);
	bool zeroed = false;

	CHILD_CHECK(keep_put(p, 9 * MIB));
	keep_purge(4 * MIB);
	CHILD_CHECK(keep_counters.count == 2 && keep_counters.bytes == 5 * MIB);
	CHILD_CHECK(is_mapped(p + 8 * MIB));
	keep_check();
	CHILD_CHECK(take_dirty(8 * MIB) == p && p[0] == 1 && p[5 * MIB] == 0);
	CHILD_CHECK(keep_counters.bytes == 0 && keep_counters.count == 1);
	CHILD_CHECK(keep_take(MIB, PAGE_SIZE, &zeroed) == p + 8 * MIB && zeroed &&
		    p[9 * MIB - 1] == 0);
	/* Where more of it is resident. */
	CHILD_CHECK(keep_put(p, 9 * MIB));
	keep_purge(9 * MIB);
	CHILD_CHECK(keep_put(other, 9 * MIB));
	CHILD_CHECK(take_dirty(8 * MIB) == other && take_dirty(MIB) == other + 8 * MIB);
	CHILD_CHECK(keep_take(8 * MIB, PAGE_SIZE, &zeroed) == p && zeroed);
	CHILD_CHECK(keep_release(SIZE_MAX) == MIB);
	CHILD_CHECK(keep_counters.count == 0);
	keep_check();
}

IN_CHILD(what_was_purged_and_is_asked_for_is_a_refault)
{
	char *p = map(30 * MIB);
	bool zeroed;

	CHILD_CHECK(keep_put(p, 30 * MIB));
	CHILD_CHECK(!keep_take(61 * MIB, PAGE_SIZE, &zeroed) && keep_refaults == 0);
	keep_purge(20 * MIB);
	CHILD_CHECK(keep_refaults == 0);
	CHILD_CHECK(keep_take(22 * MIB, PAGE_SIZE, &zeroed) == p && keep_refaults == 12 * MIB);
	CHILD_CHECK(!keep_take(61 * MIB, PAGE_SIZE, &zeroed) && keep_refaults == 12 * MIB);
	CHILD_CHECK(keep_fill(map(61 * MIB), 61 * MIB) == 0 && keep_refaults == 20 * MIB);
	CHILD_CHECK(keep_fill(map(61 * MIB), 61 * MIB) == 0 && keep_refaults == 20 * MIB);
	/* It fades while nothing that is kept is of use. */
	fake_clock_pass(KEEP_HALF_LIFE - 1);
	CHILD_CHECK(keep_put(p, 22 * MIB) && keep_take(MIB, PAGE_SIZE, &zeroed) == p);
	fake_clock_pass(KEEP_HALF_LIFE - 1);
	CHILD_CHECK(!keep_take(61 * MIB, PAGE_SIZE, &zeroed) && keep_refaults == 20 * MIB);
	fake_clock_pass(2 * KEEP_HALF_LIFE);
	keep_purge(1);
	CHILD_CHECK(keep_refaults == 5 * MIB);
	fake_clock_pass(100 * KEEP_HALF_LIFE);
	keep_purge(1);
	CHILD_CHECK(keep_refaults == 0);
	keep_check();
}

IN_CHILD(one_that_is_smaller_grows)
{
	char *p = map(6 * MIB);
	char *q;

	CHILD_CHECK(keep_put(p, 6 * MIB));
	q = take_dirty(10 * MIB);
	CHILD_CHECK(q && q[6 * MIB - 1] == 1 && q[10 * MIB - 1] == 0);
	CHILD_CHECK(keep_counters.bytes == 0 && keep_counters.count == 0);
	keep_check();
}

/* Old kernels, and emulators, cannot. */
static bool system_moves(void)
{
	char *p = map(2 * PAGE_SIZE);
	bool can = os_move(p, p + PAGE_SIZE, PAGE_SIZE) == OS_MOVED;

	os_release(p, 2 * PAGE_SIZE);
	return can;
}

/* A range that has something unmapped on both sides and begins offset bytes past a unit. */
static char *map_unit(size_t size, size_t offset)
{
	char *p = os_map(size + KEEP_BIG_UNIT, KEEP_BIG_UNIT);

	CHILD_CHECK(p && offset < KEEP_BIG_UNIT && offset % PAGE_SIZE == 0);
	if (offset)
		os_release(p, offset);
	os_release(p + offset + size, KEEP_BIG_UNIT - offset);
	return p + offset;
}

static bool has(const char *p, size_t size, char byte)
{
	for (size_t at = 0; at < size; at += PAGE_SIZE)
		if (p[at] != byte)
			return false;
	return true;
}

/* Pages do not go while a block that is as large is waiting for some. */
IN_CHILD(a_new_block_gets_the_pages_of_ranges_that_are_too_small)
{
	char *a = map_unit(5 * KEEP_UNIT, 0);
	char *b = map_unit(4 * KEEP_UNIT, KEEP_UNIT / 2);
	char *block;

	if (!system_moves())
		return;
	memset(a, 1, 5 * KEEP_UNIT);
	memset(b, 2, 4 * KEEP_UNIT);
	CHILD_CHECK(keep_put(a, 5 * KEEP_UNIT) && keep_put(b, 4 * KEEP_UNIT));
	CHILD_CHECK(!keep_take(12 * KEEP_UNIT, PAGE_SIZE, &(bool){ false }));
	block = map_unit(12 * KEEP_UNIT, 0);
	/* The five units of a, the three of b that lie between two halves. */
	CHILD_CHECK(keep_fill(block, 12 * KEEP_UNIT) == 8 * KEEP_UNIT);
	CHILD_CHECK(keep_counters.bytes == KEEP_UNIT);
	CHILD_CHECK(has(block, 4 * KEEP_UNIT, 1) && has(block + 8 * KEEP_UNIT, 4 * KEEP_UNIT, 0));
	CHILD_CHECK(all_bytes(block, KEEP_UNIT, 1) && b[0] == 2 && is_mapped(a) && a[0] == 0);
	keep_check();
	/* The addresses that they left are for blocks too. */
	CHILD_CHECK(keep_take(5 * KEEP_UNIT, PAGE_SIZE, &(bool){ false }) == a);
	keep_check();
	CHILD_CHECK(keep_release(SIZE_MAX) >= KEEP_UNIT);
	CHILD_CHECK(keep_counters.count == 0 && keep_counters.bytes == 0);
}

IN_CHILD(clean_parts_of_a_range_are_filled)
{
	char *p = map_unit(12 * KEEP_UNIT, 0);
	char *other = map_unit(3 * KEEP_UNIT, 0);
	bool zeroed = true;

	if (!system_moves())
		return;
	memset(p, 1, 12 * KEEP_UNIT);
	memset(other, 2, 3 * KEEP_UNIT);
	CHILD_CHECK(keep_put(p, 12 * KEEP_UNIT));
	keep_purge(6 * KEEP_UNIT);
	CHILD_CHECK(keep_put(other, 3 * KEEP_UNIT));
	CHILD_CHECK(keep_take(12 * KEEP_UNIT, PAGE_SIZE, &zeroed) == p && !zeroed);
	CHILD_CHECK(has(p, 6 * KEEP_UNIT, 1) && has(p + 6 * KEEP_UNIT, 3 * KEEP_UNIT, 2));
	CHILD_CHECK(has(p + 9 * KEEP_UNIT, 3 * KEEP_UNIT, 0));
	CHILD_CHECK(keep_counters.bytes == 0 && keep_refaults == 3 * KEEP_UNIT);
	keep_check();
}

/* They are of several mappings to the system, of which no more than one moves at once. */
IN_CHILD(what_was_moved_moves_again)
{
	char *p[3] = { map_unit(4 * KEEP_UNIT, 0), map_unit(4 * KEEP_UNIT, 0),
		       map_unit(4 * KEEP_UNIT, 0) };
	char *block = map_unit(12 * KEEP_UNIT, 0);
	size_t moved;
	size_t at;

	if (!system_moves())
		return;
	for (unsigned int i = 0; i < 3; i++)
		memset(p[i], 1, 4 * KEEP_UNIT);
	/* A seam that is not at a unit, as neighbouring mappings have. */
	CHILD_CHECK(os_move(p[1], p[0] + KEEP_UNIT / 2, KEEP_UNIT) == OS_MOVED);
	memset(p[1], 1, KEEP_UNIT);
	for (unsigned int i = 0; i < 3; i++)
		CHILD_CHECK(keep_put(p[i], 4 * KEEP_UNIT));
	for (unsigned int round = 0; round < 4; round++) {
		moved = keep_fill(block, 12 * KEEP_UNIT);
		/* All but the two units with the seam, which are gone. */
		CHILD_CHECK(moved == (round ? 12 : 10) * KEEP_UNIT);
		for (at = 0; at < 12 * KEEP_UNIT; at += PAGE_SIZE)
			CHILD_CHECK(block[at] == (at < moved));
		keep_check();
		CHILD_CHECK(keep_counters.bytes <= 4 * KEEP_UNIT);
		keep_release(SIZE_MAX);
		CHILD_CHECK(keep_counters.count == 0);
		memset(block, 1, 12 * KEEP_UNIT);
		CHILD_CHECK(keep_put(block, 12 * KEEP_UNIT));
		block = map_unit(12 * KEEP_UNIT, 0);
	}
}

/* As before Linux 5.7: the program runs as it did, and the system is not asked all the time. */
IN_CHILD(a_system_that_does_not_move)
{
	char *p = map_unit(8 * KEEP_UNIT, 0);
	char *block = map_unit(12 * KEEP_UNIT, 0);

	memset(p, 1, 8 * KEEP_UNIT);
	CHILD_CHECK(keep_put(p, 8 * KEEP_UNIT));
	errno = 0;
	child_deny(SYS_mremap, EINVAL);
	CHILD_CHECK(keep_fill(block, 12 * KEEP_UNIT) == 0 && errno == 0);
	CHILD_CHECK(has(block, 12 * KEEP_UNIT, 0));
	CHILD_CHECK(keep_counters.bytes == 8 * KEEP_UNIT && has(p, 8 * KEEP_UNIT, 1));
	/* It grew by mremap, which is refused: it is kept as it was. */
	CHILD_CHECK(!keep_take(10 * KEEP_UNIT, PAGE_SIZE, &(bool){ false }));
	CHILD_CHECK(keep_counters.bytes == 8 * KEEP_UNIT && keep_counters.count == 1);
	CHILD_CHECK(take_dirty(8 * KEEP_UNIT) == p && has(p, 8 * KEEP_UNIT, 1));
	keep_check();
}

/* Lowers the limit on addresses below what is mapped; returns the old one. */
static struct rlimit limit_below_use(void)
{
	struct rlimit old = limit_to(RLIMIT_AS, 0);

	child_limit(RLIMIT_AS, &(struct rlimit){ 64 << 10, old.rlim_max });
	return old;
}

/* None of block is mapped, what was kept is as it was, and no page moves any more. */
static void check_gone(const char *unit, char *block, const struct rlimit *old)
{
	child_limit(RLIMIT_AS, old);
	for (size_t at = 0; at < 12 * KEEP_UNIT; at += PAGE_SIZE)
		CHILD_CHECK(!is_mapped(block + at));
	CHILD_CHECK(keep_counters.bytes == 3 * KEEP_UNIT && has(unit, 3 * KEEP_UNIT, 1));
	keep_check();
	fake_clock_pass(2 * KEEP_HALF_LIFE);
	block = map_unit(12 * KEEP_UNIT, 0);
	CHILD_CHECK(keep_fill(block, 12 * KEEP_UNIT) == 0 && has(block, 12 * KEEP_UNIT, 0));
}

/*
 * In a move the system may unmap a part of the block and give nothing for it: of a new block, or of
 * one whose addresses were kept without their pages.
 */
static void check_loss(bool kept)
{
	char *unit = map_unit(3 * KEEP_UNIT, 0);
	char *block = map_unit(12 * KEEP_UNIT, 0);
	struct rlimit old;

	if (!system_moves())
		return;
	if (kept) {
		CHILD_CHECK(keep_put(block, 12 * KEEP_UNIT));
		keep_purge(12 * KEEP_UNIT);
	}
	memset(unit, 1, 3 * KEEP_UNIT);
	CHILD_CHECK(keep_put(unit, 3 * KEEP_UNIT));
	old = limit_below_use();
	errno = 0;
	if (kept)
		CHILD_CHECK(!keep_take(12 * KEEP_UNIT, PAGE_SIZE, &(bool){ false }));
	else
		CHILD_CHECK(keep_fill(block, 12 * KEEP_UNIT) == KEEP_GONE);
	CHILD_CHECK(errno == 0);
	check_gone(unit, block, &old);
}

IN_CHILD(a_new_block_loses_a_part)
{
	NEEDS_BARE_PROCESS();
	check_loss(false);
}

IN_CHILD(a_block_of_kept_addresses_loses_a_part)
{
	NEEDS_BARE_PROCESS();
	check_loss(true);
}

/* Whoever frees it once is done with it. */
IN_CHILD(a_very_large_block_is_kept_the_second_time)
{
	size_t size = KEEP_MAX_BYTES + 4 * MIB;
	char *p = map(size);

	CHILD_CHECK(!keep_put(p, size));
	CHILD_CHECK(keep_fill(p, size) == 0 && keep_refaults == size);
	CHILD_CHECK(keep_put(p, size) && keep_counters.bytes == size);
	CHILD_CHECK(take_dirty(size) == p);
	/* It fades: nothing was taken for long. */
	fake_clock_pass(64 * KEEP_HALF_LIFE);
	CHILD_CHECK(!keep_take(MIB, PAGE_SIZE, &(bool){ false }) && keep_refaults == 0);
	CHILD_CHECK(!keep_put(p, size));
	keep_check();
}

IN_CHILD(alignment_is_looked_at)
{
	char *p = os_map(8 * MIB, 4 * MIB);
	bool zeroed;

	/* Half a MiB past a multiple of 4. */
	CHILD_CHECK(keep_put(p + MIB / 2, 7 * MIB));
	CHILD_CHECK(!keep_take(4 * MIB, 4 * MIB, &zeroed));
	CHILD_CHECK(keep_take(3 * MIB, 4 * MIB, &zeroed) == p + 4 * MIB);
	CHILD_CHECK(keep_counters.count == 2 && keep_counters.bytes == 4 * MIB);
	keep_check();
	CHILD_CHECK(keep_take(3 * MIB, MIB / 2, &zeroed) == p + MIB / 2);
}

/* No more bytes than may be are dirty, and no more ranges there than the table holds. */
IN_CHILD(too_much_makes_room)
{
	unsigned int i;
	char *p;

	for (i = 0; i < 14; i++) {
		p = map(5 * MIB);
		CHILD_CHECK(keep_put(p, 5 * MIB) && is_mapped(p) && p[0] == 1);
		CHILD_CHECK(keep_counters.bytes <= KEEP_MAX_BYTES);
		keep_check();
	}
	CHILD_CHECK(keep_counters.bytes == KEEP_MAX_BYTES);
	for (i = 0; i <= KEEP_COUNT; i++) {
		p = map(2 * PAGE_SIZE);
		CHILD_CHECK(keep_put(p, 2 * PAGE_SIZE) && p[0] == 1);
	}
	CHILD_CHECK(keep_counters.count == KEEP_COUNT);
	keep_check();
	/* A part in the middle would leave one range more. */
	CHILD_CHECK(keep_take(PAGE_SIZE, PAGE_SIZE, &(bool){ false }));
	keep_check();
	p = map(KEEP_MAX_BLOCK + PAGE_SIZE);
	CHILD_CHECK(!keep_put(p, KEEP_MAX_BLOCK + PAGE_SIZE) && is_mapped(p));
}

IN_CHILD(the_limit_is_kept)
{
	char *p[3] = { map(5 * MIB), map(5 * MIB), map(5 * MIB) };

	CHILD_CHECK(keep_put(p[0], 5 * MIB));
	fake_clock_pass(1);
	CHILD_CHECK(keep_put(p[1], 5 * MIB));
	keep_set_limit(5 * MIB);
	CHILD_CHECK(keep_counters.bytes == 5 * MIB && !is_mapped(p[0]) && is_mapped(p[1]));
	keep_set_limit(0);
	CHILD_CHECK(keep_counters.bytes == 0 && !is_mapped(p[1]));
	CHILD_CHECK(!keep_put(p[2], 5 * MIB) && is_mapped(p[2]));
	keep_set_limit(SIZE_MAX);
	CHILD_CHECK(keep_put(p[2], 5 * MIB));
}

IN_CHILD(the_old_ones_go)
{
	char *old = map(5 * MIB);
	char *young = map(5 * MIB);

	CHILD_CHECK(keep_put(old, 5 * MIB));
	fake_clock_pass(120);
	CHILD_CHECK(keep_put(young, 5 * MIB));
	keep_release_old(80);
	CHILD_CHECK(!is_mapped(old) && is_mapped(young));
	CHILD_CHECK(keep_release(1) == PAGE_SIZE && is_mapped(young));
	CHILD_CHECK(keep_release(5 * MIB) == 5 * MIB - PAGE_SIZE && !is_mapped(young));
	CHILD_CHECK(keep_release(SIZE_MAX) == 0);
	keep_check();
}

/* Also where nothing but addresses waits: what comes makes room for itself, and nothing is lost. */
IN_CHILD(a_table_full_of_addresses)
{
	char *base;
	char *p;

	fresh_arena();
	alarm(60);
	base = map(2 * KEEP_COUNT * 4 * PAGE_SIZE);
	for (unsigned int i = 0; i < KEEP_COUNT; i++) {
		p = base + 2 * i * 4 * PAGE_SIZE;
		p[0] = 1;
		CHILD_CHECK(keep_put(p, 4 * PAGE_SIZE));
	}
	keep_purge(SIZE_MAX);
	keep_check();
	CHILD_CHECK(keep_counters.count == KEEP_COUNT && keep_counters.bytes == 0);
	p = keep_take(PAGE_SIZE, PAGE_SIZE, &(bool){ false });
	CHILD_CHECK(p);
	keep_check();
	CHILD_CHECK(keep_put(base + 4 * PAGE_SIZE, PAGE_SIZE));
	CHILD_CHECK(keep_put(map(4 * PAGE_SIZE), 4 * PAGE_SIZE));
	keep_check();
	keep_release(SIZE_MAX);
	CHILD_CHECK(keep_counters.count == 0);
	for (unsigned int i = 0; i < KEEP_COUNT; i++)
		for (unsigned int page = 0; page < 4; page++) {
			char *at = base + (2 * i * 4 + page) * PAGE_SIZE;

			CHILD_CHECK(at == p || !is_mapped(at));
		}
}

/* By the ways that all free memory goes. */
IN_CHILD(it_obeys_the_purge_settings_and_trim)
{
	char *p;

	fresh_arena();
	p = map(8 * MIB);
	CHILD_CHECK(keep_put(p, 8 * MIB));
	CHILD_CHECK(buddy_trim(8 * MIB) == 0 && is_mapped(p));
	CHILD_CHECK(buddy_trim(0) == 8 * MIB && !is_mapped(p));
	buddy_set_purge(SIZE_MAX, 0);
	p = map(8 * MIB);
	CHILD_CHECK(!keep_put(p, 8 * MIB));
	buddy_set_purge(SIZE_MAX >> 1, 64);
	CHILD_CHECK(keep_put(p, 8 * MIB));
	fake_clock_pass(150);
	buddy_rebalance();
	CHILD_CHECK(keep_counters.bytes == 0 && !is_mapped(p));
}

/*
 * Every range belongs to one thread at a time. Under a sanitizer all have one size: ThreadSanitizer
 * does not follow mremap, and takes a range that grew to where another one moved away for shared.
 */
static void *churn(void *arg)
{
	char mark = (char)(uintptr_t)arg;
	unsigned int i;

	for (i = 0; i < rounds(3000); i++) {
		size_t size = (SANITIZED ? 4 : i % 7 + 2) * PAGE_SIZE;
		bool zeroed;
		char *p = keep_take(size, PAGE_SIZE, &zeroed);

		if (!p)
			p = map(size);
		p[0] = p[size - 1] = mark;
		if (i % 16 == 0)
			keep_release(2 * PAGE_SIZE);
		if (i % 16 == 8)
			keep_purge(2 * PAGE_SIZE);
		CHILD_CHECK(p[0] == mark && p[size - 1] == mark);
		CHILD_CHECK(keep_put(p, size));
	}
	return NULL;
}

IN_CHILD(threads_get_different_ranges)
{
	threads_run(3, churn);
	keep_check();
	keep_release(SIZE_MAX);
	CHILD_CHECK(keep_counters.count == 0 && keep_counters.bytes == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_best_fit_is_found),
		cmocka_unit_test(the_rest_waits_for_its_block),
		cmocka_unit_test(what_was_purged_is_room),
		cmocka_unit_test(one_that_is_smaller_grows),
		cmocka_unit_test(what_was_purged_and_is_asked_for_is_a_refault),
		cmocka_unit_test(a_new_block_gets_the_pages_of_ranges_that_are_too_small),
		cmocka_unit_test(clean_parts_of_a_range_are_filled),
		cmocka_unit_test(what_was_moved_moves_again),
		cmocka_unit_test(a_system_that_does_not_move),
		cmocka_unit_test(a_new_block_loses_a_part),
		cmocka_unit_test(a_block_of_kept_addresses_loses_a_part),
		cmocka_unit_test(a_very_large_block_is_kept_the_second_time),
		cmocka_unit_test(alignment_is_looked_at),
		cmocka_unit_test(too_much_makes_room),
		cmocka_unit_test(the_limit_is_kept),
		cmocka_unit_test(the_old_ones_go),
		cmocka_unit_test(it_obeys_the_purge_settings_and_trim),
		cmocka_unit_test(a_table_full_of_addresses),
		cmocka_unit_test(threads_get_different_ranges),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
