#!/bin/sh
# SPDX-License-Identifier: MIT
#
# make_install_test.sh - `make install` in a fresh tree, on a system with neither cmocka nor apt-get: builds
# what it installs and no tests, and puts gdb's commands where the prefix says
# ctest: timeout=600
set -eu

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
build=$work/build
real_pkg_config=$(command -v pkg-config)
real_cmake=$(command -v cmake)

fail() {
	echo "make_install: $*"
	exit 1
}

# What installs packages says that it was called. pkg-config knows no cmocka.
mkdir "$work/bin"
for program in apt-get sudo dpkg-query; do
	printf '#!/bin/sh\necho "$0 $*" >>"%s/called"\nexit 1\n' "$work" >"$work/bin/$program"
	chmod +x "$work/bin/$program"
done
cat >"$work/bin/pkg-config" <<SH
#!/bin/sh
case \$* in *cmocka*) exit 1 ;; esac
exec $real_pkg_config "\$@"
SH
# Looked at is what is built, and not how quick it is: nothing is optimised, which takes most of the
# time. (package_test installs what was built with all of it.)
cat >"$work/bin/cmake" <<SH
#!/bin/sh
case \$* in *--preset*) set -- "\$@" -DUSLAB_LTO=OFF "-DCMAKE_C_FLAGS_RELEASE=-O0" ;; esac
exec $real_cmake "\$@"
SH
chmod +x "$work/bin/pkg-config" "$work/bin/cmake"

# run <argument>...: make install, as this source tree's Makefile does it
run() {
	(
		unset MAKEFLAGS MAKELEVEL DESTDIR
		PATH=$work/bin:$PATH make -C "$USLAB_SRC" install BUILD="$build" "$@"
	) >"$work/log" 2>&1 || { tail -n 30 "$work/log"; fail "make install $* failed"; }
}

mkdir "$work/real"
ln -s real "$work/named"
run PREFIX="$work/named"
[ ! -e "$work/called" ] || { cat "$work/called"; fail "packages were looked at"; }
prefix=$work/named
lib=$(dirname "$(find "$prefix/" -name libuslab.a)")
libdir=${lib#"$prefix/"}

for file in include/uslab/slab.h bin/uslab libexec/uslab/uslab-bench-worker "$libdir/libuslab_malloc.so" \
	"$libdir/pkgconfig/uslab.pc" "$libdir/cmake/uslab/uslab-config.cmake"; do
	[ -e "$prefix/$file" ] || fail "not installed: $file"
done
if command -v scdoc >/dev/null; then
	for page in man7/uslab-gdb.7 man3/kmem_cache_alloc.3 man3/kmem_cache_free.3; do
		[ -e "$prefix/share/man/$page" ] || fail "no man page $page"
	done
fi
[ ! -e "$build/tests" ] || fail "tests were built: $(ls "$build/tests")"
echo "fresh tree: ok"

# ---- gdb finds its commands by the library's real name, below the prefix --------------------------

script=share/gdb/auto-load$(realpath "$work")/real/$libdir
for library in libuslab.so.0.1.0 libuslab_malloc.so; do
	[ -e "$prefix/$script/$library-gdb.py" ] || fail "gdb looks for $script/$library-gdb.py"
done
if command -v gdb >/dev/null; then
	said=$(gdb -nx -batch -iex "add-auto-load-scripts-directory $prefix/share/gdb/auto-load" \
		-iex "add-auto-load-safe-path $prefix/share/gdb/auto-load" \
		-ex "show uslab-command" "$lib/libuslab.so" 2>&1)
	case $said in
	*"path of the uslab command"* | *"The uslab command is"*) echo "gdb loads its commands: ok" ;;
	*) fail "gdb does not load its commands: $said" ;;
	esac
fi

# ---- a second one builds nothing; DESTDIR goes before all, and is in no name ------------------------

run PREFIX=/opt/other DESTDIR="$work/dest"
if grep -q "Building\|Linking" "$work/log"; then
	fail "what was built was built again"
fi
[ -e "$work/dest/opt/other/$libdir/libuslab.so" ] || fail "DESTDIR: no library"
[ -e "$work/dest/opt/other/share/gdb/auto-load/opt/other/$libdir/libuslab.so.0.1.0-gdb.py" ] ||
	fail "DESTDIR: gdb's commands are elsewhere: $(find "$work/dest" -name '*-gdb.py')"
echo "DESTDIR: ok"

# ---- and `make` has its tests again ----------------------------------------------------------------

(cd "$USLAB_SRC" && cmake --preset release -B "$build" \
	-DPKG_CONFIG_EXECUTABLE="$real_pkg_config") >"$work/log" 2>&1 ||
	{ cat "$work/log"; fail "cannot be configured with tests"; }
grep -q '^USLAB_TESTS:.*=ON' "$build/CMakeCache.txt" || fail "no tests after make install"
