/* SPDX-License-Identifier: MIT */
/*
 * bench/team.h - threads that stand for the kernel's CPUs and start each phase together
 *
 * Member 0 is the thread that calls. Every member is bound to a CPU of its own, as far as there are
 * so many, and with a made-up topology acts for the CPU of its number. Phases begin and end with a
 * barrier at which the members spin: threads that were woken would start so late after one another
 * that there would be nothing concurrent in a phase of some microseconds.
 */
#ifndef BENCH_TEAM_H
#define BENCH_TEAM_H

#include <pthread.h>

#include "bodies.h"
#include "clock.h"
#include "inspect/act.h"

#define TEAM_MAX 64

struct team;

struct member {
	_Alignas(128) struct team *team;
	unsigned int number;
	/* of its last phase, by its own clock; equal: it had nothing to do */
	uint64_t start;
	uint64_t end;
	void **slots; /* one per object */
	pthread_t thread;
};

struct team {
	unsigned int nr;
	void (*phase)(struct member *m); /* NULL: the end */
	_Alignas(128) _Atomic unsigned int arrived;
	/* release: what was done before the barrier is seen */
	_Alignas(128) _Atomic unsigned int turn;
	struct member members[TEAM_MAX];
};

/* ---- CPUs ---- */

static cpu_set_t team_cpus; /* allowed to this process when it started */

/* Before the first pin(). */
static inline void team_look(void)
{
	if (sched_getaffinity(0, sizeof(team_cpus), &team_cpus))
		die("cannot ask which CPUs are allowed");
}

/* CPUs as the library sees them; made up: by USLAB_CONF=topology=CPUSxNODES. */
static inline struct act_topology team_topology(void)
{
	struct act_topology topology;

	act_topology(&topology);
	return topology;
}

/* With a made-up topology this thread acts for the CPU of that number, in turns. */
static inline void team_act(size_t number)
{
	struct act_topology topology = team_topology();

	if (topology.made_up)
		act_as_cpu((unsigned int)(number % topology.cpus));
}

/* The number-th of the CPUs to run on: those asked for, then the others; in turns if too few. */
static inline int team_cpu(const struct worker_args *a, unsigned int number)
{
	int order[CPU_SETSIZE];
	unsigned int nr = 0;

	for (int i = 0; i < 2; i++)
		if (a->cpu[i] >= 0)
			order[nr++] = a->cpu[i];
	for (int cpu = CPU_SETSIZE - 1; cpu >= 0; cpu--)
		if (CPU_ISSET((unsigned int)cpu, &team_cpus) && cpu != a->cpu[0] &&
		    cpu != a->cpu[1])
			order[nr++] = cpu;
	return order[number % nr];
}

/* This thread becomes the one of that number. */
static inline void team_take_place(const struct worker_args *a, unsigned int number)
{
	pin(team_cpu(a, number));
	team_act(number);
}

/* ---- phases ---- */

/* Returns when all members have called it. */
static inline void team_wait(struct team *t)
{
	unsigned int turn = atomic_load_explicit(&t->turn, memory_order_acquire), spins = 0;

	if (atomic_fetch_add_explicit(&t->arrived, 1, memory_order_acq_rel) + 1 == t->nr) {
		atomic_store_explicit(&t->arrived, 0, memory_order_relaxed);
		atomic_store_explicit(&t->turn, turn + 1, memory_order_release);
		return;
	}
	while (atomic_load_explicit(&t->turn, memory_order_acquire) == turn)
		ring_wait(&spins);
}

/* All members run phase, which sets their start and end; returns when all have done so. */
static inline void team_run(struct team *t, void (*phase)(struct member *m))
{
	t->phase = phase;
	team_wait(t);
	if (!phase)
		return;
	phase(&t->members[0]);
	team_wait(t);
}

static const struct worker_args *team_args;

static inline void *team_member(void *arg)
{
	struct member *m = arg;

	team_take_place(team_args, m->number);
	for (;;) {
		team_wait(m->team);
		if (!m->team->phase)
			return NULL;
		m->team->phase(m);
		team_wait(m->team);
	}
}

/* Starts a->threads members, 1 to TEAM_MAX; they wait for the first phase. Never freed. */
static inline struct team *team_start(const struct worker_args *a)
{
	struct team *t = harness_alloc(sizeof(*t));

	if (!a->threads || a->threads > TEAM_MAX)
		die("needs 1 to %d threads", TEAM_MAX);
	team_args = a;
	t->nr = a->threads;
	for (unsigned int i = 0; i < t->nr; i++) {
		struct member *m = &t->members[i];

		m->team = t;
		m->number = i;
		m->slots = harness_alloc(a->objects * sizeof(void *));
		if (i && pthread_create(&m->thread, NULL, team_member, m))
			die("cannot start thread %u", i);
	}
	team_take_place(a, 0);
	return t;
}

/* The threads end. */
static inline void team_end(struct team *t)
{
	team_run(t, NULL);
	for (unsigned int i = 1; i < t->nr; i++)
		pthread_join(t->members[i].thread, NULL);
}

/*
 * Cycles of the last phase per thread and object: how the kernel's module calculates its average.
 */
static inline double team_average(const struct team *t, uint64_t objects)
{
	double sum = 0;

	for (unsigned int i = 0; i < t->nr; i++)
		sum += (double)(t->members[i].end - t->members[i].start);
	return sum / t->nr / (double)objects;
}

/*
 * Did all members work at the same time, but for a tenth of the last phase? A CPU that is shared
 * with others, or with another machine, may let them work one after the other: then nothing was
 * concurrent, and the figure would be the luckiest of all.
 */
static inline bool team_overlapped(const struct team *t)
{
	uint64_t first = UINT64_MAX, last = 0, from = 0, to = UINT64_MAX;

	for (unsigned int i = 0; i < t->nr; i++) {
		const struct member *m = &t->members[i];

		first = m->start < first ? m->start : first;
		from = m->start > from ? m->start : from;
		last = m->end > last ? m->end : last;
		to = m->end < to ? m->end : to;
	}
	return to > from && (to - from) * 10 >= (last - first) * 9;
}

#endif /* BENCH_TEAM_H */
