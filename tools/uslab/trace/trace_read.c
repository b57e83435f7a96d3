/* SPDX-License-Identifier: MIT */
/*
 * uslab/trace/trace_read.c - the lines of a file: plain or zstd, named or standard input
 *
 * Flow:       called by trace_load.c; calls libzstd. In: a file, a pipe or standard input; out: one
 *             line at a time, valid until the next call.
 *
 * The file's first bytes, not its name, say what it is. Bytes go through `in` (as they are in the
 * file) to `text` (lines), which holds two of the longest lines, so that a whole line always fits.
 */
#include "trace/trace_read.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#define IN_SIZE 131072u
#define TEXT_SIZE (2 * TRACE_LINE_MAX + 2)

struct trace_reader {
	int fd;
	uint64_t file_size; /* bytes; 0: a pipe or device */
	uint64_t consumed;  /* bytes taken out of in[] */
	uint64_t number;    /* lines */
	ZSTD_DStream *zstd; /* NULL: plain text */
	bool frame_open;    /* zstd expects more of the frame that it is in */
	bool at_end;	    /* read() returned 0 */
	bool failed;
	bool in_long; /* text[] goes on with the rest of a line that was too long */
	size_t in_start, in_end;
	size_t text_start, text_end;
	char in[IN_SIZE];
	char text[TEXT_SIZE];
	char error[256];
};

/* Files that people try, and what helps. */
static const struct {
	const char *magic;
	size_t length;
	const char *advice;
} foreign[] = {
	{ "\x17\x08\x44tracing", 10, "a trace.dat file; give the output of 'trace-cmd report'" },
	{ "PERFILE2", 8, "a perf.data file; give the output of 'perf script'" },
	{ "2ELIFREP", 8, "a perf.data file; give the output of 'perf script'" },
	{ "\x1f\x8b", 2, "a gzip file; give the output of 'zcat'" },
	{ "\xfd"
	  "7zXZ",
	  5, "an xz file; give the output of 'xzcat'" },
	{ "BZh", 3, "a bzip2 file; give the output of 'bzcat'" },
	{ "\x04\x22\x4d\x18", 4, "an lz4 file; give the output of 'lz4 -dc'" },
	{ "PK\x03\x04", 4, "a zip file; give the text in it" },
	{ "\x7f"
	  "ELF",
	  4, "a program" },
};

/* Frees the start of the buffer and reads once. false: at the end, or failed. */
static bool fill_in(struct trace_reader *r)
{
	ssize_t got;

	if (r->at_end || r->failed)
		return false;
	memmove(r->in, r->in + r->in_start, r->in_end - r->in_start);
	r->in_end -= r->in_start;
	r->in_start = 0;
	do
		got = read(r->fd, r->in + r->in_end, IN_SIZE - r->in_end);
	while (got < 0 && errno == EINTR);
	if (got < 0) {
		snprintf(r->error, sizeof(r->error), "cannot read: %s", strerror(errno));
		r->failed = true;
		return false;
	}
	r->at_end = got == 0;
	r->in_end += (size_t)got;
	return got > 0;
}

static bool is_zstd(const char *in, size_t length)
{
	static const char frame[4] = { '\x28', '\xb5', '\x2f', '\xfd' };

	if (length < 4)
		return false;
	/* A skippable frame may come first: 50..5f 2a 4d 18. */
	return !memcmp(in, frame, 4) ||
	       ((in[0] & 0xf0) == 0x50 && !memcmp(in + 1, "\x2a\x4d\x18", 3));
}

/* Looks at the first bytes. false: error is filled. */
static bool detect(struct trace_reader *r)
{
	while (r->in_end < 16 && fill_in(r))
		;
	if (r->failed)
		return false;
	for (size_t i = 0; i < sizeof(foreign) / sizeof(foreign[0]); i++) {
		if (r->in_end < foreign[i].length ||
		    memcmp(r->in, foreign[i].magic, foreign[i].length))
			continue;
		snprintf(r->error, sizeof(r->error), "1: expected the text of a trace, found %s",
			 foreign[i].advice);
		return false;
	}
	if (!is_zstd(r->in, r->in_end))
		return true;
	r->zstd = ZSTD_createDStream();
	if (!r->zstd)
		snprintf(r->error, sizeof(r->error), " out of memory");
	return r->zstd != NULL;
}

struct trace_reader *trace_read_open(const char *path, char *error, size_t size)
{
	struct trace_reader *r = calloc(1, sizeof(*r));
	struct stat st;

	if (!r) {
		snprintf(error, size, " out of memory");
		return NULL;
	}
	r->fd = strcmp(path, "-") ? open(path, O_RDONLY | O_CLOEXEC) : STDIN_FILENO;
	if (r->fd < 0 || fstat(r->fd, &st)) {
		snprintf(error, size, " cannot open: %s", strerror(errno));
		trace_read_close(r);
		return NULL;
	}
	if (S_ISREG(st.st_mode))
		r->file_size = (uint64_t)st.st_size;
	if (!detect(r)) {
		snprintf(error, size, "%s%s", r->failed ? " " : "", r->error);
		trace_read_close(r);
		return NULL;
	}
	return r;
}

/* Plain: in[] -> text[]. false: nothing left. */
static bool fill_text_plain(struct trace_reader *r)
{
	size_t space = TEXT_SIZE - r->text_end;
	size_t n;

	if (r->in_start == r->in_end && !fill_in(r))
		return false;
	n = r->in_end - r->in_start;
	if (n > space)
		n = space;
	memcpy(r->text + r->text_end, r->in + r->in_start, n);
	r->in_start += n;
	r->consumed += n;
	r->text_end += n;
	return true;
}

/* zstd: the same; a file may hold several frames. */
static bool fill_text_zstd(struct trace_reader *r)
{
	ZSTD_outBuffer out = { r->text, TEXT_SIZE, r->text_end };

	while (out.pos == r->text_end) {
		ZSTD_inBuffer in;
		size_t hint;

		if (r->in_start == r->in_end && !fill_in(r)) {
			/* What zstd still holds comes out without further input. */
			if (r->failed || !r->frame_open)
				return false;
		}
		in = (ZSTD_inBuffer){ r->in, r->in_end, r->in_start };
		hint = ZSTD_decompressStream(r->zstd, &out, &in);
		if (ZSTD_isError(hint)) {
			snprintf(r->error, sizeof(r->error), "the zstd data is damaged: %s",
				 ZSTD_getErrorName(hint));
			r->failed = true;
			return false;
		}
		r->consumed += in.pos - r->in_start;
		r->frame_open = hint != 0;
		if (in.pos == r->in_start && out.pos == r->text_end && r->at_end) {
			snprintf(
				r->error, sizeof(r->error),
				"the zstd data ends early: expected the rest of the compressed frame");
			r->failed = true;
			return false;
		}
		r->in_start = in.pos;
	}
	r->text_end = out.pos;
	return true;
}

/* More bytes behind text_end; at least one fits. false: end or failed. */
static bool fill_text(struct trace_reader *r)
{
	if (r->failed)
		return false;
	return r->zstd ? fill_text_zstd(r) : fill_text_plain(r);
}

/* Throws away the rest of a line that is too long, if it was one. false: failed. */
static bool skip_rest(struct trace_reader *r)
{
	while (r->in_long) {
		char *newline = memchr(r->text + r->text_start, '\n', r->text_end - r->text_start);

		if (newline) {
			r->text_start = (size_t)(newline + 1 - r->text);
			r->in_long = false;
			break;
		}
		r->text_start = r->text_end = 0;
		if (!fill_text(r))
			return !r->failed;
	}
	return true;
}

enum trace_read trace_read_line(struct trace_reader *r, const char **line, size_t *length)
{
	size_t searched = 0; /* bytes after text_start that hold no newline */

	if (!skip_rest(r))
		return TRACE_READ_ERROR;
	for (;;) {
		char *from = r->text + r->text_start;
		size_t have = r->text_end - r->text_start;
		char *newline = memchr(from + searched, '\n', have - searched);

		if (newline || have > TRACE_LINE_MAX)
			r->number++;
		if ((newline ? (size_t)(newline - from) : have) > TRACE_LINE_MAX) {
			r->in_long = true; /* its end, if it has one, is for who reads on */
			return TRACE_READ_LONG;
		}
		if (newline) {
			*line = from;
			*length = (size_t)(newline - from);
			r->text_start += *length + 1;
			return TRACE_READ_LINE;
		}
		searched = have;
		memmove(r->text, from, have);
		r->text_start = 0;
		r->text_end = have;
		if (fill_text(r))
			continue;
		if (r->failed)
			return TRACE_READ_ERROR;
		if (!have)
			return TRACE_READ_END;
		r->number++;
		*line = r->text;
		*length = have;
		r->text_start = r->text_end;
		return TRACE_READ_CUT;
	}
}

uint64_t trace_read_number(const struct trace_reader *r)
{
	return r->number;
}

void trace_read_position(const struct trace_reader *r, uint64_t *done, uint64_t *size)
{
	*done = r->consumed;
	*size = r->file_size;
}

const char *trace_read_error(const struct trace_reader *r)
{
	return r->error;
}

void trace_read_close(struct trace_reader *r)
{
	if (!r)
		return;
	if (r->fd > STDIN_FILENO)
		close(r->fd);
	ZSTD_freeDStream(r->zstd);
	free(r);
}
