/* SPDX-License-Identifier: MIT */
/*
 * misuse/malloc_closed_stderr.c - standard error is closed at the start (2>&-), and a file of
 * the program gets its number: no report is written there
 *
 * misuse: malloc_closed_stderr
 * misuse: malloc_closed_stderr_filed USLAB_CONF=report.file=/dev/stdout
 */
#define _GNU_SOURCE
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
