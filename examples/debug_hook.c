/* SPDX-License-Identifier: MIT */
/*
 * examples/debug_hook.c - the program gets the reports of its own mistakes
 *
 *   $ cc -O2 debug_hook.c -luslab -o debug_hook
 *   $ ./debug_hook
 *   letters: Right Redzone overwritten
 *   letters: Object already free
 *   2 reports
 */
#include <stdio.h>
#include <string.h>
#include <uslab/slab.h>

/* May print and count; may not allocate, free or fork. */
static void on_report(const char *cache, const char *text, void *arg)
{
	/* BUG letters (Not tainted): Right Redzone overwritten */
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
	struct kmem_cache *letters = kmem_cache_create(
		"letters", 24, 0, SLAB_RED_ZONE | SLAB_CONSISTENCY_CHECKS,
		NULL);
	int reports = 0;
	char *a, *b;

	if (!letters)
		return 1;
	uslab_set_report_hook(on_report, &reports, true);
	a = kmem_cache_alloc(letters, GFP_KERNEL);
	b = kmem_cache_alloc(letters, GFP_KERNEL);
	write_beyond(a, 24);
	kmem_cache_free(letters, a); /* reported, repaired, and not freed */
	kmem_cache_free(letters, b);
	kmem_cache_free(letters, b); /* reported, and ignored */
	kmem_cache_free(letters, a); /* now it is freed */
	printf("%d reports\n", reports);
	uslab_set_report_hook(NULL, NULL, false);
	kmem_cache_destroy(letters);
	return 0;
}
