/* SPDX-License-Identifier: MIT */
/*
 * uslab/symbols/resolve_core.h - the files of a core, as libdwfl is to see them
 */
#ifndef TOOLS_RESOLVE_CORE_H
#define TOOLS_RESOLVE_CORE_H

#include <elfutils/libdwfl.h>
#include <stdint.h>

#include "process/core_map.h"
#include "symbols/resolve_lacks.h"

struct resolve_core {
	struct core_map map;
	const char *program;
	struct resolve_image *images; /* of files, by resolve_core_image() */
};

/*
 * Arguments as of core_open(). What cannot be read has no names; *lacks may have why. NULL: no
 * memory.
 */
struct resolve_core *resolve_core_open(const char *file, const char *program, const char *sysroot,
				       struct resolve_lacks *lacks);
/* NULL is ignored. */
void resolve_core_close(struct resolve_core *core);

/*
 * With a folder of its files: where separate debug information is looked for, as libdwfl takes it;
 * the caller's to free. NULL: libdwfl's own places.
 */
char *resolve_core_debug_path(const struct resolve_core *core);

/* Lists the files. Between dwfl_report_begin() and dwfl_report_end(). */
void resolve_core_report(struct resolve_core *core, Dwfl *dwfl);

/*
 * Opens the file that is mapped at an address; *path, the caller's to free, is a place beside which
 * to look for debug information. A descriptor of the caller's or -errno.
 */
int resolve_core_open_file(struct resolve_core *core, uint64_t address, char **path);

/* The same file, for the moment: the core's descriptor, or -1. */
int resolve_core_file(struct resolve_core *core, uint64_t address);

/*
 * What the core itself has of the file whose first byte is mapped at an address, in place of a file
 * that is lost; it lives as long as the core. NULL: too little.
 */
Elf *resolve_core_image(struct resolve_core *core, uint64_t address);

/* Code there has no name: is that because its file is lost? */
void resolve_core_note(struct resolve_core *core, uint64_t address, struct resolve_lacks *lacks);

#endif /* TOOLS_RESOLVE_CORE_H */
