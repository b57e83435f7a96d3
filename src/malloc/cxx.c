/* SPDX-License-Identifier: MIT */
/*
 * malloc/cxx.c - operator new and delete, by their names in the ABI
 *
 * Data:       none.
 * Invariants: as the C++ standard has it: new gives memory or throws std::bad_alloc, after asking
 *             the new-handler as long as there is one; the nothrow forms give NULL instead.
 * Locks:      none.
 * Flow:       called by the program; calls slow.c, align.c, os/symbol.c.
 *
 * This library does not need a C++ library; the program that calls operator new has one. What a
 * failure needs of it is looked up when the failure is there: std::get_new_handler and the function
 * that throws, or, for the nothrow forms, libstdc++'s own operator, which catches what a handler
 * throws (C cannot) and calls back here. A program without any of them gets one line and abort().
 * Exceptions pass through these functions: they hold nothing that would have to be undone.
 */
#include "malloc/hot.h"
#include "os/die.h"
#include "os/symbol.h"
#include <uslab/slab.h>

/* The names are the compiler's; no header declares them for C. */
#pragma GCC diagnostic ignored "-Wmissing-prototypes"

struct nothrow; /* std::nothrow_t: an empty tag */

static void *aligned_any(size_t size, size_t align, const void *caller)
{
	bool zeroed;

	return align ? malloc_aligned(align, size, caller) : malloc_any(size, &zeroed, caller);
}

/* align 0: none asked for. Returns memory, or never returns. */
static noinline void *new_slow(size_t size, size_t align, const void *caller)
{
	void (*(*get_handler)(void))(void);
	void (*handler)(void);
	void (*throw_bad_alloc)(void);
	void *p;

	while (!(p = aligned_any(size, align, caller))) {
		get_handler = os_symbol("_ZSt15get_new_handlerv", caller);
		handler = get_handler ? get_handler() : NULL;
		if (handler) {
			handler(); /* makes memory free, or throws, or exits */
			continue;
		}
		throw_bad_alloc = os_symbol("_ZSt17__throw_bad_allocv", caller);
		if (throw_bad_alloc)
			throw_bad_alloc();
		os_die_fmt("operator new: out of memory for %zu bytes, and no C++ library to throw "
			   "std::bad_alloc",
			   size);
	}
	return p;
}

USLAB_API void *_Znwm(size_t size)
{
	void *p;

	if (likely(malloc_hot_alloc(size, &p)))
		return p;
	return new_slow(size, 0, MALLOC_CALLER);
}

USLAB_API void *_Znam(size_t size)
{
	void *p;

	if (likely(malloc_hot_alloc(size, &p)))
		return p;
	return new_slow(size, 0, MALLOC_CALLER);
}

USLAB_API void *_ZnwmSt11align_val_t(size_t size, size_t align)
{
	return new_slow(size, align, MALLOC_CALLER);
}

USLAB_API void *_ZnamSt11align_val_t(size_t size, size_t align)
{
	return new_slow(size, align, MALLOC_CALLER);
}

/* self: the function that asks, in case that is what the C++ library's name leads to. */
static noinline void *nothrow_slow(size_t size, const struct nothrow *tag, const void *caller,
				   const void *self)
{
	void *(*library_new)(size_t, const struct nothrow *);
	void *p = aligned_any(size, 0, caller);

	if (likely(p))
		return p;
	library_new = os_symbol("_ZnwmRKSt9nothrow_t", caller);
	return library_new && (const void *)library_new != self ? library_new(size, tag) : NULL;
}

USLAB_API void *_ZnwmRKSt9nothrow_t(size_t size, const struct nothrow *tag)
{
	void *p;

	if (likely(malloc_hot_alloc(size, &p)))
		return p;
	return nothrow_slow(size, tag, MALLOC_CALLER, (const void *)_ZnwmRKSt9nothrow_t);
}

USLAB_API void *_ZnamRKSt9nothrow_t(size_t size, const struct nothrow *tag)
{
	return nothrow_slow(size, tag, MALLOC_CALLER, (const void *)_ZnwmRKSt9nothrow_t);
}

USLAB_API void *_ZnwmSt11align_val_tRKSt9nothrow_t(size_t size, size_t align,
						   const struct nothrow *tag)
{
	void *(*library_new)(size_t, size_t, const struct nothrow *);
	void *p = aligned_any(size, align, MALLOC_CALLER);

	if (likely(p))
		return p;
	library_new = os_symbol("_ZnwmSt11align_val_tRKSt9nothrow_t", MALLOC_CALLER);
	return library_new && library_new != _ZnwmSt11align_val_tRKSt9nothrow_t
		       ? library_new(size, align, tag)
		       : NULL;
}

USLAB_API void *_ZnamSt11align_val_tRKSt9nothrow_t(size_t size, size_t align,
						   const struct nothrow *tag)
{
	return _ZnwmSt11align_val_tRKSt9nothrow_t(size, align, tag);
}

static always_inline void delete_any(void *p)
{
	if (likely(malloc_hot_free(p)))
		return;
	free_slow(p, MALLOC_CALLER);
}

USLAB_API void _ZdlPv(void *p)
{
	delete_any(p);
}

USLAB_API void _ZdlPvm(void *p, size_t size)
{
	(void)size;
	delete_any(p);
}

/* The rest are rare: arrays, alignment, and what a constructor's exception calls. */

USLAB_API void _ZdaPv(void *p)
{
	_ZdlPv(p);
}

USLAB_API void _ZdaPvm(void *p, size_t size)
{
	_ZdlPvm(p, size);
}

USLAB_API void _ZdlPvSt11align_val_t(void *p, size_t align)
{
	_ZdlPvm(p, align);
}

USLAB_API void _ZdaPvSt11align_val_t(void *p, size_t align)
{
	_ZdlPvm(p, align);
}

USLAB_API void _ZdlPvmSt11align_val_t(void *p, size_t size, size_t align)
{
	(void)align;
	_ZdlPvm(p, size);
}

USLAB_API void _ZdaPvmSt11align_val_t(void *p, size_t size, size_t align)
{
	(void)align;
	_ZdlPvm(p, size);
}

USLAB_API void _ZdlPvRKSt9nothrow_t(void *p, const struct nothrow *tag)
{
	(void)tag;
	_ZdlPv(p);
}

USLAB_API void _ZdaPvRKSt9nothrow_t(void *p, const struct nothrow *tag)
{
	(void)tag;
	_ZdlPv(p);
}

USLAB_API void _ZdlPvSt11align_val_tRKSt9nothrow_t(void *p, size_t align, const struct nothrow *tag)
{
	(void)tag;
	_ZdlPvm(p, align);
}

USLAB_API void _ZdaPvSt11align_val_tRKSt9nothrow_t(void *p, size_t align, const struct nothrow *tag)
{
	(void)tag;
	_ZdlPvm(p, align);
}
