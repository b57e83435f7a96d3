/* SPDX-License-Identifier: MIT */
/*
 * uslab/linux/linux/printk.h - messages, on stderr
 *
 * Formats are printf(3)'s: %pS and its like are not there. pr_debug() writes nothing unless DEBUG
 * is defined. No rate is limited. dump_stack() does nothing.
 */
#ifndef USLAB_LINUX_PRINTK_H
#define USLAB_LINUX_PRINTK_H

#include <linux/types.h>

/* A kernel tree has these, or some of them, in <linux/kernel.h>. */
#ifdef USLAB_KERNEL_TREE
#include <linux/kernel.h>
#endif

#include <stdarg.h>
#include <stdio.h>

#include <linux/compiler.h>

#ifndef printk
#define KERN_SOH "\001"
#define KERN_EMERG KERN_SOH "0"
#define KERN_ALERT KERN_SOH "1"
#define KERN_CRIT KERN_SOH "2"
#define KERN_ERR KERN_SOH "3"
#define KERN_WARNING KERN_SOH "4"
#define KERN_NOTICE KERN_SOH "5"
#define KERN_INFO KERN_SOH "6"
#define KERN_DEBUG KERN_SOH "7"
#define KERN_DEFAULT ""
#define KERN_CONT KERN_SOH "c"

static inline __printf(1, 0) int vprintk(const char *format, va_list args)
{
	if (format[0] == KERN_SOH[0] && format[1])
		format += 2;
	return vfprintf(stderr, format, args);
}

static inline __printf(1, 2) int printk(const char *format, ...)
{
	va_list args;
	int length;

	va_start(args, format);
	length = vprintk(format, args);
	va_end(args);
	return length;
}

#endif

/* Nothing; the compiler checks the arguments. */
#ifndef no_printk
#define no_printk(...) ((void)(0 ? printk(__VA_ARGS__) : 0))
#endif

#ifndef pr_fmt
#define pr_fmt(format) format
#endif
#ifndef pr_err
#define pr_emerg(format, ...) printk(KERN_EMERG pr_fmt(format), ##__VA_ARGS__)
#define pr_alert(format, ...) printk(KERN_ALERT pr_fmt(format), ##__VA_ARGS__)
#define pr_crit(format, ...) printk(KERN_CRIT pr_fmt(format), ##__VA_ARGS__)
#define pr_err(format, ...) printk(KERN_ERR pr_fmt(format), ##__VA_ARGS__)
#define pr_warn(format, ...) printk(KERN_WARNING pr_fmt(format), ##__VA_ARGS__)
#define pr_notice(format, ...) printk(KERN_NOTICE pr_fmt(format), ##__VA_ARGS__)
#define pr_info(format, ...) printk(KERN_INFO pr_fmt(format), ##__VA_ARGS__)
#define pr_cont(format, ...) printk(KERN_CONT format, ##__VA_ARGS__)
#endif
#ifdef pr_debug
#elif defined(DEBUG)
#define pr_debug(format, ...) printk(KERN_DEBUG pr_fmt(format), ##__VA_ARGS__)
#else
#define pr_debug(format, ...) no_printk(KERN_DEBUG pr_fmt(format), ##__VA_ARGS__)
#endif

#define USLAB_ONCE(call)                                                    \
	do {                                                                \
		static int uslab_said;                                      \
                                                                            \
		if (!__atomic_exchange_n(&uslab_said, 1, __ATOMIC_RELAXED)) \
			call;                                               \
	} while (0)
#define printk_once(...) USLAB_ONCE(printk(__VA_ARGS__))
#define pr_err_once(...) USLAB_ONCE(pr_err(__VA_ARGS__))
#define pr_warn_once(...) USLAB_ONCE(pr_warn(__VA_ARGS__))
#define pr_info_once(...) USLAB_ONCE(pr_info(__VA_ARGS__))
#define printk_ratelimited(...) printk(__VA_ARGS__)
#define pr_err_ratelimited(...) pr_err(__VA_ARGS__)
#define pr_warn_ratelimited(...) pr_warn(__VA_ARGS__)

#ifndef USLAB_KERNEL_TREE
#define dump_stack() ((void)0)
#endif

#endif /* USLAB_LINUX_PRINTK_H */
