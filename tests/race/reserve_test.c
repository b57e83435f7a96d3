/* SPDX-License-Identifier: MIT */
/*
 * race/reserve_test.c - the reserve and the list of deferred frees, with
 * delays between their steps
 *
 * Both are compiled into this file with their exchanges wrapped: before one the thread may
 * yield, so that others get in between, or be interrupted by a handler that does the same
 * as it. With the rule broken that a block is taken, or given back, by one exchange, or
 * that an entry is, it must fail.
 */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "bare.h"
#include "base/atomic.h"
#include "base/bits.h"
#include "child.h"
#include "os/memory/vm.h"

enum {
	TAKE_TWICE = 1, /* what is taken is looked at, and stored later */
	GIVE_TWICE = 2, /* likewise what is given back */
	LIST_TORN = 4,	/* the head of the list likewise */
};

static int broken;
static __thread unsigned int seed;
static __thread bool in_handler;

static void inject(void)
{
	unsigned int dice = (unsigned int)rand_r(&seed) % 32;

	if (dice < 4)
		sched_yield();
	else if (dice == 4 && !in_handler)
		raise(SIGUSR1);
}

/* As the builtin, or in two steps. */
#define late_exchange(how, p, expect, new, ok)                                               \
	({                                                                                   \
		bool swapped;                                                                \
		inject();                                                                    \
		if (broken & (how)) {                                                        \
			__typeof__(*(p)) now = __atomic_load_n((p), __ATOMIC_RELAXED);       \
			swapped = now == *(expect);                                          \
			*(expect) = now;                                                     \
			inject();                                                            \
			if (swapped)                                                         \
				__atomic_store_n((p), (new), __ATOMIC_RELAXED);              \
		} else {                                                                     \
			swapped = __atomic_compare_exchange_n((p), (expect), (new), 0, (ok), \
							      __ATOMIC_RELAXED);             \
		}                                                                            \
		swapped;                                                                     \
	})

static uint64_t late_and(uint64_t *word, uint64_t mask)
{
	uint64_t old;

	inject();
	if (!(broken & GIVE_TWICE))
		return __atomic_fetch_and(word, mask, __ATOMIC_RELEASE);
	old = __atomic_load_n(word, __ATOMIC_RELAXED);
	inject();
	__atomic_store_n(word, old & mask, __ATOMIC_RELAXED);
	return old;
}

#define __atomic_compare_exchange_n(p, expect, new, weak, ok, bad) \
	late_exchange(TAKE_TWICE, p, expect, new, ok)
#define __atomic_fetch_and(p, mask, order) late_and(p, mask)
#include "page/reserve.c"
#undef __atomic_compare_exchange_n
#undef __atomic_fetch_and
#define __atomic_compare_exchange_n(p, expect, new, weak, ok, bad) \
	late_exchange(LIST_TORN, p, expect, new, ok)
#include "page/nested.c"
#undef __atomic_compare_exchange_n

#define THREADS 4
#define SLOTS 64
#define ROUNDS 20000

struct block {
	size_t size;
	struct block *self;
	unsigned int given; /* put off and done */
};

static struct block *slots[SLOTS]; /* blocks that nobody is working on */
static unsigned long nr_put_off;
static unsigned long nr_given;

static struct block *stamp(struct block *b, size_t size)
{
	if (b) {
		*b = (struct block){ size, b, 0 };
		((unsigned char *)b)[size - 1] = 0x35;
	}
	return b;
}

/* A block that somebody else got as well says something else by now. */
static void check(const struct block *b)
{
	CHILD_CHECK(b->self == b && reserve_size(b) >= b->size);
	CHILD_CHECK(((const unsigned char *)b)[b->size - 1] == 0x35);
}

static void take_or_give(void)
{
	struct block **slot = &slots[(unsigned int)rand_r(&seed) % SLOTS];
	unsigned int dice = (unsigned int)rand_r(&seed);
	size_t size = dice % 512 ? 40 + dice % 200 : 70000;
	struct block *b = xchg(slot, NULL);

	if (b) {
		check(b);
		b->self = NULL;
		CHILD_CHECK(reserve_free(b));
		return;
	}
	b = xchg(slot, stamp(reserve_alloc(size, 16), size));
	if (b) {
		check(b);
		b->self = NULL;
		CHILD_CHECK(reserve_free(b));
	}
}

static void give_block(void *owner, void *p, const void *caller)
{
	struct block *b = p;

	CHILD_CHECK(owner == slots && caller == give_block && b->self == b);
	CHILD_CHECK(fetch_add(&b->given, 1) == 0);
	b->self = NULL;
	CHILD_CHECK(reserve_free(b));
	fetch_add(&nr_given, 1);
}

static void put_off(void)
{
	struct block *b = stamp(reserve_alloc(sizeof(*b) + 1, 16), sizeof(*b) + 1);

	if (!b)
		return;
	fetch_add(&nr_put_off, 1);
	nested_defer(give_block, slots, b, give_block);
}

static void on_signal(int sig)
{
	(void)sig;
	in_handler = true;
	take_or_give();
	put_off();
	in_handler = false;
}

static void *work(void *arg)
{
	struct lock lock = LOCK_INIT(RANK_PAGE);

	seed = *(unsigned int *)arg;
	for (unsigned int i = 0; i < ROUNDS; i++) {
		take_or_give();
		lock_acquire(&lock);
		put_off();
		lock_release(&lock);
		if (i % 8 == 0)
			nested_settle();
	}
	return NULL;
}

static void run(void *arg)
{
	const struct sigaction action = { .sa_handler = on_signal };
	unsigned int seeds[THREADS] = { 1, 2, 3, 4 };
	pthread_t threads[THREADS];

	broken = arg ? *(int *)arg : 0;
	alarm(200); /* with a rule broken it may also run in circles */
	sigaction(SIGUSR1, &action, NULL);
	for (unsigned int i = 0; i < THREADS; i++)
		CHILD_CHECK(pthread_create(&threads[i], NULL, work, &seeds[i]) == 0);
	for (unsigned int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	in_handler = true; /* no signals any more: what they put off the next call would do */
	nested_settle();
	CHILD_CHECK(!nested_waiting() && !nested_lost() && nr_put_off == nr_given);
	CHILD_CHECK(nr_put_off > THREADS * ROUNDS / 2);
	for (unsigned int i = 0; i < SLOTS; i++)
		if (slots[i]) {
			check(slots[i]);
			CHILD_CHECK(reserve_free(slots[i]));
		}
	CHILD_CHECK(reserve_count() == 0);
	reserve_check();
}

static void test_threads_and_handlers(void **state)
{
	struct child c = child_run(run, NULL);

	(void)state;
	assert_true(child_passed(&c));
}

static void is_seen(int what)
{
	struct child c = child_run_broken(run, &what);

	assert_int_not_equal(c.status, 0);
}

static void test_take_twice_is_seen(void **state)
{
	(void)state;
	is_seen(TAKE_TWICE);
}

static void test_give_twice_is_seen(void **state)
{
	(void)state;
	is_seen(GIVE_TWICE);
}

static void test_torn_list_is_seen(void **state)
{
	(void)state;
	is_seen(LIST_TORN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_threads_and_handlers),
		cmocka_unit_test(test_take_twice_is_seen),
		cmocka_unit_test(test_give_twice_is_seen),
		cmocka_unit_test(test_torn_list_is_seen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
