/* SPDX-License-Identifier: MIT */
/*
 * interval_tree_test.c - kernel code: intervals, and which of them contain a point
 *
 * A binary tree by start that is a heap by priority, which is a hash: so it is balanced. Each node
 * knows the greatest end below it.
 */
#define pr_fmt(fmt) "intervals: " fmt

#include <linux/hash.h>
#include <linux/kernel.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/slab.h>

#define NR 2000

struct interval {
	u64 start;
	u64 last;
	u64 max_last; /* of this node and those below */
	u32 priority;
	struct interval *child[2];
	struct list_head found;
};

static struct kmem_cache *intervals;

static u64 max_last(const struct interval *node)
{
	return node ? node->max_last : 0;
}

static void update(struct interval *node)
{
	node->max_last = max3(node->last, max_last(node->child[0]), max_last(node->child[1]));
}

/* The child on that side comes up. */
static struct interval *rotate(struct interval *node, int side)
{
	struct interval *up = node->child[side];

	node->child[side] = up->child[!side];
	up->child[!side] = node;
	update(node);
	update(up);
	return up;
}

static struct interval *insert(struct interval *root, struct interval *node)
{
	int side;

	if (!root) {
		update(node);
		return node;
	}
	side = node->start >= root->start;
	root->child[side] = insert(root->child[side], node);
	update(root);
	return root->child[side]->priority > root->priority ? rotate(root, side) : root;
}

static struct interval *erase(struct interval *root, struct interval *node)
{
	int side;

	if (root == node) {
		if (!node->child[0] || !node->child[1])
			return node->child[0] ?: node->child[1];
		side = node->child[1]->priority > node->child[0]->priority;
		root = rotate(node, side);
		root->child[!side] = erase(node, node);
	} else {
		side = node->start >= root->start;
		root->child[side] = erase(root->child[side], node);
	}
	update(root);
	return root;
}

/* All that contain point, into the list. */
static void stab(struct interval *root, u64 point, struct list_head *list)
{
	if (!root || max_last(root) < point)
		return;
	stab(root->child[0], point, list);
	if (root->start <= point && point <= root->last)
		list_add_tail(&root->found, list);
	if (root->start <= point)
		stab(root->child[1], point, list);
}

/* As many as a look at each of them finds, in order, each of which contains the point. */
static void check_stab(struct interval *root, struct interval **all, u64 point)
{
	struct interval *at, *next;
	unsigned int i, want = 0;
	u64 before = 0;
	LIST_HEAD(list);

	for (i = 0; i < NR; i++)
		want += all[i] && all[i]->start <= point && point <= all[i]->last;
	stab(root, point, &list);
	list_for_each_entry_safe(at, next, &list, found) {
		BUG_ON(at->start < before || at->start > point || at->last < point);
		before = at->start;
		list_del_init(&at->found);
		want--;
	}
	BUG_ON(want);
}

static int __init intervals_init(void)
{
	struct interval **all, *root = NULL;
	unsigned int i;

	intervals = KMEM_CACHE(interval, SLAB_HWCACHE_ALIGN);
	all = kcalloc(NR, sizeof(*all), GFP_KERNEL);
	if (!intervals || !all)
		return -ENOMEM;

	BUG_ON(kmem_cache_alloc_bulk(intervals, GFP_KERNEL, NR, (void **)all) != NR);
	for (i = 0; i < NR; i++) {
		all[i]->start = hash_64(2 * i + 1, 16);
		all[i]->last = all[i]->start + hash_64(2 * i + 2, 12);
		all[i]->priority = hash_32(i + 1, 32);
		all[i]->child[0] = all[i]->child[1] = NULL;
		root = insert(root, all[i]);
	}
	for (i = 0; i < U16_MAX; i += 97)
		check_stab(root, all, i);

	for (i = 0; i < NR; i += 2) {
		root = erase(root, all[i]);
		kmem_cache_free(intervals, all[i]);
		all[i] = NULL;
	}
	for (i = 0; i < U16_MAX; i += 97)
		check_stab(root, all, i);

	for (i = 1; i < NR; i += 2) {
		root = erase(root, all[i]);
		kmem_cache_free(intervals, all[i]);
	}
	BUG_ON(root);
	kfree(all);
	kmem_cache_destroy(intervals);
	return 0;
}

module_init(intervals_init);
MODULE_LICENSE("Dual MIT/GPL");
