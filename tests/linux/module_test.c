/* SPDX-License-Identifier: MIT */
/*
 * module_test.c - kernel code: the least of a module, with the three headers that all of them have
 */
#include <linux/init.h>
#include <linux/module.h>
#include <linux/slab.h>

struct item {
	int number;
};

static struct kmem_cache *items;
static struct item *item;

static int __init items_init(void)
{
	items = KMEM_CACHE(item, 0);
	if (!items) {
		printk(KERN_ERR "items: no cache\n");
		return -ENOMEM;
	}
	item = kmem_cache_zalloc(items, GFP_KERNEL);
	if (!item) {
		pr_err("items: no item\n");
		kmem_cache_destroy(items);
		return -ENOMEM;
	}
	pr_debug("items: loaded, %d\n", item->number);
	return 0;
}

static void __exit items_exit(void)
{
	kmem_cache_free(items, item);
	kmem_cache_destroy(items);
	pr_debug("items: unloaded\n");
}

module_init(items_init);
module_exit(items_exit);

MODULE_LICENSE("GPL");
MODULE_AUTHOR("uslab");
MODULE_DESCRIPTION("The least of a module");
