/* SPDX-License-Identifier: MIT */
/*
 * uslab/main.c - the command: one table of subcommands
 *
 * Data:       commands[], one row per subcommand.
 * Flow:       main(); calls cmd_run.c, cmd_ps.c, cmd_info.c, cmd_debug.c, cmd_defrag.c,
 *             cmd_track.c, cmd_top.c, cmd_fs.c, cmd_replay.c, cmd_compare.c and cmd_bench.c with
 *             the arguments after the name; their return value is the exit status.
 *
 * Everything else is in an archive that the unit tests link as well; a new subcommand is a line in
 * the table here, a prototype in util.h and a file cmd_NAME.c.
 */
#include "util.h"

#include <stdio.h>
#include <string.h>

struct command {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *help;
};

static const struct command commands[] = {
	{ "run", cmd_run, "start a program whose malloc is uslab" },
	{ "ps", cmd_ps, "list the running programs that use uslab" },
	{ "info", cmd_info, "list the caches of a running program" },
	{ "debug", cmd_debug, "switch checks of a running program on and off" },
	{ "defrag", cmd_defrag, "move objects of a running program, so that memory comes back" },
	{ "track", cmd_track, "show which call sites of a running program hold memory" },
	{ "top", cmd_top, "watch the caches of a running program" },
	{ "fs", cmd_fs, "show the caches of a running program as the kernel's files" },
	{ "replay", cmd_replay, "perform the allocations of a recorded kernel trace" },
	{ "compare", cmd_compare, "compare the kernel's allocators on recorded traces" },
	{ "bench", cmd_bench, "measure uslab beside other allocators" },
};

#define NR_COMMANDS (sizeof(commands) / sizeof(commands[0]))

static void print_help(void)
{
	puts("usage: uslab COMMAND [ARGUMENT]...\n"
	     "The Linux slab allocators in user space: run programs on them and look inside.\n");
	for (size_t i = 0; i < NR_COMMANDS; i++)
		printf("  %-8s %s\n", commands[i].name, commands[i].help);
	puts("\n"
	     "  -h, --help     this text; 'uslab COMMAND --help' says more about a command\n"
	     "  -V, --version  the version");
}

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : NULL;

	if (!name)
		return util_usage_error(NULL, "which command?");
	if (!strcmp(name, "--help") || !strcmp(name, "-h") || !strcmp(name, "help")) {
		print_help();
		return util_finish(NULL, EXIT_OK);
	}
	if (!strcmp(name, "--version") || !strcmp(name, "-V"))
		return util_version();
	for (size_t i = 0; i < NR_COMMANDS; i++)
		if (!strcmp(name, commands[i].name))
			return commands[i].run(argc - 1, argv + 1);
	return util_usage_error(NULL, "unknown command '%s'", name);
}
