/* SPDX-License-Identifier: MIT */
/*
 * uslab/command/debug_flags.h - debug flags of caches as texts, by the library's own table
 * (inspect/options.h)
 */
#ifndef TOOLS_DEBUG_FLAGS_H
#define TOOLS_DEBUG_FLAGS_H

#include <stdbool.h>

#include <uslab/slab.h>

#define DEBUG_FLAGS_TEXT 32 /* bytes of each text, with the NUL */

/* All that a cache can have. */
slab_flags_t debug_flags_all(void);
/* Either case; 0: no such letter. */
slab_flags_t debug_flags_of(char letter);
/* Does a command take it: some of them, perhaps after + or -, or "-"? */
bool debug_flags_are(const char *text);
/* What a cache that has some has after the command with such a text. */
slab_flags_t debug_flags_change(const char *text, slab_flags_t now);
/* "FZ"; "-" for none. Returns buf. */
const char *debug_flags_text(char buf[DEBUG_FLAGS_TEXT], slab_flags_t flags);
/* All of them, with these texts between two and before the last one. Returns buf. */
const char *debug_flags_list(char buf[DEBUG_FLAGS_TEXT], const char *between, const char *last);

#endif /* TOOLS_DEBUG_FLAGS_H */
