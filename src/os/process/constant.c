/* SPDX-License-Identifier: MIT */
/*
 * os/process/constant.c - what lies in read-only memory of the program
 *
 * Why:        docs/adr/0040.
 * Data:       none; the program headers, which the kernel maps with the program.
 * Invariants: see constant.h.
 * Locks:      none.
 * Flow:       see constant.h; calls getauxval(3).
 */
#include <elf.h>
#include <sys/auxv.h>

#include "os/process/constant.h"

/*
 * What is added to addresses of the file: from its header of headers, which programs with a loader
 * have, else from the segment that begins with the file, whose headers these are.
 */
static uintptr_t bias_of(const Elf64_Phdr *headers, unsigned long nr)
{
	for (unsigned long i = 0; i < nr; i++)
		if (headers[i].p_type == PT_PHDR)
			return (uintptr_t)headers - headers[i].p_vaddr;
	for (unsigned long i = 0; i < nr; i++)
		if (headers[i].p_type == PT_LOAD && !headers[i].p_offset)
			return (uintptr_t)headers - sizeof(Elf64_Ehdr) - headers[i].p_vaddr;
	return 0;
}

bool os_is_constant(const void *p)
{
	const Elf64_Phdr *headers = (const Elf64_Phdr *)getauxval(AT_PHDR);
	unsigned long nr = headers ? getauxval(AT_PHNUM) : 0;
	uintptr_t address = (uintptr_t)p - bias_of(headers, nr);

	for (unsigned long i = 0; i < nr; i++)
		if (headers[i].p_type == PT_LOAD && !(headers[i].p_flags & PF_W) &&
		    address - headers[i].p_vaddr < headers[i].p_memsz)
			return true;
	return false;
}
