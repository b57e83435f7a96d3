# SPDX-License-Identifier: MIT
# Thin: each rule hands over to CMake or to a script.

PREFIX ?= /usr/local
DESTDIR ?=
ARGS ?=
BUILD := build/release

all: setup
	@cmake --preset release -B $(BUILD) >/dev/null
	cmake --build $(BUILD)

help:
	@sed -n 's/^#: //p' Makefile

#: make                     install what is missing, build into build/release
#: make demo                build, then show a real program on uslab
demo: all
	scripts/demo

#: make test                every test once, and again where GCC or Clang, rseq or not, a sanitizer,
#:                          valgrind or musl may find something else
test: setup
	scripts/test $(ARGS)

#: make test-all            also what only repeats that, in every build: twice as long and more
test-all: setup
	scripts/test --all $(ARGS)

#: make test-numa [ARGS=...]
#:                          memory policies on a virtual machine of several nodes (QEMU)
test-numa: all
	scripts/numa-vm --build $(BUILD) $(ARGS)

#: make check               the rules of the repository (a few seconds)
check:
	scripts/check.py --build $(BUILD)

#: make bench [ARGS=...]    measure against the other mallocs, keep the results, write README's tables
bench: all
	scripts/bench $(ARGS)

#: make bench-malloc [ARGS=...]
#:                          whole programs under each allocator: time, CPU time, peak memory
bench-malloc: all
	scripts/bench-malloc $(ARGS)

#: make results [ARGS=...]  what was published about slab allocators, and ours: docs/results.md
results: all
	scripts/results $(ARGS)

#: make charts [ARGS=...]   charts of the results that are kept: docs/performance.md
charts:
	scripts/charts.py $(ARGS)

#: make goals               which goals for speed and memory those results reach, likewise
goals:
	scripts/goals.py

#: make pictures [ARGS=...] what the README shows of real runs: docs/pictures and two texts
pictures: all
	scripts/pictures $(ARGS)

#: make soak [ARGS=...]     the stress tests, for long
soak: all
	scripts/soak $(ARGS)

#: make install [PREFIX=/usr/local] [DESTDIR=]
#:                          build what is installed, without tests, and install it; no packages are
#:                          fetched: it needs those of `make setup` but for the tests' (cmocka, ...)
install:
	@test -f $(BUILD)/build.ninja || cmake --preset release -B $(BUILD) -DUSLAB_TESTS=OFF >/dev/null
	cmake --build $(BUILD) --target uslab_install
	DESTDIR='$(DESTDIR)' cmake --install $(BUILD) --prefix '$(PREFIX)'

#: make setup               install missing packages (Debian)
setup:
	@scripts/setup

#: make format              lay out the C sources by .clang-format
format:
	git ls-files -z --cached --others --exclude-standard '*.c' '*.h' | xargs -0 -r clang-format-14 -i

#: make clean               remove everything that was built
clean:
	rm -rf build

.PHONY: all help demo test test-all test-numa check bench bench-malloc results charts goals pictures soak install setup format clean
