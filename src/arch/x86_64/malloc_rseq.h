/* SPDX-License-Identifier: MIT */
/*
 * arch/x86_64/malloc_rseq.h - pop and push by class number, as restartable sequences
 *
 * Data:       none.
 * Invariants: nobody sees what a sequence has done before its commit.
 * Locks:      none.
 * Flow:       included by arch/malloc_rseq.h, which has the contract.
 *
 * The five instructions on where objects start, and the three on the mark, are before the sequence:
 * these are the caller's alone.
 * Table, arming and inject points are those of <uslab/arch/rseq-x86_64.h>.
 */
#ifndef ARCH_X86_64_MALLOC_RSEQ_H
#define ARCH_X86_64_MALLOC_RSEQ_H

#include "base/mark.h"
#include <uslab/arch/rseq-x86_64.h>

/* USLAB_WINDOWS_OFFSET + (USLAB_WINDOW_CPU0 << USLAB_WINDOW_SHIFT), as text for the assembler */
#define ARCH_MALLOC_WORD "-1877475328(%[tmp])"
BUILD_ASSERT(USLAB_WINDOWS_OFFSET + ((long)USLAB_WINDOW_CPU0 << USLAB_WINDOW_SHIFT) == -1877475328l);

/* Likewise USLAB_WINDOWS_OFFSET + USLAB_WINDOW_MASKS, and USLAB_WINDOW_MAGICS */
#define ARCH_MALLOC_MASK "-1879006720(%[base],%[class],8)"
#define ARCH_MALLOC_MAGIC "-1879005184(%[base],%[class],8)"
BUILD_ASSERT(USLAB_WINDOWS_OFFSET + (long)USLAB_WINDOW_MASKS == -1879006720l);
BUILD_ASSERT(USLAB_WINDOWS_OFFSET + (long)USLAB_WINDOW_MAGICS == -1879005184l);
BUILD_ASSERT(USLAB_MARK_OFFSET == 4);

/*
 * tmp = base + ((long)rseq.cpu_id << USLAB_WINDOW_SHIFT) + class * 8. The CPU's number is
 * shifted by 16, so that the class has its byte below it: loaded there it costs no
 * register and no addition.
 */
BUILD_ASSERT(USLAB_WINDOW_SHIFT - 3 >= 8);
#define ARCH_MALLOC_WINDOW(class)              \
	USLAB_RSEQ_CPU                         \
	"movb " class ", %b[tmp]\n\t"         \
	"leaq (%[base],%[tmp],8), %[tmp]\n\t"

static always_inline bool arch_malloc_pop(char *base, const unsigned char *class, ptrdiff_t rseq,
					  void **result)
{
	unsigned long tmp;
	char *top;
	void *obj;

	__asm__ volatile goto(USLAB_RSEQ_TABLE USLAB_RSEQ_ARM USLAB_RSEQ_INJECT(1) ARCH_MALLOC_WINDOW("%[class]")
		     "movq " ARCH_MALLOC_WORD ", %[top]\n\t"	/* top = *word */
		     USLAB_RSEQ_INJECT(2) "movq (%[top]), %[obj]\n\t" /* obj = *top */
		     "testq %[obj], %[obj]\n\t"
		     "jz %l[miss]\n\t"
		     "subq $8, %[top]\n\t" USLAB_RSEQ_INJECT(3)
		     "movq %[top], " ARCH_MALLOC_WORD "\n"	/* commit */
		     "2:\n\t"
		     "movl $0, 4(%[obj])" /* it is not free any more */
		     : [obj] "=&a"(obj), [top] "=&r"(top), [tmp] "=&r"(tmp)
		     : [base] "r"(base), [class] "m"(*class), [rseq] "r"(rseq)
		     : "memory", "cc"
		     : miss);
	*result = obj;
	return true;
miss:
	USLAB_RSEQ_MISSED;
	return false;
}

/* Sets the mark of obj and pushes it, after looks at it, if any: those may go to miss. */
#define ARCH_MALLOC_PUSH(looks, ...)                                     \
	__asm__ volatile goto(looks                                      \
		     "movl %k[obj], 4(%[obj])\n\t"                       \
		     USLAB_RSEQ_TABLE_TO("jmp %l[full]\n\t") USLAB_RSEQ_ARM             \
		     USLAB_RSEQ_INJECT(4) ARCH_MALLOC_WINDOW("%b[class]")                \
		     "movq " ARCH_MALLOC_WORD ", %[top]\n\t" /* top = *word */ \
		     "addb $8, %b[top]\n\t"                              \
		     "jc %l[full]\n\t" USLAB_RSEQ_INJECT(5)              \
		     "movq %[obj], (%[top])\n\t" /* *top = obj; seen by nobody yet */ \
		     USLAB_RSEQ_INJECT(6) "movq %[top], " ARCH_MALLOC_WORD "\n" /* commit */ \
		     "2:"                                                \
		     : [top] "=&r"(top), [tmp] "=&r"(tmp)                \
		     : [base] "r"(base), [class] "r"(class), [rseq] "r"(rseq), [obj] "r"(obj) \
		     : "memory", "cc"                                    \
		     : __VA_ARGS__)

static always_inline bool arch_malloc_push(char *base, unsigned long class, ptrdiff_t rseq,
					   void *obj)
{
	unsigned long tmp;
	char *top;

	ARCH_MALLOC_PUSH("movq %[obj], %[tmp]\n\t"
			 "andq " ARCH_MALLOC_MASK ", %[tmp]\n\t"
			 "imulq " ARCH_MALLOC_MAGIC ", %[tmp]\n\t"
			 "cmpq " ARCH_MALLOC_MAGIC ", %[tmp]\n\t"
			 "jae %l[miss]\n\t" /* no object starts here */
			 "cmpl %k[obj], 4(%[obj])\n\t"
			 "je %l[miss]\n\t", /* it seems to be free already */
			 miss, full);
	return true;
full:
	mark_clear(obj, USLAB_MARK_OFFSET);
miss:
	return false;
}

static always_inline bool arch_malloc_put(char *base, unsigned long class, ptrdiff_t rseq,
					  void *obj)
{
	unsigned long tmp;
	char *top;

	ARCH_MALLOC_PUSH("", full);
	return true;
full:
	mark_clear(obj, USLAB_MARK_OFFSET);
	return false;
}
#undef ARCH_MALLOC_PUSH

/* USLAB_WINDOW_MAGICS, of a handle */
#define ARCH_MALLOC_MAGIC_OF "43008(%[handle])"
BUILD_ASSERT(USLAB_WINDOW_MAGICS == 43008);

/*
 * As uslab_rseq_give_run(), whose inject points it has; n is raised likewise, and
 * the marks are taken back.
 */
static always_inline size_t arch_malloc_push_run(void *handle, ptrdiff_t rseq, size_t nr,
						 void *const *p, uintptr_t slab, size_t bytes)
{
	unsigned long offset;
	unsigned long limit;
	unsigned long tmp;
	char *top;
	void *obj;
	size_t n;

	__asm__ volatile("xorl %k[n], %k[n]\n\t" /* n = 0 */
		     USLAB_RSEQ_TABLE_TO(
		     "testq %[n], %[n]\n\t"
		     "jz 2f\n\t"
		     "decq %[n]\n\t"
		     "movq (%[p],%[n],8), %[obj]\n\t"
		     "movl $0, 4(%[obj])\n\t"
		     "jmp 4b\n\t") USLAB_RSEQ_ARM USLAB_RSEQ_INJECT(25) USLAB_RSEQ_WINDOW USLAB_RSEQ_TOP USLAB_RSEQ_LIMIT
		     ".p2align 4\n"
		     "5:\n\t"
		     "movq (%[p],%[n],8), %[obj]\n\t" USLAB_RSEQ_INJECT(26)
		     "movq %[obj], %[offset]\n\t"
		     "subq %[slab], %[offset]\n\t"
		     "cmpq %[bytes], %[offset]\n\t"
		     "jae 7f\n\t" /* of another slab */
		     "imulq " ARCH_MALLOC_MAGIC_OF ", %[offset]\n\t"
		     "cmpq " ARCH_MALLOC_MAGIC_OF ", %[offset]\n\t"
		     "jae 7f\n\t" /* no object starts here */
		     "cmpl %k[obj], 4(%[obj])\n\t"
		     "je 7f\n\t" /* it seems to be free already */
		     "incq %[n]\n\t"
		     "movl %k[obj], 4(%[obj])\n\t"
		     "movq %[obj], (%[top],%[n],8)\n\t" /* *++top = p[n++] */
		     "cmpq %[limit], %[n]\n\t"
		     "jne 5b\n"
		     "7:\n\t" USLAB_RSEQ_UP_N
		     "6:\n\t" USLAB_RSEQ_INJECT(27) USLAB_RSEQ_COMMIT
		     "2:"
		     : [obj] "=&r"(obj), [top] "=&r"(top), [tmp] "=&r"(tmp), [n] "=&r"(n),
		       [offset] "=&r"(offset), [limit] "=&r"(limit)
		     : [handle] "r"(handle), [rseq] "r"(rseq), [nr] "r"(nr), [p] "r"(p),
		       [slab] "r"(slab), [bytes] "r"(bytes)
		     : "memory", "cc");
	return n;
}

#endif /* ARCH_X86_64_MALLOC_RSEQ_H */
