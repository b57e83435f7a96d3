/* SPDX-License-Identifier: MIT */
/*
 * uslab/run/program.c - which file a command is, and whether LD_PRELOAD has an effect on it
 *
 * Data:       the text of the last answer.
 * Flow:       called by cmd_run.c. In: a name or path; out: the file, and a reason not to preload,
 *             or NULL.
 *
 * Of a script the interpreter that its first line names is looked at.
 */
#define _GNU_SOURCE
#include "run/program.h"

#include <fcntl.h>
#include <gelf.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

extern const Elf64_Ehdr __ehdr_start __attribute__((visibility("hidden"))); /* this command's */

static bool is_executable(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISREG(st.st_mode) && !access(path, X_OK);
}

bool program_find(const char *name, char *path, size_t size)
{
	const char *folders = getenv("PATH");
	const char *end;

	if (strchr(name, '/'))
		return snprintf(path, size, "%s", name) < (int)size && is_executable(path);
	for (folders = folders ? folders : "/bin:/usr/bin"; folders;
	     folders = *end ? end + 1 : NULL) {
		end = strchrnul(folders, ':');
		/* an empty entry is the current folder */
		if (snprintf(path, size, "%.*s%s%s", (int)(end - folders), folders,
			     end > folders ? "/" : "./", name) < (int)size &&
		    is_executable(path))
			return true;
	}
	return false;
}

/* Does exec change who we are? Then the dynamic linker distrusts the environment. */
static bool changes_identity(int fd)
{
	struct stat st;

	if (fstat(fd, &st))
		return false;
	return ((st.st_mode & S_ISUID) && st.st_uid != getuid()) ||
	       ((st.st_mode & S_ISGID) && (st.st_mode & S_IXGRP) && st.st_gid != getgid()) ||
	       (getuid() != 0 && fgetxattr(fd, "security.capability", NULL, 0) > 0);
}

/* The file's dynamic linker; false: it has none, being statically linked. */
static bool interpreter_of(Elf *elf, char *path, size_t size)
{
	size_t count = 0, length = 0;
	const char *file = elf_rawfile(elf, &length);
	GElf_Phdr header;

	if (elf_getphdrnum(elf, &count))
		return false;
	for (size_t i = 0; i < count; i++) {
		if (!gelf_getphdr(elf, (int)i, &header) || header.p_type != PT_INTERP)
			continue;
		path[0] = '\0';
		if (file && header.p_offset < length && header.p_filesz <= length - header.p_offset)
			snprintf(path, size, "%.*s", (int)header.p_filesz, file + header.p_offset);
		return true;
	}
	return false;
}

/* This command's dynamic linker, which is the library's as well; NULL: it is statically linked. */
static const char *own_interpreter(void)
{
	const char *start = (const char *)&__ehdr_start;
	const Elf64_Phdr *header = (const Elf64_Phdr *)(start + __ehdr_start.e_phoff);

	for (unsigned int i = 0; i < __ehdr_start.e_phnum; i++)
		if (header[i].p_type == PT_INTERP)
			return start + header[i].p_offset;
	return NULL;
}

/*
 * Is it another C library's? Each has a name of its own for it (ld-linux-x86-64.so.2,
 * ld-musl-x86_64.so.1), wherever it is kept.
 */
static bool is_foreign(const char *interpreter)
{
	const char *own = own_interpreter();

	return own && *interpreter && strcmp(basename(interpreter), basename(own)) != 0;
}

/* ---- sanitizers ------------------------------------------------------------------------------ */

/* Those that come with a malloc of their own, without which they do not work. */
static const struct sanitizer {
	const char *name;
	const char *gcc, *clang; /* how the file names of their shared libraries begin */
	const char *init;	 /* function of the runtime */
} sanitizers[] = {
	{ "AddressSanitizer", "libasan.so", "libclang_rt.asan", "__asan_init" },
	{ "ThreadSanitizer", "libtsan.so", "libclang_rt.tsan", "__tsan_init" },
	{ "LeakSanitizer", "liblsan.so", "libclang_rt.lsan", "__lsan_init" },
	{ "MemorySanitizer", "libmsan.so", "libclang_rt.msan", "__msan_init" },
	{ "HWAddressSanitizer", "libhwasan.so", "libclang_rt.hwasan", "__hwasan_init" },
};

#define NR_SANITIZERS (sizeof(sanitizers) / sizeof(sanitizers[0]))

static bool begins_with(const char *text, const char *with)
{
	return text && !strncmp(text, with, strlen(with));
}

/* Of the shared libraries that the file needs. */
static const struct sanitizer *needed_sanitizer(Elf *elf, Elf_Data *data, const GElf_Shdr *header)
{
	GElf_Dyn entry;

	for (int i = 0; gelf_getdyn(data, i, &entry) && entry.d_tag != DT_NULL; i++) {
		const char *name = entry.d_tag == DT_NEEDED
					   ? elf_strptr(elf, header->sh_link, entry.d_un.d_val)
					   : NULL;

		for (size_t k = 0; k < NR_SANITIZERS; k++)
			if (begins_with(name, sanitizers[k].gcc) ||
			    begins_with(name, sanitizers[k].clang))
				return &sanitizers[k];
	}
	return NULL;
}

/* Of the functions that are linked into the file. */
static const struct sanitizer *linked_sanitizer(Elf *elf, Elf_Data *data, const GElf_Shdr *header)
{
	GElf_Sym sym;

	for (int i = 0; gelf_getsym(data, i, &sym); i++) {
		const char *name = sym.st_shndx != SHN_UNDEF
					   ? elf_strptr(elf, header->sh_link, sym.st_name)
					   : NULL;

		for (size_t k = 0; begins_with(name, "__") && k < NR_SANITIZERS; k++)
			if (!strcmp(name, sanitizers[k].init))
				return &sanitizers[k];
	}
	return NULL;
}

/* *linked: its runtime is part of the file. NULL: there is none. */
static const struct sanitizer *sanitizer_of(Elf *elf, bool *linked)
{
	const struct sanitizer *found = NULL;
	Elf_Scn *section = NULL;
	GElf_Shdr header;

	*linked = false;
	while (!found && (section = elf_nextscn(elf, section)) != NULL) {
		Elf_Data *data;

		if (!gelf_getshdr(section, &header) ||
		    (header.sh_type != SHT_DYNAMIC && header.sh_type != SHT_SYMTAB &&
		     header.sh_type != SHT_DYNSYM))
			continue;
		data = elf_getdata(section, NULL);
		*linked = header.sh_type != SHT_DYNAMIC;
		if (data)
			found = *linked ? linked_sanitizer(elf, data, &header)
					: needed_sanitizer(elf, data, &header);
	}
	return found;
}

/* ---- files ----------------------------------------------------------------------------------- */

static const char *judge_elf(Elf *elf, bool *fatal)
{
	const struct sanitizer *sanitizer;
	bool linked;
	static char text[PATH_MAX + 128];
	char interpreter[PATH_MAX] = "";
	GElf_Ehdr header;

	if (elf_kind(elf) != ELF_K_ELF || !gelf_getehdr(elf, &header))
		return NULL; /* exec will say what is wrong with it */
	if (gelf_getclass(elf) != ELFCLASS64 || header.e_machine != __ehdr_start.e_machine)
		return "it is made for another kind of machine than the library";
	if (!interpreter_of(elf, interpreter, sizeof(interpreter)))
		return "it is statically linked, and LD_PRELOAD has no effect on it";
	if (!is_foreign(interpreter)) {
		sanitizer = sanitizer_of(elf, &linked);
		if (!sanitizer)
			return NULL;
		*fatal = !linked;
		snprintf(text, sizeof(text), "it is built with %s, which needs its own malloc",
			 sanitizer->name);
		return text;
	}
	*fatal = true;
	snprintf(text, sizeof(text),
		 "its dynamic linker is %s, of another C library than the drop-in's, and could not "
		 "load it",
		 interpreter);
	return text;
}

/* The program in a "#!" line; false: there is no such line. */
static bool script_program(int fd, char *path, size_t size)
{
	char line[256];
	ssize_t n = pread(fd, line, sizeof(line) - 1, 0);
	char *start;

	line[n > 0 ? n : 0] = '\0';
	if (strncmp(line, "#!", 2) != 0)
		return false;
	start = line + 2 + strspn(line + 2, " \t");
	start[strcspn(start, " \t\n")] = '\0';
	return *start && snprintf(path, size, "%s", start) < (int)size;
}

static const char *check_program(const char *path, bool follow, bool *fatal)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	char script[PATH_MAX];
	const char *why = NULL;
	Elf *elf;

	if (fd < 0)
		return NULL; /* may be executable and not readable */
	if (follow && script_program(fd, script, sizeof(script))) {
		/* set-user-ID bits of scripts have no effect */
		why = check_program(script, false, fatal);
	} else if (changes_identity(fd)) {
		why = "it is set-user-ID or has capabilities, and LD_PRELOAD has no effect on it";
	} else if (elf_version(EV_CURRENT) != EV_NONE) {
		elf = elf_begin(fd, ELF_C_READ, NULL);
		if (elf)
			why = judge_elf(elf, fatal);
		elf_end(elf);
	}
	close(fd);
	return why;
}

const char *program_ignores_preload(const char *path, bool *fatal)
{
	*fatal = false;
	return check_program(path, true, fatal);
}
