/* SPDX-License-Identifier: MIT */
/*
 * support/bare.h - does this process hold nothing but the program
 *
 * Under a sanitizer or valgrind (which says so by USLAB_TEST_VALGRIND, see cmake/tests.cmake) the
 * tool maps memory of its own: limits on memory would stop the tool, or are not heeded.
 */
#ifndef SUPPORT_BARE_H
#define SUPPORT_BARE_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if defined(__has_feature)
#define BARE_HAS_FEATURE(x) __has_feature(x)
#else
#define BARE_HAS_FEATURE(x) 0
#endif

#if defined(__SANITIZE_THREAD__) || BARE_HAS_FEATURE(thread_sanitizer)
#define THREAD_SANITIZED 1
#else
#define THREAD_SANITIZED 0
#endif

/*
 * Under an emulator of user programs (qemu-user) everything is slow, and what the kernel says of
 * the process is true of the emulator. It answers for /proc/self, but not for all names of it.
 */
static inline bool is_emulated(void)
{
	char self[512];
	char thread[512];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self));
	ssize_t m = readlink("/proc/thread-self/exe", thread, sizeof(thread));

	if (getenv("USLAB_TEST_EMULATED")) /* see cmake/tests.cmake */
		return true;
	return n > 0 && m > 0 && (n != m || memcmp(self, thread, (size_t)n) != 0);
}

/* skip(), with the reason. */
#define skip_because(why)                              \
	do {                                           \
		fprintf(stderr, "skipped: %s\n", why); \
		skip();                                \
	} while (0)

static inline bool bare_process(void)
{
#if THREAD_SANITIZED || defined(__SANITIZE_ADDRESS__) || BARE_HAS_FEATURE(address_sanitizer)
	return false;
#else
	return !getenv("USLAB_TEST_VALGRIND");
#endif
}

#endif /* SUPPORT_BARE_H */
