/* SPDX-License-Identifier: MIT */
/*
 * debug/report/report_text.c - the text of a report, line by line into one buffer
 *
 * Data:       the text as it is collected, without the names of functions; where these belong; the
 *             text with them; the lock.
 * Invariants: nothing of the collected text changes. Each of the two texts is shorter than
 *             TEXT_MAX; whole ends with NUL; cut: it is full, ends with its last whole
 *             line, and takes no more.
 * Locks:      text.lock (RANK_REPORT), taken apart from the order (os/lock/lock.h),
 *             by whom the text is open.
 * Flow:       see text.h; calls os/process/say.h, names.h, stacks.h.
 *
 * To look up a name takes a fraction of a millisecond in a large program. Reports are
 * collected under locks that others wait for, so names are put in by text_get(), when
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

static const char cut_line[] = "[the report is longer than 64 KiB: the rest is left out]\n";

#define ROOM (TEXT_MAX - sizeof(cut_line)) /* the last line always fits */
#define NAMES_MAX 2048			   /* any more are looked up at once */

/* An address whose name belongs at an offset of the collected text. */
struct name {
	size_t at;
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
} text = { .lock = LOCK_INIT(RANK_REPORT) };

/* Apart: all zero, they take no page of the file nor of memory. */
static char buf[TEXT_MAX];
static char headed[TEXT_HEAD_MAX + TEXT_MAX];
#define WHOLE (headed + TEXT_HEAD_MAX)
static struct name names[NAMES_MAX];

bool text_is_open(void)
{
	return lock_holds_apart(&text.lock);
}

bool text_is_busy(void)
{
	return load_relaxed(&text.lock.word);
}

void text_open(void)
{
	if (text_is_open())
		return;
	lock_acquire_apart(&text.lock);
	text.collected = text.whole = (struct part){ 0, false };
	text.nr_names = text.nr_names_taken = 0;
	text.taken = 0;
}

void text_close(void)
{
	ASSERT(text_is_open());
	lock_release_apart(&text.lock);
}

void text_fork_child(void)
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

void text_print(const char *fmt, ...)
{
	struct part *part = &text.collected;
	va_list args;
	size_t len;

	ASSERT(text_is_open());
	if (part->cut)
		return;
	va_start(args, fmt);
	len = os_format_list(buf + part->len, ROOM - part->len, fmt, args);
	va_end(args);
	if (likely(len < ROOM - part->len)) {
		part->len += len;
		return;
	}
	cut_short(part, buf);
	while (text.nr_names && names[text.nr_names - 1].at >= part->len)
		text.nr_names--;
}

void text_symbol(uintptr_t address)
{
	char name[NAME_MAX_BYTES];

	ASSERT(text_is_open());
	if (likely(text.nr_names < NAMES_MAX)) {
		if (!text.collected.cut)
			names[text.nr_names++] = (struct name){ text.collected.len, address };
		return;
	}
	names_text(name, address);
	text_print("%s", name);
}

static void put_frame(const char *prefix, uintptr_t pc)
{
	text_print("%s", prefix);
	text_symbol(pc);
	text_print("\n");
}

void text_frames(const char *prefix, const uintptr_t *pcs, unsigned int nr)
{
	for (unsigned int i = 0; i < nr; i++)
		put_frame(prefix, pcs[i]);
}

unsigned int text_stack(const char *prefix, uint32_t handle)
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
	size_t fits = MIN(len, ROOM - 1 - part->len);

	if (part->cut)
		return;
	memcpy(WHOLE + part->len, from, fits);
	part->len += fits;
	if (unlikely(fits < len))
		cut_short(part, WHOLE);
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
		return;
	names_text(name, at->address);
	put_whole(name, strlen(name));
}

const char *text_get(size_t *len)
{
	ASSERT(text_is_open());
	while (text.nr_names_taken < text.nr_names)
		take_name(&names[text.nr_names_taken++]);
	take_up_to(text.collected.len);
	*len = text.whole.len;
	WHOLE[*len] = '\0';
	if (unlikely(text.whole.cut || text.collected.cut)) {
		memcpy(WHOLE + *len, cut_line, sizeof(cut_line));
		*len += sizeof(cut_line) - 1;
	}
	return WHOLE;
}

const char *text_get_behind(const char *head, size_t *len)
{
	size_t before = strlen(head);
	char *start = WHOLE - before;

	ASSERT(before < TEXT_HEAD_MAX);
	text_get(len);
	memcpy(start, head, before);
	*len += before;
	return start;
}
