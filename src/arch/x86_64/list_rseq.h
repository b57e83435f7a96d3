/* SPDX-License-Identifier: MIT */
/*
 * arch/x86_64/list_rseq.h - the sequences of arch/list_rseq.h
 *
 * Data:       none.
 * Invariants: freelist and slab are the first two words of the state (front/cpuslab.c asserts it).
 * Locks:      none.
 * Flow:       included by arch/list_rseq.h only; uses the macros of <uslab/arch/rseq-x86_64.h>.
 */
#ifndef ARCH_X86_64_LIST_RSEQ_H
#define ARCH_X86_64_LIST_RSEQ_H

#include <uslab/arch/rseq-x86_64.h>

/* tmp = state + ((long)rseq.cpu_id << USLAB_WINDOW_SHIFT) */
#define ARCH_LIST_STATE USLAB_RSEQ_CPU "leaq (%[state],%[tmp],8), %[tmp]\n\t"

/*
 * No asm goto: GCC 12 takes the value of an output to be the result on the edge of the miss as well
 * (with -fsanitize=address: the miss returned what head held). So a miss is made NULL in here.
 */
static always_inline void *arch_list_pop(const void *state, ptrdiff_t rseq, unsigned long link,
					 const char *base, unsigned long limit)
{
	unsigned long tmp;
	unsigned long scratch;
	void *head;

	__asm__ volatile(USLAB_RSEQ_TABLE_TO("jmp 5f\n\t")
			 ".pushsection __rseq_failure, \"ax\"\n"
			 "5:\n\t" /* miss */
			 "xorl %k[head], %k[head]\n\t"
			 "jmp 2f\n\t"
			 ".popsection\n" USLAB_RSEQ_ARM USLAB_RSEQ_INJECT(16) ARCH_LIST_STATE
			 "movq (%[tmp]), %[head]\n\t" /* head = freelist */
			 USLAB_RSEQ_INJECT(17) "movq %[head], %[scratch]\n\t"
			 "subq %[base], %[scratch]\n\t"
			 "cmpq %[limit], %[scratch]\n\t"
			 "jae 5b\n\t"
			 "leaq (%[head],%[link]), %[scratch]\n\t"
			 "movq (%[scratch]), %[scratch]\n\t" /* next */
			 USLAB_RSEQ_INJECT(18) "movq %[scratch], (%[tmp])\n" /* commit */
			 "2:"
			 : [head] "=&r"(head), [scratch] "=&r"(scratch), [tmp] "=&r"(tmp)
			 : [state] "r"(state), [rseq] "r"(rseq), [link] "r"(link),
			   [base] "r"(base), [limit] "r"(limit)
			 : "memory", "cc");
	return head;
}

static always_inline bool arch_list_push(const void *state, ptrdiff_t rseq, const void *slab,
					 void *obj, uintptr_t *slot)
{
	unsigned long tmp;
	unsigned long head;

	__asm__ volatile goto(USLAB_RSEQ_TABLE USLAB_RSEQ_ARM USLAB_RSEQ_INJECT(19) ARCH_LIST_STATE
			      "cmpq %[slab], 8(%[tmp])\n\t"
			      "jne %l[miss]\n\t" USLAB_RSEQ_INJECT(20)
			      "movq (%[tmp]), %[head]\n\t" /* head = freelist */
			      "cmpq %[obj], %[head]\n\t"
			      "je %l[miss]\n\t"
			      "movq %[head], (%[slot])\n\t" /* seen by nobody yet */
			      USLAB_RSEQ_INJECT(21) "movq %[obj], (%[tmp])\n" /* commit */
			      "2:"
			      : [head] "=&r"(head), [tmp] "=&r"(tmp)
			      : [state] "r"(state), [rseq] "r"(rseq), [slab] "r"(slab),
				[obj] "r"(obj), [slot] "r"(slot)
			      : "memory", "cc"
			      : miss);
	return true;
miss:
	return false;
}

#endif /* ARCH_X86_64_LIST_RSEQ_H */
