/* SPDX-License-Identifier: MIT */
/*
 * uslab/compare/compare_count.c - counts instructions of single operations, in a worker
 *
 * Data:       counter, at_enter: the descriptor of the CPU's counter, and its value at the last
 *             enter.
 * Flow:       called by compare_measure.c in the worker, and by compare_run.c to ask whether the
 *             CPU counts for us. In: marks before and after an operation; out: struct job_count.
 *
 * By the CPU's own counter where the machine lets us have it. Else the worker only says by a signal
 * that an operation begins, and in shared memory whether it is inside of one, and the parent that
 * single-steps it (compare_job.c) counts. What either way itself adds is measured with nothing
 * between the two marks.
 */
#define _GNU_SOURCE
#include "compare/compare_job.h"

#include <linux/perf_event.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

static void ignore(struct job_count *count, unsigned int what)
{
	(void)count;
	(void)what;
}

static const struct count_marks no_marks = { ignore, ignore };

/* ---- by the CPU's counter ---- */

static int counter = -1;  /* descriptor */
static uint64_t at_enter; /* its reading */

static uint64_t read_counter(void)
{
	uint64_t value = 0;

	return read(counter, &value, sizeof(value)) == sizeof(value) ? value : 0;
}

static void enter_counted(struct job_count *count, unsigned int what)
{
	(void)count;
	(void)what;
	at_enter = read_counter();
}

static void leave_counted(struct job_count *count, unsigned int what)
{
	count->instructions[what] += read_counter() - at_enter;
	count->operations[what]++;
}

static bool open_counter(void)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_HARDWARE,
					.size = sizeof(attr),
					.config = PERF_COUNT_HW_INSTRUCTIONS,
					.exclude_kernel = 1,
					.exclude_hv = 1 };

	counter = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	return counter >= 0;
}

static const struct count_marks hardware_marks = { enter_counted, leave_counted };

bool count_by_hardware(void)
{
	struct job_count count = { 0 };
	bool works = open_counter();

	/* Some machines hand out counters that stand still. */
	if (works) {
		enter_counted(&count, JOB_NOTHING);
		leave_counted(&count, JOB_NOTHING);
		works = count.instructions[JOB_NOTHING] > 0;
		close(counter);
	}
	return works;
}

/* ---- by the parent, which steps us ---- */

static void set_phase(struct job_count *count, unsigned int phase)
{
	/* The compiler moves nothing across. */
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	__atomic_store_n(&count->phase, phase, __ATOMIC_RELAXED);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

static void enter_stepped(struct job_count *count, unsigned int what)
{
	raise(SIGUSR1);
	set_phase(count, JOB_INSIDE + what);
}

static void leave_stepped(struct job_count *count, unsigned int what)
{
	(void)what;
	set_phase(count, JOB_OUTSIDE);
}

static const struct count_marks stepped_marks = { enter_stepped, leave_stepped };

/* ---- which of them, and when ---- */

static const struct count_marks *start_counting(struct job *job)
{
	const struct count_marks *marks = &no_marks;

	if (job->counter == JOB_STEPPED)
		marks = &stepped_marks;
	else if (job->counter == JOB_HARDWARE && open_counter())
		marks = &hardware_marks;
	for (int i = 0; i < JOB_NOTHINGS; i++) {
		marks->enter(&job->count, JOB_NOTHING);
		marks->leave(&job->count, JOB_NOTHING);
	}
	return marks;
}

const struct count_marks *count_marks_for(struct job *job, const struct trace_ops *trace, size_t op)
{
	static const struct count_marks *marks;
	size_t interval = trace->nr_ops / JOB_COUNT_OPS;

	/* Odd, so that pairs of an allocation and a free do not hide one of them. */
	interval |= 1;
	if (!op)
		marks = start_counting(job);
	if (op % interval)
		return &no_marks;
	job->count.percent = (uint32_t)(op * 100 / trace->nr_ops);
	return marks;
}
