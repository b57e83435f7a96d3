/* SPDX-License-Identifier: MIT */
/*
 * os/cpu/rseq.c - is there a registration, and a fence for sequences on another CPU
 *
 * Why:        docs/adr/0005.
 * Data:       os_rseq_on, os_rseq_offset: const after os_rseq_init().
 * Invariants: this file only reads the rseq area; the kernel and libc own it.
 * Locks:      none.
 * Flow:       see rseq.h; calls membarrier(2), sched_setaffinity(2).
 */
#include <linux/membarrier.h>
#include <linux/rseq.h>
#include <uslab/arch/rseq.h>

#include "arch/cpu.h"
#include "base/atomic.h"
#include "os/cpu/cpu.h"
#include "os/cpu/rseq.h"
#include "os/sys.h"

/* As this library was built: a newer libc at run time brings no sequences with it. */
#define HAVE_SEQUENCES (ARCH_HAS_SEQUENCES && USLAB_HAVE_RSEQ)

/* <sys/rseq.h> of glibc >= 2.35; weak, so that the library also loads where libc has none. */
extern const ptrdiff_t __rseq_offset __attribute__((weak));
extern const unsigned int __rseq_size __attribute__((weak));

bool os_rseq_on;
ptrdiff_t os_rseq_offset;

/* Whether libc registers threads in this process. */
static bool libc_registers(void)
{
	return &__rseq_offset && &__rseq_size && __rseq_size != 0;
}

/* Announces to the kernel that this process will call the fence. 0 or -errno. */
static int register_fence(void)
{
	return (int)os_syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_RSEQ, 0,
			       0);
}

/* May this thread say where it runs? It stays where it is. */
static bool may_move(void)
{
	struct os_cpumask set = { { 0 } };
	long bytes = os_syscall(SYS_sched_getaffinity, 0, sizeof(set), &set);

	return bytes > 0 && os_syscall(SYS_sched_setaffinity, 0, (size_t)bytes, &set) >= 0;
}

void os_rseq_init(void)
{
	os_cpu_init();
	if (&__rseq_offset)
		os_rseq_offset = __rseq_offset;
	os_rseq_on = HAVE_SEQUENCES && libc_registers() && !os_topology.made_up &&
		     !os_topology.folded;
	/*
	 * Early, while there is one thread: with more it waits for an RCU grace period. Where a
	 * filter of system calls forbids both ways to reach other CPUs, no sequence could ever be
	 * ended there.
	 */
	if (os_rseq_on && register_fence())
		os_rseq_on = may_move();
}

void os_rseq_register_again(void)
{
	if (os_rseq_on)
		register_fence();
}

int os_rseq_cpu(void)
{
	const struct rseq *area;

	if (!libc_registers())
		return -1;
	area = (const struct rseq *)((char *)__builtin_thread_pointer() + __rseq_offset);
	/* The kernel writes it whenever this thread has been moved. */
	return (int)load_relaxed(&area->cpu_id);
}

static int try_fence(unsigned int cpu)
{
	return (int)os_syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED_RSEQ,
			       MEMBARRIER_CMD_FLAG_CPU, cpu);
}

int os_rseq_fence(unsigned int cpu)
{
	int ret = try_fence(cpu);

	/*
	 * -EPERM: not registered. Nobody may have called os_rseq_init() yet, or for this process.
	 */
	if (unlikely(ret == -EPERM)) {
		ret = register_fence();
		if (ret == 0)
			ret = try_fence(cpu);
	}
	return ret;
}

int os_run_on_cpu(unsigned int cpu, void (*fn)(void *), void *arg)
{
	struct os_cpumask old = { { 0 } };
	struct os_cpumask only = { { 0 } };
	long bytes;
	long ret;

	if (cpu >= OS_CPUMASK_BITS)
		return -EINVAL;
	bytes = os_syscall(SYS_sched_getaffinity, 0, sizeof(old), &old);
	if (bytes < 0)
		return (int)bytes;

	only.word[cpu / OS_WORD_BITS] = 1ul << cpu % OS_WORD_BITS;
	ret = os_syscall(SYS_sched_setaffinity, 0, sizeof(only), &only);
	if (ret < 0)
		return (int)ret;
	fn(arg);
	/* Fails only if all of the old CPUs have gone; the kernel then picks others itself. */
	os_syscall(SYS_sched_setaffinity, 0, (size_t)bytes, &old);
	return 0;
}
