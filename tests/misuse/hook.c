/* SPDX-License-Identifier: MIT */
/*
 * misuse/hook.c - the program is given the reports, which may then be written or not
 *
 * misuse: hook USLAB_DEBUG=FZPU
 * misuse: hook_abort USLAB_DEBUG=FZPU USLAB_CONF=report=abort
 */
#include <uslab/slab.h>

#include "misuse.h"

static void hook(const char *cache, const char *text, void *arg)
{
	dprintf(2, "%s: a report on %s with%s FIX lines\n", (char *)arg, cache,
		strstr(text, "\nFIX ") ? "" : "out");
}

static void mistake(void)
{
	char *p = wild(kmalloc(8, GFP_KERNEL));

	kfree(p + 1);
	kfree(p);
}

int main(void)
{
	uslab_set_report_hook(hook, "quiet", true);
	mistake();
	uslab_set_report_hook(hook, "loud", false);
	mistake();
	uslab_set_report_hook(NULL, NULL, false);
	mistake();
	return survived();
}
