/* SPDX-License-Identifier: MIT */
/*
 * uslab/top/top_memory.c - the resident memory of the process in `uslab top`
 *
 * Flow:       called by top_screen.c; calls process/resident.c and info/memory_text.c. In: the
 *             source and its last snapshot; out: lines.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "info/memory_text.h"
#include "top/top.h"

static void put_lines(char *text, void (*line)(const char *text, void *arg), void *arg)
{
	char *rest = text;
	char *next;

	while ((next = strsep(&rest, "\n")))
		if (*next || rest)
			line(next, arg);
}

void top_memory(struct top *top, void (*line)(const char *text, void *arg), void *arg)
{
	const struct memory_text_options options = { .empty = false };
	struct resident *r = malloc(sizeof(*r));
	char *text = NULL;
	size_t size = 0;
	FILE *out = r ? open_memstream(&text, &size) : NULL;
	int ret;

	if (top->ended || top->source.options.kind == SOURCE_TREE) {
		line("Only a running process that uses uslab can tell.", arg);
	} else if (out) {
		ret = resident_take(r, &top->source, top->snapshot);
		if (ret)
			fputs(resident_text(ret), out);
		else
			memory_text(out, r, &options);
	}
	if (out && !fclose(out))
		put_lines(text, line, arg);
	free(text);
	free(r);
}
