/* SPDX-License-Identifier: MIT */
/*
 * uslab/run/cmd_run.c - `uslab run`: a program, with libuslab_malloc.so in front of its libraries
 *
 * Flow:       called by main.c; calls options.c, program.c, process/mapped_file.c and
 *             inspect/names.c. In: options and a command; out: LD_PRELOAD and USLAB_CONF in the
 *             environment, then exec.
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
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "process/mapped_file.h"
#include "run/program.h"
#include "options.h"
#include "inspect/env.h"
#include "inspect/names.h"
#include "inspect/options.h"
#include "util.h"

#define COMMAND "run"
#define LIBRARY "libuslab_malloc.so"

enum { EXIT_NOT_EXECUTABLE = 126, EXIT_NOT_FOUND = 127 };

enum { OPTION_HELP_OPTIONS = OPTION_OWN };

struct run {
	const char *engine; /* NULL: as it is */
	const char *front;
	bool help_options;
	char library[PATH_MAX];
};

/* The fronts, and the one that the engine had in the kernel. */
static const char *front_choice(unsigned int i)
{
	const char *name = names_front(i);

	return name || (i && !names_front(i - 1)) ? name : "historical";
}

/* ---- help ------------------------------------------------------------------------------------ */

static const struct option_text *option_text_of(const char *key)
{
	size_t i = 0;

	while (i < NR_OPTION_TEXTS && (!option_texts[i].key || strcmp(option_texts[i].key, key)))
		i++;
	return &option_texts[i];
}

static void list_choices(void)
{
	putchar('\n');
	options_print_names("Engines", names_engine);
	options_print_names("Fronts", front_choice);
}

static void print_aliases(const char *key)
{
	for (size_t i = 0; i < NR_OPTION_TEXTS; i++)
		if (option_texts[i].alias && !strcmp(option_texts[i].alias, key))
			printf(", %s", option_texts[i].key);
}

static int print_option_texts(void)
{
	char values[256];

	puts("USLAB_CONF=KEY=VALUE,... in the environment of a program that uses uslab; defaults\n"
	     "are in brackets.");
	for (size_t i = 0; i < NR_OPTION_TEXTS; i++) {
		const struct option_text *o = &option_texts[i];

		if (o->group)
			printf("\n%s:\n", o->group);
		if (!o->takes)
			continue;
		printf("  %s", o->key);
		print_aliases(o->key);
		printf(" [%s]\n", o->initial);
		options_print_wrapped(0, 6, o->help);
		snprintf(values, sizeof(values), "takes %s; since %s", o->takes, o->since);
		options_print_wrapped(0, 6, values);
	}
	puts("\nUSLAB_DEBUG=FLAGS[,CACHE...][;...] as the kernel's slab_debug; FLAGS may be - for none,\n"
	     "and empty for F, Z, P and U:");
	for (size_t i = 0; i < NR_DEBUG_FLAG_TEXTS; i++) {
		const struct debug_flag_text *flag = &debug_flag_texts[i];

		snprintf(values, sizeof(values), "%s (%s)", flag->help, flag->where);
		printf("  %c\n", flag->letter);
		options_print_wrapped(0, 6, values);
	}
	return util_finish(COMMAND, EXIT_OK);
}

/* ---- arguments ------------------------------------------------------------------------------- */

static int set_choice(const char **choice, const char *what, const char *value, options_names *name)
{
	*choice = value;
	return options_choose(COMMAND, what, value, name) < 0 ? EXIT_USAGE : EXIT_OK;
}

static int set_option(void *arg, int option, const char *value)
{
	struct run *run = arg;

	switch (option) {
	case OPTION_HELP_OPTIONS:
		run->help_options = true;
		return EXIT_OK;
	case 'e':
		return set_choice(&run->engine, "engine", value, names_engine);
	default:
		return set_choice(&run->front, "front", value, front_choice);
	}
}

/* Returns the exit status, or -1: go on with argv[optind]. */
static int parse(struct run *run, int argc, char **argv)
{
	const struct option_row rows[] = {
		{ 'e', "engine", "ENGINE", option_text_of("engine")->help },
		{ 'f', "front", "FRONT", option_text_of("front")->help },
		{ OPTION_HELP_OPTIONS, "help-options", NULL,
		  "what the program takes in USLAB_CONF and USLAB_DEBUG" },
		{ 0 },
	};
	const struct option_table table = {
		.command = COMMAND,
		.usage =
			"usage: uslab run [--engine=ENGINE] [--front=FRONT] [--] PROGRAM [ARGUMENT]...\n"
			"Start a program whose malloc is uslab. It is found as a shell finds it, and replaces\n"
			"this command.",
		.list = list_choices,
		.rows = rows,
		.stops = true,
		.set = set_option,
	};
	int status = options_take(&table, run, argc, argv);

	if (status >= 0)
		return status;
	if (run->help_options)
		return print_option_texts();
	return optind < argc ? -1 : util_usage_error(COMMAND, "which program?");
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

/* ld.so goes on without what it cannot preload, and preloads whatever it is told. */
static bool is_ours(const char *library)
{
	static const char name[] = "uslab_malloc_should_move"; /* only it has that symbol */
	int fd = mapped_file_open_regular(library);
	struct stat status;
	void *file = MAP_FAILED;
	bool found = false;

	if (fd >= 0 && !fstat(fd, &status) && status.st_size > 0)
		file = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (file != MAP_FAILED) {
		found = memmem(file, (size_t)status.st_size, name, sizeof(name));
		munmap(file, (size_t)status.st_size);
	}
	if (fd >= 0)
		close(fd);
	return found;
}

static int take_given(struct run *run, const char *given)
{
	if (!resolve(run, given))
		return util_fail(COMMAND, "cannot read '%s', named by USLAB_MALLOC_SO: %s", given,
				 strerror(errno));
	if (!is_ours(run->library))
		return util_fail(COMMAND, "'%s', named by USLAB_MALLOC_SO, is no " LIBRARY, given);
	return EXIT_OK;
}

static int find_library(struct run *run)
{
	/*
	 * as installed, which may be in a folder for this kind of machine, as built, and as both
	 * are copied into one folder
	 */
	static const char *const places[] = { USLAB_LIB_FROM_BIN, "../lib", "." };
	const char *given = getenv("USLAB_MALLOC_SO");
	char folder[PATH_MAX];
	char path[PATH_MAX + 64];

	if (given && *given)
		return take_given(run, given);
	if (!own_folder(folder, sizeof(folder)))
		return util_fail(COMMAND, "cannot tell where " LIBRARY
					  " is: no /proc/self/exe; set USLAB_MALLOC_SO");
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s/" LIBRARY, folder, places[i]);
		if (resolve(run, path))
			return EXIT_OK;
		if (errno != ENOENT && errno != ENOTDIR)
			return util_fail(COMMAND, "cannot read %s: %s", path, strerror(errno));
	}
	return util_fail(COMMAND, "no " LIBRARY " in %s/%s, nor in %s; set USLAB_MALLOC_SO", folder,
			 USLAB_LIB_FROM_BIN, folder);
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
