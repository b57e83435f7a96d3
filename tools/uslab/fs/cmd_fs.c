/* SPDX-License-Identifier: MIT */
/*
 * uslab/fs/cmd_fs.c - `uslab fs`: the caches of a process as files, like those of the kernel
 *
 * On a folder, or for a command that runs with them in place of the kernel's.
 */
#define _GNU_SOURCE
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fs/fs.h"
#include "util.h"

static const char help[] =
	"usage: uslab fs -p PID [OPTION]... DIR\n"
	"       uslab fs -p PID --enter [--] [COMMAND [ARGUMENT]...]\n"
	"Show the slab caches of a running process as the kernel shows its own: as a tree like\n"
	"/sys/kernel/slab, and a file like /proc/slabinfo.\n"
	"\n"
	"  -p, --pid=PID       the process\n"
	"      --core=FILE     a core file, in place of a process\n"
	"      --program=FILE  the program that the core is of, if it is not found\n"
	"      --library=NAME  of several copies of uslab, the one in a file named like this\n"
	"\n"
	"On a folder, until it is unmounted (fusermount3 -u DIR) or the process ends:\n"
	"  DIR                 an empty folder: DIR/kernel/slab, DIR/proc/slabinfo, ...\n"
	"  -f, --foreground    stay, do not go to the background\n"
	"\n"
	"For one command, without root:\n"
	"  -e, --enter         run COMMAND (your shell) with these files in place of the kernel's,\n"
	"                      for example: uslab fs -p PID --enter -- slabtop -o\n"
	"\n"
	"      --force         writes also to a process that its seccomp filter may end for it\n"
	"\n"
	"  -h, --help          this text\n"
	"  -V, --version       the version";

enum { OPTION_CORE = 256, OPTION_PROGRAM, OPTION_LIBRARY, OPTION_FORCE };

static const struct option long_options[] = {
	{ "pid", required_argument, NULL, 'p' },
	{ "core", required_argument, NULL, OPTION_CORE },
	{ "program", required_argument, NULL, OPTION_PROGRAM },
	{ "library", required_argument, NULL, OPTION_LIBRARY },
	{ "foreground", no_argument, NULL, 'f' },
	{ "enter", no_argument, NULL, 'e' },
	{ "force", no_argument, NULL, OPTION_FORCE },
	{ "help", no_argument, NULL, 'h' },
	{ "version", no_argument, NULL, 'V' },
	{ NULL, 0, NULL, 0 },
};

struct arguments {
	struct source_options source;
	bool foreground;
	bool enter;
	char **rest; /* DIR, or COMMAND and its arguments */
};

/* What was said as a whole. */
static int check(struct arguments *arguments, int argc, char **argv)
{
	struct source_options *source = &arguments->source;
	int rest = argc - optind;

	arguments->rest = argv + optind;
	if (!source->pid && !source->core)
		return util_usage_error(FS_COMMAND, "which process? Say -p PID");
	if (source->pid && source->core)
		return util_usage_error(FS_COMMAND, "a process or a core file, not both");
	if (source->core)
		source->kind = SOURCE_CORE;
	if (source->program && !source->core)
		return util_usage_error(FS_COMMAND, "--program goes with --core");
	if (arguments->enter)
		return arguments->foreground
			       ? util_usage_error(FS_COMMAND, "--foreground goes with DIR")
			       : EXIT_OK;
	if (!rest)
		return util_usage_error(FS_COMMAND, "on which folder? Say DIR, or --enter");
	if (rest > 1)
		return util_usage_error(FS_COMMAND, "one folder only: '%s' is too much",
					argv[optind + 1]);
	return EXIT_OK;
}

static int set_option(void *arg, int option, const char *value)
{
	struct arguments *arguments = arg;
	struct source_options *source = &arguments->source;

	switch (option) {
	case 'p':
		return util_parse_pid(FS_COMMAND, value, &source->pid);
	case OPTION_CORE:
		source->core = value;
		break;
	case OPTION_PROGRAM:
		source->program = value;
		break;
	case OPTION_LIBRARY:
		source->library = value;
		break;
	case OPTION_FORCE:
		source->force = true;
		break;
	case 'f':
		arguments->foreground = true;
		break;
	default:
		arguments->enter = true;
		break;
	}
	return EXIT_OK;
}

static const struct util_options options = { FS_COMMAND, help, "+:p:fehV", long_options,
					     set_option };

/* Returns the exit status, or -1: go on. */
static int parse(struct arguments *arguments, int argc, char **argv)
{
	int status = util_take_options(&options, arguments, argc, argv);

	if (status >= 0)
		return status;
	status = check(arguments, argc, argv);
	return status == EXIT_OK ? -1 : status;
}

static int enter(struct fs *fs, char **command)
{
	char *shell[] = { getenv("SHELL"), NULL };

	if (!shell[0] || !shell[0][0])
		shell[0] = "/bin/sh";
	return fs_enter(fs, command[0] ? command : shell);
}

int cmd_fs(int argc, char **argv)
{
	struct arguments arguments = { .source = { .command = FS_COMMAND } };
	struct fs fs;
	int status;

	status = parse(&arguments, argc, argv);
	if (status >= 0)
		return status;
	status = fs_open(&fs, &arguments.source);
	if (status != EXIT_OK)
		return status;
	status = arguments.enter ? enter(&fs, arguments.rest)
				 : fs_serve_folder(&fs, arguments.rest[0], arguments.foreground);
	fs_close(&fs);
	return status;
}
