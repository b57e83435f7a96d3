/* SPDX-License-Identifier: MIT */
/*
 * uslab/kstring.h - copies of memory and strings, and formatted ones, in kmalloc'ed memory
 *
 * The kernel has these names in <linux/string.h> and <linux/sprintf.h>. The results are freed by
 * kfree() (kvfree() those of kvmemdup(), kfree_const() those of kstrdup_const() and
 * kvasprintf_const()). flags: as for kmalloc(). NULL: out of memory, or more than KMALLOC_MAX_SIZE
 * bytes (kvmemdup(): INT_MAX). Any thread may call all of these; signal handlers all but those with
 * a format. They are named as the caller's allocations: reports and tools show the caller.
 */
#ifndef USLAB_KSTRING_H
#define USLAB_KSTRING_H

#include <stdarg.h>

#include <uslab/slab.h>

#ifdef __cplusplus
extern "C" {
#endif

#define USLAB_COPY                                                                                \
	__attribute__((__malloc__, __alloc_size__(2), __assume_aligned__(ARCH_KMALLOC_MINALIGN))) \
	USLAB_MUST_CHECK
#define USLAB_TEXT __attribute__((__malloc__)) USLAB_MUST_CHECK

/* A copy of size bytes at p; 0 bytes: ZERO_SIZE_PTR. */
USLAB_API void *kmemdup(const void *p, size_t size, gfp_t flags) USLAB_COPY;

/* The same in memory of kvmalloc(). */
USLAB_API void *kvmemdup(const void *p, size_t size, gfp_t flags) USLAB_COPY;

/* A copy of n elements of size bytes; NULL also if the product overflows. */
USLAB_SIZED((2, 3))
USLAB_MUST_CHECK USLAB_INLINE void *kmemdup_array(const void *p, size_t n, size_t size, gfp_t flags)
{
	return kmemdup(p, uslab_product(n, size), flags);
}

/* A copy of size bytes and a NUL behind them; p NULL: NULL. */
USLAB_API char *kmemdup_nul(const char *p, size_t size, gfp_t flags) USLAB_TEXT;

/* A copy of a string; NULL: NULL. */
USLAB_API char *kstrdup(const char *s, gfp_t flags) USLAB_TEXT;

/* A copy of at most max bytes of a string, and a NUL; s need have none within max. NULL: NULL. */
USLAB_API char *kstrndup(const char *s, size_t max, gfp_t flags) USLAB_TEXT;

/**
 * kstrdup_const - a string that stays: itself if it is a constant of the program, else a copy
 *
 * A constant is what lies in a read-only segment of the program that was started, not of a shared
 * library, which may be unloaded (kernel: of a module). To be freed by kfree_const() only.
 */
USLAB_API const char *kstrdup_const(const char *s, gfp_t flags) USLAB_MUST_CHECK;

/* Frees what kstrdup_const() returned; constants of the program are ignored, and so is NULL. */
USLAB_API void kfree_const(const void *p);

/**
 * kasprintf - a formatted string in memory of its size
 *
 * format: that of printf(3); what the kernel has beyond that (%pS and the like) there is not.
 * NULL also for a format that vsnprintf(3) refuses, which sets errno then.
 */
USLAB_API char *kasprintf(gfp_t flags, const char *format, ...)
	__attribute__((__format__(__printf__, 2, 3))) USLAB_TEXT;
USLAB_API char *kvasprintf(gfp_t flags, const char *format, va_list args)
	__attribute__((__format__(__printf__, 2, 0))) USLAB_TEXT;

/* The same; a format without % and the format "%s" are kstrdup_const() of the string. */
USLAB_API const char *kvasprintf_const(gfp_t flags, const char *format, va_list args)
	__attribute__((__format__(__printf__, 2, 0))) USLAB_MUST_CHECK;

#ifdef __cplusplus
}
#endif

/* With tags, see <uslab/alloc_tag.h>. */
#ifdef USLAB_MEM_ALLOC_PROFILING
#define kmemdup(...) USLAB_TAGGED(false, (kmemdup)(__VA_ARGS__))
#define kvmemdup(...) USLAB_TAGGED(false, (kvmemdup)(__VA_ARGS__))
#define kmemdup_array(...) USLAB_TAGGED(false, (kmemdup_array)(__VA_ARGS__))
#define kmemdup_nul(...) USLAB_TAGGED(false, (kmemdup_nul)(__VA_ARGS__))
#define kstrdup(...) USLAB_TAGGED(false, (kstrdup)(__VA_ARGS__))
#define kstrndup(...) USLAB_TAGGED(false, (kstrndup)(__VA_ARGS__))
#define kstrdup_const(...) USLAB_TAGGED(false, (kstrdup_const)(__VA_ARGS__))
#define kasprintf(...) USLAB_TAGGED(false, (kasprintf)(__VA_ARGS__))
#define kvasprintf(...) USLAB_TAGGED(false, (kvasprintf)(__VA_ARGS__))
#define kvasprintf_const(...) USLAB_TAGGED(false, (kvasprintf_const)(__VA_ARGS__))
#endif

#endif /* USLAB_KSTRING_H */
