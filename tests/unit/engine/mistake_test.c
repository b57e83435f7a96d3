/* SPDX-License-Identifier: MIT */
/*
 * unit/engine/mistake_test.c - the listener is called for a mistake; without one the program ends
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "child.h"

#include "engine/mistake.h"

static const struct engine_ops ops = { .name = "ops" };
static struct engine engine = { .ops = &ops, .name = "test" };
static unsigned int reported;
static unsigned int delivered;

static void report(struct engine *e, void *obj, enum engine_mistake what)
{
	reported += e == &engine && obj == &reported && what == ENGINE_FREE_AGAIN;
}

static void deliver(void)
{
	delivered++;
}

static void heard(__attribute__((unused)) void **state)
{
	static const struct engine_listener listener = { report, deliver };

	engine_mistakes_deliver();
	engine_listener = &listener;
	engine_mistake(&engine, &reported, ENGINE_FREE_AGAIN);
	engine_mistake_now(&engine, &reported, ENGINE_FREE_AGAIN);
	assert_int_equal(reported, 2);
	assert_int_equal(delivered, 1);
	engine_listener = NULL;
}

/* Only what was said under a lock goes out with its release. */
static void unlocking(__attribute__((unused)) void **state)
{
	static const struct engine_listener listener = { report, deliver };
	struct lock lock = LOCK_INIT(RANK_ENGINE);
	unsigned int before = delivered;
	bool said = false;

	engine_listener = &listener;
	lock_acquire(&lock);
	engine_unlock(&lock, &said);
	assert_int_equal(delivered, before);
	lock_acquire(&lock);
	engine_mistake(&engine, &reported, ENGINE_FREE_AGAIN);
	said = true;
	engine_unlock(&lock, &said);
	assert_int_equal(delivered, before + 1);
	assert_false(said || lock_is_inside());
	engine_listener = NULL;
}

static void unheard_of(void *what)
{
	engine_mistake(&engine, &reported, *(enum engine_mistake *)what);
}

static void ends(__attribute__((unused)) void **state)
{
	static const char *const texts[] = { "ops: double free of 0x",
					     "ops: free of what is no object, 0x",
					     "ops: corrupt free list at 0x",
					     "ops: no header before 0x" };

	for (unsigned int what = 0; what < ARRAY_SIZE(texts); what++) {
		enum engine_mistake mistake = (enum engine_mistake)what;
		struct child c = child_run(unheard_of, &mistake);

		assert_true(child_aborted(&c));
		assert_non_null(strstr(c.text, texts[what]));
		assert_non_null(strstr(c.text, "in cache test"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(heard),
		cmocka_unit_test(unlocking),
		cmocka_unit_test(ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
