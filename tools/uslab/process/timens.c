/* SPDX-License-Identifier: MIT */
/*
 * uslab/process/timens.c - the difference of two clocks, by /proc/PID/timens_offsets
 *
 * Data:       none.
 * Flow:       called by remote.c. In: files in /proc; out: a difference. Kernels before Linux 5.6
 *             have no time namespaces, and no such files.
 *
 * That file tells of the namespace which children of the process will be in. That is its own, but
 * for a process between unshare(2) and what follows, which was in the system's own before.
 */
#define _GNU_SOURCE
#include "process/timens.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* "self" or a number. false: it is not known. */
static bool read_namespace(const char *process, const char *kind, char *to, size_t size)
{
	char path[64];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%s/ns/%s", process, kind);
	n = readlink(path, to, size - 1);
	if (n < 0)
		return false;
	to[n] = '\0';
	return true;
}

/* Of the clock of the namespace that its children will be in, less the kernel's. */
static int64_t read_offset(const char *process)
{
	long long seconds, nanoseconds;
	char path[64], line[128];
	int64_t offset = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%s/timens_offsets", process);
	file = fopen(path, "re");
	if (!file)
		return 0;
	while (fgets(line, sizeof(line), file))
		if (sscanf(line, "monotonic %lld %lld", &seconds, &nanoseconds) == 2)
			offset = seconds * 1000 + nanoseconds / 1000000;
	fclose(file);
	return offset;
}

/* The same of its own. */
static int64_t offset_of(const char *process, const char *own)
{
	char children[64];

	if (!read_namespace(process, "time_for_children", children, sizeof(children)) ||
	    strcmp(own, children) != 0)
		return 0;
	return read_offset(process);
}

int64_t timens_ahead_ms(pid_t pid)
{
	char process[16], here[64], there[64];

	snprintf(process, sizeof(process), "%d", (int)pid);
	if (!read_namespace("self", "time", here, sizeof(here)) ||
	    !read_namespace(process, "time", there, sizeof(there)) || !strcmp(here, there))
		return 0;
	return offset_of(process, there) - offset_of("self", here);
}
