/* SPDX-License-Identifier: MIT */
/*
 * uslab/ps/ps_rows.c - looks for uslab in all processes
 *
 * Data:       struct ps_table; a worker's struct search, and what it writes into a pipe.
 * Flow:       called by cmd_ps.c; calls process/target.c to find and to read, process/file_set.c,
 *             process/rss.c, inspect/text.c and command/debug_flags.c. In: /proc; out: rows.
 *
 * Processes come and go meanwhile: one that ends is left out. Nothing that one of them says is
 * trusted, see inspect/snapshot.h. Memory and files of a process may be such that reading them
 * never ends, and cannot be interrupted (a FUSE mount whose server does not answer). So a child
 * looks at one process after another, and writes what it finds into a pipe; when nothing comes for
 * some seconds, it is killed and left, and another one goes on behind that process.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "command/debug_flags.h"
#include "inspect/text.h"
#include "process/rss.h"
#include "process/target.h"
#include "ps/ps.h"
#include "util.h"

/*
 * How long an answer is waited for: the largest arena takes some seconds. Somebody may start any
 * number of processes that do not answer; the list is to come in less than a minute.
 */
#define TIMEOUT_MS 5000
#define MAX_LONG_TIMEOUTS 2
#define SHORT_TIMEOUT_MS 250 /* after these */
#define MAX_SILENT 64

/* What a worker writes: it begins with a process, rows of it, it has ended with it. */
struct message {
	enum { BEGIN, ROW, CLOSED, NO_MEMORY } kind;
	size_t at; /* in the list of processes */
};

struct search {
	int pipe;		 /* to write to */
	struct file_set without; /* files that have no uslab */
	struct target target;
	struct snapshot snapshot;
};

struct list {
	pid_t *pid;
	size_t count, room;
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

/* ---- the worker ------------------------------------------------------------------------------ */

static void put(const struct search *search, const void *data, size_t size)
{
	const char *from = data;

	while (size) {
		ssize_t n = write(search->pipe, from, size);

		if (n <= 0)
			_exit(EXIT_FAILED);
		from += n;
		size -= (size_t)n;
	}
}

static void fill(struct search *search, const struct target_root *root, size_t at)
{
	const struct message message = { ROW, at };
	struct ps_row row = { .pid = search->target.pid };

	row.state = state_of(target_take(&search->target, root, &search->snapshot));
	if (row.state != PS_UNREADABLE) {
		row.data_version = search->snapshot.root.version;
		memcpy(row.version, search->snapshot.root.version_text, sizeof(row.version));
	}
	if (row.state == PS_READ)
		add_up(&row, &search->snapshot);
	row.resident_known = rss_of_process(row.pid, &row.resident);
	memcpy(row.program, search->target.program, sizeof(row.program));
	memcpy(row.object, root->object, sizeof(row.object));
	util_make_line(row.object);
	put(search, &message, sizeof(message));
	put(search, &row, sizeof(row));
}

static void look(struct search *search, const struct list *list, size_t at)
{
	struct message message = { BEGIN, at };
	int error;

	put(search, &message, sizeof(message));
	error = target_find(&search->target, PS_COMMAND, list->pid[at], &search->without);
	for (unsigned int i = 0; !error && i < search->target.nr_roots; i++)
		fill(search, &search->target.root[i], at);
	target_close(&search->target);
	message.kind = error == -ENOMEM ? NO_MEMORY : CLOSED;
	if (error == -ENOMEM || error == -EACCES || error == -EPERM)
		put(search, &message, sizeof(message));
}

/* Looks at the processes from that one on; does not return. */
static void work(int to, const struct list *list, size_t from)
{
	const struct message no_memory = { NO_MEMORY, from };
	struct search *search = calloc(1, sizeof(*search));

	if (!search) {
		const struct search none = { .pipe = to };

		put(&none, &no_memory, sizeof(no_memory));
		_exit(EXIT_FAILED);
	}
	search->pipe = to;
	for (size_t at = from; at < list->count; at++)
		look(search, list, at);
	file_set_free(&search->without);
	free(search);
	_exit(EXIT_OK);
}

/* ---- who waits for it ------------------------------------------------------------------------ */

static int timeout_ms(const struct ps_table *table)
{
	return table->silent < MAX_LONG_TIMEOUTS ? TIMEOUT_MS : SHORT_TIMEOUT_MS;
}

/* 1; 0: the worker has ended; -ETIMEDOUT. */
static int get(int from, int timeout, void *data, size_t size)
{
	char *to = data;

	while (size) {
		struct pollfd ready = { .fd = from, .events = POLLIN };
		int found = poll(&ready, 1, timeout);
		ssize_t n;

		if (found < 0 && errno == EINTR)
			continue;
		if (found <= 0)
			return -ETIMEDOUT;
		n = read(from, to, size);
		if (n <= 0)
			return 0;
		to += n;
		size -= (size_t)n;
	}
	return 1;
}

static bool add_silent(struct ps_table *table, pid_t pid)
{
	struct ps_row *row = add_row(table);

	if (!row)
		return false;
	row->pid = pid;
	row->state = PS_NO_ANSWER;
	target_read_name(pid, row->program);
	table->silent++;
	return true;
}

/* Takes what a worker writes. *at: the process it is at. 0: it has ended; -errno. */
static int take_messages(struct ps_table *table, struct progress *progress, const struct list *list,
			 int from, size_t *at)
{
	struct message message;
	int ret;

	while ((ret = get(from, timeout_ms(table), &message, sizeof(message))) > 0) {
		struct ps_row *row;

		if (message.at >= list->count)
			return -EPROTO;
		*at = message.at;
		if (message.kind == NO_MEMORY)
			return -ENOMEM;
		table->closed += message.kind == CLOSED;
		if (message.kind == BEGIN)
			progress_show(progress, "process %d", (int)list->pid[*at]);
		if (message.kind != ROW)
			continue;
		row = add_row(table);
		if (!row)
			return -ENOMEM;
		ret = get(from, timeout_ms(table), row, sizeof(*row));
		if (ret <= 0) {
			table->count--;
			return ret;
		}
	}
	return ret;
}

/* One worker, from *at on, which is behind the last process it was at afterwards. 0 or -errno. */
static int run_worker(struct ps_table *table, struct progress *progress, const struct list *list,
		      size_t *at)
{
	size_t now = *at;
	int ends[2], status, ret;
	pid_t worker;

	if (pipe2(ends, O_CLOEXEC))
		return -errno;
	worker = util_fork();
	if (!worker) {
		close(ends[0]);
		work(ends[1], list, *at);
	}
	ret = worker < 0 ? -errno : 0;
	close(ends[1]);
	if (!ret)
		ret = take_messages(table, progress, list, ends[0], &now);
	close(ends[0]);
	if (worker > 0 && ret) /* it may not end for long: nobody waits for that */
		kill(worker, SIGKILL);
	if (worker > 0)
		waitpid(worker, &status, ret ? WNOHANG : 0);
	*at = now + 1;
	if (ret == -ETIMEDOUT || (!ret && (!WIFEXITED(status) || WEXITSTATUS(status))))
		ret = add_silent(table, list->pid[now]) ? 0 : -ENOMEM;
	else if (!ret)
		*at = list->count;
	return ret;
}

/* All processes but this one, by number. false: out of memory. */
static bool list_all(struct list *list, DIR *proc)
{
	struct dirent *entry;
	unsigned long pid;

	while ((entry = readdir(proc))) {
		if (!util_parse_number(entry->d_name, 1, INT_MAX, &pid) || (pid_t)pid == getpid())
			continue;
		if (list->count == list->room) {
			size_t room = list->room ? 2 * list->room : 256;
			pid_t *more = reallocarray(list->pid, room, sizeof(*more));

			if (!more)
				return false;
			list->pid = more;
			list->room = room;
		}
		list->pid[list->count++] = (pid_t)pid;
	}
	return true;
}

int ps_take(struct ps_table *table)
{
	DIR *proc = access("/proc/self/maps", R_OK) ? NULL : opendir("/proc");
	struct list list = { .pid = NULL };
	struct progress progress;
	size_t at = 0;
	int ret = 0;

	if (!proc)
		return util_fail(PS_COMMAND, "needs /proc, which is not mounted here");
	if (!list_all(&list, proc))
		ret = -ENOMEM;
	closedir(proc);
	progress_start(&progress, PS_COMMAND);
	while (!ret && at < list.count && table->silent < MAX_SILENT)
		ret = run_worker(table, &progress, &list, &at);
	table->left = list.count - at;
	progress_end(&progress);
	free(list.pid);
	return ret ? util_fail(PS_COMMAND, "%s", strerror(-ret)) : EXIT_OK;
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
