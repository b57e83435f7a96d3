/* SPDX-License-Identifier: MIT */
/*
 * unit/cache/registry_test.c - numbers, the list, fork, and the check of everything
 */
#include <pthread.h>
#include <sys/wait.h>

#include "base/atomic.h"
#include "cache/internal.h"
#include "cache_fixture.h"
#include "front/depot.h"

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

/* ---- fork ---- */

/* All locks of the floors are held between the hooks; afterwards all are free. */
IN_CHILD(test_hooks)
{
	static const char *const fronts[] = { "array", "none", "cpuslab" };

	CHILD_CHECK(os_topology_set(4, 2) == 0);
	ready();
	for (unsigned int i = 0; i < 3; i++)
		get(make_front("c", 64, fronts[i]));
	for (unsigned int round = 0; round < 2; round++) {
		struct list_head *pos;

		cache_fork_prepare();
		CHILD_CHECK(!lock_try(&cache_lock));
		for (int cpu = 0; cpu < 4;
		     cpu++) /* the CPU's lock lies where cache 0's state would */
			CHILD_CHECK(!lock_try((struct lock *)percpu_state(USLAB_ID_NONE, cpu)));
		list_for_each(pos, &cache_list) {
			struct cache *c = list_entry(pos, struct cache, list);

			for (unsigned int node = 0; node < 2; node++)
				CHILD_CHECK(!lock_try(&slub_of(&c->engine)->node[node]->list_lock));
		}
		if (round)
			cache_fork_child();
		else
			cache_fork_parent();
		cache_check_all();
		cache_shrink_all();
		CHILD_CHECK(get(make_front("more", 64, "array")));
	}
}

/* The work of other threads goes on in the parent, and the child starts with whole structures. */
static bool stop;

static void *churn(void *arg)
{
	struct cache *c = arg;
	void *p[90];

	while (!load_relaxed(&stop)) {
		for (unsigned int i = 0; i < 90; i++)
			CHILD_CHECK((p[i] = get(c)));
		for (unsigned int i = 0; i < 90; i++)
			cache_free(c, p[i]);
		if (c->front.id % 3 == 0)
			cache_shrink(c);
	}
	return NULL;
}

static _Noreturn void be_the_child(struct cache **c)
{
	for (unsigned int i = 0; i < 3; i++) {
		void *p[200];

		CHILD_CHECK(c[i]->front.closed == 0);
		for (unsigned int j = 0; j < 200; j++) {
			CHILD_CHECK((p[j] = get(c[i])));
			memset(p[j], 0x77, 64);
		}
		for (unsigned int j = 0; j < 200; j++)
			cache_free(c[i], p[j]);
		cache_shrink(c[i]);
	}
	cache_destroy(
		made(&(struct cache_spec){ .name = "n", .size = 64, .no_merge = true })->handle,
		NULL);
	_exit(0);
}

static void fork_among_threads(void)
{
	static const char *const fronts[] = { "none", "array", "cpuslab" };
	pthread_t thread[3];
	struct cache *c[3];

	ready();
	for (unsigned int i = 0; i < 3; i++) {
		c[i] = make_front("c", 64, fronts[i]);
		pthread_create(&thread[i], NULL, churn, c[i]);
	}
	for (unsigned int round = 0; round < (bare_process() ? 40 : 4); round++) {
		pid_t pid = fork();
		int status;

		if (pid == 0)
			be_the_child(c);
		CHILD_CHECK(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0);
	}
	store_relaxed(&stop, true);
	for (unsigned int i = 0; i < 3; i++)
		pthread_join(thread[i], NULL);
	cache_check_all();
}

IN_CHILD(test_fork_among_threads)
{
	fork_among_threads();
}

/* Without sequences each CPU has a lock more, which is taken under cpuslab's. */
IN_CHILD(test_fork_among_threads_made_up)
{
	CHILD_CHECK(os_topology_set(2, 1) == 0);
	fork_among_threads();
}

/* ---- the check ---- */

static void spoil(void *arg)
{
	struct cache *c;

	ready();
	c = make_front("c", 64, "array");
	get(c);
	cache_check_all();
	switch (*(int *)arg) {
	case 0:
		c->refcount = -1;
		break;
	case 1:
		c->handle = percpu_handle(USLAB_ID_FIRST_FREE + 1);
		break;
	case 2:
		c->handle->cache = NULL;
		break;
	case 3:
		cache_number_put_locked(c->front.id);
		break;
	case 4: /* the front's check is called */
		c->front.depot[0].nr_full = 1;
		break;
	case 5: /* and the engine's */
		slub_of(&c->engine)->node[0]->nr_partial += 1;
		break;
	case 6: /* an engine that counts and frees under another number */
		c->engine.id++;
		break;
	}
	cache_check_all();
}

static void test_check_finds(void **state)
{
	(void)state;
	for (int what = 0; what <= 6; what++) {
		struct child c = child_run(spoil, &what);

		if (!child_aborted(&c))
			fail_msg("case %d was not found", what);
		assert_non_null(strstr(c.text, "assertion failed"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_list),
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_hooks),
		cmocka_unit_test(test_fork_among_threads_made_up),
		cmocka_unit_test(test_fork_among_threads),
		cmocka_unit_test(test_check_finds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
