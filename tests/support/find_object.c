/* SPDX-License-Identifier: MIT */
/*
 * find_object.c - lets GCC's unwinder, which was built for glibc, run with another C library
 *
 * Unwinding tests compare with it. Without an answer here it goes through dl_iterate_phdr(3).
 */
#include <limits.h>

#ifndef __GLIBC__
int _dl_find_object(void *address, void *result);

__attribute__((weak)) int _dl_find_object(void *address, void *result)
{
	(void)address, (void)result;
	return -1;
}
#else
extern int support_find_object_is_not_needed;
#endif
