/* SPDX-License-Identifier: MIT */
/*
 * race/nolock_test.c - kmalloc_nolock() and kfree_nolock() in a handler that comes after each
 * instruction of other calls
 *
 * ctest: timeout=300
 *
 * Every engine, and every front; with USLAB_TEST_ALL=1 each with each. The handler is met by
 * misses, flushes, new slabs and empty ones, shrinking, by calls of its own kind, and by what is
 * deferred. Nobody may wait, and no object may be lost, or be given out twice. USLAB_TEST_STEPS=N
 * has it go on until at least N handlers have run (scripts/soak nolock).
 */
#include <sys/mman.h>

#include "nolock.h"
#include "replaced.h"
#include "stepped.h"

#define MANY 5 /* objects */
#define HELD 256
#define FREE_INSIDE 509 /* steps */
#define PAIRS 10	/* there are more */

/* Of all children together. */
static struct totals {
	unsigned long handlers;
	unsigned long inside; /* of these, where a lock was held */
	unsigned long allocated;
	unsigned long allocated_inside;
	unsigned long refused;
	unsigned long deferred; /* frees, of all calls */
	unsigned long lost;
} * totals;

static unsigned long wanted; /* handlers of each pair */

/* ---- a signal after each instruction ---- */

static struct block held[HELD];

/*
 * Exchanges of words are repeated as long as others change these, which a handler that comes after
 * each instruction would do for ever. So there are windows with a handler and windows without, and
 * the next time it is the other way round.
 */
#define WINDOW 4096
/*
 * Likewise, a free where a lock is held is deferred, to be done in some hundred instructions, of
 * which each would defer others. So there is one of them now and then, by a prime number, and all
 * places have their turn.
 */
static bool odd_windows;
static unsigned long handled;

static void on_step(unsigned long step)
{
	struct block *b = &held[step % HELD];
	bool inside = lock_is_inside();

	if (step / WINDOW % 2 != odd_windows)
		return;
	if (inside && step % FREE_INSIDE < 2)
		free_block(b, step % 5 == 0);
	for (unsigned int i = 0; !inside && i < 4; i++)
		free_block(&held[(step + i * HELD / 4) % HELD], step % 5 == 0);
	if (b->p) /* there is nothing to do: not counted */
		return;
	handled++;
	totals->inside += inside;
	try_block(b, try_sizes[step / HELD % ARRAY_SIZE(try_sizes)]);
	totals->allocated += b->p != NULL;
	totals->allocated_inside += b->p && inside;
	totals->refused += !b->p;
}

static void use(void *unused)
{
	struct block b[MANY];

	(void)unused;
	for (unsigned int i = 0; i < MANY; i++)
		take_block(&b[i]);
	for (unsigned int i = 0; i < MANY; i += 2)
		free_block(&b[i], true);
	for (unsigned int i = 0; i < MANY; i += 2)
		take_block(&b[i]);
	for (unsigned int i = 0; i < MANY; i++)
		free_block(&b[i], true);
}

static void use_tries(void *unused)
{
	struct block b[MANY];

	(void)unused;
	for (unsigned int i = 0; i < MANY; i++)
		try_block(&b[i], SIZE);
	for (unsigned int i = 0; i < MANY; i++)
		free_block(&b[i], false);
}

static void shrink(void *unused)
{
	(void)unused;
	cache_shrink(kmalloc_cache(SIZE));
}

static void stepped(const struct pair *pair)
{
	/* to drain the arrays of eight CPUs takes long: only where many handlers are wanted */
	static void (*const bodies[])(void *) = { use, use_tries, shrink };
	size_t nr = wanted ? ARRAY_SIZE(bodies) : ARRAY_SIZE(bodies) - 1;

	kmalloc_ready(pair);
	do {
		for (size_t i = 0; i < 2 * nr; i++) {
			odd_windows = i % 2;
			CHILD_CHECK(stepped_run(bodies[i / 2], NULL, on_step) > 10);
		}
	} while (handled < wanted);
	totals->handlers += handled;
	totals->deferred += reserve_counters.served; /* each has an entry there */
	totals->lost += nested_lost();
	for (unsigned int i = 0; i < HELD; i++)
		free_block(&held[i], true);
	books_balance();
}

int main(int argc, char **argv)
{
	static const struct body bodies[] = { { "stepped", stepped, false, true }, { 0 } };
	const char *handlers = getenv("USLAB_TEST_STEPS");
	int ret;

	if (!stepped_is_possible())
		return TEST_SKIPPED;
	if (!getenv("USLAB_TEST_NO_RSEQ")) { /* no step would end the sequence that it is in */
		setenv("USLAB_TEST_NO_RSEQ", "1", 1);
		setenv("GLIBC_TUNABLES", "glibc.pthread.rseq=0", 1);
		execv("/proc/self/exe", argv);
		return 1;
	}
	if (handlers)
		wanted = strtoul(handlers, NULL, 10) / PAIRS + 1;
	totals = mmap(NULL, sizeof(*totals), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (totals == MAP_FAILED)
		return 1;
	pairs_each_once = true;
	ret = pairs_main(argc, argv, "nolock", bodies);
	printf("%lu handlers called kmalloc_nolock(), %lu of them where a lock was held; %lu and "
	       "%lu got memory, %lu NULL; %lu frees were deferred, %lu objects lost\n",
	       totals->handlers, totals->inside, totals->allocated, totals->allocated_inside,
	       totals->refused, totals->deferred, totals->lost);
	return ret;
}
