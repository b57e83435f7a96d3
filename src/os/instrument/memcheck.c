/* SPDX-License-Identifier: MIT */
/*
 * os/instrument/memcheck.c - valgrind and AddressSanitizer, if one of them runs this process
 *
 * Data:       which of them is notified of objects.
 * Invariants: see os/instrument/memcheck.h.
 * Locks:      none.
 * Flow:       see memcheck.h; calls os/instrument/sanitizer.c.
 *
 * A request to valgrind is a sequence of instructions without an effect elsewhere, so each function
 * makes its requests without asking; AddressSanitizer's functions exist or do not.
 */
#include "os/instrument/memcheck.h"

#include "os/instrument/sanitizer.h"

#if __has_include(<valgrind/memcheck.h>) && !defined(USLAB_NO_TOOL_HEADERS)
#include <valgrind/memcheck.h>
#endif
/* Without the header, or on a CPU that it does not know. Arguments count as used. */
#if !defined(VALGRIND_MAKE_MEM_DEFINED) || defined(NVALGRIND)
static inline int no_valgrind(int first, ...)
{
	return first;
}
#undef VALGRIND_DISABLE_ERROR_REPORTING
#undef VALGRIND_ENABLE_ERROR_REPORTING
#undef VALGRIND_CREATE_MEMPOOL
#undef VALGRIND_DESTROY_MEMPOOL
#undef VALGRIND_MEMPOOL_ALLOC
#undef VALGRIND_MEMPOOL_FREE
#undef VALGRIND_MEMPOOL_CHANGE
#undef VALGRIND_MALLOCLIKE_BLOCK
#undef VALGRIND_FREELIKE_BLOCK
#undef VALGRIND_MAKE_MEM_NOACCESS
#undef VALGRIND_MAKE_MEM_DEFINED
#define VALGRIND_NOTHING(...) no_valgrind(0, __VA_ARGS__)
#define VALGRIND_DISABLE_ERROR_REPORTING ((void)0)
#define VALGRIND_ENABLE_ERROR_REPORTING ((void)0)
#define VALGRIND_CREATE_MEMPOOL(...) VALGRIND_NOTHING(__VA_ARGS__)
#define VALGRIND_DESTROY_MEMPOOL(...) VALGRIND_NOTHING(__VA_ARGS__)
#define VALGRIND_MEMPOOL_ALLOC(...) VALGRIND_NOTHING(__VA_ARGS__)
#define VALGRIND_MEMPOOL_FREE(...) VALGRIND_NOTHING(__VA_ARGS__)
#define VALGRIND_MEMPOOL_CHANGE(...) VALGRIND_NOTHING(__VA_ARGS__)
#define VALGRIND_MALLOCLIKE_BLOCK(...) VALGRIND_NOTHING(__VA_ARGS__)
#define VALGRIND_FREELIKE_BLOCK(...) VALGRIND_NOTHING(__VA_ARGS__)
#define VALGRIND_MAKE_MEM_NOACCESS(...) VALGRIND_NOTHING(__VA_ARGS__)
#define VALGRIND_MAKE_MEM_DEFINED(...) VALGRIND_NOTHING(__VA_ARGS__)
#endif

#if defined(__has_feature)
#define MEMCHECK_HAS_FEATURE(x) __has_feature(x)
#else
#define MEMCHECK_HAS_FEATURE(x) 0
#endif

#if defined(__SANITIZE_ADDRESS__) || MEMCHECK_HAS_FEATURE(address_sanitizer)
#define INSTRUMENTED true
#else
#define INSTRUMENTED false
#endif

/* In the process if any part of it was built with AddressSanitizer. */
__attribute__((weak)) void __asan_poison_memory_region(const volatile void *p, size_t size);
__attribute__((weak)) void __asan_unpoison_memory_region(const volatile void *p, size_t size);
__attribute__((weak)) void __lsan_register_root_region(const void *p, size_t size);

bool os_memcheck_on;
bool os_memcheck_declined;

static bool notify_valgrind;
static bool notify_asan;

/* Memcheck, and no other of valgrind's tools, answers this one. */
static bool runs_in_memcheck(void)
{
	char byte = 0;

	return VALGRIND_MAKE_MEM_DEFINED(&byte, 1) != 0;
}

/*
 * Of a process without a block of malloc() memcheck says that it cannot leak, without a look at
 * pools. So there is one: a byte, still reachable at the end.
 */
static void make_anchor(void)
{
	static char anchor[16];
	static char *volatile pointer;

	pointer = anchor;
	VALGRIND_MALLOCLIKE_BLOCK(pointer, 1, 0, 1);
}

void os_memcheck_init(bool valgrind, bool asan)
{
	notify_valgrind = valgrind && !os_memcheck_declined && runs_in_memcheck();
	notify_asan = asan && !os_memcheck_declined && !INSTRUMENTED &&
		      __asan_poison_memory_region && __asan_unpoison_memory_region;
	os_memcheck_on = os_sanitizer_init(asan && !os_memcheck_declined) || notify_valgrind ||
			 notify_asan;
	if (notify_valgrind)
		make_anchor();
}

void os_memcheck_add_roots(const void *p, size_t size)
{
	if (__lsan_register_root_region)
		__lsan_register_root_region(p, size);
}

void os_memcheck_enter(void)
{
	VALGRIND_DISABLE_ERROR_REPORTING;
	os_sanitizer_enter();
}

void os_memcheck_leave(void)
{
	os_sanitizer_leave();
	VALGRIND_ENABLE_ERROR_REPORTING;
}

static void poison(const void *p, size_t size)
{
	if (notify_asan)
		__asan_poison_memory_region(p, size);
}

static void unpoison(const void *p, size_t size)
{
	if (notify_asan)
		__asan_unpoison_memory_region(p, size);
}

/* What lies behind the bytes that were asked for. */
static void close_rest(void *p, size_t size, size_t full)
{
	char *rest = (char *)p + size;

	poison(rest, full - size);
	if (notify_valgrind)
		VALGRIND_MAKE_MEM_NOACCESS(rest, full - size);
}

/* ---- pools ----------------------------------------------------------------------------------- */

void os_memcheck_pool_create(const void *pool, unsigned int gap, bool defined)
{
	/* So far beside an object an address is still said to be beside it; hidden with it, too. */
	if (notify_valgrind)
		VALGRIND_CREATE_MEMPOOL(pool, gap / 2, defined);
}

void os_memcheck_pool_destroy(const void *pool)
{
	if (notify_valgrind)
		VALGRIND_DESTROY_MEMPOOL(pool);
}

void os_memcheck_pool_alloc(const void *pool, void *obj, size_t size, size_t full, bool defined)
{
	unpoison(obj, size);
	if (notify_valgrind) {
		VALGRIND_MEMPOOL_ALLOC(pool, obj, size);
		if (defined)
			(void)VALGRIND_MAKE_MEM_DEFINED(obj, size);
	}
	close_rest(obj, size, full);
}

void os_memcheck_pool_whole(const void *pool, void *obj, size_t full)
{
	unpoison(obj, full);
	if (notify_valgrind) {
		VALGRIND_MEMPOOL_CHANGE(pool, obj, obj, full);
		(void)VALGRIND_MAKE_MEM_DEFINED(obj, full);
	}
}

void os_memcheck_pool_free(const void *pool, void *obj, size_t full, enum os_memcheck_hide hide)
{
	if (hide == OS_HIDE_FROM_ALL)
		poison(obj, full);
	else
		unpoison(obj, full);
	if (!notify_valgrind)
		return;
	VALGRIND_MEMPOOL_FREE(pool, obj);
	if (hide == OS_HIDE_FROM_NOBODY)
		(void)VALGRIND_MAKE_MEM_DEFINED(obj, full);
}

/* ---- blocks ---------------------------------------------------------------------------------- */

void os_memcheck_block_alloc(void *p, size_t size, size_t full, bool defined)
{
	unpoison(p, size);
	if (notify_valgrind)
		VALGRIND_MALLOCLIKE_BLOCK(p, size, 0, defined);
	close_rest(p, size, full);
}

/*
 * valgrind would have to know the old size to make it another one: of the rest it
 * knows no more than this.
 */
void os_memcheck_block_whole(void *p, size_t full)
{
	os_memcheck_forget(p, full);
}

void os_memcheck_block_free(void *p, size_t full)
{
	if (notify_valgrind)
		VALGRIND_FREELIKE_BLOCK(p, 0);
	os_memcheck_forget(p, full);
}

/* ---- pages ----------------------------------------------------------------------------------- */

void os_memcheck_close(void *p, size_t size, enum os_memcheck_hide hide)
{
	if (hide == OS_HIDE_FROM_ALL)
		poison(p, size);
	if (notify_valgrind && hide != OS_HIDE_FROM_NOBODY)
		VALGRIND_MAKE_MEM_NOACCESS(p, size);
}

void os_memcheck_forget(void *p, size_t size)
{
	unpoison(p, size);
	if (notify_valgrind)
		(void)VALGRIND_MAKE_MEM_DEFINED(p, size);
}
