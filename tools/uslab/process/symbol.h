/* SPDX-License-Identifier: MIT */
/*
 * uslab/process/symbol.h - the address of one symbol, from an ELF file or from where it is loaded
 */
#ifndef TOOLS_SYMBOL_H
#define TOOLS_SYMBOL_H

#include <stdbool.h>
#include <stdint.h>

#include "inspect/reader.h"

struct symbol {
	uint64_t value;	      /* as the file says; the load bias comes on top */
	uint64_t load_offset; /* first PT_LOAD: page of the file ... */
	uint64_t load_vaddr;  /* ... that is meant to lie at this address */
};

/*
 * Looks for a defined symbol in .dynsym, then in .symtab. 0; -ENOENT: the file has no such symbol;
 * -ENOEXEC: it is no ELF file, or one for another kind of machine.
 */
int symbol_in_file(int fd, const char *name, struct symbol *found);

/* Reads of memory for all objects together, each of 4 KiB at most: some seconds. */
#define SYMBOL_READS (1u << 20)

/*
 * The same in an object that is loaded at base (where its ELF header lies), by its dynamic symbols
 * in memory; for files that are gone. *address is the symbol's. *reads is less by those it took. 0,
 * -ENOENT, -ENOEXEC, an error of the reader, or -E2BIG: *reads did not suffice, and is 0.
 */
int symbol_in_memory(const struct reader *r, unsigned int *reads, uint64_t base, const char *name,
		     uint64_t *address);

/* Is this an ELF file of 32-bit code? */
bool symbol_file_is_32bit(int fd);

#endif /* TOOLS_SYMBOL_H */
