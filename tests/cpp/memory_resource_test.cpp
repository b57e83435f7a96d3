/* SPDX-License-Identifier: MIT */
/*
 * cpp/memory_resource_test.cpp - uslab::memory_resource: containers of std::pmr, sizes and
 * alignments, equality, what is left
 */
#include "test.hpp"

#ifdef __cpp_lib_memory_resource
#include <cstring>
#include <list>
#include <map>
#include <string>

namespace
{

void test_containers(void **)
{
	reports all;
	{
		uslab::memory_resource resource("parser");
		std::pmr::map<int, std::pmr::string> map(&resource);
		std::pmr::list<std::pmr::vector<int>> lists(&resource);

		for (int i = 0; i < 2000; i++) {
			map[i] = std::string(static_cast<std::size_t>(i), 'x').c_str();
			lists.emplace_back(static_cast<std::size_t>(i % 500), i);
		}
		for (int i = 0; i < 2000; i++)
			assert_int_equal(map[i].size(), i);
		for (int i = 0; i < 1000; i++)
			map.erase(i * 2);
		assert_int_equal(map.size(), 1000);
		assert_int_equal(lists.back().back(), 1999);
	}
	assert_int_equal(all.seen(), 0); /* nothing is left */
}

/* Every size and alignment: aligned, and nobody writes where another one is. */
void test_sizes_and_alignments(void **)
{
	reports all;
	{
		uslab::memory_resource resource("sizes");
		struct block {
			void *p;
			std::size_t bytes, align;
			int fill;
		};
		std::vector<block> blocks;
		int fill = 0;

		for (std::size_t align = 1; align <= 8192; align *= 2)
			for (std::size_t bytes : { 0, 1, 7, 8, 9, 24, 40, 63, 64, 65, 96, 500, 1000,
						   1023, 1024, 1025, 5000, 9000, 300000 }) {
				void *p = resource.allocate(bytes, align);

				assert_non_null(p);
				assert_true(is_aligned(p, align));
				fill = (fill + 1) % 251;
				std::memset(p, fill, bytes);
				blocks.push_back({ p, bytes, align, fill });
			}
		for (const auto &b : blocks) {
			for (std::size_t i = 0; i < b.bytes; i++)
				assert_int_equal(static_cast<unsigned char *>(b.p)[i], b.fill);
			resource.deallocate(b.p, b.bytes, b.align);
		}
	}
	assert_int_equal(all.seen(), 0);
}

/* No bytes: a block like another one, whatever the alignment. */
void test_no_bytes(void **)
{
	reports all;
	{
		uslab::memory_resource resource("none");
		std::pmr::memory_resource *r = &resource;

		for (std::size_t align = 1; align <= KMALLOC_MAX_SIZE; align *= 2) {
			void *p = r->allocate(0, align), *q = r->allocate(0, align);

			assert_true(is_aligned(p, align) && is_aligned(q, align));
			assert_ptr_not_equal(p, q);
			r->deallocate(p, 0, align);
			r->deallocate(q, 0, align);
		}
	}
	assert_int_equal(all.seen(), 0);
}

/* Its caches are its own: another resource can free none of its objects. */
void test_equality(void **)
{
	uslab::memory_resource one("one"), two("two");
	std::pmr::memory_resource &base = one;

	assert_true(one.is_equal(base) && base.is_equal(one));
	assert_false(one.is_equal(two) || two.is_equal(base));
	assert_false(one.is_equal(*std::pmr::new_delete_resource()));
	/* So a move between containers of different resources copies. */
	std::pmr::list<int> a({ 1, 2, 3 }, &one), b(&two);
	const int *first = &a.front();

	b = std::move(a);
	assert_true(&b.front() != first && b.size() == 3);
	std::pmr::list<int> c({ 4, 5 }, &one), d(&one);

	first = &c.front();
	d = std::move(c);
	assert_ptr_equal(&d.front(), first);
}

void test_too_much(void **)
{
	uslab::memory_resource resource;
	std::pmr::memory_resource *r = &resource;

	assert_true(throws_bad_alloc([&] { (void)r->allocate(SIZE_MAX, 8); }));
	assert_true(throws_bad_alloc([&] { (void)r->allocate(INT_MAX + std::size_t{ 1 }, 8); }));
	assert_true(throws_bad_alloc([&] { (void)r->allocate(SIZE_MAX / 2 + 1, 4096); }));
	for (std::size_t align = 2 * KMALLOC_MAX_SIZE; align; align *= 2)
		assert_true(throws_bad_alloc([&] { (void)r->allocate(8, align); }));
	{
		no_memory now;

		assert_true(throws_bad_alloc([&] { (void)r->allocate(40); }));
	}
	r->deallocate(r->allocate(40), 40);
}

/* What was not deallocated is reported with the name of its cache, and stays valid. */
void test_left(void **)
{
	const std::string longest(USLAB_MAX_NAME + 20, 'r');
	reports all;
	int *p;
	{
		uslab::memory_resource resource(longest.c_str());

		p = static_cast<int *>(resource.allocate(sizeof(int), alignof(int)));
		*p = 5;
		resource.deallocate(resource.allocate(1024), 1024);
	}
	assert_int_equal(all.seen(), 1);
	assert_int_equal(*p, 5);
}

void test_threads(void **)
{
	reports all;
	{
		uslab::memory_resource resource("threads");

		at_once(4, [&](int number) {
			std::pmr::map<int, std::pmr::string> map(&resource);

			for (int i = 0; i < 5000; i++) {
				map[i % 700] = std::string(static_cast<std::size_t>(i % 200),
							   static_cast<char>('a' + number))
						       .c_str();
				if (i % 5 == 0)
					map.erase(i % 311);
			}
			for (const auto &[key, text] : map)
				for (char c : text)
					if (c != 'a' + number)
						std::abort();
		});
	}
	assert_int_equal(all.seen(), 0);
}

} // namespace

int main()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_containers), cmocka_unit_test(test_sizes_and_alignments),
		cmocka_unit_test(test_no_bytes),   cmocka_unit_test(test_equality),
		cmocka_unit_test(test_too_much),   cmocka_unit_test(test_left),
		cmocka_unit_test(test_threads),
	};

	return cmocka_run_group_tests(tests, nullptr, nullptr);
}
#else
int main()
{
	return 77; /* this C++ library has no <memory_resource> */
}
#endif
