/* SPDX-License-Identifier: MIT */
/*
 * uslab/symbols/resolve_core.c - the files of a core, as libdwfl is to see them
 *
 * Data:       struct resolve_core: the core's own list of mapped files, by which each is opened,
 *             and what the core has of those that are lost.
 * Flow:       called by resolve.c; calls process/core_map.c, process/mapped_file.c,
 *             resolve_lacks.c and libdwfl. In: a core, and where its files are; out: modules.
 *
 * libdwfl can read a core by itself. It then opens whatever the core names, and waits for ever
 * where that is a FIFO: so it never sees the core. It gets the list of files, as of a process, and
 * asks for each when code in it is to be named.
 */
#define _GNU_SOURCE
#include "symbols/resolve_core.h"

#include <elf.h>
#include <elfutils/libdwelf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "process/mapped_file.h"

#define FIRST_PAGE 4096
#define IMAGE_MOST (512ul << 20) /* bytes */

struct resolve_image {
	struct resolve_image *older;
	char bytes[]; /* as in the file */
};

/* Beside the file, in its folder .debug, and by build ID or path: in the folder, then here. */
#define DEBUG_PATH ":.debug:/proc/self/fd/%d/usr/lib/debug:/usr/lib/debug"

struct resolve_core *resolve_core_open(const char *file, const char *program, const char *sysroot,
				       struct resolve_lacks *lacks)
{
	struct resolve_core *core = calloc(1, sizeof(*core));
	const char *why;

	if (!core)
		return NULL;
	core->program = program;
	why = core_map_open(&core->map, file);
	resolve_lacks_note(lacks, core->map.fd, file);
	if (!why)
		why = core_map_set_root(&core->map, sysroot);
	/* that it is of another program does no harm: that one is not read */
	if (!why)
		core_map_set_program(&core->map, program);
	elf_version(EV_CURRENT);
	return core;
}

void resolve_core_close(struct resolve_core *core)
{
	if (!core)
		return;
	while (core->images) {
		struct resolve_image *image = core->images;

		core->images = image->older;
		free(image);
	}
	core_map_close(&core->map);
	free(core);
}

static bool has_root(const struct resolve_core *core)
{
	return core->map.root >= 0;
}

char *resolve_core_debug_path(const struct resolve_core *core)
{
	char *path;

	return has_root(core) && asprintf(&path, DEBUG_PATH, core->map.root) >= 0 ? path : NULL;
}

/* In memory there are none: these lie at the end of the file. */
static void forget_sections(Elf64_Ehdr *header)
{
	header->e_shoff = 0;
	header->e_shnum = header->e_shstrndx = 0;
}

/*
 * As the core has it, in the first page of the file: libdwfl then takes no other file, and code in
 * one that is lost has at least that.
 */
static void report_build_id(struct core_map *map, const struct core_segment *head,
			    Dwfl_Module *module)
{
	union {
		Elf64_Ehdr header;
		char bytes[FIRST_PAGE];
	} page;
	size_t size = head->there < sizeof(page) ? head->there : sizeof(page);
	const void *id;
	ssize_t length;
	Elf *elf;

	if (size < sizeof(page.header) || core_map_read(map, head->start, &page, size))
		return;
	forget_sections(&page.header);
	elf = elf_memory(page.bytes, size);
	length = elf ? dwelf_elf_gnu_build_id(elf, &id) : -1;
	if (length > 0)
		dwfl_module_report_build_id(module, id, (size_t)length, 0);
	elf_end(elf);
}

/* The first mapping behind those that follow this one and are of the same file. */
static size_t behind(const struct core_map *map, size_t i)
{
	const struct core_object *object = map->mapping[i].object;

	while (i < map->nr_mappings && map->mapping[i].object == object)
		i++;
	return i;
}

/* A module is from the first to the last of such mappings, as of a process. */
void resolve_core_report(struct resolve_core *core, Dwfl *dwfl)
{
	struct core_map *map = &core->map;
	uint64_t end = 0; /* of the last module: none may lie over another one */
	size_t next;

	for (size_t i = 0; i < map->nr_mappings; i = next) {
		const struct core_mapping *m = &map->mapping[i];
		Dwfl_Module *module;
		uint64_t last;

		next = behind(map, i);
		last = map->mapping[next - 1].end;
		/* what has no first page is not known to be that file */
		if (!m->object->head || m->start < end || last <= m->start)
			continue;
		module = dwfl_report_module(dwfl, m->object->path, m->start, last);
		if (module)
			report_build_id(map, m->object->head, module);
		end = last;
	}
}

int resolve_core_file(struct resolve_core *core, uint64_t address)
{
	const struct core_mapping *m = core_map_mapping(&core->map, address);

	return m ? core_map_object_fd(&core->map, m->object) : -1;
}

int resolve_core_open_file(struct resolve_core *core, uint64_t address, char **path)
{
	const struct core_mapping *m = core_map_mapping(&core->map, address);
	int fd = resolve_core_file(core, address);
	int length = 0;

	if (fd < 0)
		return core->map.no_descriptors ? -EMFILE : -ENOENT;
	fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	if (core_map_is_given(&core->map, m->object))
		length = asprintf(path, "%s", core->program);
	else if (!has_root(core))
		length = asprintf(path, "%s", m->object->path);
	else
		length = asprintf(path, "/proc/self/fd/%d/%s", core->map.root,
				  m->object->path + strspn(m->object->path, "/"));
	if (length < 0)
		*path = NULL;
	return fd;
}

/* ---- what the core has of a file ------------------------------------------------------------ */

/* Bytes from the file's first one on; 0: too many, or not from that one on. */
static uint64_t image_size(const struct core_map *map, size_t first, size_t last)
{
	uint64_t size = 0;

	for (size_t i = first; i < last && !map->mapping[first].offset; i++) {
		const struct core_mapping *m = &map->mapping[i];
		uint64_t length = m->end - m->start;

		if (length > IMAGE_MOST || m->offset > IMAGE_MOST - length)
			return 0;
		size = m->offset + length > size ? m->offset + length : size;
	}
	return size;
}

/* What the core lacks is left 0. */
static void copy_mapping(struct core_map *map, const struct core_mapping *m, char *bytes)
{
	for (uint64_t at = m->start; at < m->end; at += FIRST_PAGE) {
		uint64_t size = m->end - at < FIRST_PAGE ? m->end - at : FIRST_PAGE;

		if (core_map_has(map, at) &&
		    core_map_read(map, at, bytes + (m->offset + (at - m->start)), size))
			return;
	}
}

/*
 * Of a core with all memory: the first mapping is there to its end, where the dynamic symbols are.
 */
Elf *resolve_core_image(struct resolve_core *core, uint64_t address)
{
	struct core_map *map = &core->map;
	const struct core_mapping *m = core_map_mapping(map, address);
	struct resolve_image *image;
	size_t first, next;
	uint64_t size;

	if (!m || !core_map_has(map, m->end - 1) || !core_map_has(map, m->start))
		return NULL;
	first = (size_t)(m - map->mapping);
	next = behind(map, first);
	size = image_size(map, first, next);
	image = size >= sizeof(Elf64_Ehdr) ? calloc(1, sizeof(*image) + size) : NULL;
	if (!image)
		return NULL;
	image->older = core->images;
	core->images = image;
	for (size_t i = first; i < next; i++)
		copy_mapping(map, &map->mapping[i], image->bytes);
	forget_sections((Elf64_Ehdr *)image->bytes);
	return elf_memory(image->bytes, size);
}

/* ---- what is missing ------------------------------------------------------------------------- */

/* A library that was deleted while the process lived is nowhere: there is nothing to do. */
void resolve_core_note(struct resolve_core *core, uint64_t address, struct resolve_lacks *lacks)
{
	const struct core_mapping *m = core_map_mapping(&core->map, address);
	bool in_root = has_root(core), deleted;

	if (!m || core_map_object_fd(&core->map, m->object) >= 0 || !m->object->lost)
		return;
	mapped_file_length(m->object->path, &deleted);
	if (m->object == core->map.program)
		resolve_lacks_note_lost(&lacks->program, m->object->path,
					core_map_why_lost(&core->map, m->object), in_root);
	else if (!deleted)
		resolve_lacks_note_lost(&lacks->library, m->object->path,
					core_map_why_lost(&core->map, m->object), in_root);
}
