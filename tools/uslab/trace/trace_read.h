/* SPDX-License-Identifier: MIT */
/*
 * uslab/trace/trace_read.h - the lines of a file: plain or zstd, named or standard input
 *
 * Memory is bounded whatever the file says: one window of text, and zstd's own window of at most
 * 128 MiB (what zstd refuses beyond by default).
 */
#ifndef TOOLS_TRACE_READ_H
#define TOOLS_TRACE_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TRACE_LINE_MAX 65536u /* bytes of a line */

enum trace_read {
	TRACE_READ_LINE, /* *line without its newline; valid until the next call */
	TRACE_READ_LONG, /* a line of more than TRACE_LINE_MAX bytes, left out */
	TRACE_READ_CUT,	 /* text after the last newline; the file ends in the middle of it */
	TRACE_READ_END,
	TRACE_READ_ERROR /* trace_read_error() says what; nothing follows */
};

struct trace_reader;

/*
 * path "-": standard input. NULL: error (of size bytes) says why, as what follows "FILE:": a text,
 * or "LINE: expected ...".
 */
struct trace_reader *trace_read_open(const char *path, char *error, size_t size);

/* The next line; *length without the newline, and *line is not NUL-terminated. */
enum trace_read trace_read_line(struct trace_reader *r, const char **line, size_t *length);

/* Lines so far: after TRACE_READ_LINE, _LONG and _CUT the number of that line, from 1. */
uint64_t trace_read_number(const struct trace_reader *r);

/* Bytes of the file consumed, and its size (0: not known, a pipe). For progress. */
void trace_read_position(const struct trace_reader *r, uint64_t *done, uint64_t *size);

/* What follows "FILE:LINE:". */
const char *trace_read_error(const struct trace_reader *r);

/* NULL is ignored. */
void trace_read_close(struct trace_reader *r);

#endif /* TOOLS_TRACE_READ_H */
