/* SPDX-License-Identifier: MIT */
/*
 * uslab/symbols/resolve_maps.h - what is mapped where, in a process or a core, and
 * which place of a file that is
 */
#ifndef TOOLS_RESOLVE_MAPS_H
#define TOOLS_RESOLVE_MAPS_H

#include <libelf.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct resolve_map {
	uint64_t start, end;
	uint64_t offset; /* of start in the file */
	char *path;	 /* as /proc/PID/maps has it: "" and "[heap]" are no files */
};

struct resolve_maps {
	unsigned int nr; /* 0: not known */
	unsigned int capacity;
	struct resolve_map *map; /* by address */
};

/*
 * As it is now; a core lists files only. What cannot be read is not known.
 * resolve_maps_free() in any case.
 */
void resolve_maps_of_process(struct resolve_maps *maps, pid_t pid);
void resolve_maps_of_core(struct resolve_maps *maps, const char *core);
void resolve_maps_free(struct resolve_maps *maps);

/* NULL: nothing is mapped there. */
const struct resolve_map *resolve_maps_find(const struct resolve_maps *maps, uint64_t address);

/*
 * Where the file wants what lies at an offset of it, by its PT_LOAD headers.
 * false: it is no part of any.
 */
bool resolve_maps_vaddr(Elf *elf, uint64_t offset, uint64_t *vaddr);

#endif /* TOOLS_RESOLVE_MAPS_H */
