/* SPDX-License-Identifier: MIT */
/*
 * unit/inspect/allocinfo_test.c - call sites of a made-up process, and lies about them
 */
#include <string.h>

#include "fake_snapshot.h"
#include "inspect/allocinfo.h"

#define POINTER 0x66660000ul
#define TABLE 0x67000000ul
#define SITE(i) (0x68000000ul + 0x1000ul * (i))
#define CPU(i) (0x69000000ul + 0x10000ul * (i))
#define CHUNK(cpu, i) (0x6a000000ul + 0x100000ul * (cpu) + 0x1000ul * (i))

static struct sites *table(void)
{
	return fake_at(&f, TABLE);
}

static struct site *site(unsigned int i)
{
	return fake_at(&f, SITE(i));
}

static struct site_counters *counters(unsigned int cpu, unsigned int i)
{
	return (struct site_counters *)fake_at(&f, CHUNK(cpu, i / SITES_PER_CHUNK)) +
	       i % SITES_PER_CHUNK;
}

static void make_site(unsigned int i, const char *file, const char *function, const char *module)
{
	char *text = site(i)->text;

	*site(i) = (struct site){ .line = 10 * i,
				  .file = (uint16_t)strlen(file),
				  .function = (uint16_t)strlen(function),
				  .module = (uint16_t)strlen(module) };
	text = stpcpy(text, file) + 1;
	text = stpcpy(text, function) + 1;
	strcpy(text, module);
	table()->site[i] = (struct site *)SITE(i);
}

/* Two sites, without counters. */
static void profile(void)
{
	fake_map(&f, POINTER, 8);
	*(uint64_t *)fake_at(&f, POINTER) = TABLE;
	fake_map(&f, TABLE, sizeof(struct sites));
	fake_map(&f, SITE(0), SITE(80) - SITE(0));
	fake_root(&f)->sites = POINTER;
	table()->on = 1;
	table()->nr = 2;
	table()->nr_cpus = 2;
	table()->lost = 5;
	make_site(1, "dir/a.c", "first", "");
	make_site(2, "dir/b.c", "second", "libx.so");
}

static void profile_on_cpus(void)
{
	profile();
	fake_map(&f, CPU(0), 0x20000);
	table()->cpu[0] = (struct sites_cpu *)CPU(0);
	table()->cpu[1] = (struct sites_cpu *)CPU(1);
}

static struct allocinfo_site seen[100];
static unsigned int nr_seen;

static void see(const struct allocinfo_site *site, void *arg)
{
	assert_ptr_equal(arg, seen);
	seen[nr_seen++] = *site;
}

static long visit(void)
{
	nr_seen = 0;
	fake_take();
	return allocinfo_visit(s, see, seen);
}

static void test_none(void **state)
{
	struct allocinfo info;

	(void)state;
	assert_int_equal(visit(), 0);
	assert_true(allocinfo_read(s, &info));
	assert_false(info.known);
	fake_map(&f, POINTER, 8);
	fake_root(&f)->sites = POINTER;
	assert_int_equal(visit(), 0);
	assert_true(allocinfo_read(s, &info));
	assert_false(info.known);
}

static void test_texts(void **state)
{
	struct allocinfo info;

	(void)state;
	profile_on_cpus();
	assert_int_equal(visit(), 2);
	assert_string_equal(seen[0].file, "dir/a.c");
	assert_string_equal(seen[0].function, "first");
	assert_string_equal(seen[0].module, "");
	assert_int_equal(seen[0].line, 10);
	assert_string_equal(seen[1].module, "libx.so");
	assert_int_equal(seen[1].bytes, 0);
	assert_true(allocinfo_read(s, &info));
	assert_true(info.known && info.on);
	assert_int_equal(info.lost, 5);
	assert_int_equal(info.sites, 2);
	site(1)->gone = 1;
	assert_int_equal(visit(), 1);
	assert_string_equal(seen[0].file, "dir/b.c");
}

static void add_chunk(unsigned int cpu, unsigned int chunk)
{
	struct sites_cpu *of = fake_at(&f, CPU(cpu));

	fake_map(&f, CHUNK(cpu, chunk), SITES_PER_CHUNK * sizeof(struct site_counters));
	of->chunk[chunk] = (struct site_counters *)CHUNK(cpu, chunk);
}

static void test_sums(void **state)
{
	(void)state;
	profile_on_cpus();
	add_chunk(0, 0);
	add_chunk(1, 0);
	*counters(0, 1) = (struct site_counters){ 300, 3 };
	*counters(1, 1) = (struct site_counters){ -100ul, -1ul };
	*counters(1, 2) = (struct site_counters){ -100ul, -1ul };
	site(1)->gone = 1; /* but something of it is in use */
	assert_int_equal(visit(), 2);
	assert_int_equal(seen[0].bytes, 200);
	assert_int_equal(seen[0].calls, 2);
	assert_int_equal(seen[1].bytes, 0); /* not less */
	assert_int_equal(seen[1].calls, 0);
}

static void test_lies(void **state)
{
	(void)state;
	profile_on_cpus();
	table()->nr = UINT32_MAX;
	table()->nr_cpus = UINT32_MAX;
	table()->cpu[7] = (struct sites_cpu *)0x123;
	table()->site[3] = (struct site *)0x123;
	site(1)->file = UINT16_MAX;
	site(1)->function = UINT16_MAX;
	memset(site(2)->text, '\033', 900);
	assert_int_equal(visit(), 2);
	assert_int_equal(strlen(seen[1].file), SITE_FILE_MAX);
	assert_int_equal(seen[1].file[0], '?');
	*(uint64_t *)fake_at(&f, POINTER) = 0x123;
	assert_int_equal(visit(), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FAKE_TEST(test_none),
		FAKE_TEST(test_texts),
		FAKE_TEST(test_sums),
		FAKE_TEST(test_lies),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
