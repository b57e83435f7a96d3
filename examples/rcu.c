/* SPDX-License-Identifier: MIT */
/*
 * examples/rcu.c - a table that is read without locks, with liburcu
 *
 *   $ cc -O2 rcu.c -luslab_rcu -luslab -lurcu -o rcu
 *   $ ./rcu
 *   route 7 goes to 1007
 *   1000 routes were replaced under a reader
 *   all of them are free
 */
#include <pthread.h>
#include <stdio.h>
#include <urcu.h> /* before <uslab/urcu.h>: both have struct rcu_head */
#include <uslab/urcu.h>

struct route {
	long to;
	struct rcu_head rcu;
};

static struct route *table[8];

static void set_route(struct kmem_cache *routes, long i, long to)
{
	struct route *new_route = kmem_cache_alloc(routes, GFP_KERNEL);
	struct route *old;

	if (!new_route)
		return;
	new_route->to = to;
	old = rcu_xchg_pointer(&table[i], new_route);
	kfree_rcu(old, rcu); /* readers may still look at it */
}

/* As long as the route is not 1000. */
static void *read_often(void *arg)
{
	long i = *(long *)arg;
	long to;

	rcu_register_thread();
	do {
		rcu_read_lock();
		to = rcu_dereference(table[i])->to;
		rcu_read_unlock();
	} while (to != 1000);
	rcu_unregister_thread();
	return NULL;
}

int main(void)
{
	struct kmem_cache *routes = kmem_cache_create(
		"route", sizeof(struct route), 0, 0, NULL);
	pthread_t reader;
	long i = 7;

	if (!routes || uslab_set_urcu(&rcu_flavor))
		return 1;
	rcu_register_thread();
	set_route(routes, i, 1007);
	printf("route %ld goes to %ld\n", i, table[i]->to);
	pthread_create(&reader, NULL, read_often, &i);
	for (long n = 1; n <= 1000; n++)
		set_route(routes, i, n);
	rcu_unregister_thread();
	pthread_join(reader, NULL);
	printf("1000 routes were replaced under a reader\n");

	kmem_cache_free(routes, table[i]);
	kvfree_rcu_barrier();
	kmem_cache_destroy(routes); /* would report what is in use */
	printf("all of them are free\n");
	return 0;
}
