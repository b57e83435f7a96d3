/* SPDX-License-Identifier: MIT */
/*
 * cache/lent_list.c - the list of lent sheaves, for those who look for an object or a cache in them
 *
 * Data:       lent_sheaves, newest first, and their number; lent_lock.
 * Invariants: see lent.h.
 * Locks:      lent_lock (RANK_LENT), under which nothing else is taken.
 * Flow:       called by cache/ and by tests.
 */
#include "base/assert.h"
#include "cache/lent.h"
#include "os/lock/lock.h"
#include "page/page.h"
#include "page/used.h"

struct list_head lent_sheaves = { &lent_sheaves, &lent_sheaves };
static struct lock lent_lock = LOCK_INIT(RANK_LENT);
static unsigned long nr_lent; /* sheaves on the list; written under the lock, read without */

void lent_add(struct slab_sheaf *sheaf)
{
	lock_acquire(&lent_lock);
	list_add(&sheaf->list, &lent_sheaves);
	store_relaxed(&nr_lent, nr_lent + 1);
	lock_release(&lent_lock);
}

void lent_remove(struct slab_sheaf *sheaf)
{
	lock_acquire(&lent_lock);
	list_del(&sheaf->list);
	store_relaxed(&nr_lent, nr_lent - 1);
	lock_release(&lent_lock);
}

/* The first sheaf for which is() says yes; NULL: none. An empty list takes no lock. */
static const struct slab_sheaf *find(bool (*is)(const struct slab_sheaf *sheaf, const void *what),
				     const void *what)
{
	const struct slab_sheaf *found = NULL;
	struct list_head *pos;

	if (!load_relaxed(&nr_lent))
		return NULL;
	lock_acquire(&lent_lock);
	for (pos = lent_sheaves.next; !found && pos != &lent_sheaves; pos = pos->next) {
		const struct slab_sheaf *sheaf = list_entry(pos, struct slab_sheaf, list);

		if (is(sheaf, what))
			found = sheaf;
	}
	lock_release(&lent_lock);
	return found;
}

static bool is_this(const struct slab_sheaf *sheaf, const void *what)
{
	return sheaf == what;
}

bool lent_is_listed(const struct slab_sheaf *sheaf)
{
	return find(is_this, sheaf);
}

static bool has_object(const struct slab_sheaf *sheaf, const void *obj)
{
	for (uint32_t i = load_relaxed(&sheaf->count); i; i--)
		if (sheaf->obj[i - 1] == obj)
			return true;
	return false;
}

bool lent_holds(const void *obj)
{
	return find(has_object, obj);
}

struct lent_sum lent_sum(const struct cache *c)
{
	struct lent_sum sum = { 0, 0 };
	struct list_head *pos;

	lock_acquire(&lent_lock);
	list_for_each(pos, &lent_sheaves) {
		const struct slab_sheaf *sheaf = list_entry(pos, struct slab_sheaf, list);

		if (sheaf->cache != c)
			continue;
		sum.sheaves++;
		sum.objects += load_relaxed(&sheaf->count);
	}
	lock_release(&lent_lock);
	return sum;
}

void lent_each_lock(void (*act)(struct lock *l))
{
	act(&lent_lock);
}

static void check_object(const struct cache *c, const void *obj)
{
	const struct page *page = page_head_of(obj);

	if (page && page->type == PAGE_HEAP)
		CHECK(page->heap == c->engine.ops->heap);
	else
		CHECK(page && page->type == PAGE_SLAB && page->engine == &c->engine);
	CHECK(!used_are_kept() || !used_is_set(obj));
}

void lent_check(void)
{
	unsigned long n = 0;
	struct list_head *pos;

	lock_acquire(&lent_lock);
	list_for_each(pos, &lent_sheaves) {
		const struct slab_sheaf *sheaf = list_entry(pos, struct slab_sheaf, list);

		n++;
		CHECK(sheaf->cache && sheaf->count <= sheaf->capacity);
		for (uint32_t i = 0; i < sheaf->count; i++)
			check_object(sheaf->cache, sheaf->obj[i]);
	}
	CHECK(n == nr_lent);
	lock_release(&lent_lock);
}
