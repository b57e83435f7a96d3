/* SPDX-License-Identifier: MIT */
/*
 * stress/cache_storm_test.c - threads that come and go, migrations, signals, forks, drains, at once
 *
 * ctest: label=full timeout=300 serial
 *
 * Usage: cache_storm_test [seconds]; USLAB_SOAK=N: N times as long. Short-lived threads allocate
 * and free through all public functions, pass objects on to one another, create and destroy caches
 * of their own, and hop from CPU to CPU; a timer interrupts whoever runs, and its handler uses the
 * hit paths; one thread shrinks, another forks children that go on with everything they find.
 * Objects are stamped. In the end the books of all caches and the page allocator must show that
 * nothing is left.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>
#include <uslab/account.h>

#include "base/atomic.h"
#include "bare.h"
#include "base/mix.h"
#include "cache/cache.h"
#include "cache/profile/profile.h"
#include "child.h"
#include "debug/report/report.h"
#include "os/cpu/cpu.h"
#include "page/buddy.h"
#include "page/large.h"
#include "pages_out.h"

/*
 * Its hit looks at what another thread may have got meanwhile, and then does not use what it saw.
 */
#define CPUSLAB (THREAD_SANITIZED ? "array" : "cpuslab")
#define WORKERS 5
#define CACHES 6
#define POOL 200  /* objects that a worker has at most */
#define SLOTS 128 /* for passing on */
#define STASH 8	  /* objects held by a thread's signal handler */

/* At the start of every object that is out; the rest of it is filled with `fill`. */
struct stamp {
	struct kmem_cache *cache; /* NULL: kmalloc */
	unsigned int size;	  /* with the stamp */
	unsigned int fill;
};

static struct kmem_cache *caches[CACHES];
static struct stamp *slots[SLOTS];
static bool stop;
static cpu_set_t allowed;
/* stress/debug_switch_test.c: debug flags come and go meanwhile */
#ifndef STORM_SWITCHES
#define STORM_SWITCHES 0
#endif
/* stress/profile_storm_test.c: every call has a tag, and profiling comes and goes meanwhile */
#ifndef STORM_PROFILES
#define STORM_PROFILES 0
#endif
/* stress/moves_storm_test.c: objects that are passed on move meanwhile */
#ifndef STORM_MOVES
#define STORM_MOVES 0
#endif
/* stress/groups_storm_test.c: threads are in groups, and what they allocate is charged */
#ifndef STORM_GROUPS
#define STORM_GROUPS 0
#define STORM_FLAGS(i) 0
#define storm_alloc kmem_cache_alloc
#define storm_free kmem_cache_free
#endif
#define STORM_GFP (STORM_GROUPS ? GFP_KERNEL_ACCOUNT : GFP_KERNEL)
#define GROUPS 3
static struct uslab_group *groups[GROUPS + 1]; /* the last is NULL: none */
static double storm_seconds = 4;
static unsigned long switches, moves;
static unsigned long ops, threads, forks, handled; /* atomic */

static __thread struct stamp *stash[STASH];
static __thread volatile sig_atomic_t nr_stash;
static __thread bool may_handle;

static _Noreturn void wrong(const char *what, const void *p)
{
	dprintf(STDERR_FILENO, "storm: %s: %p\n", what, p);
	abort();
}

static uint64_t draw(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed >> 8;
}

/* ---- objects ---- */

static struct stamp *stamp_it(void *p, struct kmem_cache *s, unsigned int size, uint64_t r)
{
	struct stamp *o = p;

	if (!o)
		wrong("no memory", s);
	o->cache = s;
	o->size = size;
	o->fill = (unsigned int)r & 0xff;
	memset(o + 1, (int)o->fill, size - sizeof(*o));
	return o;
}

static void check_stamp(const struct stamp *o)
{
	const unsigned char *byte = (const unsigned char *)(o + 1);

	for (unsigned int i = 0; i < o->size - sizeof(*o); i++)
		if (byte[i] != o->fill)
			wrong("overwritten", o);
}

static struct stamp *new_object(uint64_t *seed)
{
	uint64_t r = draw(seed);
	struct kmem_cache *s = caches[(r >> 8) % CACHES];
	unsigned int size = sizeof(struct stamp) + (unsigned int)(r >> 16) % 500;

	switch (r % 16) {
	case 0:
		return stamp_it(kmalloc(size * 40, STORM_GFP), NULL, size * 40, r);
	case 1:
	case 2:
	case 3:
		return stamp_it(kmalloc(size, STORM_GFP), NULL, size, r);
	case 4:
		return stamp_it(kmalloc(100, STORM_GFP), NULL, 100, r); /* inline */
	case 5:
		return stamp_it(kmem_cache_zalloc(s, GFP_KERNEL), s, kmem_cache_size(s), r);
	case 6:
		return stamp_it(kmem_cache_alloc_node(s, GFP_KERNEL, (int)(r >> 40 & 1)), s,
				kmem_cache_size(s), r);
	default:
		return stamp_it(storm_alloc(s, GFP_KERNEL), s, kmem_cache_size(s), r);
	}
}

static void free_object(struct stamp *o, uint64_t r)
{
	check_stamp(o);
	o->fill = ~0u; /* a second free would trip over it */
	if (o->cache && r % 4)
		r % 4 > 1 ? storm_free(o->cache, o) : kmem_cache_free(o->cache, o);
	else
		kfree(o);
}

static struct stamp *resize(struct stamp *o, uint64_t r)
{
	unsigned int size = sizeof(*o) + (unsigned int)(r >> 16) % 1000;
	unsigned int kept = o->size < size ? o->size : size;

	check_stamp(o);
	o = krealloc(o, size, STORM_GFP);
	if (!o)
		wrong("no memory", o);
	o->size = kept;
	check_stamp(o);
	return stamp_it(o, NULL, size, r);
}

static void bulk(uint64_t r)
{
	struct kmem_cache *s = caches[(r >> 8) % CACHES];
	int n = 1 + (int)((r >> 16) % 70);
	void *p[70];

	if (kmem_cache_alloc_bulk(s, GFP_KERNEL, (size_t)n, p) != n)
		wrong("no memory", s);
	for (int i = 0; i < n; i++)
		stamp_it(p[i], s, kmem_cache_size(s), r + (uint64_t)i);
	for (int i = 0; i < n; i++)
		check_stamp(p[i]);
	kmem_cache_free_bulk(r & 1 ? s : NULL, (size_t)n, p);
}

/* The same by any sources: as many as these have. */
static void array(uint64_t r)
{
	struct kmem_cache *s = caches[(r >> 8) % CACHES];
	int n = 1 + (int)((r >> 16) % 200);
	unsigned int mode = (unsigned int)(r >> 32) % (SLAB_ARRAY_ALL + 1);
	void *p[200];
	int got = kmem_cache_alloc_array(s, GFP_KERNEL, (size_t)n, p, mode);

	if (got < 0 || got > n || ((!mode || mode & SLAB_ARRAY_FULL) && got < n))
		wrong("no memory", s);
	for (int i = 0; i < got; i++)
		stamp_it(p[i], s, kmem_cache_size(s), r + (uint64_t)i);
	for (int i = 0; i < got; i++)
		check_stamp(p[i]);
	kmem_cache_free_array(s, (size_t)got, p);
}

/* A cache of this thread's own. */
static void own_cache(uint64_t r)
{
	static const char *const fronts[] = { "array", CPUSLAB, "none", "queues", "sheaves" };
	struct kmem_cache_args args = { .front = fronts[r % 4] };
	unsigned int size = 32 + (unsigned int)(r >> 8) % 300;
	struct kmem_cache *s = kmem_cache_create_args("own", size, &args, SLAB_NOLEAKTRACE);
	struct stamp *p[60];

	for (unsigned int i = 0; i < 60; i++)
		p[i] = stamp_it(kmem_cache_alloc(s, GFP_KERNEL), s, size, r + i);
	for (unsigned int i = 0; i < 60; i++)
		free_object(p[i], i);
	kmem_cache_destroy(s);
	/* and a name for one that is shared */
	s = kmem_cache_create("shared", kmem_cache_size(caches[0]), 0, 0, NULL);
	free_object(stamp_it(kmem_cache_alloc(s, GFP_KERNEL), s, kmem_cache_size(s), r), r);
	kmem_cache_destroy(s);
}

/* ---- workers ---- */

static void hop(uint64_t r)
{
	unsigned int wanted = (unsigned int)r % (unsigned int)CPU_COUNT(&allowed);
	cpu_set_t set;
	int cpu = 0;

	for (;; cpu++)
		if (CPU_ISSET(cpu, &allowed) && !wanted--)
			break;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), r >> 20 & 1 ? &set : &allowed);
}

static void one_op(struct stamp **pool, unsigned int *nr, uint64_t *seed)
{
	uint64_t r = draw(seed);
	unsigned int i = *nr ? (unsigned int)(r >> 32) % *nr : 0;
	struct stamp *o;

	switch (r % 128) {
	case 0:
		hop(r >> 8);
		break;
	case 1:
		if (r & 128)
			bulk(r >> 8);
		else
			array(r >> 8);
		break;
	case 2:
		if ((r >> 8) % 32 == 0)
			own_cache(r >> 16);
		break;
	case 3:
	case 4:
		if (*nr && !pool[i]->cache)
			pool[i] = resize(pool[i], r >> 8);
		break;
	case 5 ... 20:
		o = *nr ? pool[--*nr] : NULL;
		o = xchg(&slots[(r >> 8) % SLOTS], o);
		if (o)
			free_object(o, r);
		break;
	case 21 ... 75:
		if (*nr < POOL)
			pool[(*nr)++] = new_object(seed);
		break;
	default:
		if (*nr) {
			o = pool[i];
			pool[i] = pool[--*nr];
			free_object(o, r >> 8);
		}
	}
}

static void block_signal(bool block)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGALRM);
	pthread_sigmask(block ? SIG_BLOCK : SIG_UNBLOCK, &set, NULL);
}

static void empty_stash(void)
{
	may_handle = false;
	while (nr_stash) {
		nr_stash--;
		free_object(stash[nr_stash], 1);
	}
}

static void *work(void *arg)
{
	uint64_t seed = mix_multiply((uintptr_t)arg + 1);
	unsigned int lifetime = 500 + (unsigned int)(draw(&seed) % 20000);
	struct stamp *pool[POOL];
	unsigned int nr = 0;

	may_handle = true;
	block_signal(false); /* the workers are who is interrupted */
	for (unsigned int i = 0; i < lifetime && !load_relaxed(&stop); i++) {
		if (STORM_GROUPS && i % 64 == 0)
			uslab_group_enter(groups[draw(&seed) % (GROUPS + 1)]);
		one_op(pool, &nr, &seed);
	}
	block_signal(true);
	fetch_add(&ops, lifetime);
	while (nr)
		free_object(pool[--nr], 1);
	empty_stash();
	return NULL;
}

/* Keeps a worker's place filled with one thread after another. */
static void *place(void *arg)
{
	uintptr_t number = (uintptr_t)arg;
	pthread_t thread;

	for (uintptr_t n = 0; !load_relaxed(&stop); n++) {
		if (pthread_create(&thread, NULL, work, (void *)(n * WORKERS + number)))
			wrong("pthread_create", NULL);
		pthread_join(thread, NULL);
		fetch_add(&threads, 1);
	}
	return NULL;
}

/* The hit paths only: everything else takes locks. Without sequences these do, too. */
static void on_signal(int sig)
{
#if USLAB_HAVE_RSEQ
	static uint64_t turn; /* need not be exact */
	struct kmem_cache *s = caches[turn++ % CACHES];
	void *obj;

	if (!may_handle || !percpu_rseq)
		return;
	if (nr_stash && turn & 4) {
		struct stamp *o = stash[nr_stash - 1];
		struct kmem_cache *of = o->cache;

		check_stamp(o);
		if (uslab_rseq_give(of, o, uslab_rseq_offset))
			nr_stash--;
		else /* one that was interrupted may have left its mark */
			stash[nr_stash - 1] = stamp_it(o, of, kmem_cache_size(of), turn);
	} else if (nr_stash < STASH && uslab_rseq_take(s, uslab_rseq_offset, &obj)) {
		stash[nr_stash] = stamp_it(obj, s, kmem_cache_size(s), turn);
		nr_stash++;
	}
	fetch_add(&handled, 1);
#endif
	(void)sig;
}

/* Of one cache, or of all, kmalloc's and those of the test that come and go among them. */
static void change_capacity(unsigned int turn)
{
	static const unsigned int capacities[] = { 1, 31, USLAB_CAPACITY_NONE, 7, 0, 30, 2 };
	unsigned int objects = capacities[turn % ARRAY_SIZE(capacities)];
	struct kmem_cache *s = caches[turn / 8 % CACHES];
	int ret;

	if (turn % 8 == 0) {
		ret = uslab_set_capacity("*", objects);
		if (ret < 1)
			wrong("uslab_set_capacity", (void *)(intptr_t)ret);
	} else {
		ret = kmem_cache_set_capacity(s, objects);
		if (ret && cache_of(s)->front.ops == &front_array_ops)
			wrong("kmem_cache_set_capacity", (void *)(intptr_t)ret);
	}
}

static void *shrinker(void *arg)
{
	for (unsigned int i = 0; !load_relaxed(&stop); i++) {
		kmem_cache_shrink(caches[i % CACHES]);
		change_capacity(i);
		kmem_cache_tune(caches[CACHES - 1], 1 + i % 130, 1 + i % 130 / 2, i % 5);
		if (i % 16 == 0)
			kmem_cache_reap();
		if (i % 64 == 0)
			uslab_trim();
		usleep(200);
	}
	return arg;
}

/* Of all caches or of some, all at once or one by one. */
static void *switcher(void *arg)
{
	static const char *const debug_flags[] = { "FZPU", "-", "F",	 "+U", "-F",
						   "zp",   "",	"FZPUA", "-Z" };
	static const char *const patterns[] = { "*",  "storm",	     "kmalloc-*",
						":*", "kmalloc-128", "own" };
	uint64_t seed = 99;

	while (!load_relaxed(&stop)) {
		uint64_t r = draw(&seed);
		int ret = uslab_set_debug(patterns[r % ARRAY_SIZE(patterns)],
					  debug_flags[(r >> 8) % ARRAY_SIZE(debug_flags)]);

		if (ret < 0 && ret != -ENOENT)
			wrong("uslab_set_debug", (void *)(intptr_t)ret);
		for (unsigned int i = 0; i < CACHES; i++)
			if ((r >> 16) % 8 == i)
				cache_set_sampling(cache_of(caches[i]), (r >> 24) % 3 != 0);
		if ((r >> 32) % 16 == 0)
			kmem_cache_validate(caches[(r >> 40) % CACHES]);
		switches++;
		usleep((unsigned int)(r >> 48) % 3000);
	}
	uslab_set_debug("*", "-");
	return arg;
}

/* In the end it is on. */
static void *profiler(void *arg)
{
	uint64_t seed = 98;
	int ret = 0;

	while (!ret && !load_relaxed(&stop)) {
		ret = profile_switch(false);
		usleep((unsigned int)draw(&seed) % 1000);
		ret = ret ? ret : profile_switch(true);
		usleep((unsigned int)draw(&seed) % 5000);
		switches++;
	}
	if (ret)
		wrong("profile_switch", (void *)(intptr_t)ret);
	return arg;
}

/* ---- objects that move ---- */

/* Those in slots, of which this thread becomes the owner; all others have one. */
static int move(void *from, void *to, void *arg)
{
	struct stamp *o = from;
	struct stamp *other;

	for (unsigned int i = 0; i < SLOTS; i++) {
		if (load_relaxed(&slots[i]) != o || !cmpxchg(&slots[i], o, NULL))
			continue;
		check_stamp(o);
		if (o->cache != arg)
			wrong("of another cache", o);
		memcpy(to, o, o->size);
		o->fill = ~0u;
		other = xchg(&slots[i], to);
		if (other)
			free_object(other, 1);
		return 0;
	}
	return -1;
}

static void *mover(void *arg)
{
	uint64_t seed = 4711;

	may_handle = true;
	block_signal(false);
	while (!load_relaxed(&stop)) {
		struct kmem_cache *s = caches[draw(&seed) % CACHES];
		int ret = kmem_cache_defrag(s, NUMA_NO_NODE, 1 + draw(&seed) % 300);

		if (ret != 0 && ret != 1)
			wrong("kmem_cache_defrag", (void *)(intptr_t)ret);
		hop(draw(&seed));
		moves++;
	}
	block_signal(true);
	empty_stash();
	return arg;
}

static void make_movable(void)
{
	for (unsigned int i = 0; i < CACHES; i++)
		CHILD_CHECK(uslab_cache_set_move(caches[i], move, caches[i]) == 0);
}

static void check_moves(void)
{
	struct kmem_cache_statistics stats = { .size = sizeof(stats) };
	size_t moved = 0;

	for (unsigned int i = 0; i < CACHES; i++) {
		CHILD_CHECK(!kmem_cache_stats(caches[i], &stats));
		moved += stats.defrag_moved;
	}
	printf("storm: %lu steps that moved %zu objects\n", moves, moved);
	CHILD_CHECK(moved);
}

/* Everything was freed, by whoever: what was counted since it was switched on is 0. */
static void check_profile(void)
{
	for (uint32_t site = 1; sites_table && site <= sites_table->nr; site++)
		CHILD_CHECK(sites_sum(site).calls == 0 && sites_sum(site).bytes == 0);
}

static void make_groups(void)
{
	groups[0] = uslab_group_create("top", 0, NULL);
	groups[1] = uslab_group_create("one", 0, groups[0]);
	groups[2] = uslab_group_create("two", 0, groups[0]);
	CHILD_CHECK(groups[0] && groups[1] && groups[2]);
}

/* Nothing is charged any more, and no thread is left in a group. */
static void check_groups(void)
{
	for (unsigned int i = 0; i < GROUPS; i++) {
		struct uslab_group_statistics stat = { .size = sizeof(stat) };

		CHILD_CHECK(uslab_group_stat(groups[i], &stat) == 0);
		CHILD_CHECK(stat.usage == 0 && stat.threads == 0 && stat.failed == 0);
		CHILD_CHECK(stat.peak > 0);
	}
}

/* ---- forks ---- */

/* Works with what it finds; at half-way a child of its own does, too. */
static void child_work(bool with_child)
{
	uint64_t seed = mix_multiply((uint64_t)getpid());
	struct stamp *pool[POOL];
	unsigned int nr = 0;
	int status = 0;
	pid_t pid = 1;

	for (unsigned int i = 0; i < 3000; i++) {
		one_op(pool, &nr, &seed);
		if (with_child && i == 1500)
			pid = fork();
	}
	own_cache(seed);
	while (nr)
		free_object(pool[--nr], 1);
	for (unsigned int i = 0; i < CACHES; i++)
		kmem_cache_shrink(caches[i]);
	uslab_trim();
	if (pid == 0)
		_exit(0);
	if (with_child && (waitpid(pid, &status, 0) != pid || status))
		wrong("grandchild", NULL);
}

static void fork_once(void)
{
	pid_t pid = fork();
	int status;

	if (pid < 0)
		wrong("fork", NULL);
	if (pid == 0) {
		child_work(forks % 4 == 0);
		_exit(0);
	}
	while (waitpid(pid, &status, 0) < 0) {}
	if (status) {
		dprintf(STDERR_FILENO, "storm: child: status %#x\n", status);
		wrong("child", NULL);
	}
	forks++;
}

/* ---- the whole ---- */

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void make_caches(void)
{
	static const struct {
		unsigned int size;
		struct kmem_cache_args args;
	} v[CACHES] = { { 64, { .front = "array" } },	{ 200, { .front = CPUSLAB } },
			{ 96, { .front = "none" } },	{ 40, { .front = "array", .capacity = 4 } },
			{ 120, { .front = "queues" } }, { 80, { .front = "sheaves" } } };

	for (unsigned int i = 0; i < CACHES; i++)
		caches[i] = kmem_cache_create_args("storm", v[i].size, &v[i].args, STORM_FLAGS(i));
}

static void check_end(unsigned long start)
{
	for (unsigned int i = 0; i < SLOTS; i++)
		if (slots[i])
			free_object(slots[i], i);
	cache_check_all();
	if (STORM_MOVES)
		check_moves();
	for (unsigned int i = 0; i < CACHES; i++) {
		CHILD_CHECK(kmem_cache_shrink(caches[i]) == 0);
		kmem_cache_destroy(caches[i]);
	}
	uslab_trim();
	cache_check_all();
	buddy_check();
	CHILD_CHECK(bytes_out() == start);
	check_profile();
	if (STORM_GROUPS)
		check_groups();
	CHILD_CHECK(report_counters.reports == 0);
}

static void storm(void *arg)
{
	const struct itimerval often = { { 0, 200 }, { 0, 200 } };
	const struct itimerval never = { { 0, 0 }, { 0, 0 } };
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
	pthread_t around[WORKERS + 4];
	unsigned int nr = WORKERS;
	unsigned long start;
	double end;

	(void)arg;
	if (STORM_GROUPS)
		make_groups();
	uslab_trim();
	start = bytes_out();
	sched_getaffinity(0, sizeof(allowed), &allowed);
	make_caches();
	sigaction(SIGALRM, &action, NULL);
	block_signal(true);
	setitimer(ITIMER_REAL, &often, NULL);
	for (uintptr_t i = 0; i < WORKERS; i++)
		pthread_create(&around[i], NULL, place, (void *)i);
	pthread_create(&around[nr++], NULL, shrinker, NULL);
	if (STORM_SWITCHES)
		pthread_create(&around[nr++], NULL, switcher, NULL);
	if (STORM_PROFILES)
		pthread_create(&around[nr++], NULL, profiler, NULL);
	if (STORM_MOVES) {
		make_movable();
		pthread_create(&around[nr++], NULL, mover, NULL);
	}
	for (end = seconds() + storm_seconds; seconds() < end;) {
		fork_once();
		usleep(5000);
	}
	store_relaxed(&stop, true);
	for (unsigned int i = 0; i < nr; i++)
		pthread_join(around[i], NULL);
	setitimer(ITIMER_REAL, &never, NULL);
	check_end(start);
	printf("storm: %lu operations, %lu threads, %lu forks, %lu handler calls that worked, "
	       "%lu switches\n",
	       ops, threads, forks, handled, switches);
	fflush(stdout);
}

static void test_storm(void **state)
{
	struct child c = child_run(storm, state);

	assert_true(child_passed(&c));
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_storm) };

	if (getenv("USLAB_SOAK"))
		storm_seconds *= atof(getenv("USLAB_SOAK"));
	if (argc > 1)
		storm_seconds = atof(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
