/* SPDX-License-Identifier: MIT */
/*
 * support/use_again.h - a descriptor that the library keeps is closed by the program and used again
 */
#ifndef SUPPORT_USE_AGAIN_H
#define SUPPORT_USE_AGAIN_H

#include <sys/resource.h>
#include <unistd.h>

/*
 * Makes fd one of standard error. It may lie above the limit on descriptors, which the library
 * raises for a moment. In a test's own process only, for it asserts.
 */
static inline void use_again(int fd)
{
	struct rlimit before;
	struct rlimit wide;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	wide = (struct rlimit){ before.rlim_max, before.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &wide), 0);
	assert_int_equal(dup2(STDERR_FILENO, fd), fd);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
}

#endif /* SUPPORT_USE_AGAIN_H */
