/* SPDX-License-Identifier: MIT */
/*
 * debug/report/symbol_names.h - a cache of the names of functions in recent reports
 *
 * Data:       a table of texts by address.
 * Invariants: a text is that of os_symbol_text() for what is loaded now.
 * Locks:      RANK_REPORT, held by the caller: the text is open. No allocation.
 * Flow:       called by report_text.c; calls os/symbol/symbol.h, os/symbol/object.h.
 */
#ifndef DEBUG_SYMBOL_NAMES_H
#define DEBUG_SYMBOL_NAMES_H

#include "base/compiler.h"

#define NAME_MAX_BYTES 256 /* with the NUL; a longer name is cut */

/* As os_symbol_text(), into NAME_MAX_BYTES. */
cold void symbol_names_text(char *buf, uintptr_t address);

#endif /* DEBUG_SYMBOL_NAMES_H */
