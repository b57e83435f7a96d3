/* SPDX-License-Identifier: MIT */
/*
 * unit/debug/layout_test.c - the layout vectors of spec 4.4, with tracks of 32 bytes
 */
#include "fixture.h"

#define CTOR 1u /* in place of a flag */
#define NONE 0u

struct vector {
	const char *name;
	unsigned int size;
	unsigned int align;
	slab_flags_t flags;
	bool orig_size;
	unsigned int inuse;
	unsigned int offset;
	unsigned int tracks; /* NONE: there are none */
	unsigned int end;
	unsigned int pad;
	unsigned int stride;
};

static const struct vector vectors[] = {
	{ "64", 64, 8, 0, false, 64, 32, NONE, 64, 0, 64 },
	{ "20", 20, 8, 0, false, 24, 8, NONE, 24, 0, 24 },
	{ "4", 4, 8, 0, false, 8, 0, NONE, 8, 0, 8 },
	{ "64 ctor", 64, 8, CTOR, false, 64, 64, NONE, 72, 0, 72 },
	{ "64 rcu", 64, 8, SLAB_TYPESAFE_BY_RCU, false, 64, 64, NONE, 72, 0, 72 },
	{ "64 Z", 64, 8, Z, false, 72, 32, NONE, 72, 8, 88 },
	{ "20 Z", 20, 8, Z, false, 24, 8, NONE, 24, 8, 40 },
	{ "4 Z", 4, 8, Z, false, 8, 8, NONE, 16, 8, 32 },
	{ "64 P", 64, 8, P, false, 64, 64, NONE, 72, 0, 72 },
	{ "64 U", 64, 8, U, false, 64, 32, 64, 128, 0, 128 },
	{ "64 FZPU", 64, 8, FZPU, false, 72, 72, 80, 144, 8, 160 },
	{ "20 FZPU", 20, 8, FZPU, false, 24, 24, 32, 96, 8, 112 },
	{ "kmalloc-8 FZPU", 8, 8, FZPU, true, 16, 16, 24, 92, 8, 112 },
	{ "kmalloc-32 FZPU", 32, 32, FZPU, true, 40, 40, 48, 116, 32, 160 },
	{ "kmalloc-64 FZPU", 64, 64, FZPU, true, 72, 72, 80, 148, 64, 256 },
	{ "kmalloc-96 FZPU", 96, 8, FZPU, true, 104, 104, 112, 180, 8, 200 },
	{ "kmalloc-128 FZPU", 128, 128, FZPU, true, 136, 136, 144, 212, 128, 384 },
	{ "kmalloc-4k FZPU", 4096, 4096, FZPU, true, 4104, 4104, 4112, 4180, 4096, 12288 },
};

static void to_the_byte(__attribute__((unused)) void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(vectors); i++) {
		const struct vector *v = &vectors[i];
		struct slab_layout l;

		print_message("%s\n", v->name);
		debug_layout_sizes(&l, v->size, v->align, v->flags & ~CTOR, v->flags & CTOR,
				   v->orig_size);
		assert_int_equal(l.object_size, v->size);
		assert_int_equal(l.inuse, v->inuse);
		assert_int_equal(l.offset, v->offset);
		assert_int_equal(debug_info_end(&l, v->orig_size), v->end);
		assert_int_equal(l.red_left_pad, v->pad);
		assert_int_equal(l.stride, v->stride);
		assert_int_equal(l.kind, LAYOUT_DEBUG);
		assert_int_equal(l.debug, v->flags & (Z | P | U));
		if (v->tracks)
			assert_int_equal(debug_tracks_offset(&l), v->tracks);
	}
}

/* Without U there are no tracks to put the size behind. */
static void size_asked_needs_tracks(__attribute__((unused)) void **state)
{
	struct slab_layout with;
	struct slab_layout without;

	debug_layout_sizes(&with, 64, 64, Z | P, false, true);
	debug_layout_sizes(&without, 64, 64, Z | P, false, false);
	assert_memory_equal(&with, &without, sizeof(with));
}

/* Two CPUs, as the fixture's machine has; spec 4.3 and 4.17 for the strides of the vectors. */
static void orders(__attribute__((unused)) void **state)
{
	static const struct {
		unsigned int stride, order, objects, min_order, min_objects;
	} rows[] = {
		{ 64, 0, 64, 0, 64 },
		{ 160, 0, 25, 0, 25 },
		{ 256, 0, 16, 0, 16 },
		{ 12288, 3, 2, 2, 1 },
	};
	struct slab_layout l;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		l = (struct slab_layout){ .stride = rows[i].stride };
		assert_int_equal(debug_layout_orders(&l), 0);
		assert_int_equal(l.order, rows[i].order);
		assert_int_equal(l.objects, rows[i].objects);
		assert_int_equal(l.min_order, rows[i].min_order);
		assert_int_equal(l.min_objects, rows[i].min_objects);
	}
	l = (struct slab_layout){ .stride = (4u << 20) + 8 };
	assert_int_equal(debug_layout_orders(&l), -E2BIG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(to_the_byte),
		cmocka_unit_test(size_asked_needs_tracks),
		cmocka_unit_test(orders),
	};

	return cmocka_run_group_tests(tests, debug_group_setup, NULL);
}
