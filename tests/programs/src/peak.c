/* SPDX-License-Identifier: MIT */
/*
 * programs/src/peak.c - runs a command and writes the peak resident memory of its process tree
 *
 * usage: peak FILE COMMAND ARGS...   writes "<KiB of the largest process> <milliseconds of CPU>"
 *
 * A process inherits the peak of whoever forked it until it calls exec, and Python is large: a
 * small parent is needed to see what a small child takes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static long cpu_ms(const struct rusage *usage)
{
	return (usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) * 1000 +
	       (usage->ru_utime.tv_usec + usage->ru_stime.tv_usec) / 1000;
}

int main(int argc, char **argv)
{
	struct rusage usage;
	FILE *out;
	int status;
	pid_t pid;

	if (argc < 3) {
		fprintf(stderr, "usage: peak FILE COMMAND ARGS...\n");
		return 2;
	}
	pid = fork();
	if (pid == 0) {
		const char *preload = getenv("PEAK_PRELOAD");

		if (preload)
			setenv("LD_PRELOAD", preload, 1);
		unsetenv("PEAK_PRELOAD");
		execvp(argv[2], argv + 2);
		perror(argv[2]);
		_exit(127);
	}
	if (pid < 0 || wait4(pid, &status, 0, &usage) != pid) {
		perror("peak");
		return 1;
	}
	out = fopen(argv[1], "w");
	if (!out || fprintf(out, "%ld %ld\n", usage.ru_maxrss, cpu_ms(&usage)) < 0 || fclose(out)) {
		perror(argv[1]);
		return 1;
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
