/* SPDX-License-Identifier: MIT */
/*
 * uslab/linux/linux/mempool.h - memory pools: <uslab/mempool.h>
 */
#ifndef USLAB_LINUX_MEMPOOL_H
#define USLAB_LINUX_MEMPOOL_H

#include <linux/compiler.h>
#include <linux/slab.h>

#include <uslab/mempool.h>

#endif /* USLAB_LINUX_MEMPOOL_H */
