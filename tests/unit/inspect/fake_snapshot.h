/* SPDX-License-Identifier: MIT */
/*
 * unit/inspect/fake_snapshot.h - a made-up process for each test, and the snapshot taken of it
 */
#ifndef UNIT_INSPECT_FAKE_SNAPSHOT_H
#define UNIT_INSPECT_FAKE_SNAPSHOT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

#include "fake_process.h"

static struct snapshot *s;
static struct fake_process f;

static inline int fake_setup(void **state)
{
	(void)state;
	fake_init(&f);
	s = calloc(1, sizeof(*s));
	if (!s)
		abort();
	return 0;
}

static inline int fake_teardown(void **state)
{
	(void)state;
	fake_exit(&f);
	free(s);
	return 0;
}

static inline void fake_take(void)
{
	assert_int_equal(snapshot_take(s, &f.reader, FAKE_ROOT), 0);
}

/* A test whose process has no caches yet. */
#define FAKE_TEST(name) cmocka_unit_test_setup_teardown(name, fake_setup, fake_teardown)

#endif /* UNIT_INSPECT_FAKE_SNAPSHOT_H */
