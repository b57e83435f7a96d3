/* SPDX-License-Identifier: MIT */
/*
 * os/unwind/unwind_stack.c - the part of this thread's own stack that is known to be there
 *
 * Data:       known: start / STACK_PAGE, and the number of pages in the low bits.
 * Invariants: only the stack that libc or the kernel made for the thread is remembered. Another
 *             one (a coroutine's, an alternate one) may be unmapped between two walks, and a
 *             smaller one take its place.
 * Locks:      none.
 * Flow:       see os/unwind/unwind_stack.h; calls getauxval(3), gettid(2).
 */
#include <sys/auxv.h>

#include "base/atomic.h"
#include "base/bits.h"
#include "os/memory/readable.h"
#include "os/sys.h"
#include "os/unwind/unwind_stack.h"

#define PAGES_BITS 20
#define MAX_PAGES ((1ul << PAGES_BITS) - 1)

#define MAX_BELOW_THREAD (256 * STACK_PAGE) /* variables of the thread: static TLS */
#define MAX_BELOW_START (1024 * STACK_PAGE) /* arguments and environment */

static __thread uint64_t known;

struct range unwind_stack_known(void)
{
	uint64_t word = load_relaxed(&known);
	uintptr_t start = (word >> PAGES_BITS) * STACK_PAGE;

	return (struct range){ start, start + (word & MAX_PAGES) * STACK_PAGE };
}

static bool is_first_thread(void)
{
	return os_syscall(SYS_gettid) == os_syscall(SYS_getpid);
}

/* The kernel keeps what lies below its own data free for the first stack. */
static bool is_first_stack(struct range range)
{
	/* up to the end of its page, as the range is */
	uintptr_t start = ALIGN_UP((uintptr_t)getauxval(AT_RANDOM), STACK_PAGE);

	return start - range.end < MAX_BELOW_START;
}

/*
 * The top of other threads' stacks holds their control block, and a guard page parts what lies
 * below them. That of the first thread lies anywhere, a coroutine's stack maybe just below it.
 */
static bool is_thread_stack(struct range range)
{
	uintptr_t top = ALIGN_UP((uintptr_t)__builtin_thread_pointer(), STACK_PAGE);

	if (top - range.end >= MAX_BELOW_THREAD || is_first_thread())
		return false;
	for (uintptr_t page = range.end; page < top; page += STACK_PAGE)
		if (!os_readable_page(page))
			return false;
	return true;
}

void unwind_stack_remember(struct range range)
{
	uint64_t pages = (range.end - range.start) / STACK_PAGE;

	if (pages <= MAX_PAGES && (is_first_stack(range) || is_thread_stack(range)))
		store_relaxed(&known, range.start / STACK_PAGE << PAGES_BITS | pages);
}
