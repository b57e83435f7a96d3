/* SPDX-License-Identifier: MIT */
/*
 * unit/page/pcp_runs_test.c - page runs that CPUs keep: which ones, how many, whose, until when
 */
#include <pthread.h>
#include <sys/wait.h>

#include "base/atomic.h"
#include "fake_clock.h"
#include "fixture.h"
#include "os/lock/lock.h"
#include "page/pcp_runs.h"
#include "page/zone.h"

#define TEN (10 * PAGE_SIZE)
#define TWENTY (20 * PAGE_SIZE)

/* Purges as programs have it; the test acts as CPU 0. */
static void fresh_runs(unsigned int cpus, unsigned int nodes)
{
	CHILD_CHECK(os_topology_set(cpus, nodes) == 0);
	CHILD_CHECK(arena_init(os_topology.nr_windows) == 0);
	buddy_init(nodes);
	os_act_as_cpu(0);
}

static char *get(size_t size)
{
	char *p = run_alloc(size, 0, -1, NULL);

	CHILD_CHECK(p && run_size(p) == run_length(size >> PAGE_SHIFT) << PAGE_SHIFT);
	memset(p, 0x5a, size);
	return p;
}

static void put(char *p)
{
	CHILD_CHECK(run_free(p));
	CHILD_CHECK(run_size(p) == 0 && !run_free(p));
	buddy_check();
	run_check();
}

static struct pcp_runs_stats kept(void)
{
	return pcp_runs_stats(0);
}

/* The first free makes the slots, the next two allocations say which length is wanted. */
static void want(size_t size)
{
	for (unsigned int i = 0; i < 3; i++)
		put(get(size));
	CHILD_CHECK(kept().count > 0);
}

static unsigned long pages_used(void)
{
	return buddy_zones[0].stats.nr_total - buddy_zones[0].stats.nr_free;
}

/* ---- which ones ------------------------------------------------------------------------------ */

IN_CHILD(what_was_freed_last_comes_first)
{
	char *p[3];

	fresh_runs(1, 1);
	want(TEN);
	for (unsigned int i = 0; i < 3; i++)
		p[i] = get(TEN);
	for (unsigned int i = 0; i < 3; i++)
		put(p[i]);
	CHILD_CHECK(kept().count == 3 && kept().pages == 30);
	for (unsigned int i = 3; i-- > 0;)
		CHILD_CHECK(get(TEN) == p[i]);
	CHILD_CHECK(kept().count == 0 && kept().pages == 0);
}

/* A page run that is kept is free for all who ask, and may hold anything. */
IN_CHILD(what_is_kept_is_free)
{
	struct run_stats stats;
	struct buddy_stats pages;
	bool zeroed = true;
	char *p;

	fresh_runs(1, 1);
	want(TEN);
	p = get(TEN);
	put(p);
	run_stats(&stats);
	CHILD_CHECK(stats.count == 0 && stats.bytes == 0);
	buddy_stats(0, &pages);
	CHILD_CHECK(pages.nr_free == pages.nr_total && pages_used() == 10);
	CHILD_CHECK(!page_head_of(p) && !page_head_of(p + TEN / 2));
	CHILD_CHECK(run_resize(p, TWENTY, true) == NULL);
	CHILD_CHECK(run_alloc(TEN, 0, -1, &zeroed) == p && !zeroed);
	run_stats(&stats);
	CHILD_CHECK(stats.count == 1 && stats.bytes == TEN);
}

IN_CHILD(only_lengths_that_were_asked_for_are_kept)
{
	char *p;

	fresh_runs(1, 1);
	p = get(TWENTY); /* before there are slots */
	want(TEN);
	put(p);
	CHILD_CHECK(kept().count == 1 && kept().pages == 10);
	/* that was asked for before eight others, each once */
	for (unsigned long i = 0; i < PCP_RUNS_LENGTHS; i++)
		p = get((20 + i) * PAGE_SIZE);
	put(get(TEN));
	CHILD_CHECK(kept().count == 0);
	put(p);
	CHILD_CHECK(kept().count == 0);
	p = get((20 + PCP_RUNS_LENGTHS - 1) * PAGE_SIZE);
	put(p);
	CHILD_CHECK(kept().count == 1 && kept().pages == 20 + PCP_RUNS_LENGTHS - 1);
}

IN_CHILD(short_and_long_ones_are_the_zones)
{
	static const unsigned long pages[] = { 1, PCP_RUNS_LEAST - 1, PCP_RUNS_MOST + 1, 512 };

	fresh_runs(1, 1);
	buddy_set_purge(SIZE_MAX >> 1, 1u << 30);
	want(TEN);
	pcp_runs_drain();
	for (unsigned int i = 0; i < ARRAY_SIZE(pages); i++) {
		for (unsigned int j = 0; j < 3; j++)
			put(get(pages[i] << PAGE_SHIFT));
		CHILD_CHECK(kept().count == 0 && pages_used() == 0);
	}
	want(PCP_RUNS_LEAST << PAGE_SHIFT);
	want(PCP_RUNS_MOST << PAGE_SHIFT);
}

/* An alignment or a node is more than a length says. */
IN_CHILD(who_asks_for_more_gets_none)
{
	char *p;

	fresh_runs(1, 1);
	want(TEN);
	p = get(TEN);
	put(p);
	CHILD_CHECK(run_alloc(TEN, 2 * PAGE_SIZE, -1, NULL) != p);
	CHILD_CHECK(run_alloc(TEN, 0, 0, NULL) != p && kept().count == 1);
	CHILD_CHECK(get(TEN) == p);
}

/* ---- how many -------------------------------------------------------------------------------- */

/* Small ones up to the number of slots, the oldest leave. */
IN_CHILD(slots_are_bounded)
{
	char *p[PCP_RUNS_SLOTS + 2];

	fresh_runs(1, 1);
	buddy_set_purge(SIZE_MAX >> 1, 1u << 30);
	want(TEN);
	for (unsigned int i = 0; i < ARRAY_SIZE(p); i++)
		p[i] = get(TEN);
	for (unsigned int i = 0; i < ARRAY_SIZE(p); i++)
		put(p[i]);
	CHILD_CHECK(kept().count == PCP_RUNS_SLOTS && pages_used() == 10 * PCP_RUNS_SLOTS);
	for (unsigned int i = ARRAY_SIZE(p); i-- > 2;)
		CHILD_CHECK(get(TEN) == p[i]);
	CHILD_CHECK(kept().count == 0);
}

/* By when they came, also where one was taken from among them and its slot filled again. */
IN_CHILD(the_oldest_leaves)
{
	char *p[PCP_RUNS_SLOTS];
	char *more[2];

	fresh_runs(1, 1);
	buddy_set_purge(SIZE_MAX >> 1, 1u << 30);
	want(TEN);
	want(TWENTY);
	pcp_runs_drain();
	for (unsigned int i = 0; i < ARRAY_SIZE(p); i++)
		p[i] = get(i == 3 ? TWENTY : TEN);
	for (unsigned int i = 0; i < ARRAY_SIZE(more); i++)
		more[i] = get(TEN);
	for (unsigned int i = 0; i < ARRAY_SIZE(p); i++) {
		buddy_zones[0].clock++;
		put(p[i]);
	}
	CHILD_CHECK(get(TWENTY) == p[3]);
	for (unsigned int i = 0; i < ARRAY_SIZE(more); i++) {
		buddy_zones[0].clock++;
		put(more[i]);
	}
	CHILD_CHECK(kept().count == PCP_RUNS_SLOTS && kept().pages == 10 * PCP_RUNS_SLOTS);
	for (unsigned int i = 0; i < PCP_RUNS_SLOTS; i++)
		CHILD_CHECK(get(TEN) != p[0]);
	CHILD_CHECK(kept().count == 0);
}

/* In a small process so many pages, in a larger one a 32nd of its memory. */
IN_CHILD(pages_are_bounded)
{
	char *p[4];

	fresh_runs(1, 1);
	want(TEN);
	for (unsigned int i = 0; i < 4; i++)
		p[i] = get(TEN);
	for (unsigned int i = 0; i < 4; i++)
		put(p[i]);
	CHILD_CHECK(kept().pages == 30);
	for (unsigned int i = 0; i < 3; i++)
		put(get((PCP_RUNS_ROOM + 1) << PAGE_SHIFT));
	CHILD_CHECK(kept().pages == 30);
	for (unsigned int i = 0; i < 8; i++)
		get(MIB);
	want((PCP_RUNS_ROOM + 1) << PAGE_SHIFT);
}

/* A limit that the user sets holds for these too. */
IN_CHILD(a_limit_of_purges_counts)
{
	fresh_runs(2, 1);
	want(TEN);
	buddy_trim(0);
	CHILD_CHECK(kept().count == 0 && buddy_zones[0].stats.nr_dirty == 0);
	/* of two CPUs each has a sixteenth */
	buddy_set_purge(2 * PCP_RUNS_OF_LIMIT * TEN - 1, 1000);
	put(get(TEN));
	CHILD_CHECK(kept().count == 0);
	buddy_set_purge(2 * PCP_RUNS_OF_LIMIT * TEN, 1000);
	put(get(TEN));
	CHILD_CHECK(kept().count == 1);
	buddy_set_purge(0, 1000);
	put(get(TEN));
	CHILD_CHECK(pages_used() == 0 || kept().count == 0);
}

/* ---- whose ----------------------------------------------------------------------------------- */

IN_CHILD(each_cpu_has_its_own)
{
	char *p;

	fresh_runs(2, 1);
	want(TEN);
	p = get(TEN);
	os_act_as_cpu(1);
	put(p); /* nobody asked for it here */
	CHILD_CHECK(kept().count == 0);
	put(get(TEN));
	p = get(TEN);
	put(p);
	CHILD_CHECK(kept().count == 1);
	os_act_as_cpu(0);
	CHILD_CHECK(get(TEN) != p && kept().count == 1);
}

IN_CHILD(those_of_other_nodes_go_home)
{
	char *p;

	fresh_runs(2, 2);
	want(TEN);
	p = get(TEN);
	os_act_as_cpu(1);
	for (unsigned int i = 0; i < 2; i++)
		put(get(TEN));
	CHILD_CHECK(pcp_runs_stats(1).count == 1);
	put(p);
	CHILD_CHECK(pcp_runs_stats(1).count == 1 && pages_used() == 0);
}

/* ---- until when ------------------------------------------------------------------------------ */

/* After the delay a free that looks at the clock gives them back. */
IN_CHILD(idle_ones_go)
{
	fresh_runs(1, 1);
	buddy_set_purge(SIZE_MAX, 64);
	want(TEN);
	buddy_rebalance();
	CHILD_CHECK(kept().count == 1);
	for (unsigned int i = 0; i < 100 && kept().count; i++) {
		fake_clock_pass(20);
		buddy_rebalance();
	}
	CHILD_CHECK(kept().count == 0 && pages_used() == 0);
}

/* The clock in a slot begins anew after three days; one that came a moment from now is new. */
IN_CHILD(ages_are_right_for_days)
{
	static const uint32_t ages[] = { 4, 1000, (1u << 23) - 1, 1u << 23, (1u << 24) - 5000 };
	uint32_t now;

	fresh_runs(1, 1);
	buddy_set_purge(SIZE_MAX, 64);
	want(TEN);
	now = buddy_zones[0].clock;
	for (unsigned int i = 0; i < ARRAY_SIZE(ages); i++) {
		buddy_zones[0].clock = now;
		put(get(TEN));
		buddy_zones[0].clock = now - 10;
		pcp_runs_age(0);
		CHILD_CHECK(kept().count == 1);
		buddy_zones[0].clock = now + ages[i];
		pcp_runs_age(0);
		CHILD_CHECK(kept().count == 0);
	}
}

/* Also if another length comes and goes all the time, at any delay. */
IN_CHILD(idle_ones_go_beside_busy_ones)
{
	fresh_runs(1, 1);
	buddy_set_purge(SIZE_MAX, 48); /* a quarter is less than the clock's unit */
	want(TWENTY);
	for (unsigned int i = 0; i < 100 && kept().pages >= 20; i++) {
		put(get(TEN));
		fake_clock_pass(10);
		buddy_rebalance();
	}
	CHILD_CHECK(kept().pages < 20);
}

/* Nothing else has to look at the clock: a put does now and then. */
IN_CHILD(puts_look_at_the_clock)
{
	char *p;

	fresh_runs(1, 1);
	buddy_set_purge(SIZE_MAX, 64);
	want(TEN);
	p = get(MIB);
	CHILD_CHECK(run_free(p) && buddy_zones[0].stats.nr_dirty > 0);
	fake_clock_pass(200);
	for (unsigned int i = 0; i < 2 * CLOCK_EVERY; i++)
		CHILD_CHECK(run_free(get(TEN)));
	CHILD_CHECK(buddy_zones[0].stats.nr_dirty == 0 && kept().count == 1);
}

/* While much is free each does, if time has passed: there may be few of them in a minute. */
IN_CHILD(a_put_looks_at_the_clock_while_much_is_free)
{
	char *p[16];

	fresh_runs(1, 1);
	buddy_set_purge(64 * MIB, 64);
	for (unsigned int i = 0; i < ARRAY_SIZE(p); i++)
		p[i] = get(MIB + PAGE_SIZE); /* longer than what CPUs keep */
	for (unsigned int i = 0; i < ARRAY_SIZE(p); i++)
		CHILD_CHECK(run_free(p[i]));
	want(TEN);
	CHILD_CHECK(buddy_many_wait(0));
	fake_clock_pass(200);
	CHILD_CHECK(run_free(get(TEN)));
	CHILD_CHECK(buddy_zones[0].stats.nr_dirty == 0 && kept().count == 1);
}

/* Under a limit of the process it is what others have no room for. */
IN_CHILD(a_limit_of_the_process_counts)
{
	fresh_runs(2, 1);
	want(TEN);
	limit_counters.limit = limit_held();
	zone_make_room(10);
	CHILD_CHECK(kept().count == 0 && limit_held() + 10 <= limit_counters.limit);
}

/* What all CPUs keep is found before an allocation fails. */
IN_CHILD(what_cpus_keep_is_no_reason_to_fail)
{
	unsigned long pages = 0;
	struct page *page;

	NEEDS_BARE_PROCESS();
	fresh_runs(2, 1);
	os_act_as_cpu(1);
	want(TEN);
	os_act_as_cpu(0);
	limit_to(RLIMIT_DATA, 0);
	while ((page = buddy_alloc(0, 0, true, NULL)))
		pages++;
	CHILD_CHECK(pages == CHUNK && kept().count == 0);
}

/* ---- threads and fork ------------------------------------------------------------------------ */

#define THREADS 3
#define HELD 6

static unsigned int stop;

static void *churn(void *arg)
{
	uint64_t mark = (uintptr_t)arg;
	uint64_t seed = mark;
	char *held[HELD] = { NULL };
	size_t size[HELD];

	while (!load_relaxed(&stop)) {
		unsigned int i;

		seed = seed * 6364136223846793005ul + 1442695040888963407ul;
		os_act_as_cpu(seed >> 40 & 1);
		i = (seed >> 50) % HELD;
		if (held[i]) {
			CHILD_CHECK(*(uint64_t *)(void *)held[i] == mark * HELD + i);
			CHILD_CHECK(*(uint64_t *)(void *)(held[i] + size[i] - 8) == mark);
			CHILD_CHECK(run_free(held[i]));
			held[i] = NULL;
			continue;
		}
		size[i] = (9 + (seed >> 33) % 5) * PAGE_SIZE;
		held[i] = run_alloc(size[i], 0, -1, NULL);
		CHILD_CHECK(held[i] && run_size(held[i]) == size[i]);
		*(uint64_t *)(void *)held[i] = mark * HELD + i;
		*(uint64_t *)(void *)(held[i] + size[i] - 8) = mark;
	}
	for (unsigned int i = 0; i < HELD; i++)
		if (held[i])
			run_free(held[i]);
	return NULL;
}

static void each_lock(void (*act)(struct lock *l))
{
	pcp_runs_each_lock(act);
	buddy_each_lock(act);
	large_each_lock(act);
}

/* No run is lost that no thread held: counts lag by what each was at. */
static _Noreturn void be_the_child(void)
{
	buddy_check();
	for (unsigned int i = 0; i < 100; i++) {
		os_act_as_cpu(i & 1);
		CHILD_CHECK(run_free(get((9 + i % 5) * PAGE_SIZE)));
	}
	pcp_runs_drain();
	buddy_trim(0);
	buddy_check();
	CHILD_CHECK(kept().count == 0 && pages_used() <= THREADS * (HELD + 1) * 13);
	_exit(0);
}

static void fork_once(void)
{
	int status;
	pid_t pid;

	each_lock(lock_fork_prepare);
	pid = fork();
	if (pid == 0) {
		each_lock(lock_fork_child);
		be_the_child();
	}
	each_lock(lock_fork_parent);
	CHILD_CHECK(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0);
}

IN_CHILD(threads_get_different_ones)
{
	pthread_t thread[THREADS];
	struct run_stats stats;

	fresh_runs(2, 1);
	want(TEN);
	for (uintptr_t i = 0; i < THREADS; i++)
		CHILD_CHECK(!pthread_create(&thread[i], NULL, churn, (void *)(i + 1)));
	for (unsigned int i = 0; i < rounds(40); i++) {
		fork_once();
		if (i % 4 == 0)
			pcp_runs_drain();
	}
	store_relaxed(&stop, 1);
	for (unsigned int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	run_stats(&stats);
	CHILD_CHECK(stats.count == 0 && stats.bytes == 0);
	run_check();
	buddy_check();
	pcp_runs_drain();
	CHILD_CHECK(pages_used() == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_freed_last_comes_first),
		cmocka_unit_test(what_is_kept_is_free),
		cmocka_unit_test(only_lengths_that_were_asked_for_are_kept),
		cmocka_unit_test(short_and_long_ones_are_the_zones),
		cmocka_unit_test(who_asks_for_more_gets_none),
		cmocka_unit_test(slots_are_bounded),
		cmocka_unit_test(the_oldest_leaves),
		cmocka_unit_test(pages_are_bounded),
		cmocka_unit_test(a_limit_of_purges_counts),
		cmocka_unit_test(each_cpu_has_its_own),
		cmocka_unit_test(those_of_other_nodes_go_home),
		cmocka_unit_test(idle_ones_go),
		cmocka_unit_test(ages_are_right_for_days),
		cmocka_unit_test(idle_ones_go_beside_busy_ones),
		cmocka_unit_test(puts_look_at_the_clock),
		cmocka_unit_test(a_put_looks_at_the_clock_while_much_is_free),
		cmocka_unit_test(a_limit_of_the_process_counts),
		cmocka_unit_test(what_cpus_keep_is_no_reason_to_fail),
		cmocka_unit_test(threads_get_different_ones),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
