/* SPDX-License-Identifier: MIT */
/*
 * uslab/linux/linux/types.h - integers by their size, and what structures of the kernel consist of
 *
 * A kernel tree's own header where its folder follows, but for these, which are always ours: gfp_t
 * and its flags (in some trees they are an enumeration), atomic64_t and atomic_long_t. struct
 * rcu_head comes with <linux/rcupdate.h>, since it may be liburcu's.
 *
 * Why the folder is as it is: docs/adr/0052.
 */
#ifndef USLAB_LINUX_TYPES_H
#define USLAB_LINUX_TYPES_H

#if __has_include_next(<linux/list.h>)
#define USLAB_KERNEL_TREE 1
#include <linux/uslab_types_begin.h>
#include_next <linux/types.h>
#include <linux/uslab_types_end.h>
#elif __has_include_next(<linux/types.h>)
#include_next <linux/types.h> /* the system's: __u8 to __be64 */
#define USLAB_SYSTEM_TYPES 1
#endif

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <uslab/gfp.h>

#ifndef USLAB_KERNEL_TREE
#ifndef USLAB_SYSTEM_TYPES
typedef unsigned char __u8;
typedef signed char __s8;
typedef unsigned short __u16;
typedef short __s16;
typedef unsigned int __u32;
typedef int __s32;
typedef unsigned long long __u64;
typedef long long __s64;
typedef __u16 __le16;
typedef __u32 __le32;
typedef __u64 __le64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u64 __be64;
#endif

typedef __u8 u8;
typedef __s8 s8;
typedef __u16 u16;
typedef __s16 s16;
typedef __u32 u32;
typedef __s32 s32;
typedef __u64 u64;
typedef __s64 s64;

typedef unsigned short umode_t;
typedef unsigned long pgoff_t;
typedef u64 sector_t;
typedef u64 phys_addr_t;
typedef u64 dma_addr_t;
typedef phys_addr_t resource_size_t;

typedef struct {
	int counter;
} atomic_t;

struct list_head {
	struct list_head *next;
	struct list_head *prev;
};

struct hlist_node {
	struct hlist_node *next;
	struct hlist_node **pprev; /* the pointer that points here */
};

struct hlist_head {
	struct hlist_node *first;
};

#define BITS_PER_LONG 64
#define DECLARE_BITMAP(name, bits) unsigned long name[((bits) + BITS_PER_LONG - 1) / BITS_PER_LONG]
#endif

typedef struct {
	s64 counter;
} atomic64_t;

typedef struct {
	long counter;
} atomic_long_t;

#endif /* USLAB_LINUX_TYPES_H */
