/* SPDX-License-Identifier: MIT */
/*
 * unit/cache/group/array_test.c - CPUs' arrays of charged objects: when there are any, whose they
 * are, what they hold is no usage, and who empties them
 */
#include <pthread.h>
#include <sys/wait.h>

#include "cache/group/group.h"
#include "cache/internal.h"
#include "front/array_charged.h"
#include "os/time/clock.h"
#include "page/used.h"
#include "unit/cache/cache_fixture.h"
#include "unit/cache/group/lowered.h"

#define MANY 200u /* calls after which there is an array for certain */
#define SIZE 64u  /* of an object, or of one with its key */

/* All of it with and without keys (USLAB_ACCOUNT_INLINE), by calls and by inline hits. */
static const struct kind {
	const char *name;
	slab_flags_t flags;
	unsigned int size;
	bool is_inline;
} kinds[] = {
	{ "words", SLAB_ACCOUNT, SIZE, false },
	{ "keys", USLAB_ACCOUNT_INLINE, SIZE - 8, false },
	{ "keys, inline", USLAB_ACCOUNT_INLINE, SIZE - 8, true },
};
static const struct kind *kind;

static struct uslab_group *handle[2];
static struct group *g[2];
static struct cache *cache;
static void *p[MANY];
static int cpu;

/* Else a cache with the flag has words. */
static bool can_have_keys(void)
{
	return percpu_rseq && !used_are_kept() && !os_memcheck_on;
}

static struct cache *make_charged(const char *name)
{
	return made(&(struct cache_spec){ .name = name,
					  .size = can_have_keys() ? kind->size : SIZE,
					  .flags = kind->flags,
					  .front = &front_array_ops,
					  .no_merge = true });
}

static void start(void)
{
	int error;

	ready();
	cpu = stay_here();
	for (unsigned int i = 0; i < 2; i++) {
		handle[i] = group_create("g", 0, NULL, &error);
		CHILD_CHECK(handle[i]);
		g[i] = group_at(i + 1);
	}
	cache = make_charged("charged");
	group_enter(handle[0]);
}

/* As get() and obj_free(). */
static void *alloc(struct cache *c)
{
	return kind->is_inline ? kmem_cache_alloc_account(c->handle, GFP_NOWAIT) : get(c);
}

static void give(struct cache *c, void *obj)
{
	if (kind->is_inline)
		kmem_cache_free_account(c->handle, obj);
	else
		obj_free(c, obj);
}

static size_t usage(unsigned int i)
{
	struct uslab_group_statistics stat;

	CHILD_CHECK(group_stat(handle[i], &stat) == 0);
	return stat.usage;
}

static uintptr_t array_of(struct cache *c)
{
	uintptr_t top = load_relaxed(percpu_charged(c->front.id, cpu));

	return top && !front_is_stopped(top) ? top : 0;
}

static uint32_t owner(void)
{
	return array_of(cache) ? *sheaf_owner(array_of(cache)) : GROUP_NONE;
}

static void get_many(struct cache *c)
{
	for (unsigned int i = 0; i < MANY; i++)
		CHILD_CHECK((p[i] = alloc(c)) != NULL);
}

static void free_many(struct cache *c)
{
	for (unsigned int i = 0; i < MANY; i++)
		give(c, p[i]);
}

/* An array with objects of group 0, and nothing else is charged. */
static void fill(void)
{
	get_many(cache);
	free_many(cache);
	CHILD_CHECK(usage(0) == 0);
	CHILD_CHECK(!percpu_rseq || (owner() == 1 && sheaf_count(array_of(cache))));
}

static void end(void)
{
	group_enter(NULL);
	CHILD_CHECK(usage(0) == 0 && usage(1) == 0 && in_use(cache) == 0);
	group_check();
	cache_check_all();
	cache->front.ops->drain(&cache->front);
	CHILD_CHECK(!array_of(cache) && cache->front.ops->held(&cache->front) == 0);
	group_drain(g[0]);
	group_drain(g[1]);
	CHILD_CHECK(g[0]->usage == 0 && g[1]->usage == 0);
}

/* Usage is exact at each step; what an array holds has words, and counts as held by the CPU. */
IN_CHILD(test_exact)
{
	start();
	for (unsigned int i = 0; i < MANY; i++) {
		p[i] = alloc(cache);
		CHILD_CHECK(p[i] && usage(0) == (i + 1) * SIZE && group_of(cache, p[i]) == 1);
		CHILD_CHECK(in_use(cache) == i + 1);
	}
	CHILD_CHECK(owner() == (percpu_rseq ? 1 : 0));
	for (unsigned int i = 0; i < MANY; i++) {
		give(cache, p[i]);
		CHILD_CHECK(usage(0) == (MANY - 1 - i) * SIZE && in_use(cache) == MANY - 1 - i);
	}
	for (unsigned int i = 0; percpu_rseq && i < sheaf_count(array_of(cache)); i++)
		CHILD_CHECK(group_of(cache, ((void **)array_of(cache))[-(int)i]) == 1);
	end();
}

/* Few calls make none. */
IN_CHILD(test_few_calls)
{
	void *obj;

	start();
	for (unsigned int i = 0; i < 10; i++) {
		obj = alloc(cache);
		give(cache, obj);
	}
	CHILD_CHECK(!array_of(cache) && usage(0) == 0);
	for (unsigned int i = 0; i < MANY; i++) {
		obj = alloc(cache);
		give(cache, obj);
	}
	CHILD_CHECK(owner() == (percpu_rseq ? 1 : 0));
	end();
}

/* Whoever frees; the other group's objects do not get into this one's array. */
IN_CHILD(test_frees_by_others)
{
	void *other[3];

	start();
	get_many(cache);
	group_enter(handle[1]);
	for (unsigned int i = 0; i < 3; i++)
		other[i] = alloc(cache);
	group_enter(NULL);
	CHILD_CHECK(usage(0) == MANY * SIZE && usage(1) == 3 * SIZE);
	free_many(cache);
	CHILD_CHECK(usage(0) == 0 && usage(1) == 3 * SIZE);
	for (unsigned int i = 0; i < 3; i++)
		give(cache, other[i]);
	CHILD_CHECK(owner() == (percpu_rseq ? 1 : 0) && usage(1) == 0);
	end();
}

/* Two groups in turn: the array is the one's that calls more often, and each is charged its own. */
IN_CHILD(test_changes_hands)
{
	start();
	fill();
	group_enter(handle[1]);
	for (unsigned int i = 0; i < MANY; i++) {
		p[i] = alloc(cache);
		CHILD_CHECK(usage(0) == 0 && usage(1) == (i + 1) * SIZE);
	}
	CHILD_CHECK(owner() == (percpu_rseq ? 2 : 0));
	free_many(cache);
	for (unsigned int i = 0; i < 5 * MANY; i++) {
		void *obj;

		group_enter(handle[i % 2]);
		obj = alloc(cache);
		CHILD_CHECK(usage(0) + usage(1) == SIZE && usage(i % 2) == SIZE);
		give(cache, obj);
	}
	end();
}

/* What an array holds is there for other charges before a limit is met, to the byte. */
IN_CHILD(test_limit)
{
	struct cache *other;
	unsigned int n = 0;

	start();
	other = make_charged("other");
	fill();
	CHILD_CHECK(group_set_limit(handle[0], 40 * SIZE) == 0);
	while (n < MANY && (p[n] = alloc(other)))
		n++;
	CHILD_CHECK(n == 40 && usage(0) == 40 * SIZE && g[0]->met == 1 && g[0]->failed == 1);
	CHILD_CHECK(!array_of(cache) || !sheaf_count(array_of(cache)));
	while (n)
		give(other, p[--n]);
	other->front.ops->drain(&other->front);
	end();
}

IN_CHILD(test_lowered_while_used)
{
	struct cache *other;

	start();
	fill();
	other = make_charged("other");
	churn_at_lower_limit(other, handle[0]);
	other->front.ops->drain(&other->front);
	end();
}

/* Frees one object and allocates one until it gets none. */
static void *churn(void *obj)
{
	const uint64_t end = os_clock_us() + 60000000; /* it may wait for its CPU */

	group_enter(handle[0]);
	for (unsigned int n = 1; obj; n++) {
		CHILD_CHECK(n % 65536 || os_clock_us() < end);
		give(cache, obj);
		obj = kind->is_inline
			      ? kmem_cache_alloc_account(cache->handle, GFP_NOWAIT | __GFP_NOWARN)
			      : cache_alloc(cache, GFP_NOWAIT | __GFP_NOWARN, NUMA_NO_NODE);
	}
	return NULL;
}

/* The limit is lowered while another thread hits. Beside a miss: race/charged_limit_test.c. */
IN_CHILD(test_lowered_beside_hits)
{
	pthread_t thread;

	start();
	for (unsigned int i = 0; i < 300; i++) {
		void *kept = alloc(cache);

		CHILD_CHECK(!pthread_create(&thread, NULL, churn, alloc(cache)));
		for (volatile unsigned int n = 0; n < i * 997 % 100000; n++) {}
		CHILD_CHECK(group_set_limit(handle[0], SIZE / 2) == 0);
		pthread_join(thread, NULL);
		CHILD_CHECK(usage(0) == SIZE);
		give(cache, kept);
		CHILD_CHECK(group_set_limit(handle[0], 0) == 0);
	}
	end();
}

/* Its arrays do not keep a group that was destroyed. */
IN_CHILD(test_destroyed)
{
	int error;

	start();
	get_many(cache);
	group_enter(NULL);
	group_destroy(handle[0]);
	CHILD_CHECK(groups_table->dying == 1);
	free_many(cache);
	CHILD_CHECK(groups_table->dying == 0 && owner() != 1);
	handle[0] = group_create("again", 0, NULL, &error);
	CHILD_CHECK(handle[0] && group_at(1)->serial);
	group_enter(handle[0]);
	fill();
	group_enter(NULL);
	group_destroy(handle[0]);
	CHILD_CHECK(groups_table->dying == 0 && !array_of(cache));
	handle[0] = handle[1];
	end();
}

/* An empty one is no other's, either: what is freed later would get into it, and stay charged. */
IN_CHILD(test_destroyed_with_empty_array)
{
	unsigned int n = 0;

	start();
	fill();
	while (array_of(cache) && sheaf_count(array_of(cache)))
		p[n++] = alloc(cache);
	group_enter(NULL);
	group_destroy(handle[0]);
	CHILD_CHECK(!array_of(cache) && groups_table->dying == (n ? 1u : 0u));
	while (n)
		give(cache, p[--n]);
	CHILD_CHECK(groups_table->dying == 0 && g[0]->usage == 0);
	handle[0] = handle[1];
	end();
}

/* A cache of which more is wanted has none: hits do not look. */
IN_CHILD(test_other_bits)
{
	start();
	fill();
	lock_acquire(&cache_lock);
	cache_watch_locked(cache, WATCH_FAULTS, true);
	cache_unlock();
	get_many(cache);
	CHILD_CHECK(!array_of(cache));
	free_many(cache);
	lock_acquire(&cache_lock);
	cache_watch_locked(cache, WATCH_FAULTS, false);
	cache_unlock();
	fill();
	CHILD_CHECK(cache_set_debug(cache, SLAB_POISON | SLAB_RED_ZONE) == 0);
	CHILD_CHECK(!array_of(cache));
	get_many(cache);
	CHILD_CHECK(!array_of(cache) && usage(0) == MANY * (size_t)cache->engine.size);
	CHILD_CHECK(cache_set_debug(cache, 0) == 0);
	free_many(cache);
	CHILD_CHECK(usage(0) == 0);
	end();
}

/* Arrays have the capacity of the front's, or one less; a change empties them. */
IN_CHILD(test_capacity)
{
	static const unsigned int capacities[] = { 1, 2, 7, USLAB_SHEAF_CAPACITY,
						   FRONT_CAPACITY_NONE };

	start();
	fill();
	for (size_t i = 0; i < ARRAY_SIZE(capacities); i++) {
		bool none = capacities[i] == FRONT_CAPACITY_NONE || capacities[i] < 4 ||
			    !percpu_rseq;

		lock_acquire(&cache_lock);
		CHILD_CHECK(!cache->front.ops->set_capacity(&cache->front, capacities[i]));
		cache_unlock();
		CHILD_CHECK(!array_of(cache));
		get_many(cache);
		CHILD_CHECK(!array_of(cache) == none && usage(0) == MANY * SIZE);
		if (!none)
			CHILD_CHECK(sheaf_capacity(array_of(cache)) ==
				    MIN(capacities[i], (unsigned int)SHEAF_OWNED_CAPACITY));
		free_many(cache);
		CHILD_CHECK(usage(0) == 0);
		cache_check_all();
	}
	end();
}

/* The arrays of a cache nobody uses go back, those of one in use stay. */
IN_CHILD(test_idle)
{
	start();
	fill();
	for (unsigned int i = 0; i < 2; i++) {
		p[i] = alloc(cache);
		lock_acquire(&cache_lock);
		cache->front.ops->reap(&cache->front, 0);
		cache_unlock();
		CHILD_CHECK(!percpu_rseq || array_of(cache));
	}
	give(cache, p[0]);
	give(cache, p[1]);
	for (unsigned int i = 0; i < 2; i++) {
		lock_acquire(&cache_lock);
		cache->front.ops->reap(&cache->front, 0);
		cache_unlock();
	}
	CHILD_CHECK(!array_of(cache));
	end();
}

/* A cache that is destroyed leaves none, and its number may be another's. */
IN_CHILD(test_cache_destroyed)
{
	unsigned int id;

	start();
	fill();
	id = cache->front.id;
	CHILD_CHECK(!percpu_rseq || groups_table->array_size[id] == SIZE);
	cache_destroy(cache->handle, NULL);
	CHILD_CHECK(groups_table->array_size[id] == 0 && usage(0) == 0);
	cache = make_charged("next");
	CHILD_CHECK(cache->front.id == id && !array_of(cache));
	fill();
	end();
}

/* Once in an array is once: the second free of an object is noticed there, too. */
IN_CHILD(test_twice)
{
	void *a, *b;

	start();
	fill();
	a = alloc(cache);
	b = alloc(cache);
	give(cache, a);
	give(cache, a);
	CHILD_CHECK(usage(0) == SIZE);
	give(cache, b);
	CHILD_CHECK(usage(0) == 0);
	a = alloc(cache);
	b = alloc(cache);
	CHILD_CHECK(a != b);
	give(cache, a);
	obj_free(cache, (char *)b + 8); /* is none of its objects */
	CHILD_CHECK(usage(0) == SIZE);
	give(cache, b);
	end();
}

/* The child has its own, and what other CPUs held there. */
IN_CHILD(test_forked)
{
	int status;
	pid_t pid;

	start();
	fill();
	get_many(cache);
	pid = fork();
	CHILD_CHECK(pid >= 0);
	if (!pid) {
		CHILD_CHECK(usage(0) == MANY * SIZE);
		free_many(cache);
		end();
		_exit(0);
	}
	CHILD_CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	free_many(cache);
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_exact),
		cmocka_unit_test(test_few_calls),
		cmocka_unit_test(test_frees_by_others),
		cmocka_unit_test(test_changes_hands),
		cmocka_unit_test(test_limit),
		cmocka_unit_test(test_lowered_while_used),
		cmocka_unit_test(test_lowered_beside_hits),
		cmocka_unit_test(test_destroyed),
		cmocka_unit_test(test_destroyed_with_empty_array),
		cmocka_unit_test(test_other_bits),
		cmocka_unit_test(test_capacity),
		cmocka_unit_test(test_idle),
		cmocka_unit_test(test_cache_destroyed),
		cmocka_unit_test(test_twice),
		cmocka_unit_test(test_forked),
	};

	int failed = 0;

	for (kind = kinds; kind < kinds + ARRAY_SIZE(kinds); kind++)
		failed += cmocka_run_group_tests_name(kind->name, tests, NULL, NULL);
	return failed;
}
