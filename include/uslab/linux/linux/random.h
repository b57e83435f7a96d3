/* SPDX-License-Identifier: MIT */
/*
 * uslab/linux/linux/random.h - random numbers, of getrandom(2)
 */
#ifndef USLAB_LINUX_RANDOM_H
#define USLAB_LINUX_RANDOM_H

#if __has_include_next(<linux/random.h>)
#include_next <linux/random.h>
#endif

#include <linux/types.h>

#ifndef USLAB_KERNEL_TREE
#include <sys/random.h>

static inline void get_random_bytes(void *to, size_t size)
{
	char *at = to;

	while (size) {
		ssize_t got = getrandom(at, size, 0);

		if (got > 0) {
			at += got;
			size -= (size_t)got;
		}
	}
}

static inline u32 get_random_u32(void)
{
	u32 n;

	get_random_bytes(&n, sizeof(n));
	return n;
}

static inline u64 get_random_u64(void)
{
	u64 n;

	get_random_bytes(&n, sizeof(n));
	return n;
}

/* 0 .. end - 1 */
static inline u32 get_random_u32_below(u32 end)
{
	return (u32)((u64)get_random_u32() * end >> 32);
}
#endif

#endif /* USLAB_LINUX_RANDOM_H */
