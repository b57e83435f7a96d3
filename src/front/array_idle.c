/* SPDX-License-Identifier: MIT */
/*
 * front/array_idle.c - what CPUs and depots hold goes back when use falls, or when nobody uses it
 *
 * Why:        docs/adr/0065.
 * Data:       depot.seen of node 0: what the last reap saw in the words and depots of all CPUs.
 * Invariants: none.
 * Locks:      array_reap: the registry lock, as for a drain; the lanes' and the engine's inside.
 * Flow:       called by array.c and through front_array_ops; calls array.c, array_remote.c,
 *             engine->ops.
 *
 * An object that a CPU holds keeps its slab, the slab's pages keep their chunk, and the chunk keeps
 * its descriptors: after a burst that is more memory than the objects themselves. So there are two
 * ways back:
 *
 *   fall: a free that misses while the memory in use falls. The CPU's two arrays go back, and some
 *         of the depot; of one that had overflowed each object would have gone back as well, so a
 *         burst of frees takes no longer. Of large objects none is held from then on, as long as
 *         use falls: their slabs are large, and hold few.
 *   idle: a reap (USLAB_CONF=reap, kmem_cache_reap()) that finds a cache's arrays and depots as the
 *         last one did. It may be wrong, where a program frees as many as it allocates in between:
 *         that costs a refill for each CPU and reap.
 */
#include "front/array_sheaf.h"

#include "base/atomic.h"
#include "base/mix.h"
#include "front/array_charged.h"
#include "os/cpu/cpu.h"
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

static bool is_sheaf(uintptr_t word)
{
	return word && !front_is_stopped(word);
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

		*holds |= is_sheaf(word) || is_sheaf(spare) || is_sheaf(charged);
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
