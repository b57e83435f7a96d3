/* SPDX-License-Identifier: MIT */
/*
 * unit/debug/report/symbol_names_test.c - names that are remembered, and forgotten in time
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <cmocka.h>

#include "bare.h"
#include "child.h"
#include "debug/report/symbol_names.h"
#include "os/symbol/symbol.h"
#include "plug_in.h"
#include "objects.h"

static const char *name_of(uintptr_t address)
{
	static char text[NAME_MAX_BYTES];

	symbol_names_text(text, address);
	return text;
}

static void test_same_texts(void **state)
{
	const uintptr_t places[] = { (uintptr_t)test_same_texts + 4, (uintptr_t)qsort + 4, 0x1234,
				     (uintptr_t)&places, (uintptr_t)name_of + 4 };
	char text[NAME_MAX_BYTES];

	(void)state;
	for (unsigned int i = 0; i < 20; i++) {
		os_symbol_text(text, sizeof(text), places[i % 5]);
		assert_string_equal(name_of(places[i % 5]), text);
	}
}

/* Two addresses that share a place of the table. */
static void test_collisions(void **state)
{
	(void)state;
	for (uintptr_t at = (uintptr_t)test_same_texts; at < (uintptr_t)name_of + 2000; at += 7) {
		char text[NAME_MAX_BYTES];

		os_symbol_text(text, sizeof(text), at);
		assert_string_equal(name_of(at), text);
		assert_string_equal(name_of(at), text);
	}
}

static void without_files(__attribute__((unused)) void *arg)
{
	uintptr_t known = (uintptr_t)test_same_texts + 4;

	child_needs_objects();
	CHILD_CHECK(!strncmp(name_of(known), "test_same_texts+0x4/", 20));
	child_deny(SYS_openat, EMFILE);
	CHILD_CHECK(!strncmp(name_of(known), "test_same_texts+0x4/", 20));
	CHILD_CHECK(!strncmp(name_of(known + 1), "symbol_names_test+0x", 20));
}

static void test_without_files(void **state)
{
	struct child c;

	if (!bare_process())
		skip();
	c = child_run(without_files, state);
	assert_true(child_passed(&c));
}

/* That no descriptor was left for a moment is not remembered. */
IN_CHILD(test_short_of_files)
{
	uintptr_t address = (uintptr_t)test_without_files + 4;
	struct rlimit limit, none;

	child_needs_objects();
	CHILD_CHECK(!getrlimit(RLIMIT_NOFILE, &limit));
	none = (struct rlimit){ 0, limit.rlim_max };
	CHILD_CHECK(!setrlimit(RLIMIT_NOFILE, &none));
	CHILD_CHECK(!strncmp(name_of(address), "symbol_names_test+0x", 20));
	CHILD_CHECK(!setrlimit(RLIMIT_NOFILE, &limit));
	CHILD_CHECK(!strncmp(name_of(address), "test_without_files+0x4/", 23));
}

/* ---- another version of a library, in its place ---------------------------------------------- */

static char folder[] = "/tmp/uslab-names-XXXXXX";

/* Of the plug-in; its function has another name, and its first page is another one. */
static void write_version(const char *path, const char *original, char letter)
{
	static const char build_id[] = { 3, 0, 0, 0, 'G', 'N', 'U', '\0' };
	static char bytes[1 << 20];
	int from = open(original, O_RDONLY);
	int to = open(path, O_WRONLY | O_CREAT, 0700);
	ssize_t size = read(from, bytes, sizeof(bytes));
	char *name, *id;

	CHILD_CHECK(size > 4096 && size < (ssize_t)sizeof(bytes));
	id = memmem(bytes, 4096, build_id, sizeof(build_id));
	CHILD_CHECK(id);
	id[sizeof(build_id)] = letter;
	name = memmem(bytes, (size_t)size, "\0" PLUG_IN_FUNCTION, sizeof(PLUG_IN_FUNCTION) + 1);
	CHILD_CHECK(name);
	name[sizeof(PLUG_IN_FUNCTION) - 1] = letter;
	CHILD_CHECK(write(to, bytes, (size_t)size) == size);
	close(from);
	close(to);
}

static uintptr_t offset; /* of the function in the plug-in */

static void find_original(char path[4096])
{
	void *handle = dlopen(USLAB_TEST_PLUG_IN, RTLD_LAZY);
	void *function = handle ? dlsym(handle, PLUG_IN_FUNCTION) : NULL;
	Dl_info info;

	CHILD_CHECK(function && dladdr(function, &info) && realpath(info.dli_fname, path));
	offset = (uintptr_t)function - (uintptr_t)info.dli_fbase;
	dlclose(handle);
}

static void load(char letter)
{
	char path[64];
	void **map;
	uintptr_t at;

	snprintf(path, sizeof(path), "%s/%c.so", folder, letter);
	map = dlopen(path, RTLD_LAZY);
	CHILD_CHECK(map);
	at = (uintptr_t)map[0] + offset + 4; /* struct link_map begins with l_addr */
	CHILD_CHECK(strstr(name_of(at),
			   letter == 'A' ? "plug_in_functioA+0x4" : "plug_in_functioB+0x4"));
	dlclose(map);
	CHILD_CHECK(!strncmp(name_of(at), "0x", 2));
}

IN_CHILD(test_other_version)
{
	char original[4096], path[64];

	child_needs_objects();
	CHILD_CHECK(mkdtemp(folder));
	find_original(original);
	for (char letter = 'A'; letter <= 'B'; letter++) {
		snprintf(path, sizeof(path), "%s/%c.so", folder, letter);
		write_version(path, original, letter);
	}
	for (unsigned int i = 0; i < 6; i++)
		load(i % 2 ? 'B' : 'A');
	for (char letter = 'A'; letter <= 'B'; letter++) {
		snprintf(path, sizeof(path), "%s/%c.so", folder, letter);
		unlink(path);
	}
	rmdir(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same_texts),    cmocka_unit_test(test_collisions),
		cmocka_unit_test(test_without_files), cmocka_unit_test(test_short_of_files),
		cmocka_unit_test(test_other_version),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
