/* SPDX-License-Identifier: MIT */
/*
 * unit/front/array_charged_test.c - arrays of charged objects: whose they are, when they can be put
 * back, and taken away
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "array_fixture.h"
#include "front/array_charged.h"
#include "front/array_sheaf.h"

#define ME 7u
#define YOU 8u

static unsigned int drained, given_up, forgotten;

static void count_drain(struct front *f)
{
	drained += f == &front;
}

static void count_give_up(struct front *f)
{
	given_up += f == &front;
}

static void count_forget(struct front *f)
{
	forgotten += f == &front;
}

static const struct array_charged_ops counting = { count_drain, count_give_up, count_forget };

static int stay(void)
{
	int cpu = sched_getcpu();
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	CHILD_CHECK(!sched_setaffinity(0, sizeof(set), &set));
	return cpu;
}

/* An empty array of that owner in the word of this CPU. */
static uintptr_t put_array(int cpu, unsigned int capacity, uint32_t owner)
{
	uintptr_t top = sheaf_new(capacity);

	CHILD_CHECK(top);
	*sheaf_owner(top) = owner;
	CHILD_CHECK(sheaf_capacity(top) == capacity && sheaf_count(top) == 0);
	CHILD_CHECK(array_charged_install(&front, cpu, top, (uint64_t)owner << 32));
	return top;
}

BOTH_MODES(test_owners)
{
	char objects[40];
	void *obj;
	int cpu = stay();

	make(CAP);
	if (!percpu_rseq)
		return;
	CHILD_CHECK(!array_charged_push(percpu_charged_handle(ID), ME, objects) &&
		    !array_charged_pop(percpu_charged_handle(ID), ME, &obj));
	put_array(cpu, CAP, ME);
	array_charged = &counting;
	CHILD_CHECK(!array_charged_pop(percpu_charged_handle(ID), ME, &obj));
	for (unsigned int i = 0; i < CAP; i++) {
		CHILD_CHECK(!array_charged_push(percpu_charged_handle(ID), YOU, &objects[i]));
		CHILD_CHECK(array_charged_push(percpu_charged_handle(ID), ME, &objects[i]));
		CHILD_CHECK(array_charged_held(&front) == i + 1);
	}
	CHILD_CHECK(!array_charged_push(percpu_charged_handle(ID), ME, &objects[CAP]));
	CHILD_CHECK(!array_charged_pop(percpu_charged_handle(ID), YOU, &obj));
	for (unsigned int i = CAP; i-- > 0;)
		CHILD_CHECK(array_charged_pop(percpu_charged_handle(ID), ME, &obj) &&
			    obj == &objects[i]);
	CHILD_CHECK(!array_charged_pop(percpu_charged_handle(ID), ME, &obj));
}

/* The largest array of a front has one entry more than these can have. */
BOTH_MODES(test_capacities)
{
	char objects[40];
	unsigned int n = 0;
	int cpu = stay();

	CHILD_CHECK(array_charged_capacity(USLAB_SHEAF_CAPACITY) == USLAB_SHEAF_CAPACITY - 1);
	CHILD_CHECK(array_charged_capacity(5) == 5 && array_charged_capacity(0) == 0);
	make(USLAB_SHEAF_CAPACITY);
	if (!percpu_rseq)
		return;
	CHILD_CHECK(!array_charged_install(&front, cpu, sheaf_new(CAP), ME));
	put_array(cpu, SHEAF_OWNED_CAPACITY, ME);
	while (array_charged_push(percpu_charged_handle(ID), ME, &objects[n]))
		n++;
	CHILD_CHECK(n == SHEAF_OWNED_CAPACITY);
}

BOTH_MODES(test_taken_and_put_back)
{
	uintptr_t top;
	int cpu = stay();

	make(CAP);
	CHILD_CHECK(!array_charged_withdraw(&front) && !array_charged_take(&front, cpu));
	if (!percpu_rseq)
		return;
	top = put_array(cpu, CAP, ME);
	CHILD_CHECK(!array_charged_install(&front, cpu, sheaf_new(CAP), ME)); /* it has one */
	CHILD_CHECK(array_charged_withdraw(&front) == top);
	CHILD_CHECK(!array_charged_withdraw(&front) && !array_charged_take(&front, cpu));
	CHILD_CHECK(array_charged_install(&front, cpu, top, ME));
	CHILD_CHECK(array_charged_take(&front, cpu) == top);
	CHILD_CHECK(!array_charged_take(&front, cpu));
	front.closed = FRONT_DRAINING;
	CHILD_CHECK(!array_charged_install(&front, cpu, top, ME));
	front.closed = 0;
	CHILD_CHECK(array_charged_install(&front, cpu, top, ME));
}

#if USLAB_HAVE_RSEQ
/* An object with its mark and its key behind that; the mark is where the front's caches have it. */
struct keyed {
	char bytes[24];
	uint32_t mark;
	uint32_t key;
};

static bool take_inline(uint32_t key, void **obj)
{
	return uslab_rseq_take_of(percpu_handle(ID), os_rseq_offset, (uint64_t)key << 32, obj);
}

static bool give_inline(void *obj)
{
	return uslab_rseq_give_of(percpu_handle(ID), obj, os_rseq_offset);
}

/* Inline hits compare the key: that of the array's owner, the thread's group, the object. */
BOTH_MODES(test_keys)
{
	struct keyed a = { .key = ME }, b = { .key = ME }, c = { .key = YOU };
	int cpu = stay();
	void *obj;

	make(CAP);
	if (!percpu_rseq)
		return;
	array_charged = &counting;
	*percpu_mark(ID) = offsetof(struct keyed, mark);
	CHILD_CHECK(!give_inline(&a) && !take_inline(ME, &obj)); /* without keys */
	put_array(cpu, CAP, ME);
	CHILD_CHECK(!*percpu_owner(ID, cpu) && !give_inline(&a) && !take_inline(ME, &obj));
	CHILD_CHECK(array_charged_take(&front, cpu));
	percpu_set(ID, PERCPU_KEYED, true);
	CHILD_CHECK(!give_inline(&a) && !take_inline(ME, &obj));
	put_array(cpu, CAP, ME);
	CHILD_CHECK(*percpu_owner(ID, cpu) == (uint64_t)ME << 32);
	CHILD_CHECK(give_inline(&a) && a.mark == (uint32_t)(uintptr_t)&a && a.key == ME);
	CHILD_CHECK(!give_inline(&a) && !give_inline(&c) && give_inline(&b)); /* free; another's */
	CHILD_CHECK(!take_inline(YOU, &obj) && !take_inline(USLAB_KEY_NONE, &obj));
	CHILD_CHECK(take_inline(ME, &obj) && obj == &b && !b.mark && b.key == ME);
	CHILD_CHECK(array_charged_held(&front) == 1);
	CHILD_CHECK(array_charged_take(&front, cpu) && !give_inline(&b) && !take_inline(ME, &obj));
	put_array(cpu, CAP, YOU);
	CHILD_CHECK(!give_inline(&b) && give_inline(&c) && take_inline(YOU, &obj) && obj == &c);
	for (unsigned int i = 0; i < CAP; i++) {
		struct keyed *more = calloc(1, sizeof(*more));

		more->key = YOU;
		CHILD_CHECK(give_inline(more));
	}
	CHILD_CHECK(!give_inline(&c) && !c.mark); /* it is full */
}
#endif

/* Who knows what a charge is hears of all that empties arrays. */
BOTH_MODES(test_is_told)
{
	make(CAP);
	array_charged = &counting;
	front.ops->drain(&front);
	CHILD_CHECK(drained == 1);
	CHILD_CHECK(front.ops->set_capacity(&front, CAP / 2) == 0 && drained == 2);
	front_close(&front);
	CHILD_CHECK(drained == 3);
	array_give_up(&front);
	CHILD_CHECK(given_up == 1);
	front.ops->destroy(&front);
	CHILD_CHECK(forgotten == 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_owners),
		cmocka_unit_test(test_capacities),
		cmocka_unit_test(test_taken_and_put_back),
#if USLAB_HAVE_RSEQ
		cmocka_unit_test(test_keys),
#endif
		cmocka_unit_test(test_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
