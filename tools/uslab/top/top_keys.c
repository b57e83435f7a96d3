/* SPDX-License-Identifier: MIT */
/*
 * uslab/top/top_keys.c - what the keys of `uslab top` do
 *
 * Flow:       called by cmd_top.c; calls top_screen.c to ask, top_rows.c for the row under the
 *             cursor, pattern.c for rows that are no caches, command/need.c and command.c for what
 *             changes the process, clock.c. In: a key; out: another view, a command, or a message.
 *
 * Keys that change the view, and keys that do something to the process. The latter are pressed
 * twice, or ask for more, since a slip of a finger must not change a process in production. They
 * say in the last line what came of it; nothing of it ends the program.
 */
#define _GNU_SOURCE
#include <curses.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "clock.h"
#include "command/command.h"
#include "command/debug_flags.h"
#include "command/need.h"
#include "pattern.h"
#include "top/top.h"
#include "util.h"

#define WAIT_MS 2000	  /* for the process to carry out a command */
#define DEFRAG_US 200000  /* of one step */
#define CONFIRM_SECONDS 5 /* in which a key is pressed again */

static void say(struct top *top, const char *text)
{
	snprintf(top->message, sizeof(top->message), "%s", text);
}

/* ---- to the process ---- */

static const char *error_text(struct top *top, int error)
{
	const char *lacks;

	static const struct {
		int error;
		const char *text;
	} texts[] = {
		/* of these two the next lines may know better */
		{ -ETIMEDOUT, "the program did not take it; start it with USLAB_CONF=control=100" },
		{ -EOPNOTSUPP,
		  "start the program with USLAB_CONF=defrag=..., see uslab-defrag(1)" },
		{ -ESRCH, "the process has ended" },
		{ -ECANCELED,
		  "its seccomp filters may end it for that, or cannot be read; see --force" },
		{ -EPERM, "not permitted: same user and ptrace rights are needed" },
	};

	lacks = error == -ETIMEDOUT || error == -EOPNOTSUPP
			? command_lacks_thread(&top->source.target, top->source.root)
			: NULL;
	if (lacks)
		return lacks;
	if (error == -ECANCELED &&
	    command_filtered(&top->source.target, top->source.root) == FILTERED_ENDS)
		return "its seccomp filter ends it for what a command takes";
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (texts[i].error == error)
			return texts[i].text;
	return strerror(-error);
}

/* The cache under the cursor, which keeps the cursor from then on; NULL after a message. */
static const struct snapshot_cache *choose(struct top *top)
{
	const struct top_row *row = top_current(top);
	char why[PATTERN_WHY];

	if (top->source.options.kind != SOURCE_PROCESS || top->ended) {
		say(top, "only a running process that uses uslab can be changed");
		return NULL;
	}
	if (!row) {
		say(top, "no cache is shown");
		return NULL;
	}
	if (*pattern_why_not(why, top->snapshot, row->cache)) {
		snprintf(top->message, sizeof(top->message), "%.*s", TOP_TEXT - 1, why);
		return NULL;
	}
	top_select(top, row);
	return row->cache;
}

/* ---- keys that are pressed twice ---- */

static uint64_t confirm_end(void)
{
	return clock_ns() + CONFIRM_SECONDS * 1000000000ull;
}

/* From now on the key does it for that cache, for a while. */
static void expect_again(struct top *top, int key, const struct snapshot_cache *c)
{
	top->again.key = key;
	top->again.until = confirm_end();
	snprintf(top->again.name, sizeof(top->again.name), "%s", c->name);
}

/* Was the key pressed for that cache before? If not the last line asks for that. */
static bool is_confirmed(struct top *top, int key, const char *what, const struct snapshot_cache *c)
{
	bool again = top->again.key == key && !strcmp(top->again.name, c->name) &&
		     clock_ns() < top->again.until;

	top->again.key = 0;
	if (again)
		return true;
	expect_again(top, key, c);
	snprintf(top->message, sizeof(top->message), "%s %.64s: %c again to confirm", what, c->name,
		 key);
	return false;
}

double top_key_expire(struct top *top)
{
	uint64_t now = clock_ns();

	if (!top->again.key)
		return -1;
	if (now < top->again.until)
		return (double)(top->again.until - now) / 1e9;
	top->again.key = 0;
	top->message[0] = '\0';
	return -1;
}

/* ---- what is sent ---- */

/* May the process lack the memory for these debug flags? Then the last line says so. */
static bool is_too_much(struct top *top, const struct snapshot_cache *c, const char *argument)
{
	char more[UTIL_SIZE_TEXT], left[HEADROOM_TEXT];
	struct need need = { .bytes = 0 };
	struct headroom headroom;

	if (top->source.target.force)
		return false;
	need_add(&need, top->snapshot, (unsigned int)(c - top->snapshot->cache),
		 debug_flags_change(argument, c->flags));
	if (need_compare(&need, &top->source.target, top->snapshot, &headroom) != NEED_TOO_MUCH)
		return false;
	headroom_text(left, &headroom);
	snprintf(top->message, sizeof(top->message), "up to %s more, but %.*s; see --force",
		 util_size(more, sizeof(more), need_bytes(&need)), TOP_TEXT - 64, left);
	return true;
}

static bool perform(struct top *top, const struct snapshot_cache *c, const char *what,
		    enum control_command command, const char *argument)
{
	struct command_request request = {
		.command = command,
		.pattern = c->name,
		.argument = argument,
		.value = command == CONTROL_DEFRAG ? DEFRAG_US : 0,
		.wait_ms = WAIT_MS,
	};
	struct control reply;
	int error;

	if (command == CONTROL_DEBUG && is_too_much(top, c, argument))
		return false;
	error = command_send(&top->source.target, top->source.root, &request, &reply);
	if (!error)
		error = reply.result;
	if (error)
		snprintf(top->message, sizeof(top->message), "%s %.64s: %s", what, c->name,
			 error_text(top, error));
	else if (command == CONTROL_VALIDATE)
		snprintf(top->message, sizeof(top->message), "validated %lu slabs of %.64s",
			 (unsigned long)reply.value, c->name);
	else if (command == CONTROL_DEFRAG)
		snprintf(top->message, sizeof(top->message), "%s %.64s: %lu KiB given back%s", what,
			 c->name, (unsigned long)reply.value / 1024, reply.more ? ", m: more" : "");
	else
		snprintf(top->message, sizeof(top->message), "%s %.64s: done", what, c->name);
	return !error && reply.more;
}

static void ask_debug(struct top *top, const struct snapshot_cache *c)
{
	char question[TOP_TEXT];
	char debug_flags[16], known[DEBUG_FLAGS_TEXT];

	snprintf(question, sizeof(question), "debug flags of %.64s (%s, - for none):", c->name,
		 debug_flags_list(known, " ", " "));
	if (!top_screen_ask(question, debug_flags, sizeof(debug_flags)))
		return;
	if (!*debug_flags) /* Enter by mistake */
		say(top, "nothing is changed; - is for no debug flags");
	else if (!debug_flags_are(debug_flags))
		snprintf(top->message, sizeof(top->message), "'%s': debug flags are %s, - for none",
			 debug_flags, debug_flags_list(known, ", ", " and "));
	else
		perform(top, c, "debug", CONTROL_DEBUG, debug_flags);
}

static void toggle_tracking(struct top *top, const struct snapshot_cache *c)
{
	bool on = c->flags & SLAB_STORE_USER;
	const char *what = on ? "stop tracking" : "track";

	if (is_confirmed(top, 't', what, c))
		perform(top, c, what, CONTROL_DEBUG, on ? "-U" : "+U");
}

/* One step. Where there is more to do, the key goes on with it. */
static void defrag(struct top *top, const struct snapshot_cache *c)
{
	char sweep[CONTROL_TEXT];

	if (!c->movable) {
		snprintf(top->message, sizeof(top->message), "objects of %.64s do not move",
			 c->name);
		return;
	}
	if (!is_confirmed(top, 'm', "defragment", c))
		return;
	command_new_sweep(sweep);
	if (perform(top, c, "defragment", CONTROL_DEFRAG, sweep))
		expect_again(top, 'm', c);
}

static void shrink(struct top *top, const struct snapshot_cache *c)
{
	if (is_confirmed(top, 's', "shrink", c))
		perform(top, c, "shrink", CONTROL_SHRINK, NULL);
}

/* Changes nothing, but what it finds the process reports, and may end for. */
static void validate(struct top *top, const struct snapshot_cache *c)
{
	if (is_confirmed(top, 'v', "validate", c))
		perform(top, c, "validate", CONTROL_VALIDATE, NULL);
}

static bool act(struct top *top, int key)
{
	const struct snapshot_cache *c;

	if (key != 'd' && key != 't' && key != 's' && key != 'v' && key != 'm')
		return false;
	c = choose(top);
	if (c && key == 'd')
		ask_debug(top, c);
	else if (c && key == 't')
		toggle_tracking(top, c);
	else if (c && key == 'm')
		defrag(top, c);
	else if (c && key == 's')
		shrink(top, c);
	else if (c)
		validate(top, c);
	return true;
}

/* ---- the view ---- */

static void go(struct top *top, enum top_view view)
{
	const struct top_row *row = top_current(top);

	/* what is shown of one cache goes on to be of that one */
	if (row && (view == TOP_DETAIL || view == TOP_SITES))
		top_select(top, row);
	top->view = view;
	top->scroll = 0;
}

/* Moves the cursor of the list, or the text of another view. */
static void move_by(struct top *top, long by)
{
	long at;

	if (top->view != TOP_LIST) {
		at = (long)top->scroll + by;
		top->scroll = at > 0 ? (unsigned int)at : 0;
		return;
	}
	if (!top->table->count)
		return;
	at = (long)top_find_row(top->table, top->selected) + by;
	at = at < 0 ? 0 : at < (long)top->table->count ? at : (long)top->table->count - 1;
	top_select(top, &top->table->row[at]);
}

static bool move_key(struct top *top, int key)
{
	static const struct {
		int key;
		long by; /* lines; of 0: a screen */
		int screens;
	} moves[] = {
		{ KEY_UP, -1, 0 }, { 'k', -1, 0 },	    { KEY_DOWN, 1, 0 },
		{ 'j', 1, 0 },	   { KEY_PPAGE, 0, -1 },    { KEY_NPAGE, 0, 1 },
		{ ' ', 0, 1 },	   { KEY_HOME, -65536, 0 }, { KEY_END, 65536, 0 },
	};

	for (size_t i = 0; i < sizeof(moves) / sizeof(moves[0]); i++)
		if (moves[i].key == key) {
			move_by(top, moves[i].by + moves[i].screens * (long)top_screen_lines());
			return true;
		}
	return false;
}

static bool order_key(struct top *top, int key)
{
	static const char keys[] = { 'b', 'o', 'g', 'w', 'n' }; /* of enum top_order */
	const char *found = key > 0 && key < 128 ? memchr(keys, key, sizeof(keys)) : NULL;

	if (found)
		top->order = (enum top_order)(found - keys);
	else if (key == 'i')
		top->inverted = !top->inverted;
	else
		return false;
	return true;
}

static bool view_key(struct top *top, int key)
{
	switch (key) {
	case '\r':
	case '\n':
	case KEY_ENTER:
		go(top, TOP_DETAIL);
		return true;
	case 'c':
		go(top, TOP_SITES);
		return true;
	case 'M':
		go(top, TOP_MEMORY);
		return true;
	case 'N':
		go(top, TOP_NODES);
		return true;
	case 'G':
		go(top, TOP_GROUPS);
		return true;
	case 'h':
	case '?':
		go(top, TOP_HELP);
		return true;
	case 27:
	case KEY_LEFT:
		go(top, TOP_LIST);
		return true;
	case '/':
		top_screen_ask("show names with:", top->filter, sizeof(top->filter));
		return true;
	default:
		return false;
	}
}

static void other_key(struct top *top, int key)
{
	if (key == 'p')
		top->paused = !top->paused;
	else if (key == 'z')
		top->empty_too = !top->empty_too;
	else if (key == '+' && top->interval > 0.2)
		top->interval /= 2;
	else if (key == '-' && top->interval < 60)
		top->interval *= 2;
}

bool top_key(struct top *top, int key)
{
	if (key == 'q' || key == 'Q')
		return false;
	if (key == KEY_RESIZE)
		return true;
	if (!top->ended)
		top->message[0] = '\0';
	if (key != top->again.key)
		top->again.key = 0;
	if (!move_key(top, key) && !order_key(top, key) && !view_key(top, key) && !act(top, key))
		other_key(top, key);
	return true;
}
