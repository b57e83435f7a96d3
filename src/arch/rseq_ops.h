/* SPDX-License-Identifier: MIT */
/*
 * arch/rseq_ops.h - restartable sequences of the slow paths: contract
 *
 * Data:       words in the window of one CPU (<uslab/layout.h>).
 * Invariants: the commit, a store to word, is the last instruction of each sequence; what it stores
 *             before that, nobody reads until the commit says so.
 * Locks:      none. Sequences of one CPU exclude one another; no fence is implied.
 * Flow:       used by cache/group/charge_hit.h, front/array_bulk.c, front/array_charged.h and
 *             front/percpu.c. The hit paths are in <uslab/arch/...>.
 *
 *     int arch_rseq_xchg(rseq, cpu, word, new, *old):
 *         if this CPU != cpu, or interrupted: return -1
 *         *old = *word; *word = new; return 0
 *
 *     int arch_rseq_cmp2_store(rseq, cpu, word, expect, word2, expect2, new):
 *         if this CPU != cpu, or interrupted: return -1
 *         if *word != expect: return 1
 *         if *word2 != expect2: return 1          (read after *word)
 *         *word = new; return 0
 *
 *     int arch_rseq_cmp2_push(rseq, cpu, word, expect, word2, expect2, slot, value):
 *         if this CPU != cpu, or interrupted: return -1
 *         if *word != expect: return 1
 *         if *word2 != expect2: return 1          (read after *word)
 *         *slot = value
 *         *word = slot; return 0
 *
 *     size_t arch_rseq_pop_run(rseq, word, nr, p):
 *     size_t arch_rseq_push_run(rseq, word, nr, p):
 *         as uslab_rseq_pop_run() and uslab_rseq_push_run(), on the word of this CPU that lies
 *         where `word` does in window 0, and which may be 0: there is nothing then, and no room
 *
 *     bool arch_rseq_pop_of(rseq, word, owner, *obj):
 *     bool arch_rseq_push_of(rseq, word, owner, obj):
 *         as uslab_rseq_pop() and uslab_rseq_push(), likewise; they miss, too, if the array is not
 *         this owner's: SHEAF_OWNER_OFFSET bytes behind its base is the number of who it belongs to
 */
#ifndef ARCH_RSEQ_OPS_H
#define ARCH_RSEQ_OPS_H

#include "base/compiler.h"
#include <uslab/slab.h>

#define SHEAF_OWNER_OFFSET 4 /* upper half of entry 0: see front/depot.h */

#if USLAB_HAVE_RSEQ
#include "arch/x86_64/rseq_ops.h"
#else
#include "arch/generic/rseq_ops.h"
#endif

#endif /* ARCH_RSEQ_OPS_H */
