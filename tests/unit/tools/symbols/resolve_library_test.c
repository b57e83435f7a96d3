/* SPDX-License-Identifier: MIT */
/*
 * unit/tools/symbols/resolve_library_test.c - whose function: a library's, or the program's
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "symbols/resolve_library.h"

static bool is(const char *function, const char *symbol, const char *file)
{
	const struct resolve_frame frame = { function, symbol, file, 1, false };

	return resolve_is_of_library(&frame);
}

static void test_by_file(void **state)
{
	(void)state;
	assert_true(is("std::vector<int>::push_back(int&&)", "_ZN1", "/usr/include/c++/12/vector"));
	assert_false(is("std::hash<shop::Cart>::operator()", "_ZN1", "/src/shop/cart.h"));
	assert_true(is("alloc::alloc::alloc", "_ZN1", "/rustc/59807/library/alloc/src/alloc.rs"));
	assert_true(
		is("core::ops::Fn::call", "_ZN1",
		   "/root/.rustup/toolchains/1.95/lib/rustlib/src/rust/library/core/src/ops.rs"));
	assert_true(
		is("std::rt::lang_start", "_ZN1", "/usr/src/rustc-1.63.0/library/std/src/rt.rs"));
	assert_true(is("hashbrown::raw::RawTable<A>::insert", "_ZN1",
		       "/rust/deps/hashbrown-0.16.1/src/raw/mod.rs"));
	assert_true(is("hashbrown::raw::RawTable<A>::insert", "_ZN1",
		       "/usr/src/rustc-1.63.0/vendor/hashbrown/src/raw/mod.rs"));
	/* as it is delivered */
	assert_true(is("<&dyn core::ops::Fn<()>>::call", "_R", "library/core/src/ops/function.rs"));
	/* a library of the program's own */
	assert_false(is("app::load", "_R", "library/core/src/load.rs"));
	assert_false(is("app::load", "_R", "/src/app/library/core/src/load.rs"));
	assert_false(is("app::load", "_R", "/src/app/src/library/load.rs"));
	assert_false(is("app::load", "_R", "/home/me/rusty/shop/library/core/src/load.rs"));
	assert_false(is("ledger::open", "_R", "/src/shop/rust/deps/ledger/src/lib.rs"));
	assert_true(is("hashbrown::raw::inner", "_R",
		       "/cargo/registry/src/index.crates.io-6f17/hashbrown-0.14.3/src/raw/mod.rs"));
	assert_true(
		is("panic_unwind::cleanup", "_R", "/rustc/59807/library/panic_unwind/src/lib.rs"));
	assert_true(is("<str>::to_lowercase", "_R", "library/alloc/src/str.rs"));
	assert_true(is("panic_unwind::imp::panic", "_R", "library/panic_unwind/src/gcc.rs"));
	assert_false(
		is("app::main", "_R", "/cargo/registry/src/index.crates.io-6f17/serde-1.0/a.rs"));
	assert_false(is("shop::Cart::add", "_Z", "/home/me/rustc-demo/vendor/shop/src/lib.rs"));
	/* an allocator, whoever wrote it */
	assert_true(is("<uslab::global::Uslab as core::alloc::global::GlobalAlloc>::realloc", "_R",
		       "/src/rust/uslab/src/global.rs"));
	assert_true(is("uslab::global::allocate", "_R", "/src/rust/uslab/src/global.rs"));
	assert_true(is("__rustc::__rust_alloc", "_R", "/src/shop/src/main.rs"));
}

static void test_by_name(void **state)
{
	(void)state;
	assert_true(is("std::vector<int>::push_back(int&&)", "_ZNSt6vectorIiE9push_backEOi", ""));
	assert_true(is("void std::sort<int*>(int*)", "_ZSt4sortIPiEvT_", ""));
	assert_true(is("__gnu_cxx::new_allocator<int>::allocate", "_ZN9__gnu_cxx3fooEv", ""));
	assert_true(is("alloc::raw_vec::finish_grow", "_RNvCs1_5alloc3foo", ""));
	assert_true(is("<alloc::vec::Vec<u8> as core::clone::Clone>::clone",
		       "_ZN1a17h0123456789abcdefE", ""));
	assert_true(is("__rustc::__rust_alloc", "_RNvCs1_7___rustc12___rust_alloc", ""));
	assert_true(is("__rdl_alloc", "__rdl_alloc", ""));
	assert_true(is("<[shop::Item]>::to_vec", "_R", ""));
	assert_true(is("<str as alloc::string::ToString>::to_string", "_R", ""));
	assert_true(is("<&mut alloc::vec::Vec<u8> as std::io::Write>::write", "_R", ""));
	assert_true(is("<T as alloc::slice::ConvertVec>::to_vec", "_R", ""));
	assert_true(is("<&dyn core::ops::Fn<()> as core::ops::FnOnce<()>>::call_once", "_R", ""));
	assert_true(is("<fn() -> u8 as core::ops::FnOnce<()>>::call_once", "_R", ""));
	assert_false(is("<alloc::vec::Vec<u32> as shop::Persist>::save", "_R", ""));
	assert_false(is("<shop::Item as core::clone::Clone>::clone", "_R", ""));
	assert_false(is("<&shop::Item as core::fmt::Debug>::fmt", "_R", ""));
	assert_false(is("<&'a mut shop::Item as core::fmt::Debug>::fmt", "_R", ""));
	assert_false(is("<app::Order>::new", "_RNvMCs1_3appNtB2_5Order3new", ""));
	/* cut off */
	assert_true(is("<'", "_R", ""));
	assert_true(is("<", "_R", ""));
	assert_true(is("<&mut ", "_R", ""));
	assert_true(
		is("<shop::Iter as core::iter::Iterator>::fold::<u8>", "_RINvYNtC4shop4Iter", ""));
	assert_false(is("<shop::Iter as core::iter::Iterator>::next", "_RNvXC4shopNtB2_4Iter", ""));
	assert_false(is("<dyn for<'a> shop::Handler<'a>>::run", "_R", ""));
	/* names that C++ programs may have */
	assert_false(is("shop::Pool<shop::GlobalAlloc>::take()", "_ZN4shop4takeEv", "/src/pool.h"));
	assert_false(is("page__rg_init", "page__rg_init", "/src/a.c"));
	assert_false(is("core::Engine::load()", "_ZN4core6Engine4loadEv", ""));
	assert_false(is("main", "main", ""));
	assert_false(is("", "", ""));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_by_file),
		cmocka_unit_test(test_by_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
