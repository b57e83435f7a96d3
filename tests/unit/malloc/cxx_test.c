/* SPDX-License-Identifier: MIT */
/*
 * unit/malloc/cxx_test.c - operator new and delete by their ABI names, in a program without C++
 *
 * ctest: sanitize=no (the sanitizers bring operators of their own)
 *
 * Throwing, handlers and a real C++ library are tested by tests/programs/cxx_test.py.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "child.h"
#include "debug/report/report.h"
#include "malloc/internal.h"
#include "malloc/libc.h"
#include "replaced.h"

#pragma GCC diagnostic ignored "-Wmissing-prototypes"

struct nothrow;

void *_Znwm(size_t size);
void *_Znam(size_t size);
void *_ZnwmRKSt9nothrow_t(size_t size, const struct nothrow *tag);
void *_ZnamRKSt9nothrow_t(size_t size, const struct nothrow *tag);
void *_ZnwmSt11align_val_t(size_t size, size_t align);
void *_ZnamSt11align_val_t(size_t size, size_t align);
void *_ZnwmSt11align_val_tRKSt9nothrow_t(size_t size, size_t align, const struct nothrow *tag);
void *_ZnamSt11align_val_tRKSt9nothrow_t(size_t size, size_t align, const struct nothrow *tag);
void _ZdlPv(void *p);
void _ZdaPv(void *p);
void _ZdlPvm(void *p, size_t size);
void _ZdaPvm(void *p, size_t size);
void _ZdlPvSt11align_val_t(void *p, size_t align);
void _ZdaPvSt11align_val_t(void *p, size_t align);
void _ZdlPvmSt11align_val_t(void *p, size_t size, size_t align);
void _ZdaPvmSt11align_val_t(void *p, size_t size, size_t align);
void _ZdlPvRKSt9nothrow_t(void *p, const struct nothrow *tag);
void _ZdaPvRKSt9nothrow_t(void *p, const struct nothrow *tag);
void _ZdlPvSt11align_val_tRKSt9nothrow_t(void *p, size_t align, const struct nothrow *tag);
void _ZdaPvSt11align_val_tRKSt9nothrow_t(void *p, size_t align, const struct nothrow *tag);

static size_t used(void)
{
	return mallinfo2().uordblks;
}

static void *checked(void *p, size_t size, size_t align)
{
	assert_non_null(p);
	assert_int_equal((uintptr_t)p % align, 0);
	assert_true(malloc_usable_size(p) >= size);
	memset(p, 1, size);
	return p;
}

static void test_pairs(void **state)
{
	static const size_t sizes[] = { 0, 1, 40, 1000, 10000, 100000 };
	size_t before;

	(void)state;
	/*
	 * the loader keeps what it has to say about names not found; an unused
	 * pair a compiler leaves out
	 */
	_ZdaPv(checked(_Znam(1), 1, 16));
	before = used();
	for (unsigned int i = 0; i < ARRAY_SIZE(sizes); i++) {
		size_t size = sizes[i];

		_ZdlPv(checked(_Znwm(size), size, 16));
		_ZdaPv(checked(_Znam(size), size, 16));
		_ZdlPvm(checked(_Znwm(size), size, 16), size);
		_ZdaPvm(checked(_Znam(size), size, 16), size);
		_ZdlPvRKSt9nothrow_t(checked(_ZnwmRKSt9nothrow_t(size, NULL), size, 16), NULL);
		_ZdaPvRKSt9nothrow_t(checked(_ZnamRKSt9nothrow_t(size, NULL), size, 16), NULL);
	}
	_ZdlPv(NULL);
	_ZdaPvm(NULL, 0);
	assert_int_equal(used(), before);
}

static void test_aligned_pairs(void **state)
{
	size_t before = used();

	(void)state;
	for (size_t a = 32; a <= 65536; a *= 2) {
		_ZdlPvSt11align_val_t(checked(_ZnwmSt11align_val_t(100, a), 100, a), a);
		_ZdaPvSt11align_val_t(checked(_ZnamSt11align_val_t(100, a), 100, a), a);
		_ZdlPvmSt11align_val_t(checked(_ZnwmSt11align_val_t(9, a), 9, a), 9, a);
		_ZdaPvmSt11align_val_t(checked(_ZnamSt11align_val_t(9, a), 9, a), 9, a);
		_ZdlPvSt11align_val_tRKSt9nothrow_t(
			checked(_ZnwmSt11align_val_tRKSt9nothrow_t(1, a, NULL), 1, a), a, NULL);
		_ZdaPvSt11align_val_tRKSt9nothrow_t(
			checked(_ZnamSt11align_val_tRKSt9nothrow_t(1, a, NULL), 1, a), a, NULL);
	}
	/* not of the standard: no more than what is asked for */
	_ZdlPv(checked(_ZnwmSt11align_val_t(100, 0), 100, 16));
	_ZdlPv(checked(_ZnwmSt11align_val_t(100, 24), 100, 16));
	assert_int_equal(used(), before);
}

/* Volatile: compilers believe that the operators succeed. */
static void *(*volatile throwing_new)(size_t) = _Znwm;
static void *(*volatile nothrow_new)(size_t, const struct nothrow *) = _ZnwmRKSt9nothrow_t;
static void *(*volatile nothrow_array)(size_t, const struct nothrow *) = _ZnamRKSt9nothrow_t;
static void *(*volatile aligned_new)(size_t, size_t,
				     const struct nothrow *) = _ZnwmSt11align_val_tRKSt9nothrow_t;
static void *(*volatile aligned_array)(size_t, size_t,
				       const struct nothrow *) = _ZnamSt11align_val_tRKSt9nothrow_t;

static void test_nothrow_failure(void **state)
{
	(void)state;
	assert_null(nothrow_new(SIZE_MAX / 2 + 1, NULL));
	assert_null(nothrow_array(SIZE_MAX, NULL));
	assert_null(aligned_new(SIZE_MAX - 100, 64, NULL));
	assert_null(aligned_array(SIZE_MAX - 100, 64, NULL));
}

static void new_too_much(void *arg)
{
	(void)arg;
	throwing_new(SIZE_MAX / 2 + 1);
}

/* Nobody here can throw: one line instead of silence. */
static void test_no_cxx_library(void **state)
{
	struct child c = child_run(new_too_much, NULL);

	(void)state;
	assert_true(child_aborted(&c));
	assert_non_null(strstr(c.text, "uslab: operator new: out of memory"));
}

/* ---- mistakes: the report names the operator ---- */

static void delete_sized(void *p)
{
	_ZdlPvm(p, 112);
}

static void delete_array_sized(void *p)
{
	_ZdaPvm(p, 112);
}

static void delete_aligned(void *p)
{
	_ZdlPvSt11align_val_t(p, 16);
}

static void delete_array_aligned(void *p)
{
	_ZdaPvSt11align_val_t(p, 16);
}

static void delete_sized_aligned(void *p)
{
	_ZdlPvmSt11align_val_t(p, 112, 16);
}

static void delete_array_sized_aligned(void *p)
{
	_ZdaPvmSt11align_val_t(p, 112, 16);
}

static void delete_nothrow(void *p)
{
	_ZdlPvRKSt9nothrow_t(p, NULL);
}

static void delete_array_nothrow(void *p)
{
	_ZdaPvRKSt9nothrow_t(p, NULL);
}

static void delete_aligned_nothrow(void *p)
{
	_ZdlPvSt11align_val_tRKSt9nothrow_t(p, 16, NULL);
}

static void delete_array_aligned_nothrow(void *p)
{
	_ZdaPvSt11align_val_tRKSt9nothrow_t(p, 16, NULL);
}

static const struct wrong {
	const char *what;
	void (*call)(void *);
} wrong[] = {
	{ "operator delete", _ZdlPv },
	{ "operator delete[]", _ZdaPv },
	{ "operator delete", delete_sized },
	{ "operator delete[]", delete_array_sized },
	{ "operator delete", delete_aligned },
	{ "operator delete[]", delete_array_aligned },
	{ "operator delete", delete_sized_aligned },
	{ "operator delete[]", delete_array_sized_aligned },
	{ "operator delete", delete_nothrow },
	{ "operator delete[]", delete_array_nothrow },
	{ "operator delete", delete_aligned_nothrow },
	{ "operator delete[]", delete_array_aligned_nothrow },
	{ "free", free },
};

static void *volatile hidden; /* compilers would warn */

/* Inside of an object, of whole pages, and what is no block at all. */
static void delete_wrong(void *arg)
{
	const struct wrong *w = arg;
	char *object = _Znwm(112), *run = _Znwm(100000), local[64];

	hidden = object + 16;
	w->call(hidden);
	hidden = run + 16;
	w->call(hidden);
	hidden = local + 16;
	w->call(hidden);
	CHILD_CHECK(load_relaxed(&report_counters.reports) == 3);
	CHILD_CHECK(malloc_usable_size(object) >= 112); /* it was left alone */
	_ZdlPv(object);
	_ZdlPv(run);
	CHILD_CHECK(load_relaxed(&report_counters.reports) == 3);
}

static void test_names(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		struct child c = child_run(delete_wrong, (void *)&wrong[i]);
		unsigned int named = 0;
		char start[40];

		snprintf(start, sizeof(start), "uslab: %s(): 0x", wrong[i].what);
		assert_true(child_passed(&c));
		for (const char *at = c.text; (at = strstr(at, start)); at++)
			named++;
		assert_int_equal(named, 3);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pairs),		cmocka_unit_test(test_aligned_pairs),
		cmocka_unit_test(test_nothrow_failure), cmocka_unit_test(test_no_cxx_library),
		cmocka_unit_test(test_names),
	};

	if (malloc_is_replaced())
		return TEST_SKIPPED;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
