/* SPDX-License-Identifier: MIT */
/*
 * unit/cache/registry_test.c - numbers, the list, unique ids (spec 5.4)
 */
#include <pthread.h>

#include "cache/internal.h"
#include "cache_fixture.h"

IN_CHILD(test_numbers)
{
	unsigned int id = 0;

	lock_acquire(&cache_lock);
	CHILD_CHECK(cache_number_get_locked(0, &id) == 0 && id == USLAB_ID_FIRST_FREE);
	CHILD_CHECK(cache_number_get_locked(0, &id) == 0 && id == USLAB_ID_FIRST_FREE + 1);
	CHILD_CHECK(cache_number_get_locked(5, &id) == 0 && id == 5);
	id = 99;
	CHILD_CHECK(cache_number_get_locked(5, &id) == -EEXIST && id == 99);
	CHILD_CHECK(cache_number_get_locked(USLAB_ID_FIRST_FREE + 2, &id) == 0);
	CHILD_CHECK(cache_number_get_locked(0, &id) == 0 && id == USLAB_ID_FIRST_FREE + 3);
	cache_number_put_locked(USLAB_ID_FIRST_FREE + 1);
	CHILD_CHECK(cache_number_get_locked(0, &id) == 0 && id == USLAB_ID_FIRST_FREE + 1);
	cache_number_put_locked(5);
	CHILD_CHECK(cache_number_get_locked(5, &id) == 0);
	CHILD_CHECK(cache_number_get_locked(USLAB_NR_HANDLES, &id) == -ENOSPC);
	while (!cache_number_get_locked(0, &id)) {}
	CHILD_CHECK(id == USLAB_NR_HANDLES - 1);
	CHILD_CHECK(cache_number_get_locked(0, &id) == -ENOSPC);
	lock_release(&cache_lock);
}

IN_CHILD(test_list)
{
	struct cache *c[3];

	ready();
	CHILD_CHECK(list_empty(&cache_list));
	for (unsigned int i = 0; i < 3; i++)
		c[i] = make_front("c", 64, "array");
	CHILD_CHECK(list_first(&cache_list, struct cache, list) == c[2]);
	cache_destroy(c[1]->handle, NULL);
	CHILD_CHECK(c[2]->list.next == &c[0]->list);
	cache_check_all();
}

/* Many threads create, share and destroy at once. */
static void *create_and_destroy(void *arg)
{
	unsigned int me = (unsigned int)(uintptr_t)arg;

	for (unsigned int i = 0; i < 300; i++) {
		struct cache_spec spec = { .name = "c",
					   .size = 64 + 8 * ((i + me) % 4),
					   .no_merge = i % 5 == 0 };
		struct cache *c = made(&spec);
		void *obj = get(c);

		CHILD_CHECK(obj && cache_of_object(obj) == c);
		cache_free(c, obj);
		cache_destroy(c->handle, NULL);
	}
	return NULL;
}

IN_CHILD(test_threads)
{
	pthread_t thread[4];
	unsigned long pages;

	ready();
	pages = pages_out();
	for (uintptr_t i = 0; i < 4; i++)
		pthread_create(&thread[i], NULL, create_and_destroy, (void *)i);
	for (unsigned int i = 0; i < 4; i++)
		pthread_join(thread[i], NULL);
	CHILD_CHECK(list_empty(&cache_list) && pages_out() == pages);
}

/* Letters and digits; live kernels show these four. */
IN_CHILD(test_unique_ids)
{
	static const struct {
		unsigned int size;
		slab_flags_t flags;
		const char *id;
	} v[] = {
		{ 64, 0, ":0000064" },
		{ 104, SLAB_RECLAIM_ACCOUNT, ":a-0000104" },
		{ 1280, SLAB_ACCOUNT, ":A-0001280" },
		{ 192, SLAB_RECLAIM_ACCOUNT | SLAB_ACCOUNT, ":aA-0000192" },
		{ 8, SLAB_CACHE_DMA, ":d-0000008" },
		{ 8, SLAB_CACHE_DMA32, ":D-0000008" },
		{ 8, SLAB_CONSISTENCY_CHECKS, ":F-0000008" },
		{ KMALLOC_MAX_SIZE, 0, ":4194304" },
		{ 24,
		  SLAB_CACHE_DMA | SLAB_CACHE_DMA32 | SLAB_RECLAIM_ACCOUNT |
			  SLAB_CONSISTENCY_CHECKS | SLAB_ACCOUNT | SLAB_HWCACHE_ALIGN,
		  ":dDaFA-0000032" },
	};

	ready();
	for (size_t i = 0; i < ARRAY_SIZE(v); i++) {
		char id[32];

		cache_unique_id(make("id", v[i].size, 0, v[i].flags), id);
		if (strcmp(id, v[i].id))
			dprintf(STDERR_FILENO, "%s, not %s\n", id, v[i].id);
		CHILD_CHECK(!strcmp(id, v[i].id));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_list),
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_unique_ids),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
