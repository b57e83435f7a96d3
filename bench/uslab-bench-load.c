/* SPDX-License-Identifier: MIT */
/*
 * bench/uslab-bench-load.c - loads of kinds of programs on malloc, whoever that is
 *
 * Flow:       started by scripts/bench-malloc, with the library to measure in LD_PRELOAD. In:
 *             --mode LOAD, --threads N, --count PERCENT of the work; out: lines of metrics.
 *
 * Links no allocator. What the loads do is in load_threads.h, load_life.h, load_use.h and
 * load_server.h. "origin" does nothing: it is asked which library malloc comes from.
 */
#include "load_main.h"

/* Objects of one type. */
struct kind {
	size_t size; /* bytes */
};

static inline void kind_init(struct kind *kind, const char *name, size_t size)
{
	(void)name;
	kind->size = size;
}

static inline void *any_alloc(size_t size)
{
	void *p = malloc(size);

	if (!p)
		die("out of memory");
	return p;
}

static inline void any_free(void *p)
{
	free(p);
}

static inline void *kind_alloc(struct kind *kind)
{
	return any_alloc(kind->size);
}

static inline void kind_free(struct kind *kind, void *p)
{
	(void)kind;
	free(p);
}

#include "load_life.h"
#include "load_server.h"
#include "load_threads.h"
#include "load_use.h"

static uint64_t load_origin(const struct load *l)
{
	(void)l;
	return 1;
}

static const struct load_row rows[] = {
	{ "churn", load_churn, 1 },   { "chain", load_chain, 2 },   { "phases", load_phases, 1 },
	{ "growth", load_growth, 1 }, { "big", load_big, 1 },	    { "book", load_book, 1 },
	{ "table", load_table, 1 },   { "server", load_server, 1 }, { "origin", load_origin, 1 },
};

int main(int argc, char **argv)
{
	return load_main(argc, argv, rows, sizeof(rows) / sizeof(rows[0]));
}
