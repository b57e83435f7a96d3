/* SPDX-License-Identifier: MIT */
/*
 * examples/groups_keys.c - tenants share a cache whose objects have keys: each
 * session is charged to its tenant, by inline hits
 *
 *   $ cc -O2 groups_keys.c -luslab -o groups_keys
 *   $ ./groups_keys
 *   a: 1000 sessions, b: 500
 *   a ends its sessions: 0 and 500
 */
#include <stdio.h>
#include <uslab/account.h>

struct session {
	struct session *next;
	char data[112];
};

static struct kmem_cache *cache;

static struct session *open_many(struct uslab_group *tenant, int n)
{
	struct uslab_group *before = uslab_group_enter(tenant);
	struct session *list = NULL;

	while (n--) {
		struct session *s =
			kmem_cache_alloc_account(cache, GFP_KERNEL);

		if (!s)
			break;
		s->next = list;
		list = s;
	}
	uslab_group_enter(before);
	return list;
}

static void close_all(struct session *list)
{
	while (list) {
		struct session *next = list->next;

		kmem_cache_free_account(cache, list); /* whoever does it */
		list = next;
	}
}

static size_t one; /* bytes that a session is charged with */

static size_t sessions(struct uslab_group *tenant)
{
	return uslab_group_usage(tenant) / one;
}

int main(void)
{
	struct uslab_group *a = uslab_group_create("a", 1 << 20, NULL);
	struct uslab_group *b = uslab_group_create("b", 1 << 20, NULL);
	struct session *of_a, *of_b;

	cache = kmem_cache_create("session", sizeof(struct session), 0,
				  USLAB_ACCOUNT_INLINE, NULL);
	if (!a || !b || !cache)
		return 1;
	of_a = open_many(a, 1);
	one = uslab_group_usage(a);
	close_all(of_a);
	of_a = open_many(a, 1000);
	of_b = open_many(b, 500);
	printf("a: %zu sessions, b: %zu\n", sessions(a), sessions(b));
	close_all(of_a);
	printf("a ends its sessions: %zu and %zu\n", sessions(a),
	       sessions(b));
	close_all(of_b);
	kmem_cache_destroy(cache);
	uslab_group_destroy(b);
	uslab_group_destroy(a);
	return 0;
}
