/* SPDX-License-Identifier: MIT */
/*
 * bench/load_main.h - runs the load that --mode names and prints what it took
 *
 * Out: nanoseconds per operation (`ns`), how many there were (`operations`), resident memory at the
 * end in KiB (`end`), when all blocks are freed and all threads ended.
 */
#ifndef BENCH_LOAD_MAIN_H
#define BENCH_LOAD_MAIN_H

#include "load.h"

struct load_row {
	const char *name;
	uint64_t (*run)(const struct load *l);
	unsigned int threads; /* at least */
};

/* What the load took of harness_alloc() is in it, the same for all. */
static inline double resident_kib(void)
{
	FILE *file = fopen("/proc/self/statm", "re");
	unsigned long all, resident = 0;

	if (!file)
		return 0;
	if (fscanf(file, "%lu %lu", &all, &resident) != 2)
		resident = 0;
	fclose(file);
	return (double)resident * (double)sysconf(_SC_PAGESIZE) / 1024;
}

static inline void run_load(const struct load_row *row, const struct worker_args *a)
{
	struct load l = { .threads = a->threads ? a->threads : row->threads,
			  .percent = a->count ? a->count : 100,
			  .sizes = harness_alloc(NR_SIZES * sizeof(uint32_t)) };
	uint64_t operations;
	double start;

	if (l.threads < row->threads || l.threads > LOAD_THREADS)
		die("%s needs %u to %u threads", row->name, row->threads, LOAD_THREADS);
	fill_sizes(l.sizes);
	start = now_ns();
	operations = row->run(&l);
	emit_metric("ns", (now_ns() - start) / (double)operations);
	emit_metric("operations", (double)operations);
	emit_metric("end", resident_kib());
}

static inline int load_main(int argc, char **argv, const struct load_row *rows, size_t nr)
{
	struct worker_args args;

	parse_args(argc, argv, &args);
	for (size_t i = 0; i < nr; i++) {
		if (strcmp(args.mode, rows[i].name))
			continue;
		run_load(&rows[i], &args);
		emit_malloc_origin();
		return fflush(stdout) ? 1 : 0;
	}
	die("unknown load '%s'", args.mode);
}

#endif /* BENCH_LOAD_MAIN_H */
