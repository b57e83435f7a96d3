/* SPDX-License-Identifier: MIT */
/*
 * inspect/snapshot.c - takes a snapshot: finds the caches, and calls the files that count
 *
 * Data:       struct snapshot of the caller.
 * Invariants: see inspect/snapshot.h; s->by_id and s->hash lead only to indexes below nr_caches.
 * Locks:      none.
 * Flow:       snapshot_take: root -> page map -> caches (by the table of handles, an array, so that
 *             no damaged list is followed) -> heaps.c -> pages.c -> numa.c -> fronts.c -> lent.c ->
 *             mobility.c -> totals and extra rows.
 */
#include "inspect/snapshot.h"

#include <errno.h>
#include <string.h>

#include "base/atomic.h"
#include "base/bits.h"
#include "base/mix.h"
#include "cache/control/control.h"
#include "cache/lent.h"
#include "debug/debug.h"
#include "front/depot.h"
#include "front/queues.h"
#include "front/sheaves.h"
#include "os/cpu/cpu.h"
#include "page/arena.h"
#include "page/large.h"
#include "page/meta.h"
#include "page/realtime.h"
#include "inspect/internal.h"

#define MAX_PAGE_ORDER ARENA_CHUNK_ORDER

/* The rows of fields.def must be in the order of enum engine_stat. */
enum stat_row {
#define CACHE_STAT(item, key, help) ROW_OF_##item,
#include "inspect/fields.def"
	NR_STAT_ROWS
};

#define CACHE_STAT(item, key, help) BUILD_ASSERT((int)ROW_OF_##item == (int)item);
#include "inspect/fields.def"
BUILD_ASSERT((int)NR_STAT_ROWS == (int)NR_ENGINE_STATS);

bool snapshot_read(struct snapshot *s, uint64_t addr, void *buf, size_t len)
{
	int ret;

	if (s->error)
		return false;
	ret = reader_read(s->reader, addr, buf, len);
	if (ret == -EFAULT)
		s->totals.inconsistent++;
	else
		s->error = ret;
	return ret == 0;
}

/*
 * Cleans a string of the process: size bytes, NUL last. Bytes that are not printable ASCII become
 * '?', since names are printed on terminals and in JSON.
 */
static void clean_text(char *to, size_t size)
{
	size_t i;

	for (i = 0; i < size - 1 && to[i]; i++)
		if (to[i] < ' ' || to[i] > '~')
			to[i] = '?';
	memset(to + i, 0, size - i);
}

/* The string may end right before unmapped memory. */
void snapshot_text(struct snapshot *s, uint64_t addr, char *to, size_t size)
{
	size_t done = 0;

	while (done < size) {
		size_t part = MIN(size - done, PAGE_SIZE - (addr + done) % PAGE_SIZE);

		if (!snapshot_read(s, addr + done, to + done, part))
			break;
		if (memchr(to + done, '\0', part))
			done = size;
		else
			done += part;
	}
	if (done < size)
		to[done] = '\0';
	clean_text(to, size);
}

/* ---- root and page map ----------------------------------------------------------------------- */

static bool same_structures(const struct uslab_root *root)
{
	return root->version == USLAB_ROOT_VERSION &&
	       root->root_size == sizeof(struct uslab_root) &&
	       root->page_size == sizeof(struct page) && root->cache_size == sizeof(struct cache) &&
	       root->cpu_state_size == sizeof(struct kmem_cache_cpu) &&
	       root->depot_size == sizeof(struct depot) && root->slub_size == sizeof(struct slub) &&
	       root->queues_size == sizeof(struct queues) &&
	       root->barn_size == sizeof(struct barn) &&
	       root->engine_ops_size == sizeof(struct engine_ops) &&
	       root->engine_heap_size == sizeof(struct engine_heap) &&
	       root->nr_engines == CACHE_NR_ENGINES && root->debug_size == sizeof(struct debug) &&
	       root->control_size == sizeof(struct control) &&
	       root->sheaf_size == sizeof(struct slab_sheaf);
}

int snapshot_open(struct snapshot *s, const struct reader *r, uint64_t root)
{
	int ret = reader_read(r, root, &s->root, sizeof(s->root));

	if (ret)
		return ret;
	if (s->root.magic != USLAB_ROOT_MAGIC)
		return -EPROTO;
	clean_text(s->root.version_text, sizeof(s->root.version_text));
	if (!same_structures(&s->root))
		return -EPROTONOSUPPORT;
	/* pairs with root_init() */
	return load_acquire(&s->root.ready) ? 0 : -EAGAIN;
}

/* The arena's address and size. false: not valid (or there is no arena yet). */
static bool read_page_map(struct snapshot *s)
{
	struct snapshot_totals *t = &s->totals;
	struct page_map map;

	if (!snapshot_read(s, s->root.page_map, &map, sizeof(map)) || !map.limit)
		return false;
	if ((uintptr_t)map.base % (PAGE_SIZE << MAX_PAGE_ORDER) || map.nr_pages > map.limit ||
	    map.limit > USLAB_MAX_ARENA >> PAGE_SHIFT ||
	    (uintptr_t)map.pages % sizeof(struct page)) {
		t->inconsistent++;
		return false;
	}
	s->descriptors = (uintptr_t)map.pages;
	s->nr_pages = map.nr_pages;
	t->arena_base = (uintptr_t)map.base;
	t->arena_bytes = map.nr_pages << PAGE_SHIFT;
	t->arena_end = t->arena_base + t->arena_bytes;
	t->arena_limit = map.limit << PAGE_SHIFT;
	return true;
}

static void read_globals(struct snapshot *s)
{
	struct snapshot_totals *t = &s->totals;
	struct realtime_counters realtime;
	struct large_counters large;
	struct meta_counters meta;
	struct topology topology;
	uint8_t rseq;

	memcpy(t->version_text, s->root.version_text, sizeof(t->version_text));
	t->cpus = t->nodes = 1;
	if (snapshot_read(s, s->root.topology, &topology, sizeof(topology))) {
		t->cpus = CLAMP(topology.nr_cpu_ids, 1u, (unsigned int)USLAB_MAX_CPUS);
		t->nodes = CLAMP(topology.nr_nodes, 1u, (unsigned int)OS_MAX_NODES);
	}
	if (snapshot_read(s, s->root.rseq_on, &rseq, sizeof(rseq)))
		t->rseq = rseq != 0;
	if (snapshot_read(s, s->root.meta_counters, &meta, sizeof(meta)))
		t->meta_bytes = meta.mapped;
	if (s->root.realtime && snapshot_read(s, s->root.realtime, &realtime, sizeof(realtime))) {
		t->realtime_bytes = realtime.bytes;
		t->realtime_locked = realtime.locked;
		t->realtime_exceeded = realtime.exceeded;
	}
	if (snapshot_read(s, s->root.large_counters, &large, sizeof(large))) {
		t->mapped = large.count;
		t->mapped_bytes = large.bytes;
	}
}

/* ---- caches ---------------------------------------------------------------------------------- */

static unsigned int hash_of(uint64_t engine)
{
	return (unsigned int)(mix_multiply(engine >> 4) >> 40) % SNAPSHOT_HASH;
}

int snapshot_find_engine(const struct snapshot *s, uint64_t engine)
{
	/*
	 * At most USLAB_NR_HANDLES of the slots are taken, so there is always a free one to end at.
	 */
	for (unsigned int slot = hash_of(engine); s->hash[slot]; slot = (slot + 1) % SNAPSHOT_HASH)
		if (s->work[s->hash[slot] - 1].engine == engine)
			return s->hash[slot] - 1;
	return -1;
}

static void add_to_indexes(struct snapshot *s, unsigned int index)
{
	unsigned int slot = hash_of(s->work[index].engine);

	while (s->hash[slot])
		slot = (slot + 1) % SNAPSHOT_HASH;
	s->hash[slot] = (uint16_t)(index + 1);
	s->by_id[s->cache[index].id] = (uint16_t)(index + 1);
}

static void read_aliases(struct snapshot *s, struct snapshot_cache *c, const struct cache *from)
{
	uint64_t next = (uintptr_t)from->aliases;
	struct cache_alias alias;

	c->first_alias = s->nr_aliases;
	/* refcount - 1 of them; the array bounds a loop and a corrupted refcount */
	while (next && s->nr_aliases < SNAPSHOT_MAX_ALIASES && c->nr_aliases + 1 < c->refcount) {
		if (!snapshot_read(s, next, &alias, sizeof(alias)))
			break;
		clean_text(alias.name, sizeof(alias.name));
		memcpy(s->alias[s->nr_aliases++], alias.name, SNAPSHOT_NAME_MAX);
		c->nr_aliases++;
		next = (uintptr_t)alias.next;
	}
}

static void read_slub(struct snapshot *s, struct snapshot_cache *c, struct snapshot_work *work,
		      const struct engine *e)
{
	struct slub slub;

	if (strcmp(c->engine, "slub") != 0 ||
	    !snapshot_read(s, (uintptr_t)e->state, &slub, sizeof(slub)))
		return;
	c->min_partial = slub.min_partial;
	c->remote_node_defrag_ratio = slub.remote_node_defrag_ratio;
	if (!(c->flags & DEBUG_SLAB_FLAGS)) {
		c->cpu_partial = slub.cpu_partial;
		c->cpu_partial_slabs = slub.cpu_partial_slabs;
	}
	work->hardened = slub.hardened;
	work->random = slub.random;
}

/* The name in an ops table of the process: engines and fronts both begin with it. */
static void read_ops_name(struct snapshot *s, uint64_t ops, char *to, size_t size)
{
	uint64_t name;

	BUILD_ASSERT(offsetof(struct engine_ops, name) == 0);
	BUILD_ASSERT(offsetof(struct front_ops, name) == 0);
	*to = '\0';
	if (snapshot_read(s, ops, &name, sizeof(name)))
		snapshot_text(s, name, to, size);
}

/* The numbers below USLAB_ID_FIRST_FREE are those of kmalloc and malloc, which never merge. */
static void fill_cache(struct snapshot *s, struct snapshot_cache *c, const struct cache *from)
{
	uint64_t ops;

	BUILD_ASSERT(sizeof(from->name) == SNAPSHOT_NAME_MAX);
	memcpy(c->name, from->name, SNAPSHOT_NAME_MAX);
	clean_text(c->name, sizeof(c->name));
	c->id = from->front.id;
	c->refcount = (unsigned int)from->refcount;
	c->object_size = from->engine.object_size;
	c->usersize = from->usersize;
	c->slab_size = from->engine.size;
	c->align = from->engine.align;
	c->ctor = from->engine.ctor != NULL;
	c->ctor_address = (uintptr_t)from->engine.ctor;
	c->capacity = from->front.capacity;
	c->sampled = (from->watch & WATCH_SAMPLE) != 0;
	c->flags = from->flags;
	ops = snapshot_layouts(s, (unsigned int)(c - s->cache), &from->engine);
	read_ops_name(s, ops, c->engine, sizeof(c->engine));
	read_ops_name(s, (uintptr_t)from->front.ops, c->front, sizeof(c->front));
	if (c->id >= USLAB_ID_FIRST_FREE && cache_is_mergeable(from))
		cache_unique_id(from, c->unique_id);
}

/*
 * The cache with number id, whose handle holds address. Only a cache that points back at its handle
 * is taken: that excludes caches that are being created or destroyed, and duplicates.
 */
static void read_cache(struct snapshot *s, unsigned int id, uint64_t handle, uint64_t address)
{
	struct snapshot_cache *c = &s->cache[s->nr_caches];
	struct snapshot_work *work = &s->work[s->nr_caches];
	struct cache from;

	if (!snapshot_read(s, address, &from, sizeof(from)))
		return;
	if ((uintptr_t)from.handle != handle || from.front.id != id || from.refcount < 0 ||
	    from.front.capacity > USLAB_SHEAF_CAPACITY) {
		s->totals.inconsistent++;
		return;
	}

	memset(c, 0, sizeof(*c));
	memset(work, 0, sizeof(*work));
	fill_cache(s, c, &from);
	work->engine = address + offsetof(struct cache, engine);
	work->depots = (uintptr_t)from.front.depot;
	if (!strcmp(c->front, front_queues_ops.name))
		work->queues = (uintptr_t)from.front.state;
	if (!strcmp(c->front, front_sheaves_ops.name) ||
	    !strcmp(c->front, front_sheaves_618_ops.name))
		work->sheaves = (uintptr_t)from.front.state;
	work->inuse = c->total_objects = from.engine.heap_objects;
	work->free_list = !strcmp(c->engine, "slab");
	work->takes_blocks = *(const uint8_t *)&from.takes_blocks != 0;
	read_slub(s, c, work, &from.engine);
	read_aliases(s, c, &from);
	add_to_indexes(s, s->nr_caches++);
}

static void read_caches(struct snapshot *s)
{
	uint64_t handles = s->totals.arena_base + (uint64_t)USLAB_WINDOWS_OFFSET;

	BUILD_ASSERT(sizeof(struct kmem_cache) == sizeof(s->word[0]));
	if (!snapshot_read(s, handles, s->word, sizeof(s->word)))
		return;
	for (unsigned int id = 1; id < USLAB_NR_HANDLES; id++)
		if (s->word[id])
			read_cache(s, id, handles + id * sizeof(s->word[0]), s->word[id]);
}

/* ---- what is no cache ------------------------------------------------------------------------ */

struct snapshot_cache *snapshot_add_row(struct snapshot *s, const char *name, unsigned long count,
					unsigned long bytes)
{
	struct snapshot_cache *c = &s->cache[s->nr_caches++];

	memset(c, 0, sizeof(*c));
	memcpy(c->name, name, strlen(name));
	c->refcount = 1;
	c->objects = c->slabs = c->total_objects = count;
	c->slab_bytes = bytes;
	/* blocks differ in size: their mean, so that the columns of the row agree */
	c->object_size = (unsigned int)MIN(count ? bytes / count : 0, (unsigned long)UINT32_MAX);
	c->slab_size = c->object_size;
	c->align = PAGE_SIZE;
	c->object_bytes = c->objects * c->object_size;
	c->objs_per_slab = 1;
	return c;
}

/*
 * Whole pages: free ones that are still resident, and "malloc-large" as the process calls it. With
 * them, the sizes of all rows add up to what the arena occupies.
 * "malloc-mapped" lies outside of it.
 */
static void add_extra_rows(struct snapshot *s)
{
	static const char suffix[] = "-large";
	const struct snapshot_totals *t = &s->totals;
	char name[SNAPSHOT_NAME_MAX] = "";
	struct snapshot_cache *c;
	size_t len;

	c = snapshot_add_row(s, "free-pages", t->dirty_bytes >> PAGE_SHIFT, t->dirty_bytes);
	c->objects = c->object_bytes = 0;

	snapshot_text(s, s->root.large_name, name, 32);
	len = strlen(name);
	if (len < sizeof(suffix) || strcmp(name + len - sizeof(suffix) + 1, suffix) != 0) {
		memcpy(name, "pages-large", sizeof("pages-large"));
		len = strlen(name);
	}
	c = snapshot_add_row(s, name, t->runs, t->run_bytes);
	c->whole_pages = true;
	s->blocks_row = (unsigned int)(c - s->cache);
	blocks_fill_row(s, c);
	memcpy(name + len - sizeof(suffix) + 1, "-mapped", sizeof("-mapped"));
	c = snapshot_add_row(s, name, t->mapped, t->mapped_bytes);
	c->whole_pages = true;
}

bool snapshot_has_cpu_slabs(const struct snapshot_cache *c)
{
	return !strcmp(c->front, front_cpuslab_ops.name) ||
	       !strcmp(c->front, front_sheaves_618_ops.name);
}

/* Objects in use in slabs, less those held by fronts and lent sheaves. */
static void finish_caches(struct snapshot *s)
{
	for (unsigned int i = 0; i < s->nr_caches; i++) {
		struct snapshot_cache *c = &s->cache[i];
		unsigned long inuse = s->work[i].inuse;

		c->objects_held = c->objects_cpu + c->objects_depot + c->objects_shared +
				  c->objects_alien + c->objects_lent;
		c->objects = inuse > c->objects_held ? inuse - c->objects_held : 0;
		c->object_bytes = c->objects * c->object_size;
		if (snapshot_has_cpu_slabs(c) && c->cpu_slabs > s->work[i].cpu_slabs)
			c->slabs_cpu_partial = c->cpu_slabs - s->work[i].cpu_slabs;
		s->totals.slab_bytes += c->slab_bytes;
	}
}

int snapshot_take(struct snapshot *s, const struct reader *r, uint64_t root)
{
	int ret = snapshot_open(s, r, root);

	if (ret)
		return ret;
	s->reader = r;
	s->error = 0;
	s->now_known = false;
	s->nr_caches = s->nr_aliases = 0;
	s->nr_pages = 0;
	s->nr_heaps = 0;
	s->layouts_read = 0;
	memset(&s->totals, 0, sizeof(s->totals));
	memset(s->node, 0, sizeof(s->node));
	memset(s->by_id, 0, sizeof(s->by_id));
	memset(s->hash, 0, sizeof(s->hash));

	read_globals(s);
	snapshot_debug_totals(s);
	if (read_page_map(s)) {
		read_caches(s);
		snapshot_sampling(s);
		snapshot_heaps(s);
		snapshot_pages(s);
		snapshot_numa(s);
		snapshot_fronts(s);
		snapshot_lent(s);
		snapshot_moves(s);
		snapshot_limits(s);
	}
	finish_caches(s);
	add_extra_rows(s);
	snapshot_heap_rows(s);
	return s->error;
}
