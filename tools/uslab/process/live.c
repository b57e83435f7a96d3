/* SPDX-License-Identifier: MIT */
/*
 * uslab/process/live.c - a thread by which the memory of a process can be reached
 *
 * Data:       none: the thread that was found may end at any time, so it is looked for each time.
 * Flow:       called by target.c, rss.c, remote.c, mapped_file.c, pagemap.c, resident.c,
 *             symbols/, command/command.c and command_messages.c. In: a PID; out: a thread of it.
 *
 * /proc/PID/task/THREAD/stat tells everybody how large the address space of a thread is; it is 0
 * once the thread has ended.
 */
#define _GNU_SOURCE
#include "process/live.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FIELDS_BEFORE_SIZE 21 /* behind the name, each after a space */

static bool has_memory(const char *stat)
{
	int fd = open(stat, O_RDONLY | O_CLOEXEC);
	char text[1024];
	ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);
	const char *at;

	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = '\0';
	at = strrchr(text, ')'); /* the name may have any character */
	for (int i = 0; at && i < FIELDS_BEFORE_SIZE; i++)
		at = strchr(at + 1, ' ');
	return at && strtoull(at, NULL, 10);
}

/* 0: none. */
static pid_t find_other(pid_t pid)
{
	const struct dirent *entry;
	pid_t found = 0;
	char path[320];
	DIR *threads;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	threads = opendir(path);
	while (threads && !found && (entry = readdir(threads))) {
		snprintf(path, sizeof(path), "/proc/%d/task/%s/stat", (int)pid, entry->d_name);
		if (entry->d_name[0] != '.' && has_memory(path))
			found = (pid_t)strtol(entry->d_name, NULL, 10);
	}
	if (threads)
		closedir(threads);
	return found;
}

pid_t live_thread(pid_t pid)
{
	char path[LIVE_PATH];
	pid_t other;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", (int)pid, (int)pid);
	if (has_memory(path))
		return pid;
	other = find_other(pid);
	return other ? other : pid;
}

const char *live_path(char buf[LIVE_PATH], pid_t pid, const char *file)
{
	snprintf(buf, LIVE_PATH, "/proc/%d/%s", (int)live_thread(pid), file);
	return buf;
}
