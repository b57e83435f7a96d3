/* SPDX-License-Identifier: MIT */
/*
 * os/unwind/unwind_table.h - the entry of .eh_frame for a code address (LSB 5, chapter 10)
 *
 * Data:       struct unwind_entry: what a function's FDE and its CIE say.
 * Invariants: instructions of an entry lie within it.
 * Locks:      none; safe in a signal handler.
 * Flow:       called by os/unwind/unwind_cfi.c; calls os/symbol/object.c, os/symbol/elf.c,
 *             os/memory/readable.c.
 */
#ifndef OS_UNWIND_TABLE_H
#define OS_UNWIND_TABLE_H

#include "os/unwind/unwind_bytes.h"

struct unwind_cie {
	struct bytes instructions;
	unsigned int code_align;
	int data_align;
	unsigned int encoding; /* of addresses in its FDEs */
	bool has_data;	       /* FDEs have augmentation data */
	bool is_signal;	       /* what the kernel calls as a return from signal handlers */
};

struct unwind_entry {
	struct unwind_cie cie;
	struct bytes instructions;
	uintptr_t function; /* its first address */
};

/*
 * gone: NULL, nobody unloads the object meanwhile; else it is set if somebody did. 0; -ESRCH: no
 * loaded object has this address; -ENOENT: no table has, or one that cannot be read.
 */
int unwind_table_find(uintptr_t address, bool *gone, struct unwind_entry *entry);

#endif /* OS_UNWIND_TABLE_H */
