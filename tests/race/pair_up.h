/* SPDX-License-Identifier: MIT */
/*
 * race/pair_up.h - rounds of two threads on two CPUs, which begin and end together
 *
 * One is the test's own, on its second CPU, the other one is started here and pins itself to the
 * first. They spin between rounds, which take some microseconds; where other programs want these
 * CPUs, each wait may take a time slice. So how many rounds there are is also a matter of time.
 */
#ifndef RACE_PAIR_UP_H
#define RACE_PAIR_UP_H

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/atomic.h"
#include "child.h"
#include "os/cpu/rseq.h"
#include "meet.h"

#define PAIR_FEW 100	       /* rounds, however long they take */
#define PAIR_SECONDS 15	       /* for the rounds of what is right */
#define PAIR_BROKEN_SECONDS 60 /* until what is broken is seen */

static bool pair_ends; /* with the next round; atomic */
static pthread_t pair_thread;

static bool cpus_are_emulated(void)
{
	FILE *file = fopen("/proc/cpuinfo", "r");
	bool found = false;
	char line[256];

	while (file && !found && fgets(line, sizeof(line), file))
		found = strstr(line, "QEMU TCG");
	if (file)
		fclose(file);
	return found;
}

/* Emulated CPUs take turns of many instructions: no number of rounds is sure to meet a race. */
_Noreturn static void pair_not_seen(unsigned int n)
{
	char text[80];

	snprintf(text, sizeof(text), "race: not seen in %u rounds on emulated CPUs", n);
	child_cannot(text);
}

/* Is there another round, after n? broken: until it is seen, else until there were enough. */
static bool pair_goes_on(unsigned int n, unsigned int enough, bool broken)
{
	static time_t begun; /* of the first round */
	struct timespec now;
	time_t seconds;

	clock_gettime(CLOCK_MONOTONIC, &now);
	if (!n)
		begun = now.tv_sec;
	seconds = now.tv_sec - begun;
	if (!broken)
		return n < enough && (n < PAIR_FEW || seconds < PAIR_SECONDS);
	if (seconds >= PAIR_BROKEN_SECONDS && cpus_are_emulated())
		pair_not_seen(n);
	return seconds < PAIR_BROKEN_SECONDS;
}

/* To the CPU of that number among those that this thread may use. */
static void pin(unsigned int which)
{
	cpu_set_t all, one;
	int cpu = 0;

	sched_getaffinity(0, sizeof(all), &all);
	for (;; cpu++)
		if (CPU_ISSET(cpu, &all) && !which--)
			break;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	sched_setaffinity(0, sizeof(one), &one);
}

static bool pair_is_possible(void)
{
	cpu_set_t set;

	sched_getaffinity(0, sizeof(set), &set);
	return CPU_COUNT(&set) >= 2;
}

static void pair_start(void *(*run)(void *))
{
	CHILD_CHECK(!pthread_create(&pair_thread, NULL, run, NULL));
	pin(1);
}

static void pair_end(void)
{
	store_relaxed(&pair_ends, true);
	meet();
	pthread_join(pair_thread, NULL);
}

/*
 * Runs rounds in a child, whose argument says what is broken. 0: nothing is, and it passes; else it
 * must find that; on emulated CPUs the test is skipped if it does not.
 */
static void pair_run(void (*rounds)(void *), int broken)
{
	struct child c;

	if (!os_rseq_on || !pair_is_possible())
		skip(); /* nothing is under way on another CPU */
	if (!broken) {
		c = child_run(rounds, &broken);
		assert_true(child_passed(&c));
		return;
	}
	c = child_run_broken(rounds, &broken);
	printf("race: broken on purpose (%d): status %#x, %.90s\n", broken, c.status, c.text);
	assert_int_not_equal(c.status, 0);
}

#endif /* RACE_PAIR_UP_H */
