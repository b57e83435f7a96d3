/* SPDX-License-Identifier: MIT */
/*
 * unit/os/process/say_test.c - formatting, the line on stderr, writing all of a buffer
 *
 * The C library's snprintf is the model for os_format.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <cmocka.h>

#include "child.h"
#include "os/process/file.h"
#include "os/process/say.h"

#define SAME(...)                                                        \
	do {                                                             \
		char mine[300];                                          \
		char theirs[300];                                        \
		size_t len = os_format(mine, sizeof(mine), __VA_ARGS__); \
                                                                         \
		snprintf(theirs, sizeof(theirs), __VA_ARGS__);           \
		assert_string_equal(mine, theirs);                       \
		assert_int_equal(len, strlen(theirs));                   \
	} while (0)

static void test_format_equals_printf(void **state)
{
	int on_stack;

	(void)state;
	SAME("nothing to replace");
	SAME("100%%");
	SAME("%s|%s", "", "text");
	SAME("%c%c", 'a', '%');
	SAME("%d %d %d %d %d", 0, 7, -7, INT_MAX, INT_MIN);
	SAME("%u %u", 0u, UINT_MAX);
	SAME("%x %x", 0x0u, 0xdeadbeefu);
	SAME("%lu %lu", 0ul, ULONG_MAX);
	SAME("%lx", ULONG_MAX);
	SAME("%zu", SIZE_MAX);
	SAME("%p", (void *)&on_stack);
	SAME("%s:%d: %lu of %zu at %p%c", "f.c", 3, 1ul, (size_t)2, (void *)&on_stack, '.');
}

static void test_format_widths(void **state)
{
	(void)state;
	SAME("%4d|%-4d|%04d|%4d|%04d", 7, 7, 7, -7, -7);
	SAME("%2d|%02d|%1d", -12345, -12345, 123);
	SAME("%-9s|%9s|%2s|%5s", "Redzone", "Redzone", "Redzone", "");
	SAME("%02x %02x %08x %8x|", 0u, 0xa5u, 0xdeadu, 0xbeefu);
	SAME("%016lx %-20lx|%20lx|", ULONG_MAX / 3, 1ul, 1ul);
	SAME("%12lu|%-12zu|%3c|%-3c|", 99ul, (size_t)99, 'a', 'b');
	SAME("%20p|%-20p|", (void *)state, (void *)state);
}

static void test_format_null(void **state)
{
	const char *volatile nothing = NULL;
	char buf[32];

	(void)state;
	os_format(buf, sizeof(buf), "%s %p", nothing, NULL);
	assert_string_equal(buf, "(null) 0x0");
}

static void test_format_cuts(void **state)
{
	char buf[8];

	(void)state;
	memset(buf, 'z', sizeof(buf));
	assert_int_equal(os_format(buf, 4, "%d", 123456), 6);
	assert_memory_equal(buf, "123\0zzzz", 8);
	assert_int_equal(os_format(buf, 1, "%s", "ab"), 2);
	assert_memory_equal(buf, "\00023", 3);
	assert_int_equal(os_format(NULL, 0, "%s", "abc"), 3);
	assert_int_equal(os_format(buf, 4, "abc"), 3);
	assert_string_equal(buf, "abc");
}

/* Whatever is not documented is copied, with all that follows it. */
static void test_format_subset(void **state)
{
	static const char *const outside[] = { "%5i %d", "%ld %d", "%i %d", "%",     "%l",
					       "%z",	 "%-",	   "%f %d", "%zd",   "%hhu",
					       "%.3s",	 "%*d",	   "%+d",   "%04ld", "%1000d" };
	char buf[32];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(outside) / sizeof(outside[0]); i++) {
		const char *volatile fmt = outside[i];

		os_format(buf, sizeof(buf), fmt, 1, 2);
		assert_string_equal(buf, outside[i]);
	}
}

static void say_two(void *arg)
{
	(void)arg;
	errno = 77;
	os_say("%s has %d", "cache", 5);
	CHILD_CHECK(errno == 77);
	close(STDERR_FILENO);
	os_say("nobody hears this");
	CHILD_CHECK(errno == 77);
}

static void test_say(void **state)
{
	struct child c = child_run(say_two, NULL);

	(void)state;
	assert_true(child_passed(&c));
	assert_string_equal(c.text, "uslab: cache has 5\n");
}

static void say_long(void *arg)
{
	os_say("%s", (const char *)arg);
}

static void test_say_long_line(void **state)
{
	char text[2000];
	struct child c;

	(void)state;
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	c = child_run(say_long, text);
	assert_true(child_passed(&c));
	assert_int_equal(strlen(c.text), 1024);
	assert_memory_equal(c.text, "uslab: xxx", 10);
	assert_string_equal(c.text + 1021, "xx\n");
}

static void test_write_errors(void **state)
{
	int pipes[2];

	(void)state;
	errno = 77;
	assert_int_equal(os_write(-1, "x", 1), -EBADF);
	assert_int_equal(os_write(-1, "x", 0), 0);
	assert_int_equal(errno, 77);

	assert_int_equal(pipe(pipes), 0);
	close(pipes[0]);
	signal(SIGPIPE, SIG_IGN);
	errno = 77;
	assert_int_equal(os_write(pipes[1], "x", 1), -EPIPE);
	assert_int_equal(errno, 77);
	signal(SIGPIPE, SIG_DFL);
	close(pipes[1]);
}

#define LONG_TEXT (1 << 20)
#define INTERRUPTS 5

static void on_signal(int signal)
{
	(void)signal;
}

/* A text without a period, so that no part of it can stand for another. */
static unsigned char byte_at(size_t i)
{
	return (unsigned char)((uint32_t)i * 2654435761u >> 24);
}

struct reader {
	int fd;
	pthread_t writer;
	pid_t writer_tid;
	size_t len;
	bool in_order;
};

/* Returns when the writer sleeps, and a full pipe is what it waits for. */
static void wait_for_sleep(const struct reader *r)
{
	int capacity = fcntl(r->fd, F_GETPIPE_SZ);
	char path[64];
	char stat[512];
	const char *name_end;
	int filled;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", r->writer_tid);
	do {
		sched_yield();
		os_read_text(path, stat, sizeof(stat));
		name_end = strrchr(stat, ')');
		ioctl(r->fd, FIONREAD, &filled);
	} while (filled < capacity || !name_end || name_end[2] != 'S');
}

/* Interrupts the writer while it waits on the full pipe, then reads everything. */
static void *read_late(void *arg)
{
	struct reader *r = arg;
	unsigned char piece[5000];
	ssize_t n;
	ssize_t i;

	for (i = 0; i < INTERRUPTS; i++) {
		wait_for_sleep(r);
		pthread_kill(r->writer, SIGUSR1);
	}
	r->in_order = true;
	while ((n = read(r->fd, piece, sizeof(piece))) > 0)
		for (i = 0; i < n; i++, r->len++)
			r->in_order &= piece[i] == byte_at(r->len);
	return NULL;
}

/* Short writes and EINTR: a pipe takes 64 KiB, signals interrupt the waiting writer. */
static void test_write_all(void **state)
{
	struct sigaction action = { .sa_handler = on_signal }; /* without SA_RESTART */
	unsigned char *text = malloc(LONG_TEXT);
	struct reader r = { .writer = pthread_self(), .writer_tid = gettid() };
	pthread_t thread;
	int pipes[2];
	size_t i;

	(void)state;
	for (i = 0; i < LONG_TEXT; i++)
		text[i] = byte_at(i);
	assert_int_equal(pipe(pipes), 0);
	r.fd = pipes[0];
	sigaction(SIGUSR1, &action, NULL);
	assert_int_equal(pthread_create(&thread, NULL, read_late, &r), 0);
	errno = 77;
	assert_int_equal(os_write(pipes[1], text, LONG_TEXT), 0);
	assert_int_equal(errno, 77);
	close(pipes[1]);
	pthread_join(thread, NULL);
	close(pipes[0]);
	assert_int_equal(r.len, LONG_TEXT);
	assert_true(r.in_order);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_format_equals_printf),
		cmocka_unit_test(test_format_widths),
		cmocka_unit_test(test_format_null),
		cmocka_unit_test(test_format_cuts),
		cmocka_unit_test(test_format_subset),
		cmocka_unit_test(test_say),
		cmocka_unit_test(test_say_long_line),
		cmocka_unit_test(test_write_errors),
		cmocka_unit_test(test_write_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
