/* SPDX-License-Identifier: MIT */
/*
 * uslab/fs/fs_slabinfo.c - /proc/slabinfo of a process, version 2.1 (spec 9.1), and numastat
 *
 * Flow:       called by fs_tree.c; calls inspect/slabinfo.c, fs_names.c and info/info_rows.c. In: a
 *             snapshot; out: text.
 *
 * active_objs is what the program holds, as in `uslab info`; the kernel counts what CPUs cache too.
 * The size of an object is its stride, as ever in this file.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>

#include "fs/fs.h"
#include "info/info.h"
#include "inspect/slabinfo.h"

static const char header[] =
	"slabinfo - version: 2.1\n"
	"# name            <active_objs> <num_objs> <objsize> <objperslab> <pagesperslab>"
	" : tunables <limit> <batchcount> <sharedfactor>"
	" : slabdata <active_slabs> <num_slabs> <sharedavail>\n";

static void print_line(FILE *out, const struct snapshot *s, unsigned int cache, const char *name)
{
	const struct snapshot_cache *c = &s->cache[cache];
	struct slabinfo_tunables t;

	slabinfo_tunables(s, cache, &t);
	fprintf(out, "%-17s %6lu %6lu %6u %4u %4d", name, c->objects, c->total_objects,
		c->slab_size, c->objs_per_slab, 1 << c->order);
	fprintf(out, " : tunables %4u %4u %4u", t.limit, t.batchcount, t.shared);
	fprintf(out, " : slabdata %6lu %6lu %6lu\n", c->slabs, c->slabs, c->objects_shared);
}

int fs_slabinfo(FILE *out, const struct snapshot *s)
{
	uint16_t *order = calloc(SNAPSHOT_MAX_CACHES, sizeof(*order));
	struct distinct *words = malloc(sizeof(*words));
	int ret = order && words ? 0 : -ENOMEM;

	if (!ret) {
		slabinfo_order(s, order);
		fs_names_words(words, s);
		fputs(header, out);
	}
	for (unsigned int i = 0; !ret && i < s->nr_caches; i++)
		if (info_is_cache(&s->cache[order[i]]))
			print_line(out, s, order[i], distinct_own(words, order[i]));
	free(order);
	free(words);
	return ret;
}

bool fs_slabinfo_tunable(const struct snapshot *s)
{
	for (unsigned int i = 0; i < s->nr_caches; i++)
		if (s->cache[i].id && s->work[i].queues)
			return true;
	return false;
}

/* As the kernel's files of nodes are called, and numastat(8) prints them. */
int fs_numastat(FILE *out, const struct snapshot *s)
{
	if (s->totals.nodes < 2)
		return 0;
#define NODE_FIELD(member, key, help)                               \
	fputs(key, out);                                            \
	for (unsigned int node = 0; node < s->totals.nodes; node++) \
		fprintf(out, " %lu", s->node[node].member);         \
	fputc('\n', out);
#include "inspect/fields.def"
	return 0;
}
