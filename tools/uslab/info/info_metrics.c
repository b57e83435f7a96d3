/* SPDX-License-Identifier: MIT */
/*
 * uslab/info/info_metrics.c - snapshots as OpenMetrics or Prometheus text
 *
 * Flow:       called by cmd_info.c, and for parts of a line by info_groups.c, which it calls; calls
 *             info_memory.c and memory_text.c for bytes that are resident, info_rows.c for
 *             labels. In: snapshots; out: text on stdout.
 *
 * No two samples may have the same labels: a cache whose name another one has, too, gets its number
 * behind it, as in the tree of `uslab fs`.
 *
 * The two formats name counters differently: OpenMetrics wants `# TYPE x counter` before x_total,
 * Prometheus text wants x_total there. So there is one of each, with the same samples. A family
 * without samples is left out: its head comes with the first.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "info/info.h"
#include "info/memory_text.h"
#include "util.h"

struct metrics {
	const struct info_subject *subjects;
	unsigned int count;
	bool prometheus;	/* else OpenMetrics */
	struct distinct *names; /* of each subject that is open: labels of its caches */
};

/* M(name, kind, unit, help, value): c is the cache. */
#define CACHE_METRICS(M)                                                                     \
	M("uslab_cache_active_objects", "gauge", "", "Objects that the program holds.",      \
	  c->objects)                                                                        \
	M("uslab_cache_held_objects", "gauge", "", "Free objects cached by CPUs and nodes.", \
	  c->objects_held)                                                                   \
	M("uslab_cache_room_objects", "gauge", "", "Objects that all slabs have room for.",  \
	  c->total_objects)                                                                  \
	M("uslab_cache_partial_objects", "gauge", "", "Objects in use in partial slabs.",    \
	  c->objects_partial)                                                                \
	M("uslab_cache_tracked_objects", "gauge", "", "Objects whose users are stored.",     \
	  c->tracked)                                                                        \
	M("uslab_cache_object_bytes", "gauge", "bytes", "Bytes of the objects in use.",      \
	  c->object_bytes)                                                                   \
	M("uslab_cache_slab_bytes", "gauge", "bytes", "Bytes of all slabs.", c->slab_bytes)  \
	M("uslab_cache_object_size_bytes", "gauge", "bytes", "Bytes of one object.",         \
	  (unsigned long)c->object_size)                                                     \
	M("uslab_cache_slabs", "gauge", "", "Slabs, those of CPUs included.", c->slabs)      \
	M("uslab_cache_partial_slabs", "gauge", "", "Slabs with room, on lists of nodes.",   \
	  c->partial)                                                                        \
	M("uslab_cache_cpu_slabs", "gauge", "", "Slabs that belong to a CPU.", c->cpu_slabs) \
	M("uslab_cache_debug_slabs", "gauge", "", "Slabs of checked objects.", c->debug_slabs)

/* The same, of caches that have a limit, or had one at which something failed. */
#define CACHE_LIMIT_METRICS(M)                                                                  \
	M("uslab_cache_limit_bytes", "gauge", "bytes", "What all slabs may have.", c->limit)    \
	M("uslab_cache_limit_refused_total", "counter", "", "Allocations that failed at that.", \
	  c->limit_refused)

/* The same, of caches whose objects moved, or were to. */
#define CACHE_DEFRAG_METRICS(M)                                                        \
	M("uslab_cache_defrag_moved_total", "counter", "", "Objects that were moved.", \
	  c->defrag_moved)                                                             \
	M("uslab_cache_defrag_refused_total", "counter", "",                           \
	  "Times that the program did not move an object.", c->defrag_refused)         \
	M("uslab_cache_defrag_bytes_total", "counter", "bytes",                        \
	  "Slabs emptied so, each one, in bytes.", c->defrag_bytes)

/* M(name, kind, unit, help, value): s is the snapshot of subject, t its totals. */
#define PROCESS_METRICS(M)                                                                    \
	M("uslab_allocated_bytes", "gauge", "bytes", "What the program holds.",               \
	  object_bytes(s) + t->run_bytes + t->mapped_bytes)                                   \
	M("uslab_active_bytes", "gauge", "bytes", "Slabs and whole pages in use.",            \
	  t->slab_bytes + t->run_bytes + t->mapped_bytes)                                     \
	M("uslab_resident_bytes", "gauge", "bytes", "What all of uslab has in memory.",       \
	  info_resident(subject))                                                             \
	M("uslab_retained_bytes", "gauge", "bytes", "Free pages that the system has back.",   \
	  t->free_bytes > t->dirty_bytes ? t->free_bytes - t->dirty_bytes : 0)                \
	M("uslab_mapped_bytes", "gauge", "bytes", "Arena grown so far, and single mappings.", \
	  t->arena_bytes + t->mapped_bytes)                                                   \
	M("uslab_metadata_bytes", "gauge", "bytes", "The allocator's own data, in memory.",   \
	  info_metadata(subject))                                                             \
	M("uslab_realtime_bytes", "gauge", "bytes", "Pages made ready at the start.",         \
	  t->realtime_bytes)                                                                  \
	M("uslab_realtime_locked_bytes", "gauge", "bytes", "Of these, locked in memory.",     \
	  t->realtime_locked)                                                                 \
	M("uslab_realtime_exceeded_total", "counter", "",                                     \
	  "Calls for which these were not enough.", t->realtime_exceeded)                     \
	M("uslab_limit_refused_total", "counter", "",                                         \
	  "Attempts to take more; a request makes several.", t->limit_refused)                \
	M("uslab_shrinker_freed_total", "counter", "",                                        \
	  "Objects that shrinkers of the program freed.", t->shrinker_freed)                  \
	M("uslab_reports_total", "counter", "", "Errors of the program that were reported.",  \
	  t->reports)                                                                         \
	M("uslab_guard_bugs_total", "counter", "", "Errors that guard pages found.", t->guard_bugs)

/* The same, of a process that has a limit. */
#define PROCESS_LIMIT_METRICS(M) \
	M("uslab_limit_bytes", "gauge", "bytes", "What the process may have.", t->limit)

void info_print_label(const char *key, const char *text)
{
	printf("%s=\"", key);
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			putchar('\\');
		putchar(*text);
	}
	putchar('"');
}

/* Which process, core or tree; without the braces. */
static void print_source(const struct info_subject *subject)
{
	const struct source *source = &subject->source;

	switch (source->options.kind) {
	case SOURCE_PROCESS:
		printf("pid=\"%d\",", (int)source->target.pid);
		info_print_label("program", source->target.program);
		break;
	case SOURCE_CORE:
		info_print_label("core", source->title);
		break;
	case SOURCE_TREE:
		info_print_label("tree", source->title);
		break;
	}
}

#define COUNTER "_total"

static void print_head(const struct info_family *family)
{
	const char *name = family->name;
	int len = (int)strlen(name);

	if (!family->prometheus && !strcmp(family->kind, "counter"))
		len -= (int)strlen(COUNTER);
	printf("# TYPE %.*s %s\n", len, name, family->kind);
	if (family->unit[0] && !family->prometheus)
		printf("# UNIT %.*s %s\n", len, name, family->unit);
	printf("# HELP %.*s %s\n", len, name, family->help);
}

void info_begin_sample(struct info_family *family, const struct info_subject *subject)
{
	if (!family->begun)
		print_head(family);
	family->begun = true;
	printf("%s{", family->name);
	print_source(subject);
}

/* Of the cache of a row of subject number i. */
static void print_labels(const struct metrics *m, unsigned int i, const struct info_row *row)
{
	unsigned int cache = (unsigned int)(row->cache - m->subjects[i].s->cache);

	putchar(',');
	info_print_label("cache", distinct_own(&m->names[i], cache));
	if (row->cache->engine[0]) {
		putchar(',');
		info_print_label("engine", row->cache->engine);
	}
}

/* All caches of all subjects for each metric: a family must stand together. */
static void print_cache_metrics(const struct metrics *m)
{
#define METRIC_IF(condition, name, kind, unit, help, value)                                   \
	{                                                                                     \
		struct info_family family = { name, kind, unit, help, m->prometheus, false }; \
                                                                                              \
		for (unsigned int i = 0; i < m->count; i++)                                   \
			for (unsigned int j = 0; j < m->subjects[i].nr_rows; j++) {           \
				const struct info_row *row = &m->subjects[i].rows[j];         \
				const struct snapshot_cache *c = row->cache;                  \
                                                                                              \
				if (!(condition))                                             \
					continue;                                             \
				info_begin_sample(&family, &m->subjects[i]);                  \
				print_labels(m, i, row);                                      \
				printf("} %lu\n", (unsigned long)(value));                    \
			}                                                                     \
	}
#define METRIC(...) METRIC_IF(true, __VA_ARGS__)
	CACHE_METRICS(METRIC)
#undef METRIC
#define METRIC(...) METRIC_IF(c->limit || c->limit_refused, __VA_ARGS__)
	CACHE_LIMIT_METRICS(METRIC)
#undef METRIC
#define METRIC(...) METRIC_IF(c->defrag_moved || c->defrag_refused || c->defrag_bytes, __VA_ARGS__)
	CACHE_DEFRAG_METRICS(METRIC)
#undef METRIC
#undef METRIC_IF
}

static unsigned long object_bytes(const struct snapshot *s)
{
	unsigned long sum = 0;

	for (unsigned int i = 0; i < s->nr_caches; i++)
		if (s->cache[i].id)
			sum += s->cache[i].object_bytes;
	return sum;
}

/* One that has ended while others go on has no snapshot any more. */
static void print_process_metrics(const struct metrics *m)
{
#define METRIC_IF(condition, name, kind, unit, help, value)                                   \
	{                                                                                     \
		struct info_family family = { name, kind, unit, help, m->prometheus, false }; \
                                                                                              \
		for (unsigned int i = 0; i < m->count; i++) {                                 \
			const struct info_subject *subject = &m->subjects[i];                 \
			const struct snapshot *s = subject->s;                                \
			const struct snapshot_totals *t = s ? &s->totals : NULL;              \
                                                                                              \
			if (!subject->open || !t || !(condition))                             \
				continue;                                                     \
			info_begin_sample(&family, subject);                                  \
			printf("} %lu\n", (unsigned long)(value));                            \
		}                                                                             \
	}
#define METRIC(...) METRIC_IF(true, __VA_ARGS__)
	PROCESS_METRICS(METRIC)
#undef METRIC
#define METRIC(...) METRIC_IF(t->limit, __VA_ARGS__)
	PROCESS_LIMIT_METRICS(METRIC)
#undef METRIC
#undef METRIC_IF
}

static bool knows_memory(const struct info_subject *subject)
{
	return subject->open && subject->resident && !subject->memory_error;
}

/* For each process of which it is known. */
static void print_memory_metrics(const struct metrics *m)
{
	struct info_family kinds = {
		.name = "uslab_memory_bytes",
		.kind = "gauge",
		.unit = "bytes",
		.help = "Resident memory of uslab, by kind.",
		.prometheus = m->prometheus,
	};
	struct info_family sums = {
		.name = "uslab_memory_sum_bytes",
		.kind = "gauge",
		.unit = "bytes",
		.help = "Of that and the whole process: sums, and what is of no kind.",
		.prometheus = m->prometheus,
	};

	for (unsigned int i = 0; i < m->count; i++)
		for (enum memory_kind kind = 0;
		     knows_memory(&m->subjects[i]) && kind < NR_MEMORY_KINDS; kind++) {
			info_begin_sample(&kinds, &m->subjects[i]);
			printf(",kind=\"%s\"} %lu\n", memory_key(kind),
			       m->subjects[i].resident->memory.kind[kind]);
		}
	for (unsigned int i = 0; i < m->count; i++)
		for (enum memory_sum sum = 0; knows_memory(&m->subjects[i]) && sum < NR_MEMORY_SUMS;
		     sum++) {
			info_begin_sample(&sums, &m->subjects[i]);
			printf(",sum=\"%s\"} %ld\n", memory_sum_key(sum),
			       (long)memory_sum(m->subjects[i].resident, sum));
		}
}

/* Those that happened: most caches count nothing. */
static void print_events(const struct metrics *m)
{
	struct info_family family = {
		.name = "uslab_cache_events_total",
		.kind = "counter",
		.unit = "",
		.help = "Events counted with USLAB_CONF=stats.",
		.prometheus = m->prometheus,
	};

	for (unsigned int i = 0; i < m->count; i++)
		for (unsigned int j = 0; j < m->subjects[i].nr_rows; j++) {
			const struct info_row *row = &m->subjects[i].rows[j];

#define CACHE_STAT(item, key, help)                                          \
	if (row->cache->stat[item]) {                                        \
		info_begin_sample(&family, &m->subjects[i]);                 \
		print_labels(m, i, row);                                     \
		printf(",event=\"%s\"} %lu\n", key, row->cache->stat[item]); \
	}
#include "inspect/fields.def"
		}
}

static void print_node(struct info_family *family, const struct info_subject *subject,
		       unsigned int node, unsigned long value)
{
	info_begin_sample(family, subject);
	printf(",node=\"%u\"} %lu\n", node, value);
}

/* Machines with one node have none. Names as those of the JSON, with the units that they say. */
static void print_node_metrics(const struct metrics *m)
{
#define NODE(member, name, kind, help)                                                      \
	{                                                                                   \
		struct info_family family = { name, kind, "", help, m->prometheus, false }; \
                                                                                            \
		for (unsigned int i = 0; i < m->count; i++) {                               \
			const struct info_subject *subject = &m->subjects[i];               \
			const struct snapshot *s = subject->s;                              \
                                                                                            \
			if (!subject->open || s->totals.nodes < 2)                          \
				continue;                                                   \
			for (unsigned int node = 0; node < s->totals.nodes; node++)         \
				print_node(&family, subject, node, s->node[node].member);   \
		}                                                                           \
	}
#define NODE_FIELD(member, key, help) NODE(member, "uslab_node_" key, "gauge", help)
#define NODE_COUNT(member, key, help) NODE(member, "uslab_node_" key COUNTER, "counter", help)
#include "inspect/fields.def"
#undef NODE
}

static void print_all(const struct metrics *m)
{
	print_cache_metrics(m);
	print_events(m);
	if (m->count && m->subjects[0].source.options.kind != SOURCE_TREE) {
		print_process_metrics(m);
		print_memory_metrics(m);
		print_node_metrics(m);
		info_print_group_metrics(m->subjects, m->count, m->prometheus);
	}
	if (!m->prometheus)
		puts("# EOF");
}

int info_print_metrics(const struct info *info, const struct info_subject *subjects,
		       unsigned int count)
{
	const struct metrics m = {
		.subjects = subjects,
		.count = count,
		.prometheus = info->mode == INFO_PROMETHEUS,
		.names = calloc(count + 1, sizeof(*m.names)), /* NULL is no answer to none */
	};

	if (!m.names)
		return util_fail(INFO_COMMAND, "out of memory");
	for (unsigned int i = 0; i < count; i++)
		if (subjects[i].open)
			info_distinct(subjects[i].s, &info->options, &m.names[i]);
	print_all(&m);
	free(m.names);
	return EXIT_OK;
}
