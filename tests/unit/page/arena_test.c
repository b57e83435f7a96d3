/* SPDX-License-Identifier: MIT */
/*
 * unit/page/arena_test.c - the reserved range, its limits, its growth
 *
 * /proc/self/maps and /proc/self/status are the judges of what is readable and what is counted.
 */
#include <linux/mempolicy.h>
#include <sys/syscall.h>

#include "fixture.h"
#include "layout.h"
#include "page/used.h"
#include "smaps.h"

#define CPUS 6
#define WINDOWS ((USLAB_WINDOW_CPU0 + CPUS) * USLAB_WINDOW_SIZE)

/* Is every byte of [start, start + size) in mappings with these permissions, "rw-p"? */
static bool mapped_as(const char *start, size_t size, const char *permissions)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	uintptr_t at = (uintptr_t)start;
	char line[512];

	while (maps && fgets(line, sizeof(line), maps)) {
		unsigned long from;
		unsigned long to;
		char perms[8];

		if (sscanf(line, "%lx-%lx %7s", &from, &to, perms) != 3)
			continue;
		if (from <= at && at < to && strcmp(perms, permissions) == 0)
			at = to;
	}
	if (maps)
		fclose(maps);
	return at >= (uintptr_t)start + size;
}

IN_CHILD(parts_lie_where_the_abi_says)
{
	bool no_limit = os_address_space_left(0) == SIZE_MAX;

	CHILD_CHECK(arena_init(CPUS) == 0);
	arena_check();
	CHILD_CHECK(((uintptr_t)page_map.base & (4 * MIB - 1)) == 0);
	CHILD_CHECK(page_windows() == page_map.base - 1792 * MIB);
	CHILD_CHECK((char *)page_map.class == page_map.base - 257 * MIB);
	CHILD_CHECK(mapped_as(page_windows(), WINDOWS, "rw-p"));
	/* under a limit on addresses the holes stay free */
	CHILD_CHECK(!no_limit || mapped_as(page_windows() + WINDOWS, USLAB_WINDOW_SIZE, "---p"));
	CHILD_CHECK(all_bytes(page_windows(), WINDOWS, 0));
	CHILD_CHECK(mapped_as(page_windows() + USLAB_WINDOW_STATE, WINDOWS, "rw-p"));
	CHILD_CHECK(!no_limit || mapped_as(page_windows() + USLAB_WINDOW_STATE + WINDOWS,
					   USLAB_WINDOW_SIZE, "---p"));
	CHILD_CHECK(all_bytes(page_windows() + USLAB_WINDOW_STATE, WINDOWS, 0));
	/* Nothing is handed out, nor readable, before the arena grows. */
	CHILD_CHECK(arena_size() == 0 && mapped_as(page_map.base, 4 * MIB, "---p"));
	/* Nor is what an overflow before the first page would meet. */
	CHILD_CHECK(!no_limit || mapped_as(page_map.base - 4 * MIB, 4 * MIB, "---p"));
	CHILD_CHECK(page_map.limit << PAGE_SHIFT <= 1ul << 40);
	NEEDS_BARE_PROCESS(); /* in which the system agrees to the first wish */
	if (!no_limit)
		return;
	CHILD_CHECK(page_map.limit << PAGE_SHIFT >= 64ul << 30);
	CHILD_CHECK(page_map.limit << PAGE_SHIFT >=
		    MIN(4 * os_physical_memory(), 1ul << 40) - 4 * MIB);
}

IN_CHILD(the_arena_grows_by_chunks_from_its_first_page)
{
	unsigned long i;

	CHILD_CHECK(arena_init(CPUS) == 0);
	for (i = 0; i < 20; i++) {
		struct page *page = arena_grow(i % 3);

		CHILD_CHECK(page && index_of(page) == i * CHUNK);
		CHILD_CHECK(page->type == PAGE_NONE && !page->classed);
		CHILD_CHECK(page[0].node == i % 3 && page[CHUNK - 1].node == i % 3);
		CHILD_CHECK(arena_size() == (i + 1) * 4 * MIB);
		CHILD_CHECK(mapped_as(page_address(page), 4 * MIB, "rw-p"));
		memset(page_address(page), 1, 4 * MIB);
		arena_check();
	}
	CHILD_CHECK(mapped_as(page_map.base + 80 * MIB, 4 * MIB, "---p"));
}

/* The mark of a free object is the low half of its address: 0 there, as in one full of zeros. */
IN_CHILD(no_page_begins_at_a_multiple_of_4_gib)
{
	unsigned long most = (4ul << 30) / (4 * MIB) + 1;
	unsigned long left_out = 0;
	unsigned long index = 0;

	NEEDS_BARE_PROCESS();
	CHILD_CHECK(arena_init(CPUS) == 0);
	if (is_emulated() && page_map.limit <= most * CHUNK)
		child_cannot("the emulator's addresses are limited (cmake/tests.cmake)");
	CHILD_CHECK(page_map.limit > most * CHUNK);
	for (unsigned long i = 0; i < most; i++, index += CHUNK) {
		struct page *page = arena_grow(0);

		CHILD_CHECK(page && (uint32_t)(uintptr_t)page_address(page) != 0);
		if (index_of(page) != index) {
			CHILD_CHECK(i >= 64 && index_of(page) == index + CHUNK);
			index += CHUNK;
			left_out++;
			CHILD_CHECK((uint32_t)(uintptr_t)page_address(page) == 4 * MIB);
		}
	}
	CHILD_CHECK(left_out == 1);
	arena_check();
}

/*
 * What describes pages and the first 64 MiB have pages of the usual size, and those above have what
 * the limit of the system allows.
 */
IN_CHILD(no_huge_pages_where_little_is_in_use)
{
	CHILD_CHECK(arena_init(CPUS) == 0);
	for (unsigned int i = 0; i < 17; i++)
		CHILD_CHECK(arena_grow(0));
	if (!smaps_has(page_map.base, "VmFlags:") ||
	    access("/sys/kernel/mm/transparent_hugepage", F_OK) != 0 || is_emulated())
		child_cannot("this system has no huge pages");
	CHILD_CHECK(smaps_has_flag(page_map.base, "nh"));
	CHILD_CHECK(smaps_has_flag(page_map.base + 60 * MIB, "nh"));
	CHILD_CHECK(!smaps_has_flag(page_map.base + 64 * MIB, "nh"));
	CHILD_CHECK(smaps_has_flag(page_map.pages, "nh") && smaps_has_flag(page_map.free, "nh"));
	CHILD_CHECK(smaps_has_flag(page_map.class, "nh") && smaps_has_flag(page_windows(), "nh"));
}

/*
 * 64 bytes for each page, committed with the descriptors, of pages that are there already as well.
 */
IN_CHILD(bits_of_what_is_used_are_kept_on_demand)
{
	CHILD_CHECK(arena_init(CPUS) == 0);
	CHILD_CHECK(arena_grow(0) && !used_are_kept());
	CHILD_CHECK(arena_keep_used() == 0 && used_are_kept());
	for (unsigned int i = 1; i < 20; i++)
		CHILD_CHECK(arena_grow(0));
	CHILD_CHECK(mapped_as((char *)page_map.used, 80 * MIB / 64, "rw-p"));
	CHILD_CHECK(mapped_as((char *)page_map.used + 128 * MIB / 64, 4 * MIB / 64, "---p"));
	CHILD_CHECK(!used_is_set(page_map.base + 80 * MIB - 8));
	CHILD_CHECK(!used_set(page_map.base + 80 * MIB - 8));
	CHILD_CHECK(used_is_set(page_map.base + 80 * MIB - 8) &&
		    !used_is_set(page_map.base + 80 * MIB - 16));
	CHILD_CHECK(used_clear(page_map.base + 80 * MIB - 8) &&
		    !used_clear(page_map.base + 80 * MIB - 8));
	arena_check();
}

/* A chunk's memory comes from its node, where the kernel has nodes and lets this process choose. */
IN_CHILD(a_chunk_is_bound_to_its_node)
{
	unsigned long nodes = 0;
	int mode = -1;

	CHILD_CHECK(arena_init(CPUS) == 0);
	CHILD_CHECK(arena_grow(0));
	if (syscall(SYS_get_mempolicy, &mode, &nodes, 65, page_map.base, MPOL_F_ADDR) != 0 ||
	    syscall(SYS_mbind, page_map.base, PAGE_SIZE, MPOL_DEFAULT, NULL, 0, 0) != 0)
		return;
	CHILD_CHECK(mode == MPOL_DEFAULT); /* one node: nothing to choose */
	os_topology.nr_nodes = 2;
	CHILD_CHECK(arena_grow(0));
	CHILD_CHECK(syscall(SYS_get_mempolicy, &mode, &nodes, 65, page_map.base + 4 * MIB,
			    MPOL_F_ADDR) == 0);
	CHILD_CHECK(mode == MPOL_PREFERRED && nodes == 1);
	os_topology.made_up = true;
	CHILD_CHECK(arena_grow(0));
	CHILD_CHECK(syscall(SYS_get_mempolicy, &mode, &nodes, 65, page_map.base + 8 * MIB,
			    MPOL_F_ADDR) == 0);
	CHILD_CHECK(mode == MPOL_DEFAULT);
}

IN_CHILD(what_counts_is_what_has_grown)
{
	size_t before = status_bytes("VmData:");
	size_t rss;

	NEEDS_BARE_PROCESS();
	CHILD_CHECK(arena_init(CPUS) == 0);
	CHILD_CHECK(status_bytes("VmData:") - before <= 2 * WINDOWS + MIB);
	CHILD_CHECK(arena_grow(0));
	/* 4 MiB, and the descriptors of 64 MiB. */
	CHILD_CHECK(status_bytes("VmData:") - before <= 2 * WINDOWS + 6 * MIB);
	rss = status_bytes("VmRSS:");
	CHILD_CHECK(arena_grow(0) && arena_grow(0));
	CHILD_CHECK(status_bytes("VmRSS:") - rss <= 256 * 1024);
}

IN_CHILD(under_an_address_space_limit_it_takes_half)
{
	size_t start = status_bytes("VmSize:");
	unsigned long chunks = 0;
	size_t used;

	NEEDS_BARE_PROCESS();
	limit_to(RLIMIT_AS, 200 * MIB);
	CHILD_CHECK(arena_init(CPUS) == 0);
	arena_check();
	used = status_bytes("VmSize:") - start;
	CHILD_CHECK(used <= 101 * MIB && used >= 80 * MIB);
	while (arena_grow(0))
		memset(page_map.base + chunks++ * 4 * MIB, 1, 4 * MIB);
	CHILD_CHECK(chunks == page_map.limit / CHUNK && chunks >= 18);
	arena_check();
	/* No growth costs addresses; others get the other half. */
	CHILD_CHECK(status_bytes("VmSize:") - start <= used + 64 * 1024);
	CHILD_CHECK(os_map(80 * MIB, PAGE_SIZE));
}

static unsigned long told; /* what arena_fit() said last; 0: nothing */

static void tell(unsigned long pages)
{
	CHILD_CHECK(pages == page_map.limit);
	told = pages;
}

/*
 * A limit that comes later leaves half of what it leaves to others, and lifted it gives all back.
 */
IN_CHILD(a_later_limit_shrinks_what_is_not_used)
{
	struct rlimit old;
	unsigned long most;
	unsigned long i;

	NEEDS_BARE_PROCESS();
	CHILD_CHECK(arena_init(CPUS) == 0);
	most = page_map.limit;
	for (i = 0; i < 20; i++) {
		CHILD_CHECK(arena_grow(0));
		memset(page_map.base + i * 4 * MIB, 1, 4 * MIB);
	}
	arena_fit(tell);
	CHILD_CHECK(!told && page_map.limit == most); /* nobody limits anything */
	CHILD_CHECK(getrlimit(RLIMIT_AS, &old) == 0);
	child_limit(RLIMIT_AS, &(struct rlimit){ 400 * MIB, old.rlim_max });
	arena_fit(tell);
	arena_check();
	CHILD_CHECK(told == page_map.limit && told < most && told > 20 * CHUNK);
	CHILD_CHECK(status_bytes("VmSize:") < 300 * MIB && os_map(90 * MIB, PAGE_SIZE));
	for (i = 20; i < page_map.limit / CHUNK; i++) {
		CHILD_CHECK(page_map.base[(i - 1) * 4 * MIB] == 1);
		CHILD_CHECK(arena_grow(0));
		memset(page_map.base + i * 4 * MIB, 1, 4 * MIB);
	}
	CHILD_CHECK(!arena_grow(0));
	arena_check();

	/* Again below what is in use: nothing goes that is. */
	child_limit(RLIMIT_AS, &(struct rlimit){ 4 * MIB, old.rlim_max });
	arena_fit(tell);
	CHILD_CHECK(page_map.limit == page_map.nr_pages && !arena_grow(0));
	CHILD_CHECK(page_map.base[0] == 1);

	child_limit(RLIMIT_AS, &old);
	told = 0;
	arena_fit(tell);
	arena_check();
	CHILD_CHECK(told == page_map.limit && told > 2 * page_map.nr_pages);
	for (i = 0; i < 40; i++)
		CHILD_CHECK(arena_grow(0));
	arena_check();
}

/*
 * The same for one that started under a limit already; what others map meanwhile is not in the way.
 */
IN_CHILD(an_early_limit_that_is_lowered_and_lifted)
{
	unsigned long most;
	struct rlimit old;

	NEEDS_BARE_PROCESS();
	old = limit_to(RLIMIT_AS, 2048 * MIB);
	CHILD_CHECK(arena_init(CPUS) == 0 && arena_grow(0));
	most = page_map.limit;
	child_limit(RLIMIT_AS, &(struct rlimit){ 400 * MIB, old.rlim_max });
	arena_fit(tell);
	CHILD_CHECK(page_map.limit < most);
	for (unsigned int i = 0; i < 50; i++)
		CHILD_CHECK(os_map((i + 1) * 64 * 1024, PAGE_SIZE));
	child_limit(RLIMIT_AS, &old);
	arena_fit(tell);
	CHILD_CHECK(page_map.limit > most / 2);
	arena_check();
}

IN_CHILD(under_a_tight_limit_it_takes_what_it_needs)
{
	NEEDS_BARE_PROCESS();
	limit_to(RLIMIT_AS, 2 * WINDOWS + 22 * MIB);
	CHILD_CHECK(arena_init(CPUS) == 0);
	CHILD_CHECK(page_map.limit == 4 * CHUNK);
	CHILD_CHECK(arena_grow(0));
}

IN_CHILD(too_little_is_an_error_and_leaves_nothing_behind)
{
	size_t before = status_bytes("VmSize:");
	struct rlimit old;

	NEEDS_BARE_PROCESS();
	old = limit_to(RLIMIT_AS, 2 * WINDOWS + 4 * MIB);
	CHILD_CHECK(arena_init(CPUS) == -ENOMEM);
	CHILD_CHECK(status_bytes("VmSize:") <= before + 64 * 1024);
	CHILD_CHECK(page_map.limit == 0 && !arena_grow(0) && !page_in_arena(&before));
	arena_check();
	child_limit(RLIMIT_AS, &old);
	CHILD_CHECK(arena_init(CPUS) == 0 && arena_grow(0));
}

IN_CHILD(a_place_that_is_taken_is_passed_over)
{
	char *first;
	size_t size;
	size_t before = status_bytes("VmSize:");
	unsigned long arena;

	NEEDS_BARE_PROCESS();
	limit_to(RLIMIT_AS, 200 * MIB);
	CHILD_CHECK(arena_init(CPUS) == 0);
	first = page_map.base;
	arena = page_map.limit << PAGE_SHIFT;
	size = status_bytes("VmSize:") - before;
	/* A second one, where the first place to try has its first four parts free. */
	os_release(page_windows(), WINDOWS);
	os_release(page_windows() + USLAB_WINDOW_STATE, WINDOWS);
	os_release(page_map.class, ALIGN_UP(page_map.limit, os_page_size()));
	os_release(page_map.dirty, (size_t)(page_windows() - (char *)page_map.dirty));
	os_release(page_map.base + PAGE_SIZE * 16, arena - PAGE_SIZE * 16);
	CHILD_CHECK(arena_init(CPUS) == 0);
	CHILD_CHECK(page_map.base != first);
	CHILD_CHECK(status_bytes("VmSize:") - before <= size + 16 * PAGE_SIZE + 64 * 1024);
	CHILD_CHECK(arena_grow(0));
	memset(page_map.base, 1, 4 * MIB);
}

IN_CHILD(a_data_limit_stops_growth_and_nothing_else)
{
	struct rlimit old;
	struct page *page;
	unsigned long chunks = 0;

	NEEDS_BARE_PROCESS();
	CHILD_CHECK(arena_init(CPUS) == 0);
	old = limit_to(RLIMIT_DATA, 30 * MIB);
	errno = 0;
	while ((page = arena_grow(0))) {
		memset(page_address(page), 1, 4 * MIB);
		chunks++;
	}
	CHILD_CHECK(errno == 0);
	CHILD_CHECK(chunks >= 5 && chunks <= 7);
	arena_check();
	CHILD_CHECK(arena_size() == chunks * 4 * MIB);
	child_limit(RLIMIT_DATA, &old);
	page = arena_grow(0);
	CHILD_CHECK(page && index_of(page) == chunks * CHUNK);
}

IN_CHILD(a_data_limit_below_the_windows_is_an_error)
{
	NEEDS_BARE_PROCESS();
	limit_to(RLIMIT_DATA, WINDOWS);
	CHILD_CHECK(arena_init(CPUS) == -ENOMEM);
	CHILD_CHECK(page_map.limit == 0 && !arena_grow(0));
}

IN_CHILD(the_most_cpus_fit_below_the_classes)
{
	if (getenv("USLAB_TEST_VALGRIND"))
		return; /* which keeps books of every page of all those windows */
	CHILD_CHECK(arena_init(USLAB_MAX_CPUS) == 0);
	CHILD_CHECK((USLAB_WINDOW_CPU0 + USLAB_MAX_CPUS) * USLAB_WINDOW_SIZE <= USLAB_WINDOW_STATE);
	CHILD_CHECK(page_windows() + USLAB_WINDOW_STATE +
			    (USLAB_WINDOW_CPU0 + USLAB_MAX_CPUS) * USLAB_WINDOW_SIZE <=
		    (char *)page_map.class);
	CHILD_CHECK(arena_grow(0));
	arena_check();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parts_lie_where_the_abi_says),
		cmocka_unit_test(the_arena_grows_by_chunks_from_its_first_page),
		cmocka_unit_test(no_page_begins_at_a_multiple_of_4_gib),
		cmocka_unit_test(no_huge_pages_where_little_is_in_use),
		cmocka_unit_test(bits_of_what_is_used_are_kept_on_demand),
		cmocka_unit_test(a_chunk_is_bound_to_its_node),
		cmocka_unit_test(what_counts_is_what_has_grown),
		cmocka_unit_test(under_an_address_space_limit_it_takes_half),
		cmocka_unit_test(a_later_limit_shrinks_what_is_not_used),
		cmocka_unit_test(an_early_limit_that_is_lowered_and_lifted),
		cmocka_unit_test(under_a_tight_limit_it_takes_what_it_needs),
		cmocka_unit_test(too_little_is_an_error_and_leaves_nothing_behind),
		cmocka_unit_test(a_place_that_is_taken_is_passed_over),
		cmocka_unit_test(a_data_limit_stops_growth_and_nothing_else),
		cmocka_unit_test(a_data_limit_below_the_windows_is_an_error),
		cmocka_unit_test(the_most_cpus_fit_below_the_classes),
		cmocka_unit_test(test_legacy_layout),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
