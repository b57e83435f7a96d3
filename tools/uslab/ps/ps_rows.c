/* SPDX-License-Identifier: MIT */
/*
 * uslab/ps/ps_rows.c - looks for uslab in all processes
 *
 * Data:       struct ps_table. A snapshot, mapped once for all of them.
 * Flow:       called by cmd_ps.c; calls process/target.c to find and to read, process/file_set.c,
 *             process/rss.c, inspect/text.c and command/debug_flags.c. In: /proc; out: rows.
 *
 * Processes come and go meanwhile: one that ends is left out. Nothing that one of them says is
 * trusted, see inspect/snapshot.h.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command/debug_flags.h"
#include "inspect/text.h"
#include "process/rss.h"
#include "process/target.h"
#include "ps/ps.h"
#include "util.h"

struct search {
	struct ps_table *table;
	struct file_set without; /* files that have no uslab */
	struct progress progress;
	struct target target;
	struct snapshot snapshot;
};

/* A row more, all 0; NULL: out of memory. */
static struct ps_row *add_row(struct ps_table *table)
{
	if (table->count == table->room) {
		size_t room = table->room ? 2 * table->room : 16;
		struct ps_row *rows = reallocarray(table->rows, room, sizeof(*rows));

		if (!rows)
			return NULL;
		table->rows = rows;
		table->room = room;
	}
	return memset(&table->rows[table->count++], 0, sizeof(*table->rows));
}

static void add_up(struct ps_row *row, const struct snapshot *s)
{
	for (unsigned int i = 0; i < s->nr_caches; i++) {
		const struct snapshot_cache *c = &s->cache[i];

		row->objects += c->objects;
		/* objects of a heap are in the row of that */
		row->held += c->slab_bytes - text_loss(c);
		row->space += c->slab_bytes;
		row->debug_flags |= c->flags & debug_flags_all();
		row->sampled |= c->sampled;
	}
	row->reports = s->totals.reports;
}

static enum ps_state state_of(int error)
{
	switch (error) {
	case 0:
		return PS_READ;
	case -EAGAIN:
		return PS_UNUSED;
	case -EPROTONOSUPPORT:
		return PS_OTHER_DATA;
	default:
		return PS_UNREADABLE;
	}
}

static bool fill(struct search *search, const struct target_root *root)
{
	struct ps_row *row = add_row(search->table);
	int error;

	if (!row)
		return false;
	error = target_take(&search->target, root, &search->snapshot);
	row->pid = search->target.pid;
	row->state = state_of(error);
	if (row->state != PS_UNREADABLE) {
		row->data_version = search->snapshot.root.version;
		memcpy(row->version, search->snapshot.root.version_text, sizeof(row->version));
	}
	if (row->state == PS_READ)
		add_up(row, &search->snapshot);
	row->resident_known = rss_of_process(row->pid, &row->resident);
	memcpy(row->program, search->target.program, sizeof(row->program));
	memcpy(row->object, root->object, sizeof(row->object));
	util_make_line(row->object);
	return true;
}

/* false: out of memory. */
static bool look(struct search *search, pid_t pid)
{
	int error = target_find(&search->target, PS_COMMAND, pid, &search->without);
	bool done = true;

	if (error == -EACCES || error == -EPERM)
		search->table->closed++;
	for (unsigned int i = 0; !error && done && i < search->target.nr_roots; i++)
		done = fill(search, &search->target.root[i]);
	target_close(&search->target);
	return done && error != -ENOMEM;
}

/* false: out of memory. */
static bool look_at_all(struct search *search, DIR *proc)
{
	struct dirent *entry;
	unsigned long pid;

	while ((entry = readdir(proc))) {
		if (!util_parse_number(entry->d_name, 1, INT_MAX, &pid) || (pid_t)pid == getpid())
			continue;
		progress_show(&search->progress, "process %lu", pid);
		if (!look(search, (pid_t)pid))
			return false;
	}
	return true;
}

int ps_take(struct ps_table *table)
{
	struct search *search = calloc(1, sizeof(*search));
	DIR *proc = opendir("/proc");
	bool done = false;

	if (!proc) {
		free(search);
		return util_fail(PS_COMMAND, "needs /proc: %s", strerror(errno));
	}
	if (search) {
		search->table = table;
		progress_start(&search->progress, PS_COMMAND);
		done = look_at_all(search, proc);
		progress_end(&search->progress);
		file_set_free(&search->without);
	}
	closedir(proc);
	free(search);
	return done ? EXIT_OK : util_fail(PS_COMMAND, "out of memory");
}

static int by_space(const void *a, const void *b)
{
	const struct ps_row *left = a, *right = b;

	if (left->space != right->space)
		return left->space < right->space ? 1 : -1;
	return left->pid - right->pid;
}

void ps_sort_by_space(struct ps_table *table)
{
	if (table->count)
		qsort(table->rows, table->count, sizeof(*table->rows), by_space);
}

void ps_free(struct ps_table *table)
{
	free(table->rows);
	*table = (struct ps_table){ .rows = NULL };
}
