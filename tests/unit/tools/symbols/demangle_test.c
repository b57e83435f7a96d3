/* SPDX-License-Identifier: MIT */
/*
 * unit/tools/symbols/demangle_test.c - names of C++ and Rust, whole and short
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "symbols/demangle.h"

static void check_demangled(const char *name, const char *expected)
{
	char *found = demangle(name);

	if (expected)
		assert_string_equal(found, expected);
	else
		assert_null(found);
	free(found);
}

static void test_cxx(void **state)
{
	(void)state;
	check_demangled("_ZN4shop4Cart3addEl", "shop::Cart::add(long)");
	check_demangled("_Z3addii", "add(int, int)");
	check_demangled("malloc", NULL);
	check_demangled("i", NULL); /* not int */
	check_demangled("_Zbad", NULL);
	check_demangled("", NULL);
}

/* Both forms, as rustc 1.95 writes them; without hashes and numbers of crates. */
static void test_rust(void **state)
{
	(void)state;
	check_demangled("_ZN2v04main17h15f3dc4acb741d49E", "v0::main");
	check_demangled("_ZN2v04main17h15f3dc4acb741d49E.llvm.1234", "v0::main");
	check_demangled(
		"_ZN4core3ptr85drop_in_place$LT$std..rt..lang_start$LT$$LP$$RP$$GT$..$u7b$$u7b$"
		"closure$u7d$$u7d$$GT$17h0123456789abcdefE",
		"core::ptr::drop_in_place<std::rt::lang_start<()>::{{closure}}>");
	check_demangled("_RNvCsl7vfJbrQO4V_2rt8remember", "rt::remember");
	check_demangled("_RNvNtCsjrHSEGnQ3l9_3std2rt19lang_start_internal",
			"std::rt::lang_start_internal");
	check_demangled("_RINvMNtCsgEmfK2I1SDS_4core5sliceSh11copy_withinINtNtNtB5_3ops5range"
			"14RangeInclusivejEECsfEOYDRpO4Ta_11miniz_oxide",
			"<[u8]>::copy_within::<core::ops::range::RangeInclusive<usize>>");
	check_demangled("_ZN3app4Rows16_$u5b$$RF$T$u5d$17h0123456789abcdefE", "app::Rows::[&T]");
	check_demangled("_ZN3app6$wrong17h0123456789abcdefE", "app::$wrong");
	check_demangled("_R", NULL);
	check_demangled("_ZN17h15f3dc4acb741d49E", "h15f3dc4acb741d49"); /* nothing else */
}

static void test_is_rust(void **state)
{
	(void)state;
	assert_true(demangle_is_rust("_RNvCsl7vfJbrQO4V_2rt8remember"));
	assert_true(demangle_is_rust("_ZN2v04main17h15f3dc4acb741d49E"));
	assert_true(demangle_is_rust("_ZN2v04main17h15f3dc4acb741d49E.llvm.1234"));
	assert_false(demangle_is_rust("_ZN4shop4Cart3addEl"));
	assert_false(demangle_is_rust("_ZN2v04main17h15f3dc4acb741d4E"));
	assert_false(demangle_is_rust("17h15f3dc4acb741d49E"));
	assert_false(demangle_is_rust("main"));
	assert_false(demangle_is_rust(""));
}

/* Longer than any name is. */
static void test_long(void **state)
{
	static char name[DEMANGLE_MOST + 16] = "_ZN4shop4Cart3addE";

	(void)state;
	memset(name + strlen(name), 'l', DEMANGLE_MOST - strlen(name));
	check_demangled(name, NULL);
	memcpy(name, "_R", 2);
	check_demangled(name, NULL);
}

static void check_short(const char *name, const char *expected)
{
	char text[128];

	demangle_shorten(text, sizeof(text), name);
	assert_string_equal(text, expected);
}

static void test_short_name(void **state)
{
	char text[8];

	(void)state;
	check_short("shop::Buy(char const*, int)", "shop::Buy(char const*, int)");
	check_short("std::vector<int>::push_back(int&&)", "std::vector<int>::push_back(int&&)");
	check_short("std::vector<Item, std::allocator<Item> >::push_back(Item const&)",
		    "std::vector<...>::push_back(Item const&)");
	check_short(
		"void sort<std::pair<int, int>*, bool (*)(int)>(std::pair<int, unsigned long>*)",
		"void sort<...>(std::pair<...>*)");
	check_short("std::ostream& operator<< <std::char_traits<char> >(std::ostream&)",
		    "std::ostream& operator<< <...>(std::ostream&)");
	check_short("Box<Item, std::allocator<Item> >::operator->() const",
		    "Box<...>::operator->() const");
	check_short("Box<&(bool A::operator<(A const&))>::get()", "Box<...>::get()");
	check_short("auto f<decltype (p->first), long>(int)", "auto f<...>(int)");
	check_short("<core::cell::OnceCell<core::result::Result<u8>>>::get_or_init::<app::Item>",
		    "<core::cell::OnceCell<...>>::get_or_init::<app::Item>");
	check_short("<alloc::vec::Vec<app::order::Order> as core::iter::Extend<&u8>>::extend",
		    "<alloc::vec::Vec<...> as core::iter::Extend<&u8>>::extend");
	check_short("<&<app::A as app::B>::Item as app::Show>::show::<fn(&app::Item) -> u8>",
		    "<&<app::A as app::B>::Item as app::Show>::show::<...>");
	check_short("not<closed, and therefore as it is", "not<closed, and therefore as it is");
	check_short("", "");
	demangle_shorten(text, sizeof(text), "a_long_name");
	assert_string_equal(text, "a_long_");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cxx),	   cmocka_unit_test(test_rust),
		cmocka_unit_test(test_is_rust),	   cmocka_unit_test(test_long),
		cmocka_unit_test(test_short_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
