/* SPDX-License-Identifier: MIT */
/*
 * uslab/html/files.h - the parts of the page, inside the command
 *
 * The build makes the tables from the files of this folder (cmake/embed.cmake); names are paths seen from here.
 */
#ifndef TOOLS_HTML_FILES_H
#define TOOLS_HTML_FILES_H

#include <stddef.h>

struct html_file {
	const char *name;
	const char *data; /* followed by a 0 that size does not count */
	size_t size;
};

extern const struct html_file html_files[];
extern const size_t html_nr_files;

#endif /* TOOLS_HTML_FILES_H */
