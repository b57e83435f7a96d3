/* SPDX-License-Identifier: MIT */
/*
 * unit/tools/trace/trace_share_test.c - a trace that goes through a file comes out the same
 */
#define _GNU_SOURCE
#include "trace/trace_share.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

static void add(struct trace_ops *t, uint64_t ptr, const char *name)
{
	struct trace_event event = { .kind = name ? TRACE_CACHE_ALLOC : TRACE_KMALLOC,
				     .ptr = ptr,
				     .bytes_req = ptr % 97 + 1,
				     .time = ptr * 10 };

	if (name)
		event.name = (struct trace_text){ name, strlen(name) };
	assert_int_equal(trace_ops_add(t, &event), 0);
}

static void there_and_back(void **state)
{
	struct trace_ops t, copy;
	int fd;

	(void)state;
	assert_int_equal(trace_ops_init(&t), 0);
	for (uint64_t i = 1; i <= 999; i++)
		add(&t, i << 5, i % 3 ? NULL : "share");
	trace_ops_finish(&t);
	fd = trace_share(&t);
	assert_true(fd >= 0);
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	assert_int_equal(trace_attach(fd, &copy), 0);
	assert_int_equal(copy.nr_ops, 999);
	assert_memory_equal(copy.ops, t.ops, t.nr_ops * sizeof(*t.ops));
	assert_int_equal(copy.nr_classes, t.nr_classes);
	assert_memory_equal(copy.classes, t.classes, t.nr_classes * sizeof(*t.classes));
	assert_int_equal(copy.nr_caches, t.nr_caches);
	assert_memory_equal(copy.caches, t.caches, t.nr_caches * sizeof(*t.caches));
	assert_int_equal(copy.nr_slots, t.nr_slots);
	assert_memory_equal(&copy.counts, &t.counts, sizeof(t.counts));
	for (size_t i = 0; i < t.nr_ops; i++)
		assert_int_equal(trace_ops_time(&copy, i), trace_ops_time(&t, i));
	trace_ops_destroy(&t);
	close(fd);
}

static void foreign_files(void **state)
{
	static const char zeros[8192];
	int fd = memfd_create("foreign", MFD_CLOEXEC);
	struct trace_ops t;

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(trace_attach(fd, &t), -EINVAL);
	assert_int_equal(write(fd, zeros, sizeof(zeros)), sizeof(zeros));
	assert_int_equal(trace_attach(fd, &t), -EINVAL);
	close(fd);
	assert_int_equal(trace_attach(fd, &t), -EBADF);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(there_and_back),
		cmocka_unit_test(foreign_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
