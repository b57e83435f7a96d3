/* SPDX-License-Identifier: MIT */
/*
 * uslab/linux/linux/lockdep.h - the kernel's checks of locks: here nothing
 */
#ifndef USLAB_LINUX_LOCKDEP_H
#define USLAB_LINUX_LOCKDEP_H

#if __has_include_next(<linux/lockdep.h>)
#include_next <linux/lockdep.h>
#else

struct lock_class_key {
	char unused;
};

#define lockdep_assert_held(lock) ((void)(lock))
#define lockdep_assert_held_read(lock) ((void)(lock))
#define lockdep_assert_held_write(lock) ((void)(lock))
#define lockdep_assert_not_held(lock) ((void)(lock))
#define lockdep_is_held(lock) ((void)(lock), 1)
#define lockdep_set_class(lock, key) ((void)(lock), (void)(key))
#define lockdep_set_class_and_name(lock, key, name) ((void)(lock), (void)(key), (void)(name))

#endif

#ifndef SINGLE_DEPTH_NESTING
#define SINGLE_DEPTH_NESTING 1
#endif

#endif /* USLAB_LINUX_LOCKDEP_H */
