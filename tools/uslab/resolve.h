/* SPDX-License-Identifier: MIT */
/*
 * uslab/resolve.h - names of code addresses in a process or core: function, object, file and line
 * By libdwfl; each address is looked up once and kept.
 */
#ifndef TOOLS_RESOLVE_H
#define TOOLS_RESOLVE_H

#include <stdint.h>
#include <sys/types.h>

struct resolve;

struct resolve_name {
	const char *function; /* "" unknown */
	const char *object;   /* base name of the file; "" unknown */
	const char *file;     /* source file as the debug info says; "" none */
	unsigned int line;    /* 0: none */
	uint64_t offset;      /* of the address in the function */
	uint64_t size;	      /* of the function; 0: unknown */
	const char *text;     /* "function+0x1c/0x80 [object]", or "0x..." */
};

/* Of a running process / of a core file (the program's own file may be NULL). NULL: no memory. */
struct resolve *resolve_process(pid_t pid);
struct resolve *resolve_core(const char *core, const char *program);
void resolve_close(struct resolve *r);

/* A return address: the call before it is looked up. Never fails; texts live as long as r. */
const struct resolve_name *resolve_address(struct resolve *r, uint64_t address);

/* One line more than that: "leak.c:42" or "". buf as long as needed. */
const char *resolve_line(const struct resolve_name *name, char *buf, size_t size);

#endif /* TOOLS_RESOLVE_H */
