/* SPDX-License-Identifier: MIT */
/*
 * uslab/compare/compare_worker.c - the worker's side: a process that performs a trace once
 *
 * Flow:       called by cmd_compare.c where argv says --worker; calls trace/trace_share.c for the
 *             trace, replay/replay_stage.c for its caches, inspect/snapshot.c to see that they have
 *             the engine and front asked for, and compare_measure.c. In: two descriptors; out: the
 *             answers in struct job.
 */
#include "compare/compare_job.h"
#include "inspect/snapshot.h"
#include "trace/trace_share.h"
#include "util.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static int fail(struct job *job, const char *what, int ret)
{
	if (!job->error[0])
		snprintf(job->error, sizeof(job->error), "%s: %s", what, strerror(-ret));
	return ret;
}

/* In 6.18 caches that do not ask have no sheaves. */
static bool has_front(const struct snapshot_cache *c, const struct job *job)
{
	return !strcmp(c->front, job->front) ||
	       (!strcmp(job->front, "sheaves:6.18") && !strcmp(c->front, "cpuslab"));
}

/* Is every cache of the kind that was asked for, those of kmalloc too? */
static int check_caches(struct job *job)
{
	struct snapshot *s =
		mmap(NULL, sizeof(*s), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int ret;

	if (s == MAP_FAILED)
		return fail(job, "cannot look at the caches", -ENOMEM);
	ret = snapshot_take(s, &reader_local, (uintptr_t)&uslab_root);
	for (unsigned int i = 0; !ret && i < s->nr_caches; i++) {
		const struct snapshot_cache *c = &s->cache[i];

		if (!c->id || (!strcmp(c->engine, job->engine) && has_front(c, job)))
			continue;
		snprintf(job->error, sizeof(job->error), "cache '%s' has engine %s and front %s",
			 c->name, c->engine, c->front);
		ret = -EINVAL;
	}
	munmap(s, sizeof(*s));
	return ret ? fail(job, "cannot look at the caches", ret) : 0;
}

static int perform(struct stage *stage, struct job *job)
{
	static int (*const measure[])(struct stage * stage, struct job * job) = {
		[JOB_MEMORY] = measure_memory,
		[JOB_TIME] = measure_times,
	};
	uint64_t start;
	int ret = stage_init(stage);

	if (ret)
		return fail(job, "cannot prepare", ret);
	ret = stage_create_caches(stage, job->error, sizeof(job->error));
	/* Takes a while on many CPUs; the timed processes are made the same way. */
	if (!ret && job->task == JOB_MEMORY)
		ret = check_caches(job);
	if (ret)
		return ret;
	start = clock_ns();
	ret = measure[job->task](stage, job);
	job->ns = clock_ns() - start;
	return ret ? fail(job, "cannot measure", ret) : 0;
}

static struct job *map_job(int fd)
{
	void *job = mmap(NULL, sizeof(struct job), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	return job == MAP_FAILED ? NULL : job;
}

int compare_worker(int argc, char **argv)
{
	struct trace_ops trace;
	struct stage stage;
	struct job *job;
	unsigned long trace_fd, job_fd;

	if (argc != 4 || !util_parse_number(argv[2], 0, INT32_MAX, &trace_fd) ||
	    !util_parse_number(argv[3], 0, INT32_MAX, &job_fd))
		return util_usage_error("compare", "%s is for the command itself", argv[1]);
	job = map_job((int)job_fd);
	if (!job)
		return util_fail("compare", "a worker without a job: %s", strerror(errno));
	if (trace_attach((int)trace_fd, &trace)) {
		fail(job, "cannot map the trace", -EINVAL);
		return EXIT_FAILED;
	}
	stage = (struct stage){ .trace = &trace,
				.engine = job->engine,
				.front = job->front,
				.copies = job->copies,
				.spread = job->spread,
				.split = job->split,
				.touch = job->touch };
	/* A parent that steps us sees the signal all the same; without one it is ignored. */
	signal(SIGUSR1, SIG_IGN);
	stage_pin(job->cpu);
	job->done = !perform(&stage, job);
	/* No tidying up: the process ends. */
	return job->done ? EXIT_OK : EXIT_FAILED;
}
