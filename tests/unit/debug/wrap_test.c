/* SPDX-License-Identifier: MIT */
/*
 * unit/debug/wrap_test.c - one cache, two kinds of slabs: whatever the
 * engine, each object goes home
 *
 * ctest: timeout=60
 */
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <time.h>

#include "base/mix.h"
#include "debug/kfence/kfence.h"
#include "debug/stacks.h"
#include "fixture.h"
#include "front/front.h"

static const struct engine_ops *const engines[] = { &slub_ops,	       &slab_ops, &slobseg_ops,
						    &slobseg_pow2_ops, &slob_ops, &slob_1991_ops };

static unsigned long in_use(struct engine *e)
{
	struct engine_stats stats;

	e->ops->stats(e, &stats);
	return stats.total_objects - stats.free_objects;
}

static unsigned long debug_in_use(struct engine *e)
{
	struct engine_stats stats = { 0 };

	debug_add_stats(e, &stats);
	return stats.total_objects - stats.free_objects;
}

static void still_the_engine(__attribute__((unused)) void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(engines); i++) {
		const struct engine_ops *ops = engines[i];
		struct engine e;

		make_with(&e, ops, params_of(64), F, false);
		assert_ptr_equal(e.ops->name, ops->name);
		assert_ptr_equal(e.ops->heap, ops->heap);
		assert_ptr_equal(e.ops->refill, ops->refill);
		assert_ptr_equal(e.ops->tune, ops->tune);
		assert_ptr_equal(e.ops->reap, ops->reap);
		assert_int_equal(e.ops->kmalloc_min, ops->kmalloc_min);
		for (size_t k = 0; k < ARRAY_SIZE(engines); k++)
			assert_int_equal(engine_is(&e, engines[k]), k == i);
		END_ENGINE(&e);
	}
}

/* Plain and debug objects in one flush, in every order of the two. */
static void flush_sorts(__attribute__((unused)) void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(engines); i++) {
		struct engine e;
		void *objs[6];

		make_with(&e, engines[i], params_of(64), FZPU, false);
		for (unsigned int mix = 0; mix < 64; mix++) {
			for (unsigned int n = 0; n < 6; n++) {
				if (mix >> n & 1)
					objs[n] = get(&e);
				else
					assert_int_equal(e.ops->refill(&e, &objs[n], 1, 0, -1), 1);
				memset(objs[n], 0x11, 64);
			}
			assert_int_equal(in_use(&e), 6);
			assert_int_equal(debug_in_use(&e), (unsigned int)__builtin_popcount(mix));
			e.ops->flush(&e, objs, 6);
			assert_int_equal(in_use(&e), 0);
			assert_int_equal(errors(), 0);
		}
		END_ENGINE(&e);
	}
}

/*
 * Of an object that was in a front nobody knows who freed it; what it was looks right all the same.
 */
static void flush_checks(__attribute__((unused)) void **state)
{
	struct engine e;
	char *keep;
	char *obj;
	void *one;

	make(&e, 64, FZPU);
	keep = get(&e);
	one = obj = get(&e);
	e.ops->flush(&e, &one, 1);
	assert_int_equal(debug_track(e.debug->layout, obj, TRACK_FREE)->addr, 0);
	assert_int_equal(debug_validate(&e), 1);
	one = obj;
	e.ops->flush(&e, &one, 1);
	assert_true(said("Object already free"));
	assert_int_equal(errors(), 2);
	put(&e, keep);
	END_ENGINE(&e);
}

static unsigned long visited;

static void visit(void *slab, void *obj, __attribute__((unused)) void *arg)
{
	assert_true((char *)obj >= (char *)slab);
	visited++;
}

/* Nothing is torn down while an object of either kind is left. */
static void destroy_waits_for_both(__attribute__((unused)) void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(engines); i++) {
		struct engine e;
		void *plain[2];
		void *debugged;

		make_with(&e, engines[i], params_of(64), FZPU, false);
		assert_int_equal(e.ops->refill(&e, plain, 2, 0, -1), 2);
		debugged = get(&e);
		assert_int_equal(e.ops->shrink(&e), 1);
		assert_int_equal(e.ops->destroy(&e), 3);
		visited = 0;
		e.ops->walk(&e, visit, NULL);
		assert_true(visited >= 1 && visited <= 3);
		put(&e, debugged);
		assert_int_equal(e.ops->destroy(&e), 2);
		assert_int_equal(e.ops->refill(&e, &debugged, 1, 0, -1), 1); /* usable */
		e.ops->flush(&e, &debugged, 1);
		e.ops->flush(&e, plain, 2);
		END_ENGINE(&e);
	}
}

/* ---- a full cache with the front array ------------------------------------------------------- */

#define ID 1000u

IN_CHILD(switched_when_full)
{
	struct engine_params params = params_of(64);
	struct front front = { 0 };
	static void *objs[400];
	struct engine e;

	percpu_init();
	CHILD_CHECK(slub_ops.init(&e, &params) == 0);
	front.ops = &front_array_ops;
	front.engine = &e;
	front.id = ID;
	CHILD_CHECK(front.ops->init(&front, 0) == 0);
	for (unsigned int i = 0; i < 200; i++)
		objs[i] = front.ops->alloc(&front, 0, -1);
	for (unsigned int i = 0; i < 50; i++) /* some are in the array when it happens */
		front.ops->free(&front, objs[i]);

	CHILD_CHECK(debug_attach(&e, false, false) == 0);
	CHILD_CHECK(debug_set_flags(&e, FZPU, false) == 0);
	for (unsigned int i = 200; i < 400; i++)
		objs[i] = get(&e);
	front.ops->drain(&front);
	CHILD_CHECK(in_use(&e) == 350 && debug_in_use(&e) == 200);
	debug_set_flags(&e, 0, false);

	/* debug objects through the front, as on a hit path after switching off */
	for (unsigned int i = 200; i < 400; i++)
		front.ops->free(&front, objs[i]);
	for (unsigned int i = 200; i < 400; i++) {
		objs[i] = front.ops->alloc(&front, 0, -1);
		memset(objs[i], 0x44, 64);
	}
	debug_set_flags(&e, FZPU,
			false); /* on again: those in the front are in use, and no mistake */
	debug_validate(&e);
	for (unsigned int i = 50; i < 400; i++)
		front.ops->free(&front, objs[i]);
	front.ops->drain(&front);
	debug_validate(&e);
	CHILD_CHECK(errors() == 0);
	CHILD_CHECK(in_use(&e) == 0);
	front.ops->check(&front);
	e.ops->check(&e);
	debug_set_flags(&e, 0, false);
	CHILD_CHECK(e.debug->node[0]->nr_slabs == 0);
	CHILD_CHECK(e.ops->destroy(&e) == 0);
}

/* ---- guarded objects ------------------------------------------------------------------------- */

IN_CHILD(guarded_objects_go_to_kfence)
{
	struct engine e;
	void *objs[3];

	make(&e, 64, FZPU);
	CHILD_CHECK(kfence_set_option("sample", "1"));
	CHILD_CHECK(kfence_start() == 0);
	for (unsigned int i = 0; i < 1000 && !(objs[1] = kfence_alloc(&e, 64, 0, here, 1)); i++)
		;
	CHILD_CHECK(objs[1] && kfence_is_object(page_head_of(objs[1])));
	objs[0] = get(&e);
	CHILD_CHECK(e.ops->refill(&e, &objs[2], 1, 0, -1) == 1);
	e.ops->flush(&e, objs, 3);
	CHILD_CHECK(kfence_counters.frees == 1 && kfence_counters.allocated == 0);
	CHILD_CHECK(in_use(&e) == 0 && errors() == 0);
}

/* ---- threads and fork ------------------------------------------------------------------------ */

#define THREADS 4
#define SLOTS 64
#define STRESS_MS 600

static struct {
	struct engine e;
	_Atomic bool stop;
	_Atomic(void *) shared[SLOTS]; /* objects that change hands */
} stress;

static unsigned char pattern(const void *obj)
{
	return (unsigned char)(mix_multiply((uintptr_t)obj) >> 56);
}

/* Mine, as long as I have it. */
static void *stress_get(unsigned int *seed)
{
	struct engine *e = &stress.e;
	void *obj = NULL;

	if (rand_r(seed) % 4)
		obj = debug_alloc(e, 0, -1, 1 + (size_t)rand_r(seed) % 64, here);
	else
		e->ops->refill(e, &obj, 1, 0, -1);
	CHILD_CHECK(obj);
	*(unsigned char *)obj = pattern(obj);
	return obj;
}

static void stress_put(void *obj)
{
	struct engine *e = &stress.e;

	CHILD_CHECK(*(unsigned char *)obj == pattern(obj));
	if (debug_is_slab(page_head_of(obj)) && pattern(obj) & 1)
		debug_free(e, obj, here);
	else
		e->ops->flush(e, &obj, 1);
}

static void *stress_thread(void *arg)
{
	unsigned int seed = (unsigned int)(uintptr_t)arg;

	while (!atomic_load(&stress.stop)) {
		void *obj = rand_r(&seed) % 2 ? stress_get(&seed) : NULL;

		obj = atomic_exchange(&stress.shared[(unsigned int)rand_r(&seed) % SLOTS], obj);
		if (obj)
			stress_put(obj);
	}
	return NULL;
}

/* The child finds each structure between two operations. */
static void stress_fork(void)
{
	struct engine *e = &stress.e;
	pid_t pid;
	int status;

	e->ops->each_lock(e, lock_fork_prepare);
	buddy_each_lock(lock_fork_prepare);
	stacks_each_lock(lock_fork_prepare);
	meta_each_lock(lock_fork_prepare);
	pid = fork();
	if (pid) {
		meta_each_lock(lock_fork_parent);
		stacks_each_lock(lock_fork_parent);
		buddy_each_lock(lock_fork_parent);
		e->ops->each_lock(e, lock_fork_parent);
		CHILD_CHECK(waitpid(pid, &status, 0) == pid && status == 0);
		return;
	}
	meta_each_lock(lock_fork_child);
	stacks_each_lock(lock_fork_child);
	buddy_each_lock(lock_fork_child);
	e->ops->each_lock(e, lock_fork_child);
	e->ops->check(e);
	debug_validate(e);
	put(e, get(e));
	_exit(errors() ? 1 : 0);
}

static void stress_in_child(void *arg)
{
	static const slab_flags_t flags[] = { FZPU, Z | P | U, 0, F, F | U };
	struct engine_params params = params_of(64);
	struct engine *e = &stress.e;
	pthread_t threads[THREADS];
	struct timespec tick = { .tv_nsec = 10 * 1000 * 1000 };

	make_with(e, arg, params, FZPU, true);
	for (uintptr_t i = 0; i < THREADS; i++)
		CHILD_CHECK(!pthread_create(&threads[i], NULL, stress_thread, (void *)(i + 1)));
	for (unsigned int i = 0; i < STRESS_MS / 10; i++) {
		nanosleep(&tick, NULL);
		debug_set_flags(e, flags[i % ARRAY_SIZE(flags)], false);
		debug_validate(e);
		e->ops->shrink(e);
		if (i % 8 == 0 && !THREAD_SANITIZED)
			stress_fork();
	}
	atomic_store(&stress.stop, true);
	for (unsigned int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	e->ops->check(e);
	for (unsigned int i = 0; i < SLOTS; i++)
		if (stress.shared[i])
			stress_put(stress.shared[i]);
	debug_validate(e);
	CHILD_CHECK(errors() == 0);
	CHILD_CHECK(in_use(e) == 0);
	CHILD_CHECK(e->ops->destroy(e) == 0);
}

static void threads_and_fork(__attribute__((unused)) void **state)
{
	static const struct engine_ops *const some[] = { &slub_ops, &slab_ops, &slobseg_ops };

	for (size_t i = 0; i < ARRAY_SIZE(some); i++) {
		struct child c = child_run(stress_in_child, (void *)some[i]);

		assert_true(child_passed(&c));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(still_the_engine),
		cmocka_unit_test(flush_sorts),
		cmocka_unit_test(flush_checks),
		cmocka_unit_test(destroy_waits_for_both),
		cmocka_unit_test(switched_when_full),
		cmocka_unit_test(guarded_objects_go_to_kfence),
		cmocka_unit_test(threads_and_fork),
	};

	return cmocka_run_group_tests(tests, debug_group_setup, NULL);
}
