/* SPDX-License-Identifier: MIT */
/*
 * unit/debug/report_fixture.h - a made-up slab to report on, and the text that comes out
 *
 * The slab is that of spec 7.5: kmalloc-64 with F, Z, P and U, 16 objects of stride 256; object 10
 * is at offset 2624. Its memory stands in for the arena.
 */
#ifndef UNIT_DEBUG_REPORT_FIXTURE_H
#define UNIT_DEBUG_REPORT_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "debug/report/report_style.h"
#include "debug/stacks.h"
#include "os/time/clock.h"

#define NODE 3
#define OFFSET 2624
#define LEFT_PAD 64
#define STRIDE 256
#define INUSE 72
#define NOWHERE 0x1234 /* a code address without a symbol */

static char memory[2 * PAGE_SIZE] __attribute__((aligned(PAGE_SIZE)));
static struct page pages[2];
static struct slab_layout layout;
static struct engine engine;
static union {
	struct debug debug;
	char space[sizeof(struct debug) + sizeof(void *)];
} state;
static struct page *slab;
static char *obj;

static char text[REPORT_TEXT_MAX + 1]; /* of the last report, without the frames of its stacks */
static char cache[64];
static unsigned int calls;

/*
 * Frames follow "Call Trace:", each behind a blank; so may a dump. They are
 * the test's own, and differ.
 */
static void without_frames(char *to, const char *from)
{
	bool in_stack = false;

	while (*from) {
		size_t len = strcspn(from, "\n") + 1;

		in_stack = in_stack && *from == ' ' && strncmp(from, " Padding", 8);
		if (!in_stack) {
			memcpy(to, from, len);
			to += len;
			in_stack = !strncmp(from, "Call Trace:", 11);
		}
		from += len;
	}
	*to = '\0';
}

static void hook(const char *name, const char *report, void *arg)
{
	assert_ptr_equal(arg, text);
	snprintf(cache, sizeof(cache), "%s", name);
	without_frames(text, report);
	calls++;
}

static struct track *track(enum track_item item)
{
	return debug_track(&layout, obj, item);
}

/* Bytes as a debug slab has them: the object allocated at the address NOWHERE. */
static void fill_slab(void)
{
	char *left = obj - LEFT_PAD;

	memset(memory, 0x5a, sizeof(memory));
	memset(left, 0xcc, LEFT_PAD);
	memset(obj, 0x6b, 63);
	memset(obj + 63, 0xa5, 1);
	memset(obj + 64, 0xcc, 8);
	*(void **)(obj + INUSE) = obj + STRIDE;
	memset(track(TRACK_ALLOC), 0, 2 * sizeof(struct track));
	*track(TRACK_ALLOC) = (struct track){
		.addr = NOWHERE, .cpu = 1, .pid = 142, .when = os_clock_ms() + 1000000
	};
	*debug_orig_size(&layout, obj) = 64;
}

static int make_slab(void **unused)
{
	struct slab_counters counters = { .objects = 16, .inuse = 3 };

	(void)unused;
	page_map.base = memory;
	page_map.pages = pages;
	layout = (struct slab_layout){ .stride = STRIDE,
				       .magic = SLAB_MAGIC(STRIDE),
				       .object_size = 64,
				       .inuse = INUSE,
				       .offset = INUSE,
				       .red_left_pad = LEFT_PAD,
				       .kind = LAYOUT_DEBUG,
				       .debug = SLAB_RED_ZONE | SLAB_POISON | SLAB_STORE_USER };
	state.debug = (struct debug){ .engine = &engine, .orig_size = true };
	engine = (struct engine){ .name = "kmalloc-64", .debug = &state.debug };
	slab = &pages[1];
	*slab = (struct page){
		.engine = &engine, .layout = &layout, .type = PAGE_SLAB, .node = NODE, .nr_pages = 1
	};
	obj = memory + PAGE_SIZE + OFFSET;
	slab->freelist = obj + STRIDE;
	memcpy(&slab->counters, &counters, sizeof(counters));
	fill_slab();
	report_set_hook(hook, text, true);
	report_set_format("modern");
	text[0] = '\0';
	calls = 0;
	return 0;
}

/* The expected text, put together line by line. */
static char expected[REPORT_TEXT_MAX + 1];

static inline void begin(void)
{
	expected[0] = '\0';
}

__attribute__((format(printf, 1, 2))) static inline void expect(const char *fmt, ...)
{
	size_t len = strlen(expected);
	va_list args;

	va_start(args, fmt);
	vsnprintf(expected + len, sizeof(expected) - len, fmt, args);
	va_end(args);
}

/* n lines of 16 equal bytes, as the modern format writes them. */
static inline void expect_dump(const char *label, const char *start, unsigned int lines,
			       const char *byte, char letter)
{
	for (unsigned int i = 0; i < lines; i++) {
		expect("%s%lx: ", label, (unsigned long)start + 16ul * i);
		for (unsigned int b = 0; b < 16; b++)
			expect("%s ", byte);
		expect(" ");
		for (unsigned int b = 0; b < 16; b++)
			expect("%c", letter);
		expect("\n");
	}
}

/* What was reported since the last time is exactly what was expected. */
static inline void check_text(void)
{
	report_deliver();
	assert_string_equal(text, expected);
}

#endif /* UNIT_DEBUG_REPORT_FIXTURE_H */
