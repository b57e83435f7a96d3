/* SPDX-License-Identifier: MIT */
/*
 * uslab/info/allocinfo.h - call sites with what is counted for them, as in /proc/allocinfo
 */
#ifndef TOOLS_ALLOCINFO_H
#define TOOLS_ALLOCINFO_H

#include <stdio.h>

#include "inspect/allocinfo.h"

/* All of a process, in the order of their numbers. */
struct allocinfo_list {
	struct allocinfo info;
	struct allocinfo_site *site; /* nr of them; freed by allocinfo_list_free() */
	size_t nr;
	size_t room;
};

/* 0; -ENOMEM, or -errno of the reader. s: of that process, open. */
int allocinfo_list_take(struct snapshot *s, struct allocinfo_list *list);
void allocinfo_list_free(struct allocinfo_list *list);

/* Two lines, then one for each. */
void allocinfo_print_head(FILE *out);
void allocinfo_print_site(FILE *out, const struct allocinfo_site *site);
/* "file:line func:function", with the module if it has one. */
#define ALLOCINFO_TEXT (SITE_FILE_MAX + SITE_FUNCTION_MAX + SITE_MODULE_MAX + 32)
void allocinfo_text(const struct allocinfo_site *site, char text[ALLOCINFO_TEXT]);

/* The whole file, unsorted, as in the kernel. 0 or -errno. */
int allocinfo_file(FILE *out, struct snapshot *s);

#endif /* TOOLS_ALLOCINFO_H */
