/* SPDX-License-Identifier: MIT */
/*
 * uslab/info/memory_text.c - resident memory by kind, as lines
 *
 * Flow:       called by info_memory.c, info_json.c, info_metrics.c, info_print.c, fs/fs_tree.c and
 *             top/top_memory.c; calls inspect/memory.c for names. In: struct resident; out: text.
 */
#include "info/memory_text.h"

#include <inttypes.h>
#include <string.h>

#define RULE "------------------------------------------------------------------------"

static const struct {
	const char *key;
	const char *help;
} sums[] = {
	[MEMORY_SUM_ARENA] = { "arena", "the arena: the lines above, each page once" },
	[MEMORY_SUM_MOVED] = { "moved", "came (-: went) in the arena while it was read" },
	[MEMORY_SUM_USLAB] = { "uslab", "all of uslab: the arena, and the lines below that" },
	[MEMORY_SUM_REST] = { "rest", "the program: its files, stacks, mappings of its own" },
	[MEMORY_SUM_PROCESS] = { "process", "the process" },
	[MEMORY_SUM_HUGE] = { "huge", "of uslab's, in huge pages" },
	[MEMORY_SUM_SWAPPED] = { "swapped", "besides, of uslab's in swap" },
	[MEMORY_SUM_ESTIMATED] = { "estimated",
				   "of live, at most so much may be free: slabs in part resident" },
};

const char *memory_sum_key(enum memory_sum sum)
{
	return sums[sum].key;
}

const char *memory_sum_help(enum memory_sum sum)
{
	return sums[sum].help;
}

int64_t memory_sum(const struct resident *r, enum memory_sum sum)
{
	const struct memory *m = &r->memory;

	switch (sum) {
	case MEMORY_SUM_ARENA:
		return (int64_t)m->arena_bytes;
	case MEMORY_SUM_MOVED:
		return resident_moved(r);
	case MEMORY_SUM_USLAB:
		return (int64_t)m->bytes;
	case MEMORY_SUM_REST:
		return (int64_t)(r->process - m->bytes) - resident_moved(r);
	case MEMORY_SUM_PROCESS:
		return (int64_t)r->process;
	case MEMORY_SUM_HUGE:
		return (int64_t)m->huge;
	case MEMORY_SUM_SWAPPED:
		return (int64_t)m->swapped;
	case MEMORY_SUM_ESTIMATED:
	default:
		return (int64_t)m->estimated;
	}
}

uint64_t memory_own_data(const struct resident *r)
{
	static const enum memory_kind own[] = { MEMORY_DESCRIPTORS, MEMORY_CLASSES, MEMORY_WINDOWS,
						MEMORY_USED,	    MEMORY_META,    MEMORY_TABLES,
						MEMORY_DATA };
	uint64_t bytes = 0;

	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		bytes += r->memory.kind[own[i]];
	return bytes;
}

/* ---- lines ----------------------------------------------------------------------------------- */

struct printer {
	FILE *out;
	const struct resident *r;
	const struct memory_text_options *options;
};

static void print_line(const struct printer *p, int64_t bytes, const char *key, const char *help)
{
	int64_t all = memory_sum(p->r, MEMORY_SUM_PROCESS);
	double share = all > 0 ? 100 * (double)bytes / (double)all : 0;

	if (p->options->bytes)
		fprintf(p->out, "%16" PRId64, bytes);
	else
		fprintf(p->out, "%12" PRId64, bytes / 1024);
	fprintf(p->out, " %6.1f%%  %-13s %s\n", share, key, help);
}

static void print_kinds(const struct printer *p, enum memory_kind from, enum memory_kind to)
{
	for (enum memory_kind kind = from; kind <= to; kind++)
		if (p->r->memory.kind[kind] || p->options->empty)
			print_line(p, (int64_t)p->r->memory.kind[kind], memory_key(kind),
				   memory_help(kind));
}

static void print_sum(const struct printer *p, enum memory_sum sum)
{
	print_line(p, memory_sum(p->r, sum), sums[sum].key, sums[sum].help);
}

/* What is 0 in most processes, and what a reader has to know. */
static void print_notes(const struct printer *p)
{
	for (enum memory_sum sum = MEMORY_SUM_HUGE; sum < NR_MEMORY_SUMS; sum++)
		if (memory_sum(p->r, sum) || p->options->empty)
			print_sum(p, sum);
	if (p->r->core)
		fputs("Of a core: what of the memory is in the file.\n", p->out);
	else if (!p->r->zeros_differ)
		fputs("This kernel (before 6.7) does not tell pages that were only read from others.\n",
		      p->out);
	if (p->r->in_program)
		fputs("uslab is linked into the program: its code and data are in the rest.\n",
		      p->out);
}

void memory_text(FILE *out, const struct resident *r, const struct memory_text_options *options)
{
	const struct printer p = { out, r, options };

	fprintf(out, "%*s  %%process  kind          what it is\n" RULE "\n",
		options->bytes ? 16 : 12, options->bytes ? "Bytes" : "KiB");
	print_kinds(&p, 0, MEMORY_BETWEEN);
	print_sum(&p, MEMORY_SUM_ARENA);
	if (resident_moved(r) || options->empty)
		print_sum(&p, MEMORY_SUM_MOVED);
	fputs(RULE "\n", out);
	print_kinds(&p, MEMORY_BETWEEN + 1, NR_MEMORY_KINDS - 1);
	print_sum(&p, MEMORY_SUM_USLAB);
	fputs(RULE "\n", out);
	print_sum(&p, MEMORY_SUM_REST);
	print_sum(&p, MEMORY_SUM_PROCESS);
	print_notes(&p);
}
