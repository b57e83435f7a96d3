/* SPDX-License-Identifier: MIT */
/*
 * cpp/exit_test.cpp - containers with static and thread storage outlive main(), their caches do too
 *
 * The first static object of all is destroyed last: it looks whether all nodes are back in a cache
 * that still works. A failed check ends the program with another status than 0.
 */
#include "test.hpp"

#include <cstdio>
#include <list>
#include <map>
#include <unistd.h>

namespace
{

struct node {
	unsigned char bytes[3961]; /* of a size that nothing else here has */
};
using node_allocator = uslab::allocator<node>;
constexpr std::size_t in_list = 3984; /* bytes of a node of a list */

void must(bool is_so, const char *what)
{
	if (is_so)
		return;
	std::fprintf(stderr, "exit_test: %s\n", what);
	_exit(1);
}

struct last {
	~last()
	{
		struct kmem_cache *s = uslab::detail::shared_cache<in_list>::slot.load();

		must(s && kmem_cache_size(s) == in_list, "the cache is not there any more");
		must(kmem_cache_shrink(s) == 0, "nodes are left");
		std::list<node, node_allocator> once_more(3);

		must(kmem_cache_shrink(s) == 1, "a list at the very end has no nodes");
	}
};

last checks_at_the_end;
std::list<node, node_allocator> before_main(10);
thread_local std::list<node, node_allocator> of_thread(2);

/* Frees and allocates when static objects are destroyed. */
struct changing {
	std::list<node, node_allocator> nodes{ 5 };

	~changing()
	{
		nodes.pop_front();
		before_main.emplace_back();
	}
};
changing changes_at_the_end;

std::map<int, int, std::less<int>, uslab::allocator<std::pair<const int, int>>> &never_destroyed()
{
	static auto *map =
		new std::map<int, int, std::less<int>, uslab::allocator<std::pair<const int, int>>>;

	return *map;
}

/* Before main() the library is used already: by before_main. */
void test_before_main(void **)
{
	assert_int_equal(before_main.size(), 10);
	assert_int_equal(kmem_cache_shrink(uslab::detail::shared_cache<in_list>::slot), 1);
}

void test_thread_ends(void **)
{
	at_once(3, [](int) { must(of_thread.size() == 2, "a thread's list"); });
	of_thread.emplace_back();
	assert_int_equal(of_thread.size(), 3);
	never_destroyed()[1] = 1;
}

} // namespace

int main()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_before_main),
		cmocka_unit_test(test_thread_ends),
	};

	return cmocka_run_group_tests(tests, nullptr, nullptr);
}
