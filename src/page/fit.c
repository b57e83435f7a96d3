/* SPDX-License-Identifier: MIT */
/*
 * page/fit.c - finds free pages for a page run, where the fewest become newly resident
 *
 * Why:        docs/adr/0028.
 * Data:       zone.fit_from, fit_purged, fit_refaults, fit_used; page_map.rows, kept by buddy.c:
 *             the words of free bits to look at.
 * Invariants: page_map.rows is what the free bits say. Checked by zone_check_rows().
 * Locks:      zone.lock, over a search of LOOK_MOST words of bits at most, which takes no longer
 *             than to write to the pages.
 * Flow:       called by buddy.c and run.c; calls buddy.c, purge.c.
 *
 * A block of a power of two is quickly found, but its rest fits few other page runs, and its place
 * depends on its order: page runs of all sizes would fault in pages of their own while those that
 * others left are purged. Here page runs lie side by side, as in a classic heap: of all ranges of
 * free pages the one with the most resident pages is taken, of equals the smallest.
 */
#include "base/assert.h"
#include "base/bits.h"
#include "os/cpu/cpu.h"
#include "os/instrument/memcheck.h"
#include "os/instrument/probe.h"
#include "page/zone.h"

#define LOOK_MOST 4096ul /* words, of 256 KiB of the arena each */
#define LOOK_EACH 32ul	 /* words for each page that is wanted */
#define LOOK_STARTS 8u	 /* places in one range that are compared */

struct look {
	unsigned long want; /* pages */
	/* the best place so far: */
	unsigned long index;
	unsigned long clean; /* pages of it that are not resident */
	unsigned long range; /* pages of the range it lies in; 0: none was found */
};

/* ---- a range --------------------------------------------------------------------------------- */

static void compare(struct look *l, unsigned long index, unsigned long range)
{
	unsigned long clean = l->want - zone_count_dirty(index, l->want);

	if (l->range && (clean > l->clean || (clean == l->clean && range >= l->range)))
		return;
	l->index = index;
	l->clean = clean;
	l->range = range;
}

/* Only a smaller range can be better. */
static bool is_resident(const struct look *l)
{
	return l->range && !l->clean;
}

/* The next page from index on whose dirty bit is that; end: none. */
static unsigned long next_dirty(unsigned long index, unsigned long end, bool dirty)
{
	while (index < end) {
		unsigned long word = page_map.dirty[index / 64];
		unsigned long base = ALIGN_DOWN(index, 64ul);

		word = (dirty ? word : ~word) & ~0ul << index % 64;
		if (word)
			return MIN(base + (unsigned long)__builtin_ctzl(word), end);
		index = base + 64;
	}
	return end;
}

/* Pages start .. start + range are free, their neighbours are not. Finds the best place in it. */
static void look_at_range(struct look *l, unsigned long start, unsigned long range)
{
	unsigned long last = start + range - l->want;
	unsigned long index = start;

	if (range < l->want || (is_resident(l) && range >= l->range))
		return;
	compare(l, start, range);
	for (unsigned int i = 0; i < LOOK_STARTS && index < last && !is_resident(l); i++) {
		index = next_dirty(next_dirty(index, last, false), last, true);
		compare(l, index, range);
	}
	if (!is_resident(l))
		compare(l, last, range);
}

/* ---- a zone ---------------------------------------------------------------------------------- */

static inline bool is_of(unsigned long index, unsigned int node)
{
	return likely(buddy_nr_nodes == 1) || page_at(index)->node == node;
}

static bool is_exact(const struct look *l)
{
	return l->range == l->want && !l->clean;
}

static unsigned long free_word(unsigned long word, unsigned int node)
{
	return is_of(word * 64, node) ? page_map.free[word] : 0;
}

/* The end of the free pages that page start is among. */
static unsigned long end_of_range(unsigned long start, unsigned int node)
{
	unsigned long words = load_acquire(&page_map.nr_pages) / 64; /* pairs with arena_grow() */
	unsigned long word = start / 64;
	unsigned long used = ~free_word(word, node) & ~0ul << start % 64;

	while (!used && ++word < words)
		used = ~free_word(word, node);
	return used ? word * 64 + (unsigned long)__builtin_ctzl(used) : words * 64;
}

/*
 * Ranges that have pages in a word, but for those before page done, which were looked at. Returns
 * the end of the last one, or of the word.
 */
static unsigned long look_into_word(struct look *l, unsigned int node, unsigned long word,
				    unsigned long done)
{
	unsigned long index = word * 64;
	unsigned long bits = free_word(word, node);

	if (done >= index + 64)
		return done;
	if (done > index)
		bits &= ~0ul << (done - index);
	while (bits) {
		unsigned long start = index + (unsigned long)__builtin_ctzl(bits);
		unsigned long end = end_of_range(start, node);

		/* The word before has no long row, or it was looked at: it is not all free. */
		if (start == index && index > done)
			start -= (unsigned long)__builtin_clzl(~free_word(word - 1, node));
		look_at_range(l, start, end - start);
		if (end >= index + 64)
			return end;
		bits &= ~0ul << (end - index);
	}
	return index + 64;
}

/*
 * Searches words from .. to of the free bits, which are whole chunks, or until a place is found
 * that cannot be better. Of a range in two words one has half of it: others are left out.
 */
static void look_at_words(struct look *l, unsigned int node, unsigned long from, unsigned long to)
{
	unsigned int level = l->want >= 2 * PAGE_ROW(1) - 1;
	unsigned long done = from * 64;
	unsigned long chunk;

	for (chunk = from / CHUNK_WORDS; chunk < to / CHUNK_WORDS; chunk++) {
		unsigned int rows = 0;

		if (is_of(chunk << BUDDY_MAX_ORDER, node))
			rows = page_map.rows[chunk].has[level];
		for (; rows && !is_exact(l); rows &= rows - 1)
			done = look_into_word(
				l, node, chunk * CHUNK_WORDS + (unsigned long)__builtin_ctz(rows),
				done);
	}
}

/*
 * Searches a small zone as a whole, and of a large one a part: the next part when this one has no
 * resident pages left.
 */
static bool find_locked(struct buddy_zone *zone, unsigned int node, struct look *l)
{
	unsigned long words = load_acquire(&page_map.nr_pages) / 64; /* pairs with arena_grow() */
	unsigned long from = zone->fit_from < words ? zone->fit_from : 0;
	unsigned long most = MIN(LOOK_MOST, ALIGN_UP(LOOK_EACH * l->want, CHUNK_WORDS));

	/* n pages in a row have an aligned block of 2^k of them where 2^(k + 1) <= n + 1 */
	if (!(zone->orders >> (fls(l->want + 1) - 2)))
		return false;
	look_at_words(l, node, from, MIN(from + most, words));
	if (words > most && (!l->range || l->clean == l->want))
		zone->fit_from = from + most;
	return l->range;
}

/* As zone_note_clean_locked(), for page runs. fit_used: resident pages that were kept were used. */
static void note_locked(struct buddy_zone *zone, const struct look *l)
{
	unsigned long again = MIN(l->clean, zone->fit_purged);

	zone_tick_locked(zone);
	if (l->clean < l->want)
		zone->fit_used = zone->clock;
	zone->fit_purged -= again;
	zone->purged_lately -= MIN(again, zone->purged_lately);
	zone->fit_refaults = MIN(zone->fit_refaults + again, 2 * zone->stats.nr_peak);
}

/* ---- alloc ----------------------------------------------------------------------------------- */

cold void zone_probe_blocks(unsigned long index, unsigned long nr_pages,
			    void (*probe)(const void *page, unsigned long index,
					  unsigned int order))
{
	while (nr_pages) {
		unsigned int order = MIN(ilog2(nr_pages), (unsigned int)BUDDY_MAX_ORDER);

		while (index & ((1ul << order) - 1))
			order--;
		probe(page_at(index), index, order);
		index += 1ul << order;
		nr_pages -= 1ul << order;
	}
}

static void notify_alloc(struct page *page, unsigned long nr_pages)
{
	if (unlikely(os_memcheck_on))
		os_memcheck_forget(page_address(page), nr_pages * PAGE_SIZE);
	if (unlikely(uslab_mm_page_alloc_semaphore))
		zone_probe_blocks((unsigned long)(page - page_map.pages), nr_pages,
				  os_probe_page_alloc);
}

struct page *buddy_alloc_fit(unsigned long nr_pages, bool *zeroed)
{
	struct look l = { .want = nr_pages };
	unsigned int node = os_current_node();
	struct buddy_zone *zone = &buddy_zones[node];
	bool purge = false;
	bool found;

	lock_acquire(&zone->lock);
	found = find_locked(zone, node, &l);
	if (found) {
		zone_claim_locked(zone, l.index, l.index + nr_pages);
		zone->stats.nr_alloc++;
		note_locked(zone, &l);
		purge = l.clean && zone_purge_due(zone);
	}
	lock_release(&zone->lock);
	if (unlikely(purge))
		zone_purge_slow(zone);
	if (!found)
		return NULL;
	if (zeroed)
		*zeroed = l.clean == nr_pages;
	notify_alloc(page_at(l.index), nr_pages);
	return page_at(l.index);
}

/* ---- realtime: the first range within a chunk ------------------------------------------------ */

#define LOOK_UNKNOWN 4u /* chunks of which the longest row is found out in one search */

/* By halves: the longest row of a power of two, and from there on as much as follows. */
static unsigned int longest_in_word(unsigned long word)
{
	unsigned long row[6]; /* bit i of row[k]: 1 << k bits from i on are set */
	unsigned int k = 0;
	unsigned int len;
	unsigned long at;

	row[0] = word;
	for (unsigned int i = 1; i < 6; i++)
		row[i] = row[i - 1] & row[i - 1] >> (1u << (i - 1));
	while (k < 5 && row[k + 1])
		k++;
	at = row[k];
	len = at ? 1u << k : 0;
	while (k-- > 0) {
		if (at & row[k] >> len) {
			at &= row[k] >> len;
			len += 1u << k;
		}
	}
	return len;
}

/* The first of so many bits in a row; fewer than 64, and there are as many. */
static unsigned int find_in_word(unsigned long word, unsigned long want)
{
	unsigned long len = 1;

	while (len < want) {
		unsigned long more = MIN(len, want - len);

		word &= word >> more;
		len += more;
	}
	return (unsigned int)__builtin_ctzl(word);
}

/* The first page of a row of free pages in a chunk, NONE_IN_CHUNK: none; *longest of all rows. */
#define NONE_IN_CHUNK (~0ul)

static unsigned long look_into_chunk(unsigned long chunk, unsigned long want, unsigned int *longest)
{
	unsigned long found = NONE_IN_CHUNK;
	unsigned int row = 0; /* free pages up to here */

	*longest = 0;
	for (unsigned int i = 0; i < CHUNK_WORDS; i++) {
		unsigned long word = page_map.free[chunk * CHUNK_WORDS + i];
		unsigned long index = chunk * CHUNK_WORDS * 64 + i * 64ul;
		unsigned int inside = (unsigned int)__builtin_popcountl(word); /* at most */

		if (!~word) {
			row += 64;
			continue;
		}
		if (inside > *longest || (found == NONE_IN_CHUNK && inside >= want))
			inside = longest_in_word(word);
		else
			inside = 0;
		if (row + (unsigned int)__builtin_ctzl(~word) >= want && found == NONE_IN_CHUNK)
			found = index - row;
		else if (inside >= want && found == NONE_IN_CHUNK)
			found = index + find_in_word(word, want);
		row += (unsigned int)__builtin_ctzl(~word);
		*longest = MAX(*longest, MAX(row, inside));
		row = (unsigned int)__builtin_clzl(~word);
	}
	if (row >= want && found == NONE_IN_CHUNK)
		found = (chunk + 1) * CHUNK_WORDS * 64 - row;
	*longest = MAX(*longest, row);
	return found;
}

/* Chunks whose longest row is not known count as without one, but for unknown of them. */
static unsigned long first_locked(unsigned int node, unsigned long want, unsigned int unknown)
{
	/* pairs with arena_grow(): the chunk's node */
	unsigned long chunks = load_acquire(&page_map.nr_pages) >> BUDDY_MAX_ORDER;

	for (unsigned long chunk = 0; chunk < chunks; chunk++) {
		struct page_rows *rows = &page_map.rows[chunk];
		unsigned long index;
		unsigned int longest;

		if (!is_of(chunk << BUDDY_MAX_ORDER, node)) /* another zone's lock */
			continue;
		if (rows->longest == PAGE_ROWS_UNKNOWN ? !unknown : rows->longest < want)
			continue;
		unknown -= rows->longest == PAGE_ROWS_UNKNOWN;
		index = look_into_chunk(chunk, want, &longest);
		rows->longest = (uint16_t)longest;
		if (index != NONE_IN_CHUNK)
			return index;
	}
	return NONE_IN_CHUNK;
}

static struct page *alloc_first(unsigned int node, unsigned long nr_pages, bool *zeroed)
{
	struct buddy_zone *zone = &buddy_zones[node];
	unsigned long index;

	lock_acquire(&zone->lock);
	index = first_locked(node, nr_pages, LOOK_UNKNOWN);
	if (index == NONE_IN_CHUNK && !(zone->orders >> fls(nr_pages - 1)))
		index = first_locked(node, nr_pages, UINT32_MAX);
	if (index != NONE_IN_CHUNK) {
		if (zeroed)
			*zeroed = !zone_count_dirty(index, nr_pages);
		zone_claim_locked(zone, index, index + nr_pages);
		zone->stats.nr_alloc++;
	}
	lock_release(&zone->lock);
	if (index == NONE_IN_CHUNK)
		return NULL;
	notify_alloc(page_at(index), nr_pages);
	return page_at(index);
}

struct page *buddy_alloc_first(unsigned long nr_pages, bool *zeroed)
{
	unsigned int home = os_current_node();
	struct page *page = NULL;

	for (unsigned int i = 0; i < buddy_nr_nodes && !page; i++)
		page = alloc_first((home + i) % buddy_nr_nodes, nr_pages, zeroed);
	return page;
}

/* ---- check ----------------------------------------------------------------------------------- */

/* Of a word of free bits: as many in a row are set. */
static bool has_row(unsigned long word, unsigned int pages)
{
	for (unsigned int i = 0; i + pages <= 64; i++)
		if ((word >> i & ((1ul << pages) - 1)) == (1ul << pages) - 1)
			return true;
	return false;
}

static unsigned int longest_row(unsigned long chunk)
{
	unsigned int longest = 0;
	unsigned int row = 0;

	for (unsigned long i = 0; i < CHUNK_WORDS * 64; i++) {
		unsigned long index = chunk * CHUNK_WORDS * 64 + i;

		row = page_map.free[index / 64] >> index % 64 & 1 ? row + 1 : 0;
		longest = MAX(longest, row);
	}
	return longest;
}

void zone_check_rows(unsigned int node)
{
	unsigned long words = load_acquire(&page_map.nr_pages) / 64; /* pairs with arena_grow() */

	for (unsigned long i = 0; i < words; i++) {
		const struct page_rows *rows = &page_map.rows[i / CHUNK_WORDS];

		for (unsigned int level = 0; page_at(i * 64)->node == node && level < 2; level++)
			CHECK((rows->has[level] >> i % CHUNK_WORDS & 1) ==
			      has_row(page_map.free[i], PAGE_ROW(level)));
		CHECK(rows->longest == PAGE_ROWS_UNKNOWN || page_at(i * 64)->node != node ||
		      rows->longest == longest_row(i / CHUNK_WORDS));
	}
}
