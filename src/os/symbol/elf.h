/* SPDX-License-Identifier: MIT */
/*
 * os/symbol/elf.h - an ELF file, to look things up in that no loaded part of it has
 *
 * Data:       struct os_elf, a read-only mapping of the whole file.
 * Invariants: the file is not trusted: what is handed out lies inside of the mapping.
 * Locks:      none; no allocation; safe in a signal handler; errno is preserved.
 * Flow:       called by os/symbol/symbol_text.c and os/unwind/unwind_table.c; calls openat(2),
 *             mmap(2).
 */
#ifndef OS_ELF_H
#define OS_ELF_H

#include <elf.h>

#include "base/compiler.h"

/*
 * The file of the program. The first is what emulators and valgrind know, and is gone once the main
 * thread has ended, maybe before others; the second needs Linux 3.17.
 */
#define OS_ELF_PROGRAM "/proc/self/exe"
#define OS_ELF_PROGRAM_OF_THREAD "/proc/thread-self/exe"

struct os_elf {
	const char *data;
	size_t size;
};

/* 0; -ENOEXEC: no ELF file of 64 bits; another -errno of opening and mapping it. */
int os_elf_open(struct os_elf *elf, const char *path);
/* The same, of the program that runs. */
int os_elf_open_program(struct os_elf *elf);
void os_elf_close(struct os_elf *elf);

/* size bytes at an offset of the file, aligned to 8; NULL: they are not all there. */
const void *os_elf_part(const struct os_elf *elf, uint64_t offset, uint64_t size);

/* The first section of that type, and of that name if one is given. NULL: there is none. */
const Elf64_Shdr *os_elf_section(const struct os_elf *elf, uint32_t type, const char *name);
/* By number, as in sh_link. */
const Elf64_Shdr *os_elf_section_at(const struct os_elf *elf, uint32_t number);

/* A text of a string table; "" where there is none. */
const char *os_elf_string(const struct os_elf *elf, const Elf64_Shdr *table, uint32_t offset);

#endif /* OS_ELF_H */
