/* SPDX-License-Identifier: MIT */
/*
 * debug/report/report_text.h - the text of a report, line by line into one buffer
 *
 * Data:       static buffers of 64 KiB.
 * Invariants: no allocation, no stdio; the buffer ends with NUL; a text that does not fit ends
 *             with a line that says so, and how many reports it lost.
 * Locks:      RANK_REPORT from report_text_open() to report_text_close(), by one thread;
 *             report_text_open() again by the same thread goes on with the same text.
 * Flow:       called by report.c, report_modern.c, report_old.c, report_policy.c,
 *             cache/control/dump.c and kfence_report.c; calls os/process/say.h, symbol_names.h,
 *             stacks.h.
 */
#ifndef DEBUG_REPORT_TEXT_H
#define DEBUG_REPORT_TEXT_H

#include "base/compiler.h"

#define REPORT_TEXT_MAX (64ul << 10) /* bytes, with the NUL */
#define REPORT_TEXT_HEAD_MAX 192     /* bytes of the lines before it, with the NUL */

cold void report_text_open(void);
cold bool report_text_is_open(void); /* by this thread */
/* By any thread? A hint. */
cold bool report_text_is_busy(void);

/* What is printed next is one more report: it counts as lost if less than its banner fits. */
cold void report_text_begin(void);
/* How many are, by the texts so far; complete after report_text_get(). */
cold unsigned int report_text_lost(void);

/* As os_format(). No newline of its own. */
cold void report_text_print(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/*
 * `name+0xoff/0xsize [object]`, or 0x... where there is no symbol. No newline. It is looked up by
 * report_text_get(), which takes its time.
 */
cold void report_text_symbol(uintptr_t address);

/* Each frame on a line of its own behind prefix. */
cold void report_text_frames(const char *prefix, const uintptr_t *pcs, unsigned int nr);
/* The frames of a saved stack; 0 frames: nothing. Returns how many. */
cold unsigned int report_text_stack(const char *prefix, uint32_t handle);

/*
 * The whole text so far and its length; valid until report_text_close(). What is printed afterwards
 * is appended. The caller should hold no lock but RANK_REPORT, since names are looked up: see
 * report_text_symbol().
 */
cold const char *report_text_get(size_t *len);
/* The same behind lines of less than REPORT_TEXT_HEAD_MAX bytes, in one piece. */
cold const char *report_text_get_behind(const char *head, size_t *len);
/* Empties the buffer and unlocks it. */
cold void report_text_close(void);

/* In the child: the thread that had the text open may not exist. */
cold void report_text_reset(void);

#endif /* DEBUG_REPORT_TEXT_H */
