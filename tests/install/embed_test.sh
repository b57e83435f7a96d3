#!/bin/sh
# SPDX-License-Identifier: MIT
#
# embed_test.sh - a project that has this source tree inside, by add_subdirectory() or FetchContent: it links
# the targets that find_package() gives, and gets nothing of what only who works on uslab needs
# ctest: timeout=600
set -eu

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
	echo "embed: $*"
	exit 1
}

# Targets of the names that a project may have itself.
mkdir "$work/source"
cat >"$work/source/CMakeLists.txt" <<CMAKE
cmake_minimum_required(VERSION 3.25)
project(around LANGUAGES C)
enable_testing()
add_custom_target(man)
add_custom_target(check)
# Warnings that uslab is not written for, nor are the sources below.
add_compile_options(-Wall -Wextra -Werror -Wpedantic -Wshadow -Wconversion)
if(FETCH)
	include(FetchContent)
	FetchContent_Declare(uslab SOURCE_DIR "$USLAB_SRC")
	FetchContent_MakeAvailable(uslab)
else()
	add_subdirectory("$USLAB_SRC" uslab)
endif()
set_directory_properties(PROPERTIES COMPILE_OPTIONS "")
get_property(languages GLOBAL PROPERTY ENABLED_LANGUAGES)
message(STATUS "languages: \${languages}")

foreach(kind uslab uslab_static)
	add_executable(use_\${kind} "$USLAB_SRC/tests/install/use.c")
	target_link_libraries(use_\${kind} PRIVATE uslab::\${kind})
	add_executable(kernel_\${kind} "$USLAB_SRC/tests/linux/rule_list_test.c" "$USLAB_SRC/tests/linux/main.c")
	target_link_libraries(kernel_\${kind} PRIVATE uslab::\${kind} uslab::uslab_linux)
endforeach()
foreach(kind uslab_rcu uslab_rcu_static)
	if(TARGET uslab::\${kind})
		add_executable(use_\${kind} "$USLAB_SRC/examples/rcu.c")
		target_link_libraries(use_\${kind} PRIVATE uslab::\${kind} urcu)
	endif()
endforeach()
install(TARGETS use_uslab_static)
CMAKE

# configure <folder> <option>...
generator=Ninja
configure() {
	folder=$1
	shift
	cmake -G "$generator" -S "$work/source" -B "$work/$folder" -DCMAKE_C_FLAGS=-O0 "$@" >"$work/log" 2>&1 ||
		{ cat "$work/log"; fail "$folder: cannot be configured"; }
}

# lacks <folder>: nothing for who works on uslab is built
lacks() {
	grep -q "languages: C\$" "$work/log" || fail "$1: $(grep languages: "$work/log")"
	cmake --build "$work/$1" --target help >"$work/targets"
	if grep -E "^(test_|uslab_command|uslab_tool|uslab-bench|uslab_bench|bin/|misuse_)" "$work/targets"; then
		fail "$1: has the targets above"
	fi
	[ -z "$(ctest --test-dir "$work/$1" -N | grep "Test *#")" ] || fail "$1: has our tests"
}

configure fetched -DFETCH=ON
lacks fetched
configure added
lacks added
cmake --build "$work/added" >"$work/log" 2>&1 || { tail -n 30 "$work/log"; fail "does not build"; }
for program in use_uslab use_uslab_static kernel_uslab kernel_uslab_static; do
	case $("$work/added/$program") in
	"ok"*) echo "$program: ok" ;;
	*) fail "$program does not run" ;;
	esac
done
for program in "$work"/added/use_uslab_rcu*; do
	[ ! -x "$program" ] || "$program" | grep -q "all of them are free" || fail "$program does not run"
done

# What is installed is the project's alone; and ours as well where it asks for that.
cmake --install "$work/added" --prefix "$work/prefix" >"$work/log"
[ "$(find "$work/prefix" -type f)" = "$work/prefix/bin/use_uslab_static" ] ||
	fail "is installed too: $(find "$work/prefix" -type f | head -n 3)"
"$work/prefix/bin/use_uslab_static" >"$work/log" || fail "the installed program does not run"
configure added -DUSLAB_INSTALL=ON
cmake --build "$work/added" >"$work/log" 2>&1 || { tail -n 30 "$work/log"; fail "with USLAB_INSTALL: does not build"; }
cmake --install "$work/added" --prefix "$work/prefix" >"$work/log"
[ -e "$work/prefix/include/uslab/slab.h" ] || fail "USLAB_INSTALL: no headers"

# CMake's default generator, whose Makefiles have each target's own rules only: the archive alone.
if command -v make >/dev/null; then
	generator="Unix Makefiles"
	configure makefiles
	cmake --build "$work/makefiles" --target use_uslab_static -j2 >"$work/log" 2>&1 ||
		{ tail -n 30 "$work/log"; fail "Makefiles: does not build"; }
	"$work/makefiles/use_uslab_static" >"$work/log" || fail "Makefiles: the program does not run"
fi
echo "embedded: ok"
