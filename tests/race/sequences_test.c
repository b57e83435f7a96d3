/* SPDX-License-Identifier: MIT */
/*
 * race/sequences_test.c - delays inside the restartable sequences, while everything happens at once
 *
 * ctest: timeout=300 serial sanitize=no
 *
 * This program has its own copy of the per-CPU code, built with a loop at each of the numbered
 * places of the sequences; the loops run as often as a table of the thread says, so that a sequence
 * is interrupted between any two of its steps. Workers allocate and free under a storm of
 * migrations, signals whose handlers allocate and free on the hit path, drains, and forks. An
 * object carries its owner's mark: one that is handed out twice is seen at once, one that is lost
 * at the end of the round, when the books of the caches must be exact.
 *
 * The same with one thing broken on purpose must fail: a test that cannot see those would prove
 * nothing. Usage: sequences_test [seconds of the storm [test]]
 */
#include "base/mix.h"
#include "inject.h"

#if !USLAB_HAVE_RSEQ
int main(void)
{
	return 77; /* no sequences in this build */
}
#else

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "cache/cache.h"
#include "child.h"

#define WORKERS 4
#define ARRAYS 3	    /* caches of the array front, then one of cpuslab, then: */
#define QUEUES (ARRAYS + 1) /* one of queues, whose limits change all the time */
#define CACHES (ARRAYS + 2)
#define POOL 150  /* objects of one cache that a worker may have */
#define BULK 80	  /* objects of one bulk call, at most */
#define STASH 6	  /* objects of one cache that a worker's signal handler may have */
#define SLOTS 16  /* through which workers pass objects to one another */
#define OPS 30000 /* of one worker in one round */
#define MIN_OPS 1000000ul

struct object {
	unsigned int owner; /* 0: free */
	unsigned int number_of_cache;
	char rest[56];
};

struct worker {
	pthread_t thread;
	int tid;
	unsigned int id; /* its mark; the handler's is id + 100 */
	uint64_t seed;
	uint64_t handler_seed;
	unsigned int nr[CACHES];
	struct object *pool[CACHES][POOL];
	unsigned int nr_stash[CACHES];
	struct object *stash[CACHES][STASH];
	unsigned long ops;
	unsigned long handler_ops;
};

static struct worker workers[WORKERS];
static __thread struct worker *self;
static struct kmem_cache *caches[CACHES];
static unsigned int nr_caches = CACHES;
static struct object *slots[SLOTS];
static unsigned int working; /* workers that are not done with the round */
static bool stop_storm;
static pthread_barrier_t barrier;
static struct {
	unsigned long drains; /* changes included */
	unsigned long changes;
	unsigned long moves;
	unsigned long forks;
	unsigned long signals;
} count;

static _Noreturn void die(const char *what, const void *obj, unsigned int owner)
{
	dprintf(STDERR_FILENO, "race: %s: object %p, owner %u\n", what, obj, owner);
	_exit(3);
}

static uint64_t draw(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed >> 8;
}

/* ---- the model: who has which object ---- */

static void construct(void *obj)
{
	((struct object *)obj)->owner = 0;
}

static void claim(struct object *obj, unsigned int id)
{
	unsigned int owner = xchg(&obj->owner, id);

	if (owner)
		die("handed out twice", obj, owner);
}

static void let_go(struct object *obj, unsigned int id)
{
	unsigned int owner = xchg(&obj->owner, 0u);

	if (owner != id)
		die("somebody else's", obj, owner);
}

/* ---- workers ---- */

/* Now and then the next pass through a place takes long, mostly some thousand cycles. */
static void set_delay(uint64_t r)
{
	int loops = (int)(r >> 8 & 127);

	if (r & 7)
		return;
	if ((r >> 16 & 63) == 0)
		loops *= 30;
	if (r & 8) {
		race_delay[1 + (r >> 24) % (PLACES - 1)] = loops;
	} else {
		race_delay[0] = 20 * loops; /* no pause in that loop */
		race_skip = (int)(r >> 32 & 3);
	}
}

static void take(struct worker *w, unsigned int c, struct object *obj)
{
	claim(obj, w->id);
	obj->number_of_cache = c;
	w->pool[c][w->nr[c]++] = obj;
}

static struct object *drop_some(struct worker *w, unsigned int c, uint64_t r)
{
	unsigned int i = (unsigned int)r % w->nr[c];
	struct object *obj = w->pool[c][i];

	w->pool[c][i] = w->pool[c][--w->nr[c]];
	let_go(obj, w->id);
	return obj;
}

static void bulk_op(struct worker *w, unsigned int c, uint64_t r)
{
	/* some of one array, or a few that end in the spare or in the depot */
	unsigned int n = 1 + (unsigned int)r % (r >> 20 & 7 ? 12 : BULK);
	void *p[BULK];

	if (w->nr[c] + n <= POOL && r & 1024) {
		if (kmem_cache_alloc_bulk(caches[c], GFP_KERNEL, n, p) != (int)n)
			die("out of memory", NULL, 0);
		for (unsigned int i = 0; i < n; i++)
			take(w, c, p[i]);
	} else if (w->nr[c] >= n) {
		for (unsigned int i = 0; i < n; i++)
			p[i] = drop_some(w, c, r >> i % 32);
		kmem_cache_free_bulk(r & 2048 ? caches[c] : NULL, n, p);
	}
}

/* Runs of kmallocs: whoever gets one has it alone. */
static void kmalloc_op(const struct worker *w, uint64_t r)
{
	unsigned int n = 1 + (unsigned int)r % BULK;
	const struct worker **p[BULK];

	for (unsigned int i = 0; i < n; i++) {
		p[i] = kmalloc(64, GFP_KERNEL);
		if (!p[i])
			die("out of memory", NULL, 0);
		p[i][0] = p[i][7] = w;
	}
	for (unsigned int i = 0; i < n; i++)
		if (p[i][0] != w || p[i][7] != w)
			die("somebody else's kmalloc", p[i], 0);
	kfree_bulk(n, (void **)p);
}

/* Gives an object to whoever comes next, and takes what lies there. */
static void pass_on(struct worker *w, unsigned int c, uint64_t r)
{
	struct object *mine = NULL;
	struct object *got;

	if (w->nr[c] && r & 512)
		mine = drop_some(w, c, r);
	if (mine)
		claim(mine, 99); /* nobody's, but not free */
	got = xchg(&slots[(r >> 32) % SLOTS], mine);
	if (!got)
		return;
	let_go(got, 99);
	if (w->nr[got->number_of_cache] < POOL)
		take(w, got->number_of_cache, got);
	else
		kmem_cache_free(caches[got->number_of_cache], got);
}

static void one_op(struct worker *w)
{
	uint64_t r = draw(&w->seed);
	unsigned int c = (unsigned int)(r >> 40) % nr_caches;
	/* long times of more allocating, then of more freeing */
	bool grow = (r >> 44 & 15) < (w->ops >> 9 & 1 ? 10u : 6u);

	set_delay(r);
	switch (r >> 50 & 15) {
	case 0:
		bulk_op(w, c, r);
		break;
	case 1:
		pass_on(w, c, r);
		break;
	case 2:
		if (r & 7)
			break;
		kmalloc_op(w, r >> 8);
		break;
	case 3:
		if (!(r & 255))
			sched_yield();
		break;
	default:
		if (grow && w->nr[c] < POOL) {
			struct object *obj = kmem_cache_alloc(caches[c], GFP_KERNEL);

			if (!obj)
				die("out of memory", NULL, 0);
			take(w, c, obj);
		} else if (!grow && w->nr[c]) {
			kmem_cache_free(caches[c], drop_some(w, c, r));
		}
	}
	w->ops++;
}

/* Hit path only: what else a handler may call takes locks. */
static void handler_op(struct worker *w)
{
	uint64_t r = draw(&w->handler_seed);
	unsigned int c = (unsigned int)(r >> 40) % nr_caches;
	struct object *obj;
	void *popped;

	set_delay(r);
	if (r & 256 && w->nr_stash[c]) {
		obj = w->stash[c][w->nr_stash[c] - 1];
		let_go(obj, w->id + 100);
		if (uslab_rseq_give(caches[c], obj, uslab_rseq_offset))
			w->nr_stash[c]--;
		else
			claim(obj, w->id + 100);
	} else if (w->nr_stash[c] < STASH &&
		   uslab_rseq_take(caches[c], uslab_rseq_offset, &popped)) {
		obj = popped;
		claim(obj, w->id + 100);
		w->stash[c][w->nr_stash[c]++] = obj;
	}
	w->handler_ops++;
}

static void on_signal(int sig)
{
	struct worker *w = self;

	(void)sig;
	if (!w)
		return;
	for (unsigned int i = 0; i < 3; i++)
		handler_op(w);
}

static void block_signals(bool block)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGALRM);
	pthread_sigmask(block ? SIG_BLOCK : SIG_UNBLOCK, &set, NULL);
}

static void give_everything_back(struct worker *w)
{
	memset(race_delay, 0, sizeof(race_delay));
	for (unsigned int c = 0; c < nr_caches; c++) {
		while (w->nr[c])
			kmem_cache_free(caches[c], drop_some(w, c, 0));
		while (w->nr_stash[c]) {
			struct object *obj = w->stash[c][--w->nr_stash[c]];

			let_go(obj, w->id + 100);
			kmem_cache_free(caches[c], obj);
		}
	}
}

static void *work(void *arg)
{
	struct worker *w = arg;

	w->tid = (int)syscall(SYS_gettid);
	self = w;
	for (;;) {
		pthread_barrier_wait(&barrier); /* the round starts */
		if (load_relaxed(&stop_storm))
			return NULL;
		block_signals(false);
		for (unsigned int i = 0; i < OPS; i++)
			one_op(w);
		block_signals(true);
		give_everything_back(w);
		fetch_sub(&working, 1);
		pthread_barrier_wait(&barrier); /* it is quiet */
	}
}

/* ---- the storm around them; each loop runs while somebody works ---- */

static bool round_goes_on(void)
{
	return load_relaxed(&working);
}

static void storm_thread(void (*once)(uint64_t r), useconds_t pause_us)
{
	uint64_t seed = (uintptr_t)once | 1;

	for (;;) {
		pthread_barrier_wait(&barrier);
		if (load_relaxed(&stop_storm))
			return;
		while (round_goes_on()) {
			once(draw(&seed));
			usleep(pause_us);
		}
		pthread_barrier_wait(&barrier);
	}
}

static cpu_set_t allowed;

static void move_one(uint64_t r)
{
	struct worker *w = &workers[r % WORKERS];
	unsigned int wanted = (unsigned int)(r >> 8) % (unsigned int)CPU_COUNT(&allowed);
	cpu_set_t set;
	int cpu = 0;

	for (;; cpu++)
		if (CPU_ISSET(cpu, &allowed) && !wanted--)
			break;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if ((r >> 40 & 3) == 0)
		set = allowed;
	sched_setaffinity(w->tid, sizeof(set), &set);
	count.moves++;
}

static void signal_one(uint64_t r)
{
	pthread_kill(workers[r % WORKERS].thread, SIGUSR1);
	count.signals++;
}

/* take_stock() checks that no array of another capacity was installed meanwhile or later. */
static void change_capacity(struct kmem_cache *s, uint64_t r)
{
	static const unsigned int capacities[] = { 1, 31, 2, 5, 0, 30, 3, USLAB_CAPACITY_NONE };
	int ret = kmem_cache_set_capacity(s, capacities[r % ARRAY_SIZE(capacities)]);

	if (ret)
		die("no other capacity", s, (unsigned int)ret);
	count.changes++;
}

static void drain_one(uint64_t r)
{
	set_delay(r >> 20);
	if (r % nr_caches == QUEUES && r >> 8 & 3)
		kmem_cache_tune(caches[QUEUES], 1 + (unsigned int)(r >> 10 & 15), 1,
				(unsigned int)(r >> 14 & 7));
	else if (r >> 16 & 1 && r % nr_caches < ARRAYS)
		change_capacity(caches[r % nr_caches], r >> 18);
	else if (r >> 16 & 2)
		kmem_cache_shrink(caches[r % nr_caches]);
	else
		kmem_cache_reap();
	count.drains++;
}

static void *mover(void *arg)
{
	storm_thread(move_one, 30);
	return arg;
}

static void *signaller(void *arg)
{
	storm_thread(signal_one, 20);
	return arg;
}

static void *drainer(void *arg)
{
	storm_thread(drain_one, 60);
	return arg;
}

/* ---- fork: the child has the caches to itself, and no object twice ---- */

#define CHILD_OBJECTS 400

static _Noreturn void be_the_child(void)
{
	static void *p[CHILD_OBJECTS];

	memset(race_delay, 0, sizeof(race_delay));
	for (unsigned int c = 0; c < nr_caches; c++) {
		for (unsigned int i = 0; i < CHILD_OBJECTS; i++) {
			p[i] = kmem_cache_alloc(caches[c], GFP_KERNEL);
			if (!p[i])
				die("no memory in a child", NULL, 0);
			/* other threads' marks are as old as their page; this one is the child's */
			if (xchg(&((struct object *)p[i])->owner, 1000000 + c) == 1000000 + c)
				die("handed out twice in a child", p[i], c);
		}
		for (unsigned int i = 0; i < CHILD_OBJECTS; i++)
			kmem_cache_free(caches[c], p[i]);
	}
	_exit(0);
}

static void fork_once(void)
{
	int status;
	pid_t pid = fork();

	if (pid < 0)
		die("fork", NULL, 0);
	if (pid == 0)
		be_the_child();
	while (waitpid(pid, &status, 0) != pid) {}
	if (status) {
		dprintf(STDERR_FILENO, "race: child of fork: status %#x\n", status);
		_exit(3);
	}
	count.forks++;
}

/* ---- rounds ---- */

static unsigned long in_use(struct cache *c)
{
	struct engine_stats stats;

	c->engine.ops->stats(&c->engine, &stats);
	return stats.total_objects - stats.free_objects - c->front.ops->held(&c->front);
}

/* Nobody works: every object is with a front or in its slab, and leaves no slab behind. */
static void take_stock(void)
{
	for (unsigned int i = 0; i < SLOTS; i++) {
		struct object *obj = xchg(&slots[i], NULL);

		if (obj) {
			let_go(obj, 99);
			kmem_cache_free(caches[obj->number_of_cache], obj);
		}
	}
	cache_check_all();
	for (unsigned int c = 0; c < nr_caches; c++) {
		if (in_use(cache_of(caches[c])))
			die("lost", caches[c], (unsigned int)in_use(cache_of(caches[c])));
		if (kmem_cache_shrink(caches[c]))
			die("slabs remain", caches[c], 0);
	}
	cache_check_all();
}

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static unsigned long all_ops(void)
{
	unsigned long ops = 0;

	for (unsigned int i = 0; i < WORKERS; i++)
		ops += workers[i].ops + workers[i].handler_ops;
	return ops;
}

static void prepare(void)
{
	static const unsigned int capacity[CACHES] = { 0, 3, 1, 0, 6 };
	static const char *const front[CACHES] = { "array", "array", "array", "cpuslab", "queues" };
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESTART };

	sigaddset(&action.sa_mask, SIGUSR1);
	sigaddset(&action.sa_mask, SIGALRM);
	sigaction(SIGUSR1, &action, NULL);
	sigaction(SIGALRM, &action, NULL);
	block_signals(true);
	sched_getaffinity(0, sizeof(allowed), &allowed);
	for (unsigned int c = 0; c < nr_caches; c++) {
		struct kmem_cache_args args = { .ctor = construct,
						.capacity = capacity[c],
						.front = front[c] };

		caches[c] = kmem_cache_create_args("race", sizeof(struct object), &args, 0);
	}
	pthread_barrier_init(&barrier, NULL, WORKERS + 3 + 1);
}

/* As long as seconds_to_go and until there were min_ops operations. */
static void storm(double seconds_to_go, unsigned long min_ops, bool with_forks)
{
	const struct itimerval often = { { 0, 300 }, { 0, 300 } };
	double end = seconds() + seconds_to_go;
	pthread_t around[3];

	prepare();
	for (unsigned int i = 0; i < WORKERS; i++) {
		workers[i].id = i + 1;
		workers[i].seed = mix_multiply(i + 1);
		workers[i].handler_seed = mix_bits(i + 1);
		pthread_create(&workers[i].thread, NULL, work, &workers[i]);
	}
	pthread_create(&around[0], NULL, mover, NULL);
	pthread_create(&around[1], NULL, signaller, NULL);
	pthread_create(&around[2], NULL, drainer, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	while (seconds() < end || all_ops() < min_ops) {
		store_relaxed(&working, WORKERS);
		pthread_barrier_wait(&barrier);
		while (round_goes_on()) {
			if (with_forks)
				fork_once();
			usleep(2000);
		}
		pthread_barrier_wait(&barrier);
		take_stock();
	}
	store_relaxed(&stop_storm, true);
	pthread_barrier_wait(&barrier);
	for (unsigned int i = 0; i < WORKERS; i++)
		pthread_join(workers[i].thread, NULL);
	for (unsigned int i = 0; i < 3; i++)
		pthread_join(around[i], NULL);
	for (unsigned int c = 0; c < nr_caches; c++)
		kmem_cache_destroy(caches[c]);
}

/* ---- tests ---- */

static double storm_seconds = 4;

static void storm_with(void *arg)
{
	storm(storm_seconds, MIN_OPS, *(bool *)arg);
	printf("race: %lu operations, %lu moves, %lu signals sent, %lu drains (%lu changes of "
	       "capacity), %lu forks\n",
	       all_ops(), count.moves, count.signals, count.drains, count.changes, count.forks);
	fflush(stdout);
}

static void test_storm(void **state)
{
	bool with_forks = false;
	struct child c;

	(void)state;
	if (!percpu_rseq)
		skip(); /* a handler may not even hit then: CPUs have locks */
	c = child_run(storm_with, &with_forks);
	assert_true(child_passed(&c));
}

static void test_storm_with_forks(void **state)
{
	bool with_forks = true;
	struct child c;

	(void)state;
	if (!percpu_rseq)
		skip();
	c = child_run(storm_with, &with_forks);
	assert_true(child_passed(&c));
}

/* One thing broken: the same storm must find it. A quiet machine takes seconds. */
static void broken_storm(void *arg)
{
	race_broken = *(int *)arg;
	nr_caches = ARRAYS;
	storm(100, 0, false);
}

static void expect_failure(int broken)
{
	struct child c;
	cpu_set_t set;

	sched_getaffinity(0, sizeof(set), &set);
	if (!percpu_rseq || CPU_COUNT(&set) < 2)
		skip(); /* sequences of one CPU need no fence */
	c = child_run_broken(broken_storm, &broken);
	printf("race: broken on purpose (%d): status %#x, %.70s\n", broken, c.status,
	       c.text[0] ? c.text : "\n");
	assert_int_not_equal(c.status, 0);
}

static void test_not_restarted_is_seen(void **state)
{
	(void)state;
	expect_failure(BROKEN_RESTART);
}

static void test_commit_first_is_seen(void **state)
{
	(void)state;
	expect_failure(BROKEN_ORDER);
}

static void test_closed_unseen_is_seen(void **state)
{
	(void)state;
	expect_failure(BROKEN_CLOSED);
}

static void test_no_fence_is_seen(void **state)
{
	(void)state;
	expect_failure(BROKEN_FENCE);
}

static void test_no_retry_is_seen(void **state)
{
	(void)state;
	expect_failure(BROKEN_RETRY);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_storm),
		cmocka_unit_test(test_storm_with_forks),
		cmocka_unit_test(test_not_restarted_is_seen),
		cmocka_unit_test(test_commit_first_is_seen),
		cmocka_unit_test(test_closed_unseen_is_seen),
		cmocka_unit_test(test_no_fence_is_seen),
		cmocka_unit_test(test_no_retry_is_seen),
	};

	if (argc > 1)
		storm_seconds = atof(argv[1]);
	if (argc > 2)
		cmocka_set_test_filter(argv[2]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
#endif
