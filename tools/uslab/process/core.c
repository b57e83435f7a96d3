/* SPDX-License-Identifier: MIT */
/*
 * uslab/process/core.c - uslab in a core file
 *
 * Flow:       called by source.c and resident.c; calls core_map.c for the memory and symbol.c for
 *             uslab_root. In: the name of a core file; out: struct core, and a struct target by
 *             which target.c takes snapshots as of a process.
 *
 * uslab_root is found by its symbol in the files that were mapped, as in a running process. Where
 * these are gone, the data of mapped files, which the core has, is searched for its magic number.
 */
#define _GNU_SOURCE
#include "process/core.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "process/core_map.h"
#include "process/symbol.h"
#include "util.h"
#include "inspect/memory.h"

#define ROOT_SYMBOL "uslab_root"
#define MAX_SEARCHED (1ul << 30) /* bytes; a core may say that it has more */
#define MAX_ELF_FILES 4096	 /* that are searched for the symbol */
#define BLOCK 65536

static void add_root(struct core *core, uint64_t address, const char *object)
{
	uint64_t magic;

	for (unsigned int i = 0; i < core->nr_roots; i++)
		if (core->root[i].address == address)
			return;
	if (core->nr_roots < TARGET_MAX_ROOTS &&
	    !reader_read(&core->reader, address, &magic, sizeof(magic)) &&
	    magic == USLAB_ROOT_MAGIC) {
		struct target_root *root = &core->root[core->nr_roots++];

		root->address = address;
		root->left_out = !core_map_has(core->map, address);
		snprintf(root->object, sizeof(root->object), "%s", object);
	}
}

/* Was it an ELF file? */
static bool search_symbol(struct core *core, struct core_object *object)
{
	const struct core_map *map = core->map;
	int fd = core_map_object_fd(core->map, object);
	struct symbol symbol;
	int error = fd < 0 ? -ENOEXEC : symbol_in_file(fd, ROOT_SYMBOL, &symbol);

	if (error)
		return error != -ENOEXEC;
	for (size_t i = 0; i < map->nr_mappings; i++) {
		const struct core_mapping *m = &map->mapping[i];

		if (m->object == object && m->offset == symbol.load_offset)
			add_root(core, m->start - symbol.load_vaddr + symbol.value, object->path);
	}
	return true;
}

static void search_symbols(struct core *core)
{
	struct core_map *map = core->map;
	unsigned int elf_files = 0;
	size_t i;

	for (i = 0; i < map->nr_objects && elf_files < MAX_ELF_FILES; i++)
		elf_files += search_symbol(core, &map->object[i]);
	map->dropped += map->nr_objects - i;
}

static void search_block(struct core *core, uint64_t start, const uint64_t *block, size_t words,
			 const char *object)
{
	for (size_t i = 0; i < words; i++)
		if (block[i] == USLAB_ROOT_MAGIC)
			add_root(core, start + i * sizeof(*block), object);
}

/*
 * The file whose data the segment is: mapped there, or right before it (what is zero at the start).
 */
static const char *data_of(const struct core_map *map, const struct core_segment *s)
{
	const struct core_mapping *m = core_map_mapping(map, s->start);

	if (!m)
		m = core_map_mapping(map, s->start - 1);
	return m ? m->object->path : NULL;
}

static void search_data(struct core *core, const struct core_segment *s, uint64_t *block,
			uint64_t *budget)
{
	const char *object = data_of(core->map, s);
	uint64_t size = s->there < *budget ? s->there : *budget;

	if (!object)
		return;
	*budget -= size;
	for (uint64_t at = 0; at < size; at += BLOCK) {
		size_t part = size - at < BLOCK ? size - at : BLOCK;

		if (reader_read(&core->reader, s->start + at, block, part))
			return;
		search_block(core, s->start + at, block, part / sizeof(*block), object);
	}
}

static int find_roots(struct core *core)
{
	const struct core_map *map = core->map;
	uint64_t budget = MAX_SEARCHED;
	uint64_t *block;

	search_symbols(core);
	if (core->nr_roots)
		return 0;
	block = malloc(BLOCK);
	if (!block)
		return -ENOMEM;
	for (size_t i = 0; i < map->nr_segments; i++)
		if (map->segment[i].writable) /* instructions have the number in them, too */
			search_data(core, &map->segment[i], block, &budget);
	free(block);
	return 0;
}

/* ---- what went wrong ------------------------------------------------------------------------- */

static bool is_elf(const struct core *core, const struct core_object *object)
{
	char magic[SELFMAG];

	return object->head &&
	       !reader_read(&core->reader, object->head->start, magic, sizeof(magic)) &&
	       !memcmp(magic, ELFMAG, sizeof(magic));
}

/* The program, or else a library, that cannot be read; NULL: none that is known. */
static const struct core_object *lost_object(const struct core *core)
{
	const struct core_map *map = core->map;

	if (map->program && map->program->lost)
		return map->program;
	for (size_t i = 0; i < map->nr_objects; i++)
		if (map->object[i].lost && is_elf(core, &map->object[i]))
			return &map->object[i];
	return NULL;
}

/* If that is not where it should be. */
static const char *what_to_name(const struct core_map *map, const struct core_object *lost)
{
	if (map->root >= 0)
		return lost == map->program ? ": name the program's file if it is elsewhere" : "";
	return lost == map->program ? ": name the program's file, or the folder of all files by "
				      "--sysroot, if they are elsewhere"
				    : ": name the folder of all files by --sysroot if they are "
				      "elsewhere";
}

static int fail_without_uslab(const struct core *core, const char *command, const char *file)
{
	const struct core_map *map = core->map;
	const char *program = core->program[0] ? core->program : "?";
	const struct core_object *lost;

	if (map->missing && !map->nr_mappings)
		return util_fail(command,
				 "%s is truncated: %llu bytes are missing, among them which files "
				 "were mapped (gcore and gdb write that last)",
				 file, (unsigned long long)map->missing);
	if (map->missing)
		return util_fail(
			command,
			"%s is truncated (%llu bytes are missing), and what is there has no "
			"uslab; its data may be among what is missing",
			file, (unsigned long long)map->missing);
	if (!map->nr_mappings)
		return util_fail(command,
				 "%s does not say which files were mapped (no NT_FILE); the kernel "
				 "leaves that out where it is larger than "
				 "kernel.core_file_note_size_limit, or 4 MiB",
				 file);
	if (map->no_descriptors)
		return util_fail(command,
				 "no uslab found in %s (%s): too few file descriptors (ulimit -n) "
				 "to open the files that were mapped",
				 file, program);
	if (map->dropped)
		return util_fail(command,
				 "no uslab found in %s (%s); %llu of its mapped files were not "
				 "looked at: it names too many, or is damaged",
				 file, program, (unsigned long long)map->dropped);
	lost = lost_object(core);
	if (lost)
		return util_fail(command, "no uslab found in %s (%s); %s %s%s", file, program,
				 lost->path, core_map_why_lost(map, lost), what_to_name(map, lost));
	return util_fail(command, "the program of %s (%s) did not use uslab", file, program);
}

static int open_map(struct core_map *map, const char *command, const char *file,
		    const char *program, const char *sysroot)
{
	const char *why = core_map_open(map, file);

	if (why)
		return util_fail(command, "cannot read %s: %s", file, why);
	why = core_map_set_root(map, sysroot);
	if (why)
		return util_fail(command, "--sysroot=%s: %s", sysroot, why);
	why = core_map_set_program(map, program);
	return why ? util_fail(command, "cannot read %s: %s", file, why) : EXIT_OK;
}

static int find_uslab(struct core *core, const char *command, const char *file)
{
	core->pid = core->map->pid;
	memcpy(core->program, core->map->name, sizeof(core->program));
	if (find_roots(core))
		return util_fail(command, "out of memory");
	if (!core->nr_roots)
		return fail_without_uslab(core, command, file);
	if (core->map->missing)
		util_warn(command, "%s is truncated: %llu bytes are missing, and not counted here",
			  file, (unsigned long long)core->map->missing);
	if (core->map->no_descriptors)
		util_warn(command, "too few file descriptors (ulimit -n) to open the files that "
				   "were mapped: names that are in them are missing");
	return EXIT_OK;
}

int core_open(struct core **core, const char *command, const char *file, const char *program,
	      const char *sysroot)
{
	struct core *opened = calloc(1, sizeof(*opened));
	int status;

	*core = NULL;
	if (opened)
		opened->map = calloc(1, sizeof(*opened->map));
	if (!opened || !opened->map) {
		free(opened);
		return util_fail(command, "out of memory");
	}
	opened->file = file;
	opened->map->fd = -1;
	opened->reader =
		(struct reader){ .read = core_map_read, .ctx = opened->map, .still = true };
	status = open_map(opened->map, command, file, program, sysroot);
	if (status == EXIT_OK)
		status = find_uslab(opened, command, file);
	if (status == EXIT_OK)
		*core = opened;
	else
		core_close(opened);
	return status;
}

void core_close(struct core *core)
{
	if (!core)
		return;
	core_map_close(core->map);
	free(core->map);
	free(core);
}

/* Of one segment: holes are pages that were never touched. */
static uint64_t data_bytes(int fd, off_t at, off_t end)
{
	uint64_t bytes = 0;

	while (at < end) {
		off_t data = lseek(fd, at, SEEK_DATA);
		off_t hole = data < 0 ? -1 : lseek(fd, data, SEEK_HOLE);

		if (hole <= data || data >= end)
			break;
		hole = hole < end ? hole : end;
		bytes += (uint64_t)(hole - data);
		at = hole;
	}
	return bytes;
}

uint64_t core_bytes(const struct core *core)
{
	const struct core_map *map = core->map;
	uint64_t bytes = 0;

	for (size_t i = 0; i < map->nr_segments; i++) {
		const struct core_segment *s = &map->segment[i];

		bytes += data_bytes(map->fd, (off_t)s->offset, (off_t)(s->offset + s->there));
	}
	return bytes;
}

/* Of one segment, as far as it lies between the two addresses. */
static void segment_states(const struct core *core, const struct core_segment *s, uint64_t start,
			   uint64_t end, uint8_t *state)
{
	uint64_t from = start > s->start ? start : s->start;
	uint64_t to = end < s->start + s->there ? end : s->start + s->there;

	while (from < to) {
		off_t at = (off_t)(s->offset + (from - s->start));
		off_t data = lseek(core->map->fd, at, SEEK_DATA);
		off_t hole = data < 0 ? -1 : lseek(core->map->fd, data, SEEK_HOLE);
		uint64_t first;

		if (hole <= data)
			return;
		first = from + (uint64_t)(data - at);
		from += (uint64_t)(hole - at);
		for (; first < from && first < to; first += PAGE_SIZE)
			state[(first - start) / PAGE_SIZE] = MEMORY_RESIDENT;
	}
}

/* The first segment that ends behind an address. */
static size_t find_segment(const struct core_map *map, uint64_t addr)
{
	size_t low = 0;
	size_t high = map->nr_segments;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (map->segment[middle].end <= addr)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

int core_states(void *ctx, uint64_t addr, size_t nr, uint8_t *state)
{
	const struct core *core = ctx;

	memset(state, 0, nr);
	for (size_t i = find_segment(core->map, addr); i < core->map->nr_segments; i++) {
		const struct core_segment *s = &core->map->segment[i];

		if (s->start >= addr + nr * PAGE_SIZE)
			break;
		segment_states(core, s, addr, addr + nr * PAGE_SIZE, state);
	}
	return 0;
}

void core_target(struct core *core, const char *command, struct target *t)
{
	*t = (struct target){
		.command = command, .core = core->file, .pid = core->pid, .nr_roots = core->nr_roots
	};
	remote_open(&t->remote, core->pid);
	remote_close(&t->remote); /* its own ways of reading are not to be used */
	t->remote.reader = core->reader;
	memcpy(t->program, core->program, sizeof(t->program));
	memcpy(t->root, core->root, sizeof(t->root));
}
