/* SPDX-License-Identifier: MIT */
/*
 * uslab/compare/compare_run.c - measures all contestants on one trace
 *
 * Data:       compare_kinds[]: the contestants; constant.
 * Locks:      team.lock: messages, progress, and which contestant is next.
 * Flow:       called by cmd_compare.c; calls compare_job.c for each process, compare_count.c once
 *             to ask how instructions can be counted, compare_trace.c, compare_stats.c and
 *             replay/replay_hist.c. In: struct compared_trace; out: its outcomes[].
 *
 * First bytes and instructions, which do not depend on the load of the machine: on all CPUs, one
 * contestant on each. Then the timed rounds, one process at a time. Every round starts every
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
		if (count->operations[verb] && count->operations[JOB_NOTHING])
			o->verb[verb].instructions =
				instructions_of(count, verb) - instructions_of(count, JOB_NOTHING);
	}
}

/* The members of a team take one contestant after the other, until there is none or one fails. */
struct team {
	struct run *run;
	pthread_mutex_t lock;
	unsigned int next; /* contestant */
	int status;	   /* EXIT_OK, or why all end */
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
	kind = team->status ? COMPARE_NR : team->next;
	if (kind < COMPARE_NR) {
		team->next++;
		progress_show(&c->progress, "%s: bytes: %s", team->run->t->load.path,
			      compare_kinds[kind].name);
	}
	pthread_mutex_unlock(&team->lock);
	return kind;
}

static void run_memory(struct team *team, struct run *r, unsigned int kind)
{
	struct outcome *o = &r->t->outcomes[kind];

	o->ok = run_job(r, kind, JOB_MEMORY, r->counter);
	if (o->ok) {
		o->memory = r->job->memory;
		take_counts(o, &r->job->count);
		return;
	}
	pthread_mutex_lock(&team->lock);
	team->status = give_up(r, kind);
	pthread_mutex_unlock(&team->lock);
}

static void set_job(struct run *r, int cpu)
{
	r->job->touch = r->c->options.touch;
	r->job->copies = r->t->copies;
	r->job->cpu = cpu;
	compare_set_points(r->job, &r->t->shared);
}

/* On a CPU, where the worker that it steps runs, too: each step goes from one to the other. */
static void *run_memories(void *arg)
{
	struct member *m = arg;
	struct run own = *m->team->run;
	unsigned int kind;
	cpu_set_t only;

	own.job = job_create(&own.job_fd);
	if (!own.job)
		return NULL; /* the others do it */
	CPU_ZERO(&only);
	CPU_SET((size_t)m->cpu, &only);
	pthread_setaffinity_np(pthread_self(), sizeof(only), &only);
	set_job(&own, m->cpu);
	while ((kind = next_kind(m->team)) < COMPARE_NR)
		run_memory(m->team, &own, kind);
	job_destroy(own.job, own.job_fd);
	return NULL;
}

static unsigned int count_contestants(const struct compare *c)
{
	unsigned int nr = 0;

	for (unsigned int kind = 0; kind < COMPARE_NR; kind++)
		nr += compare_takes_part(c, kind);
	return nr;
}

/* One member for each CPU, as far as there are contestants for them. Returns how many. */
static unsigned int start_team(struct team *team, struct member *members)
{
	unsigned int most = count_contestants(team->run->c);
	unsigned int nr = 0;
	cpu_set_t allowed;

	if (sched_getaffinity(0, sizeof(allowed), &allowed)) { /* there are more than fit */
		CPU_ZERO(&allowed);
		CPU_SET((size_t)sched_getcpu() % CPU_SETSIZE, &allowed);
	}
	for (int cpu = 0; cpu < CPU_SETSIZE && nr < most; cpu++) {
		if (!CPU_ISSET(cpu, &allowed))
			continue;
		members[nr] = (struct member){ .team = team, .cpu = cpu };
		if (!pthread_create(&members[nr].thread, NULL, run_memories, &members[nr]))
			nr++;
	}
	return nr;
}

static int run_all_memories(struct run *r)
{
	struct team team = { .run = r, .lock = PTHREAD_MUTEX_INITIALIZER };
	struct member members[COMPARE_NR];
	unsigned int nr = start_team(&team, members);

	for (unsigned int i = 0; i < nr; i++)
		pthread_join(members[i].thread, NULL);
	if (team.status || team.next >= COMPARE_NR)
		return team.status;
	return util_fail(COMPARE_COMMAND, "no threads for the workers, or no memory");
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

	if (status)
		return status;
	set_job(r, sched_getcpu());
	return run_rounds(r, rounds);
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
