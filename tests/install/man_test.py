#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""man_test - the man pages that were built: no warning, every name leads to its page, and programs are
shown as they are

The pages are those of the build folder; `make install` copies them.
"""
import glob
import os
import re
import subprocess
import sys
import unittest

SOURCE = os.environ["USLAB_SRC"]
MAN = os.path.join(os.environ["USLAB_BUILD"], "man")
ENVIRONMENT = {**os.environ, "LC_ALL": "C.UTF-8", "MANPATH": MAN, "MANWIDTH": "120",
               "MANPAGER": "cat", "MAN_KEEP_FORMATTING": ""}


def man(*arguments):
    return subprocess.run(["man", *arguments], env=ENVIRONMENT, capture_output=True, text=True,
                          check=False, stdin=subprocess.DEVNULL, timeout=60)


def sources(section):
    found = {}
    for path in glob.glob(os.path.join(SOURCE, f"docs/man/*.{section}.scd")):
        with open(path, encoding="utf-8") as file:
            found[os.path.basename(path)[:-len(".3.scd")]] = file.read()
    return found


class Man(unittest.TestCase):
    def test_no_warnings(self):
        pages = glob.glob(os.path.join(MAN, "man*", "*"))
        self.assertGreaterEqual(len(pages), len(glob.glob(os.path.join(SOURCE, "docs/man/*.scd"))))
        for page in pages:
            with open(page, encoding="utf-8") as file:
                if file.read(4) == ".so ":
                    continue
            with self.subTest(page=page):
                run = man("--warnings", "-E", "UTF-8", "-Tutf8", "-Z", "-l", page)
                self.assertEqual((run.returncode, run.stderr), (0, ""))

    def test_each_name_leads_to_its_page(self):
        for page, text in sources(3).items():
            names = re.search(r"# NAME\n+(.*?) - ", text, re.S).group(1).replace("\\", "").split(",")
            for name in [page] + [name.strip() for name in names]:
                with self.subTest(name=name):
                    run = man("-w", "3", name)
                    self.assertEqual(run.stdout.strip(), os.path.join(MAN, "man3", page + ".3"))

    def test_programs_are_shown_as_they_are(self):
        for page, text in sources(3).items():
            shown = [line.strip() for line in man("3", page).stdout.splitlines()]
            for example in re.findall(r"^@(.+)@$", text, re.M):
                with self.subTest(page=page, example=example):
                    with open(os.path.join(SOURCE, example), encoding="utf-8") as file:
                        lines = [line.strip() for line in file.read().splitlines()[1:]]
                    start = shown.index(lines[1]) - 1
                    self.assertEqual(shown[start:start + len(lines)], lines)

    def test_figures(self):
        """What the pages say of costs and limits is what tests and headers hold the library to."""
        def figure(path, pattern):
            with open(os.path.join(SOURCE, path), encoding="utf-8") as file:
                return re.search(pattern, file.read()).groups()

        def counts(name):
            return figure("tests/tools/bench_test.py", rf'"{name}": \((\d+), (\d+)\)')

        own, kmalloc, variable = counts("own-cache"), counts("kmalloc"), counts("kmalloc-variable")
        (malloc,) = figure("tests/tools/hitpath_test.py", r"\nLIMIT = (\d+)")
        (bulk,) = figure("tests/unit/tools/bench/single_step_test.c", r"args->front, (\d+), run")
        (name,) = figure("include/uslab/slab.h", r"#define USLAB_MAX_NAME (\d+)")
        handles = figure("include/uslab/layout.h",
                         r"#define USLAB_NR_HANDLES (\d+)(?:.|\n)*#define USLAB_ID_FIRST_FREE (\d+)")
        caches = int(handles[0]) - int(handles[1])
        fronts = [own[0], counts("own-cache-cpuslab")[0], counts("own-cache-none")[0]]
        for page, said in (
                ("uslab", f"that hit are {own[0]} instructions together"),
                ("kmem_cache_alloc", f"{own[0]} instructions for a pair (GCC; Clang {own[1]})"),
                ("kmem_cache_create_args", 'at most {} instructions with "array", {} with "cpuslab", {} '
                                           'with "none"'.format(*fronts)),
                ("kmem_cache_alloc_bulk", f"at most 0.{bulk} of the instructions of single calls"),
                ("kmalloc", f"at most {kmalloc[0]} instructions (Clang {kmalloc[1]}), and {variable[0]} "
                            f"({variable[1]}) where the size is not known"),
                ("uslab-malloc", f"that hits is {malloc} instructions in the library"),
                ("kmem_cache_create", f"*USLAB_MAX_NAME* ({name}) bytes"),
                ("kmem_cache_create", f"*USLAB_MAX_CACHES* ({caches}) caches")):
            with self.subTest(page=page, said=said):
                self.assertIn(said, " ".join(sources(3)[page].split()))


if __name__ == "__main__":
    if not os.path.isdir(MAN) or not any(os.access(os.path.join(folder, "man"), os.X_OK)
                                         for folder in os.environ["PATH"].split(":")):
        print("man_test: skipped: scdoc or man is missing")
        sys.exit(77)
    unittest.main(verbosity=2)
