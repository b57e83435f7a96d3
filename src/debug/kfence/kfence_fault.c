/* SPDX-License-Identifier: MIT */
/*
 * debug/kfence/kfence_fault.c - an access to an inaccessible page of KFENCE
 *
 * Data:       the access that each thread had opened a page for last.
 * Invariants: the access is repeated only if it can succeed: the page is open then, and this is
 *             neither a jump into it, since its pages are not executable, nor the same access as
 *             the last time. Others are reported once, and go to the program's handler, or end it.
 * Locks:      kfence_pool.lock, for which the handler spins a bounded time: the thread that was
 *             interrupted may hold it, if a signal handler of the program made the access.
 * Flow:       called by kfence.c; called back by os/memory/fault.c in a signal handler; calls
 *             kfence_report.c, report_policy.c.
 */
#include "arch/cpu.h"
#include "base/atomic.h"
#include "debug/kfence/kfence_pool.h"
#include "debug/report/report.h"
#include "debug/stacks.h"
#include "os/memory/fault.h"
#include "os/unwind/unwind.h"

#define PATIENCE 10000000ul /* tries of the lock, a fraction of a second */

static bool lock_patiently(void)
{
	for (unsigned long i = 0; i < PATIENCE; i++) {
		if (lock_try(&kfence_pool.lock))
			return true;
		arch_pause();
	}
	return false;
}

/*
 * The last access that was repeated; the same one faults again only if the page was closed
 * meanwhile, or opening it did not help.
 */
static __thread struct {
	const char *address;
	uintptr_t pc;
	uint32_t closings;
} last;

static bool is_repeated(const struct os_fault *fault, const char *page)
{
	uint32_t closings = kfence_closings(page);
	bool same = last.address == fault->address && last.pc == fault->pc &&
		    last.closings == closings;

	last.address = fault->address;
	last.pc = fault->pc;
	last.closings = closings;
	return same;
}

/* The object beside a guard page, if it is allocated. */
static struct kfence_object *neighbour(unsigned int index)
{
	struct kfence_object *o = kfence_object_at(index);

	return o && o->state == KFENCE_ALLOCATED ? o : NULL;
}

/* Of the objects beside a guard page the nearer one is taken as overrun. */
static struct kfence_object *blame(unsigned int guard, const char *address)
{
	struct kfence_object *left = neighbour(guard - 1);
	struct kfence_object *right = neighbour(guard + 1);

	if (!left || !right)
		return left ? left : right;
	return right->addr - address < address - (left->addr + left->size) ? right : left;
}

static enum kfence_access access_of(const struct os_fault *fault)
{
	if (fault->fetch)
		return KFENCE_EXECUTE;
	return fault->write ? KFENCE_WRITE : KFENCE_READ;
}

/*
 * The instruction that faulted, as a return address one byte behind it, as os_unwind() expects.
 * After a jump into the object it lies there, so the caller is reported.
 */
static const void *culprit_of(const struct os_fault *fault)
{
	if (fault->fetch && fault->returns_to)
		return (const void *)fault->returns_to;
	return fault->pc ? (const void *)(fault->pc + 1) : NULL;
}

static void report_locked(const struct os_fault *fault)
{
	unsigned int index = kfence_page_index(fault->address);
	struct kfence_object *o = kfence_object_at(index);
	enum kfence_bug bug = o && o->state != KFENCE_ALLOCATED ? KFENCE_USE_AFTER_FREE
								: KFENCE_INVALID_ACCESS;
	const void *culprit = culprit_of(fault);
	uintptr_t pcs[STACKS_DEPTH];
	unsigned int nr = os_unwind(culprit, pcs, STACKS_DEPTH);

	if (index % 2) {
		o = blame(index, fault->address);
		bug = o ? KFENCE_OUT_OF_BOUNDS : bug;
		if (o)
			o->opened = kfence_page_at(index);
	}
	kfence_report_locked(bug, o, fault->address, access_of(fault), pcs, nr);
}

static bool handle(const struct os_fault *fault)
{
	bool cured;
	char *page;

	if (!kfence_in_pool(fault->address))
		return false;
	page = kfence_page_at(kfence_page_index(fault->address));
	if (is_repeated(fault, page))
		return false;
	if (!lock_patiently())
		return !fault->fetch && kfence_open_locked(page);
	report_locked(fault);
	cured = !fault->fetch && kfence_open_locked(page);
	lock_release(&kfence_pool.lock);
	report_deliver();
	return cured;
}

int kfence_fault_install(void)
{
	return os_fault_install(handle);
}
