/* SPDX-License-Identifier: MIT */
/*
 * uslab/linux/linux/rculist.h - lists and chains that readers of RCU visit while they change
 *
 * Who changes them holds a lock of the program. What was deleted still leads on, until after a
 * grace period it is freed.
 */
#ifndef USLAB_LINUX_RCULIST_H
#define USLAB_LINUX_RCULIST_H

#if __has_include_next(<linux/rculist.h>)
#include_next <linux/rculist.h>
#else

#include <linux/list.h>
#include <linux/rcupdate.h>

/* ---- changes ---- */

/* Readers see the element as it is now, or not at all: pairs with their rcu_dereference(). */
static inline void uslab_list_publish(struct list_head *entry, struct list_head *prev,
				      struct list_head *next)
{
	entry->next = next;
	entry->prev = prev;
	__atomic_store_n(&prev->next, entry, __ATOMIC_RELEASE);
	next->prev = entry;
}

static inline void list_add_rcu(struct list_head *entry, struct list_head *head)
{
	uslab_list_publish(entry, head, head->next);
}

static inline void list_add_tail_rcu(struct list_head *entry, struct list_head *head)
{
	uslab_list_publish(entry, head->prev, head);
}

static inline void list_del_rcu(struct list_head *entry)
{
	__list_del_entry(entry);
	entry->prev = LIST_POISON2;
}

static inline void list_replace_rcu(struct list_head *old, struct list_head *entry)
{
	uslab_list_publish(entry, old->prev, old->next);
	old->prev = LIST_POISON2;
}

/* Likewise: pairs with rcu_dereference(). */
static inline void uslab_hlist_publish(struct hlist_node *node, struct hlist_node **pprev,
				       struct hlist_node *next)
{
	node->next = next;
	node->pprev = pprev;
	__atomic_store_n(pprev, node, __ATOMIC_RELEASE);
	if (next)
		next->pprev = &node->next;
}

static inline void hlist_add_head_rcu(struct hlist_node *node, struct hlist_head *head)
{
	uslab_hlist_publish(node, &head->first, head->first);
}

static inline void hlist_add_before_rcu(struct hlist_node *node, struct hlist_node *next)
{
	uslab_hlist_publish(node, next->pprev, next);
}

static inline void hlist_add_behind_rcu(struct hlist_node *node, struct hlist_node *prev)
{
	uslab_hlist_publish(node, &prev->next, prev->next);
}

static inline void hlist_del_rcu(struct hlist_node *node)
{
	__hlist_del(node);
	node->pprev = LIST_POISON2;
}

/* Nothing if it is in no chain. */
static inline void hlist_del_init_rcu(struct hlist_node *node)
{
	if (hlist_unhashed(node))
		return;
	__hlist_del(node);
	node->pprev = NULL;
}

static inline void hlist_replace_rcu(struct hlist_node *old, struct hlist_node *node)
{
	uslab_hlist_publish(node, old->pprev, old->next);
	old->pprev = LIST_POISON2;
}

/* ---- visits, by readers; or by who holds the lock, which may be said behind them ---- */

#define USLAB_FIRST_RCU(head, type, member) list_entry(rcu_dereference((head)->next), type, member)
#define list_entry_rcu(ptr, type, member) container_of(READ_ONCE(ptr), type, member)
#define list_first_or_null_rcu(head, type, member)                                            \
	(__extension__({                                                                      \
		struct list_head *uslab_first = rcu_dereference((head)->next);                \
                                                                                              \
		uslab_first == (head) ? (type *)NULL : list_entry(uslab_first, type, member); \
	}))

#define list_for_each_entry_rcu(at, head, member, ...)                \
	for ((at) = USLAB_FIRST_RCU(head, __typeof__(*(at)), member); \
	     !list_entry_is_head(at, head, member);                   \
	     (at) = USLAB_FIRST_RCU(&(at)->member, __typeof__(*(at)), member))

#define hlist_for_each_entry_rcu(at, head, member, ...)                                           \
	for ((at) = hlist_entry_safe(rcu_dereference((head)->first), __typeof__(*(at)), member);  \
	     (at); (at) = hlist_entry_safe(rcu_dereference((at)->member.next), __typeof__(*(at)), \
					   member))

#endif
#endif /* USLAB_LINUX_RCULIST_H */
