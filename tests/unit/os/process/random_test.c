/* SPDX-License-Identifier: MIT */
/*
 * unit/os/process/random_test.c - random words, with and without getrandom
 *
 * The fallback is reached for real: a seccomp filter takes the system call away.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <cmocka.h>

#include "child.h"
#include "os/process/random.h"

#define WORDS 2000

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a;
	uint64_t y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* No word twice, and each bit set about half of the time (10 standard deviations). */
static bool looks_random(void)
{
	static uint64_t words[WORDS];
	unsigned int set[64] = { 0 };
	int i;
	int bit;

	for (i = 0; i < WORDS; i++) {
		words[i] = os_random();
		for (bit = 0; bit < 64; bit++)
			set[bit] += words[i] >> bit & 1;
	}
	qsort(words, WORDS, sizeof(words[0]), compare);
	for (i = 1; i < WORDS; i++)
		if (words[i] == words[i - 1])
			return false;
	for (bit = 0; bit < 64; bit++)
		if (set[bit] < WORDS / 2 - 224 || set[bit] > WORDS / 2 + 224)
			return false;
	return true;
}

static void test_random(void **state)
{
	(void)state;
	errno = 77;
	assert_true(looks_random());
	assert_int_equal(errno, 77);
}

static void without_getrandom(void *arg)
{
	uint64_t *first = arg;

	child_deny(SYS_getrandom, ENOSYS);
	errno = 77;
	*first = os_random();
	CHILD_CHECK(looks_random());
	CHILD_CHECK(errno == 77);
}

/* Two children that start from the same state do not get the same words either. */
static void test_fallback(void **state)
{
	uint64_t *first =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct child c;

	(void)state;
	assert_ptr_not_equal(first, MAP_FAILED);
	c = child_run(without_getrandom, &first[0]);
	assert_true(child_passed(&c));
	c = child_run(without_getrandom, &first[1]);
	assert_true(child_passed(&c));
	assert_true(first[0] != first[1]);
	munmap(first, 4096);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random),
		cmocka_unit_test(test_fallback),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
