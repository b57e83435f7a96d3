/* SPDX-License-Identifier: MIT */
/*
 * support/bare.h - does this process hold nothing but the program
 *
 * Under a sanitizer or valgrind (which says so by USLAB_TEST_VALGRIND, see cmake/tests.cmake) the tool
 * maps memory of its own: limits on memory would stop the tool, or are not heeded.
 */
#ifndef SUPPORT_BARE_H
#define SUPPORT_BARE_H

#include <stdbool.h>
#include <stdlib.h>

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

static inline bool bare_process(void)
{
#if THREAD_SANITIZED || defined(__SANITIZE_ADDRESS__) || BARE_HAS_FEATURE(address_sanitizer)
	return false;
#else
	return !getenv("USLAB_TEST_VALGRIND");
#endif
}

#endif /* SUPPORT_BARE_H */
