/* SPDX-License-Identifier: MIT */
/*
 * examples/debug_hook.c - the program gets the reports of its own mistakes
 *
 *   $ cc -O2 debug_hook.c -luslab -o debug_hook
 *   $ ./debug_hook
 *   debug flags: Right Redzone overwritten
 *   debug flags: Object already free
 *   2 reports
 */
#include <stdio.h>
#include <string.h>
#include <uslab/slab.h>

/* May print and count; may not allocate, free or fork. */
static void on_report(const char *cache, const char *text, void *arg)
{
	/* BUG debug flags (Not tainted): Right Redzone overwritten */
	const char *what = strstr(text, "): ");
	int *reports = arg;

	if (what)
		printf("%s: %.*s\n", cache, (int)strcspn(what + 3, "\n"),
		       what + 3);
	++*reports;
}

static void write_beyond(char *object, size_t size)
{
	object[size] = 'x';
}

int main(void)
{
	struct kmem_cache *debug_flags = kmem_cache_create(
		"debug flags", 24, 0,
		SLAB_RED_ZONE | SLAB_CONSISTENCY_CHECKS, NULL);
	int reports = 0;
	char *a, *b;

	if (!debug_flags)
		return 1;
	uslab_set_report_hook(on_report, &reports, true);
	a = kmem_cache_alloc(debug_flags, GFP_KERNEL);
	b = kmem_cache_alloc(debug_flags, GFP_KERNEL);
	write_beyond(a, 24);
	kmem_cache_free(debug_flags,
			a); /* reported, repaired, and not freed */
	kmem_cache_free(debug_flags, b);
	kmem_cache_free(debug_flags, b); /* reported, and ignored */
	kmem_cache_free(debug_flags, a); /* now it is freed */
	printf("%d reports\n", reports);
	uslab_set_report_hook(NULL, NULL, false);
	kmem_cache_destroy(debug_flags);
	return 0;
}
