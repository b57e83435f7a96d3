/* SPDX-License-Identifier: MIT */
/*
 * uslab/cleanup.h - memory that is freed where its variable goes out of scope
 *
 * The kernel's <linux/cleanup.h>, as far as it is about pointers, and what <linux/slab.h> defines
 * with it: __free(kfree), __free(kfree_sensitive), __free(kvfree); here also __free(kfree_const).
 *
 *	struct point *p __free(kfree) = kmalloc_obj(struct point);
 *
 * p is freed by each return, break or goto that leaves its block (in C++ also by an exception), and
 * must have been initialised. A variable that is NULL or ZERO_SIZE_PTR frees nothing, nor does an
 * error number in place of a pointer (-4095 to -1, the kernel's ERR_PTR). longjmp() frees nothing.
 *
 * Why a header of its own: docs/adr/0040.
 */
#ifndef USLAB_CLEANUP_H
#define USLAB_CLEANUP_H

#include <uslab/kstring.h>

/**
 * DEFINE_FREE - makes __free(name) for variables of a type
 * @free_it: a statement; _T is the value of the variable. It should do nothing for NULL
 */
#define DEFINE_FREE(name, type, free_it)                                 \
	static inline void __free_##name(void *uslab_at)                 \
	{                                                                \
		type _T;                                                 \
                                                                         \
		__builtin_memcpy(USLAB_VOID(&_T), uslab_at, sizeof(_T)); \
		free_it;                                                 \
	}

/* Unused otherwise: Clang would warn of a variable that nobody reads but its cleanup. */
#define __free(name) __attribute__((__unused__, __cleanup__(__free_##name)))

/* The pointer at at, which becomes NULL. Of any type: by memcpy, since a void * is none of them. */
USLAB_MUST_CHECK static inline void *uslab_take_pointer(void *at)
{
	void *p;

	__builtin_memcpy(&p, at, sizeof(p));
	__builtin_memset(at, 0, sizeof(p));
	return p;
}

/* The value of the variable p, which becomes NULL: its memory is now somebody else's to free. */
#define no_free_ptr(p) USLAB_CAST(__typeof__(p), uslab_take_pointer(USLAB_VOID(&(p))))

/* Returns the value of p from the function that calls this; it is not freed. */
#define return_ptr(p) return no_free_ptr(p)

/* p becomes NULL, and what it pointed to stays: it was given to somebody else already. */
#define retain_and_null_ptr(p) ((void)((p) = NULL))

#ifdef __cplusplus
/* C's casts: a program's warnings are for its own code, also where this is no -isystem. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wold-style-cast"
#pragma GCC diagnostic ignored "-Wzero-as-null-pointer-constant"
#endif

static inline bool uslab_is_error(const void *p)
{
	return (uintptr_t)p >= (uintptr_t)-4095;
}

DEFINE_FREE(kfree, void *, if (!uslab_is_error(_T)) kfree(_T))
DEFINE_FREE(kfree_sensitive, void *, if (!uslab_is_error(_T)) kfree_sensitive(_T))
DEFINE_FREE(kvfree, void *, if (!uslab_is_error(_T)) kvfree(_T))
DEFINE_FREE(kfree_const, const void *, if (!uslab_is_error(_T)) kfree_const(_T))

#ifdef __cplusplus
#pragma GCC diagnostic pop
#endif

#endif /* USLAB_CLEANUP_H */
