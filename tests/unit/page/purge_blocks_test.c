/* SPDX-License-Identifier: MIT */
/*
 * unit/page/purge_blocks_test.c - blocks that are purged together: what is counted meanwhile, and
 * what if the system refuses some
 */
#include <sys/mman.h>
#include <sys/syscall.h>

#include "fixture.h"
#include "page/zone.h"

#define BLOCKS 70 /* more than are taken in one go */

static unsigned long block[BLOCKS];

/* Every other one of twice as many is free, and dirty. */
static struct buddy_zone *dirty_blocks(void)
{
	fresh_arena();
	for (unsigned int i = 0; i < 2 * BLOCKS; i++) {
		unsigned long index = (unsigned long)take(1);

		memset(page_address(page_at(index)), 0xa5, 2 * PAGE_SIZE);
		if (i % 2)
			block[i / 2] = index;
	}
	for (unsigned int i = 0; i < BLOCKS; i++)
		give(block[i], 1);
	return &buddy_zones[0];
}

static void add_all_locked(struct buddy_zone *zone, struct purge_batch *batch)
{
	static struct page *blocks[BLOCKS];
	static struct os_range ranges[BLOCKS];

	*batch = (struct purge_batch){ .block = blocks, .range = ranges, .room = BLOCKS };
	for (unsigned int i = 0; i < BLOCKS; i++)
		purge_batch_add_locked(zone, batch, page_at(block[i]), i ? 2 : 1);
}

IN_CHILD(all_of_them_are_purged)
{
	struct buddy_zone *zone = dirty_blocks();
	unsigned long used = zone_used_here(zone);
	struct purge_batch batch;

	lock_acquire(&zone->purge_lock);
	lock_acquire(&zone->lock);
	add_all_locked(zone, &batch);
	CHILD_CHECK(batch.nr == BLOCKS && batch.pages == 2 * BLOCKS - 1);
	CHILD_CHECK(zone->nr_purging == 2 * BLOCKS && zone->stats.nr_dirty == 0);
	CHILD_CHECK(zone_used_here(zone) == used);
	CHILD_CHECK(purge_batch_end_locked(zone, &batch));
	CHILD_CHECK(zone->nr_purging == 0 && zone->stats.nr_dirty == 1);
	CHILD_CHECK(zone->stats.nr_purged == 2 * BLOCKS - 1);
	lock_release(&zone->lock);
	lock_release(&zone->purge_lock);
	for (unsigned int i = 0; i < BLOCKS; i++)
		CHILD_CHECK(all_bytes(page_address(page_at(block[i]) + !i), PAGE_SIZE, 0));
	/* and nobody else's, though all lie in the same huge pages */
	for (unsigned int i = 0; i < BLOCKS; i++)
		CHILD_CHECK(all_bytes(page_address(page_at(block[i] - 2)), 2 * PAGE_SIZE, 0xa5));
	buddy_check();
}

IN_CHILD(what_is_refused_stays_dirty)
{
	struct buddy_zone *zone = dirty_blocks();
	struct purge_batch batch;

	child_deny(SYS_madvise, EINVAL);
#ifdef SYS_process_madvise
	child_deny(SYS_process_madvise, EPERM);
#endif
	lock_acquire(&zone->purge_lock);
	lock_acquire(&zone->lock);
	add_all_locked(zone, &batch);
	CHILD_CHECK(!purge_batch_end_locked(zone, &batch));
	CHILD_CHECK(zone->nr_purging == 0 && zone->stats.nr_dirty == 2 * BLOCKS);
	CHILD_CHECK(zone->stats.nr_purged == 0);
	lock_release(&zone->lock);
	lock_release(&zone->purge_lock);
	buddy_check();
}

static bool is_resident(unsigned long index)
{
	unsigned char there = 0;

	CHILD_CHECK(mincore(page_address(page_at(index)), PAGE_SIZE, &there) == 0);
	return there & 1;
}

/* Of a free chunk pages NEAR and FAR are resident, though they count as clean. */
#define NEAR 112 /* of page 0, in one huge page with that */
#define FAR 704

static void purge_beside(unsigned long dirty, unsigned long most, bool lazily)
{
	static struct page *block;
	static struct os_range range;
	struct buddy_zone *zone = &buddy_zones[0];
	struct purge_batch batch = { .block = &block, .range = &range, .room = 1, .lazily = lazily };

	fresh_arena();
	CHILD_CHECK(take(BUDDY_MAX_ORDER) == 0);
	memset(page_address(page_at(0)), 0xa5, dirty * PAGE_SIZE);
	zone_set_dirty(0, dirty, true);
	buddy_free(page_at(0), BUDDY_MAX_ORDER, false);
	CHILD_CHECK(zone->stats.nr_dirty == dirty);
	*(char *)page_address(page_at(NEAR)) = 0;
	*(char *)page_address(page_at(FAR)) = 0;
	lock_acquire(&zone->purge_lock);
	lock_acquire(&zone->lock);
	purge_batch_add_locked(zone, &batch, page_at(0), most);
	CHILD_CHECK(batch.pages == MIN(dirty, most));
	CHILD_CHECK(purge_batch_end_locked(zone, &batch));
	CHILD_CHECK(zone->stats.nr_purged == MIN(dirty, most));
	CHILD_CHECK(zone->stats.nr_dirty == dirty - MIN(dirty, most));
	lock_release(&zone->lock);
	lock_release(&zone->purge_lock);
	buddy_check();
}

IN_CHILD(what_the_system_joined_goes_together)
{
	purge_beside(16, 1024, false);
	CHILD_CHECK(!is_resident(0) && !is_resident(NEAR) && is_resident(FAR));
}

IN_CHILD(a_part_goes_alone)
{
	purge_beside(32, 16, false);
	CHILD_CHECK(is_resident(0) && !is_resident(16) && is_resident(NEAR));
}

IN_CHILD(what_goes_lazily_goes_alone)
{
	purge_beside(16, 1024, true);
	CHILD_CHECK(is_resident(NEAR) && is_resident(FAR));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_of_them_are_purged),
		cmocka_unit_test(what_is_refused_stays_dirty),
		cmocka_unit_test(what_the_system_joined_goes_together),
		cmocka_unit_test(a_part_goes_alone),
		cmocka_unit_test(what_goes_lazily_goes_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
