/* SPDX-License-Identifier: MIT */
/*
 * unit/malloc/debug_test.c - the drop-in's blocks in debug slabs: sizes, resizing,
 * mistakes; and the mailbox's kick
 *
 * ctest: sanitize=no (the sanitizers bring a malloc of their own)
 */
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "bytes.h"
#include "cache/control/control.h"
#include "child.h"
#include "debug/debug.h"
#include "debug/report/report.h"
#include "malloc/internal.h"
#include "page/page.h"
#include "replaced.h"
#include "inspect/root.h"

static void *(*volatile alloc)(size_t) = malloc;
static void *(*volatile zalloc)(size_t, size_t) = calloc;
static void *(*volatile resize)(void *, size_t) = realloc;
static void *(*volatile alloc_aligned)(size_t, size_t) = aligned_alloc;
static size_t (*volatile usable)(void *) = malloc_usable_size;
static void (*volatile give)(void *) = free;

static bool is_debug(const void *p)
{
	return debug_is_slab(page_head_of(p));
}

static void switch_all(const char *debug_flags)
{
	if (control_prepare)
		control_prepare(); /* as a command does */
	CHILD_CHECK(cache_set_debug_pattern("malloc-*", debug_flags) == (int)MALLOC_CLASSES);
}

static void run(void (*body)(void))
{
	switch_all("FZPU");
	body();
	CHILD_CHECK(cache_set_debug_pattern("malloc-*", "-") > 0);
	malloc_check();
	cache_check_all();
}

static void in_child(void *body)
{
	void (*function)(void);

	memcpy(&function, &body, sizeof(function));
	run(function);
}

#define IN_DEBUG(name)                                \
	static void name##_body(void);                \
	static void name(void **state)                \
	{                                             \
		void (*function)(void) = name##_body; \
		void *arg;                            \
		struct child c;                       \
                                                      \
		(void)state;                          \
		memcpy(&arg, &function, sizeof(arg)); \
		c = child_run(in_child, arg);         \
		assert_true(child_passed(&c));        \
	}                                             \
	static void name##_body(void)

/* Exactly the bytes that were asked for, at every size and alignment. */
IN_DEBUG(test_sizes)
{
	for (size_t size = 0; size <= MALLOC_MAX_SMALL; size += 1 + size / 5) {
		unsigned char *p = alloc(size);

		CHILD_CHECK(is_debug(p) && (uintptr_t)p % MALLOC_ALIGN == 0);
		CHILD_CHECK(usable(p) == (size ? size : 1));
		CHILD_CHECK(usable(p + 16) == 0 || size == 0); /* starts none */
		memset(p, 0xab, size);
		give(p);
		p = zalloc(1, size);
		CHILD_CHECK(all_bytes(p, size, 0));
		memset(p, 0xab, size);
		give(p);
	}
	for (size_t align = 32; align <= PAGE_SIZE; align *= 2)
		for (size_t size = 1; size < 9000; size = size * 2 + 5) {
			unsigned char *p = alloc_aligned(align, size);

			CHILD_CHECK((uintptr_t)p % align == 0 && usable(p) == size);
			memset(p, 0xab, size);
			give(p);
		}
	CHILD_CHECK(report_counters.reports == 0);
}

/* In place while the class is right, to the byte; moved with its bytes otherwise. */
IN_DEBUG(test_resize)
{
	unsigned char *p = alloc(100);
	unsigned char *moved;

	memset(p, 7, 100);
	CHILD_CHECK(resize(p, 112) == p && usable(p) == 112); /* the class has 112 */
	memset(p, 7, 112);
	CHILD_CHECK(resize(p, 97) == p && usable(p) == 97);
	moved = resize(p, 40);
	CHILD_CHECK(moved != p && usable(moved) == 40 && all_bytes(moved, 40, 7));
	moved = resize(moved, 1000);
	CHILD_CHECK(usable(moved) == 1000 && all_bytes(moved, 40, 7));
	memset(moved, 8, 1000);
	moved = resize(moved, 100000); /* whole pages */
	CHILD_CHECK(!is_debug(moved) && all_bytes(moved, 1000, 8));
	moved = resize(moved, 500);
	CHILD_CHECK(is_debug(moved) && usable(moved) == 500 && all_bytes(moved, 500, 8));
	CHILD_CHECK(resize(moved, 0) == NULL);
	CHILD_CHECK(report_counters.reports == 0);
}

/* A byte behind what realloc() left of a block is nobody's. */
IN_DEBUG(test_behind)
{
	char *p = resize(alloc(112), 97);

	p[97] = 1;
	give(p);
	CHILD_CHECK(report_counters.reports == 1);
}

/* Reported, and the program goes on. */
IN_DEBUG(test_mistakes)
{
	char *p = alloc(200);
	char *other = alloc(200);

	give(p + 8);
	CHILD_CHECK(report_counters.reports == 1);
	give(p);
	give(p);
	CHILD_CHECK(report_counters.reports == 2);
	give(other);
	CHILD_CHECK(report_counters.reports == 2);
}

/* Blocks from before and from after are freed, resized and measured whenever. */
IN_DEBUG(test_switched)
{
	char *debugged[3];
	char *plain;

	for (unsigned int i = 0; i < 3; i++)
		memset(debugged[i] = alloc(60), (int)i, 60);
	switch_all("");
	plain = alloc(60);
	CHILD_CHECK(!is_debug(plain) && usable(plain) == 64);
	CHILD_CHECK(usable(debugged[0]) == 60 && resize(debugged[0], 50) == debugged[0]);
	CHILD_CHECK(usable(debugged[0]) == 50);
	debugged[1] = resize(debugged[1], 500);
	CHILD_CHECK(!is_debug(debugged[1]) && all_bytes((unsigned char *)debugged[1], 60, 1));
	switch_all("Z");
	for (unsigned int i = 0; i < 3; i++)
		give(debugged[i]);
	plain = resize(plain, 600);
	CHILD_CHECK(is_debug(plain));
	give(plain);
	CHILD_CHECK(report_counters.reports == 0);
}

static void inside(void *arg)
{
	char *p = alloc(100);

	(void)arg;
	switch_all("FZPU");
	p = resize(resize(p, 3000) /* a debug slab's */, 3000);
	CHILD_CHECK(!resize(p + 16, 10));
}

/* There is no block that could be resized: that is reported. */
static void test_resize_inside(void **state)
{
	struct child c = child_run(inside, NULL);

	(void)state;
	assert_true(child_passed(&c));
	assert_non_null(strstr(c.text, "realloc(): 0x"));
	assert_non_null(strstr(c.text, "inside of an object of malloc-"));
}

/* ---- the kick ---- */

IN_CHILD(test_kick)
{
	void *p;

	give(alloc(100));	    /* now it would hit */
	if (!malloc_hot.page_limit) /* no hit paths here */
		return;
	CHILD_CHECK(uslab_root.kick == (uintptr_t)&malloc_hot.size_limit);
	CHILD_CHECK(uslab_root.control == (uintptr_t)&control);
	control.command = CONTROL_NOTHING;
	control.state = CONTROL_PENDING;
	give(alloc(100));
	CHILD_CHECK(control.state == CONTROL_PENDING); /* hits do not look */
	malloc_hot.size_limit = 0;
	p = alloc(100);
	CHILD_CHECK(p && control.state == CONTROL_DONE);
	CHILD_CHECK(malloc_hot.size_limit == MALLOC_MAX_TABLE + 1);
	give(p);
	/* nothing was there: the limit comes back all the same */
	control.state = CONTROL_IDLE;
	malloc_hot.size_limit = 0;
	give(zalloc(10, 10));
	CHILD_CHECK(malloc_hot.size_limit == MALLOC_MAX_TABLE + 1);
	malloc_check();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sizes),	 cmocka_unit_test(test_resize),
		cmocka_unit_test(test_behind),	 cmocka_unit_test(test_mistakes),
		cmocka_unit_test(test_switched), cmocka_unit_test(test_resize_inside),
		cmocka_unit_test(test_kick),
	};

	if (malloc_is_replaced())
		return TEST_SKIPPED;
	malloc_start();
	return cmocka_run_group_tests_name("malloc/debug", tests, NULL, NULL);
}
