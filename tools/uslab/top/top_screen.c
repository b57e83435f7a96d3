/* SPDX-License-Identifier: MIT */
/*
 * uslab/top/top_screen.c - the screen of `uslab top`, with ncurses
 *
 * Data:       screen: that of ncurses, NULL while there is none.
 * Flow:       called by cmd_top.c and top_keys.c; calls top_columns.c, top_rows.c, top_sites.c,
 *             top_memory.c, top_groups.c and ncurses. In: struct top; out: the terminal; keys.
 *
 * Two lines of summary, a headline, rows, and a last line for messages or keys. Everything is drawn
 * anew each time; ncurses sends what differs. It also handles the new size of a terminal: the next
 * drawing simply asks for it.
 */
#define _GNU_SOURCE
#include <curses.h>
#include <langinfo.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>

#include "inspect/text.h"
#include "top/top.h"

#define HEAD_LINES 3 /* above the rows */
#define FOOT_LINES 1

static SCREEN *screen;

/* One that cannot move its cursor ("dumb") would show all of it in one line. */
int top_screen_start(void)
{
	const char *cursor;

	setlocale(LC_ALL, "");
	screen = newterm(NULL, stdout, stdin);
	if (!screen)
		return -1;
	cursor = tigetstr("cup");
	if (!cursor || cursor == (char *)-1) {
		top_screen_end();
		return -1;
	}
	cbreak();
	noecho();
	nonl();
	keypad(stdscr, TRUE);
	set_escdelay(25);
	curs_set(0);
	return 0;
}

void top_screen_end(void)
{
	endwin();
	delscreen(screen);
}

unsigned int top_screen_lines(void)
{
	int lines = LINES - HEAD_LINES - FOOT_LINES;

	return lines > 1 ? (unsigned int)lines : 1;
}

int top_screen_key(int timeout_ms)
{
	timeout(timeout_ms);
	return getch();
}

/* One line of text, cut where the screen ends. */
static void put(unsigned int line, const char *text, attr_t attributes)
{
	if ((int)line >= LINES)
		return;
	attron(attributes);
	mvaddnstr((int)line, 0, text, COLS);
	if (attributes & A_REVERSE)
		for (int x = getcurx(stdscr); getcury(stdscr) == (int)line && x < COLS; x++)
			addch(' ');
	attroff(attributes);
}

static bool utf8(void)
{
	return !strcmp(nl_langinfo(CODESET), "UTF-8");
}

/* ---- views; each draws below the summary ---- */

static void draw_list(struct top *top)
{
	unsigned int lines = top_screen_lines();
	unsigned int at = top_find_row(top->table, top->selected);
	struct top_layout layout;
	char text[512];

	if (at < top->scroll)
		top->scroll = at;
	if (at >= top->scroll + lines)
		top->scroll = at - lines + 1;
	top_make_layout(&layout, top->table, top->order, (unsigned int)COLS);
	top_header_text(text, sizeof(text), &layout);
	put(2, text, A_BOLD);
	for (unsigned int i = 0; i < lines && top->scroll + i < top->table->count; i++) {
		top_row_text(text, sizeof(text), &top->table->row[top->scroll + i], &layout);
		put(HEAD_LINES + i, text, top->scroll + i == at ? A_REVERSE : A_NORMAL);
	}
}

struct lines {
	struct top *top;
	unsigned int number; /* of the next one */
};

/* A line of a view that may be longer than the screen. */
static void scrolled_line(const char *text, void *arg)
{
	struct lines *lines = arg;
	unsigned int line = lines->number++;

	if (line >= lines->top->scroll && line - lines->top->scroll < top_screen_lines())
		put(HEAD_LINES + line - lines->top->scroll, text, A_NORMAL);
}

static void end_lines(const struct lines *lines)
{
	unsigned int shown = top_screen_lines();

	if (lines->top->scroll + shown > lines->number)
		lines->top->scroll = lines->number > shown ? lines->number - shown : 0;
}

static void draw_fields(struct lines *lines, const struct snapshot_cache *c)
{
	char text[256];

#define CACHE_TEXT(member, size, key, help)                                           \
	if (c->member[0]) {                                                           \
		snprintf(text, sizeof(text), "%-24s %-16s %s", key, c->member, help); \
		scrolled_line(text, lines);                                           \
	}
#define CACHE_FIELD(type, member, key, help)                                                  \
	snprintf(text, sizeof(text), "%-24s %-16lu %s", key, (unsigned long)c->member, help); \
	scrolled_line(text, lines);
#include "inspect/fields.def"
}

static void draw_events(struct lines *lines, const struct snapshot_cache *c)
{
	char text[256];

#define CACHE_STAT(item, key, help)                                                        \
	if (c->stat[item]) {                                                               \
		snprintf(text, sizeof(text), "%-26s %-14lu %s", key, c->stat[item], help); \
		scrolled_line(text, lines);                                                \
	}
#include "inspect/fields.def"
}

static void draw_detail(struct top *top)
{
	const struct top_row *row = top_current(top);
	struct lines lines = { .top = top };
	static const char title[] = "bytes held, newest at the right: ";
	unsigned int columns = COLS > (int)sizeof(title) ? (unsigned int)COLS - sizeof(title) + 1
							 : 1;
	char text[512];
	char spark[4 * TOP_SAMPLES + 8];

	if (!row)
		return;
	snprintf(text, sizeof(text), "%s", row->cache->name);
	put(2, text, A_BOLD);
	top_spark(spark, sizeof(spark), row->history, columns < TOP_SAMPLES ? columns : TOP_SAMPLES,
		  utf8());
	snprintf(text, sizeof(text), "%s%s", title, spark);
	scrolled_line(text, &lines);
	for (unsigned int i = 0; i < row->cache->nr_aliases; i++) {
		snprintf(text, sizeof(text), "%-24s %s", "alias",
			 top->snapshot->alias[row->cache->first_alias + i]);
		scrolled_line(text, &lines);
	}
	draw_fields(&lines, row->cache);
	draw_events(&lines, row->cache);
	end_lines(&lines);
}

static void draw_sites(struct top *top)
{
	const struct top_row *row = top_current(top);
	struct lines lines = { .top = top };
	char text[128];

	if (!row)
		return;
	snprintf(text, sizeof(text), "%s: call sites of live objects", row->cache->name);
	put(2, text, A_BOLD);
	top_sites(top, scrolled_line, &lines);
	end_lines(&lines);
}

static void draw_memory(struct top *top)
{
	struct lines lines = { .top = top };

	put(2, "Resident memory of the process", A_BOLD);
	top_memory(top, scrolled_line, &lines);
	end_lines(&lines);
}

/* A line for each node, as far as they fit; `uslab info -n` has all that is counted. */
static void draw_nodes(struct top *top)
{
	const struct snapshot *s = top->snapshot;
	struct lines lines = { .top = top };
	char text[160];

	put(2,
	    "node    slabs  objects     free    pages       hit      miss   foreign     local"
	    "    other   remote",
	    A_BOLD);
	for (unsigned int i = 0; i < s->totals.nodes; i++) {
		const struct snapshot_machine_node *n = &s->node[i];

		snprintf(text, sizeof(text),
			 "%4u %8lu %8lu %8lu %8lu %9lu %9lu %9lu %9lu %8lu %8lu", i, n->slabs,
			 n->objects, n->free_objects, n->free_bytes >> PAGE_SHIFT, n->numa_hit,
			 n->numa_miss, n->numa_foreign, n->local_node, n->other_node,
			 n->remote_frees);
		scrolled_line(text, &lines);
	}
	if (s->totals.nodes < 2)
		scrolled_line("this machine has one node: nothing is counted", &lines);
	end_lines(&lines);
}

static void draw_groups(struct top *top)
{
	struct lines lines = { .top = top };

	put(2, top_groups_title, A_BOLD);
	top_groups(top, scrolled_line, &lines);
	end_lines(&lines);
}

static void draw_help(struct top *top)
{
	static const char *const help[] = {
		"b o g w n   by space, objects, growth, waste, name;  i inverts",
		"arrows, PageUp, PageDown, Home, End, j, k   move",
		"Enter       all that is known of the cache;  Esc goes back",
		"c           call sites of its objects, where users are tracked (U)",
		"M           resident memory of the process, by kind",
		"N           what each node has: slabs, objects, free ones, free pages; numastat",
		"G           accounting groups, what is charged to each, and their limits",
		"/           show names with this part only;  z shows empty caches too",
		"",
		"Done to the process, for the cache under the cursor (all but d: pressed twice):",
		"d           set its debug flags: F Z P U T A, - for none",
		"t           track users (U) from now on, or not any more",
		"s           shrink;  v validates;  m defragments, where objects move",
		"",
		"p           pause;  + and - change how often it updates",
		"q           quit",
	};
	struct lines lines = { .top = top };

	put(2, "Keys", A_BOLD);
	for (size_t i = 0; i < sizeof(help) / sizeof(help[0]); i++)
		scrolled_line(help[i], &lines);
	end_lines(&lines);
}

/* Where the line is too long it ends before a number, not in it. */
static void cut_at_blank(char *text)
{
	size_t at = (size_t)COLS;

	if (strlen(text) <= at)
		return;
	while (at && text[at] != ' ')
		at--;
	text[at] = '\0';
}

void top_screen_draw(struct top *top)
{
	static void (*const views[])(struct top *) = { draw_list,   draw_detail, draw_sites,
						       draw_memory, draw_nodes,	 draw_groups,
						       draw_help };
	char title[256];
	char sums[256];

	erase();
	top_summary_text(top, title, sizeof(title), sums, sizeof(sums));
	put(0, title, A_NORMAL);
	cut_at_blank(sums);
	put(1, sums, A_NORMAL);
	views[top->view](top);
	put((unsigned int)LINES - 1,
	    top->message[0]
		    ? top->message
		    : "h help  b/o/g/w/n sort  Enter detail  c sites  M memory  d debug  q quit",
	    top->message[0] ? A_BOLD : A_DIM);
	refresh();
}

bool top_screen_ask(const char *question, char *answer, size_t size)
{
	size_t len = 0;
	char text[256];
	int key;

	curs_set(1);
	for (answer[0] = '\0';;) {
		snprintf(text, sizeof(text), "%s %s", question, answer);
		move(LINES - 1, 0);
		clrtoeol();
		put((unsigned int)LINES - 1, text, A_BOLD);
		key = top_screen_key(-1);
		if (key == 27 || key == '\r' || key == '\n' || key == KEY_ENTER)
			break;
		if ((key == KEY_BACKSPACE || key == 127 || key == 8) && len)
			answer[--len] = '\0';
		else if (key >= ' ' && key < 127 && len + 1 < size) {
			answer[len++] = (char)key;
			answer[len] = '\0';
		}
	}
	curs_set(0);
	return key != 27;
}
