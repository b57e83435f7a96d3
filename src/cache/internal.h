/* SPDX-License-Identifier: MIT */
/*
 * cache/internal.h - what only the files of this floor share
 *
 * Data:       the registry's lock and numbers, the defaults of USLAB_CONF.
 * Invariants: see cache/registry.c.
 * Locks:      cache_lock (RANK_CACHE).
 * Flow:       included by cache/ only.
 */
#ifndef CACHE_INTERNAL_H
#define CACHE_INTERNAL_H

#include "base/atomic.h"
#include "cache/cache.h"
#include "debug/debug.h"
#include "os/lock/lock.h"
#include "os/process/env.h"
#include "page/nested.h"
#include "page/thp.h"

/* By what kmalloc() chooses among the rows of its caches, see cache/kmalloc/rows.c. */
enum cache_partition {
	PARTITION_OFF,
	PARTITION_RANDOM, /* by the code location */
	PARTITION_TYPED,  /* by the token of the type */
};

struct cache_defaults {
	const struct engine_ops *engine;
	const struct front_ops *front;
	unsigned int reap_ms;	     /* time between two rounds of reaping; 0: no reaping */
	size_t realtime_bytes;	     /* that are made ready ahead; 0: none, see page/realtime.h */
	unsigned int control_ms;     /* between two polls of the mailbox; 0: no thread polls */
	bool no_fork_thread;	     /* children of fork() do without the library's own thread */
	unsigned int defrag_percent; /* of partial slabs, see mobility/auto.c; 0: off */
	unsigned int defrag_share;   /* percent of a CPU */
	enum cache_partition partition;
	bool no_merge;
	bool hardened;
	bool randomised;
	bool stats;
	bool purge_lazily; /* free pages: see buddy_purge_lazily() */
	enum thp_policy thp;
};

extern struct lock cache_lock;

/* Releases it, and calls hooks of reports that were deferred until then. */
static inline void cache_unlock(void)
{
	lock_release(&cache_lock);
	nested_call();
}

extern struct cache_defaults cache_defaults;

/*
 * choice.c: sets what the spec leaves open: engine, front and capacity, by the rules of USLAB_CONF
 * and then the defaults. If a front does not support an engine, the program's choice wins over
 * USLAB_CONF, with one line on stderr. -EINVAL: the program asked for both.
 */
int cache_resolve(struct cache_spec *spec);

/*
 * Rules for caches whose name matches the pattern; later ones win. false: no such name, no memory.
 */
bool cache_add_engine_rule(const char *pattern, const char *name);
bool cache_add_front_rule(const char *pattern, const char *name);
/* "6.18" or "7.0": what the name "sheaves" means from now on. false: neither. */
bool cache_set_era(const char *era);
bool cache_add_capacity_rule(const char *pattern, unsigned int capacity);
bool cache_add_limit_rule(const char *pattern, unsigned long pages);

/* As a shell's pattern: * is any text, ? any one character. */
bool cache_pattern_matches(const char *pattern, const char *name);

/* topology.c: the option of that name, read before everything else; was this value accepted? */
void cache_make_topology(void);
bool cache_topology_is(const char *value);
/* The options topology.distance and topology.memory; name: behind the point. */
bool cache_set_distance(const char *name, const char *value);
bool cache_set_node_memory(const char *name, const char *value);
/* The option mempolicy. */
bool cache_set_mempolicy(const char *value);
/* Why the value was refused, unless it is no policy at all: false. */
bool cache_explain_mempolicy(char why[OS_ENV_WHY_BYTES], const char *value);

/* Do kfree() or free() find the cache by address? Objects of debug slabs never on a hit path. */
static inline bool cache_is_by_address(const struct cache *c)
{
	return c->front.id < USLAB_ID_FIRST_FREE;
}

/* Is it one of kmalloc()'s or malloc()'s? */
static inline bool cache_is_by_size(const struct cache *c)
{
	return cache_is_by_address(c) || load_relaxed(&c->flags) & SLAB_KMALLOC;
}

/* registry.c; all under cache_lock */
bool cache_number_is_taken(unsigned int id);
int cache_number_get_locked(unsigned int wanted, unsigned int *id);
void cache_number_put_locked(unsigned int id);
void cache_register_locked(struct cache *c);
void cache_unregister_locked(struct cache *c);
/* Does one of the names that it ever had, or its id, match the pattern? */
bool cache_matches_locked(const struct cache *c, const char *pattern);
/* The same for several: strings one after the other, up to an empty one or size bytes. */
bool cache_matches_any_locked(const struct cache *c, const char *patterns, size_t size);

/* idle.c: before there are threads */
void cache_idle_start(void);

/* ---- mark.c ---- */

/*
 * Sets where the marks of a new cache's free objects are, also for the inline hit paths. Its engine
 * is ready; its front has its number, and is made after this.
 */
void cache_place_mark_locked(struct cache *c);
/*
 * Are its words where they should be? watched: its objects are counted or charged, so that each
 * free looks at them.
 */
bool cache_words_are_right(const struct cache *c, bool watched);
/* Puts them there; its front is closed. 0; -errno: as front_place_words(). */
int cache_move_words_locked(struct cache *c, bool watched);
/* Do they lie behind the program's bytes? In debug slabs other data lies there. */
bool cache_marks_behind(const struct cache *c);
/* Sets what the hit path of a free by address checks, for a new cache or one whose slabs change. */
void cache_check_frees_locked(struct cache *c);
/* None is a hit from now on. */
void cache_stop_frees_locked(struct cache *c);

/* ---- debug_option.c ---- */

/* Takes the text in place of the environment's; NULL: none. */
void cache_read_debug_option(const char *text);
/* Option O was among the debug flags. */
bool cache_no_higher_order(void);

/* ---- switch.c ---- */

/* Objects may lie in debug slabs and guarded pages from now on. 0 or -ENOMEM. */
int cache_route_locked(struct cache *c);

/*
 * bit: WATCH_TAGS or WATCH_GROUPS. From now on each free of an object of the cache takes the slow
 * paths, or (off) may be a hit again. For that the words of caches with inline hits move, as those
 * of caches lie that are made while profiling is on, or there are groups; their fronts are closed
 * meanwhile, and stay so where a CPU cannot be fenced.
 */
cold void cache_watch_frees_locked(struct cache *c, unsigned int bit, bool on);

/* ---- debug.c ---- */

#define CACHE_DEBUG_FLAGS (DEBUG_SLAB_FLAGS | SLAB_FAILSLAB)

/*
 * Sets the debug flags of a new cache, which is not published yet. 0 or -errno; then the caller
 * calls engine->ops->destroy() and debug_detach().
 */
int cache_start_debug(struct cache *c, slab_flags_t debug_flags);
int cache_set_sampling_locked(struct cache *c, bool on);
long cache_validate_locked(struct cache *c);

/* The result of a command for the caches of some patterns. */
struct cache_result {
	unsigned int matched;
	unsigned int failed;
	int error;		/* of the first that failed */
	const struct cache *at; /* that one */
	uint64_t value;		/* sum of what is not negative */
};

/*
 * Calls act once for each cache that matches one of the patterns: strings one after the other, up
 * to an empty one or size bytes. A negative value is -errno.
 */
void cache_each_locked(const char *patterns, size_t size,
		       long (*act)(struct cache *c, const void *arg), const void *arg,
		       struct cache_result *result);

/* What functions that take a pattern return: for how many caches it was done; -ENOENT; -errno. */
int cache_result_of_pattern(const struct cache_result *result);

/* The debug flags that "FZ", "-", "+U" or "-T" makes of others. 0 or -EINVAL. */
int cache_change_debug(const char *text, slab_flags_t *flags);
/*
 * The same for whole pages, by blocks_name. 0, -EINVAL, -EOPNOTSUPP (a flag that only caches have),
 * -ENOMEM.
 */
int cache_change_blocks(const char *text);
/* cache_each_locked() with such a text as arg. */
long cache_change_debug_locked(struct cache *c, const void *text);

/* ---- attribute.c ---- */

/*
 * The writable files of spec 6.3 by name; a result of 0 or more is the answer's
 * value. -ENOENT: no such one.
 */
long cache_set_attribute_locked(struct cache *c, const char *name, unsigned long value);

/* ---- drain.c ---- */
int cache_shrink_locked(struct cache *c);
/*
 * While on, the engine checks each object that is flushed to it, and each free list
 * (engine.verify_frees). A front may hold objects that were freed twice; a drain must find them,
 * and must not end the program.
 */
void cache_verify_frees_locked(struct cache *c, bool on);
/* Drains the front with these checks. */
void cache_drain_locked(struct cache *c);
/* The same without them, since it must not take long; and the empty slabs as well. */
void cache_empty_front_locked(struct cache *c);
void cache_give_back_locked(struct cache *c);

/* ---- capacity.c ---- */
int cache_set_capacity_locked(struct cache *c, unsigned int objects);

/* ---- reap.c ---- */
int cache_tune_locked(struct cache *c, unsigned int limit, unsigned int batchcount,
		      unsigned int shared);

#endif /* CACHE_INTERNAL_H */
