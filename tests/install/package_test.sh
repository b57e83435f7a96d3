#!/bin/sh
# SPDX-License-Identifier: MIT
#
# package_test.sh - installs into an empty folder and uses what is there as a stranger would: from C
# and C++, through pkg-config and find_package, shared and static, and after the tree was moved.
set -eu

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
source=$USLAB_SRC/tests/install/use.c
cpp_source=$USLAB_SRC/tests/install/use_containers.cpp
warnings="-Wall -Wextra -Werror"

# expect_ok <what> <program>...: the program says "ok".
expect_ok() {
	what=$1
	shift
	answer=$("$@") || { echo "$what: failed: $*"; exit 1; }
	case $answer in
	"ok "*) echo "$what: $answer" ;;
	*) echo "$what: said '$answer'"; exit 1 ;;
	esac
}

cmake --install "$USLAB_BUILD" --prefix "$work/first" >"$work/install.log"
mv "$work/first" "$work/prefix"
prefix=$work/prefix
# The multiarch folder of some systems, or plain lib.
lib=$(dirname "$(find "$prefix" -name libuslab.a)")

for file in "$lib/libuslab.so.0.1" "$lib/libuslab_malloc.so" "$prefix/include/uslab/slab.h"; do
	[ -e "$file" ] || { echo "not installed: $file"; exit 1; }
done
# Internal headers stay at home, and so do the formatter's files.
if find "$prefix/include" -type f ! -name '*.h' ! -name '*.hpp' | grep .; then
	echo "the files above do not belong in include/"
	exit 1
fi

# ---- pkg-config -------------------------------------------------------------------------------
export PKG_CONFIG_PATH="$lib/pkgconfig"
flags=$(pkg-config --cflags --libs uslab)
[ "$(pkg-config --modversion uslab)" = "0.1.0" ] || { echo "wrong version in uslab.pc"; exit 1; }
export LD_LIBRARY_PATH="$lib"
for compiler in gcc clang; do
	# shellcheck disable=SC2086
	$compiler $warnings -std=gnu11 -O2 "$source" $flags -o "$work/c_$compiler"
	expect_ok "$compiler, pkg-config, shared" "$work/c_$compiler"
	# shellcheck disable=SC2086
	$compiler $warnings -std=gnu11 -O2 "$source" $(pkg-config --cflags uslab) "$lib/libuslab.a" \
		-o "$work/s_$compiler"
	expect_ok "$compiler, archive" env -u LD_LIBRARY_PATH "$work/s_$compiler"
done
for compiler in g++ clang++; do
	cp "$source" "$work/use.cpp" # so that no -x is wanted: Clang differs in what may stand behind it
	# shellcheck disable=SC2086
	$compiler $warnings -std=c++17 -O2 "$work/use.cpp" $flags -o "$work/x_$compiler"
	expect_ok "$compiler, pkg-config, shared" "$work/x_$compiler"
	# shellcheck disable=SC2086
	$compiler $warnings -std=c++17 -O2 "$cpp_source" $flags -o "$work/h_$compiler"
	expect_ok "$compiler, <uslab/cache.hpp>, pkg-config" "$work/h_$compiler"
done

# ---- the other libraries ------------------------------------------------------------------------

if [ -e "$lib/libuslab_inspect.so" ]; then
	# shellcheck disable=SC2046,SC2086
	gcc $warnings -O2 "$USLAB_SRC/tests/install/linked_inspect.c" $(pkg-config --cflags --libs uslab-malloc uslab-inspect) \
		-o "$work/others"
	expect_ok "uslab-malloc.pc, uslab-inspect.pc" "$work/others"
fi

# ---- libuslab_rcu, where liburcu is -------------------------------------------------------------
if [ -e "$lib/libuslab_rcu.so" ]; then
	for compiler in gcc clang; do
		# shellcheck disable=SC2086
		$compiler $warnings -std=gnu11 -O2 "$USLAB_SRC/examples/rcu.c" \
			$(pkg-config --cflags --libs uslab_rcu) -lurcu -o "$work/rcu_$compiler"
		"$work/rcu_$compiler" | grep -q "all of them are free" ||
			{ echo "$compiler, pkg-config uslab_rcu: does not run"; exit 1; }
		echo "$compiler, pkg-config uslab_rcu: ok"
	done
fi

# ---- the archive takes no name from a program that is not the API's ------------------------------

cat >"$work/names.c" <<'C'
#include <stdio.h>
#include <uslab/slab.h>
int cache_create(void);
int cache_create(void) { return 7; }
int page_map = 8;
int main(void)
{
	struct kmem_cache *s = kmem_cache_create("mine", 24, 0, 0, NULL);

	kmem_cache_free(s, kmem_cache_alloc(s, GFP_KERNEL));
	puts(cache_create() + page_map == 15 ? "ok names" : "wrong");
	return 0;
}
C
gcc -O2 -I"$prefix/include" "$work/names.c" "$lib/libuslab.a" -o "$work/names"
expect_ok "own cache_create and page_map, archive" env -u LD_LIBRARY_PATH "$work/names"

# ---- the archive in one's own LTO build ---------------------------------------------------------
# shellcheck disable=SC2086
gcc -O2 -flto=auto "$source" $(pkg-config --cflags uslab) "$lib/libuslab.a" -o "$work/lto"
expect_ok "gcc -flto, archive" env -u LD_LIBRARY_PATH "$work/lto"

# ---- CMake ------------------------------------------------------------------------------------
unset LD_LIBRARY_PATH
cmake -G Ninja -S "$USLAB_SRC/tests/install/cmake" -B "$work/cmake" -DCMAKE_PREFIX_PATH="$prefix" \
	-DCMAKE_BUILD_TYPE=Release >"$work/cmake.log"
cmake --build "$work/cmake" >>"$work/cmake.log" || { cat "$work/cmake.log"; exit 1; }
for program in c_uslab cxx_uslab hpp_uslab c_uslab_static cxx_uslab_static hpp_uslab_static \
	c_uslab_malloc; do
	expect_ok "find_package, $program" "$work/cmake/$program"
done

[ ! -e "$work/cmake/c_uslab_inspect" ] || expect_ok "find_package, c_uslab_inspect" "$work/cmake/c_uslab_inspect"

# A plug-in's hit paths must not be unloaded: the linker is told by either way to link.
# shellcheck disable=SC2086
gcc -O2 -shared -fPIC "$source" $flags -o "$work/cmake/libplugin_pc.so"
for plugin in plugin_pc plugin_uslab plugin_uslab_static; do
	readelf -d "$work/cmake/lib$plugin.so" | grep -q NODELETE ||
		{ echo "$plugin may be unloaded"; exit 1; }
done

# ---- Python finds the library from where it was installed, and libuslab_inspect has its header -------
if [ -x "$prefix/bin/uslab" ]; then
	answer=$(PYTHONPATH=$prefix/lib/python3/dist-packages python3 -c "
import uslab
try:
    uslab.process(2 ** 30)
except uslab.Error as error:
    print(error, uslab._json is not None)")
	[ "$answer" = "no such process: 1073741824 True" ] || { echo "python3: '$answer'"; exit 1; }
	echo "installed module of Python: ok"
	cat >"$work/inspect.c" <<'C'
#include <uslab/inspect.h>
int main(void)
{
	struct uslab_inspect_source source = { 0 };

	return uslab_inspect_json(&source, 0) != 0;
}
C
	for compiler in gcc "g++ -x c++"; do
		# shellcheck disable=SC2086
		$compiler $warnings -Wno-missing-field-initializers -I"$prefix/include" "$work/inspect.c" \
			-x none -L"$lib" -luslab_inspect -o "$work/inspect"
		LD_LIBRARY_PATH=$lib "$work/inspect" || { echo "uslab_inspect_json: not refused"; exit 1; }
	done
	echo "installed libuslab_inspect: ok"
fi

# ---- the command finds the drop-in beside itself --------------------------------------------------
if [ -x "$prefix/bin/uslab" ]; then
	[ "$("$prefix/bin/uslab" run -- sh -c 'echo ran')" = ran ] ||
		{ echo "the installed 'uslab run' does not run a program"; exit 1; }
	echo "installed uslab run: ok"
fi
