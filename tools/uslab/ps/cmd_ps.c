/* SPDX-License-Identifier: MIT */
/*
 * uslab/ps/cmd_ps.c - `uslab ps`: the processes that use uslab
 *
 * Flow:       called by main.c; calls options.c, ps_rows.c to look at all processes, and
 *             ps_print.c. In: options; out: a table or JSON; what could not be looked into is said
 *             on stderr.
 */
#include <getopt.h>

#include "options.h"
#include "ps/ps.h"
#include "util.h"

static const char usage[] = "usage: uslab ps [OPTION]...\n"
			    "List the running processes that use uslab, those of containers too.";

static const char notes[] =
	"Columns: resident memory of the process; bytes that the program holds, bytes of slabs,\n"
	"blocks and free pages, bytes of these that the program does not hold; errors reported so\n"
	"far; debug flags that any cache has, and u where allocations are sampled; version of\n"
	"uslab, the file that has it, the program.";

enum { OPTION_JSON = OPTION_OWN };

static const struct option_row rows[] = {
	{ 'S', "Size", NULL, "by space, most first (else by PID)" },
	{ 'B', "Bytes", NULL, "sizes in bytes" },
	{ OPTION_JSON, "json", NULL, "as JSON" },
	{ 0 },
};

struct arguments {
	bool by_space, bytes, json;
};

static int set_option(void *arg, int option, const char *value)
{
	struct arguments *arguments = arg;

	(void)value;
	switch (option) {
	case 'S':
		arguments->by_space = true;
		break;
	case 'B':
		arguments->bytes = true;
		break;
	default:
		arguments->json = true;
		break;
	}
	return EXIT_OK;
}

static int check(void *arg, int argc, char **argv)
{
	(void)arg;
	if (optind < argc)
		return util_usage_error(PS_COMMAND, "unexpected argument '%s'", argv[optind]);
	return EXIT_OK;
}

static const struct option_table options = { .command = PS_COMMAND,
					     .usage = usage,
					     .rows = rows,
					     .notes = notes,
					     .set = set_option,
					     .check = check };

/* Of what is not in the list; who is not root sees his own processes. */
static void warn_incomplete(const struct ps_table *table)
{
	if (table->left)
		util_warn(
			PS_COMMAND,
			"%u processes do not answer: the last %zu were not looked at; end some of "
			"the former, or use: uslab info -p PID",
			table->silent, table->left);
	if (table->closed)
		util_warn(PS_COMMAND,
			  "%u other process%s may not be looked into: that takes root, or "
			  "CAP_SYS_PTRACE over the user who has started it",
			  table->closed, table->closed == 1 ? "" : "es");
	if (!table->count)
		util_warn(PS_COMMAND,
			  "no process that may be looked into uses uslab; start one with: "
			  "uslab run -- PROGRAM");
}

int cmd_ps(int argc, char **argv)
{
	struct ps_table table = { .rows = NULL };
	struct arguments arguments = { .json = false };
	int status = options_take(&options, &arguments, argc, argv);

	if (status >= 0)
		return status;
	status = ps_take(&table);
	if (status == EXIT_OK) {
		if (arguments.by_space)
			ps_sort_by_space(&table);
		if (!arguments.json)
			ps_print_table(stdout, &table, arguments.bytes);
		else if (ps_print_json(stdout, &table))
			status = util_fail(PS_COMMAND, "out of memory");
		fflush(stdout);
		warn_incomplete(&table);
		if (table.left)
			status = EXIT_FAILED;
	}
	ps_free(&table);
	return util_finish(PS_COMMAND, status);
}
