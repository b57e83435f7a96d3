/* SPDX-License-Identifier: MIT */
/*
 * examples/containers.cpp - objects and containers of C++ in caches
 *
 *   $ c++ -std=c++17 -O2 containers.cpp -luslab -o containers
 *   $ ./containers
 *   circle at 1, 2
 *   3 words, the first one: apple
 *   3 tokens, the last one: )
 *   shapes are all back: yes
 */
#include <cstdio>
#include <functional>
#include <list>
#include <map>
#include <string>
#include <uslab/cache.hpp>

struct Shape {
	std::string name;
	double x, y;

	Shape(const char *what, double at_x, double at_y)
		: name(what), x(at_x), y(at_y)
	{
	}
};

/* allocator's caches live as long as the program: this may be static. */
using Words = std::map<std::string, int, std::less<std::string>,
		       uslab::allocator<std::pair<const std::string, int>>>;
static Words words;

int main()
{
	/* A cache of its own; its objects are constructed and destroyed. */
	uslab::cache<Shape> shapes("shapes");
	auto circle = shapes.make_unique("circle", 1, 2);

	std::printf("%s at %g, %g\n", circle->name.c_str(), circle->x,
		    circle->y);

	words = { { "pear", 1 }, { "apple", 2 }, { "plum", 3 } };
	std::printf("%zu words, the first one: %s\n", words.size(),
		    words.begin()->first.c_str());

	/* Caches for one part of a program, which tools show by its name. */
	uslab::memory_resource parser("parser");
	std::pmr::list<char> tokens({ '(', 'x', ')' }, &parser);

	std::printf("%zu tokens, the last one: %c\n", tokens.size(),
		    tokens.back());

	circle.reset();
	std::printf("shapes are all back: %s\n", shapes.shrink() ? "yes" : "no");
}
