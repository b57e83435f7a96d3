/* SPDX-License-Identifier: MIT */
/*
 * unit/os/unwind/unwind_table_test.c - entries of .eh_frame by address
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "os/unwind/unwind_table.h"
#include "objects.h"

static void test_no_object(void **state)
{
	struct unwind_entry entry;
	char *block = malloc(10);

	(void)state;
	assert_int_equal(unwind_table_find(0, NULL, &entry), -ESRCH);
	assert_int_equal(unwind_table_find((uintptr_t)block, NULL, &entry), -ESRCH);
	assert_int_equal(unwind_table_find(UINTPTR_MAX, NULL, &entry), -ESRCH);
	free(block);
}

#if defined(__x86_64__)
__asm__(".text\n"
	"table_before: .skip 64, 0x90\n" /* no entry */
	".type table_function, @function\ntable_function:\n.cfi_startproc\n"
	".skip 100, 0x90\n"
	"table_end:\n.cfi_endproc\n"
	".skip 64, 0x90\n"
	".type table_signal, @function\ntable_signal:\n.cfi_startproc\n.cfi_signal_frame\n"
	"nop\n.cfi_endproc\n");
extern const char table_before[], table_function[], table_end[], table_signal[];

static int find(uintptr_t address, struct unwind_entry *entry)
{
	return unwind_table_find(address, NULL, entry);
}

static void test_bounds_of_function(void **state)
{
	struct unwind_entry entry;

	(void)state;
	NEEDS_OBJECTS();
	assert_int_equal(find((uintptr_t)table_function, &entry), 0);
	assert_ptr_equal((void *)entry.function, table_function);
	assert_int_equal(entry.cie.data_align, -8);
	assert_int_equal(entry.cie.code_align, 1);
	assert_false(entry.cie.is_signal);
	assert_int_equal(find((uintptr_t)table_end - 1, &entry), 0);
	assert_ptr_equal((void *)entry.function, table_function);
	assert_int_equal(find((uintptr_t)table_function - 1, &entry), -ENOENT);
	assert_int_equal(find((uintptr_t)table_before, &entry), -ENOENT);
	assert_int_equal(find((uintptr_t)table_end, &entry), -ENOENT);
	assert_int_equal(find((uintptr_t)table_signal, &entry), 0);
	assert_true(entry.cie.is_signal);
}

/* The instructions of an entry: of the CIE, def_cfa rsp + 8 and rip at CFA - 8. */
static void test_instructions(void **state)
{
	static const uint8_t expected[] = { 0x0c, 7, 8, 0x90, 1 };
	struct unwind_entry entry;

	(void)state;
	NEEDS_OBJECTS();
	assert_int_equal(find((uintptr_t)table_function, &entry), 0);
	assert_true(entry.cie.instructions.end - entry.cie.instructions.at >= 5);
	assert_memory_equal(entry.cie.instructions.at, expected, sizeof(expected));
	for (; entry.instructions.at < entry.instructions.end; entry.instructions.at++)
		assert_int_equal(*entry.instructions.at, 0); /* nothing but DW_CFA_nop */
}

static void test_libraries(void **state)
{
	struct unwind_entry entry;

	(void)state;
	NEEDS_OBJECTS();
	assert_int_equal(find((uintptr_t)qsort, &entry), 0);
	assert_int_equal(find((uintptr_t)_cmocka_run_group_tests + 8, &entry), 0);
	assert_true(entry.function <= (uintptr_t)_cmocka_run_group_tests + 8);
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_object),
#if defined(__x86_64__)
		cmocka_unit_test(test_bounds_of_function),
		cmocka_unit_test(test_instructions),
		cmocka_unit_test(test_libraries),
#endif
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
