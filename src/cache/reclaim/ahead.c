/* SPDX-License-Identifier: MIT */
/*
 * cache/reclaim/ahead.c - memory is reclaimed before the system takes it, or ends the process
 *
 * Data:       the option; files of the cgroup and of pressure stall information.
 * Invariants: while a cgroup with a limit is followed there is a mark (page/limit.h) at what this
 *             process may still take before the cgroup comes near that.
 * Locks:      busy, taken by compare and swap: one thread reclaims at a time. Nobody waits for it
 *             but for WAIT_MS, which throttles threads that take memory faster than it comes back.
 * Flow:       see ahead.h; called back by os/time/ticker.c.
 *
 * Two things say that memory gets short. The cgroup's usage comes near memory.high or memory.max:
 * the mark says so in time, in the thread that takes the memory, without a look at any file before;
 * every TICK_MS the thread looks as well, for others of the cgroup. And tasks wait for memory
 * (PSI): a trigger wakes the thread, or where there is none it looks how long they have waited so
 * far.
 *
 * "Near" is a margin of 1/8, so that all of it is done before the kernel begins to throttle or to
 * kill. Reclaim goes on until half as much again is free, or shrinkers free nothing more; then the
 * next mark is a bit further up.
 */
#include "cache/reclaim/ahead.h"

#include <errno.h>
#include <string.h>

#include "base/bits.h"
#include "cache/callback.h"
#include "cache/control/control.h"
#include "cache/internal.h"
#include "cache/reclaim/shrinker.h"
#include "os/lock/wait.h"
#include "os/memory/cgroup.h"
#include "os/process/die.h"
#include "os/process/env.h"
#include "os/time/clock.h"
#include "os/time/ticker.h"
#include "page/buddy.h"

#define TICK_MS 100u
#define WAIT_MS 20u
#define MARGIN_LEAST (2ul << 20)
#define MARGIN_MOST (512ul << 20)
#define PSI_STALL_US 150000u
#define PSI_WINDOW_US 1000000u
#define PSI_WINDOW_LEAST 500000u
#define PSI_WINDOW_MOST 10000000u
#define PSI_PRIORITY 3u /* a quarter of what costs DEFAULT_SEEKS */

static struct {
	bool cgroup; /* its limits are followed */
	bool psi;
	unsigned int stall_us;
	unsigned int window_us;
} option;

static struct os_cgroup group;
static bool has_group;	/* its files are open; of the thread, after reclaim_start() */
static uint32_t busy;	/* a thread reclaims; atomic */
static uint32_t forked; /* the files are the parent's; atomic */
/* This one does. */
static __thread bool is_mine __attribute__((tls_model("initial-exec")));

/* The thread's own, but for reclaim_start(). */
static struct pressure_source {
	struct os_kept file;
	bool polled;	/* it has no trigger */
	uint64_t total; /* os_psi_total() at the start of the window */
	uint64_t since; /* os_clock_ms() then */
} sources[2];
static bool watched; /* the thread looks at those with a trigger; its own */

struct reclaim_counters reclaim_counters;

/* ---- the option ---- */

/* ":150000:1000000" */
static bool parse_psi(const char *text)
{
	char stall[16];
	size_t n[2] = { PSI_STALL_US, PSI_WINDOW_US };
	const char *colon = *text ? strchr(text + 1, ':') : NULL;
	size_t len = colon ? (size_t)(colon - text) - 1 : strlen(text) - (*text != 0);

	if (*text) {
		if (*text != ':' || !len || len >= sizeof(stall))
			return false;
		memcpy(stall, text + 1, len);
		stall[len] = '\0';
		if (!os_parse_size(stall, &n[0]) || (colon && !os_parse_size(colon + 1, &n[1])))
			return false;
	}
	if (n[1] < PSI_WINDOW_LEAST || n[1] > PSI_WINDOW_MOST || !n[0] || n[0] > n[1])
		return false;
	option.stall_us = (unsigned int)n[0];
	option.window_us = (unsigned int)n[1];
	return true;
}

bool reclaim_set_option(const char *value)
{
	bool psi = !strncmp(value, "psi", 3);

	if (psi ? !parse_psi(value + 3) : strcmp(value, "cgroup") && strcmp(value, "0"))
		return false;
	option.psi = psi;
	option.cgroup = strcmp(value, "0") != 0;
	return true;
}

bool reclaim_is_on(void)
{
	return option.cgroup;
}

/* ---- reclaim ---- */

/* One step. false: shrinkers freed nothing. */
static bool reclaim(gfp_t gfp, unsigned int priority)
{
	unsigned long freed = shrinkers_run(gfp, priority);

	cache_shrink_all();
	buddy_trim(0);
	return freed;
}

static size_t margin_of(size_t most)
{
	return MIN(MAX(most / 8, MARGIN_LEAST), MARGIN_MOST);
}

/* The process may take so many bytes more before it is to look again. */
static void set_mark(size_t bytes)
{
	store_relaxed(&limit_counters.due, 0);
	limit_set_mark(limit_held() + (bytes >> PAGE_SHIFT));
}

/*
 * Looks at the cgroup, and reclaims if it is near its limit: until half a margin more is free, as
 * long as shrinkers free something, or the least priority is not reached.
 */
static void look(gfp_t gfp)
{
	static const unsigned char priorities[] = { 5, 3, 1, 0, 0, 0 };
	struct os_cgroup_use use;
	size_t margin;
	bool may_help = shrinkers_may_run(gfp);
	bool helped = true;

	if (!os_cgroup_look(&group, &use) || use.most == SIZE_MAX) {
		limit_set_mark(LIMIT_NONE); /* the thread looks again */
		store_relaxed(&limit_counters.due, 0);
		return;
	}
	margin = margin_of(use.most);
	if (use.used + margin < use.most) {
		set_mark(use.most - margin - use.used);
		return;
	}
	fetch_add(&reclaim_counters.cgroup, 1);
	set_mark(margin / 4); /* from there on others wait */
	for (unsigned int i = 0; i < ARRAY_SIZE(priorities) && (helped || i < 4); i++) {
		helped = reclaim(gfp, priorities[i]);
		if (!os_cgroup_look(&group, &use) || use.used + margin + margin / 2 < use.most ||
		    !may_help)
			break;
	}
	if (use.used + margin < use.most)
		set_mark(use.most - margin - use.used);
	else
		set_mark(margin / 8);
}

static bool begin(void)
{
	if (callback_inside || is_mine || !cmpxchg(&busy, 0, 1))
		return false;
	is_mine = true;
	return true;
}

static void end(void)
{
	is_mine = false;
	store_release(&busy, 0); /* pairs with begin() and reclaim_due() */
}

static bool try_look(gfp_t gfp)
{
	if (!begin())
		return false;
	look(gfp);
	end();
	return true;
}

void reclaim_due(gfp_t gfp)
{
	unsigned int us = 0;
	uint64_t start;

	if (callback_inside || is_mine || try_look(gfp))
		return;
	/* another thread is at it, and may want a lock that this one has: only for a moment */
	fetch_add(&reclaim_counters.waits, 1);
	start = os_clock_ms();
	while (load_acquire(&busy) && os_clock_ms() - start < WAIT_MS) /* pairs with end() */
		os_nap(&us);
}

/* A child of this thread goes on with what it is at. */
void reclaim_forked(void)
{
	if (!is_mine)
		store_relaxed(&busy, 0);
	store_relaxed(&forked, 1);
}

bool reclaim_nested_look(gfp_t gfp)
{
	if (nested_look())
		return true;
	if (unlikely(lock_thread.flags & LOCK_FORKED))
		thread_start_again();
	if (unlikely(load_relaxed(&limit_counters.due)))
		reclaim_due(gfp);
	return false;
}

/* ---- pressure stall information: all in the library's own thread ---- */

static void relieve(void)
{
	fetch_add(&reclaim_counters.psi, 1);
	if (!begin())
		return;
	reclaim(GFP_KERNEL, PSI_PRIORITY);
	end();
}

/* No trigger: did tasks wait for so long within a window? */
static void poll_source(struct pressure_source *s)
{
	uint64_t total = os_psi_total(&s->file);
	uint64_t now = os_clock_ms();

	if (s->total && total > s->total + option.stall_us)
		relieve();
	else if (s->total && (now - s->since) * 1000 < option.window_us)
		return;
	s->total = total;
	s->since = now;
}

/* 0, or -errno of the better one. */
static int open_sources(void)
{
	int machine =
		os_psi_open(&sources[0].file, OS_PSI_MACHINE, option.stall_us, option.window_us);
	int own = os_psi_open(&sources[1].file, OS_PSI_CGROUP, option.stall_us, option.window_us);

	sources[0].polled = machine && machine != -ENOENT;
	sources[1].polled = own && own != -ENOENT;
	return machine != -ENOENT ? 0 : own != -ENOENT ? 0 : -ENOENT;
}

/*
 * In a child of fork(): it may be in another cgroup by now, and an event of a trigger is read by
 * one of those who share it.
 */
static void open_again(void)
{
	if (!load_relaxed(&forked) || !begin())
		return;
	store_relaxed(&forked, 0);
	os_kept_close(&group.used);
	os_kept_close(&group.high);
	os_kept_close(&group.max);
	os_kept_close(&group.stat);
	has_group = !os_cgroup_open(&group);
	for (unsigned int i = 0; i < ARRAY_SIZE(sources); i++) {
		os_kept_close(&sources[i].file);
		sources[i] = (struct pressure_source){ .total = 0 };
	}
	if (option.psi)
		open_sources();
	watched = false;
	end();
}

static void watch_sources(void)
{
	if (watched)
		return;
	watched = true;
	for (unsigned int i = 0; i < ARRAY_SIZE(sources); i++) {
		int fd = os_kept_fd(&sources[i].file);

		if (fd >= 0 && !sources[i].polled)
			sources[i].polled = !os_ticker_watch(fd, relieve);
	}
}

static void tick(void)
{
	open_again();
	if (has_group)
		try_look(GFP_KERNEL);
	watch_sources();
	for (unsigned int i = 0; i < ARRAY_SIZE(sources); i++)
		if (sources[i].polled)
			poll_source(&sources[i]);
}

int reclaim_start(void)
{
	int psi;

	if (!option.cgroup)
		return 0;
	has_group = !os_cgroup_open(&group);
	psi = option.psi ? open_sources() : -ENOENT;
	if (!has_group && psi) {
		os_say("USLAB_CONF: reclaim: there is no memory cgroup here%s; it is off",
		       option.psi ? " and no pressure stall information (/proc/pressure/memory)"
				  : "");
		return 0;
	}
	if (option.psi && psi)
		os_say("USLAB_CONF: reclaim: there is no pressure stall information "
		       "(/proc/pressure/memory); only the limits of the cgroup are followed");
	if (has_group)
		try_look(GFP_NOWAIT);
	return os_ticker_start("uslab-reclaim", TICK_MS, tick);
}
