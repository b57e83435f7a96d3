/* SPDX-License-Identifier: MIT */
/*
 * unit/tools/track/track_pprof_test.c - the profile is read back: texts, samples,
 * where their locations lead
 */
#define _GNU_SOURCE
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>
#include <cmocka.h>

#include "track/track.h"

#define MAX_STRINGS 64
#define MAX_ITEMS 16

/* A part of the file; a field is (number, varint or part). */
struct part {
	const unsigned char *at, *end;
};

struct field {
	unsigned int number;
	uint64_t value;
	struct part part;
};

struct location {
	uint64_t address, function, line, mapping;
};

static struct {
	char text[MAX_STRINGS][256];
	unsigned int nr_strings;
	uint64_t type[2], unit[2];
	unsigned int nr_types;
	struct part sample[MAX_ITEMS];
	unsigned int nr_samples;
	struct location location[MAX_ITEMS]; /* by id */
	uint64_t function[MAX_ITEMS];	     /* names, by id */
	uint64_t mapping[MAX_ITEMS];	     /* file names, by id */
	struct part mapping_part[MAX_ITEMS];
	uint64_t default_type, comment;
} profile;

static uint64_t varint(struct part *p)
{
	uint64_t value = 0;
	unsigned int shift = 0;

	do {
		assert_true(p->at < p->end && shift < 64);
		value |= (uint64_t)(*p->at & 0x7f) << shift;
		shift += 7;
	} while (*p->at++ & 0x80);
	return value;
}

static bool next(struct part *p, struct field *field)
{
	uint64_t key;

	if (p->at == p->end)
		return false;
	key = varint(p);
	*field = (struct field){ .number = (unsigned int)(key >> 3) };
	field->value = varint(p);
	if ((key & 7) == 2) {
		assert_true(field->value <= (uint64_t)(p->end - p->at));
		field->part = (struct part){ p->at, p->at + field->value };
		p->at += field->value;
	} else {
		assert_int_equal(key & 7, 0);
	}
	return true;
}

/* Field `number` of a message; 0: absent. */
static uint64_t get(struct part p, unsigned int number)
{
	struct field field;

	while (next(&p, &field))
		if (field.number == number)
			return field.value;
	return 0;
}

static struct part get_part(struct part p, unsigned int number)
{
	struct field field = { .part = { NULL, NULL } };

	while (next(&p, &field))
		if (field.number == number)
			break;
	return field.part;
}

static void read_location(struct part p)
{
	uint64_t id = get(p, 1);

	assert_in_range(id, 1, MAX_ITEMS - 1);
	profile.location[id] = (struct location){
		.mapping = get(p, 2),
		.address = get(p, 3),
		.function = get(get_part(p, 4), 1),
		.line = get(get_part(p, 4), 2),
	};
}

static void read_field(const struct field *field)
{
	switch (field->number) {
	case 1:
		profile.type[profile.nr_types] = get(field->part, 1);
		profile.unit[profile.nr_types++] = get(field->part, 2);
		break;
	case 2:
		profile.sample[profile.nr_samples++] = field->part;
		break;
	case 3:
		profile.mapping[get(field->part, 1)] = get(field->part, 5);
		profile.mapping_part[get(field->part, 1)] = field->part;
		break;
	case 4:
		read_location(field->part);
		break;
	case 5:
		profile.function[get(field->part, 1)] = get(field->part, 2);
		break;
	case 6:
		memcpy(profile.text[profile.nr_strings++], field->part.at, field->value);
		break;
	case 13:
		profile.comment = field->value;
		break;
	case 14:
		profile.default_type = field->value;
		break;
	}
}

static unsigned char bytes[65536];

static void read_profile(const char *path)
{
	gzFile file = gzopen(path, "rb");
	struct field field;
	struct part all;
	int n;

	assert_non_null(file);
	assert_false(gzdirect(file)); /* compressed */
	n = gzread(file, bytes, sizeof(bytes));
	gzclose(file);
	assert_true(n > 0);
	memset(&profile, 0, sizeof(profile));
	all = (struct part){ bytes, bytes + n };
	while (next(&all, &field))
		read_field(&field);
}

/* That of location 1: a file with its build id, and where it is mapped. */
static void check_mapping(const struct resolve_name *name)
{
	uint64_t id = profile.location[1].mapping;
	struct part mapping = profile.mapping_part[id];

	assert_string_equal(profile.text[profile.mapping[id]], name->mapping.path);
	assert_string_equal(profile.text[get(mapping, 6)], name->mapping.build_id);
	assert_true(get(mapping, 2) <= profile.location[1].address);
	assert_true(get(mapping, 3) > profile.location[1].address);
	assert_int_equal(get(mapping, 2), name->mapping.start);
	assert_int_equal(get(mapping, 4), name->mapping.offset);
	assert_int_equal(get(mapping, 7), 1); /* all of its code has names */
}

static void test_profile(void **state)
{
	static struct track_row rows[2];
	static struct tracking t = { .source.title = "server (1)" };
	char path[] = "/tmp/uslab-pprof-XXXXXX";
	int fd = mkstemp(path);
	struct part packed;

	(void)state;
	assert_true(fd >= 0);
	close(fd);
	t.resolve = resolve_process(getpid());
	rows[0] = (struct track_row){ .objects.value = 12.4, .bytes.value = 1ull << 40, .nr = 2 };
	rows[0].pc[0] = (uintptr_t)test_profile + 1;
	rows[0].pc[1] = (uintptr_t)read_profile + 1;
	rows[1] = (struct track_row){ .objects.value = 1, .bytes.value = 64, .nr = 2 };
	rows[1].pc[0] = 0x1234; /* nobody's */
	rows[1].pc[1] = (uintptr_t)read_profile + 1;
	t.table.row = rows;
	t.table.nr = 2;
	assert_int_equal(track_write_pprof(path, &t), 0);
	read_profile(path);
	unlink(path);

	assert_string_equal(profile.text[0], "");
	assert_int_equal(profile.nr_types, 2);
	assert_string_equal(profile.text[profile.type[0]], "inuse_objects");
	assert_string_equal(profile.text[profile.unit[0]], "count");
	assert_string_equal(profile.text[profile.type[1]], "inuse_space");
	assert_string_equal(profile.text[profile.unit[1]], "bytes");
	assert_string_equal(profile.text[profile.default_type], "inuse_space");
	assert_string_equal(profile.text[profile.comment], "server (1)");
	assert_int_equal(profile.nr_samples, 2);

	packed = get_part(profile.sample[0], 2);
	assert_int_equal(varint(&packed), 12);
	assert_int_equal(varint(&packed), 1ull << 40);
	assert_ptr_equal(packed.at, packed.end);
	packed = get_part(profile.sample[0], 1);
	assert_int_equal(varint(&packed), 1); /* innermost first */
	assert_int_equal(varint(&packed), 2);
	assert_ptr_equal(packed.at, packed.end);
	packed = get_part(profile.sample[1], 1);
	assert_int_equal(varint(&packed), 3);
	assert_int_equal(varint(&packed), 2); /* the same frame: the same location */

	assert_int_equal(profile.location[1].address, (uintptr_t)test_profile);
	assert_string_equal(profile.text[profile.function[profile.location[1].function]],
			    "test_profile");
	check_mapping(resolve_address(t.resolve, rows[0].pc[0]));
	assert_string_equal(profile.text[profile.function[profile.location[3].function]], "0x1234");
	assert_int_equal(profile.location[3].mapping, 0);
	resolve_close(t.resolve);
}

static void test_no_file(void **state)
{
	static struct tracking t;

	(void)state;
	assert_int_equal(track_write_pprof("/nonexistent/file", &t), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_profile),
		cmocka_unit_test(test_no_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
