/* SPDX-License-Identifier: MIT */
/*
 * uslab/bench/run.c - runs the workers in turn and collects what they print
 *
 * Flow:       called by cmd_bench.c, for the exec of a worker by count_step.c, count_longest.c and
 *             count_valgrind.c, and to look up metrics by report.c, report_protocol.c,
 *             report_arrays.c, report_locality.c, report_latency.c, report_modes.c and
 *             report_json.c; calls plan.c, given_peers.c, stats.c and util.c for progress. In:
 *             entries[]; out: their metrics and lists.
 *
 * Every round starts every contestant once, each in a process of its own, and the next round starts
 * with another one: what drifts (temperature, other load) hits all alike. Medians over the rounds
 * are taken at the end.
 */
#define _GNU_SOURCE
#include "bench.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../util.h"

#define MAX_ARGS 48

/* ---- one worker ---- */

struct command {
	const char *argv[MAX_ARGS];
	char numbers[MAX_ARGS][24];
	size_t n;
};

static void put_words(struct command *c, const char *const *words)
{
	while (*words)
		c->argv[c->n++] = *words++;
	c->argv[c->n] = NULL;
}

static void put_number(struct command *c, const char *name, unsigned long long value)
{
	snprintf(c->numbers[c->n], sizeof(c->numbers[0]), "%llu", value);
	put_words(c, (const char *const[]){ name, c->numbers[c->n], NULL });
}

/* Arguments of the kernel's protocols only; 0 is their own choice. */
static void put_protocol(struct command *c, const struct session *s)
{
	const struct options *o = &s->options;

	put_number(c, "--objects", o->objects);
	put_number(c, "--groups", o->groups);
	put_number(c, "--fds", o->fds);
	put_number(c, "--loops", o->loops);
}

/* What the contestant needs goes behind what the user has there, and so wins. */
static void set_conf(const char *conf, const struct options *o)
{
	const char *set = getenv("USLAB_CONF");
	char all[1024], topology[40] = "";

	if (o->cpus)
		snprintf(topology, sizeof(topology), ",topology=%ux%u", o->cpus, o->nodes);
	snprintf(all, sizeof(all), "%s%s%s%s", set ? set : "", set && *set ? "," : "", conf,
		 topology);
	setenv("USLAB_CONF", all, 1);
}

static void set_environment(const struct session *s, const struct entry *e)
{
	const struct given_peer *given = given_peer_of(e->who);

	if (e->library_path[0])
		setenv("LD_PRELOAD", e->library_path, 1);
	else
		unsetenv("LD_PRELOAD");
	if (e->who->conf)
		set_conf(e->who->conf, &s->options);
	for (size_t i = 0; given && i < given->nr_variables; i++)
		putenv(given->variables[i]);
}

/* The threads of these go wherever the scheduler puts them. */
static bool is_pinned(const char *mode)
{
	return strcmp(mode, "larson") && strcmp(mode, "hackbench");
}

void exec_worker(const struct session *s, const struct entry *e, const struct entry_args *args,
		 const char *const *tool)
{
	const struct options *o = &s->options;
	struct command c = { .n = 0 };

	if (tool)
		put_words(&c, tool);
	put_words(&c, (const char *const[]){ e->worker_path, "--mode", args->mode, "--contestant",
					     e->who->argument, NULL });
	put_number(&c, "--size", e->size ? e->size : 64);
	put_number(&c, "--ms", o->ms);
	put_number(&c, "--count", args->count);
	put_number(&c, "--threads",
		   s->benchmark->columns ? plan_threads(s)
					 : (unsigned long long)sysconf(_SC_NPROCESSORS_ONLN));
	if (o->cpu[1] >= 0)
		put_number(&c, "--cpu2", (unsigned int)o->cpu[1]);
	if (is_pinned(args->mode))
		put_number(&c, "--cpu", (unsigned int)o->cpu[0]);
	if (args->longest)
		put_number(&c, "--longest", args->longest);
	if (s->benchmark->columns)
		put_protocol(&c, s);
	else if (s->benchmark->takes & TAKES_BULK)
		put_number(&c, "--objects", o->objects);
	set_environment(s, e);
	execvp(c.argv[0], (char *const *)c.argv);
	fprintf(stderr, "uslab bench: cannot run %s: %s\n", c.argv[0], strerror(errno));
	_exit(127);
}

static struct metric *metric_for(struct entry *e, const char *name)
{
	for (size_t i = 0; i < e->nr_metrics; i++)
		if (!strcmp(e->metrics[i].name, name))
			return &e->metrics[i];
	if (e->nr_metrics == MAX_METRICS)
		return NULL;
	snprintf(e->metrics[e->nr_metrics].name, MAX_NAME, "%s", name);
	return &e->metrics[e->nr_metrics++];
}

static bool keep_list(struct entry *e, const char *name, const char *text)
{
	struct list *l = &e->lists[e->nr_lists];
	size_t most = strlen(text) / 2 + 1; /* no more numbers than that fit the text */
	char *end;

	if (e->nr_lists == MAX_LISTS)
		return false;
	l->values = calloc(most, sizeof(*l->values));
	if (!l->values)
		return false;
	snprintf(l->name, MAX_NAME, "%s", name);
	for (;; text = end) {
		long value = strtol(text, &end, 10);

		if (end == text)
			break;
		l->values[l->n++] = value;
	}
	e->nr_lists++;
	return true;
}

/* The library that was to be preloaded is the one whose malloc the worker has. */
static bool same_file(const char *expected, const char *origin)
{
	char a[PATH_MAX], b[PATH_MAX];

	return !expected[0] || (realpath(expected, a) && realpath(origin, b) && !strcmp(a, b));
}

/* One line of a worker. False: no line of this protocol, or the wrong library. */
static bool take_line(struct entry *e, char *line, size_t round)
{
	char name[MAX_NAME];
	struct metric *m;
	double value;
	int at = 0;

	line[strcspn(line, "\n")] = '\0';
	if (sscanf(line, "metric %31s %lf", name, &value) == 2) {
		m = metric_for(e, name);
		if (m)
			m->values[round] = value;
		return m;
	}
	if (sscanf(line, "list %31s %n", name, &at) == 1 && at)
		return round || keep_list(e, name, line + at);
	if (sscanf(line, "text origin %n", &at) == 0 && at)
		return same_file(e->library_path, line + at);
	return false;
}

/* Runs one worker once. 0 or an exit status, with a message. */
static int run_worker(struct session *s, struct entry *e, const struct entry_args *args,
		      size_t round)
{
	char *line = NULL, bad[160] = "";
	size_t size = 0;
	int fds[2], status;
	FILE *output;
	pid_t pid;

	if (pipe(fds))
		return util_fail(COMMAND, "cannot make a pipe: %s", strerror(errno));
	pid = util_fork();
	if (pid < 0)
		return util_fail(COMMAND, "cannot fork: %s", strerror(errno));
	if (pid == 0) {
		dup2(fds[1], STDOUT_FILENO);
		close(fds[0]);
		close(fds[1]);
		exec_worker(s, e, args, NULL);
	}
	close(fds[1]);
	output = fdopen(fds[0], "r");
	while (output && getline(&line, &size, output) > 0)
		if (!bad[0] && !take_line(e, line, round))
			snprintf(bad, sizeof(bad), "%s", line);
	if (output)
		fclose(output);
	free(line);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (WIFSIGNALED(status))
		return util_fail(COMMAND, "%s (mode %s) was ended by signal %d: %s", e->who->name,
				 args->mode, WTERMSIG(status), strsignal(WTERMSIG(status)));
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		return util_fail(COMMAND, "%s (mode %s) failed", e->who->name, args->mode);
	if (bad[0])
		return util_fail(COMMAND, "%s (mode %s) was not measured: its worker says '%s'",
				 e->who->name, args->mode, bad);
	return 0;
}

/* ---- all of them ---- */

static void summarise(struct session *s)
{
	for (size_t i = 0; i < s->nr; i++)
		for (size_t j = 0; j < s->entries[i].nr_metrics; j++) {
			struct metric *m = &s->entries[i].metrics[j];

			stats_of(&m->stats, m->values, s->options.rounds);
		}
}

/* Every mode, but of the models of memory only the one asked for. */
static bool is_wanted(const struct session *s, const char *mode)
{
	const char *dash = strchr(mode, '-');

	return !s->options.model || !dash || !strcmp(dash + 1, s->options.model);
}

int run_session(struct session *s)
{
	const struct benchmark *b = s->benchmark;
	struct progress progress;
	int status = 0;

	progress_start(&progress, COMMAND);
	for (size_t round = 0; round < s->options.rounds && !status; round++)
		for (size_t i = 0; i < s->nr && !status; i++) {
			struct entry *e = &s->entries[(round + i) % s->nr];

			progress_show(&progress, "%s: round %zu of %u, %s", b->name, round + 1,
				      s->options.rounds, e->who->name);
			for (size_t m = 0; m < MAX_MODES && b->modes[m] && !status; m++) {
				struct entry_args args = { b->modes[m], s->options.ops, 0 };

				if (is_wanted(s, b->modes[m]))
					status = run_worker(s, e, &args, round);
			}
		}
	progress_end(&progress);
	summarise(s);
	return status;
}

const struct metric *entry_metric(const struct entry *e, const char *name)
{
	for (size_t i = 0; i < e->nr_metrics; i++)
		if (!strcmp(e->metrics[i].name, name))
			return &e->metrics[i];
	return NULL;
}

const struct list *entry_list(const struct entry *e, const char *name)
{
	for (size_t i = 0; i < e->nr_lists; i++)
		if (!strcmp(e->lists[i].name, name))
			return &e->lists[i];
	return NULL;
}
