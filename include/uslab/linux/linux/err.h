/* SPDX-License-Identifier: MIT */
/*
 * uslab/linux/linux/err.h - error numbers in place of pointers
 */
#ifndef USLAB_LINUX_ERR_H
#define USLAB_LINUX_ERR_H

#if __has_include_next(<linux/err.h>)
#include_next <linux/err.h>
#else

#include <linux/compiler.h>
#include <linux/errno.h>
#include <linux/types.h>

#define MAX_ERRNO 4095
#define IS_ERR_VALUE(x) unlikely((unsigned long)(void *)(x) >= (unsigned long)-MAX_ERRNO)

static inline void *__must_check ERR_PTR(long error)
{
	return (void *)error;
}

static inline long __must_check PTR_ERR(const void *p)
{
	return (long)p;
}

static inline bool __must_check IS_ERR(const void *p)
{
	return IS_ERR_VALUE(p);
}

static inline bool __must_check IS_ERR_OR_NULL(const void *p)
{
	return !p || IS_ERR(p);
}

/* The error as a pointer of another type. */
static inline void *__must_check ERR_CAST(const void *p)
{
	return (void *)p;
}

static inline int __must_check PTR_ERR_OR_ZERO(const void *p)
{
	return IS_ERR(p) ? (int)PTR_ERR(p) : 0;
}

#endif
#endif /* USLAB_LINUX_ERR_H */
