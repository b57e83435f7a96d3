/* SPDX-License-Identifier: MIT */
/*
 * page/arena.c - the reserved range, committed chunk by chunk
 *
 * Why:        docs/adr/0031.
 * Data:       page_map; ready_pages: pages whose descriptors, class bytes and bits are committed,
 *             in steps of STEP_PAGES ahead of nr_pages; gap: see place_apart().
 * Invariants: nr_pages <= ready_pages <= limit, all multiples of a chunk; what a descriptor or a
 *             class byte of a page below nr_pages needs is committed. Checked by arena_check().
 * Locks:      arena_lock (RANK_ARENA) around growth. It is only taken under a zone's lock, so that
 *             holding all zones' locks (fork) holds it off as well.
 * Flow:       see arena.h; calls os/memory/vm.c and thp.c.
 *
 * A limit on addresses that the program sets later (RLIMIT_AS) has arena_fit() give back what lies
 * above nr_pages, but for half of what the limit leaves, and the holes between the parts. When the
 * limit is lifted, it reserves again what has not been mapped meanwhile. So the range lies where
 * the next mappings do not come soon: they go down from the range, or, in the legacy layout, up
 * from far below it (place_apart()).
 *
 * The mark of an object at a multiple of 4 GiB is 0 (base/mark.h): it would look free whenever its
 * owner writes zeros there. The chunk that begins at one is left out, and no arena begins at one or
 * little below: small ones are whole.
 *
 * The tables have no huge pages, nor has the first SMALL_SIZE of the arena, but with thp=all
 * (page/thp.h): a process with little in use would have 2 MiB resident for each place where it uses
 * some. Above that the system's configuration decides (transparent_hugepage), or that option.
 *
 * What is readable and writable grows with what is used, because the system may count it
 * (vm.overcommit_memory=2, RLIMIT_DATA); what is merely reserved counts for RLIMIT_AS alone.
 */
#include <errno.h>

#include "base/assert.h"
#include "base/atomic.h"
#include "base/bits.h"
#include "os/cpu/cpu.h"
#include "os/lock/lock.h"
#include "os/memory/vm.h"
#include "page/arena.h"
#include "page/thp.h"
#include "page/used.h"

#define CHUNK_PAGES (1ul << ARENA_CHUNK_ORDER)
#define CHUNK_SIZE (CHUNK_PAGES << PAGE_SHIFT)
#define STEP_PAGES (16 * CHUNK_PAGES) /* 64 MiB of arena: 1 MiB of descriptors */
#define MIN_PAGES (4 * CHUNK_PAGES)
#define WHOLE_SIZE (64 * CHUNK_SIZE) /* no chunk of the first 256 MiB is left out */
#define MIN_DEFAULT (64ul << 30)     /* bytes */
#define SMALL_SIZE (16 * CHUNK_SIZE) /* the arena's first 64 MiB have no huge pages */

/* Bytes for each page of the arena under RLIMIT_AS: itself, descriptor, class byte, two bits. */
#define BYTES_PER_PAGE (PAGE_SIZE + sizeof(struct page) + 2)

/* The first step of the search for a place under RLIMIT_AS. */
#define PROBE_STEP (2ul << 30)
#define PROBES 64

/*
 * Under the legacy layout: the range begins at 1/4 of the gap, or at 1/8, 1/16,
 * and ends in its lower half.
 */
#define APART_MOST 2
#define APART_LEAST 4

/* The five parts of the range, from low to high. */
struct part {
	char *start;
	size_t size;
};

enum { TABLES, WINDOWS, STATES, CLASSES, ARENA, PARTS };

static struct lock arena_lock = { 0, RANK_ARENA };
static unsigned long ready_pages; /* arena_lock */
static unsigned long most_pages;  /* page_map.limit at the start; const then */
static size_t windows_size;	  /* bytes of the windows of all CPUs; const after arena_init() */
static bool has_holes;		  /* what lies between the parts is reserved; arena_lock */

/*
 * The free addresses between mappings that come from below and the stack; size 0: mappings come
 * from above. Const after arena_init().
 */
static struct part gap;

static bool is_left_out(const char *chunk)
{
	return (uint32_t)(uintptr_t)chunk == 0;
}

static bool begins_badly(const char *base)
{
	return (uint32_t)(0 - (uintptr_t)base) < WHOLE_SIZE;
}

/* Rows, then dirty bits, then free bits, then descriptors, end where the windows begin. */
static size_t bits_size(unsigned long limit)
{
	return ALIGN_UP(limit / 8, os_page_size());
}

static size_t tables_size(unsigned long limit)
{
	return 2 * bits_size(limit) + limit * sizeof(struct page);
}

static void place_parts(struct part *part, char *base, unsigned long limit, size_t windows)
{
	size_t tables = tables_size(limit);
	char *first_window = base + USLAB_WINDOWS_OFFSET;

	part[TABLES] = (struct part){ first_window - tables, tables };
	part[WINDOWS] = (struct part){ first_window, windows };
	part[STATES] = (struct part){ first_window + USLAB_WINDOW_STATE, windows };
	part[CLASSES] =
		(struct part){ base + USLAB_CLASSES_OFFSET, ALIGN_UP(limit, os_page_size()) };
	part[ARENA] = (struct part){ base, limit << PAGE_SHIFT };
}

static void release_parts(const struct part *part, unsigned int n)
{
	while (n-- > 0)
		if (part[n].size)
			os_release(part[n].start, part[n].size);
}

/* Bytes of the range below the arena's base, the holes between the parts included. */
static size_t size_below(unsigned long limit)
{
	return ALIGN_UP(tables_size(limit), CHUNK_SIZE) + (size_t)-USLAB_WINDOWS_OFFSET;
}

/*
 * Where mappings come from below, each in the first place that is free, what arena_fit() gives back
 * would be the next such place, and never be free again. A place far above all mappings is not
 * reached. The upper half of the gap is left to the stack, which may be unlimited, and to
 * programs: position-independent ones are loaded at two thirds of all addresses, while mappings
 * begin at a third or a quarter of them.
 *
 * The base of a range that begins at this part of the gap; NULL: mappings come from above, or
 * the gap is too small.
 */
static char *place_apart(unsigned long limit, unsigned int part_shift)
{
	size_t below = size_below(limit);
	size_t distance = gap.size >> part_shift;
	char *base;

	if (distance + CHUNK_SIZE + WHOLE_SIZE + below + (limit << PAGE_SHIFT) > gap.size / 2)
		return NULL;
	base = (char *)ALIGN_UP((uintptr_t)gap.start + distance, CHUNK_SIZE) + below;
	return base + (begins_badly(base) ? WHOLE_SIZE : 0);
}

/*
 * Reserves everything from the tables to the arena's end as one range, a bit larger than needed, so
 * that it can be aligned. Returns the arena's base or NULL.
 */
static char *reserve_whole(unsigned long limit)
{
	size_t below = size_below(limit);
	size_t size = below + (limit << PAGE_SHIFT);
	char *start;

	for (unsigned int i = APART_MOST; i <= APART_LEAST; i++) {
		char *base = place_apart(limit, i);

		if (base && os_reserve_at(base - below, size))
			return base;
	}
	start = os_reserve(size + WHOLE_SIZE, CHUNK_SIZE);
	if (!start)
		return NULL;
	if (begins_badly(start + WHOLE_SIZE + below)) {
		os_release(start + size, WHOLE_SIZE);
	} else {
		os_release(start, WHOLE_SIZE);
		start += WHOLE_SIZE;
	}
	return start + below;
}

static bool reserve_parts_at(char *base, unsigned long limit, size_t windows)
{
	struct part part[PARTS];
	unsigned int i;

	if (begins_badly(base))
		return false;
	place_parts(part, base, limit, windows);
	for (i = 0; i < PARTS; i++) {
		if (!os_reserve_at(part[i].start, part[i].size)) {
			release_parts(part, i);
			return false;
		}
	}
	return true;
}

/*
 * Under RLIMIT_AS the holes between the parts would count, so the parts are reserved alone. Asking
 * for the whole hole first would exceed the limit: places are tried, apart from where
 * the system puts mappings as above, then in growing distance from there, below (where
 * it goes next) and above.
 */
static char *reserve_parts(unsigned long limit, size_t windows)
{
	size_t below = limit * sizeof(struct page) + 2 * CHUNK_SIZE + (size_t)-USLAB_WINDOWS_OFFSET;
	size_t above = limit << PAGE_SHIFT;
	size_t distance;
	unsigned int i;
	char *hint;

	for (i = APART_MOST; i <= APART_LEAST; i++) {
		hint = place_apart(limit, i);
		if (hint && reserve_parts_at(hint, limit, windows))
			return hint;
	}
	hint = os_reserve(CHUNK_SIZE, CHUNK_SIZE);
	if (!hint)
		return NULL;
	os_release(hint, CHUNK_SIZE);
	below = ALIGN_UP(below, CHUNK_SIZE);
	for (i = 1; i <= PROBES; i++) {
		distance = i * PROBE_STEP;
		if ((uintptr_t)hint > above + below + distance &&
		    reserve_parts_at(hint - above - distance, limit, windows))
			return hint - above - distance;
		if (reserve_parts_at(hint + below + distance, limit, windows))
			return hint + below + distance;
	}
	return NULL;
}

/*
 * Pages to ask for first: 4 times the machine's memory, or what fits in half of the limit's rest.
 */
static unsigned long wanted_pages(size_t space_left, size_t windows)
{
	size_t size = MAX(4 * os_physical_memory(), MIN_DEFAULT);
	unsigned long pages = MIN(size, USLAB_MAX_ARENA) >> PAGE_SHIFT;

	if (space_left != SIZE_MAX) {
		size_t half = space_left / 2;

		half = half > windows ? half - windows : 0;
		pages = MIN(pages, half / BYTES_PER_PAGE);
		/* Where half of the rest is too little, the arena may take more. */
		pages = MAX(pages, MIN_PAGES);
	}
	return ALIGN_DOWN(pages, CHUNK_PAGES);
}

static void name_parts(const struct part *part)
{
	os_name(part[TABLES].start, part[TABLES].size, "uslab pages");
	os_name(part[WINDOWS].start, part[WINDOWS].size, "uslab windows");
	os_name(part[STATES].start, part[STATES].size, "uslab windows");
	os_name(part[CLASSES].start, part[CLASSES].size, "uslab classes");
	os_name(part[ARENA].start, part[ARENA].size, "uslab arena");
}

/* whole: the holes between the parts are ours too. */
static void use_small_pages(const struct part *part, bool whole)
{
	size_t first = MIN(part[ARENA].size, SMALL_SIZE);

	if (whole) {
		os_small_pages(part[TABLES].start,
			       (size_t)(part[ARENA].start + first - part[TABLES].start));
		return;
	}
	for (unsigned int i = 0; i < ARENA; i++)
		os_small_pages(part[i].start, part[i].size);
	os_small_pages(part[ARENA].start, first);
}

int arena_init(unsigned int nr_cpu_ids)
{
	/*
	 * inline hit paths go by the CPU numbers of the machine, also when the topology is made up
	 */
	size_t windows =
		(USLAB_WINDOW_CPU0 + MAX(nr_cpu_ids, os_topology.nr_windows)) * USLAB_WINDOW_SIZE;
	size_t space_left = os_address_space_left(0);
	unsigned long limit = wanted_pages(space_left, 2 * windows);
	struct part part[PARTS];
	char *base = NULL;
	char *bits;

	ASSERT(nr_cpu_ids <= USLAB_MAX_CPUS);
	gap.size = os_room_upward(&gap.start);
	while (!base && limit >= MIN_PAGES) {
		base = space_left == SIZE_MAX ? reserve_whole(limit)
					      : reserve_parts(limit, windows);
		if (!base)
			limit = ALIGN_DOWN(limit / 2, CHUNK_PAGES);
	}
	if (!base)
		return -ENOMEM;
	place_parts(part, base, limit, windows);
	/* before the range is split by what is committed */
	use_small_pages(part, space_left == SIZE_MAX);
	if (os_commit(part[WINDOWS].start, part[WINDOWS].size) != 0 ||
	    os_commit(part[STATES].start, part[STATES].size) != 0) {
		/* The holes between the parts of a whole range stay reserved: addresses only. */
		release_parts(part, PARTS);
		return -ENOMEM;
	}
	name_parts(part);
	bits = part[TABLES].start;
	page_map.dirty = (unsigned long *)(void *)bits;
	page_map.free = (unsigned long *)(void *)(bits + bits_size(limit));
	page_map.pages = (struct page *)(void *)(bits + 2 * bits_size(limit));
	page_map.class = (unsigned char *)part[CLASSES].start;
	page_map.limit = limit;
	page_map.base = base;
	most_pages = limit;
	windows_size = windows;
	has_holes = space_left == SIZE_MAX;
	return 0;
}

/* Commits the system's pages that hold bytes from .. to of a table. */
static int commit_span(void *table, size_t from, size_t to)
{
	size_t page = os_page_size();

	from = ALIGN_DOWN(from, page);
	to = ALIGN_UP(to, page);
	if (from == to) /* qemu-user refuses to commit nothing */
		return 0;
	return os_commit((char *)table + from, to - from);
}

/* The tables' share of the next step. Context: arena_lock. */
static int commit_tables_locked(void)
{
	unsigned long from = ready_pages;
	unsigned long to = MIN(from + STEP_PAGES, page_map.limit);
	int ret;

	ret = commit_span(page_map.pages, from * sizeof(struct page), to * sizeof(struct page));
	if (!ret)
		ret = commit_span(page_map.class, from, to);
	if (!ret)
		ret = commit_span(page_map.dirty, from / 8, to / 8);
	if (!ret)
		ret = commit_span(page_map.free, from / 8, to / 8);
	if (!ret && used_are_kept())
		ret = commit_span(page_map.used, from * USED_BYTES, to * USED_BYTES);
	if (!ret)
		ready_pages = to;
	return ret;
}

int arena_keep_used(void)
{
	size_t size = ALIGN_UP(most_pages * USED_BYTES, os_page_size());
	char *start = os_reserve(size, os_page_size());
	int ret = -ENOMEM;

	lock_acquire(&arena_lock);
	if (start && !commit_span(start, 0, ready_pages * USED_BYTES)) {
		os_name(start, size, "uslab used");
		os_small_pages(start, size);
		page_map.used = (unsigned long *)(void *)start;
		ret = 0;
	}
	lock_release(&arena_lock);
	if (ret && start)
		os_release(start, size);
	return ret;
}

/*
 * Fresh descriptors are zero: type NONE, node 0; untouched ones take no memory. The dirty bits of
 * 32 chunks share a page: it becomes resident here, and not at a free.
 */
static struct page *hand_out(unsigned long index, unsigned int node)
{
	unsigned long i;

	if (os_topology.nr_nodes > 1 && !os_topology.made_up)
		os_bind(page_map.base + (index << PAGE_SHIFT), CHUNK_SIZE, node);
	if (node != 0)
		for (i = index; i < index + CHUNK_PAGES; i++)
			store_relaxed(&page_at(i)->node, (uint8_t)node); /* see link_slot() */
	store_relaxed(&page_map.dirty[index / 64], 0ul);
	return page_at(index);
}

struct page *arena_grow(unsigned int node)
{
	struct page *page = NULL;
	unsigned long index;

	lock_acquire(&arena_lock);
	index = page_map.nr_pages;
	if (index < page_map.limit && is_left_out(page_map.base + (index << PAGE_SHIFT)))
		index += CHUNK_PAGES;
	if (index + CHUNK_PAGES <= page_map.limit &&
	    (index < ready_pages || commit_tables_locked() == 0) &&
	    os_commit(page_map.base + (index << PAGE_SHIFT), CHUNK_SIZE) == 0) {
		page = hand_out(index, node);
		/* release: a tool that sees the new count sees committed descriptors. */
		store_release(&page_map.nr_pages, index + CHUNK_PAGES);
	}
	lock_release(&arena_lock);
	return page;
}

/* ---- a limit on addresses that comes later --------------------------------------------------- */

/* The holes between windows, states, classes and arena, from low to high. Returns their bytes. */
static size_t find_holes(struct part hole[3])
{
	struct part part[PARTS];
	size_t bytes = 0;

	place_parts(part, page_map.base, most_pages, windows_size);
	for (unsigned int i = 0; i < 3; i++) {
		hole[i].start = part[WINDOWS + i].start + part[WINDOWS + i].size;
		hole[i].size = (size_t)(part[WINDOWS + i + 1].start - hole[i].start);
		bytes += hole[i].size;
	}
	return bytes;
}

static void release_holes_locked(void)
{
	struct part hole[3];

	find_holes(hole);
	release_parts(hole, 3);
	has_holes = false;
}

/* The parts of the range for pages from .. to: descriptors, class bytes, and the pages. */
static void place_pages(struct part part[3], unsigned long from, unsigned long to)
{
	size_t class_from = ALIGN_UP(from, os_page_size());
	size_t class_to = ALIGN_UP(to, os_page_size());

	part[0] =
		(struct part){ (char *)(page_map.pages + from), (to - from) * sizeof(struct page) };
	part[1] = (struct part){ (char *)page_map.class + class_from, class_to - class_from };
	part[2] = (struct part){ page_map.base + (from << PAGE_SHIFT), (to - from) << PAGE_SHIFT };
}

/*
 * No page above limit was ever allocated, so no class byte of it is read before something else is
 * mapped there: by then all threads see the new limit.
 */
static void shrink_locked(unsigned long limit, void (*limit_is)(unsigned long))
{
	struct part part[3];

	place_pages(part, limit, page_map.limit);
	page_map.limit = limit;
	ready_pages = MIN(ready_pages, limit);
	limit_is(limit);
	release_parts(part, 3);
}

/* As at the start: what describes pages, and what there is of the first SMALL_SIZE. */
static void use_small_pages_again(const struct part part[3])
{
	size_t from = (size_t)(part[2].start - page_map.base);

	os_small_pages(part[0].start, part[0].size);
	os_small_pages(part[1].start, part[1].size);
	if (from < SMALL_SIZE)
		os_small_pages(part[2].start, MIN(part[2].size, SMALL_SIZE - from));
}

/* Reserves the same addresses again; false: something else was mapped there meanwhile. */
static bool try_extend_locked(unsigned long limit)
{
	struct part part[3];

	place_pages(part, page_map.limit, limit);
	for (unsigned int i = 0; i < 3; i++) {
		if (part[i].size && !os_reserve_at(part[i].start, part[i].size)) {
			release_parts(part, i);
			return false;
		}
	}
	use_small_pages_again(part);
	thp_advise_arena(part[2].start, part[2].size);
	page_map.limit = limit;
	return true;
}

/*
 * The system puts mappings at the upper end of free ranges, or far below: all of it, or its lower
 * part, may still be free.
 */
static void extend_locked(unsigned long limit, void (*limit_is)(unsigned long))
{
	unsigned long more = limit - page_map.limit;

	while (more > 0 && !try_extend_locked(page_map.limit + more))
		more = ALIGN_DOWN(more / 2, CHUNK_PAGES);
	if (more > 0)
		limit_is(page_map.limit);
}

void arena_fit(void (*limit_is)(unsigned long pages))
{
	unsigned long unused;
	unsigned long limit;
	struct part hole[3];
	size_t left;

	lock_acquire(&arena_lock);
	unused = page_map.limit - page_map.nr_pages;
	left = os_address_space_left(unused * BYTES_PER_PAGE + (has_holes ? find_holes(hole) : 0));
	limit = most_pages;
	if (left != SIZE_MAX) /* half of what is left, as at the start */
		limit = MIN(limit,
			    page_map.nr_pages + ALIGN_DOWN(left / 2 / BYTES_PER_PAGE, CHUNK_PAGES));
	if (limit < page_map.limit) {
		if (has_holes)
			release_holes_locked();
		shrink_locked(limit, limit_is);
	} else if (limit > page_map.limit) {
		extend_locked(limit, limit_is);
	}
	lock_release(&arena_lock);
}

static void visit_span(void *table, size_t to, void (*act)(void *, size_t, void *), void *arg)
{
	char *start = (char *)ALIGN_DOWN((uintptr_t)table, os_page_size());

	act(start, ALIGN_UP((uintptr_t)table + to, os_page_size()) - (uintptr_t)start, arg);
}

/* Window 0 has tables of the hit paths, the others have words. */
static void visit_window(size_t at, void (*act)(void *, size_t, void *), void *arg)
{
	size_t words = USLAB_ID_FIRST_FREE * sizeof(uintptr_t);
	char *window = page_windows() + at;

	visit_span(window, words, act, arg);
	if (at) {
		visit_span(window + USLAB_WINDOW_SPARES, words, act, arg);
		visit_span(window + USLAB_WINDOW_GENERIC, words, act, arg);
	} else {
		visit_span(window + USLAB_WINDOW_MARKS, words, act, arg);
		visit_span(window + USLAB_WINDOW_TABLES,
			   USLAB_WINDOW_MAGICS - USLAB_WINDOW_TABLES + words, act, arg);
	}
	visit_span(window + USLAB_WINDOW_STATE, USLAB_ID_FIRST_FREE * USLAB_CPU_STATE_SIZE, act,
		   arg);
}

void arena_each_table(void (*act)(void *start, size_t size, void *arg), void *arg)
{
	unsigned long to = load_relaxed(&page_map.nr_pages);

	for (size_t i = 0; i < windows_size; i += USLAB_WINDOW_SIZE)
		visit_window(i, act, arg);
	if (!to)
		return;
	visit_span(page_map.pages, to * sizeof(struct page), act, arg);
	visit_span(page_map.class, to, act, arg);
	visit_span(page_map.dirty, to / 8, act, arg);
	visit_span(page_map.free, to / 8, act, arg);
	if (used_are_kept())
		visit_span(page_map.used, to * USED_BYTES, act, arg);
}

size_t arena_size(void)
{
	return load_relaxed(&page_map.nr_pages) << PAGE_SHIFT;
}

void arena_check(void)
{
	unsigned long nr_pages = load_acquire(&page_map.nr_pages); /* pairs with arena_grow() */
	unsigned long ready = load_relaxed(&ready_pages);
	unsigned long i;

	if (page_map.limit == 0)
		return;
	CHECK(((uintptr_t)page_map.base & (CHUNK_SIZE - 1)) == 0);
	CHECK(nr_pages <= page_map.limit && nr_pages % CHUNK_PAGES == 0);
	CHECK(ready >= nr_pages && ready <= page_map.limit && ready % CHUNK_PAGES == 0);
	CHECK(page_map.limit <= most_pages);
	CHECK((char *)(page_map.pages + most_pages) == page_windows());
	CHECK((char *)page_map.class == page_map.base + USLAB_CLASSES_OFFSET);
	for (i = 0; i < nr_pages; i += CHUNK_PAGES)
		CHECK(page_at(i)->node == page_at(i + CHUNK_PAGES - 1)->node);
}
