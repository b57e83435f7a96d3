/* SPDX-License-Identifier: MIT */
/*
 * uslab/linux/linux/init.h - functions that run before main(), in the order of their links
 *
 * One that fails ends the program, with a message.
 */
#ifndef USLAB_LINUX_INIT_H
#define USLAB_LINUX_INIT_H

#if __has_include_next(<linux/init.h>)
#include_next <linux/init.h>
#else

#include <linux/compiler.h>
#include <linux/uslab_initcall.h>

#define __init
#define __initdata
#define __initconst
#define __exit
#define __exitdata
#define __ref

#define early_initcall(function) USLAB_INITCALL(function)
#define core_initcall(function) USLAB_INITCALL(function)
#define subsys_initcall(function) USLAB_INITCALL(function)
#define fs_initcall(function) USLAB_INITCALL(function)
#define device_initcall(function) USLAB_INITCALL(function)
#define late_initcall(function) USLAB_INITCALL(function)

#endif
#endif /* USLAB_LINUX_INIT_H */
