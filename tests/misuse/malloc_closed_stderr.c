/* SPDX-License-Identifier: MIT */
/*
 * misuse/malloc_closed_stderr.c - standard error is closed at the start (2>&-), and a file of
 * the program gets its number: no report is written there
 *
 * misuse: malloc_closed_stderr
 * misuse: malloc_closed_stderr_filed USLAB_CONF=report.file=/dev/stdout
 */
#define _GNU_SOURCE
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include "misuse.h"

#define SIZE 352

static int start_again(char *program)
{
	close(2);
	execl(program, program, "again", NULL);
	return 1;
}

/* What a report says of a slab depends on which CPU has the object. */
static void stay_here(void)
{
	cpu_set_t here;

	CPU_ZERO(&here);
	CPU_SET(sched_getcpu(), &here);
	sched_setaffinity(0, sizeof(here), &here);
}

static __attribute__((noinline)) void free_twice(void)
{
	void *p = wild(malloc(SIZE));

	free(wild(p));
	free(wild(p));
}

int main(int argc, char **argv)
{
	int fd;

	if (argc < 2)
		return start_again(argv[0]);
	stay_here();
	fd = memfd_create("precious", 0);
	free_twice();
	dprintf(1, "%ld bytes in the program's descriptor %d\n", (long)lseek(fd, 0, SEEK_END), fd);
	return 0;
}
