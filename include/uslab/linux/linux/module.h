/* SPDX-License-Identifier: MIT */
/*
 * uslab/linux/linux/module.h - a module is a part of the program
 *
 * Its init function is called before main(), its exit function after it. Parameters keep the values
 * that their variables have. Messages and error numbers come with it, as in the kernel. A kernel
 * tree's own header, which makes nothing of all this, is hidden.
 */
#ifndef USLAB_LINUX_MODULE_H
#define USLAB_LINUX_MODULE_H

#include <linux/errno.h>
#include <linux/export.h>
#include <linux/init.h>
#include <linux/printk.h>
#include <linux/uslab_initcall.h>

/* Some programs have their own for some of these. */
#ifndef module_init
#define module_init(function) USLAB_INITCALL(function)
#endif
#ifndef module_exit
#define module_exit(function)                                                   \
	static __attribute__((__destructor__)) void uslab_call_##function(void) \
	{                                                                       \
		function();                                                     \
	}                                                                       \
	extern __typeof__(function) function
#endif

#define USLAB_NOTHING _Static_assert(1, "")
#ifndef MODULE_LICENSE
#define MODULE_LICENSE(text) USLAB_NOTHING
#endif
#ifndef MODULE_AUTHOR
#define MODULE_AUTHOR(text) USLAB_NOTHING
#endif
#ifndef MODULE_DESCRIPTION
#define MODULE_DESCRIPTION(text) USLAB_NOTHING
#endif
#ifndef MODULE_VERSION
#define MODULE_VERSION(text) USLAB_NOTHING
#endif
#ifndef MODULE_ALIAS
#define MODULE_ALIAS(text) USLAB_NOTHING
#endif
#ifndef MODULE_PARM_DESC
#define MODULE_PARM_DESC(name, text) USLAB_NOTHING
#endif
#ifndef module_param
#define module_param(name, type, mode) USLAB_NOTHING
#endif
#ifndef module_param_named
#define module_param_named(name, variable, type, mode) USLAB_NOTHING
#endif

#endif /* USLAB_LINUX_MODULE_H */
