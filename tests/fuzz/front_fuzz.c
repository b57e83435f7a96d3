/* SPDX-License-Identifier: MIT */
/*
 * fuzz/front_fuzz.c - lists of random operations on a front, against a model
 *
 * front_fuzz [seed [count]]: runs the lists of seeds seed .. seed + count - 1; without arguments a
 * fixed number of them. Each list runs in a process of its own, on eight made-up CPUs of three
 * nodes, on which one thread acts for any CPU. The model knows which objects are out; after each
 * operation the front's check runs and its count must be what the engine misses less what the model
 * has.
 */
#include <stdio.h>

#include "base/atomic.h"
#include "base/mix.h"
#include "front/array.h"
#include "front/queues.h"
#include "os/memory/policy.h"
#include "unit/front/fake_engine.h"

#define CPUS 8
#define NODES 3
#define OPS 1500
#define MOST 400 /* objects that the model has at most */

struct fuzz {
	uint64_t seed;
	uint64_t now; /* ms */
	struct front front;
	struct fake fake;
	struct engine slub; /* cpuslab knows no other engine, queues wants to know nodes */
	bool is_slub;
	unsigned int size;
	unsigned int nr;
	void *obj[MOST];
	unsigned int id;
};

static struct fuzz fuzz;

static unsigned int draw(unsigned int below)
{
	fuzz.seed ^= fuzz.seed << 13;
	fuzz.seed ^= fuzz.seed >> 7;
	fuzz.seed ^= fuzz.seed << 17;
	return (unsigned int)(fuzz.seed >> 24) % below;
}

static uint64_t fuzz_clock(void)
{
	return fuzz.now;
}

static void set_up(void)
{
	static const struct front_ops *const fronts[] = {
		&front_array_ops,  &front_none_ops,    &front_cpuslab_ops,
		&front_queues_ops, &front_sheaves_ops, &front_sheaves_618_ops,
	};
	const struct front_ops *ops = fronts[draw(8) < 3 ? 0 : 1 + draw(5)];

	floors_init(CPUS, NODES);
	fuzz.id = 1 + draw(USLAB_NR_HANDLES - 1);
	fuzz.size = 8 * (1 + draw(40));
	fuzz.is_slub = ops == &front_cpuslab_ops || ops == &front_queues_ops ||
		       ops == &front_sheaves_ops || ops == &front_sheaves_618_ops || draw(4) == 0;
	queues_clock = fuzz_clock;
	if (fuzz.is_slub) {
		struct engine_params params = { .name = "fuzz",
						.object_size = fuzz.size,
						.align = 8,
						.id = fuzz.id,
						.hardened = draw(3) == 0,
						.randomised = draw(3) == 0,
						.pack = draw(3) == 0 };

		CHILD_CHECK(slub_ops.init(&fuzz.slub, &params) == 0);
		fuzz.front = (struct front){ .ops = ops, .engine = &fuzz.slub, .id = fuzz.id };
	} else {
		fuzz.size = FAKE_SIZE;
		fake_init(&fuzz.fake, FAKE_SIZE);
		fuzz.front = (struct front){ .ops = ops, .engine = &fuzz.fake.e, .id = fuzz.id };
	}
	CHILD_CHECK(ops->init(&fuzz.front, draw(3) ? draw(32) : 0) == 0);
}

/* ---- the model ---- */

static unsigned long engine_out(void)
{
	struct engine_stats stats;

	if (!fuzz.is_slub)
		return fuzz.fake.nr_out;
	slub_ops.stats(&fuzz.slub, &stats);
	return stats.total_objects - stats.free_objects;
}

static void got(void *obj)
{
	CHILD_CHECK(obj && fuzz.nr < MOST);
	for (unsigned int i = 0; i < fuzz.nr; i++)
		CHILD_CHECK(fuzz.obj[i] != obj);
	if (!fuzz.is_slub)
		CHILD_CHECK(fuzz.fake.out[fake_number(&fuzz.fake, obj)]);
	memset(obj, (int)((uintptr_t)obj >> 3) & 0xff, fuzz.size);
	fuzz.obj[fuzz.nr++] = obj;
}

/* One of the objects, untouched since it was given out. */
static void *pick(void)
{
	unsigned int i = draw(3) ? draw(fuzz.nr) : fuzz.nr - 1;
	unsigned char *obj = fuzz.obj[i];

	for (unsigned int j = 0; j < fuzz.size; j++)
		CHILD_CHECK(obj[j] == ((uintptr_t)obj >> 3 & 0xff));
	fuzz.obj[i] = fuzz.obj[--fuzz.nr];
	return obj;
}

static void check(void)
{
	fuzz.front.ops->check(&fuzz.front);
	CHILD_CHECK(fuzz.front.ops->held(&fuzz.front) + fuzz.nr == engine_out());
}

/* May a request come back with nothing? */
static bool is_dry(void)
{
	return !fuzz.is_slub && (!fuzz.fake.budget || fuzz.fake.nr_out == FAKE_OBJECTS);
}

/* ---- operations ---- */

static void op_alloc(void)
{
	int node = draw(4) ? -1 : (int)draw(NODES + 1);
	gfp_t gfp = GFP_KERNEL | __GFP_NOWARN | (draw(3) ? 0 : __GFP_THISNODE);
	void *obj;

	if (fuzz.nr == MOST)
		return;
	obj = fuzz.front.ops->alloc(&fuzz.front, gfp, node);
	if (!obj) {
		CHILD_CHECK(is_dry());
		return;
	}
	if (fuzz.is_slub && gfp & __GFP_THISNODE && node >= 0 && node < NODES)
		CHILD_CHECK(page_head_of(obj)->node == node);
	got(obj);
}

static void op_free(void)
{
	if (fuzz.nr)
		fuzz.front.ops->free(&fuzz.front, pick());
}

static void op_alloc_bulk(void)
{
	void *p[100];
	unsigned int want = draw(101);
	unsigned int n;

	if (fuzz.nr + want > MOST)
		return;
	n = fuzz.front.ops->alloc_bulk(&fuzz.front, GFP_KERNEL | __GFP_NOWARN, want, p);
	CHILD_CHECK(n == want || (n < want && is_dry()));
	for (unsigned int i = 0; i < n; i++)
		got(p[i]);
}

static void op_free_bulk(void)
{
	void *p[100];
	unsigned int n = draw(MIN(fuzz.nr, 100u) + 1);

	for (unsigned int i = 0; i < n; i++)
		p[i] = pick();
	fuzz.front.ops->free_bulk(&fuzz.front, n, p);
}

static void op_drain(void)
{
	fuzz.front.ops->drain(&fuzz.front);
	CHILD_CHECK(fuzz.front.ops->held(&fuzz.front) == 0);
	CHILD_CHECK(engine_out() == fuzz.nr);
	CHILD_CHECK(!(fuzz.front.closed & ~(uint32_t)FRONT_NO_ARRAYS));
}

/* Memory runs out for a while. */
static void op_budget(void)
{
	fuzz.fake.budget = draw(3) ? ~0u : draw(60);
}

/* What a drain on another CPU looks like from here. */
static void op_closed(void)
{
	if (fuzz.front.ops == &front_array_ops)
		fuzz.front.closed = (fuzz.front.closed & FRONT_NO_ARRAYS) |
				    (draw(3) ? 0 : FRONT_DRAINING);
}

static void op_capacity(void)
{
	unsigned int objects = draw(USLAB_SHEAF_CAPACITY + 2);

	objects = objects > USLAB_SHEAF_CAPACITY ? FRONT_CAPACITY_NONE : objects;
	CHILD_CHECK(fuzz.front.ops->set_capacity(&fuzz.front, objects) == 0);
}

/* Time goes by, limits change, and the thread may want its objects from elsewhere. */
static void op_queues(void)
{
	static const unsigned int most[] = { 3, 20, 200 };
	unsigned int limit = 1 + draw(most[draw(3)]);
	unsigned long nodes = 1 + draw((1 << NODES) - 1);

	fuzz.now += draw(6000);
	os_policy_set(OS_POLICY_DEFAULT, NULL, 0);
	if (draw(3) == 0)
		CHILD_CHECK(os_policy_set(1 + (int)draw(3), &nodes, NODES) == 0);
	if (fuzz.front.ops->reap && draw(4))
		fuzz.front.ops->reap(&fuzz.front, draw(CPUS));
	else if (fuzz.front.ops->tune)
		CHILD_CHECK(fuzz.front.ops->tune(&fuzz.front, limit, 1 + draw(limit), draw(9)) ==
			    0);
	else if (fuzz.front.ops == &front_array_ops)
		op_capacity();
}

static void each_lock(void (*act)(struct lock *l))
{
	if (fuzz.front.ops->each_lock)
		fuzz.front.ops->each_lock(&fuzz.front, act);
	percpu_each_lock(act);
}

static void op_fork(void)
{
	each_lock(lock_fork_prepare);
	each_lock(draw(2) ? lock_fork_parent : lock_fork_child);
}

static void one_op(void)
{
	unsigned int what = draw(100);

	if (draw(4) == 0)
		os_act_as_cpu(draw(CPUS));
	if (what < 40)
		op_alloc();
	else if (what < 80)
		op_free();
	else if (what < 86)
		op_alloc_bulk();
	else if (what < 92)
		op_free_bulk();
	else if (what < 93)
		op_drain();
	else if (what < 95)
		op_budget();
	else if (what < 97)
		op_closed();
	else if (what < 99)
		op_queues();
	else
		op_fork();
}

static void run_list(void *arg)
{
	/* never 0, and neighbours far apart */
	fuzz.seed = mix_multiply(*(unsigned long *)arg + 1);
	set_up();
	for (unsigned int op = 0; op < OPS; op++) {
		one_op();
		check();
	}
	while (fuzz.nr)
		op_free();
	op_drain();
	if (fuzz.is_slub)
		CHILD_CHECK(slub_ops.shrink(&fuzz.slub) == 0);
	fuzz.front.ops->destroy(&fuzz.front);
	meta_check();
	buddy_check();
}

int main(int argc, char **argv)
{
	unsigned long seed = argc > 1 ? strtoul(argv[1], NULL, 0) : 0;
	unsigned long count = argc > 2 ? strtoul(argv[2], NULL, 0) : argc > 1 ? 1 : 60;

	for (unsigned long i = seed; i < seed + count; i++) {
		struct child c = child_run(run_list, &i);

		if (!child_passed(&c)) {
			fprintf(stderr, "front_fuzz: seed %lu fails\n", i);
			return 1;
		}
	}
	printf("front_fuzz: seeds %lu .. %lu: %lu lists of %d operations\n", seed, seed + count - 1,
	       count, OPS);
	return 0;
}
