/* SPDX-License-Identifier: MIT */
/*
 * arch/malloc_rseq.h - pop and push by class number, for the drop-in malloc
 *
 * Data:       none; works on the per-CPU words of <uslab/layout.h>.
 * Invariants: as <uslab/arch/rseq-x86_64.h>: one plain store commits; rseq_cs is the only field of
 *             struct rseq that is written.
 * Locks:      none; a restartable sequence excludes the other threads of this CPU.
 * Flow:       called by cache/kmalloc/kfree.h, cache/kmalloc/kfree_bulk.c, malloc/hot.h,
 *             malloc/resize.c and malloc/slow.c; includes the file of this CPU.
 *
 * Contract, in pseudo-code; each runs as if no other thread of this CPU existed, or not at all.
 * The same word as the handle of cache number class finds, but reached from the arena's base, so
 * that malloc and free need one base register for tables, page classes and words:
 *
 *     WORD(base, class) =
 *         base + USLAB_WINDOWS_OFFSET + ((cpu_id + 3) << USLAB_WINDOW_SHIFT) + class * 8
 *
 *     bool arch_malloc_pop(base, &class, rseq, &obj):
 *     bool arch_malloc_push(base, class, rseq, obj):
 *         pop:                                               push:
 *         top = *WORD                                        if (obj & MASK) * MAGIC >= MAGIC: miss
 *         obj = *top                                         if the mark of obj is set: miss
 *         if obj == NULL: miss                               set the mark of obj
 *         *WORD = top - 8         (the commit)               top = *WORD + 8
 *         clear the mark of obj                              if low byte of top carried: full
 *                                                            *top = obj
 *                                                            *WORD = top     (the commit)
 *                                                        full: clear the mark of obj; miss
 *
 *     bool arch_malloc_put(base, class, rseq, obj):
 *         push without its two looks at obj, for a caller that has looked himself
 *
 *     size_t arch_malloc_push_run(handle of a class, rseq, nr, p, slab, bytes):
 *         push of p[0], p[1], ..., nr of them at most, with one commit, until one would miss or
 *         does not lie in slab .. slab + bytes, which is of that class and begins at a multiple of
 *         bytes; returns how many. nr > 0. Here all looks are in the sequence, which takes its
 *         marks back when it is aborted
 *
 * What is interrupted by the kernel misses; a push is full then, a run frees none.
 *
 * What push looks at before its sequence is the caller's alone, as long as the caller may free it.
 * The mark is set before the commit and cleared after the one of a pop: in between the
 * object is the array's alone. Two threads that free one object at the same
 * instant may both find it unmarked.
 *
 * A pop loads the class itself, in its sequence, from where the caller has it in memory: a
 * table that does not change.
 *
 * They return a constant on either way out, so that the caller's branch on it costs nothing.
 * Where there is no sequence for the CPU all miss always.
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
