/* SPDX-License-Identifier: MIT */
/*
 * unit/os/instrument/probe_test.c - the semaphores, and the notes that tracers read from the file
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "os/instrument/probe.h"

/* What the notes say; for the library they are one. */
extern volatile unsigned short uslab_kfree_semaphore;
extern volatile unsigned short uslab_kmem_cache_alloc_semaphore;
extern volatile unsigned short uslab_kmem_cache_free_semaphore;

static void each_semaphore_counts(void **state)
{
	static volatile unsigned short *const objects[] = {
		&uslab_kmalloc_semaphore,
		&uslab_kfree_semaphore,
		&uslab_kmem_cache_alloc_semaphore,
		&uslab_kmem_cache_free_semaphore,
	};

	(void)state;
	assert_false(os_probe_objects());
	for (size_t i = 0; i < ARRAY_SIZE(objects); i++) {
		*objects[i] = 2;
		assert_true(os_probe_objects());
		*objects[i] = 0;
		assert_false(os_probe_objects());
	}
	/* nobody is held up for pages */
	uslab_mm_page_alloc_semaphore = 1;
	uslab_mm_page_free_semaphore = 1;
	assert_false(os_probe_objects());
	uslab_mm_page_alloc_semaphore = 0;
	uslab_mm_page_free_semaphore = 0;
}

/* They are called whether anybody listens or not. */
static void probes_do_nothing_by_themselves(void **state)
{
	const struct os_probe_alloc a = { .call_site = state, .ptr = state, .bytes_req = 1 };

	(void)state;
	os_probe_kmalloc(&a);
	os_probe_kmem_cache_alloc(&a, "name");
	os_probe_kfree(state, state);
	os_probe_kmem_cache_free(state, state, "name");
	os_probe_page_alloc(state, 0, 0);
	os_probe_page_free(state, 0, 0);
}

/* Is there a note "uslab", name, and so many arguments? As `name\0 args` in the program's file. */
static bool has_note(const char *file, size_t size, const char *name, unsigned int arguments)
{
	char start[64];
	size_t len = (size_t)snprintf(start, sizeof(start), "uslab%c%s%c", 0, name, 0);
	const char *note = memmem(file, size, start, len);
	unsigned int nr = 0;

	if (!note)
		return false;
	for (const char *p = note + len; *p; p++)
		nr += *p == '@';
	return nr == arguments;
}

static void the_file_has_the_notes(void **state)
{
#if __has_include(<sys/sdt.h>) && !defined(USLAB_NO_TOOL_HEADERS)
	static const struct {
		const char *name;
		unsigned int arguments;
	} probes[] = { { "kmalloc", 7 },	 { "kmem_cache_alloc", 8 }, { "kfree", 2 },
		       { "kmem_cache_free", 3 }, { "mm_page_alloc", 5 },    { "mm_page_free", 3 } };
	FILE *self = fopen("/proc/self/exe", "r");
	size_t size = 64 << 20;
	char *file = malloc(size);

	(void)state;
	assert_non_null(file);
	assert_non_null(self);
	size = fread(file, 1, size, self);
	for (size_t i = 0; i < ARRAY_SIZE(probes); i++)
		assert_true(has_note(file, size, probes[i].name, probes[i].arguments));
	fclose(self);
	free(file);
#else
	(void)state;
	(void)has_note;
	skip();
#endif
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_semaphore_counts),
		cmocka_unit_test(probes_do_nothing_by_themselves),
		cmocka_unit_test(the_file_has_the_notes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
