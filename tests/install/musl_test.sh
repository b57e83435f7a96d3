#!/bin/sh
# SPDX-License-Identifier: MIT
#
# musl_test.sh - cmake/toolchains/musl.cmake has the kernel's headers found, whatever CMAKE_C_FLAGS the user gives
set -eu

command -v musl-gcc >/dev/null || { echo "musl: musl-gcc is not installed"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
	cat "$work/log"
	echo "musl: $*"
	exit 1
}

# compiles <option>...: a file that needs them
compiles() {
	rm -rf "$work/build"
	cmake -G Ninja -S "$USLAB_SRC" -B "$work/build" -DUSLAB_TESTS=OFF -DUSLAB_TOOLS=OFF \
		-DCMAKE_TOOLCHAIN_FILE="$USLAB_SRC/cmake/toolchains/musl.cmake" "$@" >"$work/log" 2>&1 ||
		fail "cannot be configured: $*"
	file=$(grep -rl "^#include <linux/rseq.h>" "$USLAB_SRC/src" | grep "\.c\$" | head -n 1)
	object=CMakeFiles/uslab_core.dir/${file#"$USLAB_SRC/"}.o
	cmake --build "$work/build" --target "$object" >"$work/log" 2>&1 || fail "$object is not built: $*"
}

compiles
compiles -DCMAKE_C_FLAGS=-O2
echo "musl: ok"
