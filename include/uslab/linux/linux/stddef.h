/* SPDX-License-Identifier: MIT */
/*
 * uslab/linux/linux/stddef.h - members of structures: their sizes, their ends, groups of them
 */
#ifndef USLAB_LINUX_STDDEF_H
#define USLAB_LINUX_STDDEF_H

#include <stddef.h>
#include <stdbool.h>

#if __has_include_next(<linux/stddef.h>)
#include_next <linux/stddef.h>
#endif

#ifndef sizeof_field
#define sizeof_field(type, member) sizeof(((type *)0)->member)
#endif
#ifndef offsetofend
#define offsetofend(type, member) (offsetof(type, member) + sizeof_field(type, member))
#endif

/* The members by themselves and, once more, as a structure of that name. */
#ifndef struct_group
#define struct_group(name, ...)     \
	union {                     \
		struct {            \
			__VA_ARGS__ \
		};                  \
		struct {            \
			__VA_ARGS__ \
		} name;             \
	}
#endif

/* An array without a size in a union, or as the only member. */
#ifndef DECLARE_FLEX_ARRAY
#define DECLARE_FLEX_ARRAY(type, name) \
	struct {                       \
		struct {               \
		} uslab_empty_##name;  \
		type name[];           \
	}
#endif

#endif /* USLAB_LINUX_STDDEF_H */
