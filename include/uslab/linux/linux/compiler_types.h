/* SPDX-License-Identifier: MIT */
/*
 * uslab/linux/linux/compiler_types.h - a part of <linux/compiler.h>
 */
#ifndef USLAB_LINUX_COMPILER_TYPES_H
#define USLAB_LINUX_COMPILER_TYPES_H

#if __has_include_next(<linux/compiler_types.h>)
#include_next <linux/compiler_types.h>
#else
#include <linux/compiler.h>
#endif

#endif /* USLAB_LINUX_COMPILER_TYPES_H */
