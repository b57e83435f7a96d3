/* SPDX-License-Identifier: MIT */
/*
 * uslab/fs/cmd_fs.c - `uslab fs`: the caches of a process as files, like those of the kernel
 *
 * Flow:       called by main.c; calls options.c, process/source.c for its options, fs_snapshot.c,
 *             then fs_serve.c for a folder or fs_namespace.c for a command.
 *
 * On a folder, or for a command that sees them in place of the kernel's.
 *
 * Read fs.h first, which has the layout of the tree; then this file, fs_snapshot.c, fs_tree.c
 * (paths), fs_attr.c (what is in a file), fs_store.c (what is written to one), fs_serve.c.
 */
#define _GNU_SOURCE
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fs/fs.h"
#include "options.h"
#include "util.h"

static const char usage[] =
	"usage: uslab fs -p PID [OPTION]... DIR\n"
	"       uslab fs -p PID --enter [--] [COMMAND [ARGUMENT]...]\n"
	"Show the slab caches of a running process as the kernel shows its own: as a tree like\n"
	"/sys/kernel/slab, and a file like /proc/slabinfo.";

static const char notes[] =
	"DIR is an empty folder, on which DIR/kernel/slab, DIR/proc/slabinfo, ... are until it is\n"
	"unmounted (fusermount3 -u DIR) or the process ends. --enter is for one command, without\n"
	"root, for example: uslab fs -p PID --enter -- slabtop -o";

static const struct option_row rows[] = {
	ROW_PID,
	ROW_CORE,
	ROW_PROGRAM,
	ROW_SYSROOT,
	ROW_LIBRARY,
	{ 'f', "foreground", NULL, "stay, do not go to the background" },
	{ 'e', "enter", NULL,
	  "run COMMAND (your shell) with these files in place of the kernel's" },
	ROW_FORCE,
	{ 0 },
};

struct arguments {
	struct source_options source;
	bool foreground;
	bool enter;
	char **rest; /* DIR, or COMMAND and its arguments */
};

/* What was said as a whole. */
static int check(void *arg, int argc, char **argv)
{
	struct arguments *arguments = arg;
	struct source_options *source = &arguments->source;
	int rest = argc - optind;

	arguments->rest = argv + optind;
	if (!source->pid && !source->core)
		return util_usage_error(FS_COMMAND,
					"which process? Use -p PID ('uslab ps' lists them)");
	if (source->pid && source->core)
		return util_usage_error(FS_COMMAND, "a process or a core file, not both");
	if (source_check_core(source) != EXIT_OK)
		return EXIT_USAGE;
	if (arguments->enter)
		return arguments->foreground
			       ? util_usage_error(FS_COMMAND, "--foreground goes with DIR")
			       : EXIT_OK;
	if (!rest)
		return util_usage_error(FS_COMMAND, "on which folder? Use DIR, or --enter");
	if (rest > 1)
		return util_usage_error(FS_COMMAND, "one folder only: unexpected argument '%s'",
					argv[optind + 1]);
	return EXIT_OK;
}

static int set_option(void *arg, int option, const char *value)
{
	struct arguments *arguments = arg;
	int status;

	if (source_take_option(&arguments->source, option, value, &status))
		return status;
	if (option == 'f')
		arguments->foreground = true;
	else
		arguments->enter = true;
	return EXIT_OK;
}

static const struct option_table options = { .command = FS_COMMAND,
					     .usage = usage,
					     .rows = rows,
					     .notes = notes,
					     .stops = true,
					     .set = set_option,
					     .check = check };

static int enter(struct fs *fs, char **command)
{
	char *shell[] = { getenv("SHELL"), NULL };

	if (!shell[0] || !shell[0][0])
		shell[0] = "/bin/sh";
	return fs_enter(fs, command[0] ? command : shell);
}

/* The path from the root, for free(); NULL: it is that already, or there is none, or no memory. */
static char *from_root(const char *path)
{
	char *here = path && *path && *path != '/' ? getcwd(NULL, 0) : NULL;
	char *made = NULL;

	if (here && asprintf(&made, "%s/%s", here, path) < 0)
		made = NULL;
	free(here);
	return made;
}

static int serve(const struct arguments *arguments)
{
	struct fs fs;
	int status = fs_open(&fs, &arguments->source);

	if (status != EXIT_OK)
		return status;
	status = arguments->enter ? enter(&fs, arguments->rest)
				  : fs_serve_folder(&fs, arguments->rest[0], arguments->foreground);
	fs_close(&fs);
	return status;
}

int cmd_fs(int argc, char **argv)
{
	struct arguments arguments = { .source = { .command = FS_COMMAND } };
	struct source_options *source = &arguments.source;
	enum { PATHS = 3 };
	const char **path[PATHS] = { &source->core, &source->program, &source->sysroot };
	char *made[PATHS];
	int status = options_take(&options, &arguments, argc, argv);

	if (status >= 0)
		return status;
	/* in the background the folder is /, and there they are opened again for names of code */
	for (unsigned int i = 0; i < PATHS; i++) {
		made[i] = from_root(*path[i]);
		if (made[i])
			*path[i] = made[i];
	}
	status = serve(&arguments);
	for (unsigned int i = 0; i < PATHS; i++)
		free(made[i]);
	return status;
}
