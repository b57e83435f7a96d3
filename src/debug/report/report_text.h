/* SPDX-License-Identifier: MIT */
/*
 * debug/report/report_text.h - the text of a report, line by line into one buffer
 *
 * Data:       static buffers of 64 KiB.
 * Invariants: no allocation, no stdio; the buffer ends with NUL; a text that does not fit ends
 *             with a line that says so.
 * Locks:      RANK_REPORT from text_open() to text_close(), by one thread; text_open() again by the
 *             same thread goes on with the same text.
 * Flow:       called by report.c, report_modern.c, report_old.c, report_policy.c,
 *             cache/control/dump.c and kfence_report.c; calls os/process/say.h, names.h, stacks.h.
 */
#ifndef DEBUG_TEXT_H
#define DEBUG_TEXT_H

#include "base/compiler.h"

#define TEXT_MAX (64ul << 10) /* bytes, with the NUL */
#define TEXT_HEAD_MAX 192     /* bytes of the lines before it, with the NUL */

cold void text_open(void);
cold bool text_is_open(void); /* by this thread */
/* By anybody? May be otherwise at once. */
cold bool text_is_busy(void);

/* As os_format(). No newline of its own. */
cold void text_print(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/*
 * `name+0xoff/0xsize [object]`, or 0x... where there is no symbol. No newline. It is looked up by
 * text_get(), which takes its time.
 */
cold void text_symbol(uintptr_t address);

/* Each frame on a line of its own behind prefix. */
cold void text_frames(const char *prefix, const uintptr_t *pcs, unsigned int nr);
/* The frames of a saved stack; 0 frames: nothing. Returns how many. */
cold unsigned int text_stack(const char *prefix, uint32_t handle);

/*
 * The whole text so far and its length; valid until text_close(). What is printed afterwards comes
 * behind it. Others may wait for no lock of the caller's but RANK_REPORT: see text_symbol().
 */
cold const char *text_get(size_t *len);
/* The same behind lines of less than TEXT_HEAD_MAX bytes, in one piece. */
cold const char *text_get_behind(const char *head, size_t *len);
/* Empties the buffer and lets the next one in. */
cold void text_close(void);

/* Whoever had the text open is not in the child. */
cold void text_fork_child(void);

#endif /* DEBUG_TEXT_H */
