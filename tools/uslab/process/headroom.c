/* SPDX-License-Identifier: MIT */
/*
 * uslab/process/headroom.c - how much memory a process may still have
 *
 * Why:        docs/adr/0093.
 * Data:       none.
 * Flow:       called by command/need.c and top/top_keys.c. In: files in /proc and of cgroups, a
 *             snapshot; out: the least headroom, and whose it is.
 *
 * A cgroup has what its limit leaves beside what it uses; pages of files count as headroom, since
 * the kernel takes them back before it ends a process. Each cgroup from the process' own up to the
 * root of what is mounted may be the one with the least. The path in /proc/PID/cgroup is looked
 * for where this tool has cgroups mounted. Where it is not there, since one of the two is in a
 * namespace of cgroups, it is looked for where the process has them mounted: what is mounted there
 * is the cgroup of its container, with the limit of that.
 *
 * The process may have arranged what lies below its root. So nothing there is followed that is a
 * link, nothing is opened but the kernel's own folders of cgroups and regular files in them, and
 * only numbers are taken from these.
 */
#define _GNU_SOURCE
#include "process/headroom.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "util.h"

#define TEXT_BYTES 16384u
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define NO_LIMIT (1ull << 60) /* version 1 has a large number where there is none */
#define CGROUP1_MAGIC 0x27e0eb
#define CGROUP2_MAGIC 0x63677270

/* ---- files ----------------------------------------------------------------------------------- */

/* The text of an open file, which is closed, ended with NUL. false: there is none, or too much. */
static bool read_open(int fd, char *text, size_t size)
{
	struct stat st;
	size_t done = 0;
	ssize_t n = 1;

	if (fd < 0)
		return false;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode))
		n = 0;
	while (n > 0 && done < size) {
		n = read(fd, text + done, size - done);
		done += n > 0 ? (size_t)n : 0;
	}
	close(fd);
	if (!done || done == size)
		return false;
	text[done] = '\0';
	return true;
}

static bool read_text(int folder, const char *name, char *text, size_t size)
{
	return read_open(openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC), text,
			 size);
}

/* A number alone in its line, or as the value of a name. false: it is none, or no limit. */
static bool parse_bytes(const char *text, uint64_t *bytes)
{
	char *end;

	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	*bytes = strtoull(text, &end, 10);
	return !errno && (!*end || *end == '\n' || *end == ' ') && *bytes < NO_LIMIT;
}

static bool read_bytes(int folder, const char *name, uint64_t *bytes)
{
	char text[64];

	return read_text(folder, name, text, sizeof(text)) && parse_bytes(text, bytes);
}

/* The value behind a name at the start of a line. */
static bool find_bytes(const char *text, const char *name, uint64_t *bytes)
{
	size_t len = strlen(name);

	for (const char *p = text; p; p = strchr(p, '\n')) {
		p += p != text;
		if (!strncmp(p, name, len))
			return parse_bytes(p + len + strspn(p + len, " \t"), bytes);
	}
	return false;
}

/* ---- one cgroup ------------------------------------------------------------------------------ */

static const struct names {
	const char *used;
	const char *max;
	const char *high;     /* NULL: none */
	const char *files[2]; /* not used lately, and used */
} names[] = {
	{ "memory.usage_in_bytes",
	  "memory.limit_in_bytes",
	  NULL,
	  { "total_inactive_file", "total_active_file" } },
	{ "memory.current", "memory.max", "memory.high", { "inactive_file", "active_file" } },
};

static void note(struct headroom *headroom, enum headroom_whose whose, uint64_t limit,
		 uint64_t used, const char *cgroup)
{
	uint64_t left = limit > used ? limit - used : 0;

	if (left >= headroom->left)
		return;
	headroom->whose = whose;
	headroom->left = left;
	headroom->limit = limit;
	snprintf(headroom->cgroup, sizeof(headroom->cgroup), "%.*s", HEADROOM_NAME - 1,
		 *cgroup ? cgroup : "/");
}

static void look(struct headroom *headroom, int folder, const struct names *n, const char *cgroup)
{
	uint64_t limit, used, files;
	char text[TEXT_BYTES];

	if (!read_bytes(folder, n->used, &used))
		return;
	if (read_text(folder, "memory.stat", text, sizeof(text)))
		for (unsigned int i = 0; i < 2; i++)
			if (find_bytes(text, n->files[i], &files))
				used -= files < used ? files : used;
	if (read_bytes(folder, n->max, &limit))
		note(headroom, HEADROOM_CGROUP, limit, used, cgroup);
	if (n->high && read_bytes(folder, n->high, &limit))
		note(headroom, HEADROOM_HIGH, limit, used, cgroup);
}

/* ---- from a folder down ---------------------------------------------------------------------- */

static bool is_of_cgroups(int folder)
{
	struct statfs fs;

	return !fstatfs(folder, &fs) && (fs.f_type == CGROUP1_MAGIC || fs.f_type == CGROUP2_MAGIC);
}

/* The folder of that name in a folder, which is closed; -1: there is none. */
static int enter(int folder, const char *name)
{
	int inside = -1;

	if (strcmp(name, "..") != 0)
		inside = openat(folder, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	close(folder);
	return inside;
}

/* The path's next folder, whose name is copied; *at is behind it. false: it was the last. */
static bool next_name(const char **at, char name[NAME_MAX + 1])
{
	size_t len;

	*at += strspn(*at, "/");
	len = strcspn(*at, "/");
	if (!len || len > NAME_MAX)
		return false;
	memcpy(name, *at, len);
	name[len] = '\0';
	*at += len;
	return true;
}

/* Goes down the path from a folder, which is closed; -1: it is not there. */
static int go_down(int folder, const char *path)
{
	char name[NAME_MAX + 1];

	while (folder >= 0 && next_name(&path, name))
		folder = enter(folder, name);
	return folder;
}

/*
 * The cgroups from a folder, which is closed, down the path. shown: the path of the folder itself.
 * false: it is no cgroup, or the path is not there as a whole.
 */
static bool look_down(struct headroom *headroom, int folder, const char *shown, const char *path,
		      const struct names *n, bool made_up)
{
	char name[NAME_MAX + 1], cgroup[PATH_MAX];
	bool all = true;
	size_t len;

	snprintf(cgroup, sizeof(cgroup), "%s", strcmp(shown, "/") ? shown : "");
	while (folder >= 0) {
		if (made_up || is_of_cgroups(folder))
			look(headroom, folder, n, cgroup);
		else
			all = false;
		if (!next_name(&path, name))
			break;
		len = strlen(cgroup);
		snprintf(cgroup + len, sizeof(cgroup) - len, "/%s", name);
		folder = enter(folder, name);
	}
	if (folder < 0)
		return false;
	close(folder);
	return all;
}

/* ---- where they are -------------------------------------------------------------------------- */

static char *next_line(char **at)
{
	char *line = *at, *end = strchr(line, '\n');

	if (!end)
		return NULL;
	*end = '\0';
	*at = end + 1;
	return line;
}

/* Is it one of the words between commas? */
static bool has_word(const char *words, const char *word)
{
	size_t len = strlen(word);

	for (const char *p = words; p; p = strchr(p, ',')) {
		p += *p == ',';
		if (!strncmp(p, word, len) && (!p[len] || p[len] == ','))
			return true;
	}
	return false;
}

/* "4:memory:/path" in version 1, "0::/path" in version 2. */
static bool find_path(char path[PATH_MAX], const struct headroom_files *files, bool v2)
{
	char text[TEXT_BYTES];
	char file[PATH_MAX];
	char *at = text;
	char *line;

	snprintf(file, sizeof(file), "%s/cgroup", files->process);
	if (!read_open(open(file, O_RDONLY | O_CLOEXEC), text, sizeof(text)))
		return false;
	while ((line = next_line(&at))) {
		char *controllers = strchr(line, ':');
		char *group = controllers ? strchr(controllers + 1, ':') : NULL;

		if (!group || group[1] != '/')
			continue;
		*group++ = '\0';
		controllers++;
		if (v2 ? *controllers != '\0' : !has_word(controllers, "memory"))
			continue;
		snprintf(path, PATH_MAX, "%s", group);
		return true;
	}
	return false;
}

/* mountinfo has "\\040" in place of a blank. */
static void decode(char *text)
{
	char *to = text;

	for (const char *from = text; *from; to++) {
		unsigned int byte;

		if (sscanf(from, "\\%3o", &byte) == 1 && strspn(from + 1, "01234567") >= 3) {
			*to = (char)byte;
			from += 4;
		} else {
			*to = *from++;
		}
	}
	*to = '\0';
}

/* id parent device ROOT POINT options [tags] - TYPE source OPTIONS: is it that of this version? */
static bool parse_mount(const char *line, bool v2, char root[PATH_MAX], char point[PATH_MAX])
{
	const char *rest = strstr(line, " - ");
	char type[32], options[256];

	if (!rest || sscanf(line, "%*s %*s %*s %4095s %4095s", root, point) != 2 ||
	    sscanf(rest, " - %31s %*s %255s", type, options) != 2)
		return false;
	decode(root);
	decode(point);
	return v2 ? !strcmp(type, "cgroup2")
		  : !strcmp(type, "cgroup") && has_word(options, "memory");
}

/* What of the path lies below the root of what is mounted; NULL: it lies elsewhere. */
static const char *below(const char *path, const char *root)
{
	size_t len = strcmp(root, "/") ? strlen(root) : 0;

	return !strncmp(path, root, len) && (path[len] == '/' || !path[len]) ? path + len : NULL;
}

/* Where this tool has them mounted. false: not there. */
static bool look_here(struct headroom *headroom, const struct headroom_files *files,
		      const char *path, bool v2)
{
	FILE *mounts = fopen(files->mounts, "re");
	char root[PATH_MAX], point[PATH_MAX];
	bool done = false;
	char *line = NULL;
	size_t size = 0;

	while (mounts && !done && getline(&line, &size, mounts) > 0) {
		struct headroom found = { .left = UINT64_MAX };
		const char *rest = parse_mount(line, v2, root, point) ? below(path, root) : NULL;

		done = rest && look_down(&found, open(point, O_PATH | O_DIRECTORY | O_CLOEXEC),
					 root, rest, &names[v2], files->made_up);
		if (done && found.left < headroom->left)
			*headroom = found;
	}
	free(line);
	if (mounts)
		fclose(mounts);
	return done;
}

/* Where the process has them mounted: what is mounted there is at least its container's. */
static void look_there(struct headroom *headroom, const struct headroom_files *files,
		       const char *path, bool v2)
{
	char root[PATH_MAX];
	int folder;

	snprintf(root, sizeof(root), "%s/root", files->process);
	folder = go_down(open(root, O_PATH | O_DIRECTORY | O_CLOEXEC),
			 v2 ? "sys/fs/cgroup" : "sys/fs/cgroup/memory");
	look_down(headroom, folder, "/", path, &names[v2], files->made_up);
}

static void look_at_cgroups(struct headroom *headroom, const struct headroom_files *files, bool v2)
{
	char path[PATH_MAX];

	if (find_path(path, files, v2) && !look_here(headroom, files, path, v2))
		look_there(headroom, files, path, v2);
}

/* ---- all of them ----------------------------------------------------------------------------- */

static void look_at_machine(struct headroom *headroom, const struct headroom_files *files)
{
	char text[TEXT_BYTES];
	uint64_t kib;

	if (!read_open(open(files->machine, O_RDONLY | O_CLOEXEC), text, sizeof(text)) ||
	    !find_bytes(text, "MemAvailable:", &kib) || kib * 1024 >= headroom->left)
		return;
	headroom->whose = HEADROOM_MACHINE;
	headroom->left = kib * 1024;
	headroom->limit = 0;
}

/* RLIMIT_DATA; of RLIMIT_AS the arena has had its part, see headroom_find(). */
static void look_at_data(struct headroom *headroom, const struct headroom_files *files)
{
	char text[TEXT_BYTES], file[PATH_MAX];
	uint64_t limit, kib;

	snprintf(file, sizeof(file), "%s/limits", files->process);
	if (!read_open(open(file, O_RDONLY | O_CLOEXEC), text, sizeof(text)) ||
	    !find_bytes(text, "Max data size", &limit))
		return;
	snprintf(file, sizeof(file), "%s/status", files->process);
	if (read_open(open(file, O_RDONLY | O_CLOEXEC), text, sizeof(text)) &&
	    find_bytes(text, "VmData:", &kib))
		note(headroom, HEADROOM_DATA, limit, kib * 1024, "");
}

void headroom_read(struct headroom *headroom, const struct headroom_files *files)
{
	*headroom = (struct headroom){ .left = UINT64_MAX };
	look_at_cgroups(headroom, files, false);
	look_at_cgroups(headroom, files, true);
	look_at_machine(headroom, files);
	look_at_data(headroom, files);
}

void headroom_find(struct headroom *headroom, pid_t pid, const struct snapshot *s)
{
	char process[32];
	const struct headroom_files files = { .process = process,
					      .mounts = "/proc/self/mountinfo",
					      .machine = "/proc/meminfo" };

	snprintf(process, sizeof(process), "/proc/%d", (int)pid);
	headroom_read(headroom, &files);
	if (s->totals.limit)
		note(headroom, HEADROOM_LIBRARY, s->totals.limit, s->totals.held_bytes, "");
	if (s->totals.arena_limit)
		note(headroom, HEADROOM_ARENA, s->totals.arena_limit,
		     s->totals.arena_bytes - MIN(s->totals.free_bytes, s->totals.arena_bytes), "");
}

/* ---- what is said of it ---------------------------------------------------------------------- */

void headroom_text(char text[HEADROOM_TEXT], const struct headroom *headroom)
{
	char left[UTIL_SIZE_TEXT], limit[UTIL_SIZE_TEXT];

	util_size(left, sizeof(left), headroom->left);
	util_size(limit, sizeof(limit), headroom->limit);
	switch (headroom->whose) {
	case HEADROOM_CGROUP:
		snprintf(text, HEADROOM_TEXT, "its memory limit (cgroup %s, %s) leaves %s",
			 headroom->cgroup, limit, left);
		break;
	case HEADROOM_HIGH:
		snprintf(text, HEADROOM_TEXT,
			 "its memory limit (memory.high of cgroup %s, %s) leaves %s",
			 headroom->cgroup, limit, left);
		break;
	case HEADROOM_MACHINE:
		snprintf(text, HEADROOM_TEXT, "the machine has %s available", left);
		break;
	case HEADROOM_LIBRARY:
		snprintf(text, HEADROOM_TEXT, "its limit of uslab (%s) leaves %s", limit, left);
		break;
	case HEADROOM_ARENA:
		snprintf(text, HEADROOM_TEXT, "its arena (%s, see ulimit -v) leaves %s", limit,
			 left);
		break;
	case HEADROOM_DATA:
		snprintf(text, HEADROOM_TEXT, "its data limit (ulimit -d, %s) leaves %s", limit,
			 left);
		break;
	case HEADROOM_UNKNOWN:
		text[0] = '\0';
		break;
	}
}

const char *headroom_risk(const struct headroom *headroom)
{
	static const char *const risks[] = {
		[HEADROOM_UNKNOWN] = "",
		[HEADROOM_CGROUP] = "it may be killed for that",
		[HEADROOM_HIGH] = "it may stand still for that",
		[HEADROOM_MACHINE] = "it or another process may be killed for that",
		[HEADROOM_LIBRARY] = "its allocations may fail for that",
		[HEADROOM_ARENA] = "its allocations may fail for that",
		[HEADROOM_DATA] = "its allocations may fail for that",
	};

	return risks[headroom->whose];
}
