/* SPDX-License-Identifier: MIT */
/*
 * uslab/cmd_bench.c - uslab bench: measures uslab beside other allocators, in turn, on this machine
 *
 * Reads the command line, then: plan (who and where), run (rounds), count (instructions), report.
 * The parts are in tools/uslab/bench; the programs that measure are in bench.
 */
#define _GNU_SOURCE
#include "bench/bench.h"

#include <stdlib.h>
#include <string.h>

#include "util.h"

#define DEFAULT_ROUNDS 9
#define DEFAULT_MS 60
#define QUICK_MS 6
#define RESULTS "bench/results"

enum {
	OPT_CPU = 256,
	OPT_SAVE,
	OPT_OUTPUT,
	OPT_NOTE,
	OPT_PEERS,
	OPT_PEER_DIR,
	OPT_ONLY,
	OPT_NO_COUNTS,
};

static void print_help(void)
{
	puts("usage: uslab bench NAME [OPTION]...\n"
	     "Measure uslab beside mimalloc, jemalloc, tcmalloc, tbbmalloc and glibc.\n");
	for (size_t i = 0; benchmark_at(i); i++)
		printf("  %-9s %s\n", benchmark_at(i)->name, benchmark_at(i)->what);
	puts("\n"
	     "  -r, --rounds N     rounds over all contestants (default 9, 1 to 99)\n"
	     "  -t, --ms N         milliseconds that a contestant measures per round (default 60)\n"
	     "  -s, --size N       bytes per object (default 64, 8 to 8192; pair, batch, remote)\n"
	     "      --cpu A[,B]    CPUs to run on (default: the last ones allowed)\n"
	     "      --peers LIST   only these of mimalloc,jemalloc,tcmalloc,tbbmalloc,glibc; or none\n"
	     "      --peer-dir DIR look for the peers' libraries in DIR only\n"
	     "      --only LIST    only these contestants, by the names in the result\n"
	     "      --no-counts    count no instructions (pair)\n"
	     "  -q, --quick        one short round: does it work at all?\n"
	     "  -j, --json         print JSON\n"
	     "      --save         keep the result in " RESULTS "\n"
	     "      --output DIR   keep it in DIR\n"
	     "      --note TEXT    keep TEXT with it, such as a commit\n"
	     "  -h, --help         this text\n"
	     "  -V, --version      the version");
}

/* "A" or "A,B" */
static bool parse_cpus(const char *text, int cpu[2])
{
	char copy[32], *comma;
	unsigned long value;

	if (snprintf(copy, sizeof(copy), "%s", text) >= (int)sizeof(copy))
		return false;
	comma = strchr(copy, ',');
	if (comma) {
		*comma = '\0';
		if (!util_parse_number(comma + 1, 0, INT_MAX, &value))
			return false;
		cpu[1] = (int)value;
	}
	if (!util_parse_number(copy, 0, INT_MAX, &value))
		return false;
	cpu[0] = (int)value;
	return cpu[0] != cpu[1];
}

static int parse_numeric(struct options *o, int option, const char *text)
{
	static const struct {
		int option;
		const char *name;
		unsigned long min, max;
	} ranges[] = {
		{ 'r', "--rounds", 1, MAX_ROUNDS },
		{ 't', "--ms", 1, 10000 },
		{ 's', "--size", 8, 8192 },
	};
	unsigned int *const targets[] = { &o->rounds, &o->ms, &o->size };

	for (size_t i = 0; i < 3; i++) {
		unsigned long value;

		if (ranges[i].option != option)
			continue;
		if (!util_parse_number(text, ranges[i].min, ranges[i].max, &value))
			return util_usage_error(COMMAND,
						"%s takes a number from %lu to %lu, not '%s'",
						ranges[i].name, ranges[i].min, ranges[i].max, text);
		*targets[i] = (unsigned int)value;
	}
	return 0;
}

/* One option. 0, or an exit status; *done: nothing more is to do. */
static int take_option(struct options *o, int option, const char *value, char **argv, bool *done)
{
	switch (option) {
	case 'r':
	case 't':
	case 's':
		return parse_numeric(o, option, value);
	case OPT_CPU:
		if (!parse_cpus(value, o->cpu))
			return util_usage_error(COMMAND,
						"--cpu takes one CPU number, or two that "
						"differ, as 1,0; not '%s'",
						value);
		break;
	case 'q':
		o->quick = true;
		break;
	case 'j':
		o->json = true;
		break;
	case OPT_SAVE:
		o->output = RESULTS;
		break;
	case OPT_OUTPUT:
		o->output = value;
		break;
	case OPT_NOTE:
		o->note = value;
		break;
	case OPT_PEERS:
		o->peers = value;
		break;
	case OPT_PEER_DIR:
		o->peer_dir = value;
		break;
	case OPT_ONLY:
		o->only = value;
		break;
	case OPT_NO_COUNTS:
		o->counts = false;
		break;
	case 'h':
		*done = true;
		print_help();
		return util_finish(COMMAND, EXIT_OK);
	case 'V':
		*done = true;
		return util_version();
	default:
		return util_bad_option(COMMAND, argv, option);
	}
	return 0;
}

static void keep_command(struct options *o, int argc, char **argv)
{
	size_t used = (size_t)snprintf(o->command, sizeof(o->command), "uslab");

	for (int i = 0; i < argc && used < sizeof(o->command); i++) {
		const char *quote = strpbrk(argv[i], " \t'\"$&;<>|*?()") ? "'" : "";

		used += (size_t)snprintf(o->command + used, sizeof(o->command) - used, " %s%s%s",
					 quote, argv[i], quote);
	}
}

static int parse_command_line(struct session *s, int argc, char **argv, bool *done)
{
	static const struct option options[] = {
		{ "rounds", required_argument, NULL, 'r' },
		{ "ms", required_argument, NULL, 't' },
		{ "size", required_argument, NULL, 's' },
		{ "cpu", required_argument, NULL, OPT_CPU },
		{ "quick", no_argument, NULL, 'q' },
		{ "json", no_argument, NULL, 'j' },
		{ "save", no_argument, NULL, OPT_SAVE },
		{ "output", required_argument, NULL, OPT_OUTPUT },
		{ "note", required_argument, NULL, OPT_NOTE },
		{ "peers", required_argument, NULL, OPT_PEERS },
		{ "peer-dir", required_argument, NULL, OPT_PEER_DIR },
		{ "only", required_argument, NULL, OPT_ONLY },
		{ "no-counts", no_argument, NULL, OPT_NO_COUNTS },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },
		{ 0 },
	};
	struct options *o = &s->options;
	int option, status;

	*o = (struct options){ .cpu = { -1, -1 }, .counts = true };
	keep_command(o, argc, argv);
	opterr = 0;
	optind = 0;
	while ((option = getopt_long(argc, argv, ":r:t:s:qjhV", options, NULL)) != -1) {
		status = take_option(o, option, optarg, argv, done);
		if (status || *done)
			return status;
	}
	if (optind == argc)
		return util_usage_error(COMMAND, "which benchmark?");
	s->benchmark = benchmark_find(argv[optind]);
	if (!s->benchmark)
		return util_usage_error(COMMAND, "no benchmark '%s'", argv[optind]);
	if (optind + 1 < argc)
		return util_usage_error(COMMAND, "one benchmark at a time, not '%s' as well",
					argv[optind + 1]);
	if (o->size && !s->benchmark->sized)
		return util_usage_error(COMMAND, "%s has no --size", s->benchmark->name);
	if (!o->rounds)
		o->rounds = o->quick ? 1 : DEFAULT_ROUNDS;
	if (!o->ms)
		o->ms = o->quick ? QUICK_MS : DEFAULT_MS;
	o->counts &= s->benchmark->counts;
	return 0;
}

static int measure(struct session *s)
{
	int status = plan_session(s);

	if (!status)
		status = run_session(s);
	if (!status && s->options.counts)
		count_by_steps(s);
	if (!status && s->options.counts && !s->options.quick)
		count_by_valgrind(s);
	return status;
}

static int print_results(const struct session *s, const struct machine *m)
{
	char *json = report_json(s, m), *text = NULL;
	size_t length = 0;
	FILE *page = open_memstream(&text, &length);
	int status = EXIT_OK;

	if (page) {
		report_text(s, m, page);
		fclose(page);
	}
	if (!json || !text) {
		status = util_fail(COMMAND, "out of memory");
	} else {
		fputs(s->options.json ? json : text, stdout);
		if (s->options.output)
			status = save_session(s, text, json);
	}
	free(text);
	free(json);
	return util_finish(COMMAND, status);
}

int cmd_bench(int argc, char **argv)
{
	struct session *s = calloc(1, sizeof(*s));
	struct machine machine;
	bool done = false;
	int status;

	if (!s)
		return util_fail(COMMAND, "out of memory");
	status = parse_command_line(s, argc, argv, &done);
	if (!status && !done) {
		machine_describe(&machine); /* before the load that it makes itself */
		status = measure(s);
		if (!status)
			status = print_results(s, &machine);
	}
	for (size_t i = 0; i < s->nr; i++)
		for (size_t j = 0; j < s->entries[i].nr_lists; j++)
			free(s->entries[i].lists[j].values);
	free(s);
	return status;
}
