/* SPDX-License-Identifier: MIT */
/*
 * unit/tools/symbols/rust_v0_test.c - the newer form of Rust's names: each rule, wrong names, and
 * such as ask for more than there is
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "symbols/rust_v0.h"

static void check(const char *name, const char *expected)
{
	char text[16384];
	bool done = rust_v0_demangle(name, text, sizeof(text));

	if (expected && done)
		assert_string_equal(text, expected);
	else if (done != !!expected)
		fail_msg("%s: %s", name, done ? text : "not demangled");
}

static void test_paths(void **state)
{
	(void)state;
	check("_RC1a", "a");
	check("_RNvC6_123foo3bar", "123foo::bar");
	check("_RNvCsl7vfJbrQO4V_2rt8remember", "rt::remember");
	check("_RNvMs_C3appNtB4_5Order3new", "<app::Order>::new");
	check("_RNvXs0_C3appNtB5_5OrderNtB5_4Show4show", "<app::Order as app::Show>::show");
	check("_RNvYNtC3app5OrderNtB4_4Show4show", "<app::Order as app::Show>::show");
	check("_RNCNCNgCs6DXkGYLi8lr_2cc5spawn00B5_", "cc::spawn::{closure#0}::{closure#0}");
	check("_RNCINkXs25_NgCsbmNqQUJIY6D_4core5sliceINyB9_4IterhENuNgNoBb_4iter8iterator8Iterator"
	      "9rpositionNCNgNpB9_6memchr7memrchrs_0E0Bb_",
	      "<core::slice::Iter<u8> as core::iter::iterator::Iterator>::rposition::<core::slice::"
	      "memchr::memrchr::{closure#1}>::{closure#0}");
	check("_RNSC1a4name", "a::{shim:name#0}");
	check("_RNvCs4fqI2P2rA04_11utf8_identsu4__abc", "utf8_idents::punycode{_abc}");
	check("_RNvC11utf8_identsu3abc", "utf8_idents::punycode{abc}");
	check("_RNvC1a1f.llvm.123", "a::f");
	check("_RNvC1a1fC1b", "a::f"); /* made for the crate b */
}

static void test_types(void **state)
{
	(void)state;
	check("_RINvC1a1fahstlmxynoijfdbceuzpvE",
	      "a::f::<i8, u8, i16, u16, i32, u32, i64, u64, i128, u128, isize, usize, f32, f64, bool, "
	      "char, str, (), !, _, ...>");
	check("_RINvC1a1fAhj4_ShThETThEEE", "a::f::<[u8; 4], [u8], (u8,), ((u8,),)>");
	check("_RINvC1a1fRhQhRL_hPhOhE", "a::f::<&u8, &mut u8, &u8, *const u8, *mut u8>");
	check("_RINvC1a1fFEuFhEtFUhtEuFKChEuFK6systemEuE",
	      "a::f::<fn(), fn(u8) -> u16, unsafe fn(u8, u16), extern \"C\" fn(u8), extern \"system\" "
	      "fn()>");
	check("_RINvC1a1fFG_RL0_hEuE", "a::f::<for<'a> fn(&'a u8)>");
	check("_RINvC1a1fFG0_RL1_hRL0_hEuE", "a::f::<for<'a, 'b> fn(&'a u8, &'b u8)>");
	check("_RINvC1a1fDNtC1b4ShowNtB9_4SendEL_E", NULL); /* refers into a rule */
	check("_RINvC1a1fDNtC1b4ShowNtBa_4SendEL_E", "a::f::<dyn b::Show + b::Send>");
	check("_RINbNbCskIICzLVDPPb_5alloc5alloc8box_freeDINbNiB4_5boxed5FnBoxuEp6OutputuEL_ECs1iopQbuB"
	      "iw2_3std",
	      "alloc::alloc::box_free::<dyn alloc::boxed::FnBox<(), Output = ()>>");
	check("_RINvC1a1fL_E", "a::f::<'_>");
	check("_RINvC1a1fL0_E", NULL); /* of no binder */
}

static void test_constants(void **state)
{
	(void)state;
	check("_RINvC1a1fhKj7b_E", "a::f::<u8, 123>");
	check("_RINvC1a1fKln7b_Kl0_Kb0_Kb1_KpE", "a::f::<-123, 0, false, true, _>");
	check("_RINvC1a1fKc76_Kc2202_Kc27_E", "a::f::<'v', '\\u{2202}', '\\u{27}'>");
	check("_RINvC1a1fKo123456789abcdef01_E", "a::f::<0x123456789abcdef01>");
	check("_RINvC1a1fKhn7b_E", NULL); /* u8 has no negative ones */
	check("_RINvC1a1fKb2_E", NULL);
	check("_RINvC1a1fKhg_E", NULL);
	check("_RINvC1a1fKRe616263_E", NULL);
}

static void test_wrong(void **state)
{
	static const char good[] = "_RNvXs0_C3appNtB5_5OrderNtB5_4Show4show";
	char cut[sizeof(good)];
	char text[64];

	(void)state;
	check(good, "<app::Order as app::Show>::show");
	for (size_t n = 0; n + 1 < sizeof(good); n++) {
		memcpy(cut, good, n);
		cut[n] = '\0';
		check(cut, NULL);
	}
	check("", NULL);
	check("_R", NULL);
	check("_RC0", NULL);
	check("_RNv", NULL);
	check("_RNvC1a1fX", NULL);
	check("_RNvB_1a", NULL);
	check("_RNvC99999999999999999999999999991a1f", NULL);
	check("_RNvCsZZZZZZZZZZZZZZZZZZZZ_1a1f", NULL);
	check("main", NULL);
	assert_true(rust_v0_demangle("_RNvC1a1f", text, 5));
	assert_false(rust_v0_demangle("_RNvC1a1f", text, 4));
	assert_false(rust_v0_demangle("_RNvC1a1f", text, 0));
}

/* prefix, n times that character, suffix */
static const char *repeated(const char *prefix, char c, size_t n, const char *suffix)
{
	static char name[32768];
	size_t length = strlen(prefix);

	assert_true(length + n + strlen(suffix) < sizeof(name));
	memcpy(name, prefix, length);
	memset(name + length, c, n);
	strcpy(name + length + n, suffix);
	return name;
}

/* Right names, but for how much they ask for. */
static void test_bounds(void **state)
{
	static char slices[512];

	(void)state;
	snprintf(slices, sizeof(slices), "a::f::<%s", repeated("", '[', 150, "u8"));
	strcat(slices, repeated("", ']', 150, ">"));
	check(repeated("_RINvC1a1f", 'S', 150, "hE"), slices);
	check(repeated("_RINvC1a1f", 'S', 250, "hE"), NULL);
	/* what says where an implementation stands is not written */
	check(repeated("_RMIC1a", 'h', 15000, "Eh"), "<u8>");
	check(repeated("_RMIC1a", 'h', 25000, "Eh"), NULL);
	check(repeated("_RMINtC1a1bL", '0', 25000, "_Eh"), NULL);
	check("_RMIC1aFGzz_EuEh", "<u8>"); /* 2207 lifetimes */
	check("_RMIC1aFGzzz_EuEh", NULL);
	check("_RMIC1aFGzzzzzzzzzz_EuEh", NULL);
	check("_RC1aIC1aFGzzzzzzzzzz_EuE", NULL);
}

/* A number as it stands in names of Rust: 0 is "_", 1 is "0_", 62 is "Z_", 63 is "10_". */
static const char *base_62(size_t number)
{
	static const char digits[] =
		"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
	static char text[4];

	if (number == 0)
		return "_";
	if (--number < 62)
		snprintf(text, sizeof(text), "%c_", digits[number]);
	else
		snprintf(text, sizeof(text), "%c%c_", digits[number / 62], digits[number % 62]);
	return text;
}

#define DOUBLINGS 34 /* of which each makes the text twice as long: 2^34 times two names of types */

/* The arguments of a function: a pair of bytes, a pair of such pairs, a pair of these, ... */
static void test_text_without_end(void **state)
{
	char name[1024] = "_RINvC1a1bThhE";
	size_t before = strlen("INvC1a1b");

	(void)state;
	for (int i = 0; i < DOUBLINGS; i++) {
		size_t at = strlen(name);

		snprintf(name + at, sizeof(name) - at, "TB%s", base_62(before));
		snprintf(name + strlen(name), sizeof(name) - strlen(name), "B%sE", base_62(before));
		before = at - 2; /* counted behind _R */
		if (i == 1) {	 /* it is what it should be */
			char whole[sizeof(name) + 1];

			snprintf(whole, sizeof(whole), "%sE", name);
			check(whole, "a::b::<(u8, u8), ((u8, u8), (u8, u8)), "
				     "(((u8, u8), (u8, u8)), ((u8, u8), (u8, u8)))>");
		}
	}
	strcat(name, "E");
	check(name, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_paths),	  cmocka_unit_test(test_types),
		cmocka_unit_test(test_constants), cmocka_unit_test(test_wrong),
		cmocka_unit_test(test_bounds),	  cmocka_unit_test(test_text_without_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
