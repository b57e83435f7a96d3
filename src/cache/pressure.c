/* SPDX-License-Identifier: MIT */
/*
 * cache/pressure.c - makes room when memory is short: calls the program back (libumem: reclaim,
 * nofail; the kernel: shrinkers), and shrinks caches
 *
 * Why:        docs/adr/0047, docs/adr/0063.
 * Data:       the reclaim callbacks of caches; the hook that is asked before memory is refused; of
 *             each CPU when caches were shrunk in vain.
 * Invariants: a callback is in the list from the creation of its cache to the start of its
 *             destruction; running counts the threads that are in it. What in_vain holds is a
 *             hint.
 * Locks:      cache_lock guards list and hook. Callbacks run without it, or any other.
 * Flow:       called by cache/, api/manage_api.c and malloc/slow.c; calls shrink.c,
 *             reclaim/shrinker.c, debug/report/report.h.
 *
 * A walk calls each callback once: it takes a number, and looks from the start of the list, after
 * each call, for one that no walk of that number or a later one has called. So callbacks may create
 * and destroy caches.
 *
 * To shrink all caches takes every CPU's arrays away. At a limit a thread that asks again and again
 * would do that to all others for nothing, so what it freed in between is looked for first: hits
 * count no frees, but each one moves a word of its CPU. A trace of these words, from before caches
 * were shrunk in vain, is kept for each CPU. While it is the same nothing was freed there, and
 * nothing is gained; what other CPUs freed is found when IN_VAIN_MS have passed. A thread that does
 * more than to ask has another trace each time, and so has one that frees what it can spare until
 * it gets what it wants. That one asks for the same each time. For who asks for one thing and
 * another, ROW_MAX times in vain in a row, caches are shrunk where fronts hold enough by now: in
 * vain they were emptied, so it was freed since then. Enough is what is asked for, twice as much
 * each time that it was in vain again, and no more than an eighth of the limit; else once in
 * SHRINK_MS. A shrink that is of use ends the row.
 */
#include "cache/group/group.h"
#include "cache/pressure.h"

#include <errno.h>

#include "base/atomic.h"
#include "base/bits.h"
#include "cache/callback.h"
#include "cache/reclaim/shrinker.h"
#include "debug/pages/blocks.h"
#include "debug/report/report.h"
#include "engine/limit.h"
#include "os/process/say.h"
#include "os/time/clock.h"
#include "page/limit.h"
#include "page/meta.h"

struct reclaimer {
	struct list_head list;
	const struct cache *cache;
	void (*reclaim)(void *arg);
	void *arg;
	uint64_t walk;	   /* the last one that called it */
	uintptr_t running; /* atomic */
};

#define IN_VAIN_MS 10u
#define ROW_MAX 4u
#define ROW_MS 100u
#define SHRINK_MS 4u
#define MOST_DOUBLED 6u
#define SHARE_OF_LIMIT 8u
#define NR_TRACES 64u /* CPUs share them, if there are more */

static struct {
	uint64_t trace; /* 0: none, or it was of use */
	uint64_t at;	/* os_clock_ms() when caches were last shrunk */
	size_t size;	/* bytes that were asked for */
	size_t asked;	/* by the last one, whether caches were shrunk for it or not */
	uint32_t row;	/* so often in vain, each time for another size */
} in_vain[NR_TRACES];	/* atomics; if two threads mix them caches are shrunk once more, or later */

static struct list_head reclaimers = { &reclaimers, &reclaimers };
static uint64_t walks;

static struct {
	uslab_oom_hook call;
	void *arg;
	uintptr_t running; /* threads that are in it; atomic */
} hook;

/* ---- reclaim ---- */

static struct reclaimer *find_locked(const struct cache *c)
{
	struct list_head *pos;

	list_for_each(pos, &reclaimers)
		if (list_entry(pos, struct reclaimer, list)->cache == c)
			return list_entry(pos, struct reclaimer, list);
	return NULL;
}

static struct reclaimer *next_locked(const struct cache *c, uint64_t walk)
{
	struct list_head *pos;

	list_for_each(pos, &reclaimers) {
		struct reclaimer *r = list_entry(pos, struct reclaimer, list);

		if (r->walk < walk && (!c || r->cache == c))
			return r;
	}
	return NULL;
}

void pressure_reclaim(const struct cache *c)
{
	struct reclaimer *r;
	uint64_t walk;

	/* without the lock: a callback that comes just now is too late */
	if (callback_inside || load_relaxed(&reclaimers.next) == &reclaimers)
		return;
	lock_acquire(&cache_lock);
	walk = ++walks;
	while ((r = next_locked(c, walk))) {
		r->walk = walk;
		callback_enter_locked(&r->running);
		r->reclaim(r->arg);
		callback_leave(&r->running);
		lock_acquire(&cache_lock);
	}
	cache_unlock();
}

int pressure_add_locked(struct cache *c, const struct cache_spec *spec)
{
	struct reclaimer *r;

	if (!spec->reclaim)
		return 0;
	r = meta_alloc(sizeof(*r));
	if (!r)
		return -ENOMEM;
	*r = (struct reclaimer){ .cache = c, .reclaim = spec->reclaim, .arg = spec->reclaim_arg };
	list_add(&r->list, &reclaimers);
	return 0;
}

void pressure_drop_locked(const struct cache *c)
{
	struct reclaimer *r = find_locked(c);

	if (!r)
		return;
	list_del(&r->list);
	meta_free(r, sizeof(*r));
}

void pressure_remove(const struct cache *c)
{
	struct reclaimer *r;

	lock_acquire(&cache_lock);
	r = find_locked(c);
	if (r)
		list_del(&r->list);
	cache_unlock();
	if (!r)
		return;
	callback_wait(&r->running);
	meta_free(r, sizeof(*r));
}

/* ---- the hook ---- */

void pressure_set_hook(uslab_oom_hook call, void *arg)
{
	lock_acquire(&cache_lock);
	store_relaxed(&hook.call, call);
	hook.arg = arg;
	cache_unlock();
	callback_wait(&hook.running);
}

static bool may_ask(gfp_t gfp)
{
	return load_relaxed(&hook.call) && !callback_inside && gfp & __GFP_DIRECT_RECLAIM &&
	       !(gfp & __GFP_NORETRY);
}

static bool ask(const struct pressure *p)
{
	uslab_oom_hook call;
	void *arg;
	bool again;

	lock_acquire(&cache_lock);
	call = hook.call;
	arg = hook.arg;
	if (!call) { /* removed meanwhile */
		cache_unlock();
		return false;
	}
	callback_enter_locked(&hook.running);
	again = call(p->size, p->wanted, arg);
	callback_leave(&hook.running);
	return again;
}

/* ---- room ---- */

static uint64_t mix(uint64_t trace, uintptr_t word)
{
	return (trace ^ word) * 0x9e3779b97f4a7c15ul ^ trace >> 29;
}

/* The words of a front move with each object that this CPU gets or gives back. */
static uint64_t trace_front(const struct front *f, int cpu, uint64_t trace)
{
	const struct kmem_cache_cpu *state;

	if (front_has_arrays(f)) {
		trace = mix(trace, load_relaxed(percpu_word(f->id, cpu)));
		trace = mix(trace, load_relaxed(percpu_charged(f->id, cpu)));
		return mix(trace, load_relaxed(percpu_spare(f->id, cpu)));
	}
	state = percpu_state(f->id, cpu);
	trace = mix(trace, load_relaxed(&state->freelist));
	return mix(trace, load_relaxed(&state->slab));
}

/* A CPU's sheaves count their objects in themselves: no word of the CPU moves. */
static bool has_trace(const struct front *f)
{
	return f->ops != &front_sheaves_ops && f->ops != &front_sheaves_618_ops;
}

/* Of c; NULL: of all caches. 0: a front among them has none. */
static uint64_t trace_of(const struct cache *c, int cpu)
{
	uint64_t trace = 1;
	struct list_head *pos;

	if (c)
		return has_trace(&c->front) ? trace_front(&c->front, cpu, c->front.id) | 1 : 0;
	lock_acquire(&cache_lock);
	list_for_each(pos, &cache_list) {
		const struct front *f = &list_entry(pos, struct cache, list)->front;

		if (!has_trace(f)) {
			trace = 0;
			break;
		}
		trace = trace_front(f, cpu, trace) | 1;
	}
	cache_unlock();
	return trace;
}

static unsigned int place_of(const struct cache *c, int cpu)
{
	return ((unsigned int)cpu + (c ? 7 * c->front.id : 0)) % NR_TRACES;
}

/* The cache whose limit was met; NULL: it is the process'. */
static struct cache *limited(const struct pressure *p)
{
	return p->cache && engine_limit_is_met(&p->cache->engine) ? p->cache : NULL;
}

/* Pages that it would have taken, at least. */
static unsigned long pages_of(const struct pressure *p)
{
	if (!p->cache)
		return (p->size + PAGE_SIZE - 1) >> PAGE_SHIFT;
	return 1ul << load_acquire(&p->cache->engine.layout)->min_order; /* pairs: debug/attach.c */
}

/* Pages, at most, that a shrink of c would get: each object may be the last one of its slab. */
static unsigned long hope_of(struct cache *c)
{
	const struct engine *e = &c->engine;
	unsigned long pages = load_relaxed(&engine_limits[e->id].pages);
	unsigned int order;
	unsigned long held;

	if (!front_has_arrays(&c->front) && c->front.ops != &front_queues_ops)
		return pages; /* what is freed goes past the front as well */
	held = c->front.ops->held(&c->front);
	if (e->ops->heap)
		return held;
	order = load_acquire(&e->layout)->order; /* pairs: debug/attach.c */
	return MIN(held << order, pages);
}

/* The same of all caches, until it is enough. */
static bool may_get(struct cache *c, unsigned long enough)
{
	unsigned long pages = c ? hope_of(c) : 0;
	struct list_head *pos;

	if (c)
		return pages >= enough;
	lock_acquire(&cache_lock);
	for (pos = cache_list.next; pos != &cache_list && pages < enough; pos = pos->next)
		pages += hope_of(list_entry(pos, struct cache, list));
	cache_unlock();
	return pages >= enough;
}

/* Was enough freed since caches were shrunk in vain for one thing and another? */
static bool is_enough_freed(unsigned int place, const struct pressure *p, struct cache *c)
{
	unsigned int row = load_relaxed(&in_vain[place].row);
	unsigned long limit =
		load_relaxed(c ? &engine_limits[c->engine.id].most : &limit_counters.limit);

	return row < ROW_MAX || may_get(c, MIN(pages_of(p) << MIN(row - ROW_MAX, MOST_DOUBLED),
					       limit / SHARE_OF_LIMIT));
}

/* Caches were shrunk here before. Is it too soon to do so again? */
static bool is_too_soon(unsigned int place, const struct pressure *p, struct cache *c)
{
	uint64_t now = os_clock_ms();
	uint64_t ms = now - load_relaxed(&in_vain[place].at);
	bool other = xchg(&in_vain[place].asked, p->size) != p->size;

	if (ms > ROW_MS || !load_relaxed(&in_vain[place].trace))
		store_relaxed(&in_vain[place].row, 0);
	if (load_relaxed(&in_vain[place].trace) == p->found &&
	    load_relaxed(&in_vain[place].size) <= p->size && ms < IN_VAIN_MS)
		return true;
	if (other && ms < SHRINK_MS && !is_enough_freed(place, p, c))
		return true;
	store_relaxed(&in_vain[place].at, now);
	store_relaxed(&in_vain[place].trace, 0); /* until it is known that it was in vain */
	return false;
}

/*
 * At a limit: would it be in vain to shrink, as for the last failure? Else notes the trace. What
 * programs are called back for is never in vain.
 */
static bool is_in_vain(struct pressure *p)
{
	struct cache *c = limited(p);
	int cpu = percpu_cpu();
	unsigned int i = place_of(c, cpu);

	p->found = 0;
	p->place = i;
	if (cpu < 0 || (!c && load_relaxed(&limit_counters.limit) == LIMIT_NONE) ||
	    shrinkers_may_run(p->wanted) || load_relaxed(&reclaimers.next) != &reclaimers)
		return false;
	p->found = trace_of(c, cpu);
	return p->found && is_too_soon(i, p, c);
}

/* It failed although caches were shrunk. */
static void note_in_vain(const struct pressure *p)
{
	if (!p->found || p->in_vain)
		return;
	store_relaxed(&in_vain[p->place].trace, p->found);
	if (xchg(&in_vain[p->place].size, p->size) != p->size)
		fetch_add(&in_vain[p->place].row, 1);
}

/* By the kernel's priorities: first few objects, then more, at last all, as long as it helps. */
static const unsigned char priorities[] = { 6, 3, 0 };
#define MOST_ROUNDS 16u

/*
 * Shrinkers free objects, then caches give their pages back: the one whose limit was met, else all.
 * Is it worth to do that once more, if the next attempt fails?
 */
static bool make_room(struct pressure *p)
{
	bool may_run = shrinkers_may_run(p->wanted);
	struct cache *c = limited(p);
	unsigned int round = MIN(p->round, (unsigned int)ARRAY_SIZE(priorities) - 1);
	unsigned long freed = shrinkers_run(p->wanted, priorities[round]);

	if (c)
		cache_shrink(c);
	else
		cache_shrink_all();
	p->round++;
	return may_run && !(p->wanted & __GFP_NORETRY) && p->round < MOST_ROUNDS &&
	       (freed || p->round < ARRAY_SIZE(priorities));
}

/* ---- refusals ---- */

#define SIZE_TEXT 32

/* "64.0 MiB" */
static const char *size_text(char text[SIZE_TEXT], size_t bytes)
{
	static const char *const units[] = { "KiB", "MiB", "GiB" };
	unsigned int i = 0;

	while (i < ARRAY_SIZE(units) - 1 && bytes >> (10 * i + 20))
		i++;
	os_format(text, SIZE_TEXT, "%lu.%u %s", bytes >> (10 * i + 10),
		  (unsigned int)((bytes >> (10 * i)) % 1024 * 10 / 1024), units[i]);
	return text;
}

/* malloc() has no flags by which a caller could want no warning; its own say so always. */
static bool wants_silence(const struct pressure *p)
{
	unsigned int id = p->cache ? p->cache->engine.id : 0;

	return p->wanted & __GFP_NOWARN && !p->is_malloc &&
	       !(id >= USLAB_ID_MALLOC && id < USLAB_ID_KMALLOC);
}

/* Then that is said of it, and not what the engine says where there is no memory. */
static bool is_for_limit(const struct pressure *p)
{
	return limited(p) || limit_is_near(pages_of(p));
}

void pressure_refused(const struct pressure *p)
{
	const struct cache *c = limited(p);
	char most[SIZE_TEXT], held[SIZE_TEXT];

	if (wants_silence(p) || !is_for_limit(p) || !report_note_is_due())
		return;
	if (c) {
		const struct engine_limit *l = &engine_limits[c->engine.id];

		report_note("limit of %s of cache %s met: %s held, %lu bytes refused",
			    size_text(most, load_relaxed(&l->most) << PAGE_SHIFT), c->name,
			    size_text(held, load_relaxed(&l->pages) << PAGE_SHIFT), p->size);
	} else {
		unsigned long limit = load_relaxed(&limit_counters.limit);

		report_note("limit of %s met: %s held, %lu bytes refused to %s",
			    size_text(most, limit << PAGE_SHIFT),
			    size_text(held, limit_held() << PAGE_SHIFT), p->size,
			    p->cache   ? p->cache->name
			    : p->whose ? p->whose
				       : blocks_name);
	}
}

/* It fails. */
static bool give_up(const struct pressure *p)
{
	note_in_vain(p);
	if (limited(p))
		fetch_add(&engine_limits[p->cache->engine.id].refused, 1);
	pressure_refused(p);
	return false;
}

#define GROUP_ROUNDS 3u /* others may take what the group has room for */

/* It belongs to a group, for want of whose room it failed. *again: that is there by now. */
static bool is_for_group(struct pressure *p, bool *again)
{
	enum group_room room;

	if (likely(!p->cache) || likely(!engine_group(&p->cache->engine)) ||
	    p->group_rounds++ >= GROUP_ROUNDS)
		return false;
	room = group_make_room(p->cache);
	*again = room == GROUP_MADE_ROOM;
	return room != GROUP_HAS_ROOM;
}

bool pressure_again(struct pressure *p)
{
	bool again;

	if (is_for_group(p, &again)) {
		p->gfp = p->wanted | __GFP_NOWARN;
		return again;
	}
	switch (p->state) {
	case PRESSURE_FAILED:
		p->in_vain = is_in_vain(p);
		if (p->in_vain || !make_room(p))
			p->state = may_ask(p->wanted) ? PRESSURE_SHRUNK : PRESSURE_LAST;
		break;
	case PRESSURE_SHRUNK:
		if (!ask(p)) {
			p->state = PRESSURE_LAST;
			break;
		}
		p->in_vain = false;
		cache_shrink_all(); /* what the hook freed are objects as yet */
		break;
	default:
		return give_up(p);
	}
	/* nothing has changed, and nobody wants a warning: another attempt fails as well */
	if (p->in_vain && p->state == PRESSURE_LAST && p->wanted & __GFP_NOWARN)
		return give_up(p);
	p->gfp = p->wanted;
	if (p->state != PRESSURE_LAST || is_for_limit(p))
		p->gfp |= __GFP_NOWARN;
	return true;
}

/* ---- fork ---- */

void pressure_forked(void)
{
	struct list_head *pos;

	callback_forked(&hook.running);
	list_for_each(pos, &reclaimers)
		callback_forked(&list_entry(pos, struct reclaimer, list)->running);
}
