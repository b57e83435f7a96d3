/* SPDX-License-Identifier: MIT */
/*
 * inspect/fronts.c - counts the objects that CPUs, depots and barns of a process hold
 *
 * Data:       struct snapshot of the caller; a CPU's window is read in pieces of its buffer.
 * Invariants: array front: the counts follow from the words, no array is read. cpuslab front:
 *             the private free list of a cpu slab is followed inside of that slab only, for at most
 *             as many steps as it has objects. queues front: each array has its count beside it.
 *             Fronts of sheaves: each sheaf and barn has its count, no list of sheaves is followed.
 * Locks:      none.
 * Flow:       called by snapshot.c when the pages are counted.
 *
 * Slabs on a CPU's partial list are not read here: their own counters say what is in use.
 */
#include "base/bits.h"
#include "engine/slub/freeptr.h"
#include "front/depot.h"
#include "front/percpu.h"
#include "front/queues.h"
#include "front/sheaves.h"
#include "page/arena.h"
#include "inspect/internal.h"

#define MAX_QUEUE (16 * QUEUES_MAX_LIMIT) /* objects: the largest limit of a queue */
#define WORDS_BYTES (USLAB_NR_HANDLES * sizeof(uint64_t))

/* The states of this many caches at once, in the lower half of the buffer; slabs in the upper. */
#define PIECE (SNAPSHOT_BUFFER / 2 / USLAB_CPU_STATE_SIZE)
#define SLAB_COPY (s->buffer + SNAPSHOT_BUFFER / 2)
#define SLAB_COPY_SIZE (SNAPSHOT_BUFFER / 2)

static uint64_t window(const struct snapshot *s, int cpu)
{
	return s->totals.arena_base + (uint64_t)USLAB_WINDOWS_OFFSET +
	       ((uint64_t)(cpu + USLAB_WINDOW_CPU0) << USLAB_WINDOW_SHIFT);
}

/* Objects in the array whose top a word or a spare points at. */
static unsigned long count_array(struct snapshot *s, uint64_t top, unsigned int capacity)
{
	if (!top)
		return 0;
	if (top % sizeof(void *) || sheaf_index(top) < USLAB_SHEAF_CAPACITY - capacity) {
		s->totals.inconsistent++;
		return 0;
	}
	return sheaf_count_at(top, capacity);
}

/*
 * words: one for each cache number; those that always miss count as empty. most: objects that such
 * an array can have.
 */
static void count_arrays(struct snapshot *s, const uint64_t *words, unsigned int most)
{
	for (unsigned int i = 0; i < s->nr_caches; i++) {
		struct snapshot_cache *c = &s->cache[i];

		if (c->capacity && !s->work[i].sheaves && snapshot_is_array(s, c->id, words[c->id]))
			c->objects_cpu += count_array(s, words[c->id], MIN(c->capacity, most));
	}
}

const struct snapshot_array_place snapshot_array_places[SNAPSHOT_ARRAY_PLACES] = {
	{ 0, USLAB_SHEAF_CAPACITY },
	{ USLAB_WINDOW_GENERIC, USLAB_SHEAF_CAPACITY },
	{ USLAB_WINDOW_SPARES, USLAB_SHEAF_CAPACITY },
	{ PERCPU_CHARGED, SHEAF_OWNED_CAPACITY },
	{ USLAB_WINDOW_ACCOUNTS, SHEAF_OWNED_CAPACITY },
};

static void read_arrays(struct snapshot *s, int cpu)
{
	for (unsigned int i = 0; i < SNAPSHOT_ARRAY_PLACES; i++) {
		const struct snapshot_array_place *place = &snapshot_array_places[i];

		if (snapshot_read(s, window(s, cpu) + place->offset, s->buffer, WORDS_BYTES))
			count_arrays(s, (const uint64_t *)s->buffer, place->capacity);
	}
}

/* A slab of the process, for following the free list in it. */
struct slab_copy {
	uint64_t base;
	uint64_t size; /* bytes */
	unsigned int objects;
	unsigned int stride;
	unsigned int offset; /* of the free pointer in an object */
	bool copied;	     /* all of it is in SLAB_COPY; else it is read word by word */
};

static bool read_slab(struct snapshot *s, int index, uint64_t descriptor, struct slab_copy *slab)
{
	uint64_t number = (descriptor - s->descriptors) / sizeof(struct page);
	union {
		uint64_t word;
		struct slab_counters is;
	} counters;
	struct slab_layout layout;
	struct page page;

	if (descriptor < s->descriptors || descriptor % sizeof(page) || number >= s->nr_pages) {
		s->totals.inconsistent++;
		return false;
	}
	if (!snapshot_read(s, descriptor, &page, sizeof(page)))
		return false;
	/* The CPU may have gone on to another slab meanwhile: no error. */
	if (page.type != PAGE_SLAB || page.order > ARENA_CHUNK_ORDER ||
	    snapshot_find_engine(s, (uintptr_t)page.engine) != index ||
	    !snapshot_read(s, (uintptr_t)page.layout, &layout, sizeof(layout)))
		return false;
	counters.word = page.counters;
	slab->base = s->totals.arena_base + (number << PAGE_SHIFT);
	slab->size = PAGE_SIZE << page.order;
	slab->objects = counters.is.objects;
	slab->stride = layout.stride;
	slab->offset = layout.offset;
	if (slab->stride < sizeof(void *) || slab->stride > slab->size ||
	    slab->offset > slab->stride - sizeof(void *)) {
		s->totals.inconsistent++;
		return false;
	}
	slab->copied = slab->size <= SLAB_COPY_SIZE;
	return !slab->copied || snapshot_read(s, slab->base, SLAB_COPY, slab->size);
}

/* The free pointer of an object that lies in the slab; 0 also when it cannot be read. */
static uint64_t next_free(struct snapshot *s, const struct slub *code, const struct slab_copy *slab,
			  uint64_t obj)
{
	uint64_t slot = obj + slab->offset;
	uint64_t value;

	if (slab->copied)
		__builtin_memcpy(&value, SLAB_COPY + (slot - slab->base), sizeof(value));
	else if (!snapshot_read(s, slot, &value, sizeof(value)))
		return 0;
	return freeptr_code(code, value, (const uintptr_t *)slot);
}

/* Length of the private free list of a cpu slab. */
static unsigned long count_free_list(struct snapshot *s, int index, uint64_t descriptor,
				     uint64_t obj)
{
	struct slub code = { .hardened = s->work[index].hardened, .random = s->work[index].random };
	struct slab_copy slab;
	unsigned long n = 0;

	if (!obj || !read_slab(s, index, descriptor, &slab))
		return 0;
	while (obj && n < slab.objects) {
		/* also what a racing change of the list looks like */
		if (obj < slab.base || obj > slab.base + slab.size - slab.stride) {
			s->totals.inconsistent++;
			break;
		}
		n++;
		obj = next_free(s, &code, &slab, obj);
	}
	return n;
}

/* Objects in a CPU's array of the queues front; one that is missing or claimed has none. */
static unsigned long count_queue(struct snapshot *s, const struct kmem_cache_cpu *state)
{
	uint64_t bytes = state->top - state->bottom;

	if (!state->bottom || state->top == QUEUES_STOPPED)
		return 0;
	if (state->top < state->bottom || bytes % sizeof(void *) ||
	    bytes / sizeof(void *) > QUEUES_MAX_LIMIT) {
		s->totals.inconsistent++;
		return 0;
	}
	return bytes / sizeof(void *);
}

/* Objects in a CPU's sheaf, of whatever capacity: that of the cache may just be changed. */
static unsigned long count_sheaf(struct snapshot *s, const struct sheaf *address)
{
	struct sheaf sheaf;

	if (!address || !snapshot_read(s, (uintptr_t)address, &sheaf, sizeof(sheaf)))
		return 0;
	/* also what one looks like that was freed and has become something else */
	if (sheaf.capacity > SHEAVES_MAX_CAPACITY || sheaf.nr > sheaf.capacity) {
		s->totals.inconsistent++;
		return 0;
	}
	return sheaf.nr;
}

static void count_state(struct snapshot *s, int index, const struct kmem_cache_cpu *state)
{
	struct snapshot_cache *c = &s->cache[index];

	for (unsigned int i = 0; i < NR_ENGINE_STATS; i++)
		c->stat[i] += state->stat[i];
	if (s->work[index].sheaves)
		c->objects_cpu += count_sheaf(s, state->main) + count_sheaf(s, state->spare);
	if (s->work[index].queues)
		c->objects_cpu += count_queue(s, state);
	else if (snapshot_has_cpu_slabs(c) && state->slab) {
		c->objects_cpu += count_free_list(s, index, state->slab, state->freelist);
		s->work[index].cpu_slabs++;
	}
}

/* The states of PIECE caches from number first on: at once, or not at all where there are none. */
static void read_states(struct snapshot *s, int cpu, unsigned int first)
{
	uint64_t place = window(s, cpu) + USLAB_WINDOW_STATE + first * USLAB_CPU_STATE_SIZE;
	const uint16_t *by_id = &s->by_id[first];
	bool wanted = false;

	for (unsigned int i = 0; i < PIECE; i++)
		wanted |= by_id[i] != 0;
	if (!wanted || !snapshot_read(s, place, s->buffer, PIECE * USLAB_CPU_STATE_SIZE))
		return;
	for (unsigned int i = 0; i < PIECE; i++)
		if (by_id[i])
			count_state(s, by_id[i] - 1,
				    (void *)(s->buffer + i * USLAB_CPU_STATE_SIZE));
}

/* Objects that wait in a depot for the way to other nodes; remote is the address of all. */
static unsigned long count_remotes(struct snapshot *s, uint64_t remote)
{
	unsigned long count = 0;
	struct depot_remote r;

	for (unsigned int node = 0; remote && node < s->totals.nodes; node++)
		if (snapshot_read(s, remote + node * sizeof(r), &r, sizeof(r)))
			count += MIN(r.nr, USLAB_SHEAF_CAPACITY);
	return count;
}

/* Objects in the lanes of a depot. */
static unsigned long count_lanes(struct snapshot *s, const struct depot *depot)
{
	unsigned long count = 0;
	struct depot_lane lane;

	for (unsigned int i = 0; depot->lanes && i < MIN(depot->nr_lanes, DEPOT_LANES); i++)
		if (snapshot_read(s, (uintptr_t)(depot->lanes + i), &lane, sizeof(lane)))
			count += lane.nr_objects;
	return count;
}

static void read_depots(struct snapshot *s, unsigned int index)
{
	struct snapshot_cache *c = &s->cache[index];
	struct depot depot;

	if (!c->capacity || s->work[index].sheaves || !s->work[index].depots)
		return;
	for (unsigned int node = 0; node < s->totals.nodes; node++) {
		if (!snapshot_read(s, s->work[index].depots + node * sizeof(depot), &depot,
				   sizeof(depot)))
			return;
		/* bounded by the objects of all slabs, in case the count is corrupted */
		c->objects_depot += MIN(count_lanes(s, &depot), c->total_objects);
		c->objects_alien += count_remotes(s, (uintptr_t)depot.remote);
		c->depot_limit += (unsigned long)depot.max[DEPOT_FULL] * c->capacity;
		c->depot_overflows += depot.nr_overflows;
		c->depot_underflows += depot.nr_underflows;
		c->depot_exchanges += depot.nr_exchanges;
	}
	c->objects_alien = MIN(c->objects_alien, c->total_objects);
}

/* Objects in arrays of a node that hold objects of each other node; alien is the address of all. */
static unsigned long count_aliens(struct snapshot *s, uint64_t alien)
{
	unsigned long count = 0;
	struct queue queue;

	for (unsigned int node = 0; node < s->totals.nodes; node++)
		if (snapshot_read(s, alien + node * sizeof(queue), &queue, sizeof(queue)))
			count += MIN(queue.avail, MAX_QUEUE);
	return count;
}

static void read_queues(struct snapshot *s, unsigned int index)
{
	struct snapshot_cache *c = &s->cache[index];
	uint64_t address = s->work[index].queues;
	struct queues_node node;
	struct queues queues;

	if (!address || !snapshot_read(s, address, &queues, sizeof(queues)))
		return;
	c->capacity = queues.limit;
	address += offsetof(struct queues, node);
	for (unsigned int n = 0; n < MIN(queues.nr_nodes, s->totals.nodes); n++) {
		if (!snapshot_read(s, address + n * sizeof(node), &node, sizeof(node)))
			return;
		c->objects_shared += MIN(node.shared.avail, MAX_QUEUE);
		if (node.alien)
			c->objects_alien += count_aliens(s, (uintptr_t)node.alien);
	}
	/* likewise */
	c->objects_shared = MIN(c->objects_shared, c->total_objects);
	c->objects_alien = MIN(c->objects_alien, c->total_objects);
}

static void read_sheaves(struct snapshot *s, unsigned int index)
{
	struct snapshot_cache *c = &s->cache[index];
	uint64_t address = s->work[index].sheaves;
	struct sheaves sheaves;
	struct barn barn;

	if (!address || !snapshot_read(s, address, &sheaves, sizeof(sheaves)))
		return;
	c->capacity = MIN(sheaves.capacity, SHEAVES_MAX_CAPACITY);
	address += offsetof(struct sheaves, barn);
	for (unsigned int n = 0; n < MIN(sheaves.nr_nodes, s->totals.nodes); n++) {
		if (!snapshot_read(s, address + n * sizeof(barn), &barn, sizeof(barn)))
			return;
		c->objects_depot += MIN(barn.nr_objects, c->total_objects);
		c->depot_limit += (unsigned long)BARN_MAX_FULL * c->capacity;
	}
}

void snapshot_fronts(struct snapshot *s)
{
	/*
	 * The handles are not needed any more; from here on word[] has the words of CPU -1, which
	 * always miss.
	 */
	if (!snapshot_read(s, window(s, -1), s->word, sizeof(s->word)))
		return;
	for (unsigned int i = 0; i < s->nr_caches; i++)
		read_sheaves(s, i);
	for (unsigned int cpu = 0; cpu < s->totals.cpus && !s->error; cpu++) {
		read_arrays(s, (int)cpu);
		for (unsigned int first = 0; first < USLAB_NR_HANDLES; first += PIECE)
			read_states(s, (int)cpu, first);
	}
	for (unsigned int i = 0; i < s->nr_caches; i++)
		read_depots(s, i);
	for (unsigned int i = 0; i < s->nr_caches; i++)
		read_queues(s, i);
}
