/* SPDX-License-Identifier: MIT */
/*
 * uslab/replay/replay_run.c - performs the operations of a trace and measures each of them
 *
 * Flow:       called by cmd_replay.c; calls replay_stage.c for each operation, clock.c,
 *             replay_hist.c, inspect/usage.c for bytes and inspect/snapshot.c for the counts of the
 *             library. In: struct trace_ops and options; out: the median of the rounds.
 *
 * Single-threaded, in the order of the trace, on one CPU (which may act for others). A round makes
 * the caches, performs all operations, looks at the library's own counts, and gives everything
 * back, so that the next round starts on fresh caches.
 *
 * Only the call itself stands between two readings of the clock; choosing it, touching the object
 * and looking at the counters of pages are outside.
 */
#include "replay/replay_run.h"
#include "replay/replay_hist.h"
#include "inspect/snapshot.h"
#include "inspect/usage.h"
#include "util.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <uslab/slab.h>

#define PROGRESS_OPS 16384u /* operations from one look at the clock to the next */

struct round {
	const struct trace_ops *trace;
	const struct replay_options *options;
	const struct clock_info *clock;
	struct stage stage;
	struct snapshot *snapshot;
	struct hist *hist; /* REPLAY_NR_VERBS, in ticks */
	struct replay_result *result;
	unsigned int number; /* from 1 */
};

/* How many of the library's caches serve those of the trace; NULL: its kmalloc() does. */
static uint32_t count_distinct(const struct stage *s)
{
	uint32_t distinct = 0;

	for (uint32_t i = 0; i < s->trace->nr_caches; i++) {
		uint32_t j = 0;

		while (s->caches[j] != s->caches[i])
			j++;
		distinct += j == i && s->caches[i];
	}
	return distinct;
}

/* ---- single operations ---- */

/* Only an allocation can make the peak. */
static void look_at_peak(struct replay_result *result)
{
	struct usage usage;

	usage_read(&usage);
	if (result->slab_peak < usage.slab_bytes)
		result->slab_peak = usage.slab_bytes;
	if (result->large_peak < usage.large_bytes + usage.mapped_bytes)
		result->large_peak = usage.large_bytes + usage.mapped_bytes;
}

static void perform_alloc(const struct round *r, const struct trace_class *class, void **object)
{
	uint64_t ticks;

	*object = stage_timed_alloc(&r->stage, class, &ticks);
	hist_add(&r->hist[REPLAY_ALLOC], ticks);
	if (!*object) {
		r->result->out_of_memory++;
		return;
	}
	stage_touch(&r->stage, *object, class->size);
	r->result->live++;
	look_at_peak(r->result);
}

static void perform_free(const struct round *r, const struct trace_class *class, void **object)
{
	uint64_t ticks;

	if (!*object) /* its allocation failed */
		return;
	stage_timed_free(&r->stage, class, *object, &ticks);
	hist_add(&r->hist[REPLAY_FREE], ticks);
	*object = NULL;
	r->result->live--;
}

static void perform(struct round *r, const struct trace_op *op)
{
	const struct trace_class *class = stage_class(&r->stage, op);

	for (unsigned int copy = 0; copy < r->stage.copies; copy++) {
		stage_act(&r->stage, op, copy);
		if (op->kind == TRACE_OP_ALLOC)
			perform_alloc(r, class, stage_object(&r->stage, op, copy));
		else
			perform_free(r, class, stage_object(&r->stage, op, copy));
	}
}

static void show_progress(const struct round *r, size_t done)
{
	if (r->options->progress && done % PROGRESS_OPS == 0)
		progress_show(r->options->progress, "round %u of %u: %u %%", r->number,
			      r->options->rounds,
			      (unsigned int)((uint64_t)done * 100 / r->trace->nr_ops));
}

/* ---- the library's own view ---- */

/* Objects that the library thinks we hold, or -errno. */
static int count_live(struct snapshot *s, uint64_t *live)
{
	int ret = snapshot_take(s, &reader_local, (uintptr_t)&uslab_root);

	*live = 0;
	if (ret == -EAGAIN) /* nothing was ever allocated */
		return 0;
	if (ret)
		return ret;
	/* Whole pages are rows of their own behind the caches. */
	for (unsigned int i = 0; i < s->nr_caches; i++)
		*live += s->cache[i].objects;
	return 0;
}

/* ---- a round ---- */

/* A quantile in nanoseconds, without what the clock itself takes. */
static double quantile(const struct round *r, enum replay_verb verb, unsigned int permille)
{
	double ticks = hist_quantile(&r->hist[verb], permille, r->clock->resolution);

	return ticks > r->clock->overhead ? (ticks - r->clock->overhead) * r->clock->ns_per_tick
					  : 0.0;
}

static void quantiles(const struct round *r, enum replay_verb verb)
{
	struct replay_times *time = &r->result->time[verb];

	time->count = r->hist[verb].count;
	time->median = quantile(r, verb, 500);
	time->p99 = quantile(r, verb, 990);
	time->p99_9 = quantile(r, verb, 999);
	time->max = quantile(r, verb, 1000);
}

/* Performs the whole trace and looks at the end of it. */
static int perform_all(struct round *r)
{
	struct replay_result *result = r->result;
	struct usage usage;
	uint64_t start;

	/* Also maps the pages of the histograms, so that no fault falls into a measurement. */
	memset(r->hist, 0, REPLAY_NR_VERBS * sizeof(*r->hist));
	start = clock_ns();
	for (size_t i = 0; i < r->trace->nr_ops; i++) {
		perform(r, &r->trace->ops[i]);
		show_progress(r, i);
	}
	result->seconds = (double)(clock_ns() - start) / 1e9;
	usage_read(&usage);
	result->slab_end = usage.slab_bytes;
	result->large_end = usage.large_bytes + usage.mapped_bytes;
	for (int verb = 0; verb < REPLAY_NR_VERBS; verb++)
		quantiles(r, verb);
	return count_live(r->snapshot, &result->live_library);
}

/* The snapshot of the first round is kept: later ones go to scratch. */
static int run_round(struct replay *replay, struct round *r, struct snapshot *scratch)
{
	struct usage usage;
	int ret;

	*r->result = (struct replay_result){ 0 };
	r->snapshot = r->number == 1 ? replay->snapshot : scratch;
	ret = stage_create_caches(&r->stage, replay->error, sizeof(replay->error));
	if (ret)
		return ret;
	if (r->number == 1)
		replay->nr_caches = count_distinct(&r->stage);
	ret = perform_all(r);
	stage_free_all(&r->stage, r->trace->nr_ops);
	if (!ret) {
		usage_read(&usage);
		r->result->slab_freed = usage.slab_bytes;
		ret = count_live(scratch, &r->result->live_freed);
	}
	if (ret)
		snprintf(replay->error, sizeof(replay->error),
			 "cannot read the library's counts: %s", strerror(-ret));
	stage_destroy_caches(&r->stage);
	return ret;
}

/* ---- all rounds ---- */

static int compare_double(const void *a, const void *b)
{
	double x = *(const double *)a;
	double y = *(const double *)b;

	return (x > y) - (x < y);
}

static int compare_u64(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a;
	uint64_t y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* The lower median of one member over all rounds; every member is 8 bytes wide. */
static void median_of(struct replay_result *median, const struct replay_result *rounds,
		      unsigned int nr, size_t offset, int (*compare)(const void *, const void *))
{
	uint64_t value[REPLAY_MAX_ROUNDS];

	for (unsigned int i = 0; i < nr; i++)
		memcpy(&value[i], (const char *)&rounds[i] + offset, sizeof(value[i]));
	qsort(value, nr, sizeof(value[0]), compare);
	memcpy((char *)median + offset, &value[(nr - 1) / 2], sizeof(value[0]));
}

static void medians(struct replay_result *median, const struct replay_result *rounds,
		    unsigned int nr)
{
	static const size_t doubles[] = {
		offsetof(struct replay_result, seconds),
		offsetof(struct replay_result, time[REPLAY_ALLOC].median),
		offsetof(struct replay_result, time[REPLAY_ALLOC].p99),
		offsetof(struct replay_result, time[REPLAY_ALLOC].p99_9),
		offsetof(struct replay_result, time[REPLAY_ALLOC].max),
		offsetof(struct replay_result, time[REPLAY_FREE].median),
		offsetof(struct replay_result, time[REPLAY_FREE].p99),
		offsetof(struct replay_result, time[REPLAY_FREE].p99_9),
		offsetof(struct replay_result, time[REPLAY_FREE].max),
	};
	static const size_t counts[] = {
		offsetof(struct replay_result, slab_peak),
		offsetof(struct replay_result, slab_end),
		offsetof(struct replay_result, large_peak),
		offsetof(struct replay_result, large_end),
		offsetof(struct replay_result, slab_freed),
	};

	*median = rounds[0]; /* the counts of objects are those of every round */
	for (size_t i = 0; i < sizeof(doubles) / sizeof(doubles[0]); i++)
		median_of(median, rounds, nr, doubles[i], compare_double);
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
		median_of(median, rounds, nr, counts[i], compare_u64);
}

/* A round whose counts differ from the library's makes the whole replay fail. */
static int check_round(struct replay *replay, const struct round *r)
{
	const struct replay_result *result = r->result;

	if (result->live_library == result->live && !result->live_freed)
		return 0;
	if (result->live_library != result->live)
		snprintf(replay->error, sizeof(replay->error),
			 "round %u: %llu objects should be alive, the library counts %llu",
			 r->number, (unsigned long long)result->live,
			 (unsigned long long)result->live_library);
	else
		snprintf(replay->error, sizeof(replay->error),
			 "round %u: all objects are freed, the library counts %llu", r->number,
			 (unsigned long long)result->live_freed);
	return -EUCLEAN;
}

static struct snapshot *map_snapshot(void)
{
	void *p = mmap(NULL, sizeof(struct snapshot), PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

int replay_run(struct replay *replay)
{
	const struct trace_ops *trace = replay->trace;
	const struct replay_options *options = &replay->options;
	unsigned int nr = options->rounds;
	struct round r = { .trace = trace,
			   .options = options,
			   .clock = &replay->clock,
			   .stage = { .trace = trace,
				      .engine = options->engine,
				      .front = options->front,
				      .touch = options->touch } };
	struct replay_result *results = calloc(nr, sizeof(*results));
	struct snapshot *scratch = map_snapshot();
	int ret = 0;

	act_topology(&replay->topology);
	replay->copies = options->spread ? stage_copies(trace, replay->topology.cpus) : 1;
	r.stage.copies = replay->copies;
	r.stage.spread = options->spread;
	replay->snapshot = map_snapshot();
	r.hist = calloc(REPLAY_NR_VERBS, sizeof(struct hist));
	if (stage_init(&r.stage) || !results || !scratch || !replay->snapshot || !r.hist) {
		snprintf(replay->error, sizeof(replay->error), "out of memory");
		ret = -ENOMEM;
	}
	replay->cpu = stage_pin(-1);
	if (!ret)
		clock_calibrate(&replay->clock);
	for (r.number = 1; !ret && r.number <= nr; r.number++) {
		r.result = &results[r.number - 1];
		ret = run_round(replay, &r, scratch);
		if (!ret)
			ret = check_round(replay, &r);
	}
	if (!ret)
		medians(&replay->result, results, nr);
	if (scratch)
		munmap(scratch, sizeof(*scratch));
	free(results);
	stage_exit(&r.stage);
	free(r.hist);
	return ret;
}

void replay_destroy(struct replay *replay)
{
	if (replay->snapshot)
		munmap(replay->snapshot, sizeof(*replay->snapshot));
	replay->snapshot = NULL;
}
