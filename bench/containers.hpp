/* SPDX-License-Identifier: MIT */
/*
 * bench/containers.hpp - loads of std::list and std::map, the same work with any allocator
 *
 * Each is compiled twice: containers-malloc.cpp has std::allocator, that is malloc by operator new,
 * and containers-cache.cpp uslab::allocator. The program around them is uslab-bench-containers.c.
 * All return how many nodes were allocated, of which the last is freed when they return.
 */
#ifndef BENCH_CONTAINERS_HPP
#define BENCH_CONTAINERS_HPP

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <utility>
#include <vector>

namespace containers
{

struct item {
	std::uint64_t number, more[3];
};
using list = std::list<item, CONTAINERS_ALLOCATOR<item>>;
using map = std::map<std::uint64_t, item, std::less<std::uint64_t>,
		     CONTAINERS_ALLOCATOR<std::pair<const std::uint64_t, item>>>;

/* The same numbers for all: a generator of Knuth's. */
class numbers
{
public:
	std::uint32_t below(std::uint32_t n)
	{
		state = state * 6364136223846793005u + 1442695040888963407u;
		return static_cast<std::uint32_t>(((state >> 32) * n) >> 32);
	}

private:
	std::uint64_t state = 1;
};

inline std::uint64_t sum; /* what was read, so that it is */

inline void walk(const list &l)
{
	for (const item &i : l)
		sum += i.number;
}

} // namespace containers

extern "C" {

/* A queue of 1000 items: one more at its end, the first one leaves. */
uint64_t containers_list_queue(uint64_t steps)
{
	containers::list queue(1000);

	for (uint64_t i = 0; i < steps; i++) {
		queue.push_back({ i, {} });
		containers::sum += queue.front().number;
		queue.pop_front();
	}
	return steps + 1000;
}

/* 100 lists: each is filled with up to 63 items, walked along and dropped, in random turn. */
uint64_t containers_list_fill(uint64_t steps)
{
	std::vector<containers::list> lists(100);
	containers::numbers random;
	uint64_t nodes = 0;

	while (nodes < steps) {
		containers::list &l = lists[random.below(100)];
		const uint32_t length = random.below(64);

		containers::walk(l);
		l.clear();
		for (uint32_t i = 0; i < length; i++)
			l.push_back({ i, {} });
		nodes += length;
	}
	return nodes;
}

/* Maps of 16 keys: made, asked for each key, dropped. */
uint64_t containers_map_small(uint64_t steps)
{
	containers::numbers random;
	uint64_t nodes = 0;

	for (; nodes < steps; nodes += 16) {
		const uint64_t first = random.below(1000);
		containers::map map;

		for (uint64_t i = 0; i < 16; i++)
			map[(first + i * 7) % 16] = { i, {} };
		for (uint64_t i = 0; i < 16; i++)
			containers::sum += map.at(i).number;
	}
	return nodes;
}

/* A map of 10,000 keys, of which random ones are replaced. */
uint64_t containers_map_replace(uint64_t steps)
{
	containers::numbers random;
	containers::map map;

	for (uint64_t i = 0; i < 10000; i++)
		map[random.below(1u << 30)] = { i, {} };
	for (uint64_t i = 0; i < steps; i++) {
		auto at = map.lower_bound(random.below(1u << 30));

		map.erase(at == map.end() ? map.begin() : at);
		map[random.below(1u << 30)] = { i, {} };
	}
	return steps + 10000;
}

} // extern "C"

#endif /* BENCH_CONTAINERS_HPP */
