/* SPDX-License-Identifier: MIT */
/*
 * uslab/resolve.c - names of code addresses, by libdwfl
 *
 * Files are opened as the process sees them (/proc/PID/root), so that programs in other mount namespaces
 * have names too. An address that lies in no known file has the list of files read again, at most once a
 * second: the program may have loaded one since.
 */
#define _GNU_SOURCE
#include "resolve.h"

#include <dwarf.h>
#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define FIRST_SLOTS 1024u
#define REPORT_AGAIN_MS 1000u

struct entry {
	struct resolve_name name;
	uint64_t address;
	unsigned int report; /* number of the list of files it was looked up in */
	bool in_file;
	struct entry *older; /* all of them, newest first */
};

struct resolve {
	Dwfl *dwfl; /* NULL: nothing has a name */
	pid_t pid;  /* 0: a core */
	int core_fd;
	Elf *core;
	unsigned int report; /* how often files were listed */
	uint64_t reported_ms;
	unsigned int nr, nr_slots;
	struct entry **slot;
	struct entry *newest;
};

static char *no_debug_path; /* libdwfl's own places */

/* ---- files -------------------------------------------------------------------------------------- */

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static int open_regular(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;

	if (fd >= 0 && (fstat(fd, &st) || !S_ISREG(st.st_mode))) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/* libdwfl's callback: name is the path in the process; *userdata is the struct resolve. */
static int find_elf(Dwfl_Module *module, void **userdata, const char *name, Dwarf_Addr base,
		    char **file, Elf **elf)
{
	const struct resolve *r = *userdata;
	char *path;
	int fd = -1;

	if (r && r->pid && name[0] == '/' &&
	    asprintf(&path, "/proc/%d/root%s", (int)r->pid, name) > 0) {
		fd = open_regular(path);
		if (fd >= 0)
			*file = path;
		else
			free(path);
	}
	if (fd >= 0)
		return fd;
	return r && r->pid ? dwfl_linux_proc_find_elf(module, userdata, name, base, file, elf)
			   : dwfl_build_id_find_elf(module, userdata, name, base, file, elf);
}

static const Dwfl_Callbacks callbacks = {
	.find_elf = find_elf,
	.find_debuginfo = dwfl_standard_find_debuginfo,
	.debuginfo_path = &no_debug_path,
};

static int set_userdata(Dwfl_Module *module, void **userdata, const char *name, Dwarf_Addr start,
			void *arg)
{
	(void)module, (void)name, (void)start;
	*userdata = arg;
	return DWARF_CB_OK;
}

/* Lists the files of the process. What cannot be listed has no names. */
static void report(struct resolve *r, const char *program)
{
	r->report++;
	r->reported_ms = now_ms();
	if (!r->dwfl)
		return;
	dwfl_report_begin(r->dwfl);
	if (r->pid)
		dwfl_linux_proc_report(r->dwfl, r->pid);
	else
		dwfl_core_file_report(r->dwfl, r->core, program);
	dwfl_report_end(r->dwfl, NULL, NULL);
	dwfl_getmodules(r->dwfl, set_userdata, r, 0);
}

static struct resolve *resolve_new(pid_t pid)
{
	struct resolve *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->pid = pid;
	r->core_fd = -1;
	r->nr_slots = FIRST_SLOTS;
	r->slot = calloc(r->nr_slots, sizeof(struct entry *));
	r->dwfl = dwfl_begin(&callbacks);
	if (r->slot)
		return r;
	resolve_close(r);
	return NULL;
}

struct resolve *resolve_process(pid_t pid)
{
	struct resolve *r = resolve_new(pid);

	if (r)
		report(r, NULL);
	return r;
}

struct resolve *resolve_core(const char *core, const char *program)
{
	struct resolve *r = resolve_new(0);

	if (!r)
		return NULL;
	elf_version(EV_CURRENT);
	r->core_fd = open_regular(core);
	if (r->core_fd >= 0)
		r->core = elf_begin(r->core_fd, ELF_C_READ_MMAP, NULL);
	if (r->core)
		report(r, program);
	return r;
}

void resolve_close(struct resolve *r)
{
	if (!r)
		return;
	while (r->newest) {
		struct entry *entry = r->newest;

		r->newest = entry->older;
		free(entry);
	}
	if (r->dwfl)
		dwfl_end(r->dwfl);
	if (r->core)
		elf_end(r->core);
	if (r->core_fd >= 0)
		close(r->core_fd);
	free(r->slot);
	free(r);
}

/* ---- one address -------------------------------------------------------------------------------- */

/* What libdwfl says; its texts live until files are listed again, so they are copied. */
struct found {
	const char *function, *object, *file;
	uint64_t offset, size;
	int line;
};

/* Compilers need not write the table that leads from an address to its unit. */
static void find_line_in_units(Dwfl_Module *module, Dwarf_Addr address, struct found *found)
{
	Dwarf_Addr bias;

	for (Dwarf_Die *unit = dwfl_module_nextcu(module, NULL, &bias); unit;
	     unit = dwfl_module_nextcu(module, unit, &bias)) {
		Dwarf_Line *line;

		if (dwarf_haspc(unit, address - bias) != 1)
			continue;
		line = dwarf_getsrc_die(unit, address - bias);
		if (line && !dwarf_lineno(line, &found->line))
			found->file = dwarf_linesrc(line, NULL, NULL);
		return;
	}
}

static void find_line(Dwfl_Module *module, Dwarf_Addr address, struct found *found)
{
	Dwfl_Line *line = dwfl_module_getsrc(module, address);

	if (line)
		found->file = dwfl_lineinfo(line, NULL, &found->line, NULL, NULL, NULL);
	else
		find_line_in_units(module, address, found);
}

/* A header of ours that programs inline: what a person asks for is the line that calls it. */
static bool is_our_inline(const char *file)
{
	return file && (strstr(file, "uslab/fastpath.h") || strstr(file, "uslab/arch/rseq"));
}

/* Where an inlined function is called; false: the scope is none. */
static bool call_of_inlined(Dwarf_Die *unit, Dwarf_Die *scope, struct found *found)
{
	Dwarf_Attribute attribute;
	Dwarf_Files *files;
	Dwarf_Word file, line;
	size_t nr_files;

	if (dwarf_tag(scope) != DW_TAG_inlined_subroutine ||
	    dwarf_formudata(dwarf_attr(scope, DW_AT_call_file, &attribute), &file) ||
	    dwarf_formudata(dwarf_attr(scope, DW_AT_call_line, &attribute), &line) ||
	    dwarf_getsrcfiles(unit, &files, &nr_files) || file >= nr_files)
		return false;
	found->file = dwarf_filesrc(files, file, NULL, NULL);
	found->line = (int)line;
	return true;
}

static void leave_our_inlines(Dwfl_Module *module, Dwarf_Addr address, struct found *found)
{
	Dwarf_Addr bias;
	Dwarf_Die *unit = dwfl_module_addrdie(module, address, &bias);
	Dwarf_Die *scopes = NULL;
	int nr = unit ? dwarf_getscopes(unit, address - bias, &scopes) : 0;

	for (int i = 0; i < nr && is_our_inline(found->file); i++)
		call_of_inlined(unit, &scopes[i], found);
	free(scopes);
}

/* address: of the call's last byte. */
static void find_symbol(Dwfl_Module *module, Dwarf_Addr address, struct found *found)
{
	GElf_Off offset;
	GElf_Sym symbol;
	const char *name =
		dwfl_module_addrinfo(module, address, &offset, &symbol, NULL, NULL, NULL);

	/* the nearest one is not one that the address lies in */
	if (!name || (symbol.st_size && offset >= symbol.st_size))
		return;
	found->function = name;
	found->offset = offset + 1;
	found->size = symbol.st_size;
}

/* Does a return address lie in one of the files? */
static bool is_known(const struct resolve *r, uint64_t address)
{
	return r->dwfl && dwfl_addrmodule(r->dwfl, address - 1);
}

static bool find(struct resolve *r, uint64_t address, struct found *found)
{
	Dwfl_Module *module = r->dwfl ? dwfl_addrmodule(r->dwfl, address) : NULL;
	const char *path, *slash;

	*found = (struct found){ .function = "", .object = "", .file = "" };
	if (!module)
		return false;
	path = dwfl_module_info(module, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
	slash = path ? strrchr(path, '/') : NULL;
	found->object = slash ? slash + 1 : path ? path : "";
	find_symbol(module, address, found);
	find_line(module, address, found);
	if (is_our_inline(found->file))
		leave_our_inlines(module, address, found);
	if (!found->file || found->line <= 0) {
		found->file = "";
		found->line = 0;
	}
	return true;
}

/* ---- all that were asked for -------------------------------------------------------------------- */

static const char *copy_clean(char **to, const char *from)
{
	char *start = *to;

	/* file names and symbols end up on terminals */
	for (; *from; from++)
		*(*to)++ = (unsigned char)*from < ' ' || *from == 0x7f ? '?' : *from;
	*(*to)++ = '\0';
	return start;
}

static const char *make_text(char *to, size_t size, const struct found *found, uint64_t address)
{
	const char *object = found->object;

	if (!*found->function && *object)
		snprintf(to, size, "0x%" PRIx64 " [%s]", address, object);
	else if (!*found->function)
		snprintf(to, size, "0x%" PRIx64, address);
	else
		snprintf(to, size, "%s+0x%" PRIx64 "/0x%" PRIx64 " [%s]", found->function,
			 found->offset, found->size, object);
	return to;
}

/* NULL: no memory. */
static struct entry *make_entry(struct resolve *r, uint64_t address)
{
	struct found found;
	bool in_file = find(r, address - 1, &found);
	size_t text = strlen(found.function) + strlen(found.object) + 64;
	struct entry *entry = malloc(sizeof(*entry) + strlen(found.function) +
				     strlen(found.object) + strlen(found.file) + 3 + text);
	struct resolve_name *name = &entry->name;
	char *to = (char *)(entry + 1);

	if (!entry)
		return NULL;
	*entry = (struct entry){ .address = address, .report = r->report, .in_file = in_file };
	name->function = found.function = copy_clean(&to, found.function);
	name->object = found.object = copy_clean(&to, found.object);
	name->file = copy_clean(&to, found.file);
	name->line = (unsigned int)found.line;
	name->offset = found.offset;
	name->size = found.size;
	name->text = make_text(to, text, &found, address);
	entry->older = r->newest;
	r->newest = entry;
	return entry;
}

static struct entry **find_slot(struct entry **slots, unsigned int nr_slots, uint64_t address)
{
	uint64_t i = address * 0x9e3779b97f4a7c15ull >> 32;

	while (slots[i & (nr_slots - 1)] && slots[i & (nr_slots - 1)]->address != address)
		i++;
	return &slots[i & (nr_slots - 1)];
}

/* false: no memory; at most half of the slots are taken. */
static bool grow(struct resolve *r)
{
	struct entry **slots;

	if (r->nr < r->nr_slots / 2)
		return true;
	slots = calloc((size_t)r->nr_slots * 2, sizeof(struct entry *));
	if (!slots)
		return false;
	for (unsigned int i = 0; i < r->nr_slots; i++)
		if (r->slot[i])
			*find_slot(slots, r->nr_slots * 2, r->slot[i]->address) = r->slot[i];
	free(r->slot);
	r->slot = slots;
	r->nr_slots *= 2;
	return true;
}

/* Should the files be listed again for an address that was in none of them? */
static bool may_be_new(struct resolve *r, const struct entry *entry)
{
	if (entry->in_file || !r->pid)
		return false;
	if (entry->report == r->report && now_ms() >= r->reported_ms + REPORT_AGAIN_MS)
		report(r, NULL);
	return entry->report != r->report;
}

/* Looks an address up that is new, or that was in no file when files were listed last. */
static struct entry *look_up(struct resolve *r, struct entry **slot, uint64_t address)
{
	struct entry *entry;

	if (*slot && !is_known(r, address)) {
		(*slot)->report = r->report;
		return *slot;
	}
	entry = make_entry(r, address);
	if (!entry)
		return *slot;
	r->nr += !*slot;
	*slot = entry;
	return entry;
}

const struct resolve_name *resolve_address(struct resolve *r, uint64_t address)
{
	static const struct resolve_name nothing = { "", "", "", 0, 0, 0, "<not-available>" };
	struct entry **slot;
	struct entry *entry;

	if (!address || !grow(r))
		return &nothing;
	slot = find_slot(r->slot, r->nr_slots, address);
	entry = *slot ? *slot : look_up(r, slot, address);
	if (entry && may_be_new(r, entry))
		entry = look_up(r, slot, address);
	return entry ? &entry->name : &nothing;
}

const char *resolve_line(const struct resolve_name *name, char *buf, size_t size)
{
	const char *slash = strrchr(name->file, '/');

	*buf = '\0';
	if (name->line)
		snprintf(buf, size, "%s:%u", slash ? slash + 1 : name->file, name->line);
	return buf;
}
