/* SPDX-License-Identifier: MIT */
/*
 * unit/cache/grace/sheaves_fixture.h - a cache of nodes whose front has sheaves
 */
#ifndef UNIT_CACHE_GRACE_SHEAVES_FIXTURE_H
#define UNIT_CACHE_GRACE_SHEAVES_FIXTURE_H

#include "cache/internal.h"
#include "front/sheaves.h"
#include "grace_fixture.h"

#define FULL 60 /* of nodes, which are smaller than 256 bytes */

static int cpu;

static inline struct cache *of_sheaves(void)
{
	bound();
	cpu = stay_here();
	percpu_set_stats(true);
	return make_front("node", sizeof(struct node), "sheaves");
}

static inline struct kmem_cache_cpu *of_cpu(const struct cache *c)
{
	return percpu_state(c->front.id, cpu);
}

static inline struct barn *its_barn(const struct cache *c)
{
	return sheaves_barn(&c->front, os_cpu_to_node((unsigned int)cpu));
}

static inline uint32_t stat(const struct cache *c, enum engine_stat item)
{
	return of_cpu(c)->stat[item];
}

#endif /* UNIT_CACHE_GRACE_SHEAVES_FIXTURE_H */
