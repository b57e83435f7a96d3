/* SPDX-License-Identifier: MIT */
/*
 * examples/groups.c - two tenants of one process: one of them leaks until its
 * limit says no, and the other one does not notice
 *
 *   $ cc -O2 groups.c -luslab -o groups
 *   $ ./groups
 *   leaky: refused once, at 67108864 bytes
 *   frugal: 100000 requests, 0 refused, 0 bytes left
 *   both: 67108864 bytes
 *   all freed: 0 bytes
 */
#include <stdio.h>
#include <uslab/group.h>
#include <uslab/slab.h>

#define LIMIT (64ul << 20)

struct session {
	struct session *next;
	char data[248];
};

struct tenant {
	struct uslab_group *group;
	struct session *sessions;
	unsigned long refused;
};

static struct kmem_cache *cache;

/* A request opens a session, and closes it unless it leaks. 0: refused. */
static int serve(struct tenant *tenant, int leaks)
{
	struct uslab_group *before = uslab_group_enter(tenant->group);
	struct session *session = kmem_cache_alloc(cache, GFP_KERNEL);
	void *reply = kmalloc(100, GFP_KERNEL_ACCOUNT); /* this call only */

	uslab_group_enter(before);
	kfree(reply);
	if (!session) {
		tenant->refused++;
		return 0;
	}
	if (leaks) {
		session->next = tenant->sessions;
		tenant->sessions = session;
	} else {
		kmem_cache_free(cache, session);
	}
	return 1;
}

static void end_sessions(struct tenant *tenant)
{
	struct session *session;

	while ((session = tenant->sessions)) {
		tenant->sessions = session->next;
		kmem_cache_free(cache, session);
	}
	uslab_group_destroy(tenant->group);
}

int main(void)
{
	struct uslab_group *both = uslab_group_create("tenants", 0, NULL);
	struct tenant leaky = { 0 }, frugal = { 0 };

	leaky.group = uslab_group_create("leaky", LIMIT, both);
	frugal.group = uslab_group_create("frugal", LIMIT, both);
	/* after the first group: then it costs least */
	cache = kmem_cache_create("session", sizeof(struct session), 0,
				  SLAB_ACCOUNT, NULL);
	if (!both || !leaky.group || !frugal.group || !cache)
		return 1;
	while (serve(&leaky, 1))
		;
	printf("leaky: refused once, at %zu bytes\n",
	       uslab_group_usage(leaky.group));
	for (int i = 0; i < 100000; i++)
		serve(&frugal, 0);
	printf("frugal: 100000 requests, %lu refused, %zu bytes left\n",
	       frugal.refused, uslab_group_usage(frugal.group));
	printf("both: %zu bytes\n", uslab_group_usage(both));
	end_sessions(&leaky);
	end_sessions(&frugal);
	printf("all freed: %zu bytes\n", uslab_group_usage(both));
	uslab_group_destroy(both);
	kmem_cache_destroy(cache);
	return 0;
}
