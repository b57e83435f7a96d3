/* SPDX-License-Identifier: MIT */
/*
 * uslab/compare/compare_run.c - measures all contestants on one trace
 *
 * Data:       compare_kinds[]: the contestants; constant.
 * Locks:      team.lock: progress, and which contestant is next.
 * Flow:       called by cmd_compare.c; calls compare_job.c for each process, compare_count.c once
 *             to ask how instructions can be counted, compare_trace.c, compare_stats.c and
 *             replay/replay_hist.c. In: struct compared_trace; out: its outcomes[].
 *
 * First bytes and instructions, which other work on the machine hardly changes: on several CPUs,
 * one contestant on each; who fails there has another try alone, since memory or processes may have
 * been too few for all. Then the timed rounds, one process at a time. Every round starts every
 * contestant once, each in a process of its own, and the next round starts with another one: what
 * drifts (temperature, other load) hits all alike.
 */
#define _GNU_SOURCE
#include "compare/compare.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WORKER_BYTES 32e6 /* of a worker, and for each byte that is requested */
#define WORKER_SLACK 4
#define MEMBER_STACK (256u << 10)
#define BUDGET_NS 5000000000u /* of timed processes of a contestant, unless rounds are asked for */

const struct contestant_kind compare_kinds[COMPARE_NR] = {
	{ "slob:1991", "slob:1991", "none", false },
	{ "slob", "slob", "none", false },
	{ "slobseg:pow2", "slobseg:pow2", "none", false },
	{ "slobseg", "slobseg", "none", false },
	{ "slab", "slab", "queues", true },
	{ "slub", "slub", "cpuslab", true },
	{ "slub:6.18", "slub", "sheaves:6.18", false },
	{ "slub:7.0", "slub", "sheaves", false },
	{ "slub+array", "slub", "array", true },
	{ "slob+array", "slob", "array", false },
};

struct run {
	struct compare *c;
	struct compared_trace *t;
	struct job *job;
	int job_fd;
	enum job_counter counter;
};

/* One process. False: the outcome has failed, with a text. */
static bool run_job(struct run *r, unsigned int kind, enum job_task task, enum job_counter counter)
{
	struct outcome *o = &r->t->outcomes[kind];
	struct job_place place = { .kind = &compare_kinds[kind],
				   .cpus = r->c->options.cpus,
				   .nodes = r->c->options.nodes };

	r->job->task = task;
	r->job->counter = counter;
	return job_run(r->job, r->job_fd, r->t->shared.fd, &place, o->error, sizeof(o->error));
}

/* EXIT_OK when the command goes on without this contestant. */
static int give_up(struct run *r, unsigned int kind)
{
	struct outcome *o = &r->t->outcomes[kind];

	o->ok = false;
	r->c->failed = true;
	progress_end(&r->c->progress);
	util_fail(COMPARE_COMMAND, "%s: %s: %s", r->t->load.path, compare_kinds[kind].name,
		  o->error);
	return r->c->options.keep_going ? EXIT_OK : EXIT_FAILED;
}

/* ---- bytes and instructions ---- */

static double instructions_of(const struct job_count *count, unsigned int what)
{
	return (double)count->instructions[what] / (double)count->operations[what];
}

/* What could not be counted stays negative: that is no error. */
static void take_counts(struct outcome *o, const struct job_count *count)
{
	for (unsigned int verb = 0; verb < REPLAY_NR_VERBS; verb++) {
		o->verb[verb].instructions = -1;
		/* a counter that stands still is one of another kind of CPU */
		if (count->operations[verb] && count->instructions[JOB_NOTHING])
			o->verb[verb].instructions =
				instructions_of(count, verb) - instructions_of(count, JOB_NOTHING);
	}
}

static void show_memory(const struct run *r, unsigned int kind)
{
	progress_show(&r->c->progress, "%s: bytes: %s", r->t->load.path, compare_kinds[kind].name);
}

static bool run_memory(struct run *r, unsigned int kind)
{
	struct outcome *o = &r->t->outcomes[kind];

	o->ok = run_job(r, kind, JOB_MEMORY, r->counter);
	if (o->ok) {
		o->memory = r->job->memory;
		take_counts(o, &r->job->count);
	}
	return o->ok;
}

static void set_job(struct run *r, int cpu)
{
	r->job->touch = r->c->options.touch;
	r->job->copies = r->t->copies;
	r->job->spread = r->c->options.spread;
	r->job->cpu = cpu;
	compare_set_points(r->job, &r->t->shared);
}

/* ---- the same side by side ---- */

/* Its members take one contestant after the other. */
struct team {
	struct run *run;
	pthread_mutex_t lock;
	unsigned int next; /* contestant */
};

struct member {
	struct team *team;
	int cpu;
	pthread_t thread;
};

/* The next contestant, of which progress is shown; COMPARE_NR: none. */
static unsigned int next_kind(struct team *team)
{
	struct compare *c = team->run->c;
	unsigned int kind;

	pthread_mutex_lock(&team->lock);
	while (team->next < COMPARE_NR && !compare_takes_part(c, team->next))
		team->next++;
	kind = team->next;
	if (kind < COMPARE_NR) {
		team->next++;
		show_memory(team->run, kind);
	}
	pthread_mutex_unlock(&team->lock);
	return kind;
}

/*
 * On a CPU, where the worker that it steps runs, too: each step goes from one to the other. What it
 * cannot do others do, or the command alone.
 */
static void *run_memories(void *arg)
{
	struct member *m = arg;
	struct run own = *m->team->run;
	unsigned int kind;
	cpu_set_t only;

	CPU_ZERO(&only);
	CPU_SET((size_t)m->cpu, &only);
	if (pthread_setaffinity_np(pthread_self(), sizeof(only), &only))
		return NULL;
	own.job = job_create(&own.job_fd);
	if (!own.job)
		return NULL;
	set_job(&own, m->cpu);
	while ((kind = next_kind(m->team)) < COMPARE_NR)
		if (!run_memory(&own, kind))
			break;
	job_destroy(own.job, own.job_fd);
	return NULL;
}

/*
 * As many as there are contestants, and as have their memory twice in what is free: one of them has
 * some times the bytes that are requested at the same time.
 */
static unsigned int most_members(const struct run *r)
{
	double live = (double)r->t->load.ops.counts.peak_bytes * r->t->copies;
	double free_bytes = (double)sysconf(_SC_AVPHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
	double fit = free_bytes / 2 / (WORKER_BYTES + WORKER_SLACK * live);
	unsigned int nr = 0;

	for (unsigned int kind = 0; kind < COMPARE_NR; kind++)
		nr += compare_takes_part(r->c, kind);
	return fit >= nr ? nr : (unsigned int)fit;
}

/* Up to so many, each for a CPU, this one first. Returns how many; there may be more than fit. */
static unsigned int choose_cpus(struct member *members, unsigned int most)
{
	int here = sched_getcpu();
	unsigned int nr = 0;
	cpu_set_t allowed;

	if (here < 0 || sched_getaffinity(0, sizeof(allowed), &allowed))
		return 0;
	for (int i = 0; i < CPU_SETSIZE && nr < most; i++) {
		int cpu = (here + i) % CPU_SETSIZE;

		if (CPU_ISSET((size_t)cpu, &allowed))
			members[nr++].cpu = cpu;
	}
	return nr;
}

static void run_team(struct run *r)
{
	struct team team = { .run = r, .lock = PTHREAD_MUTEX_INITIALIZER };
	struct member members[COMPARE_NR];
	unsigned int most = choose_cpus(members, most_members(r));
	unsigned int nr = 0;
	pthread_attr_t small;

	if (most < 2 || pthread_attr_init(&small))
		return;
	pthread_attr_setstacksize(&small, MEMBER_STACK);
	for (; nr < most; nr++) {
		members[nr].team = &team;
		if (pthread_create(&members[nr].thread, &small, run_memories, &members[nr]))
			break;
	}
	pthread_attr_destroy(&small);
	while (nr-- > 0)
		pthread_join(members[nr].thread, NULL);
}

/* Those that no team ran, or that failed in it: one after the other. */
static int run_all_memories(struct run *r)
{
	run_team(r);
	set_job(r, sched_getcpu());
	for (unsigned int kind = 0; kind < COMPARE_NR; kind++) {
		int status = EXIT_OK;

		if (!compare_takes_part(r->c, kind) || r->t->outcomes[kind].ok)
			continue;
		show_memory(r, kind);
		if (!run_memory(r, kind))
			status = give_up(r, kind);
		if (status)
			return status;
	}
	return EXIT_OK;
}

/* ---- time ---- */

/* Is there time for one more? The first one always is. */
static bool affordable(const struct compare *c, const struct outcome *o)
{
	return !o->rounds || c->options.rounds_given || o->spent_ns + o->longest_ns <= BUDGET_NS;
}

static int run_round(struct run *r, unsigned int kind, struct round_times *rounds)
{
	struct outcome *o = &r->t->outcomes[kind];
	unsigned int nodes = r->c->options.nodes ? (unsigned int)r->c->options.nodes : 1;

	r->job->resident = o->memory.peak.slab / nodes + o->memory.peak.slab / 4;
	if (!run_job(r, kind, JOB_TIME, JOB_UNCOUNTED))
		return give_up(r, kind);
	stats_round(&rounds[o->rounds++], &r->job->times);
	o->ns_per_tick = r->job->times.ns_per_tick;
	o->overhead = r->job->times.overhead;
	o->is_tsc = r->job->times.is_tsc;
	for (unsigned int verb = 0; verb < REPLAY_NR_VERBS; verb++)
		hist_merge(&o->verb[verb].hist, &r->job->times.hist[verb]);
	o->spent_ns += r->job->ns;
	o->disturbed += r->job->times.disturbed;
	if (o->longest_ns < r->job->ns)
		o->longest_ns = r->job->ns;
	return EXIT_OK;
}

static int run_rounds(struct run *r, struct round_times (*rounds)[COMPARE_MAX_ROUNDS])
{
	unsigned int nr = (unsigned int)r->c->options.rounds;

	for (unsigned int round = 0; round < nr; round++) {
		r->job->cpu = sched_getcpu();
		for (unsigned int i = 0; i < COMPARE_NR; i++) {
			unsigned int kind = (i + round) % COMPARE_NR;
			struct outcome *o = &r->t->outcomes[kind];
			int status;

			if (!o->ok || !affordable(r->c, o))
				continue;
			progress_show(&r->c->progress, "%s: round %u of %u: %s", r->t->load.path,
				      round + 1, nr, compare_kinds[kind].name);
			status = run_round(r, kind, rounds[kind]);
			if (status)
				return status;
		}
	}
	for (unsigned int kind = 0; kind < COMPARE_NR; kind++)
		if (r->t->outcomes[kind].ok)
			stats_finish(&r->t->outcomes[kind], rounds[kind]);
	return EXIT_OK;
}

/* ---- all ---- */

static int run_all(struct run *r, struct round_times (*rounds)[COMPARE_MAX_ROUNDS])
{
	int status = run_all_memories(r);

	return status ? status : run_rounds(r, rounds);
}

int compare_run(struct compare *c, struct compared_trace *t)
{
	struct round_times(*rounds)[COMPARE_MAX_ROUNDS] = calloc(COMPARE_NR, sizeof(*rounds));
	struct run r = { .c = c, .t = t, .counter = JOB_UNCOUNTED };
	int status;

	if (c->options.instructions)
		r.counter = count_by_hardware() ? JOB_HARDWARE : JOB_STEPPED;

	r.job = job_create(&r.job_fd);
	if (!rounds || !r.job) {
		free(rounds);
		return util_fail(COMPARE_COMMAND, "out of memory");
	}
	status = run_all(&r, rounds);
	job_destroy(r.job, r.job_fd);
	free(rounds);
	return status;
}
