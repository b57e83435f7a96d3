/* SPDX-License-Identifier: MIT */
/*
 * uslab/compare/compare_job.c - the parent's side of one worker: starts it, steps it, waits for it
 *
 * Data:       struct job, in a file that parent and worker map.
 * Locks:      none: the parent reads answers after the worker has ended; of a worker that is
 *             stepped it reads count.phase and count.percent while the worker is stopped.
 * Flow:       called by compare_run.c and compare_scale.c; calls bench/single_step.c and clock.c.
 *             In: struct job and a contestant; out: the answers in struct job, or why there are
 *             none. The worker begins in compare_worker.c.
 */
#define _GNU_SOURCE
#include "compare/compare.h"
#include "bench/single_step.h"
#include "util.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#define STEP_NS 2000000000u	     /* single steps of one worker take about so long */
#define STEP_OPERATION_NS 500000000u /* and of one operation */
#define STEP_LOOK 256u		     /* steps from one look at the clock to the next */

struct job *job_create(int *fd)
{
	void *job;

	*fd = memfd_create("uslab-job", MFD_CLOEXEC);
	if (*fd < 0)
		return NULL;
	job = ftruncate(*fd, sizeof(struct job))
		      ? MAP_FAILED
		      : mmap(NULL, sizeof(struct job), PROT_READ | PROT_WRITE, MAP_SHARED, *fd, 0);
	if (job != MAP_FAILED)
		return job;
	close(*fd);
	return NULL;
}

void job_destroy(struct job *job, int fd)
{
	munmap(job, sizeof(*job));
	close(fd);
}

/* ---- in the child ---- */

/* What the user says, and behind it, so that it wins, what the job needs. */
static void set_conf(const struct job *job, const struct job_place *place)
{
	const char *user = getenv("USLAB_CONF");
	char topology[48] = "";
	char *conf;

	if (place->cpus)
		snprintf(topology, sizeof(topology), ",topology=%lux%lu", place->cpus,
			 place->nodes);
	/* Timed memory stays resident, see make_resident() of compare_measure.c. */
	if (asprintf(&conf, "%s%sengine=%s,front=%s%s%s", user ? user : "",
		     user && user[0] ? "," : "", place->kind->engine, place->kind->front, topology,
		     job->task == JOB_TIME ? ",purge_limit=1024g,purge_delay=1000000000" : "") < 0)
		_exit(127);
	setenv("USLAB_CONF", conf, 1);
}

static void start(struct job *job, int job_fd, int trace_fd, const struct job_place *place)
{
	char trace[16], own[16];
	char *args[] = { (char *)"uslab",
			 (char *)COMPARE_COMMAND,
			 (char *)JOB_WORKER_OPTION,
			 trace,
			 own,
			 NULL };

	snprintf(trace, sizeof(trace), "%d", trace_fd);
	snprintf(own, sizeof(own), "%d", job_fd);
	fcntl(trace_fd, F_SETFD, 0);
	fcntl(job_fd, F_SETFD, 0);
	set_conf(job, place);
	if (job->counter == JOB_STEPPED)
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
	execv("/proc/self/exe", args);
	snprintf(job->error, sizeof(job->error), "cannot start /proc/self/exe: %s",
		 strerror(errno));
	_exit(127);
}

/* ---- in the parent ---- */

/* Counts the instructions of the operation that begins here. */
static void step_operation(struct tracee *t, struct job_count *count)
{
	uint64_t until = clock_ns() + STEP_OPERATION_NS;
	uint32_t before = JOB_OUTSIDE;

	for (uint64_t steps = 1; step_once(t) == SIGTRAP; steps++) {
		uint32_t phase = __atomic_load_n(&count->phase, __ATOMIC_RELAXED);

		if (phase >= JOB_INSIDE && phase < JOB_INSIDE + JOB_NR_COUNTED) {
			count->instructions[phase - JOB_INSIDE]++;
			count->operations[phase - JOB_INSIDE] += phase != before;
		} else if (before != JOB_OUTSIDE) {
			return;
		}
		before = phase;
		/* Too long: what was counted so far stands for it. */
		if (steps % STEP_LOOK == 0 && clock_ns() > until)
			return;
	}
}

/*
 * All marks up to the end of the process; those that would take more than their share are left out.
 */
static void step_operations(struct tracee *t, struct job_count *count)
{
	uint64_t spent = 0;

	while (step_run_to_mark(t)) {
		uint64_t start = clock_ns();

		if (spent > STEP_NS / 100 * (count->percent + 1))
			continue;
		step_operation(t, count);
		spent += clock_ns() - start;
	}
}

/* Ends when the process does. False: it cannot be waited for. */
static bool wait_for(struct tracee *t, struct job *job)
{
	if (job->counter == JOB_STEPPED) {
		step_operations(t, &job->count);
		if (WIFEXITED(t->status) || WIFSIGNALED(t->status))
			return true;
	}
	while (waitpid(t->pid, &t->status, 0) < 0)
		if (errno != EINTR)
			return false;
	return true;
}

static void explain(const struct job *job, int status, char *error, size_t size)
{
	if (WIFSIGNALED(status))
		snprintf(error, size, "its process was killed by signal %d (%s)", WTERMSIG(status),
			 strsignal(WTERMSIG(status)));
	else if (job->error[0])
		snprintf(error, size, "%s", job->error);
	else
		snprintf(error, size, "its process ended with status %d", WEXITSTATUS(status));
}

bool job_run(struct job *job, int job_fd, int trace_fd, const struct job_place *place, char *error,
	     size_t size)
{
	struct tracee t = { 0 };

	job->done = false;
	job->error[0] = '\0';
	snprintf(job->engine, sizeof(job->engine), "%s", place->kind->engine);
	snprintf(job->front, sizeof(job->front), "%s", place->kind->front);
	memset(&job->memory, 0, sizeof(job->memory));
	memset(&job->count, 0, sizeof(job->count));
	memset(&job->times, 0, sizeof(job->times));
	fflush(NULL);
	t.pid = util_fork();
	if (t.pid == 0)
		start(job, job_fd, trace_fd, place);
	if (t.pid < 0 || !wait_for(&t, job))
		snprintf(error, size, "no process for it: %s", strerror(errno));
	else if (!job->done)
		explain(job, t.status, error, size);
	return job->done;
}
