/* SPDX-License-Identifier: MIT */
/*
 * unit/tools/top/top_keys_test.c - keys of `uslab top` that act on the process are pressed twice
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "command/command.h"
#include "top/top.h"

/* ---- in place of the process and the screen ---- */

static unsigned int sent; /* commands */
static enum control_command last;
static bool more; /* what the process answers */
static int error; /* likewise */
static enum filtered filtered;
static const char *answer_given; /* to a question */

int command_send(struct target *t, const struct target_root *root,
		 const struct command_request *request, struct control *reply)
{
	(void)t;
	(void)root;
	memset(reply, 0, sizeof(*reply));
	reply->more = more;
	last = request->command;
	sent++;
	return error;
}

enum filtered command_filtered(const struct target *t, const struct target_root *root)
{
	(void)t;
	(void)root;
	return filtered;
}

void command_new_sweep(char argument[CONTROL_TEXT])
{
	argument[0] = '\0';
}

const char *command_lacks_thread(struct target *t, const struct target_root *root)
{
	(void)t;
	(void)root;
	return NULL;
}

bool top_screen_ask(const char *question, char *answer, size_t size)
{
	(void)question;
	snprintf(answer, size, "%s", answer_given);
	return true;
}

unsigned int top_screen_lines(void)
{
	return 20;
}

/* ---- two caches; the cursor is on the first ---- */

static struct top *top;

static void add_cache(unsigned int i, const char *name, unsigned long slab_bytes)
{
	struct snapshot_cache *c = &top->snapshot->cache[i];

	snprintf(c->name, sizeof(c->name), "%s", name);
	c->id = i + 1;
	c->slabs = 1;
	c->slab_bytes = slab_bytes;
	c->refcount = 1;
	c->movable = true;
	top->snapshot->nr_caches = i + 1;
}

static int setup(void **state)
{
	(void)state;
	top = calloc(1, sizeof(*top));
	top->snapshot = calloc(1, sizeof(*top->snapshot));
	top->table = calloc(1, sizeof(*top->table));
	top->source.options.kind = SOURCE_PROCESS;
	add_cache(0, "one", 8192);
	add_cache(1, "two", 4096);
	top_add_sample(top->table, top->snapshot, 1);
	top_make_rows(top->table, top->snapshot, top);
	sent = 0;
	more = false;
	error = 0;
	answer_given = "FZ";
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	free(top->table);
	free(top->snapshot);
	free(top);
	return 0;
}

static void press(const char *keys)
{
	for (; *keys; keys++)
		assert_true(top_key(top, *keys));
}

static void test_second_time(void **state)
{
	static const struct {
		const char *key;
		enum control_command command;
		const char *question;
	} keys[] = {
		{ "m", CONTROL_DEFRAG, "defragment one: m again to confirm" },
		{ "s", CONTROL_SHRINK, "shrink one: s again to confirm" },
		{ "v", CONTROL_VALIDATE, "validate one: v again to confirm" },
		{ "t", CONTROL_DEBUG, "track one: t again to confirm" },
	};

	(void)state;
	for (unsigned int i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		press(keys[i].key);
		assert_string_equal(top->message, keys[i].question);
		assert_int_equal(sent, i);
		press(keys[i].key);
		assert_int_equal(sent, i + 1);
		assert_int_equal(last, keys[i].command);
	}
	press("s"); /* what was done once is asked for anew */
	assert_int_equal(sent, 4);
}

/* Where a filter is known to end the process nobody is told of --force. */
static void test_filters(void **state)
{
	(void)state;
	error = -ECANCELED;
	filtered = FILTERED_UNREAD;
	press("ss");
	assert_non_null(strstr(top->message, "or cannot be read; see --force"));
	filtered = FILTERED_ENDS;
	press("ss");
	assert_non_null(strstr(top->message, "its seccomp filter ends it"));
	assert_null(strstr(top->message, "--force"));
}

static void test_other_keys_call_it_off(void **state)
{
	(void)state;
	press("mpm");
	press("ms"); /* m for the second time, then s for the first */
	assert_int_equal(sent, 1);
	assert_int_equal(last, CONTROL_DEFRAG);
	press("jsks"); /* for another cache */
	assert_int_equal(sent, 1);
	press("d"); /* asks by itself */
	assert_int_equal(sent, 2);
	assert_int_equal(last, CONTROL_DEBUG);
}

/* What is no debug flags is not sent; without a text all of them would go. */
static void test_answers(void **state)
{
	(void)state;
	answer_given = "";
	press("d");
	assert_int_equal(sent, 0);
	assert_string_equal(top->message, "nothing is changed; - is for no debug flags");
	answer_given = "FX";
	press("d");
	assert_int_equal(sent, 0);
	assert_string_equal(top->message, "'FX': debug flags are F, Z, P, U, T and A, - for none");
	answer_given = "-";
	press("d");
	assert_int_equal(sent, 1);
	answer_given = "+fz";
	press("d");
	assert_int_equal(sent, 2);
}

/* The rows changed meanwhile. */
static void test_another_cache(void **state)
{
	(void)state;
	press("s");
	strcpy(top->selected, "two");
	press("s");
	assert_string_equal(top->message, "shrink two: s again to confirm");
	assert_int_equal(sent, 0);
}

static void test_more_goes_on(void **state)
{
	(void)state;
	more = true;
	press("mm");
	assert_int_equal(sent, 1);
	assert_non_null(strstr(top->message, "m: more"));
	press("m");
	assert_int_equal(sent, 2);
	more = false;
	press("m");
	assert_int_equal(sent, 3);
	press("m");
	assert_int_equal(sent, 3);
}

static void test_time(void **state)
{
	(void)state;
	assert_true(top_key_expire(top) < 0);
	press("s");
	assert_true(top_key_expire(top) > 0);
	assert_true(top_key_expire(top) <= 5);
	top->again.until = 1;
	press("s"); /* too late: asks anew */
	assert_int_equal(sent, 0);
	assert_true(top_key_expire(top) > 0);
	top->again.until = 1;
	assert_true(top_key_expire(top) < 0);
	assert_string_equal(top->message, "");
	press("s");
	assert_int_equal(sent, 0);
}

/* A row that is no cache. */
static void test_no_cache(void **state)
{
	(void)state;
	top->snapshot->cache[0].id = 0;
	strcpy(top->snapshot->cache[0].name, "free-pages");
	top_add_sample(top->table, top->snapshot, 2);
	top_make_rows(top->table, top->snapshot, top);
	press("d");
	assert_string_equal(top->message, "free-pages is no cache");
	press("tt");
	assert_int_equal(sent, 0);
}

/* A thousand blocks of whole pages take 125 KiB with U. */
static void test_memory(void **state)
{
	struct snapshot *s = top->snapshot;

	(void)state;
	s->cache[0].id = 0;
	s->cache[0].whole_pages = true;
	s->totals.mapped = 1000;
	s->totals.limit = 65536;
	top->source.target.pid = getpid();
	press("t");
	press("t");
	assert_int_equal(sent, 0);
	assert_string_equal(top->message, "up to 125.0 KiB more, but its limit of uslab (64.0 KiB) "
					  "leaves 64.0 KiB; see --force");
	answer_given = "U";
	press("d");
	assert_int_equal(sent, 0);
	answer_given = "F";
	press("d");
	assert_int_equal(sent, 1);
	top->source.target.force = true;
	press("tt");
	assert_int_equal(sent, 2);
	top->source.target.force = false;
	s->cache[0].flags = SLAB_STORE_USER;
	press("tt"); /* off */
	assert_int_equal(sent, 3);
}

static void test_immovable(void **state)
{
	(void)state;
	top->snapshot->cache[0].movable = false;
	press("mm");
	assert_string_equal(top->message, "objects of one do not move");
	assert_int_equal(sent, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_second_time, setup, teardown),
		cmocka_unit_test_setup_teardown(test_filters, setup, teardown),
		cmocka_unit_test_setup_teardown(test_other_keys_call_it_off, setup, teardown),
		cmocka_unit_test_setup_teardown(test_answers, setup, teardown),
		cmocka_unit_test_setup_teardown(test_another_cache, setup, teardown),
		cmocka_unit_test_setup_teardown(test_more_goes_on, setup, teardown),
		cmocka_unit_test_setup_teardown(test_time, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_cache, setup, teardown),
		cmocka_unit_test_setup_teardown(test_memory, setup, teardown),
		cmocka_unit_test_setup_teardown(test_immovable, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
