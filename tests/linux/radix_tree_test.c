/* SPDX-License-Identifier: MIT */
/*
 * radix_tree_test.c - kernel code: numbers to pointers, by six bits at a time
 *
 * As deep as the greatest number needs. A node counts what it has, and is freed with the last.
 */
#define pr_fmt(fmt) "radix: " fmt

#include <linux/bitops.h>
#include <linux/err.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/spinlock.h>

#define SHIFT 6
#define SLOTS BIT(SHIFT)
#define MAX_DEPTH DIV_ROUND_UP(BITS_PER_LONG, SHIFT)

struct radix_node {
	unsigned int count;
	unsigned long used; /* by slot */
	void *slots[SLOTS];
};

struct radix_root {
	spinlock_t lock;
	unsigned int depth;
	struct radix_node *top;
};

static struct kmem_cache *nodes;

static unsigned int slot_of(unsigned long index, unsigned int level)
{
	return (index >> (level * SHIFT)) & (SLOTS - 1);
}

static bool too_shallow(const struct radix_root *root, unsigned long index)
{
	return root->depth < MAX_DEPTH && index >> (root->depth * SHIFT);
}

static void slot_set(struct radix_node *node, unsigned int slot, void *value)
{
	node->slots[slot] = value;
	node->count++;
	__set_bit(slot, &node->used);
}

/* Makes levels on top until index fits. */
static int radix_extend(struct radix_root *root, unsigned long index)
{
	struct radix_node *node;

	while (!root->top || too_shallow(root, index)) {
		node = kmem_cache_zalloc(nodes, GFP_ATOMIC);
		if (!node)
			return -ENOMEM;
		if (root->top)
			slot_set(node, 0, root->top);
		root->top = node;
		root->depth++;
	}
	return 0;
}

static int radix_insert(struct radix_root *root, unsigned long index, void *value)
{
	struct radix_node *node, *child;
	unsigned int level;
	int error;

	spin_lock(&root->lock);
	error = radix_extend(root, index);
	if (error)
		goto out;
	node = root->top;
	for (level = root->depth - 1; level; level--) {
		child = node->slots[slot_of(index, level)];
		if (!child) {
			child = kmem_cache_zalloc(nodes, GFP_ATOMIC);
			error = child ? 0 : -ENOMEM;
			if (error)
				goto out;
			slot_set(node, slot_of(index, level), child);
		}
		node = child;
	}
	if (test_bit(slot_of(index, 0), &node->used))
		error = -EEXIST;
	else
		slot_set(node, slot_of(index, 0), value);
out:
	spin_unlock(&root->lock);
	return error;
}

static void *radix_lookup(struct radix_root *root, unsigned long index)
{
	void *at = root->top;
	unsigned int level;

	if (too_shallow(root, index))
		return NULL;
	for (level = root->depth; level && at; level--)
		at = ((struct radix_node *)at)->slots[slot_of(index, level - 1)];
	return at;
}

static void *radix_delete(struct radix_root *root, unsigned long index)
{
	struct radix_node *path[MAX_DEPTH], *node = root->top;
	void *value = radix_lookup(root, index);
	unsigned int level;

	if (!value)
		return NULL;
	for (level = root->depth; level; level--) {
		path[level - 1] = node;
		node = node->slots[slot_of(index, level - 1)];
	}
	for (level = 0; level < root->depth; level++) {
		node = path[level];
		node->slots[slot_of(index, level)] = NULL;
		__clear_bit(slot_of(index, level), &node->used);
		if (--node->count)
			return value;
		kmem_cache_free(nodes, node);
	}
	root->top = NULL;
	root->depth = 0;
	return value;
}

/* The least index under node. */
static unsigned long radix_first(const struct radix_node *node, unsigned int level)
{
	unsigned long slot = __ffs(node->used);

	return (slot << (level * SHIFT)) | (level ? radix_first(node->slots[slot], level - 1) : 0);
}

static int __init radix_init(void)
{
	static const unsigned long indices[] = { 5, 0, 63, 64, 4095, 4096, 1ul << 40, ~0ul };
	struct radix_root root = { .lock = __SPIN_LOCK_UNLOCKED(root.lock) };
	unsigned long i;

	nodes = kmem_cache_create("radix_test_node", sizeof(struct radix_node), 0,
				  SLAB_RECLAIM_ACCOUNT, NULL);
	if (!nodes)
		return -ENOMEM;

	for (i = 0; i < ARRAY_SIZE(indices); i++) {
		BUG_ON(radix_lookup(&root, indices[i]));
		BUG_ON(radix_insert(&root, indices[i], (void *)(i + 1)));
		BUG_ON(radix_insert(&root, indices[i], &root) != -EEXIST);
	}
	BUG_ON(root.depth != MAX_DEPTH);
	for (i = 0; i < ARRAY_SIZE(indices); i++)
		BUG_ON(radix_lookup(&root, indices[i]) != (void *)(i + 1));
	BUG_ON(radix_lookup(&root, 6) || radix_delete(&root, 1ul << 41));
	BUG_ON(radix_first(root.top, root.depth - 1) != 0);
	for (i = 0; i < ARRAY_SIZE(indices); i++)
		BUG_ON(radix_delete(&root, indices[i]) != (void *)(i + 1));
	BUG_ON(root.top || root.depth);

	for (i = 0; i < 10000; i++)
		BUG_ON(radix_insert(&root, i * 7, &root));
	for (i = 0; i < 70000; i++)
		BUG_ON(radix_lookup(&root, i) != (i % 7 ? NULL : &root));
	for (i = 0; i < 10000; i++)
		BUG_ON(radix_delete(&root, i * 7) != &root);
	BUG_ON(root.top);
	kmem_cache_destroy(nodes);
	return 0;
}

module_init(radix_init);
MODULE_LICENSE("Dual MIT/GPL");
