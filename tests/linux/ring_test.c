/* SPDX-License-Identifier: MIT */
/*
 * ring_test.c - kernel code: rings of slots, as many as a power of two, each on its own cache lines
 */
#include <linux/bitops.h>
#include <linux/cache.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/module.h>
#include <linux/overflow.h>
#include <linux/slab.h>

#define LEAST_SLOTS MAX(L1_CACHE_BYTES / 16, 3)
#define MOST_SLOTS MIN(1 << 10, 4096)

struct slot {
	unsigned long value;
} ____cacheline_aligned_in_smp;

struct ring {
	unsigned int order;
	unsigned int head;
	unsigned int tail;
	struct slot slots[];
};

static struct ring *ring_create(unsigned int slots)
{
	unsigned int order = fls_long(clamp_t(unsigned long, slots, LEAST_SLOTS, MOST_SLOTS) - 1);
	struct ring *ring = kzalloc(struct_size(ring, slots, 1u << order), GFP_KERNEL);

	if (ring)
		ring->order = order;
	return ring;
}

static int ring_put(struct ring *ring, unsigned long value)
{
	if ((ring->head - ring->tail) >> ring->order)
		return -ENOSPC;
	ring->slots[ring->head++ & ((1u << ring->order) - 1)].value = value;
	return 0;
}

static unsigned long ring_take(struct ring *ring)
{
	return ring->slots[ring->tail++ & ((1u << ring->order) - 1)].value;
}

static void check_sizes(void)
{
	static const struct {
		unsigned int wanted, got;
	} rows[] = { { 0, 4 },	{ 4, 4 },	{ 5, 8 },      { 8, 8 },
		     { 9, 16 }, { 1000, 1024 }, { 9999, 1024 } };

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct ring *ring = ring_create(rows[i].wanted);

		BUG_ON(!ring || 1u << ring->order != rows[i].got);
		for (unsigned long n = 0; n < rows[i].got; n++)
			BUG_ON(ring_put(ring, n));
		BUG_ON(ring_put(ring, 0) != -ENOSPC);
		for (unsigned long n = 0; n < rows[i].got; n++)
			BUG_ON(ring_take(ring) != n);
		kfree(ring);
	}
}

static int __init ring_init(void)
{
	struct slot *slot;
	struct kmem_cache *slots;

	BUG_ON(sizeof(char[MIN(3, 2)][MAX(1, 2)]) != 4); /* constants */
	check_sizes();

	slots = kmem_cache_create("ring_slots", 40, 0, SLAB_HWCACHE_ALIGN, NULL);
	slot = slots ? kmem_cache_alloc(slots, GFP_KERNEL) : NULL;
	if (!slot)
		return -ENOMEM;
	BUG_ON((unsigned long)slot % L1_CACHE_BYTES);
	kmem_cache_free(slots, slot);
	kmem_cache_destroy(slots);
	return 0;
}
module_init(ring_init);

MODULE_LICENSE("MIT");
MODULE_DESCRIPTION("Rings");
