/* SPDX-License-Identifier: MIT */
/*
 * uslab/info/info_report.c - all about one cache: sizes, slabs, debugging, memory, users (spec 8.4,
 * 8.8)
 *
 * Flow:       called by cmd_info.c and info_address.c; calls inspect/text.c, info_activity.c,
 *             info_memory.c, info_numa.c, and traces.c or process/tree.c for who allocated. In: one
 *             row; out: text.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "info/info.h"
#include "inspect/text.h"
#include "info/traces.h"
#include "process/tree.h"
#include "util.h"

#define RULE "------------------------------------------------------------------------"

static const char *on_off(const struct snapshot_cache *c, slab_flags_t flag)
{
	return c->flags & flag ? "On " : "Off";
}

static void print_notes(const struct snapshot_cache *c)
{
	if (c->flags & SLAB_HWCACHE_ALIGN)
		puts("** Hardware cacheline aligned");
	if (c->flags & SLAB_CACHE_DMA)
		puts("** Memory is allocated in a special DMA zone");
	if (c->flags & SLAB_TYPESAFE_BY_RCU)
		puts("** Slabs are destroyed via RCU");
	if (c->flags & SLAB_RECLAIM_ACCOUNT)
		puts("** Reclaim accounting active");
}

/* Of a slab with so much room, bytes behind its last object. */
static unsigned long tail(const struct snapshot_cache *c, unsigned long slab)
{
	unsigned long used = (unsigned long)c->objs_per_slab * c->slab_size;

	return slab > used ? slab - used : 0;
}

static void print_sizes(const struct snapshot_cache *c)
{
	unsigned long slab = PAGE_SIZE << c->order;
	unsigned int loss = c->slab_size > c->object_size ? c->slab_size - c->object_size : 0;
	unsigned long others = c->partial + c->cpu_slabs;
	unsigned long full = c->slabs > others ? c->slabs - others : 0;

	puts("\nSizes (bytes)     Slabs              Debug                Memory\n" RULE);
	printf("Object : %7u  Total  : %7lu   Sanity Checks : %s  Total: %7lu\n", c->object_size,
	       c->slabs, on_off(c, SLAB_CONSISTENCY_CHECKS), c->slab_bytes);
	printf("SlabObj: %7u  Full   : %7lu   Redzoning     : %s  Used : %7lu\n", c->slab_size,
	       full, on_off(c, SLAB_RED_ZONE), c->object_bytes);
	printf("SlabSiz: %7lu  Partial: %7lu   Poisoning     : %s  Loss : %7lu\n", slab, c->partial,
	       on_off(c, SLAB_POISON), text_loss(c));
	printf("Loss   : %7u  CpuSlab: %7lu   Tracking      : %s  Lalig: %7lu\n", loss,
	       c->cpu_slabs, on_off(c, SLAB_STORE_USER), loss * c->objects);
	printf("Align  : %7u  Objects: %7u   Tracing       : %s  Lpadd: %7lu\n", c->align,
	       c->objs_per_slab, on_off(c, SLAB_TRACE), tail(c, slab) * c->slabs);
}

static void print_limit(const struct snapshot_cache *c)
{
	if (c->limit)
		printf("\nLimit  : %7lu  Refused: %7lu\n", c->limit, c->limit_refused);
}

void info_print_ops(const struct info_subject *subject, const struct info_row *row)
{
	char *text = NULL;
	size_t size = 0;
	FILE *buffer = NULL;

	if (subject->source.options.kind == SOURCE_TREE)
		buffer = open_memstream(&text, &size);
	if (buffer) {
		tree_copy(buffer, subject->source.tree, row->cache, "ops");
		fclose(buffer);
	}
	if (size)
		printf("\n%s: kmem_cache operations\n%.44s\n%s", row->name, RULE, text);
	else
		printf("\n%s has no kmem_cache operations\n", row->name);
	free(text);
}

/* ---- users ----------------------------------------------------------------------------------- */

struct resolve *info_resolve(struct info_subject *subject)
{
	const struct source_options *options = &subject->source.options;

	if (!subject->resolve)
		subject->resolve =
			options->kind == SOURCE_CORE
				? resolve_core(options->core, options->program, options->sysroot)
				: resolve_process(options->pid);
	return subject->resolve;
}

/*
 * debugfs, which is beside the tree: /sys/kernel/debug/slab, and likewise under `uslab fs`; then
 * files of kernels before 5.14.
 */
static bool print_tree_traces(const struct info_subject *subject, const struct snapshot_cache *c,
			      enum track_item item)
{
	bool is_alloc = item == TRACK_ALLOC;
	const char *traces = is_alloc ? "alloc_traces" : "free_traces";
	const char *calls = is_alloc ? "alloc_calls" : "free_calls";
	const char *tree = subject->source.tree;
	char debug[sizeof(subject->source.tree) + 16];

	snprintf(debug, sizeof(debug), "%s/../debug/slab", tree);
	return tree_copy(stdout, debug, c, traces) || tree_copy(stdout, tree, c, calls);
}

static int print_traces(struct info_subject *subject, const struct snapshot_cache *c,
			enum track_item item)
{
	struct traces_options options = { .item = item };
	struct resolve *resolve;
	int ret;

	if (subject->source.options.kind == SOURCE_TREE) {
		if (!print_tree_traces(subject, c, item))
			puts("No Data");
		return EXIT_OK;
	}
	if (!c->tracked && !(c->flags & SLAB_STORE_USER)) {
		puts("No Data");
		return EXIT_OK;
	}
	resolve = info_resolve(subject);
	if (!resolve)
		return util_fail(INFO_COMMAND, "out of memory");
	ret = traces_text(stdout, subject->s, (unsigned int)(c - subject->s->cache), resolve,
			  &options);
	return ret ? util_fail(INFO_COMMAND, "cannot read who uses %s: %s", c->name, strerror(-ret))
		   : EXIT_OK;
}

int info_print_tracking(struct info_subject *subject, const struct info_row *row)
{
	int status;

	printf("\n%s: Kernel object allocation\n%.71s\n", row->name, RULE);
	status = print_traces(subject, row->cache, TRACK_ALLOC);
	if (status != EXIT_OK)
		return status;
	printf("\n%s: Kernel object freeing\n%s\n", row->name, RULE);
	return print_traces(subject, row->cache, TRACK_FREE);
}

int info_print_report(struct info_subject *subject, const struct info_row *row)
{
	const struct snapshot_cache *c = row->cache;
	int status;

	printf("\nSlabcache: %-15s  Aliases: %2u Order : %2u Objects: %lu\n", row->name,
	       c->refcount ? c->refcount - 1 : 0, c->order, c->objects);
	print_notes(c);
	print_sizes(c);
	print_limit(c);
	info_print_ops(subject, row);
	status = info_print_tracking(subject, row);
	if (status != EXIT_OK)
		return status;
	info_print_cache_memory(subject, c);
	info_print_nodes(subject->s, row);
	info_print_performance(c);
	return EXIT_OK;
}
