/* SPDX-License-Identifier: MIT */
/*
 * conformance/trim_residency_test.c - giving memory back makes no page resident that was not
 *
 * ctest: sanitize=no
 *
 * 1000 caches with one object each; then all is shrunk and trimmed. Counted are the
 * resident pages of the library's own memory: arena, descriptors, class bytes, dirty bits,
 * windows of CPUs, metadata.
 */
#include <fcntl.h>

#include "unit/cache/cache_fixture.h"

#define CACHES 1000

struct pair {
	const char *engine;
	const char *front;
	char name[40];
};

/*
 * Read with plain system calls into what is resident already: to look must not change what is seen.
 */
static char text[4 << 20];

static void read_smaps(void)
{
	int fd = open("/proc/self/smaps", O_RDONLY | O_CLOEXEC);
	size_t size = 0;
	ssize_t n;

	CHILD_CHECK(fd >= 0);
	while ((n = read(fd, text + size, sizeof(text) - 1 - size)) > 0)
		size += (size_t)n;
	CHILD_CHECK(size < sizeof(text) - 1);
	text[size] = '\0';
	close(fd);
}

extern char __executable_start[];
extern char _end[];

/* Is it a mapping without a file that is none of the program's own variables, heap and stack? */
static bool is_ours(const char *line, unsigned long start)
{
	const char *name = strchr(line, '[');

	if (start >= (unsigned long)__executable_start && start < (unsigned long)_end)
		return false;
	return strstr(line, " 00:00 0 ") && (!name || strstr(name, "[anon:uslab"));
}

static unsigned long resident_pages(void)
{
	unsigned long pages = 0;
	bool ours = false;
	char *next;

	read_smaps();
	for (char *line = text; (next = strchr(line, '\n')); line = next + 1) {
		unsigned long start;
		unsigned long kib;

		*next = '\0';
		if (sscanf(line, "%lx-%*x %*s %*s %*x:%*x", &start) == 1 && strchr(line, '-'))
			ours = is_ours(line, start);
		else if (ours && sscanf(line, "Rss: %lu", &kib) == 1)
			pages += kib / 4;
	}
	return pages;
}

static void trim_never_raises(void *arg)
{
	static struct cache *caches[CACHES];
	const struct pair *pair = arg;
	unsigned long before;
	unsigned long after;

	memset(text, 1, sizeof(text));
	ready();
	stay_here();
	for (unsigned int i = 0; i < CACHES; i++) {
		caches[i] = made(&(struct cache_spec){ .name = "trim",
						       .size = 8 + 8 * (i % 200) +
							       (i % 50 ? 0 : 4096 * (i / 200)),
						       .engine = cache_engine_by_name(pair->engine),
						       .front = cache_front_by_name(pair->front),
						       .no_merge = true });
		memset(get(caches[i]), 1, 8);
	}
	resident_pages(); /* libc's own */
	before = resident_pages();
	CHILD_CHECK(before > CACHES / 4 && before < 50 * CACHES);
	cache_shrink_all();
	buddy_trim(0);
	after = resident_pages();
	if (after > before)
		dprintf(STDERR_FILENO, "%s: %lu pages before, %lu after\n", pair->name, before,
			after);
	CHILD_CHECK(after <= before);
	cache_check_all();
	buddy_check();
}

static void test(void **state)
{
	struct child c = child_run(trim_never_raises, *state);

	assert_true(child_passed(&c));
}

static struct pair pairs[] = {
	{ "slub", "array", "" },	 { "slub", "cpuslab", "" },
	{ "slub", "queues", "" },	 { "slub", "none", "" },
	{ "slab", "array", "" },	 { "slab", "queues", "" },
	{ "slab", "none", "" },		 { "slobseg", "array", "" },
	{ "slobseg", "queues", "" },	 { "slobseg", "none", "" },
	{ "slob", "none", "" },		 { "slob", "array", "" },
	{ "slob", "queues", "" },	 { "slobseg:pow2", "none", "" },
	{ "slobseg:pow2", "array", "" }, { "slobseg:pow2", "queues", "" },
};

int main(void)
{
	struct CMUnitTest tests[ARRAY_SIZE(pairs)];

	for (size_t i = 0; i < ARRAY_SIZE(pairs); i++) {
		snprintf(pairs[i].name, sizeof(pairs[i].name), "%s/%s", pairs[i].engine,
			 pairs[i].front);
		tests[i] = (struct CMUnitTest){ .name = pairs[i].name,
						.test_func = test,
						.initial_state = &pairs[i] };
	}
	if (!bare_process())
		return 77;
	return _cmocka_run_group_tests("trim_residency", tests, ARRAY_SIZE(pairs), NULL, NULL);
}
