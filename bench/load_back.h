/* SPDX-License-Identifier: MIT */
/*
 * bench/load_back.h - what comes back after a burst: burst-idle, burst-hits
 *
 * 1 GiB of blocks of all sizes is allocated and written to; all but the first 10 MiB of it, which
 * lie together, are freed. Then the program sleeps (burst-idle), or allocates and frees one small
 * block again and again (burst-hits), and says what is resident at once, and after 0.5, 1 and 2
 * seconds, in KiB: back_0, back_500, back_1000, back_2000.
 */
#ifndef BENCH_LOAD_BACK_H
#define BENCH_LOAD_BACK_H

#include "load_main.h"

#define BACK_BURST (1ul << 30)
#define BACK_KEPT (10ul << 20)
#define BACK_HIT_SIZE 64

struct back_block {
	struct back_block *next;
};

/* So many bytes of blocks; the list's last pointer. */
static inline struct back_block **back_fill(const struct load *l, struct back_block **end,
					    uint64_t bytes, uint64_t *blocks)
{
	for (uint64_t done = 0; done < bytes; ++*blocks) {
		size_t size = l->sizes[*blocks % NR_SIZES];
		struct back_block *block;

		size = size < sizeof(*block) ? sizeof(*block) : size;
		block = any_alloc(size);
		memset(block, 1, size);
		*end = block;
		end = &block->next;
		done += size;
	}
	*end = NULL;
	return end;
}

static inline void back_free(struct back_block *block)
{
	while (block) {
		struct back_block *next = block->next;

		any_free(block);
		block = next;
	}
}

static inline void back_wait(double until, bool hits)
{
	while (now_ns() < until) {
		if (!hits) {
			usleep(10000);
			continue;
		}
		for (int i = 0; i < 1000; i++)
			any_free(any_alloc(BACK_HIT_SIZE));
	}
}

static inline uint64_t load_back(const struct load *l, bool hits)
{
	static const struct {
		const char *metric;
		double after; /* ns */
	} looks[] = {
		{ "back_0", 0 }, { "back_500", 5e8 }, { "back_1000", 1e9 }, { "back_2000", 2e9 }
	};
	struct back_block *kept, **end;
	uint64_t blocks = 0;
	double freed;

	end = back_fill(l, &kept, load_share(l, BACK_KEPT), &blocks);
	back_fill(l, end, load_share(l, BACK_BURST - BACK_KEPT), &blocks);
	back_free(*end);
	*end = NULL;
	freed = now_ns();
	for (size_t i = 0; i < sizeof(looks) / sizeof(looks[0]); i++) {
		back_wait(freed + looks[i].after, hits);
		emit_metric(looks[i].metric, resident_kib());
	}
	back_free(kept);
	return blocks;
}

static inline uint64_t load_back_idle(const struct load *l)
{
	return load_back(l, false);
}

static inline uint64_t load_back_hits(const struct load *l)
{
	return load_back(l, true);
}

#endif /* BENCH_LOAD_BACK_H */
