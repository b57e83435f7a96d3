/* SPDX-License-Identifier: MIT */
/*
 * uslab/linux/linux/string.h - libc's strings, the kernel's, and copies in memory of kmalloc()
 *
 * strerror_r(), strtok_r() and what else libc has is libc's.
 */
#ifndef USLAB_LINUX_STRING_H
#define USLAB_LINUX_STRING_H

#include <string.h>
#include <strings.h>

#include <linux/compiler.h>
#include <linux/errno.h>
#include <linux/types.h>

#include <uslab/kstring.h>

#if __has_include_next(<linux/string.h>)
#include_next <linux/string.h>
#endif

/* Copies as far as size bytes go, and ends that with NUL: its length, or -E2BIG if some is left. */
#ifndef strscpy
static inline ssize_t strscpy(char *to, const char *from, size_t size)
{
	size_t length = strnlen(from, size);

	if (!size)
		return -E2BIG;
	if (length == size) {
		memcpy(to, from, size - 1);
		to[size - 1] = '\0';
		return -E2BIG;
	}
	memcpy(to, from, length + 1);
	return (ssize_t)length;
}
#define strscpy strscpy
#endif

/* The first byte of size that is not c; NULL: all are. */
#ifndef memchr_inv
static inline void *uslab_memchr_inv(const void *from, int c, size_t size)
{
	const unsigned char *p = from;

	for (; size; size--, p++)
		if (*p != (unsigned char)c)
			return (void *)p;
	return NULL;
}
#define memchr_inv uslab_memchr_inv
#endif

/* Clears what nobody reads any more, all the same. */
#ifndef memzero_explicit
#define memzero_explicit explicit_bzero
#endif

/* The length of prefix if s begins with it, else 0. */
#ifndef str_has_prefix
static inline size_t uslab_str_has_prefix(const char *s, const char *prefix)
{
	size_t length = strlen(prefix);

	return strncmp(s, prefix, length) == 0 ? length : 0;
}
#define str_has_prefix uslab_str_has_prefix
#endif

/* What stands behind the last slash. */
#ifndef kbasename
static inline const char *uslab_kbasename(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}
#define kbasename uslab_kbasename
#endif

#endif /* USLAB_LINUX_STRING_H */
