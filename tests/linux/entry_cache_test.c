/* SPDX-License-Identifier: MIT */
/*
 * entry_cache_test.c - kernel code: entries that are kept on a list in the order of their last use,
 * until shrinkers take the oldest back
 */
#define pr_fmt(fmt) "entries: " fmt

#include <linux/kernel.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/shrinker.h>
#include <linux/slab.h>

struct entry {
	struct list_head lru;
	u32 key;
};

static LIST_HEAD(lru);
static DEFINE_MUTEX(lru_lock);
static struct kmem_cache *entry_cache;
static unsigned long nr_entries;

static struct entry *entry_get(u32 key)
{
	struct entry *entry;

	mutex_lock(&lru_lock);
	list_for_each_entry(entry, &lru, lru) {
		if (entry->key == key) {
			list_move(&entry->lru, &lru);
			mutex_unlock(&lru_lock);
			return entry;
		}
	}
	mutex_unlock(&lru_lock);

	entry = kmem_cache_alloc(entry_cache, GFP_KERNEL);
	if (!entry)
		return NULL;
	entry->key = key;
	mutex_lock(&lru_lock);
	list_add(&entry->lru, &lru);
	nr_entries++;
	mutex_unlock(&lru_lock);
	return entry;
}

static unsigned long entries_count(struct shrinker *shrink __maybe_unused,
				   struct shrink_control *sc __maybe_unused)
{
	return READ_ONCE(nr_entries) ?: SHRINK_EMPTY;
}

static unsigned long entries_scan(struct shrinker *shrink __maybe_unused, struct shrink_control *sc)
{
	unsigned long freed = 0;

	if (!(sc->gfp_mask & __GFP_FS) || !mutex_trylock(&lru_lock))
		return SHRINK_STOP;
	while (freed < sc->nr_to_scan && !list_empty(&lru)) {
		struct entry *entry = list_last_entry(&lru, struct entry, lru);

		list_del(&entry->lru);
		kmem_cache_free(entry_cache, entry);
		nr_entries--;
		freed++;
	}
	mutex_unlock(&lru_lock);
	return freed;
}

static struct shrinker old_shrinker = {
	.count_objects = entries_count,
	.scan_objects = entries_scan,
	.seeks = DEFAULT_SEEKS,
};

static int __init entries_init(void)
{
	struct shrinker *shrinker = shrinker_alloc(0, "entries-%d", 1);
	u32 i;

	entry_cache = KMEM_CACHE(entry, SLAB_RECLAIM_ACCOUNT);
	BUG_ON(!entry_cache || !shrinker);
	shrinker->count_objects = entries_count;
	shrinker->scan_objects = entries_scan;
	shrinker_register(shrinker);

	for (i = 0; i < 300; i++)
		BUG_ON(!entry_get(i));
	BUG_ON(entry_get(7)->key != 7 || nr_entries != 300);
	uslab_trim();
	BUG_ON(nr_entries);
	shrinker_free(shrinker);

	BUG_ON(prealloc_shrinker(&old_shrinker, "entries"));
	register_shrinker_prepared(&old_shrinker);
	BUG_ON(!entry_get(1));
	uslab_trim();
	BUG_ON(nr_entries);
	unregister_shrinker(&old_shrinker);
	BUG_ON(!entry_get(2));
	uslab_trim();
	BUG_ON(nr_entries != 1);
	synchronize_shrinkers();
	pr_debug("done\n");
	return 0;
}

module_init(entries_init);
MODULE_LICENSE("Dual MIT/GPL");
