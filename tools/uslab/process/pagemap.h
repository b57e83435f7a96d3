/* SPDX-License-Identifier: MIT */
/*
 * uslab/process/pagemap.h - which pages of a running process are resident
 *
 * Mappings from /proc/PID/smaps, pages from /proc/PID/pagemap. The process goes on meanwhile: a
 * mapping that came since is taken for not resident. What is declared here is called by resident.c.
 */
#ifndef TOOLS_PAGEMAP_H
#define TOOLS_PAGEMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "inspect/memory.h"

/* A mapping; bytes as smaps says. */
struct pagemap_area {
	uint64_t start;
	uint64_t end;
	uint64_t resident;
	uint64_t shared; /* of these, pages that other processes have too */
	uint64_t swapped;
};

/* Code and data of the library's file, for struct memory_pages. */
#define PAGEMAP_RANGES 16

struct pagemap {
	int fd;
	bool can_scan; /* the kernel has PAGEMAP_SCAN (6.7): it tells pages of zeros from others */
	struct pagemap_area *area; /* by address */
	size_t nr_areas;
	uint64_t resident; /* of all of them */
	struct memory_range range[PAGEMAP_RANGES];
	unsigned int nr_ranges;
};

/*
 * Reads the mappings of the process; object is the file that uslab was found in: NULL where that is
 * the program itself. 0 or -errno; pagemap_close() in any case.
 */
int pagemap_open(struct pagemap *p, pid_t pid, const char *object);
void pagemap_close(struct pagemap *p);

/* As struct memory_pages has it; ctx is the struct pagemap. */
int pagemap_states(void *ctx, uint64_t addr, size_t nr, uint8_t *state);

/* Bytes that are resident between two addresses, which no mapping crosses, as smaps says. */
uint64_t pagemap_resident(const struct pagemap *p, uint64_t start, uint64_t end);

#endif /* TOOLS_PAGEMAP_H */
