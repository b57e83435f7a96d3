/* SPDX-License-Identifier: MIT */
/*
 * os/process/filter.c - filters of system calls (seccomp) that were there before this library
 *
 * Why:        docs/adr/0091.
 * Data:       see os/process/filter.h.
 * Invariants: see os/process/filter.h.
 * Locks:      see os/process/filter.h.
 * Flow:       see os/process/filter.h.
 *
 * Tools must not bring a program to its end, and do not know what a filter does with a call that it
 * does not let through. In containers and services every process has a filter, from before it was
 * started. What the program's start came through, and the calls that a child makes here, commands
 * come through as well; so tools only need to know whether filters were added since, which the
 * kernel counts from Linux 5.9 on. A child, since a filter may end who makes such a call, and the
 * program has not asked for it.
 *
 * process_vm_readv(2) is not tried: there are filters that end processes for it. Where there was
 * one from the start it is not used (os/memory/readable.c).
 */
#include <linux/capability.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "os/instrument/valgrind.h"
#include "os/process/file.h"
#include "os/process/filter.h"
#include "os/process/random.h"
#include "os/memory/readable.h"
#include "os/cpu/rseq.h"
#include "os/sys.h"

#define STATUS "/proc/self/status"
#define STATUS_BYTES 4096
#define NOWHERE (-1) /* no descriptor */

uint32_t os_filters;
static bool known; /* those of the start let misses through, and none can be added unseen */

/* The number behind the name, which starts a line; -1: there is no such line. */
static long number_of(const char *status, const char *name)
{
	const char *at = strstr(status, name);
	long n = 0;

	if (!at)
		return -1;
	at += strlen(name);
	at += strspn(at, " \t");
	if (*at < '0' || *at > '9')
		return -1;
	for (; *at >= '0' && *at <= '9' && n < INT32_MAX / 10; at++)
		n = n * 10 + *at - '0';
	return n;
}

/* Of one thread nothing follows for others. */
uint32_t os_filter_count(const char *path)
{
	char status[STATUS_BYTES];
	long filters;

	if (os_read_text(path, status, sizeof(status)) < 0 || number_of(status, "\nThreads:") != 1)
		return 0;
	filters = number_of(status, "\nSeccomp_filters:");
	return filters < 0 ? 0 : (uint32_t)filters + 1;
}

/*
 * What commands, debug flags, tracking and reports call and a start does not, with arguments that
 * do nothing. docs/system-calls.md lists them.
 */
static void try_calls(void)
{
	uint64_t word = 0;

	os_syscall(SYS_getpid);
	os_syscall(SYS_gettid);
	os_syscall(SYS_geteuid);
	os_syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1);
	os_syscall(SYS_rt_sigaction, SIGSEGV, NULL, NULL, sizeof(uint64_t));
	os_syscall(SYS_rt_sigpending, &word, sizeof(word));
	os_syscall(SYS_madvise, NULL, 0, MADV_DONTNEED);
	os_syscall(SYS_lseek, NOWHERE, 0l, SEEK_CUR);
	os_syscall(SYS_pread64, NOWHERE, &word, 1, 0l);
	os_syscall(SYS_write, NOWHERE, &word, 1);
	os_random();
	os_readable_page((uintptr_t)&word);
	if (os_rseq_on)
		os_rseq_fence(0);
}

/* Likewise what only misses call, where os_filter_lets_through(). */
static void try_calls_of_misses(void)
{
	struct iovec none = { NULL, 0 };
	struct rusage usage;
	unsigned char page;

	os_syscall(SYS_process_madvise, NOWHERE, &none, 1, MADV_DONTNEED, 0);
	os_syscall(SYS_mincore, NULL, 0, &page);
	os_syscall(SYS_getrusage, RUSAGE_SELF, &usage);
}

/*
 * In a child that shares nothing, whom no signal announces, and who leaves no core file. What it
 * ends by is the answer: 0, all came through; 1, a filter ended it; else not known.
 */
static int try_in_child(bool misses)
{
	int status = -1;
	long pid = os_syscall(SYS_clone, 0, NULL, NULL, NULL, 0);

	if (!pid) {
		os_syscall(SYS_prctl, PR_SET_DUMPABLE, 0, 0, 0, 0);
		try_calls();
		if (misses)
			try_calls_of_misses();
		for (;;)
			os_syscall(SYS_exit_group, 0);
	}
	if (pid < 0 || os_syscall(SYS_wait4, pid, &status, __WALL, NULL) != pid)
		return -1;
	return WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS ? 1 : status;
}

/*
 * Who adds a filter has no_new_privs, which nobody gets rid of, or CAP_SYS_ADMIN. A thread whose
 * bounding set lacks that may still get it in a new user namespace: its set is whole again there.
 */
static bool may_have_added(void)
{
	return os_syscall(SYS_prctl, PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 0 ||
	       os_syscall(SYS_prctl, PR_CAPBSET_READ, CAP_SYS_ADMIN, 0, 0, 0) != 0;
}

/*
 * Where a filter can be added unseen misses do without their calls: then these are not tried, nor
 * where valgrind would tell the user that it does not know one of them.
 */
static void try_all(void)
{
	bool misses = !RUNNING_ON_VALGRIND && !may_have_added();
	int end = try_in_child(misses);

	if (end == 1 && misses) { /* for a command, or for a miss? */
		misses = false;
		end = try_in_child(false);
	}
	if (end == 0)
		os_filters = os_filter_count(STATUS);
	else if (end == 1)
		os_filters = OS_FILTERS_END;
	known = misses && end == 0 && os_filters;
}

void os_filter_init(void)
{
	long mode = os_syscall(SYS_prctl, PR_GET_SECCOMP, 0, 0, 0, 0);

	os_filtered = mode == SECCOMP_MODE_FILTER;
	known = false;
	if (!mode)
		os_filters = 1;
	if (os_filtered)
		try_all();
}

static bool is_none(void)
{
	return !os_filtered && os_syscall(SYS_prctl, PR_GET_SECCOMP, 0, 0, 0, 0) == 0;
}

bool os_filter_lets_through(void)
{
	return known ? !may_have_added() : is_none();
}

bool os_filter_was_added(void)
{
	uint32_t filters;

	if (!os_filtered)
		return !is_none();
	filters = os_filter_count(STATUS);
	return filters && os_filters && os_filters != OS_FILTERS_END && filters != os_filters;
}
