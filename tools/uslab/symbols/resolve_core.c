/* SPDX-License-Identifier: MIT */
/*
 * uslab/symbols/resolve_core.c - the files of a core, as libdwfl is to see them
 *
 * Data:       struct resolve_core: the core's own list of mapped files, by which each is opened.
 * Flow:       called by resolve.c; calls process/core_map.c, process/mapped_file.c,
 *             resolve_lacks.c and libdwfl. In: a core, and where its files are; out: modules.
 *
 * libdwfl reads a core by itself, and opens the files at the paths that the core names. Where these
 * lie in another folder it is not to see those paths: it gets the list of files, as of a process,
 * and asks for each when code in it is to be named.
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
	if (!why && !sysroot) {
		elf_version(EV_CURRENT);
		core->elf = elf_begin(core->map.fd, ELF_C_READ_MMAP, NULL);
	}
	return core;
}

void resolve_core_close(struct resolve_core *core)
{
	if (!core)
		return;
	if (core->elf)
		elf_end(core->elf);
	core_map_close(&core->map);
	free(core);
}

bool resolve_core_has_root(const struct resolve_core *core)
{
	return core->map.root >= 0;
}

char *resolve_core_debug_path(const struct resolve_core *core)
{
	char *path;

	return resolve_core_has_root(core) && asprintf(&path, DEBUG_PATH, core->map.root) >= 0
		       ? path
		       : NULL;
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
	page.header.e_shoff = 0; /* these lie at the end of the file */
	page.header.e_shnum = page.header.e_shstrndx = 0;
	elf = elf_memory(page.bytes, size);
	length = elf ? dwelf_elf_gnu_build_id(elf, &id) : -1;
	if (length > 0)
		dwfl_module_report_build_id(module, id, (size_t)length, 0);
	elf_end(elf);
}

/* From the first to the last of mappings of one file that follow each other, as of a process. */
static void report_files(struct core_map *map, Dwfl *dwfl)
{
	uint64_t end = 0; /* of the last module: none may lie over another one */
	size_t next;

	for (size_t i = 0; i < map->nr_mappings; i = next) {
		const struct core_mapping *m = &map->mapping[i];
		uint64_t last = m->end;
		Dwfl_Module *module;

		for (next = i + 1;
		     next < map->nr_mappings && map->mapping[next].object == m->object; next++)
			last = map->mapping[next].end > last ? map->mapping[next].end : last;
		/* what has no first page is not known to be that file */
		if (!m->object->head || m->start < end || last <= m->start)
			continue;
		module = dwfl_report_module(dwfl, m->object->path, m->start, last);
		if (module)
			report_build_id(map, m->object->head, module);
		end = last;
	}
}

void resolve_core_report(struct resolve_core *core, Dwfl *dwfl)
{
	if (resolve_core_has_root(core))
		report_files(&core->map, dwfl);
	else if (core->elf)
		dwfl_core_file_report(dwfl, core->elf, core->program);
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
	else
		length = asprintf(path, "/proc/self/fd/%d/%s", core->map.root,
				  m->object->path + strspn(m->object->path, "/"));
	if (length < 0)
		*path = NULL;
	return fd;
}

/* A library that was deleted while the process lived is nowhere: there is nothing to do. */
void resolve_core_note(struct resolve_core *core, uint64_t address, struct resolve_lacks *lacks)
{
	const struct core_mapping *m = core_map_mapping(&core->map, address);
	bool in_root = resolve_core_has_root(core), deleted;

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
