/* SPDX-License-Identifier: MIT */
/*
 * uslab/info/info_metrics.c - snapshots as OpenMetrics text, which Prometheus reads as well
 *
 * Flow:       called by cmd_info.c, and for parts of a line by info_groups.c, which it calls; calls
 *             info_memory.c and memory_text.c for bytes that are resident. In: snapshots; out: text
 *             on stdout.
 *
 * The two formats name counters differently: OpenMetrics wants `# TYPE x counter` before x_total,
 * Prometheus text wants x_total there. Counters have no type line here, only help: both read that,
 * and by the name know what it is.
 */
#include <stdio.h>

#include "info/info.h"
#include "info/memory_text.h"

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

/* M(name, kind, unit, help, value): s is the snapshot, t its totals. */
#define PROCESS_METRICS(M)                                                                        \
	M("uslab_allocated_bytes", "gauge", "bytes", "What the program holds.",                   \
	  object_bytes(s) + t->run_bytes + t->mapped_bytes)                                       \
	M("uslab_active_bytes", "gauge", "bytes", "Slabs and whole pages in use.",                \
	  t->slab_bytes + t->run_bytes + t->mapped_bytes)                                         \
	M("uslab_resident_bytes", "gauge", "bytes", "What all of uslab has in memory.",           \
	  info_resident(&subjects[i]))                                                            \
	M("uslab_retained_bytes", "gauge", "bytes", "Free pages that the system has back.",       \
	  t->free_bytes > t->dirty_bytes ? t->free_bytes - t->dirty_bytes : 0)                    \
	M("uslab_mapped_bytes", "gauge", "bytes", "Arena grown so far, and single mappings.",     \
	  t->arena_bytes + t->mapped_bytes)                                                       \
	M("uslab_metadata_bytes", "gauge", "bytes", "The allocator's own data, in memory.",       \
	  info_metadata(&subjects[i]))                                                            \
	M("uslab_realtime_bytes", "gauge", "bytes", "Pages made ready at the start.",             \
	  t->realtime_bytes)                                                                      \
	M("uslab_realtime_locked_bytes", "gauge", "bytes", "Of these, locked in memory.",         \
	  t->realtime_locked)                                                                     \
	M("uslab_realtime_exceeded_total", NULL, "", "Calls for which these were not enough.",    \
	  t->realtime_exceeded)                                                                   \
	M("uslab_limit_bytes", "gauge", "bytes", "What the process may have; 0: any.", t->limit)  \
	M("uslab_limit_refused_total", NULL, "", "Attempts to take more than that.",              \
	  t->limit_refused)                                                                       \
	M("uslab_shrinker_freed_total", NULL, "", "Objects that shrinkers of the program freed.", \
	  t->shrinker_freed)                                                                      \
	M("uslab_reports_total", NULL, "", "Errors of the program that were reported.",           \
	  t->reports)                                                                             \
	M("uslab_guard_bugs_total", NULL, "", "Errors that guard pages found.", t->guard_bugs)

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
void info_print_source(const struct info_subject *subject)
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

static void print_cache(const struct info_subject *subject, const struct info_row *row)
{
	info_print_source(subject);
	putchar(',');
	info_print_label("cache", row->name);
	if (row->cache->engine[0]) {
		putchar(',');
		info_print_label("engine", row->cache->engine);
	}
}

void info_print_family(const char *name, const char *kind, const char *unit, const char *help)
{
	if (kind)
		printf("# TYPE %s %s\n", name, kind);
	if (unit[0])
		printf("# UNIT %s %s\n", name, unit);
	printf("# HELP %s %s\n", name, help);
}

/* All caches of all subjects for each metric: a family must stand together. */
static void print_cache_metrics(const struct info_subject *subjects, unsigned int count)
{
#define METRIC(name, kind, unit, help, value)                                       \
	info_print_family(name, kind, unit, help);                                  \
	for (unsigned int i = 0; i < count; i++)                                    \
		for (unsigned int j = 0; j < subjects[i].nr_rows; j++) {            \
			const struct snapshot_cache *c = subjects[i].rows[j].cache; \
                                                                                    \
			fputs(name "{", stdout);                                    \
			print_cache(&subjects[i], &subjects[i].rows[j]);            \
			printf("} %lu\n", (unsigned long)(value));                  \
		}
	CACHE_METRICS(METRIC)
#undef METRIC
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
static void print_process_metrics(const struct info_subject *subjects, unsigned int count)
{
#define METRIC(name, kind, unit, help, value)                            \
	info_print_family(name, kind, unit, help);                       \
	for (unsigned int i = 0; i < count; i++) {                       \
		const struct snapshot *s = subjects[i].s;                \
		const struct snapshot_totals *t = s ? &s->totals : NULL; \
                                                                         \
		if (!subjects[i].open || !t)                             \
			continue;                                        \
		fputs(name "{", stdout);                                 \
		info_print_source(&subjects[i]);                         \
		printf("} %lu\n", (unsigned long)(value));               \
	}
	PROCESS_METRICS(METRIC)
#undef METRIC
}

/* For each process of which it is known. */
static void print_memory_metrics(const struct info_subject *subjects, unsigned int count)
{
	info_print_family("uslab_memory_bytes", "gauge", "bytes",
			  "Resident memory of uslab, by kind.");
	for (unsigned int i = 0; i < count; i++) {
		if (!subjects[i].open || !subjects[i].resident || subjects[i].memory_error)
			continue;
		for (enum memory_kind kind = 0; kind < NR_MEMORY_KINDS; kind++) {
			fputs("uslab_memory_bytes{", stdout);
			info_print_source(&subjects[i]);
			printf(",kind=\"%s\"} %lu\n", memory_key(kind),
			       subjects[i].resident->memory.kind[kind]);
		}
	}
	info_print_family("uslab_memory_sum_bytes", "gauge", "bytes",
			  "Of that and the whole process: sums, and what is of no kind.");
	for (unsigned int i = 0; i < count; i++) {
		if (!subjects[i].open || !subjects[i].resident || subjects[i].memory_error)
			continue;
		for (enum memory_sum sum = 0; sum < NR_MEMORY_SUMS; sum++) {
			fputs("uslab_memory_sum_bytes{", stdout);
			info_print_source(&subjects[i]);
			printf(",sum=\"%s\"} %ld\n", memory_sum_key(sum),
			       (long)memory_sum(subjects[i].resident, sum));
		}
	}
}

static void print_event(const struct info_subject *subject, const struct info_row *row,
			const char *event, unsigned long value)
{
	if (!value)
		return;
	fputs("uslab_cache_events_total{", stdout);
	print_cache(subject, row);
	printf(",event=\"%s\"} %lu\n", event, value);
}

/* Those that happened: most caches count nothing. */
static void print_events(const struct info_subject *subjects, unsigned int count)
{
	info_print_family("uslab_cache_events_total", NULL, "",
			  "Events counted with USLAB_CONF=stats.");
	for (unsigned int i = 0; i < count; i++)
		for (unsigned int j = 0; j < subjects[i].nr_rows; j++) {
			const struct info_row *row = &subjects[i].rows[j];

#define CACHE_STAT(item, key, help) print_event(&subjects[i], row, key, row->cache->stat[item]);
#include "inspect/fields.def"
		}
}

static void print_node(const struct info_subject *subject, unsigned int node, unsigned long value)
{
	info_print_source(subject);
	printf("node=\"%u\"} %lu\n", node, value);
}

/* Machines with one node have none. Names as those of the JSON, with the units that they say. */
static void print_node_metrics(const struct info_subject *subjects, unsigned int count)
{
#define NODE_FIELD(member, key, help)                                         \
	info_print_family("uslab_node_" key, "gauge", "", help);              \
	for (unsigned int i = 0; i < count; i++) {                            \
		const struct snapshot *s = subjects[i].s;                     \
                                                                              \
		if (!subjects[i].open || s->totals.nodes < 2)                 \
			continue;                                             \
		for (unsigned int node = 0; node < s->totals.nodes; node++) { \
			fputs("uslab_node_" key "{", stdout);                 \
			print_node(&subjects[i], node, s->node[node].member); \
		}                                                             \
	}
#include "inspect/fields.def"
}

void info_print_metrics(const struct info_subject *subjects, unsigned int count)
{
	print_cache_metrics(subjects, count);
	print_events(subjects, count);
	if (count && subjects[0].source.options.kind != SOURCE_TREE) {
		print_process_metrics(subjects, count);
		print_memory_metrics(subjects, count);
		print_node_metrics(subjects, count);
		info_print_group_metrics(subjects, count);
	}
	puts("# EOF");
}
