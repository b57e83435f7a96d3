/* SPDX-License-Identifier: MIT */
/*
 * uslab/linux/linux/compiler_attributes.h - a part of <linux/compiler.h>
 */
#ifndef USLAB_LINUX_COMPILER_ATTRIBUTES_H
#define USLAB_LINUX_COMPILER_ATTRIBUTES_H

#if __has_include_next(<linux/compiler_attributes.h>)
#include_next <linux/compiler_attributes.h>
#else
#include <linux/compiler.h>
#endif

#endif /* USLAB_LINUX_COMPILER_ATTRIBUTES_H */
