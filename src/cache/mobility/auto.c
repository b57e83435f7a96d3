/* SPDX-License-Identifier: MIT */
/*
 * cache/mobility/auto.c - defragmentation by itself: many partial slabs, a share of a CPU
 *
 * Why:        docs/adr/0060.
 * Data:       the number of the sweep; what USLAB_CONF=defrag asks for is in cache_defaults.
 * Invariants: the number is the thread's.
 * Locks:      none.
 * Flow:       called by config/options.c and init.c; called back by os/time/ticker.c; calls
 *             defrag.c, and gives it to control/ for commands.
 */
#include "base/bits.h"
#include "cache/control/control.h"
#include "cache/internal.h"
#include "cache/mobility/mobility.h"
#include "os/time/ticker.h"

#define PERIOD_MS 100
#define SHARE 5			 /* percent of a CPU, if nothing is said */
#define FIRST_SWEEP (1ull << 63) /* those of tools have smaller numbers */

/* 1 to 100, and the text behind it. */
static bool parse_percent(const char **text, unsigned int *percent)
{
	const char *p = *text;

	for (*percent = 0; *p >= '0' && *p <= '9' && p - *text < 3; p++)
		*percent = 10 * *percent + (unsigned int)(*p - '0');
	*text = p;
	return *percent >= 1 && *percent <= 100;
}

/* "PERCENT" or "PERCENT:SHARE". */
bool mobility_set_option(const char *value)
{
	unsigned int share = SHARE;
	unsigned int percent;

	if (!parse_percent(&value, &percent))
		return false;
	if (*value == ':' && (value++, !parse_percent(&value, &share)))
		return false;
	if (*value)
		return false;
	cache_defaults.defrag_percent = percent;
	cache_defaults.defrag_share = share;
	return true;
}

static void tick(void)
{
	static uint64_t sweeps;
	struct control_sweep sweep = {
		.patterns = "*",
		.size = sizeof("*"),
		.number = FIRST_SWEEP + sweeps,
		.budget_us = 10ull * cache_defaults.defrag_share * PERIOD_MS,
		.threshold = cache_defaults.defrag_percent,
	};

	control_poll();
	cache_defrag_sweep(&sweep);
	if (!sweep.more)
		sweeps++;
}

int mobility_start(void)
{
	control_defrag = cache_defrag_sweep;
	if (!cache_defaults.defrag_percent)
		return 0;
	if (!cache_defaults.control_ms)
		cache_defaults.control_ms = PERIOD_MS; /* this thread polls */
	return os_ticker_start("uslab-defrag", PERIOD_MS, tick);
}
