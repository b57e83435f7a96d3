/* SPDX-License-Identifier: MIT */
/*
 * uslab/symbols/resolve_maps.c - what is mapped where, in a process or a core, and which place of a
 * file that is
 *
 * Flow:       called by resolve.c; calls process/live.c and core_map.c there.
 *             In: /proc/PID/maps or a core; out: mappings sorted by address, and addresses in the
 *             terms of a file.
 *
 * libdwfl takes all between the first and the last mapping of a file for that file. Others may lie
 * between, code that was made at run time among them, and pieces of the file may lie elsewhere than
 * the file wants them.
 */
#define _GNU_SOURCE
#include "symbols/resolve_maps.h"

#include <errno.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "process/core_map.h"
#include "process/live.h"
#include "symbols/resolve.h"

#define FIRST_CAPACITY 64u

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

int resolve_maps_of_process(struct resolve_maps *maps, pid_t pid)
{
	char *line = NULL;
	size_t size = 0;
	char path[LIVE_PATH];
	FILE *file;

	*maps = (struct resolve_maps){ .nr = 0 };
	file = fopen(live_path(path, pid, "maps"), "re");
	if (!file)
		return -errno;
	while (getline(&line, &size, file) > 0)
		if (!add_line(maps, line))
			break;
	free(line);
	fclose(file);
	return 0;
}

void resolve_maps_of_core(struct resolve_maps *maps, const struct core_map *core)
{
	bool headers = false;

	*maps = (struct resolve_maps){ .nr = 0 };
	for (size_t i = 0; i < core->nr_mappings; i++) {
		const struct core_mapping *m = &core->mapping[i];

		if (!add(maps, m->start, m->end, m->offset, m->object->path))
			break;
		headers |= !m->offset && core_map_has(core, m->start);
	}
	maps->no_headers = maps->nr && !headers;
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

void resolve_maps_segment(Elf *elf, uint64_t bias, uint64_t address, struct resolve_mapping *m)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE) - 1;
	size_t nr;

	if (elf_getphdrnum(elf, &nr))
		return;
	for (size_t i = 0; i < nr; i++) {
		GElf_Phdr header;

		if (!gelf_getphdr(elf, (int)i, &header) || header.p_type != PT_LOAD ||
		    address - bias - header.p_vaddr >= header.p_memsz)
			continue;
		m->start = (bias + header.p_vaddr) & ~page;
		m->end = (bias + header.p_vaddr + header.p_memsz + page) & ~page;
		m->offset = header.p_offset & ~page;
		return;
	}
}

uint64_t resolve_maps_wanted(const struct resolve_map *map, int fd, uint64_t address)
{
	uint64_t offset = address - map->start + map->offset, wanted = offset;
	Elf *elf;

	if (fd < 0)
		return offset;
	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	if (!resolve_maps_vaddr(elf, offset, &wanted))
		wanted = offset;
	elf_end(elf);
	return wanted;
}
