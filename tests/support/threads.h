/* SPDX-License-Identifier: MIT */
/*
 * support/threads.h - some threads that do the same, until all of them have done it; how many there
 * are
 */
#ifndef SUPPORT_THREADS_H
#define SUPPORT_THREADS_H

#include <dirent.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#define THREADS_MAX 8

/* Of this process, by the system. */
static inline unsigned int nr_threads(void)
{
	DIR *dir = opendir("/proc/self/task");
	unsigned int n = 0;

	while (readdir(dir))
		n++;
	closedir(dir);
	return n - 2; /* . and .. */
}

/* A thread that does nothing until *stop: so that the process has more than one. */
static inline void *threads_wait(void *stop)
{
	const struct timespec ms = { 0, 1000000 };

	while (!__atomic_load_n((bool *)stop, __ATOMIC_RELAXED))
		nanosleep(&ms, NULL);
	return NULL;
}

/* With the arguments (void *)1, (void *)2, ... */
static inline void threads_run(unsigned int nr, void *(*work)(void *arg))
{
	pthread_t threads[THREADS_MAX];

	for (unsigned int i = 0; i < nr; i++)
		if (nr > THREADS_MAX ||
		    pthread_create(&threads[i], NULL, work, (void *)(uintptr_t)(i + 1)))
			abort();
	for (unsigned int i = 0; i < nr; i++)
		pthread_join(threads[i], NULL);
}

/* The same beside one (or NULL) that goes on until *stop, which it reads as an atomic. */
static inline void threads_run_beside(unsigned int nr, void *(*work)(void *arg),
				      void *(*beside)(void *arg), bool *stop)
{
	pthread_t other;

	if (beside && pthread_create(&other, NULL, beside, NULL))
		abort();
	threads_run(nr, work);
	__atomic_store_n(stop, true, __ATOMIC_RELAXED);
	if (beside)
		pthread_join(other, NULL);
}

#endif /* SUPPORT_THREADS_H */
