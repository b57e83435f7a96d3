#!/bin/sh
# SPDX-License-Identifier: MIT
#
# copies_test.sh - <uslab/cache.hpp> in a process with several libraries that use it: each with a libuslab.a
# of its own inside, where each has its own caches, or all with one libuslab.so, where one frees what another
# allocated
set -eu

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
include="-I$USLAB_SRC/include"

fail() {
	echo "copies: $*"
	exit 1
}

cat >"$work/part.cpp" <<'TEXT'
#include <uslab/cache.hpp>
#include <map>

#define JOIN1(a, b) a##b
#define JOIN(a, b) JOIN1(a, b)
#define EXPORT extern "C" __attribute__((visibility("default")))

struct node {
	long words[9];
};
static std::map<int, int, std::less<int>, uslab::allocator<std::pair<const int, int>>> numbers;

EXPORT std::size_t JOIN(fill_, PART)(int n)
{
	for (int i = 0; i < n; i++)
		numbers[i] = i;
	for (int i = 0; i < n; i += 2)
		numbers.erase(i);
	return numbers.size();
}
EXPORT void *JOIN(make_, PART)()
{
	return uslab::allocator<node>().allocate(1);
}
EXPORT void JOIN(give_, PART)(void *p)
{
	uslab::allocator<node>().deallocate(static_cast<node *>(p), 1);
}
TEXT
cat >"$work/app.cpp" <<'TEXT'
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>

struct part {
	std::size_t (*fill)(int n);
	void *(*make)();
	void (*give)(void *p);
};

#ifdef LOADED /* as plug-ins: neither sees what the other has */
static void *function(const char *library, const char *name)
{
	void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
	void *found = handle ? dlsym(handle, name) : nullptr;

	if (!found) {
		std::fprintf(stderr, "%s\n", dlerror());
		std::exit(1);
	}
	return found;
}
#define ONE(type, name, which) reinterpret_cast<type>(function("lib" #which ".so", #name "_" #which))
#define PART(which)                                                                              \
	{                                                                                        \
		ONE(std::size_t(*)(int), fill, which), ONE(void *(*)(), make, which),            \
			ONE(void (*)(void *), give, which)                                       \
	}
#else
extern "C" std::size_t fill_a(int n), fill_b(int n);
extern "C" void *make_a(), *make_b();
extern "C" void give_a(void *p), give_b(void *p);
#define PART(which) { fill_##which, make_##which, give_##which }
#endif

int main()
{
	const part a = PART(a), b = PART(b);

	if (a.fill(5000) != 2500 || b.fill(5000) != 2500)
		return 1;
#ifdef TOGETHER
	b.give(a.make()); /* b has allocated no node yet */
	a.give(b.make());
#else
	a.give(a.make());
	b.give(b.make());
#endif
	std::puts("ok");
	return 0;
}
TEXT

# runs <what> <how>: the program, which is built in the current folder
runs() {
	said=$(LD_LIBRARY_PATH="$PWD:$USLAB_LIB" USLAB_CONF=slab_nomerge=1 ./app 2>&1) ||
		fail "$1: status $?: $(echo "$said" | head -n 3)"
	[ "$said" = ok ] || fail "$1: $(echo "$said" | head -n 3)"
	echo "$1: ok"
}

# compile <compiler and level> <visibility>: the parts, once for all that is made of them
compile() {
	for part in a b; do
		# shellcheck disable=SC2086
		$1 -fvisibility=$2 -std=c++17 "$include" -fPIC -DPART=$part -c part.cpp -o $part-$2.o
	done
}

# build <compiler and level> <visibility> <libraries of each part> <flags of the program>
build() {
	for part in a b; do
		# shellcheck disable=SC2086
		$1 -shared $part-$2.o -o lib$part.so $3
	done
	libraries="-L. -la -lb"
	case $4 in *LOADED*) libraries= ;; esac
	# shellcheck disable=SC2086
	$1 -std=c++17 $4 app.cpp $libraries -ldl -Wl,-rpath-link,"$USLAB_LIB" -o app
}

cd "$work"
for compiler in "g++ -O0" "g++ -O2" "clang++ -O0" "clang++ -O2"; do
	for visibility in default hidden; do
		compile "$compiler" $visibility
	done
	for how in "" -DLOADED; do
		build "$compiler" hidden "$USLAB_LIB/libuslab.a -Wl,--exclude-libs,ALL -pthread" "$how"
		runs "$compiler ${how:-linked}, a copy in each"
		for visibility in default hidden; do
			build "$compiler" $visibility "-L$USLAB_LIB -luslab" "$how -DTOGETHER"
			runs "$compiler ${how:-linked}, one libuslab.so, $visibility visibility"
		done
	done
done
