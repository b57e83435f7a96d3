/* SPDX-License-Identifier: MIT */
/*
 * fuzz/cache_fuzz.c - lists of random calls of the public functions, against a model
 *
 * cache_fuzz [seed [count [made-up]]]: runs the lists of seeds seed .. seed + count - 1; without
 * arguments a fixed number of them, first on this machine's CPUs, then once more on six made-up
 * ones of two nodes, then a few with each engine and front for kmalloc (USLAB_CONF). Each list runs
 * in a process of its own. The model foretells which cache a creation merges with (spec 5.4), how
 * large objects are and what is in them; cache_check_all() is called after each step, and the pages
 * that are out are counted at the end (spec vector 16).
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include <uslab/slab.h>

#include "base/bits.h"
#include "base/mix.h"
#include "cache/cache.h"
#include "child.h"
#include "os/cpu/cpu.h"
#include "page/buddy.h"
#include "page/large.h"
#include "page/meta.h"
#include "page/run.h"
#include "pages_out.h"

#define OPS 600
#define CPUS 6
#define CACHES 24   /* caches of the model */
#define OBJECTS 300 /* objects of the model, of caches and of kmalloc */

struct model_cache {
	struct kmem_cache *s; /* NULL: free slot */
	unsigned int users;   /* 0: destroyed while objects were left */
	unsigned int stride;
	unsigned int object_size;
	unsigned int capacity;
	const char *engine;
	const char *front;
	slab_flags_t flags;
	bool has_ctor;
	bool in_heap;	   /* kfree() does not know its objects, and nothing merges with it */
	unsigned long age; /* of creation */
	unsigned int live; /* objects */
};

struct model_object {
	unsigned char *p;
	struct model_cache *cache; /* NULL: kmalloc */
	size_t size;		   /* usable bytes, all stamped */
};

static struct {
	uint64_t seed;
	unsigned long age;
	struct model_cache cache[CACHES];
	unsigned int nr_objects;
	struct model_object object[OBJECTS];
} model;

/* Before any constructor, the library's too: the topology is chosen for the whole process. */
static void choose_topology(int argc, char **argv, char **envp)
{
	(void)envp;
	if (argc > 3 && !strcmp(argv[3], "made-up"))
		os_topology_set(CPUS, 2);
}

__attribute__((section(".preinit_array"),
	       used)) static void (*const at_first)(int, char **, char **) = choose_topology;

static unsigned int draw(unsigned int below)
{
	model.seed ^= model.seed << 13;
	model.seed ^= model.seed >> 7;
	model.seed ^= model.seed << 17;
	return (unsigned int)(model.seed >> 24) % below;
}

/* ---- caches: the model's own reading of spec 5.3 and 5.4 ---- */

#define NEVER \
	(SLAB_RED_ZONE | SLAB_POISON | SLAB_STORE_USER | SLAB_TYPESAFE_BY_RCU | SLAB_NOLEAKTRACE)
#define SAME (SLAB_RECLAIM_ACCOUNT | SLAB_CACHE_DMA | SLAB_CACHE_DMA32 | SLAB_ACCOUNT)

static unsigned int effective_align(unsigned int size, unsigned int align, slab_flags_t flags)
{
	if (flags & SLAB_HWCACHE_ALIGN) {
		unsigned int line = 64;

		while (size <= line / 2)
			line /= 2;
		align = MAX(align, line);
	}
	return MAX(align, 8u);
}

static struct model_cache *foretell(unsigned int size, const struct kmem_cache_args *args,
				    slab_flags_t flags)
{
	unsigned int words = (size + 7) / 8 * 8;
	unsigned int align = effective_align(words, args->align, flags);
	unsigned int stride = (words + align - 1) / align * align;
	struct model_cache *oldest = NULL;

	if (args->ctor || flags & NEVER || cache_engine_by_name(args->engine)->heap)
		return NULL;
	for (unsigned int i = 0; i < CACHES; i++) {
		struct model_cache *c = &model.cache[i];

		if (!c->s || c->has_ctor || c->flags & NEVER || (c->flags ^ flags) & SAME)
			continue;
		if (strcmp(c->engine, args->engine) || strcmp(c->front, args->front) ||
		    c->capacity != args->capacity)
			continue;
		if (c->stride % align || stride > c->stride || c->stride - stride >= 8)
			continue;
		if (!oldest || c->age < oldest->age)
			oldest = c;
	}
	return oldest;
}

static void construct(void *obj)
{
	*(long *)obj = 0x0c70;
}

static void op_create(void)
{
	static const slab_flags_t flag[] = { SLAB_HWCACHE_ALIGN, SLAB_RECLAIM_ACCOUNT,
					     SLAB_ACCOUNT,	 SLAB_CACHE_DMA32,
					     SLAB_NOLEAKTRACE,	 SLAB_PANIC,
					     SLAB_CACHE_DMA,	 SLAB_CONSISTENCY_CHECKS };
	static const char *const front[] = { "array", "none", "queues", "cpuslab", "sheaves" };
	const struct engine_ops *engine = cache_engines[draw(2) ? 0 : draw(CACHE_NR_ENGINES)];
	struct kmem_cache_args args = { .engine = engine->name,
					.front = front[draw(engine == &slub_ops ? 4 : 3)] };
	unsigned int size = 1 + (draw(4) ? draw(200) : draw(12000));
	slab_flags_t flags = 0;
	struct model_cache *c;
	struct kmem_cache *s;
	unsigned int slot = 0;

	while (slot < CACHES && model.cache[slot].s)
		slot++;
	args.align = draw(3) ? 0 : 1u << draw(9);
	args.capacity = draw(4) ? 0 : draw(32);
	for (unsigned int n = draw(3); n; n--)
		flags |= flag[draw(ARRAY_SIZE(flag))];
	if (draw(8) == 0) {
		args.ctor = construct;
		size = MAX(size, 8u);
	}
	c = foretell(size, &args, flags);
	if (!c && slot == CACHES)
		return;
	s = kmem_cache_create_args(draw(2) ? "odd" : "even", size, &args, flags);
	CHILD_CHECK(s);
	if (c) {
		CHILD_CHECK(s == c->s);
		c->users++;
		c->object_size = MAX(c->object_size, size);
		return;
	}
	c = &model.cache[slot];
	*c = (struct model_cache){ .s = s,
				   .users = 1,
				   .object_size = size,
				   .flags = flags,
				   .stride = cache_of(s)->engine.size,
				   .capacity = args.capacity,
				   .engine = args.engine,
				   .front = args.front,
				   .in_heap = engine->heap,
				   .has_ctor = args.ctor,
				   .age = ++model.age };
	for (unsigned int i = 0; i < CACHES; i++)
		CHILD_CHECK(i == slot || model.cache[i].s != s);
	CHILD_CHECK(c->in_heap || c->stride % effective_align(size, args.align, flags) == 0);
	CHILD_CHECK(c->stride >= size);
}

static struct model_cache *any_cache(void)
{
	unsigned int first = draw(CACHES);

	for (unsigned int i = 0; i < CACHES; i++) {
		struct model_cache *c = &model.cache[(first + i) % CACHES];

		if (c->s)
			return c;
	}
	return NULL;
}

static void op_destroy(void)
{
	struct model_cache *c = any_cache();

	if (!c || !c->users || (c->live && draw(4)))
		return;
	kmem_cache_destroy(c->s);
	c->users--;
	if (!c->users && !c->live)
		c->s = NULL;
}

static void op_shrink(void)
{
	struct model_cache *c = any_cache();

	if (draw(4) == 0)
		uslab_trim();
	else if (c) /* pages of a heap are not the cache's */
		CHILD_CHECK(kmem_cache_shrink(c->s) == !!c->live || c->in_heap);
}

/* ---- objects ---- */

static void stamp(const struct model_object *o)
{
	size_t from = o->cache && o->cache->has_ctor ? sizeof(long) : 0;

	memset(o->p + from, (int)((uintptr_t)o->p >> 3) & 0xff, o->size - from);
}

static void check_stamp(const struct model_object *o, size_t size)
{
	size_t from = o->cache && o->cache->has_ctor ? sizeof(long) : 0;

	if (from)
		CHILD_CHECK(*(long *)o->p == 0x0c70);
	for (size_t i = from; i < size; i++)
		CHILD_CHECK(o->p[i] == ((uintptr_t)o->p >> 3 & 0xff));
}

static void check_zero(const unsigned char *p, size_t size)
{
	for (size_t i = 0; i < size; i++)
		CHILD_CHECK(p[i] == 0);
}

static void add_object(void *p, struct model_cache *c, size_t size)
{
	struct model_object *o = &model.object[model.nr_objects];

	CHILD_CHECK(p && !((uintptr_t)p & 7));
	for (unsigned int i = 0; i < model.nr_objects; i++)
		CHILD_CHECK((unsigned char *)p + size <= model.object[i].p ||
			    model.object[i].p + model.object[i].size <= (unsigned char *)p);
	*o = (struct model_object){ .p = p, .cache = c, .size = size };
	stamp(o);
	model.nr_objects++;
	if (c) {
		c->live++;
		CHILD_CHECK(kmem_cache_size(c->s) == c->object_size);
	}
}

static void op_alloc(void)
{
	struct model_cache *c = any_cache();
	bool zero = draw(4) == 0 && c && !c->has_ctor;
	gfp_t gfp = GFP_KERNEL | (zero ? __GFP_ZERO : 0);
	void *p;

	if (!c || model.nr_objects == OBJECTS)
		return;
	if (draw(4))
		p = kmem_cache_alloc(c->s, gfp);
	else
		p = kmem_cache_alloc_node(c->s, gfp, (int)draw(4) - 1);
	if (zero)
		check_zero(p, c->object_size);
	add_object(p, c, c->object_size);
}

static void op_alloc_bulk(void)
{
	struct model_cache *c = any_cache();
	unsigned int n = draw(60);
	void *p[60];

	if (!c || model.nr_objects + n > OBJECTS || c->object_size > 4000)
		return;
	CHILD_CHECK(kmem_cache_alloc_bulk(c->s, GFP_KERNEL, n, p) == (int)n);
	for (unsigned int i = 0; i < n; i++)
		add_object(p[i], c, c->object_size);
}

static void op_alloc_array(void)
{
	struct model_cache *c = any_cache();
	unsigned int mode = draw(SLAB_ARRAY_ALL + 1);
	unsigned int n = draw(150);
	bool zero = draw(4) == 0 && c && !c->has_ctor;
	gfp_t gfp = GFP_KERNEL | (zero ? __GFP_ZERO : 0);
	void *p[150];
	int got;

	if (!c || model.nr_objects + n > OBJECTS || c->object_size > 4000)
		return;
	got = kmem_cache_alloc_array(c->s, gfp, n, p, mode);
	CHILD_CHECK(got >= 0 && got <= (int)n);
	CHILD_CHECK(got == (int)n || (mode && !(mode & SLAB_ARRAY_FULL)));
	for (int i = 0; i < got; i++) {
		if (zero)
			check_zero(p[i], c->object_size);
		add_object(p[i], c, c->object_size);
	}
}

static void op_kmalloc(void)
{
	size_t size = draw(3) ? draw(300) : draw(3) ? draw(9000) : draw(100000);
	bool zero = draw(4) == 0;
	bool exact;
	void *p = kmalloc(size,
			  GFP_KERNEL | (zero ? __GFP_ZERO : 0) | (draw(4) ? 0 : __GFP_RECLAIMABLE));

	if (!size)
		CHILD_CHECK(p == ZERO_SIZE_PTR);
	if (!size || model.nr_objects == OBJECTS) {
		kfree(p);
		return;
	}
	CHILD_CHECK(ksize(p) >= size);
	/* a block of a heap has the size that was asked for, in the heap's steps */
	exact = size <= 8192 && page_head_of(p)->type == PAGE_HEAP;
	CHILD_CHECK(ksize(p) == kmalloc_size_roundup(size) || exact);
	if (is_pow2(size))
		CHILD_CHECK(((uintptr_t)p & (size - 1)) == 0);
	if (zero) /* what is cleared is the whole object, or the block that was asked for */
		check_zero(p, exact ? size : ksize(p));
	add_object(p, NULL, ksize(p));
}

/* Forgets an object, untouched since it was given out. */
static struct model_object take_object(unsigned int i)
{
	struct model_object o = model.object[i];

	check_stamp(&o, o.size);
	model.object[i] = model.object[--model.nr_objects];
	if (o.cache)
		o.cache->live--;
	return o;
}

static void free_object(struct model_object o)
{
	if (o.cache && (o.cache->in_heap || draw(4)))
		kmem_cache_free(o.cache->s, o.p);
	else if (o.cache || draw(4))
		kfree(o.p);
	else
		kfree_sensitive(o.p);
}

static void op_free(void)
{
	if (model.nr_objects)
		free_object(take_object(draw(model.nr_objects)));
}

static bool kfree_knows(const struct model_object *o)
{
	return !o->cache || !o->cache->in_heap;
}

static void op_free_bulk(void)
{
	unsigned int n = draw(MIN(model.nr_objects, 50u) + 1);
	struct model_cache *c = draw(2) ? any_cache() : NULL;
	unsigned int nr = 0;
	void *p[50];

	for (unsigned int i = model.nr_objects; i-- > 0 && nr < n;)
		if (c ? model.object[i].cache == c : kfree_knows(&model.object[i]))
			p[nr++] = take_object(i).p;
	kmem_cache_free_bulk(c ? c->s : NULL, nr, p);
}

/* NULLs here and there are skipped. */
static void op_free_array(void)
{
	struct model_cache *c = any_cache();
	unsigned int n = draw(80);
	unsigned int nr = 0;
	void *p[80];

	if (!c)
		return;
	for (unsigned int i = model.nr_objects; i-- > 0 && nr < n;)
		if (draw(5) == 0)
			p[nr++] = NULL;
		else if (model.object[i].cache == c)
			p[nr++] = take_object(i).p;
	kmem_cache_free_array(c->s, nr, p);
}

static void op_krealloc(void)
{
	struct model_object o;
	size_t size = draw(3) ? draw(300) : draw(20000);
	size_t old_size;
	size_t stamped;
	unsigned char *p;
	unsigned int i;

	if (!model.nr_objects)
		return;
	i = draw(model.nr_objects);
	if (model.object[i].cache)
		return;
	o = take_object(i);
	old_size = ksize(o.p);
	CHILD_CHECK(old_size == o.size);
	p = krealloc(o.p, size, GFP_KERNEL);
	if (!size) {
		CHILD_CHECK(p == ZERO_SIZE_PTR);
		return;
	}
	CHILD_CHECK((p == o.p) == (size <= old_size));
	stamped = MIN(size, old_size);
	for (size_t j = 0; j < stamped; j++)
		CHILD_CHECK(p[j] == ((uintptr_t)o.p >> 3 & 0xff));
	CHILD_CHECK(ksize(p) >= size);
	add_object(p, NULL, ksize(p));
}

/* ---- lists ---- */

static void one_op(void)
{
	unsigned int what = draw(100);

	if (os_topology.made_up && draw(3) == 0)
		os_act_as_cpu(draw(CPUS));
	if (what < 6)
		op_create();
	else if (what < 10)
		op_destroy();
	else if (what < 13)
		op_shrink();
	else if (what < 40)
		op_alloc();
	else if (what < 43)
		op_alloc_bulk();
	else if (what < 46)
		op_alloc_array();
	else if (what < 58)
		op_kmalloc();
	else if (what < 84)
		op_free();
	else if (what < 88)
		op_free_bulk();
	else if (what < 92)
		op_free_array();
	else
		op_krealloc();
}

static void run_list(void *arg)
{
	unsigned long start = bytes_out();

	model.seed = mix_multiply(*(unsigned long *)arg + 1);
	for (unsigned int op = 0; op < OPS; op++) {
		one_op();
		cache_check_all();
	}
	while (model.nr_objects)
		op_free();
	for (unsigned int i = 0; i < CACHES; i++) {
		struct model_cache *c = &model.cache[i];

		while (c->s && c->users) {
			kmem_cache_destroy(c->s);
			c->users--;
		}
	}
	uslab_trim();
	cache_check_all();
	CHILD_CHECK(bytes_out() == start);
	run_check();
	meta_check();
	buddy_check();
}

static int run_lists(unsigned long seed, unsigned long count)
{
	for (unsigned long i = seed; i < seed + count; i++) {
		struct child c = child_run(run_list, &i);

		if (!child_passed(&c)) {
			fprintf(stderr, "cache_fuzz: seed %lu fails%s\n", i,
				os_topology.made_up ? " (made-up)" : "");
			return 1;
		}
	}
	printf("cache_fuzz: seeds %lu .. %lu: %lu lists of %d calls on %u CPUs\n", seed,
	       seed + count - 1, count, OPS, os_topology.nr_cpus);
	return 0;
}

/* This program with other arguments; conf may be NULL. */
static bool run_self(const char *count, const char *mode, const char *conf)
{
	char *const args[] = { "cache_fuzz", "0", (char *)count, (char *)mode, NULL };
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		if (conf)
			setenv("USLAB_CONF", conf, 1);
		execv("/proc/self/exe", args);
		_exit(127);
	}
	if (waitpid(pid, &status, 0) == pid && status == 0)
		return true;
	fprintf(stderr, "cache_fuzz: USLAB_CONF=%s %s\n", conf ? conf : "", mode);
	return false;
}

static bool run_pairs(void)
{
	static const char *const fronts[] = { "none", "array", "queues", "cpuslab", "sheaves" };
	char conf[64];

	for (unsigned int e = 0; e < CACHE_NR_ENGINES; e++)
		for (unsigned int f = 0; f < ARRAY_SIZE(fronts); f++) {
			if (f == 3 && cache_engines[e] != &slub_ops)
				continue;
			snprintf(conf, sizeof(conf), "engine=%s,front=%s", cache_engines[e]->name,
				 fronts[f]);
			if (!run_self("2", "real", conf) || !run_self("1", "made-up", conf))
				return false;
		}
	return true;
}

int main(int argc, char **argv)
{
	unsigned long seed = argc > 1 ? strtoul(argv[1], NULL, 0) : 0;
	unsigned long count = argc > 2 ? strtoul(argv[2], NULL, 0) : 1;

	if (argc > 1)
		return run_lists(seed, count);
	return run_self("30", "real", NULL) && run_self("30", "made-up", NULL) && run_pairs() ? 0
											      : 1;
}
