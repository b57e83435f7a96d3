/* SPDX-License-Identifier: MIT */
/*
 * uslab/command/filtered.c - seccomp filters of a process, from /proc/PID/task
 *
 * Flow:       called by command.c before it writes. In: the number of filters that the process had
 *             at its start; out: the worst of its threads.
 *
 * Each thread has filters of its own, and any thread may carry out a command. Only of threads that
 * have ended it is no matter that they cannot be read.
 */
#define _GNU_SOURCE
#include "command/filtered.h"

#include <dirent.h>
#include <errno.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <stdlib.h>

struct threads {
	size_t nr;
	unsigned long *number;
};

/* Kernels before 5.9 do not count filters: none are counted. */
static enum filtered classify(unsigned int mode, bool counted, unsigned int filters,
			      uint32_t at_start)
{
	if (mode == SECCOMP_MODE_DISABLED)
		return FILTERED_NOT;
	if (mode != SECCOMP_MODE_FILTER || at_start == 1)
		return FILTERED_SINCE;
	if (at_start == FILTERED_AT_START_ENDS)
		return FILTERED_ENDS;
	if (!counted || !at_start)
		return FILTERED_UNKNOWN;
	return filters < at_start ? FILTERED_NOT : FILTERED_SINCE;
}

/* error: of reading something of a thread or process; 0: there was no more to read. */
static enum filtered classify_error(int error)
{
	return !error || error == ENOENT || error == ESRCH ? FILTERED_NOT : FILTERED_UNREAD;
}

static enum filtered filtered_thread(const char *folder, unsigned long thread, uint32_t at_start)
{
	unsigned int mode = SECCOMP_MODE_DISABLED, filters = 0;
	char path[300], line[256];
	bool counted = false;
	int error = 0;
	FILE *file;

	snprintf(path, sizeof(path), "%s/%lu/status", folder, thread);
	file = fopen(path, "re");
	if (!file)
		return classify_error(errno);
	while (fgets(line, sizeof(line), file)) {
		sscanf(line, "Seccomp: %u", &mode);
		counted |= sscanf(line, "Seccomp_filters: %u", &filters) == 1;
	}
	if (ferror(file))
		error = errno;
	fclose(file);
	return error ? classify_error(error) : classify(mode, counted, filters, at_start);
}

static bool add_thread(struct threads *threads, unsigned long number)
{
	unsigned long *more =
		reallocarray(threads->number, threads->nr + 1, sizeof(*threads->number));

	if (!more)
		return false;
	threads->number = more;
	threads->number[threads->nr++] = number;
	return true;
}

/* All of them before a file is opened: that takes one file descriptor at a time. 0 or an errno. */
static int list_threads(const char *folder, struct threads *threads)
{
	const struct dirent *entry;
	DIR *dir = opendir(folder);
	int error = 0;

	if (!dir)
		return errno;
	errno = 0;
	while (!error && (entry = readdir(dir))) {
		if (entry->d_name[0] != '.' &&
		    !add_thread(threads, strtoul(entry->d_name, NULL, 10)))
			error = ENOMEM;
		errno = 0;
	}
	if (!error)
		error = errno;
	closedir(dir);
	return error;
}

enum filtered filtered_threads(const char *folder, uint32_t at_start)
{
	struct threads threads = { .nr = 0 };
	enum filtered found = classify_error(list_threads(folder, &threads));

	for (size_t i = 0; i < threads.nr && found < FILTERED_SINCE; i++) {
		enum filtered thread = filtered_thread(folder, threads.number[i], at_start);

		if (thread > found)
			found = thread;
	}
	free(threads.number);
	return found;
}

enum filtered filtered_process(pid_t pid, uint32_t at_start)
{
	char folder[40];

	snprintf(folder, sizeof(folder), "/proc/%d/task", (int)pid);
	return filtered_threads(folder, at_start);
}
