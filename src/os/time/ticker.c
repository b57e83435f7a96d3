/* SPDX-License-Identifier: MIT */
/*
 * os/time/ticker.c - one thread that calls functions again and again
 *
 * Why:        docs/adr/0068 for children of fork().
 * Data:       a table of functions and intervals, and the process that has the thread; all atomic.
 * Invariants: an entry whose function is set keeps it until another process makes the table its
 *             own. owner is 0, or the number of the process whose thread it is; in a child of
 *             fork() PARENT, and in one that ran no handlers the parent's. waiting is 0, or the
 *             number of the process whose thread is to be made again; then owner is PARENT.
 * Locks:      none: whoever writes its number into owner makes the thread. Entries are
 *             taken by compare and swap.
 * Flow:       see ticker.h; calls os/time/clock.h, pthread_create, clock_nanosleep, ppoll.
 *
 * The thread sleeps until the next function is due, and at most NAP_MS at a time, so that one that
 * is added meanwhile need not wake it.
 *
 * A program whose main() ends by pthread_exit() ends with its last thread. libc counts this one,
 * so it looks whether it is the last beside a main thread that is gone, and then ends as well:
 * libc calls exit(0), as if there had never been a thread of ours. It takes signals from there
 * on, since no other thread does.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/atomic.h"
#include "base/bits.h"
#include "os/sys.h"
#include "os/time/clock.h"
#include "os/time/ticker.h"

#define NAP_MS 1000u
#define LOOK_MS 250u /* at most so often, whether this thread is the last */
#define TASK_LINKS 2 /* of /proc/PID/task, beside one for each thread */

static struct entry {
	void (*function)(void); /* NULL: free */
	unsigned int interval;	/* ms */
	uint64_t due;		/* of now_ms(); 0: not known yet; the thread's own */
} table[OS_TICKER_MAX];

static struct {
	int fd;
	void (*function)(void);
} watches[OS_TICKER_WATCHES]; /* the thread's own */
static unsigned int nr_watches;

#define PARENT (-1) /* of an owner: the process from which this one was forked had the thread */

static pid_t owner;
static pid_t waiting;
static const char *thread_name;
static __thread bool is_ticker __attribute__((tls_model("initial-exec")));
static sigset_t signals; /* blocked in the thread that made ours */

/* Not libc's clock: a program may have one of its own in its place, which stands still. */
static uint64_t now_ms(void)
{
	return os_clock_us() / 1000;
}

static struct timespec time_of(uint64_t ms)
{
	return (struct timespec){ .tv_sec = (time_t)(ms / 1000),
				  .tv_nsec = (long)(ms % 1000) * 1000000 };
}

/* Sleeps, or until a descriptor has something; calls its function. */
static void watch_ms(uint64_t ms)
{
	struct timespec most = time_of(ms);
	struct pollfd fds[OS_TICKER_WATCHES];
	unsigned int n = nr_watches;

	for (unsigned int i = 0; i < n; i++)
		fds[i] = (struct pollfd){ .fd = watches[i].fd, .events = POLLPRI };
	if (os_syscall(SYS_ppoll, fds, n, &most, NULL, sizeof(uint64_t)) <= 0)
		return;
	for (unsigned int i = n; i-- > 0;) {
		void (*function)(void) = watches[i].function;

		if (fds[i].revents & (POLLERR | POLLHUP | POLLNVAL))
			watches[i] = watches[--nr_watches];
		else if (fds[i].revents)
			function();
	}
}

static void sleep_ms(uint64_t ms)
{
	struct timespec left = time_of(ms);

	if (nr_watches)
		watch_ms(ms);
	else
		while (os_syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &left, &left) ==
		       -EINTR) {}
}

bool os_ticker_watch(int fd, void (*fn)(void))
{
	if (nr_watches == OS_TICKER_WATCHES)
		return false;
	watches[nr_watches].fd = fd;
	watches[nr_watches++].function = fn;
	return true;
}

/* Calls what is due. Returns ms until it is worth to look again. */
static uint64_t call_due(void)
{
	uint64_t next = NAP_MS;

	for (unsigned int i = 0; i < OS_TICKER_MAX; i++) {
		struct entry *entry = &table[i];
		void (*function)(void) = load_acquire(&entry->function); /* pairs with take_entry */
		uint64_t interval = load_relaxed(&entry->interval);
		uint64_t now = now_ms();

		if (!function || !interval) /* not there, or only half */
			continue;
		if (entry->due && entry->due <= now)
			function();
		/* an interval that became shorter counts at once */
		if (!entry->due || entry->due <= now || entry->due > now + interval)
			entry->due = now + interval;
		next = MIN(next, entry->due - now);
	}
	return MAX(next, 1ul);
}

/*
 * The main thread stays as a zombie without a program until the others have ended. Asked by
 * names: a descriptor that is open for a moment could be the one that the program wants
 * next. No /proc: nobody knows.
 */
static bool is_last(void)
{
	struct stat task;
	char nothing;

	return !os_syscall(SYS_newfstatat, AT_FDCWD, "/proc/self/task", &task, 0) &&
	       task.st_nlink == TASK_LINKS + 2 &&
	       os_syscall(SYS_readlinkat, AT_FDCWD, "/proc/self/exe", &nothing, sizeof(nothing)) ==
		       -ENOENT;
}

static void *tick(void *name)
{
	uint64_t look = 0; /* when to */

	prctl(PR_SET_NAME, name);
	is_ticker = true;
	for (;;) {
		sleep_ms(call_due());
		if (now_ms() < look)
			continue;
		if (unlikely(is_last()))
			break;
		look = now_ms() + LOOK_MS;
	}
	pthread_sigmask(SIG_SETMASK, &signals, NULL);
	return NULL;
}

/* It calls functions of the program; musl's threads have 128 KiB, unless the program says more. */
#define STACK_LEAST (1ul << 20)

static void enlarge_stack(pthread_attr_t *attr)
{
	size_t size;

	if (!pthread_attr_getstacksize(attr, &size) && size < STACK_LEAST)
		pthread_attr_setstacksize(attr, STACK_LEAST);
}

/* Signals are blocked before the thread exists, so that it never takes one. */
static int make_thread(const char *name)
{
	pthread_attr_t attr;
	pthread_t thread;
	sigset_t all;
	int ret;

	sigfillset(&all);
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	enlarge_stack(&attr);
	pthread_sigmask(SIG_SETMASK, &all, &signals);
	ret = pthread_create(&thread, &attr, tick, (void *)name);
	pthread_sigmask(SIG_SETMASK, &signals, NULL);
	pthread_attr_destroy(&attr);
	return -ret;
}

/* The function's entry, or a free one; false: there is none. */
static bool take_entry(void (*fn)(void), unsigned int interval_ms)
{
	for (unsigned int i = 0; i < OS_TICKER_MAX; i++) {
		if (load_relaxed(&table[i].function) != fn &&
		    !cmpxchg(&table[i].function, NULL, fn))
			continue;
		store_relaxed(&table[i].interval, interval_ms);
		return true;
	}
	return false;
}

/* What the parent called, if it is kept, has to wait for its interval. */
static void start_table(bool keep)
{
	for (unsigned int i = 0; i < OS_TICKER_MAX; i++) {
		if (!keep)
			store_relaxed(&table[i].function, NULL);
		table[i].due = 0;
	}
	nr_watches = 0;
}

static int make_owned(void)
{
	int ret = make_thread(thread_name);

	if (ret)
		store_relaxed(&owner, 0);
	return ret;
}

bool os_ticker_forked(bool keep)
{
	if (is_ticker) {
		store_relaxed(&owner, getpid());
		return false;
	}
	if (!load_relaxed(&owner))
		return false;
	store_relaxed(&owner, PARENT);
	store_relaxed(&waiting, keep ? getpid() : 0);
	return true;
}

bool os_ticker_waits(void)
{
	return load_relaxed(&waiting);
}

bool os_ticker_waits_here(void)
{
	pid_t pid = load_relaxed(&waiting);

	return pid && pid == getpid();
}

void os_ticker_give_up(void)
{
	store_relaxed(&waiting, 0);
}

/* Who changes owner makes the thread, and only then is nothing waiting any more. */
int os_ticker_again(void)
{
	if (!os_ticker_waits_here() || !cmpxchg(&owner, PARENT, getpid()))
		return 0;
	store_relaxed(&waiting, 0);
	start_table(true);
	return make_owned();
}

int os_ticker_start(const char *name, unsigned int interval_ms, void (*fn)(void))
{
	pid_t self = getpid();
	pid_t before;
	bool first;

	if (!interval_ms)
		return -EINVAL;
	os_ticker_again();
	before = load_relaxed(&owner);
	first = before != self && cmpxchg(&owner, before, self);
	if (first && before)
		start_table(false);
	if (!take_entry(fn, interval_ms))
		return -ENOSPC;
	if (!first)
		return 0;
	thread_name = name;
	return make_owned();
}

bool os_ticker_is_here(void)
{
	return is_ticker;
}

bool os_ticker_runs(void)
{
	return load_relaxed(&owner) == getpid();
}
