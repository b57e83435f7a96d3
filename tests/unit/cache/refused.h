/* SPDX-License-Identifier: MIT */
/*
 * unit/cache/refused.h - frees that must be refused: each reported once, and the
 * cache's counts as before
 */
#ifndef UNIT_CACHE_REFUSED_H
#define UNIT_CACHE_REFUSED_H

#include <pthread.h>

#include "base/atomic.h"
#include "cache_fixture.h"
#include "debug/report/report.h"

/* A report hook that says nothing. No lock is held: it might wait for whoever wants it. */
static inline void quiet(const char *cache, const char *report, void *arg)
{
	(void)cache, (void)report, (void)arg;
	CHILD_CHECK(!lock_thread.nr);
}

/* Since the program's start. */
static inline unsigned long reports(void)
{
	return load_relaxed(&report_counters.reports);
}

/* How an object is freed: cache_free(), or obj_free() of cache_fixture.h. */
typedef void free_fn(struct cache *c, void *obj);

static inline void refused(free_fn *free_by, struct cache *c, void *p)
{
	unsigned long before = reports();
	unsigned long held = in_use(c);

	free_by(c, p);
	CHILD_CHECK(reports() == before + 1);
	CHILD_CHECK(in_use(c) == held);
}

struct refused_free {
	free_fn *free_by;
	struct cache *c;
	void *p;
};

static inline void *refused_there(void *arg)
{
	struct refused_free *f = arg;

	refused(f->free_by, f->c, f->p);
	return NULL;
}

/* In another thread. */
static inline void refused_elsewhere(free_fn *free_by, struct cache *c, void *p)
{
	struct refused_free f = { free_by, c, p };
	pthread_t other;

	CHILD_CHECK(!pthread_create(&other, NULL, refused_there, &f));
	CHILD_CHECK(!pthread_join(other, NULL));
}

#endif /* UNIT_CACHE_REFUSED_H */
