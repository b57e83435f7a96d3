/* SPDX-License-Identifier: MIT */
/*
 * base/list.h - circular doubly linked list with a head
 *
 * Data:       struct list_head, embedded in the element; an empty list points at itself.
 * Invariants: n->next->prev == n and n->prev->next == n for every linked node.
 * Locks:      the owner's; nothing here is atomic.
 * Flow:       used by cache/cache.h, debug/kfence/kfence_pool.h, front/array_limit.c and
 *             page/page.h.
 */
#ifndef BASE_LIST_H
#define BASE_LIST_H

#include "base/compiler.h"

struct list_head {
	struct list_head *next;
	struct list_head *prev;
};

static inline void list_init(struct list_head *head)
{
	head->next = head;
	head->prev = head;
}

static inline bool list_empty(const struct list_head *head)
{
	return head->next == head;
}

static inline void list_insert(struct list_head *node, struct list_head *before,
			       struct list_head *after)
{
	node->prev = before;
	node->next = after;
	before->next = node;
	after->prev = node;
}

/* At the head: taken first. */
static inline void list_add(struct list_head *node, struct list_head *head)
{
	list_insert(node, head, head->next);
}

static inline void list_add_tail(struct list_head *node, struct list_head *head)
{
	list_insert(node, head->prev, head);
}

/* Moves the nodes of a list, in order, to the head of another one; from is not a list any more. */
static inline void list_splice(struct list_head *from, struct list_head *to)
{
	if (list_empty(from))
		return;
	from->prev->next = to->next;
	to->next->prev = from->prev;
	from->next->prev = to;
	to->next = from->next;
}

/* The node's own pointers are left NULL, so that use after removal faults. */
static inline void list_del(struct list_head *node)
{
	node->prev->next = node->next;
	node->next->prev = node->prev;
	node->next = NULL;
	node->prev = NULL;
}

#define list_entry(ptr, type, member) container_of(ptr, type, member)
#define list_first(head, type, member) list_entry((head)->next, type, member)
#define list_last(head, type, member) list_entry((head)->prev, type, member)

#define list_for_each(pos, head) for (pos = (head)->next; pos != (head); pos = pos->next)
/* pos may be removed from the list in the body */
#define list_for_each_safe(pos, tmp, head) \
	for (pos = (head)->next, tmp = pos->next; pos != (head); pos = tmp, tmp = pos->next)

#endif /* BASE_LIST_H */
