/* SPDX-License-Identifier: MIT */
/*
 * uslab/track/track_pprof.c - call sites as a gzip'd profile.proto, as pprof reads it
 *
 * Flow:       called by track_run.c; calls symbols/resolve.c and zlib. In: rows; out: a file.
 *
 * The format is a few nested messages of numbers and lengths, encoded here without a library. Texts
 * are numbers in one table; functions, files of the program and code addresses are numbered in the
 * order in which they are found, from 1.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <zlib.h>

#include "track/track.h"

/* Numbers of the fields in profile.proto. */
enum {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLE = 2,
	PROFILE_MAPPING = 3,
	PROFILE_LOCATION = 4,
	PROFILE_FUNCTION = 5,
	PROFILE_STRING = 6,
	PROFILE_TIME_NANOS = 9,
	PROFILE_DURATION_NANOS = 10,
	PROFILE_COMMENT = 13,
	PROFILE_DEFAULT_SAMPLE_TYPE = 14,
	VALUE_TYPE_TYPE = 1,
	VALUE_TYPE_UNIT = 2,
	SAMPLE_LOCATION = 1,
	SAMPLE_VALUE = 2,
	MAPPING_ID = 1,
	MAPPING_START = 2,
	MAPPING_LIMIT = 3,
	MAPPING_OFFSET = 4,
	MAPPING_FILENAME = 5,
	MAPPING_BUILD_ID = 6,
	MAPPING_HAS_FUNCTIONS = 7,
	MAPPING_HAS_FILENAMES = 8,
	MAPPING_HAS_LINES = 9,
	MAPPING_HAS_INLINES = 10,
	LOCATION_ID = 1,
	LOCATION_MAPPING = 2,
	LOCATION_ADDRESS = 3,
	LOCATION_LINE = 4,
	LINE_FUNCTION = 1,
	LINE_LINE = 2,
	FUNCTION_ID = 1,
	FUNCTION_NAME = 2,
	FUNCTION_SYSTEM_NAME = 3,
	FUNCTION_FILENAME = 4,
};

enum { WIRE_VARINT = 0, WIRE_BYTES = 2 };

struct buffer {
	unsigned char *bytes;
	size_t len, capacity;
	bool failed;
};

/* Things that are numbered from 1 in the order of their first use: texts, or pairs of numbers. */
struct numbers {
	void *tree; /* of struct item */
	unsigned int nr;
};

struct item {
	const char *text; /* lives as long as the profile; NULL: the pair */
	uint64_t a, b;
	unsigned int number;
};

struct profile {
	struct tracking *track;
	struct buffer out;
	struct numbers strings;
	struct numbers functions; /* by numbers of name and file */
	struct numbers mappings;  /* by number of the file's name, and start */
	struct numbers locations; /* by address */
	struct numbers unknown;	  /* mappings with code that has no name, as mappings */
};

/* ---- bytes ----------------------------------------------------------------------------------- */

static void put_bytes(struct buffer *b, const void *bytes, size_t len)
{
	if (b->failed || !len)
		return;
	if (b->len + len > b->capacity) {
		size_t capacity = (b->len + len) * 2;
		unsigned char *more = realloc(b->bytes, capacity);

		if (!more) {
			b->failed = true;
			return;
		}
		b->bytes = more;
		b->capacity = capacity;
	}
	memcpy(b->bytes + b->len, bytes, len);
	b->len += len;
}

static void put_varint(struct buffer *b, uint64_t value)
{
	unsigned char bytes[10];
	size_t len = 0;

	for (; value >= 0x80; value >>= 7)
		bytes[len++] = (unsigned char)(value | 0x80);
	bytes[len++] = (unsigned char)value;
	put_bytes(b, bytes, len);
}

static void put_number(struct buffer *b, unsigned int field, uint64_t value)
{
	put_varint(b, field << 3 | WIRE_VARINT);
	put_varint(b, value);
}

static void put_block(struct buffer *b, unsigned int field, const void *bytes, size_t len)
{
	put_varint(b, field << 3 | WIRE_BYTES);
	put_varint(b, len);
	put_bytes(b, bytes, len);
}

/* A message inside of another; frees it. */
static void put_message(struct buffer *b, unsigned int field, struct buffer *message)
{
	put_block(b, field, message->bytes, message->len);
	b->failed |= message->failed;
	free(message->bytes);
}

/* ---- numbers --------------------------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
	const struct item *x = a, *y = b;

	if (x->text)
		return strcmp(x->text, y->text);
	if (x->a != y->a)
		return x->a < y->a ? -1 : 1;
	return x->b < y->b ? -1 : x->b > y->b;
}

/* The number of an item; *first: it was not there before. 0: no memory. */
static unsigned int number_of(struct numbers *n, const struct item *key, bool *first)
{
	struct item **found = tfind(key, &n->tree, compare);
	struct item *item;

	*first = false;
	if (found)
		return (*found)->number;
	item = malloc(sizeof(*item));
	if (!item)
		return 0;
	*item = *key;
	item->number = n->nr + 1;
	if (!tsearch(item, &n->tree, compare)) {
		free(item);
		return 0;
	}
	*first = true;
	return ++n->nr;
}

/* Number of a text in the table, which begins with the empty one as number 0. */
static uint64_t string_of(struct profile *p, const char *text)
{
	const struct item key = { .text = text };
	bool first;
	unsigned int number = number_of(&p->strings, &key, &first);

	if (!number)
		p->out.failed = true;
	if (first)
		put_block(&p->out, PROFILE_STRING, text, strlen(text));
	return number ? number - 1 : 0;
}

static uint64_t pair_of(struct profile *p, struct numbers *n, uint64_t a, uint64_t b, bool *first)
{
	const struct item key = { .a = a, .b = b };
	unsigned int number = number_of(n, &key, first);

	if (!number)
		p->out.failed = true;
	return number;
}

/* ---- messages -------------------------------------------------------------------------------- */

static uint64_t function_of(struct profile *p, const struct resolve_name *name,
			    const struct resolve_frame *frame)
{
	uint64_t text = string_of(p, *frame->function ? frame->function : name->pretty);
	uint64_t symbol = string_of(p, *frame->symbol ? frame->symbol : name->text);
	uint64_t file = string_of(p, frame->file);
	struct buffer message = { .bytes = NULL };
	bool first;
	uint64_t number = pair_of(p, &p->functions, symbol, file, &first);

	if (!first)
		return number;
	put_number(&message, FUNCTION_ID, number);
	put_number(&message, FUNCTION_NAME, text);
	put_number(&message, FUNCTION_SYSTEM_NAME, symbol);
	put_number(&message, FUNCTION_FILENAME, file);
	put_message(&p->out, PROFILE_FUNCTION, &message);
	return number;
}

static uint64_t mapping_of(struct profile *p, const struct resolve_mapping *m)
{
	uint64_t file = string_of(p, m->path);
	uint64_t build_id = string_of(p, m->build_id);
	struct buffer message = { .bytes = NULL };
	bool first;
	uint64_t number = pair_of(p, &p->mappings, file, m->start, &first);

	if (!first)
		return number;
	put_number(&message, MAPPING_ID, number);
	put_number(&message, MAPPING_START, m->start);
	put_number(&message, MAPPING_LIMIT, m->end);
	put_number(&message, MAPPING_OFFSET, m->offset);
	put_number(&message, MAPPING_FILENAME, file);
	put_number(&message, MAPPING_BUILD_ID, build_id);
	/* else pprof looks for names itself, also later and elsewhere: by the build id */
	if (!tfind(&(struct item){ .a = file, .b = m->start }, &p->unknown.tree, compare))
		for (unsigned int field = MAPPING_HAS_FUNCTIONS; field <= MAPPING_HAS_INLINES;
		     field++)
			put_number(&message, field, 1);
	put_message(&p->out, PROFILE_MAPPING, &message);
	return number;
}

static bool has_name(const struct resolve_name *name)
{
	return *name->frame[name->nr_frames - 1].function;
}

/* Before any mapping is written. */
static void find_unknown(struct profile *p)
{
	const struct track_table *table = &p->track->table;
	bool first;

	for (unsigned int i = 0; i < table->nr; i++)
		for (unsigned int k = 0; k < table->row[i].nr; k++) {
			const struct resolve_name *name =
				resolve_address(p->track->resolve, table->row[i].pc[k]);

			if (*name->mapping.path && !has_name(name))
				pair_of(p, &p->unknown, string_of(p, name->mapping.path),
					name->mapping.start, &first);
		}
}

static void put_line(struct profile *p, struct buffer *location, const struct resolve_name *name,
		     const struct resolve_frame *frame)
{
	struct buffer line = { .bytes = NULL };

	put_number(&line, LINE_FUNCTION, function_of(p, name, frame));
	put_number(&line, LINE_LINE, frame->line);
	put_message(location, LOCATION_LINE, &line);
}

/* By custom the address of a location lies inside of the call: a return address less one. */
static uint64_t location_of(struct profile *p, uint64_t pc)
{
	const struct resolve_name *name = resolve_address(p->track->resolve, pc);
	struct buffer message = { .bytes = NULL };
	bool first;
	uint64_t number = pair_of(p, &p->locations, pc, 0, &first);

	if (!first)
		return number;
	put_number(&message, LOCATION_ID, number);
	if (*name->mapping.path)
		put_number(&message, LOCATION_MAPPING, mapping_of(p, &name->mapping));
	put_number(&message, LOCATION_ADDRESS, pc ? pc - 1 : 0);
	for (unsigned int i = 0; i < name->nr_frames && (has_name(name) || !*name->mapping.path);
	     i++)
		put_line(p, &message, name, &name->frame[i]);
	put_message(&p->out, PROFILE_LOCATION, &message);
	return number;
}

static void put_sample(struct profile *p, const struct track_row *row)
{
	struct buffer message = { .bytes = NULL }, packed = { .bytes = NULL };

	for (unsigned int i = 0; i < row->nr; i++)
		put_varint(&packed, location_of(p, row->pc[i]));
	put_message(&message, SAMPLE_LOCATION, &packed);
	packed = (struct buffer){ .bytes = NULL };
	put_varint(&packed, (uint64_t)(row->objects.value + 0.5));
	put_varint(&packed, (uint64_t)(row->bytes.value + 0.5));
	put_message(&message, SAMPLE_VALUE, &packed);
	put_message(&p->out, PROFILE_SAMPLE, &message);
}

static void put_value_type(struct profile *p, const char *type, const char *unit)
{
	struct buffer message = { .bytes = NULL };

	put_number(&message, VALUE_TYPE_TYPE, string_of(p, type));
	put_number(&message, VALUE_TYPE_UNIT, string_of(p, unit));
	put_message(&p->out, PROFILE_SAMPLE_TYPE, &message);
}

static void put_profile(struct profile *p)
{
	const struct track_table *table = &p->track->table;
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	string_of(p, "");
	put_value_type(p, "inuse_objects", "count");
	put_value_type(p, "inuse_space", "bytes");
	find_unknown(p);
	for (unsigned int i = 0; i < table->nr; i++)
		put_sample(p, &table->row[i]);
	put_number(&p->out, PROFILE_TIME_NANOS,
		   (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec);
	put_number(&p->out, PROFILE_DURATION_NANOS, (uint64_t)(table->seconds * 1e9));
	put_number(&p->out, PROFILE_COMMENT, string_of(p, p->track->source.title));
	if (table->estimated)
		put_number(&p->out, PROFILE_COMMENT, string_of(p, "sampled: values are estimates"));
	put_number(&p->out, PROFILE_DEFAULT_SAMPLE_TYPE, string_of(p, "inuse_space"));
}

/* ---- the file -------------------------------------------------------------------------------- */

static int write_file(const char *path, const struct buffer *out)
{
	gzFile file;
	int ret = 0;

	errno = 0;
	file = gzopen(path, "wbe");
	if (!file)
		return errno ? -errno : -ENOMEM;
	if (gzwrite(file, out->bytes, (unsigned int)out->len) != (int)out->len)
		ret = errno ? -errno : -EIO;
	if (gzclose(file) != Z_OK && !ret)
		ret = errno ? -errno : -EIO;
	return ret;
}

int track_write_pprof(const char *path, struct tracking *t)
{
	struct profile p = { .track = t };
	int ret;

	put_profile(&p);
	ret = p.out.failed ? -ENOMEM : write_file(path, &p.out);
	free(p.out.bytes);
	tdestroy(p.strings.tree, free);
	tdestroy(p.functions.tree, free);
	tdestroy(p.mappings.tree, free);
	tdestroy(p.locations.tree, free);
	tdestroy(p.unknown.tree, free);
	return ret;
}
