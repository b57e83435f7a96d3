/* SPDX-License-Identifier: MIT */
/*
 * debug/report/report_text.c - the text of a report, line by line into one buffer
 *
 * Data:       the text as it is collected, without the names of functions; where these belong, and
 *             where reports begin; the text with them; how many reports it lost; the lock.
 * Invariants: the collected text is only appended to. Each of the two texts is shorter than
 *             REPORT_TEXT_MAX; whole ends with NUL; cut: it is full, ends with its last whole
 *             line, and takes no more but the line that says so (ended).
 * Locks:      text.lock (RANK_REPORT), taken outside of the lock order (os/lock/lock.h), held as
 *             long as the text is open.
 * Flow:       see report_text.h; calls os/process/say.h, symbol_names.h, stacks.h.
 *
 * To look up a name takes a fraction of a millisecond in a large program. Reports are
 * collected under locks that others wait for, so names are put in by report_text_get(), when
 * these have been released.
 */
#include <stdarg.h>
#include <string.h>

#include "base/assert.h"
#include "base/atomic.h"
#include "base/bits.h"
#include "debug/report/symbol_names.h"
#include "debug/stacks.h"
#include "debug/report/report_text.h"
#include "os/process/die.h"
#include "os/lock/lock.h"

#define LAST_LINE_MAX 96
#define SPACE (REPORT_TEXT_MAX - LAST_LINE_MAX) /* the last line always fits */
#define NAMES_MAX 2048				/* any more are looked up at once */
#define BANNER_MAX 384
#define BEGINS_MAX 512 /* reports: with more it counts as full */

/* An address whose name belongs at an offset of the collected text, or a report's begin there. */
struct name {
	uint32_t at;
	bool begins;
	uintptr_t address;
};

struct part {
	size_t len;
	bool cut;
};

static struct {
	struct lock lock;
	struct part collected;
	unsigned int nr_names;
	struct part whole; /* the collected text up to taken, with names */
	size_t taken;
	unsigned int nr_names_taken;
	size_t begun;	   /* where the last report of whole begins */
	unsigned int lost; /* reports that begin behind a cut */
	bool ended;
} text = { .lock = LOCK_INIT(RANK_REPORT) };

/* Not in the struct above: all zero, these lie in .bss. */
static char buf[REPORT_TEXT_MAX];
static char headed[REPORT_TEXT_HEAD_MAX + REPORT_TEXT_MAX];
#define WHOLE (headed + REPORT_TEXT_HEAD_MAX)
static struct name names[NAMES_MAX + BEGINS_MAX];

bool report_text_is_open(void)
{
	return lock_holds_apart(&text.lock);
}

bool report_text_is_busy(void)
{
	return load_relaxed(&text.lock.word);
}

void report_text_open(void)
{
	if (report_text_is_open())
		return;
	lock_acquire_apart(&text.lock);
	text.collected = text.whole = (struct part){ 0, false };
	text.nr_names = text.nr_names_taken = text.lost = 0;
	text.taken = text.begun = 0;
	text.ended = false;
}

void report_text_close(void)
{
	ASSERT(report_text_is_open());
	lock_release_apart(&text.lock);
}

void report_text_reset(void)
{
	lock_fork_child(&text.lock);
}

/* Ends a text behind its last whole line. */
static cold void cut_short(struct part *part, const char *bytes)
{
	const char *newline = memrchr(bytes, '\n', part->len);

	part->len = newline ? (size_t)(newline + 1 - bytes) : 0;
	part->cut = true;
}

/* A report that has less space than its banner may take is left out as a whole. false: it stays. */
static bool drop_begun(struct part *part, size_t begin)
{
	if (!begin || part->len - begin >= BANNER_MAX)
		return false;
	part->len = begin;
	return true;
}

static size_t last_begin(void)
{
	for (unsigned int i = text.nr_names; i-- > 0;)
		if (names[i].begins)
			return names[i].at;
	return 0;
}

static cold void cut_collected(void)
{
	cut_short(&text.collected, buf);
	drop_begun(&text.collected, last_begin());
	for (; text.nr_names && names[text.nr_names - 1].at >= text.collected.len; text.nr_names--)
		text.lost += names[text.nr_names - 1].begins;
}

void report_text_print(const char *fmt, ...)
{
	struct part *part = &text.collected;
	va_list args;
	size_t len;

	ASSERT(report_text_is_open());
	if (part->cut)
		return;
	va_start(args, fmt);
	len = os_format_list(buf + part->len, SPACE - part->len, fmt, args);
	va_end(args);
	if (likely(len < SPACE - part->len)) {
		part->len += len;
		return;
	}
	cut_collected();
}

void report_text_begin(void)
{
	ASSERT(report_text_is_open());
	if (unlikely(!text.collected.cut && text.nr_names == ARRAY_SIZE(names)))
		cut_collected();
	if (text.collected.cut)
		text.lost++;
	else
		names[text.nr_names++] =
			(struct name){ .at = (uint32_t)text.collected.len, .begins = true };
}

unsigned int report_text_lost(void)
{
	return text.lost;
}

void report_text_symbol(uintptr_t address)
{
	char name[NAME_MAX_BYTES];

	ASSERT(report_text_is_open());
	if (likely(text.nr_names < NAMES_MAX)) {
		if (!text.collected.cut)
			names[text.nr_names++] = (struct name){ .at = (uint32_t)text.collected.len,
								.address = address };
		return;
	}
	symbol_names_text(name, address);
	report_text_print("%s", name);
}

static void put_frame(const char *prefix, uintptr_t pc)
{
	report_text_print("%s", prefix);
	report_text_symbol(pc);
	report_text_print("\n");
}

void report_text_frames(const char *prefix, const uintptr_t *pcs, unsigned int nr)
{
	for (unsigned int i = 0; i < nr; i++)
		put_frame(prefix, pcs[i]);
}

unsigned int report_text_stack(const char *prefix, uint32_t handle)
{
	const uint64_t *pcs;
	unsigned int nr = stacks_fetch(handle, &pcs);

	for (unsigned int i = 0; i < nr; i++)
		put_frame(prefix, (uintptr_t)pcs[i]);
	return nr;
}

/* ---- the whole text ---- */

static void put_whole(const char *from, size_t len)
{
	struct part *part = &text.whole;
	size_t fits = MIN(len, SPACE - 1 - part->len);

	if (part->cut)
		return;
	memcpy(WHOLE + part->len, from, fits);
	part->len += fits;
	if (likely(fits == len))
		return;
	cut_short(part, WHOLE);
	text.lost += drop_begun(part, text.begun);
}

/* What was collected up to here. */
static void take_up_to(size_t at)
{
	put_whole(buf + text.taken, at - text.taken);
	text.taken = at;
}

static void take_name(const struct name *at)
{
	char name[NAME_MAX_BYTES];

	take_up_to(at->at);
	if (text.whole.cut)
		text.lost += at->begins;
	else if (at->begins)
		text.begun = text.whole.len;
	if (text.whole.cut || at->begins)
		return;
	symbol_names_text(name, at->address);
	put_whole(name, strlen(name));
}

/* Once: who asks again, for what came behind, finds the same line. */
static cold void end_whole(void)
{
	static const char words[] = "[the report is longer than 64 KiB: the rest";
	char *to = WHOLE + text.whole.len;

	text.whole.cut = text.ended = true;
	if (text.lost)
		text.whole.len += os_format(to, LAST_LINE_MAX,
					    "%s and %u more report%s are left out]\n", words,
					    text.lost, text.lost == 1 ? "" : "s");
	else
		text.whole.len += os_format(to, LAST_LINE_MAX, "%s is left out]\n", words);
}

const char *report_text_get(size_t *len)
{
	ASSERT(report_text_is_open());
	while (text.nr_names_taken < text.nr_names)
		take_name(&names[text.nr_names_taken++]);
	take_up_to(text.collected.len);
	if (unlikely((text.whole.cut || text.collected.cut) && !text.ended))
		end_whole();
	*len = text.whole.len;
	WHOLE[*len] = '\0';
	return WHOLE;
}

const char *report_text_get_behind(const char *head, size_t *len)
{
	size_t before = strlen(head);
	char *start = WHOLE - before;

	ASSERT(before < REPORT_TEXT_HEAD_MAX);
	report_text_get(len);
	memcpy(start, head, before);
	*len += before;
	return start;
}
