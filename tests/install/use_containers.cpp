/* SPDX-License-Identifier: MIT */
/*
 * tests/install/use_containers.cpp - a program outside of the tree that uses <uslab/cache.hpp>
 *
 * Compiled by each standard of C++ from 17 on, with and without exceptions. Says "ok VERSION" when
 * objects and containers do what they should.
 */
#include <uslab/cache.hpp>

#include <cstdio>
#include <functional>
#include <list>
#include <map>

namespace
{

struct point {
	int x, y;

	point(int at_x, int at_y) : x(at_x), y(at_y) {}
};

using numbers = std::map<int, int, std::less<int>, uslab::allocator<std::pair<const int, int>>>;

uslab::cache<point> points("points");
using point_ptr = std::unique_ptr<point, uslab::deleter_of<points>>;

int fail(const char *what)
{
	std::fprintf(stderr, "use_containers: %s\n", what);
	return 1;
}

int use_cache()
{
	auto one = points.make_unique(1, 2);
	point_ptr other(points.try_construct(3, 4));
	const uslab::cache<point> second(std::nothrow, "second");

	if (one->x + one->y != 3 || !other || other->x + other->y != 7 || !second)
		return fail("cache");
	one.reset();
	other.reset();
	return points.shrink() ? 0 : fail("shrink");
}

int use_containers()
{
	numbers map;
	std::list<point, uslab::allocator<point>> list;

	for (int i = 0; i < 1000; i++) {
		map[i] = -i;
		list.emplace_back(i, i);
	}
	if (map.at(999) != -999 || list.size() != 1000 || list.back().y != 999)
		return fail("allocator");
#ifdef __cpp_lib_memory_resource
	/* Longer than names may be: it is cut short, which is no warning. */
	uslab::memory_resource resource(
		"the resource of a program that has very many of them, each of which it names at length");
	std::pmr::map<int, int> other(map.begin(), map.end(), &resource);

	if (other.size() != map.size() || other.at(7) != -7)
		return fail("memory_resource");
#endif
	return 0;
}

} // namespace

int main()
{
	if (use_cache() || use_containers())
		return 1;
	std::printf("ok %s\n", uslab_version());
}
