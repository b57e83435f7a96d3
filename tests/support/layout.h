/* SPDX-License-Identifier: MIT */
/*
 * support/layout.h - a test program once more, where the system puts mappings from below
 *
 * Systems put each mapping below those that are there, or, in the legacy layout (setarch
 * -L, vm.legacy_va_layout), in the first place that is free. Which of them holds is
 * settled when a program starts.
 */
#ifndef SUPPORT_LAYOUT_H
#define SUPPORT_LAYOUT_H

#include <sys/personality.h>

#include "bare.h"
#include "child.h"

#define ASK_PERSONALITY 0xffffffff

static inline bool layout_is_legacy(void)
{
	return personality(ASK_PERSONALITY) & ADDR_COMPAT_LAYOUT;
}

static inline void layout_run_legacy(void *arg)
{
	int old = personality(ASK_PERSONALITY);
	char *self[] = { "again", NULL };

	(void)arg;
	if (old == -1 || personality((unsigned long)old | ADDR_COMPAT_LAYOUT) == -1)
		child_cannot("the layout of mappings cannot be chosen here");
	dup2(STDERR_FILENO, STDOUT_FILENO); /* what cmocka says about tests that pass, too */
	execv("/proc/self/exe", self);
	child_failed(__FILE__, __LINE__, "execv");
}

/* A cmocka test: all tests of this program pass in the legacy layout as well. */
static inline void test_legacy_layout(void **state)
{
	struct child c;

	(void)state;
	if (!bare_process() || is_emulated() || layout_is_legacy())
		skip();
	c = child_run(layout_run_legacy, NULL);
	if (!child_passed(&c))
		fail_msg("%s", c.text);
}

#endif /* SUPPORT_LAYOUT_H */
