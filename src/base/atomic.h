/* SPDX-License-Identifier: MIT */
/*
 * base/atomic.h - atomic access to plain fields, one word for each memory order
 *
 * Data:       none; the operand is any naturally aligned scalar or pointer.
 * Invariants: none.
 * Locks:      none; every use says which other function it pairs with.
 * Flow:       used everywhere. The double-word exchange is in arch/dwcas.h.
 */
#ifndef BASE_ATOMIC_H
#define BASE_ATOMIC_H

#include "base/compiler.h"

#define load_relaxed(p) __atomic_load_n((p), __ATOMIC_RELAXED)
#define load_acquire(p) __atomic_load_n((p), __ATOMIC_ACQUIRE)
#define store_relaxed(p, v) __atomic_store_n((p), (v), __ATOMIC_RELAXED)
#define store_release(p, v) __atomic_store_n((p), (v), __ATOMIC_RELEASE)

/*
 * What reads and writes in one is for words only: for a byte the compiler calls a function of
 * libatomic where neither CPU nor compiler have such an instruction (riscv64, GCC before 13).
 */
#define ATOMIC_WORD(p) BUILD_ASSERT(sizeof(*(p)) >= sizeof(uint32_t))
#define xchg(p, v)                                               \
	({                                                       \
		ATOMIC_WORD(p);                                  \
		__atomic_exchange_n((p), (v), __ATOMIC_ACQ_REL); \
	})
#define fetch_add(p, v)                                         \
	({                                                      \
		ATOMIC_WORD(p);                                 \
		__atomic_fetch_add((p), (v), __ATOMIC_RELAXED); \
	})
#define fetch_sub(p, v)                                         \
	({                                                      \
		ATOMIC_WORD(p);                                 \
		__atomic_fetch_sub((p), (v), __ATOMIC_RELAXED); \
	})

/* true when *p was expect and is now v */
#define cmpxchg(p, expect, v)                                                               \
	({                                                                                  \
		ATOMIC_WORD(p);                                                             \
		__typeof__(*(p)) cmpxchg_expect = (expect);                                 \
		__atomic_compare_exchange_n((p), &cmpxchg_expect, (v), 0, __ATOMIC_ACQ_REL, \
					    __ATOMIC_ACQUIRE);                              \
	})

/*
 * The same for a byte: as a part of its word where CPU or compiler have no such instruction. Who
 * stores to the other bytes meanwhile loses nothing.
 */
static inline bool cmpxchg_byte(uint8_t *p, uint8_t expect, uint8_t v)
{
#ifdef __GCC_HAVE_SYNC_COMPARE_AND_SWAP_1
	return __atomic_compare_exchange_n(p, &expect, v, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
#else
	unsigned int at = (unsigned int)((uintptr_t)p & 3);
	unsigned int shift = 8 * (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? at : 3 - at);
	uint32_t *word = (uint32_t *)(void *)(p - at);
	uint32_t old = load_relaxed(word);
	uint32_t new_word;

	do {
		if ((uint8_t)(old >> shift) != expect)
			return false;
		new_word = (old & ~(0xffu << shift)) | (uint32_t)v << shift;
	} while (!__atomic_compare_exchange_n(word, &old, new_word, 1, __ATOMIC_ACQ_REL,
					      __ATOMIC_RELAXED));
	return true;
#endif
}

/* Full barrier; every use names its partner. */
#define fence_seq_cst() __atomic_thread_fence(__ATOMIC_SEQ_CST)

/* A counter that loses an increment when two CPUs meet on it, and costs nothing: statistics. */
#define count_event(p) store_relaxed((p), load_relaxed(p) + 1)

#endif /* BASE_ATOMIC_H */
