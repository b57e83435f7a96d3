#!/bin/sh
# SPDX-License-Identifier: MIT
#
# fortify_test.sh - _FORTIFY_SOURCE knows how many bytes were asked for, in C and C++, by GCC and Clang; the
# attributes of <uslab/slab.h> raise no warning for what is right, and without FORTIFY cost nothing
set -eu

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
warnings="-Wall -Wextra -Werror -O2 -U_FORTIFY_SOURCE"
include="-I$USLAB_SRC/include"
defines=""
if grep -q '^USLAB_NO_RSEQ:.*=ON' "$USLAB_BUILD/CMakeCache.txt"; then
	defines=-DUSLAB_NO_RSEQ=1
fi
cases="kmalloc kzalloc kmalloc_node kzalloc_node kmalloc_array kcalloc krealloc krealloc_array"
cases="$cases kmalloc_array_node kcalloc_node kmalloc_track_caller krealloc_node kvmalloc kvcalloc"
cases="$cases kvmalloc_node kvrealloc kmalloc_objs kmemdup"
ulimit -c 0

fail() {
	echo "fortify: $*"
	exit 1
}

# What a compiler is to be silent about, and what it is to warn of.
cat >"$work/right.c" <<'C'
#include <uslab/slab.h>
#include <stdlib.h>
#include <string.h>

int zeroed(size_t n)
{
	int *p = (int *)kcalloc(n, 4, GFP_KERNEL);
	int first = p ? p[0] : 0;

	kfree(p);
	return first;
}
int constructed(struct kmem_cache *s)
{
	return *(int *)kmem_cache_alloc_node(s, GFP_KERNEL, -1) + *(int *)kmem_cache_alloc(s, GFP_KERNEL);
}
void unwritten(size_t n)
{
	kfree(kmalloc(16, GFP_KERNEL));
	kfree_sensitive(kmalloc(n, GFP_KERNEL));
}
int resized(size_t n)
{
	void *p = kmalloc(n, GFP_KERNEL);
	void *q = krealloc(p, 2 * n, GFP_KERNEL);

	if (!q) {
		kfree(p);
		return 1;
	}
	kfree(q);
	return 0;
}
void no_bytes(void)
{
	void *p = kmalloc(0, GFP_KERNEL);

	if (p != ZERO_SIZE_PTR)
		abort();
	kfree(p);
}
void many(void **p)
{
	p[0] = kmalloc(16, GFP_KERNEL);
	p[1] = kmalloc(5000, GFP_KERNEL);
	kfree_bulk(2, p);
}
size_t all_of_it(void)
{
	size_t size = kmalloc_size_roundup(100);
	char *p = (char *)kmalloc(size, GFP_KERNEL);

	if (!p)
		return 0;
	size = ksize(p);
	memset(p, 1, size);
	kfree(p);
	return size;
}
int main(void)
{
	size_t size = all_of_it();

	no_bytes();
	return resized(10) || zeroed(3) || size < 100;
}
C
wrong() { # wrong <name> <line of C> <what the warning says>
	name=$1
	printf '#include <uslab/slab.h>\n#include <string.h>\n%s\n' "$2" >"$work/wrong.c"
	for compiler in gcc clang "g++ -x c++" "clang++ -x c++"; do
		# shellcheck disable=SC2086
		if $compiler $warnings $defines "$include" -D_FORTIFY_SOURCE=2 -c "$work/wrong.c" \
			-o "$work/wrong.o" >"$work/log" 2>&1; then
			fail "$compiler: no warning: $name"
		fi
		grep -q -e "$3" "$work/log" || { cat "$work/log"; fail "$compiler: another warning: $name"; }
	done
}

for compiler in gcc clang "g++ -x c++" "clang++ -x c++"; do
	for level in 0 1 2 3; do
		# shellcheck disable=SC2086
		$compiler $warnings -Wno-missing-declarations $defines "$include" -D_FORTIFY_SOURCE=$level \
			"$work/right.c" -x none "$USLAB_LIB/libuslab.a" -o "$work/right" ||
			fail "$compiler, level $level: a warning for what is right"
		"$work/right" || fail "$compiler, level $level: what is right does not run"
	done

	# shellcheck disable=SC2086
	$compiler $warnings $defines "$include" -D_FORTIFY_SOURCE=2 "$USLAB_SRC/tests/install/fortify.c" \
		-x none "$USLAB_LIB/libuslab.a" -o "$work/fortify"
	for name in $cases; do
		"$work/fortify" "$name" 16 >"$work/out" || fail "$compiler: $name: 16 bytes cannot be written"
		status=0
		"$work/fortify" "$name" 17 >"$work/out" 2>&1 || status=$?
		[ "$status" = 134 ] || fail "$compiler: $name: 17 bytes into 16: status $status, not SIGABRT"
	done
	echo "$compiler: ok"
done

# What says nothing at all: no call of the function that says sizes.
for compiler in gcc clang; do
	# shellcheck disable=SC2086
	$compiler $warnings $defines "$include" -c "$USLAB_SRC/tests/install/fortify.c" -o "$work/plain.o"
	if nm "$work/plain.o" | grep uslab_known_size; then
		fail "$compiler: the hit path of a build without FORTIFY is longer"
	fi
done

unused=unused.result
wrong "krealloc() of which nobody takes the result" 'void f(void *p) { krealloc(p, 10, GFP_KERNEL); }' $unused
wrong "krealloc_array()" 'void f(void *p) { krealloc_array(p, 10, 2, GFP_KERNEL); }' $unused
wrong "kmem_cache_alloc_bulk()" \
	'void f(struct kmem_cache *s, void **p) { kmem_cache_alloc_bulk(s, GFP_KERNEL, 9, p); }' $unused
wrong "17 bytes into kmalloc(16)" 'void *f(const void *t) { return memcpy(kmalloc(16, GFP_KERNEL), t, 17); }' \
	'overflow'
echo "warnings: ok"
