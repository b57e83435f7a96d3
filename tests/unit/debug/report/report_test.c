/* SPDX-License-Identifier: MIT */
/*
 * unit/debug/report/report_test.c - what each kind of report has in it, and in which order (spec
 * 7.1, 7.2)
 *
 * In the modern format; how lines look is the matter of report_modern_test.c and report_old_test.c.
 */
#include "unit/debug/report_fixture.h"

/* First word of each line of the last text, each dump once: its shape. */
static const char *shape(void)
{
	static char out[4096];
	const char *last = "";
	size_t last_len = 0;
	char *to = out;

	report_deliver();
	for (const char *line = text; *line; line += strcspn(line, "\n") + 1) {
		size_t len = strcspn(line, " \n");
		bool again = len == last_len && !strncmp(line, last, len);

		last = line;
		last_len = len;
		if (again && strncmp(line, "FIX", 3))
			continue;
		memcpy(to, line, len);
		to += len;
		*to++ = ' ';
	}
	*to = '\0';
	return out;
}

#define BANNER REPORT_RULE_DOUBLE " BUG " REPORT_RULE_SINGLE "  "
#define STACK "CPU: Call "
#define TRAILER "Allocated object Slab Object  Redzone Object Redzone Padding " STACK

static void test_object(void **unused)
{
	(void)unused;
	report_object(&engine, slab, obj, REPORT_FREE_ALREADY);
	assert_string_equal(shape(), BANNER TRAILER);
	assert_non_null(strstr(text, "): Object already free\n"));
	assert_string_equal(cache, "kmalloc-64");
}

static void test_bytes(void **unused)
{
	(void)unused;
	report_bytes(&engine, slab, obj, AREA_POISON, obj, obj, 0x6b);
	report_fix_bytes(&engine, AREA_POISON, obj, obj, 0x6b);
	report_fix(&engine, FIX_NOT_FREED, (void *)0x10);
	assert_non_null(strstr(shape(), TRAILER "FIX FIX "));
	begin();
	expect("\n\n0x%lx-0x%lx @offset=2624. First byte 0x6b instead of 0x6b\nAllocated in ",
	       (unsigned long)obj, (unsigned long)obj);
	assert_non_null(strstr(text, expected));
	assert_non_null(strstr(text, "): Poison overwritten\n"));
	assert_non_null(strstr(text, "FIX kmalloc-64: Object at 0x10 not freed\n"));
}

static void test_slab(void **unused)
{
	char name[300];
	struct engine named = { .name = name };

	(void)unused;
	report_slab_counts(&engine, slab, REPORT_COUNT, 5, 4);
	assert_string_equal(shape(), BANNER "Slab " STACK);
	assert_non_null(strstr(text, "): Wrong object count. Counter is 5 but counted were 4\n"));

	/* At most 100 bytes of reason; an address that lies in no page of ours. */
	memset(name, 'r', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	report_leak_begin(&named, NULL);
	assert_string_equal(shape(), BANNER STACK);
	name[99 - strlen("Objects remaining in ")] = '\0';
	begin();
	expect("): Objects remaining in %s\n", name);
	assert_non_null(strstr(text, expected));
}

static void test_pointer_and_line(void **unused)
{
	(void)unused;
	report_pointer(&engine, slab, (void *)0x77, REPORT_ALLOC_POINTER);
	assert_string_equal(shape(), BANNER "Slab Invalid ");
	assert_non_null(strstr(text, "\nInvalid pointer 0x77\n"));
	report_wrong_partial(NULL, 5, 4);
	assert_string_equal(shape(), "SLUB " STACK);
	begin();
	expect("SLUB <none>: 5 partial slabs counted but counter=4\nCPU: ");
	assert_memory_equal(text, expected, strlen(expected));
	assert_string_equal(cache, "<none>");
}

/* The same words for a mistake, whoever noticed it; and what the kernel does not say. */
static void test_one_wording(void **unused)
{
	(void)unused;
	report_misuse(&engine, slab, obj, REPORT_FREE_ALREADY, NULL);
	assert_string_equal(shape(), BANNER "Slab Pointer  " STACK);
	assert_non_null(strstr(text, "): Object already free\n"));
	assert_non_null(strstr(text, " @offset=2624\n\n"));
	report_invalid(NULL, NULL, (void *)0x77, "uslab: a note");
	assert_string_equal(shape(), BANNER "Pointer uslab:  " STACK);
	assert_non_null(strstr(text, "\nBUG <none> (Tainted: G    B             ): Invalid object "
				     "pointer 0x77\n"));
	assert_non_null(strstr(text, "\nPointer 0x77\nuslab: a note\n\n"));
	report_slab_noted(&engine, slab, REPORT_FREE_CHAIN, "uslab: a note");
	assert_string_equal(shape(), BANNER "Slab uslab: " STACK);
	report_not_done(&engine, obj, FIX_NOT_RESIZED);
	report_deliver();
	assert_non_null(strstr(text, " not resized; USLAB_CONF=report=abort ends the program\n"));
}

/* With debug flags it is known where a pointer lies, and whose object that is. */
static void test_pointer_in_slab(void **unused)
{
	char line[200];

	(void)unused;
	report_slab_invalid(&engine, slab, obj + 8);
	assert_string_equal(shape(), BANNER "Slab uslab: Allocated object Object  " STACK);
	snprintf(line, sizeof(line),
		 "\nuslab: %p lies inside of an object of kmalloc-64, not at its start\n"
		 "Allocated in 0x1234 ",
		 (void *)(obj + 8));
	assert_non_null(strstr(text, "): Invalid object pointer 0x"));
	assert_non_null(strstr(text, line));
	snprintf(line, sizeof(line), "\nObject %p @offset=2624 ", (void *)obj);
	assert_non_null(strstr(text, line));
	report_slab_invalid(&engine, slab, obj - 8);
	report_deliver();
	assert_non_null(strstr(text, " lies beside an object of kmalloc-64, "));
	assert_non_null(strstr(text, line));
	report_slab_pointer(&engine, slab, obj + 70, false, REPORT_NONE_IN_USE);
	report_deliver();
	assert_non_null(strstr(text, " lies beside an object of kmalloc-64, "));
	report_slab_invalid(&engine, slab, memory + 2 * PAGE_SIZE);
	assert_string_equal(shape(), BANNER "Slab uslab: " STACK);
	assert_non_null(strstr(text, " lies behind the objects of kmalloc-64, "));

	report_slab_pointer(&engine, slab, obj, true, REPORT_NONE_IN_USE);
	report_deliver();
	assert_non_null(
		strstr(text, "): Slab has 0 allocated objects but 1 are to be freed\n\n---"));
	assert_non_null(strstr(text, "\nuslab: Object already free\n"));
}

/* The conversions of printf text, one behind the other. */
static const char *conversions(const char *words)
{
	static char out[64];
	char *to = out;

	for (; (words = strchr(words, '%')); words++) {
		size_t len = strcspn(words + 1, "sduxpc") + 2;

		assert_true((size_t)(to - out) + len < sizeof(out));
		memcpy(to, words, len);
		to += len;
		words += len - 1;
	}
	*to = '\0';
	return out;
}

/* What report.c gives with each kind; the others have no argument. */
static const char *const arguments[REPORT_NR_KINDS] = {
	[REPORT_OVERWRITTEN] = "%s",
	[REPORT_PADDING] = "%lx%lx%lu",
	[REPORT_INVALID_POINTER] = "%lx",
	[REPORT_MOST_OBJECTS] = "%u%d",
	[REPORT_MOST_INUSE] = "%u%d",
	[REPORT_OBJECTS] = "%u%d",
	[REPORT_COUNT] = "%u%d",
	[REPORT_REMAINING] = "%s",
	[REPORT_WRONG_PARTIAL] = "%s%lu%lu",
	[REPORT_WRONG_CACHE] = "%s%s%lx%s%s",
};

/* Whatever is reported, in either format, has words, which take the arguments that there are. */
static void test_words(void **unused)
{
	static const struct report_style *const styles[] = { &report_modern, &report_old };

	(void)unused;
	for (size_t i = 0; i < ARRAY_SIZE(styles); i++) {
		for (int kind = REPORT_NOTHING + 1; kind < REPORT_LEAKED; kind++) {
			const char *given = arguments[kind] ? arguments[kind] : "";
			const char *words = styles[i]->reason[kind];

			if (i && !words)
				continue; /* as in the first */
			assert_non_null(words);
			assert_memory_equal(given, conversions(words), strlen(conversions(words)));
			if (!i)
				assert_string_equal(given, conversions(words));
		}
		for (int repair = FIX_NOTHING + 1; repair < REPORT_NR_REPAIRS; repair++) {
			const char *words = styles[i]->repair[repair];

			if (i && !words)
				continue;
			assert_non_null(words);
			assert_string_equal(conversions(words),
					    repair <= FIX_PAGES_UNUSED ? "%lx" : "");
		}
		for (size_t area = 0; area < REPORT_NR_AREAS; area++)
			assert_true(styles[i]->area[area] || i);
	}
}

static void test_padding(void **unused)
{
	char *start = memory + PAGE_SIZE;

	(void)unused;
	report_padding(&engine, slab, start + 4090, start + 4095, start + 4080);
	assert_string_equal(shape(), BANNER "Slab " STACK "Padding ");
}

/* Without the debug flags less is there to be shown. */
static void test_fewer_debug_flags(void **unused)
{
	(void)unused;
	layout.debug = SLAB_POISON;
	report_object(&engine, slab, obj, REPORT_FREE_CHAIN);
	assert_string_equal(shape(), BANNER "Slab Object  Bytes Object Padding " STACK);

	/* The first object of a slab has nothing before it; a plain slab no metadata. */
	layout.debug = 0;
	layout.kind = LAYOUT_PLAIN;
	report_object(&engine, slab, memory + PAGE_SIZE, REPORT_FREE_CHAIN);
	assert_string_equal(shape(), BANNER "Slab Object  Object " STACK);
	assert_non_null(strstr(text, " @offset=0 fp=0x0\n"));
}

static void test_tracks(void **unused)
{
	(void)unused;
	*track(TRACK_FREE) = (struct track){ .addr = NOWHERE, .pid = 7 };
	report_object(&engine, slab, obj, REPORT_FREE_CHAIN);
	assert_non_null(strstr(shape(), "Allocated object Freed object Slab "));
	track(TRACK_ALLOC)->addr = 0;
	report_object(&engine, slab, obj, REPORT_FREE_CHAIN);
	assert_null(strstr(shape(), "Allocated"));
}

static void test_large_object(void **unused)
{
	static char *lines;

	(void)unused;
	layout.object_size = 3000; /* of this 1472 bytes and the next page: all are dumped */
	layout.debug = 0;
	report_object(&engine, slab, memory + PAGE_SIZE, REPORT_FREE_CHAIN);
	report_deliver();
	lines = strstr(text, "Object   ");
	for (int i = 0; i < 3000 / 16 + 1; i++, lines = strchr(lines, '\n') + 1)
		assert_memory_equal(lines, "Object   ", 9);
	assert_memory_not_equal(lines, "Object   ", 9);
}

/* How often the last text has it. */
static unsigned int count(const char *part)
{
	unsigned int n = 0;

	for (const char *at = text; (at = strstr(at, part)); at++)
		n++;
	return n;
}

/* Of more than a page: the begin, what is around the first wrong byte, the end. */
static void test_long_object(void **unused)
{
	char *first = memory + 8 * REPORT_DUMP_LINE;

	(void)unused;
	layout.object_size = PAGE_SIZE + 1024;
	layout.debug = 0;
	memset(memory, 0x6b, sizeof(memory));
	memory[PAGE_SIZE + 9] = 'w';
	report_bytes(&engine, slab, memory, AREA_POISON, memory + PAGE_SIZE + 9,
		     memory + PAGE_SIZE + 9, 0x6b);
	assert_non_null(strstr(shape(), "Object [3776 Object [864 Object Padding " STACK));
	assert_int_equal(count("\nObject   "), 16 + 12 + 2);
	assert_int_equal(count(" bytes of 0x6b are left out]\n"), 2);
	assert_int_equal(count("kkkkkkkkkwkkkkkk\n"), 1);
	/* within the begin, and two bytes of a hundred */
	memory[PAGE_SIZE - 1] = 'o';
	report_bytes(&engine, slab, memory, AREA_POISON, first, first, 0x6b);
	assert_non_null(strstr(shape(), "Object [4832 Object Padding " STACK));
	assert_int_equal(count("\n[4832 bytes are left out]\n"), 1);
	assert_true(report_set_format("2.6.29"));
	report_object(&engine, slab, memory, REPORT_FREE_CHAIN);
	report_deliver();
	assert_int_equal(count("\n  Object 0x"), 16 + 2);
}

/* An object aligned to a page has a page of red zone before it, and as much padding. */
static void test_long_sections(void **unused)
{
	(void)unused;
	layout = (struct slab_layout){ .stride = 2 * PAGE_SIZE,
				       .object_size = 64,
				       .inuse = INUSE,
				       .offset = INUSE,
				       .red_left_pad = PAGE_SIZE,
				       .kind = LAYOUT_DEBUG,
				       .debug = SLAB_RED_ZONE | SLAB_STORE_USER };
	obj = memory + PAGE_SIZE;
	memset(memory, 0x5a, sizeof(memory));
	memset(memory, 0xcc, PAGE_SIZE);
	memset(track(TRACK_ALLOC), 0, 2 * sizeof(struct track));
	memory[2000] = 'w';
	report_bytes(&engine, slab, obj, AREA_LEFT_REDZONE, memory + 2000, memory + 2000, 0xcc);
	report_fix_bytes(&engine, AREA_LEFT_REDZONE, memory + 2000, memory + 2000, 0xcc);
	assert_non_null(strstr(shape(), "Redzone [1680 Redzone [1936 Redzone Object Redzone "
					"Padding [3664 Padding " STACK "FIX "));
	assert_int_equal(count("\nRedzone  "), 16 + 12 + 2 + 1);
	assert_int_equal(count(" bytes of 0xcc are left out]\n"), 2);
	assert_int_equal(count(" bytes of 0x5a are left out]\n"), 1);
}

static void test_trace(void **unused)
{
	unsigned long reports = report_counters.reports;

	(void)unused;
	report_set_hook(hook, text, false);
	report_set_file("/dev/null");
	report_trace(&engine, slab, obj, true);
	report_deliver();
	assert_int_equal(calls, 0); /* no mistake */
	assert_int_equal(report_counters.reports, reports);
	report_trace(&engine, slab, obj, false);
	report_fix(&engine, FIX_FREE_LIST, NULL); /* so that it is delivered */
	begin();
	expect("TRACE kmalloc-64 free 0x%lx inuse=3 fp=0x%lx\n", (unsigned long)obj,
	       (unsigned long)obj + STRIDE);
	report_deliver();
	assert_memory_equal(text, expected, strlen(expected));
	assert_memory_equal(text + strlen(expected), "Object ", 7);
	assert_non_null(strstr(text, "kkk\nObject "));
	assert_non_null(strstr(text, "kk.\nCPU: "));
}

static void test_leak(void **unused)
{
	(void)unused;
	report_leak_begin(&engine, slab);
	report_leak_object(&engine, slab, obj);
	report_leak_object(&engine, slab, obj);
	report_leak_end(&engine, (void *)NOWHERE);
	assert_string_equal(shape(),
			    BANNER "Slab " STACK "Object Allocated object Object Allocated "
				   "object kmem_cache_destroy ");
	assert_non_null(
		strstr(text, "): Objects remaining in kmalloc-64 on __kmem_cache_shutdown()\n"));
	assert_non_null(strstr(text,
			       "\nkmem_cache_destroy kmalloc-64: Slab cache still has objects "
			       "when called from 0x1234\n"));
}

static void test_counters(void **unused)
{
	struct report_counters before = report_counters;

	(void)unused;
	report_object(&engine, slab, obj, REPORT_FREE_CHAIN);
	report_slab(&engine, slab, REPORT_NO_SLAB);
	report_wrong_partial(&engine, 1, 2);
	report_fix(&engine, FIX_FREE_LIST, NULL);
	report_fix_bytes(&engine, AREA_POISON, obj, obj, 1);
	assert_int_equal(report_counters.reports, before.reports + 3);
	assert_int_equal(report_counters.fixes, before.fixes + 2);
	report_deliver();
	assert_int_equal(calls, 1); /* one text */
	report_deliver();
	assert_int_equal(calls, 1);
}

#define TEST(name) cmocka_unit_test_setup(test_##name, make_slab)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(object),	   TEST(bytes),
		TEST(slab),	   TEST(pointer_and_line),
		TEST(one_wording), TEST(pointer_in_slab),
		TEST(padding),	   TEST(fewer_debug_flags),
		TEST(tracks),	   TEST(large_object),
		TEST(trace),	   TEST(leak),
		TEST(counters),	   TEST(words),
		TEST(long_object), TEST(long_sections),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
