/* SPDX-License-Identifier: MIT */
/*
 * conformance/handlers_test.c - every engine with every front, called by signal
 * handlers that interrupted them
 *
 * ctest: timeout=300
 *
 * All locks are held: so it is for a handler which comes while its thread forks, and nothing
 * worse can be while it takes or gives an object. Nobody may wait; what is freed goes back later.
 * Then a storm of real signals.
 */
#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>

#include "page/nested.h"
#include "page/reserve.h"
#include "pairs.h"

#define MANY 300
#define HANDLERS 150
#define MOST_HANDLERS 15000 /* on a slow machine all of the first may interrupt a holder of locks */

static void books(struct cache *c, unsigned long live)
{
	nested_settle();
	CHILD_CHECK(!nested_waiting() && !nested_lost() && !reserve_count());
	reserve_check();
	balance(c, live);
}

/* Whatever the CPU has cached is given out, then nothing; all that is freed is put off. */
static void inside(const struct pair *pair)
{
	struct cache *c = make_pair(pair, 64, 0, NULL);
	void *p[MANY];
	void *more[MANY];
	unsigned int n = 0;

	alarm(60); /* who waits for a lock waits for ever */
	for (unsigned int i = 0; i < MANY; i++)
		take(c, &p[i]);
	cache_fork_prepare();
	CHILD_CHECK(cache_alloc_bulk(c, GFP_NOWAIT, MANY, more) == 0);
	CHILD_CHECK(cache_alloc_array_for(c, GFP_NOWAIT, MANY, more, SLAB_ARRAY_ALL, NULL) == 0);
	while (n < MANY && (more[n] = obj_alloc(c)))
		stamp(c, more[n++]);
	CHILD_CHECK(n < MANY);
	CHILD_CHECK(!cache_alloc(c, GFP_ATOMIC | __GFP_ZERO, 0));
	for (unsigned int i = 0; i < 100; i++)
		give(c, p[i]);
	for (unsigned int i = 100; i < 200; i++)
		check_stamp(c, p[i]);
	cache_free_bulk(c, 50, p + 100);
	cache_free_array_for(c, 50, p + 150, NULL);
	while (n)
		give(c, more[--n]);
	cache_fork_parent();
	CHILD_CHECK(nested_waiting() > 0);
	books(c, 100);
	for (unsigned int i = 200; i < MANY; i++)
		give(c, p[i]);
	finish(c);
}

/* The next call that is no hit does what was put off, without being asked to. */
static void reminded(const struct pair *pair)
{
	struct cache *c = make_pair(pair, 64, 0, NULL);
	void *p[MANY];

	alarm(60);
	for (unsigned int i = 0; i < MANY; i++)
		take(c, &p[i]);
	cache_fork_prepare();
	for (unsigned int i = 0; i < MANY; i++)
		give(c, p[i]);
	cache_fork_parent();
	CHILD_CHECK(nested_waiting() > 0);
	cache_free(c, get(c)); /* out of line, in whatever front */
	CHILD_CHECK(nested_waiting() == 0);
	books(c, 0);
	finish(c);
}

/* ---- a storm ---- */

static struct {
	struct cache *c;
	void *held[8];
	unsigned int handlers;
	unsigned int allocated;
	unsigned int was_inside;
} storm;

static void stop_timer(void)
{
	const struct itimerval none = { 0 };

	setitimer(ITIMER_REAL, &none, NULL);
}

/* Until some of the handlers have got an object. */
static bool storm_goes_on(void)
{
	unsigned int n = load_relaxed(&storm.handlers);

	return n < HANDLERS || (!load_relaxed(&storm.allocated) && n < MOST_HANDLERS);
}

static void on_timer(int sig)
{
	unsigned int n = storm.handlers;
	void **slot = &storm.held[n % ARRAY_SIZE(storm.held)];
	void *bulk[5];

	(void)sig;
	if (!storm_goes_on()) {
		stop_timer();
		return;
	}
	storm.handlers++;
	storm.was_inside += lock_is_inside();
	if (*slot)
		give(storm.c, *slot);
	*slot = n % 2 ? obj_alloc(storm.c) : cache_alloc(storm.c, GFP_ATOMIC, NUMA_NO_NODE);
	if (*slot)
		stamp(storm.c, *slot);
	storm.allocated += *slot != NULL;
	if (cache_alloc_bulk(storm.c, GFP_NOWAIT, ARRAY_SIZE(bulk), bulk))
		cache_free_bulk(storm.c, ARRAY_SIZE(bulk), bulk);
	cache_free_array_for(storm.c,
			     cache_alloc_array_for(storm.c, GFP_NOWAIT, ARRAY_SIZE(bulk), bulk,
						   1 + n % SLAB_ARRAY_ALL, NULL),
			     bulk, NULL);
}

static void storms(const struct pair *pair)
{
	const struct sigaction action = { .sa_handler = on_timer, .sa_flags = SA_RESTART };
	const struct itimerval often = { { 0, 40 }, { 0, 40 } };
	void *p[MANY];

	storm.c = make_pair(pair, 64, 0, NULL);
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	while (storm_goes_on()) {
		for (unsigned int i = 0; i < MANY; i++)
			take(storm.c, &p[i]);
		for (unsigned int i = 0; i < MANY; i++)
			give(storm.c, p[i]);
		if (load_relaxed(&storm.handlers) % 16 == 0)
			cache_shrink(storm.c);
	}
	stop_timer();
	signal(SIGALRM, SIG_IGN);
	CHILD_CHECK(storm.allocated > 0);
	for (unsigned int i = 0; i < ARRAY_SIZE(storm.held); i++)
		if (storm.held[i])
			give(storm.c, storm.held[i]);
	books(storm.c, 0);
	finish(storm.c);
}

/* ---- fork ---- */

/*
 * The child of a fork inside has memory of its own for what it does, and the parent is as it was.
 */
static void forked_inside(const struct pair *pair)
{
	struct cache *c = make_pair(pair, 64, 0, NULL);
	void *p[MANY];
	int status;
	pid_t pid;

	alarm(60);
	for (unsigned int i = 0; i < MANY; i++)
		take(c, &p[i]);
	cache_fork_prepare();
	pid = fork();
	if (pid == 0) {
		alarm(60);
		while (obj_alloc(c)) {}
		for (unsigned int i = 0; i < MANY; i++)
			give(c, p[i]);
		_exit(0);
	}
	cache_fork_parent();
	CHILD_CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	for (unsigned int i = 0; i < MANY; i++)
		give(c, p[i]);
	books(c, 0);
	finish(c);
}

int main(int argc, char **argv)
{
	static const struct body bodies[] = {
		{ "inside", inside, true, true },
		{ "reminded", reminded, true, true },
		{ "storms", storms, true, true },
		{ "forked_inside", forked_inside, true, false },
		{ 0 },
	};

	return pairs_main(argc, argv, "handlers", bodies);
}
