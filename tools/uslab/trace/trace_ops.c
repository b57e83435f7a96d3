/* SPDX-License-Identifier: MIT */
/*
 * uslab/trace/trace_ops.c - a whole trace as a compact list of operations
 *
 * Invariants: a slot has at most one live object; each free has the class of the allocation before
 *             it.
 * Flow:       called by trace_load.c for each event, and by compare/ and replay/ when the list is
 *             finished; calls trace_parse.c, trace_text.c and trace_stride.c. In: struct
 *             trace_event; out: struct trace_ops.
 *
 * A hash table maps the pointers that are alive to slots; a pointer leaves it with its free, so the
 * table grows with the live objects, not with the trace. Classes and caches are interned in two
 * chained tables. The hash is seeded: a trace cannot be written to make chains long.
 */
#include "inspect/mix.h"
#include "trace/trace_ops.h"
#include "trace/trace_stride.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <uslab/slab.h>

#define NR_CHAINS 4096u	   /* of classes and of caches; a power of two */
#define MIN_POINTERS 1024u /* entries of the pointer table; a power of two */
#define NO_SLOT UINT32_MAX

struct pointer {
	uint64_t ptr; /* 0: free entry; NULL is never alive */
	uint64_t slot;
};

struct trace_index {
	uint64_t seed;
	struct pointer *pointers; /* open addressing, at most half full */
	size_t nr_pointers;	  /* a power of two */
	size_t used;
	uint32_t *slots;    /* class of the live object; of a free slot: the next free one */
	uint32_t free_slot; /* first of that list, or NO_SLOT */
	size_t max_slots;
	size_t max_ops;
	size_t max_stamps;
	size_t max_classes;
	size_t max_caches;
	uint32_t class_chain[NR_CHAINS]; /* index + 1 */
	uint32_t cache_chain[NR_CHAINS];
};

/* Doubles *array when count has reached *max. 0 or -ENOMEM. */
static int grow(void *array, size_t *max, size_t count, size_t element, size_t first)
{
	void **pointer = array;
	size_t more = *max ? *max * 2 : first;
	void *bigger;

	if (count < *max)
		return 0;
	bigger = reallocarray(*pointer, more, element);
	if (!bigger)
		return -ENOMEM;
	*pointer = bigger;
	*max = more;
	return 0;
}

/* ---- hashing ---- */

static uint64_t mix(const struct trace_index *index, uint64_t value)
{
	return mix_bits(value + index->seed);
}

static size_t pointer_home(const struct trace_index *index, uint64_t ptr)
{
	return mix(index, ptr) & (index->nr_pointers - 1);
}

/* ---- pointers that are alive ---- */

/* The entry of ptr, or the free one where it would go. */
static struct pointer *pointer_find(const struct trace_index *index, uint64_t ptr)
{
	size_t at = pointer_home(index, ptr);

	while (index->pointers[at].ptr && index->pointers[at].ptr != ptr)
		at = (at + 1) & (index->nr_pointers - 1);
	return &index->pointers[at];
}

/* Room for one more. 0 or -ENOMEM. */
static int pointers_reserve(struct trace_index *index)
{
	struct pointer *old = index->pointers;
	size_t nr_old = index->nr_pointers;
	size_t nr_new = nr_old ? nr_old * 2 : MIN_POINTERS;
	struct pointer *entries;

	if (index->used * 2 < nr_old)
		return 0;
	entries = calloc(nr_new, sizeof(*entries));
	if (!entries)
		return -ENOMEM;
	index->pointers = entries;
	index->nr_pointers = nr_new;
	for (size_t i = 0; i < nr_old; i++)
		if (old[i].ptr)
			*pointer_find(index, old[i].ptr) = old[i];
	free(old);
	return 0;
}

/* Empties an entry and moves up what was pushed along by it, so that no chain has a hole. */
static void pointer_remove(struct trace_index *index, struct pointer *entry)
{
	size_t mask = index->nr_pointers - 1;
	size_t hole = (size_t)(entry - index->pointers);

	for (size_t at = (hole + 1) & mask; index->pointers[at].ptr; at = (at + 1) & mask) {
		size_t home = pointer_home(index, index->pointers[at].ptr);

		/* May it stand at the hole: is the hole between its home and where it is? */
		if (((at - home) & mask) >= ((at - hole) & mask)) {
			index->pointers[hole] = index->pointers[at];
			hole = at;
		}
	}
	index->pointers[hole].ptr = 0;
	index->used--;
}

/* ---- slots ---- */

/* 0, -ENOMEM, -E2BIG. */
static int slot_get(struct trace_ops *t, uint32_t class, uint32_t *slot)
{
	struct trace_index *index = t->index;
	int ret;

	*slot = index->free_slot;
	if (*slot != NO_SLOT) {
		index->free_slot = index->slots[*slot];
	} else {
		if (t->nr_slots == TRACE_MAX_SLOTS)
			return -E2BIG;
		ret = grow(&index->slots, &index->max_slots, t->nr_slots, sizeof(*index->slots),
			   1024);
		if (ret)
			return ret;
		*slot = t->nr_slots++;
	}
	index->slots[*slot] = class;
	return 0;
}

static void slot_put(struct trace_ops *t, uint32_t slot)
{
	t->index->slots[slot] = t->index->free_slot;
	t->index->free_slot = slot;
}

/* ---- caches and classes ---- */

#define WORD 8u

static uint32_t words_of(uint32_t size)
{
	return (size + WORD - 1) / WORD;
}

static uint32_t *cache_chain(struct trace_index *index, const struct trace_cache *c)
{
	uint64_t hash = mix(index, words_of(c->size) ^ (uint64_t)c->stride << 32);

	for (const char *name = c->name; *name; name++)
		hash = mix(index, hash ^ (unsigned char)*name);
	return &index->cache_chain[hash & (NR_CHAINS - 1)];
}

static bool is_same_cache(const struct trace_cache *a, const struct trace_cache *b)
{
	if (words_of(a->size) != words_of(b->size) || a->stride != b->stride ||
	    a->kmalloc != b->kmalloc || a->named != b->named || strcmp(a->name, b->name))
		return false;
	return a->named || a->accounted == b->accounted;
}

/*
 * Kernels that do not say which cache: one for each size and stride is what merging makes of them,
 * and accounted ones do not merge with others.
 */
static void make_name(struct trace_cache *c)
{
	if (!c->stride || c->stride == words_of(c->size) * WORD)
		snprintf(c->name, sizeof(c->name), "kmem_cache-%u", c->size);
	else
		snprintf(c->name, sizeof(c->name), "kmem_cache-%u-%u", c->size, c->stride);
}

/* With the flag in the call an object is accounted, whatever its cache is. */
static bool has_accounted_cache(const struct trace_event *event)
{
	return event->accounted == TRACE_ACCOUNTED_YES && !(event->gfp & __GFP_ACCOUNT);
}

/* All of the name is set: it is handed to other processes as it is. */
static struct trace_cache cache_of_event(const struct trace_event *event)
{
	struct trace_cache c = { .named = event->name.length > 0,
				 .accounted = has_accounted_cache(event),
				 .size = (uint32_t)event->bytes_req,
				 .stride = UINT32_MAX };

	if (event->bytes_alloc < c.stride)
		c.stride = (uint32_t)event->bytes_alloc;
	if (c.named)
		trace_copy_text(c.name, sizeof(c.name), event->name);
	else
		make_name(&c);
	return c;
}

/* 0, -ENOMEM, -E2BIG. */
static int cache_intern(struct trace_ops *t, const struct trace_cache *wanted, uint32_t *cache)
{
	uint32_t *chain = cache_chain(t->index, wanted);
	int ret;

	for (uint32_t i = *chain; i; i = t->caches[i - 1].next) {
		struct trace_cache *c = &t->caches[i - 1];

		if (!is_same_cache(c, wanted))
			continue;
		c->accounted |= wanted->accounted;
		if (c->size < wanted->size)
			c->size = wanted->size;
		*cache = i - 1;
		return 0;
	}
	if (t->nr_caches == TRACE_MAX_CLASSES)
		return -E2BIG;
	ret = grow(&t->caches, &t->index->max_caches, t->nr_caches, sizeof(*t->caches), 64);
	if (ret)
		return ret;
	*cache = t->nr_caches++;
	t->caches[*cache] = *wanted;
	t->caches[*cache].next = *chain;
	*chain = t->nr_caches;
	return 0;
}

uint32_t trace_ops_unknown_strides(const struct trace_ops *t)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < t->nr_caches; i++)
		nr += trace_stride_of(t->caches[i].size, t->caches[i].stride).unknown;
	return nr;
}

/* ---- kinds of kmalloc ---- */

void trace_kmalloc_name(char name[TRACE_CACHE_NAME], enum trace_kmalloc kmalloc, uint32_t size)
{
	const char *prefix = kmalloc == TRACE_KMALLOC_CG ? "kmalloc-cg" : "dma-kmalloc";

	if (size < 1024)
		snprintf(name, TRACE_CACHE_NAME, "%s-%u", prefix, size);
	else
		snprintf(name, TRACE_CACHE_NAME, "%s-%uk", prefix, size / 1024);
}

/*
 * The kernel's order: DMA, reclaimable, accounted. Only kernels that say whether an object is
 * accounted are known to have caches for those.
 */
static enum trace_kmalloc kmalloc_kind(const struct trace_event *event)
{
	if (event->bytes_req > KMALLOC_MAX_CACHE_SIZE)
		return TRACE_KMALLOC_NONE;
	if (event->gfp & __GFP_DMA)
		return TRACE_KMALLOC_DMA;
	if (!(event->gfp & __GFP_RECLAIMABLE) && event->accounted == TRACE_ACCOUNTED_YES)
		return TRACE_KMALLOC_CG;
	return TRACE_KMALLOC_NONE;
}

/* Bytes of the smallest kmalloc cache for an object. */
static uint32_t kmalloc_size(uint64_t size)
{
	unsigned int index = uslab_kmalloc_index(size);

	if (index == 1)
		return 96;
	return index == 2 ? 192 : 1u << index;
}

/* The cache of a kind for an object. What the kernel's had as strides is not looked at. */
static struct trace_cache kmalloc_of_event(const struct trace_event *event,
					   enum trace_kmalloc kmalloc)
{
	struct trace_cache c = { .named = true,
				 .accounted = kmalloc == TRACE_KMALLOC_CG,
				 .kmalloc = kmalloc,
				 .size = kmalloc_size(event->bytes_req) };

	trace_kmalloc_name(c.name, kmalloc, c.size);
	return c;
}

/* ---- classes ---- */

/* Where an object comes from, and which flags its call has besides. 0, -ENOMEM, -E2BIG. */
static int choose_cache(struct trace_ops *t, const struct trace_event *event,
			struct trace_class *class)
{
	struct trace_cache cache;
	enum trace_kmalloc kmalloc;

	if (!trace_kind_is_kmalloc(event->kind)) {
		cache = cache_of_event(event);
	} else {
		kmalloc = kmalloc_kind(event);
		class->gfp &= ~__GFP_ACCOUNT;
		if (kmalloc == TRACE_KMALLOC_NONE)
			return 0;
		cache = kmalloc_of_event(event, kmalloc);
	}
	/* Which memory a cache takes was decided at its creation. */
	class->gfp &= __GFP_ZERO;
	return cache_intern(t, &cache, &class->cache);
}

/* The class of an allocation. 0, -ENOMEM, -E2BIG. */
static int class_intern(struct trace_ops *t, const struct trace_event *event, uint32_t *class)
{
	struct trace_class wanted = { .cache = TRACE_NO_CACHE,
				      .size = (uint32_t)event->bytes_req,
				      .gfp = event->gfp };
	uint32_t *chain;
	int ret = choose_cache(t, event, &wanted);

	if (ret)
		return ret;
	chain = &t->index->class_chain[mix(t->index, mix(t->index, wanted.cache) ^
							     (uint64_t)wanted.size << 32 ^
							     wanted.gfp) &
				       (NR_CHAINS - 1)];
	for (uint32_t i = *chain; i; i = t->classes[i - 1].next) {
		const struct trace_class *c = &t->classes[i - 1];

		if (c->cache == wanted.cache && c->size == wanted.size && c->gfp == wanted.gfp) {
			*class = i - 1;
			return 0;
		}
	}
	if (t->nr_classes == TRACE_MAX_CLASSES)
		return -E2BIG;
	ret = grow(&t->classes, &t->index->max_classes, t->nr_classes, sizeof(wanted), 64);
	if (ret)
		return ret;
	wanted.next = *chain;
	*class = t->nr_classes++;
	t->classes[*class] = wanted;
	*chain = t->nr_classes;
	return 0;
}

/* ---- time ---- */

/* Of the next operation. The clocks of two CPUs may differ a little: time stands still then. */
static int stamp_add(struct trace_ops *t, uint64_t time)
{
	int ret = grow(&t->stamps, &t->index->max_stamps, t->nr_ops, sizeof(*t->stamps), 65536);
	uint64_t last;

	if (ret)
		return ret;
	last = t->nr_ops ? t->stamps[t->nr_ops - 1] : 0;
	t->stamps[t->nr_ops] = time > last ? time : last;
	return 0;
}

uint64_t trace_ops_time(const struct trace_ops *t, size_t op)
{
	return op < t->nr_ops ? t->stamps[op] - t->stamps[0] : 0;
}

/* ---- events ---- */

static int op_add(struct trace_ops *t, enum trace_op_kind kind, uint32_t slot, uint32_t class,
		  const struct trace_event *event)
{
	int ret = grow(&t->ops, &t->index->max_ops, t->nr_ops, sizeof(*t->ops), 65536);

	if (!ret)
		ret = stamp_add(t, event->time);
	if (ret)
		return ret;
	t->ops[t->nr_ops++] =
		(struct trace_op){ .slot = slot, .class = class, .cpu = event->cpu, .kind = kind };
	return 0;
}

/* Ends the life of the object in entry. */
static int add_free(struct trace_ops *t, struct pointer *entry, enum trace_op_kind kind,
		    const struct trace_event *event)
{
	uint32_t slot = (uint32_t)entry->slot;
	uint32_t class = t->index->slots[slot];
	int ret = op_add(t, kind, slot, class, event);

	if (ret)
		return ret;
	t->counts.matched_frees++;
	t->counts.live_objects--;
	t->counts.live_bytes -= t->classes[class].size;
	slot_put(t, slot);
	pointer_remove(t->index, entry);
	return 0;
}

static bool is_kmalloc_class(const struct trace_ops *t, const struct trace_class *class)
{
	return class->cache == TRACE_NO_CACHE ||
	       t->caches[class->cache].kmalloc != TRACE_KMALLOC_NONE;
}

/* Does the free say what the allocation said? */
static bool same_cache(const struct trace_ops *t, const struct pointer *entry,
		       const struct trace_event *event)
{
	const struct trace_class *class = &t->classes[t->index->slots[entry->slot]];
	char name[TRACE_CACHE_NAME];

	if (trace_kind_is_kmalloc(event->kind)) /* kfree() may be given any object */
		return true;
	if (is_kmalloc_class(t, class))
		return false;
	if (!event->name.length || !t->caches[class->cache].named)
		return true;
	trace_copy_text(name, sizeof(name), event->name);
	return !strcmp(name, t->caches[class->cache].name);
}

static int on_free(struct trace_ops *t, const struct trace_event *event)
{
	struct pointer *entry;
	bool by_kfree;

	if (ZERO_OR_NULL_PTR(event->ptr)) {
		t->counts.null_frees++;
		return 0;
	}
	entry = pointer_find(t->index, event->ptr);
	if (!entry->ptr) {
		t->counts.unmatched_frees++;
		return 0;
	}
	if (!same_cache(t, entry, event))
		t->counts.other_cache_frees++;
	by_kfree = trace_kind_is_kmalloc(event->kind) ||
		   is_kmalloc_class(t, &t->classes[t->index->slots[entry->slot]]);
	return add_free(t, entry, by_kfree ? TRACE_OP_KFREE : TRACE_OP_FREE, event);
}

/* An allocation that is to be performed. */
static int add_alloc(struct trace_ops *t, const struct trace_event *event)
{
	struct trace_counts *counts = &t->counts;
	struct pointer *entry;
	uint32_t class;
	uint32_t slot;
	int ret = class_intern(t, event, &class);

	if (!ret)
		ret = slot_get(t, class, &slot);
	if (!ret)
		ret = op_add(t, TRACE_OP_ALLOC, slot, class, event);
	if (!ret)
		ret = pointers_reserve(t->index);
	if (ret)
		return ret;
	entry = pointer_find(t->index, event->ptr);
	*entry = (struct pointer){ event->ptr, slot };
	t->index->used++;
	counts->allocations++;
	counts->live_objects++;
	counts->live_bytes += event->bytes_req;
	if (counts->peak_objects < counts->live_objects)
		counts->peak_objects = counts->live_objects;
	if (counts->peak_bytes < counts->live_bytes) {
		counts->peak_bytes = counts->live_bytes;
		counts->peak_op = t->nr_ops - 1;
	}
	return 0;
}

static int on_alloc(struct trace_ops *t, const struct trace_event *event)
{
	struct pointer *entry;
	int ret;

	if (!event->ptr) {
		t->counts.failed++;
		return 0;
	}
	if (event->ptr == (uintptr_t)ZERO_SIZE_PTR) {
		t->counts.zero_size++;
		return 0;
	}
	entry = pointer_find(t->index, event->ptr);
	if (entry->ptr) {
		t->counts.implied_frees++;
		ret = add_free(t, entry, TRACE_OP_IMPLIED_FREE, event);
		if (ret)
			return ret;
	}
	if (!event->bytes_req) {
		t->counts.zero_size++;
		return 0;
	}
	if (event->bytes_req > KMALLOC_MAX_SIZE) {
		t->counts.too_large++;
		return 0;
	}
	return add_alloc(t, event);
}

/* ---- CPUs ---- */

static bool has_cpu(const struct trace_ops *t, unsigned int cpu)
{
	return t->cpus_seen[cpu / 64] >> cpu % 64 & 1;
}

static void note_cpu(struct trace_ops *t, unsigned int cpu)
{
	t->counts.cpus += !has_cpu(t, cpu);
	t->cpus_seen[cpu / 64] |= 1ull << cpu % 64;
}

void trace_ops_rank_cpus(const struct trace_ops *t, uint16_t rank[TRACE_MAX_CPUS])
{
	uint16_t next = 0;

	for (unsigned int cpu = 0; cpu < TRACE_MAX_CPUS; cpu++) {
		rank[cpu] = next;
		next = (uint16_t)(next + has_cpu(t, cpu));
	}
}

/* ---- all events ---- */

int trace_ops_add(struct trace_ops *t, const struct trace_event *event)
{
	t->counts.events[event->kind]++;
	if (event->cpu >= TRACE_MAX_CPUS)
		return -E2BIG;
	note_cpu(t, event->cpu);
	return trace_kind_is_alloc(event->kind) ? on_alloc(t, event) : on_free(t, event);
}

void trace_ops_limit(const struct trace_ops *t, const struct trace_event *event, char *text,
		     size_t size)
{
	if (event->cpu >= TRACE_MAX_CPUS)
		snprintf(text, size, "a CPU below %u, found %u", TRACE_MAX_CPUS, event->cpu);
	else if (t->counts.live_objects == TRACE_MAX_SLOTS)
		snprintf(text, size, "at most %u live objects, found one more", TRACE_MAX_SLOTS);
	else
		snprintf(text, size,
			 "at most %u caches, and as many kinds of allocations (cache, size and "
			 "flags), found one more",
			 TRACE_MAX_CLASSES);
}

/* ---- life ---- */

int trace_ops_init(struct trace_ops *t)
{
	*t = (struct trace_ops){ 0 };
	t->index = calloc(1, sizeof(*t->index));
	if (!t->index)
		return -ENOMEM;
	t->index->free_slot = NO_SLOT;
	if (getrandom(&t->index->seed, sizeof(t->index->seed), GRND_NONBLOCK) < 0)
		t->index->seed = (uintptr_t)t->index;
	if (pointers_reserve(t->index)) {
		trace_ops_destroy(t);
		return -ENOMEM;
	}
	return 0;
}

void trace_ops_finish(struct trace_ops *t)
{
	if (!t->index)
		return;
	free(t->index->pointers);
	free(t->index->slots);
	free(t->index);
	t->index = NULL;
}

void trace_ops_destroy(struct trace_ops *t)
{
	trace_ops_finish(t);
	free(t->ops);
	free(t->stamps);
	free(t->classes);
	free(t->caches);
	*t = (struct trace_ops){ 0 };
}
