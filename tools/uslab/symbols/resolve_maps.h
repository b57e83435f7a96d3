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

struct core_map;	/* process/core_map.h */
struct resolve_mapping; /* resolve.h */

struct resolve_map {
	uint64_t start, end;
	uint64_t offset; /* of start in the file */
	char *path;	 /* as /proc/PID/maps has it: "" and "[heap]" are no files */
};

struct resolve_maps {
	unsigned int nr; /* 0: not known */
	unsigned int capacity;
	struct resolve_map *map; /* by address */
	bool no_headers; /* of a core: it has the first page of no file, by which files are known */
};

/*
 * As it is now; a core lists files only. What cannot be read is not known: of a process -errno says
 * why, else 0. resolve_maps_free() in any case.
 */
int resolve_maps_of_process(struct resolve_maps *maps, pid_t pid);
void resolve_maps_of_core(struct resolve_maps *maps, const struct core_map *core);
void resolve_maps_free(struct resolve_maps *maps);

/* NULL: nothing is mapped there. */
const struct resolve_map *resolve_maps_find(const struct resolve_maps *maps, uint64_t address);

/*
 * Where the file wants what lies at an offset of it, by its PT_LOAD headers.
 * false: it is no part of any.
 */
bool resolve_maps_vaddr(Elf *elf, uint64_t offset, uint64_t *vaddr);

/* The segment that an address of a file lies in, in whole pages as it was mapped; or none. */
void resolve_maps_segment(Elf *elf, uint64_t bias, uint64_t address, struct resolve_mapping *m);

/*
 * Where the file wants what lies at an address of a mapping; the offset in it if it cannot be read.
 * fd: of the file, or -1.
 */
uint64_t resolve_maps_wanted(const struct resolve_map *map, int fd, uint64_t address);

#endif /* TOOLS_RESOLVE_MAPS_H */
