/* SPDX-License-Identifier: MIT */
/*
 * uslab/linux/linux/container_of.h - the structure that a member lies in
 */
#ifndef USLAB_LINUX_CONTAINER_OF_H
#define USLAB_LINUX_CONTAINER_OF_H

#if __has_include_next(<linux/container_of.h>)
#include_next <linux/container_of.h>
#endif

#include <linux/build_bug.h>
#include <linux/compiler.h>
#include <linux/stddef.h>

#ifndef container_of
#define container_of(ptr, type, member)                                             \
	(__extension__({                                                            \
		void *uslab_member = (void *)(ptr);                                 \
                                                                                    \
		_Static_assert(__same_type(*(ptr), ((type *)0)->member) ||          \
				       __same_type(*(ptr), void),                   \
			       "container_of: the pointer is not one to " #member); \
		(type *)((char *)uslab_member - offsetof(type, member));            \
	}))
#endif
#ifndef container_of_const
#define container_of_const(ptr, type, member) container_of(ptr, type, member)
#endif

#endif /* USLAB_LINUX_CONTAINER_OF_H */
