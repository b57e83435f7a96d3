#!/bin/sh
# SPDX-License-Identifier: MIT
#
# abi_test.sh - a program runs with the library that it was compiled for, or does not start
#
# The library's name has the minor version, and what inlines a sequence refers to the number of its layout.
set -eu

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "abi_test: $*"; exit 1; }

version=$(sed -n 's/^project(uslab VERSION \([0-9.]*\).*/\1/p' "$USLAB_SRC/CMakeLists.txt")
minor=${version%.*}
number=$(sed -n 's/^#define USLAB_LAYOUT //p' "$USLAB_SRC/include/uslab/layout.h")
name=uslab_layout_$number

# ---- names ------------------------------------------------------------------------------------
readelf -d "$USLAB_LIB/libuslab.so" | grep -q "SONAME.*\[libuslab\.so\.$minor\]" ||
	fail "the SONAME is not libuslab.so.$minor"
nm -D "$USLAB_LIB/libuslab.so" | grep -q "kmem_cache_create@@USLAB_$minor\$" ||
	fail "the version of symbols is not USLAB_$minor"
nm -D "$USLAB_LIB/libuslab.so" | grep -q " $name@@USLAB_$minor\$" || fail "there is no $name"

# ---- programs ---------------------------------------------------------------------------------
cat >"$work/inline.c" <<'C'
#include <stdio.h>
#include <uslab/slab.h>
int main(int argc, char **argv)
{
	(void)argv;
	if (argc > 1) { /* a program that gets as far as this has started */
		struct kmem_cache *s = kmem_cache_create("abi", 24, 0, 0, NULL);

		kmem_cache_free(s, kmem_cache_alloc(s, GFP_KERNEL));
		kfree(kmalloc(64, GFP_KERNEL));
	}
	puts("ok");
	return 0;
}
C
cat >"$work/nothing.c" <<'C'
#include <uslab/slab.h>
int main(void) { return SLAB_PANIC == 0; }
C
# The header of another layout, and a library that has it: what an old program was linked with.
mkdir "$work/other" "$work/otherlib"
cp -r "$USLAB_SRC/include/uslab" "$work/other/"
sed -i "s/^#define USLAB_LAYOUT .*/#define USLAB_LAYOUT 999/" "$work/other/uslab/layout.h"
{
	echo 'const char uslab_layout_999 = 1; void *uslab_kmalloc_handles;'
	for f in kmem_cache_create uslab_cache_alloc uslab_cache_free uslab_kmalloc kfree; do
		echo "void $f(void) {}"
	done
} >"$work/stub.c"
echo "USLAB_$minor { global: *; };" >"$work/stub.map"
gcc -shared -fPIC -fno-builtin "$work/stub.c" -Wl,--version-script="$work/stub.map" \
	-Wl,-soname,"libuslab.so.$minor" -o "$work/otherlib/libuslab.so"
same="-I$USLAB_SRC/include"
other="-I$work/other"

# try <title> <compiler and flags>...: the program runs with its library; of another layout it does not link
# with this library, neither shared nor static, and linked with its own does not start with this one.
try() {
	title=$1
	shift
	"$@" "$same" "$work/inline.c" -L"$USLAB_LIB" -luslab -o "$work/program"
	[ "$(LD_LIBRARY_PATH=$USLAB_LIB "$work/program" all)" = ok ] || fail "$title: does not run"
	if "$@" "$other" "$work/inline.c" -L"$USLAB_LIB" -luslab -o "$work/wrong" 2>"$work/log"; then
		fail "$title: links with a library of another layout"
	fi
	grep -q "undefined .*uslab_layout_999" "$work/log" || fail "$title: the linker does not say why"
	"$@" "$other" "$work/inline.c" -L"$work/otherlib" -luslab -o "$work/wrong"
	if LD_LIBRARY_PATH=$USLAB_LIB "$work/wrong" 2>"$work/log"; then
		fail "$title: starts with a library of another layout"
	fi
	grep -q "undefined symbol: uslab_layout_999" "$work/log" || fail "$title: the loader does not say why"
	echo "$title: ok"
}

if ! printf '#include <uslab/slab.h>\nint x[USLAB_HAVE_RSEQ ? 1 : -1];\n' |
	gcc "$same" -fsyntax-only -x c - 2>/dev/null; then
	echo "abi_test: no sequences here, so nothing is inlined"
	exit 0
fi
try "gcc" gcc -O2
try "gcc -O0 -fno-pie" gcc -O0 -fno-pie -no-pie
try "gcc --gc-sections" gcc -O2 -ffunction-sections -fdata-sections -Wl,--gc-sections
try "gcc -flto --gc-sections" gcc -O2 -flto=auto -Wl,--gc-sections
try "gcc, lazy binding" gcc -O2 -Wl,-z,lazy
try "g++" g++ -O2 -x c++
# shellcheck disable=SC2086
try "clang --gc-sections" clang -O2 -ffunction-sections -Wl,--gc-sections
try "clang++" clang++ -O2 -x c++

if gcc -O2 "$other" "$work/inline.c" "$USLAB_LIB/libuslab.a" -o "$work/wrong" 2>"$work/log"; then
	fail "links with an archive of another layout"
fi
grep -q "undefined reference to .uslab_layout_999" "$work/log" || fail "archive: the linker does not say why"
for flags in "-O2" "-O2 -static" "-O2 -static-pie -fPIE -Wl,--gc-sections"; do
	# shellcheck disable=SC2086
	gcc $flags "$same" "$work/inline.c" "$USLAB_LIB/libuslab.a" -o "$work/program"
	[ "$("$work/program" all)" = ok ] || fail "archive, $flags: does not run"
	echo "archive, $flags: ok"
done

# Who inlines nothing needs no library.
gcc -O2 "$same" "$work/nothing.c" -o "$work/nothing" || fail "a header that is not used needs the library"
"$work/nothing" || fail "a program that uses a constant does not run"
# The word is one for each object file, and takes no instruction.
gcc -O2 -c "$same" "$work/inline.c" -o "$work/inline.o"
[ "$(readelf -SW "$work/inline.o" | awk '$0 ~ /] \.data\.rel\.ro\.uslab / {
	sub(/.*\] /, ""); print $5 }')" = 000008 ] || fail "the reference is not one word"
