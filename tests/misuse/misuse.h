/* SPDX-License-Identifier: MIT */
/*
 * misuse/misuse.h - what the programs of this folder share
 *
 * Each program makes one mistake. Lines of its first comment say how misuse_test.py runs it:
 *
 *	misuse: CASE [VARIABLE=VALUE...]
 *
 * and expected/CASE.txt is what it must write then.
 */
#ifndef MISUSE_H
#define MISUSE_H

#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* p, of which the compiler knows nothing any more. */
static inline char *wild(const void *p)
{
	const void *volatile hidden = p;

	return (char *)hidden;
}

/*
 * On the CPU where it is: what a report says of a slab depends on which CPU has the object, and
 * what is noticed at once on whether the CPU has an array.
 */
static inline void stay_here(void)
{
	cpu_set_t here;

	CPU_ZERO(&here);
	CPU_SET((unsigned int)sched_getcpu(), &here);
	sched_setaffinity(0, sizeof(here), &here);
}

struct mistake {
	const char *name;
	void (*make)(char *p);
};

/* The one that the first argument names; NULL: none. */
static inline const struct mistake *mistake_named(const struct mistake *all, size_t nr, int argc,
						  char **argv)
{
	for (size_t i = 0; argc > 1 && i < nr; i++)
		if (!strcmp(argv[1], all[i].name))
			return &all[i];
	return NULL;
}

#define MISTAKE_NAMED(all, argc, argv) \
	mistake_named(all, sizeof(all) / sizeof((all)[0]), argc, argv)

/* The program is still there. */
static inline int survived(void)
{
	dprintf(2, "the program goes on\n");
	return 0;
}

#endif /* MISUSE_H */
