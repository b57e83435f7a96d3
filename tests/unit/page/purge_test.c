/* SPDX-License-Identifier: MIT */
/*
 * unit/page/purge_test.c - when free memory goes back, how much, and what if the system refuses
 *
 * mincore() says what is resident.
 */
#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/atomic.h"
#include "fake_clock.h"
#include "fake_usage.h"
#include "fixture.h"
#include "page/zone.h"

#define NEVER (1u << 30) /* milliseconds */

/* Pages of the arena that are resident. */
static unsigned long resident(void)
{
	static unsigned char there[64 * CHUNK];
	unsigned long nr_pages = arena_size() >> PAGE_SHIFT;
	unsigned long count = 0;
	unsigned long i;

	CHILD_CHECK(nr_pages <= sizeof(there));
	CHILD_CHECK(mincore(page_map.base, arena_size(), there) == 0);
	for (i = 0; i < nr_pages; i++)
		count += there[i] & 1;
	return count;
}

/* Makes the zone look at the clock without making anything dirty. */
static void tick(void)
{
	unsigned int i;

	for (i = 0; i < 64; i++)
		buddy_free(page_at((unsigned long)take(0)), 0, false);
}

IN_CHILD(no_more_than_the_limit_stays)
{
	unsigned long block[32];
	unsigned int i;

	fresh_arena();
	buddy_set_purge(1 * MIB, NEVER);
	for (i = 0; i < 32; i++)
		block[i] = take_touched(6);
	CHILD_CHECK(resident() == 32 * 64);
	for (i = 0; i < 32; i++) {
		give(block[i], 6);
		CHILD_CHECK(stats()->nr_dirty <= 256);
		CHILD_CHECK(resident() == (31 - i) * 64 + stats()->nr_dirty);
		buddy_check();
	}
	CHILD_CHECK(stats()->nr_purged == 32 * 64 - stats()->nr_dirty);
	CHILD_CHECK(stats()->nr_dirty >= 64);
}

IN_CHILD(what_was_purged_is_zero_and_known_to_be)
{
	unsigned long index;
	struct page *page;
	bool zeroed = false;

	fresh_arena();
	buddy_set_purge(0, NEVER);
	index = take_touched(5);
	give(index, 5);
	CHILD_CHECK(stats()->nr_dirty == 0 && resident() == 0);
	page = buddy_alloc(0, 5, true, &zeroed);
	CHILD_CHECK(index_of(page) == index && zeroed);
	CHILD_CHECK(all_bytes(page_address(page), 32 * PAGE_SIZE, 0));
}

IN_CHILD(small_holes_in_use_around_are_left_alone)
{
	unsigned long i;

	fresh_arena();
	buddy_set_purge(0, NEVER);
	for (i = 0; i < 64; i++)
		CHILD_CHECK(take_touched(0) == i);
	for (i = 1; i < 64; i += 2)
		give(i, 0);
	CHILD_CHECK(resident() == 32 && stats()->nr_dirty == 0);
	for (i = 0; i < 64; i += 2)
		CHILD_CHECK(*(unsigned char *)page_address(page_at(i)) == 0xa5);
	buddy_check();
}

IN_CHILD(old_blocks_go_and_young_ones_stay)
{
	unsigned long old;
	unsigned long young;

	fresh_arena();
	buddy_set_purge(SIZE_MAX >> 1, 160);
	old = take_touched(4);
	take_touched(4); /* so that they do not merge */
	young = take_touched(4);
	take_touched(4);
	tick();
	give(old, 4);
	tick();
	CHILD_CHECK(stats()->nr_dirty == 16 && stats()->nr_purged == 0);
	fake_clock_pass(120);
	tick();
	give(young, 4);
	fake_clock_pass(90);
	tick();
	CHILD_CHECK(stats()->nr_purged == 16 && stats()->nr_dirty == 16);
	CHILD_CHECK(page_at(old)->nr_pages == 0 && page_at(young)->nr_pages == 16);
	fake_clock_pass(250);
	tick();
	CHILD_CHECK(stats()->nr_purged == 32 && stats()->nr_dirty == 0);
	CHILD_CHECK(resident() == 32);
	buddy_check();
}

/* A page in constant use next to a large free block must not keep that block young. */
IN_CHILD(a_busy_neighbour_does_not_keep_a_block_young)
{
	unsigned long big;
	unsigned int i;

	fresh_arena();
	buddy_set_purge(SIZE_MAX >> 1, 160);
	big = take_touched(8);
	tick();
	give(big, 8);
	for (i = 0; i < 5; i++) {
		fake_clock_pass(60);
		give((unsigned long)take(0), 0);
		tick();
	}
	CHILD_CHECK(stats()->nr_purged >= 255);
}

IN_CHILD(trim_returns_all_but_what_is_to_stay)
{
	unsigned long block[16];
	unsigned int i;

	fresh_arena();
	for (i = 0; i < 16; i++)
		block[i] = take_touched(4);
	for (i = 0; i < 16; i += 2)
		give(block[i], 4);
	CHILD_CHECK(buddy_trim(128 * PAGE_SIZE) == 0);
	CHILD_CHECK(buddy_trim(100 * PAGE_SIZE) == 32 * PAGE_SIZE);
	CHILD_CHECK(stats()->nr_dirty == 96 && resident() == 128 + 96);
	CHILD_CHECK(buddy_trim(0) == 96 * PAGE_SIZE);
	CHILD_CHECK(buddy_trim(0) == 0);
	CHILD_CHECK(stats()->nr_dirty == 0 && resident() == 128);
	buddy_check();
}

/* A program that frees and allocates in turns pays once, and then keeps what it uses. */
IN_CHILD(a_purge_with_refaults_is_not_repeated)
{
	unsigned long first_turn = 0;
	unsigned long block[64];
	unsigned int round;
	unsigned int i;

	default_arena();
	for (round = 0; round < 20; round++) {
		for (i = 0; i < 64; i++)
			block[i] = take_touched(5);
		for (i = 0; i < 64; i++)
			give(block[i], 5);
		if (round == 0)
			first_turn = stats()->nr_purged;
	}
	CHILD_CHECK(stats()->nr_peak == 64 * 32);
	CHILD_CHECK(first_turn >= 64 * 32 - 2 * ZONE_SLACK_MIN);
	CHILD_CHECK(stats()->nr_purged - first_turn <= 2 * ZONE_SLACK_MIN);
	buddy_check();
}

struct turn {
	char *block[44];
	unsigned long random;
	unsigned long touched; /* pages */
};

/* Blocks of 1 to 8 MiB, all of each written to; one replaced after the other. */
static void replace_blocks(struct turn *turn, unsigned int blocks, unsigned int rounds)
{
	while (rounds-- > 0) {
		unsigned int i;
		size_t size;
		size_t at;

		turn->random = turn->random * 6364136223846793005ul + 1442695040888963407ul;
		i = (turn->random >> 33) % blocks;
		size = MIB + 1 + (turn->random >> 20) % (7 * MIB);
		CHILD_CHECK(!turn->block[i] || run_free(turn->block[i]));
		turn->block[i] = run_alloc(size, 0, -1, NULL);
		CHILD_CHECK(turn->block[i]);
		for (at = 0; at < size; at += PAGE_SIZE)
			turn->block[i][at] = 1;
		turn->touched += size / PAGE_SIZE;
		fake_clock_pass(2); /* the program works with what it has */
	}
}

static unsigned long faults(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return (unsigned long)usage.ru_minflt;
}

/* Most find pages that were another's; what waits for that is an eighth of the peak. */
IN_CHILD(large_blocks_in_turn_find_their_pages)
{
	static struct turn turn;
	unsigned long before;

	NEEDS_BARE_PROCESS();
	default_arena();
	before = faults();
	replace_blocks(&turn, ARRAY_SIZE(turn.block), 2000);
	/* One fault for 12 pages; it was one for two. The first 240 MiB are part of it. */
	CHILD_CHECK(faults() - before < turn.touched / 10);
	CHILD_CHECK(status_bytes("VmHWM:") < (stats()->nr_peak << PAGE_SHIFT) * 9 / 8 + 8 * MIB);
	keep_check();
	large_check();
	/* All of it goes, in the end. */
	fake_clock_pass(20000);
	buddy_rebalance();
	CHILD_CHECK(keep_counters.bytes == 0 && keep_counters.count == 0);
	buddy_check();
}

/* A program that has few of them pays with nothing, however long it goes on. */
IN_CHILD(a_few_large_blocks_do_not_raise_the_peak)
{
	static struct turn turn;

	NEEDS_BARE_PROCESS();
	default_arena();
	replace_blocks(&turn, 8, 2000);
	CHILD_CHECK(stats()->nr_peak << PAGE_SHIFT < 64 * MIB);
	CHILD_CHECK(status_bytes("VmHWM:") < (stats()->nr_peak << PAGE_SHIFT) * 33 / 32 + 8 * MIB);
	keep_check();
}

/* Holes that nothing fits into must not add up with what is allocated beside them. */
IN_CHILD(the_default_limit_holds_the_peak)
{
	unsigned long peak;
	unsigned long i;

	default_arena();
	for (i = 0; i < 8192; i++)
		CHILD_CHECK(take_touched(0) == i);
	for (i = 0; i < 8192; i += 2)
		give(i, 0);
	peak = 8192;
	for (i = 0; i < 256; i++) {
		take_touched(4);
		CHILD_CHECK(stats()->nr_total - stats()->nr_free + stats()->nr_dirty <=
			    peak + peak / 16);
	}
	CHILD_CHECK(resident() <= peak + peak / 16);
	CHILD_CHECK(stats()->nr_purged > 3000);
	buddy_check();
}

/* A limit that the user set is not raised by refaults. */
IN_CHILD(a_limit_that_was_set_holds)
{
	unsigned long block[64];
	unsigned int round;
	unsigned int i;

	default_arena();
	buddy_set_purge(512 * PAGE_SIZE, 1000);
	for (round = 0; round < 3; round++) {
		for (i = 0; i < 64; i++)
			block[i] = take_touched(5);
		for (i = 0; i < 64; i++)
			give(block[i], 5);
		CHILD_CHECK(stats()->nr_dirty <= 512);
	}
	buddy_check();
}

/* Blocks of 32 pages, all of each written to. */
static void take_blocks(unsigned long *block, unsigned int nr)
{
	for (unsigned int i = 0; i < nr; i++)
		block[i] = take_touched(5);
}

static void give_blocks(const unsigned long *block, unsigned int nr)
{
	for (unsigned int i = 0; i < nr; i++)
		give(block[i], 5);
}

/* Once most has gone back; not at the peak, nor when it was taken again, and not for ever. */
IN_CHILD(a_fall_is_said_for_a_while)
{
	unsigned long block[128];

	default_arena();
	take_blocks(block, 128);
	CHILD_CHECK(!buddy_falls());
	give_blocks(block + 96, 32);
	CHILD_CHECK(stats()->nr_purged > 0 && !buddy_falls());
	give_blocks(block + 16, 80);
	CHILD_CHECK(buddy_falls());
	fake_clock_pass(600);
	CHILD_CHECK(!buddy_falls());
	take_blocks(block + 16, 112);
	for (unsigned int round = 0; round < 3; round++) {
		give_blocks(block + 16, 112);
		take_blocks(block + 16, 112);
	}
	give_blocks(block + 16, 112);
	CHILD_CHECK(!buddy_falls());
}

/* What a thread sets off itself ends in time, in pieces, and is done later. */
IN_CHILD(a_bound_ends_purges)
{
	unsigned long big;
	unsigned long small;

	fresh_arena();
	buddy_set_purge(0, NEVER);
	big = take_touched(10);
	small = take_touched(3);
	buddy_purge_until(os_clock_us(), 0);
	give(big, 10);
	CHILD_CHECK(stats()->nr_purged == 0 && resident() == CHUNK + 8);
	for (unsigned int i = 1; i <= CHUNK / 64; i++) { /* one piece at least */
		CHILD_CHECK(!buddy_rebalance());
		CHILD_CHECK(stats()->nr_purged == 64 * i && resident() == CHUNK - 64 * i + 8);
	}
	CHILD_CHECK(buddy_rebalance());
	buddy_check();

	big = take_touched(10);
	give(small, 3);
	CHILD_CHECK(stats()->nr_dirty == 8);
	buddy_purge_until(os_clock_us() + 1000, 0);
	give(big, 10);
	CHILD_CHECK(stats()->nr_dirty == 0 && buddy_rebalance());
	buddy_purge_until(0, 0);
	big = take_touched(10);
	give(big, 10);
	CHILD_CHECK(stats()->nr_dirty == 0);
}

/* Not a small one at the end of a step: the next one has time for more. */
IN_CHILD(none_begins_late)
{
	unsigned long big;

	fresh_arena();
	buddy_set_purge(0, NEVER);
	big = take_touched(10);
	buddy_purge_until(os_clock_us() + 1000000, 1000000);
	give(big, 10);
	CHILD_CHECK(stats()->nr_purged == 0);
	CHILD_CHECK(!buddy_rebalance() && stats()->nr_purged == CHUNK); /* one call all the same */
	CHILD_CHECK(buddy_rebalance());
	buddy_purge_until(0, 0);
}

/* Half as much more may stay of what another thread will purge. */
IN_CHILD(others_leave_it_to_who_expects_merges)
{
	unsigned long block[64];

	default_arena();
	for (unsigned int i = 0; i < 64; i++)
		block[i] = take_touched(5);
	buddy_expect_merges(true);
	for (unsigned int i = 0; i < 32; i += 2)
		give(block[i], 5);
	CHILD_CHECK(stats()->nr_dirty > zone_dirty_limit(&buddy_zones[0]));
	CHILD_CHECK(buddy_rebalance() && stats()->nr_purged == 0);
	buddy_purge_until(UINT64_MAX, 0);
	CHILD_CHECK(buddy_rebalance() && stats()->nr_purged);
	CHILD_CHECK(stats()->nr_dirty <= zone_dirty_limit(&buddy_zones[0]));
	buddy_purge_until(0, 0);
	buddy_check();
}

/* A quarter may stay, for a second; not of a limit that was set. */
IN_CHILD(what_will_merge_is_not_purged_yet)
{
	unsigned long block[64];
	unsigned int i;

	default_arena();
	for (i = 0; i < 64; i++)
		block[i] = take_touched(5);
	buddy_expect_merges(true);
	for (i = 0; i < 24; i += 2)
		give(block[i], 5);
	CHILD_CHECK(stats()->nr_purged == 0);
	for (; stats()->nr_dirty <= zone_dirty_limit(&buddy_zones[0]); i += 2)
		give(block[i], 5);
	CHILD_CHECK(i < 40 && stats()->nr_purged == 0);
	CHILD_CHECK(!zone_purge_due(&buddy_zones[0])); /* frees go on without a look */
	for (; i < 40; i += 2)
		give(block[i], 5);
	CHILD_CHECK(stats()->nr_purged && stats()->nr_dirty > 2 * ZONE_SLACK_MIN);
	buddy_expect_merges(false);
	CHILD_CHECK(buddy_rebalance() && stats()->nr_dirty <= ZONE_SLACK_MIN);

	buddy_expect_merges(true);
	give(block[1], 5);
	fake_clock_pass(2000);
	tick();
	CHILD_CHECK(stats()->nr_dirty <= ZONE_SLACK_MIN);

	buddy_set_purge(0, NEVER);
	buddy_expect_merges(true);
	give(block[3], 5);
	CHILD_CHECK(stats()->nr_dirty == 0);
	buddy_check();
}

static unsigned int stop;

static void *trim_all_the_time(__attribute__((unused)) void *arg)
{
	while (!load_relaxed(&stop))
		buddy_trim(0);
	return NULL;
}

/* A block that is off its list to be purged is not in use: here never more than one is. */
IN_CHILD(purging_does_not_look_like_use)
{
	struct buddy_stats now;
	pthread_t thread;
	unsigned int i;

	fresh_arena();
	CHILD_CHECK(pthread_create(&thread, NULL, trim_all_the_time, NULL) == 0);
	for (i = 0; i < rounds(30); i++) {
		unsigned long index = (unsigned long)take(10);

		memset(page_address(page_at(index)), 1, MIB);
		give(index, 10);
		do
			buddy_stats(0, &now);
		while (now.nr_dirty > 0);
		/* Most likely it is being purged now; another is used meanwhile. */
		buddy_free(page_at((unsigned long)take(10)), 10, false);
	}
	store_relaxed(&stop, 1);
	pthread_join(thread, NULL);
	CHILD_CHECK(stats()->nr_peak == CHUNK);
	buddy_check();
}

/*
 * As in a process whose memory is locked: nothing is lost, and the system
 * is not asked all the time.
 */
IN_CHILD(a_refusal_changes_nothing)
{
	unsigned long index;
	unsigned int i;

	fresh_arena();
	buddy_set_purge(0, 0);
	index = take_touched(3);
	errno = 0;
	child_deny(SYS_madvise, EINVAL);
	for (i = 0; i < 1000; i++) {
		give(index, 3);
		CHILD_CHECK((unsigned long)take(3) == index);
		CHILD_CHECK(*(unsigned char *)page_address(page_at(index)) == 0xa5);
	}
	give(index, 3);
	CHILD_CHECK(buddy_trim(0) == 0);
	CHILD_CHECK(stats()->nr_purged == 0 && stats()->nr_dirty == 8);
	CHILD_CHECK(errno == 0);
	CHILD_CHECK((int32_t)(buddy_zones[0].purge_after - buddy_zones[0].clock) > 0);
	buddy_check();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_more_than_the_limit_stays),
		cmocka_unit_test(what_was_purged_is_zero_and_known_to_be),
		cmocka_unit_test(small_holes_in_use_around_are_left_alone),
		cmocka_unit_test(old_blocks_go_and_young_ones_stay),
		cmocka_unit_test(a_busy_neighbour_does_not_keep_a_block_young),
		cmocka_unit_test(trim_returns_all_but_what_is_to_stay),
		cmocka_unit_test(a_purge_with_refaults_is_not_repeated),
		cmocka_unit_test(large_blocks_in_turn_find_their_pages),
		cmocka_unit_test(a_few_large_blocks_do_not_raise_the_peak),
		cmocka_unit_test(the_default_limit_holds_the_peak),
		cmocka_unit_test(a_limit_that_was_set_holds),
		cmocka_unit_test(a_fall_is_said_for_a_while),
		cmocka_unit_test(a_bound_ends_purges),
		cmocka_unit_test(none_begins_late),
		cmocka_unit_test(others_leave_it_to_who_expects_merges),
		cmocka_unit_test(what_will_merge_is_not_purged_yet),
		cmocka_unit_test(purging_does_not_look_like_use),
		cmocka_unit_test(a_refusal_changes_nothing),
	};

	/* Above 64 MiB there may be huge pages: with those, how much is resident is luck. */
	prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
