/* SPDX-License-Identifier: MIT */
/*
 * unit/debug/check_test.c - each kind of damage of spec 7.2: found once, named, repaired
 */
#include "fixture.h"

static unsigned char *bytes(void *obj)
{
	return obj;
}

/* The kernel's own test: so many errors now, none after that. */
static void expect_errors(struct engine *e, unsigned long n, const char *what)
{
	debug_validate(e);
	assert_true(said(what));
	assert_int_equal(errors(), n);
	VALIDATED(e, 0);
}

/* ---- red zones and poison, by validation ----------------------------------------------------- */

struct damage {
	const char *what;
	slab_flags_t flags;
	unsigned int size;
	int at; /* from the object's start */
	bool free;
};

static const struct damage damages[] = {
	{ "Left Redzone overwritten", Z, 64, -1, false },
	{ "Left Redzone overwritten", Z, 64, -8, false },
	{ "Left Redzone overwritten", Z, 64, -3, true },
	{ "Right Redzone overwritten", Z, 64, 64, false },
	{ "Right Redzone overwritten", Z, 64, 71, true },
	{ "Right Redzone overwritten", Z, 20, 20, false },
	{ "Alignment padding overwritten", P, 20, 21, false },
	{ "Alignment padding overwritten", P, 20, 23, true },
	{ "Poison overwritten", P, 64, 0, true },
	{ "Poison overwritten", P, 64, 62, true },
	{ "End Poison overwritten", P, 64, 63, true },
	{ "Object padding overwritten", Z | P, 64, 80, false },
	{ "Object padding overwritten", Z | P, 64, 87, true },
	{ "Object padding overwritten", FZPU, 64, 144, false },
};

static void one_byte(__attribute__((unused)) void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(damages); i++) {
		const struct damage *d = &damages[i];
		struct engine e;
		void *keep;
		void *obj;

		print_message("%zu: %s\n", i, d->what);
		make(&e, d->size, d->flags);
		obj = get(&e);
		keep = get(&e);
		if (d->free)
			put(&e, obj);
		bytes(obj)[d->at] ^= 0xff;
		expect_errors(&e, 2, d->what);
		if (!d->free)
			put(&e, obj);
		put(&e, keep);
		assert_int_equal(errors(), 0);
		END_ENGINE(&e);
	}
}

/* Only the wrong span is named, and made right; what lies between its ends counts as wrong. */
static void a_span(__attribute__((unused)) void **state)
{
	struct engine e;
	char line[200];
	void *obj;

	make(&e, 64, Z);
	obj = get(&e);
	bytes(obj)[65] = 0x12;
	bytes(obj)[68] = 0x34;
	debug_validate(&e);
	snprintf(line, sizeof(line), "%p-%p @offset=%lu. First byte 0x12 instead of 0xcc",
		 (void *)(bytes(obj) + 65), (void *)(bytes(obj) + 68),
		 (unsigned long)((uintptr_t)obj % PAGE_SIZE) + 65);
	assert_true(said(line));
	snprintf(line, sizeof(line), "FIX test: Restoring Right Redzone %p-%p=0xcc",
		 (void *)(bytes(obj) + 65), (void *)(bytes(obj) + 68));
	assert_true(said(line));
	for (unsigned int i = 64; i < 72; i++)
		assert_int_equal(bytes(obj)[i], 0xcc);
	put(&e, obj);
	END_ENGINE(&e);
}

/* A red zone or the poison ends the check of an object; padding does not. */
static void which_checks_go_on(__attribute__((unused)) void **state)
{
	struct engine e;
	void *obj;

	make(&e, 64, Z | P);
	obj = get(&e);
	bytes(obj)[-1] = 0;
	bytes(obj)[64] = 0;
	debug_validate(&e);
	assert_true(said("Left Redzone"));
	assert_int_equal(errors(), 2);
	expect_errors(&e, 2, "Right Redzone");
	put(&e, obj);
	END_ENGINE(&e);

	make(&e, 20, P);
	obj = get(&e);
	put(&e, obj);
	bytes(obj)[20] = 0;
	bytes(obj)[0] = 0;
	expect_errors(&e, 4, "Alignment padding");
	END_ENGINE(&e);
}

/* An object that is bad hides the rest of its slab for this pass. */
static void validation_stops_at_the_first_bad_object(__attribute__((unused)) void **state)
{
	struct engine e;
	void *a;
	void *b;

	make(&e, 64, Z);
	a = get(&e);
	b = get(&e);
	bytes(a)[64] = 0;
	bytes(b)[64] = 0;
	VALIDATED(&e, 2);
	VALIDATED(&e, 2);
	VALIDATED(&e, 0);
	put(&e, a);
	put(&e, b);
	END_ENGINE(&e);
}

/* 4096 % 88 = 48 bytes behind the last of 46 objects. */
static void slab_padding(__attribute__((unused)) void **state)
{
	struct engine e;
	char line[200];
	char *tail;
	void *obj;

	make(&e, 64, Z | P); /* stride 96: 42 objects, 64 bytes left */
	obj = get(&e);
	tail = (char *)page_address(slab_of(obj)) + 4096 - 64;
	tail[0] = 1;
	tail[63] = 2;
	debug_validate(&e);
	snprintf(line, sizeof(line), "Padding overwritten. %p-%p @offset=%d", (void *)tail,
		 (void *)(tail + 63), 4096 - 64);
	assert_true(said(line));
	snprintf(line, sizeof(line), "FIX test: Restoring slab padding %p-%p=0x5a", (void *)tail,
		 (void *)(tail + 63));
	assert_true(said(line));
	assert_int_equal(errors(), 2);
	VALIDATED(&e, 0);
	put(&e, obj);
	END_ENGINE(&e);
}

/* ---- the free list --------------------------------------------------------------------------- */

static uintptr_t *slot_of(const struct engine *e, void *obj)
{
	return (uintptr_t *)((char *)obj + e->debug->layout->offset);
}

/* test_next_pointer: 3 errors, then, restored, 2, then 0. Hardened links are as easily broken. */
static void next_pointer(bool hardened)
{
	struct engine_params params = params_of(64);
	unsigned char *byte;
	struct engine e;
	void *keep;
	void *obj;

	params.hardened = hardened;
	make_with(&e, &slub_ops, params, P, false);
	keep = get(&e);
	obj = get(&e);
	put(&e, obj);
	byte = (unsigned char *)slot_of(&e, obj);
	*byte = (unsigned char)~*byte;
	debug_validate(&e);
	assert_true(said("Freechain corrupt"));
	assert_true(said("Wrong object count. Counter is 1 but counted were 55"));
	assert_true(said("FIX test: Object count adjusted"));
	assert_int_equal(errors(), 3);
	e.ops->check(&e);
	debug_set_next_free(slab_of(obj), obj, (char *)obj + 72);
	VALIDATED(&e, 2);
	VALIDATED(&e, 0);
	put(&e, keep);
	END_ENGINE(&e);
}

static void next_pointer_plain(__attribute__((unused)) void **state)
{
	next_pointer(false);
}

static void next_pointer_hardened(__attribute__((unused)) void **state)
{
	next_pointer(true);
}

static void head_of_the_list(__attribute__((unused)) void **state)
{
	struct engine e;
	struct page *slab;
	void *obj;

	make(&e, 64, F);
	obj = get(&e);
	slab = slab_of(obj);
	slab->freelist = (char *)slab->freelist + 1;
	debug_validate(&e);
	assert_true(said("Freepointer corrupt"));
	assert_true(said("FIX test: Freelist cleared"));
	assert_int_equal(errors(), 2);
	assert_null(slab->freelist);
	assert_int_equal(engine_counters(slab).inuse, 64);
	assert_null(partial_at(&e, 0)); /* as good as full */
	VALIDATED(&e, 0);
	put(&e, obj); /* and it takes objects again */
	assert_int_equal(errors(), 0);
	LEAVE_ENGINE(&e, 63);
}

static void counters(__attribute__((unused)) void **state)
{
	struct slab_counters c;
	struct engine e;
	struct page *slab;
	void *obj;

	make(&e, 64, F);
	obj = get(&e);
	slab = slab_of(obj);
	c = engine_counters(slab);
	c.inuse = 7;
	engine_set_counters(slab, c);
	expect_errors(&e, 2, "Wrong object count. Counter is 7 but counted were 1");
	c = engine_counters(slab);
	c.objects = 60;
	engine_set_counters(slab, c);
	expect_errors(&e, 2, "Wrong number of objects. Found 60 but should be 64");
	put(&e, obj);
	END_ENGINE(&e);
}

/* These are not repaired: the slab is left alone. */
static void counters_beyond_all_measure(__attribute__((unused)) void **state)
{
	struct slab_counters good;
	struct slab_counters c;
	struct engine e;
	struct page *slab;
	void *obj;

	make(&e, 64, F);
	obj = get(&e);
	slab = slab_of(obj);
	good = c = engine_counters(slab);
	c.objects = 65;
	engine_set_counters(slab, c);
	debug_validate(&e);
	assert_true(said("objects 65 > max 64"));
	assert_int_equal(errors(), 1);
	c = good;
	c.inuse = 65;
	engine_set_counters(slab, c);
	debug_validate(&e);
	assert_true(said("inuse 65 > max 64"));
	assert_int_equal(errors(), 1);
	engine_set_counters(slab, good);
	slab->type = PAGE_RUN;
	debug_validate(&e);
	assert_true(said("Not a valid slab page"));
	assert_int_equal(errors(), 1);
	slab->type = PAGE_SLAB;
	put(&e, obj);
	END_ENGINE(&e);
}

/* Nobody gets an object twice. */
static void circle(__attribute__((unused)) void **state)
{
	struct engine e;
	struct page *slab;
	void *keep;
	void *obj;

	make(&e, 64, F | P);
	keep = get(&e);
	obj = get(&e);
	put(&e, obj);
	slab = slab_of(obj);
	debug_set_next_free(slab, obj, obj);
	debug_validate(&e);
	assert_true(said("Wrong object count"));
	assert_int_equal(errors(), 2);
	assert_null(slab->freelist);
	assert_ptr_not_equal(slab_of(get(&e)), slab);
	put(&e, keep);
	assert_int_equal(errors(), 0);
	e.ops->check(&e);
}

/* The free pointer of an object in use is checked where it is behind the object. */
static void free_pointer_of_an_object_in_use(__attribute__((unused)) void **state)
{
	struct engine e;
	void *obj;

	make(&e, 64, P);
	obj = get(&e);
	*slot_of(&e, obj) = 0x1234;
	expect_errors(&e, 1, "Freepointer corrupt");
	put(&e, obj);
	END_ENGINE(&e);

	make(&e, 64, Z | U); /* in the middle: it is the program's */
	obj = get(&e);
	*slot_of(&e, obj) = 0x1234;
	VALIDATED(&e, 0);
	put(&e, obj);
	END_ENGINE(&e);
}

/* ---- our own books --------------------------------------------------------------------------- */

static void books_are_wrong(void *arg)
{
	struct slab_counters c;
	struct engine e;
	struct page *slab;

	make(&e, 64, F);
	slab = slab_of(get(&e));
	c = engine_counters(slab);
	switch (*(int *)arg) {
	case 0:
		c.inuse++;
		engine_set_counters(slab, c);
		break;
	case 1:
		c.colour = LIST_FULL;
		engine_set_counters(slab, c);
		break;
	case 2:
		node0(&e)->nr_partial++;
		break;
	case 3:
		page_set_class(slab, 1, 3);
		break;
	case 4:
		slab->layout = e.layout;
		break;
	case 5:
		node0(&e)->nr_slabs = 0;
		break;
	}
	e.ops->check(&e);
}

static void books(__attribute__((unused)) void **state)
{
	for (int i = 0; i < 6; i++) {
		struct child c = child_run(books_are_wrong, &i);

		assert_true(child_aborted(&c));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_byte),
		cmocka_unit_test(a_span),
		cmocka_unit_test(which_checks_go_on),
		cmocka_unit_test(validation_stops_at_the_first_bad_object),
		cmocka_unit_test(slab_padding),
		cmocka_unit_test(next_pointer_plain),
		cmocka_unit_test(next_pointer_hardened),
		cmocka_unit_test(head_of_the_list),
		cmocka_unit_test(counters),
		cmocka_unit_test(counters_beyond_all_measure),
		cmocka_unit_test(circle),
		cmocka_unit_test(free_pointer_of_an_object_in_use),
		cmocka_unit_test(books),
	};

	return cmocka_run_group_tests(tests, debug_group_setup, NULL);
}
