/* SPDX-License-Identifier: MIT */
/*
 * front/front.c - the fronts by name, and words that always miss
 *
 * Why:        docs/adr/0070.
 * Data:       three sheaves of NULLs whose last entries are what stopped words point at.
 * Invariants: these sheaves are never written.
 * Locks:      none; words are stopped before a cache is published or after it is gone, and move
 *             while the front is closed.
 * Flow:       see front.h.
 *
 * Words that move. While the front is closed both places of a cache's words only have values that
 * miss: the one that it leaves gets front_moved_word, the other one front_stop_word, and then
 * PERCPU_ELSEWHERE says which is in use. A thread may know the old place for long: it was
 * preempted in a miss before the front was closed, and goes on when it is open again. Then it finds
 * the moved word there. A hit misses, a withdrawal takes nothing, and an install does not replace
 * that word (sheaf_swap()). If it has read the word earlier, its sequence finds another one, and it
 * looks for the place anew. Runs store the word that they have read again: so each word is
 * exchanged with a fence after it (percpu_stop_xchg()).
 */
#include "front/front.h"

#include <errno.h>
#include <string.h>

#include "base/atomic.h"
#include "os/cpu/cpu.h"

/* Low byte of the last entry's address is 248: push misses; it holds NULL: pop misses. */
static void *const stop_sheaf[3][USLAB_SHEAF_CAPACITY + 1]
	__attribute__((aligned(USLAB_SHEAF_SIZE)));

BUILD_ASSERT(sizeof(stop_sheaf[0]) == USLAB_SHEAF_SIZE);

const uintptr_t front_stop_word = (uintptr_t)&stop_sheaf[0][USLAB_SHEAF_CAPACITY];
const uintptr_t front_gone_word = (uintptr_t)&stop_sheaf[1][USLAB_SHEAF_CAPACITY];
const uintptr_t front_moved_word = (uintptr_t)&stop_sheaf[2][USLAB_SHEAF_CAPACITY];

const struct front_ops *front_by_name(const char *name)
{
	static const struct front_ops *const fronts[] = {
		&front_array_ops,   &front_cpuslab_ops,	    &front_queues_ops,
		&front_sheaves_ops, &front_sheaves_618_ops, &front_none_ops,
	};

	for (size_t i = 0; i < ARRAY_SIZE(fronts); i++)
		if (!strcmp(fronts[i]->name, name))
			return fronts[i];
	return NULL;
}

void front_close(struct front *f)
{
	/* seen by every install that starts after drain's fence; pairs with sheaf_install() */
	__atomic_fetch_or(&f->closed, FRONT_CLOSED, __ATOMIC_SEQ_CST);
	f->ops->drain(f);
}

void front_open(struct front *f)
{
	__atomic_fetch_and(&f->closed, ~(uint32_t)FRONT_CLOSED, __ATOMIC_RELEASE);
}

void front_stop_words(unsigned int id)
{
	/* -2 and -1: what threads without a registration use */
	for (int cpu = -2; cpu < (int)os_topology.nr_windows; cpu++) {
		store_relaxed(percpu_inline_word(id, cpu), front_stop_word);
		store_relaxed(percpu_word(id, cpu), front_stop_word);
	}
}

void front_stop_keyed_words(unsigned int id)
{
	for (int cpu = -2; cpu < (int)os_topology.nr_windows; cpu++)
		store_relaxed(percpu_charged(id, cpu), front_stop_word);
}

/* On all CPUs, in one of the two places. 0; -errno: not on all. */
static int exchange_words(unsigned int id, unsigned long place, uintptr_t value)
{
	for (int cpu = 0; cpu < (int)os_topology.nr_cpu_ids; cpu++) {
		uintptr_t *word = percpu_word_at(id, cpu, place);
		uintptr_t old;
		int ret = percpu_stop_xchg(cpu, word, value, &old);

		if (unlikely(ret))
			return ret;
		if (unlikely(old && !front_is_stopped(old))) {
			/* it could not be fenced when the front was closed, and can be now */
			percpu_put_back(cpu, word, old);
			return -EBUSY;
		}
	}
	return 0;
}

/* Where the words were not all exchanged: no array is in those of them that were. */
static void undo_words(unsigned int id, unsigned long place, uintptr_t value, uintptr_t before)
{
	for (int cpu = 0; cpu < (int)os_topology.nr_cpu_ids; cpu++)
		if (load_relaxed(percpu_word_at(id, cpu, place)) == value)
			store_relaxed(percpu_word_at(id, cpu, place), before);
}

int front_place_words(struct front *f, bool elsewhere)
{
	unsigned long from = percpu_place(f->id);
	unsigned long to = percpu_place_if(elsewhere);
	int ret;

	if (from == to)
		return 0;
	ret = exchange_words(f->id, to, front_stop_word);
	if (likely(!ret))
		ret = exchange_words(f->id, from, front_moved_word);
	if (likely(!ret)) {
		percpu_set(f->id, PERCPU_ELSEWHERE, elsewhere);
	} else {
		undo_words(f->id, from, front_moved_word, front_stop_word);
		undo_words(f->id, to, front_stop_word, front_moved_word);
	}
	return ret;
}
