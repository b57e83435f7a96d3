/* SPDX-License-Identifier: MIT */
/*
 * uslab/filtered.c - from /proc/PID/task: each thread has filters of its own, and any may carry out a command
 */
#define _GNU_SOURCE
#include "filtered.h"

#include <dirent.h>
#include <stdio.h>

static bool filtered_thread(const char *folder, const char *thread)
{
	char path[300], line[256];
	unsigned int mode = 0;
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s/status", folder, thread);
	file = fopen(path, "re");
	if (!file)
		return false;
	while (fgets(line, sizeof(line), file))
		if (sscanf(line, "Seccomp: %u", &mode) == 1)
			break;
	fclose(file);
	return mode != 0;
}

bool filtered_process(pid_t pid)
{
	const struct dirent *entry;
	bool found = false;
	char folder[40];
	DIR *dir;

	snprintf(folder, sizeof(folder), "/proc/%d/task", (int)pid);
	dir = opendir(folder);
	while (dir && !found && (entry = readdir(dir)))
		found = entry->d_name[0] != '.' && filtered_thread(folder, entry->d_name);
	if (dir)
		closedir(dir);
	return found;
}
