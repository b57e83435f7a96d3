/* SPDX-License-Identifier: MIT */
/*
 * api/init.c - the library made ready: at load time, or by the first call if that comes earlier
 *
 * Data:       ready, and a lock for the first time.
 * Invariants: uslab_kmalloc_handles is set before any other constructor of the program runs, so
 *             that the inline kmalloc() needs no check; also when there is no memory for the
 *             library (kmalloc_refuse()).
 * Locks:      init_lock (unranked).
 * Flow:       called by api.h, cache_api.c, debug_api.c, kmalloc_api.c, limits_api.c,
 *             mempool_kinds.c, nolock_api.c, policy_api.c, profile_api.c, rcu_api.c,
 *             resize_api.c, shrinker_api.c, programs and the loader; calls cache/, inspect/,
 *             os/symbol/pin.h.
 */
#include <errno.h>

#include "api/api.h"
#include "base/atomic.h"
#include "cache/reclaim/shrinker.h"
#include "os/cpu/cpu.h"
#include "os/process/die.h"
#include "os/lock/lock.h"
#include "os/symbol/pin.h"
#include "page/buddy.h"
#include "inspect/root.h"
#include <uslab/slab.h>

static struct lock init_lock = LOCK_INIT(RANK_NONE);
static int ready;

static cold int init_slow(void)
{
	int ret = cache_init();

	if (ret)
		return ret;
	lock_acquire(&init_lock);
	if (!ready) {
		ret = kmalloc_init();
		if (!ret) {
			buddy_provide(os_current_node(), 0); /* for kmalloc_nolock() */
			root_init("kmalloc-large");
			cache_start_blocks();
			store_release(&ready, 1); /* pairs with api_init */
		}
	}
	lock_release(&init_lock);
	return ret;
}

int api_init(void)
{
	return likely(load_acquire(&ready)) ? 0 : init_slow();
}

bool api_is_ready(void)
{
	return load_acquire(&ready); /* pairs with init_slow() */
}

/* 101: the first constructor that a program may have. */
__attribute__((constructor(101))) static void init_at_load(void)
{
	uslab_pin_object((const void *)init_at_load); /* libuslab.a may be inside a plug-in */
	if (!api_init())
		cache_start_threads();
	else if (kmalloc_refuse())
		os_say(CACHE_NO_START);
	else /* those are inlined, and look at words that are not there */
		os_say(CACHE_NO_START
		       ", but kmalloc() of a size that the compiler knows must not be called");
}

USLAB_API const char *uslab_version(void)
{
	return USLAB_VERSION_TEXT;
}

USLAB_API int uslab_pin_object(const void *address)
{
	return os_pin_object(address) ? 0 : -ENOENT;
}

USLAB_API size_t uslab_trim(void)
{
	shrinkers_run(GFP_KERNEL, 0);
	cache_shrink_all();
	return buddy_trim(0);
}
