/* SPDX-License-Identifier: MIT */
/*
 * uslab/cmd_run.c - `uslab run`: a program, with libuslab_malloc.so in front of its libraries
 *
 * The command becomes the program (exec), so that its PID, signals and exit status are the
 * program's own. Exit statuses of the shell: 127 not found, 126 found and not to be run.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "program.h"
#include "report/env.h"
#include "report/names.h"
#include "util.h"

#define COMMAND "run"
#define LIBRARY "libuslab_malloc.so"

enum { EXIT_NOT_EXECUTABLE = 126, EXIT_NOT_FOUND = 127 };

static const char help[] =
	"usage: uslab run [--engine=ENGINE] [--front=FRONT] [--] PROGRAM [ARGUMENT]...\n"
	"Start a program whose malloc is uslab.\n"
	"\n"
	"  -e, --engine=ENGINE  how objects are packed into pages\n"
	"  -f, --front=FRONT    what a CPU keeps in hand; historical: the engine's own\n"
	"  -h, --help           this text\n"
	"  -V, --version        the version\n"
	"\n"
	"The program is found as a shell finds it, and replaces this command.";

static const struct option long_options[] = {
	{ "engine", required_argument, NULL, 'e' },
	{ "front", required_argument, NULL, 'f' },
	{ "help", no_argument, NULL, 'h' },
	{ "version", no_argument, NULL, 'V' },
	{ NULL, 0, NULL, 0 },
};

struct run {
	const char *engine; /* NULL: as it is */
	const char *front;
	char library[PATH_MAX];
};

/* The fronts, and the one that the engine had in the kernel. */
static const char *front_choice(unsigned int i)
{
	const char *name = names_front(i);

	return name || (i && !names_front(i - 1)) ? name : "historical";
}

static void print_choices(const char *what, const char *(*name)(unsigned int))
{
	printf("%s:", what);
	for (unsigned int i = 0; name(i); i++)
		printf(" %s", name(i));
	putchar('\n');
}

/* EXIT_OK if value is one of the names. */
static int check_choice(const char *what, const char *value, const char *(*name)(unsigned int))
{
	char all[256] = "";

	for (unsigned int i = 0; name(i); i++) {
		size_t used = strlen(all);

		if (!strcmp(value, name(i)))
			return EXIT_OK;
		snprintf(all + used, sizeof(all) - used, "%s%s", used ? ", " : "", name(i));
	}
	return util_usage_error(COMMAND, "no %s '%s'; there is: %s", what, value, all);
}

/* Returns the exit status, or -1: go on with argv[optind]. */
static int parse(struct run *run, int argc, char **argv)
{
	int status = EXIT_OK;
	int got;

	while (status == EXIT_OK &&
	       (got = getopt_long(argc, argv, "+:e:f:hV", long_options, NULL)) != -1) {
		switch (got) {
		case 'h':
			puts(help);
			print_choices("Engines", names_engine);
			print_choices("Fronts", front_choice);
			return util_finish(COMMAND, EXIT_OK);
		case 'V':
			return util_version();
		case 'e':
			run->engine = optarg;
			status = check_choice("engine", optarg, names_engine);
			break;
		case 'f':
			run->front = optarg;
			status = check_choice("front", optarg, front_choice);
			break;
		default:
			return util_bad_option(COMMAND, argv, got);
		}
	}
	if (status == EXIT_OK && optind >= argc)
		status = util_usage_error(COMMAND, "which program?");
	return status == EXIT_OK ? -1 : status;
}

/*
 * The library inside of this command starts before main(), so the words of the command line come
 * from the kernel. What is wrong with variables for the program is said by the program's own
 * library, and was said twice.
 */
bool os_env_is_ours(void)
{
	char words[PATH_MAX + sizeof(COMMAND)];
	int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd >= 0 ? read(fd, words, sizeof(words)) : -1;
	const char *first_end = n > 0 ? memchr(words, '\0', (size_t)n) : NULL;
	size_t left = first_end ? (size_t)(words + n - first_end - 1) : 0;

	if (fd >= 0)
		close(fd);
	return left < sizeof(COMMAND) || memcmp(first_end + 1, COMMAND, sizeof(COMMAND)) != 0;
}

/* ---- the library ----------------------------------------------------------------------------- */

/* The folder of this command, without the last slash; false: unknown. */
static bool own_folder(char *buf, size_t size)
{
	ssize_t n = readlink("/proc/self/exe", buf, size - 1);
	char *slash;

	if (n <= 0)
		return false;
	buf[n] = '\0';
	slash = strrchr(buf, '/');
	if (!slash)
		return false;
	*slash = '\0';
	return true;
}

/* Makes the path absolute and free of links, so that it survives a chdir. */
static bool resolve(struct run *run, const char *path)
{
	return realpath(path, run->library) && access(run->library, R_OK) == 0;
}

static int find_library(struct run *run)
{
	/* as installed, which may be in a folder for this kind of machine, and as built */
	static const char *const places[] = { USLAB_LIB_FROM_BIN, "../lib" };
	const char *given = getenv("USLAB_MALLOC_SO");
	char folder[PATH_MAX];
	char path[PATH_MAX + 64];

	if (given && *given)
		return resolve(run, given)
			       ? EXIT_OK
			       : util_fail(COMMAND,
					   "cannot read '%s', named by USLAB_MALLOC_SO: %s", given,
					   strerror(errno));
	if (!own_folder(folder, sizeof(folder)))
		return util_fail(COMMAND, "cannot tell where " LIBRARY
					  " is: no /proc/self/exe; set USLAB_MALLOC_SO");
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s/" LIBRARY, folder, places[i]);
		if (resolve(run, path))
			return EXIT_OK;
	}
	return util_fail(COMMAND, "no " LIBRARY " in %s/%s; set USLAB_MALLOC_SO", folder,
			 USLAB_LIB_FROM_BIN);
}

/* Sets name to first and second with a separator between, whichever of them there are. */
static int set_joined(const char *name, const char *first, char separator, const char *second)
{
	char *value;
	int failed;

	if (!first || !*first || !second || !*second) {
		const char *only = first && *first ? first : second;

		return only && setenv(name, only, 1) ? -errno : 0;
	}
	if (asprintf(&value, "%s%c%s", first, separator, second) < 0)
		return -ENOMEM;
	failed = setenv(name, value, 1) ? -errno : 0;
	free(value);
	return failed;
}

static int set_environment(const struct run *run, bool preload)
{
	int error = 0;

	/* ld.so takes both for separators, and there is no quoting */
	if (strpbrk(run->library, " :"))
		return util_fail(COMMAND, "'%s' cannot be preloaded: blank or colon in its path",
				 run->library);
	if (preload)
		error = set_joined("LD_PRELOAD", run->library, ':', getenv("LD_PRELOAD"));
	if (!error && run->engine) {
		char pair[64];

		snprintf(pair, sizeof(pair), "engine=%s", run->engine);
		error = set_joined("USLAB_CONF", getenv("USLAB_CONF"), ',', pair);
	}
	if (!error && run->front) {
		char pair[64];

		snprintf(pair, sizeof(pair), "front=%s", run->front);
		error = set_joined("USLAB_CONF", getenv("USLAB_CONF"), ',', pair);
	}
	return error ? util_fail(COMMAND, "cannot set the environment: %s", strerror(-error))
		     : EXIT_OK;
}

/*
 * Says what will keep the program from using the library; it is started all the same. false: it
 * would not start with LD_PRELOAD. Else it is set even where it has no effect: what the program
 * starts may well take it.
 */
static bool may_preload(const char *name)
{
	char path[PATH_MAX];
	bool fatal = false;
	const char *why;

	if (!program_find(name, path, sizeof(path)))
		return true;
	why = program_ignores_preload(path, &fatal);
	if (why)
		util_warn(COMMAND, "'%s' will run without uslab: %s", path, why);
	return !fatal;
}

int cmd_run(int argc, char **argv)
{
	struct run run = { .engine = NULL };
	int status;
	int error;

	opterr = 0;
	optind = 0;
	status = parse(&run, argc, argv);
	if (status >= 0)
		return status;
	status = find_library(&run);
	if (status == EXIT_OK)
		status = set_environment(&run, may_preload(argv[optind]));
	if (status != EXIT_OK)
		return status;

	execvp(argv[optind], argv + optind);
	error = errno;
	util_fail(COMMAND, "cannot run '%s': %s", argv[optind], strerror(error));
	return error == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE;
}
