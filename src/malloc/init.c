/* SPDX-License-Identifier: MIT */
/*
 * malloc/init.c - the caches of the drop-in malloc, made at the first request
 *
 * Why:        docs/adr/0007.
 * Data:       malloc_hot, malloc_shape, malloc_state, and how many caches exist.
 * Invariants: class c is cache number c, named malloc-<size>; the table in window 0 maps
 *             each size to its class. The hit paths open last. Checked by malloc_check().
 * Locks:      init_lock, once.
 * Flow:       called by internal.h, sampling.c, slow.c and the loader; calls cache/init.c,
 *             cache/create.c, inspect/root.c.
 *
 * The first request comes before any constructor of a program has run, often from the dynamic
 * loader or the start of libc, so nothing here may rely on a constructor of this library.
 */
#include <string.h>

#include "cache/control/control.h"
#include "front/percpu.h"
#include "malloc/internal.h"
#include "os/process/die.h"
#include "os/lock/lock.h"
#include "os/cpu/rseq.h"
#include "page/page.h"
#include "inspect/root.h"

struct malloc_hot malloc_hot;
struct malloc_shape malloc_shape[MALLOC_CLASSES + 1];
uint32_t malloc_state; /* 1: the caches exist; written under init_lock */

static struct lock init_lock;	/* unranked: cache_init() takes every rank below it */
static unsigned int nr_created; /* caches that exist, so that a failed start can go on */
static __thread bool in_init;	/* this thread is inside of malloc_init() */

/*
 * Has the dynamic loader relocated this library? A pointer to itself holds its own address only
 * after that; volatile, because the compiler knows better.
 */
static bool relocated(void)
{
	static void *volatile self = (void *)&self;

	return self == (void *)&self;
}

static int create_cache(unsigned int class)
{
	char name[32];
	struct kmem_cache *handle;
	struct cache_spec spec = {
		.name = name,
		.size = (unsigned int)malloc_class_size(class),
		.align = (unsigned int)malloc_class_align(class),
		.id = USLAB_ID_MALLOC + class - 1,
		.pack = true,
		.no_merge = true,
	};

	os_format(name, sizeof(name), "malloc-%u", spec.size);
	return cache_create(&spec, &handle);
}

BUILD_ASSERT(MALLOC_MAX_SMALL <= UINT16_MAX && PAGE_SIZE <= UINT16_MAX);

static unsigned char *malloc_table(void)
{
	return (unsigned char *)page_windows() + USLAB_WINDOW_TABLES;
}

/* Class of every size up to MALLOC_MAX_TABLE, where one base register reaches it. */
static void fill_tables(void)
{
	unsigned char *table = malloc_table();
	size_t done = 0; /* sizes below it are in the table */

	for (unsigned int class = 1; class <= MALLOC_CLASSES; class += 1) {
		size_t size = malloc_class_size(class);
		size_t end = MIN(size + 1, MALLOC_TABLE_SIZE);

		malloc_shape[class].size = (uint16_t)size;
		malloc_shape[class].align = (uint16_t)malloc_class_align(class);
		memset(table + done, (int)class, end - done);
		done = end;
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

/*
 * A full barrier: the next read of the mailbox must not be older, or a tool that wrote its command
 * and then 0 here would be missed. The same for a tool that begins or ends to sample: sample_mean
 * is read again after the barrier.
 */
void malloc_rearm(void)
{
	uint32_t mean;

	if (!malloc_ready() || !malloc_hot.page_limit)
		return;
	do {
		mean = load_relaxed(&control.sample_mean);
		__atomic_exchange_n(&malloc_hot.size_limit, mean ? CONTROL_SAMPLING : SIZE_LIMIT,
				    __ATOMIC_SEQ_CST);
	} while (!load_relaxed(&control.sample_mean) != !mean);
}

static int init_locked(void)
{
	int error = cache_init();

	if (error)
		return error;
	for (; nr_created < MALLOC_CLASSES; nr_created++) {
		error = create_cache(nr_created + 1);
		if (error)
			return error;
	}
	fill_tables();
	control_rearm = malloc_rearm;
	control.can_sample = true;
	if (os_rseq_on)
		root_set_kick(&malloc_hot.size_limit);
	root_init("malloc-large");
	cache_start_blocks();
	if (os_rseq_on)
		open_hit_paths();
	store_release(&malloc_state, 1u); /* pairs with malloc_ready() */
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
	lock_release(&init_lock);
	in_init = false;
	return ready;
}

/* The first request comes too early for threads; here libc has been started. */
__attribute__((constructor)) static void start_at_load(void)
{
	if (malloc_usable())
		cache_start_threads();
}

void malloc_check(void)
{
	for (unsigned int class = 1; class <= MALLOC_CLASSES; class += 1) {
		const struct cache *c = cache_of(percpu_handle(class));

		CHECK(c && c->engine.object_size == malloc_class_size(class));
		CHECK(c->engine.page_class == class);
		CHECK(c->engine.size % malloc_class_align(class) == 0);
	}
	for (unsigned int size = 0; size < MALLOC_TABLE_SIZE; size++)
		CHECK(malloc_table()[size] == malloc_class_of(size));
	CHECK(!malloc_hot.size_limit || malloc_hot.page_limit == page_map.limit);
}
