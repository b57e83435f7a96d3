/* SPDX-License-Identifier: MIT */
/*
 * uslab/process/core.h - a core file, read like a running process
 *
 * Memory that the core left out because it is in a file (code, read-only data) is read from that
 * file, if it still is the one that was mapped. What is declared here is called by source.c and
 * resident.c.
 */
#ifndef TOOLS_CORE_H
#define TOOLS_CORE_H

#include <sys/types.h>

#include "inspect/reader.h"
#include "process/target.h"

struct core_map; /* segments and mapped files: core_map.h */

struct core {
	struct reader reader;
	const char *file; /* as given */
	pid_t pid;
	char program[32]; /* printable; as the core says */
	unsigned int nr_roots;
	struct target_root root[TARGET_MAX_ROOTS];
	struct core_map *map;
};

/*
 * Opens a core file and finds uslab in it. program: the program's file, if it is no longer where it
 * was; sysroot: the folder in which the files lie that the core names, if that is not the root;
 * else NULL. EXIT_OK with *core set; EXIT_FAILED after saying why not. command is for messages;
 * file and program must live as long as the core.
 */
int core_open(struct core **core, const char *command, const char *file, const char *program,
	      const char *sysroot);

/* NULL is ignored. */
void core_close(struct core *core);

/*
 * Bytes of memory that are in the file, without its holes (pages never touched): nearly what was
 * resident, less what belongs to files and was not changed.
 */
uint64_t core_bytes(const struct core *core);

/*
 * For struct memory_pages, ctx is the struct core: MEMORY_RESIDENT: the page is in the file, and in
 * none of its holes. 0.
 */
int core_states(void *ctx, uint64_t addr, size_t nr, uint8_t *state);

/*
 * Makes *t a target that target_snapshot() reads the core by. It lives as long as the core;
 * target_close() may be called and frees nothing of the core.
 */
void core_target(struct core *core, const char *command, struct target *t);

#endif /* TOOLS_CORE_H */
