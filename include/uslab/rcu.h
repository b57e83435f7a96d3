/* SPDX-License-Identifier: MIT */
/*
 * uslab/rcu.h - memory that is freed after a grace period of RCU: kfree_rcu() and its relatives
 *
 * The kernel has these names in <linux/rcupdate.h> and <linux/slab.h>. There is no RCU in this
 * library: the program binds the one that its readers use, once, by uslab_set_rcu(). With liburcu
 * that is one call of libuslab_rcu, see <uslab/urcu.h>. Until then kfree_rcu() keeps what it is
 * given, and says so once; nothing of it is lost. Caches with SLAB_TYPESAFE_BY_RCU need an RCU when
 * they are made.
 *
 * struct rcu_head, two words for programs to embed, is also liburcu's. To use both, include a
 * header of liburcu (<urcu.h>, ...) before this one, which then takes the struct from there; no
 * other name is defined by both. rcu_read_lock(), call_rcu(), synchronize_rcu() and rcu_barrier()
 * are those of the RCU. As in the kernel rcu_barrier() waits for call_rcu() only, and
 * kvfree_rcu_barrier() for what this header frees.
 *
 * Any thread may call all of these, also between rcu_read_lock() and rcu_read_unlock() but where
 * something else is said. Why it is as it is: docs/adr/0045.
 */
#ifndef USLAB_RCU_H
#define USLAB_RCU_H

#include <uslab/slab.h>

#ifdef __cplusplus
extern "C" {
#endif

/* _URCU_CALL_RCU_H: liburcu's is here; rcu_head: the program has another name for its own. */
#if !defined(_URCU_CALL_RCU_H) && !defined(rcu_head)
struct rcu_head {
	struct rcu_head *next;
	void (*func)(struct rcu_head *head);
};
#endif

/* ---- the program's RCU ---- */

/*
 * Bytes, aligned to 16, that call() of struct uslab_rcu_ops may use at the head that it is given,
 * until it calls func.
 */
#define USLAB_RCU_HEAD_BYTES 64

/**
 * struct uslab_rcu_ops - the RCU of the program's readers
 * @call:        calls func(head) once, after a grace period that begins now: when every reader that
 *               was inside has left. At any time later and in any thread, but not inside of a
 *               reader. Must not fail, nor wait for what a thread holds that forks. It is called by
 *               any thread that uses the library, which holds no lock of it, also by readers. If
 *               signal handlers of the program free memory, it must be safe there.
 * @synchronize: waits for a grace period. Not called by readers
 * @barrier:     waits until all functions that call() was given before have returned. Likewise
 *
 * call(), synchronize() and barrier() may allocate and free, but not by kfree_rcu().
 */
struct uslab_rcu_ops {
	void (*call)(struct rcu_head *head, void (*func)(struct rcu_head *head));
	void (*synchronize)(void);
	void (*barrier)(void);
};

/**
 * uslab_set_rcu - binds the RCU that the program's readers use, for the life of the process
 * @ops: copied; with liburcu { call_rcu, synchronize_rcu, rcu_barrier }
 *
 * What kfree_rcu() was given before waits for its grace period from now on. Returns 0; -EINVAL: a
 * function is missing; -EBUSY: another RCU is bound already; -ENOMEM: the library could not start.
 * A second call with the same functions is 0. Not for signal handlers.
 */
USLAB_API int uslab_set_rcu(const struct uslab_rcu_ops *ops);

/* ---- memory that readers may still look at ---- */

/**
 * kvfree_call_rcu - frees ptr after a grace period; programs call the macros below
 * @head: the struct rcu_head in the block, which is the library's from now on; NULL: there is none
 * @ptr:  as for kfree(); NULL and ZERO_SIZE_PTR are ignored
 *
 * The block may not be freed or written to any more, but readers may read all of it but the head.
 * Blocks wait in arrays by CPU; a full array is handed to the RCU by one call(), and the blocks are
 * freed together when that is done. An array that is not full waits for more, for
 * kvfree_rcu_barrier(), kmem_cache_shrink(), kmem_cache_reap(), or until memory is short. No memory
 * is needed where there is a head. Where there is none and no memory either, it waits for a grace
 * period itself: not to be called by readers.
 *
 * Reported, and then not done: ptr is no block of this library, or is free; it waits already; its
 * head was written to while it waited, by who freed it otherwise, say.
 */
USLAB_API void kvfree_call_rcu(struct rcu_head *head, void *ptr);

/*
 * Frees what ptr points to after a grace period; member: its struct rcu_head. ptr NULL is ignored.
 * In the kernel the second form is only for memory of kvmalloc(); here they are the same.
 */
#define kfree_rcu(...) USLAB_RCU_FORM(__VA_ARGS__, USLAB_RCU_HEAD, USLAB_RCU_NONE, )(__VA_ARGS__)
#define kvfree_rcu(...) kfree_rcu(__VA_ARGS__)

/* The same from any context, where kfree() may be called (kernel: since 7.3). */
#define kfree_rcu_nolock(ptr, member) USLAB_RCU_HEAD(ptr, member)

/* Without a struct rcu_head: may wait, see kvfree_call_rcu(). kfree_rcu(ptr) was this until 6.1. */
#define kfree_rcu_mightsleep(ptr) USLAB_RCU_NONE(ptr)
#define kvfree_rcu_mightsleep(ptr) USLAB_RCU_NONE(ptr)

#define USLAB_RCU_FORM(first, second, form, ...) form
#define USLAB_RCU_HEAD(ptr, member)                                                         \
	do {                                                                                \
		__typeof__(ptr) uslab_rcu_ptr = (ptr);                                      \
		if (uslab_rcu_ptr)                                                          \
			kvfree_call_rcu(&uslab_rcu_ptr->member, USLAB_VOID(uslab_rcu_ptr)); \
	} while (0)
#define USLAB_RCU_NONE(ptr) kvfree_call_rcu(NULL, USLAB_VOID(ptr))

/**
 * kvfree_rcu_barrier - waits until all is free that kfree_rcu() was given before
 *
 * Returns at once if nothing waits, and if no RCU is bound. Not to be called by readers, by the
 * RCU's own thread, nor by signal handlers.
 */
USLAB_API void kvfree_rcu_barrier(void);

/* The same for the objects of one cache; returns at once if none of them waits. */
USLAB_API void kvfree_rcu_barrier_on_cache(struct kmem_cache *s);

#ifdef __cplusplus
}
#endif

#endif /* USLAB_RCU_H */
