/* SPDX-License-Identifier: MIT */
/*
 * page/windows.h - words of windows without an arena, for programs that start without memory
 *
 * Data:       one page for each window, mapped once and kept.
 * Invariants: they are written before their address is published.
 * Locks:      none.
 * Flow:       called by cache/ when the library could not start; calls os/memory/vm.h.
 */
#ifndef PAGE_WINDOWS_H
#define PAGE_WINDOWS_H

#include "base/compiler.h"

/*
 * The first nr_words words of the windows of all CPUs (up to a page), at the places that
 * <uslab/layout.h> gives them, each with this value. Returns the address of window 0, which itself
 * is not mapped; NULL: out of memory.
 */
cold char *windows_alone(unsigned int nr_words, uintptr_t word);

#endif /* PAGE_WINDOWS_H */
