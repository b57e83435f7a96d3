/* SPDX-License-Identifier: MIT */
/*
 * os/symbol/symbol_text.c - the name of a code address
 *
 * Data:       none.
 * Invariants: a name is believed only if the file is the one that was loaded: it must begin
 *             with the bytes that the object has in memory, the build id among them. The
 *             address may be one of long ago, and its object be unloaded while it is looked at:
 *             of it only copies are read.
 * Locks:      none.
 * Flow:       address -> object, by os/symbol/object.c -> its file -> the symbol around the
 *             address. Without a symbol, or a file that can be read, the place in the
 *             object: what addr2line(1) takes.
 */
#include <errno.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "base/bits.h"
#include "os/symbol/elf.h"
#include "os/symbol/object.h"
#include "os/memory/readable.h"
#include "os/process/say.h"
#include "os/symbol/symbol.h"

#define COMPARED 4096ul /* of the first page: headers, notes */

struct function {
	uint64_t start;
	uint64_t size;
	unsigned char info;
	uint32_t name;
};

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static bool is_loaded_as(const char *loaded, const char *file, size_t size)
{
	char copy[512];

	for (size_t done = 0; done < size; done += sizeof(copy)) {
		size_t n = MIN(size - done, sizeof(copy));

		if (!os_readable_copy(copy, loaded + done, n) || memcmp(copy, file + done, n) != 0)
			return false;
	}
	return true;
}

/*
 * Is this what was loaded? A static program's place may begin with its code: then nobody can say.
 */
static bool is_same(const struct os_elf *elf, const struct os_object *object, uintptr_t bias)
{
	const Elf64_Ehdr *header = (const Elf64_Ehdr *)elf->data;
	const Elf64_Phdr *segment = os_elf_part(elf, header->e_phoff, sizeof(*segment));
	size_t loaded = (size_t)(object->end - object->start);

	for (unsigned int i = 0; segment && i < header->e_phnum; i++) {
		uint64_t at = header->e_phoff + i * sizeof(*segment);

		segment = os_elf_part(elf, at, sizeof(*segment));
		if (segment && segment->p_type == PT_LOAD) {
			uint64_t size = MIN(MIN(segment->p_filesz, COMPARED), loaded);

			if (bias + segment->p_vaddr != (uintptr_t)object->start)
				return true;
			return os_elf_part(elf, segment->p_offset, size) &&
			       is_loaded_as(object->start, elf->data + segment->p_offset, size);
		}
	}
	return false;
}

/* An innermost function, a global name rather than a local one, and one with a size. */
static bool is_better(const Elf64_Sym *sym, const struct function *best)
{
	bool is_local = ELF64_ST_BIND(sym->st_info) == STB_LOCAL;

	if (!best->name || !sym->st_size != !best->size)
		return !best->name || sym->st_size;
	if (sym->st_value != best->start)
		return sym->st_value > best->start;
	return !is_local && ELF64_ST_BIND(best->info) == STB_LOCAL;
}

static bool is_function(const Elf64_Sym *sym)
{
	unsigned int type = ELF64_ST_TYPE(sym->st_info);

	return sym->st_name && sym->st_shndx != SHN_UNDEF && sym->st_shndx < SHN_LORESERVE &&
	       (type == STT_FUNC || type == STT_GNU_IFUNC || type == STT_NOTYPE);
}

/* Functions of assemblers may have no size, and end where the next one begins, or their section. */
static bool covers_unsized(const struct os_elf *elf, const Elf64_Sym *sym, uint64_t address)
{
	const Elf64_Shdr *section = os_elf_section_at(elf, sym->st_shndx);

	return section && section->sh_flags & SHF_EXECINSTR &&
	       address - section->sh_addr < section->sh_size;
}

static bool covers(const struct os_elf *elf, const Elf64_Sym *sym, uint64_t address)
{
	if (sym->st_value > address)
		return false;
	return sym->st_size ? address - sym->st_value < sym->st_size
			    : covers_unsized(elf, sym, address);
}

/* address: as in the file. false: this table has no such function. */
static bool find_function(const struct os_elf *elf, const Elf64_Shdr *table, uint64_t address,
			  struct function *best)
{
	const Elf64_Sym *sym = table ? os_elf_part(elf, table->sh_offset, table->sh_size) : NULL;
	uint64_t count = sym ? table->sh_size / sizeof(*sym) : 0;

	*best = (struct function){ .name = 0 };
	for (uint64_t i = 0; i < count; i++, sym++)
		if (is_function(sym) && covers(elf, sym, address) && is_better(sym, best))
			*best = (struct function){ sym->st_value, sym->st_size, sym->st_info,
						   sym->st_name };
	return best->name != 0;
}

static size_t put_function(char *buf, size_t size, const char *path, const char *name,
			   uint64_t offset, uint64_t length)
{
	const char *base = base_name(path);

	return os_format(buf, size, "%s+0x%lx/0x%lx%s%s%s", name, offset, length,
			 base[0] ? " [" : "", base, base[0] ? "]" : "");
}

/* The length of the text; 0: the file has no name for this address. */
static size_t put_from_file(char *buf, size_t size, const struct os_elf *elf,
			    const struct os_object_file *file, uintptr_t address)
{
	static const uint32_t types[] = { SHT_SYMTAB, SHT_DYNSYM };
	uint64_t inside = address - file->bias;

	for (unsigned int i = 0; i < ARRAY_SIZE(types); i++) {
		const Elf64_Shdr *table = os_elf_section(elf, types[i], NULL);
		struct function function;

		/*
		 * A return address may lie behind the function, whose last instruction is the call.
		 */
		if (find_function(elf, table, inside - 1, &function)) {
			const Elf64_Shdr *strings = os_elf_section_at(elf, table->sh_link);

			return put_function(buf, size, file->path,
					    os_elf_string(elf, strings, function.name),
					    inside - function.start, function.size);
		}
	}
	return 0;
}

/*
 * The program has no path in the loader's list. Without /proc it is as it was
 * called when it was started.
 */
static void find_program(char path[OS_OBJECT_PATH_BYTES])
{
	ssize_t n = readlink(OS_ELF_PROGRAM, path, OS_OBJECT_PATH_BYTES - 1);
	const char *called = (const char *)getauxval(AT_EXECFN);

	if (n <= 0)
		n = readlink(OS_ELF_PROGRAM_OF_THREAD, path, OS_OBJECT_PATH_BYTES - 1);
	path[n > 0 ? n : 0] = '\0';
	if (n <= 0 && called && strlen(called) < OS_OBJECT_PATH_BYTES)
		memcpy(path, called, strlen(called) + 1);
}

static size_t put_place(char *buf, size_t size, struct os_object_file *file, uintptr_t address)
{
	if (!file->path[0])
		find_program(file->path);
	return file->path[0] ? os_format(buf, size, "%s+0x%lx", base_name(file->path),
					 (unsigned long)(address - file->bias))
			     : 0;
}

static size_t put_known(char *buf, size_t size, const struct os_object *object, uintptr_t address)
{
	struct os_object_file file;
	struct os_elf elf;
	size_t length = 0;

	if (!os_object_file(object, &file))
		return 0;
	if (!(file.path[0] ? os_elf_open(&elf, file.path) : os_elf_open_program(&elf))) {
		if (is_same(&elf, object, file.bias))
			length = put_from_file(buf, size, &elf, &file, address);
		os_elf_close(&elf);
	}
	return length ? length : put_place(buf, size, &file, address);
}

size_t os_symbol_text(char *buf, size_t size, uintptr_t address)
{
	int saved_errno = errno;
	struct os_object object;
	size_t length = 0;

	if (os_object_find(address - 1, &object))
		length = put_known(buf, size, &object, address);
	errno = saved_errno;
	return length ? length : os_format(buf, size, "%p", (void *)address);
}
