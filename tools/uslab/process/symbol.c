/* SPDX-License-Identifier: MIT */
/*
 * uslab/process/symbol.c - one symbol of an ELF object
 *
 * Invariants: offsets and counts of a file or of memory are checked before they are followed.
 * Flow:       called by target.c and core.c; calls libelf for files and inspect/reader.h for
 *             memory. In: a file or a base address, and a name; out: an address.
 *
 * Files are read by libelf. Of an object whose file is gone only the loaded part is left, which has
 * the dynamic symbols but no section headers: that is read by its program headers.
 */
#define _GNU_SOURCE
#include "process/symbol.h"

#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

/* More than any real object has; what says otherwise is damaged. */
#define MAX_STRINGS (64u << 20)
#define MAX_SYMBOLS (1u << 20)
#define MAX_HEADERS 256u
#define READ 4096u /* bytes that take about as long as the call for them */

/* Our own ELF header, which the linker knows: it says what machine this is. */
extern const Elf64_Ehdr __ehdr_start __attribute__((visibility("hidden")));

static uint64_t page_start(uint64_t addr)
{
	return addr & ~(uint64_t)(getauxval(AT_PAGESZ) - 1);
}

static bool is_defined(const GElf_Sym *sym)
{
	return sym->st_shndx != SHN_UNDEF && GELF_ST_TYPE(sym->st_info) == STT_OBJECT;
}

/* ---- files ----------------------------------------------------------------------------------- */

static bool find_in_section(Elf *elf, Elf_Scn *section, const GElf_Shdr *header, const char *name,
			    uint64_t *value)
{
	Elf_Data *data = elf_getdata(section, NULL);
	size_t count = header->sh_entsize ? header->sh_size / header->sh_entsize : 0;

	for (size_t i = 0; data && i < count; i++) {
		const char *text;
		GElf_Sym sym;

		if (!gelf_getsym(data, (int)i, &sym) || !is_defined(&sym))
			continue;
		text = elf_strptr(elf, header->sh_link, sym.st_name);
		if (text && !strcmp(text, name)) {
			*value = sym.st_value;
			return true;
		}
	}
	return false;
}

static bool find_in_sections(Elf *elf, GElf_Word type, const char *name, uint64_t *value)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;

	while ((section = elf_nextscn(elf, section)) != NULL)
		if (gelf_getshdr(section, &header) && header.sh_type == type &&
		    find_in_section(elf, section, &header, name, value))
			return true;
	return false;
}

static bool find_first_load(Elf *elf, struct symbol *found)
{
	GElf_Phdr header;
	size_t count;

	if (elf_getphdrnum(elf, &count))
		return false;
	for (size_t i = 0; i < count; i++) {
		if (!gelf_getphdr(elf, (int)i, &header) || header.p_type != PT_LOAD)
			continue;
		found->load_offset = page_start(header.p_offset);
		found->load_vaddr = page_start(header.p_vaddr);
		return true;
	}
	return false;
}

static bool is_ours(Elf *elf)
{
	GElf_Ehdr header;

	return elf_kind(elf) == ELF_K_ELF && gelf_getclass(elf) == ELFCLASS64 &&
	       gelf_getehdr(elf, &header) && header.e_machine == __ehdr_start.e_machine;
}

int symbol_in_file(int fd, const char *name, struct symbol *found)
{
	int ret = -ENOENT;
	Elf *elf;

	if (elf_version(EV_CURRENT) == EV_NONE)
		return -ENOEXEC;
	elf = elf_begin(fd, ELF_C_READ, NULL);
	if (!elf)
		return -ENOEXEC;
	if (!is_ours(elf) || !find_first_load(elf, found))
		ret = -ENOEXEC;
	else if (find_in_sections(elf, SHT_DYNSYM, name, &found->value) ||
		 find_in_sections(elf, SHT_SYMTAB, name, &found->value))
		ret = 0;
	elf_end(elf);
	return ret;
}

bool symbol_file_is_32bit(int fd)
{
	unsigned char ident[EI_NIDENT];

	return pread(fd, ident, sizeof(ident), 0) == (ssize_t)sizeof(ident) &&
	       !memcmp(ident, ELFMAG, SELFMAG) && ident[EI_CLASS] == ELFCLASS32;
}

/* ---- memory ---------------------------------------------------------------------------------- */

/* An object in memory, and how much may be read of it. */
struct object {
	const struct reader *reader;
	unsigned int *reads; /* left: symbol.h */
	uint64_t bias;
};

static int read_object(const struct object *o, uint64_t addr, void *buf, size_t len)
{
	size_t reads = len / READ + 1;

	if (reads > *o->reads) {
		*o->reads = 0;
		return -E2BIG;
	}
	*o->reads -= (unsigned int)reads;
	return reader_read(o->reader, addr, buf, len);
}

/* Where an object's dynamic symbols are. */
struct dynamic {
	uint64_t symbols;
	uint64_t strings;
	uint64_t strings_size;
};

static int read_dynamic(const struct object *o, const Elf64_Phdr *header, struct dynamic *dynamic)
{
	uint64_t *slots[] = { &dynamic->symbols, &dynamic->strings };

	memset(dynamic, 0, sizeof(*dynamic));
	for (uint64_t at = 0; at + sizeof(Elf64_Dyn) <= header->p_memsz; at += sizeof(Elf64_Dyn)) {
		Elf64_Dyn entry;
		int ret = read_object(o, o->bias + header->p_vaddr + at, &entry, sizeof(entry));

		if (ret)
			return ret;
		if (entry.d_tag == DT_NULL)
			break;
		if (entry.d_tag == DT_SYMTAB)
			dynamic->symbols = entry.d_un.d_ptr;
		else if (entry.d_tag == DT_STRTAB)
			dynamic->strings = entry.d_un.d_ptr;
		else if (entry.d_tag == DT_STRSZ)
			dynamic->strings_size = entry.d_un.d_val;
	}
	/* The loader puts addresses there on most machines and leaves the file's values on some. */
	for (int i = 0; i < 2; i++)
		if (*slots[i] && *slots[i] < o->bias)
			*slots[i] += o->bias;
	return dynamic->symbols && dynamic->strings && dynamic->strings_size &&
			       dynamic->strings_size <= MAX_STRINGS
		       ? 0
		       : -ENOENT;
}

/* Linkers put the names right after the symbols, or with little in between: that is the count. */
static uint64_t count_symbols(const struct dynamic *dynamic)
{
	uint64_t count = dynamic->strings > dynamic->symbols
				 ? (dynamic->strings - dynamic->symbols) / sizeof(Elf64_Sym)
				 : 0;

	return count < MAX_SYMBOLS ? count : MAX_SYMBOLS;
}

/* Symbols that lie in the page of an address, 1 if the first does not: the next may be missing. */
static uint64_t symbols_in_page(uint64_t addr)
{
	uint64_t count = (READ - addr % READ) / sizeof(Elf64_Sym);

	return count ? count : 1;
}

static int find_by_name(const struct object *o, const struct dynamic *dynamic, const char *strings,
			const char *name, uint64_t *value)
{
	Elf64_Sym symbols[READ / sizeof(Elf64_Sym)];
	uint64_t count = count_symbols(dynamic);
	uint64_t at = dynamic->symbols;

	while (count) {
		uint64_t part = symbols_in_page(at);
		int ret;

		part = part < count ? part : count;
		ret = read_object(o, at, symbols, part * sizeof(symbols[0]));
		if (ret)
			return ret;
		for (const Elf64_Sym *sym = symbols; sym < symbols + part; sym++)
			if (sym->st_shndx != SHN_UNDEF && sym->st_name < dynamic->strings_size &&
			    !strcmp(strings + sym->st_name, name)) {
				*value = sym->st_value;
				return 0;
			}
		at += part * sizeof(symbols[0]);
		count -= part;
	}
	return -ENOENT;
}

static int find_in_dynamic(const struct object *o, const struct dynamic *dynamic, const char *name,
			   uint64_t *value)
{
	char *strings = malloc(dynamic->strings_size);
	int ret;

	if (!strings)
		return -ENOMEM;
	ret = read_object(o, dynamic->strings, strings, dynamic->strings_size);
	if (!ret) {
		strings[dynamic->strings_size - 1] = '\0';
		ret = find_by_name(o, dynamic, strings, name, value);
	}
	free(strings);
	return ret;
}

int symbol_in_memory(const struct reader *r, unsigned int *reads, uint64_t base, const char *name,
		     uint64_t *address)
{
	struct object o = { r, reads, base };
	Elf64_Ehdr header;
	struct dynamic dynamic;
	uint64_t value;
	int ret = read_object(&o, base, &header, sizeof(header));

	if (ret)
		return ret;
	if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
	    header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_phentsize != sizeof(Elf64_Phdr) ||
	    header.e_machine != __ehdr_start.e_machine)
		return -ENOEXEC;
	for (unsigned int i = 0, loads = 0; i < header.e_phnum && i < MAX_HEADERS; i++) {
		Elf64_Phdr segment;

		ret = read_object(&o, base + header.e_phoff + i * sizeof(segment), &segment,
				  sizeof(segment));
		if (ret)
			return ret;
		if (segment.p_type == PT_LOAD && !loads++)
			o.bias = base - page_start(segment.p_vaddr);
		if (segment.p_type != PT_DYNAMIC)
			continue;
		ret = read_dynamic(&o, &segment, &dynamic);
		if (!ret)
			ret = find_in_dynamic(&o, &dynamic, name, &value);
		if (!ret)
			*address = o.bias + value;
		return ret;
	}
	return -ENOENT;
}
