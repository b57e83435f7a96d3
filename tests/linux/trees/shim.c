/* SPDX-License-Identifier: MIT */
/*
 * linux/trees/shim.c - what the kernel's tests of its trees want beside memory management
 *
 * They link with this in place of their own linux.o and slab.o. USLAB_FAILSLAB=1,100,0,-1 has
 * allocations fail that may not block, but for as many as kmem_cache_set_non_kernel() says.
 * scripts/kernel-tests builds and runs them, with left.c, which is no part of it.
 */
#include <linux/kernel.h>
#include <linux/slab.h>

int nr_allocated, preempt_count, test_verbose, kmalloc_verbose;
static unsigned int nr_tallocated; /* objects, of all caches together */
static void (*callback)(void *arg), *callback_arg;
struct kmem_cache *maple_nodes;

void kmem_cache_set_non_kernel(struct kmem_cache *s, unsigned int n)
{
	char text[64];

	snprintf(text, sizeof(text), "1,100,%lu,-1", 1 + (unsigned long)n * kmem_cache_size(s));
	uslab_set_failslab(text);
	maple_nodes = s;
}

/* The callback is a second writer: the first one has let go of its lock, if it may block. */
void shim_before_alloc(gfp_t gfp, size_t n)
{
	__atomic_fetch_add(&nr_tallocated, n, __ATOMIC_RELAXED);
	if (callback && gfpflags_allow_blocking(gfp))
		callback(callback_arg);
}

unsigned int kmem_cache_nr_allocated(struct kmem_cache *s)
{
	struct kmem_cache_statistics stats = { .size = sizeof(stats) };

	return kmem_cache_stats(s, &stats) ? 0 : stats.objects;
}

unsigned long kmem_cache_get_alloc(struct kmem_cache *s)
{
	return (unsigned long)kmem_cache_nr_allocated(s) * kmem_cache_size(s);
}

/* test_kmem_cache_bulk() is about their slab.o. */
/* clang-format off */
unsigned int kmem_cache_nr_tallocated(struct kmem_cache *s) { return nr_tallocated; }
void kmem_cache_zero_nr_tallocated(struct kmem_cache *s) { nr_tallocated = 0; }
void kmem_cache_set_callback(struct kmem_cache *s, void (*f)(void *arg)) { callback = f; }
void kmem_cache_set_private(struct kmem_cache *s, void *arg) { callback_arg = arg; }
void test_kmem_cache_bulk(void) {}
/* clang-format on */
