/* SPDX-License-Identifier: MIT */
/*
 * race/delay.h - text for USLAB_RSEQ_INJECT: delays and mutations inside of restartable sequences
 *
 * race_delay[n] loops are run at place n, once; race_broken breaks what its bits say. The program
 * that includes this defines PLACES, and an INJECT_n for each place that it compiles.
 */
#ifndef RACE_DELAY_H
#define RACE_DELAY_H

/* Counters in the thread's table; memory only, since an abort restores no register. */
#define DELAY(n)                                      \
	"9:\n\t"                                      \
	"cmpl $0, %%fs:race_delay@tpoff+4*" #n "\n\t" \
	"jle 8f\n\t"                                  \
	"decl %%fs:race_delay@tpoff+4*" #n "\n\t"     \
	"pause\n\t"                                   \
	"jmp 9b\n"                                    \
	"8:\n\t"

/* Mutations: text that is jumped over unless the bit is set. */
#define BROKEN(bit, text)                         \
	"testl $" #bit ", race_broken(%%rip)\n\t" \
	"je 7f\n\t" text "\n"                     \
	"7:\n\t"
#define NOT_RESTARTED BROKEN(1, "movq $0, %%fs:8(%[rseq])")

#define USLAB_RSEQ_INJECT(n) INJECT_##n

/* Used by the text above, so they need names that the assembler sees. */
#define RACE_TABLES                                                                     \
	extern __thread int race_delay[PLACES];                                         \
	extern int race_broken;                                                         \
	__thread int race_delay[PLACES] __attribute__((used, tls_model("local-exec"))); \
	int race_broken __attribute__((used));

#endif /* RACE_DELAY_H */
