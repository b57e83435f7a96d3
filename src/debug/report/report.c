/* SPDX-License-Identifier: MIT */
/*
 * debug/report/report.c - error reports in the kernel's words (spec 7): what is said, and in which
 * order
 *
 * Data:       none.
 * Invariants: nothing here writes to what it reports on.
 * Locks:      every function opens the text and leaves it open, see report.h.
 * Flow:       called by debug/ and cache/; calls report_policy.c, report_text.c and, by the policy,
 *             a style.
 */
#include <stdarg.h>
#include <string.h>

#include "base/atomic.h"
#include "base/bits.h"
#include "debug/pages/blocks.h"
#include "debug/report/report_style.h"
#include "engine/descriptor.h"
#include "os/time/clock.h"
#include "os/process/die.h"
#include "os/symbol/object.h"
#include "os/unwind/unwind.h"

static const char *cache_name(const struct engine *e)
{
	return e ? e->name : "<none>";
}

struct slab_counters report_slab_counters(const struct page *slab)
{
	return slab->type == PAGE_SLAB ? engine_counters(slab) : (struct slab_counters){ 0 };
}

/*
 * This library's code where it is linked into the program: CMakeLists.txt gives it a
 * section of its own. Else NULL.
 */
extern const char __start_uslab_text[] __attribute__((weak, visibility("hidden")));
extern const char __stop_uslab_text[] __attribute__((weak, visibility("hidden")));

/* Where this library's code is. false: in the program, and nobody can say where. */
static bool find_own_code(struct os_object *own)
{
	struct os_object_file file;

	*own = (struct os_object){ .start = __start_uslab_text, .end = __stop_uslab_text };
	if (own->start)
		return true;
	return os_object_find((uintptr_t)find_own_code, own) && os_object_file(own, &file) &&
	       file.path[0];
}

unsigned int report_call_trace(uintptr_t *pcs, unsigned int max)
{
	unsigned int nr = os_unwind(NULL, pcs, max), own = 0;
	struct os_object code;

	if (report_shows_own_frames() || !find_own_code(&code))
		return nr;
	while (own < nr && pcs[own] > (uintptr_t)code.start && pcs[own] <= (uintptr_t)code.end)
		own++;
	if (own == nr)
		return nr; /* a thread of ours */
	memmove(pcs, pcs + own, (nr - own) * sizeof(*pcs));
	return nr - own;
}

unsigned long report_age(const struct track *track)
{
	uint64_t now = os_clock_ms();

	return now > track->when ? now - track->when : 0;
}

/* ---- words ---- */

const char *report_reason(enum report_kind kind)
{
	const char *words = report_style()->reason[kind];

	return words ? words : report_modern.reason[kind];
}

static const char *area_name(enum report_area area)
{
	const char *words = report_style()->area[area];

	return words ? words : report_modern.area[area];
}

static const char *repair_words(enum report_repair repair)
{
	const char *words = report_style()->repair[repair];

	return words ? words : report_modern.repair[repair];
}

/* ---- sections of bytes ---- */

/*
 * Aligned objects have red zones and padding of up to a page, which would leave no space for the
 * stacks behind them. Of what is longer than SECTION_MAX, and of objects of more than a page, some
 * lines are shown: where it begins, those around the first wrong byte, and where it ends.
 */
#define SECTION_MAX 1024u
#define SHOWN_BEGIN 256u
#define SHOWN_BEFORE_WRONG 64u
#define SHOWN_FROM_WRONG 128u
#define SHOWN_END 32u

struct section {
	const unsigned char *from;
	size_t len;
	size_t wrong; /* where the line of the first wrong byte begins */
	bool has_wrong;
};

/* Of the line at that offset. */
static bool line_is_shown(const struct section *s, size_t at)
{
	if (at < SHOWN_BEGIN || at + SHOWN_END >= s->len)
		return true;
	return s->has_wrong && at + SHOWN_BEFORE_WRONG >= s->wrong &&
	       at < s->wrong + SHOWN_FROM_WRONG;
}

/* Where the lines end that are shown, or left out, as the one at that offset is. */
static size_t lines_end(const struct section *s, size_t at)
{
	bool shown = line_is_shown(s, at);

	while (at < s->len && line_is_shown(s, at) == shown)
		at += REPORT_DUMP_LINE;
	return MIN(at, s->len);
}

static void put_left_out(const unsigned char *bytes, size_t len)
{
	if (memcmp(bytes, bytes + 1, len - 1))
		report_text_print("[%lu bytes are left out]\n", (unsigned long)len);
	else
		report_text_print("[%lu bytes of 0x%02x are left out]\n", (unsigned long)len,
				  *bytes);
}

static void put_long_section(const char *label, size_t width, const void *from, size_t len,
			     const void *wrong)
{
	size_t at_wrong = (uintptr_t)wrong - (uintptr_t)from; /* huge if it lies before */
	struct section s = { .from = from,
			     .len = len,
			     .wrong = ALIGN_DOWN(at_wrong, REPORT_DUMP_LINE),
			     .has_wrong = at_wrong < len };
	size_t end;

	for (size_t at = 0; at < len; at = end) {
		end = lines_end(&s, at);
		if (line_is_shown(&s, at))
			report_style()->dump(label, width, s.from + at, end - at);
		else
			put_left_out(s.from + at, end - at);
	}
}

static void put_section(const char *label, size_t width, const void *from, size_t len,
			const void *wrong)
{
	if (len > SECTION_MAX)
		put_long_section(label, width, from, len, wrong);
	else
		report_style()->dump(label, width, from, len);
}

/* ---- parts of a report ---- */

/* With what the reason's words take: report_test.c has what that is for each kind. */
static void put_banner(const struct engine *e, enum report_kind kind, ...)
{
	char reason[REPORT_REASON_MAX];
	va_list args;

	report_error_begin(cache_name(e), kind);
	va_start(args, kind);
	os_format_list(reason, sizeof(reason), report_reason(kind), args);
	va_end(args);
	report_style()->banner(cache_name(e), reason);
}

/* What the kernel has no words for: a page of a heap is no slab. */
static void put_heap_page(const struct page *page)
{
	unsigned long base = (unsigned long)page_address(page);

	report_text_print("Page 0x%lx-0x%lx of heap %s, %u bytes free\n", base,
			  base + PAGE_SIZE - 1, page->heap->name, (uint32_t)page->counters);
}

static void put_slab(const struct page *slab)
{
	if (slab && slab->type == PAGE_HEAP)
		put_heap_page(slab);
	else if (slab) /* else the address is not even in the arena */
		report_style()->slab(slab);
}

static void put_tracks(const struct page *slab, void *obj)
{
	const struct slab_layout *layout = slab->layout;
	const struct report_style *style = report_style();

	if (!debug_is_slab(slab) || !(layout->debug & SLAB_STORE_USER))
		return;
	style->track("Allocated", "allocation", debug_track(layout, obj, TRACK_ALLOC));
	style->track("Freed", "free", debug_track(layout, obj, TRACK_FREE));
}

static void put_object(const struct page *slab, void *obj)
{
	const void *fp = debug_is_slab(slab)
				 ? debug_freeptr_get(slab->engine->debug, slab->layout, obj)
				 : NULL;

	report_style()->object(page_address(slab), obj, fp);
}

/* 16 bytes before the object, but for the first object of a slab (spec 7.1). */
static void put_bytes_before(const struct report_style *style, const struct page *slab,
			     const char *obj)
{
	if (report_offset(slab, obj) > REPORT_DUMP_LINE)
		style->dump("Bytes b4", 9, obj - REPORT_DUMP_LINE, REPORT_DUMP_LINE);
}

static void put_object_padding(const struct page *slab, const char *obj, const void *wrong)
{
	const struct slab_layout *layout = slab->layout;
	size_t from = debug_info_end(layout, slab->engine->debug->orig_size);
	size_t to = layout->stride - layout->red_left_pad;

	if (from < to)
		put_section("Padding", 9, obj + from, to - from, wrong);
}

static void put_object_bytes(const struct slab_layout *layout, const char *obj, const void *wrong)
{
	if (layout->object_size > PAGE_SIZE)
		put_long_section("Object", 9, obj, layout->object_size, wrong);
	else
		report_style()->dump("Object", 9, obj,
				     MIN((size_t)layout->object_size, report_style()->object_max));
}

/* wrong: the first byte that is, wherever it lies; NULL: none is. */
static void put_sections(const struct page *slab, const char *obj, const void *wrong)
{
	const struct slab_layout *layout = slab->layout;
	const struct report_style *style = report_style();
	bool red = layout->debug & SLAB_RED_ZONE;

	if (red && style->left_redzone)
		put_section("Redzone", 9, obj - layout->red_left_pad, layout->red_left_pad, wrong);
	else
		put_bytes_before(style, slab, obj);
	put_object_bytes(layout, obj, wrong);
	if (red)
		put_section("Redzone", 9, obj + layout->object_size,
			    layout->inuse - layout->object_size, wrong);
	if (debug_is_slab(slab))
		put_object_padding(slab, obj, wrong);
}

static void put_trailer(const struct page *slab, void *obj, const void *wrong)
{
	put_tracks(slab, obj);
	put_slab(slab);
	put_object(slab, obj);
	put_sections(slab, obj, wrong);
	report_style()->stack();
	report_taint();
}

/* A line of our own in a report of the kernel's form. */
static void put_note(const char *note)
{
	if (note)
		report_text_print("%s\n", note);
}

/* What follows the banner. obj, note: NULL where there is none. */
static void put_slab_body(struct page *slab, void *obj, const char *note)
{
	put_slab(slab);
	put_note(note);
	if (obj) {
		put_tracks(slab, obj);
		put_object(slab, obj);
		put_sections(slab, obj, NULL);
	}
	report_style()->stack();
	report_taint();
}

/* ---- errors ---- */

void report_bytes(struct engine *e, struct page *slab, void *obj, enum report_area area,
		  const void *first, const void *last, unsigned char expected)
{
	put_banner(e, REPORT_OVERWRITTEN, area_name(area));
	report_style()->wrong(page_address(slab), first, last, expected);
	put_trailer(slab, obj, first);
}

void report_padding(struct engine *e, struct page *slab, const void *first, const void *last,
		    const void *pad)
{
	size_t slab_bytes = slab->nr_pages * PAGE_SIZE;

	put_banner(e, REPORT_PADDING, (unsigned long)first, (unsigned long)last,
		   report_offset(slab, first));
	put_slab_body(slab, NULL, NULL);
	put_section("Padding", 8, pad, slab_bytes - report_offset(slab, pad), first);
}

void report_object(struct engine *e, struct page *slab, void *obj, enum report_kind kind)
{
	put_banner(e, kind);
	put_trailer(slab, obj, NULL);
}

void report_slab(struct engine *e, struct page *slab, enum report_kind kind)
{
	report_slab_noted(e, slab, kind, NULL);
}

void report_slab_counts(struct engine *e, struct page *slab, enum report_kind kind,
			unsigned int counter, int other)
{
	put_banner(e, kind, counter, other);
	put_slab_body(slab, NULL, NULL);
}

void report_slab_noted(struct engine *e, struct page *slab, enum report_kind kind, const char *note)
{
	put_banner(e, kind);
	put_slab_body(slab, NULL, note);
}

/* The object of a debug slab in whose place, red zones and tracks among it, p lies; NULL: none. */
static void *object_around(const struct page *slab, const void *p)
{
	const struct slab_layout *layout = slab->layout;
	unsigned long i = report_offset(slab, p) / layout->stride;

	return i < report_slab_counters(slab).objects
		       ? (char *)page_address(slab) + i * layout->stride + layout->red_left_pad
		       : NULL;
}

static void note_place(char note[REPORT_LINE_MAX], const struct engine *e, const struct page *slab,
		       const void *obj, const void *p)
{
	const char *of = obj ? (const char *)obj : (const char *)p;
	size_t distance = (size_t)((const char *)p - of);
	bool inside = obj && (const char *)p > of && distance < slab->layout->object_size;

	os_format(note, REPORT_LINE_MAX, "uslab: 0x%lx lies %s of %s, not at its start",
		  (unsigned long)p,
		  inside ? "inside of an object"
		  : obj	 ? "beside an object"
			 : "behind the objects",
		  cache_name(e));
}

/* Of what is no object: where it lies, and whose the object there is. */
static void put_place_body(struct engine *e, struct page *slab, void *p)
{
	void *obj = object_around(slab, p);
	char note[REPORT_LINE_MAX];

	note_place(note, e, slab, obj, p);
	put_slab(slab);
	put_note(note);
	if (obj) {
		put_tracks(slab, obj);
		put_object(slab, obj);
	}
	report_style()->stack();
	report_taint();
}

void report_slab_pointer(struct engine *e, struct page *slab, void *p, bool is_object,
			 enum report_kind kind)
{
	char note[REPORT_LINE_MAX];

	put_banner(e, kind);
	if (is_object) {
		os_format(note, sizeof(note), "uslab: %s", report_reason(REPORT_FREE_ALREADY));
		put_slab_body(slab, p, note);
	} else {
		put_place_body(e, slab, p);
	}
}

void report_slab_invalid(struct engine *e, struct page *slab, void *p)
{
	put_banner(e, REPORT_INVALID_POINTER, (unsigned long)p);
	put_place_body(e, slab, p);
}

void report_pointer(struct engine *e, struct page *slab, const void *p, enum report_kind kind)
{
	put_banner(e, kind);
	put_slab(slab);
	report_text_print("Invalid pointer 0x%lx\n", (unsigned long)p);
	report_taint();
}

static void put_misuse_body(struct page *slab, const void *p, const char *note)
{
	put_slab(slab);
	report_text_print("Pointer 0x%lx", (unsigned long)p);
	if (slab) /* else its pages are gone */
		report_text_print(" @offset=%lu", report_offset(slab, p));
	report_text_print("\n");
	put_note(note);
	report_text_print("\n");
	report_style()->stack();
	report_taint();
}

void report_misuse(struct engine *e, struct page *slab, const void *p, enum report_kind kind,
		   const char *note)
{
	put_banner(e, kind);
	put_misuse_body(slab, p, note);
}

void report_invalid(struct engine *e, struct page *slab, const void *p, const char *note)
{
	put_banner(e, REPORT_INVALID_POINTER, (unsigned long)p);
	put_misuse_body(slab, p, note);
}

/* A line without a banner, with what its words take, and the stack. */
static void put_line(const struct engine *e, enum report_kind kind, ...)
{
	char line[REPORT_LINE_MAX];
	va_list args;

	report_error_begin(cache_name(e), kind);
	va_start(args, kind);
	os_format_list(line, sizeof(line), report_reason(kind), args);
	va_end(args);
	report_text_print("%s\n", line);
	report_style()->stack();
}

void report_wrong_partial(struct engine *e, unsigned long counted, unsigned long counter)
{
	put_line(e, REPORT_WRONG_PARTIAL, cache_name(e), counted, counter);
}

#define NAMESAKES_MAX 96 /* bytes that tell two caches of one name apart */

void report_wrong_cache(struct engine *e, const struct engine *owner, const void *obj)
{
	char more[NAMESAKES_MAX] = "";

	if (!strcmp(cache_name(e), cache_name(owner)))
		os_format(more, sizeof(more), " (number %u, %u bytes), not to number %u (%u bytes)",
			  owner->id, owner->object_size, e ? e->id : 0, e ? e->object_size : 0);
	put_line(e, REPORT_WRONG_CACHE, cache_name(e), cache_name(owner), (unsigned long)obj,
		 cache_name(owner), more);
}

/* ---- repairs ---- */

/* Was the last report about an object's bytes, or its free pointer? */
static bool object_failed(void)
{
	enum report_kind last = report_last();

	return last == REPORT_OVERWRITTEN || last == REPORT_FREE_POINTER;
}

/* Spec 7.4: 2.6.29 left an object that failed its check as it was, without a word. */
static bool fix_is_silent(enum report_repair repair)
{
	return !report_style()->says_not_freed && object_failed() &&
	       (repair == FIX_NOT_FREED || repair == FIX_NOT_RESIZED);
}

/* p: where the words take an address. */
static void put_fix(struct engine *e, enum report_repair repair, const void *p, const char *more)
{
	char text[REPORT_REASON_MAX];

	if (fix_is_silent(repair))
		return;
	os_format(text, sizeof(text), repair_words(repair), (unsigned long)p);
	report_fix_begin(cache_name(e));
	report_text_print("FIX %s: %s%s\n", cache_name(e), text, more);
}

void report_fix(struct engine *e, enum report_repair repair, const void *p)
{
	put_fix(e, repair, p, "");
}

void report_not_done(struct engine *e, const void *p, enum report_repair repair)
{
	put_fix(e, repair, p, report_goes_on() ? "; USLAB_CONF=report=abort ends the program" : "");
}

void report_fix_bytes(struct engine *e, enum report_area area, const void *first, const void *last,
		      unsigned char value)
{
	report_fix_begin(cache_name(e));
	report_style()->fix_bytes(cache_name(e), area_name(area), first, last, value);
}

/* ---- blocks of whole pages ---- */

/* Bytes of each section: from the first wrong byte's line on, where there is one. */
#define BLOCK_DUMP 64u

static void put_block_section(const char *label, const char *from, const char *to,
			      const unsigned char *wrong)
{
	const char *at = (const char *)wrong;

	if (at >= from && at < to)
		from = MAX(from, from + ALIGN_DOWN((size_t)(at - from), REPORT_DUMP_LINE));
	if (from < to)
		report_style()->dump(label, 9, from, MIN((size_t)(to - from), (size_t)BLOCK_DUMP));
}

/*
 * The end of the red zone before the block, its first bytes, those behind it. Pages
 * that are gone show nothing.
 */
static void put_block_sections(const struct block_record *b, const unsigned char *wrong)
{
	const char *obj = (const char *)b->address;
	const char *left = b->debug_flags & SLAB_RED_ZONE ? obj - PAGE_SIZE : obj;
	/* of one that was freed all pages between the red zones are filled */
	const char *end = obj + (b->state == BLOCK_FREED ? b->body : b->size);
	bool in_left = (const char *)wrong >= left && (const char *)wrong < obj;

	if (b->state == BLOCK_GONE)
		return;
	put_block_section("Redzone", in_left || left == obj ? left : obj - BLOCK_DUMP, obj, wrong);
	put_block_section("Object", obj, end, wrong);
	if (b->debug_flags & SLAB_RED_ZONE)
		put_block_section("Redzone", end, (const char *)b->base + b->bytes, wrong);
}

static void put_block_tracks(const struct block_record *b)
{
	if (!(b->debug_flags & SLAB_STORE_USER))
		return;
	report_style()->track("Allocated", "allocation", &b->track);
	report_style()->track("Freed", "free", &b->freed);
}

static void put_block_trailer(const struct block_record *b, const void *wrong, const char *note)
{
	const char *base = (const char *)b->base;

	put_note(note);
	put_block_tracks(b);
	report_text_print("Pages 0x%lx-0x%lx size=%lu\n", (unsigned long)base,
			  (unsigned long)(base + b->bytes - 1), (unsigned long)b->size);
	report_style()->object(base, (const char *)b->address, NULL);
	put_block_sections(b, wrong);
	report_style()->stack();
	report_taint();
}

/* Whole pages have a name as caches have. */
struct engine *report_blocks(void)
{
	static struct engine named;

	named.name = blocks_name; /* the same from each thread */
	return &named;
}

void report_block(const struct block_record *b, enum report_kind kind)
{
	put_banner(report_blocks(), kind);
	put_block_trailer(b, NULL, NULL);
}

void report_block_bytes(const struct block_record *b, enum report_area area, const void *first,
			const void *last, unsigned char expected)
{
	put_banner(report_blocks(), REPORT_OVERWRITTEN, area_name(area));
	report_style()->wrong((const char *)b->base, first, last, expected);
	put_block_trailer(b, first, NULL);
	report_fix_bytes(report_blocks(), area, first, last, expected);
}

void report_block_pointer(const struct block_record *b, const void *p)
{
	char note[REPORT_LINE_MAX];

	os_format(note, sizeof(note),
		  "uslab: 0x%lx lies inside of a block of %lu bytes, not at its start",
		  (unsigned long)p, (unsigned long)b->size);
	put_banner(report_blocks(), REPORT_INVALID_POINTER, (unsigned long)p);
	put_block_trailer(b, NULL, note);
}

/* ---- what is no mistake of an object ---- */

void report_trace(struct engine *e, struct page *slab, void *obj, bool alloc)
{
	size_t size = slab->layout->object_size;

	report_text_open();
	report_text_print("TRACE %s %s 0x%lx inuse=%u fp=0x%lx\n", cache_name(e),
			  alloc ? "alloc" : "free", (unsigned long)obj,
			  (unsigned int)report_slab_counters(slab).inuse,
			  (unsigned long)slab->freelist);
	if (!alloc && size > PAGE_SIZE)
		put_long_section("Object", 7, obj, size, NULL);
	else if (!alloc)
		report_style()->dump("Object", 7, obj, size);
	report_style()->stack();
}

void report_leak_begin(struct engine *e, struct page *slab)
{
	put_banner(e, REPORT_REMAINING, cache_name(e));
	put_slab_body(slab, NULL, NULL);
}

void report_leak_object(struct engine *e, struct page *slab, void *obj)
{
	(void)e;
	report_style()->leak(slab, obj);
	put_tracks(slab, obj);
}

void report_leak_end(struct engine *e, const void *caller)
{
	report_error_begin(cache_name(e), REPORT_LEAKED);
	report_style()->leaked(cache_name(e), caller);
	report_taint();
}
