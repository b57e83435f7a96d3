/* SPDX-License-Identifier: MIT */
/*
 * examples/nolock.c - a profiler's signal handler, which may interrupt anything, the allocator too
 *
 *   $ cc -O2 nolock.c -luslab -o nolock
 *   $ ./nolock
 *   all samples were kept
 */
#define _XOPEN_SOURCE 700
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>
#include <uslab/slab.h>

#define SAMPLES 20

struct sample {
	struct sample *next;
	int number;
};

static struct sample *volatile last;
static volatile sig_atomic_t taken, dropped;

/* Of the node that this runs on; else of node 0. */
static struct sample *new_sample(void)
{
	struct sample *sample =
		kmalloc_nolock(sizeof(*sample), __GFP_ZERO, NUMA_NO_NODE);

	return sample ? sample
		      : kmalloc_nolock_node(sizeof(*sample), __GFP_ZERO, 0);
}

static void on_timer(int sig)
{
	struct sample *sample = new_sample();

	(void)sig;
	if (!sample) { /* to try again at once is no use */
		dropped = dropped + 1;
		return;
	}
	taken = taken + 1;
	sample->number = taken;
	if (sample->number % 2) { /* not of interest */
		kfree_nolock(sample);
		return;
	}
	sample->next = last;
	last = sample;
}

int main(void)
{
	const struct sigaction action = { .sa_handler = on_timer,
					  .sa_flags = SA_RESTART };
	const struct itimerval often = { { 0, 100 }, { 0, 100 } };
	const struct itimerval never = { { 0, 0 }, { 0, 0 } };
	struct sample *sample;
	int kept = 0;
	void *p[64];

	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	while (taken <
	       SAMPLES) { /* the work, in the middle of which the handler comes */
		for (int i = 0; i < 64; i++)
			p[i] = kmalloc(100, GFP_KERNEL);
		for (int i = 0; i < 64; i++)
			kfree(p[i]);
	}
	setitimer(ITIMER_REAL, &never, NULL);
	while ((sample = last)) {
		last = sample->next;
		kept++;
		kfree(sample); /* outside, as any other block */
	}
	if (kept == taken / 2)
		printf("all samples were kept\n");
	return 0;
}
