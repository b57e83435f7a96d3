/* SPDX-License-Identifier: MIT */
/*
 * uslab/replay/replay_stage.h - where a trace is performed: caches, objects, CPUs
 *
 * Every operation of the trace is performed once for each copy, with slots of its own: operation i
 * of copy 0, operation i of copy 1, ... Or the trace is split: each of its objects is one copy's,
 * all operations together are those of the trace. On a made-up topology the thread acts for the CPU
 * that the trace says, modulo the topology's CPUs; or, where the trace is spread, for the place of
 * that CPU among those that have events, plus their number for each copy. Else everything happens
 * on the CPU that runs the thread.
 */
#ifndef TOOLS_REPLAY_STAGE_H
#define TOOLS_REPLAY_STAGE_H

#include "clock.h"
#include "inspect/act.h"
#include "inspect/classes.h"
#include "trace/trace_ops.h"

#include <uslab/slab.h>

enum replay_touch {
	REPLAY_TOUCH_NONE,
	REPLAY_TOUCH_LINE, /* writes the first cache line of each new object */
	REPLAY_TOUCH_ALL
};

/* As --touch names it; NULL: there is no such one. */
const char *replay_touch_name(unsigned int touch);

enum replay_verb { REPLAY_ALLOC, REPLAY_FREE, REPLAY_NR_VERBS };

struct stage {
	/* given; const */
	const struct trace_ops *trace;
	const char *engine; /* NULL: the library's default */
	const char *front;
	unsigned int copies; /* from 1 */
	bool spread;	     /* the copies load all CPUs; false: there is one copy */
	bool split;	     /* among the copies */
	enum replay_touch touch;

	/* private */
	struct act_topology topology;
	struct classes classes;	    /* of kmalloc() */
	uint16_t *ranks;	    /* spread: trace_ops_rank_cpus() */
	unsigned int acting;	    /* for that CPU; topology.cpus: for none so far */
	struct kmem_cache **caches; /* by trace_class.cache; NULL: kmalloc() has a heap */
	void **objects;		    /* by copy, slot; NULL: not alive */
	uint16_t *parts;	    /* split: the copy that has the object, by slot */
	uint64_t nr_objects;	    /* split: allocated so far */
};

/* Copies that load a topology of so many CPUs with a trace of so many: what --spread means. */
unsigned int stage_copies(const struct trace_ops *trace, unsigned int cpus);

/*
 * Binds the thread to that CPU, -1: to the one it is on. Measurements and per-CPU counts mean
 * little when it moves. Returns the CPU, or -1 if the system would not.
 */
int stage_pin(int cpu);

/* 0 or -ENOMEM; stage_exit() in any case. */
int stage_init(struct stage *s);
void stage_exit(struct stage *s);

/* 0, or -errno with a text in error. Caches that are there already stay until stage_exit(). */
int stage_create_caches(struct stage *s, char *error, size_t size);
/* And gives all free memory back to the system. */
void stage_destroy_caches(struct stage *s);

/* Frees what is alive after the trace's first nr_ops operations. */
void stage_free_all(struct stage *s, size_t nr_ops);

/*
 * Calls visit for every object that is alive after the trace's first nr_ops operations. 0 or
 * -ENOMEM (nothing was visited).
 */
int stage_walk(const struct stage *s, size_t nr_ops,
	       void (*visit)(const void *object, uint32_t size, void *arg), void *arg);

/* Writes to a new object of size bytes as s->touch says. */
void stage_touch(const struct stage *s, void *object, size_t size);

/* What an operation allocates, or what it frees was allocated as. */
static inline const struct trace_class *stage_class(const struct stage *s,
						    const struct trace_op *op)
{
	return &s->trace->classes[op->class];
}

/* The object of an operation: a new one goes there, one that dies is there. */
static inline void **stage_object(const struct stage *s, const struct trace_op *op,
				  unsigned int copy)
{
	return &s->objects[(size_t)copy * s->trace->nr_slots + op->slot];
}

/* The copy that performs the next operation of a trace that is split; called for each in turn. */
unsigned int stage_part(struct stage *s, const struct trace_op *op);

/* The cache that a class comes from; NULL: from kmalloc(). */
static inline struct kmem_cache *stage_cache(const struct stage *s, const struct trace_class *class)
{
	return class->cache == TRACE_NO_CACHE ? NULL : s->caches[class->cache];
}

/* To be called before the operation. */
static inline void stage_act(struct stage *s, const struct trace_op *op, unsigned int copy)
{
	uint64_t cpu = op->cpu;

	if (!s->topology.made_up)
		return;
	if (s->spread)
		cpu = s->ranks[cpu] + copy * s->trace->counts.cpus;
	cpu %= s->topology.cpus;
	if (cpu == s->acting)
		return;
	s->acting = (unsigned int)cpu;
	act_as_cpu(s->acting);
}

/*
 * One call between two readings of the clock, and nothing else; *ticks gets the difference. What to
 * call is chosen outside of it.
 */
static inline void *stage_timed_alloc(const struct stage *s, const struct trace_class *class,
				      uint64_t *ticks)
{
	gfp_t gfp = GFP_KERNEL | __GFP_NOWARN | class->gfp; /* we count failures */
	struct kmem_cache *cache = stage_cache(s, class);
	uint64_t start, end;
	void *p;

	if (!cache) {
		start = clock_start();
		p = kmalloc(class->size, gfp);
		end = clock_end();
	} else {
		start = clock_start();
		p = kmem_cache_alloc(cache, gfp);
		end = clock_end();
	}
	*ticks = end - start;
	return p;
}

/* Goes to where it came from, also if the trace says kfree(): heaps put no header there. */
static inline void stage_timed_free(const struct stage *s, const struct trace_class *class,
				    void *object, uint64_t *ticks)
{
	struct kmem_cache *cache = stage_cache(s, class);
	uint64_t start, end;

	if (!cache) {
		start = clock_start();
		kfree(object);
		end = clock_end();
	} else {
		start = clock_start();
		kmem_cache_free(cache, object);
		end = clock_end();
	}
	*ticks = end - start;
}

/* The same two without a clock. */
static inline void *stage_alloc(const struct stage *s, const struct trace_class *class)
{
	gfp_t gfp = GFP_KERNEL | __GFP_NOWARN | class->gfp;
	struct kmem_cache *cache = stage_cache(s, class);

	return cache ? kmem_cache_alloc(cache, gfp) : kmalloc(class->size, gfp);
}

static inline void stage_free(const struct stage *s, const struct trace_class *class, void *object)
{
	struct kmem_cache *cache = stage_cache(s, class);

	if (cache)
		kmem_cache_free(cache, object);
	else
		kfree(object);
}

#endif /* TOOLS_REPLAY_STAGE_H */
