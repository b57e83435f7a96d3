/* SPDX-License-Identifier: MIT */
/*
 * uslab/compare/compare_measure.c - what a worker of `uslab compare` measures: bytes, or times
 *
 * Flow:       called by compare_worker.c; calls replay/replay_stage.c for each operation,
 *             compare_count.c around it, inspect/usage.c for bytes, clock.c for times. In: struct
 *             stage with caches; out: memory, count or times in struct job.
 */
#define _GNU_SOURCE
#include "compare/compare_job.h"
#include "inspect/usage.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#define PAGE 4096u
#define LONG_NS 20000.0	       /* an operation that may have been disturbed */
#define GAP_NS 1000.0	       /* between two: less than any switch to other work and back */
#define BLOCK KMALLOC_MAX_SIZE /* the largest piece of memory that kmalloc() gives: 4 MiB */

static int out_of_memory(struct job *job, const struct trace_class *class, size_t op)
{
	snprintf(job->error, sizeof(job->error),
		 "out of memory: no %u bytes for operation %zu of the trace", class->size, op);
	return -ENOMEM;
}

/* ---- bytes ---- */

struct memory_pass {
	struct stage *stage;
	struct job *job;
	struct job_memory *memory;
	const struct count_marks *marks;
	uint64_t requested; /* now */
	uint64_t slab;	    /* now */
	uint32_t next_point;
	double slab_by_time; /* bytes * ns */
	double requested_by_time;
};

static uint64_t read_slab_bytes(void)
{
	struct usage usage;

	usage_read(&usage);
	return usage.slab_bytes + usage.large_bytes + usage.mapped_bytes;
}

static uint64_t highest(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* All of now, the slow reading included. */
static struct job_bytes read_bytes(struct memory_pass *p)
{
	struct usage_slow slow;

	usage_read_slow(&slow);
	p->memory->peak.queue = highest(p->memory->peak.queue, slow.queue_bytes);
	p->memory->peak.cpu_slab = highest(p->memory->peak.cpu_slab, slow.cpu_slab_bytes);
	return (struct job_bytes){ .slab = p->slab,
				   .requested = p->requested,
				   .queue = slow.queue_bytes,
				   .cpu_slab = slow.cpu_slab_bytes };
}

struct page_map_pass {
	uint32_t *live; /* bytes, by page */
	uint64_t nr_pages;
};

/* Adds an object to the pages that it lies on. */
static void add_object(const void *object, uint32_t size, void *arg)
{
	struct page_map_pass *map = arg;
	const char *from = object;

	while (size) {
		uint64_t page = usage_page_of(from);
		uint32_t rest = PAGE - (uint32_t)((uintptr_t)from % PAGE);
		uint32_t here = size < rest ? size : rest;

		if (page < map->nr_pages)
			map->live[page] += here;
		from += here;
		size -= here;
	}
}

static unsigned char map_digit(uint64_t page, uint32_t live)
{
	uint32_t part = (live * JOB_MAP_FULL + PAGE / 2) / PAGE;

	if (!usage_page_in_use(page))
		return JOB_MAP_FREE;
	if (live && !part)
		return 1;
	return part < JOB_MAP_FULL ? (unsigned char)part : JOB_MAP_FULL;
}

/* The pages of now; nr_ops operations were performed. */
static int draw_map(const struct memory_pass *p, size_t nr_ops)
{
	struct page_map_pass map = { .nr_pages = usage_nr_pages() };
	struct job_memory *memory = p->memory;
	int ret;

	map.live = calloc(map.nr_pages + 1, sizeof(*map.live));
	if (!map.live)
		return -ENOMEM;
	ret = stage_walk(p->stage, nr_ops, add_object, &map);
	while (map.nr_pages && !usage_page_in_use(map.nr_pages - 1))
		map.nr_pages--;
	memory->nr_pages = map.nr_pages;
	for (uint64_t page = 0; page < map.nr_pages && page < JOB_MAP_PAGES; page++)
		memory->map[page] = map_digit(page, map.live[page]);
	free(map.live);
	return ret;
}

/* 0 or -ENOMEM. */
static int perform_untimed(struct memory_pass *p, const struct trace_op *op, unsigned int copy)
{
	const struct trace_class *class = stage_class(p->stage, op);
	void **object = stage_object(p->stage, op, copy);

	stage_act(p->stage, op, copy);
	if (op->kind != TRACE_OP_ALLOC) {
		p->marks->enter(&p->job->count, REPLAY_FREE);
		stage_free(p->stage, class, *object);
		p->marks->leave(&p->job->count, REPLAY_FREE);
		*object = NULL;
		p->requested -= class->size;
		return 0;
	}
	p->marks->enter(&p->job->count, REPLAY_ALLOC);
	*object = stage_alloc(p->stage, class);
	p->marks->leave(&p->job->count, REPLAY_ALLOC);
	if (!*object)
		return -ENOMEM;
	p->requested += class->size;
	/* Only an allocation can make the peaks. */
	p->memory->peak.slab = highest(p->memory->peak.slab, read_slab_bytes());
	p->memory->peak.requested = highest(p->memory->peak.requested, p->requested);
	return 0;
}

/* Operation i of the trace, in its copies. */
static int perform_copies(struct memory_pass *p, size_t i)
{
	const struct trace_op *op = &p->stage->trace->ops[i];
	int ret = 0;

	p->marks = count_marks_for(p->job, p->stage->trace, i);
	if (p->stage->split)
		ret = perform_untimed(p, op, stage_part(p->stage, op));
	else
		for (unsigned int copy = 0; copy < p->stage->copies && !ret; copy++)
			ret = perform_untimed(p, op, copy);
	return ret ? out_of_memory(p->job, stage_class(p->stage, op), i) : 0;
}

/* What holds from operation i to the next. */
static int look(struct memory_pass *p, size_t i)
{
	const struct trace_ops *trace = p->stage->trace;
	uint64_t now = trace_ops_time(trace, i);
	uint64_t next = i + 1 < trace->nr_ops ? trace_ops_time(trace, i + 1) : now;

	p->slab = read_slab_bytes();
	p->slab_by_time += (double)p->slab * (double)(next - now);
	p->requested_by_time += (double)p->requested * (double)(next - now);
	if (p->next_point < p->job->nr_points && p->job->point_op[p->next_point] == i)
		p->memory->point[p->next_point++] = read_bytes(p);
	if (i != trace->counts.peak_op)
		return 0;
	p->memory->at_live_peak = read_bytes(p);
	return draw_map(p, i + 1);
}

static void finish_memory(struct memory_pass *p)
{
	const struct trace_ops *trace = p->stage->trace;
	double ns = (double)trace_ops_time(trace, trace->nr_ops - 1);
	struct usage_slow slow;

	usage_read_slow(&slow);
	p->memory->end = read_bytes(p);
	p->memory->page_blocks = slow.page_blocks - p->memory->page_blocks;
	p->memory->meta_bytes = slow.meta_bytes;
	/* A trace without time: what holds at its end. */
	p->memory->slab_mean = ns > 0 ? p->slab_by_time / ns : (double)p->slab;
	p->memory->requested_mean = ns > 0 ? p->requested_by_time / ns : (double)p->requested;
}

/*
 * What an allocator keeps for later it keeps for some time, so the trace's own time passes here,
 * and begins where units of time do: bytes depend neither on how fast the machine plays it nor on
 * when.
 */
#define BEGINS_US 64000000u /* a multiple of all units, which are of 16 and 64 ms */
static uint64_t trace_us;

static uint64_t clock_of_trace(void)
{
	return trace_us;
}

int measure_memory(struct stage *stage, struct job *job)
{
	struct memory_pass p = { .stage = stage, .job = job, .memory = &job->memory };
	const struct trace_ops *trace = stage->trace;
	struct usage_slow before;
	uint64_t start_us;
	int ret = 0;

	usage_read_slow(&before);
	p.memory->page_blocks = before.page_blocks;
	trace_us = usage_play_time(NULL);
	start_us = trace_us = (trace_us / BEGINS_US + 1) * BEGINS_US;
	usage_play_time(clock_of_trace);
	for (size_t i = 0; i < trace->nr_ops && !ret; i++) {
		trace_us = start_us + trace_ops_time(trace, i) / 1000;
		ret = perform_copies(&p, i);
		if (!ret)
			ret = look(&p, i);
	}
	usage_play_time(NULL);
	if (!ret)
		finish_memory(&p);
	return ret;
}

/* ---- times ---- */

/*
 * A kernel's pages are there; ours are when they are written to for the first time, which takes a
 * page fault and has nothing to do with the allocator. So they are written to before, all of what
 * will be needed, and purging is off (see compare_job.c).
 */
static void make_resident(const struct stage *stage, uint64_t bytes)
{
	size_t nr = bytes / BLOCK + 1;
	void **blocks = calloc(nr, sizeof(*blocks));

	for (unsigned int node = 0; blocks && node < stage->topology.nodes; node++) {
		for (size_t i = 0; i < nr; i++) {
			blocks[i] = kmalloc_node(BLOCK, GFP_KERNEL | __GFP_NOWARN, (int)node);
			if (blocks[i])
				memset(blocks[i], 1, BLOCK);
		}
		for (size_t i = nr; i--;)
			kfree(blocks[i]);
	}
	free(blocks);
}

/*
 * Did the system take the CPU away during an operation? What then looks like a long one is other
 * work. The kernel is asked only after what took long, because asking takes time, too; and before
 * an operation, where so much time has gone since the one before that it may have been then.
 */
static struct watch {
	long switches; /* of this thread, when the kernel was asked last */
	uint64_t end;  /* ticks: of the last operation */
} watch;

static long read_switches(void)
{
	struct rusage usage;

	return getrusage(RUSAGE_THREAD, &usage) ? watch.switches : usage.ru_nivcsw;
}

static void watch_from_here(const struct job_times *times)
{
	if ((double)(clock_start() - watch.end) * times->ns_per_tick > GAP_NS)
		watch.switches = read_switches();
}

static bool was_disturbed(const struct job_times *times, uint64_t ticks)
{
	long before = watch.switches;

	if ((double)ticks * times->ns_per_tick < LONG_NS)
		return false;
	watch.switches = read_switches();
	return watch.switches != before;
}

static void note_time(struct job_times *times, enum replay_verb verb, uint64_t ticks)
{
	if (was_disturbed(times, ticks))
		times->disturbed++;
	else
		hist_add(&times->hist[verb], ticks);
	watch.end = clock_end();
}

/* 0 or -ENOMEM. */
static int perform_timed(struct stage *stage, struct job_times *times, const struct trace_op *op,
			 unsigned int copy)
{
	const struct trace_class *class = stage_class(stage, op);
	void **object = stage_object(stage, op, copy);
	uint64_t ticks;

	stage_act(stage, op, copy);
	watch_from_here(times);
	if (op->kind != TRACE_OP_ALLOC) {
		stage_timed_free(stage, class, *object, &ticks);
		note_time(times, REPLAY_FREE, ticks);
		*object = NULL;
		return 0;
	}
	*object = stage_timed_alloc(stage, class, &ticks);
	if (!*object)
		return -ENOMEM;
	note_time(times, REPLAY_ALLOC, ticks);
	stage_touch(stage, *object, class->size);
	return 0;
}

int measure_times(struct stage *stage, struct job *job)
{
	const struct trace_ops *trace = stage->trace;
	struct job_times *times = &job->times;
	struct clock_info clock;

	clock_calibrate(&clock);
	times->overhead = clock.overhead;
	times->ns_per_tick = clock.ns_per_tick;
	times->resolution = clock.resolution;
	times->is_tsc = !strcmp(clock.source, "tsc");
	/* Also maps the pages of the histograms, so that no fault falls into a measurement. */
	memset(times->hist, 0, sizeof(times->hist));
	make_resident(stage, job->resident);
	for (size_t i = 0; i < trace->nr_ops; i++)
		for (unsigned int copy = 0; copy < stage->copies; copy++)
			if (perform_timed(stage, times, &trace->ops[i], copy))
				return out_of_memory(job, stage_class(stage, &trace->ops[i]), i);
	return 0;
}
