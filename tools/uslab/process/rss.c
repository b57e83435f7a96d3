/* SPDX-License-Identifier: MIT */
/*
 * uslab/process/rss.c - the resident memory of a process, as the kernel counts it
 *
 * Flow:       called by source.c and ps/ps_rows.c; calls live.c. In: a PID; out: bytes.
 */
#include "process/rss.h"

#include <stdio.h>
#include <unistd.h>

#include "process/live.h"

/*
 * As /proc/PID/smaps_rollup adds it up: what statm says may lag behind by some pages of each CPU.
 */
static bool read_rollup(pid_t pid, uint64_t *bytes)
{
	unsigned long kib = 0;
	char line[256];
	char path[LIVE_PATH];
	FILE *file;

	file = fopen(live_path(path, pid, "smaps_rollup"), "re");
	if (!file)
		return false;
	while (!kib && fgets(line, sizeof(line), file))
		if (sscanf(line, "Rss: %lu kB", &kib) != 1)
			kib = 0;
	fclose(file);
	*bytes = (uint64_t)kib * 1024;
	return kib != 0;
}

static bool read_statm(pid_t pid, uint64_t *bytes)
{
	unsigned long pages = 0;
	char path[LIVE_PATH];
	FILE *file;
	int got;

	file = fopen(live_path(path, pid, "statm"), "re");
	if (!file)
		return false;
	got = fscanf(file, "%*u %lu", &pages);
	fclose(file);
	*bytes = (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
	return got == 1;
}

bool rss_of_process(pid_t pid, uint64_t *bytes)
{
	return read_rollup(pid, bytes) || read_statm(pid, bytes);
}
