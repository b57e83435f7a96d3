/* SPDX-License-Identifier: MIT */
/*
 * os/cpu/rseq.c - is there a registration, and a fence for sequences on another CPU
 *
 * Why:        docs/adr/0005, docs/adr/0092.
 * Data:       os_rseq_on, os_rseq_offset: const after os_rseq_init(). An area for each thread that
 *             says that it is not registered.
 * Invariants: this file only reads the rseq area; the kernel and libc own it. But for
 *             os_rseq_leave(): after that the area is nobody's.
 * Locks:      none.
 * Flow:       see rseq.h; calls membarrier(2), rseq(2), sched_setaffinity(2).
 */
#include <errno.h>
#include <signal.h>
#include <linux/rseq.h>
#include <uslab/arch/rseq.h>

#include "arch/cpu.h"
#include "base/atomic.h"
#include "base/bits.h"
#include "os/cpu/cpu.h"
#include "os/cpu/rseq.h"
#include "os/sys.h"

#define RSEQ_SIGNATURE 0x53053053 /* of x86-64; others have no sequences */

/* As this library was built: a newer libc at run time brings no sequences with it. */
#define HAVE_SEQUENCES (ARCH_HAS_SEQUENCES && USLAB_HAVE_RSEQ)

/* Of <linux/membarrier.h> since 5.10, as numbers: #ifndef does not see enumerators. */
#define FENCE_OF_CPU 1		 /* MEMBARRIER_CMD_FLAG_CPU */
#define FENCE_SEQUENCES (1 << 7) /* MEMBARRIER_CMD_PRIVATE_EXPEDITED_RSEQ */
#define REGISTER_FENCE (1 << 8)	 /* MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_RSEQ */

/* <sys/rseq.h> of glibc >= 2.35; weak, so that the library also loads where libc has none. */
extern const ptrdiff_t __rseq_offset __attribute__((weak));
extern const unsigned int __rseq_size __attribute__((weak));
extern void *__libc_stack_end;

bool os_rseq_on;
ptrdiff_t os_rseq_offset;

/* Whether libc registers threads in this process. */
static bool libc_registers(void)
{
	return &__rseq_offset && &__rseq_size && __rseq_size != 0;
}

#if USLAB_HAVE_RSEQ
/*
 * Where libc's area is. Where it has none, calls begin with a sequence all the same, which misses
 * in a thread without a registration: this area is one's.
 */
static ptrdiff_t find_area(void)
{
	static __thread struct rseq none = { .cpu_id = (uint32_t)RSEQ_CPU_ID_UNINITIALIZED };
	/*
	 * Both names are the dynamic loader's. Programs are linked with that if they need it, and
	 * for some linkers (mold) weak names are no need: so here is one that is not weak.
	 */
	static void **const volatile needed = &__libc_stack_end;
	/* GCC 16 would make one operand of its distance, which no assembler takes. */
	const char *volatile area = (const char *)&none;

	(void)needed;
	return &__rseq_offset ? __rseq_offset : area - (const char *)__builtin_thread_pointer();
}
#else
static ptrdiff_t find_area(void)
{
	return &__rseq_offset ? __rseq_offset : 0; /* there are no sequences */
}
#endif

/* Announces to the kernel that this process will call the fence. 0 or -errno. */
static int register_fence(void)
{
	return (int)os_syscall(SYS_membarrier, REGISTER_FENCE, 0, 0);
}

/*
 * May this thread say where it runs? No CPU at all is an invalid argument, once that was allowed:
 * so it stays where it is, and the kernel remembers no wish of its (Linux 6.2 would for ever).
 */
static bool may_move(void)
{
	struct os_cpumask none = { { 0 } };

	return os_syscall(SYS_sched_setaffinity, 0, sizeof(none), &none) == -EINVAL;
}

void os_rseq_init(void)
{
	os_cpu_init();
	os_rseq_offset = find_area();
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

/*
 * libc registers what it says, but 32 bytes at least, the first size of the area; what it says is
 * the size in use from glibc 2.40 on. The kernel wants the same size again.
 */
void os_rseq_leave(void)
{
	struct rseq *area = (void *)((char *)__builtin_thread_pointer() + os_rseq_offset);
	uint64_t all = ~(1ull << (SIGTRAP - 1)); /* whose handler may be what steps */
	uint64_t before;

	if (!libc_registers())
		return;
	/* Linux 6.19 to 7.0 leave -1 there: what sequences make of that is another cache's word. */
	os_syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, &before, sizeof(all));
	if (os_syscall(SYS_rseq, area, MAX(__rseq_size, 32u), RSEQ_FLAG_UNREGISTER,
		       RSEQ_SIGNATURE) == 0)
		store_relaxed(&area->cpu_id_start, 0);
	os_syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, sizeof(before));
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
	return (int)os_syscall(SYS_membarrier, FENCE_SEQUENCES, FENCE_OF_CPU, cpu);
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
