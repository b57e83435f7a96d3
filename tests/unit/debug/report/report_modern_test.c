/* SPDX-License-Identifier: MIT */
/*
 * unit/debug/report/report_modern_test.c - the lines of Linux 6.1's format: spec 7.5 to the letter
 */
#include <unistd.h>

#include "os/cpu/cpu.h"
#include "os/process/process.h"
#include "unit/debug/report_fixture.h"

#define FLAGS 0xc00000000000200ul /* node 3 */

static void expect_banner(const char *taint, const char *reason)
{
	expect("=============================================================================\n"
	       "BUG kmalloc-64 (%s): %s\n"
	       "-----------------------------------------------------------------------------\n\n",
	       taint, reason);
}

/* One CPU is made up, so that its number is known. */
static void expect_stack(const char *taint)
{
	char name[OS_THREAD_NAME_MAX];

	os_thread_name(name);
	expect("CPU: 0 PID: %u Comm: %s %s uslab %s\nCall Trace:\n", os_thread_id(), name, taint,
	       uslab_version());
}

static void expect_slab_line(void)
{
	expect("Slab 0x%lx objects=16 used=3 fp=0x%lx flags=0x%lx(slab|node=3)\n",
	       (unsigned long)slab, (unsigned long)obj + STRIDE, FLAGS);
}

static const char *taint(void)
{
	return report_tainted() ? "Tainted: G    B             " : "Not tainted";
}

/* The first one of the process: the only one that is not tainted. */
static void test_right_redzone(void **unused)
{
	unsigned long at = (unsigned long)obj;

	(void)unused;
	assert_false(report_tainted());
	obj[64] = 0x12;
	obj[65] = 0x34;
	begin();
	expect_banner("Not tainted", "Right Redzone overwritten");
	expect("0x%lx-0x%lx @offset=2688. First byte 0x12 instead of 0xcc\n", at + 64, at + 65);
	expect("Allocated in 0x1234 age=0 cpu=1 pid=142\nobject allocation stack trace missing\n");
	expect_slab_line();
	expect("Object 0x%lx @offset=2624 fp=0x%lx\n\n", at, at + STRIDE);
	expect_dump("Redzone  ", obj - 64, 4, "cc", '.');
	expect_dump("Object   ", obj, 3, "6b", 'k');
	expect("Object   %lx: 6b 6b 6b 6b 6b 6b 6b 6b 6b 6b 6b 6b 6b 6b 6b a5  "
	       "kkkkkkkkkkkkkkk.\n",
	       at + 48);
	expect("Redzone  %lx: 12 34 cc cc cc cc cc cc                          .4......\n",
	       at + 64);
	expect_dump("Padding  ", obj + 148, 2, "5a", 'Z');
	expect("Padding  %lx: 5a 5a 5a 5a 5a 5a 5a 5a 5a 5a 5a 5a              ZZZZZZZZZZZZ\n",
	       at + 180);
	expect_stack("Not tainted");
	expect("FIX kmalloc-64: Restoring Right Redzone 0x%lx-0x%lx=0xcc\n", at + 64, at + 65);
	expect("FIX kmalloc-64: Object at 0x%lx not freed\n", at);

	report_bytes(&engine, slab, obj, AREA_RIGHT_REDZONE, obj + 64, obj + 65, 0xcc);
	report_fix_bytes(&engine, AREA_RIGHT_REDZONE, obj + 64, obj + 65, 0xcc);
	report_fix(&engine, FIX_NOT_FREED, (void *)at);
	check_text();
	assert_true(report_tainted());
}

static void test_padding(void **unused)
{
	char *start = memory + PAGE_SIZE;
	unsigned long at = (unsigned long)start;

	(void)unused;
	start[4090] = 0;
	begin();
	expect_banner(taint(), "");
	expected[strlen(expected) - 80] = '\0'; /* the reason goes on */
	expect("Padding overwritten. 0x%lx-0x%lx @offset=4090\n", at + 4090, at + 4090);
	expect("-----------------------------------------------------------------------------\n\n");
	expect_slab_line();
	expect_stack(taint());
	expect("Padding %lx: 5a 5a 5a 5a 5a 5a 5a 5a 5a 5a 00 5a 5a 5a 5a 5a  ZZZZZZZZZZ.ZZZZZ\n",
	       at + 4080);
	expect("FIX kmalloc-64: Restoring slab padding 0x%lx-0x%lx=0x5a\n", at + 4090, at + 4090);
	report_padding(&engine, slab, start + 4090, start + 4090, start + 4080);
	report_fix_bytes(&engine, AREA_SLAB_PADDING, start + 4090, start + 4090, 0x5a);
	check_text();
}

/* Where the address is no slab's, the line says so. */
static void test_no_slab(void **unused)
{
	(void)unused;
	slab->type = PAGE_RUN;
	begin();
	expect_banner(taint(), "Not a valid slab page");
	expect("Slab 0x%lx objects=0 used=0 fp=0x0 flags=0xc00000000000000(node=3)\n",
	       (unsigned long)slab);
	expect_stack(taint());
	report_slab(&engine, slab, REPORT_NO_SLAB);
	check_text();
}

static void test_dump_debug_flags(void **unused)
{
	(void)unused;
	report_text_open();
	report_modern.dump("Object", 9, " ~\x7f\x80\xa5 az\x1f", 9);
	report_fix(&engine, FIX_FREE_LIST, NULL);
	report_deliver();
	assert_non_null(
		strstr(text, ": 20 7e 7f 80 a5 20 61 7a 1f                        ~... az.\n"));
}

static void test_age(void **unused)
{
	unsigned long age;

	(void)unused;
	track(TRACK_ALLOC)->when = os_clock_ms() - 340;
	report_object(&engine, slab, obj, REPORT_FREE_CHAIN);
	report_deliver();
	age = strtoul(strstr(text, " age=") + 5, NULL, 10);
	assert_in_range(age, 340, 340 + 20000);
}

static void test_saved_stack(void **unused)
{
	static const uintptr_t pcs[] = { 0x2345, 0x3456 };

	(void)unused;
	track(TRACK_ALLOC)->handle = stacks_save(pcs, 2);
	report_object(&engine, slab, obj, REPORT_FREE_CHAIN);
	report_deliver();
	assert_non_null(strstr(text, " pid=142\n 0x2345\n 0x3456\nSlab 0x"));
}

#define TEST(name) cmocka_unit_test_setup(test_##name, make_slab)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(right_redzone),	TEST(padding), TEST(no_slab),
		TEST(dump_debug_flags), TEST(age),     TEST(saved_stack),
	};

	if (os_topology_set(1, 1))
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
