/* SPDX-License-Identifier: MIT */
/*
 * unit/tools/trace/trace_stride_test.c - what made the kernel's strides larger than its objects
 */
#include "trace/trace_stride.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static void is(uint32_t size, uint32_t stride, unsigned int align, bool outside, bool unknown)
{
	struct trace_stride got = trace_stride_of(size, stride);

	assert_int_equal(got.align, align);
	assert_int_equal(got.outside, outside);
	assert_int_equal(got.unknown, unknown);
}

/* Words alone, of the kernel's or of one with smaller ones, or nothing said. */
static void nothing_to_explain(void **state)
{
	(void)state;
	is(192, 192, 0, false, false);
	is(36, 40, 0, false, false);
	is(62, 62, 0, false, false);
	is(100, 0, 0, false, false);
	is(256, 64, 0, false, false);
}

/* Caches of Linux 6.18: skbuff_head_cache, filp, mm_struct, task_struct; small ones share lines. */
static void alignments(void **state)
{
	(void)state;
	is(224, 256, 64, false, false);
	is(184, 192, 64, false, false);
	is(1568, 1600, 64, false, false);
	is(5840, 5888, 64, false, false);
	is(20, 32, 32, false, false);
	is(24, 32, 32, false, false);
	is(10, 16, 0, false, false);
	/* no free pointer does it */
	is(72, 96, 32, false, false);
}

/* anon_vma, radix_tree_node, ext4_inode_cache; sock_inode_cache has lines, too. */
static void free_pointers(void **state)
{
	(void)state;
	is(96, 104, 0, true, false);
	is(576, 584, 0, true, false);
	is(1120, 1128, 0, true, false);
	is(768, 832, 64, true, false);
	is(40, 48, 0, true, false);
	is(61, 72, 0, true, false);
}

/* Red zones and tracks; sizes that no cache has. */
static void unknown(void **state)
{
	(void)state;
	is(64, 256, 0, false, true);
	is(192, 400, 0, false, true);
	is(100, UINT32_MAX, 0, false, true);
	is(UINT32_MAX, UINT32_MAX, 0, false, false);
	is((4u << 20) - 8, 4u << 20, 64, false, false);
	is(4u << 20, (4u << 20) + 8, 0, false, true);
	is(0, 8, 0, true, false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_to_explain),
		cmocka_unit_test(alignments),
		cmocka_unit_test(free_pointers),
		cmocka_unit_test(unknown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
