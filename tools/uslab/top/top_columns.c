/* SPDX-License-Identifier: MIT */
/*
 * uslab/top/top_columns.c - the table of `uslab top`: which columns fit, and how wide they are
 *
 * Flow:       called by top_screen.c and cmd_top.c; calls top_rows.c and inspect/text.c. In: rows
 *             and a width; out: lines.
 *
 * A number is never cut. Columns are as wide as what is in them, and those that do not fit are left
 * out, the least wanted first; what is left of the line is for names, which may be cut.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>

#include "inspect/text.h"
#include "top/top.h"

#define CELL 96	       /* bytes of a text */
#define NAME_WANTED 20 /* columns that names keep before others are shown */
#define NAME_ALWAYS 24 /* where the screen is wide enough */
#define NAME_MAX_WIDTH 40

static const struct {
	const char *title;
	unsigned int width; /* at least, so that columns stay in their places */
} columns[TOP_COLUMNS] = {
	[TOP_NAME] = { "Name", 4 },	  [TOP_OBJECTS] = { "Objects", 9 },
	[TOP_OBJSIZE] = { "Objsize", 7 }, [TOP_HELD] = { "Held", 9 },
	[TOP_SPACE] = { "Space", 9 },	  [TOP_WASTE] = { "Waste", 9 },
	[TOP_GROWTH] = { "Growth", 10 },  [TOP_SLABS] = { "Slabs/Part/Cpu", 14 },
	[TOP_FLAGS] = { "Flg", 3 },
};

static void cell_text(char *buf, size_t size, const struct top_row *row, enum top_column column)
{
	const struct snapshot_cache *c = row->cache;

	switch (column) {
	case TOP_OBJECTS:
		snprintf(buf, size, "%lu", c->objects);
		break;
	case TOP_OBJSIZE:
		snprintf(buf, size, "%u", c->object_size);
		break;
	case TOP_HELD:
		text_scale(buf, size, c->object_bytes);
		break;
	case TOP_SPACE:
		text_scale(buf, size, c->slab_bytes);
		break;
	case TOP_WASTE:
		text_scale(buf, size, row->waste);
		break;
	case TOP_GROWTH:
		top_growth_text(buf, size, row->growth);
		break;
	case TOP_SLABS:
		snprintf(buf, size, "%lu/%lu/%lu", c->slabs - c->cpu_slabs, c->partial,
			 c->cpu_slabs);
		break;
	case TOP_FLAGS:
		text_debug_flags(buf, size, c);
		break;
	default:
		snprintf(buf, size, "%s", c->name);
		break;
	}
}

/* What each column takes, shown or not. */
static void measure(unsigned int *width, const struct top_table *table)
{
	char text[CELL];

	for (int column = 0; column < TOP_COLUMNS; column++)
		width[column] = columns[column].width;
	for (unsigned int i = 0; i < table->count; i++)
		for (int column = 0; column < TOP_COLUMNS; column++) {
			cell_text(text, sizeof(text), &table->row[i], (enum top_column)column);
			if (strlen(text) > width[column])
				width[column] = (unsigned int)strlen(text);
		}
}

void top_make_layout(struct top_layout *layout, const struct top_table *table, enum top_order order,
		     unsigned int width)
{
	static const enum top_column of_order[] = { TOP_SPACE, TOP_OBJECTS, TOP_GROWTH, TOP_WASTE,
						    TOP_NAME };
	const enum top_column wanted[] = {
		of_order[order], TOP_SPACE, TOP_HELD,	 TOP_GROWTH, TOP_OBJECTS,
		TOP_WASTE,	 TOP_FLAGS, TOP_OBJSIZE, TOP_SLABS,
	};
	unsigned int needed[TOP_COLUMNS], longest, used;

	measure(needed, table);
	memset(layout, 0, sizeof(*layout));
	longest = needed[TOP_NAME] > NAME_ALWAYS ? needed[TOP_NAME] : NAME_ALWAYS;
	longest = longest < NAME_MAX_WIDTH ? longest : NAME_MAX_WIDTH;
	used = needed[TOP_NAME] < NAME_WANTED ? needed[TOP_NAME] : NAME_WANTED;
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		enum top_column column = wanted[i];

		if (column == TOP_NAME || layout->width[column])
			continue;
		if (used + 1 + needed[column] > width)
			break;
		layout->width[column] = needed[column];
		used += 1 + needed[column];
	}
	used -= needed[TOP_NAME] < NAME_WANTED ? needed[TOP_NAME] : NAME_WANTED;
	layout->width[TOP_NAME] = used + longest < width ? longest
				  : width > used	 ? width - used
							 : 0;
}

static void put_cell(char *buf, size_t size, const struct top_layout *layout,
		     enum top_column column, const char *text)
{
	size_t at = strlen(buf);
	unsigned int width = layout->width[column];

	if (!width)
		return;
	if (column == TOP_FLAGS)
		snprintf(buf + at, size - at, " %s", text);
	else if (column != TOP_NAME)
		snprintf(buf + at, size - at, " %*s", (int)width, text);
	else if (strlen(text) <= width)
		snprintf(buf + at, size - at, "%-*s", (int)width, text);
	else /* the sign says that there is more of it */
		snprintf(buf + at, size - at, "%.*s+", (int)width - 1, text);
}

void top_header_text(char *buf, size_t size, const struct top_layout *layout)
{
	buf[0] = '\0';
	for (int column = 0; column < TOP_COLUMNS; column++)
		put_cell(buf, size, layout, (enum top_column)column, columns[column].title);
}

void top_row_text(char *buf, size_t size, const struct top_row *row,
		  const struct top_layout *layout)
{
	char text[CELL];

	buf[0] = '\0';
	for (int column = 0; column < TOP_COLUMNS; column++) {
		cell_text(text, sizeof(text), row, (enum top_column)column);
		put_cell(buf, size, layout, (enum top_column)column, text);
	}
}
