/* SPDX-License-Identifier: MIT */
/*
 * unit/tools/trace_fixture.h - the operations of one trace for each test
 */
#ifndef UNIT_TOOLS_TRACE_FIXTURE_H
#define UNIT_TOOLS_TRACE_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "trace/trace_ops.h"

static struct trace_ops t;

static inline int setup(void **state)
{
	(void)state;
	return trace_ops_init(&t);
}

static inline int teardown(void **state)
{
	(void)state;
	trace_ops_destroy(&t);
	return 0;
}

#endif /* UNIT_TOOLS_TRACE_FIXTURE_H */
