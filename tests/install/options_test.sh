#!/bin/sh
# SPDX-License-Identifier: MIT
#
# options_test.sh - what is configured, and not built: without the command nothing that belongs to it would be
# installed; for machines that uslab is not for, the error says so
set -eu

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
	echo "options: $*"
	exit 1
}

configure() {
	folder=$work/$1
	shift
	cmake -G Ninja -S "$USLAB_SRC" -B "$folder" -DUSLAB_TESTS=OFF "$@" >"$work/log" 2>&1
}

# would_install <folder> <pattern>: what CMake's own script names
would_install() {
	grep -E "$2" "$work/$1/cmake_install.cmake"
}

tools="uslab-bench|uslab_bench|man/man1/|/bin/uslab|uslab-python\.3|uslab_inspect"
configure with -DUSLAB_TOOLS=ON || { cat "$work/log"; fail "cannot be configured"; }
would_install with "$tools" >/dev/null || fail "the command would not be installed"
configure without -DUSLAB_TOOLS=OFF || { cat "$work/log"; fail "cannot be configured without the command"; }
if would_install without "$tools"; then
	fail "without the command the above would be installed"
fi
would_install without "libuslab\.a" >/dev/null || fail "nothing would be installed"
echo "without the command: ok"

# Libraries of 32 bits may well be missing, so nothing is linked.
case $(uname -m) in
x86_64)
	for bits in -m32 -mx32; do
		if configure "bits$bits" -DCMAKE_C_FLAGS=$bits -DCMAKE_TRY_COMPILE_TARGET_TYPE=STATIC_LIBRARY; then
			fail "can be configured with $bits"
		fi
		grep -q "machines with pointers and longs of 64 bits" "$work/log" ||
			{ cat "$work/log"; fail "$bits: says nothing of bits"; }
	done
	echo "32 bits: ok" ;;
esac
