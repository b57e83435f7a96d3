#!/bin/sh
# SPDX-License-Identifier: MIT
#
# lto_test.sh - the libraries are made where flags or CMake ask for LTO of all files, as packagers do; of the
# lowest floors, which is enough for what is done with objects
set -eu

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "lto_test: $*"; exit 1; }

# builds <cmake argument>...: the archive has machine code alone.
builds() {
	rm -rf "$work/build"
	if ! { cmake -G Ninja -S "$USLAB_SRC" -B "$work/build" -DUSLAB_TESTS=OFF -DUSLAB_TOOLS=OFF \
		-DUSLAB_FLOORS="base;arch;os" "$@" &&
		cmake --build "$work/build" --target uslab_static uslab uslab_malloc; } >"$work/log" 2>&1; then
		tail -n 30 "$work/log"
		fail "$* does not build"
	fi
	sections=$(readelf -SW "$work/build/lib/libuslab.a" 2>&1)
	case $sections in
	*Error* | *gnu.lto*) fail "$*: the archive has more in it than machine code" ;;
	*uslab_text*) ;;
	*) fail "$*: not what libuslab.a is made of" ;;
	esac
	echo "$*: ok"
}

# optimises_the_whole: so were the shared libraries linked. GCC does not if -fno-lto is there, too.
optimises_the_whole() {
	flags=$(grep "LINK_FLAGS = .*uslab_malloc.map" "$work/build/build.ninja")
	case $flags in
	*-fno-lto*) fail "linked with $flags" ;;
	*-flto*) ;;
	*) fail "linked with $flags" ;;
	esac
}

for flags in "-flto=auto -ffat-lto-objects" -flto; do
	builds -DCMAKE_C_COMPILER=gcc -DCMAKE_C_FLAGS="$flags"
	optimises_the_whole
done
builds -DCMAKE_C_COMPILER=gcc -DCMAKE_INTERPROCEDURAL_OPTIMIZATION=ON
optimises_the_whole
builds -DCMAKE_C_COMPILER=clang -DCMAKE_C_FLAGS=-flto=thin
