/* SPDX-License-Identifier: MIT */
/*
 * uslab/compare/compare_html.h - the JSON of `uslab compare` as one page that needs no other file
 */
#ifndef TOOLS_COMPARE_HTML_H
#define TOOLS_COMPARE_HTML_H

#include <stddef.h>
#include <stdio.h>

/*
 * Writes the page, and flushes it: 0, or -errno of what could not be written. json is valid JSON.
 */
int compare_html_write(FILE *out, const char *json, size_t size);

#endif /* TOOLS_COMPARE_HTML_H */
