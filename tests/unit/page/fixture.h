/* SPDX-License-Identifier: MIT */
/*
 * unit/page/fixture.h - a fresh arena for each test
 *
 * An arena is made once in the life of a process, so each test runs in a child of its own: IN_CHILD
 * wraps a function that uses CHILD_CHECK into a cmocka test.
 */
#ifndef UNIT_PAGE_FIXTURE_H
#define UNIT_PAGE_FIXTURE_H

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include <cmocka.h>

#include "bare.h"
#include "base/bits.h"
#include "bytes.h"
#include "child.h"
#include "os/cpu/cpu.h"
#include "os/memory/vm.h"
#include "page/arena.h"
#include "page/buddy.h"
#include "page/keep.h"
#include "page/large.h"
#include "page/run.h"

#define MIB (1ul << 20)
#define CHUNK (1ul << ARENA_CHUNK_ORDER) /* pages */

/*
 * Under a sanitizer or valgrind (which says so by USLAB_TEST_VALGRIND, see
 * cmake/tests.cmake) the tool maps memory of its own: counts of bytes are not ours, and a
 * limit on them would kill the tool.
 */
#if defined(__has_feature)
#define HAS_FEATURE(x) __has_feature(x)
#else
#define HAS_FEATURE(x) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || \
	HAS_FEATURE(address_sanitizer) || HAS_FEATURE(thread_sanitizer)
#define SANITIZED 1
#else
#define SANITIZED 0
#endif

#define NEEDS_BARE_PROCESS()                                    \
	do {                                                    \
		if (SANITIZED || getenv("USLAB_TEST_VALGRIND")) \
			return;                                 \
	} while (0)

/* Rounds of a loop that needs luck rather than completeness: fewer where each takes long. */
static inline unsigned int rounds(unsigned int n)
{
	return getenv("USLAB_TEST_VALGRIND") ? n / 10 : n;
}

static inline unsigned long index_of(const struct page *page)
{
	return (unsigned long)(page - page_map.pages);
}

/* An arena with one node that purges as the default is. */
static inline void default_arena(void)
{
	os_cpu_init();
	CHILD_CHECK(arena_init(os_topology.nr_cpu_ids) == 0);
	buddy_init(1);
}

/* One that purges only what a test asks it to. */
static inline void fresh_arena(void)
{
	default_arena();
	buddy_set_purge(SIZE_MAX >> 1, 1u << 30);
}

/* An arena of 32 MiB, without lowering a limit that a sanitizer would suffer from as well. */
static inline void two_small_nodes(void)
{
	os_cpu_init();
	CHILD_CHECK(os_topology_set(4, 2) == 0);
	CHILD_CHECK(arena_init(os_topology.nr_cpu_ids) == 0);
	page_map.limit = 8 * CHUNK;
	buddy_init(1);
	buddy_init(2); /* a made-up topology comes after the library's start */
	buddy_set_purge(SIZE_MAX >> 1, 1u << 30);
}

/* Page of the arena, or -1, for tables of expected placements. */
static inline long take(unsigned int order)
{
	struct page *page = buddy_alloc(0, order, true, NULL);

	return page ? (long)index_of(page) : -1;
}

/* A block whose bytes the test has written to. */
static inline unsigned long take_touched(unsigned int order)
{
	long index = take(order);

	CHILD_CHECK(index >= 0);
	memset(page_address(page_at((unsigned long)index)), 0xa5, PAGE_SIZE << order);
	return (unsigned long)index;
}

static inline void give(unsigned long index, unsigned int order)
{
	buddy_free(page_at(index), order, true);
}

static inline const struct buddy_stats *stats(void)
{
	return &buddy_zones[0].stats;
}

/* A number of kB from /proc/self/status, e.g. "VmData:". In bytes; 0 if there is none. */
static inline size_t status_bytes(const char *name)
{
	FILE *file = fopen("/proc/self/status", "r");
	char line[256];
	size_t kb = 0;

	if (is_emulated())
		child_cannot("what the kernel counts is the emulator's memory too");
	while (file && fgets(line, sizeof(line), file))
		if (strncmp(line, name, strlen(name)) == 0)
			kb = strtoul(line + strlen(name), NULL, 10);
	if (file)
		fclose(file);
	return kb * 1024;
}

/* Lowers a soft limit to what is used now plus room; returns the old one. */
static inline struct rlimit limit_to(int resource, size_t room)
{
	struct rlimit old;
	struct rlimit limit;

	CHILD_CHECK(getrlimit(resource, &old) == 0);
	limit = old;
	limit.rlim_cur = status_bytes(resource == RLIMIT_AS ? "VmSize:" : "VmData:") + room;
	child_limit(resource, &limit);
	return old;
}

#endif /* UNIT_PAGE_FIXTURE_H */
