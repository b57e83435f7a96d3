/* SPDX-License-Identifier: MIT */
/*
 * unit/tools/fs_fixture.h - a snapshot made by hand, and a struct fs around it
 */
#ifndef UNIT_TOOLS_FS_FIXTURE_H
#define UNIT_TOOLS_FS_FIXTURE_H

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fs/fs.h"

static struct snapshot *fixture_s;
static struct fs fixture_fs;

/* Its CPUs have nothing; reads of anything else fail. */
static int fixture_read(void *ctx, uint64_t addr, void *buf, size_t len)
{
	(void)ctx, (void)addr, (void)buf, (void)len;
	return -EFAULT;
}

static const struct reader fixture_reader = { .read = fixture_read };

static inline int fixture_init(void)
{
	fixture_s = calloc(1, sizeof(*fixture_s));
	fixture_fs = (struct fs){
		.s = fixture_s,
		.names = calloc(1, sizeof(struct distinct)),
		.cpus = calloc(USLAB_MAX_CPUS, sizeof(struct cpu_stats)),
		.source.title = "made up",
	};
	if (!fixture_s || !fixture_fs.names || !fixture_fs.cpus)
		return -1;
	fixture_s->totals.cpus = 2;
	fixture_s->totals.nodes = 1;
	fixture_s->reader = &fixture_reader;
	return 0;
}

static inline void fixture_exit(void)
{
	free(fixture_s);
	free(fixture_fs.names);
	free(fixture_fs.cpus);
}

static inline struct snapshot_cache *fixture_add(const char *name, const char *id)
{
	struct snapshot_cache *c = &fixture_s->cache[fixture_s->nr_caches++];

	strcpy(c->name, name);
	strcpy(c->unique_id, id);
	strcpy(c->front, "array");
	c->id = 200 + fixture_s->nr_caches;
	c->refcount = 1;
	c->first_alias = fixture_s->nr_aliases;
	return c;
}

static inline void fixture_heap(const char *name)
{
	struct snapshot_cache *c = fixture_add(name, "");

	c->id = 0;
	strcpy(c->engine, name);
}

/* One more name for the cache that was added last. */
static inline void fixture_alias(const char *name)
{
	struct snapshot_cache *c = &fixture_s->cache[fixture_s->nr_caches - 1];

	/* newest first, as the library keeps them */
	memmove(fixture_s->alias[c->first_alias + 1], fixture_s->alias[c->first_alias],
		c->nr_aliases * sizeof(fixture_s->alias[0]));
	strcpy(fixture_s->alias[c->first_alias], name);
	c->nr_aliases++;
	c->refcount++;
	fixture_s->nr_aliases++;
}

#endif /* UNIT_TOOLS_FS_FIXTURE_H */
