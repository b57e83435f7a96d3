/* SPDX-License-Identifier: MIT */
/*
 * arch/malloc_rseq.h - pop and push by class number, for the drop-in malloc
 *
 * Data:       none; works on the per-CPU words of <uslab/layout.h>.
 * Invariants: as <uslab/arch/rseq-x86_64.h>: one plain store commits; rseq_cs is the only field of
 *             struct rseq that is written.
 * Locks:      none; a restartable sequence excludes the other threads of this CPU.
 * Flow:       called by malloc/hot.h; includes the file of this CPU.
 *
 * Contract, in pseudo-code; each runs as if no other thread of this CPU existed, or not at all.
 * The same word as the handle of cache number class finds, but reached from the arena's base, so
 * that malloc and free need one base register for tables, page classes and words:
 *
 *     WORD(base, class) = base + USLAB_WINDOWS_OFFSET + ((cpu_id + 3) << USLAB_WINDOW_SHIFT) + class * 8
 *
 *     bool arch_malloc_pop(base, class, rseq, &obj):     bool arch_malloc_push(base, class, rseq, obj):
 *         top = *WORD                                        top = *WORD + 8
 *         obj = *top                                         if low byte of top carried: miss
 *         if obj == NULL: miss                               *top = obj
 *         *WORD = top - 8         (the commit)               *WORD = top     (the commit)
 *
 * They return a constant on either way out, so that the caller's branch on it costs nothing.
 * Where there is no sequence for the CPU both miss always.
 */
#ifndef ARCH_MALLOC_RSEQ_H
#define ARCH_MALLOC_RSEQ_H

#include "base/compiler.h"

#if defined(__x86_64__) && !defined(USLAB_NO_RSEQ)
#include "arch/x86_64/malloc_rseq.h"
#else
#include "arch/generic/malloc_rseq.h"
#endif

#endif /* ARCH_MALLOC_RSEQ_H */
