/* SPDX-License-Identifier: MIT */
/*
 * uslab/linux/linux/hashtable.h - hash tables: arrays of 2^bits chains of <linux/list.h>
 *
 * What ends with _rcu needs <linux/rculist.h>.
 */
#ifndef USLAB_LINUX_HASHTABLE_H
#define USLAB_LINUX_HASHTABLE_H

#include <linux/array_size.h>
#include <linux/hash.h>
#include <linux/list.h>
#include <linux/log2.h>

#define DEFINE_HASHTABLE(name, bits) struct hlist_head name[1 << (bits)] = { { NULL } }
#define DECLARE_HASHTABLE(name, bits) struct hlist_head name[1 << (bits)]

#define HASH_SIZE(table) (ARRAY_SIZE(table))
#define HASH_BITS(table) ((unsigned int)ilog2(HASH_SIZE(table)))
#define hash_min(key, bits) (sizeof(key) <= 4 ? hash_32((u32)(key), bits) : hash_64(key, bits))
#define USLAB_CHAIN(table, key) (&(table)[hash_min(key, HASH_BITS(table))])

static inline void __hash_init(struct hlist_head *table, size_t size)
{
	while (size)
		INIT_HLIST_HEAD(&table[--size]);
}

static inline bool __hash_empty(const struct hlist_head *table, size_t size)
{
	while (size)
		if (!hlist_empty(&table[--size]))
			return false;
	return true;
}

static inline bool hash_hashed(const struct hlist_node *node)
{
	return !hlist_unhashed(node);
}

static inline void hash_del(struct hlist_node *node)
{
	hlist_del_init(node);
}

#define hash_init(table) __hash_init(table, HASH_SIZE(table))
#define hash_empty(table) __hash_empty(table, HASH_SIZE(table))
#define hash_add(table, node, key) hlist_add_head(node, USLAB_CHAIN(table, key))
#define hash_add_rcu(table, node, key) hlist_add_head_rcu(node, USLAB_CHAIN(table, key))
#define hash_del_rcu(node) hlist_del_init_rcu(node)

/* bucket: an int of the caller. `break` leaves all of the table, since at is not NULL then. */
#define hash_for_each(table, bucket, at, member)                                                  \
	for ((bucket) = 0, (at) = NULL; !(at) && (size_t)(bucket) < HASH_SIZE(table); (bucket)++) \
		hlist_for_each_entry(at, &(table)[bucket], member)
#define hash_for_each_safe(table, bucket, next, at, member)                                       \
	for ((bucket) = 0, (at) = NULL; !(at) && (size_t)(bucket) < HASH_SIZE(table); (bucket)++) \
		hlist_for_each_entry_safe(at, next, &(table)[bucket], member)
#define hash_for_each_rcu(table, bucket, at, member)                                              \
	for ((bucket) = 0, (at) = NULL; !(at) && (size_t)(bucket) < HASH_SIZE(table); (bucket)++) \
	hlist_for_each_entry_rcu(at, &(table)[bucket], member)

/* All in the chain of key: the caller compares. */
#define hash_for_each_possible(table, at, member, key) \
	hlist_for_each_entry(at, USLAB_CHAIN(table, key), member)
#define hash_for_each_possible_safe(table, at, next, member, key) \
	hlist_for_each_entry_safe(at, next, USLAB_CHAIN(table, key), member)
#define hash_for_each_possible_rcu(table, at, member, key, ...) \
	hlist_for_each_entry_rcu(at, USLAB_CHAIN(table, key), member)

#endif /* USLAB_LINUX_HASHTABLE_H */
