/* SPDX-License-Identifier: MIT */
/*
 * front/array_idle.c - what CPUs and depots hold goes back when use falls, or when nobody uses it
 *
 * Why:        docs/adr/0065, docs/adr/0090.
 * Data:       depot.seen of node 0: what the last reap saw in the words and depots of all CPUs;
 *             seen_of: what the last look of array_give_idle() saw, of each front; cpus: those
 *             whose words have had a sheaf.
 * Invariants: none.
 * Locks:      array_reap, array_give_idle: the registry lock, as for a drain, which guards what
 *             they saw; the lanes' and the engine's inside.
 * Flow:       called by array.c, cache/idle.c and through front_array_ops; calls array.c,
 *             array_remote.c, front/depot.c, front/percpu.c, engine->ops,
 *             os/process/filter.c, page/meta.h.
 *
 * An object that a CPU holds keeps its slab, the slab's pages keep their chunk, and the chunk keeps
 * its descriptors: after a burst that is more memory than the objects themselves. So there are
 * three ways back:
 *
 *   fall: a free that misses while the memory in use falls. The CPU's two arrays go back, and some
 *         of the depot; of one that had overflowed each object would have gone back as well, so a
 *         burst of frees takes no longer. Of large objects none is held from then on, as long as
 *         use falls: their slabs are large, and hold few.
 *   idle: a reap (USLAB_CONF=reap, kmem_cache_reap()) that finds a cache's arrays and depots as the
 *         last one did.
 *   left: misses look at each cache now and then (cache/idle.c). The arrays of a CPU that are as
 *         they were two seconds ago go back, whatever other CPUs do; and if no CPU has any, some of
 *         the depots. So a thread that moves on leaves little behind. Under a filter of
 *         system calls that may forbid fences only the arrays of the CPU that looks.
 *
 * The last two may be wrong, where a program frees as many as it allocates in between: that costs a
 * refill for each CPU.
 */
#include "front/array_sheaf.h"

#include "base/atomic.h"
#include "base/mix.h"
#include "front/array_charged.h"
#include "os/cpu/cpu.h"
#include "os/process/filter.h"
#include "page/meta.h"
#include "page/realtime.h"

#define GIVE_UP_SHEAVES 4u /* of the depot, in one miss: bounds its time */
#define LARGE_OBJECT (PAGE_SIZE / 8)

/* ---- fall ---- */

static void give_back(struct front *f, uintptr_t top)
{
	if (top)
		sheaf_delete(sheaf_flush(f, top));
}

bool array_give_up(struct front *f)
{
	struct depot *d = &f->depot[os_current_node()];
	uintptr_t top;

	const struct array_charged_ops *ops =
		load_acquire(&array_charged); /* pairs with its store */

	give_back(f, sheaf_withdraw(f));
	give_back(f, sheaf_unstash(f));
	if (ops)
		ops->give_up(f);
	for (unsigned int n = 0; n < GIVE_UP_SHEAVES && (top = depot_take(d, DEPOT_FULL)); n++)
		give_back(f, top);
	return f->engine->size >= LARGE_OBJECT;
}

/* ---- idle ---- */

static inline uint64_t add(uint64_t sum, uint64_t word)
{
	return mix_bits(sum + mix_multiply(word + 1));
}

/* *holds: any CPU or depot has a sheaf. */
static uint64_t look(struct front *f, bool *holds)
{
	uint64_t sum = 0;

	*holds = false;
	for (int cpu = 0; cpu < (int)os_topology.nr_cpu_ids; cpu++) {
		uintptr_t word = load_relaxed(percpu_word(f->id, cpu));
		uintptr_t spare = load_relaxed(percpu_spare(f->id, cpu));
		uintptr_t charged = load_relaxed(percpu_charged(f->id, cpu));

		*holds |= array_is_sheaf(word) || array_is_sheaf(spare) || array_is_sheaf(charged);
		sum = add(add(add(sum, word), spare), charged);
	}
	for (unsigned int node = 0; node < os_topology.nr_nodes; node++) {
		uint32_t full = depot_count(&f->depot[node], DEPOT_FULL);
		uint32_t empty = depot_count(&f->depot[node], DEPOT_EMPTY);

		*holds |= full || empty;
		sum = add(add(sum, full), empty);
	}
	return sum;
}

static void reap_engine(struct front *f)
{
	if (!f->engine->ops->reap)
		return;
	for (unsigned int node = 0; node < os_topology.nr_nodes; node++)
		f->engine->ops->reap(f->engine, node);
}

void array_reap(struct front *f, unsigned int cpu)
{
	uint64_t sum;
	bool holds;

	array_remote_reap(f, cpu);
	if (cpu)
		return; /* the rest is done for all CPUs together, by the first */
	sum = look(f, &holds);
	if (holds && sum == f->depot->seen && !realtime_is_on())
		array_drain(f);
	f->depot->seen = sum;
	reap_engine(f);
}

/* ---- left on a CPU --------------------------------------------------------------------------- */

#define LOOK_EPOCHS 32u /* between two looks at a front: two seconds */

/* What a look saw, and how far it has got. */
struct seen {
	uint32_t epoch;	  /* when the last one ended */
	uint32_t sheaves; /* in the depots */
	uint32_t next; /* the CPU where it goes on; 0: none is under way, or it is at the first */
	bool holds;    /* in this one: a CPU before that has something */
	uint32_t words[]; /* by CPU; 0: no sheaf */
};

static struct seen *seen_of[USLAB_NR_HANDLES];
static unsigned long cpus[DIV_ROUND_UP(USLAB_MAX_CPUS, 64)]; /* a bit each; atomic, hints */
unsigned int array_nr_sheaves;

void array_note_sheaf(int cpu)
{
	unsigned long *bits = &cpus[cpu / 64];
	unsigned long bit = 1ul << cpu % 64;

	if (!array_has_many())
		store_relaxed(&array_nr_sheaves, load_relaxed(&array_nr_sheaves) + 1);
	if (unlikely(!(load_relaxed(bits) & bit)))
		__atomic_fetch_or(bits, bit, __ATOMIC_RELAXED);
}

static size_t seen_size(void)
{
	return sizeof(struct seen) + os_topology.nr_cpu_ids * sizeof(uint32_t);
}

/* NULL: out of memory. */
static struct seen *get_seen(const struct front *f)
{
	if (!seen_of[f->id])
		seen_of[f->id] = meta_alloc(seen_size());
	return seen_of[f->id];
}

void array_idle_forget(const struct front *f)
{
	if (!seen_of[f->id])
		return;
	meta_free(seen_of[f->id], seen_size());
	seen_of[f->id] = NULL;
}

static uint32_t words_of(const struct front *f, int cpu)
{
	uintptr_t word = load_relaxed(percpu_word(f->id, cpu));
	uintptr_t spare = load_relaxed(percpu_spare(f->id, cpu));

	if (!array_is_sheaf(word) && !array_is_sheaf(spare))
		return 0;
	return (uint32_t)add(add(0, word), spare) | 1;
}

/*
 * Asked once in a step, and only where something is idle. A filter of system calls may end the
 * program for a call that it has not made so far.
 */
static bool may_fence(struct array_budget *budget)
{
	bool works;

	if (!budget->fences) {
		works = !percpu_rseq || (os_filter_lets_through() && percpu_can_fence());
		budget->fences = works ? FENCES_WORK : FENCES_FAIL;
	}
	return budget->fences == FENCES_WORK;
}

/* false: it is another CPU's, and cannot be taken. */
static bool give_back_of(struct front *f, int cpu, struct array_budget *budget)
{
	if (cpu == percpu_cpu()) { /* no fence; if the thread moves now, the other CPU misses */
		give_back(f, sheaf_withdraw(f));
		give_back(f, sheaf_unstash(f));
		return true;
	}
	if (!may_fence(budget))
		return false;
	array_drain_cpu(f, cpu);
	return true;
}

/* Has this CPU something, after it gave back what is idle? */
static bool holds_after_look(struct front *f, struct seen *s, int cpu, struct array_budget *budget)
{
	uint32_t words = words_of(f, cpu);

	budget->looks--;
	if (words && words == s->words[cpu] && give_back_of(f, cpu, budget)) {
		budget->arrays--;
		words = 0;
	}
	s->words[cpu] = words;
	return words;
}

/* From CPU s->next on. false: the budget is spent, and s->next is where it goes on. */
static bool look_at_cpus(struct front *f, struct seen *s, struct array_budget *budget)
{
	for (uint32_t cpu = s->next; cpu < os_topology.nr_cpu_ids; cpu++) {
		if (!(load_relaxed(&cpus[cpu / 64]) & 1ul << cpu % 64))
			continue;
		if (!budget->looks || !budget->arrays) {
			s->next = cpu;
			return false;
		}
		s->holds |= holds_after_look(f, s, (int)cpu, budget);
	}
	s->next = 0;
	return true;
}

static uint32_t sheaves_of_depots(const struct front *f)
{
	uint32_t nr = 0;

	for (unsigned int node = 0; node < os_topology.nr_nodes; node++)
		nr += depot_count(&f->depot[node], DEPOT_FULL) +
		      depot_count(&f->depot[node], DEPOT_EMPTY);
	return nr;
}

static void give_idle_depots(struct front *f, struct array_budget *budget)
{
	uintptr_t top;

	for (unsigned int node = 0; node < os_topology.nr_nodes; node++) {
		struct depot *d = &f->depot[node];

		while (budget->arrays &&
		       ((top = depot_take(d, DEPOT_FULL)) || (top = depot_take(d, DEPOT_EMPTY)))) {
			give_back(f, top);
			budget->arrays--;
		}
	}
}

bool array_give_idle(struct front *f, struct array_budget *budget)
{
	struct seen *s = get_seen(f);
	uint32_t now = depot_epoch();
	uint32_t sheaves;

	if (!s || (!s->next && now - s->epoch < LOOK_EPOCHS))
		return true;
	if (!s->next)
		s->holds = false;
	if (!look_at_cpus(f, s, budget))
		return false;
	s->epoch = now;
	sheaves = sheaves_of_depots(f);
	if (!s->holds && sheaves && sheaves == s->sheaves)
		give_idle_depots(f, budget);
	s->sheaves = sheaves_of_depots(f);
	return true;
}
