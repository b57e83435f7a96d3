/* SPDX-License-Identifier: MIT */
/*
 * api/string_api.c - copies of memory and strings, formatted strings (<uslab/kstring.h>)
 *
 * Data:       none.
 * Invariants: none.
 * Locks:      none.
 * Flow:       called by programs; calls resize_api.c, cache/kmalloc/kmalloc.c,
 *             os/process/constant.c.
 */
#include <stdio.h>
#include <string.h>
#include <uslab/kstring.h>

#include "api/api.h"
#include "os/process/constant.h"

static void *filled(void *p, const void *from, size_t size)
{
	return ZERO_OR_NULL_PTR(p) ? p : memcpy(p, from, size);
}

/* length bytes and a NUL. */
static char *copy_text(const char *s, size_t length, gfp_t flags, const void *caller)
{
	char *p;

	if (length >= KMALLOC_MAX_SIZE)
		return NULL; /* with the NUL it may be 0 */
	p = api_kmalloc(length + 1, flags, NUMA_NO_NODE, caller);
	if (p) {
		memcpy(p, s, length);
		p[length] = '\0';
	}
	return p;
}

USLAB_API void *kmemdup(const void *p, size_t size, gfp_t flags)
{
	const void *caller = __builtin_return_address(0);

	return filled(api_kmalloc(size, flags, NUMA_NO_NODE, caller), p, size);
}

USLAB_API void *kvmemdup(const void *p, size_t size, gfp_t flags)
{
	const void *caller = __builtin_return_address(0);

	return filled(api_kvmalloc(size, 0, flags, NUMA_NO_NODE, caller), p, size);
}

USLAB_API char *kmemdup_nul(const char *p, size_t size, gfp_t flags)
{
	return p ? copy_text(p, size, flags, __builtin_return_address(0)) : NULL;
}

USLAB_API char *kstrdup(const char *s, gfp_t flags)
{
	return s ? copy_text(s, strlen(s), flags, __builtin_return_address(0)) : NULL;
}

USLAB_API char *kstrndup(const char *s, size_t max, gfp_t flags)
{
	return s ? copy_text(s, strnlen(s, max), flags, __builtin_return_address(0)) : NULL;
}

/* ---- constants ---- */

static const char *constant_or_copy(const char *s, gfp_t flags, const void *caller)
{
	return !s || os_is_constant(s) ? s : copy_text(s, strlen(s), flags, caller);
}

USLAB_API const char *kstrdup_const(const char *s, gfp_t flags)
{
	return constant_or_copy(s, flags, __builtin_return_address(0));
}

USLAB_API void kfree_const(const void *p)
{
	if (!os_is_constant(p))
		kmalloc_free(p, __builtin_return_address(0));
}

/* ---- formatted strings ---- */

__attribute__((__format__(__printf__, 2, 0))) static char *
formatted(gfp_t flags, const char *format, va_list args, const void *caller)
{
	va_list again;
	int length;
	char *p;

	va_copy(again, args);
	length = vsnprintf(NULL, 0, format, again);
	va_end(again);
	if (length < 0)
		return NULL;
	p = api_kmalloc((size_t)length + 1, flags, NUMA_NO_NODE, caller);
	if (p)
		vsnprintf(p, (size_t)length + 1, format, args);
	return p;
}

USLAB_API char *kvasprintf(gfp_t flags, const char *format, va_list args)
{
	return formatted(flags, format, args, __builtin_return_address(0));
}

USLAB_API char *kasprintf(gfp_t flags, const char *format, ...)
{
	va_list args;
	char *p;

	va_start(args, format);
	p = formatted(flags, format, args, __builtin_return_address(0));
	va_end(args);
	return p;
}

USLAB_API const char *kvasprintf_const(gfp_t flags, const char *format, va_list args)
{
	const void *caller = __builtin_return_address(0);

	if (!strchr(format, '%'))
		return constant_or_copy(format, flags, caller);
	if (!strcmp(format, "%s"))
		return constant_or_copy(va_arg(args, const char *), flags, caller);
	return formatted(flags, format, args, caller);
}
