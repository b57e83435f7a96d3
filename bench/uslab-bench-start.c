/* SPDX-License-Identifier: MIT */
/*
 * bench/uslab-bench-start.c - runs a command and writes what it took
 *
 * Flow:       started by scripts/bench-malloc. In: a file to write, a command, and BENCH_PRELOAD in
 *             the environment, which becomes the command's LD_PRELOAD; out: one line in the file.
 *
 * usage: uslab-bench-start FILE COMMAND ARGS...
 *
 * The line: nanoseconds from fork to end, microseconds of user and of system time, peak resident
 * memory in KiB, minor and major page faults. Times and faults are those of the command and of all
 * processes that it waited for, the peak is that of the largest of them (wait4).
 *
 * A process has the peak of whoever forked it from exec on, and Python is large: a small parent is
 * needed to see what a small child takes. It is linked to no allocator but libc's.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static long long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

static long long microseconds(struct timeval t)
{
	return t.tv_sec * 1000000ll + t.tv_usec;
}

/* In the child. */
static void become(char **command)
{
	const char *preload = getenv("BENCH_PRELOAD");

	if (preload && setenv("LD_PRELOAD", preload, 1))
		_exit(126);
	unsetenv("BENCH_PRELOAD");
	execvp(command[0], command);
	perror(command[0]);
	_exit(127);
}

int main(int argc, char **argv)
{
	struct rusage usage;
	long long start;
	int status;
	pid_t pid;
	FILE *out;

	if (argc < 3) {
		fprintf(stderr, "usage: %s FILE COMMAND ARGS...\n", argv[0]);
		return 2;
	}
	start = now();
	pid = fork();
	if (pid == 0)
		become(argv + 2);
	if (pid < 0 || wait4(pid, &status, 0, &usage) != pid) {
		perror(argv[0]);
		return 1;
	}
	start = now() - start;
	out = fopen(argv[1], "we");
	if (!out ||
	    fprintf(out, "%lld %lld %lld %ld %ld %ld\n", start, microseconds(usage.ru_utime),
		    microseconds(usage.ru_stime), usage.ru_maxrss, usage.ru_minflt,
		    usage.ru_majflt) < 0 ||
	    fclose(out)) {
		perror(argv[1]);
		return 1;
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
