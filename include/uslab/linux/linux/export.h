/* SPDX-License-Identifier: MIT */
/*
 * uslab/linux/linux/export.h - what modules may call: here every name that is not static
 */
#ifndef USLAB_LINUX_EXPORT_H
#define USLAB_LINUX_EXPORT_H

#if __has_include_next(<linux/export.h>)
#include_next <linux/export.h>
#else
#define EXPORT_SYMBOL(name) extern __typeof__(name) name
#define EXPORT_SYMBOL_GPL(name) EXPORT_SYMBOL(name)
#define EXPORT_SYMBOL_NS(name, space) EXPORT_SYMBOL(name)
#define EXPORT_SYMBOL_NS_GPL(name, space) EXPORT_SYMBOL(name)
#define THIS_MODULE ((struct module *)0)
#endif

#endif /* USLAB_LINUX_EXPORT_H */
