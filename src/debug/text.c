/* SPDX-License-Identifier: MIT */
/*
 * debug/text.c - the text of a report, line by line into one buffer
 *
 * Data:       the buffer, its lock, and whose it is.
 * Invariants: len < TEXT_MAX and buf[len] is NUL while the text is open. cut: the buffer is full, its last
 *             line says so, and nothing more is taken.
 * Locks:      text.lock (RANK_REPORT) is held while owner is not 0; owner is read without it.
 * Flow:       called by report.c and kfence_report.c; calls os/die.h, os/symbol.h, stacks.h.
 */
#include <stdarg.h>
#include <string.h>

#include "base/assert.h"
#include "base/atomic.h"
#include "debug/stacks.h"
#include "debug/text.h"
#include "os/die.h"
#include "os/lock.h"
#include "os/process.h"
#include "os/symbol.h"

#define SYMBOL_MAX 256 /* bytes with the NUL; a longer name is cut */

static const char cut_line[] = "[the report is longer than 64 KiB: the rest is left out]\n";

#define ROOM (TEXT_MAX - sizeof(cut_line)) /* the last line always fits */

static struct {
	struct lock lock;
	unsigned int owner; /* number of the thread; 0: not open. Atomic */
	bool cut;
	size_t len;
} text = { .lock = LOCK_INIT(RANK_REPORT) };

static char buf[TEXT_MAX]; /* apart: all zero, it takes no page of the file nor of memory */

bool text_is_open(void)
{
	unsigned int owner = load_relaxed(&text.owner);

	/* Only this thread writes its own number: if it is there it stays there. */
	return owner && owner == os_thread_id();
}

void text_open(void)
{
	if (text_is_open())
		return;
	lock_acquire(&text.lock);
	text.len = 0;
	buf[0] = '\0';
	text.cut = false;
	store_relaxed(&text.owner, os_thread_id());
}

void text_close(void)
{
	ASSERT(text_is_open());
	store_relaxed(&text.owner, 0);
	lock_release(&text.lock);
}

void text_fork_child(void)
{
	store_relaxed(&text.owner, 0);
	lock_fork_child(&text.lock);
}

/* Ends the text behind its last whole line. */
static cold void cut_short(void)
{
	const char *newline = memrchr(buf, '\n', text.len);

	text.len = newline ? (size_t)(newline + 1 - buf) : 0;
	memcpy(buf + text.len, cut_line, sizeof(cut_line));
	text.len += sizeof(cut_line) - 1;
	text.cut = true;
}

void text_print(const char *fmt, ...)
{
	va_list args;
	size_t len;

	ASSERT(text_is_open());
	if (text.cut)
		return;
	va_start(args, fmt);
	len = os_format_list(buf + text.len, ROOM - text.len, fmt, args);
	va_end(args);
	if (unlikely(len >= ROOM - text.len))
		cut_short();
	else
		text.len += len;
}

void text_symbol(uintptr_t address)
{
	char name[SYMBOL_MAX];

	os_symbol_text(name, sizeof(name), address);
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

const char *text_get(size_t *len)
{
	ASSERT(text_is_open());
	*len = text.len;
	return buf;
}
