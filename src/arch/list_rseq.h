/* SPDX-License-Identifier: MIT */
/*
 * arch/list_rseq.h - pop and push on a CPU's private free list, linked through its objects
 *
 * Data:       the state of one cache on one CPU (front/percpu.h): the words freelist and slab.
 * Invariants: one plain store to freelist commits, as in <uslab/arch/rseq-x86_64.h>.
 * Locks:      none; a restartable sequence excludes the other threads of this CPU.
 * Flow:       used by front/cpuslab_hit.h; includes the file of this CPU.
 *
 * Contract, in pseudo-code; each runs as if no other thread of this CPU existed, or not at all.
 * state is that of CPU 0; this CPU's lies cpu_id << USLAB_WINDOW_SHIFT behind it (cpu_id is -1 or
 * -2 in a thread without registration: those states are 0 for ever, and miss).
 *
 *     void *arch_list_pop(state, rseq, link, base, limit):
 *         head = state[cpu].freelist
 *         if head - base >= limit: return NULL (unsigned; 0 and the stop value lie outside as well)
 *         next = *(head + link)
 *         state[cpu].freelist = next           (the commit)
 *         return head
 *
 *     bool arch_list_push(state, rseq, slab, obj, slot):
 *         if state[cpu].slab != slab: miss
 *         head = state[cpu].freelist
 *         if head == obj: miss                 (a double free; the slow path says so)
 *         *slot = head                         (obj is ours until the commit)
 *         state[cpu].freelist = obj            (the commit)
 *
 * The link is read inside of the sequence, from an object that was free on this CPU when head was
 * read. Whoever takes the list away from another CPU looks at no object before a fence has aborted
 * this sequence (percpu_stop_xchg), so what it reads is either the link or never committed. The
 * check of head keeps a link that a program has overwritten from being followed.
 *
 * ThreadSanitizer sees no sequences: its build runs the steps in C. Delays inside of these are
 * injected by tests/race/list_test.c, places 16 to 21.
 */
#ifndef ARCH_LIST_RSEQ_H
#define ARCH_LIST_RSEQ_H

#include "base/compiler.h"
#include <uslab/slab.h>

#if USLAB_HAVE_RSEQ
#include "arch/x86_64/list_rseq.h"
#else
#include "arch/generic/list_rseq.h"
#endif

#endif /* ARCH_LIST_RSEQ_H */
