/* SPDX-License-Identifier: MIT */
/*
 * uslab/gfp.h - allocation flags, with the kernel's names and values
 *
 * Values: Linux 6.1, include/linux/gfp_types.h. What they do in user space:
 *
 *	__GFP_ZERO           the object is cleared
 *	__GFP_THISNODE       no other node
 *	__GFP_NOWARN         no message when out of memory
 *	__GFP_ACCOUNT        charged to the thread's group, see <uslab/group.h>
 *	__GFP_RECLAIMABLE    another kmalloc cache, as in the kernel
 *	__GFP_DIRECT_RECLAIM shrinkers may be called; failslab leaves the request, as in the kernel
 *	__GFP_NOFAIL         charged beyond the group's limit; failslab leaves it. The result may be
 *	                     NULL all the same, when memory is out or another limit is met
 *	__GFP_DMA, __GFP_DMA32, __GFP_HIGHMEM   the object is no guarded one
 *
 * The rest is accepted and has no effect: an allocation never sleeps for reclaim.
 */
#ifndef USLAB_GFP_H
#define USLAB_GFP_H

typedef unsigned int gfp_t;

#define __GFP_DMA 0x01u
#define __GFP_HIGHMEM 0x02u
#define __GFP_DMA32 0x04u
#define __GFP_MOVABLE 0x08u
#define __GFP_RECLAIMABLE 0x10u
#define __GFP_HIGH 0x20u
#define __GFP_IO 0x40u
#define __GFP_FS 0x80u
#define __GFP_ZERO 0x100u
#define __GFP_ATOMIC 0x200u
#define __GFP_DIRECT_RECLAIM 0x400u
#define __GFP_KSWAPD_RECLAIM 0x800u
#define __GFP_WRITE 0x1000u
#define __GFP_NOWARN 0x2000u
#define __GFP_RETRY_MAYFAIL 0x4000u
#define __GFP_NOFAIL 0x8000u
#define __GFP_NORETRY 0x10000u
#define __GFP_MEMALLOC 0x20000u
#define __GFP_COMP 0x40000u
#define __GFP_NOMEMALLOC 0x80000u
#define __GFP_HARDWALL 0x100000u
#define __GFP_THISNODE 0x200000u
#define __GFP_ACCOUNT 0x400000u
#define __GFP_ZEROTAGS 0x800000u
#define __GFP_SKIP_ZERO 0x1000000u
#define __GFP_NOLOCKDEP 0x8000000u

#define __GFP_RECLAIM (__GFP_DIRECT_RECLAIM | __GFP_KSWAPD_RECLAIM)
#define GFP_ATOMIC (__GFP_HIGH | __GFP_ATOMIC | __GFP_KSWAPD_RECLAIM)
#define GFP_KERNEL (__GFP_RECLAIM | __GFP_IO | __GFP_FS)
#define GFP_KERNEL_ACCOUNT (GFP_KERNEL | __GFP_ACCOUNT)
#define GFP_NOWAIT __GFP_KSWAPD_RECLAIM
#define GFP_NOIO __GFP_RECLAIM
#define GFP_NOFS (__GFP_RECLAIM | __GFP_IO)
#define GFP_USER (__GFP_RECLAIM | __GFP_IO | __GFP_FS | __GFP_HARDWALL)
#define GFP_DMA __GFP_DMA
#define GFP_DMA32 __GFP_DMA32

#define NUMA_NO_NODE (-1)

#endif /* USLAB_GFP_H */
