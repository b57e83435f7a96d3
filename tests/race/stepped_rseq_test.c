/* SPDX-License-Identifier: MIT */
/*
 * race/stepped_rseq_test.c - with a debugger that steps through each instruction all calls end
 *
 * ctest: timeout=300
 *
 * The kernel ends a restartable sequence at each signal, so one that begins anew each time never
 * ends where a signal comes after every instruction, as with gdb's "next", a watchpoint of software
 * or "record". Here hits, inline ones too, miss then, and a thread whose slow paths are interrupted
 * time and again goes on without a registration. Others keep theirs; glibc gives none to threads
 * that it creates.
 */
#include <errno.h>
#include <sys/syscall.h>

#include "conformance/pairs.h"

#include "front/percpu.h"
#include "os/cpu/rseq.h"
#include "stepped.h"

#define MANY 70 /* objects: more than an array and its spare have */
#define MOST_STEPS 4000000ul

static struct cache *cache;

static void count_only(unsigned long step)
{
	CHILD_CHECK(step < MOST_STEPS);
}

/* By the inline hits, where there are some. */
static void use(void *arg)
{
	void *p[MANY];

	(void)arg;
	for (unsigned int i = 0; i < MANY; i++)
		take(cache, &p[i]);
	for (unsigned int i = 0; i < MANY; i++)
		give(cache, p[i]);
	CHILD_CHECK(cache_alloc_bulk(cache, GFP_KERNEL, MANY, p) == MANY);
	for (unsigned int i = 0; i < MANY; i++)
		*(void **)p[i] = p[i];
	for (unsigned int i = 0; i < MANY; i++)
		CHILD_CHECK(*(void **)p[i] == p[i]);
	cache_free_bulk(cache, MANY, p);
}

static pthread_barrier_t barrier;

static void *use_elsewhere(void *keeps)
{
	bool had = os_rseq_cpu() >= 0;

	pthread_barrier_wait(&barrier);
	use(NULL);
	*(bool *)keeps = had == (os_rseq_cpu() >= 0);
	return NULL;
}

/* Sequences read half of it as a part of the CPU's number. */
static uint32_t cpu_id_start(void)
{
	return *(uint32_t *)((char *)__builtin_thread_pointer() + os_rseq_offset);
}

static void stepped(const struct pair *pair)
{
	bool keeps = false;
	pthread_t thread;

	cache = make_pair(pair, 64, 0, NULL);
	use(NULL);
	CHILD_CHECK(pthread_barrier_init(&barrier, NULL, 2) == 0);
	CHILD_CHECK(pthread_create(&thread, NULL, use_elsewhere, &keeps) == 0);
	alarm(250);
	CHILD_CHECK(stepped_run(use, NULL, count_only) > 1000);
	CHILD_CHECK(os_rseq_cpu() >= 0 || !cpu_id_start());
	use(NULL);
	pthread_barrier_wait(&barrier);
	CHILD_CHECK(pthread_join(thread, NULL) == 0 && keeps);
	child_deny(SYS_membarrier,
		   EINVAL); /* as kernels before 5.10: arrays are taken all the same */
	finish(cache);
}

int main(int argc, char **argv)
{
	static const struct body bodies[] = { { "stepped", stepped, true, false }, { 0 } };

	if (!stepped_is_possible())
		return 77;
	pairs_each_once = true;
	return pairs_main(argc, argv, "stepped_rseq", bodies);
}
