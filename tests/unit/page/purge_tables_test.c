/* SPDX-License-Identifier: MIT */
/*
 * unit/page/purge_tables_test.c - descriptors of chunks that are free as a whole go back, and all
 * goes on as before; also beside threads that look at them
 *
 * What was given back reads as zero. That is looked at first: checks write nothing, but read.
 */
#include <pthread.h>
#include <sys/syscall.h>

#include "base/atomic.h"
#include "chunks.h"
#include "page/zone.h"

#define NEVER (1u << 30) /* milliseconds */

static bool gone(unsigned long chunk)
{
	return all_bytes((const char *)page_at(chunk * CHUNK), CHUNK * sizeof(struct page), 0);
}

static void start(void)
{
	fresh_arena();
	buddy_set_purge(0, NEVER);
}

IN_CHILD(descriptors_of_a_free_chunk_go_back)
{
	bool zeroed = false;

	start();
	fill(3);
	CHILD_CHECK(!gone(0) && !gone(1) && !gone(2));
	empty(0, 2);
	CHILD_CHECK(gone(0) && gone(1) && !gone(2));
	buddy_check();
	/* they are used again, in any size */
	CHILD_CHECK(buddy_alloc(0, 10, true, &zeroed) && zeroed);
	CHILD_CHECK(take(0) >= 0 && take(9) >= 0 && take(3) >= 0);
	buddy_check();
}

/* It counts for nothing, and is taken as a new one: the lowest first, before the arena grows. */
IN_CHILD(a_bare_chunk_is_as_a_new_one)
{
	unsigned long pages;

	start();
	fill(4);
	pages = page_map.nr_pages;
	empty(1, 4);
	CHILD_CHECK(gone(1) && gone(2) && gone(3));
	CHILD_CHECK(buddy_zones[0].stats.nr_total == CHUNK && buddy_zones[0].stats.nr_free == 0);
	CHILD_CHECK(buddy_used() == CHUNK);
	buddy_check();
	for (long chunk = 1; chunk < 4; chunk++)
		CHILD_CHECK(take(10) == chunk * (long)CHUNK);
	CHILD_CHECK(buddy_zones[0].stats.nr_total == 4 * CHUNK && page_map.nr_pages == pages);
	CHILD_CHECK(take(0) == (long)(4 * CHUNK) && page_map.nr_pages == pages + CHUNK);
	give(2 * CHUNK, 10);
	CHILD_CHECK(gone(2) && !gone(1));
	CHILD_CHECK(take(10) == (long)(2 * CHUNK));
	buddy_check();
}

/* Pages that the system has yet to take keep theirs. */
IN_CHILD(purged_lazily)
{
	start();
	CHILD_CHECK(buddy_purge_lazily() == 0);
	fill(2);
	empty(0, 2);
	CHILD_CHECK(!gone(0) && !gone(1));
	buddy_trim(0);
	CHILD_CHECK(gone(0) && gone(1));
	buddy_check();
	CHILD_CHECK(take(10) == 0);
}

/* Used chunks are taken first, so that those without descriptors stay as they are. */
IN_CHILD(the_others_are_used_first)
{
	start();
	fill(2);
	empty(0, 1);
	CHILD_CHECK(gone(0));
	buddy_set_purge(SIZE_MAX >> 1, NEVER);
	empty(1, 2);
	CHILD_CHECK(take(4) == CHUNK && gone(0));
	buddy_check();
}

IN_CHILD(one_page_in_use_keeps_them)
{
	long last;

	start();
	fill(1);
	last = take(0);
	CHILD_CHECK(last == CHUNK);
	empty(0, 1);
	give(CHUNK, 0);
	CHILD_CHECK(gone(0));
	CHILD_CHECK(take(0) >= 0);
	buddy_check();
}

IN_CHILD(trim_gives_all_back)
{
	fresh_arena();
	fill(20);
	empty(0, 20);
	CHILD_CHECK(!gone(0) && !gone(19));
	buddy_trim(0);
	for (unsigned long chunk = 0; chunk < 20; chunk++)
		CHILD_CHECK(gone(chunk));
	buddy_check();
}

/* Chunks of other nodes say whose they are on each page. */
IN_CHILD(nodes_are_not_forgotten)
{
	struct page *page;

	start();
	buddy_init(2);
	for (unsigned int round = 0; round < 3; round++) {
		for (unsigned long i = 0; i < CHUNK / 32; i++) {
			page = buddy_alloc(1, 5, true, NULL);
			CHILD_CHECK(page && page->node == 1);
		}
		for (unsigned long i = 0; i < CHUNK; i += 32)
			give(i, 5);
		buddy_check();
		for (unsigned long i = 0; i < CHUNK; i++)
			CHILD_CHECK(page_at(i)->node == 1);
	}
}

/* As where memory is locked: the chunk stays on its list, with its descriptors. */
IN_CHILD(a_refusal_changes_nothing)
{
	char *table;

	start();
	fill(1);
	table = (char *)ALIGN_UP((uintptr_t)(page_at(0) + 1), os_page_size());
	if (syscall(SYS_mlock, table, os_page_size())) /* that of sanitizers does nothing */
		child_cannot("no memory may be locked");
	empty(0, 1);
	CHILD_CHECK(!gone(0));
	CHILD_CHECK(buddy_zones[0].stats.nr_free == CHUNK && buddy_zones[0].nr_purging == 0);
	buddy_check();
	CHILD_CHECK(take(10) == 0);
}

static int stop;

/* As a free of a wrong pointer does: whatever it sees must be possible. */
static void *look(void *arg)
{
	unsigned long seen = 0;

	while (!load_relaxed(&stop))
		for (unsigned long i = 0; i < load_relaxed(&page_map.nr_pages); i += 7) {
			struct page *page = page_at(i);
			unsigned int type = load_relaxed(&page->type);
			unsigned long head = load_relaxed(&page->head);

			CHILD_CHECK(type == PAGE_NONE || type == PAGE_BUDDY);
			CHILD_CHECK(head <= i);
			seen++;
		}
	(void)arg;
	return (void *)seen;
}

static void *use(void *arg)
{
	unsigned long *blocks = arg;

	for (unsigned int round = 0; round < rounds(300); round++) {
		for (unsigned int i = 0; i < 48; i++)
			blocks[i] = (unsigned long)take(5 + round % 3);
		for (unsigned int i = 0; i < 48; i++)
			give(blocks[i], 5 + round % 3);
	}
	return NULL;
}

IN_CHILD(beside_threads_that_use_and_look)
{
	static unsigned long blocks[2][48];
	pthread_t looks, uses[2];

	start();
	CHILD_CHECK(pthread_create(&looks, NULL, look, NULL) == 0);
	for (unsigned int i = 0; i < 2; i++)
		CHILD_CHECK(pthread_create(&uses[i], NULL, use, blocks[i]) == 0);
	for (unsigned int i = 0; i < 2; i++)
		pthread_join(uses[i], NULL);
	store_relaxed(&stop, 1);
	pthread_join(looks, NULL);
	/* a free that finds another thread purging leaves that to it, or to the next free */
	buddy_trim(0);
	CHILD_CHECK(buddy_zones[0].stats.nr_free == buddy_zones[0].stats.nr_total);
	CHILD_CHECK(buddy_zones[0].stats.nr_dirty == 0);
	buddy_check();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(descriptors_of_a_free_chunk_go_back),
		cmocka_unit_test(a_bare_chunk_is_as_a_new_one),
		cmocka_unit_test(purged_lazily),
		cmocka_unit_test(the_others_are_used_first),
		cmocka_unit_test(one_page_in_use_keeps_them),
		cmocka_unit_test(trim_gives_all_back),
		cmocka_unit_test(nodes_are_not_forgotten),
		cmocka_unit_test(a_refusal_changes_nothing),
		cmocka_unit_test(beside_threads_that_use_and_look),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
