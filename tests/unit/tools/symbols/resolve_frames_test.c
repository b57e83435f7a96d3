/* SPDX-License-Identifier: MIT */
/*
 * unit/tools/symbols/resolve_frames_test.c - inlined functions of this program
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>

#include "symbols/resolve.h"
#include "symbols/resolve_frames.h"

static unsigned int inner_line, outer_line;

__attribute__((noinline)) static uint64_t here(void)
{
	return (uintptr_t)__builtin_return_address(0);
}

__attribute__((always_inline)) static inline uint64_t inner(void)
{
	uint64_t address = here();

	inner_line = __LINE__ - 2;
	return address + (inner_line == 0); /* here() is no tail call */
}

__attribute__((always_inline)) static inline uint64_t outer(void)
{
	uint64_t address = inner();

	outer_line = __LINE__ - 2;
	return address;
}

static void test_inlined(void **state)
{
	struct resolve *r = resolve_process(getpid());
	uint64_t address = outer();
	unsigned int line = __LINE__ - 1;
	const struct resolve_name *name = resolve_address(r, address);
	char text[64];

	(void)state;
	if (!name->line)
		skip(); /* no debug information */
	assert_int_equal(name->nr_frames, 3);
	assert_string_equal(name->frame[0].function, "inner");
	assert_int_equal(name->frame[0].line, inner_line);
	assert_string_equal(name->frame[1].function, "outer");
	assert_int_equal(name->frame[1].line, outer_line);
	assert_string_equal(name->frame[2].function, "test_inlined");
	assert_int_equal(name->frame[2].line, line);
	assert_int_equal(name->site, 0);
	assert_string_equal(name->function, "inner");
	assert_int_equal(name->line, inner_line);
	assert_string_not_equal(resolve_frame_line(&name->frame[2], text, sizeof(text)), "");
	assert_memory_equal(name->text, "test_inlined+0x", 15);
	resolve_close(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_inlined),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
