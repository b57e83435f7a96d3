/* SPDX-License-Identifier: MIT */
/*
 * unit/cache/config/debug_option_test.c - the grammar of USLAB_DEBUG (spec 6.1), rule by rule
 */
#include "unit/cache/cache_fixture.h"

#include "cache/internal.h"

#define F SLAB_CONSISTENCY_CHECKS
#define Z SLAB_RED_ZONE
#define P SLAB_POISON
#define U SLAB_STORE_USER
#define T SLAB_TRACE
#define A SLAB_FAILSLAB
#define FZPU (F | Z | P | U)

/* What a cache of that name gets, if its creator asks for nothing. */
static slab_flags_t flags_of(const char *text, const char *name)
{
	cache_read_debug_option(text);
	return cache_debug_flags(name, 0);
}

static void test_debug_flags(void **state)
{
	(void)state;
	assert_int_equal(flags_of(NULL, "x"), 0);
	assert_int_equal(flags_of("", "x"), FZPU);
	assert_int_equal(flags_of("FZ", "x"), F | Z);
	assert_int_equal(flags_of("fzputa", "x"), FZPU | T | A);
	assert_int_equal(flags_of("T", "x"), T);
	assert_int_equal(flags_of("A", "x"), A);
	assert_int_equal(flags_of("-", "x"), 0);
	assert_int_equal(flags_of("FZ-U", "x"), U); /* clears what was collected so far */
	assert_int_equal(flags_of("FZ-", "x"), 0);
}

static void test_blocks(void **state)
{
	(void)state;
	/* no debug flags are all of them, for the names only */
	assert_int_equal(flags_of(",dentry", "dentry"), FZPU);
	assert_int_equal(flags_of(",dentry", "dentry2"), 0);
	assert_int_equal(flags_of(",dentry", "dentr"), 0);
	/* the last block without names holds for the rest */
	assert_int_equal(flags_of("F;Z;P", "x"), P);
	assert_int_equal(flags_of("F;U,a;Z;T,b", "x"), Z);
	assert_int_equal(flags_of("U,a;Z", "a"), U); /* in place of it, not beside it */
	/* the first block that names it */
	assert_int_equal(flags_of("U,a,b;Z,b,c", "b"), U);
	assert_int_equal(flags_of("U,a,b;Z,b,c", "c"), Z);
	/* empty blocks are nothing */
	assert_int_equal(flags_of(";;FZ;;", "x"), F | Z);
	assert_int_equal(flags_of(";;,a;;;U", "a"), FZPU);
	assert_int_equal(flags_of(";;,a;;;U", "x"), U);
	assert_int_equal(flags_of(";", "x"), 0);
	/* names that are empty name nothing */
	assert_int_equal(flags_of("U,", "x"), 0);
	assert_int_equal(flags_of("U,,a,,", "a"), U);
}

static void test_stars(void **state)
{
	(void)state;
	assert_int_equal(flags_of("P,kmalloc-*", "kmalloc-8"), P);
	assert_int_equal(flags_of("P,kmalloc-*", "kmalloc-"), P);
	assert_int_equal(flags_of("P,kmalloc-*", "kmalloc"), 0);
	assert_int_equal(flags_of("P,kmalloc-*", "my-kmalloc-8"), 0);
	/* what is behind the star does not count */
	assert_int_equal(flags_of("P,kmalloc-*-foo", "kmalloc-64"), P);
	assert_int_equal(flags_of("P,*", "x"), P);
	assert_int_equal(flags_of("P,a*,b", "b"), P);
	assert_int_equal(flags_of("P,a?c", "abc"), 0); /* no other wildcard */
	/* a star in one entry is not one for its neighbours */
	assert_int_equal(flags_of("P,ab,c*", "a"), 0);
	assert_int_equal(flags_of("P,ab,c*", "abc"), 0);
}

/* The examples of spec 6.1. */
static void test_examples(void **state)
{
	(void)state;
	assert_int_equal(flags_of("FZ", "anything"), F | Z);
	assert_int_equal(flags_of(",dentry", "dentry"), FZPU);
	assert_int_equal(flags_of("P,kmalloc-*,dentry", "kmalloc-1k"), P);
	assert_int_equal(flags_of("P,kmalloc-*,dentry", "dentry"), P);
	assert_int_equal(flags_of("P,kmalloc-*,dentry", "inode"), 0);
	assert_int_equal(flags_of("FZ;-,zs_handle,zspage", "zspage"), 0);
	assert_int_equal(flags_of("FZ;-,zs_handle,zspage", "inode"), F | Z);
	assert_int_equal(flags_of("Z,dentry;U,kmalloc-*", "dentry"), Z);
	assert_int_equal(flags_of("Z,dentry;U,kmalloc-*", "kmalloc-rcl-8"), U);
	assert_int_equal(flags_of("Z,dentry;U,kmalloc-*", "kmalloc-192"), U);
}

static void test_creators_flags(void **state)
{
	(void)state;
	cache_read_debug_option("Z;P,a");
	assert_int_equal(cache_debug_flags("x", F | SLAB_PANIC), F | Z | SLAB_PANIC);
	assert_int_equal(cache_debug_flags("a", F), F | P);
	/* "-" takes nothing away from the creator */
	cache_read_debug_option("FZ;-,a");
	assert_int_equal(cache_debug_flags("a", U), U);
	/*
	 * not for caches that want nothing of it, and no tracks for those
	 * that are left out of leaks
	 */
	cache_read_debug_option("FZPU;U,a");
	assert_int_equal(cache_debug_flags("x", SLAB_NO_USER_FLAGS), SLAB_NO_USER_FLAGS);
	assert_int_equal(cache_debug_flags("a", SLAB_NO_USER_FLAGS | Z), SLAB_NO_USER_FLAGS | Z);
	assert_int_equal(cache_debug_flags("x", SLAB_NOLEAKTRACE), SLAB_NOLEAKTRACE | F | Z | P);
	assert_int_equal(cache_debug_flags("a", SLAB_NOLEAKTRACE), SLAB_NOLEAKTRACE | U);
}

static void test_higher_order(void **state)
{
	(void)state;
	assert_int_equal(flags_of("FO", "x"), F);
	assert_true(cache_no_higher_order());
	assert_int_equal(flags_of("F;Zo,a", "a"), Z);
	assert_true(cache_no_higher_order());
	assert_int_equal(flags_of("O", "x"), 0); /* debug flags, if none with a flag */
	assert_int_equal(flags_of("F,Oops", "x"), 0);
	assert_false(cache_no_higher_order());
}

static void unknown(void *arg)
{
	assert_int_equal(flags_of("FxZ;q,a;U,a", "a"), 0);
	assert_int_equal(flags_of("FxZ", arg), F | Z);
}

#define KNOWN \
	"uslab: USLAB_DEBUG takes F Z P U T A O, - for none, and names of caches behind a comma\n"

/* One line for each, when the text is read, and not for each cache; and one of what there is. */
static void test_unknown(void **state)
{
	struct child c = child_run(unknown, "x");

	(void)state;
	assert_true(child_passed(&c));
	assert_string_equal(c.text, "uslab: slub_debug option 'x' unknown. skipped\n"
				    "uslab: slub_debug option 'q' unknown. skipped\n" KNOWN
				    "uslab: slub_debug option 'x' unknown. skipped\n" KNOWN);
}

static void too_long(__attribute__((unused)) void *arg)
{
	static char text[6000];

	memset(text, ';', sizeof(text) - 1);
	memcpy(text, "FZ", 2);
	memcpy(text + 5000, "U,a", 3);
	CHILD_CHECK(flags_of(text, "a") == (F | Z));
}

static void test_too_long(void **state)
{
	struct child c = child_run(too_long, NULL);

	(void)state;
	assert_true(child_passed(&c));
	assert_string_equal(c.text, "uslab: USLAB_DEBUG: only the first 4095 bytes count\n");
}

/* The environment is read when the first cache is made, and what is in it then holds. */
IN_CHILD(test_environment)
{
	setenv("USLAB_DEBUG", "FZ,a;P,b", 1);
	ready();
	CHILD_CHECK(make("a", 64, 0, 0)->flags == (F | Z));
	setenv("USLAB_DEBUG", "U", 1);
	CHILD_CHECK(make("b", 64, 0, 0)->flags == P);
	CHILD_CHECK(make("c", 64, 0, SLAB_PANIC)->flags == SLAB_PANIC);
}

static void check_parse(const char *text, int ret, slab_flags_t expected)
{
	slab_flags_t flags = 0xdead;

	assert_int_equal(cache_parse_debug(text, &flags), ret);
	assert_int_equal(flags, ret ? 0xdead : expected);
}

static void test_parse(void **state)
{
	(void)state;
	check_parse("", 0, 0);
	check_parse("-", 0, 0);
	check_parse("FZPU", 0, FZPU);
	check_parse("uta", 0, U | T | A);
	check_parse("FF", 0, F);
	check_parse("FX", -EINVAL, 0);
	check_parse("F-", -EINVAL, 0);
	check_parse("O", -EINVAL, 0);
	check_parse("+F", -EINVAL, 0);
}

static const struct {
	char letter;
	slab_flags_t flag;
	const char *where;
} rows[] = {
#define DEBUG_FLAG(letter, flag, where, help) { letter, flag, where },
#include "cache/config/options.def"
};

/* Each letter, in both cases, is what the table says, where it says so. */
IN_CHILD(test_rows)
{
	ready();
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const char upper[] = { rows[i].letter, '\0' };
		const char both[] = { rows[i].letter, (char)(rows[i].letter | 0x20), '\0' };
		bool pages = strstr(rows[i].where, "whole pages");
		slab_flags_t flags = 0;

		CHILD_CHECK(flags_of(both, "x") == rows[i].flag);
		CHILD_CHECK(cache_parse_debug(upper, &flags) == (rows[i].flag ? 0 : -EINVAL));
		CHILD_CHECK(flags == rows[i].flag);
		CHILD_CHECK(!rows[i].flag ||
			    cache_change_blocks(upper) == (pages ? 0 : -EOPNOTSUPP));
	}
}

static slab_flags_t changed(slab_flags_t flags, const char *text)
{
	return cache_change_debug(text, &flags) ? 0xbad : flags;
}

static void test_change(void **state)
{
	(void)state;
	assert_int_equal(changed(F | Z, "U"), U);
	assert_int_equal(changed(F | Z, "-"), 0);
	assert_int_equal(changed(F | Z, ""), 0);
	assert_int_equal(changed(F | Z, "+Ut"), F | Z | U | T);
	assert_int_equal(changed(F | Z, "-Z"), F);
	assert_int_equal(changed(F | Z, "-zf"), 0);
	assert_int_equal(changed(F | Z, "-U"), F | Z);
	assert_int_equal(changed(F, "+"), 0xbad);
	assert_int_equal(changed(F, "+X"), 0xbad);
	assert_int_equal(changed(F, "--"), 0xbad);
	assert_int_equal(changed(F, "F+Z"), 0xbad);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_environment), /* before the others set another text */
		cmocka_unit_test(test_debug_flags),    cmocka_unit_test(test_blocks),
		cmocka_unit_test(test_stars),	       cmocka_unit_test(test_examples),
		cmocka_unit_test(test_creators_flags), cmocka_unit_test(test_higher_order),
		cmocka_unit_test(test_unknown),	       cmocka_unit_test(test_too_long),
		cmocka_unit_test(test_parse),	       cmocka_unit_test(test_rows),
		cmocka_unit_test(test_change),
	};

	return cmocka_run_group_tests_name("debug_option", tests, NULL, NULL);
}
