/* SPDX-License-Identifier: MIT */
/*
 * uslab/command/filtered.c - seccomp filters of a process, from /proc/PID/task
 *
 * Flow:       called by command.c before it writes. In: the number of filters that the process had
 *             at its start; out: the worst of its threads.
 *
 * Each thread has filters of its own, and any thread may carry out a command.
 */
#define _GNU_SOURCE
#include "command/filtered.h"

#include <dirent.h>
#include <linux/seccomp.h>
#include <stdio.h>

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

static enum filtered filtered_thread(const char *folder, const char *thread, uint32_t at_start)
{
	unsigned int mode = SECCOMP_MODE_DISABLED, filters = 0;
	char path[300], line[256];
	bool counted = false;
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s/status", folder, thread);
	file = fopen(path, "re");
	if (!file)
		return FILTERED_NOT;
	while (fgets(line, sizeof(line), file)) {
		sscanf(line, "Seccomp: %u", &mode);
		counted |= sscanf(line, "Seccomp_filters: %u", &filters) == 1;
	}
	fclose(file);
	return classify(mode, counted, filters, at_start);
}

enum filtered filtered_threads(const char *folder, uint32_t at_start)
{
	enum filtered found = FILTERED_NOT;
	const struct dirent *entry;
	DIR *dir = opendir(folder);

	while (dir && found < FILTERED_SINCE && (entry = readdir(dir))) {
		enum filtered thread = FILTERED_NOT;

		if (entry->d_name[0] != '.')
			thread = filtered_thread(folder, entry->d_name, at_start);
		if (thread > found)
			found = thread;
	}
	if (dir)
		closedir(dir);
	return found;
}

enum filtered filtered_process(pid_t pid, uint32_t at_start)
{
	char folder[40];

	snprintf(folder, sizeof(folder), "/proc/%d/task", (int)pid);
	return filtered_threads(folder, at_start);
}
