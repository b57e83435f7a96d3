/* SPDX-License-Identifier: MIT */
/*
 * os/cpu/cpulist.c - the kernel's list format, "0-3,8,10-11"
 *
 * Data:       none: a reader of text, with the position kept by the caller.
 * Invariants: first <= last in every range; no number exceeds NUMBER_MAX.
 * Locks:      none.
 * Flow:       see cpulist.h; calls nothing.
 */
#include <errno.h>

#include "os/cpu/cpulist.h"

/* More than any kernel has CPUs or nodes; far from overflow when numbers are added up. */
#define NUMBER_MAX 1000000u

/* A decimal number. Returns the text behind it, NULL when there is none or it is too large. */
static const char *read_number(const char *text, unsigned int *number)
{
	const char *p = text;
	unsigned int value = 0;

	for (; *p >= '0' && *p <= '9'; p++) {
		value = value * 10 + (unsigned int)(*p - '0');
		if (value > NUMBER_MAX)
			return NULL;
	}
	*number = value;
	return p == text ? NULL : p;
}

int os_cpulist_next(const char **text, unsigned int *first, unsigned int *last)
{
	const char *p = *text;

	if (*p == '\0' || *p == '\n')
		return 0;
	p = read_number(p, first);
	if (!p)
		return -EINVAL;
	*last = *first;
	if (*p == '-') {
		p = read_number(p + 1, last);
		if (!p)
			return -EINVAL;
	}
	if (*last < *first || (*p != ',' && *p != '\0' && *p != '\n'))
		return -EINVAL;
	*text = *p == ',' ? p + 1 : p;
	return 1;
}

int os_cpulist_measure(const char *text, unsigned int *highest, unsigned int *count)
{
	unsigned int first;
	unsigned int last;
	int ret;

	*highest = 0;
	*count = 0;
	while ((ret = os_cpulist_next(&text, &first, &last)) > 0) {
		*count += last - first + 1;
		if (last > *highest)
			*highest = last;
	}
	return ret < 0 || !*count ? -EINVAL : 0;
}
