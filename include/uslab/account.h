/* SPDX-License-Identifier: MIT */
/*
 * uslab/account.h - inline hit paths for objects that are charged to accounting groups
 *
 * For caches that several groups share (<uslab/group.h>). With SLAB_ACCOUNT alone each call looks
 * for what an object is charged to, out of line. Caches with USLAB_ACCOUNT_INLINE keep that in 8
 * bytes behind each object, where these two functions find it: a pair takes 31 instructions, one of
 * kmem_cache_alloc() and kmem_cache_free() 25 where nothing is charged.
 *
 *     cache = kmem_cache_create("session", sizeof(struct session), 0, USLAB_ACCOUNT_INLINE, NULL);
 *     uslab_group_enter(tenant);
 *     session = kmem_cache_alloc_account(cache, GFP_KERNEL);
 *     kmem_cache_free_account(cache, session);
 *
 * A CPU has up to 30 objects for one group at a time, or for no group. Where threads of several
 * take turns on a CPU, calls go out of line until 32 have done so; then the objects are for the
 * group of the last one. An object that was written to behind its end is reported when it is freed.
 * Why: docs/adr/0071.
 */
#ifndef USLAB_ACCOUNT_H
#define USLAB_ACCOUNT_H

#include <uslab/group.h>
#include <uslab/slab.h>

#ifdef __cplusplus
/* C's NULL, as in <uslab/fastpath.h>. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wzero-as-null-pointer-constant"
extern "C" {
#endif

/* The key of the group that this thread is in, as <uslab/layout.h> has it. To be read only. */
USLAB_API extern __thread uint64_t uslab_group_key __attribute__((__tls_model__("initial-exec")));

/**
 * kmem_cache_alloc_account - as kmem_cache_alloc(), with a hit path for what is charged
 * @s:     any cache. If it has no USLAB_ACCOUNT_INLINE, or uslab could not do that for it, each
 *         call goes out of line
 * @flags: as there. What the object is charged to follows from @s and the thread's group
 *
 * Any function that frees objects of @s may free it. Signal handlers: as kmem_cache_alloc().
 */
USLAB_ALIGNED USLAB_INLINE void *kmem_cache_alloc_account(struct kmem_cache *s, gfp_t flags)
{
#if USLAB_HAVE_RSEQ
	void *obj = NULL;

	if (!(flags & __GFP_ZERO) &&
	    __builtin_expect(uslab_rseq_take_of(s, uslab_rseq_offset, uslab_group_key, &obj), 1))
		return obj;
#endif
	return uslab_cache_alloc(s, flags);
}

/* As kmem_cache_free(), likewise. obj: any object of s, however it was allocated; not NULL. */
USLAB_INLINE void kmem_cache_free_account(struct kmem_cache *s, void *obj)
{
#if USLAB_HAVE_RSEQ
	if (__builtin_expect(uslab_rseq_give_of(s, obj, uslab_rseq_offset), 1))
		return;
#endif
	uslab_cache_free(s, obj);
}

#ifdef USLAB_MEM_ALLOC_PROFILING
#define kmem_cache_alloc_account(...) USLAB_TAGGED_OF(kmem_cache_alloc_account, __VA_ARGS__)
#endif

#ifdef __cplusplus
}
#pragma GCC diagnostic pop
#endif

#endif /* USLAB_ACCOUNT_H */
