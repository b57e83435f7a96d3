/* SPDX-License-Identifier: MIT */
/*
 * bench/uslab-bench-containers.c - loads of containers of C++, whoever allocates their nodes
 *
 * Flow:       started by scripts/bench-malloc; runs the loads of containers.hpp. In: as
 *             uslab-bench-load.c; out: lines of metrics.
 *
 * Linked twice: as uslab-bench-containers-malloc, for the library in LD_PRELOAD, and as
 * uslab-bench-containers-cache, for own-cache; each with the C++ file of its ending.
 */
#include "load_main.h"

/* The loads are in C++, in containers.hpp. */

#define CONTAINER_LOAD(name, steps)                               \
	uint64_t containers_##name(uint64_t nodes);               \
	static uint64_t load_##name(const struct load *l)         \
	{                                                         \
		return containers_##name(load_share(l, (steps))); \
	}

CONTAINER_LOAD(list_queue, 100000000)
CONTAINER_LOAD(list_fill, 100000000)
CONTAINER_LOAD(map_small, 20000000)
CONTAINER_LOAD(map_replace, 4000000)

static const struct load_row rows[] = {
	{ "list-queue", load_list_queue, 1 },
	{ "list-fill", load_list_fill, 1 },
	{ "map-small", load_map_small, 1 },
	{ "map-replace", load_map_replace, 1 },
};

int main(int argc, char **argv)
{
	return load_main(argc, argv, rows, sizeof(rows) / sizeof(rows[0]));
}
