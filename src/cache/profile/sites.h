/* SPDX-License-Identifier: MIT */
/*
 * cache/profile/sites.h - call sites, and what is counted for each on each CPU
 *
 * Why:        docs/adr/0050.
 * Data:       a table of sites by number, with their texts, made when profiling is switched on for
 *             the first time; for each CPU a lock, a generation and counters.
 * Invariants: a site, once made, stays: its number is in tags, in words of objects and in what
 *             tools read. Two tags of the same module, file, line and function are one site. A
 *             CPU's counters change only under its lock, and only for its generation. Checked by
 *             sites_check().
 * Locks:      sites_lock for the table and the list of modules, one lock per CPU for its counters
 *             (both RANK_SITES); metadata's inside. None may be taken by who waits for no lock
 *             (os/lock/lock.h): callers ask first.
 * Flow:       called by profile.c, fork.c and api/profile_api.c; read by tools from outside, as
 *             inspect/allocinfo.c does.
 *
 * A generation is one time that profiling is on. What is left of earlier ones, a word in an object
 * or a thread that was interrupted on its way here, is of another generation than the CPU's, and
 * changes nothing. While profiling is off CPUs have generation 0, which nobody has.
 */
#ifndef CACHE_PROFILE_SITES_H
#define CACHE_PROFILE_SITES_H

#include "base/atomic.h"
#include "front/percpu.h"
#include "os/lock/lock.h"
#include <uslab/alloc_tag.h>

#define SITES_MAX 65536u /* numbers 1 .. SITES_MAX - 1 */
#define SITES_BUCKETS 4096u
#define SITES_PER_CHUNK 64u
#define SITES_CHUNKS (SITES_MAX / SITES_PER_CHUNK)
#define SITES_GENERATIONS 65535u

#define SITE_FILE_MAX 255u /* bytes; of longer names the end is kept, of functions the start */
#define SITE_FUNCTION_MAX 255u
#define SITE_MODULE_MAX 63u

struct site {
	uint32_t next; /* site of the same bucket; 0: none */
	uint32_t line;
	uint16_t file; /* bytes of text without NUL, in this order, each with a NUL behind it */
	uint16_t function;
	uint16_t module; /* 0: the program */
	uint16_t gone;	 /* 1: its module was unloaded; atomic */
	char text[];
};

struct site_counters {
	uint64_t bytes; /* modulo 2^64: what one CPU adds another one may take away */
	uint64_t calls;
};

struct sites_cpu {
	struct lock lock;
	uint32_t generation; /* 0: profiling is off */
	uint32_t reserved;
	struct site_counters *chunk[SITES_CHUNKS]; /* NULL: nothing was counted there */
};

/* uint32_t for what tools read as such. */
struct sites {
	uint32_t on;	     /* profiling is on now */
	uint32_t generation; /* of now or the last time; atomic */
	uint32_t nr;	     /* sites 1 .. nr; atomic */
	uint32_t nr_cpus;
	uint64_t lost;	/* allocations that were not counted: no memory, or inside a call; atomic */
	uint64_t since; /* os_clock_ms() when it was switched on last */
	uint32_t bucket[SITES_BUCKETS];
	struct site *site[SITES_MAX];
	struct sites_cpu *cpu[USLAB_MAX_CPUS];
};

/* NULL until profiling is switched on for the first time. */
extern struct sites *sites_table;

/* A generation begins: all counters are 0. Its number, -ENOMEM or -EOVERFLOW. */
int sites_begin(void);
/* It ends: counters stay as they are from now on. */
void sites_end(void);

/* The number of a tag's site; 0: no memory, or too many sites. */
cold uint32_t sites_find(struct alloc_tag *tag);

/*
 * Adds to the counters of a site. false: the generation has ended, or there was no memory, and
 * nothing was counted.
 */
bool sites_count(uint32_t site, uint32_t generation, uint64_t bytes, uint64_t calls);

/* Sums up the counters of one site. */
struct alloc_tag_counters sites_sum(uint32_t site);

void sites_register(struct uslab_alloc_tags *tags);
void sites_unregister(struct uslab_alloc_tags *tags);

void sites_each_lock(void (*act)(struct lock *l));
void sites_check(void);

#endif /* CACHE_PROFILE_SITES_H */
