/* SPDX-License-Identifier: MIT */
/*
 * unit/os/unwind/unwind_cfi_test.c - rules, of functions whose tables were written for the test
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "arch/unwind.h"
#include "os/unwind/unwind_cfi.h"
#include "plug_in.h"
#include "objects.h"

#define assert_rule(at, ...) assert_rule_at((uintptr_t)(at), __VA_ARGS__)

static void assert_rule_at(uintptr_t at, enum unwind_kind kind, int offset, unsigned int fp_slot)
{
	struct unwind_rule rule = unwind_cfi_rule(at, true);
	struct unwind_rule copied = unwind_cfi_rule(at, false);

	assert_memory_equal(&copied, &rule, sizeof(rule)); /* three numbers */
	assert_int_equal(rule.kind, kind);
	if (kind >= UNWIND_SP) {
		assert_int_equal(rule.offset, offset);
		assert_int_equal(rule.fp_slot, fp_slot);
	}
}

static void test_no_object(void **state)
{
	char here;

	(void)state;
	assert_rule(NULL, UNWIND_UNKNOWN, 0, 0);
	assert_rule(&here, UNWIND_UNKNOWN, 0, 0);
}

#if defined(__x86_64__)
/* Each function is a few nops; debug flags are places in it. 0x76: breg6 (rbp), 0x06: deref. */
__asm__(".text\n"
	".type cfi_frame, @function\ncfi_frame:\n.cfi_startproc\n"
	"cfi_frame_a: nop\n"
	".cfi_def_cfa_offset 16\n.cfi_offset 6, -16\n"
	"cfi_frame_b: nop\n"
	".cfi_def_cfa_register 6\n"
	"cfi_frame_c: nop\n"
	".cfi_remember_state\n.cfi_def_cfa 7, 8\n.cfi_restore 6\n"
	"cfi_frame_d: nop\n"
	".cfi_restore_state\n"
	"cfi_frame_e: nop\n"
	".skip 300, 0x90\n"
	".cfi_def_cfa_offset 48\n"
	"cfi_frame_f: nop\n"
	".skip 70000, 0x90\n"
	".cfi_def_cfa 7, 1048576\n.cfi_offset 6, -64\n"
	"cfi_frame_g: nop\n"
	".cfi_same_value 6\n"
	"cfi_frame_h: nop\n"
	".cfi_endproc\n"

	".type cfi_aligned, @function\ncfi_aligned:\n.cfi_startproc\n"
	".cfi_escape 0x10, 6, 2, 0x76, 0\n"	  /* rbp at *(rbp) */
	".cfi_escape 0x0f, 3, 0x76, 0x78, 0x06\n" /* CFA is *(rbp - 8) */
	"cfi_aligned_a: nop\n"
	".cfi_def_cfa 7, 16\n.cfi_escape 0x10, 6, 2, 0x77, 0\n" /* rbp at *(rsp) */
	"cfi_aligned_b: nop\n"
	".cfi_endproc\n"

	".type cfi_strange, @function\ncfi_strange:\n.cfi_startproc\n"
	".cfi_def_cfa 10, 0\n" /* r10 */
	"cfi_strange_a: nop\n"
	".cfi_escape 0x0f, 4, 0x77, 8, 0x06, 0x06\n"
	"cfi_strange_b: nop\n"
	".cfi_def_cfa 7, 8\n.cfi_register 6, 12\n"
	"cfi_strange_c: nop\n"
	".cfi_restore 6\n.cfi_offset 16, -16\n"
	"cfi_strange_d: nop\n"
	".cfi_restore 16\n.cfi_undefined 3\n.cfi_escape 0x2e, 16\n"
	"cfi_strange_e: nop\n"
	".cfi_escape 0x16, 16, 2, 0x77, 0\n" /* DW_CFA_val_expression of rip */
	"cfi_strange_f: nop\n"
	".cfi_endproc\n"

	".type cfi_first, @function\ncfi_first:\n.cfi_startproc\n.cfi_undefined 16\n"
	"nop\n.cfi_endproc\n"

	".type cfi_signal, @function\ncfi_signal:\n.cfi_startproc\n.cfi_signal_frame\n"
	"nop\n.cfi_endproc\n"

	".type cfi_silent, @function\ncfi_silent: nop\n");

extern const char cfi_frame_a[], cfi_frame_b[], cfi_frame_c[], cfi_frame_d[], cfi_frame_e[],
	cfi_frame_f[], cfi_frame_g[], cfi_frame_h[];
extern const char cfi_aligned_a[], cfi_aligned_b[];
extern const char cfi_strange_a[], cfi_strange_b[], cfi_strange_c[], cfi_strange_d[],
	cfi_strange_e[], cfi_strange_f[];
extern const char cfi_first[], cfi_signal[], cfi_silent[];

static void test_frames_of_compilers(void **state)
{
	(void)state;
	NEEDS_OBJECTS();
	assert_rule(cfi_frame_a, UNWIND_SP, 1, UNWIND_SLOT_SAME);
	assert_rule(cfi_frame_b, UNWIND_SP, 2, 2);
	assert_rule(cfi_frame_c, UNWIND_FP, 2, 2);
	assert_rule(cfi_frame_d, UNWIND_SP, 1, UNWIND_SLOT_SAME);
	assert_rule(cfi_frame_e, UNWIND_FP, 2, 2);
	assert_rule((uintptr_t)cfi_frame_f - 1, UNWIND_FP, 2, 2);
	assert_rule(cfi_frame_f, UNWIND_FP, 6, 2);
	assert_rule((uintptr_t)cfi_frame_g - 1, UNWIND_FP, 6, 2);
	assert_rule(cfi_frame_g, UNWIND_SP, 131072, 8);
	assert_rule(cfi_frame_h, UNWIND_SP, 131072, UNWIND_SLOT_SAME);
}

static void test_aligned_frames(void **state)
{
	(void)state;
	NEEDS_OBJECTS();
	assert_rule(cfi_aligned_a, UNWIND_FP_DEREF, -1, 1);
	assert_rule(cfi_aligned_b, UNWIND_SP, 2, UNWIND_SLOT_LOST);
}

static void test_strange_tables(void **state)
{
	(void)state;
	NEEDS_OBJECTS();
	assert_rule(cfi_strange_a, UNWIND_CHAIN, 0, 0);
	assert_rule(cfi_strange_b, UNWIND_CHAIN, 0, 0);
	assert_rule(cfi_strange_c, UNWIND_SP, 1, UNWIND_SLOT_LOST);
	assert_rule(cfi_strange_d, UNWIND_CHAIN, 0, 0);
	assert_rule(cfi_strange_e, UNWIND_SP, 1, UNWIND_SLOT_SAME);
	assert_rule(cfi_strange_f, UNWIND_CHAIN, 0, 0);
}

static void test_ends(void **state)
{
	(void)state;
	NEEDS_OBJECTS();
	assert_rule(cfi_first, UNWIND_END, 0, 0);
	assert_rule(cfi_signal, UNWIND_SIGNAL, 0, 0);
	assert_rule(cfi_silent, UNWIND_CHAIN, 0, 0);
}
#endif

/* The rule of a function's beginning, as it is in every function of compilers. */
static enum plug_in_look look_up(uintptr_t address)
{
	struct unwind_rule rule = unwind_cfi_rule(address - 4, false);

	if (rule.kind == UNWIND_UNKNOWN)
		return PLUG_IN_GONE;
	if (!ARCH_HAS_CFI || (rule.kind == UNWIND_SP && rule.offset == 1))
		return PLUG_IN_THERE;
	return PLUG_IN_OTHER;
}

/* What looks like a frame may be of code that another thread unloads just now. */
IN_CHILD(test_unloaded_meanwhile)
{
	child_needs_objects();
	plug_in_meanwhile(look_up);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_object),
		cmocka_unit_test(test_unloaded_meanwhile),
#if defined(__x86_64__)
		cmocka_unit_test(test_frames_of_compilers),
		cmocka_unit_test(test_aligned_frames),
		cmocka_unit_test(test_strange_tables),
		cmocka_unit_test(test_ends),
#endif
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
