/* SPDX-License-Identifier: MIT */
/*
 * uslab/arch/rseq-x86_64.h - pop and push on the CPU's own array, as restartable sequences
 *
 * The only inline assembly that a program which includes <uslab/slab.h> sees. Contract, in
 * pseudo-code; each runs as if no other thread of this CPU existed, or not at all:
 *
 *     void *uslab_rseq_pop(handle):                  bool uslab_rseq_push(handle, obj):
 *         word = WORD(handle, this_cpu)                  word = WORD(handle, this_cpu)
 *         top = *word                                    top = *word
 *         obj = *top                                     top = top + 8
 *         if obj == NULL: miss                           if low byte of top carried: miss
 *         top = top - 8                                  *top = obj
 *         *word = top             (the commit)           *word = top             (the commit)
 *
 * uslab_rseq_take() and uslab_rseq_give() are the same for objects with marks (<uslab/layout.h>), at
 * OFFSET(handle): a take clears it after its commit; a give misses if it is set, and sets it right
 * before its commit. One that is interrupted in between finds its own mark and misses; out of line it
 * is then found out for certain that the object is not free. What misses at once, as with a stopped
 * word, has read and written no object; one that was interrupted may have left the mark in it.
 *
 * uslab_rseq_pop_run() and uslab_rseq_push_run() repeat the lines in the middle for up to nr objects,
 * until one would miss, and commit once: all that were moved, in the order of as many single calls.
 *
 * Progress: a sequence that the kernel interrupts (preemption, migration, signal) starts again
 * from its first instruction; registers that it reads stay untouched until the commit. What a run has
 * written by then lies in the caller's array, or above the top, where nobody looks.
 * The commit is one plain store of a value derived from the loaded one: front/percpu.c relies on
 * that when it takes an array away from another CPU.
 * rseq_cs is the only field of struct rseq that is ever written. It is left set after the commit;
 * the kernel clears it when it next interrupts the thread outside of the sequence.
 */
#ifndef USLAB_ARCH_RSEQ_X86_64_H
#define USLAB_ARCH_RSEQ_X86_64_H

#include <stddef.h>

#include <uslab/layout.h>

/* Delays for race tests: text put into the sequence at step n; see tests/race. */
#ifndef USLAB_RSEQ_INJECT
#define USLAB_RSEQ_INJECT(n) ""
#endif

/*
 * Around each sequence: nothing, but with GCC's -masm=intel. Operands are registers alone, whose names have no prefix
 * then; so the text is AT&T's all the same. Clang's own assembler cannot do so: USLAB_NO_RSEQ is for it.
 */
#define USLAB_ASM_BEGIN "{|.att_syntax noprefix\n\t}"
#define USLAB_ASM_END "{|\n\t.intel_syntax noprefix}"

#define USLAB_STR1(x) #x
#define USLAB_STR(x) USLAB_STR1(x)

/* Descriptor of the sequence 1..2 with abort handler 4, which does as `undo` says and goes back to 0. */
#define USLAB_RSEQ_TABLE USLAB_RSEQ_TABLE_UNDO("")
#define USLAB_RSEQ_TABLE_UNDO(undo)                                       \
	".pushsection __rseq_cs, \"aw\"\n\t"                              \
	".balign 32\n"                                                    \
	"3:\n\t"                                                          \
	".long 0, 0\n\t"                                                  \
	".quad 1f, (2f - 1f), 4f\n\t"                                     \
	".popsection\n\t"                                                 \
	".pushsection __rseq_failure, \"ax\"\n\t"                         \
	".byte 0x0f, 0xb9, 0x3d\n\t" /* ud1: makes the signature a trap */ \
	".long 0x53053053\n"                                              \
	"4:\n\t" undo                                                     \
	"jmp 0f\n\t"                                                      \
	".popsection\n"

/*
 * What inlines a sequence refers to uslab_layout_NUMBER: with a library of another layout it neither
 * links nor starts. No instruction: one word for each object file, and a relocation without effect at
 * the sequence, so that --gc-sections keeps the word as long as the sequence. .Luslab_layout is local.
 */
#define USLAB_RSEQ_LAYOUT                                          \
	".ifndef .Luslab_layout\n\t"                               \
	".pushsection .data.rel.ro.uslab, \"aw\"\n\t"              \
	".balign 8\n"                                              \
	".Luslab_layout:\n\t"                                      \
	".quad uslab_layout_" USLAB_STR(USLAB_LAYOUT) "\n\t"       \
	".popsection\n\t"                                          \
	".endif\n\t"                                               \
	".reloc ., R_X86_64_NONE, .Luslab_layout\n\t"

/* Arms the sequence: rseq_cs = &table. Clobbers %[tmp]. */
#define USLAB_RSEQ_ARM                       \
	"0:\n\t"                             \
	"leaq 3b(%%rip), %[tmp]\n\t"         \
	"movq %[tmp], %%fs:8(%[rseq])\n"     \
	"1:\n\t"

/*
 * tmp = (long)rseq.cpu_id << (USLAB_WINDOW_SHIFT - 3): the four bytes at 2 are the upper half of
 * cpu_id_start, which is 0, and the lower half of cpu_id.
 */
#define USLAB_RSEQ_CPU "movslq %%fs:2(%[rseq]), %[tmp]\n\t"

/*
 * The word's address goes into a register of its own. With (%[handle],%[tmp]) each sequence would
 * wait some 5 cycles for what the one before it stored: CPUs that hand a store on to a load without
 * a delay (Intel since Golden Cove) do so for addresses of a base and a constant only.
 */
#define USLAB_RSEQ_WINDOW USLAB_RSEQ_CPU "leaq (%[handle],%[tmp],8), %[tmp]\n\t"
#define USLAB_RSEQ_WORD "1572864(%[tmp])" /* 3 << USLAB_WINDOW_SHIFT */
#define USLAB_RSEQ_MARKS "16384(%[handle])" /* USLAB_WINDOW_MARKS */

/* The whole of a pop; behind it, at label 2, the object is nobody else's. */
#define USLAB_RSEQ_POP                                                                  \
	USLAB_RSEQ_LAYOUT USLAB_RSEQ_TABLE USLAB_RSEQ_ARM USLAB_RSEQ_INJECT(1)          \
	USLAB_RSEQ_WINDOW "movq " USLAB_RSEQ_WORD ", %[top]\n\t" /* top = *word */      \
	USLAB_RSEQ_INJECT(2) "movq (%[top]), %[obj]\n\t"        /* obj = *top */       \
	"testq %[obj], %[obj]\n\t"                                                     \
	"jz %l[miss]\n\t"                                                              \
	"subq $8, %[top]\n\t" USLAB_RSEQ_INJECT(3)                                     \
	"movq %[top], " USLAB_RSEQ_WORD "\n"                    /* commit */           \
	"2:\n\t"

/* Returns 1 and the object, or 0 when the array is empty, stopped or absent. */
static inline __attribute__((__always_inline__)) int uslab_rseq_pop(void *handle, ptrdiff_t rseq,
								void **result)
{
	unsigned long tmp;
	char *top;
	void *obj;

	__asm__ volatile goto(USLAB_ASM_BEGIN USLAB_RSEQ_POP USLAB_ASM_END
		     : [obj] "=&r"(obj), [top] "=&r"(top), [tmp] "=&r"(tmp)
		     : [handle] "r"(handle), [rseq] "r"(rseq)
		     : "memory", "cc"
		     : miss);
	*result = obj;
	return 1;
miss:
	return 0;
}

/* Returns 1 when done, 0 when the array is full, stopped or absent. */
static inline __attribute__((__always_inline__)) int uslab_rseq_push(void *handle, void *obj,
								 ptrdiff_t rseq)
{
	unsigned long tmp;
	char *top;

	__asm__ volatile goto(USLAB_ASM_BEGIN USLAB_RSEQ_LAYOUT USLAB_RSEQ_TABLE USLAB_RSEQ_ARM USLAB_RSEQ_INJECT(4) USLAB_RSEQ_WINDOW
		     "movq " USLAB_RSEQ_WORD ", %[top]\n\t" /* top = *word */
		     "addb $8, %b[top]\n\t"
		     "jc %l[miss]\n\t" USLAB_RSEQ_INJECT(5)
		     "movq %[obj], (%[top])\n\t" /* *top = obj; seen by nobody yet */
		     USLAB_RSEQ_INJECT(6) "movq %[top], " USLAB_RSEQ_WORD "\n" /* commit */
		     "2:" USLAB_ASM_END
		     : [top] "=&r"(top), [tmp] "=&r"(tmp)
		     : [handle] "r"(handle), [obj] "r"(obj), [rseq] "r"(rseq)
		     : "memory", "cc"
		     : miss);
	return 1;
miss:
	return 0;
}

/* As uslab_rseq_pop(): what it returns bears no mark any more. */
static inline __attribute__((__always_inline__)) int uslab_rseq_take(void *handle, ptrdiff_t rseq,
								 void **result)
{
	unsigned long tmp;
	char *top;
	void *obj;

	__asm__ volatile goto(USLAB_ASM_BEGIN USLAB_RSEQ_POP
		     "movq " USLAB_RSEQ_MARKS ", %[tmp]\n\t"
		     "movl $0, (%[obj],%[tmp])" USLAB_ASM_END
		     : [obj] "=&r"(obj), [top] "=&r"(top), [tmp] "=&r"(tmp)
		     : [handle] "r"(handle), [rseq] "r"(rseq)
		     : "memory", "cc"
		     : miss);
	*result = obj;
	return 1;
miss:
	return 0;
}

/* As uslab_rseq_push(); 0 also when the object bears a mark. */
static inline __attribute__((__always_inline__)) int uslab_rseq_give(void *handle, void *obj,
								 ptrdiff_t rseq)
{
	unsigned long mark;
	unsigned long tmp;
	char *top;

	__asm__ volatile goto(USLAB_ASM_BEGIN USLAB_RSEQ_LAYOUT USLAB_RSEQ_TABLE USLAB_RSEQ_ARM USLAB_RSEQ_INJECT(4) USLAB_RSEQ_WINDOW
		     "movq " USLAB_RSEQ_WORD ", %[top]\n\t" /* top = *word */
		     "addb $8, %b[top]\n\t"
		     "jc %l[miss]\n\t" USLAB_RSEQ_INJECT(5)
		     "movq " USLAB_RSEQ_MARKS ", %[mark]\n\t"
		     "cmpl %k[obj], (%[obj],%[mark])\n\t"
		     "je %l[miss]\n\t" /* it seems to be free already */
		     "movq %[obj], (%[top])\n\t" /* *top = obj; seen by nobody yet */
		     "movl %k[obj], (%[obj],%[mark])\n\t"
		     USLAB_RSEQ_INJECT(6) "movq %[top], " USLAB_RSEQ_WORD "\n" /* commit */
		     "2:" USLAB_ASM_END
		     : [top] "=&r"(top), [tmp] "=&r"(tmp), [mark] "=&r"(mark)
		     : [handle] "r"(handle), [obj] "r"(obj), [rseq] "r"(rseq)
		     : "memory", "cc"
		     : miss);
	return 1;
miss:
	return 0;
}

/*
 * The middle of the runs, with the place of a delay in the loop and one before the commit, and what is to be
 * done with each object. Loops begin at multiples of 16: of two or three objects a third of the time depends on it.
 */
#define USLAB_RSEQ_POP_RUN(each, in_loop, before_commit)                             \
	".p2align 4\n"                                                               \
	"5:\n\t"                                                                     \
	USLAB_RSEQ_INJECT(in_loop) "movq (%[top]), %[obj]\n\t" /* obj = *top */      \
	"testq %[obj], %[obj]\n\t"                                                   \
	"jz 6f\n\t"                                                                  \
	"subq $8, %[top]\n\t"                                                        \
	"movq %[obj], (%[p],%[n],8)\n\t" each /* p[n++] = obj */                     \
	"incq %[n]\n\t"                                                              \
	"cmpq %[nr], %[n]\n\t"                                                       \
	"jne 5b\n"                                                                   \
	"6:\n\t" USLAB_RSEQ_INJECT(before_commit)                                    \
	"movq %[top], " USLAB_RSEQ_WORD "\n" /* commit */                            \
	"2:"

#define USLAB_RSEQ_PUSH_RUN(in_loop, before_commit)                                  \
	".p2align 4\n"                                                               \
	"5:\n\t"                                                                     \
	"cmpb $0xf8, %b[top]\n\t" /* full: top + 8 would carry */                    \
	"je 6f\n\t"                                                                  \
	"movq (%[p],%[n],8), %[obj]\n\t" USLAB_RSEQ_INJECT(in_loop)                  \
	"movq %[obj], 8(%[top])\n\t" /* *++top = p[n++] */                            \
	"addq $8, %[top]\n\t"                                                        \
	"incq %[n]\n\t"                                                              \
	"cmpq %[nr], %[n]\n\t"                                                       \
	"jne 5b\n"                                                                   \
	"6:\n\t" USLAB_RSEQ_INJECT(before_commit)                                    \
	"movq %[top], " USLAB_RSEQ_WORD "\n" /* commit */                            \
	"2:"

/*
 * Sets n to how many objects a run has moved. `begin` arms it; `middle`, one of the above, finds the word's top in
 * %[top] and n = 0; %[mark] is free for it. handle, rseq, nr and p are those of the function around it.
 */
#define USLAB_RSEQ_RUN(n_moved, begin, middle)                                                  \
	do {                                                                                    \
		unsigned long mark;                                                             \
		unsigned long tmp;                                                              \
		char *top;                                                                      \
		void *obj;                                                                      \
                                                                                                \
		__asm__ volatile(USLAB_ASM_BEGIN begin USLAB_RSEQ_WINDOW                                        \
				 "movq " USLAB_RSEQ_WORD ", %[top]\n\t" /* top = *word */       \
				 "xorl %k[n], %k[n]\n\t" middle USLAB_ASM_END \
				 : [obj] "=&r"(obj), [top] "=&r"(top), [tmp] "=&r"(tmp),        \
				   [mark] "=&r"(mark), [n] "=&r"(n_moved)                       \
				 : [handle] "r"(handle), [rseq] "r"(rseq), [nr] "r"(nr), [p] "r"(p) \
				 : "memory", "cc");                                             \
	} while (0)
#define USLAB_RSEQ_BEGIN_RUN(inject) \
	USLAB_RSEQ_LAYOUT USLAB_RSEQ_TABLE USLAB_RSEQ_ARM USLAB_RSEQ_INJECT(inject)

/*
 * Up to nr objects (nr > 0) into p[], the newest first; returns how many: fewer when the array has no
 * more. An empty, stopped or absent one gets back the top that it had.
 */
static inline __attribute__((__always_inline__)) size_t uslab_rseq_pop_run(void *handle,
								       ptrdiff_t rseq, size_t nr,
								       void **p)
{
	size_t n;

	USLAB_RSEQ_RUN(n, USLAB_RSEQ_BEGIN_RUN(22), USLAB_RSEQ_POP_RUN("", 23, 24));
	return n;
}

/* Up to nr objects (nr > 0) of p[], so that the last one is the newest; returns how many had room. */
static inline __attribute__((__always_inline__)) size_t uslab_rseq_push_run(void *handle,
									ptrdiff_t rseq, size_t nr,
									void *const *p)
{
	size_t n;

	USLAB_RSEQ_RUN(n, USLAB_RSEQ_BEGIN_RUN(25), USLAB_RSEQ_PUSH_RUN(26, 27));
	return n;
}

/*
 * As uslab_rseq_pop_run(): what it returns bears no marks any more. A run that is interrupted may leave free
 * objects without marks in the array, whose next free is then not seen to be one.
 */
static inline __attribute__((__always_inline__)) size_t uslab_rseq_take_run(void *handle,
									ptrdiff_t rseq, size_t nr,
									void **p)
{
	size_t n;

	USLAB_RSEQ_RUN(n, USLAB_RSEQ_BEGIN_RUN(22),
		       "movq " USLAB_RSEQ_MARKS ", %[mark]\n\t"
		       USLAB_RSEQ_POP_RUN("movl $0, (%[obj],%[mark])\n\t", 23, 24));
	return n;
}

/*
 * As uslab_rseq_push_run(); the run also ends before an object that bears a mark. Marks are set one by one;
 * a run that is interrupted takes those back that it has set, n of them at most: n is raised before a mark
 * is set, after it was compared.
 */
static inline __attribute__((__always_inline__)) size_t uslab_rseq_give_run(void *handle,
									ptrdiff_t rseq, size_t nr,
									void *const *p)
{
	unsigned long mark;
	unsigned long tmp;
	char *top;
	void *obj;
	size_t n;

	__asm__ volatile(USLAB_ASM_BEGIN "xorl %k[n], %k[n]\n\t" /* n = 0 */
		     "movq " USLAB_RSEQ_MARKS ", %[mark]\n\t"
		     USLAB_RSEQ_LAYOUT USLAB_RSEQ_TABLE_UNDO(
		     "testq %[n], %[n]\n\t"
		     "jz 0f\n\t"
		     "decq %[n]\n\t"
		     "movq (%[p],%[n],8), %[obj]\n\t"
		     "movl $0, (%[obj],%[mark])\n\t"
		     "jmp 4b\n\t") USLAB_RSEQ_ARM USLAB_RSEQ_INJECT(25) USLAB_RSEQ_WINDOW
		     "movq " USLAB_RSEQ_WORD ", %[top]\n\t" /* top = *word */
		     ".p2align 4\n"
		     "5:\n\t"
		     "cmpb $0xf8, %b[top]\n\t" /* full: top + 8 would carry */
		     "je 6f\n\t"
		     "movq (%[p],%[n],8), %[obj]\n\t" USLAB_RSEQ_INJECT(26)
		     "cmpl %k[obj], (%[obj],%[mark])\n\t"
		     "je 6f\n\t" /* it seems to be free already */
		     "incq %[n]\n\t"
		     "movl %k[obj], (%[obj],%[mark])\n\t"
		     "movq %[obj], 8(%[top])\n\t" /* *++top = p[n++] */
		     "addq $8, %[top]\n\t"
		     "cmpq %[nr], %[n]\n\t"
		     "jne 5b\n"
		     "6:\n\t" USLAB_RSEQ_INJECT(27)
		     "movq %[top], " USLAB_RSEQ_WORD "\n" /* commit */
		     "2:" USLAB_ASM_END
		     : [obj] "=&r"(obj), [top] "=&r"(top), [tmp] "=&r"(tmp), [n] "=&r"(n), [mark] "=&r"(mark)
		     : [handle] "r"(handle), [rseq] "r"(rseq), [nr] "r"(nr), [p] "r"(p)
		     : "memory", "cc");
	return n;
}

#endif /* USLAB_ARCH_RSEQ_X86_64_H */
