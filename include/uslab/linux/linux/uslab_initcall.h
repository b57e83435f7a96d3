/* SPDX-License-Identifier: MIT */
/*
 * uslab/linux/linux/uslab_initcall.h - functions that run before main(): for <linux/init.h> and
 * <linux/module.h>
 */
#ifndef USLAB_LINUX_USLAB_INITCALL_H
#define USLAB_LINUX_USLAB_INITCALL_H

#include <stdio.h>
#include <stdlib.h>

static inline void uslab_run_initcall(int (*function)(void), const char *name)
{
	int error = function();

	if (error) {
		fprintf(stderr, "initcall %s returned %d\n", name, error);
		exit(1);
	}
}

#define USLAB_INITCALL(function)                                                 \
	static __attribute__((__constructor__)) void uslab_call_##function(void) \
	{                                                                        \
		uslab_run_initcall(function, #function);                         \
	}                                                                        \
	extern __typeof__(function) function

#endif /* USLAB_LINUX_USLAB_INITCALL_H */
