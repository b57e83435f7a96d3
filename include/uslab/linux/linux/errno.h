/* SPDX-License-Identifier: MIT */
/*
 * uslab/linux/linux/errno.h - error numbers: libc's, and those that the kernel keeps to itself
 *
 * libc's <errno.h> includes this as well.
 */
#ifndef USLAB_LINUX_ERRNO_H
#define USLAB_LINUX_ERRNO_H

#if __has_include_next(<linux/errno.h>)
#include_next <linux/errno.h>
#else
#include <errno.h>
#endif

#ifndef ENOTSUPP
#define ERESTARTSYS 512
#define EPROBE_DEFER 517
#define ENOTSUPP 524
#endif

#endif /* USLAB_LINUX_ERRNO_H */
