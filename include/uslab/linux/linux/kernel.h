/* SPDX-License-Identifier: MIT */
/*
 * uslab/linux/linux/kernel.h - what kernel code expects everywhere
 */
#ifndef USLAB_LINUX_KERNEL_H
#define USLAB_LINUX_KERNEL_H

#include <stdio.h>
#include <stdlib.h>

#include <linux/types.h>

#if __has_include_next(<linux/kernel.h>)
#include_next <linux/kernel.h>
#endif

#include <linux/align.h>
#include <linux/array_size.h>
#include <linux/bitops.h>
#include <linux/bug.h>
#include <linux/build_bug.h>
#include <linux/compiler.h>
#include <linux/container_of.h>
#include <linux/errno.h>
#include <linux/limits.h>
#include <linux/log2.h>
#include <linux/math.h>
#include <linux/minmax.h>
#include <linux/printk.h>
#include <linux/sprintf.h>
#include <linux/stddef.h>
#include <linux/stringify.h>

#ifndef upper_32_bits
#define upper_32_bits(n) ((u32)((u64)(n) >> 32))
#endif
#ifndef lower_32_bits
#define lower_32_bits(n) ((u32)(n))
#endif
#ifndef might_sleep
#define might_sleep() ((void)0)
#endif
#ifndef might_sleep_if
#define might_sleep_if(condition) ((void)(condition))
#endif
#ifndef panic
#define panic(...) (printk(KERN_EMERG "Kernel panic: " __VA_ARGS__), abort())
#endif

#endif /* USLAB_LINUX_KERNEL_H */
