/* SPDX-License-Identifier: MIT */
/*
 * uslab/linux/linux/cleanup.h - what ends with the scope of a variable: memory, and locks
 *
 *	guard(mutex)(&lock);				to the end of the block
 *	scoped_guard (spinlock, &lock) { ... }		in the braces
 */
#ifndef USLAB_LINUX_CLEANUP_H
#define USLAB_LINUX_CLEANUP_H

#include <linux/compiler.h>

#include <uslab/cleanup.h>

/**
 * DEFINE_GUARD - makes guard(name)
 * @type: of the lock: a pointer
 * @lock, @unlock: statements; _T is the lock
 */
#define DEFINE_GUARD(name, type, lock, unlock)                 \
	static inline type uslab_begin_##name(type _T)         \
	{                                                      \
		lock;                                          \
		return _T;                                     \
	}                                                      \
	static inline void uslab_finish_##name(void *uslab_at) \
	{                                                      \
		type _T = *(type *)uslab_at;                   \
                                                               \
		if (_T) {                                      \
			unlock;                                \
		}                                              \
	}                                                      \
	typedef type uslab_guard_##name

#define USLAB_GUARD(name, variable) \
	uslab_guard_##name variable \
		__attribute__((__unused__, __cleanup__(uslab_finish_##name))) = uslab_begin_##name
#define guard(name) USLAB_GUARD(name, __UNIQUE_ID(guard))

#define scoped_guard(name, ...)                                                                 \
	for (USLAB_GUARD(name, uslab_scope)(__VA_ARGS__), uslab_once = uslab_scope; uslab_once; \
	     uslab_once = NULL)

#endif /* USLAB_LINUX_CLEANUP_H */
