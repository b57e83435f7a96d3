/* SPDX-License-Identifier: MIT */
/*
 * os/memory/fault.c - accesses to memory that may not be accessed (SIGSEGV), before
 * the program gets them
 *
 * Data:       actions[]: the program's actions, the one that counts last; slot 0 is the first that
 *             was found, what the others lie above.
 * Invariants: an action does not change while it counts.
 * Locks:      none: of threads that install at once one gets to see the program's action.
 * Flow:       see fault.h; calls readable.c, sigaction(2), rt_tgsigqueueinfo(2).
 */
#include <signal.h>
#include <string.h>

#include "arch/fault.h"
#include "base/atomic.h"
#include "os/memory/fault.h"
#include "os/memory/readable.h"
#include "os/sys.h"

#define SLOTS 8u

static os_fault_function function; /* atomic */

static struct sigaction actions[SLOTS];
static unsigned int nr_actions; /* found so far; the last one counts. Atomic */

/* The signal that this thread passes on just now, and how deep handlers call one another. */
static __thread struct {
	const siginfo_t *info;
	uintptr_t frame;
	unsigned int depth;
} passing;

static void handle(int sig, siginfo_t *info, void *context);

/* Slot 0 is never used again. */
static unsigned int slot_of(unsigned int number)
{
	return number ? 1 + (number - 1) % (SLOTS - 1) : 0;
}

static void remember(const struct sigaction *action)
{
	unsigned int n = load_relaxed(&nr_actions);

	actions[slot_of(n)] = *action;
	store_release(&nr_actions, n + 1); /* pairs with action_at */
}

static const struct sigaction *action_at(unsigned int depth)
{
	static const struct sigaction last = { .sa_handler = SIG_DFL };
	unsigned int n = load_acquire(&nr_actions); /* pairs with remember */

	if (depth > 1 || !n)
		return &last;
	return depth ? &actions[0] : &actions[slot_of(n - 1)];
}

/* The instruction faults again on return; a signal that was sent is sent again. */
static void pass_to_default(siginfo_t *info, bool ignored)
{
	struct sigaction action = { .sa_handler = SIG_DFL };

	if (info->si_code <= 0 && ignored)
		return;
	sigaction(SIGSEGV, &action, NULL);
	if (info->si_code <= 0)
		os_syscall(SYS_rt_tgsigqueueinfo, os_syscall(SYS_getpid), os_syscall(SYS_gettid),
			   SIGSEGV, info);
}

/* The mask that the kernel would have set. */
static void set_mask(const struct sigaction *action)
{
	sigset_t self;

	pthread_sigmask(SIG_BLOCK, &action->sa_mask, NULL);
	if (!(action->sa_flags & SA_NODEFER))
		return;
	sigemptyset(&self);
	sigaddset(&self, SIGSEGV);
	pthread_sigmask(SIG_UNBLOCK, &self, NULL);
}

static void pass_on(const struct sigaction *action, int sig, siginfo_t *info, void *context)
{
	struct sigaction once = *action;
	struct sigaction reset = { .sa_handler = SIG_DFL };

	if (once.sa_handler == SIG_DFL || once.sa_handler == SIG_IGN) {
		pass_to_default(info, once.sa_handler == SIG_IGN);
		return;
	}
	if (once.sa_flags & (int)SA_RESETHAND)
		remember(&reset);
	set_mask(&once);
	if (once.sa_flags & SA_SIGINFO)
		once.sa_sigaction(sig, info, context);
	else
		once.sa_handler(sig);
}

/*
 * Are we called by a handler that we have called, for the same signal? Then our frame is still
 * there, below which this one lies. A handler that jumped out has left an old one, which is not
 * above this.
 */
static unsigned int depth_of(const siginfo_t *info, uintptr_t frame)
{
	return passing.info == info && frame < passing.frame ? passing.depth + 1 : 0;
}

/* Of a function that has just been called, before its first instruction. */
static uintptr_t return_address(const void *context)
{
	uintptr_t word = arch_fault_link(context);

	if (!word)
		os_readable_copy(&word, (const void *)arch_fault_sp(context), sizeof(word));
	return word;
}

static bool is_ours(const siginfo_t *info, const void *context)
{
	struct os_fault fault = { .address = info->si_addr };

	if (info->si_code != SEGV_ACCERR)
		return false;
	fault.pc = arch_fault_pc(context);
	fault.write = arch_fault_is_write(context, info->si_addr);
	fault.fetch = arch_fault_is_fetch(context, info->si_addr);
	fault.returns_to = fault.fetch ? return_address(context) : 0;
	return load_relaxed(&function)(&fault);
}

static void handle(int sig, siginfo_t *info, void *context)
{
	uintptr_t frame = (uintptr_t)__builtin_frame_address(0);
	int saved = errno;
	unsigned int depth;

	if (!is_ours(info, context)) {
		depth = depth_of(info, frame);
		passing.info = info;
		passing.frame = frame;
		passing.depth = depth;
		errno = saved;
		pass_on(action_at(depth), sig, info, context);
		passing.info = NULL;
	}
	errno = saved;
}

int os_fault_install(os_fault_function fn)
{
	struct sigaction ours = { .sa_sigaction = handle };
	struct sigaction now;
	int saved = errno;
	int ret = sigaction(SIGSEGV, NULL, &now);

	store_relaxed(&function, fn);
	if (!ret && now.sa_sigaction != handle) {
		/* a system call that a sent signal interrupts goes on, or not, as it did */
		ours.sa_flags = SA_SIGINFO | SA_ONSTACK | (now.sa_flags & SA_RESTART);
		ret = sigaction(SIGSEGV, &ours, &now);
		if (!ret && now.sa_sigaction != handle)
			remember(&now);
	}
	ret = ret ? -errno : 0;
	errno = saved;
	return ret;
}
