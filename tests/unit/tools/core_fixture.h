/* SPDX-License-Identifier: MIT */
/*
 * unit/tools/core_fixture.h - a core file of this process, written as the kernel does
 *
 * Memory that a file has is left out, but for the first page of each file, and for core_whole.
 * Mappings of more than 64 MiB (a sanitizer's) are left out as well.
 */
#ifndef UNIT_TOOLS_CORE_FIXTURE_H
#define UNIT_TOOLS_CORE_FIXTURE_H

#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/procfs.h>
#include <sys/uio.h>
#include <unistd.h>
#include <cmocka.h>

#define CORE_MAX 2000	       /* mappings */
#define CORE_NOTES (256 << 10) /* bytes */
#define CORE_NAME "a\nprogram" /* not all of it can be printed */

extern const Elf64_Ehdr __ehdr_start __attribute__((visibility("hidden")));

static const char *core_whole; /* path of a file all of whose memory is written; NULL: none */

struct core_line {
	uint64_t start;
	uint64_t end;
	uint64_t offset;
	uint64_t written; /* KiB */
	char access[5];
	char path[4096];
};

struct core_file {
	Elf64_Ehdr header;
	Elf64_Phdr segment[1 + CORE_MAX]; /* the notes first */
	char notes[CORE_NOTES];
	size_t notes_size;
	struct core_line line[CORE_MAX];
	unsigned int nr_lines;
	char path[64];
};

static inline void core_read_lines(struct core_file *c)
{
	FILE *maps = fopen("/proc/self/smaps", "r");
	struct core_line *line = NULL;
	char text[8192];

	assert_non_null(maps);
	while (fgets(text, sizeof(text), maps)) {
		struct core_line next = { .path = "" };

		if (sscanf(text, "%lx-%lx %4s %lx %*s %*u %4095[^\n]", &next.start, &next.end,
			   next.access, &next.offset, next.path) >= 4) {
			assert_true(c->nr_lines < CORE_MAX);
			line = &c->line[c->nr_lines++];
			*line = next;
		} else if (line) {
			sscanf(text, "Anonymous: %lu", &line->written);
		}
	}
	fclose(maps);
}

static inline void core_add_note(struct core_file *c, uint32_t type, const void *desc, size_t size)
{
	Elf64_Nhdr note = { 5, (uint32_t)size, type };
	char *to = c->notes + c->notes_size;

	assert_true(c->notes_size + size + 64 < CORE_NOTES);
	memcpy(to, &note, sizeof(note));
	memcpy(to + sizeof(note), "CORE\0\0\0", 8);
	memcpy(to + sizeof(note) + 8, desc, size);
	c->notes_size += sizeof(note) + 8 + ((size + 3) & ~3ul);
}

static inline void core_add_files(struct core_file *c)
{
	static uint64_t words[CORE_NOTES / 8];
	uint64_t count = 0;
	char *name;

	for (unsigned int i = 0; i < c->nr_lines; i++)
		count += c->line[i].path[0] == '/';
	words[0] = count;
	words[1] = 4096;
	name = (char *)(words + 2 + count * 3);
	count = 0;
	for (unsigned int i = 0; i < c->nr_lines; i++) {
		const struct core_line *line = &c->line[i];

		if (line->path[0] != '/')
			continue;
		words[2 + count * 3] = line->start;
		words[3 + count * 3] = line->end;
		words[4 + count++ * 3] = line->offset / 4096;
		name = stpcpy(name, line->path) + 1;
	}
	core_add_note(c, NT_FILE, words, (size_t)(name - (char *)words));
}

static inline void core_add_notes(struct core_file *c)
{
	struct elf_prpsinfo info = { .pr_pid = getpid(), .pr_fname = CORE_NAME };
	uint64_t auxv[] = { AT_PAGESZ, 4096, AT_ENTRY, getauxval(AT_ENTRY), AT_NULL, 0 };

	core_add_note(c, NT_PRPSINFO, &info, sizeof(info));
	core_add_note(c, NT_AUXV, auxv, sizeof(auxv));
	core_add_files(c);
}

/* What is larger is left out; what uslab has is no larger: it takes 1 MiB for each possible CPU. */
static inline uint64_t core_large(void)
{
	return (64ul + (unsigned long)sysconf(_SC_NPROCESSORS_CONF)) << 20;
}

/* How much of a mapping is written into the core. */
static inline uint64_t core_dumped(const struct core_line *line)
{
	uint64_t size = line->end - line->start;

	if (line->written || (core_whole && !strcmp(line->path, core_whole)))
		return size > core_large() ? 0 : size;
	return line->path[0] == '/' && !line->offset ? 4096 : 0;
}

static inline uint32_t core_flags(const struct core_line *line)
{
	return (line->access[0] == 'r' ? PF_R : 0) | (line->access[1] == 'w' ? PF_W : 0) |
	       (line->access[2] == 'x' ? PF_X : 0);
}

static inline void core_write_memory(FILE *file, uint64_t start, uint64_t size)
{
	char page[4096]; /* not static: its copy of the root would be found in the program's data */

	for (uint64_t at = 0; at < size; at += sizeof(page)) {
		struct iovec to = { page, sizeof(page) };
		struct iovec from = { (void *)(start + at), sizeof(page) };

		memset(page, 0, sizeof(page));
		process_vm_readv(getpid(), &to, 1, &from, 1, 0); /* guard pages stay zero */
		assert_int_equal(fwrite(page, sizeof(page), 1, file), 1);
	}
}

static inline void core_fill(struct core_file *c)
{
	uint64_t offset = sizeof(c->header) + sizeof(c->segment);

	memset(c, 0, sizeof(*c));
	core_read_lines(c);
	core_add_notes(c);
	c->header = __ehdr_start; /* class, byte order, machine */
	c->header.e_type = ET_CORE;
	c->header.e_phoff = sizeof(c->header);
	c->header.e_phentsize = sizeof(Elf64_Phdr);
	c->header.e_phnum = (uint16_t)(c->nr_lines + 1);
	c->header.e_shnum = 0;
	c->segment[0] =
		(Elf64_Phdr){ .p_type = PT_NOTE, .p_offset = offset, .p_filesz = c->notes_size };
	offset += CORE_NOTES;
	for (unsigned int i = 0; i < c->nr_lines; i++) {
		const struct core_line *line = &c->line[i];

		c->segment[i + 1] = (Elf64_Phdr){ .p_type = PT_LOAD,
						  .p_offset = offset,
						  .p_flags = core_flags(line),
						  .p_vaddr = line->start,
						  .p_memsz = line->end - line->start,
						  .p_filesz = core_dumped(line) };
		offset += core_dumped(line);
	}
}

/*
 * In the notes that file has another name: that of folder/name, with slashes between until it is as
 * long.
 */
static inline void core_rename(struct core_file *c, const char *path, const char *folder,
			       const char *name)
{
	size_t length = strlen(path), kept = strlen(folder) + strlen(name);
	char *at, *end = c->notes + c->notes_size;

	assert_true(kept < length);
	for (at = c->notes; (at = memmem(at, (size_t)(end - at), path, length + 1)); at += length) {
		memset(at, '/', length);
		memcpy(at, folder, strlen(folder));
		memcpy(at + length - strlen(name), name, strlen(name));
	}
}

/* Writes headers and notes as they are in c, and this process's memory. */
static inline void core_write(struct core_file *c)
{
	FILE *file;
	int fd;

	strcpy(c->path, "/tmp/core_test.XXXXXX");
	fd = mkstemp(c->path);
	assert_true(fd >= 0);
	file = fdopen(fd, "w");
	fwrite(&c->header, sizeof(c->header), 1, file);
	fwrite(c->segment, sizeof(c->segment), 1, file);
	fwrite(c->notes, sizeof(c->notes), 1, file);
	for (unsigned int i = 0; i < c->nr_lines; i++)
		core_write_memory(file, c->line[i].start, core_dumped(&c->line[i]));
	assert_int_equal(fclose(file), 0);
}

#endif /* UNIT_TOOLS_CORE_FIXTURE_H */
