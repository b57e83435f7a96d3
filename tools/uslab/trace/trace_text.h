/* SPDX-License-Identifier: MIT */
/*
 * uslab/trace/trace_text.h - a piece of a line, and a cursor over it
 *
 * Nothing here reads behind the end of a piece, which may hold any byte.
 */
#ifndef TOOLS_TRACE_TEXT_H
#define TOOLS_TRACE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* A piece of the line; not NUL-terminated, may hold any byte. */
struct trace_text {
	const char *start;
	size_t length;
};

/* Copies text as printable ASCII, '?' for every other byte, cut to size - 1 bytes. */
void trace_copy_text(char *buf, size_t size, struct trace_text text);

/* The whole of t, in base 10 or 16; false for anything else, or more than 64 bits. */
bool text_digits(struct trace_text t, unsigned int base, uint64_t *value);

static inline bool text_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static inline bool text_is_space(char c)
{
	return c == ' ' || c == '\t';
}

static inline bool text_is_word(char c)
{
	return text_is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static inline int text_hex_digit(char c)
{
	if (text_is_digit(c))
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

static inline struct trace_text text_skip(struct trace_text t, size_t bytes)
{
	return (struct trace_text){ t.start + bytes, t.length - bytes };
}

static inline struct trace_text text_skip_spaces(struct trace_text t)
{
	while (t.length && text_is_space(*t.start))
		t = text_skip(t, 1);
	return t;
}

/* 0: there is none. */
static inline char text_last(struct trace_text t)
{
	return t.length ? t.start[t.length - 1] : '\0';
}

static inline struct trace_text text_trim_end(struct trace_text t)
{
	for (; text_is_space(text_last(t)); t.length--)
		;
	return t;
}

static inline size_t text_span(struct trace_text t, bool (*is)(char c))
{
	size_t n = 0;

	while (n < t.length && is(t.start[n]))
		n++;
	return n;
}

/* Up to the next blank. */
static inline struct trace_text text_token(struct trace_text t)
{
	size_t n = 0;

	while (n < t.length && !text_is_space(t.start[n]))
		n++;
	t.length = n;
	return t;
}

static inline bool text_equals(struct trace_text t, const char *word)
{
	return t.length == strlen(word) && !memcmp(t.start, word, t.length);
}

static inline bool text_starts_with(struct trace_text t, const char *word)
{
	return t.length >= strlen(word) && !memcmp(t.start, word, strlen(word));
}

#endif /* TOOLS_TRACE_TEXT_H */
