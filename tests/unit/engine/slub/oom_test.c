/* SPDX-License-Identifier: MIT */
/*
 * unit/engine/slub/oom_test.c - the message of spec 4.16: its text, its limit, when it is silent
 */
#include "fixture.h"

/* All pages are gone, but for what slabs hold. */
static void exhaust(void)
{
	unsigned int order;

	for (order = BUDDY_MAX_ORDER + 1; order-- > 0;) {
		struct page *page;

		while ((page = buddy_alloc(-1, order, true, NULL)))
			page_set_block(page, PAGE_RUN, 1ul << order);
	}
}

static void small_machine(void)
{
	limit_address_space(160ul << 20);
	slub_machine(2, 1);
}

static void ask_in_vain(void *arg)
{
	gfp_t gfp = *(gfp_t *)arg;
	struct engine e;
	void *objs[70];
	void *freelist;

	small_machine();
	e = make_plain(60);
	CHILD_CHECK(slub_refill(&e, objs, 4, 0, -1) == 4);
	exhaust();
	/* What there is comes out, quietly; then nothing does. */
	CHILD_CHECK(slub_refill(&e, objs + 4, 66, gfp, -1) == 60);
	CHILD_CHECK(slub_refill(&e, objs + 64, 1, gfp, -1) == 0);
	slub_flush(&e, objs, 1);
	CHILD_CHECK(!slub_cpu_new_slab(&e, gfp, 0, &freelist));
	slub_check(&e);
}

static struct child ask(gfp_t gfp)
{
	return child_run(ask_in_vain, &gfp);
}

static void says_who_wanted_what(__attribute__((unused)) void **state)
{
	struct child c = ask(GFP_KERNEL);

	assert_true(child_passed(&c));
	assert_string_equal(
		c.text, "uslab: SLUB: Unable to allocate memory on node -1, gfp=0xcc0(GFP_KERNEL)\n"
			"uslab:   cache: test, object size: 60, buffer size: 64, default order: 0, "
			"min order: 0\n"
			"uslab:   node 0: slabs: 1, objs: 64, free: 0\n"
			"uslab: SLUB: Unable to allocate memory on node 0, gfp=0xcc0(GFP_KERNEL)\n"
			"uslab:   cache: test, object size: 60, buffer size: 64, default order: 0, "
			"min order: 0\n"
			"uslab:   node 0: slabs: 1, objs: 64, free: 1\n");
}

static void names_the_flags(__attribute__((unused)) void **state)
{
	static const struct {
		gfp_t gfp;
		const char *text;
	} cases[] = {
		{ GFP_ATOMIC, "gfp=0xa20(GFP_ATOMIC)" },
		{ GFP_KERNEL | __GFP_ZERO, "gfp=0xdc0(GFP_KERNEL|__GFP_ZERO)" },
		{ GFP_KERNEL_ACCOUNT, "gfp=0x400cc0(GFP_KERNEL_ACCOUNT)" },
		{ GFP_NOWAIT | 0x80000000u, "gfp=0x80000800(GFP_NOWAIT|0x80000000)" },
		{ 0, "gfp=0x0()" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct child c = ask(cases[i].gfp);

		assert_true(child_passed(&c));
		assert_non_null(strstr(c.text, cases[i].text));
	}
}

static void nowarn_is_silent(__attribute__((unused)) void **state)
{
	struct child c = ask(GFP_KERNEL | __GFP_NOWARN);

	assert_true(child_passed(&c));
	assert_string_equal(c.text, "");
}

static void ask_often(__attribute__((unused)) void *arg)
{
	struct engine e;
	unsigned int i;
	void *obj;

	small_machine();
	e = make_plain(64);
	exhaust();
	for (i = 0; i < 1000; i++)
		CHILD_CHECK(slub_refill(&e, &obj, 1, 0, -1) == 0);
}

static void ten_are_enough(__attribute__((unused)) void **state)
{
	struct child c = child_run(ask_often, NULL);
	unsigned int count = 0;
	const char *at;

	assert_true(child_passed(&c));
	for (at = c.text; (at = strstr(at, "Unable")); at++)
		count++;
	assert_int_equal(count, 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(says_who_wanted_what),
		cmocka_unit_test(names_the_flags),
		cmocka_unit_test(nowarn_is_silent),
		cmocka_unit_test(ten_are_enough),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
