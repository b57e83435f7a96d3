/* SPDX-License-Identifier: MIT */
/*
 * arch/x86_64/rseq_ops.h - the sequences of arch/rseq_ops.h
 *
 * Data:       none.
 * Invariants: see the contract.
 * Locks:      none.
 * Flow:       included by arch/rseq_ops.h only; uses the macros of <uslab/arch/rseq-x86_64.h>.
 */
#ifndef ARCH_X86_64_RSEQ_OPS_H
#define ARCH_X86_64_RSEQ_OPS_H

#include <uslab/arch/rseq-x86_64.h>

#define ELSEWHERE_TABLE USLAB_RSEQ_TABLE_TO("jmp %l[elsewhere]\n\t")

static inline int arch_rseq_xchg(ptrdiff_t rseq, int cpu, uintptr_t *word, uintptr_t new_value,
				 uintptr_t *old)
{
	uintptr_t value;
	unsigned long tmp;

	__asm__ volatile goto(ELSEWHERE_TABLE USLAB_RSEQ_ARM USLAB_RSEQ_INJECT(7)
			      "cmpl %[cpu], %%fs:4(%[rseq])\n\t"
			      "jne %l[elsewhere]\n\t"
			      "movq (%[word]), %[value]\n\t" /* old = *word */
			      USLAB_RSEQ_INJECT(8) "movq %[new_value], (%[word])\n" /* commit */
			      "2:"
			      : [tmp] "=&r"(tmp), [value] "=&r"(value)
			      : [rseq] "r"(rseq), [cpu] "r"(cpu), [word] "r"(word),
				[new_value] "r"(new_value)
			      : "memory", "cc"
			      : elsewhere);
	*old = value;
	return 0;
elsewhere:
	return -1;
}

static inline int arch_rseq_cmp2_store(ptrdiff_t rseq, int cpu, uintptr_t *word, uintptr_t expect,
				       const uintptr_t *word2, uintptr_t expect2,
				       uintptr_t new_value)
{
	unsigned long tmp;

	__asm__ volatile goto(ELSEWHERE_TABLE USLAB_RSEQ_ARM USLAB_RSEQ_INJECT(9)
			      "cmpl %[cpu], %%fs:4(%[rseq])\n\t"
			      "jne %l[elsewhere]\n\t"
			      "cmpq %[expect], (%[word])\n\t"
			      "jne %l[differs]\n\t" USLAB_RSEQ_INJECT(10)
			      "cmpq %[expect2], (%[word2])\n\t"
			      "jne %l[differs]\n\t" USLAB_RSEQ_INJECT(11)
			      "movq %[new_value], (%[word])\n" /* commit */
			      "2:"
			      : [tmp] "=&r"(tmp)
			      : [rseq] "r"(rseq), [cpu] "r"(cpu), [word] "r"(word),
				[expect] "r"(expect), [word2] "r"(word2), [expect2] "r"(expect2),
				[new_value] "r"(new_value)
			      : "memory", "cc"
			      : elsewhere, differs);
	return 0;
elsewhere:
	return -1;
differs:
	return 1;
}

static inline int arch_rseq_cmp2_push(ptrdiff_t rseq, int cpu, uintptr_t *word, uintptr_t expect,
				      const uintptr_t *word2, uintptr_t expect2, uintptr_t *slot,
				      uintptr_t value)
{
	unsigned long tmp;

	__asm__ volatile goto(ELSEWHERE_TABLE USLAB_RSEQ_ARM USLAB_RSEQ_INJECT(12)
			      "cmpl %[cpu], %%fs:4(%[rseq])\n\t"
			      "jne %l[elsewhere]\n\t"
			      "cmpq %[expect], (%[word])\n\t"
			      "jne %l[differs]\n\t" USLAB_RSEQ_INJECT(13)
			      "cmpq %[expect2], (%[word2])\n\t"
			      "jne %l[differs]\n\t" USLAB_RSEQ_INJECT(14)
			      "movq %[value], (%[slot])\n\t" /* seen by nobody yet */
			      USLAB_RSEQ_INJECT(15) "movq %[slot], (%[word])\n" /* commit */
			      "2:"
			      : [tmp] "=&r"(tmp)
			      : [rseq] "r"(rseq), [cpu] "r"(cpu), [word] "r"(word),
				[expect] "r"(expect), [word2] "r"(word2), [expect2] "r"(expect2),
				[slot] "r"(slot), [value] "r"(value)
			      : "memory", "cc"
			      : elsewhere, differs);
	return 0;
elsewhere:
	return -1;
differs:
	return 1;
}

#undef ELSEWHERE_TABLE

/* A word that is 0 has no array: out of the sequence. */
#define IF_THERE                    \
	"testq %[top], %[top]\n\t" \
	"jz 2f\n\t"

static inline size_t arch_rseq_pop_run(ptrdiff_t rseq, void *handle, size_t nr, void **p)
{
	size_t n;

	USLAB_RSEQ_RUN(n, USLAB_RSEQ_TABLE_RUN USLAB_RSEQ_ARM USLAB_RSEQ_INJECT(28),
		       IF_THERE USLAB_RSEQ_POP_RUN("", 29, 30));
	return n;
}

static inline size_t arch_rseq_push_run(ptrdiff_t rseq, void *handle, size_t nr, void *const *p)
{
	size_t n;

	USLAB_RSEQ_RUN(n, USLAB_RSEQ_TABLE_RUN USLAB_RSEQ_ARM USLAB_RSEQ_INJECT(31),
		       IF_THERE USLAB_RSEQ_PUSH_RUN(32, 33));
	return n;
}

#undef IF_THERE

/* A word that is 0, or an array of somebody else: to miss. The owner is in the array itself. */
#define IF_OWNED                                             \
	"testq %[top], %[top]\n\t"                          \
	"jz %l[miss]\n\t"                                   \
	"movq %[top], %[base]\n\t"                          \
	"movb $0, %b[base]\n\t"                             \
	"cmpl %[owner], " USLAB_STR(SHEAF_OWNER_OFFSET) "(%[base])\n\t" \
	"jne %l[miss]\n\t"

static inline bool arch_rseq_pop_of(ptrdiff_t rseq, void *handle, uint32_t owner, void **result)
{
	unsigned long base;
	unsigned long tmp;
	char *top;
	void *obj;

	__asm__ volatile goto(USLAB_RSEQ_TABLE USLAB_RSEQ_ARM USLAB_RSEQ_INJECT(34)
			      USLAB_RSEQ_WINDOW USLAB_RSEQ_TOP IF_OWNED
			      USLAB_RSEQ_INJECT(35) USLAB_RSEQ_LOAD
			      "testq %[obj], %[obj]\n\t"
			      "jz %l[miss]\n\t" USLAB_RSEQ_DOWN
			      USLAB_RSEQ_INJECT(36) USLAB_RSEQ_COMMIT
			      "2:"
			      : [obj] "=&r"(obj), [top] "=&r"(top), [tmp] "=&r"(tmp),
				[base] "=&r"(base)
			      : [handle] "r"(handle), [rseq] "r"(rseq), [owner] "r"(owner)
			      : "memory", "cc"
			      : miss);
	*result = obj;
	return true;
miss:
	USLAB_RSEQ_MISSED;
	return false;
}

static inline bool arch_rseq_push_of(ptrdiff_t rseq, void *handle, uint32_t owner, void *obj)
{
	unsigned long base;
	unsigned long tmp;
	char *top;

	__asm__ volatile goto(USLAB_RSEQ_TABLE USLAB_RSEQ_ARM USLAB_RSEQ_INJECT(37)
			      USLAB_RSEQ_WINDOW USLAB_RSEQ_TOP IF_OWNED USLAB_RSEQ_UP_OR_CARRY
			      "jc %l[miss]\n\t" USLAB_RSEQ_INJECT(38) USLAB_RSEQ_STORE
			      USLAB_RSEQ_INJECT(39) USLAB_RSEQ_COMMIT
			      "2:"
			      : [top] "=&r"(top), [tmp] "=&r"(tmp), [base] "=&r"(base)
			      : [handle] "r"(handle), [rseq] "r"(rseq), [owner] "r"(owner),
				[obj] "r"(obj)
			      : "memory", "cc"
			      : miss);
	return true;
miss:
	return false;
}

#undef IF_OWNED

#endif /* ARCH_X86_64_RSEQ_OPS_H */
