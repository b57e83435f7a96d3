/* SPDX-License-Identifier: MIT */
/*
 * support/heard.h - what engines report (engine/mistake.h), heard by a test
 * instead of the program's user
 *
 * From hear() to hear_no_more() an engine goes on after a mistake, as it does in a program.
 */
#ifndef SUPPORT_HEARD_H
#define SUPPORT_HEARD_H

#include <string.h>

#include "engine/mistake.h"

static struct {
	unsigned int nr;   /* mistakes reported since hear() */
	unsigned int open; /* of these, not yet delivered */
	void *obj;	   /* of the last one */
	enum engine_mistake what;
	char name[32];
} heard;

static inline void heard_report(struct engine *e, void *obj, enum engine_mistake what)
{
	heard.nr++;
	heard.open++;
	heard.obj = obj;
	heard.what = what;
	strncpy(heard.name, e->name, sizeof(heard.name) - 1);
}

static inline void heard_deliver(void)
{
	/* a handler of the program may run, and take any lock of ours */
	if (lock_is_inside())
		__builtin_trap();
	heard.open = 0;
}

static inline void hear(void)
{
	static const struct engine_listener listener = { heard_report, heard_deliver };

	memset(&heard, 0, sizeof(heard));
	engine_listener = &listener;
}

static inline void hear_no_more(void)
{
	engine_listener = NULL;
}

/* Since hear() or the last time just that was reported, and delivered. */
static inline bool heard_once(enum engine_mistake what, const void *obj, const char *name)
{
	bool once = heard.nr == 1 && !heard.open && heard.what == what && heard.obj == obj &&
		    !strcmp(heard.name, name);

	heard.nr = 0;
	return once;
}

#endif /* SUPPORT_HEARD_H */
