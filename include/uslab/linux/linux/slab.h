/* SPDX-License-Identifier: MIT */
/*
 * uslab/linux/linux/slab.h - object caches and kmalloc: <uslab/slab.h>
 *
 * With what the kernel's header includes, as far as it is there; kfree_rcu() comes with
 * <linux/rcupdate.h>. A kernel tree's own header (a stand-in that is made on malloc) is hidden.
 */
#ifndef USLAB_LINUX_SLAB_H
#define USLAB_LINUX_SLAB_H

#include <linux/cleanup.h>
#include <linux/gfp.h>
#include <linux/overflow.h>
#include <linux/string.h>
#include <linux/types.h>

#include <uslab/slab.h>

#endif /* USLAB_LINUX_SLAB_H */
