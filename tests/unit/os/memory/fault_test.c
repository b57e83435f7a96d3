/* SPDX-License-Identifier: MIT */
/*
 * unit/os/memory/fault_test.c - faults that are ours, and all others as if we were not there
 *
 * ctest: sanitize=no (the sanitizers' own handlers report what the children die of)
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "os/memory/fault.h"
#include "support/child.h"

static char *ours;   /* a closed page */
static char *others; /* another one */
static volatile struct os_fault heard;
static volatile unsigned int nr_heard;

static bool hear(const struct os_fault *fault)
{
	if (fault->address < ours || fault->address >= ours + 4096)
		return false;
	heard = *fault;
	nr_heard++;
	mprotect(ours, 4096, PROT_READ | PROT_WRITE);
	return true;
}

static void map_pages(void)
{
	ours = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	others = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHILD_CHECK(ours != MAP_FAILED && others != MAP_FAILED);
}

static void install(void)
{
	CHILD_CHECK(os_fault_install(hear) == 0);
}

/* Out of line: what handlers write is read again afterwards. */
static __attribute__((__noinline__)) void touch(char *p)
{
	*(volatile char *)p = 1;
}

static __attribute__((__noinline__, __unused__)) char peek(const char *p)
{
	return *(const volatile char *)p;
}

/* The program's handler: what it saw. */
static sigjmp_buf back;
static siginfo_t seen;
static volatile unsigned int nr_seen;
static sigset_t mask_seen;

static void note(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	CHILD_CHECK(context);
	seen = *info;
	nr_seen++;
	sigprocmask(SIG_BLOCK, NULL, &mask_seen);
	siglongjmp(back, 1);
}

static void set_handler(int flags)
{
	struct sigaction action = { .sa_sigaction = note, .sa_flags = SA_SIGINFO | flags };

	sigaddset(&action.sa_mask, SIGUSR1);
	CHILD_CHECK(sigaction(SIGSEGV, &action, NULL) == 0);
}

static void touch_others(void)
{
	if (!sigsetjmp(back, 1))
		touch(others);
}

static struct child run(void (*fn)(void *))
{
	return child_run(fn, NULL);
}

static void own_fault(void *arg)
{
	(void)arg;
	map_pages();
	install();
	touch(ours + 5);
	CHILD_CHECK(nr_heard == 1 && heard.address == ours + 5 && ours[5] == 1);
#if defined(__x86_64__) || defined(__aarch64__) || defined(__riscv) /* src/arch/ has a fault.h */
	CHILD_CHECK(heard.write && heard.pc - (uintptr_t)touch < 64);
	mprotect(ours, 4096, PROT_NONE);
	peek(ours);
	CHILD_CHECK(nr_heard == 2 && !heard.write);
#endif
}

static void a_fault_of_ours_is_heard(void **state)
{
	(void)state;
	struct child c = run(own_fault);

	assert_true(child_passed(&c));
}

static void handler_before(void *arg)
{
	(void)arg;
	map_pages();
	set_handler(0);
	install();
	/* again and again: nothing is left behind by the jumps */
	for (unsigned int i = 1; i <= 3; i++) {
		touch_others();
		CHILD_CHECK(nr_seen == i && seen.si_addr == others && seen.si_signo == SIGSEGV);
		CHILD_CHECK(sigismember(&mask_seen, SIGUSR1) && sigismember(&mask_seen, SIGSEGV));
	}
	touch(ours);
	CHILD_CHECK(nr_heard == 1 && nr_seen == 3);
}

/* NODEFER: the signal stays open in the handler. */
static void handler_flags(void *arg)
{
	(void)arg;
	map_pages();
	set_handler(SA_NODEFER);
	install();
	touch_others();
	CHILD_CHECK(nr_seen == 1 && !sigismember(&mask_seen, SIGSEGV));
}

static void handler_after(void *arg)
{
	(void)arg;
	map_pages();
	install();
	set_handler(0);
	touch_others();
	CHILD_CHECK(nr_seen == 1);
	install();
	touch(ours);
	CHILD_CHECK(nr_heard == 1 && nr_seen == 1);
	touch_others();
	CHILD_CHECK(nr_seen == 2);
}

static void the_programs_handler_hears_the_rest(void **state)
{
	(void)state;
	static void (*const cases[])(void *) = { handler_before, handler_flags, handler_after };

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct child c = run(cases[i]);

		assert_true(child_passed(&c));
	}
}

/*
 * A handler that calls the one before it, which is ours, which has it as the one behind: no circle.
 */
static struct sigaction before;
static volatile unsigned int nr_chained;

static void chain(int sig, siginfo_t *info, void *context)
{
	CHILD_CHECK(++nr_chained == 1);
	CHILD_CHECK(before.sa_flags & SA_SIGINFO);
	before.sa_sigaction(sig, info, context);
}

static void chained(void *arg)
{
	struct sigaction action = { .sa_sigaction = chain, .sa_flags = SA_SIGINFO };

	(void)arg;
	map_pages();
	set_handler(0);
	install();
	CHILD_CHECK(sigaction(SIGSEGV, &action, &before) == 0);
	install();
	touch_others();
	CHILD_CHECK(nr_chained == 1 && nr_seen == 1);
}

static void handlers_that_chain_come_to_an_end(void **state)
{
	(void)state;
	struct child c = run(chained);

	assert_true(child_passed(&c));
}

static void default_fault(void *arg)
{
	(void)arg;
	map_pages();
	install();
	touch(others);
}

static void default_sent(void *arg)
{
	(void)arg;
	install();
	raise(SIGSEGV);
}

static void ignored_fault(void *arg)
{
	(void)arg;
	map_pages();
	signal(SIGSEGV, SIG_IGN);
	install();
	raise(SIGSEGV); /* is ignored */
	touch(others);
}

static void reset_handler(int sig)
{
	(void)sig;
	nr_seen++;
}

/* RESETHAND: the second time it is the default action. */
static void once_only(void *arg)
{
	struct sigaction action = { .sa_handler = reset_handler, .sa_flags = (int)SA_RESETHAND };

	(void)arg;
	map_pages();
	sigaction(SIGSEGV, &action, NULL);
	install();
	touch(others);
}

static void without_a_handler_it_kills(void **state)
{
	(void)state;
	static void (*const cases[])(void *) = { default_fault, default_sent, ignored_fault,
						 once_only };

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct child c = run(cases[i]);

		assert_true(WIFSIGNALED(c.status));
		assert_int_equal(WTERMSIG(c.status), SIGSEGV);
	}
}

int main(void)
{
	/* whoever touches a closed page makes a mistake there */
	if (getenv("USLAB_TEST_VALGRIND"))
		return 0;

	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_fault_of_ours_is_heard),
		cmocka_unit_test(the_programs_handler_hears_the_rest),
		cmocka_unit_test(handlers_that_chain_come_to_an_end),
		cmocka_unit_test(without_a_handler_it_kills),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
