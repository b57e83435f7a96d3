/* SPDX-License-Identifier: MIT */
/*
 * os/cpu/rseq.h - is there a registration, and a fence for sequences on another CPU
 *
 * Why:        docs/adr/0005, docs/adr/0092.
 * Data:       os_rseq_on: const after os_rseq_init().
 * Invariants: libc registers (glibc >= 2.35); we never register, and write no field but rseq_cs.
 *             Once os_rseq_leave() has ended a registration the area is nobody's.
 * Locks:      none.
 * Flow:       called by cache/fork.c, cache/init.c, front/percpu.c, front/percpu.h and filter.c;
 *             calls membarrier(2).
 *
 * Off when: built with USLAB_NO_RSEQ, not x86-64, libc has no __rseq_size or it is 0 (kernel
 * without rseq, valgrind, GLIBC_TUNABLES=glibc.pthread.rseq=0), the topology is made up, or there
 * are more than USLAB_MAX_CPUS CPU numbers.
 */
#ifndef OS_RSEQ_H
#define OS_RSEQ_H

#include "base/compiler.h"

extern bool os_rseq_on;
/* Offset of this thread's struct rseq from the thread pointer; valid wherever libc has one. */
extern ptrdiff_t os_rseq_offset;

void os_rseq_init(void);

/* In the child of fork(): a registration for the fence is the process's own. */
void os_rseq_register_again(void);

/*
 * Ends this thread's registration for good, and what depends on it in libc, which then asks the
 * system. For a thread whose sequences are interrupted each time. If the system refuses nothing
 * changes. Signal-safe.
 */
void os_rseq_leave(void);

/* This thread's CPU by its rseq area; -1 or -2 when this thread is not registered. */
int os_rseq_cpu(void);

/* The same where os_rseq_on: then libc has an area for every thread. */
static inline int os_rseq_cpu_unchecked(void)
{
	const char *area = (const char *)__builtin_thread_pointer() + os_rseq_offset;

	/* struct rseq.cpu_id; the kernel writes it whenever this thread has been moved */
	return __atomic_load_n((const int *)(area + 4), __ATOMIC_RELAXED);
}

/*
 * After return every sequence that ran on cpu when this was called has committed or was aborted,
 * and sequences that start later see all stores made before the call. 0 or -errno (-EINVAL or
 * -ENOSYS: the kernel has no such command, see os_run_on_cpu()). Works before os_rseq_init().
 */
int os_rseq_fence(unsigned int cpu);

/*
 * Moves the calling thread to cpu, calls fn(arg), restores the affinity. 0 or -errno (fn was not
 * called: cpu is offline or outside of the process's cpuset). For kernels without the membarrier
 * command. A CPU unplugged meanwhile may leave fn on another one: fn asks os_rseq_cpu().
 */
int os_run_on_cpu(unsigned int cpu, void (*fn)(void *), void *arg);

#endif /* OS_RSEQ_H */
