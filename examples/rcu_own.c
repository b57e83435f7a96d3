/* SPDX-License-Identifier: MIT */
/*
 * examples/rcu_own.c - an RCU of one's own: events are the readers, and between two of them a grace
 * period ends
 *
 *   $ cc -O2 rcu_own.c -luslab -o rcu_own
 *   $ ./rcu_own
 *   type-safe: 42 can be read after its free
 *   6 blocks wait, the session still has the number 1
 *   after the event they are free
 */
#include <stdio.h>
#include <uslab/rcu.h>

/* ---- the RCU of a program with one thread ---- */

static struct {
	struct rcu_head *head;
	void (*func)(struct rcu_head *head);
} asked[64];
static unsigned int nr_asked;

static void call(struct rcu_head *head, void (*func)(struct rcu_head *head))
{
	asked[nr_asked].head = head;
	asked[nr_asked++].func = func;
}

/* Nobody reads now, so that each grace period which was begun is over. */
static void between_events(void)
{
	for (unsigned int i = 0; i < nr_asked; i++)
		asked[i].func(asked[i].head);
	nr_asked = 0;
}

/* ---- what it protects ---- */

struct session {
	long number;
	struct rcu_head rcu;
};

static struct kmem_cache *sessions;

static struct session *open_session(long number)
{
	struct session *s = kmem_cache_alloc(sessions, GFP_KERNEL);

	if (s)
		s->number = number;
	return s;
}

static void event(void)
{
	struct session *first = open_session(1);
	struct session *second = open_session(2);
	struct session *third = open_session(3);

	kfree_rcu(first, rcu);
	kvfree_rcu(second, rcu);
	kfree_rcu_nolock(third, rcu);
	/* without a struct rcu_head */
	kfree_rcu_mightsleep(kmalloc(100, GFP_KERNEL));
	kvfree_rcu_mightsleep(kvmalloc(100000, GFP_KERNEL));
	kvfree_call_rcu(NULL, open_session(4));
	printf("6 blocks wait, the session still has the number %ld\n",
	       first->number);
}

static void show_type_safe(void)
{
	struct kmem_cache *s = kmem_cache_create(
		"number", sizeof(long), 0, SLAB_TYPESAFE_BY_RCU, NULL);
	long *p = kmem_cache_alloc(s, GFP_KERNEL);

	*p = 42;
	kmem_cache_free(s, p);
	printf("type-safe: %ld can be read after its free\n", *p);
	kmem_cache_destroy(s);
}

int main(void)
{
	const struct uslab_rcu_ops ops = { call, between_events,
					   between_events };

	if (uslab_set_rcu(&ops))
		return 1;
	sessions = kmem_cache_create("session", sizeof(struct session), 0,
				     0, NULL);
	show_type_safe();
	event();
	kvfree_rcu_barrier_on_cache(sessions);
	printf("after the event they are free\n");
	kmem_cache_destroy(sessions); /* would report what is in use */
	return 0;
}
