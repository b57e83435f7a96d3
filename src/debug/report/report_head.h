/* SPDX-License-Identifier: MIT */
/*
 * debug/report/report_head.h - how many reports are written, and the lines before one
 *
 * Data:       the options report.burst, report.interval and report.time; what was left out.
 * Invariants: as the kernel's ratelimit: of the reports of an interval the first burst ones, whole.
 *             Lines that are no reports take nothing of that.
 * Locks:      the text is open, but for the options, and for notes, which are atomic.
 * Flow:       called by report_policy.c; calls os/time/utc.h.
 */
#ifndef DEBUG_REPORT_HEAD_H
#define DEBUG_REPORT_HEAD_H

#include "debug/report/report_text.h"

/* Is a text with nr reports to be written now? Else they count as left out. */
cold bool report_limit_takes(unsigned int nr, uint64_t now_ms);
/* Likewise of a line that is no report: one in an interval. No lock is needed. */
cold bool report_limit_takes_note(uint64_t now_ms);
/* nr more were left out. */
cold void report_limit_leave_out(unsigned int nr);
/* Were any left out that no text mentions yet? Read without the lock. */
cold bool report_limit_has_left_out(void);

/*
 * The lines before a text that is written: what was left out before it, once; and of a report time,
 * process and thread. Ends with NUL. Returns the length.
 */
cold size_t report_head(char head[REPORT_TEXT_HEAD_MAX], bool is_report);

/* In the child nothing was left out yet. */
cold void report_head_reset(void);

#endif /* DEBUG_REPORT_HEAD_H */
