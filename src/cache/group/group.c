/* SPDX-License-Identifier: MIT */
/*
 * cache/group/group.c - accounting groups: the table, the tree, who is in which
 *
 * Data:       groups_table; group_current and group_own of each thread.
 * Invariants: see group.h. A handle is number and serial of its group, so that one of a group that
 *             is gone is no other's. A thread is counted in its group: as long as it is, the number
 *             stays the group's, also when that was destroyed.
 * Locks:      groups_lock; under it those of stocks.
 * Flow:       called by public.c, cache.c, charge.c, object.c, own.c, create.c, fork.c, check.c
 *             and malloc/slow.c; calls charge.c, os/process/.
 *
 * group_enter() takes no lock. It counts the thread first, and then looks whether the group is the
 * handle's and alive; group_try_release() takes the serial away first, and then looks whether a
 * thread is counted. Of both at once each sees the other (all are sequentially consistent), or the
 * thread is not in: never is it in a group whose number is free.
 */
#include "cache/group/group.h"

#include <errno.h>
#include <string.h>

#include "base/assert.h"
#include "base/bits.h"
#include "cache/group/word.h"
#include "cache/internal.h"
#include "os/cpu/cpu.h"
#include "os/process/say.h"
#include "os/process/thread_end.h"
#include "page/meta.h"

struct groups *groups_table;
void (*group_listener)(void);
uint32_t groups_entered;

static struct lock groups_lock = LOCK_INIT(RANK_GROUPS);
static bool ends_are_seen; /* threads can ask for a call at their end; groups_lock */

__thread uint32_t group_current __attribute__((tls_model("initial-exec")));
USLAB_API __thread uint64_t uslab_group_key
	__attribute__((tls_model("initial-exec"))) = (uint64_t)USLAB_KEY_NONE << 32;
__thread uint32_t group_own __attribute__((tls_model("initial-exec")));
__thread bool group_visits __attribute__((tls_model("initial-exec")));
__thread const unsigned char *group_numbers
	__attribute__((tls_model("initial-exec"))) = group_no_numbers;
const unsigned char group_no_numbers[GROUP_NUMBERS];
const unsigned char *group_numbers_outside = group_no_numbers;
void (*group_destroyed)(uint32_t id);
/* This thread's end is asked for; it is in the middle of a callback. */
static __thread bool end_is_asked __attribute__((tls_model("initial-exec")));
static __thread bool in_callback __attribute__((tls_model("initial-exec")));

#define seq_load(p) __atomic_load_n((p), __ATOMIC_SEQ_CST)
#define seq_store(p, v) __atomic_store_n((p), (v), __ATOMIC_SEQ_CST)
#define seq_add(p, v) __atomic_add_fetch((p), (v), __ATOMIC_SEQ_CST)

/* ---- handles ---- */

#define HANDLE_SERIAL(handle) ((uint64_t)(uintptr_t)(handle) >> 16)
#define HANDLE_ID(handle) ((uint32_t)((uintptr_t)(handle)&0xffff))

struct uslab_group *group_handle(const struct group *g)
{
	return (struct uslab_group *)(uintptr_t)(load_relaxed(&g->serial) << 16 | g->id);
}

/* The group of a handle; NULL: it was destroyed, or there never was one. */
static struct group *find(struct uslab_group *handle)
{
	struct groups *table = load_acquire(&groups_table); /* pairs with make_table_locked() */
	uint32_t id = HANDLE_ID(handle);
	struct group *g = table && id ? group_at(id) : NULL;

	return g && HANDLE_SERIAL(handle) && seq_load(&g->serial) == HANDLE_SERIAL(handle) &&
			       !seq_load(&g->dying)
		       ? g
		       : NULL;
}

/*
 * The nearest one above a group that was destroyed; NULL: there is none. Also where nothing is left
 * of it, as long as its number was not used again.
 */
static struct group *find_above(struct uslab_group *handle)
{
	struct group *g = NULL;

	lock_acquire(&groups_lock);
	while (handle && !g) {
		struct group *gone = group_at(HANDLE_ID(handle));

		handle = gone && gone->last_serial == HANDLE_SERIAL(handle) ? gone->above : NULL;
		g = handle ? find(handle) : NULL;
	}
	lock_release(&groups_lock);
	return g;
}

struct group *group_live(struct group *g)
{
	while (g && load_acquire(&g->dying)) /* pairs with group_destroy() */
		g = load_relaxed(&g->parent);
	return g;
}

/* ---- made and gone ---- */

static bool is_name(const char *name)
{
	size_t length = name ? strnlen(name, USLAB_GROUP_NAME_MAX + 1) : 0;

	for (size_t i = 0; i < length; i++)
		if (name[i] <= ' ' || name[i] > '~' || name[i] == '/')
			return false;
	return length && length <= USLAB_GROUP_NAME_MAX;
}

/* A thread that ends leaves its group; another destructor of a key may have it enter one again. */
static void thread_ends(void)
{
	group_enter(NULL);
	end_is_asked = false;
}

static int make_table_locked(void)
{
	uint32_t nr_cpus = os_topology.nr_cpu_ids;
	struct groups *table;

	if (!ends_are_seen && os_thread_end_init(thread_ends))
		return EAGAIN;
	ends_are_seen = true;
	table = meta_alloc(sizeof(*table) + nr_cpus * sizeof(table->stock[0]));
	if (!table)
		return ENOMEM;
	table->nr_cpus = nr_cpus;
	for (uint32_t i = 0; i < nr_cpus; i++)
		lock_init(&table->stock[i].lock, RANK_STOCK);
	store_release(&groups_table, table); /* pairs with find() and who loads it */
	group_arrays_init();		     /* who asks these functions reads the table */
	return 0;
}

/* false: something is left of it. */
static bool release_locked(struct group *g)
{
	uint64_t serial = load_relaxed(&g->serial);

	if (!serial || !load_relaxed(&g->dying) || g->children || g->caches || seq_load(&g->usage))
		return false;
	seq_store(&g->serial, 0);
	if (seq_load(&g->threads)) { /* see the top */
		seq_store(&g->serial, serial);
		return false;
	}
	g->next_free = groups_table->free;
	groups_table->free = g;
	groups_table->dying--;
	return true;
}

/* Then those above it that were destroyed may be the next. */
static void release_up_locked(struct group *g)
{
	while (g && release_locked(g)) {
		g = g->parent;
		if (g)
			g->children--;
	}
}

/* What was left until now, because the last who had something of it could not wait for the lock. */
static void release_all_locked(void)
{
	for (uint32_t i = 1; i <= groups_table->nr; i++)
		release_up_locked(group_at(i));
}

/* A number that is free, with its struct group; NULL: *error says why. */
static struct group *take_number_locked(int *error)
{
	struct group *g;

	if (!groups_table->free && groups_table->dying)
		release_all_locked();
	g = groups_table->free;
	if (g) {
		groups_table->free = g->next_free;
		return g;
	}
	*error = groups_table->nr + 1 < GROUPS_MAX ? ENOMEM : ENOSPC;
	g = *error == ENOMEM ? meta_alloc(sizeof(*g)) : NULL;
	if (!g)
		return NULL;
	g->id = groups_table->nr + 1;
	store_release(&groups_table->slot[g->id], g); /* pairs with group_at() */
	store_release(&groups_table->nr, g->id);      /* pairs with who reads all of them */
	return g;
}

/* Sets all but its number; the serial last, with which there is such a group. */
static void start_locked(struct group *g, const char *name, size_t limit, struct group *parent)
{
	store_relaxed(&g->dying, 0);
	store_relaxed(&g->usage, 0);
	store_relaxed(&g->peak, 0);
	store_relaxed(&g->met, 0);
	store_relaxed(&g->failed, 0);
	store_relaxed(&g->limit, limit ? limit : UINT64_MAX);
	g->callback = NULL;
	g->children = 0;
	store_relaxed(&g->parent, parent);
	g->above = parent ? group_handle(parent) : NULL;
	if (parent)
		parent->children++;
	memset(g->name, 0, sizeof(g->name));
	memcpy(g->name, name, strlen(name));
	groups_table->live++;
	store_relaxed(&groups_table->serials, groups_table->serials + 1);
	g->last_serial = groups_table->serials;
	seq_store(&g->serial, groups_table->serials);
}

static struct group *create_locked(const char *name, size_t limit, struct uslab_group *above,
				   int *error)
{
	struct group *parent = NULL;
	struct group *g;

	*error = groups_table ? 0 : make_table_locked();
	if (!*error && above) {
		parent = find(above);
		*error = parent ? 0 : ENOENT;
	}
	g = *error ? NULL : take_number_locked(error);
	if (g)
		start_locked(g, name, limit, parent);
	return g;
}

bool group_start(void)
{
	bool done;

	lock_acquire(&groups_lock);
	done = groups_table || !make_table_locked();
	lock_release(&groups_lock);
	if (done)
		group_watch_all();
	return done;
}

struct uslab_group *group_create(const char *name, size_t limit, struct uslab_group *parent,
				 int *error)
{
	struct uslab_group *handle;
	struct group *g;

	if (!is_name(name)) {
		*error = EINVAL;
		return NULL;
	}
	lock_acquire(&groups_lock);
	g = create_locked(name, limit, parent, error);
	handle = g ? group_handle(g) : NULL;
	lock_release(&groups_lock);
	if (handle)
		group_watch_all();
	return handle;
}

static void tell(void)
{
	if (group_listener)
		group_listener();
}

void group_try_release(uint32_t id)
{
	if (lock_is_inside()) /* take_number_locked() will find it */
		return;
	lock_acquire(&groups_lock);
	release_up_locked(group_at(id));
	lock_release(&groups_lock);
}

void group_destroy(struct uslab_group *handle)
{
	bool none, has_caches;
	struct group *g;

	if (!handle)
		return;
	lock_acquire(&groups_lock);
	g = find(handle);
	if (!g) {
		lock_release(&groups_lock);
		os_say("uslab_group_destroy: no such group");
		return;
	}
	seq_store(&g->dying, 1);	      /* pairs with group_live(), find() and uncharge() */
	store_relaxed(&g->limit, UINT64_MAX); /* its caches go on as if they were its parent's */
	groups_table->live--;
	groups_table->dying++;
	group_drain(g);
	has_caches = g->caches;
	release_up_locked(g);
	none = !groups_table->live;
	if (none)
		store_relaxed(&groups_entered, 0);
	lock_release(&groups_lock);
	group_arrays_drain(g); /* if it was released, those of who has its number now: no harm */
	if (group_destroyed)
		group_destroyed(has_caches ? g->id : GROUP_NONE);
	group_try_release(g->id);
	if (none)
		tell();
}

/* ---- threads ---- */

void group_count(uint32_t id)
{
	seq_add(&group_at(id)->threads, 1);
}

void group_leave(uint32_t id)
{
	struct group *g = group_at(id);

	if (!seq_add(&g->threads, -1u) && seq_load(&g->dying))
		group_try_release(id);
}

/*
 * It is counted there from now on; false: there is no such group any more. Who destroyed it may
 * have seen this thread counted, and have left the release to it.
 */
static bool count_in(struct group *g, struct uslab_group *handle)
{
	seq_add(&g->threads, 1);
	if (find(handle) == g)
		return true;
	group_leave(g->id);
	return false;
}

/* 0; -ENOENT: there is no such group any more; or what os_thread_end_ask() says. */
static int enter(struct group *g, struct uslab_group *handle)
{
	if (unlikely(!end_is_asked)) {
		int ret = lock_is_inside() ? -EBUSY : os_thread_end_ask();

		if (ret)
			return ret;
		end_is_asked = true;
	}
	if (!count_in(g, handle))
		return -ENOENT;
	if (unlikely(!load_relaxed(&groups_entered))) {
		store_relaxed(&groups_entered, 1);
		tell();
	}
	return 0;
}

/* Such a handle was never returned. */
static bool is_invented(struct uslab_group *handle)
{
	const struct groups *table = load_acquire(&groups_table); /* as in find() */

	return !table || !HANDLE_SERIAL(handle) ||
	       HANDLE_SERIAL(handle) > load_relaxed(&table->serials) || !HANDLE_ID(handle) ||
	       HANDLE_ID(handle) > load_relaxed(&table->nr);
}

/* The group of that handle, or the next one above. NULL: there is none. *ret: as enter(). */
static struct group *enter_nearest(struct uslab_group *handle, int *ret)
{
	bool may_wait = !is_invented(handle) && !lock_is_inside();
	struct group *g = find(handle);

	for (*ret = g ? enter(g, handle) : -ENOENT; *ret == -ENOENT && may_wait;) {
		g = find_above(handle);
		if (!g)
			break;
		*ret = enter(g, group_handle(g));
	}
	return g;
}

/* A handler may take the thread to another group in between. */
void group_use_numbers(uint32_t id, const unsigned char *numbers)
{
	group_numbers = numbers;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (unlikely(load_relaxed(&group_current) != id))
		group_numbers = group_no_numbers;
}

uint32_t group_go_to(uint32_t id)
{
	const unsigned char *numbers = group_numbers_outside;
	uint32_t old;

	if (id)
		numbers = load_acquire(&group_at(id)->numbers); /* pairs with own.c */
	group_numbers = group_no_numbers;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	old = group_set_current(id);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (numbers)
		group_use_numbers(id, numbers);
	return old;
}

/*
 * Of the group that this thread is in; *live: of the nearest one that was not destroyed. If a
 * handler has left it meanwhile, its number may be another's: then this thread is in another one.
 */
static struct uslab_group *current_handle(struct uslab_group **live)
{
	struct uslab_group *handle;
	struct group *g;
	uint32_t id;

	do {
		id = load_relaxed(&group_current);
		g = id ? group_at(id) : NULL;
		handle = g ? group_handle(g) : NULL;
		g = group_live(g);
		*live = g ? group_handle(g) : NULL;
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
	} while (unlikely(load_relaxed(&group_current) != id));
	return handle;
}

struct uslab_group *group_of_thread(void)
{
	struct uslab_group *live;

	current_handle(&live);
	return live;
}

struct uslab_group *group_enter(struct uslab_group *handle)
{
	struct uslab_group *previous;
	struct group *g;
	int ret = 0;
	uint32_t old;

	if (handle == current_handle(&previous))
		return previous; /* also if it was destroyed */
	g = handle ? enter_nearest(handle, &ret) : NULL;
	if (handle && !g && is_invented(handle))
		os_say("uslab_group_enter: no such group");
	else if (ret && ret != -ENOENT)
		os_say("uslab_group_enter: no memory for the end of the thread");
	old = group_go_to(g && !ret ? g->id : GROUP_NONE); /* a handler may have changed it */
	if (old)
		group_leave(old);
	return previous;
}

/* ---- groups of objects ----
 *
 * A word that is not 0 under groups_lock is that of a group which is there until the lock is
 * released, although others may free the object meanwhile: its bytes are in the usage until after
 * its word is 0, and a number becomes free under the lock, when the usage is 0 and no thread is in.
 */

uint32_t group_charge_like(const struct ext_place *place, size_t bytes)
{
	uint32_t id;

	lock_acquire(&groups_lock);
	id = group_at_place(place);
	if (id)
		id = group_charge_slow(id, bytes, GROUP_CHARGE_MORE | GROUP_CHARGE_FORCED);
	lock_release(&groups_lock);
	return id;
}

bool group_count_like(const struct ext_place *place, uint32_t id)
{
	bool same;

	lock_acquire(&groups_lock);
	same = group_at_place(place) == id;
	if (same)
		seq_add(&group_at(id)->threads, 1);
	lock_release(&groups_lock);
	return same;
}

/* ---- caches ---- */

void group_list_cache(unsigned int cache)
{
	__atomic_fetch_or(&groups_table->caches[cache / 64], 1ull << (cache % 64),
			  __ATOMIC_RELEASE);
}

/* The lock: who sums up may be looking at the cache. */
void group_unlist_cache(unsigned int cache)
{
	lock_acquire(&groups_lock);
	__atomic_fetch_and(&groups_table->caches[cache / 64], ~(1ull << (cache % 64)),
			   __ATOMIC_RELAXED);
	lock_release(&groups_lock);
}

uint32_t group_hold_cache(struct uslab_group *handle, unsigned int cache)
{
	struct group *g;

	lock_acquire(&groups_lock);
	g = find(handle);
	if (g)
		g->caches++;
	lock_release(&groups_lock);
	if (g)
		group_list_cache(cache);
	return g ? g->id : GROUP_NONE;
}

bool group_hold_cache_of(uint32_t id, unsigned int cache)
{
	struct group *g = group_at(id);
	bool live;

	lock_acquire(&groups_lock);
	live = !load_relaxed(&g->dying); /* else group_destroy() sees that it has one */
	g->caches += live;
	lock_release(&groups_lock);
	if (live)
		group_list_cache(cache);
	return live;
}

void group_drop_cache(uint32_t id, unsigned int cache)
{
	struct group *g = group_at(id);

	group_unlist_cache(cache);
	lock_acquire(&groups_lock);
	g->caches--;
	release_up_locked(g);
	lock_release(&groups_lock);
}

/* ---- numbers ---- */

int group_stat(struct uslab_group *handle, struct uslab_group_statistics *stat)
{
	uint64_t usage, limit;
	struct group *g;

	lock_acquire(&groups_lock);
	g = find(handle);
	if (g) {
		usage = load_relaxed(&g->usage);
		usage -= MIN(usage, group_ahead_locked(g));
		limit = load_relaxed(&g->limit);
		*stat = (struct uslab_group_statistics){
			.size = sizeof(*stat),
			.usage = usage,
			.peak = load_relaxed(&g->peak),
			.limit = limit == UINT64_MAX ? 0 : limit,
			.met = load_relaxed(&g->met),
			.failed = load_relaxed(&g->failed),
			.threads = load_relaxed(&g->threads),
			.groups = g->children,
		};
	}
	lock_release(&groups_lock);
	return g ? 0 : -ENOENT;
}

int group_set_limit(struct uslab_group *handle, size_t limit)
{
	struct group *g;
	uint64_t before;

	if (lock_is_inside())
		return -EBUSY; /* what is charged ahead could not be taken away */
	lock_acquire(&groups_lock);
	g = find(handle); /* it may end meanwhile: then it has no limit, and nothing is over it */
	before = g ? xchg(&g->limit, limit ? limit : UINT64_MAX) : 0;
	lock_release(&groups_lock);
	if (!g)
		return -ENOENT;
	/* of a child of fork(), perhaps, whose parent had not come that far */
	if (limit && (limit < before || group_is_over(g))) {
		group_arrays_wait();
		group_drain_all(g, 0); /* what was charged ahead before is bound by it, too */
		if (group_is_over(g))
			group_caches_close(g);
	}
	return 0;
}

int group_set_callback(struct uslab_group *handle, uslab_group_callback callback, void *arg)
{
	struct group *g;

	lock_acquire(&groups_lock);
	g = find(handle);
	if (g) {
		g->callback = callback;
		g->arg = arg;
	}
	lock_release(&groups_lock);
	return g ? 0 : -ENOENT;
}

bool group_call_back(struct group *g, size_t bytes)
{
	struct uslab_group *handle;
	uslab_group_callback callback;
	void *arg;

	if (in_callback)
		return false;
	lock_acquire(&groups_lock);
	callback = g->callback;
	arg = g->arg;
	handle = group_handle(g);
	lock_release(&groups_lock);
	if (!callback)
		return false;
	in_callback = true;
	callback(handle, bytes, arg);
	in_callback = false;
	return true;
}

/* ---- for fork and tests ---- */

void groups_each_lock(void (*act)(struct lock *l))
{
	group_arrays_each_lock(act);
	act(&groups_lock);
}

void groups_each_stock_lock(void (*act)(struct lock *l))
{
	for (uint32_t i = 0; groups_table && i < groups_table->nr_cpus; i++)
		act(&groups_table->stock[i].lock);
}

/* This thread alone; it may be in one group and belong to another, or to the same. */
void groups_forked(void)
{
	for (uint32_t i = 1; groups_table && i <= groups_table->nr; i++)
		store_relaxed(&group_at(i)->threads,
			      (uint32_t)(i == group_current) + (uint32_t)(i == group_own));
}

static void check_group(const struct group *g)
{
	uint32_t children = 0;
	uint64_t below = 0;

	for (uint32_t i = 1; i <= groups_table->nr; i++) {
		const struct group *other = group_at(i);

		if (other->serial && other->parent == g) {
			children++;
			below += other->usage;
		}
	}
	CHECK(g->children == children && g->usage >= below);
	CHECK(!g->parent || g->parent->serial);
	CHECK(g->usage >= group_ahead_locked(g));
}

void group_check(void)
{
	lock_acquire(&groups_lock);
	for (uint32_t i = 1; groups_table && i <= groups_table->nr; i++) {
		CHECK(group_at(i)->id == i);
		if (group_at(i)->serial)
			check_group(group_at(i));
	}
	for (uint32_t i = 0; groups_table && i < groups_table->nr_cpus; i++) {
		uintptr_t word = groups_table->stock[i].word;

		CHECK(!word || !group_at(STOCK_ID(word))->dying || percpu_rseq);
	}
	lock_release(&groups_lock);
}
