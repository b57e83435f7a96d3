/* SPDX-License-Identifier: MIT */
/*
 * cache/control/control.c - commands of tools, carried out by the next thread on a slow path
 *
 * Data:       control, the mailbox; written by other processes at any time. taken, a copy.
 * Invariants: a command is copied before it is read, its texts end with NUL then, and it is carried
 *             out or refused: nothing in the mailbox can break this process.
 * Locks:      RUNNING, taken by compare and swap, keeps other threads away; cache_lock inside.
 * Flow:       called by control.h (control_poll(), on slow paths with no lock held), fork.c and
 *             init.c; called back by os/time/ticker.c; calls thread.c, debug.c, attribute.c,
 *             shrink.c, reap.c, profile.c, and what the drop-in has set (control_prepare,
 *             control_rearm).
 */
#include "cache/control/control.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "cache/instrument/instrument.h"
#include "cache/debug/guard.h"
#include "cache/internal.h"
#include "cache/profile/profile.h"
#include "debug/kfence/kfence.h"
#include "debug/pages/pages.h"
#include "os/time/clock.h"
#include "os/time/ticker.h"
#include "page/buddy.h"

struct control control = { .size = sizeof(struct control) };
void (*control_prepare)(void);
void (*control_rearm)(void);
void (*control_defrag)(struct control_sweep *sweep);

/* A copy of what the tool wrote. Nothing is ever written to the last bytes of a text. */
struct command {
	uint32_t number;
	uint64_t value;
	char argument[CONTROL_TEXT];
	char patterns[CONTROL_PATTERNS + 1];
};

/* Owned by the thread that made the mailbox RUNNING: too large for the program's stacks. */
static struct command taken;

static void copy_command(struct command *command)
{
	command->number = load_relaxed(&control.command);
	command->value = load_relaxed(&control.value);
	memcpy(command->argument, control.argument, CONTROL_TEXT - 1);
	memcpy(command->patterns, control.patterns, CONTROL_PATTERNS - 1);
}

/* Is there such a text among the patterns, letter by letter? */
static bool has_pattern(const struct command *command, const char *text)
{
	const char *end = command->patterns + sizeof(command->patterns);

	for (const char *p = command->patterns; p < end && *p; p += strlen(p) + 1)
		if (!strcmp(p, text))
			return true;
	return false;
}

/* ---- commands for each cache that the patterns match ---- */

/* Of a tool that died. So that it does not go on with the next tool's lease. */
static long end_sampling_one(struct cache *c, const void *arg)
{
	(void)arg;
	if (c->watch & WATCH_SAMPLE &&
	    control_sampling_is_over(&control, c->engine.debug->tracking_since, os_clock_ms()))
		return cache_set_sampling_locked(c, false);
	return 0;
}

static long sample_one(struct cache *c, const void *arg)
{
	const struct command *command = arg;

	return cache_set_sampling_locked(c, command->value != 0);
}

static long change_one(struct cache *c, const void *arg)
{
	return cache_change_debug_locked(c, ((const struct command *)arg)->argument);
}

/* That slabs with objects remain is no error. */
static long shrink_one(struct cache *c, const void *arg)
{
	(void)arg;
	cache_shrink_locked(c);
	return 0;
}

static long validate_one(struct cache *c, const void *arg)
{
	(void)arg;
	return cache_validate_locked(c);
}

/* "attribute=number" */
static long set_one(struct cache *c, const void *arg)
{
	const struct command *command = arg;
	const char *equals = strchr(command->argument, '=');
	char name[CONTROL_TEXT];
	unsigned long value;
	char *end;

	if (!equals || equals[1] < '0' || equals[1] > '9')
		return -EINVAL;
	value = strtoul(equals + 1, &end, 10);
	if (*end)
		return -EINVAL;
	memcpy(name, command->argument, (size_t)(equals - command->argument));
	name[equals - command->argument] = '\0';
	return cache_set_attribute_locked(c, name, value);
}

/* "LIMIT BATCHCOUNT SHARED" */
static long tune_one(struct cache *c, const void *arg)
{
	const char *text = ((const struct command *)arg)->argument;
	unsigned long n[3];
	char *end;

	for (unsigned int i = 0; i < ARRAY_SIZE(n); i++) {
		text += strspn(text, " ");
		if (*text < '0' || *text > '9')
			return -EINVAL;
		n[i] = strtoul(text, &end, 10);
		if (n[i] > 1ul << 30 || (*end && *end != ' ' && *end != '\n'))
			return -EINVAL;
		text = end;
	}
	if (text[strspn(text, " \n")])
		return -EINVAL;
	return cache_tune_locked(c, (unsigned int)n[0], (unsigned int)n[1], (unsigned int)n[2]);
}

/* ---- commands ---- */

static long (*const each[])(struct cache *c, const void *arg) = {
	[CONTROL_DEBUG] = change_one,  [CONTROL_SAMPLE] = sample_one,
	[CONTROL_SHRINK] = shrink_one, [CONTROL_VALIDATE] = validate_one,
	[CONTROL_SET] = set_one,       [CONTROL_TUNE] = tune_one,
	[CONTROL_TRIM] = NULL,
};

static void answer_name(const char *name)
{
	size_t len = MIN(strlen(name), (size_t)CONTROL_TEXT - 1);

	memcpy(control.failed_name, name, len);
	control.failed_name[len] = '\0';
}

/*
 * For each cache of these names; answers under the lock, so that none can be destroyed. 0 or
 * -errno.
 */
static int perform_each(const struct command *command)
{
	struct cache_result result;

	lock_acquire(&cache_lock);
	if (command->number == CONTROL_SAMPLE)
		cache_each_locked("*", sizeof("*"), end_sampling_one, NULL, &result);
	cache_each_locked(command->patterns, sizeof(command->patterns), each[command->number],
			  command, &result);
	store_relaxed(&control.matched, result.matched);
	store_relaxed(&control.failed, result.failed);
	store_relaxed(&control.value, result.value);
	answer_name(result.at ? result.at->name : "");
	cache_unlock();
	return result.matched ? result.error : -ENOENT;
}

/*
 * Whole pages are no cache, but they have a name and debug flags (debug/pages/blocks.h). caches:
 * the result of perform_each(); blocks: 0 or -errno. Returns 0 or -errno.
 */
static int answer_blocks(int caches, int blocks)
{
	if (blocks && !control.failed)
		answer_name(blocks_name);
	store_relaxed(&control.matched, control.matched + 1);
	store_relaxed(&control.failed, control.failed + (blocks != 0));
	return caches && caches != -ENOENT ? caches : blocks;
}

/* 0 or -errno. */
static int change(const struct command *command)
{
	int ret = perform_each(command);

	return has_pattern(command, blocks_name)
		       ? answer_blocks(ret, cache_change_blocks(command->argument))
		       : ret;
}

/* Whole pages by their name, or with all caches. */
static int validate(const struct command *command)
{
	bool pages = has_pattern(command, blocks_name);
	int ret = perform_each(command);

	if (pages)
		ret = answer_blocks(ret, 0);
	if (pages || has_pattern(command, "*")) {
		instrument_enter();
		store_relaxed(&control.value, control.value + pages_validate());
		instrument_leave();
	}
	return ret;
}

/* "sample=100000" */
static int set_kfence(const char *text)
{
	const char *equals = strchr(text, '=');
	char key[CONTROL_TEXT];

	if (!equals)
		return -EINVAL;
	memcpy(key, text, (size_t)(equals - text));
	key[equals - text] = '\0';
	return kfence_set_option(key, equals + 1) ? guard_start() : -EINVAL;
}

/* Left to others, see is_for_others(), where there are any. 0 or -errno. */
static int defrag(const struct command *command)
{
	struct control_sweep sweep = {
		.patterns = command->patterns,
		.size = sizeof(command->patterns),
		.number = strtoul(command->argument, NULL, 10),
		.budget_us = command->value,
	};

	if (!os_ticker_is_here() || !control_defrag)
		return -EOPNOTSUPP;
	if (!sweep.number)
		return -EINVAL;
	control_defrag(&sweep);
	store_relaxed(&control.matched, sweep.matched);
	store_relaxed(&control.more, sweep.more);
	store_relaxed(&control.value, sweep.bytes);
	return sweep.matched ? 0 : -ENOENT;
}

static int perform(const struct command *command)
{
	switch (command->number) {
	case CONTROL_NOTHING:
		return 0;
	case CONTROL_KFENCE:
		return set_kfence(command->argument);
	case CONTROL_DEBUG:
		return change(command);
	case CONTROL_VALIDATE:
		return validate(command);
	case CONTROL_PROFILE:
		return profile_switch(command->value != 0);
	case CONTROL_DEFRAG:
		return defrag(command);
	case CONTROL_TRIM:
		cache_shrink_all();
		store_relaxed(&control.value, buddy_trim(0));
		return 0;
	default:
		if (command->number >= ARRAY_SIZE(each) || !each[command->number])
			return -EINVAL;
		return perform_each(command);
	}
}

/*
 * Is the command left to the library's own thread, which polls as well? A hint until the command is
 * this thread's: the tool may be about to write another one.
 */
static bool is_for_others(void)
{
	return load_relaxed(&control.command) == CONTROL_DEFRAG && !os_ticker_is_here() &&
	       (os_ticker_runs() || os_ticker_waits()) && cache_defaults.control_ms;
}

void control_run(void)
{
	if (control_rearm)
		control_rearm();
	thread_mark();
	if (is_for_others())
		return;
	/* acquire: pairs with the tool's write of PENDING, behind the rest */
	if (!cmpxchg(&control.state, CONTROL_PENDING, CONTROL_RUNNING))
		return;
	if (is_for_others()) {
		cmpxchg(&control.state, CONTROL_RUNNING, CONTROL_PENDING);
		return;
	}
	if (control_prepare && load_relaxed(&control.unprepared)) {
		control_prepare();
		store_relaxed(&control.unprepared, 0);
	}
	copy_command(&taken);
	store_relaxed(&control.matched, 0);
	store_relaxed(&control.failed, 0);
	control.failed_name[0] = '\0';
	store_relaxed(&control.result, perform(&taken));
	store_relaxed(&control.serial, control.serial + 1);
	/*
	 * pairs with the tool's read. Not RUNNING any more: that tool gave up, and the mailbox may
	 * be the next one's
	 */
	cmpxchg(&control.state, CONTROL_RUNNING, CONTROL_DONE);
}

/*
 * A command to the parent is not for the child. A tool may have found the child before this runs
 * and be writing to its mailbox, so only one word is written: the tool reads IDLE, or writes
 * PENDING over it, and its command is complete either way.
 */
void control_discard(void)
{
	if (load_relaxed(&control.state) != CONTROL_IDLE) /* an unneeded write would copy a page */
		store_relaxed(&control.state, CONTROL_IDLE);
}

int control_start(unsigned int interval_ms)
{
	return os_ticker_start("uslab-control", interval_ms, cache_poll_now);
}
