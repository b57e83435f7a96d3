/* SPDX-License-Identifier: MIT */
/*
 * os/symbol/elf.c - an ELF file, to look things up in that no loaded part of it has
 *
 * Data:       none.
 * Invariants: every offset of the file is checked against its size before it is followed.
 * Locks:      none.
 * Flow:       see elf.h; calls os/sys.h.
 */
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>

#include "os/symbol/elf.h"
#include "os/sys.h"

static const Elf64_Ehdr *header_of(const struct os_elf *elf)
{
	return (const Elf64_Ehdr *)elf->data;
}

static bool is_elf(const struct os_elf *elf)
{
	const Elf64_Ehdr *header = os_elf_part(elf, 0, sizeof(*header));

	return header && !memcmp(header->e_ident, ELFMAG, SELFMAG) &&
	       header->e_ident[EI_CLASS] == ELFCLASS64 && header->e_shentsize == sizeof(Elf64_Shdr);
}

static int map_file(struct os_elf *elf, int fd)
{
	long size = os_syscall(SYS_lseek, fd, 0l, SEEK_END);
	long address;

	if (size <= 0)
		return size < 0 ? (int)size : -ENOEXEC;
	address = os_syscall(SYS_mmap, NULL, size, PROT_READ, MAP_PRIVATE, fd, 0l);
	if (address < 0 && address > -4096)
		return (int)address;
	*elf = (struct os_elf){ (const char *)address, (size_t)size };
	return 0;
}

int os_elf_open(struct os_elf *elf, const char *path)
{
	int fd = (int)os_syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	int ret;

	if (fd < 0)
		return fd;
	ret = map_file(elf, fd);
	os_syscall(SYS_close, fd);
	if (!ret && !is_elf(elf)) {
		os_elf_close(elf);
		ret = -ENOEXEC;
	}
	return ret;
}

int os_elf_open_program(struct os_elf *elf)
{
	int ret = os_elf_open(elf, OS_ELF_PROGRAM);

	return ret ? os_elf_open(elf, OS_ELF_PROGRAM_OF_THREAD) : 0;
}

void os_elf_close(struct os_elf *elf)
{
	os_syscall(SYS_munmap, elf->data, elf->size);
}

const void *os_elf_part(const struct os_elf *elf, uint64_t offset, uint64_t size)
{
	if (offset % 8 || offset > elf->size || size > elf->size - offset)
		return NULL;
	return elf->data + offset;
}

const Elf64_Shdr *os_elf_section_at(const struct os_elf *elf, uint32_t number)
{
	const Elf64_Ehdr *header = header_of(elf);

	if (number >= header->e_shnum || header->e_shoff > elf->size)
		return NULL;
	return os_elf_part(elf, header->e_shoff + number * sizeof(Elf64_Shdr), sizeof(Elf64_Shdr));
}

const Elf64_Shdr *os_elf_section(const struct os_elf *elf, uint32_t type, const char *name)
{
	const Elf64_Ehdr *header = header_of(elf);
	const Elf64_Shdr *names = os_elf_section_at(elf, header->e_shstrndx);

	for (uint32_t i = 0; i < header->e_shnum; i++) {
		const Elf64_Shdr *section = os_elf_section_at(elf, i);

		if (section && section->sh_type == type &&
		    (!name || !strcmp(os_elf_string(elf, names, section->sh_name), name)))
			return section;
	}
	return NULL;
}

const char *os_elf_string(const struct os_elf *elf, const Elf64_Shdr *table, uint32_t offset)
{
	const char *start;

	if (!table || offset >= table->sh_size || table->sh_offset > elf->size ||
	    table->sh_size > elf->size - table->sh_offset)
		return "";
	start = elf->data + table->sh_offset;
	return memchr(start + offset, '\0', table->sh_size - offset) ? start + offset : "";
}
