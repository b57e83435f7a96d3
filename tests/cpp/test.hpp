/* SPDX-License-Identifier: MIT */
/*
 * cpp/test.hpp - cmocka in C++, and what the tests of <uslab/cache.hpp> share
 */
#ifndef CPP_TEST_HPP
#define CPP_TEST_HPP

#include <csetjmp>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <new>
#include <thread>
#include <vector>
#include <uslab/cache.hpp>

extern "C" {
#include <cmocka.h>

/* cache/debug/failslab.h, which is C only. */
bool failslab_set(const char *key, const char *value);
}

inline bool is_aligned(const void *p, std::size_t align)
{
	return reinterpret_cast<std::uintptr_t>(p) % align == 0;
}

/* Does this throw std::bad_alloc? */
template <class F> bool throws_bad_alloc(F f)
{
	try {
		f();
	} catch (const std::bad_alloc &) {
		return true;
	}
	return false;
}

/* As long as it lives each allocation fails. */
struct no_memory {
	no_memory()
	{
		failslab_set("ignore-gfp-wait", "N"); /* GFP_KERNEL too */
		failslab_set("verbose", "0");
		assert_int_equal(uslab_set_failslab("1,100,0,-1"), 0);
	}
	~no_memory() { uslab_set_failslab(""); }
};

/* Counts reports in place of writing them. */
class reports
{
public:
	reports() { uslab_set_report_hook(count, this, true); }
	~reports() { uslab_set_report_hook(nullptr, nullptr, false); }
	int seen() const { return number; }

private:
	static void count(const char *, const char *, void *arg)
	{
		static_cast<reports *>(arg)->number++;
	}
	int number = 0;
};

/* So many threads run f(0), f(1), ... at once; none begins before all are there. */
template <class F> void at_once(int threads, F f)
{
	std::vector<std::thread> all;
	std::atomic<int> there{ 0 };

	for (int i = 0; i < threads; i++)
		all.emplace_back([&, i] {
			there++;
			while (there < threads)
				std::this_thread::yield();
			f(i);
		});
	for (auto &thread : all)
		thread.join();
}

#endif /* CPP_TEST_HPP */
