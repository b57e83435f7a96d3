/* SPDX-License-Identifier: MIT */
/*
 * stress/nolock_storm_test.c - kmalloc_nolock() and kfree_nolock() by threads and their signal
 * handlers, beside ordinary calls, migrations, forks and drains
 *
 * ctest: timeout=300 serial
 *
 * Usage: nolock_storm_test [seconds of each engine]. Threads allocate and free in all four ways,
 * pass blocks on to one another, and hop from CPU to CPU; one sends them signals, whose handlers
 * only use the two; one shrinks, and forks children that go on with what they find. Blocks are
 * stamped. In the end nothing is left, and nothing was lost.
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#include "base/atomic.h"
#include "conformance/books.h"
#include "page/nested.h"
#include "threads.h"
#include "unit/cache/cache_fixture.h"

#define WORKERS 4
#define POOL 60	 /* blocks that a worker has at most */
#define SLOTS 32 /* for passing on */
#define STASH 6	 /* blocks of a thread's handler */

struct stamp {
	struct stamp *self;
	size_t size;
};

static double seconds = 0.4;
static struct stamp *slots[SLOTS];
static bool stop;
static unsigned long ops, handled, got, refused, forks; /* atomic */
static pthread_t workers[WORKERS];
static cpu_set_t allowed;

static __thread struct stamp *stash[STASH];
static __thread bool may_handle;

static uint64_t draw(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed >> 11;
}

/* The end of the block has its address, too. */
static struct stamp *stamped(void *p, size_t size)
{
	struct stamp *s = p;

	if (!s)
		return NULL;
	*s = (struct stamp){ s, size };
	memcpy((char *)p + size - sizeof(p), &p, sizeof(p));
	return s;
}

static void free_one(struct stamp *s, bool ordinary)
{
	void *last;

	if (!s)
		return;
	memcpy(&last, (char *)s + s->size - sizeof(last), sizeof(last));
	CHILD_CHECK(s->self == s && last == s);
	s->self = NULL;
	if (ordinary)
		kmalloc_free(s, NULL);
	else
		kmalloc_try_free(s, NULL);
}

static struct stamp *try_one(size_t size)
{
	struct stamp *s = stamped(kmalloc_try_alloc(size, 0, NUMA_NO_NODE, NULL), size);

	fetch_add(s ? &got : &refused, 1);
	return s;
}

static size_t draw_size(uint64_t *seed)
{
	return sizeof(struct stamp) + sizeof(void *) + draw(seed) % (draw(seed) % 4 ? 200 : 4000);
}

static void on_signal(int sig)
{
	static __thread uint64_t seed = 99;

	(void)sig;
	if (!may_handle)
		return;
	fetch_add(&handled, 1);
	for (unsigned int i = 0; i < STASH; i++) {
		free_one(stash[i], false);
		stash[i] = try_one(draw_size(&seed));
	}
}

static void hop(uint64_t *seed)
{
	cpu_set_t one;
	unsigned int cpu = (unsigned int)(draw(seed) % CPU_SETSIZE);

	while (!CPU_ISSET(cpu, &allowed))
		cpu = (cpu + 1) % CPU_SETSIZE;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	sched_setaffinity(0, sizeof(one), &one);
}

/* One step with the blocks of this thread. */
static void step(struct stamp **pool, uint64_t *seed)
{
	struct stamp **slot = &pool[draw(seed) % POOL];
	uint64_t what = draw(seed);
	size_t size = draw_size(seed);

	fetch_add(&ops, 1);
	if (what % 16 == 0)
		*slot = __atomic_exchange_n(&slots[draw(seed) % SLOTS], *slot, __ATOMIC_ACQ_REL);
	if (*slot) {
		free_one(*slot, what % 3 == 0);
		*slot = NULL;
	} else if (what % 3 == 0) {
		*slot = stamped(kmalloc_alloc(size, GFP_KERNEL, NUMA_NO_NODE), size);
		CHILD_CHECK(*slot);
	} else {
		*slot = try_one(size);
	}
	if (what % 1024 == 0)
		hop(seed);
}

static void free_all(struct stamp **p, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		free_one(p[i], i % 2);
		p[i] = NULL;
	}
}

static void *work(void *arg)
{
	struct stamp *pool[POOL] = { NULL };
	uint64_t seed = 0x9e3779b97f4a7c15ul * ((uintptr_t)arg + 1);

	may_handle = true;
	while (!load_relaxed(&stop))
		step(pool, &seed);
	may_handle = false;
	free_all(pool, POOL);
	free_all(stash, STASH);
	return NULL;
}

static void *send_signals(void *arg)
{
	const struct timespec often = { .tv_nsec = 50000 };

	for (unsigned int i = 0; !load_relaxed(&stop); i++) {
		pthread_kill(workers[i % WORKERS], SIGUSR1);
		nanosleep(&often, NULL);
	}
	return arg;
}

/* A child has what all had, and may use it. */
static void fork_one(uint64_t *seed)
{
	struct stamp *pool[POOL] = { NULL };
	int status;
	pid_t pid = fork();

	CHILD_CHECK(pid >= 0);
	if (pid == 0) {
		alarm(100);
		for (unsigned int i = 0; i < 2000; i++)
			step(pool, seed);
		free_all(pool, POOL);
		nested_settle();
		cache_check_all();
		_exit(0);
	}
	CHILD_CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	fetch_add(&forks, 1);
}

static void *disturb(void *arg)
{
	uint64_t seed = 5;

	while (!load_relaxed(&stop)) {
		cache_shrink_all();
		if (!THREAD_SANITIZED) /* its children have no threads of its own */
			fork_one(&seed);
		sched_yield();
	}
	return arg;
}

static void storm(void *conf)
{
	const struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
	struct timespec time = { (time_t)seconds, (long)((seconds - (time_t)seconds) * 1e9) };
	pthread_t others[2];

	setenv("USLAB_CONF", conf, 1);
	ready();
	CHILD_CHECK(kmalloc_init() == 0);
	buddy_provide(os_current_node(), 0);
	sched_getaffinity(0, sizeof(allowed), &allowed);
	sigaction(SIGUSR1, &action, NULL);
	for (uintptr_t i = 0; i < WORKERS; i++)
		CHILD_CHECK(!pthread_create(&workers[i], NULL, work, (void *)i));
	CHILD_CHECK(!pthread_create(&others[0], NULL, send_signals, NULL));
	CHILD_CHECK(!pthread_create(&others[1], NULL, disturb, NULL));
	while (nanosleep(&time, &time)) {}
	store_relaxed(&stop, true);
	pthread_join(others[0], NULL);
	pthread_join(others[1], NULL);
	for (unsigned int i = 0; i < WORKERS; i++)
		pthread_join(workers[i], NULL);
	free_all(slots, SLOTS);
	books_balance();
	CHILD_CHECK(got > 0 && ops > 0);
	dprintf(STDOUT_FILENO, "%s: %lu calls, %lu handlers, %lu forks; %lu tries gave, %lu not\n",
		(char *)conf, ops, handled, forks, got, refused);
}

static void test_storm(void **state)
{
	struct child c = child_run(storm, *state);

	assert_true(child_passed(&c));
}

#define STORM(conf)                                        \
	{                                                  \
		conf, test_storm, NULL, NULL, (void *)conf \
	}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		STORM("engine=slub,front=array"),
		STORM("engine=slub,front=cpuslab"),
		STORM("engine=slub,front=none"),
		STORM("engine=slab,front=queues"),
		STORM("engine=slab,front=array"),
		STORM("engine=slob,front=none"),
		STORM("engine=slobseg,front=none"),
		STORM("engine=slobseg:pow2,front=none"),
		STORM("engine=slub,front=array,hardened=1"),
	};

	if (argc > 1)
		seconds = strtod(argv[1], NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
