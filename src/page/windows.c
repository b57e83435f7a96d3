/* SPDX-License-Identifier: MIT */
/*
 * page/windows.c - words of windows without an arena, for programs that start without memory
 *
 * Data:       none that is kept here.
 * Invariants: see page/windows.h.
 * Locks:      none.
 * Flow:       see windows.h; calls os/memory/vm.h, os/cpu/cpu.h.
 *
 * The inline hit path uses a handle and the CPU number, and has no instruction to check whether the
 * library could start. Where the range of the arena cannot be reserved (RLIMIT_AS), it finds words
 * here: a page for each window, and nothing in between, which would count for the limit.
 */
#include "page/windows.h"

#include <uslab/layout.h>

#include "base/assert.h"
#include "os/cpu/cpu.h"
#include "os/memory/vm.h"

/* Places are tried in growing distance from where the system puts mappings now. */
#define PLACE_STEP (2ul << 30)
#define PLACES 64

static char *word_page(char *window0, unsigned int window)
{
	return window0 + ((unsigned long)window << USLAB_WINDOW_SHIFT);
}

/* All or none. Window 0 has handles, which are addresses only; those of "CPU -2" and -1 follow. */
static bool map_at(char *window0, unsigned int nr_windows)
{
	size_t size = os_page_size();
	unsigned int i;

	for (i = 1; i < nr_windows; i++) {
		char *page = word_page(window0, i);

		if (!os_reserve_at(page, size))
			break;
		if (os_commit(page, size)) {
			os_release(page, size);
			break;
		}
	}
	if (i == nr_windows)
		return true;
	while (--i > 0)
		os_release(word_page(window0, i), size);
	return false;
}

static char *map_somewhere(unsigned int nr_windows)
{
	size_t size = os_page_size();
	char *hint = os_reserve(size, size);

	if (!hint)
		return NULL;
	os_release(hint, size);
	for (unsigned long i = 1; i <= PLACES; i++) {
		unsigned long distance = i * PLACE_STEP;

		if ((uintptr_t)hint > distance && map_at(hint - distance, nr_windows))
			return hint - distance;
		if (map_at(hint + distance, nr_windows))
			return hint + distance;
	}
	return NULL;
}

char *windows_alone(unsigned int nr_words, uintptr_t word)
{
	unsigned int nr_windows = USLAB_WINDOW_CPU0 + os_topology.nr_windows;
	char *window0 = map_somewhere(nr_windows);

	ASSERT(nr_words * sizeof(word) <= os_page_size());
	if (!window0)
		return NULL;
	for (unsigned int i = 1; i < nr_windows; i++)
		for (unsigned int n = 0; n < nr_words; n++)
			((uintptr_t *)(void *)word_page(window0, i))[n] = word;
	return window0;
}
