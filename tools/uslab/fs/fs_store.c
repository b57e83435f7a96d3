/* SPDX-License-Identifier: MIT */
/*
 * uslab/fs/fs_store.c - what is written to the files of the tree, as commands to the process
 *
 * Flow:       called by fs_tree.c; calls fs_names.c, distinct.c, command/command.c, and
 *             debug_flags.c and need.c there. In: what was written to a file; out: a command to the
 *             process, or -errno as the kernel gives it.
 *
 * Texts are accepted and refused as by the kernel (spec 6.3, 9.2); bytes may be said as 1M. The
 * debug flags are those of Linux 3.18, without its limit to empty caches.
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "command/debug_flags.h"
#include "command/need.h"
#include "fs/fs.h"
#include "inspect/env.h"

#define TUNE_MAX 128 /* bytes of a line */

/* Digits and at most one newline behind them, as the kernel's kstrtoul(). */
static int parse_number(const char *text, size_t size, unsigned long max, unsigned long *value)
{
	char digits[24];
	char *end;

	if (size && text[size - 1] == '\n')
		size--;
	if (size && *text == '+') {
		text++;
		size--;
	}
	if (!size || !isdigit((unsigned char)*text))
		return -EINVAL;
	if (size >= sizeof(digits))
		return -ERANGE;
	memcpy(digits, text, size);
	digits[size] = '\0';
	errno = 0;
	*value = strtoul(digits, &end, 10);
	if (*end)
		return -EINVAL;
	return errno || *value > max ? -ERANGE : 0;
}

/* The cache's name as a pattern that means nothing else. */
static int set_pattern(struct fs_request *request, const char *name)
{
	size_t n = 0;

	for (; *name; name++) {
		if (n + 2 >= sizeof(request->pattern))
			return -ENAMETOOLONG;
		if (strchr("*?[]\\", *name))
			request->pattern[n++] = '\\';
		request->pattern[n++] = *name;
	}
	request->pattern[n] = '\0';
	return 0;
}

static int set_number(struct fs_request *request, const char *name, unsigned long value)
{
	request->command = CONTROL_SET;
	snprintf(request->argument, sizeof(request->argument), "%s=%lu", name, value);
	return 0;
}

static int parse_and_set(const struct fs_attribute *a, const char *text, size_t size,
			 unsigned long max, struct fs_request *request)
{
	unsigned long value;
	int ret = parse_number(text, size, max, &value);

	return ret ? ret : set_number(request, a->name, value);
}

/* As in USLAB_CONF; what is no such size is refused as a number is. */
static int set_bytes(const struct fs_attribute *a, const char *text, size_t size,
		     struct fs_request *request)
{
	size_t len = size && text[size - 1] == '\n' ? size - 1 : size;
	char number[24] = "";
	size_t bytes;

	if (len < sizeof(number)) {
		memcpy(number, text, len);
		if (os_parse_size(number, &bytes))
			return set_number(request, a->name, bytes);
	}
	return parse_and_set(a, text, size, ULONG_MAX, request);
}

/* The process knows how many fit the cache's front. */
static int set_capacity(const struct fs_attribute *a, const char *text, size_t size,
			struct fs_request *request)
{
	static const char by_size[] = "default";
	size_t len = sizeof(by_size) - 1;

	if (size >= len && !memcmp(text, by_size, len) &&
	    (size == len || (size == len + 1 && text[len] == '\n')))
		return set_number(request, a->name, CONTROL_CAPACITY_BY_SIZE);
	return parse_and_set(a, text, size, CONTROL_CAPACITY_MAX, request);
}

static int set_letter(const struct fs_attribute *a, const char *text, struct fs_request *request)
{
	request->command = CONTROL_DEBUG;
	snprintf(request->argument, sizeof(request->argument), "%c%c", *text == '1' ? '+' : '-',
		 a->letter);
	return 0;
}

/* Only the first letter counts, and it has to be this one. */
static int set_command(struct fs_request *request, enum control_command command, bool right)
{
	request->command = command;
	return right ? 0 : -EINVAL;
}

/* One step of so long; 0: until it is done. Each is a sweep of its own: the round goes on. */
static int set_defrag(const char *text, size_t size, struct fs_request *request)
{
	unsigned long value;
	int ret = parse_number(text, size, UINT_MAX, &value);

	request->command = CONTROL_DEFRAG;
	request->value = ret ? 0 : value;
	command_new_sweep(request->argument);
	return ret;
}

int fs_store_parse(const struct fs_attribute *a, const struct snapshot_cache *c, const char *text,
		   size_t size, struct fs_request *request)
{
	const slab_flags_t debug = DEBUG_SLAB_FLAGS;
	bool is_debug = (c->flags & debug) != 0;
	char first = size ? *text : '\0';
	int ret;

	memset(request, 0, sizeof(*request));
	ret = set_pattern(request, c->name);
	if (ret)
		return ret;
	switch (a->store) {
	case FS_STORE_NUMBER:
		return parse_and_set(a, text, size, ULONG_MAX, request);
	case FS_STORE_BYTES:
		return set_bytes(a, text, size, request);
	case FS_STORE_UINT:
		return parse_and_set(a, text, size, UINT_MAX, request);
	case FS_STORE_OBJECTS:
		ret = parse_and_set(a, text, size, UINT_MAX, request);
		return !ret && is_debug && strcmp(request->argument, "cpu_partial=0") ? -EINVAL
										      : ret;
	case FS_STORE_PERCENT:
		return parse_and_set(a, text, size, 100, request);
	case FS_STORE_CAPACITY:
		return set_capacity(a, text, size, request);
	case FS_STORE_FLAG:
		return set_letter(a, &first, request);
	case FS_STORE_BIT:
		return first == '0' || first == '1' ? set_number(request, a->name, first == '1')
						    : -EINVAL;
	case FS_STORE_ZERO:
		return first == '0' ? set_number(request, a->name, 0) : -EINVAL;
	case FS_STORE_SHRINK:
		return set_command(request, CONTROL_SHRINK, first == '1');
	case FS_STORE_VALIDATE:
		return set_command(request, CONTROL_VALIDATE, first == '1' && is_debug);
	case FS_STORE_DEFRAG:
		return c->movable ? set_defrag(text, size, request) : -EOPNOTSUPP;
	case FS_READ_ONLY:
		break;
	}
	return -EACCES;
}

/* ---- slabinfo -------------------------------------------------------------------------------- */

/* As the file itself calls it. 0; -EINVAL: there is none; -ENOMEM. */
static int find_by_word(const struct snapshot *s, const char *word,
			const struct snapshot_cache **found)
{
	struct distinct *words = malloc(sizeof(*words));
	const struct distinct_name *name;

	if (!words)
		return -ENOMEM;
	fs_names_words(words, s);
	name = distinct_find(words, word);
	*found = name && s->cache[name->cache].id ? &s->cache[name->cache] : NULL;
	free(words);
	return *found ? 0 : -EINVAL;
}

int fs_tune_parse(const struct snapshot *s, const char *text, size_t size,
		  struct fs_request *request)
{
	const struct snapshot_cache *c;
	int limit, batchcount, shared;
	char line[TUNE_MAX + 1];
	char *blank;
	int ret;

	memset(request, 0, sizeof(*request));
	if (size > TUNE_MAX)
		return -EINVAL;
	memcpy(line, text, size);
	line[size] = '\0';
	blank = strchr(line, ' ');
	if (!blank)
		return -EINVAL;
	*blank = '\0';
	if (sscanf(blank + 1, "%d %d %d", &limit, &batchcount, &shared) != 3)
		return -EINVAL;
	ret = find_by_word(s, line, &c);
	if (ret)
		return ret;
	if (strcmp(c->front, "queues") != 0)
		return -EIO;
	if (limit < 1 || batchcount < 1 || batchcount > limit || shared < 0)
		return 1;
	ret = set_pattern(request, c->name);
	request->command = CONTROL_TUNE;
	snprintf(request->argument, sizeof(request->argument), "%d %d %d", limit, batchcount,
		 shared);
	return ret;
}

/* ---- allocation profiling ---- */

int fs_profiling_parse(const char *text, size_t size, struct fs_request *request)
{
	unsigned long value;
	int ret = parse_number(text, size, 1, &value);

	memset(request, 0, sizeof(*request));
	request->command = CONTROL_PROFILE;
	request->value = ret ? 0 : value;
	return ret == -ERANGE ? -EINVAL : ret;
}

/* ---- the process ----------------------------------------------------------------------------- */

bool fs_store_fits(const struct fs *fs, unsigned int cache, const struct fs_request *request)
{
	const struct target *target = &fs->source.target;
	struct need need = { .bytes = 0 };
	struct headroom headroom;

	if (request->command != CONTROL_DEBUG || target->force)
		return true;
	need_add(&need, fs->s, cache,
		 debug_flags_change(request->argument, fs->s->cache[cache].flags));
	return need_compare(&need, target, fs->s, &headroom) != NEED_TOO_MUCH;
}

int fs_store_send(struct fs *fs, const struct fs_request *request)
{
	const struct command_request command = {
		.command = request->command,
		.pattern = request->pattern,
		.argument = request->argument,
		.value = request->value,
		.wait_ms = FS_WAIT_MS,
	};
	struct control reply;
	int ret = command_send(&fs->source.target, fs->source.root, &command, &reply);

	fs->taken_ns = 0; /* who reads now wants to see it */
	if (ret)
		return ret == -ESRCH ? -EIO : ret == -ECANCELED ? -EPERM : ret;
	if (!reply.matched && request->command != CONTROL_PROFILE)
		return -EIO;
	return reply.result < 0 ? reply.result : 0;
}
