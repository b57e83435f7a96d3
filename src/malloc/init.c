/* SPDX-License-Identifier: MIT */
/*
 * malloc/init.c - the start of the drop-in malloc, at the first request; its caches, each when used
 *
 * Why:        docs/adr/0007, docs/adr/0059.
 * Data:       malloc_hot, malloc_shape, malloc_made, malloc_state; memory for caches when there is
 *             none left.
 * Invariants: class c is cache number c, named malloc-<size>; the table in window 0 maps
 *             each size to its class. Until its cache is made, the words of a class are stopped and
 *             no page is of it. The hit paths open last. Checked by malloc_check().
 * Locks:      init_lock, once; cache_lock, when a cache is made.
 * Flow:       called by internal.h, align.c, sampling.c, slow.c and the loader; calls early.c,
 *             ready.c, cache/init.c, cache/create.c, inspect/root.c.
 *
 * With glibc the first request comes before any constructor of a program has run, often from the
 * dynamic loader or the start of libc, so nothing here may rely on a constructor of this library.
 */
#include <errno.h>
#include <string.h>

#include "cache/control/control.h"
#include "cache/group/group.h"
#include "front/percpu.h"
#include "malloc/internal.h"
#include "os/process/die.h"
#include "os/lock/lock.h"
#include "os/cpu/rseq.h"
#include "page/meta.h"
#include "page/page.h"
#include "page/realtime.h"
#include "inspect/root.h"

BUILD_ASSERT(offsetof(struct malloc_hot, group_limit) ==
	     offsetof(struct malloc_hot, size_limit) + sizeof(unsigned long));

struct malloc_hot malloc_hot;
struct malloc_shape malloc_shape[MALLOC_CLASSES + 1];
struct kmem_cache *malloc_made[MALLOC_CLASSES + 1];
uint32_t malloc_state; /* 1: ready; written under init_lock */

static struct lock init_lock; /* unranked: cache_init() takes every rank below it */
static __thread bool in_init; /* this thread is inside of malloc_init() */
static bool no_start;	      /* it has failed; atomic */
static uint32_t said;	      /* and the program knows; atomic */

/*
 * Has the dynamic loader relocated this library? A pointer to itself holds its own address only
 * after that; volatile, because the compiler knows better.
 */
static bool relocated(void)
{
	static void *volatile self = (void *)&self;

	return self == (void *)&self;
}

/* By one of the threads that want it, under cache_lock. */
static int create_cache(unsigned int class)
{
	char name[32];
	struct kmem_cache *handle;
	struct cache_spec spec = {
		.name = name,
		.size = (unsigned int)malloc_class_size(class),
		.align = (unsigned int)malloc_class_align(class),
		.id = USLAB_ID_MALLOC + class - 1,
		.slot = &malloc_made[class],
		.pack = true,
		.no_merge = true,
	};

	os_format(name, sizeof(name), "malloc-%u", spec.size);
	return cache_create(&spec, &handle);
}

/*
 * For the caches that are made when no memory is left (RLIMIT_AS): what all of them take. Nobody
 * touches it before, so only addresses are held.
 */
#define SPARE_BYTES (64ul << 10)
static void *spare;

cold struct cache *malloc_make_class(unsigned int class)
{
	int error = create_cache(class);
	void *p = error == -ENOMEM ? xchg(&spare, NULL) : NULL;

	if (p) {
		meta_free(p, SPARE_BYTES);
		error = create_cache(class);
	}
	return error ? NULL : cache_of(percpu_handle(class));
}

/* Before commands, which may name any of them. One that cannot be made matches nothing. */
static void make_all(void)
{
	for (unsigned int class = 1; class <= MALLOC_CLASSES; class += 1)
		malloc_make_class(class);
}

BUILD_ASSERT(MALLOC_MAX_SMALL <= UINT16_MAX && PAGE_SIZE <= UINT16_MAX);

static unsigned char *malloc_table(void)
{
	return (unsigned char *)page_windows() + USLAB_WINDOW_TABLES;
}

/*
 * Class of every size up to MALLOC_MAX_TABLE, where one base register reaches it; words that miss.
 */
static void fill_tables(void)
{
	unsigned char *table = malloc_table();
	size_t done = 0; /* sizes below it are in the table */

	front_stop_words(USLAB_ID_NONE);
	for (unsigned int class = 1; class <= MALLOC_CLASSES; class += 1) {
		size_t size = malloc_class_size(class);
		size_t end = MIN(size + 1, MALLOC_TABLE_SIZE);

		malloc_shape[class].size = (uint16_t)size;
		malloc_shape[class].align = (uint16_t)malloc_class_align(class);
		memset(table + done, (int)class, end - done);
		done = end;
		front_stop_words(class);
		malloc_made[class] = percpu_handle(USLAB_ID_NONE);
	}
}

#define SIZE_LIMIT (MALLOC_MAX_TABLE + 1ul)

/* size_limit opens malloc() and vouches for the rest; free() sees nothing of ours before that. */
static void open_hit_paths(void)
{
	malloc_hot.base = page_map.base;
	malloc_hot.rseq = os_rseq_offset;
	malloc_hot.page_limit = page_map.limit;
	store_release(&malloc_hot.size_limit, SIZE_LIMIT); /* pairs: malloc_hot_alloc() */
}

/* By what else is to be done for each call. */
static unsigned long size_limit_now(void)
{
	if (load_relaxed(&groups_entered))
		return 0;
	return load_relaxed(&control.sample_mean) ? CONTROL_SAMPLING : SIZE_LIMIT;
}

static unsigned long group_limit_now(void)
{
	return load_relaxed(&groups_entered) && !load_relaxed(&control.sample_mean) ? SIZE_LIMIT
										    : 0;
}

/*
 * A full barrier: the next read of the mailbox must not be older, or a tool that wrote its command
 * and then 0 here would be missed. The same for a tool that begins or ends to sample, and for
 * threads that enter groups: what says so is read again after the barrier.
 */
void malloc_rearm(void)
{
	unsigned long limit, group_limit;

	if (!malloc_ready() || !malloc_hot.page_limit)
		return;
	do {
		limit = size_limit_now();
		group_limit = group_limit_now();
		store_relaxed(&malloc_hot.group_limit, group_limit);
		__atomic_exchange_n(&malloc_hot.size_limit, limit, __ATOMIC_SEQ_CST);
	} while (size_limit_now() != limit || group_limit_now() != group_limit);
}

void malloc_rearm_if_closed(void)
{
	if (!load_relaxed(&groups_entered) ||
	    load_relaxed(&malloc_hot.group_limit) != group_limit_now())
		malloc_rearm();
}

static int init_locked(void)
{
	int error = cache_init();

	if (error)
		return error;
	fill_tables();
	if (!spare)
		spare = meta_alloc(SPARE_BYTES);
	if (realtime_counters.bytes) /* no later call is to do more than it must */
		make_all();
	control.unprepared = true;
	control_prepare = make_all;
	control_rearm = malloc_rearm;
	group_listener = malloc_rearm;
	malloc_group_init();
	control.can_sample = true;
	if (os_rseq_on)
		root_set_kick(&malloc_hot.size_limit); /* and what is behind it */
	root_init("malloc-large");
	cache_start_blocks();
	if (os_rseq_on)
		open_hit_paths();
	store_release(&malloc_state, 1u); /* pairs with malloc_ready() */
	if (load_relaxed(&groups_entered))
		malloc_rearm();
	return 0;
}

cold bool malloc_init(void)
{
	bool ready;

	if (!relocated() || in_init)
		return false;
	in_init = true;
	lock_acquire(&init_lock);
	ready = load_relaxed(&malloc_state) == 1 || init_locked() == 0;
	store_relaxed(&no_start, !ready);
	lock_release(&init_lock);
	in_init = false;
	return ready;
}

/* A program that does with the early memory need not know. */
cold void *malloc_unstarted(size_t size, size_t align)
{
	void *p = early_alloc(size, align);

	if (!p && load_relaxed(&no_start) && !xchg(&said, 1u))
		os_say(CACHE_NO_START);
	return p;
}

/*
 * Does libc allocate when it makes a thread? Then there is one thread at the first request. Else
 * another one might fork meanwhile, and its child would wait for init_lock for ever.
 */
#ifdef __GLIBC__
#define LIBC_ALLOCATES_THREADS true
#else
#define LIBC_ALLOCATES_THREADS false
#endif

/*
 * The first request comes too early for threads; here libc has been started. A process that asks
 * for nothing by its environment, and does not allocate, needs nothing either.
 */
__attribute__((constructor)) static void start_at_load(void)
{
	bool wanted = malloc_ready() || cache_has_settings() || !LIBC_ALLOCATES_THREADS;

	if (!wanted || !malloc_usable())
		return;
	cache_start_threads();
	if (realtime_is_on())
		malloc_make_ready();
}

void malloc_check(void)
{
	for (unsigned int class = 1; class <= MALLOC_CLASSES; class += 1) {
		const struct cache *c = cache_of(percpu_handle(class));

		if (!c)
			continue;
		CHECK(c->engine.object_size == malloc_class_size(class));
		CHECK(c->engine.page_class == class);
		CHECK(c->engine.size % malloc_class_align(class) == 0);
	}
	malloc_group_check();
	for (unsigned int size = 0; size < MALLOC_TABLE_SIZE; size++)
		CHECK(malloc_table()[size] == malloc_class_of(size));
	CHECK(!malloc_hot.size_limit || malloc_hot.page_limit == page_map.limit);
}
