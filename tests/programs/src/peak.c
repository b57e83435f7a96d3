/* SPDX-License-Identifier: MIT */
/*
 * programs/src/peak.c - runs a command and writes the peak resident memory of its process tree
 *
 * usage: peak FILE COMMAND ARGS...   writes "<KiB of the largest process> <milliseconds of CPU>"
 *
 * With PEAK_ANONYMOUS in the environment the peak is the command's own, without pages of files: how
 * many of those are mapped depends on how the files lie in the page cache. They are counted where
 * the command exits (ptrace), which is when it has most of them.
 *
 * With PEAK_SMALL_PAGES the command gets no huge pages, whatever the system says of them: with
 * those a fault is one page or 512, as the kernel finds room.
 *
 * A process inherits the peak of whoever forked it until it calls exec, and Python is large: a
 * small parent is needed to see what a small child takes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static long cpu_ms(const struct rusage *usage)
{
	return (usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) * 1000 +
	       (usage->ru_utime.tv_usec + usage->ru_stime.tv_usec) / 1000;
}

/* A line of /proc/PID/status, in KiB. */
static long status_kib(pid_t pid, const char *key)
{
	char line[256];
	long value = -1;
	FILE *in;

	snprintf(line, sizeof(line), "/proc/%d/status", (int)pid);
	in = fopen(line, "r");
	while (in && value < 0 && fgets(line, sizeof(line), in))
		if (!strncmp(line, key, strlen(key)))
			value = atol(line + strlen(key));
	if (in)
		fclose(in);
	return value;
}

/*
 * Waits for the traced command. Returns its peak without files, -1: it never came
 * to its exit, or who knows.
 */
static long trace(pid_t pid, int *status, struct rusage *usage)
{
	long anonymous = -1;
	int signal = 0;
	int first = 1;

	for (;;) {
		long all, files;

		if (wait4(pid, status, 0, usage) != pid)
			return -1;
		if (!WIFSTOPPED(*status))
			return anonymous;
		signal = WSTOPSIG(*status);
		if (first && ptrace(PTRACE_SETOPTIONS, pid, 0, PTRACE_O_TRACEEXIT))
			return -1;
		if (*status >> 8 == (SIGTRAP | PTRACE_EVENT_EXIT << 8)) {
			all = status_kib(pid, "VmHWM:");
			files = status_kib(pid, "RssFile:");
			anonymous = all > 0 && files > 0 ? all - files : -1;
		}
		if (signal == SIGTRAP)
			signal = 0; /* exec, exit */
		first = 0;
		if (ptrace(PTRACE_CONT, pid, 0, signal))
			return -1;
	}
}

int main(int argc, char **argv)
{
	struct rusage usage;
	FILE *out;
	int status;
	pid_t pid;
	long peak;
	int traced = getenv("PEAK_ANONYMOUS") != NULL;

	if (argc < 3) {
		fprintf(stderr, "usage: peak FILE COMMAND ARGS...\n");
		return 2;
	}
	pid = fork();
	if (pid == 0) {
		const char *preload = getenv("PEAK_PRELOAD");
		int small = getenv("PEAK_SMALL_PAGES") != NULL;

		if (preload)
			setenv("LD_PRELOAD", preload, 1);
		unsetenv("PEAK_PRELOAD");
		unsetenv("PEAK_ANONYMOUS");
		unsetenv("PEAK_SMALL_PAGES");
		if (small && prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0)) {
			perror("PR_SET_THP_DISABLE");
			_exit(126);
		}
		if (traced && ptrace(PTRACE_TRACEME, 0, 0, 0)) {
			perror("ptrace");
			_exit(126);
		}
		execvp(argv[2], argv + 2);
		perror(argv[2]);
		_exit(127);
	}
	if (pid > 0 && traced)
		peak = trace(pid, &status, &usage);
	else
		peak = pid > 0 && wait4(pid, &status, 0, &usage) == pid ? usage.ru_maxrss : -1;
	if (peak < 0) {
		perror("peak");
		return 1;
	}
	out = fopen(argv[1], "w");
	if (!out || fprintf(out, "%ld %ld\n", peak, cpu_ms(&usage)) < 0 || fclose(out)) {
		perror(argv[1]);
		return 1;
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
