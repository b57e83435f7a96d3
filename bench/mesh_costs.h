/* SPDX-License-Identifier: MIT */
/*
 * bench/mesh_costs.h - what the system takes for pages that are shared: memfd beside anonymous
 * memory
 *
 * Each figure is the median of COST_ROUNDS, in ns for one page unless said otherwise. Faults and
 * forks are those of a range that is all touched; the pair is what sharing one page takes: write
 * protection, copying, a mapping of the other page in its place, and a hole in the file.
 */
#ifndef BENCH_MESH_COSTS_H
#define BENCH_MESH_COSTS_H

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "harness.h"

#define COST_PAGE 4096ul
#define COST_PAGES 16384ul /* 64 MiB */
#define COST_ROUNDS 9

struct range {
	char *start;
	int fd; /* -1: anonymous */
};

static inline struct range range_map(bool shared)
{
	struct range r = { .fd = -1 };

	if (shared) {
		r.fd = memfd_create("uslab-bench-mesh", MFD_CLOEXEC);
		if (r.fd < 0 || ftruncate(r.fd, (off_t)(COST_PAGES * COST_PAGE)))
			die("no memfd: %s", strerror(errno));
	}
	r.start = mmap(NULL, COST_PAGES * COST_PAGE, PROT_READ | PROT_WRITE,
		       shared ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS, r.fd, 0);
	if (r.start == MAP_FAILED)
		die("mmap: %s", strerror(errno));
	madvise(r.start, COST_PAGES * COST_PAGE, MADV_NOHUGEPAGE);
	return r;
}

static inline void range_unmap(struct range *r)
{
	munmap(r->start, COST_PAGES * COST_PAGE);
	if (r->fd >= 0)
		close(r->fd);
}

static inline double range_touch(const struct range *r)
{
	double start = now_ns();

	for (size_t i = 0; i < COST_PAGES; i++)
		r->start[i * COST_PAGE] = 1;
	return (now_ns() - start) / COST_PAGES;
}

/* In pieces of 64 pages, as slabs go back. */
static inline double range_purge(const struct range *r)
{
	double start = now_ns();
	size_t piece = 64 * COST_PAGE;

	for (size_t at = 0; at < COST_PAGES * COST_PAGE; at += piece) {
		int ret = r->fd < 0 ? madvise(r->start + at, piece, MADV_DONTNEED)
				    : fallocate(r->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
						(off_t)at, (off_t)piece);

		if (ret)
			die("cannot give memory back: %s", strerror(errno));
	}
	return (now_ns() - start) / COST_PAGES;
}

/* *after: writing to each page once the child has gone. */
static inline double range_fork(const struct range *r, double *after)
{
	double start = now_ns();
	pid_t child = fork();
	double took;

	if (child < 0)
		die("fork: %s", strerror(errno));
	if (!child)
		_exit(0);
	took = (now_ns() - start) / COST_PAGES;
	*after = range_touch(r);
	waitpid(child, NULL, 0);
	return took;
}

/* KiB of a line of a file in /proc/self. */
static inline unsigned long self_kib(const char *name, const char *line)
{
	FILE *file = fopen(name, "re");
	unsigned long kib = 0;
	char text[256];

	while (file && fgets(text, sizeof(text), file))
		if (!strncmp(text, line, strlen(line)))
			kib = strtoul(text + strlen(line), NULL, 10);
	if (file)
		fclose(file);
	return kib;
}

static volatile sig_atomic_t protected_hits;
static char *protected_page;

static inline void on_protected(int signal)
{
	(void)signal;
	protected_hits++;
	mprotect(protected_page, COST_PAGE, PROT_READ | PROT_WRITE);
}

/* Write protection of a page, a writer that meets it, and that it goes on. */
static inline double cost_protect(const struct range *r)
{
	struct sigaction action = { .sa_handler = on_protected };
	double start;

	sigaction(SIGSEGV, &action, NULL);
	start = now_ns();
	for (size_t i = 0; i < 1024; i++) {
		protected_page = r->start + 2 * i * COST_PAGE;
		mprotect(protected_page, COST_PAGE, PROT_READ);
		*(volatile char *)protected_page = 2;
	}
	start = (now_ns() - start) / 1024;
	signal(SIGSEGV, SIG_DFL);
	if (protected_hits < 1024)
		die("a write to a protected page was not noticed");
	return start;
}

/* Each odd page comes to lie on the one before it. Returns ns a pair; *nr: those that were made. */
static inline double cost_pair(const struct range *r, size_t most, size_t *nr)
{
	double start = now_ns();
	size_t i;

	for (i = 0; i < most; i++) {
		char *keeps = r->start + 2 * i * COST_PAGE;
		char *goes = keeps + COST_PAGE;

		mprotect(goes, COST_PAGE, PROT_READ);
		memcpy(keeps + 2048, goes + 2048, 2048);
		if (mmap(goes, COST_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, r->fd,
			 (off_t)(2 * i * COST_PAGE)) == MAP_FAILED)
			break;
		fallocate(r->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
			  (off_t)((2 * i + 1) * COST_PAGE), COST_PAGE);
	}
	*nr = i;
	return i ? (now_ns() - start) / (double)i : 0;
}

static inline void costs_of_kind(bool shared, const char *kind)
{
	double fault[COST_ROUNDS], again[COST_ROUNDS], purge[COST_ROUNDS];
	double forks[COST_ROUNDS], after[COST_ROUNDS];

	for (size_t i = 0; i < COST_ROUNDS; i++) {
		struct range r = range_map(shared);

		fault[i] = range_touch(&r);
		purge[i] = range_purge(&r);
		again[i] = range_touch(&r);
		forks[i] = range_fork(&r, &after[i]);
		range_unmap(&r);
	}
	printf("%-10s %8.0f %8.0f %8.0f %8.1f %8.0f\n", kind, median_of(fault, COST_ROUNDS),
	       median_of(purge, COST_ROUNDS), median_of(again, COST_ROUNDS),
	       median_of(forks, COST_ROUNDS), median_of(after, COST_ROUNDS));
}

/* What each way of counting says of memory of which each second page shares the one before it. */
static inline void cost_counts(const char *when)
{
	printf("%-28s %9lu %9lu %9lu\n", when, self_kib("/proc/self/status", "VmRSS:"),
	       self_kib("/proc/self/smaps_rollup", "Pss:"),
	       self_kib("/proc/self/status", "RssShmem:"));
}

static inline void cost_print(void)
{
	struct range r;
	double protect, pair;
	size_t nr;

	printf("ns a page     fault    purge    again     fork  written after it\n");
	costs_of_kind(false, "anonymous");
	costs_of_kind(true, "memfd");

	r = range_map(true);
	range_touch(&r);
	protect = cost_protect(&r);
	printf("\nprotect, fault, unprotect: %.0f ns\n\n", protect);
	printf("KiB                              VmRSS       Pss  RssShmem\n");
	cost_counts("before");
	pair = cost_pair(&r, COST_PAGES / 2, &nr);
	cost_counts("each second page shared");
	for (size_t i = 0; i < COST_PAGES; i++)
		(void)*(volatile char *)(r.start + i * COST_PAGE);
	cost_counts("and read");
	printf("\n%zu pairs of %lu KiB, %.0f ns each\n", nr, 2 * COST_PAGE / 1024, pair);
	range_unmap(&r);
}

#endif /* BENCH_MESH_COSTS_H */
