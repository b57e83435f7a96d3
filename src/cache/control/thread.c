/* SPDX-License-Identifier: MIT */
/*
 * cache/control/thread.c - the library's own thread, started again in children of fork()
 *
 * Why:        docs/adr/0068.
 * Data:       the signals that were blocked when this process was forked, and those that an attempt
 *             found blocked beside them.
 * Invariants: a process tries once. control.thread says what became of it, for tools.
 * Locks:      none. os/time/ticker.c sees to it that there is one thread. What is written here is
 *             the forked process' first thread's, or a hint.
 * Flow:       see control.h: called by cache/fork.c, control.c and cache/reclaim/ahead.c; calls
 *             os/time/ticker.c, os/process/, os/instrument/sanitizer.c.
 *
 * fork() leaves all threads but one behind, and its handlers may call little: libc is not yet what
 * it was. So the handler only marks the thread that there is (LOCK_FORKED), for which its next
 * slow path is one that looks; allocations come here then, frees do not, since libc frees under
 * locks of its own that pthread_create() takes. Another thread is marked when it finds a command.
 *
 * Nobody can ask whether he is in a signal handler. What it interrupted may be pthread_create().
 * But it has a signal blocked that was not, mostly; so that is waited out, unless it lasts.
 */
#include <errno.h>

#include "cache/control/control.h"
#include "cache/internal.h"
#include "os/instrument/sanitizer.h"
#include "os/lock/lock.h"
#include "os/process/die.h"
#include "os/process/filter.h"
#include "os/process/process.h"
#include "os/time/clock.h"
#include "os/time/ticker.h"

#define LASTING_MS 1000u

static uint64_t blocked_first; /* os_blocked_signals() */
static uint64_t blocked_late;
static uint64_t blocked_since; /* os_clock_ms(); 0: nothing is waited out */

static void mark(void)
{
	lock_set_flags(LOCK_FORKED);
}

static void set_state(enum control_thread state)
{
	if (cache_defaults.control_ms)
		store_relaxed(&control.thread, state);
}

void thread_forked(void)
{
	bool keep = !cache_defaults.no_fork_thread && !os_sanitizer_forbids_threads();

	if (!os_ticker_forked(keep))
		return;
	set_state(keep ? CONTROL_THREAD_WAITS : CONTROL_THREAD_OFF);
	if (!keep)
		return;
	blocked_first = os_blocked_signals();
	blocked_since = 0;
	mark();
}

void thread_mark(void)
{
	if (os_ticker_waits())
		mark();
}

/* Has it more signals blocked than at the fork, and not for long? */
static bool may_be_handler(void)
{
	uint64_t late = os_blocked_signals() & ~blocked_first;
	uint64_t now = os_clock_ms();

	if (!late)
		return false;
	if (!blocked_since || late != blocked_late) {
		blocked_late = late;
		blocked_since = now;
	}
	return now - blocked_since < LASTING_MS;
}

/* A filter may end who makes a thread. 0 or -errno. */
static int start(void)
{
	if (!os_filter_was_added())
		return os_ticker_again();
	os_ticker_give_up();
	return -EPERM;
}

void thread_start_again(void)
{
	int ret;

	/* a child of vfork() has the flag of its parent, which wants it still */
	if (os_ticker_waits() && (!os_ticker_waits_here() || may_be_handler()))
		return;
	lock_clear_flags(LOCK_FORKED);
	if (!os_ticker_waits())
		return;
	ret = start();
	set_state(ret ? CONTROL_THREAD_FAILED : CONTROL_THREAD_AS_STARTED);
	if (ret)
		os_say("USLAB_CONF: no thread could be made in this child of fork(); control, "
		       "defrag, kfence.interval, reap and reclaim need it");
}
