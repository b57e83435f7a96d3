/* SPDX-License-Identifier: MIT */
/*
 * cache/init.c - initialises floors 1 to 5, once
 *
 * Data:       state: 0 nothing, 1 ready, negative errno failed.
 * Invariants: everything a fast path reads is in place before any handle exists.
 * Locks:      init_lock (unranked) for the first call; later calls read state only.
 * Flow:       called by api/, malloc/ and group/public.c before anything else; calls the init of
 *             each floor, lowest first. May run before any constructor and before main.
 */
#include <errno.h>

#include "base/atomic.h"
#include "cache/control/control.h"
#include "cache/instrument/instrument.h"
#include "cache/debug/guard.h"
#include "cache/internal.h"
#include "cache/mobility/mobility.h"
#include "cache/profile/profile.h"
#include "cache/reclaim/ahead.h"
#include "debug/report/mistake.h"
#include "os/cpu/cpu.h"
#include "os/process/die.h"
#include "os/process/env.h"
#include "os/process/say.h"
#include "os/process/filter.h"
#include "os/lock/fork.h"
#include "os/cpu/rseq.h"
#include "os/memory/policy.h"
#include "os/memory/resident.h"
#include "os/memory/vm.h"
#include "page/arena.h"
#include "page/buddy.h"
#include "page/limit.h"
#include "page/realtime.h"

static struct lock init_lock = LOCK_INIT(RANK_NONE);
static int state;

/* As the kernel's failslab= */
static void set_failslab(const char *text)
{
	if (text && cache_set_failslab(text))
		os_say("USLAB_FAILSLAB: ignored \"%s\", not interval,probability,space,times",
		       text);
}

/* 1/8 of what is available stays: for what describes the pages, and for others. */
static size_t realtime_most(void)
{
	size_t available = os_available_memory();

	return available ? available - available / 8 : SIZE_MAX;
}

/* What is made ready is held. */
static size_t left_by_limit(void)
{
	size_t limit = load_relaxed(&limit_counters.limit);

	return limit == LIMIT_NONE ? SIZE_MAX : (limit - MIN(limit, limit_held())) << PAGE_SHIFT;
}

static void start_realtime(size_t bytes)
{
	size_t most = realtime_most();
	size_t left = left_by_limit();
	int ret = realtime_start(bytes, MIN(most, left));

	if (ret && left < most)
		os_say("USLAB_CONF: realtime: the limit of %lu KiB allows only %lu KiB",
		       load_relaxed(&limit_counters.limit) << (PAGE_SHIFT - 10),
		       realtime_counters.bytes >> 10);
	else if (ret)
		os_say("USLAB_CONF: realtime: there is memory for %lu KiB only",
		       realtime_counters.bytes >> 10);
	if (realtime_counters.locked < realtime_counters.bytes)
		os_say("USLAB_CONF: realtime: memory is not locked, the limit is too low "
		       "(ulimit -l, RLIMIT_MEMLOCK); it may be swapped out");
}

static void start_thp(enum thp_policy policy)
{
	thp_set(policy);
	if ((policy == THP_LARGE || policy == THP_ALL) && os_huge_pages_are_off())
		os_say("USLAB_CONF: thp: huge pages seem to be switched off "
		       "(/sys/kernel/mm/transparent_hugepage/enabled, or PR_SET_THP_DISABLE)");
}

static int init_floors(void)
{
	static const struct os_env_reader reader = { .set = cache_set_option,
						     .explain = cache_explain_option };
	int ret;

	cache_make_topology();
	os_cpu_init();
	os_rseq_init();
	os_filter_init();
	ret = arena_init(os_topology.nr_cpu_ids);
	if (ret)
		return ret;
	if (!buddy_init(os_topology.nr_nodes))
		return -ENOMEM;
	percpu_init();
	mistake_listen();
	cache_idle_start();
	os_look_at_stderr();
	front_stop_words(USLAB_ID_NONE); /* page class 0 means no cache: its word always misses */
	percpu_set_stats(cache_defaults.stats);
	os_policy_read_kernel();
	os_env_pairs("USLAB_CONF", &reader);
	start_thp(cache_defaults.thp);
	ret = cache_defaults.hardened ? arena_keep_used() : 0;
	if (ret)
		return ret;
	if (cache_defaults.purge_lazily && buddy_purge_lazily())
		os_say("USLAB_CONF: purge: no memory for its bits, free pages go back at once");
	if (cache_defaults.realtime_bytes)
		start_realtime(cache_defaults.realtime_bytes);
	set_failslab(os_env("USLAB_FAILSLAB"));
	instrument_init();
	if (profile_start())
		os_say("USLAB_CONF: mem_profiling: no memory for its table");
	ret = guard_start();
	if (ret)
		os_say("USLAB_CONF: kfence: %s",
		       ret == -EOPNOTSUPP ? "the system's pages are of more than 4 KiB"
					  : "no memory for its pages");
	return 0;
}

static cold int init_slow(void)
{
	bool first = false;
	int ret;

	lock_acquire(&init_lock);
	ret = state;
	if (!ret) {
		ret = init_floors();
		first = !ret;
		ret = ret ? ret : 1;
		store_release(&state, ret); /* pairs with cache_init */
	}
	lock_release(&init_lock);
	/* after the lock: libc may allocate for it, which calls this again */
	if (first)
		os_at_fork(cache_fork_prepare, cache_fork_parent, cache_fork_child);
	return ret < 0 ? ret : 0;
}

int cache_init(void)
{
	int ret = load_acquire(&state);

	if (likely(ret == 1))
		return 0;
	return ret < 0 ? ret : init_slow();
}

bool cache_has_settings(void)
{
	return os_env("USLAB_CONF") || os_env("USLAB_DEBUG") || os_env("USLAB_FAILSLAB");
}

void cache_start_threads(void)
{
	static int started;

	if (xchg(&started, 1))
		return;
	if (cache_defaults.reap_ms && cache_reap_start(cache_defaults.reap_ms))
		os_say("USLAB_CONF: reap: no thread could be made for it");
	if (cache_defaults.control_ms && control_start(cache_defaults.control_ms))
		os_say("USLAB_CONF: control: no thread could be made for it");
	if (mobility_start())
		os_say("USLAB_CONF: defrag: no thread could be made for it");
	if (reclaim_start())
		os_say("USLAB_CONF: reclaim: no thread could be made for it");
	if (guard_start_thread())
		os_say("USLAB_CONF: kfence.interval: no thread could be made for it");
}
