/* SPDX-License-Identifier: MIT */
/*
 * os/time/vdso.c - looks functions up in the vDSO
 *
 * Data:       none; the vDSO, which is the kernel's and read only.
 * Invariants: none.
 * Locks:      none.
 * Flow:       see vdso.h; calls getauxval(3).
 *
 * dlsym() finds the same, but takes locks and allocates.
 */
#include <elf.h>
#include <errno.h>
#include <string.h>
#include <sys/auxv.h>

#include "os/time/vdso.h"

struct vdso {
	uintptr_t bias; /* address less the one that is in the file */
	const Elf64_Dyn *dynamic;
	const Elf64_Sym *symbols;
	const char *strings;
	const uint32_t *hash;
	const uint32_t *gnu_hash;
};

/* false: it lacks a part. */
static bool find_parts(struct vdso *v, const Elf64_Ehdr *header)
{
	const Elf64_Phdr *part = (const void *)((uintptr_t)header + header->e_phoff);
	const Elf64_Phdr *load = NULL;
	const Elf64_Phdr *dynamic = NULL;

	for (unsigned int i = 0; i < header->e_phnum; i++) {
		if (part[i].p_type == PT_LOAD && !load)
			load = &part[i];
		if (part[i].p_type == PT_DYNAMIC)
			dynamic = &part[i];
	}
	if (!load || !dynamic)
		return false;
	v->bias = (uintptr_t)header + load->p_offset - load->p_vaddr;
	v->dynamic = (const void *)((uintptr_t)header + dynamic->p_offset);
	return true;
}

/* Nobody has relocated the addresses there. false: there are no symbols. */
static bool find_tables(struct vdso *v)
{
	for (const Elf64_Dyn *d = v->dynamic; d->d_tag != DT_NULL; d++) {
		const void *at = (const void *)(v->bias + d->d_un.d_ptr);

		if (d->d_tag == DT_SYMTAB)
			v->symbols = at;
		else if (d->d_tag == DT_STRTAB)
			v->strings = at;
		else if (d->d_tag == DT_HASH)
			v->hash = at;
		else if (d->d_tag == DT_GNU_HASH)
			v->gnu_hash = at;
	}
	return v->symbols && v->strings && (v->hash || v->gnu_hash);
}

/*
 * The tables of hashes alone say how many symbols there are; some kernels have only the newer one.
 * There it is the end of the chain that begins last.
 */
static uint32_t count_symbols(const struct vdso *v)
{
	const uint32_t *buckets, *chain;
	uint32_t last = 0;

	if (v->hash)
		return v->hash[1];
	buckets = v->gnu_hash + 4 + 2 * (size_t)v->gnu_hash[2];
	for (uint32_t i = 0; i < v->gnu_hash[0]; i++)
		last = buckets[i] > last ? buckets[i] : last;
	if (!last)
		return 0;
	for (chain = buckets + v->gnu_hash[0] - v->gnu_hash[1]; !(chain[last] & 1); last++) {}
	return last + 1;
}

static void *find_symbol(const struct vdso *v, const char *name)
{
	uint32_t nr = count_symbols(v);

	for (uint32_t i = 0; i < nr; i++)
		if (v->symbols[i].st_shndx != SHN_UNDEF &&
		    !strcmp(v->strings + v->symbols[i].st_name, name))
			return (void *)(v->bias + v->symbols[i].st_value);
	return NULL;
}

cold void *os_vdso_find(const char *name)
{
	int saved = errno; /* getauxval changes it when the entry is missing */
	const Elf64_Ehdr *header = (const Elf64_Ehdr *)getauxval(AT_SYSINFO_EHDR);
	struct vdso v = { .bias = 0 };

	errno = saved;
	if (!header || !find_parts(&v, header) || !find_tables(&v))
		return NULL;
	return find_symbol(&v, name);
}
