// SPDX-License-Identifier: MIT
//
// programs/src/cxx_replaced.cc - operators of the program's own, and which of them the others call
//
// Built with some of REPLACE_PLAIN, REPLACE_ARRAY, REPLACE_ALIGNED, as a program or, with LIBRARY, as the
// library that has the operators while CALLS, the program, has the calls. Writes one line for each form of
// new and delete: how often that called the replaced ones.
//
#include <cstdio>
#include <cstdlib>
#include <new>

extern int calls[6];

#ifndef CALLS
int calls[6]; // new, new[], aligned new; delete, delete[], aligned delete
#ifdef REPLACE_PLAIN
void *operator new(std::size_t size)
{
	calls[0]++;
	if (size > 1ul << 40)
		throw std::bad_alloc();
	return static_cast<char *>(std::malloc(size + 32)) + 32;
}
void operator delete(void *p) noexcept
{
	calls[3]++;
	if (p)
		std::free(static_cast<char *>(p) - 32);
}
#endif
#ifdef REPLACE_ARRAY
void *operator new[](std::size_t size)
{
	calls[1]++;
	if (size > 1ul << 40)
		throw std::bad_alloc();
	return static_cast<char *>(std::malloc(size + 16)) + 16;
}
void operator delete[](void *p) noexcept
{
	calls[4]++;
	if (p)
		std::free(static_cast<char *>(p) - 16);
}
#endif
#ifdef REPLACE_ALIGNED
void *operator new(std::size_t size, std::align_val_t align)
{
	calls[2]++;
	if (size > 1ul << 40)
		throw std::bad_alloc();
	return static_cast<char *>(std::aligned_alloc(std::size_t(align), size + 512)) + 512;
}
void operator delete(void *p, std::align_val_t) noexcept
{
	calls[5]++;
	if (p)
		std::free(static_cast<char *>(p) - 512);
}
#endif
#endif

#ifndef LIBRARY
static void *volatile sink; // compilers may leave a pair of new and delete out

static void say(const char *form)
{
	std::printf("%s:", form);
	for (int &count : calls) {
		std::printf(" %d", count);
		count = 0;
	}
	std::printf("\n");
}

#define FORM(make, drop)                            \
	do {                                        \
		sink = ::operator make;             \
		*static_cast<char volatile *>(sink) = 1; \
		::operator drop;                    \
		say(#make " " #drop);               \
	} while (0)

int main()
{
	const std::align_val_t align{ 256 };
	const std::size_t size = 300;
	const std::size_t absurd = 1ul << 62;

	for (int round = 0; round < 2; round++) {
		FORM(new(size), delete(sink));
		FORM(new[](size), delete[](sink));
		FORM(new(size, std::nothrow), delete(sink, std::nothrow));
		FORM(new[](size, std::nothrow), delete[](sink, std::nothrow));
		FORM(new(size), delete(sink, size));
		FORM(new[](size), delete[](sink, size));
		FORM(new(size, align), delete(sink, align));
		FORM(new[](size, align), delete[](sink, align));
		FORM(new(size, align), delete(sink, size, align));
		FORM(new[](size, align), delete[](sink, size, align));
		FORM(new(size, align, std::nothrow), delete(sink, align, std::nothrow));
		FORM(new[](size, align, std::nothrow), delete[](sink, align, std::nothrow));
		for (int i = 0; i < 4; i++) {
			sink = i == 0 ? ::operator new(absurd, std::nothrow)
			     : i == 1 ? ::operator new[](absurd, std::nothrow)
			     : i == 2 ? ::operator new(absurd, align, std::nothrow)
				      : ::operator new[](absurd, align, std::nothrow);
			if (sink)
				return 1;
			say("nothrow");
		}
	}
	return 0;
}
#endif
