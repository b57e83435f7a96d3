/* SPDX-License-Identifier: MIT */
/*
 * stress/malloc/fork_test.c - a storm of forks in a program whose threads never stop allocating
 *
 * ctest: label=full timeout=120 sanitize=no (the sanitizers bring a malloc of their own)
 *
 * A child finds every lock free, every object of the parent valid and every function working: it
 * checks and frees what it inherited, allocates, starts a thread, and forks once more. USLAB_SOAK=N
 * makes N times as many. Plain C, because tests/programs/stress_test.py runs it under LD_PRELOAD.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define NR_THREADS 4
#define NR_FORKS 120
#define NR_KEPT 300
#define PATIENCE 30 /* seconds until a child counts as stuck */

static volatile bool stop;
static unsigned char *kept[NR_KEPT];

static size_t size_of(unsigned int i)
{
	static const size_t sizes[] = { 16, 24, 100, 500, 1500, 5000, 9000, 30000, 70000, 300000 };

	return sizes[i % 10];
}

static void check(bool good, const char *what)
{
	if (good)
		return;
	dprintf(2, "fork_test: %s (process %d)\n", what, (int)getpid());
	_exit(1);
}

static unsigned char *filled(unsigned int i)
{
	unsigned char *p = malloc(size_of(i));

	check(p, "out of memory");
	memset(p, (int)(i % 251), size_of(i));
	return p;
}

static void check_and_free(unsigned char *p, unsigned int i)
{
	check(p[0] == i % 251 && p[size_of(i) - 1] == i % 251, "content lost");
	free(p);
}

/* Hits, misses, slabs made and given back, runs, large blocks: every lock is taken now and then. */
static void *churn(void *arg)
{
	unsigned int i = (unsigned int)(uintptr_t)arg;

	while (!stop) {
		unsigned char *p[80];
		unsigned int nr = i % 80 + 1;

		for (unsigned int j = 0; j < nr; j++)
			p[j] = filled(i + j);
		for (unsigned int j = 0; j < nr; j++)
			check_and_free(p[j], i + j);
		i += 7;
		if (i % 64 == 0)
			free(calloc(1, 6 << 20));
	}
	return NULL;
}

static void *short_churn(void *arg)
{
	for (unsigned int i = 0; i < 500; i++)
		check_and_free(filled(i), i);
	return arg;
}

static void wait_for(pid_t pid)
{
	int status;

	check(waitpid(pid, &status, 0) == pid, "waitpid");
	check(WIFEXITED(status) && WEXITSTATUS(status) == 0, "a child failed or got stuck");
}

/* What every child does; children of children do no more than that. */
static void use_everything(void)
{
	pthread_t thread;

	alarm(PATIENCE);
	for (unsigned int i = 0; i < NR_KEPT; i += 2)
		check_and_free(kept[i], i);
	for (unsigned int i = 0; i < 2000; i++)
		check_and_free(filled(i), i);
	check(!pthread_create(&thread, NULL, short_churn, NULL), "pthread_create");
	pthread_join(thread, NULL);
	for (unsigned int i = 0; i < NR_KEPT; i += 2)
		kept[i] = filled(i);
}

static _Noreturn void in_child(bool again)
{
	pid_t pid;

	use_everything();
	if (again) {
		pid = fork();
		if (pid == 0) {
			use_everything();
			_exit(0);
		}
		wait_for(pid);
	}
	_exit(0);
}

int main(void)
{
	const char *soak = getenv("USLAB_SOAK");
	unsigned long rounds = NR_FORKS * (soak ? strtoul(soak, NULL, 10) : 1);
	pthread_t threads[NR_THREADS];

	for (unsigned int i = 0; i < NR_KEPT; i++)
		kept[i] = filled(i);
	for (unsigned int i = 0; i < NR_THREADS; i++)
		pthread_create(&threads[i], NULL, churn, (void *)(uintptr_t)(i * 1000));
	for (unsigned long i = 0; i < rounds; i++) {
		pid_t pid = fork();

		check(pid >= 0, "fork");
		if (pid == 0)
			in_child(i % 8 == 0);
		wait_for(pid);
	}
	stop = true;
	for (unsigned int i = 0; i < NR_THREADS; i++)
		pthread_join(threads[i], NULL);
	for (unsigned int i = 0; i < NR_KEPT; i++)
		check_and_free(kept[i], i);
	printf("%lu forks\n", rounds);
	return 0;
}
