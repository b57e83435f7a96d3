/* SPDX-License-Identifier: MIT */
/*
 * rcu_table_test.c - kernel code: a hash table whose readers take no lock
 *
 * ctest: sanitize=no (ThreadSanitizer does not see what liburcu orders)
 */
#define pr_fmt(fmt) "table: " fmt

#include <linux/atomic.h>
#include <linux/err.h>
#include <linux/hashtable.h>
#include <linux/kernel.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/rculist.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/spinlock.h>

#define KEYS 64
#define ROUNDS 20000
#define FREED 0xdeadu

struct session {
	struct hlist_node link;
	u32 key;
	u32 check; /* ~key */
	struct rcu_head rcu;
};

static DEFINE_HASHTABLE(sessions, 4);
static DEFINE_SPINLOCK(sessions_lock);
static struct kmem_cache *cache;
static atomic_t freed = ATOMIC_INIT(0);

/* By readers. */
static struct session *session_find(u32 key)
{
	struct session *at;

	hash_for_each_possible_rcu(sessions, at, link, key)
		if (at->key == key)
			return at;
	return NULL;
}

static int session_add(u32 key)
{
	struct session *new = kmem_cache_alloc(cache, GFP_KERNEL);

	if (!new)
		return -ENOMEM;
	new->key = key;
	new->check = ~key;
	spin_lock(&sessions_lock);
	hash_add_rcu(sessions, &new->link, key);
	spin_unlock(&sessions_lock);
	return 0;
}

static void session_free(struct rcu_head *head)
{
	struct session *old = container_of(head, struct session, rcu);

	old->check = FREED;
	kmem_cache_free(cache, old);
	atomic_inc(&freed);
}

static bool session_remove(u32 key)
{
	struct session *old;

	spin_lock(&sessions_lock);
	old = session_find(key);
	if (old)
		hash_del_rcu(&old->link);
	spin_unlock(&sessions_lock);
	if (old && key % 2)
		kfree_rcu(old, rcu);
	else if (old)
		call_rcu(&old->rcu, session_free);
	return old;
}

/* Whatever a reader finds stays whole until it has left. data: the first key. */
static int reader(void *data)
{
	struct session *at;
	int seen = 0;
	u32 key = (unsigned long)data;

	while (!kthread_should_stop()) {
		rcu_read_lock();
		at = session_find(key++ % KEYS);
		if (at) {
			BUG_ON(at->check != ~at->key);
			cpu_relax();
			BUG_ON(READ_ONCE(at->check) != ~at->key);
			seen++;
		}
		rcu_read_unlock();
	}
	return seen;
}

static int __init table_init(void)
{
	struct task_struct *tasks[2];
	struct session *at;
	struct hlist_node *next;
	unsigned int i, removed = 0;
	int bucket;

	cache = KMEM_CACHE(session, 0);
	if (!cache)
		return -ENOMEM;
	for (i = 0; i < KEYS; i++)
		BUG_ON(session_add(i));
	for (i = 0; i < ARRAY_SIZE(tasks); i++) {
		tasks[i] = kthread_run(reader, (void *)(unsigned long)i, "reader/%u", i);
		if (IS_ERR(tasks[i]))
			return PTR_ERR(tasks[i]);
	}
	for (i = 0; i < ROUNDS; i++) {
		u32 key = i * 5 % KEYS;

		BUG_ON(!session_remove(key));
		BUG_ON(session_add(key));
		removed += key % 2 == 0;
	}
	for (i = 0; i < ARRAY_SIZE(tasks); i++)
		BUG_ON(kthread_stop(tasks[i]) < 0);

	i = 0;
	hash_for_each_safe(sessions, bucket, next, at, link) {
		hash_del(&at->link);
		kmem_cache_free(cache, at);
		i++;
	}
	BUG_ON(i != KEYS || !hash_empty(sessions));
	rcu_barrier();
	BUG_ON(atomic_read(&freed) != (int)removed);
	kmem_cache_destroy(cache); /* waits for those of kfree_rcu() */
	return 0;
}

module_init(table_init);
MODULE_LICENSE("Dual MIT/GPL");
