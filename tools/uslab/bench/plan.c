/* SPDX-License-Identifier: MIT */
/*
 * uslab/bench/plan.c - who takes part in this run, on which CPUs, by which files
 *
 * Flow:       called by cmd_bench.c, for the number of threads by run.c, for that and the second
 *             CPU by report.c and report_json.c, and for the empty loop by count_step.c and
 *             count_valgrind.c; calls catalogue.c, given_peers.c and find_files.c. In: options;
 *             out: entries[] of struct session, with paths and CPUs.
 *
 * What follows from the tables of catalogue.c and the options. Files are looked for before anything
 * runs, so that a missing library ends the command at once and with its name, not in the middle of
 * a run.
 */
#define _GNU_SOURCE
#include "bench.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "../util.h"

/* ---- lists of names ---- */

static bool in_list(const char *list, const char *name)
{
	size_t length = strlen(name);

	for (const char *at = list; *at; at += strcspn(at, ",") + (at[strcspn(at, ",")] == ','))
		if (strcspn(at, ",") == length && !strncmp(at, name, length))
			return true;
	return false;
}

static bool is_peer(const struct contestant *c)
{
	return c->role == ROLE_PEER || c->role == ROLE_SYSTEM;
}

static bool is_called(const struct contestant *c, const char *name, size_t length)
{
	return strlen(c->name) == length && !strncmp(c->name, name, length);
}

/* Does the catalogue have it (with peers, as a peer), or is it given by its path? */
static bool is_known(const char *name, size_t length, bool peers)
{
	for (size_t i = 0; contestant_at(i); i++)
		if (is_called(contestant_at(i), name, length) &&
		    (!peers || is_peer(contestant_at(i))))
			return true;
	for (size_t i = 0; given_peer_at(i) && !peers; i++)
		if (is_called(&given_peer_at(i)->who, name, length))
			return true;
	return false;
}

/* NAME=PATH or @FILE, which given_peers.c has looked at. */
static bool is_given(const char *item, size_t length)
{
	return item[0] == '@' || memchr(item, '=', length);
}

/* The first name of the list that is no contestant (or, with peers, no peer), else false. */
static bool unknown_name(const char *list, bool peers, char name[MAX_NAME])
{
	for (const char *at = list; *at;) {
		size_t length = strcspn(at, ",");
		bool known = is_known(at, length, peers);

		if (peers)
			known |= is_given(at, length) || (length == 4 && !strncmp(at, "none", 4));
		if (!known) {
			snprintf(name, MAX_NAME, "%.*s", (int)length, at);
			return true;
		}
		at += length + (at[length] == ',');
	}
	return false;
}

static int check_names(const struct options *o)
{
	char name[MAX_NAME];

	if (o->peers && unknown_name(o->peers, true, name))
		return util_usage_error(COMMAND,
					"no peer '%s'; there are mimalloc, jemalloc, tcmalloc, "
					"tbbmalloc, glibc, NAME=PATH, @FILE, or none",
					name);
	if (o->only && unknown_name(o->only, false, name))
		return util_usage_error(COMMAND, "no contestant '%s'; --help lists them", name);
	return 0;
}

static bool takes_part(const struct session *s, const struct contestant *c)
{
	const struct options *o = &s->options;

	if (!(c->benchmarks & 1u << (s->benchmark - benchmark_at(0))))
		return false;
	if (o->only && !in_list(o->only, c->name))
		return false;
	return !o->peers || !is_peer(c) || given_peer_of(c) || in_list(o->peers, c->name);
}

/* ---- CPUs ---- */

/* The message has the CPUs that there are, "0-3,8"; of very many ranges the first ones. */
static int refuse_cpu(int refused, const cpu_set_t *allowed)
{
	char list[200] = "";
	size_t used = 0;

	for (int cpu = 0, last; cpu < CPU_SETSIZE && used < sizeof(list) - 20; cpu = last + 1) {
		for (last = cpu; last < CPU_SETSIZE && CPU_ISSET(last, allowed);)
			last++;
		if (last == cpu) /* not allowed */
			continue;
		used += (size_t)sprintf(list + used, "%s%d", used ? "," : "", cpu);
		if (last - cpu > 1)
			used += (size_t)sprintf(list + used, "-%d", last - 1);
	}
	return util_usage_error(COMMAND, "CPU %d is not there or not allowed; allowed: %s", refused,
				list);
}

/*
 * The last CPU of those allowed, where a system puts least of its own work, and for two threads
 * the one before it as well.
 */
static int plan_cpus(struct session *s)
{
	struct options *o = &s->options;
	cpu_set_t allowed;

	if (sched_getaffinity(0, sizeof(allowed), &allowed))
		return util_fail(COMMAND, "cannot ask which CPUs are allowed");
	for (int i = 0; i < 2; i++) {
		if (o->cpu[i] >= 0 && (o->cpu[i] >= CPU_SETSIZE || !CPU_ISSET(o->cpu[i], &allowed)))
			return refuse_cpu(o->cpu[i], &allowed);
		for (int cpu = CPU_SETSIZE - 1; cpu >= 0 && o->cpu[i] < 0; cpu--)
			if (CPU_ISSET(cpu, &allowed) && cpu != o->cpu[!i])
				o->cpu[i] = cpu;
	}
	if (s->benchmark->two_cpus && !o->threads && !o->cpus &&
	    (o->cpu[1] < 0 || o->cpu[0] == o->cpu[1]))
		return util_fail(COMMAND, "%s needs two CPUs%s", s->benchmark->name,
				 s->benchmark->takes & TAKES_THREADS ? ", or --threads" : "");
	return 0;
}

bool plan_second_cpu(const struct session *s)
{
	return (s->benchmark->two_cpus || s->benchmark->second_cpu) && s->options.cpu[1] >= 0;
}

unsigned int plan_threads(const struct session *s)
{
	cpu_set_t allowed;
	unsigned int cpus;

	if (s->options.threads)
		return s->options.threads;
	if (s->options.cpus)
		return s->options.cpus < MAX_THREADS ? s->options.cpus : MAX_THREADS;
	if (sched_getaffinity(0, sizeof(allowed), &allowed))
		return 1;
	cpus = (unsigned int)CPU_COUNT(&allowed);
	return cpus < MAX_THREADS ? cpus : MAX_THREADS;
}

/* ---- files ---- */

/* The first of the packages whose library is there; NULL: none is. Sets the library's path. */
static const struct packaged *find_packaged(const struct session *s, struct entry *e)
{
	for (const struct packaged *p = e->who->packages; p->package; p++)
		if (!p->file || find_library(e->library_path, p->file, s->options.peer_dir))
			return p;
	return NULL;
}

static int plan_peer(struct session *s, struct entry *e)
{
	const struct packaged *first = e->who->packages, *found = find_packaged(s, e);

	if (!found)
		return util_fail(COMMAND,
				 "%s is not installed (no %s%s%s): apt-get install %s%s%s, or "
				 "choose with --peers",
				 e->who->name, first->file, s->options.peer_dir ? " in " : "",
				 s->options.peer_dir ? s->options.peer_dir : "", first->package,
				 first[1].package ? " or " : "",
				 first[1].package ? first[1].package : "");
	e->package = found->package;
	package_version(e->version, found->package);
	/* the package of the same library has another name in another release */
	if (!e->version[0] && found[1].package && !strcmp(found[1].file, found->file)) {
		e->package = found[1].package;
		package_version(e->version, found[1].package);
	}
	return 0;
}

static int plan_library(struct session *s, struct entry *e)
{
	const struct contestant *c = e->who;

	if (c->packages)
		return plan_peer(s, e);
	if (given_peer_of(c)) {
		memcpy(e->library_path, given_peer_of(c)->path, PATH_MAX);
		memcpy(e->version, given_peer_of(c)->version, MAX_NAME);
		return 0;
	}
	if (!c->library || find_own_file(e->library_path, c->library))
		return 0;
	return util_fail(COMMAND, "%s is missing beside this program; build it with 'make'",
			 c->library);
}

static int plan_entry(struct session *s, const struct contestant *c)
{
	struct entry *e = &s->entries[s->nr++];

	e->who = c;
	e->size = s->options.size ? s->options.size : s->benchmark->size;
	if (!strcmp(c->name, "kmalloc-quiet"))
		e->size = 32; /* the size of the article that stays in order */
	e->counts = (struct counts){ -1, -1, -1, -1 };
	if (!find_own_file(e->worker_path, c->worker))
		return util_fail(COMMAND, "%s is missing beside this program; build it with 'make'",
				 c->worker);
	return plan_library(s, e);
}

static int plan_given(struct session *s)
{
	int status = 0;

	for (size_t i = 0; given_peer_at(i) && !status; i++)
		if (takes_part(s, &given_peer_at(i)->who))
			status = plan_entry(s, &given_peer_at(i)->who);
	return status;
}

int plan_session(struct session *s)
{
	int status = check_names(&s->options);

	if (!status)
		status = plan_cpus(s);
	for (size_t i = 0; contestant_at(i) && !status; i++) {
		if (contestant_at(i)->role == ROLE_SYSTEM)
			status = plan_given(s);
		if (!status && takes_part(s, contestant_at(i)))
			status = plan_entry(s, contestant_at(i));
	}
	if (!status && !s->nr)
		status = util_fail(COMMAND, "no contestant is left to measure");
	return status;
}

bool plan_loop(const struct session *s, struct entry *e)
{
	memset(e, 0, sizeof(*e));
	e->size = s->options.size ? s->options.size : s->benchmark->size;
	for (size_t i = 0; contestant_at(i); i++)
		if (!strcmp(contestant_at(i)->name, "loop"))
			e->who = contestant_at(i);
	return find_own_file(e->worker_path, e->who->worker);
}
