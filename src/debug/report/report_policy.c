/* SPDX-License-Identifier: MIT */
/*
 * debug/report/report_policy.c - where a report goes, and what comes after it
 *
 * Data:       policy, format, file and hook, as the program chose them; the taint;
 *             what the open text holds.
 * Invariants: options are set before they matter (USLAB_CONF) or by the program; the hook and
 *             what goes with it change under the text's lock. A hook runs without it, and is
 *             counted as long as it does.
 * Locks:      RANK_REPORT, the text's, guards all but policy, format, tainted, own_frames
 *             and nr_notifying, which are atomic.
 * Flow:       called by mistake.c, report.c, report_modern.c, api/debug_api.c, cache/ and debug/;
 *             calls report_text.c, report_head.c, os/process/file.c, os/process/process.c,
 *             os/memory/vm.c, page/nested.c, page/reserve.c.
 *
 * A hook may wait for another thread, which itself has something to report, or makes a cache. So it
 * is called when its thread holds no lock of ours, with a copy of the text: where caches are walked
 * under the registry's lock, or a front is locked, it is deferred as the frees of signal handlers
 * are (page/nested.h), until the holder of such a lock has released it and calls nested_call().
 */
#include <stdarg.h>
#include <string.h>

#include "base/atomic.h"
#include "base/bits.h"
#include "debug/report/report_head.h"
#include "debug/report/report_style.h"
#include "os/time/clock.h"
#include "os/process/die.h"
#include "os/process/file.h"
#include "os/lock/lock.h"
#include "os/lock/wait.h"
#include "os/process/process.h"
#include "os/process/say.h"
#include "os/memory/vm.h"
#include "page/nested.h"
#include "page/reserve.h"

#define PATH_BYTES 1024
#define LEAST_FD 1000 /* out of the way of programs that number their descriptors themselves */
#define EXIT_STATUS 1 /* of report=exit */
#define STDERR 2
#define NAME_BYTES 64
#define SHORT_BYTES 512 /* of a text for which there is no memory */

struct report_counters report_counters;

static enum report_policy policy = REPORT_CONTINUE;
static enum report_format format = REPORT_MODERN;
static bool tainted;
static bool own_frames;
static unsigned int nr_notifying; /* hooks that run now */
static int file_error;		  /* of report.file; while the library is made ready */

static struct {
	char path[PATH_BYTES]; /* "": stderr */
	struct os_log log;     /* that file, opened when it was named */
	uslab_report_hook hook;
	void *arg;
	bool quiet;
	bool error;		/* the text reports a mistake, it is not only a trace */
	unsigned int nr;	/* reports in it */
	enum report_kind last;	/* of these */
	bool delivering;	/* a report of a signal handler leaves the text open */
	char cache[NAME_BYTES]; /* whose the first one is */
} state;

const struct report_style *report_style(void)
{
	return load_relaxed(&format) == REPORT_MODERN ? &report_modern : &report_old;
}

bool report_shows_taken(void)
{
	return report_style()->shows_taken;
}

bool report_tainted(void)
{
	return load_relaxed(&tainted);
}

void report_taint(void)
{
	store_relaxed(&tainted, true);
}

/* ---- options ---- */

static int index_of(const char *word, const char *const *words, int n)
{
	for (int i = 0; i < n; i++)
		if (!strcmp(word, words[i]))
			return i;
	return -1;
}

bool report_set_policy(const char *word)
{
	static const char *const words[] = { "continue", "abort", "exit" };
	int i = index_of(word, words, ARRAY_SIZE(words));

	if (i >= 0)
		store_relaxed(&policy, (enum report_policy)i);
	return i >= 0;
}

bool report_goes_on(void)
{
	return load_relaxed(&policy) == REPORT_CONTINUE;
}

bool report_set_format(const char *word)
{
	static const char *const words[] = { "modern", "2.6.29" };
	int i = index_of(word, words, ARRAY_SIZE(words));

	if (i >= 0)
		store_relaxed(&format, (enum report_format)i);
	return i >= 0;
}

bool report_set_frames(const char *word)
{
	static const char *const words[] = { "program", "all" };
	int i = index_of(word, words, ARRAY_SIZE(words));

	if (i >= 0)
		store_relaxed(&own_frames, i == 1);
	return i >= 0;
}

bool report_shows_own_frames(void)
{
	return load_relaxed(&own_frames);
}

/* Closes the text that it opened, but not that of a report that a signal handler interrupted. */
static void close_options(void)
{
	if (!state.delivering)
		report_text_close();
}

/*
 * Descriptor and name are both kept: a daemon that calls setuid() or chroot() can open the file no
 * more, and one that closes all descriptors, which it does not know, may have closed ours. One that
 * does both, by close_range() and not in a loop up to its limit, has its reports on stderr.
 */
bool report_set_file(const char *path)
{
	char absolute[PATH_BYTES];
	struct os_log log;

	file_error = os_absolute_path(absolute, sizeof(absolute), path);
	if (!file_error)
		file_error = os_log_open(&log, absolute, LEAST_FD);
	if (file_error)
		return false;
	report_text_open();
	os_log_close(&state.log);
	state.log = log;
	memcpy(state.path, absolute, sizeof(state.path));
	close_options();
	return true;
}

int report_file_error(void)
{
	return file_error;
}

static bool is_notifying(void)
{
	return lock_thread.flags & LOCK_NOTIFYING;
}

/*
 * Other threads may still run the old hook. A hook that sets another one does not wait for itself.
 */
void report_set_hook(uslab_report_hook hook, void *arg, bool quiet)
{
	unsigned int us = 0;

	report_text_open();
	state.hook = hook;
	state.arg = arg;
	state.quiet = quiet;
	close_options();
	while (!is_notifying() && load_acquire(&nr_notifying)) /* pairs with notify() */
		os_nap(&us);
}

/* ---- a report ---- */

static void note_error(const char *cache)
{
	report_text_open();
	if (!state.error)
		os_format(state.cache, sizeof(state.cache), "%s", cache);
	state.error = true;
}

void report_error_begin(const char *cache, enum report_kind kind)
{
	note_error(cache);
	report_text_begin();
	state.nr++;
	state.last = kind;
	store_relaxed(&report_counters.reports, report_counters.reports + 1);
}

enum report_kind report_last(void)
{
	return report_text_is_open() ? state.last : REPORT_NOTHING;
}

void report_fix_begin(const char *cache)
{
	note_error(cache);
	store_relaxed(&report_counters.fixes, report_counters.fixes + 1);
}

void report_count_isolated(void)
{
	store_relaxed(&report_counters.isolated, report_counters.isolated + 1);
}

/* What cannot be written to the file goes to stderr, if that is open, and is counted. */
static void write_text(const char *text, size_t len)
{
	bool filed = state.path[0];

	if (filed && !os_log_append(&state.log, state.path, text, len))
		return;
	if (!os_has_stderr() || os_log_write(STDERR, text, len) || filed)
		store_relaxed(&report_counters.undelivered, report_counters.undelivered + 1);
}

static void write_headed(bool is_report)
{
	char head[REPORT_TEXT_HEAD_MAX];
	const char *text;
	size_t len;

	report_head(head, is_report);
	text = report_text_get_behind(head, &len);
	write_text(text, len);
}

/*
 * What a signal handler reported while the text was delivered is written and nothing else, or left
 * out with the text.
 */
static void write_rest(size_t delivered, bool left_out, unsigned int nr)
{
	const char *text;
	size_t len;

	if (unlikely(left_out)) {
		report_limit_leave_out(nr);
		return;
	}
	text = report_text_get(&len);
	if (unlikely(len > delivered))
		write_text(text + delivered, len - delivered);
}

/* What a hook is given: a copy, since the text's lock is released before the hook runs. */
struct notification {
	uslab_report_hook hook; /* NULL: nobody is notified */
	void *arg;
	bool quiet; /* the text was not written */
	char *copy; /* NULL: no memory */
	size_t size;
	char cache[NAME_BYTES];
	char start[SHORT_BYTES]; /* instead of the copy */
};

static void shorten(char start[SHORT_BYTES], const char *text, size_t len)
{
	static const char note[] = "[no memory for the rest]\n";
	size_t space = MIN(len, SHORT_BYTES - sizeof(note));
	const char *newline = memrchr(text, '\n', space);

	space = newline ? (size_t)(newline + 1 - text) : 0;
	memcpy(start, text, space);
	memcpy(start + space, note, sizeof(note));
}

/* For what a hook itself reports no hook is called. */
static uslab_report_hook hook_for(bool is_report)
{
	return is_report && !is_notifying() ? state.hook : NULL;
}

static void prepare(struct notification *n, uslab_report_hook hook, const char *text, size_t len)
{
	*n = (struct notification){ .hook = hook };
	if (!hook)
		return;
	n->arg = state.arg;
	n->quiet = state.quiet;
	memcpy(n->cache, state.cache, sizeof(n->cache));
	n->size = ALIGN_UP(len + 1, os_page_size());
	n->copy = os_map(n->size, os_page_size());
	if (n->copy)
		memcpy(n->copy, text, len + 1);
	else
		shorten(n->start, text, len);
	fetch_add(&nr_notifying, 1);
}

/* Calls of the hook into this library are nested calls: it runs in the middle of another one. */
static void notify(const struct notification *n)
{
	if (n->hook) {
		lock_set_flags(LOCK_NOTIFYING);
		n->hook(n->cache, n->copy ? n->copy : n->start, n->arg);
		lock_clear_flags(LOCK_NOTIFYING);
		/* Pairs with report_set_hook(). */
		__atomic_fetch_sub(&nr_notifying, 1, __ATOMIC_RELEASE);
	}
	if (n->copy)
		os_release(n->copy, n->size);
}

/* Calls the hook that is set by now: the one of before may have been removed. */
static void notify_deferred(void *owner, void *p, const void *caller)
{
	struct notification *n = p;

	(void)owner;
	(void)caller;
	report_text_open();
	n->hook = state.hook;
	n->arg = state.arg;
	if (n->hook)
		fetch_add(&nr_notifying, 1);
	else if (n->quiet && n->copy)
		write_text(n->copy, strlen(n->copy));
	close_options();
	notify(n);
	reserve_free(n);
}

/*
 * Calls the hook when this thread holds no lock any more. false: no memory, and it is not called.
 */
static bool defer(struct notification *n)
{
	struct notification *late = reserve_alloc(sizeof(*late), sizeof(void *));

	__atomic_fetch_sub(&nr_notifying, 1, __ATOMIC_RELEASE); /* as above */
	n->hook = NULL;
	if (!late)
		return false;
	*late = *n;
	if (!nested_defer(notify_deferred, NULL, late, NULL)) {
		reserve_free(late);
		return false;
	}
	n->copy = NULL; /* now owned by late */
	return true;
}

static void end_by_policy(void)
{
	if (load_relaxed(&policy) == REPORT_ABORT)
		os_abort();
	if (load_relaxed(&policy) == REPORT_EXIT)
		os_exit(EXIT_STATUS);
}

/* A report that ends the program is always written, and so is a trace (debug flag T). */
static bool is_left_out(bool is_report)
{
	return is_report && report_goes_on() && !report_limit_takes(state.nr, os_clock_ms());
}

static cold void deliver(void)
{
	bool error = state.error, left_out = false;
	bool ends = error && !is_notifying() && !report_goes_on();
	bool silent;
	uslab_report_hook hook = hook_for(error);
	unsigned int nr = state.nr;
	struct notification n;
	const char *text = NULL;
	size_t len = 0;

	state.delivering = true;
	if (!hook || !state.quiet)
		left_out = is_left_out(error);
	if (hook || !left_out) /* else nobody wants the names */
		text = report_text_get(&len);
	prepare(&n, hook, text, len);
	silent = hook && state.quiet && n.copy;
	if (hook && !ends && lock_thread.nr)
		silent &= defer(&n);
	if (hook && state.quiet && !silent)
		left_out = is_left_out(error);
	if (!left_out && !silent)
		write_headed(error);
	write_rest(len, left_out, state.nr - nr);
	if (!left_out) /* else they are counted with the others */
		fetch_add(&report_counters.suppressed, report_text_lost());
	state.delivering = false;
	state.error = false;
	state.nr = 0;
	state.last = REPORT_NOTHING;
	report_text_close();
	if (ends && lock_thread.nr)
		lock_abandon();
	notify(&n);
	/*
	 * a mistake in the hook itself does not end the process: the report it runs for does, below
	 */
	if (ends)
		end_by_policy();
}

void report_deliver(void)
{
	if (report_text_is_open() && !state.delivering)
		deliver();
}

/*
 * Says how many reports were left out since the last one that was written. The end of the program
 * does not wait for a thread that is writing to a full pipe.
 */
static __attribute__((destructor)) void write_left_out(void)
{
	char head[REPORT_TEXT_HEAD_MAX];

	if (!report_limit_has_left_out() || report_text_is_busy())
		return;
	report_text_open();
	write_text(head, report_head(head, false));
	report_text_close();
}

void report_reset(bool was_alone)
{
	report_head_reset();
	if (was_alone)
		return;
	state.error = false;
	state.nr = 0;
	state.last = REPORT_NOTHING;
	state.delivering = false;
	store_relaxed(&nr_notifying, is_notifying()); /* others do not return here */
	report_text_reset();
}

bool report_note_is_due(void)
{
	return report_limit_takes_note(os_clock_ms());
}

void report_note(const char *fmt, ...)
{
	char line[SHORT_BYTES];
	va_list args;

	if (report_text_is_open()) /* a report is under way, which this would become part of */
		return;
	va_start(args, fmt);
	os_format_list(line, sizeof(line), fmt, args);
	va_end(args);
	report_text_open();
	report_text_print("uslab: %s\n", line);
	deliver();
}
