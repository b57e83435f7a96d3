/* SPDX-License-Identifier: MIT */
/*
 * debug/report/report.h - error reports in the kernel's words (spec 7)
 *
 * Data:       whether something was reported so far (taint), how many reports, the policy.
 * Invariants: nothing here allocates; a report has all its parts, of long objects not all bytes.
 *             Reports of one text that do not fit the buffer are cut, which is said, and counted.
 * Locks:      RANK_REPORT, from the first text of a report until report_deliver() has written it.
 *             Callers may hold a list_lock while they report, and must not while they deliver.
 * Flow:       called by mistake.c, api/debug_api.c, cache/ and debug/; calls report_text.c,
 *             os/unwind/unwind.c.
 *
 * One function for each kind of body in the table of spec 7.2. What is reported is a value, and so
 * is what was done about it; the words for it are the formats' (report_modern.c, report_old.c). A
 * reason has at most 100 bytes.
 */
#ifndef DEBUG_REPORT_H
#define DEBUG_REPORT_H

#include "debug/debug.h"

/* What was found. */
enum report_kind {
	REPORT_NOTHING,
	REPORT_OVERWRITTEN,	/* of enum report_area; report_bytes() */
	REPORT_PADDING,		/* report_padding() */
	REPORT_FREE_ALREADY,	/* what the program freed, or wants to resize */
	REPORT_INVALID_POINTER, /* report_invalid() and the like */
	REPORT_FREE_POINTER,	/* an object's own */
	REPORT_FREE_LIST,	/* where the slab's list begins */
	REPORT_FREE_CHAIN,	/* within it */
	REPORT_ALLOC_POINTER,	/* what the slab's list begins with is no object */
	REPORT_NO_SLAB,
	/* report_slab_counts(): */
	REPORT_MOST_OBJECTS, /* objects, and how many there can be */
	REPORT_MOST_INUSE,   /* inuse, objects */
	REPORT_OBJECTS,	     /* found, right */
	REPORT_COUNT,	     /* inuse, counted */
	REPORT_ISOLATED,
	REPORT_NONE_IN_USE, /* and yet one is freed */
	REPORT_SHEAF,	    /* a lent one; a note says what is wrong */
	REPORT_GRACE,	    /* a block that waits for RCU, or is to; likewise */
	REPORT_REMAINING,   /* report_leak_begin() */
	/* without a banner */
	REPORT_WRONG_PARTIAL, /* report_wrong_partial() */
	REPORT_WRONG_CACHE,   /* report_wrong_cache() */
	REPORT_LEAKED,	      /* report_leak_end() */
	REPORT_GUARDED,	      /* kfence_report.c, which has enum kfence_bug */
	REPORT_NR_KINDS
};

/* Which bytes. */
enum report_area {
	AREA_LEFT_REDZONE,
	AREA_RIGHT_REDZONE,
	AREA_KMALLOC_REDZONE,
	AREA_POISON,
	AREA_END_POISON,
	AREA_ALIGNMENT,
	AREA_OBJECT_PADDING,
	AREA_SLAB_PADDING,
	REPORT_NR_AREAS
};

/* What was done about it, or not done. */
enum report_repair {
	FIX_NOTHING, /* not even said */
	/* with an address: */
	FIX_NOT_FREED,
	FIX_NOT_RESIZED,
	FIX_WAS_WRITTEN,  /* an object that was free */
	FIX_PAGES_UNUSED, /* where they begin */
	/* without: */
	FIX_ALL_USED,
	FIX_OBJECTS,
	FIX_COUNT,
	FIX_FREE_LIST,
	FIX_FREE_CHAIN,
	REPORT_NR_REPAIRS
};

/* Bytes first..last (inclusive) are not expected. Trailer of the object. */
cold void report_bytes(struct engine *e, struct page *slab, void *obj, enum report_area area,
		       const void *first, const void *last, unsigned char expected);
/* The slab's tail, from pad to its end. */
cold void report_padding(struct engine *e, struct page *slab, const void *first, const void *last,
			 const void *pad);
/* A reason and the trailer of an object. */
cold void report_object(struct engine *e, struct page *slab, void *obj, enum report_kind kind);
/* A reason, the slab line and the stack. */
cold void report_slab(struct engine *e, struct page *slab, enum report_kind kind);
/* The same for a counter that is wrong; other: what it was compared with, -1: no end was found. */
cold void report_slab_counts(struct engine *e, struct page *slab, enum report_kind kind,
			     unsigned int counter, int other);
/* With a line of our own behind the slab line, which says more than the kernel's words do. */
cold void report_slab_noted(struct engine *e, struct page *slab, enum report_kind kind,
			    const char *note);
/*
 * p was freed, or is to be resized, and is no object, or one that is free already (is_object). A
 * line of our own says where it lies, or that it is free, whatever the reason says; and what is
 * known of the object there.
 */
cold void report_slab_pointer(struct engine *e, struct page *slab, void *p, bool is_object,
			      enum report_kind kind);
/* The same with the kernel's reason for what is no object: REPORT_INVALID_POINTER. */
cold void report_slab_invalid(struct engine *e, struct page *slab, void *p);
/* object_err with a pointer that is no object: banner, slab line, `Invalid pointer 0xP`. */
cold void report_pointer(struct engine *e, struct page *slab, const void *p, enum report_kind kind);
/*
 * An object, or a pointer that starts none, which must not be freed: its slab, a line of our own
 * and the stack, no bytes. e, slab, note: NULL where there is none.
 */
cold void report_misuse(struct engine *e, struct page *slab, const void *p, enum report_kind kind,
			const char *note);
/* The same with the kernel's reason for what is no object. */
cold void report_invalid(struct engine *e, struct page *slab, const void *p, const char *note);
/* `FIX cache: text`; counts as an error in tests, as in KUnit. p: the address, or NULL. */
cold void report_fix(struct engine *e, enum report_repair repair, const void *p);
/* FIX_NOT_FREED, FIX_NOT_RESIZED, and where the program goes on how it would end. */
cold void report_not_done(struct engine *e, const void *p, enum report_repair repair);
/* Without a banner, one line and the stack: partial slabs of e, by its list and its counter. */
cold void report_wrong_partial(struct engine *e, unsigned long counted, unsigned long counter);
/* The same for an object of owner that was given back to e; of one name, they have numbers. */
cold void report_wrong_cache(struct engine *e, const struct engine *owner, const void *obj);
/* `Restoring <area> 0xA-0xB=0xE` */
cold void report_fix_bytes(struct engine *e, enum report_area area, const void *first,
			   const void *last, unsigned char value);

/* ---- the same of a block of whole pages, named blocks_name: its pages instead of a slab ---- */

struct block_record;
cold void report_block(const struct block_record *b, enum report_kind kind);
/* That name where a report wants an engine. */
cold struct engine *report_blocks(void);
/* With the repair, which the caller makes. */
cold void report_block_bytes(const struct block_record *b, enum report_area area, const void *first,
			     const void *last, unsigned char expected);
cold void report_block_pointer(const struct block_record *b, const void *p);

/* T (spec 7.7). Not an error. */
cold void report_trace(struct engine *e, struct page *slab, void *obj, bool alloc);

/*
 * Writes what was reported by this thread since the last time, gives it to the program's hook, and
 * does what the policy says. Nothing to deliver: returns at once. Locks: none held above
 * RANK_REPORT but that of the registry, and a front's: then the hook is called when the thread
 * holds none any more, and asks nested_call(). The text's is given back before.
 */
cold void report_deliver(void);

/* Spec 5.5: the object's line and tracks, in the report of a cache that is destroyed too early. */
cold void report_leak_begin(struct engine *e, struct page *slab);
cold void report_leak_object(struct engine *e, struct page *slab, void *obj);
/* Its last line, also where no slab was listed: the cache still has objects. */
cold void report_leak_end(struct engine *e, const void *caller);

/*
 * A line "uslab: ..." that is no report of a mistake: it goes where reports go, but neither to the
 * program's hook, nor does it end the program. It is written if report_note_is_due(): one in an
 * interval (report.interval), the others count as suppressed. Context: no lock held.
 */
cold bool report_note_is_due(void);
cold void report_note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* ---- policy, set by USLAB_CONF and programs ---- */

enum report_policy { REPORT_CONTINUE, REPORT_ABORT, REPORT_EXIT };
enum report_format { REPORT_MODERN, REPORT_2_6_29 };

/*
 * Is an object out of its slab's list when it is checked, as in 6.1? An error found on
 * allocation then shows it as in use, one found on free shows a free pointer of 0. In 2.6.29 it
 * is as the last call left it.
 */
cold bool report_shows_taken(void);

/* false: no such word. "continue", "abort", "exit"; "modern", "2.6.29"; "program", "all". */
cold bool report_set_policy(const char *word);
cold bool report_set_format(const char *word);
cold bool report_set_frames(const char *word);
#define REPORT_BURST 10
#define REPORT_INTERVAL_S 5
/*
 * Of so many reports the text is written in an interval of so many seconds ("10", "5"; "0": of
 * all). "1", "0": is there a line with time and process before each? false: no such value.
 */
cold bool report_set_burst(const char *value);
cold bool report_set_interval(const char *value);
cold bool report_set_time(const char *value);
/* Does the program go on after a report? */
cold bool report_goes_on(void);
/* Reports go to this file from now on (appended) instead of stderr. false: cannot be opened. */
cold bool report_set_file(const char *path);
/* Why the last one could not: -errno. */
cold int report_file_error(void);
/* See uslab_set_report_hook(). */
cold void report_set_hook(uslab_report_hook hook, void *arg, bool quiet);

/* Read by tools from outside. */
struct report_counters {
	unsigned long reports; /* banners and lines */
	unsigned long fixes;
	unsigned long undelivered; /* texts that report.file or stderr did not take */
	unsigned long isolated;	   /* slabs, and pages of heaps, see ENGINE_LIST_BROKEN */
	/* reports and notes that were not written: by report.burst, or a text had no space */
	unsigned long suppressed;
};
extern struct report_counters report_counters;

/* One more slab is isolated; while the text of its report is open. */
cold void report_count_isolated(void);

/*
 * In a child of fork(): none was left out, and no report is under way, unless the parent was alone
 * (then it is this thread's, which goes on with it).
 */
cold void report_reset(bool was_alone);

#endif /* DEBUG_REPORT_H */
