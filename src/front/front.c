/* SPDX-License-Identifier: MIT */
/*
 * front/front.c - the fronts by name, and words that always miss
 *
 * Data:       two sheaves of NULLs whose last entries are what stopped words point at.
 * Invariants: these sheaves are never written.
 * Locks:      none; words are stopped before a cache is published or after it is gone.
 * Flow:       see front.h.
 */
#include "front/front.h"

#include <string.h>

#include "base/atomic.h"
#include "os/cpu/cpu.h"

/* Low byte of the last entry's address is 248: push misses; it holds NULL: pop misses. */
static void *const stop_sheaf[2][USLAB_SHEAF_CAPACITY + 1]
	__attribute__((aligned(USLAB_SHEAF_SIZE)));

BUILD_ASSERT(sizeof(stop_sheaf[0]) == USLAB_SHEAF_SIZE);

const uintptr_t front_stop_word = (uintptr_t)&stop_sheaf[0][USLAB_SHEAF_CAPACITY];
const uintptr_t front_gone_word = (uintptr_t)&stop_sheaf[1][USLAB_SHEAF_CAPACITY];

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
