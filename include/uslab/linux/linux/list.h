/* SPDX-License-Identifier: MIT */
/*
 * uslab/linux/linux/list.h - lists in both directions, and chains for hash tables
 *
 * A list is a circle through its head, linked by a struct list_head in each element. A chain begins
 * at a struct hlist_head of one word, and ends with NULL. What was deleted points to addresses that
 * no process maps, unless the function says _init: a second deletion faults.
 */
#ifndef USLAB_LINUX_LIST_H
#define USLAB_LINUX_LIST_H

#if __has_include_next(<linux/list.h>)
#include_next <linux/list.h>
#else

#include <linux/compiler.h>
#include <linux/container_of.h>
#include <linux/types.h>

#define LIST_POISON1 ((void *)(0xdead000000000000ul + 0x100))
#define LIST_POISON2 ((void *)(0xdead000000000000ul + 0x122))

/* ---- lists ---- */

#define LIST_HEAD_INIT(name)     \
	{                        \
		&(name), &(name) \
	}
#define LIST_HEAD(name) struct list_head name = LIST_HEAD_INIT(name)

static inline void INIT_LIST_HEAD(struct list_head *head)
{
	WRITE_ONCE(head->next, head);
	WRITE_ONCE(head->prev, head);
}

static inline void uslab_list_link(struct list_head *prev, struct list_head *next)
{
	next->prev = prev;
	WRITE_ONCE(prev->next, next);
}

static inline void __list_add(struct list_head *entry, struct list_head *prev,
			      struct list_head *next)
{
	entry->prev = prev;
	entry->next = next;
	next->prev = entry;
	WRITE_ONCE(prev->next, entry);
}

/* Behind head; at the front. */
static inline void list_add(struct list_head *entry, struct list_head *head)
{
	__list_add(entry, head, head->next);
}

static inline void list_add_tail(struct list_head *entry, struct list_head *head)
{
	__list_add(entry, head->prev, head);
}

static inline void __list_del_entry(struct list_head *entry)
{
	uslab_list_link(entry->prev, entry->next);
}

static inline void list_del(struct list_head *entry)
{
	__list_del_entry(entry);
	entry->next = LIST_POISON1;
	entry->prev = LIST_POISON2;
}

static inline void list_del_init(struct list_head *entry)
{
	__list_del_entry(entry);
	INIT_LIST_HEAD(entry);
}

static inline void list_replace(struct list_head *old, struct list_head *entry)
{
	__list_add(entry, old->prev, old->next);
}

static inline void list_replace_init(struct list_head *old, struct list_head *entry)
{
	list_replace(old, entry);
	INIT_LIST_HEAD(old);
}

static inline void list_move(struct list_head *entry, struct list_head *head)
{
	__list_del_entry(entry);
	list_add(entry, head);
}

static inline void list_move_tail(struct list_head *entry, struct list_head *head)
{
	__list_del_entry(entry);
	list_add_tail(entry, head);
}

/* a and b change places. */
static inline void list_swap(struct list_head *a, struct list_head *b)
{
	struct list_head *before = b->prev;

	list_del(b);
	list_replace(a, b);
	list_add(a, before == a ? b : before);
}

static inline bool list_empty(const struct list_head *head)
{
	return READ_ONCE(head->next) == head;
}

/* Also where another thread runs list_del_init(). */
static inline bool list_empty_careful(const struct list_head *head)
{
	const struct list_head *next = __atomic_load_n(&head->next, __ATOMIC_ACQUIRE);

	return next == head && next == READ_ONCE(head->prev);
}

static inline bool list_is_head(const struct list_head *entry, const struct list_head *head)
{
	return entry == head;
}

static inline bool list_is_first(const struct list_head *entry, const struct list_head *head)
{
	return entry->prev == head;
}

static inline bool list_is_last(const struct list_head *entry, const struct list_head *head)
{
	return entry->next == head;
}

static inline bool list_is_singular(const struct list_head *head)
{
	return !list_empty(head) && head->next == head->prev;
}

/* The first one becomes the last. */
static inline void list_rotate_left(struct list_head *head)
{
	if (!list_empty(head))
		list_move_tail(head->next, head);
}

/* All of list between prev and next, which follow one another. */
static inline void uslab_list_splice(struct list_head *list, struct list_head *prev,
				     struct list_head *next)
{
	if (list_empty(list))
		return;
	uslab_list_link(list->prev, next);
	uslab_list_link(prev, list->next);
}

/* Behind head; list is not to be used then, unless the function says _init. */
static inline void list_splice(struct list_head *list, struct list_head *head)
{
	uslab_list_splice(list, head, head->next);
}

static inline void list_splice_tail(struct list_head *list, struct list_head *head)
{
	uslab_list_splice(list, head->prev, head);
}

static inline void list_splice_init(struct list_head *list, struct list_head *head)
{
	list_splice(list, head);
	INIT_LIST_HEAD(list);
}

static inline void list_splice_tail_init(struct list_head *list, struct list_head *head)
{
	list_splice_tail(list, head);
	INIT_LIST_HEAD(list);
}

/* Up to entry, which is one of head's, they move to list; its old elements are not looked at. */
static inline void list_cut_position(struct list_head *list, struct list_head *head,
				     struct list_head *entry)
{
	struct list_head *first = head->next;

	INIT_LIST_HEAD(list);
	if (list_empty(head) || entry == head)
		return;
	uslab_list_link(head, entry->next);
	uslab_list_link(entry, list);
	uslab_list_link(list, first);
}

/* ---- elements ---- */

#define list_entry(ptr, type, member) container_of(ptr, type, member)
#define list_first_entry(head, type, member) list_entry((head)->next, type, member)
#define list_last_entry(head, type, member) list_entry((head)->prev, type, member)
#define list_first_entry_or_null(head, type, member) \
	(list_empty(head) ? NULL : list_first_entry(head, type, member))
#define list_last_entry_or_null(head, type, member) \
	(list_empty(head) ? NULL : list_last_entry(head, type, member))
#define list_next_entry(at, member) list_entry((at)->member.next, __typeof__(*(at)), member)
#define list_prev_entry(at, member) list_entry((at)->member.prev, __typeof__(*(at)), member)
#define list_entry_is_head(at, head, member) (&(at)->member == (head))

/* ---- visits: at is what is visited; where it is freed, _safe with following ---- */

#define list_for_each(at, head) for ((at) = (head)->next; (at) != (head); (at) = (at)->next)
#define list_for_each_prev(at, head) for ((at) = (head)->prev; (at) != (head); (at) = (at)->prev)
#define list_for_each_safe(at, following, head)                             \
	for ((at) = (head)->next, (following) = (at)->next; (at) != (head); \
	     (at) = (following), (following) = (at)->next)

#define list_for_each_entry(at, head, member)                          \
	for ((at) = list_first_entry(head, __typeof__(*(at)), member); \
	     !list_entry_is_head(at, head, member); (at) = list_next_entry(at, member))
#define list_for_each_entry_reverse(at, head, member)                 \
	for ((at) = list_last_entry(head, __typeof__(*(at)), member); \
	     !list_entry_is_head(at, head, member); (at) = list_prev_entry(at, member))
#define list_for_each_entry_safe(at, following, head, member)          \
	for ((at) = list_first_entry(head, __typeof__(*(at)), member), \
	    (following) = list_next_entry(at, member);                 \
	     !list_entry_is_head(at, head, member);                    \
	     (at) = (following), (following) = list_next_entry(following, member))
#define list_for_each_entry_safe_reverse(at, following, head, member) \
	for ((at) = list_last_entry(head, __typeof__(*(at)), member), \
	    (following) = list_prev_entry(at, member);                \
	     !list_entry_is_head(at, head, member);                   \
	     (at) = (following), (following) = list_prev_entry(following, member))

/* Behind at, which is not visited; from at on. */
#define list_for_each_entry_continue(at, head, member)                                  \
	for ((at) = list_next_entry(at, member); !list_entry_is_head(at, head, member); \
	     (at) = list_next_entry(at, member))
#define list_for_each_entry_from(at, head, member) \
	for (; !list_entry_is_head(at, head, member); (at) = list_next_entry(at, member))

/* ---- chains ---- */

#define HLIST_HEAD_INIT       \
	{                     \
		.first = NULL \
	}
#define HLIST_HEAD(name) struct hlist_head name = HLIST_HEAD_INIT
#define INIT_HLIST_HEAD(head) ((void)((head)->first = NULL))

static inline void INIT_HLIST_NODE(struct hlist_node *node)
{
	node->next = NULL;
	node->pprev = NULL;
}

/* Is it in no chain? */
static inline bool hlist_unhashed(const struct hlist_node *node)
{
	return !node->pprev;
}

static inline bool hlist_empty(const struct hlist_head *head)
{
	return !READ_ONCE(head->first);
}

/* At *pprev, before what it pointed to. */
static inline void uslab_hlist_add(struct hlist_node *node, struct hlist_node **pprev)
{
	node->next = *pprev;
	node->pprev = pprev;
	if (node->next)
		node->next->pprev = &node->next;
	WRITE_ONCE(*pprev, node);
}

static inline void hlist_add_head(struct hlist_node *node, struct hlist_head *head)
{
	uslab_hlist_add(node, &head->first);
}

static inline void hlist_add_before(struct hlist_node *node, struct hlist_node *next)
{
	uslab_hlist_add(node, next->pprev);
}

static inline void hlist_add_behind(struct hlist_node *node, struct hlist_node *prev)
{
	uslab_hlist_add(node, &prev->next);
}

static inline void __hlist_del(struct hlist_node *node)
{
	WRITE_ONCE(*node->pprev, node->next);
	if (node->next)
		node->next->pprev = node->pprev;
}

static inline void hlist_del(struct hlist_node *node)
{
	__hlist_del(node);
	node->next = LIST_POISON1;
	node->pprev = LIST_POISON2;
}

/* Nothing if it is in no chain. */
static inline void hlist_del_init(struct hlist_node *node)
{
	if (hlist_unhashed(node))
		return;
	__hlist_del(node);
	INIT_HLIST_NODE(node);
}

/* All of old is now at head. */
static inline void hlist_move_list(struct hlist_head *old, struct hlist_head *head)
{
	head->first = old->first;
	if (head->first)
		head->first->pprev = &head->first;
	old->first = NULL;
}

#define hlist_entry(ptr, type, member) container_of(ptr, type, member)
#define hlist_entry_safe(ptr, type, member)                                        \
	(__extension__({                                                           \
		__typeof__(ptr) uslab_node = (ptr);                                \
                                                                                   \
		uslab_node ? hlist_entry(uslab_node, type, member) : (type *)NULL; \
	}))
#define USLAB_HLIST_NEXT(at, member) hlist_entry_safe((at)->member.next, __typeof__(*(at)), member)

#define hlist_for_each(at, head) for ((at) = (head)->first; (at); (at) = (at)->next)
#define hlist_for_each_safe(at, following, head) \
	for ((at) = (head)->first; (at) && ((following) = (at)->next, 1); (at) = (following))
#define hlist_for_each_entry(at, head, member)                                        \
	for ((at) = hlist_entry_safe((head)->first, __typeof__(*(at)), member); (at); \
	     (at) = USLAB_HLIST_NEXT(at, member))
#define hlist_for_each_entry_continue(at, member) \
	for ((at) = USLAB_HLIST_NEXT(at, member); (at); (at) = USLAB_HLIST_NEXT(at, member))
#define hlist_for_each_entry_from(at, member) for (; (at); (at) = USLAB_HLIST_NEXT(at, member))
/* following: a struct hlist_node * */
#define hlist_for_each_entry_safe(at, following, head, member)                  \
	for ((at) = hlist_entry_safe((head)->first, __typeof__(*(at)), member); \
	     (at) && ((following) = (at)->member.next, 1);                      \
	     (at) = hlist_entry_safe(following, __typeof__(*(at)), member))

#endif
#endif /* USLAB_LINUX_LIST_H */
