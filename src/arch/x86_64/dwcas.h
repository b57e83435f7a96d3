/* SPDX-License-Identifier: MIT */
/*
 * arch/x86_64/dwcas.h - cmpxchg16b
 *
 * Data:       none.
 * Invariants: none.
 * Locks:      none; contract in arch/dwcas.h.
 * Flow:       included by arch/dwcas.h only.
 */
#ifndef ARCH_X86_64_DWCAS_H
#define ARCH_X86_64_DWCAS_H

#define ARCH_HAS_DWCAS 1

/* ThreadSanitizer does not see into asm: it is notified of what the barrier orders. */
#ifdef __SANITIZE_THREAD__
void __tsan_acquire(void *p);
void __tsan_release(void *p);
#else
#define __tsan_acquire(p) ((void)(p))
#define __tsan_release(p) ((void)(p))
#endif

static inline bool arch_dwcas(struct dword *p, struct dword expect, struct dword update)
{
	bool done;

	__tsan_release(p);
	__asm__ volatile("lock cmpxchg16b %[mem]"
			 : "=@ccz"(done), [mem] "+m"(*p), "+a"(expect.lo), "+d"(expect.hi)
			 : "b"(update.lo), "c"(update.hi)
			 : "memory");
	__tsan_acquire(p);
	return done;
}

#endif /* ARCH_X86_64_DWCAS_H */
