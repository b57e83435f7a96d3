/* SPDX-License-Identifier: MIT */
/*
 * support/smaps.h - what the system says of a mapping of this process (/proc/self/smaps)
 */
#ifndef SUPPORT_SMAPS_H
#define SUPPORT_SMAPS_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The smaps entry of the mapping that addr lies in, from the line behind its address on. */
static inline bool find_smaps(const void *addr, char *entry, size_t size)
{
	FILE *smaps = fopen("/proc/self/smaps", "r");
	bool inside = false;
	size_t len = 0;
	char line[512];
	int saved = errno;

	entry[0] = '\0';
	while (smaps && fgets(line, sizeof(line), smaps)) {
		unsigned long from;
		unsigned long to;

		if (sscanf(line, "%lx-%lx ", &from, &to) == 2)
			inside = from <= (uintptr_t)addr && (uintptr_t)addr < to;
		if (inside)
			len += (size_t)snprintf(entry + len, size - len, "%s", line);
	}
	if (smaps)
		fclose(smaps);
	errno = saved; /* musl's sscanf() changes it */
	return len > 0;
}

/* A number of it; -1: there is none. */
static inline long smaps_kib(const void *addr, const char *key)
{
	char entry[4096];
	const char *line;

	if (!find_smaps(addr, entry, sizeof(entry)))
		return -1;
	line = strstr(entry, key);
	return line ? atol(line + strlen(key)) : -1;
}

static inline bool smaps_has(const void *addr, const char *text)
{
	char entry[4096];

	return find_smaps(addr, entry, sizeof(entry)) && strstr(entry, text);
}

/* Has it this flag of the line VmFlags: "nh", without huge pages? Emulators do not say. */
static inline bool smaps_has_flag(const void *addr, const char *flag)
{
	char entry[4096];
	char word[8];
	const char *flags;

	snprintf(word, sizeof(word), " %s", flag);
	flags = find_smaps(addr, entry, sizeof(entry)) ? strstr(entry, "VmFlags:") : NULL;
	return flags && strstr(flags, word);
}

#endif /* SUPPORT_SMAPS_H */
