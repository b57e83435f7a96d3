/* SPDX-License-Identifier: MIT */
/*
 * uslab/process/core_map.c - the memory that a core file describes
 *
 * Invariants: segments and mappings are sorted by address, each within the file; nothing in the
 *             file is trusted. One mapped file is open at a time: there may be more of them than
 *             descriptors.
 * Flow:       called by core.c and symbols/; calls mapped_file.c and sysroot.c; called back through
 *             reader.read. In: a core file; out: what was mapped where, and the bytes at an
 *             address.
 *
 * The kernel leaves out of a core what it could read from a file again, but for the first page of
 * each ELF object, by which a file is recognised as the one that was mapped; and memory that was
 * never written to.
 */
#define _GNU_SOURCE
#include "process/core_map.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/procfs.h>
#include <sys/stat.h>
#include <unistd.h>

#include "process/mapped_file.h"
#include "process/sysroot.h"
#include "util.h"

#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX_MAPPINGS (1u << 20) /* the kernel allows 65530 by default */
#define MAX_NOTES (256ul << 20) /* bytes, of all together */
#define LOOKED_BACK 64		/* mappings of a file mostly follow one another */
#define COMPARED 4096		/* bytes at the start of a mapped file */
#define NO_MEMORY "out of memory"
#define DAMAGED "it is damaged, or no core file"

/* Our own ELF header, a symbol of the linker: it has the machine. */
extern const Elf64_Ehdr __ehdr_start __attribute__((visibility("hidden")));

/* ---- the file -------------------------------------------------------------------------------- */

/* All of it or nothing. */
static bool read_at(int fd, uint64_t offset, void *buf, size_t len)
{
	char *to = buf;

	while (len) {
		ssize_t n = offset > INT64_MAX ? 0 : pread(fd, to, len, (off_t)offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		to += n;
		offset += (uint64_t)n;
		len -= (size_t)n;
	}
	return true;
}

static uint64_t size_of(int fd)
{
	struct stat st;

	return fstat(fd, &st) ? 0 : (uint64_t)st.st_size;
}

/* The kind of a file that is no ELF file. */
static const char *why_no_elf(const unsigned char *start)
{
	static const struct {
		const char *magic;
		size_t length;
	} compressed[] = {
		{ "\x28\xb5\x2f\xfd", 4 },
		{ "\x04\x22\x4d\x18", 4 },
		{ "\xfd"
		  "7zXZ",
		  5 },
		{ "\x1f\x8b", 2 },
		{ "BZh", 3 },
	};

	for (size_t i = 0; i < sizeof(compressed) / sizeof(compressed[0]); i++)
		if (!memcmp(start, compressed[i].magic, compressed[i].length))
			return "it is compressed; uncompress it first (coredumpctl dump does)";
	return "it is no core file";
}

/* NULL, or why this header is none of ours. */
static const char *check_header(const Elf64_Ehdr *header)
{
	if (memcmp(header->e_ident, ELFMAG, SELFMAG) != 0)
		return why_no_elf(header->e_ident);
	if (header->e_ident[EI_DATA] != __ehdr_start.e_ident[EI_DATA])
		return "it is of another kind of machine";
	if (header->e_type != ET_CORE)
		return "it is no core file, but a program or library";
	if (header->e_ident[EI_CLASS] != ELFCLASS64)
		return "it is of a 32-bit program; uslab is for 64 bits";
	if (header->e_machine != __ehdr_start.e_machine)
		return "it is of another kind of machine";
	return header->e_phentsize == sizeof(Elf64_Phdr) ? NULL : DAMAGED;
}

/* More program headers than fit into 16 bits are counted in the first section header. */
static bool read_count(const struct core_map *map, const Elf64_Ehdr *header, uint64_t *count)
{
	Elf64_Shdr section;

	*count = header->e_phnum;
	if (*count == PN_XNUM) {
		if (!header->e_shoff ||
		    !read_at(map->fd, header->e_shoff, &section, sizeof(section)))
			return false;
		*count = section.sh_info;
	}
	return *count <= MAX_MAPPINGS && header->e_phoff <= map->size &&
	       *count * sizeof(Elf64_Phdr) <= map->size - header->e_phoff;
}

/* ---- segments -------------------------------------------------------------------------------- */

static int by_start(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a;
	uint64_t right = *(const uint64_t *)b;

	return left < right ? -1 : left > right;
}

static void add_segment(struct core_map *map, const Elf64_Phdr *header)
{
	uint64_t rest = header->p_offset < map->size ? map->size - header->p_offset : 0;
	struct core_segment s = {
		.start = header->p_vaddr,
		.end = header->p_vaddr + header->p_memsz,
		.offset = header->p_offset,
		.dumped = MIN(header->p_filesz, header->p_memsz),
		.writable = header->p_flags & PF_W,
		.unwritten = !header->p_filesz && header->p_flags & PF_R,
	};

	if (s.end <= s.start)
		return;
	s.there = MIN(s.dumped, rest);
	map->missing += s.dumped - s.there;
	map->segment[map->nr_segments++] = s;
}

static int by_offset(const void *a, const void *b)
{
	const struct core_segment *left = a;
	const struct core_segment *right = b;

	return left->offset < right->offset ? -1 : left->offset > right->offset;
}

/*
 * Sorts segments by their place in the file, or by address, and drops what lies over one before:
 * the kernel writes no such ones, and a million could name the same bytes.
 */
static void drop_overlapping(struct core_map *map, bool in_file)
{
	size_t count = map->nr_segments;
	uint64_t end = 0;

	qsort(map->segment, count, sizeof(*map->segment), in_file ? by_offset : by_start);
	map->nr_segments = 0;
	for (size_t i = 0; i < count; i++) {
		struct core_segment s = map->segment[i];
		uint64_t start = in_file ? s.offset : s.start;
		uint64_t size = in_file ? s.there : s.end - s.start;

		if (size && start < end)
			continue;
		if (size)
			end = start + size;
		map->segment[map->nr_segments++] = s;
	}
}

/*
 * The last of count elements of that size, sorted by their first field, that
 * starts at or before addr.
 */
static const void *find_before(const void *array, size_t count, size_t size, uint64_t addr)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (*(const uint64_t *)((const char *)array + middle * size) <= addr)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? (const char *)array + (low - 1) * size : NULL;
}

static const struct core_segment *find_segment(const struct core_map *map, uint64_t addr)
{
	const struct core_segment *s =
		find_before(map->segment, map->nr_segments, sizeof(*s), addr);

	return s && addr < s->end ? s : NULL;
}

const struct core_mapping *core_map_mapping(const struct core_map *map, uint64_t addr)
{
	const struct core_mapping *m =
		find_before(map->mapping, map->nr_mappings, sizeof(*m), addr);

	return m && addr < m->end ? m : NULL;
}

bool core_map_has(const struct core_map *map, uint64_t addr)
{
	const struct core_segment *s = find_segment(map, addr);

	return s && addr - s->start < s->dumped;
}

/* ---- notes ----------------------------------------------------------------------------------- */

/* The object of that name, which must stay valid; a new one if it is not among the last ones. */
static struct core_object *add_object(struct core_map *map, const char *name)
{
	size_t back = MIN(map->nr_objects, LOOKED_BACK);
	struct core_object *object = map->object + map->nr_objects;

	for (size_t i = 1; i <= back; i++)
		if (!strcmp((object - i)->path, name))
			return object - i;
	map->nr_objects++;
	object->path = name;
	return object;
}

/* Addresses of mapped files, then their names one after the other. */
static const char *read_files(struct core_map *map, const uint64_t *words, size_t size)
{
	uint64_t count = size >= 16 ? words[0] : 0;
	uint64_t unit = size >= 16 ? words[1] : 0;
	const char *name, *end = (const char *)words + size;

	if (map->names || size < 16)
		return NULL; /* there is one such note */
	if (count > (size - 16) / 24)
		return DAMAGED;
	name = (const char *)(words + 2 + count * 3);
	map->dropped = count;
	count = MIN(count, MAX_MAPPINGS);
	map->names = malloc((size_t)(end - name) + 1);
	map->mapping = calloc(count + 1, sizeof(*map->mapping));
	map->object = calloc(count + 1, sizeof(*map->object));
	if (!map->names || !map->mapping || !map->object)
		return NO_MEMORY;
	memcpy(map->names, name, (size_t)(end - name));
	map->names[end - name] = '\0';
	end = map->names + (end - name);
	name = map->names;
	for (uint64_t i = 0; i < count && name < end; i++) {
		const uint64_t *word = words + 2 + i * 3;

		map->mapping[map->nr_mappings++] = (struct core_mapping){ word[0], word[1],
									  word[2] * unit,
									  add_object(map, name) };
		name += strlen(name) + 1;
	}
	map->dropped -= map->nr_mappings;
	return NULL;
}

static void read_process(struct core_map *map, const void *desc, size_t size)
{
	struct elf_prpsinfo info;

	if (size < sizeof(info))
		return;
	memcpy(&info, desc, sizeof(info));
	map->pid = info.pr_pid;
	memcpy(map->name, info.pr_fname, sizeof(info.pr_fname));
	util_make_line(map->name);
}

static void read_auxv(struct core_map *map, const uint64_t *words, size_t size)
{
	for (size_t i = 0; (i + 2) * sizeof(*words) <= size; i += 2)
		if (words[i] == AT_ENTRY)
			map->entry = words[i + 1];
}

/* notes: aligned as malloc() does, like each of the notes in it. */
static const char *read_notes(struct core_map *map, const char *notes, size_t size)
{
	const char *why = NULL;

	while (!why && size >= sizeof(Elf64_Nhdr)) {
		const Elf64_Nhdr *note = (const Elf64_Nhdr *)notes;
		uint64_t name = (note->n_namesz + 3ull) & ~3ull;
		uint64_t desc = sizeof(*note) + name;
		uint64_t next = desc + ((note->n_descsz + 3ull) & ~3ull);
		uint64_t *words;

		if (desc + note->n_descsz > size)
			break; /* cut */
		words = malloc(note->n_descsz + 8ul);
		if (!words)
			return NO_MEMORY;
		memcpy(words, notes + desc, note->n_descsz);
		if (note->n_type == NT_FILE)
			why = read_files(map, words, note->n_descsz);
		else if (note->n_type == NT_PRPSINFO)
			read_process(map, words, note->n_descsz);
		else if (note->n_type == NT_AUXV)
			read_auxv(map, words, note->n_descsz);
		free(words);
		next = next < size ? next : size;
		notes += next;
		size -= next;
	}
	return why;
}

static const char *read_note_segment(struct core_map *map, const Elf64_Phdr *header)
{
	uint64_t there = header->p_offset < map->size ? map->size - header->p_offset : 0;
	size_t size = header->p_filesz < there ? header->p_filesz : there;
	const char *why = NULL;
	char *notes;

	map->missing += header->p_filesz - size;
	if (size > MAX_NOTES - map->notes_size)
		return DAMAGED;
	map->notes_size += size;
	notes = malloc(size + 1);
	if (!notes)
		return NO_MEMORY;
	if (read_at(map->fd, header->p_offset, notes, size))
		why = read_notes(map, notes, size);
	free(notes);
	return why;
}

/* ---- opening --------------------------------------------------------------------------------- */

static const char *read_headers(struct core_map *map)
{
	Elf64_Phdr *headers = NULL;
	const char *why;
	Elf64_Ehdr header;
	uint64_t count;

	if (!read_at(map->fd, 0, &header, sizeof(header)))
		return "it is no core file: too short";
	why = check_header(&header);
	if (why)
		return why;
	if (!read_count(map, &header, &count) || !count)
		return DAMAGED;
	headers = calloc(count, sizeof(*headers));
	map->segment = calloc(count, sizeof(*map->segment));
	if (!headers || !map->segment)
		why = NO_MEMORY;
	else if (!read_at(map->fd, header.e_phoff, headers, count * sizeof(*headers)))
		why = DAMAGED;
	for (uint64_t i = 0; !why && i < count; i++) {
		if (headers[i].p_type == PT_LOAD)
			add_segment(map, &headers[i]);
		else if (headers[i].p_type == PT_NOTE)
			why = read_note_segment(map, &headers[i]);
	}
	free(headers);
	return why;
}

/* Sorts mappings, and finds what the core has of the first bytes of each file. */
static void sort_mappings(struct core_map *map)
{
	if (map->mapping)
		qsort(map->mapping, map->nr_mappings, sizeof(*map->mapping), by_start);
	for (size_t i = 0; i < map->nr_mappings; i++) {
		const struct core_mapping *m = &map->mapping[i];
		const struct core_segment *s = find_segment(map, m->start);

		if (!m->offset && !m->object->head && s && s->start == m->start && s->there)
			m->object->head = s;
	}
}

const char *core_map_open(struct core_map *map, const char *file)
{
	const char *why;

	*map = (struct core_map){ .fd = mapped_file_open_regular(file), .root = -1 };
	if (map->fd < 0)
		return map->fd == -ENXIO ? "it is no regular file" : strerror(-map->fd);
	map->size = size_of(map->fd);
	why = read_headers(map);
	if (why)
		return why;
	drop_overlapping(map, true);
	drop_overlapping(map, false);
	sort_mappings(map);
	return NULL;
}

static void close_object(struct core_map *map)
{
	if (map->opened)
		close(map->opened_fd);
	map->opened = NULL;
}

void core_map_close(struct core_map *map)
{
	close_object(map);
	if (map->fd >= 0)
		close(map->fd);
	if (map->root >= 0)
		close(map->root);
	free(map->segment);
	free(map->mapping);
	free(map->object);
	free(map->names);
}

/* ---- mapped files ---------------------------------------------------------------------------- */

/* Does it begin with what the core has of the object? What the core lacks counts as equal. */
static bool is_same_file(const struct core_map *map, const struct core_object *object, int fd)
{
	char in_core[COMPARED], in_file[COMPARED];
	const struct core_segment *s = object->head;
	uint64_t size = s ? MIN(COMPARED, s->there) : 0;

	return !s || (read_at(map->fd, s->offset, in_core, size) && read_at(fd, 0, in_file, size) &&
		      !memcmp(in_core, in_file, size));
}

const char *core_map_set_root(struct core_map *map, const char *folder)
{
	if (!folder)
		return NULL;
	map->root = sysroot_open(folder);
	return map->root < 0 ? strerror(-map->root) : NULL;
}

bool core_map_is_given(const struct core_map *map, const struct core_object *object)
{
	return object == map->program && map->program_file;
}

const char *core_map_why_lost(const struct core_map *map, const struct core_object *object)
{
	if (map->root < 0 || core_map_is_given(map, object))
		return object->changed ? "has changed since" : "cannot be opened";
	return object->changed ? "is another file under --sysroot"
			       : "cannot be opened under --sysroot";
}

static int open_file(const struct core_map *map, const struct core_object *object)
{
	if (core_map_is_given(map, object))
		return mapped_file_open_regular(map->program_file);
	return map->root < 0 ? mapped_file_open_regular(object->path)
			     : sysroot_open_regular(map->root, object->path);
}

/* As core_map_object_fd(), of one that is not open. */
static int open_object(struct core_map *map, struct core_object *object)
{
	int fd = open_file(map, object);

	if (fd == -EMFILE || fd == -ENFILE) {
		map->no_descriptors = true;
		return -1;
	}
	/* those of /proc are of no size */
	if (fd >= 0 && (!size_of(fd) || !is_same_file(map, object, fd))) {
		object->changed = true;
		close(fd);
		fd = -1;
	}
	object->lost = fd < 0;
	return fd < 0 ? -1 : fd;
}

int core_map_object_fd(struct core_map *map, struct core_object *object)
{
	int fd;

	if (map->opened == object)
		return map->opened_fd;
	if (object->lost)
		return -1;
	close_object(map);
	fd = open_object(map, object);
	if (fd >= 0) {
		map->opened = object;
		map->opened_fd = fd;
	}
	return fd;
}

const char *core_map_set_program(struct core_map *map, const char *file)
{
	const struct core_mapping *entry = core_map_mapping(map, map->entry);

	map->program = entry ? entry->object : NULL;
	map->program_file = file;
	if (!file)
		return NULL;
	if (!map->program)
		return "it does not say which program it is of";
	if (core_map_object_fd(map, map->program) >= 0)
		return NULL;
	return map->program->changed ? "it is of another program than the one given"
				     : "the program given cannot be opened";
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Bytes that the core left out: of a mapped file, or zero. 0: there are none. */
static size_t read_left_out(struct core_map *map, const struct core_segment *s, uint64_t addr,
			    void *buf, size_t len)
{
	const struct core_mapping *m = core_map_mapping(map, addr);
	ssize_t n;
	int fd;

	if (!m && s->unwritten) {
		memset(buf, 0, len);
		return len;
	}
	fd = m ? core_map_object_fd(map, m->object) : -1;
	if (fd < 0)
		return 0;
	n = pread(fd, buf, MIN(len, m->end - addr), (off_t)(m->offset + (addr - m->start)));
	return n > 0 ? (size_t)n : 0;
}

/* Bytes read from one segment, as many as go together; 0: they are not to be had. */
static size_t read_segment(struct core_map *map, const struct core_segment *s, uint64_t addr,
			   void *buf, size_t len)
{
	uint64_t inside = addr - s->start;

	len = MIN(len, s->end - addr);
	if (inside >= s->dumped)
		return read_left_out(map, s, addr, buf, len);
	if (inside >= s->there)
		return 0;
	len = MIN(len, s->there - inside);
	return read_at(map->fd, s->offset + inside, buf, len) ? len : 0;
}

int core_map_read(void *ctx, uint64_t addr, void *buf, size_t len)
{
	struct core_map *map = ctx;
	char *to = buf;

	while (len) {
		const struct core_segment *s = find_segment(map, addr);
		size_t n = s ? read_segment(map, s, addr, to, len) : 0;

		if (!n)
			return -EFAULT;
		addr += n;
		to += n;
		len -= n;
	}
	return 0;
}
