/* SPDX-License-Identifier: MIT */
/*
 * stress/rcu_own_storm.h - the storm with readers of the tests' own RCU
 */
#ifndef STRESS_RCU_OWN_STORM_H
#define STRESS_RCU_OWN_STORM_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "child.h"
#include "debug/report/report.h"
#include "os/rcu/rcu.h"
#include "reader_rcu.h"

static inline void storm_begin(unsigned int thread)
{
	(void)thread;
}

static inline void storm_end(unsigned int thread)
{
	(void)thread;
}

static inline void storm_quiet(unsigned int thread)
{
	(void)thread;
}

static inline void storm_enter(unsigned int thread)
{
	reader_lock(thread);
}

static inline void storm_leave(unsigned int thread)
{
	reader_unlock(thread);
}

#include "stress/rcu_storm.h"

#define RUN_MS 1500

static inline void finish(void)
{
	storm_clear();
	os_rcu_check();
	CHILD_CHECK(report_counters.reports == 0);
}

/* Type-safe objects alone: no writer of nodes helps. */
static inline void *only_safe(void *arg)
{
	unsigned int thread = (unsigned int)(uintptr_t)arg;
	uint64_t seed = thread;

	while (storm_goes_on()) {
		if (thread % 2) {
			storm_be_reader(thread, &seed);
			continue;
		}
		for (unsigned int i = 0; i < 40; i++)
			storm_replace_safe(&seed);
		storm_remove_safes();
		storm_use_memory(&seed);
	}
	return NULL;
}

static inline void run_only_safe(const struct uslab_rcu_ops *ops, const char *engine,
				 unsigned int ms)
{
	CHILD_CHECK(uslab_set_rcu(ops) == 0);
	storm_make_caches(engine);
	storm.ms = ms;
	storm.begun = os_clock_ms();
	threads_run(4, only_safe);
}

#endif /* STRESS_RCU_OWN_STORM_H */
