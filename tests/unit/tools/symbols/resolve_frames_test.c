/* SPDX-License-Identifier: MIT */
/*
 * unit/tools/symbols/resolve_frames_test.c - inlined functions of this program, and names of C++
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

static void check_demangled(const char *name, const char *expected)
{
	char *found = resolve_demangle(name);

	if (expected)
		assert_string_equal(found, expected);
	else
		assert_null(found);
	free(found);
}

static void test_demangle(void **state)
{
	(void)state;
	check_demangled("_ZN4shop4Cart3addEl", "shop::Cart::add(long)");
	check_demangled("_Z3addii", "add(int, int)");
	check_demangled("malloc", NULL);
	check_demangled("i", NULL); /* not int */
	check_demangled("_Zbad", NULL);
	check_demangled("", NULL);
}

static void check_short(const char *name, const char *expected)
{
	char text[128];

	resolve_short_name(text, sizeof(text), name);
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
	check_short("not<closed, and therefore as it is", "not<closed, and therefore as it is");
	check_short("", "");
	resolve_short_name(text, sizeof(text), "a_long_name");
	assert_string_equal(text, "a_long_");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_inlined),
		cmocka_unit_test(test_demangle),
		cmocka_unit_test(test_short_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
