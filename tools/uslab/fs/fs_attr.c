/* SPDX-License-Identifier: MIT */
/*
 * uslab/fs/fs_attr.c - the files of a cache's folder: names, modes and texts (spec 6.3)
 *
 * Why:        docs/adr/0016.
 * Data:       the table of attributes; constant.
 * Flow:       called by fs_tree.c; calls inspect/cpu_stats.c, fs_snapshot.c, and symbols/resolve.c
 *             for the constructor's name. In: a cache and an attribute; out: its text.
 *
 * Those of Linux 6.1 and 6.18, with every event counter, and writable what was in 3.18, and the
 * capacity. Sums are those of `uslab info`: "objects" are what the program holds, while the kernel
 * counts what its CPUs cache as well.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "fs/fs.h"

static const struct snapshot_cache *cache_at(const struct fs *fs, unsigned int cache)
{
	return &fs->s->cache[cache];
}

/* A member of the cache or of one of its nodes, by its offset. */
#define MEMBER(type, base, offset) (*(const type *)((const char *)(base) + (offset)))

/* ---- texts ----------------------------------------------------------------------------------- */

static int show_uint(FILE *out, struct fs *fs, unsigned int cache, const struct fs_attribute *a)
{
	fprintf(out, "%u\n", MEMBER(unsigned int, cache_at(fs, cache), a->value));
	return 0;
}

static int show_ulong(FILE *out, struct fs *fs, unsigned int cache, const struct fs_attribute *a)
{
	fprintf(out, "%lu\n", MEMBER(unsigned long, cache_at(fs, cache), a->value));
	return 0;
}

static int show_flag(FILE *out, struct fs *fs, unsigned int cache, const struct fs_attribute *a)
{
	fprintf(out, "%d\n", (cache_at(fs, cache)->flags & a->value) != 0);
	return 0;
}

static int show_aliases(FILE *out, struct fs *fs, unsigned int cache, const struct fs_attribute *a)
{
	unsigned int refcount = cache_at(fs, cache)->refcount;

	(void)a;
	fprintf(out, "%u\n", refcount ? refcount - 1 : 0);
	return 0;
}

static int show_defrag_ratio(FILE *out, struct fs *fs, unsigned int cache,
			     const struct fs_attribute *a)
{
	(void)a;
	fprintf(out, "%u\n", cache_at(fs, cache)->remote_node_defrag_ratio / 10);
	return 0;
}

/* "SLABS BYTES MOVED REFUSED"; nothing where objects do not move. */
static int show_defrag(FILE *out, struct fs *fs, unsigned int cache, const struct fs_attribute *a)
{
	const struct snapshot_cache *c = cache_at(fs, cache);

	(void)a;
	if (c->movable)
		fprintf(out, "%lu %lu %lu %lu\n", c->defrag_slabs, c->defrag_bytes, c->defrag_moved,
			c->defrag_refused);
	return 0;
}

/* What can only be written reads as nothing. */
static int show_nothing(FILE *out, struct fs *fs, unsigned int cache, const struct fs_attribute *a)
{
	(void)out, (void)fs, (void)cache, (void)a;
	return 0;
}

static int show_ctor(FILE *out, struct fs *fs, unsigned int cache, const struct fs_attribute *a)
{
	const struct snapshot_cache *c = cache_at(fs, cache);
	const struct resolve_name *name;
	struct resolve *resolve;

	(void)a;
	if (!c->ctor)
		return 0;
	resolve = fs_resolve(fs);
	if (!resolve)
		return -ENOMEM;
	/* names are of return addresses, which lie behind what they name */
	name = resolve_address(resolve, c->ctor_address + 1);
	if (!name->function[0]) {
		fprintf(out, "0x%lx\n", c->ctor_address);
		return 0;
	}
	fprintf(out, "%s+0x%" PRIx64 "/0x%" PRIx64, name->function,
		name->offset ? name->offset - 1 : 0, name->size);
	fprintf(out, name->object[0] ? " [%s]\n" : "\n", name->object);
	return 0;
}

/* ---- sums by node and by CPU ----------------------------------------------------------------- */

/* "TOTAL N0=x N1=y"; by: of each node. With one node that is the total. */
static void print_nodes(FILE *out, const struct snapshot *s, unsigned long total,
			const unsigned long *by)
{
	fprintf(out, "%lu", total);
	for (unsigned int node = 0; node < s->totals.nodes && node < SNAPSHOT_MAX_NODES; node++) {
		unsigned long value = s->totals.nodes == 1 ? total : by[node];

		if (value)
			fprintf(out, " N%u=%lu", node, value);
	}
	fputc('\n', out);
}

static int show_nodes(FILE *out, struct fs *fs, unsigned int cache, const struct fs_attribute *a)
{
	const struct snapshot_cache *c = cache_at(fs, cache);
	unsigned long by[SNAPSHOT_MAX_NODES];

	for (unsigned int node = 0; node < SNAPSHOT_MAX_NODES; node++)
		by[node] = MEMBER(uint32_t, &c->node[node], a->node);
	print_nodes(out, fs->s, MEMBER(unsigned long, c, a->value), by);
	return 0;
}

/*
 * What fronts cache is not known by node: it is taken off where most is in use, in
 * proportion, so that the nodes add up to the total.
 */
static int show_objects(FILE *out, struct fs *fs, unsigned int cache, const struct fs_attribute *a)
{
	const struct snapshot_cache *c = cache_at(fs, cache);
	unsigned long by[SNAPSHOT_MAX_NODES];
	unsigned long used = 0;
	unsigned long sum = 0;
	unsigned long before = 0;

	(void)a;
	for (unsigned int node = 0; node < SNAPSHOT_MAX_NODES; node++) {
		const struct snapshot_node *n = &c->node[node];
		unsigned long total = (unsigned long)n->partial * c->objs_per_slab;
		unsigned long unused = total > n->objects_partial ? total - n->objects_partial : 0;

		by[node] = n->total_objects > unused ? n->total_objects - unused : 0;
		used += by[node];
	}
	for (unsigned int node = 0; node < SNAPSHOT_MAX_NODES && used; node++) {
		unsigned long share;

		sum += by[node];
		share = (unsigned long)((__uint128_t)c->objects * sum / used);
		by[node] = share - before;
		before = share;
	}
	print_nodes(out, fs->s, c->objects, by);
	return 0;
}

/* As the kernel does: the whole partial list of a CPU counts where its first slab is. */
static int show_cpu_slabs(FILE *out, struct fs *fs, unsigned int cache,
			  const struct fs_attribute *a)
{
	unsigned long by[SNAPSHOT_MAX_NODES] = { 0 };
	int ret = 0;

	(void)a;
	if (fs->s->totals.nodes > 1)
		ret = cpu_stats_read(fs->s, cache, fs->cpus);
	for (unsigned int i = 0; fs->s->totals.nodes > 1 && !ret && i < fs->s->totals.cpus; i++) {
		const struct cpu_stats *cpu = &fs->cpus[i];

		if (cpu->slab_node >= 0)
			by[cpu->slab_node]++;
		if (cpu->partial_node >= 0)
			by[cpu->partial_node] += cpu->partial_slabs;
	}
	if (!ret)
		print_nodes(out, fs->s, cache_at(fs, cache)->cpu_slabs, by);
	return ret;
}

/* "OBJECTS(SLABS) C0=o(s)"; objects are an estimate: slabs that are half full. */
static int show_slabs_cpu_partial(FILE *out, struct fs *fs, unsigned int cache,
				  const struct fs_attribute *a)
{
	unsigned long each = cache_at(fs, cache)->objs_per_slab;
	int ret = cpu_stats_read(fs->s, cache, fs->cpus);
	unsigned long total = 0;

	(void)a;
	for (unsigned int i = 0; !ret && i < fs->s->totals.cpus; i++)
		total += fs->cpus[i].partial_slabs;
	if (ret)
		return ret;
	fprintf(out, "%lu(%lu)", total * each / 2, total);
	for (unsigned int i = 0; i < fs->s->totals.cpus; i++) {
		unsigned long slabs = fs->cpus[i].partial_slabs;

		if (slabs)
			fprintf(out, " C%u=%lu(%lu)", i, slabs * each / 2, slabs);
	}
	fputc('\n', out);
	return 0;
}

static int show_stat(FILE *out, struct fs *fs, unsigned int cache, const struct fs_attribute *a)
{
	int ret = cpu_stats_read(fs->s, cache, fs->cpus);
	unsigned long total = 0;

	for (unsigned int i = 0; !ret && i < fs->s->totals.cpus; i++)
		total += fs->cpus[i].stat[a->value];
	if (ret)
		return ret;
	fprintf(out, "%lu", total);
	for (unsigned int i = 0; i < fs->s->totals.cpus; i++)
		if (fs->cpus[i].stat[a->value])
			fprintf(out, " C%u=%u", i, fs->cpus[i].stat[a->value]);
	fputc('\n', out);
	return 0;
}

/* ---- the table ------------------------------------------------------------------------------- */

#define AT(member) offsetof(struct snapshot_cache, member)
#define UINT(file, member, how)                                                    \
	{                                                                          \
		.name = file, .show = show_uint, .value = AT(member), .store = how \
	}
#define NODES(member)                                                     \
	{                                                                 \
		.name = #member, .show = show_nodes, .value = AT(member), \
		.node = offsetof(struct snapshot_node, member)            \
	}
#define FLAG(file, bit)                                       \
	{                                                     \
		.name = file, .show = show_flag, .value = bit \
	}
#define DEBUG_FLAG(file, bit, c)                                                                   \
	{                                                                                          \
		.name = file, .show = show_flag, .value = bit, .store = FS_STORE_FLAG, .letter = c \
	}
#define OWN(file, function, how)                             \
	{                                                    \
		.name = file, .show = function, .store = how \
	}

static const struct fs_attribute attributes[] = {
	UINT("slab_size", slab_size, FS_READ_ONLY),
	UINT("object_size", object_size, FS_READ_ONLY),
	UINT("usersize", usersize, FS_READ_ONLY),
	UINT("align", align, FS_READ_ONLY),
	UINT("objs_per_slab", objs_per_slab, FS_READ_ONLY),
	UINT("order", order, FS_STORE_UINT),
	UINT("cpu_partial", cpu_partial, FS_STORE_OBJECTS),
	UINT("sheaf_capacity", capacity, FS_STORE_CAPACITY),
	{ .name = "min_partial",
	  .show = show_ulong,
	  .value = AT(min_partial),
	  .store = FS_STORE_NUMBER },
	OWN("remote_node_defrag_ratio", show_defrag_ratio, FS_STORE_PERCENT),
	OWN("aliases", show_aliases, FS_READ_ONLY),
	OWN("ctor", show_ctor, FS_READ_ONLY),
	OWN("objects", show_objects, FS_READ_ONLY),
	NODES(total_objects),
	NODES(objects_partial),
	NODES(slabs),
	NODES(partial),
	OWN("cpu_slabs", show_cpu_slabs, FS_READ_ONLY),
	OWN("slabs_cpu_partial", show_slabs_cpu_partial, FS_READ_ONLY),
	FLAG("cache_dma", SLAB_CACHE_DMA),
	FLAG("destroy_by_rcu", SLAB_TYPESAFE_BY_RCU),
	FLAG("hwcache_align", SLAB_HWCACHE_ALIGN),
	FLAG("reclaim_account", SLAB_RECLAIM_ACCOUNT),
	DEBUG_FLAG("sanity_checks", SLAB_CONSISTENCY_CHECKS, 'F'),
	DEBUG_FLAG("red_zone", SLAB_RED_ZONE, 'Z'),
	DEBUG_FLAG("poison", SLAB_POISON, 'P'),
	DEBUG_FLAG("store_user", SLAB_STORE_USER, 'U'),
	DEBUG_FLAG("trace", SLAB_TRACE, 'T'),
	DEBUG_FLAG("failslab", SLAB_FAILSLAB, 'A'),
	{ .name = "skip_kfence",
	  .show = show_flag,
	  .value = SLAB_SKIP_KFENCE,
	  .store = FS_STORE_BIT },
	{ .name = "limit", .show = show_ulong, .value = AT(limit), .store = FS_STORE_BYTES },
	UINT("defrag_used_ratio", defrag_used_ratio, FS_STORE_PERCENT),
	OWN("defrag", show_defrag, FS_STORE_DEFRAG),
	OWN("shrink", show_nothing, FS_STORE_SHRINK),
	OWN("validate", show_nothing, FS_STORE_VALIDATE),
#define CACHE_STAT(item, key, help) \
	{ .name = key, .show = show_stat, .value = item, .store = FS_STORE_ZERO },
#include "inspect/fields.def"
};

#define NR_ATTRIBUTES (sizeof(attributes) / sizeof(attributes[0]))

const struct fs_attribute *fs_attribute(unsigned int i)
{
	return i < NR_ATTRIBUTES ? &attributes[i] : NULL;
}

const struct fs_attribute *fs_attribute_find(const char *name)
{
	for (unsigned int i = 0; i < NR_ATTRIBUTES; i++)
		if (!strcmp(attributes[i].name, name))
			return &attributes[i];
	return NULL;
}

mode_t fs_attribute_mode(const struct fs *fs, unsigned int cache, const struct fs_attribute *a)
{
	bool writable = a->store != FS_READ_ONLY && !fs->read_only && cache_at(fs, cache)->id;

	return writable ? 0600 : 0400;
}
