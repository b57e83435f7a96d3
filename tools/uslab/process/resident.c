/* SPDX-License-Identifier: MIT */
/*
 * uslab/process/resident.c - the resident memory of a process or core by kind
 *
 * Why:        docs/adr/0064.
 * Flow:       called by info/, top/ and fs/; calls inspect/memory.c with pagemap.c and live.c for a
 *             process, core.c for a core. In: a source and its snapshot; out: struct resident.
 */
#define _GNU_SOURCE
#include "process/resident.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "process/core.h"
#include "process/live.h"
#include "process/pagemap.h"

/* Is the file that uslab was found in the program of the process? */
static bool is_program(pid_t pid, const char *object)
{
	char path[LIVE_PATH];
	char exe[PATH_MAX];
	ssize_t len = readlink(live_path(path, pid, "exe"), exe, sizeof(exe) - 1);

	exe[len > 0 ? len : 0] = '\0';
	return !strcmp(exe, object);
}

/* The whole process is the sum of its mappings: as they were at the time of the pages. */
static int take_process(struct resident *r, const struct source *source, struct snapshot *s)
{
	const char *object = source->root->object;
	struct pagemap pagemap;
	int ret;

	r->in_program = is_program(source->options.pid, object);
	ret = pagemap_open(&pagemap, source->options.pid, r->in_program ? NULL : object);
	if (!ret) {
		const struct memory_pages pages = { pagemap_states, &pagemap, pagemap.range,
						    pagemap.nr_ranges };

		ret = memory_take(&r->memory, s, &pages);
		r->process = pagemap.resident;
		r->kernel = pagemap_resident(&pagemap, s->totals.arena_base,
					     s->totals.arena_base + s->totals.arena_limit);
		r->zeros_differ = pagemap.can_scan;
	}
	pagemap_close(&pagemap);
	return ret;
}

int resident_take(struct resident *r, const struct source *source, struct snapshot *s)
{
	const struct memory_pages in_core = { .states = core_states, .ctx = source->core };

	memset(r, 0, sizeof(*r));
	switch (source->options.kind) {
	case SOURCE_PROCESS:
		return take_process(r, source, s);
	case SOURCE_CORE:
		r->core = true;
		r->process = core_bytes(source->core);
		return memory_take(&r->memory, s, &in_core);
	case SOURCE_TREE:
		break;
	}
	return -EOPNOTSUPP;
}

int64_t resident_moved(const struct resident *r)
{
	return r->core ? 0 : (int64_t)(r->kernel - r->memory.arena_bytes);
}

const char *resident_text(int error)
{
	switch (error) {
	case -EOPNOTSUPP:
		return "a kernel's tree does not say";
	case -ENOENT:
		return "this system has no /proc/PID/pagemap and smaps";
	case -EACCES:
	case -EPERM:
		return "not permitted: same user and ptrace rights are needed";
	default:
		return strerror(-error);
	}
}
