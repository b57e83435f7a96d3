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
 * uslab_rseq_take() and uslab_rseq_give() are the same for objects with marks
 * (<uslab/layout.h>), at OFFSET(handle): a take clears it after its commit; a give misses if it
 * is set, and sets it right before its commit. One that is interrupted in between finds its own
 * mark and misses; out of line it is then found out for certain that the object is not free.
 * What misses at once, as with a stopped word, has read and written no object; one that was
 * interrupted may have left the mark in it.
 *
 * uslab_rseq_take_of() and uslab_rseq_give_of() are those for objects with keys, on the word at
 * USLAB_WINDOW_ACCOUNTS: both miss if the array is not the owner's, and a give also if the word is
 * 0. A give takes the owner from the object, and compares it together with the mark.
 *
 * uslab_rseq_pop_run() and uslab_rseq_push_run() repeat the lines in the middle for up
 * to nr objects, until one would miss, and commit once: all that were moved, in the
 * order of as many single calls.
 *
 * Progress: a sequence that the kernel interrupts (preemption, migration, signal) misses, or is a
 * run of none: the call goes on out of line. It does not start again, because a debugger that steps
 * through it (gdb's "next") interrupts each instruction: it would never end. What a run has written
 * by then lies in the caller's array, or above the top, where nobody looks.
 * The commit is one plain store of a value derived from the loaded one: front/percpu.c relies on
 * that when it takes an array away from another CPU.
 * rseq_cs is the only field of struct rseq that is ever written. It is left set after the commit;
 * the kernel clears it when it next interrupts the thread outside of the sequence.
 *
 * Why: docs/adr/0011, docs/adr/0020, docs/adr/0071, docs/adr/0092.
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
 * One instruction in AT&T's and in Intel's syntax: the compiler takes the one of its -masm=. What
 * both write alike (one operand, or the same one twice; jumps) stands as it is.
 */
#define USLAB_ASM(att, intel) "{" att "|" intel "}\n\t"

#define USLAB_STR1(x) #x
#define USLAB_STR(x) USLAB_STR1(x)

/*
 * Descriptor of the sequence 1..2 with abort handler 4, which does as `end` says and leaves: it
 * does not begin anew, since a debugger that steps through it interrupts each attempt.
 */
#define USLAB_RSEQ_TABLE USLAB_RSEQ_TABLE_TO("jmp %l[miss]\n\t")
/*
 * Behind the label of a miss, where there are outputs that the caller uses: GCC before 12.4 takes
 * what is in their registers for a constant of the caller (NULL) on that edge, unless it leads to a
 * place of its own.
 */
#define USLAB_RSEQ_MISSED __asm__ volatile("")
#define USLAB_RSEQ_TABLE_RUN /* none was moved */ \
	USLAB_RSEQ_TABLE_TO("xor %k[n], %k[n]\n\t" "jmp 2f\n\t")
#define USLAB_RSEQ_TABLE_TO(end)                                          \
	".pushsection __rseq_cs, \"aw\"\n\t"                              \
	".balign 32\n"                                                    \
	"3:\n\t"                                                          \
	".long 0, 0\n\t"                                                  \
	".quad 1f, (2f - 1f), 4f\n\t"                                     \
	".popsection\n\t"                                                 \
	".pushsection __rseq_failure, \"ax\"\n\t"                         \
	".byte 0x0f, 0xb9, 0x3d\n\t" /* ud1: makes the signature a trap */ \
	".long 0x53053053\n"                                              \
	"4:\n\t" end                                                      \
	".popsection\n"

/*
 * What inlines a sequence refers to uslab_layout_NUMBER: with a library of another layout it
 * neither links nor starts. No instruction: one word for each object file, and a relocation without
 * effect at the sequence, so that --gc-sections keeps the word as long as the sequence.
 * .Luslab_layout is local.
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
#define USLAB_RSEQ_ARM                                                          \
	USLAB_ASM("leaq 3b(%%rip), %[tmp]", "lea %[tmp], [rip+3b]")             \
	USLAB_ASM("movq %[tmp], %%fs:8(%[rseq])", "mov fs:[%[rseq]+8], %[tmp]") \
	"1:\n\t"

/*
 * tmp = (long)rseq.cpu_id << (USLAB_WINDOW_SHIFT - 3): the four bytes at 2 are the upper half of
 * cpu_id_start, which is 0, and the lower half of cpu_id.
 */
#define USLAB_RSEQ_CPU \
	USLAB_ASM("movslq %%fs:2(%[rseq]), %[tmp]", "movsxd %[tmp], dword ptr fs:[%[rseq]+2]")

/*
 * The word's address goes into a register of its own. With (%[handle],%[tmp]) each sequence would
 * wait some 5 cycles for what the one before it stored: CPUs that hand a store on to a load without
 * a delay (Intel since Golden Cove) do so for addresses of a base and a constant only.
 */
#define USLAB_RSEQ_WINDOW \
	USLAB_RSEQ_CPU USLAB_ASM("leaq (%[handle],%[tmp],8), %[tmp]", "lea %[tmp], [%[handle]+%[tmp]*8]")

/* What the sequences are made of. */
#define USLAB_RSEQ_TOP /* top = *word, at 3 << USLAB_WINDOW_SHIFT */ \
	USLAB_ASM("movq 1572864(%[tmp]), %[top]", "mov %[top], [%[tmp]+1572864]")
#define USLAB_RSEQ_COMMIT /* *word = top */ \
	USLAB_ASM("movq %[top], 1572864(%[tmp])", "mov [%[tmp]+1572864], %[top]")
#define USLAB_RSEQ_LOAD /* obj = *top */ \
	USLAB_ASM("movq (%[top]), %[obj]", "mov %[obj], [%[top]]")
#define USLAB_RSEQ_STORE /* *top = obj, seen by nobody before the commit */ \
	USLAB_ASM("movq %[obj], (%[top])", "mov [%[top]], %[obj]")
#define USLAB_RSEQ_STORE_NEXT /* top[1] = obj, likewise */ \
	USLAB_ASM("movq %[obj], 8(%[top])", "mov [%[top]+8], %[obj]")
#define USLAB_RSEQ_UP_OR_CARRY /* top++; carry: there was no room */ \
	USLAB_ASM("addb $8, %b[top]", "add %b[top], 8")
#define USLAB_RSEQ_DOWN /* top-- */ \
	USLAB_ASM("subq $8, %[top]", "sub %[top], 8")
#define USLAB_RSEQ_FROM_LIST /* obj = p[n] */ \
	USLAB_ASM("movq (%[p],%[n],8), %[obj]", "mov %[obj], [%[p]+%[n]*8]")
#define USLAB_RSEQ_TO_LIST /* p[n] = obj */ \
	USLAB_ASM("movq %[obj], (%[p],%[n],8)", "mov [%[p]+%[n]*8], %[obj]")
#define USLAB_RSEQ_IS_NR /* equal: n == nr */ \
	USLAB_ASM("cmpq %[nr], %[n]", "cmp %[n], %[nr]")
#define USLAB_RSEQ_IS_LIMIT /* equal: n == limit */ \
	USLAB_ASM("cmpq %[limit], %[n]", "cmp %[n], %[limit]")

/*
 * Marks: `at` is the register with their offset, which USLAB_RSEQ_MARKS(at) loads
 * from USLAB_WINDOW_MARKS.
 */
#define USLAB_RSEQ_MARKS(at) \
	USLAB_ASM("movq 51200(%[handle]), " at, "mov " at ", [%[handle]+51200]")
#define USLAB_RSEQ_SET_MARK(at) \
	USLAB_ASM("movl %k[obj], (%[obj]," at ")", "mov [%[obj]+" at "], %k[obj]")
#define USLAB_RSEQ_CLEAR_MARK(at) \
	USLAB_ASM("movl $0, (%[obj]," at ")", "mov dword ptr [%[obj]+" at "], 0")
#define USLAB_RSEQ_HAS_MARK(at) /* equal: it has one */ \
	USLAB_ASM("cmpl %k[obj], (%[obj]," at ")", "cmp [%[obj]+" at "], %k[obj]")

/*
 * The whole of a pop, with the places of its delays; behind it, at label 2, the object is nobody
 * else's. look: what comes first; from, commit: the word.
 */
#define USLAB_RSEQ_POP_OF(look, from, commit, first, second, third)                     \
	USLAB_RSEQ_LAYOUT USLAB_RSEQ_TABLE USLAB_RSEQ_ARM USLAB_RSEQ_INJECT(first)      \
	USLAB_RSEQ_WINDOW look from                                                     \
	USLAB_RSEQ_INJECT(second) USLAB_RSEQ_LOAD                                       \
	"test %[obj], %[obj]\n\t"                                                      \
	"jz %l[miss]\n\t" USLAB_RSEQ_DOWN USLAB_RSEQ_INJECT(third) commit              \
	"2:\n\t"
#define USLAB_RSEQ_POP USLAB_RSEQ_POP_OF("", USLAB_RSEQ_TOP, USLAB_RSEQ_COMMIT, 1, 2, 3)

/* Returns 1 and the object, or 0: the array is empty, stopped or absent, or it was interrupted. */
static inline __attribute__((__always_inline__)) int uslab_rseq_pop(void *handle, ptrdiff_t rseq,
								void **result)
{
	unsigned long tmp;
	char *top;
	void *obj;

	__asm__ volatile goto(USLAB_RSEQ_POP
		     : [obj] "=&r"(obj), [top] "=&r"(top), [tmp] "=&r"(tmp)
		     : [handle] "r"(handle), [rseq] "r"(rseq)
		     : "memory", "cc"
		     : miss);
	*result = obj;
	return 1;
miss:
	USLAB_RSEQ_MISSED;
	return 0;
}

/* The first half of a push: top is the place for the object then. */
#define USLAB_RSEQ_ROOM                                                                   \
	USLAB_RSEQ_LAYOUT USLAB_RSEQ_TABLE USLAB_RSEQ_ARM USLAB_RSEQ_INJECT(4)            \
	USLAB_RSEQ_WINDOW USLAB_RSEQ_TOP USLAB_RSEQ_UP_OR_CARRY                           \
	"jc %l[miss]\n\t" USLAB_RSEQ_INJECT(5)

/* Returns 1 when done, 0: the array is full, stopped or absent, or it was interrupted. */
static inline __attribute__((__always_inline__)) int uslab_rseq_push(void *handle, void *obj,
								 ptrdiff_t rseq)
{
	unsigned long tmp;
	char *top;

	__asm__ volatile goto(USLAB_RSEQ_ROOM
		     USLAB_RSEQ_STORE
		     USLAB_RSEQ_INJECT(6) USLAB_RSEQ_COMMIT
		     "2:"
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

	__asm__ volatile goto(USLAB_RSEQ_POP USLAB_RSEQ_MARKS("%[tmp]") USLAB_RSEQ_CLEAR_MARK("%[tmp]")
		     : [obj] "=&r"(obj), [top] "=&r"(top), [tmp] "=&r"(tmp)
		     : [handle] "r"(handle), [rseq] "r"(rseq)
		     : "memory", "cc"
		     : miss);
	*result = obj;
	return 1;
miss:
	USLAB_RSEQ_MISSED;
	return 0;
}

/* As uslab_rseq_push(); 0 also when the object bears a mark. */
static inline __attribute__((__always_inline__)) int uslab_rseq_give(void *handle, void *obj,
								 ptrdiff_t rseq)
{
	unsigned long mark;
	unsigned long tmp;
	char *top;

	__asm__ volatile goto(USLAB_RSEQ_ROOM
		     USLAB_RSEQ_MARKS("%[mark]") USLAB_RSEQ_HAS_MARK("%[mark]")
		     "je %l[miss]\n\t" /* it seems to be free already */
		     USLAB_RSEQ_STORE
		     USLAB_RSEQ_SET_MARK("%[mark]") USLAB_RSEQ_INJECT(6) USLAB_RSEQ_COMMIT
		     "2:"
		     : [top] "=&r"(top), [tmp] "=&r"(tmp), [mark] "=&r"(mark)
		     : [handle] "r"(handle), [obj] "r"(obj), [rseq] "r"(rseq)
		     : "memory", "cc"
		     : miss);
	return 1;
miss:
	return 0;
}

/* The word and the owner of arrays with keys; 3 << USLAB_WINDOW_SHIFT is in the numbers. */
#define USLAB_RSEQ_TOP_OF \
	USLAB_ASM("movq 1654784(%[tmp]), %[top]", "mov %[top], [%[tmp]+1654784]")
#define USLAB_RSEQ_COMMIT_OF \
	USLAB_ASM("movq %[top], 1654784(%[tmp])", "mov [%[tmp]+1654784], %[top]")
#define USLAB_RSEQ_IF_OWNER /* no owner is 0: else there is a word, stopped at least */    \
	USLAB_ASM("cmpq %[owner], 1672192(%[tmp])", "cmp [%[tmp]+1672192], %[owner]") \
	"jne %l[miss]\n\t"
#define USLAB_RSEQ_KEY /* key = the object's, and its mark below that */ \
	USLAB_ASM("movq (%[obj],%[mark]), %[key]", "mov %[key], [%[obj]+%[mark]]")
/*
 * Key and mark in one store, although the key is there already: a load of both would wait for a
 * store of one of them.
 */
#define USLAB_RSEQ_SET_KEY /* the object's key = owner, its mark = 0 */ \
	USLAB_ASM("movq %[owner], (%[obj],%[tmp])", "mov [%[obj]+%[tmp]], %[owner]")
#define USLAB_RSEQ_IS_KEY /* equal: it is the owner's, and has no mark */ \
	USLAB_ASM("cmpq %[key], 1672192(%[tmp])", "cmp [%[tmp]+1672192], %[key]")

/* As uslab_rseq_take(), of the array that has that owner. */
static inline __attribute__((__always_inline__)) int
uslab_rseq_take_of(void *handle, ptrdiff_t rseq, uint64_t owner, void **result)
{
	unsigned long tmp;
	char *top;
	void *obj;

	__asm__ volatile goto(USLAB_RSEQ_POP_OF(USLAB_RSEQ_IF_OWNER, USLAB_RSEQ_TOP_OF,
						USLAB_RSEQ_COMMIT_OF, 40, 41, 42)
		     USLAB_RSEQ_MARKS("%[tmp]") USLAB_RSEQ_SET_KEY
		     : [obj] "=&r"(obj), [top] "=&r"(top), [tmp] "=&r"(tmp)
		     : [handle] "r"(handle), [rseq] "r"(rseq), [owner] "r"(owner)
		     : "memory", "cc"
		     : miss);
	*result = obj;
	return 1;
miss:
	USLAB_RSEQ_MISSED;
	return 0;
}

/* As uslab_rseq_give(), to the array whose owner has the object's key. */
static inline __attribute__((__always_inline__)) int uslab_rseq_give_of(void *handle, void *obj,
								    ptrdiff_t rseq)
{
	unsigned long mark;
	unsigned long key;
	unsigned long tmp;
	char *top;

	__asm__ volatile goto(USLAB_RSEQ_LAYOUT USLAB_RSEQ_TABLE USLAB_RSEQ_ARM USLAB_RSEQ_INJECT(43)
		     USLAB_RSEQ_WINDOW USLAB_RSEQ_TOP_OF
		     "test %[top], %[top]\n\t"
		     "jz %l[miss]\n\t" /* the cache has no such arrays */
		     USLAB_RSEQ_UP_OR_CARRY
		     "jc %l[miss]\n\t" USLAB_RSEQ_INJECT(44)
		     USLAB_RSEQ_MARKS("%[mark]") USLAB_RSEQ_KEY USLAB_RSEQ_IS_KEY
		     "jne %l[miss]\n\t" /* another group's, or free already */
		     USLAB_RSEQ_STORE
		     USLAB_RSEQ_SET_MARK("%[mark]") USLAB_RSEQ_INJECT(45) USLAB_RSEQ_COMMIT_OF
		     "2:"
		     : [top] "=&r"(top), [tmp] "=&r"(tmp), [mark] "=&r"(mark), [key] "=&r"(key)
		     : [handle] "r"(handle), [obj] "r"(obj), [rseq] "r"(rseq)
		     : "memory", "cc"
		     : miss);
	return 1;
miss:
	return 0;
}

/*
 * The middle of the runs, with the place of a delay in the loop and one before the commit, and what
 * is to be done with each object. Loops begin at multiples of 16: of two or three objects a third
 * of the time depends on it.
 */
#define USLAB_RSEQ_POP_RUN(each, in_loop, before_commit)                             \
	".p2align 4\n"                                                               \
	"5:\n\t" USLAB_RSEQ_INJECT(in_loop) USLAB_RSEQ_LOAD                          \
	"test %[obj], %[obj]\n\t"                                                   \
	"jz 6f\n\t" USLAB_RSEQ_DOWN USLAB_RSEQ_TO_LIST each                          \
	"inc %[n]\n\t" USLAB_RSEQ_IS_NR                                             \
	"jne 5b\n"                                                                   \
	"6:\n\t" USLAB_RSEQ_INJECT(before_commit) USLAB_RSEQ_COMMIT                  \
	"2:"

/*
 * limit = how many of nr objects an array has room for: all bits of its full top's low byte are set
 * but for the lowest three. None: to 6.
 */
#define USLAB_RSEQ_LIMIT                                                             \
	USLAB_ASM("movl %k[top], %k[limit]", "mov %k[limit], %k[top]")               \
	"not %k[limit]\n\t"                                                         \
	USLAB_ASM("andl $0xf8, %k[limit]", "and %k[limit], 0xf8")                    \
	"jz 6f\n\t"                                                                 \
	USLAB_ASM("shrl $3, %k[limit]", "shr %k[limit], 3")                          \
	USLAB_ASM("cmpq %[nr], %[limit]", "cmp %[limit], %[nr]")                     \
	USLAB_ASM("cmovaq %[nr], %[limit]", "cmova %[limit], %[nr]")

/* top += n */
#define USLAB_RSEQ_UP_N \
	USLAB_ASM("leaq (%[top],%[n],8), %[top]", "lea %[top], [%[top]+%[n]*8]")

/* Two at a time, after the odd one. */
#define USLAB_RSEQ_PUSH_RUN(in_loop, before_commit)                                  \
	USLAB_RSEQ_LIMIT USLAB_ASM("testb $1, %b[limit]", "test %b[limit], 1")       \
	"jz 5f\n\t" USLAB_RSEQ_FROM_LIST USLAB_RSEQ_STORE_NEXT                      \
	"inc %[n]\n\t" USLAB_RSEQ_IS_LIMIT                                          \
	"je 7f\n\t"                                                                 \
	".p2align 4\n"                                                              \
	"5:\n\t" USLAB_RSEQ_INJECT(in_loop) USLAB_RSEQ_FROM_LIST                    \
	USLAB_ASM("movq %[obj], 8(%[top],%[n],8)", "mov [%[top]+%[n]*8+8], %[obj]")  \
	USLAB_ASM("movq 8(%[p],%[n],8), %[obj]", "mov %[obj], [%[p]+%[n]*8+8]")      \
	USLAB_ASM("movq %[obj], 16(%[top],%[n],8)", "mov [%[top]+%[n]*8+16], %[obj]") \
	USLAB_ASM("addq $2, %[n]", "add %[n], 2") USLAB_RSEQ_IS_LIMIT                \
	"jne 5b\n"                                                                  \
	"7:\n\t" USLAB_RSEQ_UP_N                                                    \
	"6:\n\t" USLAB_RSEQ_INJECT(before_commit) USLAB_RSEQ_COMMIT                 \
	"2:"

/*
 * Sets n to how many objects a run has moved. `begin` arms it; `middle`, one of the above, finds
 * the word's top in %[top] and n = 0; %[mark] and %[limit] are free for it. handle, rseq, nr and p
 * are those of the function around it.
 */
#define USLAB_RSEQ_RUN(n_moved, begin, middle)                                                  \
	do {                                                                                    \
		unsigned long limit;                                                            \
		unsigned long mark;                                                             \
		unsigned long tmp;                                                              \
		char *top;                                                                      \
		void *obj;                                                                      \
                                                                                                \
		__asm__ volatile(begin USLAB_RSEQ_WINDOW USLAB_RSEQ_TOP                         \
				 "xor %k[n], %k[n]\n\t" middle                                  \
				 : [obj] "=&r"(obj), [top] "=&r"(top), [tmp] "=&r"(tmp),        \
				   [mark] "=&r"(mark), [limit] "=&r"(limit), [n] "=&r"(n_moved) \
				 : [handle] "r"(handle), [rseq] "r"(rseq), [nr] "r"(nr), [p] "r"(p) \
				 : "memory", "cc");                                             \
	} while (0)
#define USLAB_RSEQ_BEGIN_RUN(inject) \
	USLAB_RSEQ_LAYOUT USLAB_RSEQ_TABLE_RUN USLAB_RSEQ_ARM USLAB_RSEQ_INJECT(inject)

/*
 * Up to nr objects (nr > 0) into p[], the newest first; returns how many: fewer when the array has
 * no more, none when it was interrupted. An empty, stopped or absent one gets back the top that it
 * had.
 */
static inline __attribute__((__always_inline__)) size_t uslab_rseq_pop_run(void *handle,
								       ptrdiff_t rseq, size_t nr,
								       void **p)
{
	size_t n;

	USLAB_RSEQ_RUN(n, USLAB_RSEQ_BEGIN_RUN(22), USLAB_RSEQ_POP_RUN("", 23, 24));
	return n;
}

/*
 * Up to nr objects (nr > 0) of p[], so that the last one is the newest; returns how many had room,
 * none when it was interrupted.
 */
static inline __attribute__((__always_inline__)) size_t uslab_rseq_push_run(void *handle,
									ptrdiff_t rseq, size_t nr,
									void *const *p)
{
	size_t n;

	USLAB_RSEQ_RUN(n, USLAB_RSEQ_BEGIN_RUN(25), USLAB_RSEQ_PUSH_RUN(26, 27));
	return n;
}

/*
 * As uslab_rseq_pop_run(): what it returns bears no marks any more. A run that is interrupted may
 * leave free objects without marks in the array, whose next free is then not seen to be one.
 */
static inline __attribute__((__always_inline__)) size_t uslab_rseq_take_run(void *handle,
									ptrdiff_t rseq, size_t nr,
									void **p)
{
	size_t n;

	USLAB_RSEQ_RUN(n, USLAB_RSEQ_BEGIN_RUN(22),
		       USLAB_RSEQ_MARKS("%[mark]")
		       USLAB_RSEQ_POP_RUN(USLAB_RSEQ_CLEAR_MARK("%[mark]"), 23, 24));
	return n;
}

/*
 * As uslab_rseq_push_run(); the run also ends before an object that bears a mark. Marks are set one
 * by one; a run that is interrupted takes those back that it has set, n of them at most: n is
 * raised before a mark is set, after it was compared.
 */
static inline __attribute__((__always_inline__)) size_t uslab_rseq_give_run(void *handle,
									ptrdiff_t rseq, size_t nr,
									void *const *p)
{
	unsigned long limit;
	unsigned long mark;
	unsigned long tmp;
	char *top;
	void *obj;
	size_t n;

	__asm__ volatile("xor %k[n], %k[n]\n\t" /* n = 0 */
		     USLAB_RSEQ_MARKS("%[mark]") USLAB_RSEQ_LAYOUT USLAB_RSEQ_TABLE_TO(
		     "test %[n], %[n]\n\t"
		     "jz 2f\n\t"
		     "dec %[n]\n\t"
		     USLAB_RSEQ_FROM_LIST USLAB_RSEQ_CLEAR_MARK("%[mark]")
		     "jmp 4b\n\t") USLAB_RSEQ_ARM USLAB_RSEQ_INJECT(25) USLAB_RSEQ_WINDOW USLAB_RSEQ_TOP USLAB_RSEQ_LIMIT
		     ".p2align 4\n"
		     "5:\n\t" USLAB_RSEQ_FROM_LIST USLAB_RSEQ_INJECT(26) USLAB_RSEQ_HAS_MARK("%[mark]")
		     "je 7f\n\t" /* it seems to be free already */
		     "inc %[n]\n\t" USLAB_RSEQ_SET_MARK("%[mark]")
		     USLAB_ASM("movq %[obj], (%[top],%[n],8)", "mov [%[top]+%[n]*8], %[obj]")
		     USLAB_RSEQ_IS_LIMIT
		     "jne 5b\n"
		     "7:\n\t" USLAB_RSEQ_UP_N
		     "6:\n\t" USLAB_RSEQ_INJECT(27) USLAB_RSEQ_COMMIT
		     "2:"
		     : [obj] "=&r"(obj), [top] "=&r"(top), [tmp] "=&r"(tmp), [n] "=&r"(n), [mark] "=&r"(mark),
		       [limit] "=&r"(limit)
		     : [handle] "r"(handle), [rseq] "r"(rseq), [nr] "r"(nr), [p] "r"(p)
		     : "memory", "cc");
	return n;
}

#endif /* USLAB_ARCH_RSEQ_X86_64_H */
