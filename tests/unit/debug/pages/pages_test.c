/* SPDX-License-Identifier: MIT */
/*
 * unit/debug/pages/pages_test.c - blocks of whole pages with debug flags: what is written
 * where, what is noticed when
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/wait.h>
#include <cmocka.h>

#include "base/bits.h"
#include "debug/pages/pages.h"
#include "debug/report/report.h"
#include "os/cpu/cpu.h"
#include "page/arena.h"
#include "page/buddy.h"
#include "page/large.h"
#include "support/child.h"

#define HERE __builtin_return_address(0)
#define MIB (1ul << 20)
#define FZPU BLOCKS_DEBUG_FLAGS
#define SIZE 100000ul /* 24.4 pages */

static char text[1 << 16]; /* all that was reported since forget() */
static unsigned int reports;

static void hear(const char *cache, const char *report, void *arg)
{
	size_t len = strlen(text);

	(void)arg;
	CHILD_CHECK(!strcmp(cache, "kmalloc-large"));
	snprintf(text + len, sizeof(text) - len, "%s", report);
	reports++;
}

static void forget(void)
{
	text[0] = '\0';
	reports = 0;
}

static void start(slab_flags_t debug_flags)
{
	os_cpu_init();
	CHILD_CHECK(arena_init(os_topology.nr_cpu_ids) == 0);
	buddy_init(1);
	CHILD_CHECK(blocks_switch(debug_flags) == 0);
	report_set_hook(hear, NULL, true);
}

static char *take(size_t size)
{
	bool zeroed;
	char *p = pages_alloc(size, size, 0, -1, &zeroed, HERE);

	CHILD_CHECK(p && (uintptr_t)p % PAGE_SIZE == 0);
	return p;
}

static void give(void *p)
{
	CHILD_CHECK(pages_free(p, HERE));
}

static void check_all(void)
{
	blocks_check();
	run_check();
	large_check();
	buddy_check();
}

static bool said(const char *what)
{
	return strstr(text, what);
}

/* Whatever a program may do with its blocks is no mistake, with any debug flags. */
IN_CHILD(nothing_is_reported_falsely)
{
	static const size_t sizes[] = { 1,	 4096,	  SIZE,	       33 * 4096,
					MIB + 1, 4 * MIB, 4 * MIB + 1, 9 * MIB };

	start(0);
	for (unsigned int debug_flags = 0; debug_flags < 16; debug_flags++) {
		slab_flags_t flags = (debug_flags & 1 ? SLAB_CONSISTENCY_CHECKS : 0) |
				     (debug_flags & 2 ? SLAB_RED_ZONE : 0) |
				     (debug_flags & 4 ? SLAB_POISON : 0) |
				     (debug_flags & 8 ? SLAB_STORE_USER : 0);

		CHILD_CHECK(blocks_switch(flags) == 0);
		for (unsigned int i = 0; i < 4 * ARRAY_SIZE(sizes); i++) {
			size_t size = sizes[i % ARRAY_SIZE(sizes)];
			char *p = take(size);
			size_t usable = pages_size(p);
			size_t more = flags & BLOCKS_CHECKED ? 0 : size / RUN_LENGTHS;
			char *moved;

			CHILD_CHECK(usable >= size && usable < size + PAGE_SIZE + more);
			CHILD_CHECK(!(flags & SLAB_RED_ZONE) || usable == size);
			memset(p, 1, usable);
			moved = pages_resize(p, size / 2 + 1, HERE);
			if (moved)
				memset(moved, 2, pages_size(moved));
			p = moved ? moved : p;
			moved = pages_resize(p, size + 5 * PAGE_SIZE, HERE);
			CHILD_CHECK(!moved || moved[size / 2] == 2);
			if (moved)
				memset(moved, 3, pages_size(moved));
			pages_validate();
			give(moved ? moved : p);
			check_all();
		}
	}
	pages_validate();
	CHILD_CHECK(reports == 0);
}

IN_CHILD(overflow)
{
	start(FZPU);
	for (size_t size = SIZE; size <= 8 * MIB; size += 8 * MIB - SIZE) {
		char *p = take(size);

		p[size] = 'x';
		give(p);
		CHILD_CHECK(reports == 1 && said("BUG kmalloc-large (") &&
			    said("): Right Redzone overwritten\n"));
		CHILD_CHECK(said("First byte 0x78 instead of 0xcc\nAllocated in "));
		CHILD_CHECK(said("FIX kmalloc-large: Restoring Right Redzone ") &&
			    said(" not freed\n"));
		forget();
		p = take(size);
		memset(p + size, 'x', ALIGN_UP(size, PAGE_SIZE) + PAGE_SIZE - size);
		CHILD_CHECK(pages_validate() >= 2);
		CHILD_CHECK(reports == 1 && said("Right Redzone overwritten"));
		give(p); /* as it should be by now */
		CHILD_CHECK(reports == 1);
		forget();
	}
	check_all();
}

IN_CHILD(write_before)
{
	char *p;

	start(FZPU);
	p = take(SIZE);
	p[-1] = 0;
	give(p);
	CHILD_CHECK(reports == 1 && said("Left Redzone overwritten") && said(" not freed\n"));
	forget();
	p = take(SIZE);
	p[-4096] = 0;
	CHILD_CHECK(pages_resize(p, SIZE + 1, HERE) == p);
	CHILD_CHECK(reports == 1 && said("Left Redzone overwritten"));
	give(p);
	CHILD_CHECK(reports == 1);
	check_all();
}

/* The block that was freed last is the next one of its size: then it is looked at. */
IN_CHILD(write_after_free)
{
	char *p;

	start(FZPU);
	p = take(SIZE);
	give(p);
	CHILD_CHECK(take(SIZE) == p && (unsigned char)p[0] == POISON_FREE);
	give(p);
	p[50000] = 'x';
	CHILD_CHECK(take(SIZE) != p);
	CHILD_CHECK(reports == 1 && said("): Poison overwritten\n") && said("Freed in "));
	CHILD_CHECK(said("FIX kmalloc-large: Restoring Poison ") && said(" not used again\n"));
	forget();
	p = take(SIZE);
	give(p);
	p[-1] = 'x';
	CHILD_CHECK(pages_validate() >= 1 && reports == 1 && said("Left Redzone overwritten"));
	check_all();
}

static bool is_done;

/* As large as is filled, so that the other thread looks meanwhile. */
static void *take_and_give(void *arg)
{
	for (unsigned int i = 0; i < 200; i++) {
		char *p = take(PAGES_POISON_MAX);

		p = pages_resize(p, PAGES_POISON_MAX / 2, HERE);
		CHILD_CHECK(p);
		give(p);
	}
	store_release(&is_done, true);
	return arg;
}

/* Whatever another thread is about when all is checked: what it has in the table is filled. */
IN_CHILD(checked_while_another_thread_allocates)
{
	pthread_t thread;
	char *held;

	start(FZPU);
	held = take(SIZE);
	CHILD_CHECK(!pthread_create(&thread, NULL, take_and_give, NULL));
	do {
		CHILD_CHECK(pages_validate() >= 1);
		usleep(10); /* with one CPU, or in valgrind, the other gets its turn */
	} while (!load_acquire(&is_done));
	pthread_join(thread, NULL);
	give(held);
	CHILD_CHECK(reports == 0);
}

IN_CHILD(freed_twice)
{
	start(FZPU);
	for (size_t size = SIZE; size <= 8 * MIB; size += 8 * MIB - SIZE) {
		char *p = take(size);

		give(p);
		give(p);
		CHILD_CHECK(reports == 1 && said("): Object already free\n") && said("Freed in "));
		forget();
		CHILD_CHECK(pages_size(p) == 0 && reports == 0);
	}
	check_all();
}

IN_CHILD(no_start_of_a_block)
{
	char *p;

	start(FZPU);
	p = take(SIZE);
	give(p + 4096);
	CHILD_CHECK(reports == 1 && said("): Invalid object pointer 0x"));
	give(p - 4096); /* where its pages begin */
	CHILD_CHECK(reports == 2 && pages_size(p - 4096) == 0 && pages_size(p) == SIZE);
	CHILD_CHECK(!pages_free(text, HERE) && reports == 2);
	give(p);
	CHILD_CHECK(reports == 2);
	check_all();
}

/* What needs no more pages does not move, though its page run is none of run.h's lengths. */
IN_CHILD(the_same_pages_stay)
{
	char *p[8];

	start(SLAB_CONSISTENCY_CHECKS);
	for (unsigned int i = 0; i < ARRAY_SIZE(p); i++) {
		p[i] = take(33 * PAGE_SIZE - 200);
		CHILD_CHECK(pages_size(p[i]) == 33 * PAGE_SIZE);
	}
	for (unsigned int i = 0; i < ARRAY_SIZE(p); i++) {
		CHILD_CHECK(pages_resize(p[i], 33 * PAGE_SIZE - 100, HERE) == p[i]);
		CHILD_CHECK(pages_size(p[i]) == 33 * PAGE_SIZE);
		give(p[i]);
	}
	CHILD_CHECK(reports == 0);
	check_all();
}

/* Those from before are as they were; those with debug flags keep them. */
IN_CHILD(switched_meanwhile)
{
	char *before;
	char *p;

	start(0);
	before = take(SIZE);
	CHILD_CHECK(blocks_switch(FZPU) == 0);
	p = take(SIZE);
	memset(before, 1, 25 * PAGE_SIZE);
	give(before);
	CHILD_CHECK(blocks_switch(0) == 0);
	p[SIZE] = 1;
	CHILD_CHECK(pages_size(p) == SIZE);
	CHILD_CHECK(pages_validate() == 1 && reports == 1);
	give(p);
	p = take(SIZE);
	CHILD_CHECK(pages_size(p) == 25 * PAGE_SIZE);
	give(p);
	CHILD_CHECK(reports == 1);
	check_all();
}

/* What is freed comes back before memory is short, and there is a limit to what waits. */
IN_CHILD(freed_blocks_do_not_pile_up)
{
	enum { NR = 64 };
	struct run_stats stats;
	char *p[NR];

	start(FZPU);
	for (unsigned int round = 0; round < 3; round++) {
		for (unsigned int i = 0; i < NR; i++)
			p[i] = take(MIB + i * PAGE_SIZE);
		for (unsigned int i = 0; i < NR; i++)
			give(p[i]);
		CHILD_CHECK(blocks_table->held == 0);
		CHILD_CHECK(blocks_table->freed_bytes <= BLOCKS_FREED_BYTES);
		CHILD_CHECK(blocks_table->freed > 10);
		pages_stats(&stats);
		CHILD_CHECK(stats.count == 0 && stats.bytes == 0);
		check_all();
	}
	for (unsigned int i = 0; i < 3 * BLOCKS_FREED_MAX; i++)
		give(take(5 * MIB));
	CHILD_CHECK(blocks_table->freed <= BLOCKS_FREED_MAX && reports == 0);
	check_all();
}

IN_CHILD(alignment)
{
	start(FZPU);
	for (size_t align = 8; align <= 8 * MIB; align *= 2) {
		char *p = pages_alloc(SIZE, SIZE, align, -1, NULL, HERE);

		CHILD_CHECK(p && (uintptr_t)p % align == 0 && pages_size(p) == SIZE);
		p[-1] = 1;
		give(p);
		CHILD_CHECK(reports == 1 && said("Left Redzone overwritten"));
		forget();
	}
	check_all();
}

/* 0 bytes are usable as one, so that their block is known to start there. */
IN_CHILD(no_bytes)
{
	start(0);
	for (size_t align = 4096; align <= MIB; align *= 2)
		for (unsigned int i = 0; i < 2; i++) {
			char *p, *resized;

			CHILD_CHECK(blocks_switch(i ? FZPU : SLAB_RED_ZONE) == 0);
			p = pages_alloc(0, 0, align, -1, NULL, HERE);
			CHILD_CHECK(p && (uintptr_t)p % align == 0 && pages_size(p) == 1);
			*p = 1;
			resized = pages_resize(p, 77, HERE);
			CHILD_CHECK(resized == p && pages_size(p) == 77 && *p == 1);
			give(p);
		}
	CHILD_CHECK(reports == 0);
	check_all();
}

static void touch_unmapped(void *arg)
{
	char *p;

	(void)arg;
	start(FZPU);
	p = take(8 * MIB);
	give(p);
	*(volatile char *)p = 1;
}

/* Large ones are gone at once: nobody else has their addresses for a while, as a rule. */
static void mapped_blocks_fault(void **state)
{
	struct child c = child_run(touch_unmapped, NULL);

	(void)state;
	assert_false(WIFEXITED(c.status) && WEXITSTATUS(c.status) == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_reported_falsely),
		cmocka_unit_test(overflow),
		cmocka_unit_test(write_before),
		cmocka_unit_test(write_after_free),
		cmocka_unit_test(checked_while_another_thread_allocates),
		cmocka_unit_test(freed_twice),
		cmocka_unit_test(no_start_of_a_block),
		cmocka_unit_test(the_same_pages_stay),
		cmocka_unit_test(switched_meanwhile),
		cmocka_unit_test(freed_blocks_do_not_pile_up),
		cmocka_unit_test(alignment),
		cmocka_unit_test(no_bytes),
		cmocka_unit_test(mapped_blocks_fault),
	};

	return cmocka_run_group_tests_name("pages", tests, NULL, NULL);
}
