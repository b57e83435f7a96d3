/* SPDX-License-Identifier: MIT */
/*
 * debug/report/report_style.h - what the two formats of reports have of their own, and what they
 * share
 *
 * Data:       none.
 * Invariants: a style only writes text; what is reported and in which order is report.c's.
 * Locks:      the text is open.
 * Flow:       included by report*.c and kfence_report.c only.
 */
#ifndef DEBUG_REPORT_STYLE_H
#define DEBUG_REPORT_STYLE_H

#include "debug/report/report.h"
#include "debug/report/report_text.h"

#define REPORT_REASON_MAX 100 /* bytes of a reason, with the NUL; the kernel's */
#define REPORT_LINE_MAX 384   /* bytes of what has no banner: four names fit */
#define REPORT_DUMP_LINE 16u  /* bytes of memory in a line of a dump */
/* Lines of 77 characters. */
#define REPORT_RULE_DOUBLE \
	"============================================================================="
#define REPORT_RULE_SINGLE \
	"-----------------------------------------------------------------------------"

BUILD_ASSERT(sizeof(REPORT_RULE_DOUBLE) == 78 && sizeof(REPORT_RULE_SINGLE) == 78);

struct report_style {
	size_t object_max; /* bytes of an object that are dumped */
	/* is dumped where there is one; else the 16 bytes before each object are */
	bool left_redzone;
	bool says_not_freed; /* also of an object that failed its own check, when it was freed */
	bool shows_taken;    /* see report_shows_taken() */

	/* printf text (subset of os/process/say.h); NULL: as in report_modern */
	const char *reason[REPORT_NR_KINDS];
	const char *area[REPORT_NR_AREAS];
	const char *repair[REPORT_NR_REPAIRS];

	void (*banner)(const char *cache, const char *reason);
	/* The line on wrong bytes first..last; start: of the slab or the pages. */
	void (*wrong)(const char *start, const unsigned char *first, const void *last,
		      unsigned char expected);
	void (*track)(const char *verb, const char *noun, const struct track *track);
	void (*slab)(const struct page *slab);
	void (*object)(const char *start, const void *obj, const void *fp);
	/* An object that was left behind. */
	void (*leak)(const struct page *slab, const void *obj);
	void (*leaked)(const char *cache, const void *caller);
	/* Memory; label is filled up to width columns where the style does so. */
	void (*dump)(const char *label, size_t width, const void *start, size_t len);
	void (*stack)(void);
	void (*fix_bytes)(const char *cache, const char *area, const void *first, const void *last,
			  unsigned char value);
};

extern const struct report_style report_modern;
extern const struct report_style report_old;

/* The line on CPU, thread and taint, which KFENCE's reports end with (report_modern.c). */
void report_cpu_line(void);

/* ---- report_policy.c ---- */

/* The style that was chosen. */
const struct report_style *report_style(void);

/* Also those in the allocator that a stack begins with? */
bool report_shows_own_frames(void);

/* Was anything reported before? */
bool report_tainted(void);
void report_taint(void);

/* Open the text for an error, for a repair in the cache of that name; and count it. */
void report_error_begin(const char *cache, enum report_kind kind);
void report_fix_begin(const char *cache);

/* Of the last error in this thread's text; REPORT_NOTHING: it has none. */
enum report_kind report_last(void);

/* ---- report.c ---- */

/* The words of the style that was chosen. */
const char *report_reason(enum report_kind kind);

/* ---- what both styles say in the same way ---- */

static inline unsigned long report_distance(const char *start, const void *p)
{
	return (unsigned long)((const char *)p - start);
}

static inline unsigned long report_offset(const struct page *slab, const void *p)
{
	return report_distance(page_address(slab), p);
}

struct slab_counters report_slab_counters(const struct page *slab);

/*
 * The stack of now, at most max frames, innermost first. The allocator's own ones, which it begins
 * with, are left out where it is a shared library: a program that it is linked into has them in one
 * object with its own. Returns how many.
 */
unsigned int report_call_trace(uintptr_t *pcs, unsigned int max);

/* Milliseconds since the track was written. */
unsigned long report_age(const struct track *track);

#endif /* DEBUG_REPORT_STYLE_H */
