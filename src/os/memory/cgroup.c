/* SPDX-License-Identifier: MIT */
/*
 * os/memory/cgroup.c - how much memory the process' cgroup has, and may have; how long its tasks
 * wait for some (PSI)
 *
 * Why:        docs/adr/0063.
 * Data:       a buffer for /proc/self/mountinfo.
 * Invariants: see cgroup.h.
 * Locks:      see cgroup.h.
 * Flow:       see cgroup.h; calls write(2).
 *
 * /proc/self/cgroup has a line "0::/path" for version 2, and "4:memory:/path" for version 1, whose
 * memory controller goes first where both are there. The path is relative to the root of the
 * hierarchy; what is mounted may be a part of that (a container), as mountinfo says.
 */
#include "os/memory/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "os/process/say.h"
#include "os/sys.h"

#define PATH_BYTES 1024u
#define TEXT_BYTES 4096u
#define MOUNTS_BYTES 65536u
#define NO_LIMIT (1ul << 60) /* version 1 has a large number where there is none */
#define SAFE_WINDOW_US 2000000u

static char mounts[MOUNTS_BYTES]; /* read once, by the thread that opens */

/* ---- where it is ---- */

/* The line of text that goes on at *at, ended with NUL; NULL: there is none. */
static char *next_line(char **at)
{
	char *line = *at;
	char *end = strchr(line, '\n');

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

	for (const char *p = strstr(words, word); p; p = strstr(p + 1, word))
		if ((p == words || p[-1] == ',') && (!p[len] || p[len] == ',' || p[len] == ':'))
			return true;
	return false;
}

/* The process' path in the hierarchy of version 1's memory controller, or of version 2. */
static bool find_path(char path[PATH_BYTES], bool v2)
{
	char text[TEXT_BYTES];
	char *at = text;
	char *line;

	os_read_text("/proc/self/cgroup", text, sizeof(text));
	while ((line = next_line(&at))) {
		char *controllers = strchr(line, ':');
		char *group = controllers ? strchr(controllers + 1, ':') : NULL;

		if (!group || group[1] != '/')
			continue;
		*group++ = '\0';
		if (v2 ? *++controllers : !has_word(controllers + 1, "memory"))
			continue;
		return os_format(path, PATH_BYTES, "%s", group) < PATH_BYTES;
	}
	return false;
}

/* Ends the word at *at, and moves on to the next one. */
static char *next_word(char **at)
{
	char *word = *at;
	char *end = word + strcspn(word, " ");

	*at = *end ? end + 1 : end;
	*end = '\0';
	return word;
}

/* id parent device ROOT POINT options [tags] - TYPE source OPTIONS */
static bool is_mount(char *line, bool v2, char **root, char **point)
{
	char *rest = strstr(line, " - ");
	char *type;

	if (!rest)
		return false;
	*rest = '\0';
	rest += 3;
	type = next_word(&rest);
	next_word(&rest);
	if (strcmp(type, v2 ? "cgroup2" : "cgroup") || (!v2 && !has_word(rest, "memory")))
		return false;
	for (unsigned int i = 0; i < 3; i++)
		next_word(&line);
	*root = next_word(&line);
	*point = next_word(&line);
	return true;
}

/* The folder of the process' cgroup; *least: bytes of where the hierarchy is mounted. */
static bool find_folder(char folder[PATH_BYTES], size_t *least, bool v2)
{
	char path[PATH_BYTES];
	char *at = mounts;
	char *line;
	char *root;
	char *point;

	if (!find_path(path, v2))
		return false;
	os_read_text("/proc/self/mountinfo", mounts, sizeof(mounts));
	while ((line = next_line(&at))) {
		const char *below = path;
		size_t len;

		if (!is_mount(line, v2, &root, &point))
			continue;
		len = strcmp(root, "/") ? strlen(root) : 0;
		if (!strncmp(path, root, len) && (path[len] == '/' || !path[len]))
			below = path + len;
		else
			below = ""; /* what is mounted is the cgroup of a container */
		*least = strlen(point);
		return os_format(folder, PATH_BYTES, "%s%s", point,
				 strcmp(below, "/") ? below : "") < PATH_BYTES;
	}
	return false;
}

/* ---- memory ---- */

static const struct names {
	const char *used;
	const char *high;
	const char *max;
	const char *files[2]; /* of memory.stat */
} names[] = {
	{ "memory.usage_in_bytes",
	  "memory.soft_limit_in_bytes",
	  "memory.limit_in_bytes",
	  { "total_inactive_file ", "total_active_file " } },
	{ "memory.current", "memory.high", "memory.max", { "inactive_file ", "active_file " } },
};

static int open_file(struct os_kept *kept, const char *folder, const char *name)
{
	char path[PATH_BYTES + 64];

	os_format(path, sizeof(path), "%s/%s", folder, name);
	return os_kept_open(kept, path, O_RDONLY);
}

static void close_all(struct os_cgroup *group)
{
	os_kept_close(&group->used);
	os_kept_close(&group->high);
	os_kept_close(&group->max);
	os_kept_close(&group->stat);
}

static bool open_all(struct os_cgroup *group, const char *folder, const struct names *n)
{
	bool ok;

	*group = (struct os_cgroup){ 0 };
	ok = !open_file(&group->used, folder, n->used) && !open_file(&group->max, folder, n->max) &&
	     !open_file(&group->stat, folder, "memory.stat");
	open_file(&group->high, folder, n->high); /* not in a root */
	if (!ok)
		close_all(group);
	return ok;
}

/* From the process' own folder up: the first one with a limit, else the first one. */
static bool open_limited(struct os_cgroup *group, char *folder, size_t least, const struct names *n)
{
	struct os_cgroup_use use;
	struct os_cgroup own;
	char *slash;

	if (!open_all(&own, folder, n))
		return false;
	*group = own;
	while (os_cgroup_look(group, &use) && use.most == SIZE_MAX) {
		if (group->used.ino != own.used.ino)
			close_all(group);
		*group = own;
		slash = strrchr(folder, '/');
		if (!slash || (size_t)(slash - folder) < least)
			return true;
		*slash = '\0';
		if (!open_all(group, folder, n)) {
			*group = own;
			return true;
		}
	}
	if (group->used.ino != own.used.ino)
		close_all(&own);
	return true;
}

int os_cgroup_open(struct os_cgroup *group)
{
	char folder[PATH_BYTES];
	size_t least;

	for (unsigned int v2 = 0; v2 <= 1; v2++)
		if (find_folder(folder, &least, v2) &&
		    open_limited(group, folder, least, &names[v2]))
			return 0;
	return -ENOENT;
}

/* Bytes; SIZE_MAX: "max", no limit, or no such file. */
static size_t read_limit(const struct os_kept *kept)
{
	char text[64];
	unsigned long bytes;
	char *end;

	if (os_kept_read(kept, text, sizeof(text)) <= 0)
		return SIZE_MAX;
	bytes = strtoul(text, &end, 10);
	return end == text || bytes >= NO_LIMIT ? SIZE_MAX : bytes;
}

/* The number behind a name at the start of a line; 0: there is none. */
static size_t number_of(const char *text, const char *name)
{
	size_t len = strlen(name);

	for (const char *p = text; p; p = strchr(p, '\n')) {
		p += p != text;
		if (!strncmp(p, name, len))
			return strtoul(p + len, NULL, 10);
	}
	return 0;
}

bool os_cgroup_look(const struct os_cgroup *group, struct os_cgroup_use *use)
{
	size_t high = read_limit(&group->high);
	size_t max = read_limit(&group->max);
	char text[TEXT_BYTES];
	size_t files = 0;

	use->used = read_limit(&group->used);
	if (use->used == SIZE_MAX || os_kept_read(&group->stat, text, sizeof(text)) <= 0)
		return false;
	for (unsigned int i = 0; i < 2; i++) {
		size_t v1 = number_of(text, names[0].files[i]);

		files += v1 ? v1 : number_of(text, names[1].files[i]);
	}
	use->used -= MIN(files, use->used);
	use->most = MIN(high, max);
	return true;
}

/* ---- pressure stall information ---- */

static int set_trigger(int fd, unsigned int stall_us, unsigned int window_us)
{
	char text[64];
	size_t len = os_format(text, sizeof(text), "some %u %u", stall_us, window_us);
	long ret = os_syscall(SYS_write, fd, text, len + 1);

	return ret < 0 ? (int)ret : 0;
}

int os_psi_open(struct os_kept *psi, enum os_psi which, unsigned int stall_us,
		unsigned int window_us)
{
	char path[PATH_BYTES + 64] = "/proc/pressure/memory";
	char folder[PATH_BYTES];
	size_t least;
	int ret;

	if (which == OS_PSI_CGROUP) {
		if (!find_folder(folder, &least, true))
			return -ENOENT;
		os_format(path, sizeof(path), "%s/memory.pressure", folder);
	}
	ret = os_kept_open(psi, path, O_RDWR);
	if (!ret) {
		ret = set_trigger(psi->fd_plus_1 - 1, stall_us, window_us);
		if (ret == -EINVAL || ret == -EPERM)
			ret = set_trigger(
				psi->fd_plus_1 - 1,
				(unsigned int)((uint64_t)stall_us * SAFE_WINDOW_US / window_us),
				SAFE_WINDOW_US);
	} else if (os_kept_open(psi, path, O_RDONLY)) {
		return -ENOENT;
	}
	return os_psi_total(psi) || !ret ? ret : -ENOENT;
}

uint64_t os_psi_total(const struct os_kept *psi)
{
	char text[256];
	const char *total;

	if (os_kept_read(psi, text, sizeof(text)) <= 0)
		return 0;
	total = strstr(text, "total=");
	return total ? strtoul(total + 6, NULL, 10) + 1 : 0;
}
