/* SPDX-License-Identifier: MIT */
/*
 * misuse/closed_stderr.c - as malloc_closed_stderr.c, of an own cache: reports are still made
 *
 * misuse: closed_stderr
 */
#define _GNU_SOURCE
#include <sys/mman.h>
#include <unistd.h>

#include <uslab/slab.h>

#include "misuse.h"

static void hook(const char *cache, const char *text, void *arg)
{
	(void)text;
	(void)arg;
	dprintf(1, "a report on %s\n", cache);
}

static int start_again(char *program)
{
	close(2);
	execl(program, program, "again", NULL);
	return 1;
}

static void free_twice(struct kmem_cache *s)
{
	void *p = wild(kmem_cache_alloc(s, GFP_KERNEL));

	kmem_cache_free(s, wild(p));
	kmem_cache_free(s, wild(p));
}

int main(int argc, char **argv)
{
	int fd;

	if (argc < 2)
		return start_again(argv[0]);
	fd = memfd_create("precious", 0);
	uslab_set_report_hook(hook, NULL, false);
	free_twice(kmem_cache_create("plain", 64, 0, SLAB_NOLEAKTRACE, NULL));
	dprintf(1, "%ld bytes in the program's descriptor %d\n", (long)lseek(fd, 0, SEEK_END), fd);
	return 0;
}
