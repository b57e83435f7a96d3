/* SPDX-License-Identifier: MIT */
/*
 * debug/report/report_policy.c - where a report goes, and what comes after it
 *
 * Data:       policy, style, file and hook, as the program chose them; the taint;
 *             what the open text holds.
 * Invariants: options are set before they matter (USLAB_CONF) or by the program; the hook and
 *             what goes with it change under the text's lock. A hook runs without it, and is
 *             counted as long as it does.
 * Locks:      RANK_REPORT, the text's, guards all but policy, style, tainted, own_frames and
 *             nr_telling, which are atomic.
 * Flow:       called by mistake.c, report.c, report_modern.c, api/debug_api.c, cache/ and debug/;
 *             calls text.c, report_head.c, os/process/file.c, os/process/process.c,
 *             os/memory/vm.c, page/nested.c, page/reserve.c.
 *
 * A hook may wait for another thread, which itself has something to report, or makes a cache. So it
 * is called when its thread holds no lock of ours, with a copy of the text: where caches are walked
 * under the registry's lock, or a front is locked, it is put off as the frees of signal handlers
 * are (page/nested.h), until whoever holds such a lock has released it and asks nested_call().
 */
#include <string.h>

#include "base/atomic.h"
#include "base/bits.h"
#include "debug/report/report_head.h"
#include "debug/report/report_style.h"
#include "os/time/clock.h"
#include "os/process/die.h"
#include "os/process/file.h"
#include "os/lock/lock.h"
#include "os/process/process.h"
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
static unsigned int nr_telling; /* hooks that run now */
static int file_error;		/* of report.file; while the library is made ready */

static struct {
	char path[PATH_BYTES]; /* "": stderr */
	struct os_log log;     /* that file, opened when it was named */
	uslab_report_hook hook;
	void *arg;
	bool quiet;
	bool error;		/* the text reports a mistake, it is not only a trace */
	unsigned int nr;	/* reports in it */
	bool delivering;	/* whoever reports in between leaves the text open */
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
		text_close();
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
	text_open();
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

static bool is_telling(void)
{
	return lock_thread.flags & LOCK_TELLING;
}

/* Others may still run the hook that was; whoever is called by one does not wait for itself. */
void report_set_hook(uslab_report_hook hook, void *arg, bool quiet)
{
	text_open();
	state.hook = hook;
	state.arg = arg;
	state.quiet = quiet;
	close_options();
	while (!is_telling() && load_acquire(&nr_telling)) /* pairs with tell() */
		os_yield();
}

/* ---- a report ---- */

static void note_error(const char *cache)
{
	text_open();
	if (!state.error)
		os_format(state.cache, sizeof(state.cache), "%s", cache);
	state.error = true;
}

void report_error_begin(const char *cache)
{
	note_error(cache);
	state.nr++;
	store_relaxed(&report_counters.reports, report_counters.reports + 1);
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

/*
 * What cannot go to the file still goes to stderr, if that is open; whoever looks for
 * the count says so.
 */
static void write_text(const char *text, size_t len)
{
	bool filed = state.path[0];

	if (filed && !os_log_append(&state.log, state.path, text, len))
		return;
	if (os_log_write(STDERR, text, len) || filed)
		store_relaxed(&report_counters.undelivered, report_counters.undelivered + 1);
}

static void write_headed(bool is_report)
{
	char head[TEXT_HEAD_MAX];
	const char *text;
	size_t len;

	report_head(head, is_report);
	text = text_get_behind(head, &len);
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
	text = text_get(&len);
	if (unlikely(len > delivered))
		write_text(text + delivered, len - delivered);
}

/*
 * What a hook is given: of its own, since the text is the next one's when its lock is given back.
 */
struct told {
	uslab_report_hook hook; /* NULL: nobody is notified */
	void *arg;
	bool quiet; /* the text was not written */
	char *copy; /* NULL: no memory */
	size_t size;
	char cache[NAME_BYTES];
	char start[SHORT_BYTES]; /* instead of it */
};

static void shorten(char start[SHORT_BYTES], const char *text, size_t len)
{
	static const char note[] = "[no memory for the rest]\n";
	size_t room = MIN(len, SHORT_BYTES - sizeof(note));
	const char *newline = memrchr(text, '\n', room);

	room = newline ? (size_t)(newline + 1 - text) : 0;
	memcpy(start, text, room);
	memcpy(start + room, note, sizeof(note));
}

/* What a hook reports itself is no other hook's business. */
static uslab_report_hook hook_for(bool is_report)
{
	return is_report && !is_telling() ? state.hook : NULL;
}

static void prepare_told(struct told *told, uslab_report_hook hook, const char *text, size_t len)
{
	*told = (struct told){ .hook = hook };
	if (!hook)
		return;
	told->arg = state.arg;
	told->quiet = state.quiet;
	memcpy(told->cache, state.cache, sizeof(told->cache));
	told->size = ALIGN_UP(len + 1, os_page_size());
	told->copy = os_map(told->size, os_page_size());
	if (told->copy)
		memcpy(told->copy, text, len + 1);
	else
		shorten(told->start, text, len);
	fetch_add(&nr_telling, 1);
}

/*
 * What the hook calls of ours is served as in a signal handler: it is in
 * the middle of another call.
 */
static void tell(const struct told *told)
{
	if (told->hook) {
		lock_thread.flags |= LOCK_TELLING;
		told->hook(told->cache, told->copy ? told->copy : told->start, told->arg);
		lock_thread.flags &= ~LOCK_TELLING;
		__atomic_fetch_sub(&nr_telling, 1,
				   __ATOMIC_RELEASE); /* pairs with report_set_hook() */
	}
	if (told->copy)
		os_release(told->copy, told->size);
}

/* The hook that there is by now: that of before may have been taken away. */
static void tell_late(void *owner, void *p, const void *caller)
{
	struct told *told = p;

	(void)owner;
	(void)caller;
	text_open();
	told->hook = state.hook;
	told->arg = state.arg;
	if (told->hook)
		fetch_add(&nr_telling, 1);
	else if (told->quiet && told->copy)
		write_text(told->copy, strlen(told->copy));
	close_options();
	tell(told);
	reserve_free(told);
}

/* Tells when this thread holds no lock any more. false: no memory, and nobody is notified. */
static bool put_off(struct told *told)
{
	struct told *late = reserve_alloc(sizeof(*late), sizeof(void *));

	__atomic_fetch_sub(&nr_telling, 1, __ATOMIC_RELEASE); /* as above */
	told->hook = NULL;
	if (!late)
		return false;
	*late = *told;
	if (!nested_defer(tell_late, NULL, late, NULL)) {
		reserve_free(late);
		return false;
	}
	told->copy = NULL; /* it is that one's now */
	return true;
}

static void end_by_policy(void)
{
	if (load_relaxed(&policy) == REPORT_ABORT)
		os_abort();
	if (load_relaxed(&policy) == REPORT_EXIT)
		os_exit(EXIT_STATUS);
}

/* What ends the program is written whatever came before; and what was asked for by a letter is. */
static bool is_left_out(bool is_report)
{
	return is_report && report_goes_on() && !report_limit_takes(state.nr, os_clock_ms());
}

static cold void deliver(void)
{
	bool error = state.error, left_out = false;
	bool ends = error && !is_telling() && !report_goes_on();
	bool silent;
	uslab_report_hook hook = hook_for(error);
	unsigned int nr = state.nr;
	struct told told;
	const char *text = NULL;
	size_t len = 0;

	state.delivering = true;
	if (!hook || !state.quiet)
		left_out = is_left_out(error);
	if (hook || !left_out) /* else nobody wants the names */
		text = text_get(&len);
	prepare_told(&told, hook, text, len);
	silent = hook && state.quiet && told.copy;
	if (hook && !ends && lock_thread.nr)
		silent &= put_off(&told);
	if (hook && state.quiet && !silent)
		left_out = is_left_out(error);
	if (!left_out && !silent)
		write_headed(error);
	write_rest(len, left_out, state.nr - nr);
	state.delivering = false;
	state.error = false;
	state.nr = 0;
	text_close();
	if (ends && lock_thread.nr)
		lock_abandon();
	tell(&told);
	/* of what a hook reports itself the report that it is called for ends the process, later */
	if (ends)
		end_by_policy();
}

void report_deliver(void)
{
	if (text_is_open() && !state.delivering)
		deliver();
}

/*
 * What was left out since the last report that was written. Of a reporter that waits
 * for its reader the end of the program does not wait.
 */
static __attribute__((destructor)) void tell_what_was_left_out(void)
{
	char head[TEXT_HEAD_MAX];

	if (!report_limit_has_left_out() || text_is_busy())
		return;
	text_open();
	write_text(head, report_head(head, false));
	text_close();
}

void report_fork_child(void)
{
	report_head_fork_child();
	state.error = false;
	state.nr = 0;
	state.delivering = false;
	store_relaxed(&nr_telling, is_telling()); /* others do not return here */
	text_fork_child();
}
