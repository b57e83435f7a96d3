/* SPDX-License-Identifier: MIT */
/*
 * stress/malloc/fork_streams_test.c - forks beside threads that hold libc's
 * lock of its list of streams
 *
 * ctest: label=full timeout=120 sanitize=no (the sanitizers bring a malloc of their own)
 *
 * fopen(), fclose() and fflush(NULL) take that lock, and allocate or free while other threads
 * are about to fork; fork() takes it too. Children use streams and malloc themselves. Whoever
 * hangs is ended by alarm().
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define FORKS 300
#define LINE 60000

static char path[] = "/tmp/uslab-fork-streams-XXXXXX";
static bool stop;

static void fail(const char *what)
{
	fprintf(stderr, "fork_streams_test: %s\n", what);
	exit(1);
}

/* Of a new stream each time, so that the stream and its buffer are allocated and freed. */
static void read_line(void)
{
	FILE *file = fopen(path, "r");
	char *line = NULL;
	size_t room = 0;

	if (!file || getline(&line, &room, file) != LINE)
		fail("getline");
	free(line);
	fclose(file);
}

static void *reads(void *arg)
{
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED))
		read_line();
	return arg;
}

/* A stream without a buffer gets it when it is flushed or written to, under the lock. */
static void *flushes(void *arg)
{
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		FILE *file = fopen("/dev/null", "w");
		char *text;
		size_t size;
		FILE *memory = open_memstream(&text, &size);

		if (!file || !memory)
			fail("fopen");
		fputc('x', file);
		for (int i = 0; i < 3000; i++)
			fputs("text", memory);
		fflush(NULL);
		fclose(file);
		fclose(memory);
		free(text);
	}
	return arg;
}

static void child(void)
{
	void *(*volatile any)(size_t) = malloc; /* the compiler must not know it */

	alarm(60);
	read_line();
	fflush(NULL);
	free(any(100000));
	_exit(0);
}

int main(void)
{
	static void *(*const bodies[])(void *) = { reads, flushes, reads, flushes };
	pthread_t thread[4];
	int fd = mkstemp(path);
	char line[LINE];
	int status;

	memset(line, 'a', sizeof(line));
	line[LINE - 1] = '\n';
	if (fd < 0 || write(fd, line, LINE) != LINE)
		fail("no file");
	setbuf(stdout, NULL);
	alarm(110);
	for (int i = 0; i < 4; i++)
		if (pthread_create(&thread[i], NULL, bodies[i], NULL))
			fail("pthread_create");
	for (int i = 0; i < FORKS; i++) {
		pid_t pid = fork();

		if (pid == 0)
			child();
		if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
			fail("a child failed");
	}
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	for (int i = 0; i < 4; i++)
		pthread_join(thread[i], NULL);
	unlink(path);
	return 0;
}
