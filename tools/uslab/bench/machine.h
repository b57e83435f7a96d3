/* SPDX-License-Identifier: MIT */
/*
 * uslab/bench/machine.h - what the numbers were measured on
 */
#ifndef TOOLS_BENCH_MACHINE_H
#define TOOLS_BENCH_MACHINE_H

#include <stdint.h>

struct machine {
	char cpu[128], kernel[192], libc[64], compiler[96];
	long cpus;	 /* online */
	uint64_t memory; /* bytes */
	double load;	 /* average of the last minute: others on the machine */
	char date[32];	 /* UTC, ISO 8601 */
};

/* What cannot be found out is ""; an unknown load is -1. */
void machine_describe(struct machine *m);

/* Calls visit for every variable of the environment that changes how an allocator behaves. */
void machine_environment(void (*visit)(const char *name, const char *value, void *arg), void *arg);

#endif /* TOOLS_BENCH_MACHINE_H */
