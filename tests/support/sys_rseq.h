/* SPDX-License-Identifier: MIT */
/*
 * sys_rseq.h - <sys/rseq.h>, also for a C library or a CPU that has none of it:
 * nobody is registered there
 */
#ifndef TESTS_SUPPORT_SYS_RSEQ_H
#define TESTS_SUPPORT_SYS_RSEQ_H

#include <limits.h>

#if defined(__GLIBC__) && __has_include(<sys/rseq.h>)
#include <sys/rseq.h>
#else
#include <linux/rseq.h>
#define __rseq_size 0u
#define __rseq_offset 0l
#endif

#ifndef RSEQ_SIG
#define RSEQ_SIG 0
#endif

#endif /* TESTS_SUPPORT_SYS_RSEQ_H */
