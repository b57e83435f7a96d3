/* SPDX-License-Identifier: MIT */
/*
 * unit/debug/kfence/kfence_fault_test.c - accesses beside and after objects: each is reported, and
 * happens
 */
#include "unit/debug/kfence_fixture.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "arch/unwind.h"
#include "objects.h"

/* Out of line: what the handler writes is read again afterwards. */
__attribute__((__noinline__)) static char peek(const char *p)
{
	char c = *(const volatile char *)p;

	__asm__ volatile("" : : : "memory");
	return c;
}

__attribute__((__noinline__)) static void poke(char *p, char c)
{
	*(volatile char *)p = c;
	__asm__ volatile("" : : : "memory");
}

static bool has_head(const char *kind)
{
	char head[128];

	snprintf(head, sizeof(head),
		 "==================================================================\n"
		 "BUG: KFENCE: %s in ",
		 kind);
	return !strncmp(report, head, strlen(head));
}

/* A blank line between the blocks, a last line of 66. */
static bool has_shape(void)
{
	static const char last[] =
		"\n==================================================================\n";
	size_t len = strlen(report);
	char comm[64] = " Comm: ";

	prctl(PR_GET_NAME, comm + strlen(comm)); /* under an emulator: its own */
	return len > sizeof(last) && !strcmp(report + len - (sizeof(last) - 1), last) &&
	       said("\n\nCPU: ") && said(" PID: ") && said("%s", comm);
}

FAULTS(to_the_left)
{
	char *p;

	start(16);
	p = take_at(64, false);
	peek(p - 1);
	CHILD_CHECK(reports == 1 && has_head("out-of-bounds read") && has_shape());
	CHILD_CHECK(said("\n\nOut-of-bounds read at 0x%lx (1B left of kfence-#%u):\n ",
			 (unsigned long)(p - 1), number_of(p)));
	CHILD_CHECK(said("kfence-#%u: 0x%lx-0x%lx, size=64, cache=victims\n", number_of(p),
			 (unsigned long)p, (unsigned long)(p + 63)));
	peek(p - 2); /* open by now */
	CHILD_CHECK(reports == 1);
	kfence_free(p, HERE);
	CHILD_CHECK(reports == 1);
	kfence_check();
	peek(p - 2); /* and closed again, with nobody beside it */
	CHILD_CHECK(reports == 2);
}

FAULTS(to_the_right)
{
	char *p;

	start(16);
	p = take_at(64, true);
	poke(p + 64, 'x');
	CHILD_CHECK(reports == 1 && has_head("out-of-bounds write") && has_shape());
	CHILD_CHECK(said("Out-of-bounds write at 0x%lx (64B right of kfence-#%u):\n",
			 (unsigned long)(p + 64), number_of(p)));
	CHILD_CHECK(p[64] == 'x');
	kfence_free(p, HERE);
	CHILD_CHECK(reports == 1);
	poke(p + 64, 'y');
	CHILD_CHECK(reports == 2);
}

/* Between two objects the nearer one is meant, and only if it is in use. */
FAULTS(the_nearer_object_is_to_blame)
{
	char *left = NULL;
	char *right;
	char *p[16];
	unsigned int n = 0;

	start(16);
	engine.align = 64;
	while (n < 16 && (p[n] = kfence_alloc(&engine, 64, 0, (void *)(0x10000 + 64ul * n), 1)))
		n++;
	CHILD_CHECK(n == 16);
	for (unsigned int i = 0; i < 16; i++)
		left = number_of(p[i]) == 3 ? p[i] : left;
	right = NULL;
	for (unsigned int i = 0; i < 16; i++)
		right = number_of(p[i]) == 4 ? p[i] : right;
	char *guard = kfence_page_at(kfence_page_index(left) + 1);
	/* as seen from the guard page */
	long from_left = 100 + (guard - (left + 64));
	long from_right = right - (guard + 100);

	peek(guard + 100);
	CHILD_CHECK(said("of kfence-#%u):", from_right < from_left ? 4 : 3));
	kfence_free(from_right < from_left ? right : left, HERE);
	peek(guard + 100);
	CHILD_CHECK(reports == 2 && said("of kfence-#%u):", from_right < from_left ? 3 : 4));
	CHILD_CHECK(said(from_right < from_left ? "B right of " : "B left of "));
}

FAULTS(after_free)
{
	char *p;

	start(16);
	p = take(64);
	kfence_free(p, HERE);
	peek(p + 5);
	CHILD_CHECK(reports == 1 && has_head("use-after-free read") && has_shape());
	CHILD_CHECK(said("\n\nUse-after-free read at 0x%lx (in kfence-#%u):\n",
			 (unsigned long)(p + 5), number_of(p)));
	CHILD_CHECK(said("\n\nfreed by task "));
	p = take(64);
	kfence_free(p, HERE);
	poke(p, 1);
	CHILD_CHECK(reports == 2 && has_head("use-after-free write"));
	CHILD_CHECK(said("Use-after-free write at 0x%lx (in kfence-#%u):\n", (unsigned long)p,
			 number_of(p)));
	kfence_check();
}

FAULTS(where_nothing_is)
{
	char *wild;

	start(16);
	wild = kfence_page_at(1) + 10;
	peek(wild);
	CHILD_CHECK(reports == 1 && has_head("invalid read") && has_shape());
	CHILD_CHECK(said("\n\nInvalid read at 0x%lx:\n ", (unsigned long)wild));
	CHILD_CHECK(!said("kfence-#"));
	poke(kfence_page_at(0), 1);
	CHILD_CHECK(reports == 2 && has_head("invalid write"));
	CHILD_CHECK(kfence_counters.bugs == 2);
}

/* Whoever did it comes first in the title and in the stack. */
FAULTS(the_culprit_is_named)
{
	child_needs_objects();
	start(16);
	poke(take_at(64, false) - 1, 1);
	CHILD_CHECK(said("BUG: KFENCE: out-of-bounds write in poke+0x"));
	CHILD_CHECK(said("):\n poke+0x"));
	/* without tables nobody knows who called a function that calls none */
	if (ARCH_HAS_CFI)
		CHILD_CHECK(said(" the_culprit_is_named_body+0x"));
}

/* ---- what cannot be cured ---- */

static sigjmp_buf back;

static void leave(int sig)
{
	(void)sig;
	siglongjmp(back, 1);
}

__attribute__((__noinline__)) static void jump_to(void *p)
{
	((void (*)(void))p)();
	__asm__ volatile("" : : : "memory"); /* a call that returns here, and no jump */
}

static void jump_into_freed(void *arg)
{
	char *p;

	child_needs_objects();
	(void)arg;
	signal(SIGSEGV, SIG_DFL); /* sanitizers have a handler */
	start(16);
	p = take(64);
	kfence_free(p, HERE);
	report_set_hook(NULL, NULL, false);
	jump_to(p);
}

/* One report, and the end. */
static void a_jump_ends_the_program(void **state)
{
	struct child c;

	(void)state;
	if (getenv("USLAB_TEST_VALGRIND"))
		skip();
	c = child_run(jump_into_freed, NULL);
	assert_true(WIFSIGNALED(c.status) && WTERMSIG(c.status) == SIGSEGV);
	assert_non_null(strstr(c.text, "BUG: KFENCE: use-after-free execute in jump_to+0x"));
	assert_null(strstr(strstr(c.text, "BUG: KFENCE") + 1, "BUG: KFENCE"));
}

/* Also into one that is in use; the program's handler is called. */
FAULTS(a_jump_is_the_programs)
{
	char *p;

	child_needs_objects();
	CHILD_CHECK(signal(SIGSEGV, leave) != SIG_ERR);
	start(16);
	p = take(64);
	for (volatile int i = 0; i < 3; i++)
		if (!sigsetjmp(back, 1)) {
			jump_to(p);
			CHILD_CHECK(!"came back");
		}
	CHILD_CHECK(reports == 1 && has_head("invalid execute"));
	CHILD_CHECK(said("Invalid execute at 0x%lx:\n jump_to+0x", (unsigned long)p));
	kfence_free(p, HERE);
	if (!sigsetjmp(back, 1))
		jump_to(p);
	CHILD_CHECK(reports == 2 && has_head("use-after-free execute"));
	kfence_check();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(to_the_left),
		cmocka_unit_test(to_the_right),
		cmocka_unit_test(the_nearer_object_is_to_blame),
		cmocka_unit_test(after_free),
		cmocka_unit_test(where_nothing_is),
		cmocka_unit_test(the_culprit_is_named),
		cmocka_unit_test(a_jump_ends_the_program),
		cmocka_unit_test(a_jump_is_the_programs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
