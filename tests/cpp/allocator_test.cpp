/* SPDX-License-Identifier: MIT */
/*
 * cpp/allocator_test.cpp - uslab::allocator<T> in containers: contents, caches, traits, threads
 */
#include "test.hpp"

#include <deque>
#include <list>
#include <map>
#include <random>
#include <stdexcept>
#include <string>
#include <unordered_map>

namespace
{

template <class K, class V> using cached_map =
	std::map<K, V, std::less<K>, uslab::allocator<std::pair<const K, V>>>;
template <class K, class V> using cached_hash =
	std::unordered_map<K, V, std::hash<K>, std::equal_to<K>,
			   uslab::allocator<std::pair<const K, V>>>;
template <class T> using cached_list = std::list<T, uslab::allocator<T>>;

using traits = std::allocator_traits<uslab::allocator<int>>;
static_assert(traits::is_always_equal::value, "whoever allocates, any of them frees");
static_assert(traits::propagate_on_container_move_assignment::value, "moves take the nodes");
static_assert(std::is_same_v<traits::rebind_alloc<char>, uslab::allocator<char>>, "rebinds");
static_assert(std::is_empty_v<uslab::allocator<int>>, "containers are no larger");
static_assert(std::is_nothrow_move_constructible_v<cached_map<int, int>> ||
		      !std::is_nothrow_move_constructible_v<std::map<int, int>>,
	      "as with std::allocator");

/* Objects that only these tests have: caches by size are shared with all others. */
template <std::size_t Size> struct odd {
	unsigned char bytes[Size];
};
template <std::size_t Size> struct kmem_cache *cache_of_size()
{
	return uslab::detail::shared_cache<Size>::slot.load();
}

/* The same operations on std's own map, in an order that nobody chose. */
void test_map_as_a_model_has_it(void **)
{
	std::mt19937 random(7);
	std::map<unsigned int, std::string> model;
	cached_map<unsigned int, std::string> map;
	cached_hash<unsigned int, std::string> hash;

	for (unsigned int step = 0; step < 40000; step++) {
		const unsigned int key = random() % 3000;
		const std::string value = std::to_string(step);

		if (random() % 2) {
			model[key] = map[key] = hash[key] = value;
		} else {
			const auto erased = model.erase(key);

			assert_int_equal(map.erase(key), erased);
			assert_int_equal(hash.erase(key), erased);
		}
	}
	assert_true(std::equal(model.begin(), model.end(), map.begin(), map.end()));
	assert_int_equal(hash.size(), model.size());
	for (const auto &[key, value] : model)
		assert_true(hash.at(key) == value);
}

void test_list(void **)
{
	cached_list<int> first{ 3, 1, 2 }, second;

	second.splice(second.end(), first, first.begin()); /* a node of the other */
	second.push_front(9);
	first.sort();
	second.merge(first);
	assert_true((second == cached_list<int>{ 1, 2, 9, 3 }));
	first = std::move(second);
	second = first;
	swap(first, second);
	first.clear();
	assert_int_equal(second.size(), 4);
}

/* A node comes from the cache of its size, and goes back there. */
void test_cache_of_a_size(void **)
{
	uslab::allocator<odd<1001>> allocator;
	odd<1001> *p = allocator.allocate(1);
	struct kmem_cache *s = cache_of_size<1008>();

	assert_non_null(s);
	assert_string_equal(kmem_cache_name(s), "cpp-1008");
	assert_int_equal(kmem_cache_size(s), 1008);
	assert_int_equal(kmem_cache_shrink(s), 1);
	/* Of any type of that size, and freed by any other allocator. */
	uslab::allocator<odd<1003>> other;
	odd<1003> *q = other.allocate(1);

	assert_ptr_equal(cache_of_size<1008>(), s);
	uslab::allocator<odd<1001>>(other).deallocate(p, 1);
	other.deallocate(q, 1);
	assert_int_equal(kmem_cache_shrink(s), 0);
	assert_true(allocator == other && !(allocator != other));
}

template <std::size_t Align> struct alignas(Align) wide {
	char c;
};

template <std::size_t Align> void check_alignment()
{
	cached_list<wide<Align>> list(50);
	uslab::allocator<wide<Align>> allocator;

	for (const auto &item : list)
		assert_true(is_aligned(&item, Align));
	for (std::size_t n : { 1, 2, 3, 100 }) {
		wide<Align> *p = allocator.allocate(n);

		assert_true(is_aligned(p, Align));
		allocator.deallocate(p, n);
	}
}

void test_alignment(void **)
{
	check_alignment<1>();
	check_alignment<16>();
	check_alignment<32>();
	check_alignment<64>();
	check_alignment<512>();
	check_alignment<4096>();
	check_alignment<8192>(); /* no cache has it */
}

void test_arrays(void **)
{
	std::vector<std::size_t, uslab::allocator<std::size_t>> numbers;
	std::deque<odd<100>, uslab::allocator<odd<100>>> queue(1000);
	uslab::allocator<odd<9000>> large; /* larger than an object of a cache may be */
	odd<9000> *p = large.allocate(1);

	for (std::size_t i = 0; i < 300000; i++)
		numbers.push_back(i);
	for (std::size_t i = 0; i < 300000; i++)
		assert_int_equal(numbers[i], i);
	assert_true(ksize(p) >= sizeof(*p));
	large.deallocate(p, 1);
	large.deallocate(large.allocate(0), 0);
	assert_int_equal(queue.size(), 1000);
}

/* More than there is: the container stays as it was. */
void test_too_much(void **)
{
	std::vector<long, uslab::allocator<long>> numbers{ 1, 2, 3 };
	uslab::allocator<long> allocator;

	assert_int_equal(traits::max_size(uslab::allocator<int>()), INT_MAX / sizeof(int));
	assert_true(throws_bad_alloc([&] { (void)allocator.allocate(SIZE_MAX / 4); }));
	assert_true(throws_bad_alloc([&] { (void)allocator.allocate(SIZE_MAX); }));
	try {
		numbers.reserve(numbers.max_size() + 1);
		fail();
	} catch (const std::length_error &) {
		assert_int_equal(numbers.size(), 3);
	}
}

void test_out_of_memory(void **)
{
	cached_map<int, int> map{ { 1, 1 } };
	cached_list<odd<2049>> list; /* its cache is not there yet */
	{
		no_memory now;

		assert_true(throws_bad_alloc([&] { map[2] = 2; }));
		assert_true(throws_bad_alloc([&] { list.emplace_back(); }));
	}
	assert_int_equal(map.size(), 1);
	assert_true(list.empty());
	map[2] = 2;
	list.emplace_back();
	assert_int_equal(map.size() + list.size(), 3);
}

/* All threads find that there is no cache: they get one and the same. */
void test_first_use_by_several(void **)
{
	odd<3001> *objects[4];
	uslab::allocator<odd<3001>> allocator;

	at_once(4, [&](int i) { objects[i] = allocator.allocate(1); });
	struct kmem_cache *s = cache_of_size<3008>();

	assert_string_equal(kmem_cache_name(s), "cpp-3008");
	assert_int_equal(kmem_cache_shrink(s), 1);
	for (auto p : objects)
		allocator.deallocate(p, 1);
	assert_int_equal(kmem_cache_shrink(s), 0);
}

/* Nodes that other threads free. */
void test_threads(void **)
{
	std::vector<cached_map<int, std::string>> maps(4);
	std::vector<cached_list<std::string>> lists(4);

	for (int round = 0; round < 5; round++) {
		at_once(4, [&](int number) {
			auto &map = maps[static_cast<std::size_t>((number + round) % 4)];
			auto &list = lists[static_cast<std::size_t>((number + round * 3) % 4)];

			map.clear();
			for (int i = 0; i < 3000; i++) {
				map[i * 7919 % 3000] = std::to_string(i);
				list.push_back(std::to_string(i));
				if (i % 3 == 0)
					list.pop_front();
			}
		});
	}
	for (const auto &map : maps)
		for (int i = 0; i < 3000; i++)
			assert_string_equal(map.at(i * 7919 % 3000).c_str(),
					    std::to_string(i).c_str());
}

} // namespace

int main()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_map_as_a_model_has_it),
		cmocka_unit_test(test_list),
		cmocka_unit_test(test_cache_of_a_size),
		cmocka_unit_test(test_alignment),
		cmocka_unit_test(test_arrays),
		cmocka_unit_test(test_too_much),
		cmocka_unit_test(test_out_of_memory),
		cmocka_unit_test(test_first_use_by_several),
		cmocka_unit_test(test_threads),
	};

	return cmocka_run_group_tests(tests, nullptr, nullptr);
}
