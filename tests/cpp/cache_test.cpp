/* SPDX-License-Identifier: MIT */
/*
 * cpp/cache_test.cpp - uslab::cache<T>: what lives and dies when, and what is thrown
 */
#include "test.hpp"

#include <array>
#include <stdexcept>
#include <string>

namespace
{

/* Counts those that live. */
struct counted {
	static inline std::atomic<int> live{ 0 };
	std::string text;

	explicit counted(std::string t) : text(std::move(t))
	{
		if (text == "refuse")
			throw std::invalid_argument(text);
		live++;
	}
	counted(const counted &) = delete;
	~counted() { live--; }
};

void test_construct_and_destroy(void **)
{
	uslab::cache<counted> cache("counted");
	counted *p = cache.construct("a text that is longer than what a string has inside");

	assert_string_equal(p->text.c_str(), "a text that is longer than what a string has inside");
	assert_int_equal(counted::live, 1);
	assert_false(cache.shrink());
	cache.destroy(p);
	cache.destroy(nullptr);
	assert_int_equal(counted::live, 0);
	p = cache.try_construct("b");
	assert_non_null(p);
	cache.destroy(p);
	assert_true(cache.shrink());
	assert_true(cache.object_size() >= sizeof(counted));
	assert_ptr_equal(cache.name(), kmem_cache_name(cache.get()));
}

/* Its memory is freed, and the exception is the constructor's. */
void test_constructor_throws(void **)
{
	uslab::cache<counted> cache("counted");
	bool thrown = false;

	try {
		cache.construct("refuse");
	} catch (const std::invalid_argument &) {
		thrown = true;
	}
	assert_true(thrown);
	thrown = false;
	try {
		cache.try_construct("refuse");
	} catch (const std::invalid_argument &) {
		thrown = true;
	}
	assert_true(thrown);
	assert_int_equal(counted::live, 0);
	assert_true(cache.shrink());
}

uslab::cache<counted> global("global");
using global_ptr = std::unique_ptr<counted, uslab::deleter_of<global>>;
static_assert(sizeof(global_ptr) == sizeof(void *), "nothing is stored");
static_assert(sizeof(uslab::cache<counted>::unique_ptr) == 2 * sizeof(void *), "the cache is");

void test_unique_ptr(void **)
{
	uslab::cache<counted> cache("counted");
	{
		auto p = cache.make_unique("one");
		auto q = std::move(p);
		global_ptr g(global.construct("two"));

		assert_true(!p);
		assert_int_equal(counted::live, 2);
		assert_string_equal(q->text.c_str(), "one");
		q.reset();
		assert_int_equal(counted::live, 1);
	}
	assert_int_equal(counted::live, 0);
	assert_true(cache.shrink());
	assert_true(global.shrink());
}

template <std::size_t Align> void check_alignment()
{
	struct alignas(Align) aligned {
		char c;
	};
	uslab::cache<aligned> cache("aligned");
	std::array<aligned *, 40> all;

	for (auto &p : all) {
		p = cache.construct();
		assert_true(is_aligned(p, Align));
	}
	for (auto p : all)
		cache.destroy(p);
	assert_true(cache.shrink());
}

void test_alignment(void **)
{
	struct kmem_cache_args args = {};

	check_alignment<1>();
	check_alignment<16>();
	check_alignment<64>();
	check_alignment<1024>();
	check_alignment<4096>();

	/* What is asked for beyond that of the type. */
	args.align = 256;
	uslab::cache<int> cache("integers", args);
	int *p = cache.construct(3), *q = cache.construct(4);

	assert_true(is_aligned(p, 256) && is_aligned(q, 256) && p != q);
	cache.destroy(p);
	cache.destroy(q);
}

void test_moves(void **)
{
	uslab::cache<counted> first("first", SLAB_NO_MERGE), second("second", SLAB_NO_MERGE);
	struct kmem_cache *handle = first.get();
	auto p = first.make_unique("one");
	uslab::cache<counted> third(std::move(first));

	assert_true(!first);
	assert_true(third && third.get() == handle);
	p.reset();
	third.swap(second);
	assert_string_equal(third.name(), "second");
	assert_ptr_equal(second.get(), handle);
	third = std::move(second);
	assert_ptr_equal(third.get(), handle);
	assert_true(!second);
	first = std::move(third); /* it can be assigned to */
	first.destroy(first.construct("two"));
	assert_true(first.shrink());
}

/* The cache that is assigned to is destroyed: who still has an object of it is reported. */
void test_objects_left(void **)
{
	uslab::cache<int> cache("left", SLAB_NO_MERGE);
	struct kmem_cache *handle = cache.get();
	int *p = cache.construct(7);
	reports all;

	cache = uslab::cache<int>("new", SLAB_NO_MERGE);
	assert_int_equal(all.seen(), 1);
	assert_int_equal(*p, 7);
	kmem_cache_free(handle, p);
	kmem_cache_destroy(handle);
	assert_int_equal(all.seen(), 1);
}

/* Each writes a line on stderr. */
void test_cannot_be_made(void **)
{
	const std::string longest(USLAB_MAX_NAME, 'n'), longer(USLAB_MAX_NAME + 1, 'n');
	struct kmem_cache_args args = {};

	assert_true(throws_bad_alloc([&] { uslab::cache<int> cache(longer.c_str()); }));
	assert_false(throws_bad_alloc([&] { uslab::cache<int> cache(longest.c_str()); }));
	assert_true(!uslab::cache<int>(std::nothrow, nullptr));
	assert_true(!!uslab::cache<int>(std::nothrow, "integers"));
	args.engine = "none such";
	assert_true(!uslab::cache<int>(std::nothrow, "integers", args));
	assert_true(throws_bad_alloc([&] { uslab::cache<int> cache("integers", args); }));
}

void test_out_of_memory(void **)
{
	uslab::cache<counted> cache("counted");
	{
		no_memory now;

		assert_true(throws_bad_alloc([&] { cache.construct("one"); }));
		assert_true(throws_bad_alloc([&] { cache.make_unique("one"); }));
		assert_null(cache.try_construct("one"));
		assert_null(cache.allocate());
	}
	assert_int_equal(counted::live, 0);
	cache.destroy(cache.construct("one"));
	assert_true(cache.shrink());
}

struct prepared {
	int ready = 42, used = 0;
};

/* An object keeps the state in which it is freed, and begins with that of the constructor. */
void test_slab_constructor(void **)
{
	struct kmem_cache_args args = {};

	args.ctor = uslab::slab_constructor<prepared>;
	uslab::cache<prepared> cache("prepared", args);
	std::vector<prepared *> all;

	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < 300; i++) {
			all.push_back(cache.allocate());
			assert_int_equal(all.back()->ready, 42);
			all.back()->used++;
		}
		for (; !all.empty(); all.pop_back())
			cache.deallocate(all.back());
	}
	prepared *zero = cache.allocate(GFP_KERNEL | __GFP_ZERO);

	assert_int_equal(zero->ready, 0);
	cache.deallocate(zero);
}

void test_engines_and_fronts(void **)
{
	for (const char *engine :
	     { "slub", "slab", "slobseg", "slobseg:pow2", "slob", "slob:1991" })
		for (const char *front : { "array", "queues", "none", "historical" }) {
			struct kmem_cache_args args = {};

			args.engine = engine;
			args.front = front;
			uslab::cache<counted> cache("counted", args);
			std::vector<uslab::cache<counted>::unique_ptr> all;

			for (int i = 0; i < 500; i++)
				all.push_back(cache.make_unique(std::to_string(i)));
			for (int i = 0; i < 500; i++)
				assert_string_equal(all[static_cast<std::size_t>(i)]->text.c_str(),
						    std::to_string(i).c_str());
		}
	assert_int_equal(counted::live, 0);
}

void test_threads(void **)
{
	uslab::cache<counted> cache("counted");
	std::array<std::atomic<counted *>, 64> slots{};

	at_once(4, [&](int number) {
		for (unsigned int i = 0; i < 20000; i++) {
			auto &slot = slots[(i * 7 + static_cast<unsigned int>(number) * 13) % 64];

			cache.destroy(slot.exchange(cache.construct("x")));
		}
	});
	assert_true(counted::live <= 64);
	for (auto &slot : slots)
		cache.destroy(slot);
	assert_int_equal(counted::live, 0);
	assert_true(cache.shrink());
}

} // namespace

int main()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_construct_and_destroy),
		cmocka_unit_test(test_constructor_throws),
		cmocka_unit_test(test_unique_ptr),
		cmocka_unit_test(test_alignment),
		cmocka_unit_test(test_moves),
		cmocka_unit_test(test_objects_left),
		cmocka_unit_test(test_cannot_be_made),
		cmocka_unit_test(test_out_of_memory),
		cmocka_unit_test(test_slab_constructor),
		cmocka_unit_test(test_engines_and_fronts),
		cmocka_unit_test(test_threads),
	};

	return cmocka_run_group_tests(tests, nullptr, nullptr);
}
