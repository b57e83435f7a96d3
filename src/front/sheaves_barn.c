/* SPDX-License-Identifier: MIT */
/*
 * front/sheaves_barn.c - sheaves, and the barns of the nodes (spec A1)
 *
 * Why:        docs/adr/0049.
 * Data:       struct sheaf (page/meta.c); struct barn: two lists, last in, first out.
 * Invariants: see front/sheaves.h; nr_full, nr_empty and nr_objects are those of the lists. Checked
 *             by sheaves_barns_check().
 * Locks:      barn.lock (RANK_DEPOT), for a few loads and stores.
 * Flow:       called by front/ and cache/lent.c; calls page/meta.c and the front below.
 */
#include "base/assert.h"
#include "base/bits.h"
#include "front/sheaves.h"
#include "page/meta.h"

/* ---- sheaves --------------------------------------------------------------------------------- */

static size_t sheaf_bytes(unsigned int capacity)
{
	return sizeof(struct sheaf) + capacity * sizeof(void *);
}

struct sheaf *sheaves_new(struct front *f)
{
	unsigned int capacity = sheaves_capacity(f);
	struct sheaf *sheaf = meta_alloc(sheaf_bytes(capacity));

	if (sheaf) {
		sheaf->front = f;
		sheaf->capacity = (uint16_t)capacity;
		sheaves_count(f, SHEAF_ALLOC, 1);
	}
	return sheaf;
}

void sheaves_delete(struct front *f, struct sheaf *sheaf)
{
	if (!sheaf)
		return;
	ASSERT(!sheaf->nr && sheaf->front == f);
	meta_free(sheaf, sheaf_bytes(sheaf->capacity));
	sheaves_count(f, SHEAF_FREE, 1);
}

void sheaves_flush(struct front *f, struct sheaf *sheaf)
{
	unsigned int nr = sheaf->nr;

	store_relaxed(&sheaf->nr, 0);
	if (!nr)
		return;
	sheaves_count(f, SHEAF_FLUSH, nr);
	sheaves_below(f)->free_bulk(f, nr, sheaf->obj);
}

bool sheaves_fill(struct front *f, struct sheaf *sheaf, gfp_t gfp)
{
	unsigned int want = sheaf->capacity - (unsigned int)sheaf->nr;
	/* it does not look for a node, and who failed goes on to the slabs, which say so */
	unsigned int got = sheaves_below(f)->alloc_bulk(
		f, (gfp & ~(gfp_t)__GFP_THISNODE) | __GFP_NOWARN, want, sheaf->obj + sheaf->nr);

	store_relaxed(&sheaf->nr, sheaf->nr + got);
	sheaves_count(f, SHEAF_REFILL, got);
	return got == want;
}

/* ---- one barn -------------------------------------------------------------------------------- */

static void push_full_locked(struct barn *barn, struct sheaf *sheaf)
{
	sheaf->next = barn->full;
	store_relaxed(&barn->full, sheaf);
	store_relaxed(&barn->nr_full, barn->nr_full + 1);
	store_relaxed(&barn->nr_objects, barn->nr_objects + sheaf->nr);
}

static struct sheaf *pop_full_locked(struct barn *barn)
{
	struct sheaf *sheaf = barn->full;

	if (!sheaf)
		return NULL;
	store_relaxed(&barn->full, sheaf->next);
	store_relaxed(&barn->nr_full, barn->nr_full - 1);
	store_relaxed(&barn->nr_objects, barn->nr_objects - sheaf->nr);
	sheaf->next = NULL;
	return sheaf;
}

static void push_empty_locked(struct barn *barn, struct sheaf *sheaf)
{
	sheaf->next = barn->empty;
	store_relaxed(&barn->empty, sheaf);
	store_relaxed(&barn->nr_empty, barn->nr_empty + 1);
}

static struct sheaf *pop_empty_locked(struct barn *barn)
{
	struct sheaf *sheaf = barn->empty;

	if (!sheaf)
		return NULL;
	store_relaxed(&barn->empty, sheaf->next);
	store_relaxed(&barn->nr_empty, barn->nr_empty - 1);
	sheaf->next = NULL;
	return sheaf;
}

struct sheaf *barn_exchange_empty(struct barn *barn, struct sheaf *empty)
{
	struct sheaf *full = NULL;

	if (!load_relaxed(&barn->nr_full))
		return NULL;
	lock_acquire(&barn->lock);
	if (!empty || sheaf_is_current(empty))
		full = pop_full_locked(barn);
	if (full && empty)
		push_empty_locked(barn, empty);
	lock_release(&barn->lock);
	return full;
}

struct sheaf *barn_get_empty(struct barn *barn)
{
	struct sheaf *empty;

	if (!load_relaxed(&barn->nr_empty))
		return NULL;
	lock_acquire(&barn->lock);
	empty = pop_empty_locked(barn);
	lock_release(&barn->lock);
	return empty;
}

enum barn_answer barn_exchange_full(struct barn *barn, struct sheaf **sheaf)
{
	struct sheaf *empty = NULL;

	if (load_relaxed(&barn->nr_full) >= BARN_MAX_FULL)
		return BARN_TOO_BIG;
	if (!load_relaxed(&barn->nr_empty))
		return BARN_NONE;
	lock_acquire(&barn->lock);
	if (sheaf_is_current(*sheaf))
		empty = pop_empty_locked(barn);
	if (empty)
		push_full_locked(barn, *sheaf);
	lock_release(&barn->lock);
	if (!empty)
		return BARN_NONE;
	*sheaf = empty;
	return BARN_DONE;
}

/* ---- of the front ---------------------------------------------------------------------------- */

/* A drain after front_close(), and a change of the capacity, take this lock: see sheaves.c. */
static bool put(struct front *f, unsigned int node, struct sheaf *sheaf,
		void (*push_locked)(struct barn *barn, struct sheaf *sheaf))
{
	struct barn *barn = sheaves_barn(f, node);
	bool is_taken;

	lock_acquire(&barn->lock);
	is_taken = !load_relaxed(&f->closed) && sheaf_is_current(sheaf);
	if (is_taken)
		push_locked(barn, sheaf);
	lock_release(&barn->lock);
	return is_taken;
}

bool sheaves_try_put_full(struct front *f, unsigned int node, struct sheaf *sheaf)
{
	bool is_taken = put(f, node, sheaf, push_full_locked);

	sheaves_count(f, BARN_PUT, is_taken);
	return is_taken;
}

void sheaves_put_full(struct front *f, unsigned int node, struct sheaf *sheaf)
{
	if (sheaves_try_put_full(f, node, sheaf))
		return;
	sheaves_flush(f, sheaf);
	sheaves_delete(f, sheaf);
}

void sheaves_put_empty(struct front *f, unsigned int node, struct sheaf *sheaf)
{
	if (!put(f, node, sheaf, push_empty_locked))
		sheaves_delete(f, sheaf);
}

void sheaves_barns_init(struct front *f)
{
	for (unsigned int node = 0; node < sheaves_of(f)->nr_nodes; node++)
		lock_init(&sheaves_barn(f, node)->lock, RANK_DEPOT);
}

static void drain_list(struct front *f, struct sheaf *first)
{
	while (first) {
		struct sheaf *next = first->next;

		sheaves_flush(f, first);
		sheaves_delete(f, first);
		first = next;
	}
}

void sheaves_barns_drain(struct front *f)
{
	for (unsigned int node = 0; node < sheaves_of(f)->nr_nodes; node++) {
		struct barn *barn = sheaves_barn(f, node);
		struct sheaf *full;
		struct sheaf *empty;

		lock_acquire(&barn->lock);
		full = barn->full;
		empty = barn->empty;
		store_relaxed(&barn->full, NULL);
		store_relaxed(&barn->empty, NULL);
		store_relaxed(&barn->nr_full, 0);
		store_relaxed(&barn->nr_empty, 0);
		store_relaxed(&barn->nr_objects, 0);
		lock_release(&barn->lock);
		drain_list(f, full);
		drain_list(f, empty);
	}
}

unsigned long sheaves_held_barns(struct front *f)
{
	unsigned long held = 0;

	for (unsigned int node = 0; node < sheaves_of(f)->nr_nodes; node++)
		held += load_relaxed(&sheaves_barn(f, node)->nr_objects);
	return held;
}

void sheaves_barns_check(struct front *f)
{
	for (unsigned int node = 0; node < sheaves_of(f)->nr_nodes; node++) {
		const struct barn *barn = sheaves_barn(f, node);
		unsigned long objects = 0;
		unsigned int nr = 0;

		for (const struct sheaf *s = barn->full; s; s = s->next, nr++) {
			CHECK(s->front == f && sheaf_is_current(s));
			CHECK(s->nr >= 1 && s->nr <= s->capacity);
			objects += s->nr;
		}
		CHECK(nr == barn->nr_full && objects == barn->nr_objects);
		nr = 0;
		for (const struct sheaf *s = barn->empty; s; s = s->next, nr++)
			CHECK(s->front == f && sheaf_is_current(s) && !s->nr);
		CHECK(nr == barn->nr_empty);
	}
}
