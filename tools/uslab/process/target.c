/* SPDX-License-Identifier: MIT */
/*
 * uslab/process/target.c - from a PID to the address of uslab_root
 *
 * Invariants: an address is a root only if the magic number was read there.
 * Flow:       called by source.c, cmd_debug.c, command/cmd_defrag.c, command_messages.c and
 *             ps/ps_rows.c; calls live.c, mapped_file.c, file_set.c, symbol.c, remote.c and
 *             inspect/snapshot.c. In: a PID; out: struct target with the addresses of uslab_root,
 *             and snapshots of one of them.
 *
 * /proc/PID/maps names the files; each is opened as the process has it (mapped_file.h), and where
 * that is not permitted its dynamic symbols are read from memory. A result is used only if the
 * magic number is there.
 */
#define _GNU_SOURCE
#include "process/target.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "process/live.h"
#include "process/mapped_file.h"
#include "process/symbol.h"
#include "util.h"

#define ROOT_SYMBOL "uslab_root"
#define YAMA "/proc/sys/kernel/yama/ptrace_scope"

/* One line of /proc/PID/maps that has a file. */
struct mapping {
	uint64_t start;
	uint64_t end;
	uint64_t offset; /* in the file */
	unsigned long device;
	unsigned long inode;
	bool deleted;
	char *path;
};

struct mappings {
	struct mapping *array; /* those of a file together */
	size_t count;
	bool any; /* there was a line at all */
};

/* ---- what went wrong ------------------------------------------------------------------------- */

void target_permission_text(char *buf, size_t size, const char *yama)
{
	char scope[8] = "";
	int fd = open(yama, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, scope, sizeof(scope) - 1);

	if (fd >= 0)
		close(fd);
	scope[strcspn(scope, "\n")] = '\0';
	/* 3: the system lets nobody change that, until it starts again */
	if (!strcmp(scope, "3"))
		snprintf(buf, size,
			 "%s is 3: until the next boot not even root may, only the process itself "
			 "(uslab_inspect_json(3)); cores that the system writes, not gcore(1), "
			 "can be read (uslab info --core)",
			 yama);
	else if (n > 0 && strcmp(scope, "0") != 0)
		snprintf(buf, size,
			 "it needs root or CAP_SYS_PTRACE, or, for the same user, "
			 "%s to be 0 (it is %s)",
			 yama, scope);
	else
		snprintf(
			buf, size,
			"it needs the same user, and a program that may be dumped (none that has changed its "
			"user or has capabilities); or CAP_SYS_PTRACE, which root in a container may lack");
}

static int fail_permission(const struct target *t)
{
	char text[256];

	target_permission_text(text, sizeof(text), YAMA);
	return util_fail(t->command, "no permission to look into process %d: %s", (int)t->pid,
			 text);
}

static int fail_core(const struct target *t, int error)
{
	if (error != -EFAULT)
		return util_fail(t->command, "cannot read %s: %s", t->core, strerror(-error));
	return util_fail(t->command,
			 "%s lacks memory of uslab's: it is truncated, /proc/PID/coredump_filter "
			 "left that out, or a mapped file has changed since, or is elsewhere "
			 "(--sysroot)",
			 t->core);
}

/* error: negative errno of opening or reading something of the process. */
static int fail_access(const struct target *t, int error)
{
	if (t->core)
		return fail_core(t, error);
	switch (error) {
	case -ENOENT:
	case -ESRCH:
		/* /proc may hide the processes of others. */
		if (kill(t->pid, 0) && errno == EPERM)
			return fail_permission(t);
		if (access("/proc/self/maps", R_OK))
			return util_fail(t->command, "needs /proc, which is not mounted here");
		if (t->program[0])
			return util_fail(t->command,
					 "process %d (%s) ended while it was being read",
					 (int)t->pid, t->program);
		return util_fail(t->command, "no such process: %d", (int)t->pid);
	case -EACCES:
	case -EPERM:
		return fail_permission(t);
	case -EFAULT:
		return util_fail(t->command,
				 "process %d (%s) changed while it was being read (a new program "
				 "or its end?); try again",
				 (int)t->pid, t->program);
	default:
		return util_fail(t->command, "cannot read process %d: %s", (int)t->pid,
				 strerror(-error));
	}
}

static int fail_without_uslab(const struct target *t)
{
	char path[LIVE_PATH];
	bool is_32bit;
	int fd = open(live_path(path, t->pid, "exe"), O_RDONLY | O_CLOEXEC);

	is_32bit = fd >= 0 && symbol_file_is_32bit(fd);
	if (fd >= 0)
		close(fd);
	if (is_32bit)
		return util_fail(t->command,
				 "process %d (%s) is a 32-bit program; uslab is for 64 bits",
				 (int)t->pid, t->program);
	if (!t->symbol_reads)
		return util_fail(t->command,
				 "no uslab found in process %d (%s); it has mapped too many files "
				 "that cannot be opened (deleted ones, ...): not all were searched",
				 (int)t->pid, t->program);
	return util_fail(t->command,
			 "process %d (%s) does not use uslab; start it with: "
			 "uslab run -- PROGRAM (or it was stripped of uslab_root)",
			 (int)t->pid, t->program);
}

/* object: the file that has uslab in it; near it lies the command that came with that. */
static int fail_version(const struct target *t, const struct uslab_root *root, const char *object)
{
	if (root->version != USLAB_ROOT_VERSION)
		return util_fail(t->command,
				 "process %d (%s) has uslab %s (%s), whose data has version %u; "
				 "this command is uslab %s and reads version %u: use the command "
				 "that came with that library",
				 (int)t->pid, t->program, root->version_text, object, root->version,
				 USLAB_VERSION_TEXT, USLAB_ROOT_VERSION);
	return util_fail(t->command,
			 "process %d (%s) has uslab %s (%s), built with other data structures than "
			 "this command, uslab %s: use the command that came with that library",
			 (int)t->pid, t->program, root->version_text, object, USLAB_VERSION_TEXT);
}

/* Of the drop-in: nobody calls its malloc(), now or ever. */
static int fail_unused(const struct target *t, const struct target_root *root)
{
	const char *why = strstr(root->object, "libuslab_malloc")
				  ? ", or its malloc is another one: its own, or that of a library "
				    "before uslab's in LD_PRELOAD"
				  : "";

	if (root->left_out)
		return util_fail(t->command,
				 "%s has no anonymous memory, and so nothing of uslab's: "
				 "/proc/PID/coredump_filter left that out",
				 t->core);
	return util_fail(t->command, "process %d (%s) has loaded uslab and not used it yet%s",
			 (int)t->pid, t->program, why);
}

static int fail_snapshot(const struct target *t, const struct target_root *root,
			 const struct snapshot *s, int error)
{
	switch (error) {
	case -EPROTO:
		return fail_access(t, -EFAULT);
	case -EPROTONOSUPPORT:
		return fail_version(t, &s->root, root->object);
	case -EAGAIN:
		return fail_unused(t, root);
	default:
		return fail_access(t, error);
	}
}

/* ---- /proc ----------------------------------------------------------------------------------- */

void target_read_name(pid_t pid, char name[TARGET_NAME_BYTES])
{
	char path[40];
	ssize_t n = 0;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		n = read(fd, name, TARGET_NAME_BYTES - 1);
		close(fd);
	}
	/* the last byte is the kernel's newline; others are the name's */
	name[n > 0 ? n - 1 : 0] = '\0';
	util_make_line(name);
}

/* Takes a line of /proc/PID/maps; false: out of memory. Lines without a file are passed over. */
static bool add_mapping(struct mappings *maps, char *line)
{
	struct mapping m = { .start = 0 };
	unsigned int major, minor;
	struct mapping *array;
	size_t length;
	int at = 0;

	if (sscanf(line, "%lx-%lx %*s %lx %x:%x %lu %n", &m.start, &m.end, &m.offset, &major,
		   &minor, &m.inode, &at) < 6 ||
	    !at || line[at] != '/')
		return true;
	line[at + (int)strcspn(line + at, "\n")] = '\0';
	length = mapped_file_length(line + at, &m.deleted);
	m.device = (unsigned long)major << 32 | minor;
	line[at + (int)length] = '\0';

	array = reallocarray(maps->array, maps->count + 1, sizeof(*array));
	if (array)
		maps->array = array;
	m.path = array ? strdup(line + at) : NULL;
	if (!m.path)
		return false;
	maps->array[maps->count++] = m;
	return true;
}

static int compare(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

/* 0: of the same file. */
static int compare_files(const struct mapping *a, const struct mapping *b)
{
	int order = compare(a->device, b->device);

	if (!order)
		order = compare(a->inode, b->inode);
	return order ? order : strcmp(a->path, b->path);
}

static int by_file(const void *a, const void *b)
{
	const struct mapping *left = a;
	const struct mapping *right = b;
	int order = compare_files(left, right);

	return order ? order : compare(left->start, right->start);
}

/* 0 or -errno. A process without memory (a zombie, a kernel thread) has an empty file. */
static int read_maps(const struct target *t, struct mappings *maps)
{
	char *line = NULL;
	size_t size = 0;
	char path[LIVE_PATH];
	int error = 0;
	FILE *file;

	*maps = (struct mappings){ .array = NULL };
	file = fopen(live_path(path, t->pid, "maps"), "re");
	if (!file)
		return -errno;
	errno = 0;
	while (!error && getline(&line, &size, file) > 0) {
		maps->any = true;
		if (!add_mapping(maps, line))
			error = -ENOMEM;
	}
	if (!error && ferror(file))
		error = errno ? -errno : -EIO;
	free(line);
	fclose(file);
	if (maps->count)
		qsort(maps->array, maps->count, sizeof(*maps->array), by_file);
	return error;
}

static void free_maps(struct mappings *maps)
{
	for (size_t i = 0; i < maps->count; i++)
		free(maps->array[i].path);
	free(maps->array);
}

/* ---- the search ------------------------------------------------------------------------------ */

/* 0; errors of the reader that end the search. */
static int add_root(struct target *t, const struct mapping *m, uint64_t address)
{
	uint64_t magic;
	int ret = reader_read(&t->remote.reader, address, &magic, sizeof(magic));

	if (ret)
		return ret == -EFAULT ? 0 : ret;
	for (unsigned int i = 0; i < t->nr_roots; i++)
		if (t->root[i].address == address)
			return 0;
	if (magic == USLAB_ROOT_MAGIC && t->nr_roots < TARGET_MAX_ROOTS) {
		struct target_root *root = &t->root[t->nr_roots++];

		root->address = address;
		root->left_out = false;
		snprintf(root->object, sizeof(root->object), "%s", m->path);
	}
	return 0;
}

static int by_address(const void *a, const void *b)
{
	const struct target_root *left = a;
	const struct target_root *right = b;

	return compare(left->address, right->address);
}

/* As symbol_in_file(), of a file that may be known to have none. */
static int search_file(int fd, struct file_set *without, struct symbol *symbol)
{
	int error;

	if (without && file_set_has(without, fd))
		return -ENOENT;
	error = symbol_in_file(fd, ROOT_SYMBOL, symbol);
	if (error && without)
		file_set_add(without, fd);
	return error;
}

/* Looks at the file of these mappings. */
static int search_object(struct target *t, struct file_set *without, const struct mapping *m,
			 size_t count)
{
	struct symbol symbol = { .value = 0 };
	int fd = mapped_file_open(t->pid, m->path, strlen(m->path), m->deleted, m->start, m->end);
	int found = fd < 0 ? -ENOENT : search_file(fd, without, &symbol);
	int ret = 0;

	if (fd >= 0)
		close(fd);
	for (const struct mapping *part = m; part < m + count && !ret; part++) {
		uint64_t address;

		if (!found && part->offset == symbol.load_offset)
			ret = add_root(t, part, part->start - symbol.load_vaddr + symbol.value);
		if (fd < 0 && !part->offset) {
			ret = symbol_in_memory(&t->remote.reader, &t->symbol_reads, part->start,
					       ROOT_SYMBOL, &address);
			if (!ret)
				ret = add_root(t, part, address);
			else if (ret == -ENOENT || ret == -ENOEXEC || ret == -EFAULT ||
				 ret == -E2BIG)
				ret = 0;
		}
	}
	return ret;
}

static int search_objects(struct target *t, struct file_set *without, const struct mappings *maps)
{
	size_t first = 0;
	int ret = 0;

	for (size_t i = 1; i <= maps->count && !ret; i++)
		if (i == maps->count || compare_files(&maps->array[i], &maps->array[first])) {
			ret = search_object(t, without, &maps->array[first], i - first);
			first = i;
		}
	qsort(t->root, t->nr_roots, sizeof(t->root[0]), by_address);
	return ret;
}

int target_find(struct target *t, const char *command, pid_t pid, struct file_set *without)
{
	struct mappings maps;
	int ret;

	t->command = command;
	t->core = NULL;
	t->pid = pid;
	t->force = false;
	t->program[0] = '\0';
	t->nr_roots = 0;
	t->symbol_reads = SYMBOL_READS;
	remote_open(&t->remote, pid);

	ret = read_maps(t, &maps);
	if (!ret)
		target_read_name(t->pid, t->program);
	if (!ret)
		ret = search_objects(t, without, &maps);
	if (!ret && !t->nr_roots)
		ret = maps.any ? -ENOPKG : -ENODATA;
	free_maps(&maps);
	return ret;
}

int target_open(struct target *t, const char *command, pid_t pid)
{
	int ret = target_find(t, command, pid, NULL);

	if (!ret)
		return EXIT_OK;
	if (ret == -ENODATA)
		ret = util_fail(
			command,
			"process %d (%s) has no memory: it has ended, or belongs to the kernel",
			(int)pid, t->program);
	else
		ret = ret == -ENOPKG ? fail_without_uslab(t) : fail_access(t, ret);
	target_close(t);
	return ret;
}

void target_close(struct target *t)
{
	remote_close(&t->remote);
}

/* ---- snapshots ------------------------------------------------------------------------------- */

int target_take(struct target *t, const struct target_root *root, struct snapshot *s)
{
	int ret = snapshot_take(s, &t->remote.reader, root->address);

	/* one that became another one between the search and now */
	return !ret && !s->totals.arena_base ? -EFAULT : ret;
}

static int choose(struct target *t, const char *library, struct snapshot *s,
		  const struct target_root **chosen)
{
	unsigned long largest = 0;

	*chosen = NULL;
	for (unsigned int i = 0; i < t->nr_roots; i++) {
		if (library && !strstr(t->root[i].object, library))
			continue;
		/* one that cannot be read is taken only if there is no other */
		if (target_take(t, &t->root[i], s))
			s->totals.arena_bytes = 0;
		if (!*chosen || s->totals.arena_bytes > largest) {
			*chosen = &t->root[i];
			largest = s->totals.arena_bytes;
		}
	}
	if (!*chosen)
		return util_fail(t->command, "process %d (%s) has uslab in %s, and not in '%s'",
				 (int)t->pid, t->program, t->root[0].object, library);
	if (!library)
		util_warn(t->command,
			  "process %d (%s) has %u copies of uslab, in %s and %s; this is the one "
			  "in %s (--library chooses)",
			  (int)t->pid, t->program, t->nr_roots, t->root[0].object,
			  t->root[1].object, (*chosen)->object);
	return EXIT_OK;
}

int target_snapshot_root(struct target *t, const struct target_root *root, struct snapshot *s)
{
	int ret = target_take(t, root, s);

	return ret ? fail_snapshot(t, root, s, ret) : EXIT_OK;
}

int target_snapshot(struct target *t, const char *library, struct snapshot *s,
		    const struct target_root **root)
{
	int ret;

	*root = &t->root[0];
	if (t->nr_roots > 1 || library) {
		ret = choose(t, library, s, root);
		if (ret) {
			*root = NULL;
			return ret;
		}
	}
	return target_snapshot_root(t, *root, s);
}
