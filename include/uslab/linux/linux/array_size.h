/* SPDX-License-Identifier: MIT */
/*
 * uslab/linux/linux/array_size.h - how many elements an array has
 */
#ifndef USLAB_LINUX_ARRAY_SIZE_H
#define USLAB_LINUX_ARRAY_SIZE_H

#if __has_include_next(<linux/array_size.h>)
#include_next <linux/array_size.h>
#endif

#include <linux/build_bug.h>
#include <linux/compiler.h>

/* A pointer is an error of the compiler. */
#ifndef ARRAY_SIZE
#define ARRAY_SIZE(array) \
	(sizeof(array) / sizeof((array)[0]) + BUILD_BUG_ON_ZERO(__same_type((array), &(array)[0])))
#endif

#endif /* USLAB_LINUX_ARRAY_SIZE_H */
