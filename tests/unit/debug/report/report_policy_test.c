/* SPDX-License-Identifier: MIT */
/*
 * unit/debug/report/report_policy_test.c - where a report goes, who is notified, and what happens
 * then
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bare.h"
#include "child.h"
#include "os/process/file.h"
#include "os/lock/lock.h"
#include "page/nested.h"
#include "page/reserve.h"
#include "unit/debug/report_fixture.h"

static void test_words(void **unused)
{
	(void)unused;
	assert_true(report_set_policy("continue"));
	assert_false(report_set_policy("contin"));
	assert_false(report_set_policy(""));
	assert_true(report_set_format("2.6.29"));
	assert_ptr_equal(report_style(), &report_old);
	assert_false(report_set_format("6.1"));
	assert_false(report_shows_own_frames());
	assert_true(report_set_frames("all") && report_shows_own_frames());
	assert_false(report_set_frames("own"));
	assert_true(report_set_frames("program") && !report_shows_own_frames());
	assert_ptr_equal(report_style(), &report_old);
	assert_true(report_set_format("modern"));
	assert_ptr_equal(report_style(), &report_modern);
}

/* A report whose reason has a number. */
static void report_number(struct engine *e, struct page *page, unsigned int number)
{
	report_slab_counts(e, page, REPORT_MOST_OBJECTS, number, 0);
}

#define REASON(number) "objects " #number " > max 0"

static void child_hook(const char *name, const char *report, void *arg)
{
	CHILD_CHECK(!strcmp(name, "first"));
	CHILD_CHECK(strstr(report, "BUG first") && strstr(report, "BUG second"));
	CHILD_CHECK(!report_text_is_open());
	++*(int *)arg;
}

static void report_two(void)
{
	struct engine first = { .name = "first" };
	struct engine second = { .name = "second" };

	report_number(&first, NULL, 1u);
	report_number(&second, NULL, 2u);
	report_deliver();
	report_deliver(); /* nothing more to deliver */
}

static void child_reports(void *arg)
{
	(void)arg;
	report_set_hook(NULL, NULL, false);
	report_two();
}

/* Time and process, and then the kernel's text. */
static void test_to_stderr(void **unused)
{
	struct child c = child_run(child_reports, NULL);
	static const char start[] = REPORT_RULE_DOUBLE "\nBUG first (Not tainted): " REASON(1) "\n";
	const char *second;
	int before = 0;

	(void)unused;
	assert_true(child_passed(&c));
	sscanf(c.text, "uslab: %*d-%*d-%*dT%*d:%*d:%*d.%*dZ pid=%*d tid=%*d%n", &before);
	assert_true(before > 0 && c.text[before] == '\n');
	assert_memory_equal(c.text + before + 1, start, sizeof(start) - 1);
	second = strstr(c.text, "BUG second (Tainted: G    B             ): " REASON(2) "\n");
	assert_non_null(second);
	assert_null(strstr(second, "BUG first"));
}

/* Of a second mistake nothing is written, but the hook is called; what ends the program is. */
static void child_is_limited(void *arg)
{
	struct engine third = { .name = "third" };
	int calls = 0;

	CHILD_CHECK(report_set_burst("2") && report_set_interval("100000"));
	report_set_hook(child_hook, &calls, false);
	report_two();
	report_two();
	CHILD_CHECK(calls == 2);
	CHILD_CHECK(report_counters.suppressed == 2);
	report_set_hook(NULL, NULL, false);
	if (!arg)
		exit(0);
	CHILD_CHECK(report_set_policy(arg));
	report_number(&third, NULL, 3u);
	report_deliver();
}

static void test_limit(void **unused)
{
	struct child goes_on = child_run(child_is_limited, NULL);
	struct child ends = child_run(child_is_limited, "abort");
	const char *line;

	(void)unused;
	assert_true(child_passed(&goes_on) && child_aborted(&ends));
	assert_null(strstr(strstr(goes_on.text, "BUG first") + 1, "BUG first"));
	line = strstr(goes_on.text, "\nuslab: 2 reports were suppressed;");
	assert_true(line && line > strstr(goes_on.text, "BUG second"));
	line = strstr(ends.text, "\nuslab: 2 reports were suppressed;");
	assert_true(line && strstr(line, "BUG third"));
	assert_null(strstr(strstr(ends.text, "BUG second") + 1, "BUG second"));
}

static void child_asks(void *arg)
{
	int calls = 0;

	report_set_hook(child_hook, &calls, arg != NULL);
	report_two();
	CHILD_CHECK(calls == 1);
	report_trace(&engine, slab, obj, true);
	report_deliver();
	CHILD_CHECK(calls == 1); /* a trace is no mistake; it is written even so */
}

static void test_hook(void **unused)
{
	struct child loud = child_run(child_asks, NULL);
	struct child quiet = child_run(child_asks, "quiet");

	(void)unused;
	assert_true(child_passed(&loud) && child_passed(&quiet));
	assert_non_null(strstr(loud.text, "BUG second"));
	assert_null(strstr(quiet.text, "BUG"));
	assert_non_null(strstr(loud.text, "TRACE kmalloc-64 alloc"));
	assert_memory_equal(quiet.text, "TRACE kmalloc-64 alloc", 22);
}

static void no_hook(const char *name, const char *report, void *arg)
{
	(void)name, (void)report, (void)arg;
	CHILD_CHECK(!"called");
}

/* A note is no mistake: no hook, no end; and none within a report. */
static void child_notes(void *arg)
{
	struct engine e = { .name = "engine" };

	(void)arg;
	CHILD_CHECK(report_set_policy("abort"));
	report_set_hook(no_hook, NULL, true);
	CHILD_CHECK(report_note_is_due());
	report_note("%u of %s", 3u, "these");
	CHILD_CHECK(!report_text_is_open() && !report_counters.reports);
	CHILD_CHECK(!report_note_is_due() && report_counters.suppressed == 1);
	report_set_hook(NULL, NULL, false);
	CHILD_CHECK(report_set_policy("continue"));
	report_number(&e, NULL, 1u);
	report_note("lost");
	report_deliver();
}

static void test_note(void **unused)
{
	struct child c = child_run(child_notes, NULL);

	(void)unused;
	assert_true(child_passed(&c));
	assert_memory_equal(c.text, "uslab: 3 of these\n", 18);
	assert_non_null(strstr(c.text, "uslab: 1 reports were suppressed"));
	assert_non_null(strstr(c.text, "BUG engine"));
	assert_null(strstr(c.text, "lost"));
}

static void careless_hook(const char *name, const char *report, void *arg)
{
	struct engine other = { .name = "other" };

	(void)name;
	++*(int *)arg;
	report_number(&other, NULL, 4u);
	report_deliver();
	report_set_hook(NULL, NULL, false);
	CHILD_CHECK(!report_text_is_open());
	/* what it was given does not change under its hands */
	CHILD_CHECK(strstr(report, "BUG first") && !strstr(report, "BUG other"));
}

static void *child_reports_too(void *arg)
{
	report_number(arg, NULL, 4u);
	report_deliver();
	return NULL;
}

/*
 * A hook that makes mistakes itself, or takes itself away: it is not called
 * again, others may report.
 */
static void child_is_careless(void *arg)
{
	struct engine later = { .name = "later" };
	pthread_t thread;
	int calls = 0;

	(void)arg;
	report_set_hook(careless_hook, &calls, true);
	report_two();
	CHILD_CHECK(calls == 1);
	CHILD_CHECK(!report_text_is_open());
	CHILD_CHECK(!pthread_create(&thread, NULL, child_reports_too, &later));
	CHILD_CHECK(!pthread_join(thread, NULL));
}

static void test_careless_hook(void **unused)
{
	struct child c = child_run(child_is_careless, NULL);

	(void)unused;
	assert_true(child_passed(&c));
	assert_null(strstr(c.text, "BUG first")); /* it was quiet */
	assert_non_null(strstr(c.text, "BUG other"));
	assert_non_null(strstr(c.text, "BUG later"));
}

/* ---- a hook that waits for another thread, which reports ---- */

static bool other_has_reported;
static bool hook_runs;
static bool may_return;

static void *report_beside(void *arg)
{
	(void)arg;
	report_number(&(struct engine){ .name = "beside" }, NULL, 4u);
	report_deliver();
	store_release(&other_has_reported, true);
	return NULL;
}

static void waiting_hook(const char *name, const char *report, void *arg)
{
	pthread_t thread;

	++*(int *)arg;
	if (!strcmp(name, "beside"))
		return;		       /* the other thread's turn, at the same time */
	CHILD_CHECK(lock_is_inside()); /* allocations are served as in a handler */
	CHILD_CHECK(!pthread_create(&thread, NULL, report_beside, NULL));
	CHILD_CHECK(!pthread_join(thread, NULL));
	CHILD_CHECK(load_acquire(&other_has_reported));
	CHILD_CHECK(strstr(report, "BUG first") && !strstr(report, "BUG beside"));
}

static void child_waits(void *arg)
{
	int calls = 0;

	(void)arg;
	alarm(60); /* it waited for ever */
	report_set_hook(waiting_hook, &calls, false);
	report_two();
	CHILD_CHECK(calls == 2);
	CHILD_CHECK(!lock_is_inside());
}

static void test_waiting_hook(void **unused)
{
	struct child c = child_run(child_waits, NULL);

	(void)unused;
	assert_true(child_passed(&c));
	assert_true(strstr(c.text, "BUG first") < strstr(c.text, "BUG beside"));
}

/* ---- a hook that has to wait, because its thread holds a lock of ours ---- */

static struct lock walked = LOCK_INIT(RANK_CACHE);

static void late_hook(const char *name, const char *report, void *arg)
{
	static const char *const in_turn[] = { "first", "second" };
	int *calls = arg;

	CHILD_CHECK(!lock_thread.nr && !report_text_is_open() && *calls < 2);
	CHILD_CHECK(!strcmp(name, in_turn[*calls]) && strstr(report, in_turn[*calls]));
	++*calls;
}

static void report_locked(const char *name)
{
	struct engine e = { .name = name };

	lock_acquire(&walked);
	report_number(&e, NULL, 4u);
	report_deliver();
}

static void child_notifies_late(void *arg)
{
	int calls = 0;

	report_set_policy(arg);
	report_set_hook(late_hook, &calls, true);
	report_locked("first");
	report_number(&(struct engine){ .name = "second" }, NULL, 4u);
	report_deliver();
	CHILD_CHECK(!calls);
	lock_release(&walked);
	CHILD_CHECK(!nested_call() && calls == 2);
	CHILD_CHECK(!nested_waiting() && !reserve_count());
	/* whoever takes it away is not waited for, and nothing is lost */
	report_locked("third");
	lock_release(&walked);
	report_set_hook(NULL, NULL, false);
	CHILD_CHECK(!nested_call() && calls == 2);
}

static void test_hook_has_to_wait(void **unused)
{
	struct child c = child_run(child_notifies_late, "continue");

	(void)unused;
	assert_true(child_passed(&c));
	assert_null(strstr(c.text, "BUG first"));
	assert_non_null(strstr(c.text, "BUG third"));
}

static void child_ends_locked(void *arg)
{
	int calls = 0;

	CHILD_CHECK(report_set_policy(arg));
	report_set_hook(late_hook, &calls, false);
	report_locked("first");
	CHILD_CHECK(false);
}

/* What ends the program does so at once; the lock is given back first. */
static void test_end_locked(void **unused)
{
	struct child c = child_run(child_ends_locked, "abort");

	(void)unused;
	assert_true(child_aborted(&c));
	assert_non_null(strstr(c.text, "BUG first"));
}

/* ---- a hook that is taken away while another thread runs it ---- */

static void slow_hook(const char *name, const char *report, void *arg)
{
	(void)name;
	(void)report;
	store_release(&hook_runs, true);
	while (!load_acquire(&may_return))
		usleep(1000);
	store_release((bool *)arg, true);
}

static void *let_return(void *arg)
{
	usleep(50000); /* what does not wait is found in any case: the hook ends later than it */
	store_release(&may_return, true);
	return arg;
}

static void child_takes_away(void *arg)
{
	bool returned = false;
	pthread_t reporter, later;

	(void)arg;
	report_set_hook(slow_hook, &returned, true);
	CHILD_CHECK(!pthread_create(&reporter, NULL, report_beside, NULL));
	while (!load_acquire(&hook_runs))
		usleep(1000);
	CHILD_CHECK(!pthread_create(&later, NULL, let_return, NULL));
	report_set_hook(NULL, NULL, false);
	CHILD_CHECK(load_acquire(&returned));
	CHILD_CHECK(!pthread_join(reporter, NULL) && !pthread_join(later, NULL));
}

static void test_hook_taken_away(void **unused)
{
	struct child c = child_run(child_takes_away, NULL);

	(void)unused;
	assert_true(child_passed(&c));
	assert_string_equal(c.text, "");
}

/* ---- no memory for a copy ---- */

static void short_hook(const char *name, const char *report, void *arg)
{
	size_t len = strlen(report);

	CHILD_CHECK(!strcmp(name, "first"));
	CHILD_CHECK(strstr(report, "BUG first") && !strstr(report, "BUG last") && len < 512);
	CHILD_CHECK(!strcmp(report + len - 26, "\n[no memory for the rest]\n"));
	++*(int *)arg;
}

static void child_without_memory(void *arg)
{
	int calls = 0;

	(void)arg;
	report_set_hook(short_hook, &calls, true);
	for (int i = 0; i < 4; i++)
		report_number(&(struct engine){ .name = "first" }, NULL, 1u);
	report_number(&(struct engine){ .name = "last" }, NULL, 2u);
	child_deny(SYS_mmap, ENOMEM);
	report_deliver();
	CHILD_CHECK(calls == 1);
}

static void test_hook_without_memory(void **unused)
{
	struct child c;

	(void)unused;
	if (!bare_process())
		skip(); /* what runs it needs mappings of its own */
	c = child_run(child_without_memory, NULL);
	assert_true(child_passed(&c));
	assert_non_null(strstr(c.text, "BUG last")); /* all of it */
}

static void child_with_policy(void *arg)
{
	CHILD_CHECK(report_set_policy(arg));
	report_set_hook(NULL, NULL, false);
	report_trace(&engine, slab, obj, true);
	report_deliver(); /* nothing to end for */
	report_number(&engine, slab, 1u);
	report_fix(&engine, FIX_FREE_LIST, NULL);
	report_deliver();
	report_number(&engine, slab, 2u);
	report_deliver();
}

static void test_policies(void **unused)
{
	struct child c = child_run(child_with_policy, "continue");

	(void)unused;
	assert_true(child_passed(&c));
	assert_non_null(strstr(c.text, "): " REASON(2) "\n"));

	c = child_run(child_with_policy, "abort");
	assert_true(child_aborted(&c));
	assert_non_null(strstr(c.text, "): " REASON(1) "\n"));
	assert_non_null(strstr(c.text, "FIX kmalloc-64: Freelist cleared\n"));
	assert_null(strstr(c.text, "): " REASON(2) "\n"));

	c = child_run(child_with_policy, "exit");
	assert_true(WIFEXITED(c.status));
	assert_int_equal(WEXITSTATUS(c.status), 1);
	assert_non_null(strstr(c.text, "FIX kmalloc-64: Freelist cleared\n"));
	assert_null(strstr(c.text, "): " REASON(2) "\n"));
}

static char file[] = "/tmp/uslab-report-test-XXXXXX";
static char jail[sizeof(file) + 5];

static void child_to_file(void *arg)
{
	CHILD_CHECK(!report_set_file("/nowhere/at/all"));
	CHILD_CHECK(chdir("/tmp") == 0 && report_set_file(file + 5) && chdir("/") == 0);
	for (int fd = 3; fd < 20; fd++)
		close(fd); /* as daemons do */
	child_reports(arg);
	CHILD_CHECK(report_counters.undelivered == 0);
	if (arg) {
		CHILD_CHECK(unlink(file) == 0 && mkdir(file, 0700) == 0);
		report_number(&engine, slab, 3u);
		report_deliver();
		CHILD_CHECK(report_counters.undelivered == 1);
	}
}

/* As a daemon: it may open the file no more, and then the path leads nowhere. */
static void child_drops_rights(void *arg)
{
	struct rlimit none = { 3, 3 };
	struct rlimit limit;

	CHILD_CHECK(getrlimit(RLIMIT_NOFILE, &limit) == 0);
	limit.rlim_cur = limit.rlim_max > 1024 ? 1024 : limit.rlim_max - 1;
	CHILD_CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
	CHILD_CHECK(report_set_file(file));
	for (int fd = 3; fd < 1024; fd++)
		close(fd);				   /* all that it may have */
	CHILD_CHECK(setrlimit(RLIMIT_NOFILE, &none) == 0); /* nothing can be opened any more */
	if (geteuid() == 0) {
		CHILD_CHECK(mkdir(jail, 0700) == 0 && chroot(jail) == 0 && chdir("/") == 0);
		CHILD_CHECK(setgid(65534) == 0 && setuid(65534) == 0);
	}
	child_reports(arg);
}

/* Reports went to stderr then. */
static void test_file_without_rights(void **unused)
{
	static char buf[16384];
	struct child c;
	int fd;

	(void)unused;
	if (getenv("USLAB_TEST_VALGRIND"))
		skip(); /* it keeps RLIMIT_NOFILE for itself */
	strcpy(file, "/tmp/uslab-report-test-XXXXXX");
	fd = mkstemp(file);
	assert_true(fd >= 0 && close(fd) == 0);
	snprintf(jail, sizeof(jail), "%s.jail", file);
	c = child_run(child_drops_rights, NULL);
	assert_true(child_passed(&c));
	assert_string_equal(c.text, "");
	assert_true(os_read_text(file, buf, sizeof(buf)) > 0);
	assert_non_null(strstr(buf, "BUG first"));
	unlink(file);
	rmdir(jail);
}

/* Who reads standard error has gone, the log is as large as files may be: the program goes on. */
static void child_writes_in_vain(void *arg)
{
	struct rlimit none = { 0, 0 };
	sigset_t left;
	int ends[2];

	(void)arg;
	report_set_hook(NULL, NULL, false);
	CHILD_CHECK(report_set_file(file));
	CHILD_CHECK(setrlimit(RLIMIT_FSIZE, &none) == 0);
	CHILD_CHECK(pipe(ends) == 0 && dup2(ends[1], STDERR_FILENO) == STDERR_FILENO);
	CHILD_CHECK(close(ends[0]) == 0 && close(ends[1]) == 0);
	report_two();
	CHILD_CHECK(load_relaxed(&report_counters.undelivered) == 1);
	CHILD_CHECK(sigpending(&left) == 0);
	CHILD_CHECK(!sigismember(&left, SIGPIPE) && !sigismember(&left, SIGXFSZ));
}

static void test_in_vain(void **unused)
{
	struct child c;
	int fd;

	(void)unused;
	strcpy(file, "/tmp/uslab-report-test-XXXXXX");
	fd = mkstemp(file);
	assert_true(fd >= 0 && close(fd) == 0);
	c = child_run(child_writes_in_vain, NULL);
	assert_true(child_passed(&c));
	unlink(file);
}

static void test_file(void **unused)
{
	static char buf[16384];
	int fd = mkstemp(file);
	struct child c;

	(void)unused;
	assert_true(fd >= 0 && close(fd) == 0);
	c = child_run(child_to_file, NULL);
	assert_true(child_passed(&c));
	assert_string_equal(c.text, "");
	c = child_run(child_to_file, NULL);
	os_read_text(file, buf, sizeof(buf));
	assert_non_null(strstr(strstr(buf, "BUG second"), "BUG second"));

	/* When it cannot be written to any more stderr is better than nothing. */
	c = child_run(child_to_file, "gone");
	assert_true(child_passed(&c));
	assert_non_null(strstr(c.text, "): " REASON(3) "\n"));
	assert_null(strstr(c.text, "): " REASON(2) "\n"));
	assert_int_equal(rmdir(file), 0);
}

static char rotated[sizeof(file) + 2];

static void child_is_rotated(void *arg)
{
	struct engine later = { .name = "later" };

	report_set_hook(NULL, NULL, false);
	/* a relative path, from which the program goes away */
	CHILD_CHECK(chdir("/tmp") == 0 && report_set_file(file + 5) && chdir("/") == 0);
	report_two();
	CHILD_CHECK(rename(file, rotated) == 0);
	report_number(&later, NULL, 3u);
	report_deliver();
	CHILD_CHECK(report_counters.undelivered == 0);
	(void)arg;
}

/* Logs are rotated without a word to the program. */
static void test_rotation(void **unused)
{
	static char buf[16384];
	struct child c;
	int fd;

	(void)unused;
	strcpy(file, "/tmp/uslab-report-test-XXXXXX");
	fd = mkstemp(file);
	assert_true(fd >= 0 && close(fd) == 0);
	snprintf(rotated, sizeof(rotated), "%s.1", file);
	c = child_run(child_is_rotated, NULL);
	assert_true(child_passed(&c));
	assert_string_equal(c.text, "");
	os_read_text(rotated, buf, sizeof(buf));
	assert_true(strstr(buf, "BUG first") && !strstr(buf, "BUG later"));
	os_read_text(file, buf, sizeof(buf));
	assert_true(strstr(buf, "BUG later") && !strstr(buf, "BUG first"));
	assert_int_equal(unlink(file) || unlink(rotated), 0);
}

/* A child of fork() begins with nothing to report, whatever its parent was about to say. */
static void child_of_reporter(void *arg)
{
	(void)arg;
	report_reset(false);
	report_set_hook(NULL, NULL, false);
	report_deliver();
	report_number(&engine, slab, 5u);
	report_deliver();
}

static void *fork_beside(void *arg)
{
	*(struct child *)arg = child_run(child_of_reporter, NULL);
	return NULL;
}

static void test_fork(void **unused)
{
	static struct child c;
	pthread_t t;

	(void)unused;
	report_number(&engine, slab, 6u);
	assert_int_equal(pthread_create(&t, NULL, fork_beside, &c), 0);
	assert_int_equal(pthread_join(t, NULL), 0);
	report_deliver();
	assert_true(child_passed(&c));
	assert_null(strstr(c.text, REASON(6)));
	assert_non_null(strstr(c.text, "): " REASON(5) "\n"));
	assert_int_equal(calls, 1);
}

#define TEST(name) cmocka_unit_test_setup(test_##name, make_slab)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(words),
		TEST(to_stderr),
		TEST(limit),
		TEST(hook),
		TEST(note),
		TEST(careless_hook),
		TEST(waiting_hook),
		TEST(hook_has_to_wait),
		TEST(end_locked),
		TEST(hook_taken_away),
		TEST(hook_without_memory),
		TEST(policies),
		TEST(file),
		TEST(fork),
		TEST(rotation),
		TEST(file_without_rights),
		TEST(in_vain),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
