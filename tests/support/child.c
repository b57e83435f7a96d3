/* SPDX-License-Identifier: MIT */
/*
 * support/child.c - run something in a forked child and look at how it ended
 *
 * The child's stderr is a pipe that the parent reads until the child is gone.
 */
#include <errno.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "child.h"

#define CANNOT 77 /* exit status of a child that says so */

static _Noreturn void give_up(const char *what)
{
	perror(what);
	exit(1);
}

static void read_all(int fd, char *text, size_t size)
{
	char rest[256];
	size_t len = 0;
	ssize_t n;

	while ((n = read(fd, text + len, size - 1 - len)) != 0) {
		if (n < 0 && errno != EINTR)
			give_up("read");
		if (n > 0)
			len += (size_t)n;
		if (len == size - 1)
			break;
	}
	text[len] = '\0';
	while (read(fd, rest, sizeof(rest)) > 0)
		; /* so that the child never blocks on a full pipe */
}

/* An emulator's own last words about a signal that ends the child. */
static void drop_emulators_line(char *text)
{
	char *line = strstr(text, "qemu: uncaught target signal ");

	if (line && (line == text || line[-1] == '\n'))
		*line = '\0';
}

/* This process ends by SIGKILL then, whatever it does with signals and alarms. */
static void end_after(unsigned int seconds)
{
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGKILL };
	const struct itimerspec later = { .it_value = { .tv_sec = seconds } };
	timer_t timer;

	if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0 ||
	    timer_settime(timer, 0, &later, NULL) != 0)
		give_up("timer");
}

/* seconds: 0 is as long as it takes. */
static struct child run(void (*fn)(void *arg), void *arg, unsigned int seconds)
{
	struct child c = { 0 };
	int pipes[2];
	pid_t pid;

	fflush(NULL);
	if (pipe(pipes) != 0)
		give_up("pipe");
	pid = fork();
	if (pid < 0)
		give_up("fork");
	if (pid == 0) {
		/* cmocka's handlers for these would go on with the next test, here in the child */
		static const int faults[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGSYS };
		const struct rlimit no_core = { 0, 0 };

		for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
			signal(faults[i], SIG_DFL);
		setrlimit(RLIMIT_CORE, &no_core);
		dup2(pipes[1], STDERR_FILENO);
		close(pipes[0]);
		close(pipes[1]);
		if (seconds)
			end_after(seconds);
		fn(arg);
		_exit(0);
	}
	close(pipes[1]);
	read_all(pipes[0], c.text, sizeof(c.text));
	close(pipes[0]);
	while (waitpid(pid, &c.status, 0) < 0)
		if (errno != EINTR)
			give_up("waitpid");
	drop_emulators_line(c.text);
	if (WIFEXITED(c.status) && WEXITSTATUS(c.status) == CANNOT) {
		fprintf(stderr, "skipped: %s\n", c.text);
		skip();
	}
	return c;
}

struct child child_run(void (*fn)(void *arg), void *arg)
{
	return run(fn, arg, 0);
}

struct child child_run_broken(void (*fn)(void *arg), void *arg)
{
	return run(fn, arg, CHILD_BROKEN_SECONDS);
}

bool child_passed(const struct child *c)
{
	bool passed = WIFEXITED(c->status) && WEXITSTATUS(c->status) == 0;

	if (!passed)
		fprintf(stderr, "child: status %#x: %s\n", c->status, c->text);
	return passed;
}

bool child_aborted(const struct child *c)
{
	bool aborted = WIFSIGNALED(c->status) && WTERMSIG(c->status) == SIGABRT;

	if (!aborted)
		fprintf(stderr, "child: status %#x: %s\n", c->status, c->text);
	return aborted;
}

void child_failed(const char *file, int line, const char *what)
{
	dprintf(STDERR_FILENO, "%s:%d: %s\n", file, line, what);
	_exit(1);
}

void child_cannot(const char *what)
{
	dprintf(STDERR_FILENO, "%s", what);
	_exit(CANNOT);
}

void child_limit(int resource, const struct rlimit *limit)
{
	if (setrlimit(resource, limit) != 0)
		give_up("setrlimit");
	child_needs_limit(resource, limit);
}

void child_needs_limit(int resource, const struct rlimit *limit)
{
	struct rlimit now;

	if (getrlimit(resource, &now) != 0)
		give_up("getrlimit");
	if (now.rlim_cur != limit->rlim_cur)
		child_cannot("limits on memory are taken here, and forgotten");
}

/* Filters are added by CAP_SYS_ADMIN, and not by no_new_privs. */
static bool in_container;

static void needs_filters(void)
{
	/* a kernel that has filters looks at the address: EFAULT */
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL) != 0 && errno == EINVAL)
		child_cannot("there are no filters of system calls (seccomp) here");
}

/* For calls whose first argument is no less than from. action: SECCOMP_RET_... */
static void filter_call(long nr, uintptr_t from, unsigned int action)
{
	const unsigned int arg = offsetof(struct seccomp_data, args); /* low half first */
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned int)nr, 0, 6),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, arg + 4),
		BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, (unsigned int)(from >> 32), 3, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned int)(from >> 32), 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, arg),
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, (unsigned int)from, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, action),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(code) / sizeof(code[0]), code };

	int saved = errno;

	needs_filters();
	if (!in_container && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		give_up("no_new_privs");
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
		give_up("seccomp");
	errno = saved;
}

void child_deny(long nr, int error)
{
	child_deny_from(nr, NULL, error);
}

void child_deny_from(long nr, const void *from, int error)
{
	filter_call(nr, (uintptr_t)from, SECCOMP_RET_ERRNO | (unsigned int)error);
}

void child_end_at(long nr)
{
	filter_call(nr, 0, SECCOMP_RET_KILL_PROCESS);
}

void child_enter_container(void)
{
	needs_filters();
	if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 0)
		child_cannot("no_new_privs is set");
	if (geteuid() != 0 || prctl(PR_CAPBSET_READ, CAP_SYS_ADMIN, 0, 0, 0) != 1)
		child_cannot("only root adds filters without no_new_privs");
	in_container = true;
	filter_call(SYS_acct, 0, SECCOMP_RET_ERRNO | EPERM);
	if (prctl(PR_CAPBSET_DROP, CAP_SYS_ADMIN, 0, 0, 0) != 0)
		give_up("the bounding set");
}
