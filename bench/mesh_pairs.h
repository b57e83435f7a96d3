/* SPDX-License-Identifier: MIT */
/*
 * bench/mesh_pairs.h - how many pages, or slabs, could share their memory with another one
 *
 * Two may if no byte of either is an object's of the other (Powers, Tench, Berger and McGregor,
 * "Mesh: Compacting Memory Management for C/C++ Applications", PLDI 2019). What is compared has one
 * bit for 16 bytes. Pairs are looked for as that paper does: what may pair is shuffled and cut in
 * halves, and each of the first half is compared with at most PROBES of the second. One that
 * is more than MESH_FULL live is left out, as there.
 */
#ifndef BENCH_MESH_PAIRS_H
#define BENCH_MESH_PAIRS_H

#include <stdbool.h>

#include "workloads.h"

#define MESH_UNIT 16u				 /* bytes for each bit */
#define MESH_PAGE_WORDS (4096u / MESH_UNIT / 64) /* of a page's bits */
#define MESH_PROBES 64u
#define MESH_FULL 0.9 /* of the bits: more are not worth a try */

/* Bits of areas of one size, one after the other. */
struct mesh_set {
	uint64_t *bits;
	size_t words; /* of one area */
	size_t nr;
	size_t most; /* that there is space for */
};

static inline void mesh_set_free(struct mesh_set *set)
{
	free(set->bits);
	*set = (struct mesh_set){ 0 };
}

/* The bits of a further area, all 0. */
static inline uint64_t *mesh_set_add(struct mesh_set *set)
{
	uint64_t *area;

	if (set->nr == set->most) {
		set->most = set->most ? 2 * set->most : 1024;
		set->bits = realloc(set->bits, set->most * set->words * sizeof(*set->bits));
		if (!set->bits)
			die("out of memory");
	}
	area = set->bits + set->nr++ * set->words;
	memset(area, 0, set->words * sizeof(*area));
	return area;
}

/* An object lies at from .. to, in bytes of the area. */
static inline void mesh_mark(uint64_t *area, size_t from, size_t to)
{
	for (size_t bit = from / MESH_UNIT; bit < (to + MESH_UNIT - 1) / MESH_UNIT; bit++)
		area[bit / 64] |= 1ull << bit % 64;
}

static inline unsigned int mesh_weight(const uint64_t *area, size_t words)
{
	unsigned int bits = 0;

	for (size_t i = 0; i < words; i++)
		bits += (unsigned int)__builtin_popcountll(area[i]);
	return bits;
}

static inline bool mesh_overlap(const uint64_t *a, const uint64_t *b, size_t words)
{
	for (size_t i = 0; i < words; i++)
		if (a[i] & b[i])
			return true;
	return false;
}

/* In random order, without those that are nearly full. */
static inline const uint64_t **mesh_shuffle(const struct mesh_set *set, size_t *nr)
{
	const uint64_t **order = malloc((set->nr + 1) * sizeof(*order));
	struct rng rng = { 0x9e3779b97f4a7c15ull };

	if (!order)
		die("out of memory");
	*nr = 0;
	for (size_t i = 0; i < set->nr; i++) {
		const uint64_t *area = set->bits + i * set->words;

		if (mesh_weight(area, set->words) <= MESH_FULL * 64 * (double)set->words)
			order[(*nr)++] = area;
	}
	for (size_t i = *nr; i > 1; i--) {
		size_t j = rng_below(&rng, (uint32_t)i);
		const uint64_t *area = order[i - 1];

		order[i - 1] = order[j];
		order[j] = area;
	}
	return order;
}

/* How many pairs are found: as many areas' memory would be released. */
static inline size_t mesh_pairs(const struct mesh_set *set)
{
	size_t nr, half, pairs = 0;
	const uint64_t **order = mesh_shuffle(set, &nr);
	const uint64_t **other;

	half = nr / 2;
	other = order + half;
	for (size_t probe = 0; probe < MESH_PROBES && probe < half; probe++) {
		for (size_t i = 0; i < half; i++) {
			size_t j = (i + probe) % half;

			if (!order[i] || !other[j] || mesh_overlap(order[i], other[j], set->words))
				continue;
			order[i] = other[j] = NULL;
			pairs++;
		}
	}
	free(order);
	return pairs;
}

#endif /* BENCH_MESH_PAIRS_H */
