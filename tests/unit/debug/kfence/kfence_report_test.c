/* SPDX-License-Identifier: MIT */
/*
 * unit/debug/kfence/kfence_report_test.c - the texts of spec 11.2, word by word, of made-up objects
 */
#include "unit/debug/kfence_fixture.h"

#define RULE "==================================================================\n"

static const uintptr_t nowhere[] = { 0x1234, 0x5678 };

static char *piece;

/* Object 0 of a pool that has no pages: at 0x200000 + 2 pages, 40 bytes in the middle. */
static struct kfence_object *make_object(enum kfence_state state)
{
	static struct kfence_object object;

	kfence_pool.piece = &piece;
	piece = (char *)0x200000;
	kfence_pool.nr_objects = 1;
	kfence_pool.object = &object;
	object = (struct kfence_object){
		.state = state,
		.addr = (char *)0x202100,
		.size = 40,
		.engine = &engine,
		.alloc = { .tid = 11, .cpu = 1, .when_us = 32919330 },
		.free = { .tid = 12, .cpu = 0, .when_us = 33000001 },
	};
	return &object;
}

/* The report up to the line on CPU and thread. */
static const char *text_of(enum kfence_bug bug, const struct kfence_object *o, const char *address,
			   enum kfence_access access)
{
	char *cpu;

	report_set_hook(hear, NULL, true);
	lock_acquire(&kfence_pool.lock);
	kfence_report_locked(bug, o, address, access, nowhere, 2);
	lock_release(&kfence_pool.lock);
	report_deliver();
	cpu = strstr(report, "CPU: ");
	assert_non_null(cpu);
	assert_string_equal(strchr(cpu, '\n') + 1, RULE);
	*cpu = '\0';
	return report;
}

#define STACK " 0x1234\n 0x5678\n\n"
#define OBJECT                                                     \
	"kfence-#0: 0x202100-0x202127, size=40, cache=victims\n\n" \
	"allocated by task 11 on cpu 1 at 32.919330s:\n no allocation stack\n"
#define FREED "\nfreed by task 12 on cpu 0 at 33.000001s:\n no deallocation stack\n"

static void out_of_bounds(void **state)
{
	struct kfence_object *o = make_object(KFENCE_ALLOCATED);

	(void)state;
	assert_string_equal(text_of(KFENCE_OUT_OF_BOUNDS, o, (char *)0x2020fe, KFENCE_READ), RULE
			    "BUG: KFENCE: out-of-bounds read in 0x1234\n\n"
			    "Out-of-bounds read at 0x2020fe (2B left of kfence-#0):\n" STACK OBJECT
			    "\n");
	/* to the right it is counted from the start */
	assert_string_equal(
		text_of(KFENCE_OUT_OF_BOUNDS, o, (char *)0x203000, KFENCE_WRITE), RULE
		"BUG: KFENCE: out-of-bounds write in 0x1234\n\n"
		"Out-of-bounds write at 0x203000 (3840B right of kfence-#0):\n" STACK OBJECT "\n");
	assert_string_equal(report_cache, "victims");
}

static void use_after_free(void **state)
{
	(void)state;
	assert_string_equal(
		text_of(KFENCE_USE_AFTER_FREE, make_object(KFENCE_FREED), (char *)0x202100,
			KFENCE_WRITE),
		RULE "BUG: KFENCE: use-after-free write in 0x1234\n\n"
		     "Use-after-free write at 0x202100 (in kfence-#0):\n" STACK OBJECT FREED "\n");
}

static void never_used(void **state)
{
	(void)state;
	assert_string_equal(text_of(KFENCE_USE_AFTER_FREE, make_object(KFENCE_UNUSED),
				    (char *)0x202100, KFENCE_READ),
			    RULE "BUG: KFENCE: use-after-free read in 0x1234\n\n"
				 "Use-after-free read at 0x202100 (in kfence-#0):\n" STACK
				 "kfence-#0 unused\n\n");
}

static void invalid(void **state)
{
	struct kfence_object *o = make_object(KFENCE_ALLOCATED);

	(void)state;
	assert_string_equal(text_of(KFENCE_INVALID_FREE, o, (char *)0x202104, KFENCE_WRITE),
			    RULE "BUG: KFENCE: invalid free in 0x1234\n\n"
				 "Invalid free of 0x202104 (in kfence-#0):\n" STACK OBJECT "\n"
				 "uslab: 0x202104 lies inside of an object of victims, not at its "
				 "start\n\n");
	o = make_object(KFENCE_FREED);
	text_of(KFENCE_INVALID_FREE, o, (char *)0x202100, KFENCE_WRITE);
	assert_true(said(FREED "\nuslab: Object already free\n\n"));
	assert_string_equal(text_of(KFENCE_INVALID_ACCESS, NULL, (char *)0x200001, KFENCE_READ),
			    RULE "BUG: KFENCE: invalid read in 0x1234\n\n"
				 "Invalid read at 0x200001:\n" STACK);
	assert_string_equal(report_cache, "kfence");
}

static void of_a_destroyed_cache(void **state)
{
	struct kfence_object *o = make_object(KFENCE_ZOMBIE);

	(void)state;
	o->engine = NULL;
	text_of(KFENCE_USE_AFTER_FREE, o, (char *)0x202100, KFENCE_READ);
	assert_true(said("size=40, cache=<destroyed>\n"));
	assert_true(said(FREED));
}

/* At most 16 bytes, and not into the object or past the page. */
static void corruption(void **state)
{
	static char pages[4 * PAGE_SIZE] __attribute__((aligned(PAGE_SIZE)));
	struct kfence_object *o = make_object(KFENCE_FREED);
	char *page = pages + 2 * PAGE_SIZE;

	(void)state;
	piece = pages;
	o->addr = page + 100;
	kfence_fill_canary_locked(o);
	page[97] = 0x12;
	text_of(KFENCE_CORRUPTION, o, page + 97, KFENCE_WRITE);
	assert_true(said("BUG: KFENCE: memory corruption in 0x1234\n\n"));
	assert_true(said("Corrupted memory at 0x%lx [ 0x12 . . ] (in kfence-#0):\n" STACK,
			 (unsigned long)(page + 97)));
	page[140] = 1;
	page[155] = 2;
	page[156] = 3;
	text_of(KFENCE_CORRUPTION, o, page + 140, KFENCE_WRITE);
	assert_true(said("[ 0x01 . . . . . . . . . . . . . . 0x02 ] (in"));
	page[4095] = 4;
	text_of(KFENCE_CORRUPTION, o, page + 4095, KFENCE_WRITE);
	assert_true(said("[ 0x04 ] (in"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(out_of_bounds),	cmocka_unit_test(use_after_free),
		cmocka_unit_test(never_used),		cmocka_unit_test(invalid),
		cmocka_unit_test(of_a_destroyed_cache), cmocka_unit_test(corruption),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
