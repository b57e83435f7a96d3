/* SPDX-License-Identifier: MIT */
/*
 * support/child.h - run something in a forked child and look at how it ended
 *
 * For what a test cannot do to itself: abort, lower a resource limit, lose a system call.
 */
#ifndef SUPPORT_CHILD_H
#define SUPPORT_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/resource.h>

struct child {
	int status;	 /* as waitpid() gives it */
	char text[8192]; /* what it wrote to stderr, ends with NUL */
};

/*
 * Forks, calls fn(arg), exits with 0 unless fn ends the child otherwise. In
 * a test's own thread only.
 */
struct child child_run(void (*fn)(void *arg), void *arg);

/*
 * The same with something broken on purpose, which a status other than 0 tells. What is broken may
 * also leave a lock behind that nobody ever releases: the child is killed after
 * CHILD_BROKEN_SECONDS. One that finds nothing wrong has to end long before that.
 */
#define CHILD_BROKEN_SECONDS 200
struct child child_run_broken(void (*fn)(void *arg), void *arg);

/* Did the child return from fn? Shows its last words if not. */
bool child_passed(const struct child *c);
/* Did the child abort()? */
bool child_aborted(const struct child *c);

/* For use inside of a child, where cmocka's assertions do not work: says what and exits with 1. */
#define CHILD_CHECK(expr)                                        \
	do {                                                     \
		if (!(expr))                                     \
			child_failed(__FILE__, __LINE__, #expr); \
	} while (0)
_Noreturn void child_failed(const char *file, int line, const char *what);

/*
 * A cmocka test whose body runs in a child: what can be made once in a process only, like an
 * arena, or may bring it down.
 */
#define IN_CHILD(name)                                              \
	static void name##_in_child(void *arg);                     \
	static void name(void **state)                              \
	{                                                           \
		struct child c = child_run(name##_in_child, state); \
                                                                    \
		assert_true(child_passed(&c));                      \
	}                                                           \
	static void name##_in_child(__attribute__((unused)) void *arg)

/*
 * For what the system underneath may not have (an emulator has neither filters nor limits): the
 * child ends here, and child_run() says what is missing and skips the test.
 */
_Noreturn void child_cannot(const char *what);

/* From now on the system call nr fails with error in this process. For children only. */
void child_deny(long nr, int error);
/* Likewise, if its first argument is an address from there on. */
void child_deny_from(long nr, const void *from, int error);
/* The same: it ends the process, by SIGSYS. */
void child_end_at(long nr);
/*
 * From now on the process is what containers start: it has a filter, which denies acct(2), and
 * neither no_new_privs nor CAP_SYS_ADMIN in its bounding set; further filters are added as this
 * one was. For root, else the test is skipped.
 */
void child_enter_container(void);

/* setrlimit() of a limit that then holds; and: the limit that was set must hold. */
void child_limit(int resource, const struct rlimit *limit);
void child_needs_limit(int resource, const struct rlimit *limit);

#endif /* SUPPORT_CHILD_H */
