/* SPDX-License-Identifier: MIT */
/*
 * uslab/symbols/resolve.c - names of code addresses, by libdwfl
 *
 * Data:       struct resolve: the mapped files, and a table of the addresses looked up so far.
 * Locks:      none: for one thread.
 * Flow:       called by info/, track/, top/, fs/fs_attr.c and fs/fs_snapshot.c; calls
 *             resolve_core.c, resolve_maps.c, resolve_frames.c, resolve_lacks.c, process/live.c
 *             and process/mapped_file.c; libdwfl calls back for each file. In: a return
 *             address; out: struct resolve_name, which lives as long as the struct resolve.
 *
 * Files are opened as the process has them (mapped_file.h), so that programs in other mount
 * namespaces have names too, and those that were deleted or replaced since. An address that lies in
 * no known file has the list of files read again, at most once a second: the program may have
 * loaded one since.
 */
#define _GNU_SOURCE
#include "inspect/mix.h"
#include "symbols/resolve.h"

#include <elfutils/libdwfl.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "process/live.h"
#include "process/mapped_file.h"
#include "symbols/demangle.h"
#include "symbols/resolve_core.h"
#include "symbols/resolve_frames.h"
#include "symbols/resolve_lacks.h"
#include "symbols/resolve_library.h"
#include "symbols/resolve_maps.h"
#include "util.h"

#define BUILD_ID_MAX 64 /* bytes */
#define FIRST_SLOTS 1024u
#define REPORT_AGAIN_MS 1000u

struct entry {
	struct resolve_name name;
	uint64_t address;
	unsigned int report; /* number of the list of files it was looked up in */
	bool in_file;
	struct entry *older; /* all of them, newest first */
	struct resolve_frame frame[];
};

struct text {
	struct text *older;
	char text[];
};

struct resolve {
	Dwfl *dwfl;		  /* NULL: nothing has a name */
	Dwfl_Callbacks callbacks; /* of dwfl */
	char *debug_path; /* where debug information is looked for; NULL: libdwfl's own places */
	pid_t pid;	  /* 0: a core */
	struct resolve_core *core;
	unsigned int report; /* how often files were listed */
	uint64_t reported_ms;
	struct resolve_maps maps; /* when files were listed last */
	unsigned int nr, nr_slots;
	struct entry **slot;
	struct entry *newest;
	struct text *texts;
	struct resolve_lacks lacks;
};

/* ---- files ----------------------------------------------------------------------------------- */

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* *file: where separate debug information is looked for is beside the path. */
static int open_mapped(struct resolve *r, const char *name, Dwarf_Addr base, char **file)
{
	const struct resolve_map *map = resolve_maps_find(&r->maps, base);
	bool deleted;
	size_t length = mapped_file_length(name, &deleted);
	int fd = mapped_file_open(r->pid, name, length, deleted, map ? map->start : 0,
				  map ? map->end : 0);

	if (fd >= 0 &&
	    asprintf(file, "/proc/%d/root%.*s", (int)live_thread(r->pid), (int)length, name) < 0)
		*file = NULL;
	resolve_lacks_note(&r->lacks, fd, name);
	return fd;
}

/* What libdwfl opened, or did not: errno was 0 before. */
static int note_opened(struct resolve *r, int fd, const char *name)
{
	if (r && fd < 0 && (errno == EMFILE || errno == ENFILE))
		resolve_lacks_note(&r->lacks, -errno, name);
	return fd;
}

/* libdwfl's callback: name is the path in the process; *userdata is the struct resolve. */
static int find_elf(Dwfl_Module *module, void **userdata, const char *name, Dwarf_Addr base,
		    char **file, Elf **elf)
{
	struct resolve *r = *userdata;
	int fd = -1;

	if (r && r->core) {
		fd = resolve_core_open_file(r->core, base, file);
		resolve_lacks_note(&r->lacks, fd, name);
	} else if (r && r->pid && name[0] == '/') {
		fd = open_mapped(r, name, base, file);
	}
	if (fd >= 0)
		return fd;
	errno = 0;
	fd = r && r->pid ? dwfl_linux_proc_find_elf(module, userdata, name, base, file, elf)
			 : dwfl_build_id_find_elf(module, userdata, name, base, file, elf);
	note_opened(r, fd, name);
	if (fd < 0 && r && r->core)
		*elf = resolve_core_image(r->core, base);
	return fd;
}

/* libdwfl's callback, for files with separate debug information. */
static int find_debuginfo(Dwfl_Module *module, void **userdata, const char *name, Dwarf_Addr base,
			  const char *file, const char *link, GElf_Word crc, char **found)
{
	int fd;

	errno = 0;
	fd = dwfl_standard_find_debuginfo(module, userdata, name, base, file, link, crc, found);
	return note_opened(*userdata, fd, name);
}

static int set_userdata(Dwfl_Module *module, void **userdata, const char *name, Dwarf_Addr start,
			void *arg)
{
	(void)module, (void)name, (void)start;
	*userdata = arg;
	return DWARF_CB_OK;
}

/* 0 or -errno. */
static int report_process(struct resolve *r)
{
	int error;

	resolve_maps_free(&r->maps);
	error = resolve_maps_of_process(&r->maps, r->pid);
	if (error)
		return error;
	error = dwfl_linux_proc_report(r->dwfl, live_thread(r->pid)); /* errno, or -1 */
	return error > 0 ? -error : 0;
}

/* Lists the files of the process. What cannot be listed has no names. */
static void report(struct resolve *r)
{
	r->report++;
	r->reported_ms = now_ms();
	if (!r->dwfl)
		return;
	dwfl_report_begin(r->dwfl);
	if (r->pid)
		resolve_lacks_note(&r->lacks, report_process(r), "");
	else
		resolve_core_report(r->core, r->dwfl);
	dwfl_report_end(r->dwfl, NULL, NULL);
	dwfl_getmodules(r->dwfl, set_userdata, r, 0);
}

static struct resolve *resolve_new(pid_t pid)
{
	struct resolve *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->pid = pid;
	r->nr_slots = FIRST_SLOTS;
	r->slot = calloc(r->nr_slots, sizeof(struct entry *));
	r->callbacks = (Dwfl_Callbacks){ .find_elf = find_elf,
					 .find_debuginfo = find_debuginfo,
					 .debuginfo_path = &r->debug_path };
	r->dwfl = dwfl_begin(&r->callbacks);
	if (r->slot)
		return r;
	resolve_close(r);
	return NULL;
}

struct resolve *resolve_process(pid_t pid)
{
	struct resolve *r = resolve_new(pid);

	if (r)
		report(r);
	return r;
}

struct resolve *resolve_core(const char *core, const char *program, const char *sysroot)
{
	struct resolve *r = resolve_new(0);

	if (!r)
		return NULL;
	r->core = resolve_core_open(core, program, sysroot, &r->lacks);
	if (!r->core) {
		resolve_close(r);
		return NULL;
	}
	r->debug_path = resolve_core_debug_path(r->core);
	resolve_maps_of_core(&r->maps, &r->core->map);
	report(r);
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
	while (r->texts) {
		struct text *text = r->texts;

		r->texts = text->older;
		free(text);
	}
	if (r->dwfl)
		dwfl_end(r->dwfl);
	resolve_core_close(r->core);
	free(r->debug_path);
	resolve_maps_free(&r->maps);
	free(r->slot);
	free(r);
}

/* ---- one address ----------------------------------------------------------------------------- */

/* What libdwfl says; its texts live until files are listed again, so they are copied. */
struct found {
	const char *symbol, *path;
	uint64_t offset, size;
	unsigned int nr;
	struct resolve_place place[RESOLVE_FRAMES];
	char build_id[2 * BUILD_ID_MAX + 1];
	struct resolve_mapping mapping;
};

/* address: of the call's last byte. */
static void find_symbol(Dwfl_Module *module, Dwarf_Addr address, struct found *found)
{
	GElf_Off offset;
	GElf_Sym symbol;
	const char *name =
		dwfl_module_addrinfo(module, address, &offset, &symbol, NULL, NULL, NULL);

	/* it does not lie in the nearest one; or that is a local label, which some linkers keep */
	if (!name || (symbol.st_size && offset >= symbol.st_size) || !strncmp(name, ".L", 2))
		return;
	found->symbol = name;
	found->offset = offset + 1;
	found->size = symbol.st_size;
}

/* ---- the place in a file --------------------------------------------------------------------- */

/* Where the code at an address comes from. */
struct place {
	Dwfl_Module *module;
	Dwarf_Addr address;	       /* as if the module lay there in one piece, as it wants */
	const struct resolve_map *map; /* of the address that was asked for; NULL: not known */
};

static bool same_file(const struct resolve_map *a, const struct resolve_map *b)
{
	return a && b && *a->path && !strcmp(a->path, b->path);
}

/* What is mapped where a module begins. */
static const struct resolve_map *first_map(const struct resolve *r, Dwfl_Module *module)
{
	Dwarf_Addr start;

	dwfl_module_info(module, NULL, &start, NULL, NULL, NULL, NULL, NULL);
	return resolve_maps_find(&r->maps, start);
}

/*
 * The module that an address lies in. libdwfl also names the one before a gap
 * that the address lies in.
 */
static Dwfl_Module *module_around(const struct resolve *r, uint64_t address)
{
	Dwfl_Module *module = r->dwfl ? dwfl_addrmodule(r->dwfl, address) : NULL;
	Dwarf_Addr start, end;

	if (!module)
		return NULL;
	dwfl_module_info(module, NULL, &start, &end, NULL, NULL, NULL, NULL);
	return address - start < end - start ? module : NULL;
}

struct search {
	const struct resolve *r;
	const struct resolve_map *map;
	Dwfl_Module *found;
};

/*
 * A module of that file which begins with the file's first byte: where it was
 * loaded, not a piece of it.
 */
static int is_loaded_file(Dwfl_Module *module, void **userdata, const char *name, Dwarf_Addr start,
			  void *arg)
{
	struct search *search = arg;
	const struct resolve_map *first = first_map(search->r, module);

	(void)userdata, (void)name, (void)start;
	if (!same_file(first, search->map) || first->offset)
		return DWARF_CB_OK;
	search->found = module;
	return DWARF_CB_ABORT;
}

/*
 * What belongs to a file and lies elsewhere than the file wants it: the address is
 * that where it would lie.
 */
static bool find_moved(const struct resolve *r, uint64_t address, struct place *place)
{
	struct search search = { .r = r, .map = place->map };
	uint64_t offset = address - place->map->start + place->map->offset, vaddr;
	GElf_Addr bias;
	Elf *elf;

	dwfl_getmodules(r->dwfl, is_loaded_file, &search, 0);
	elf = search.found ? dwfl_module_getelf(search.found, &bias) : NULL;
	if (!elf || !resolve_maps_vaddr(elf, offset, &vaddr))
		return false;
	place->module = search.found;
	place->address = bias + vaddr;
	return true;
}

/* Is what is mapped there the part of the file that the file wants there? */
static bool is_in_place(const struct place *place)
{
	uint64_t offset = place->address - place->map->start + place->map->offset, vaddr;
	GElf_Addr bias;
	Elf *elf = dwfl_module_getelf(place->module, &bias);

	/*
	 * of a file that is gone nobody knows what it wants, and what is no part
	 * of it has no name anyway
	 */
	return !elf || !resolve_maps_vaddr(elf, offset, &vaddr) || bias + vaddr == place->address;
}

/*
 * The file that an address lies in. false: none; what lies between two mappings
 * of a file is none of its.
 */
static bool find_place(const struct resolve *r, uint64_t address, struct place *place)
{
	const struct resolve_map *first;

	*place = (struct place){ .module = module_around(r, address), .address = address };
	if (!r->maps.nr)
		return place->module;
	place->map = resolve_maps_find(&r->maps, address);
	first = place->module ? first_map(r, place->module) : NULL;
	if (!place->map)
		return false;
	if (place->module && same_file(first, place->map) && is_in_place(place))
		return true;
	return r->dwfl && *place->map->path == '/' && find_moved(r, address, place);
}

/* Does a return address lie in one of the files? */
static bool is_known(const struct resolve *r, uint64_t address)
{
	struct place place;

	return find_place(r, address - 1, &place);
}

static void find_build_id(Dwfl_Module *module, struct found *found)
{
	const unsigned char *bits = NULL;
	GElf_Addr where;
	int len = dwfl_module_build_id(module, &bits, &where);

	for (int i = 0; i < len && i < BUILD_ID_MAX; i++)
		snprintf(found->build_id + 2 * (size_t)i, 3, "%02x", bits[i]);
}

static void find_mapping(const struct place *place, struct found *found)
{
	Dwfl_Module *module = place->module;
	struct resolve_mapping *m = &found->mapping;
	Dwarf_Addr start, end;
	GElf_Addr bias;
	Elf *elf;

	found->path = dwfl_module_info(module, NULL, &start, &end, NULL, NULL, NULL, NULL);
	elf = dwfl_module_getelf(module, &bias);
	*m = (struct resolve_mapping){ .start = start,
				       .end = end,
				       .address = place->address - start };
	if (elf) {
		m->address = place->address - bias;
		resolve_maps_segment(elf, bias, place->address, m);
	}
	if (place->map) {
		m->start = place->map->start;
		m->end = place->map->end;
		m->offset = place->map->offset;
	}
}

/*
 * In a core that lacks the first pages of files libdwfl finds none of these: the file and the place
 * in it are all that is known.
 */
static bool find_file(struct resolve *r, uint64_t address, struct found *found)
{
	const struct resolve_map *map = r->pid ? NULL : resolve_maps_find(&r->maps, address);

	if (!map || *map->path != '/')
		return false;
	r->lacks.headers |= r->maps.no_headers;
	found->path = map->path;
	found->mapping = (struct resolve_mapping){
		.start = map->start,
		.end = map->end,
		.offset = map->offset,
		.address = resolve_maps_wanted(map, resolve_core_file(r->core, address), address),
	};
	return true;
}

static bool find(struct resolve *r, uint64_t address, struct found *found)
{
	struct place place;

	memset(found, 0, sizeof(*found));
	found->nr = 1;
	if (!find_place(r, address, &place))
		return find_file(r, address, found);
	find_mapping(&place, found);
	find_build_id(place.module, found);
	find_symbol(place.module, place.address, found);
	found->nr = resolve_frames(place.module, place.address, found->place);
	return true;
}

/* ---- all that were asked for ----------------------------------------------------------------- */

/* Texts are kept behind each other, and all of them as long as r. NULL, also for NULL: "". */
static const char *keep(struct resolve *r, const char *text)
{
	size_t len = text ? strlen(text) : 0;
	struct text *kept = len ? malloc(sizeof(*kept) + len + 1) : NULL;

	if (!kept)
		return "";
	kept->older = r->texts;
	r->texts = kept;
	/* file names and symbols end up on terminals and in JSON, in one line */
	memcpy(kept->text, text, len + 1);
	util_make_line(kept->text);
	return kept->text;
}

/* function: of the symbol, mangled or not; "": unknown. */
static const char *make_text(struct resolve *r, const struct resolve_name *name,
			     const char *function, uint64_t address)
{
	const struct resolve_mapping *m = &name->mapping;
	const char *kept;
	char *text;
	int len;

	if (*function)
		len = asprintf(&text, "%s+0x%" PRIx64 "/0x%" PRIx64 " [%s]", function, name->offset,
			       name->size, name->object);
	else if (*m->path && *m->build_id)
		len = asprintf(&text, "%s+0x%" PRIx64 " (build-id %s)", m->path, m->address,
			       m->build_id);
	else if (*m->path)
		len = asprintf(&text, "%s+0x%" PRIx64, m->path, m->address);
	else
		len = asprintf(&text, "0x%" PRIx64, address);
	if (len < 0)
		return "";
	kept = keep(r, text);
	free(text);
	return kept;
}

static void make_frame(struct resolve *r, struct resolve_frame *frame,
		       const struct resolve_place *place, const char *symbol)
{
	char *demangled = symbol ? demangle(symbol) : NULL;

	frame->symbol = keep(r, symbol);
	frame->function = demangled ? keep(r, demangled) : frame->symbol;
	frame->file = place->file && place->line > 0 ? keep(r, place->file) : "";
	frame->line = *frame->file ? (unsigned int)place->line : 0;
	frame->of_library = resolve_is_of_library(frame);
	free(demangled);
}

static void make_frames(struct resolve *r, struct entry *entry, const struct found *found)
{
	struct resolve_name *name = &entry->name;

	name->frame = entry->frame;
	name->nr_frames = found->nr;
	for (unsigned int i = 0; i < found->nr; i++)
		make_frame(r, &entry->frame[i], &found->place[i],
			   i + 1 < found->nr ? found->place[i].function : found->symbol);
	while (name->site + 1 < found->nr && entry->frame[name->site].of_library)
		name->site++;
	name->library = entry->frame[name->site].of_library;
	name->function = entry->frame[name->site].function;
	name->file = entry->frame[name->site].file;
	name->line = entry->frame[name->site].line;
}

/* NULL: no memory. */
static struct entry *make_entry(struct resolve *r, uint64_t address)
{
	struct found found;
	bool in_file = find(r, address - 1, &found);
	struct entry *entry = calloc(1, sizeof(*entry) + found.nr * sizeof(*entry->frame));
	struct resolve_name *name;

	if (!entry)
		return NULL;
	name = &entry->name;
	entry->address = address;
	entry->report = r->report;
	entry->in_file = in_file;
	if (r->core && !found.symbol)
		resolve_core_note(r->core, address - 1, &r->lacks);
	name->mapping = found.mapping;
	name->mapping.path = keep(r, found.path);
	name->mapping.build_id = keep(r, found.build_id);
	name->object = util_file_name(name->mapping.path);
	name->own = !strncmp(name->object, "libuslab", 8);
	name->offset = found.offset;
	name->size = found.size;
	make_frames(r, entry, &found);
	name->text = make_text(r, name, entry->frame[found.nr - 1].symbol, address);
	name->pretty = make_text(r, name, entry->frame[found.nr - 1].function, address);
	entry->older = r->newest;
	r->newest = entry;
	return entry;
}

static struct entry **find_slot(struct entry **slots, unsigned int nr_slots, uint64_t address)
{
	uint64_t i = mix_multiply(address) >> 32;

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
		report(r);
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
	static const struct resolve_frame no_frame = { "", "", "", 0, false };
	static const struct resolve_name nothing = {
		.function = "",
		.object = "",
		.file = "",
		.text = "<not-available>",
		.pretty = "<not-available>",
		.nr_frames = 1,
		.frame = &no_frame,
		.mapping = { .path = "", .build_id = "" },
	};
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

static const char *line_of(const char *file, unsigned int line, char *buf, size_t size)
{
	*buf = '\0';
	if (line)
		snprintf(buf, size, "%s:%u", util_file_name(file), line);
	return buf;
}

const char *resolve_line(const struct resolve_name *name, char *buf, size_t size)
{
	return line_of(name->file, name->line, buf, size);
}

const char *resolve_frame_line(const struct resolve_frame *frame, char *buf, size_t size)
{
	return line_of(frame->file, frame->line, buf, size);
}

void resolve_warn(struct resolve *r, const char *command)
{
	if (r)
		resolve_lacks_say(&r->lacks, command);
}
