/* SPDX-License-Identifier: MIT */
/*
 * front/array_charged.c - arrays of charged objects are taken, put back, and taken away
 *
 * Why:        docs/adr/0067, docs/adr/0071.
 * Data:       see array_charged.h.
 * Invariants: see array_charged.h.
 * Locks:      none taken here.
 * Flow:       called by array.c and cache/group/array.c; calls front/percpu.c.
 *
 * Who changes the word of CPU c:
 *
 *                       hit or withdrawal on c   install on c     take of c's
 *   hit or withdrawal   never: same CPU          never: same CPU  see 1
 *   install             never: same CPU          never: c's lock  never: c's lock
 *   take                see 1                    never: c's lock  never: c's lock
 *
 * 1. percpu_stop_xchg(): what had begun on c either committed before, and its value is taken, or
 *    was ended, and misses. Nothing is installed meanwhile, as it requires. A
 *    withdrawal leaves front_gone_word, which is no take's.
 *
 * The owner beside a word is stored by an install, with c's lock, while the word misses both ways
 * (it is a stopped word, never 0, in caches with keys): from then until the word is an array again
 * no hit compares it with success, and no other install comes in between. A hit that has compared
 * the old key finds the word in the same sequence, which a take interrupts.
 *
 * An install compares the front's gate in its sequence, as sheaf_swap() does. Who closes a front
 * does that before it takes the CPU's lock, and then takes the array: an install that had looked
 * before has the lock, and its array is found; one that comes later sees that it is closed.
 */
#include "front/array_charged.h"

#include <errno.h>

#include "front/array_sheaf.h"
#include "os/cpu/cpu.h"

const struct array_charged_ops *array_charged;

static bool is_array(uintptr_t word)
{
	return word && !front_is_stopped(word);
}

uintptr_t array_charged_withdraw(struct front *f)
{
	return percpu_rseq ? sheaf_take_out(f, percpu_charged, front_gone_word) : 0;
}

bool array_charged_install(struct front *f, int cpu, uintptr_t top, uint64_t owner)
{
	const union front_gate gate = { .word = load_relaxed(&f->gate) };
	uintptr_t *word = percpu_charged(f->id, cpu);
	uintptr_t old = load_relaxed(word);

	if (!percpu_rseq || gate.closed || is_array(old) ||
	    array_charged_capacity(gate.capacity) != sheaf_capacity(top))
		return false;
	if (percpu_has(f->id, PERCPU_KEYED))
		store_relaxed(percpu_owner(f->id, cpu), owner);
	return percpu_cmp2_store(cpu, word, old, &f->gate, gate.word, top) == 0;
}

uintptr_t array_charged_take(struct front *f, int cpu)
{
	uintptr_t *word = percpu_charged(f->id, cpu);
	uintptr_t top = load_relaxed(word);

	if (!is_array(top) || percpu_stop_xchg(cpu, word, front_stop_word, &top))
		return 0;
	return is_array(top) ? top : 0;
}

unsigned long array_charged_held(const struct front *f)
{
	unsigned int capacity = array_charged_capacity(load_relaxed(&f->capacity));
	unsigned long held = 0;

	for (int cpu = 0; array_charged && cpu < (int)os_topology.nr_cpu_ids; cpu++) {
		uintptr_t top = load_relaxed(percpu_charged(f->id, cpu));

		held += is_array(top) ? sheaf_count_at(top, capacity) : 0;
	}
	return held;
}
