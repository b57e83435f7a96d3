/* SPDX-License-Identifier: MIT */
/*
 * uslab/symbols/resolve_maps.c - what is mapped where, in a process or a core, and which place of a
 * file that is
 *
 * Flow:       called by resolve.c; calls process/live.c, mapped_file.c and core_map.c there.
 *             In: /proc/PID/maps or a core; out: mappings sorted by address, and addresses in the
 *             terms of a file.
 *
 * libdwfl takes all between the first and the last mapping of a file for that file. Others may lie
 * between, code that was made at run time among them, and pieces of the file may lie elsewhere than
 * the file wants them.
 */
#define _GNU_SOURCE
#include "symbols/resolve_maps.h"

#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "process/core_map.h"

#define FIRST_CAPACITY 64u
#include "process/live.h"
#include "process/mapped_file.h"
#include "symbols/resolve.h"

/* Without memory the list ends there. */
static bool add(struct resolve_maps *maps, uint64_t start, uint64_t end, uint64_t offset,
		const char *path)
{
	if (maps->nr == maps->capacity) {
		unsigned int capacity = maps->capacity ? maps->capacity * 2 : FIRST_CAPACITY;
		struct resolve_map *map = reallocarray(maps->map, capacity, sizeof(*map));

		if (!map)
			return false;
		maps->map = map;
		maps->capacity = capacity;
	}
	maps->map[maps->nr] = (struct resolve_map){ start, end, offset, strdup(path) };
	if (!maps->map[maps->nr].path)
		return false;
	maps->nr++;
	return true;
}

/* "start-end rwxp offset major:minor inode   path" */
static bool add_line(struct resolve_maps *maps, char *line)
{
	unsigned long start, end, offset;
	int at = 0;

	line[strcspn(line, "\n")] = '\0';
	if (sscanf(line, "%lx-%lx %*s %lx %*x:%*x %*u %n", &start, &end, &offset, &at) < 3 || !at)
		return true;
	return add(maps, start, end, offset, line + at);
}

void resolve_maps_of_process(struct resolve_maps *maps, pid_t pid)
{
	char *line = NULL;
	size_t size = 0;
	char path[LIVE_PATH];
	FILE *file;

	*maps = (struct resolve_maps){ .nr = 0 };
	file = fopen(live_path(path, pid, "maps"), "re");
	if (!file)
		return;
	while (getline(&line, &size, file) > 0)
		if (!add_line(maps, line))
			break;
	free(line);
	fclose(file);
}

void resolve_maps_of_core(struct resolve_maps *maps, const char *core)
{
	struct core_map map;

	*maps = (struct resolve_maps){ .nr = 0 };
	if (!core_map_open(&map, core))
		for (size_t i = 0; i < map.nr_mappings; i++)
			if (!add(maps, map.mapping[i].start, map.mapping[i].end,
				 map.mapping[i].offset, map.mapping[i].object->path))
				break;
	core_map_close(&map);
}

void resolve_maps_free(struct resolve_maps *maps)
{
	for (unsigned int i = 0; i < maps->nr; i++)
		free(maps->map[i].path);
	free(maps->map);
	*maps = (struct resolve_maps){ .nr = 0 };
}

static int compare(const void *key, const void *element)
{
	uint64_t address = *(const uint64_t *)key;
	const struct resolve_map *map = element;

	return address < map->start ? -1 : address >= map->end;
}

const struct resolve_map *resolve_maps_find(const struct resolve_maps *maps, uint64_t address)
{
	return maps->nr ? bsearch(&address, maps->map, maps->nr, sizeof(*maps->map), compare)
			: NULL;
}

bool resolve_maps_vaddr(Elf *elf, uint64_t offset, uint64_t *vaddr)
{
	size_t nr;

	if (elf_getphdrnum(elf, &nr))
		return false;
	for (size_t i = 0; i < nr; i++) {
		GElf_Phdr header;

		if (!gelf_getphdr(elf, (int)i, &header) || header.p_type != PT_LOAD ||
		    offset - header.p_offset >= header.p_filesz)
			continue;
		*vaddr = header.p_vaddr + (offset - header.p_offset);
		return true;
	}
	return false;
}
