/* SPDX-License-Identifier: MIT */
/*
 * uslab/options.c - a table of options, as getopt_long() takes it and as --help prints it
 *
 * Data:       getopt_long() has state of its own, which options_take() sets back.
 * Flow:       called by each cmd_*.c or *_options.c; calls util.c; calls the table's set()
 *             for each option, then its check(). Out: -1, or the exit status with which the
 *             command is to end.
 */
#include "options.h"

#include <stdio.h>
#include <string.h>

#include "util.h"

#define MAX_ROWS 64
#define WIDTH 80      /* columns of --help */
#define MAX_COLUMN 24 /* where help of options begins, at most */
#define LEFT_TEXT 64  /* bytes of "  -p, --pid=PID" */

static const struct option_row common[] = {
	{ 'h', "help", NULL, "this text" },
	{ 'V', "version", NULL, "the version" },
	{ 0 },
};

static bool is_last(const struct option_row *row)
{
	return !row->name && !row->help;
}

/* ---- help ------------------------------------------------------------------------------------ */

void options_print_wrapped(int at, int column, const char *text)
{
	bool first = true; /* on its line */

	for (text += strspn(text, " "); *text; text += strspn(text, " ")) {
		int length = (int)strcspn(text, " ");

		if (!first && at + 1 + length > WIDTH) {
			putchar('\n');
			at = 0;
			first = true;
		}
		if (at < column)
			at += printf("%*s", column - at, "");
		at += printf("%s%.*s", first ? "" : " ", length, text);
		first = false;
		text += length;
	}
	putchar('\n');
}

/* "  -p, --pid=PID"; its length. */
static int left_text(char buf[LEFT_TEXT], const struct option_row *row)
{
	const char *value = row->value ? row->value : "";
	bool may_lack = *value == '[';
	char letter[] = "    ";

	if (row->option < OPTION_CORE)
		snprintf(letter, sizeof(letter), "-%c, ", row->option);
	return snprintf(buf, LEFT_TEXT, "  %s--%s%s%s", letter, row->name,
			may_lack ? "[="
			: *value ? "="
				 : "",
			value + may_lack);
}

static int widest(const struct option_row *row)
{
	char text[LEFT_TEXT];
	int most = 0;

	for (; !is_last(row); row++) {
		int width = row->name ? left_text(text, row) : 0;

		if (width + 2 <= MAX_COLUMN && width > most)
			most = width;
	}
	return most;
}

static void print_rows(const struct option_row *row, int column)
{
	char text[LEFT_TEXT];

	for (; !is_last(row); row++) {
		if (!row->name) {
			printf("\n%s%s", row->help, *row->help ? "\n" : "");
			continue;
		}
		left_text(text, row);
		options_print_wrapped(printf("%-*s  ", column - 2, text), column, row->help);
	}
}

static int print_help(const struct option_table *table)
{
	int column = widest(table->rows) + 2;

	puts(table->usage);
	if (table->list)
		table->list();
	if (table->rows->name) /* a line of text has an empty one above it itself */
		putchar('\n');
	print_rows(table->rows, column);
	print_rows(common, column);
	if (table->notes)
		printf("\n%s\n", table->notes);
	return util_finish(table->command, EXIT_OK);
}

/* ---- getopt_long() --------------------------------------------------------------------------- */

struct taking {
	struct option longs[MAX_ROWS + 1];
	char shorts[3 * MAX_ROWS + 3];
	size_t nr;
};

static void add_rows(struct taking *t, const struct option_row *row)
{
	for (; !is_last(row) && t->nr < MAX_ROWS; row++) {
		int takes = !row->value		 ? no_argument
			    : *row->value == '[' ? optional_argument
						 : required_argument;
		size_t used = strlen(t->shorts);

		if (!row->name)
			continue;
		t->longs[t->nr++] = (struct option){ row->name, takes, NULL, row->option };
		if (row->option < OPTION_CORE)
			snprintf(t->shorts + used, sizeof(t->shorts) - used, "%c%.*s", row->option,
				 takes, "::");
	}
}

int options_take(const struct option_table *table, void *arg, int argc, char **argv)
{
	struct taking t = { .nr = 0 };
	int status = EXIT_OK;
	int got;

	strcpy(t.shorts, table->stops ? "+:" : ":");
	add_rows(&t, table->rows);
	add_rows(&t, common);
	opterr = 0;
	optind = 0; /* begin anew, whoever parsed before */
	while (status == EXIT_OK &&
	       (got = getopt_long(argc, argv, t.shorts, t.longs, NULL)) != -1) {
		if (got == 'h')
			return print_help(table);
		if (got == 'V')
			return util_version();
		status = got == '?' || got == ':' ? util_bad_option(table->command, argv, got)
						  : table->set(arg, got, optarg);
	}
	if (status == EXIT_OK && table->check)
		status = table->check(arg, argc, argv);
	return status == EXIT_OK ? -1 : status;
}

/* ---- values ---------------------------------------------------------------------------------- */

int options_choose(const char *command, const char *what, const char *value, options_names *name)
{
	char all[256] = "";

	for (unsigned int i = 0; name(i); i++) {
		size_t used = strlen(all);

		if (!strcmp(value, name(i)))
			return (int)i;
		snprintf(all + used, sizeof(all) - used, "%s%s", used ? ", " : "", name(i));
	}
	util_usage_error(command, "no %s '%s'; there are: %s", what, value, all);
	return -1;
}

void options_print_names(const char *title, options_names *name)
{
	printf("%s:", title);
	for (unsigned int i = 0; name(i); i++)
		printf(" %s", name(i));
	putchar('\n');
}

int options_number(const char *command, const char *option, const char *value, unsigned long max,
		   unsigned long *number)
{
	if (util_parse_number(value, 1, max, number))
		return EXIT_OK;
	return util_usage_error(command, "%s takes a number from 1 to %lu, not '%s'", option, max,
				value);
}
