/* SPDX-License-Identifier: MIT */
/*
 * debug/report/report_head.c - how many reports are written, and the lines before one
 *
 * Why:        docs/adr/0029.
 * Data:       the options; the interval that runs, and what was left out.
 * Invariants: written <= burst when a text is taken; left_out: those that no text mentions yet.
 * Locks:      see report_head.h.
 * Flow:       see report_head.h.
 *
 * A program with a double free in a loop would fill a disk. The words and numbers are the kernel's
 * (printk_ratelimit): 10 in 5 seconds. Reports left out are counted, and the count is written
 * before the next report, or when the program ends. There is one limit for all reports, since a
 * flood comes from many call sites as often as from one.
 */
#include "debug/report/report_head.h"

#include "base/atomic.h"
#include "debug/report/report.h"
#include "os/process/die.h"
#include "os/process/env.h"
#include "os/process/process.h"
#include "os/time/utc.h"

#define MOST_SECONDS 1000000u

static struct {
	unsigned int burst;
	unsigned int interval_ms;
	bool no_time;
} options = { REPORT_BURST, REPORT_INTERVAL_S * 1000, false };

static struct {
	uint64_t begin; /* milliseconds; 0: none runs */
	unsigned int written;
	unsigned long left_out; /* atomic */
	uint64_t noted; /* milliseconds of the last note that was written; 0: none; atomic */
} limit;

static bool set_number(unsigned int *option, const char *value, size_t most, unsigned int unit)
{
	size_t n;

	if (!os_parse_size(value, &n) || n > most)
		return false;
	store_relaxed(option, (unsigned int)n * unit);
	return true;
}

bool report_set_burst(const char *value)
{
	return set_number(&options.burst, value, UINT32_MAX, 1);
}

bool report_set_interval(const char *value)
{
	return set_number(&options.interval_ms, value, MOST_SECONDS, 1000);
}

bool report_set_time(const char *value)
{
	if ((value[0] != '0' && value[0] != '1') || value[1])
		return false;
	store_relaxed(&options.no_time, value[0] == '0');
	return true;
}

static bool is_limited(void)
{
	return load_relaxed(&options.burst) && load_relaxed(&options.interval_ms);
}

void report_limit_leave_out(unsigned int nr)
{
	fetch_add(&limit.left_out, nr);
	fetch_add(&report_counters.suppressed, nr);
}

bool report_limit_takes(unsigned int nr, uint64_t now_ms)
{
	if (!is_limited())
		return true;
	if (!limit.begin || now_ms - limit.begin >= load_relaxed(&options.interval_ms)) {
		limit.begin = now_ms;
		limit.written = 0;
	}
	if (limit.written >= load_relaxed(&options.burst)) {
		report_limit_leave_out(nr);
		return false;
	}
	limit.written += nr;
	return true;
}

bool report_limit_takes_note(uint64_t now_ms)
{
	uint64_t noted = load_relaxed(&limit.noted);

	if (!is_limited())
		return true;
	if ((!noted || now_ms - noted >= load_relaxed(&options.interval_ms)) &&
	    cmpxchg(&limit.noted, noted, now_ms))
		return true;
	report_limit_leave_out(1);
	return false;
}

bool report_limit_has_left_out(void)
{
	return load_relaxed(&limit.left_out);
}

size_t report_head(char head[REPORT_TEXT_HEAD_MAX], bool is_report)
{
	char time[OS_UTC_BYTES];
	unsigned long left_out = xchg(&limit.left_out, 0);
	size_t len = 0;

	head[0] = '\0';
	if (left_out)
		len += os_format(head, REPORT_TEXT_HEAD_MAX,
				 "uslab: %lu reports were suppressed; USLAB_CONF=report.burst=0 "
				 "shows all\n",
				 left_out);
	if (!is_report || load_relaxed(&options.no_time))
		return len;
	os_utc_now(time);
	return len + os_format(head + len, REPORT_TEXT_HEAD_MAX - len, "uslab: %s pid=%u tid=%u\n",
			       time, os_process_id(), os_thread_id());
}

void report_head_reset(void)
{
	if (!limit.begin && !load_relaxed(&limit.noted) && !load_relaxed(&limit.left_out))
		return; /* an unneeded write would copy a page */
	limit.begin = 0;
	store_relaxed(&limit.noted, 0);
	store_relaxed(&limit.left_out, 0);
}
