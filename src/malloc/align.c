/* SPDX-License-Identifier: MIT */
/*
 * malloc/align.c - aligned allocation: posix_memalign, aligned_alloc, memalign, valloc, pvalloc
 *
 * Why:        docs/adr/0035.
 * Data:       none.
 * Invariants: a class has an alignment if its size is a multiple of it: every object lies at a
 *             multiple of the largest power of two in its size (malloc_class_align).
 * Locks:      none.
 * Flow:       called by the program and cxx.c; calls slow.c, os/memory/vm.c, page/reserve.c.
 */
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>

#include "malloc/hot.h"
#include "malloc/libc.h"
#include "os/instrument/valgrind.h"
#include "os/memory/vm.h"
#include "page/nested.h"
#include "page/reserve.h"
#include "page/run.h"

void *malloc_aligned(size_t align, size_t size, const void *caller)
{
	unsigned int class;
	bool zeroed;

	if (align <= MALLOC_ALIGN)
		return malloc_any(size, &zeroed, caller);
	if (unlikely(size > PTRDIFF_MAX || align > PTRDIFF_MAX))
		return NULL;
	if (unlikely(!malloc_usable()))
		return malloc_unstarted(size, align);
	if (nested_call())
		return reserve_alloc(size, align);
	class = malloc_class_aligned(size, align);
	if (class)
		return malloc_class_alloc(class, size, caller);
	return malloc_run(size, align, NULL, caller);
}

static noinline void *aligned_slow(size_t align, size_t size, const void *caller)
{
	void *p = malloc_aligned(align, size, caller);

	if (unlikely(!p))
		errno = ENOMEM;
	return p;
}

/* align a power of two. */
static always_inline void *aligned_or_errno(size_t align, size_t size)
{
	void *p;

	return likely(malloc_hot_aligned(align, size, &p))
		       ? p
		       : aligned_slow(align, size, MALLOC_CALLER);
}

static noinline int posix_slow(void **result, size_t align, size_t size, const void *caller)
{
	void *p = malloc_aligned(align, size, caller);

	if (!p)
		return ENOMEM;
	*result = p;
	return 0;
}

MALLOC_HIT int posix_memalign(void **result, size_t align, size_t size)
{
	void *p;

	if (unlikely(!is_pow2(align) || align % sizeof(void *)))
		return EINVAL;
	if (unlikely(!malloc_hot_aligned(align, size, &p)))
		return posix_slow(result, align, size, MALLOC_CALLER);
	*result = p;
	return 0;
}

MALLOC_HIT void *aligned_alloc(size_t align, size_t size)
{
	if (unlikely(!is_pow2(align))) {
		errno = EINVAL;
		return NULL;
	}
	return aligned_or_errno(align, size);
}

#define ALIGN_MAX (1ul << 63)

/*
 * As glibc: an alignment that is no power of two counts as the next one, and is wrong where there
 * is none.
 */
USLAB_API void *memalign(size_t align, size_t size)
{
	if (unlikely(align > ALIGN_MAX)) {
		errno = EINVAL;
		return NULL;
	}
	return aligned_or_errno(align > 1 ? 1ul << fls(align - 1) : 1, size);
}

USLAB_API void *valloc(size_t size)
{
	return aligned_or_errno(os_page_size(), size);
}

/* valgrind puts its own function there, and knows no pvalloc(). */
static void *(*const volatile replaced_memalign)(size_t, size_t) = memalign;

USLAB_API void *pvalloc(size_t size)
{
	size_t page = os_page_size();

	if (unlikely(size > PTRDIFF_MAX)) {
		errno = ENOMEM;
		return NULL;
	}
	size = MAX(ALIGN_UP(size, page), page);
	return RUNNING_ON_VALGRIND ? replaced_memalign(page, size) : aligned_or_errno(page, size);
}
