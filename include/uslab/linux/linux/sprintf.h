/* SPDX-License-Identifier: MIT */
/*
 * uslab/linux/linux/sprintf.h - formatted strings: libc's, in memory of kmalloc(), and cut short
 */
#ifndef USLAB_LINUX_SPRINTF_H
#define USLAB_LINUX_SPRINTF_H

#include <stdarg.h>
#include <stdio.h>

#include <linux/compiler.h>

#include <uslab/kstring.h>

/* As vsnprintf(), but returns how many bytes it wrote, without the NUL. */
static inline __printf(3, 0) int uslab_vscnprintf(char *to, size_t size, const char *format,
						  va_list args)
{
	int length = vsnprintf(to, size, format, args);

	if (length < 0 || (size_t)length < size)
		return length;
	return size ? (int)(size - 1) : 0;
}

static inline __printf(3, 4) int uslab_scnprintf(char *to, size_t size, const char *format, ...)
{
	va_list args;
	int length;

	va_start(args, format);
	length = uslab_vscnprintf(to, size, format, args);
	va_end(args);
	return length;
}

/* A kernel tree declares them in <linux/kernel.h>, and has a library for them. */
#ifndef USLAB_KERNEL_TREE
#define vscnprintf uslab_vscnprintf
#define scnprintf uslab_scnprintf
#endif

#endif /* USLAB_LINUX_SPRINTF_H */
