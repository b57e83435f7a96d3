/* SPDX-License-Identifier: MIT */
/*
 * os/instrument/sanitizer.c - ThreadSanitizer and MemorySanitizer, if the program was built with
 * one of them
 *
 * Data:       notify_*: which is notified; places: where threads hand pages on, by page number
 *             modulo their number. The sanitizer keeps what it knows of a place, nothing is stored
 *             there.
 * Invariants: see os/instrument/sanitizer.h.
 * Locks:      none.
 * Flow:       see sanitizer.h.
 *
 * ThreadSanitizer learns that a free of an object happens before the next allocation of one in the
 * same page. It goes by pages, because a page may be cut into other objects in between; so of two
 * threads that race it may take them to be in order if one freed, and then the other allocated, in
 * the same page meanwhile, or in one with the same place.
 */
#include "os/instrument/sanitizer.h"

#include "base/bits.h"

#if defined(__has_feature)
#define SANITIZER_HAS_FEATURE(x) __has_feature(x)
#else
#define SANITIZER_HAS_FEATURE(x) 0
#endif

#if defined(__SANITIZE_THREAD__) || SANITIZER_HAS_FEATURE(thread_sanitizer) || \
	SANITIZER_HAS_FEATURE(memory_sanitizer)
#define INSTRUMENTED true
#else
#define INSTRUMENTED false
#endif

#define NR_PLACES 8192ul /* a power of two */

/* In the process if the program was built with ThreadSanitizer, or MemorySanitizer. */
__attribute__((weak)) void __tsan_acquire(void *place);
__attribute__((weak)) void __tsan_release(void *place);
__attribute__((weak)) void __tsan_write_range(void *p, long size); /* as GCC has it built in */
__attribute__((weak)) void AnnotateIgnoreReadsBegin(const char *file, int line);
__attribute__((weak)) void AnnotateIgnoreReadsEnd(const char *file, int line);
__attribute__((weak)) void AnnotateIgnoreWritesBegin(const char *file, int line);
__attribute__((weak)) void AnnotateIgnoreWritesEnd(const char *file, int line);
__attribute__((weak)) void __msan_allocated_memory(const volatile void *p, size_t size);
__attribute__((weak)) void __msan_unpoison(const volatile void *p, size_t size);
__attribute__((weak)) void __msan_scoped_disable_interceptor_checks(void);
__attribute__((weak)) void __msan_scoped_enable_interceptor_checks(void);

static bool notify_tsan;
static bool notify_msan;
static uint64_t places[NR_PLACES];

static bool has_tsan(void)
{
	return __tsan_acquire && __tsan_release && AnnotateIgnoreReadsBegin &&
	       AnnotateIgnoreReadsEnd && AnnotateIgnoreWritesBegin && AnnotateIgnoreWritesEnd;
}

static bool has_msan(void)
{
	return __msan_allocated_memory && __msan_unpoison &&
	       __msan_scoped_disable_interceptor_checks && __msan_scoped_enable_interceptor_checks;
}

bool os_sanitizer_init(bool wanted)
{
	wanted = wanted && !INSTRUMENTED;
	notify_tsan = wanted && has_tsan();
	notify_msan = wanted && has_msan();
	return notify_tsan || notify_msan;
}

bool os_sanitizer_forbids_threads(void)
{
	return has_tsan();
}

void os_sanitizer_enter(void)
{
	if (notify_msan)
		__msan_scoped_disable_interceptor_checks();
	if (!notify_tsan)
		return;
	AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
	AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
}

void os_sanitizer_leave(void)
{
	if (notify_msan)
		__msan_scoped_enable_interceptor_checks();
	if (!notify_tsan)
		return;
	AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
	AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
}

/* For the place of each page that the bytes lie in. */
static void each_place(const void *p, size_t size, void (*act)(void *place))
{
	uintptr_t first = (uintptr_t)p / PAGE_SIZE;
	uintptr_t last = ((uintptr_t)p + MAX(size, 1ul) - 1) / PAGE_SIZE;

	if (last - first >= NR_PLACES)
		last = first + NR_PLACES - 1; /* all of them */
	for (; first <= last; first++)
		act(&places[first % NR_PLACES]);
}

void os_sanitizer_take(const void *p, size_t size, size_t full, bool defined)
{
	if (notify_tsan)
		each_place(p, full, __tsan_acquire);
	if (!notify_msan)
		return;
	if (defined)
		__msan_unpoison(p, size);
	else
		__msan_allocated_memory(p, size);
}

/* To free is to write: who reads at the same time makes a mistake. */
void os_sanitizer_give(const void *p, size_t full, bool undefined)
{
	if (notify_tsan) {
		if (undefined && __tsan_write_range)
			__tsan_write_range((void *)p, (long)full);
		each_place(p, full, __tsan_release);
	}
	if (notify_msan && undefined)
		__msan_allocated_memory(p, full);
}

void os_sanitizer_wrote(const void *p, size_t size)
{
	if (notify_msan)
		__msan_unpoison(p, size);
}
