/* SPDX-License-Identifier: MIT */
/*
 * unit/debug/report/report_old_test.c - the lines of Linux 2.6.29's format (spec 7.6)
 *
 * Slide 25's double free is kmalloc-128 on a machine of 32 bits; here is the same one of our slab.
 */
#include "os/process/process.h"
#include "unit/debug/report_fixture.h"

static int make_old(void **unused)
{
	make_slab(unused);
	slab->node = 0;
	report_set_format("2.6.29");
	return 0;
}

static void expect_banner(const char *reason)
{
	expect("=============================================================================\n"
	       "BUG kmalloc-64: %s\n"
	       "-----------------------------------------------------------------------------\n\n",
	       reason);
}

static void expect_stack(void)
{
	char name[OS_THREAD_NAME_MAX];

	os_thread_name(name);
	expect("Pid: %u, comm: %s Not tainted uslab %s\nCall Trace:\n", os_thread_id(), name,
	       uslab_version());
}

static void expect_old_dump(const char *label, const char *start, unsigned int lines,
			    const char *byte, const char *letter)
{
	for (unsigned int i = 0; i < lines; i++) {
		expect("%s 0x%lx: ", label, (unsigned long)start + 16ul * i);
		for (unsigned int b = 0; b < 16; b++)
			expect(" %s", byte);
		expect(" ");
		for (unsigned int b = 0; b < 16; b++)
			expect("%s", letter);
		expect("\n");
	}
}

/* From the tracks to the stack; the object is freed. */
static void expect_trailer(void)
{
	unsigned long at = (unsigned long)obj;

	expect("INFO: Allocated in 0x1234 age=0 cpu=1 pid=142\n");
	expect("INFO: Freed in 0x1234 age=0 cpu=0 pid=21\n");
	expect("INFO: Slab 0x%lx objects=16 used=3 fp=0x%lx flags=0x0083\n", (unsigned long)slab,
	       at + STRIDE);
	expect("INFO: Object 0x%lx @offset=2624 fp=0x%lx\n\n", at, at + STRIDE);
	expect_old_dump("Bytes b4", obj - 16, 1, "bb", "»");
	expect_old_dump("  Object", obj, 3, "6b", "k");
	expect("  Object 0x%lx:  6b 6b 6b 6b 6b 6b 6b 6b 6b 6b 6b 6b 6b 6b 6b a5 "
	       "kkkkkkkkkkkkkkk¥\n",
	       at + 48);
	expect(" Redzone 0x%lx:  bb bb bb bb bb bb bb bb                         "
	       "»»»»»»»»        \n",
	       at + 64);
	expect_old_dump(" Padding", obj + 148, 2, "5a", "Z");
	expect(" Padding 0x%lx:  5a 5a 5a 5a 5a 5a 5a 5a 5a 5a 5a 5a             "
	       "ZZZZZZZZZZZZ    \n",
	       at + 180);
	expect_stack();
}

static void free_object(void)
{
	memset(obj - LEFT_PAD, 0xbb, LEFT_PAD);
	memset(obj + 64, 0xbb, 8);
	*track(TRACK_FREE) = *track(TRACK_ALLOC);
	track(TRACK_FREE)->cpu = 0;
	track(TRACK_FREE)->pid = 21;
}

static void test_double_free(void **unused)
{
	(void)unused;
	free_object();
	begin();
	expect_banner("Object already free");
	expect_trailer();
	expect("FIX kmalloc-64: Object at 0x%lx not freed\n", (unsigned long)obj);
	report_object(&engine, slab, obj, REPORT_FREE_ALREADY);
	report_fix(&engine, FIX_NOT_FREED, obj);
	check_text();
}

static void check_bytes(enum report_area area, const char *old_name)
{
	unsigned long at = (unsigned long)obj;
	char reason[64];

	free_object();
	begin();
	snprintf(reason, sizeof(reason), "%s overwritten", old_name);
	expect_banner(reason);
	expect("INFO: 0x%lx-0x%lx. First byte 0x6b instead of 0x6\n", at + 2, at + 3);
	expect_trailer();
	expect("FIX kmalloc-64: Restoring 0x%lx-0x%lx=0x6\n\n", at + 2, at + 3);
	report_bytes(&engine, slab, obj, area, obj + 2, obj + 3, 6);
	report_fix_bytes(&engine, area, obj + 2, obj + 3, 6);
	check_text();
}

/* An object that failed its check is left alone without a word; any other mistake ends with one. */
static void test_not_freed(void **unused)
{
	(void)unused;
	report_bytes(&engine, slab, obj, AREA_POISON, obj, obj, 6);
	report_fix(&engine, FIX_NOT_FREED, (void *)0x10);
	report_deliver();
	assert_null(strstr(text, "FIX"));
	report_object(&engine, slab, obj, REPORT_FREE_POINTER);
	report_fix(&engine, FIX_NOT_FREED, (void *)0x20);
	report_deliver();
	assert_null(strstr(text, "FIX"));
	report_bytes(&engine, slab, obj, AREA_POISON, obj, obj, 6);
	report_fix(&engine, FIX_ALL_USED, NULL);
	report_object(&engine, slab, obj, REPORT_FREE_ALREADY);
	report_fix(&engine, FIX_NOT_FREED, (void *)0x30);
	report_deliver();
	assert_non_null(strstr(text, "FIX kmalloc-64: Marking all objects used\n"));
	assert_non_null(strstr(text, "FIX kmalloc-64: Object at 0x30 not freed\n"));
	report_bytes(&engine, slab, obj, AREA_POISON, obj, obj, 6);
	report_slab_invalid(&engine, slab, obj + 8);
	report_fix(&engine, FIX_NOT_FREED, (void *)0x50);
	report_deliver();
	assert_non_null(strstr(text, "FIX kmalloc-64: Object at 0x50 not freed\n"));
	report_set_format("modern");
	report_bytes(&engine, slab, obj, AREA_POISON, obj, obj, 6);
	report_fix(&engine, FIX_NOT_FREED, (void *)0x40);
	report_deliver();
	assert_non_null(strstr(text, "FIX kmalloc-64: Object at 0x40 not freed\n"));
}

static void test_bytes(void **unused)
{
	(void)unused;
	check_bytes(AREA_LEFT_REDZONE, "Redzone");
	check_bytes(AREA_RIGHT_REDZONE, "Redzone");
	check_bytes(AREA_KMALLOC_REDZONE, "Redzone");
	check_bytes(AREA_POISON, "Poison");
	check_bytes(AREA_END_POISON, "Poison");
	check_bytes(AREA_ALIGNMENT, "Alignment padding");
	check_bytes(AREA_OBJECT_PADDING, "Object padding");
}

static void test_padding(void **unused)
{
	char *start = memory + PAGE_SIZE;
	char reason[100];

	(void)unused;
	snprintf(reason, sizeof(reason), "Padding overwritten. 0x%lx-0x%lx",
		 (unsigned long)start + 4090, (unsigned long)start + 4091);
	begin();
	expect_banner(reason);
	expect("INFO: Slab 0x%lx objects=16 used=3 fp=0x%lx flags=0x0083\n", (unsigned long)slab,
	       (unsigned long)obj + STRIDE);
	expect_stack();
	expect_old_dump(" Padding", start + 4080, 1, "5a", "Z");
	report_padding(&engine, slab, start + 4090, start + 4091, start + 4080);
	check_text();
}

static void test_fixes(void **unused)
{
	(void)unused;
	begin();
	expect("FIX kmalloc-64: Object count adjusted.\n"
	       "FIX kmalloc-64: Number of objects adjusted.\n"
	       "FIX kmalloc-64: Freelist cleared\n"
	       "FIX kmalloc-64: Marking all objects used\n");
	report_fix(&engine, FIX_COUNT, NULL);
	report_fix(&engine, FIX_OBJECTS, NULL);
	report_fix(&engine, FIX_FREE_LIST, NULL);
	report_fix(&engine, FIX_ALL_USED, NULL);
	check_text();
}

/* Bits of the old page flags; only 128 bytes of an object. */
static void test_slab_line(void **unused)
{
	static const struct {
		enum page_type type;
		unsigned int node;
		bool frozen;
		const char *flags;
	} cases[] = { { PAGE_SLAB, 0, true, "flags=0x00c3\n" },
		      { PAGE_SLAB, 3, false, "flags=0xc00000000000083\n" },
		      { PAGE_RUN, 0, false, "flags=0x0001\n" } };

	(void)unused;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct slab_counters counters = { .objects = 1, .frozen = cases[i].frozen };

		slab->type = (uint8_t)cases[i].type;
		slab->node = (uint8_t)cases[i].node;
		memcpy(&slab->counters, &counters, sizeof(counters));
		report_slab(&engine, slab, REPORT_NO_SLAB);
		report_deliver();
		assert_non_null(strstr(text, cases[i].flags));
	}
}

static void test_object_is_cut(void **unused)
{
	char *last;

	(void)unused;
	layout.object_size = 500;
	layout.debug = 0;
	report_object(&engine, slab, obj, REPORT_FREE_CHAIN);
	report_deliver();
	begin();
	expect("\n  Object 0x%lx: ", (unsigned long)obj + 112);
	last = strstr(text, expected);
	assert_non_null(last);
	assert_memory_equal(strchr(last + 1, '\n') + 1, " Padding", 8);
}

static void test_debug_flags(void **unused)
{
	(void)unused;
	report_text_open();
	report_old.dump("Object", 9, " ~\x7f\x80\x9f\xa0\xa1\xb2\xfb\xff", 10);
	report_fix(&engine, FIX_FREE_LIST, NULL);
	report_deliver();
	assert_non_null(strstr(text, ":  20 7e 7f 80 9f a0 a1 b2 fb ff                   .~....¡²ûÿ"
				     "      \n"));
}

static void test_leak(void **unused)
{
	(void)unused;
	free_object();
	begin();
	expect("INFO: Object 0x%lx @offset=2624\n", (unsigned long)obj);
	expect("INFO: Allocated in 0x1234 age=0 cpu=1 pid=142\n");
	expect("INFO: Freed in 0x1234 age=0 cpu=0 pid=21\n");
	expect("kmem_cache_destroy kmalloc-64: Slab cache still has objects\n");
	expect_stack();
	report_leak_begin(&engine, slab);
	report_leak_object(&engine, slab, obj);
	report_leak_end(&engine, (void *)NOWHERE);
	report_deliver();
	assert_non_null(strstr(text, expected));
}

#define TEST(name) cmocka_unit_test_setup(test_##name, make_old)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(double_free),   TEST(bytes),	TEST(not_freed),
		TEST(padding),	     TEST(fixes),	TEST(slab_line),
		TEST(object_is_cut), TEST(debug_flags), TEST(leak),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
