/* SPDX-License-Identifier: MIT */
/*
 * inspect/text.c - prints the table of caches, with the columns of fields.def
 *
 * Data:       none.
 * Invariants: header and lines come from the one list of columns, so they cannot disagree.
 * Locks:      none.
 * Flow:       text_header, text_line -> append -> snprintf, which allocates nothing for what is
 *             printed here.
 */
#include "inspect/text.h"

#include <stdio.h>

#include "base/bits.h"

/* The parts of a line, each made once per line. */
struct text_parts {
	char space[24];
	char slabs[72];
	char flags[16];
};

unsigned long text_percent(unsigned long part, unsigned long whole)
{
	return whole ? part * 100 / whole : 100;
}

size_t text_scale(char *buf, size_t size, unsigned long value)
{
	static const struct {
		unsigned long above;
		char unit;
	} scales[] = { { 1000000000, 'G' }, { 1000000, 'M' }, { 1000, 'K' } };

	for (size_t i = 0; i < ARRAY_SIZE(scales); i++) {
		unsigned long tenths = value / (scales[i].above / 10);

		if (value > scales[i].above)
			return (size_t)snprintf(buf, size, "%lu.%lu%c", tenths / 10, tenths % 10,
						scales[i].unit);
	}
	return (size_t)snprintf(buf, size, "%lu", value);
}

unsigned long text_loss(const struct snapshot_cache *c)
{
	/* objects may lie in pages of a heap, which are not the cache's */
	return c->slab_bytes > c->object_bytes ? c->slab_bytes - c->object_bytes : 0;
}

static const char *text_space(struct text_parts *text, const struct snapshot_cache *c,
			      const struct text_options *options)
{
	unsigned long value = options->loss ? text_loss(c) : c->slab_bytes;

	if (options->bytes)
		snprintf(text->space, sizeof(text->space), "%lu", value);
	else
		text_scale(text->space, sizeof(text->space), value);
	return text->space;
}

static const char *text_slabs(struct text_parts *text, const struct snapshot_cache *c)
{
	/* read one after the other, they may not add up */
	unsigned long others = c->slabs > c->cpu_slabs ? c->slabs - c->cpu_slabs : 0;

	snprintf(text->slabs, sizeof(text->slabs), "%lu/%lu/%lu", others, c->partial, c->cpu_slabs);
	return text->slabs;
}

static const char *text_flags(struct text_parts *text, const struct snapshot_cache *c)
{
	static const struct {
		char letter;
		slab_flags_t bit;
	} flags[] = {
#define CACHE_FLAG(letter, bit, key, help) { letter, bit },
#include "inspect/fields.def"
	};
	char *p = text->flags;

	BUILD_ASSERT(ARRAY_SIZE(flags) + 2 <= sizeof(text->flags));
	if (c->refcount > 1)
		*p++ = '*';
	for (size_t i = 0; i < ARRAY_SIZE(flags); i++)
		if (c->flags & flags[i].bit)
			*p++ = flags[i].letter;
	*p = '\0';
	return text->flags;
}

size_t text_debug_flags(char *buf, size_t size, const struct snapshot_cache *c)
{
	struct text_parts text;

	return (size_t)snprintf(buf, size, "%s", text_flags(&text, c));
}

/* Sets a blank before every column but the first, and takes the cut into account. */
#define APPEND(...)                                                                  \
	do {                                                                         \
		if (len && len + 1 < size)                                           \
			buf[len++] = ' ';                                            \
		if (len < size)                                                      \
			len += (size_t)snprintf(buf + len, size - len, __VA_ARGS__); \
		len = MIN(len, size - 1);                                            \
	} while (0)

/* size > 1 */
static size_t end_line(char *buf, size_t size, size_t len)
{
	len = MIN(len, size - 2);
	buf[len++] = '\n';
	buf[len] = '\0';
	return len;
}

size_t text_header(char *buf, size_t size, const struct text_options *options)
{
	bool loss = options->loss;
	size_t len = 0;

#define COLUMN(title, format, ...) APPEND("%s", title);
#include "inspect/fields.def"
	return end_line(buf, size, len);
}

size_t text_line(char *buf, size_t size, const char *name, const struct snapshot_cache *c,
		 const struct text_options *options)
{
	struct text_parts text;
	size_t len = 0;

#define COLUMN(title, format, ...) APPEND(format, __VA_ARGS__);
#include "inspect/fields.def"
	return end_line(buf, size, len);
}
