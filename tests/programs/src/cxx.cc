// SPDX-License-Identifier: MIT
//
// programs/src/cxx.cc - what a C++ program expects of operator new and delete
//
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <vector>

static volatile std::size_t absurd = SIZE_MAX / 2 + 1;
#ifdef STATIC_LIBRARY // the nothrow forms find no C++ library's, which would ask
static const bool nothrow_asks = false;
#else
static const bool nothrow_asks = true;
#endif
static volatile int handler_calls; // compilers believe that new calls nobody
static char *volatile sink; // what goes through it cannot be left out by the compiler

static void check(bool good, const char *what)
{
	if (!good) {
		std::fprintf(stderr, "cxx: %s\n", what);
		std::exit(1);
	}
}

// Gives up at the third call, as a handler that has nothing left to free does.
static void handler()
{
	if (++handler_calls == 3)
		std::set_new_handler(nullptr);
}

static void throwing_handler()
{
	handler_calls++;
	throw std::bad_alloc();
}

static bool throws()
{
	try {
		sink = new char[absurd];
		delete[] sink;
	} catch (const std::bad_alloc &) {
		return true;
	}
	return false;
}

static void failures()
{
	check(throws(), "new of an absurd size does not throw");
	sink = new (std::nothrow) char[absurd];
	check(!sink, "nothrow new gives something");
	handler_calls = 1;
	try {
		sink = static_cast<char *>(::operator new(absurd, std::align_val_t(256)));
	} catch (const std::bad_alloc &) {
		handler_calls = 0;
	}
	check(handler_calls == 0, "aligned new of an absurd size does not throw");
	sink = static_cast<char *>(::operator new(absurd, std::align_val_t(256), std::nothrow));
	check(!sink, "aligned nothrow new gives something");

	std::set_new_handler(handler);
	check(throws() && handler_calls == 3, "the handler is not asked again and again");
	handler_calls = 0;
	std::set_new_handler(handler);
	sink = new (std::nothrow) char[absurd];
	check(!sink && handler_calls == (nothrow_asks ? 3 : 0), "nothrow asks no handler");
	handler_calls = 0;
	std::set_new_handler(throwing_handler);
	check(throws() && handler_calls == 1, "the handler's exception is lost");
	sink = new (std::nothrow) char[absurd];
	check(!sink && handler_calls == (nothrow_asks ? 2 : 1), "nothrow lets a throw through");
	std::set_new_handler(nullptr);
}

static void containers(unsigned int seed)
{
	std::map<std::string, std::vector<int>> map;
	std::vector<std::unique_ptr<std::string>> strings;

	for (int i = 0; i < 3000; i++) {
		seed = seed * 1664525 + 1013904223;
		map["key " + std::to_string(seed >> 20)].push_back(i);
		strings.push_back(std::make_unique<std::string>(seed % 500, 'x'));
	}
	for (auto &string : strings)
		check(string->find_first_not_of('x') == std::string::npos, "a string changed");
}

struct alignas(128) aligned {
	char bytes[200];
	aligned() { check(reinterpret_cast<std::uintptr_t>(this) % 128 == 0, "misaligned"); }
};

extern "C" int cxx_check()
{
	failures();
	std::vector<std::thread> threads;
	for (unsigned int i = 0; i < 4; i++)
		threads.emplace_back(containers, i);
	for (auto &thread : threads)
		thread.join();
	for (int i = 0; i < 100; i++) {
		delete new aligned;
		delete[] new aligned[3];
	}
	return 0;
}

#ifdef CXX_MAIN
int main()
{
	int result = cxx_check();

	std::printf("cxx_check: %d\n", result);
	return result;
}
#endif
