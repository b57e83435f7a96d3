/* SPDX-License-Identifier: MIT */
/*
 * misuse/flood.c - the same mistake again and again: the first reports are written, the others
 * counted, which is said at the end; the hook is given all
 *
 * misuse: flood USLAB_CONF=report.burst=2,report.interval=100000
 * misuse: flood_hook USLAB_CONF=report.burst=2,report.interval=100000 argument=hook
 * misuse: flood_quiet USLAB_CONF=report.burst=2,report.interval=100000 argument=quiet
 * misuse: flood_child USLAB_CONF=report.burst=2,report.interval=100000 argument=child
 */
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <uslab/slab.h>

#include "misuse.h"

#define NR 5000

static unsigned long told;

static void hook(const char *cache, const char *text, void *arg)
{
	(void)arg;
	told += !strcmp(cache, "mine") && !strncmp(text, "=====", 5);
}

/* In another CPU's array the object is found by a drain, which changes the counts in the report. */
static void stay_on_this_cpu(void)
{
	cpu_set_t here;

	CPU_ZERO(&here);
	CPU_SET(sched_getcpu(), &here);
	sched_setaffinity(0, sizeof(here), &here);
}

static __attribute__((noinline)) void flood(struct kmem_cache *mine)
{
	char *p = wild(kmem_cache_alloc(mine, GFP_KERNEL));

	kmem_cache_free(mine, p);
	for (int i = 0; i < NR; i++)
		kmem_cache_free(mine, wild(p));
}

/* What its parent left out is not the child's. */
static void fork_one(void)
{
	pid_t pid = fork();

	if (!pid)
		exit(0);
	waitpid(pid, NULL, 0);
}

int main(int argc, char **argv)
{
	struct kmem_cache *mine = kmem_cache_create("mine", 72, 0, 0, NULL);
	const char *how = argc > 1 ? argv[1] : "";

	if (!strcmp(how, "hook") || !strcmp(how, "quiet"))
		uslab_set_report_hook(hook, NULL, how[0] == 'q');
	stay_on_this_cpu();
	flood(mine);
	if (*how && how[0] != 'c')
		dprintf(2, "the hook has %lu reports\n", told);
	if (how[0] == 'c')
		fork_one();
	return survived();
}
