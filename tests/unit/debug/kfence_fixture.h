/* SPDX-License-Identifier: MIT */
/*
 * unit/debug/kfence_fixture.h - a pool of its own for each test, a made-up
 * engine, and the last report
 *
 * Each test is a child: it may fault, and the pool never goes away. Under valgrind accesses that
 * fault are errors of the test; those tests are left out there.
 */
#ifndef UNIT_DEBUG_KFENCE_FIXTURE_H
#define UNIT_DEBUG_KFENCE_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/atomic.h"
#include "base/bits.h"
#include "debug/kfence/kfence.h"
#include "debug/kfence/kfence_pool.h"
#include "debug/report/report.h"
#include "os/cpu/cpu.h"
#include "page/arena.h"
#include "page/buddy.h"
#include "support/bare.h"
#include "support/child.h"

#define HERE __builtin_return_address(0)

static struct engine engine = { .name = "victims", .size = 64, .object_size = 64, .align = 8 };

static char report[65536]; /* the last one */
static char report_cache[64];
static volatile unsigned int reports;

static void hear(const char *cache, const char *text, void *arg)
{
	(void)arg;
	snprintf(report_cache, sizeof(report_cache), "%s", cache);
	snprintf(report, sizeof(report), "%s", text);
	reports++;
}

/* Every allocation that comes by is guarded. */
static inline void start(unsigned int nr_objects)
{
	char text[16];

	os_cpu_init();
	CHILD_CHECK(arena_init(os_topology.nr_cpu_ids) == 0);
	buddy_init(1);
	snprintf(text, sizeof(text), "%u", nr_objects);
	CHILD_CHECK(kfence_set_option("objects", text) && kfence_set_option("sample", "1"));
	CHILD_CHECK(!kfence_is_on() && kfence_start() == 0 && kfence_is_on());
	report_set_hook(hear, NULL, true);
}

static inline char *take(size_t size)
{
	char *p = kfence_alloc(&engine, size, 0, HERE, 1);

	CHILD_CHECK(p);
	return p;
}

/* One whose first (or last) byte is beside a guard page. */
static inline char *take_at(size_t size, bool right)
{
	for (;;) {
		char *p = take(size);

		if (right == (((uintptr_t)p & (PAGE_SIZE - 1)) != 0))
			return p;
		kfence_free(p, HERE);
	}
}

static inline unsigned int number_of(const void *p)
{
	return kfence_number(kfence_object_at(kfence_page_index(p)));
}

/* Is the text in the last report, which is the only one? Formats %lx of an address and %u. */
__attribute__((format(printf, 1, 2))) static inline bool said(const char *fmt, ...)
{
	char text[256];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	return strstr(report, text);
}

/* What touches closed pages. */
#define FAULTS(name)                               \
	static void name##_body(void *arg);        \
	static void name(void **state)             \
	{                                          \
		struct child c;                    \
                                                   \
		(void)state;                       \
		if (getenv("USLAB_TEST_VALGRIND")) \
			skip();                    \
		c = child_run(name##_body, NULL);  \
		assert_true(child_passed(&c));     \
	}                                          \
	static void name##_body(__attribute__((unused)) void *arg)

#endif /* UNIT_DEBUG_KFENCE_FIXTURE_H */
