/* SPDX-License-Identifier: MIT */
/*
 * unit/tools/symbols/resolve_core_test.c - names of code in a core whose files lie in a folder
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <sys/stat.h>

#include "unit/tools/core_fixture.h"
#include "symbols/resolve.h"
#include "util.h"

static struct core_file file;
static char nothing[] = "/tmp/us-XXXXXX"; /* an empty folder; shorter than paths of libraries */

/* An address in the caller, behind a call. */
static uint64_t __attribute__((noinline)) here(void)
{
	return (uintptr_t)__builtin_return_address(0);
}

/* What there is to say of an address, for free(); *function: whether it has a name. */
static char *look_up(const char *program, const char *sysroot, uint64_t address,
		     struct resolve_name *name, bool *function)
{
	struct resolve *r = resolve_core(file.path, program, sysroot);
	char *said = NULL;
	size_t size;
	FILE *stream = open_memstream(&said, &size);

	assert_true(r && stream);
	*name = *resolve_address(r, address);
	*function = !strcmp(name->function, "test_program");
	util_collect(stream);
	resolve_warn(r, "test");
	util_collect(NULL);
	resolve_close(r);
	fclose(stream);
	return said;
}

/* In a folder, given, and neither: what the root has at that path is not taken. */
static void test_program(void **state)
{
	static const struct {
		const char *program, *sysroot;
		bool found;
	} cases[] = {
		{ NULL, NULL, true },
		{ NULL, "/", true },
		{ NULL, nothing, false },
		{ "/proc/self/exe", nothing, true },
	};

	(void)state;
	for (unsigned int i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct resolve_name name;
		bool found;
		char *said = look_up(cases[i].program, cases[i].sysroot, here(), &name, &found);

		assert_int_equal(found, cases[i].found);
		assert_int_equal(!strstr(said, "it is elsewhere: --program=FILE\n"), found);
		free(said);
	}
}

/* Is said, and what the core has of it is known: path, place, build ID. */
static void test_lost_library(void **state)
{
	struct resolve *r = resolve_core(file.path, NULL, nothing);
	const struct resolve_name *name = resolve_address(r, (uintptr_t)qsort + 1);
	char *said, *text;
	struct resolve_name copy;
	bool found;

	(void)state;
	assert_string_equal(name->function, "");
	assert_true(name->mapping.path[0] == '/');
	if (*name->mapping.build_id)
		assert_true(asprintf(&text, "%s+0x%" PRIx64 " (build-id %s)", name->mapping.path,
				     name->mapping.address, name->mapping.build_id) > 0);
	else
		assert_true(asprintf(&text, "%s+0x%" PRIx64, name->mapping.path,
				     name->mapping.address) > 0);
	assert_string_equal(name->text, text);
	free(text);
	said = look_up(NULL, nothing, (uintptr_t)qsort + 1, &copy, &found);
	assert_non_null(strstr(said, "cannot be opened under --sysroot, and code in it has no"));
	free(said);
	resolve_close(r);
}

/* The same names as without a folder, and of the same paths. */
static void test_same_names(void **state)
{
	struct resolve *plain = resolve_core(file.path, NULL, NULL);
	struct resolve *inside = resolve_core(file.path, NULL, "/");
	uint64_t addresses[] = { (uintptr_t)qsort + 1, (uintptr_t)test_program + 8, here() };

	(void)state;
	for (unsigned int i = 0; i < sizeof(addresses) / sizeof(addresses[0]); i++) {
		const struct resolve_name *one = resolve_address(plain, addresses[i]);
		const struct resolve_name *other = resolve_address(inside, addresses[i]);

		assert_string_equal(one->function, other->function);
		assert_string_equal(one->object, other->object);
		assert_int_equal(one->line, other->line);
		assert_int_equal(one->mapping.address, other->mapping.address);
		assert_string_equal(one->mapping.build_id, other->mapping.build_id);
	}
	resolve_close(plain);
	resolve_close(inside);
}

/* The path of the file that has an address, of the core. */
static const char *path_of(uint64_t address)
{
	for (unsigned int i = 0; i < file.nr_lines; i++)
		if (address >= file.line[i].start && address < file.line[i].end)
			return file.line[i].path;
	fail();
	return NULL;
}

/* Another core, in which the C library is called folder/name; whole: it has all of that. */
static void make_another(struct core_file *other, bool whole, const char *folder, const char *name)
{
	const char *libc = path_of((uintptr_t)a64l);

	core_whole = whole ? libc : NULL;
	core_fill(other);
	core_rename(other, libc, folder, name);
	core_write(other);
	core_whole = NULL;
}

static void check_name(const struct core_file *core, const char *function)
{
	struct resolve *r = resolve_core(core->path, NULL, NULL);

	/* one that no sanitizer has a function of its own for */
	assert_string_equal(resolve_address(r, (uintptr_t)a64l + 1)->function, function);
	resolve_close(r);
}

/* A library that was deleted, of which the core has all: names are taken from there. */
static void test_whole(void **state)
{
	static struct core_file whole, head;

	(void)state;
	make_another(&whole, true, nothing, "gone");
	make_another(&head, false, nothing, "gone");
	check_name(&whole, "a64l");
	check_name(&head, "");
	unlink(whole.path);
	unlink(head.path);
}

/* What a core names may be no file, and reading it may take for ever. */
static void test_fifo(void **state)
{
	static struct core_file fifo;
	char path[64];

	(void)state;
	snprintf(path, sizeof(path), "%s/f", nothing);
	assert_int_equal(mkfifo(path, 0600), 0);
	make_another(&fifo, false, nothing, "f");
	alarm(20);
	check_name(&fifo, "");
	alarm(0);
	unlink(fifo.path);
	unlink(path);
}

static int make_core(void **state)
{
	(void)state;
	assert_non_null(mkdtemp(nothing));
	core_fill(&file);
	core_write(&file);
	return 0;
}

static int remove_core(void **state)
{
	(void)state;
	return unlink(file.path) || rmdir(nothing);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_program),	   cmocka_unit_test(test_lost_library),
		cmocka_unit_test(test_same_names), cmocka_unit_test(test_whole),
		cmocka_unit_test(test_fifo),
	};

	return cmocka_run_group_tests(tests, make_core, remove_core);
}
