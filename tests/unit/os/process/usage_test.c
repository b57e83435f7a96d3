/* SPDX-License-Identifier: MIT */
/*
 * unit/os/process/usage_test.c - CPU time and page faults of the process, beside libc's getrusage()
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <cmocka.h>

#include "os/process/filter.h"
#include "os/process/usage.h"

#define PAGES 1000ul
#define PAGE_BYTES 4096ul

static uint64_t system_us(const struct rusage *libc)
{
	return (uint64_t)libc->ru_stime.tv_sec * 1000000 + (uint64_t)libc->ru_stime.tv_usec;
}

/* All that libc sees before and after, and what the kernel counts of new pages. */
static void agrees_with_libc(void **state)
{
	struct rusage before;
	struct rusage after;
	struct os_usage from;
	struct os_usage to;
	char *p = mmap(NULL, PAGES * PAGE_BYTES, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)state;
	assert_ptr_not_equal(p, MAP_FAILED);
	if (!os_filter_lets_through())
		skip();
	errno = 77;
	getrusage(RUSAGE_SELF, &before);
	assert_true(os_usage(&from));
	assert_true(from.faults >= (uint64_t)before.ru_minflt);
	assert_true(from.system_us >= system_us(&before));
	for (unsigned int turn = 0; turn < 100; turn++) {
		madvise(p, PAGES * PAGE_BYTES, MADV_DONTNEED);
		for (unsigned long i = 0; i < PAGES; i++)
			((volatile char *)p)[i * PAGE_BYTES] = 1;
	}
	getrusage(RUSAGE_SELF, &after);
	assert_true(os_usage(&to));
	assert_int_equal(errno, 77);
	assert_true(to.faults - from.faults + 10 >= (uint64_t)(after.ru_minflt - before.ru_minflt));
	assert_true(to.system_us >= system_us(&after));
	getrusage(RUSAGE_SELF, &after);
	assert_true(to.faults <= (uint64_t)after.ru_minflt);
	assert_true(to.system_us <= system_us(&after));
	munmap(p, PAGES * PAGE_BYTES);
}

/* CPU time stands still while the process sleeps, and does not while it works. */
static void cpu_time_is_no_wall_clock(void **state)
{
	const struct timespec pause = { 0, 200000000 };
	struct os_usage from;
	struct os_usage slept;
	struct os_usage now;

	(void)state;
	if (!os_filter_lets_through())
		skip();
	assert_true(os_usage(&from));
	nanosleep(&pause, NULL);
	assert_true(os_usage(&slept));
	assert_true(slept.cpu_us - from.cpu_us < 100000);
	do
		assert_true(os_usage(&now));
	while (now.cpu_us - slept.cpu_us < 20000);
	assert_true(now.system_us <= now.cpu_us && now.system_us >= slept.system_us);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(agrees_with_libc),
		cmocka_unit_test(cpu_time_is_no_wall_clock),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
