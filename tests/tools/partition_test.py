#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# ctest: sanitize=no
"""USLAB_CONF=kmalloc.partition as programs see it: which calls have rows, and by which compilers.

Programs are compiled with and without USLAB_KMALLOC_PARTITION, in C and C++, and print the cache of
each object. Tokens of types are given by the program, and by the compiler if there is a Clang 22 or
later (USLAB_CLANG names it, else clang).
"""
import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from programs import CC, WITH_LIBRARY, compile_program  # noqa: E402

BIN = os.environ["USLAB_BIN"]
WARNINGS = ("-Wall", "-Wextra", "-Wpedantic", "-Werror")
CLANG = os.environ.get("USLAB_CLANG", "clang")

COMMON = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uslab/slab.h>

struct point { int x, y, z; };
struct node { struct node *next; long value; };
struct list { long n; struct node *nodes[1]; };

static void *volatile hidden;

/* The compiler must not see that nobody uses it. */
static void *used(void *p)
{
	hidden = p;
	return hidden;
}
"""

# Every macro of <uslab/partition.h>, of the type struct node.
MACROS = COMMON + r"""
static void show(const char *what, void *p)
{
	fprintf(stderr, "%s: ", what);
	uslab_dump_obj(p);
	kvfree(p);
}

int main(void)
{
	volatile size_t three = 3;
	size_t size = three * 8;

	show("kmalloc", used(kmalloc(sizeof(struct node), GFP_KERNEL)));
	show("kzalloc", used(kzalloc(sizeof(struct node), GFP_KERNEL)));
	show("kmalloc_array", used(kmalloc_array(three, sizeof(struct node), GFP_KERNEL)));
	show("kcalloc", used(kcalloc(three, sizeof(struct node), GFP_KERNEL)));
	show("kmalloc_node", used(kmalloc_node(sizeof(struct node), GFP_KERNEL, 0)));
	show("kzalloc_node", used(kzalloc_node(sizeof(struct node), GFP_KERNEL, 0)));
	show("kmalloc_array_node", used(kmalloc_array_node(three, sizeof(struct node), GFP_KERNEL, 0)));
	show("kcalloc_node", used(kcalloc_node(three, sizeof(struct node), GFP_KERNEL, 0)));
	show("krealloc", used(krealloc(NULL, sizeof(struct node), GFP_KERNEL)));
	show("krealloc_moved", used(krealloc((kmalloc)(8, GFP_KERNEL), 4 * sizeof(struct node), GFP_KERNEL)));
	show("krealloc_array", used(krealloc_array(NULL, three, sizeof(struct node), GFP_KERNEL)));
	show("krealloc_node", used(krealloc_node(NULL, sizeof(struct node), GFP_KERNEL, 0)));
	show("krealloc_node_align", used(krealloc_node_align(NULL, sizeof(struct node), 16, GFP_KERNEL, 0)));
	show("kvmalloc", used(kvmalloc(sizeof(struct node), GFP_KERNEL)));
	show("kvzalloc", used(kvzalloc(sizeof(struct node), GFP_KERNEL)));
	show("kvmalloc_array", used(kvmalloc_array(three, sizeof(struct node), GFP_KERNEL)));
	show("kvcalloc", used(kvcalloc(three, sizeof(struct node), GFP_KERNEL)));
	show("kvmalloc_node_align", used(kvmalloc_node_align(sizeof(struct node), 16, GFP_KERNEL, 0)));
	show("kvmalloc_node", used(kvmalloc_node(sizeof(struct node), GFP_KERNEL, 0)));
	show("kvzalloc_node", used(kvzalloc_node(sizeof(struct node), GFP_KERNEL, 0)));
	show("kvmalloc_array_node", used(kvmalloc_array_node(three, sizeof(struct node), GFP_KERNEL, 0)));
	show("kvcalloc_node", used(kvcalloc_node(three, sizeof(struct node), GFP_KERNEL, 0)));
	show("kvrealloc", used(kvrealloc(NULL, sizeof(struct node), GFP_KERNEL)));
	show("kvrealloc_node_align", used(kvrealloc_node_align(NULL, sizeof(struct node), 16, GFP_KERNEL, 0)));
	show("kmalloc_obj", used(kmalloc_obj(struct node)));
	show("kzalloc_obj", used(kzalloc_obj(struct node, GFP_NOWAIT)));
	show("kvmalloc_obj", used(kvmalloc_obj(struct node)));
	show("kvzalloc_obj", used(kvzalloc_obj(struct node)));
	show("kmalloc_objs", used(kmalloc_objs(struct node, three)));
	show("kzalloc_objs", used(kzalloc_objs(struct node, 3)));
	show("kvmalloc_objs", used(kvmalloc_objs(struct node, three)));
	show("kvzalloc_objs", used(kvzalloc_objs(struct node, three)));
	show("kmalloc_flex", used(kmalloc_flex(struct list, nodes, three)));
	show("kzalloc_flex", used(kzalloc_flex(struct list, nodes, 3)));
	show("kvmalloc_flex", used(kvmalloc_flex(struct list, nodes, three)));
	show("kvzalloc_flex", used(kvzalloc_flex(struct list, nodes, three)));
	show("point", used(kmalloc(sizeof(struct point), GFP_KERNEL)));
	show("point_obj", used(kmalloc_obj(struct point)));
	show("unknown", used(kmalloc(size, GFP_KERNEL)));
	show("unknown_constant", used(kmalloc(24, GFP_KERNEL)));
	show("function", used((kmalloc)(24, GFP_KERNEL)));
	show("large", used(kmalloc(sizeof(struct node) * 1000, GFP_KERNEL)));
	if (used(kmalloc_array(SIZE_MAX / 2, three, GFP_KERNEL)) ||
	    used(kmalloc_objs(struct node, SIZE_MAX / three)) ||
	    kmalloc(0 * size, GFP_KERNEL) != ZERO_SIZE_PTR)
		return 1;
	return 0;
}
"""
PROGRAM_TOKENS = """
#define USLAB_KMALLOC_PARTITION
#define USLAB_ALLOC_TOKEN(...) 13
#define USLAB_TYPE_TOKEN(type) (sizeof(type) == 12 ? 6 : 14)
"""

# 40 places that look alike; all live at once, so that nobody gets another one's object.
PLACES = COMMON + r"""
#define SAME(n) used(kmalloc(48, GFP_KERNEL)),
#define FIVE(n) SAME(n) SAME(n) SAME(n) SAME(n) SAME(n)
#define TWENTY FIVE() FIVE() FIVE() FIVE()

int main(int argc, char **argv)
{
	void *objects[] = { TWENTY TWENTY };
	void *again[2][2];

	for (int i = 0; i < 40; i++) {
		fprintf(stderr, "place%d: ", i);
		uslab_dump_obj(objects[i]);
	}
	for (int i = 0; i < 2; i++) {
		again[i][0] = used(kmalloc(48, GFP_KERNEL));
		again[i][1] = used(kmalloc(48, GFP_KERNEL));
	}
	for (int i = 0; i < 2; i++) {
		fprintf(stderr, "again%d: ", i);
		uslab_dump_obj(again[i][0]);
		fprintf(stderr, "other%d: ", i);
		uslab_dump_obj(again[i][1]);
	}
	if (argc > 1) {
		puts("ready");
		fflush(stdout);
		pause();
	}
	return argv == NULL;
}
"""


def environment(mode):
    conf = f"kmalloc.partition={mode}" if mode else ""
    return {**os.environ, "USLAB_CONF": conf}


def shown(program, mode):
    """{what: row} of what a program prints; "none" for what no cache has."""
    run = subprocess.run([program], env=environment(mode), capture_output=True, text=True,
                         timeout=60, check=True)
    rows = {}
    for what, line in re.findall(r"^(\w+): (.*)$", run.stderr, re.M):
        cache = re.search(r"\bkmalloc-(?:part-(\d\d)-)?(\d+k?)\b", line)
        rows[what] = int(cache.group(1) or 0) if cache else "none"
    return rows


class Partition(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="uslab-")
        cls.addClassCleanup(shutil.rmtree, cls.folder)

    def compile(self, name, source, *flags, compiler=CC, ending=".c"):
        return compile_program(self.folder, name, source, *WARNINGS, *flags, *WITH_LIBRARY,
                               compiler=compiler, ending=ending)

    def check_tokens(self, rows, of_calls, of_types, unknown):
        self.assertEqual(len(rows), 42, rows)
        for what, row in rows.items():
            if what == "large":
                self.assertEqual(row, "none")
            elif what == "function":
                self.assertEqual(row, 0)
            elif what == "point_obj":
                self.assertEqual(row, of_types[0])
            elif what.endswith(("_obj", "_objs", "_flex")):
                self.assertIn(row, of_types[1:], what)
            elif what.startswith("unknown"):
                self.assertEqual(row, unknown, what)
            elif what != "point":
                self.assertEqual(row, of_calls, what)

    def test_tokens_of_the_program(self):
        """Each macro hands its token on, optimised or not, by every compiler that is here."""
        builds = [("gcc", ".c", ("-std=c11",)), ("gcc", ".c", ("-std=c99", "-O0")),
                  ("clang", ".c", ("-std=c17",)), ("g++", ".cpp", ("-std=c++11",)),
                  ("clang++", ".cpp", ("-std=c++17",))]
        for compiler, ending, flags in builds:
            if not shutil.which(compiler):
                continue
            with self.subTest(compiler=compiler, flags=flags):
                program = self.compile("tokens", PROGRAM_TOKENS + MACROS, *flags, compiler=compiler,
                                       ending=ending)
                self.check_tokens(shown(program, "typed"), 13, (6, 14), 13)
                self.assertEqual({row for what, row in shown(program, "off").items()
                                  if what != "large"}, {0})

    def test_tokens_of_the_compiler(self):
        """Types with pointers have rows 8 to 15."""
        probe = subprocess.run([CLANG, "-x", "c", "-E", "-"], text=True, capture_output=True, check=False,
                               input="__has_builtin(__builtin_infer_alloc_token)\n") \
            if shutil.which(CLANG) else None
        if not probe or probe.returncode or not probe.stdout.rstrip().endswith("1"):
            self.skipTest("no Clang that infers tokens of types (22 or later)")
        for ending, flags in ((".c", ()), (".cpp", ()), (".c", ("-O0",))):
            program = self.compile("types", "#define USLAB_KMALLOC_PARTITION\n" + MACROS,
                                   "-falloc-token-max=16", *flags, compiler=CLANG, ending=ending)
            rows = shown(program, "typed")
            self.assertGreaterEqual(rows["kmalloc"], 8)
            self.assertLess(rows["point"], 8)
            self.check_tokens(rows, rows["kmalloc"],
                              (rows["point"], rows["kmalloc_obj"], rows["kmalloc_flex"]), 0)
            self.assertGreaterEqual(rows["kmalloc_flex"], 8)

    def test_without_tokens(self):
        """A compiler that knows none: all is of unknown type."""
        if "clang" in CC:
            self.skipTest("GCC knows none")
        program = self.compile("none", "#define USLAB_KMALLOC_PARTITION\n#include <uslab/slab.h>\n"
                               "#if !USLAB_HAVE_ALLOC_TOKEN\n" + MACROS + "#endif\n")
        rows = shown(program, "typed")
        self.assertEqual({row for what, row in rows.items() if what != "large"}, {0})

    def places(self, program):
        """Rows of the 40 places in two processes. Of 16 rows 40 places are in 5 or fewer, and in the
        same ones twice, less than once in 10^15 times."""
        first, second = shown(program, "random"), shown(program, "random")
        for rows in (first, second):
            self.assertGreater(len({rows[f"place{i}"] for i in range(40)}), 5, rows)
            self.assertEqual(rows["again0"], rows["again1"], "one place has one row")
            self.assertEqual(rows["other0"], rows["other1"])
        self.assertNotEqual(first, second, "each process has its own seed")

    def test_code_locations(self):
        self.places(self.compile("places", "#define USLAB_KMALLOC_PARTITION\n" + PLACES))

    def test_programs_as_they_are(self):
        """Without the definition calls have the rows of their return addresses, or none with typed."""
        program = self.compile("plain", PLACES)
        self.places(program)
        for mode in ("typed", "off", ""):
            self.assertEqual(set(shown(program, mode).values()), {0}, mode)

    @contextlib.contextmanager
    def waiting(self, program, mode):
        """A process of it that has allocated all."""
        process = subprocess.Popen([program, "wait"], env=environment(mode), text=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        try:
            self.assertEqual(process.stdout.readline(), "ready\n")
            yield process
        finally:
            process.kill()
            process.wait()
            process.stdout.close()

    def test_info(self):
        """uslab info lists rows as any caches, and adds them up."""
        program = self.compile("watched", "#define USLAB_KMALLOC_PARTITION\n" + PLACES)
        with self.waiting(program, "random") as process:
            info = [BIN, "info", "-p", str(process.pid)]
            run = subprocess.run([*info, "--json", r"^kmalloc-\(part-..-\)\?64$"], check=True,
                                 capture_output=True, text=True)
            caches = json.loads(run.stdout)["caches"]
            self.assertGreater(len(caches), 4)
            self.assertEqual(sum(cache["objects"] for cache in caches), 44)
            run = subprocess.run([*info, "-T", r"^kmalloc-\(part-..-\)\?64$"], check=True,
                                 capture_output=True, text=True)
            self.assertRegex(run.stdout, rf"Slabcaches *: *{len(caches)}\b")

    def test_with_profiling(self):
        """A program that also defines USLAB_MEM_ALLOC_PROFILING has both, in each macro."""
        for compiler, ending in ((CC, ".c"), ("g++", ".cpp")):
            program = self.compile("both", "#define USLAB_MEM_ALLOC_PROFILING\n" + PROGRAM_TOKENS + MACROS,
                                   compiler=compiler, ending=ending)
            for profiling in "01":
                self.check_tokens(shown(program, f"typed,mem_profiling={profiling}"), 13, (6, 14), 13)
        program = self.compile("counted", "#define USLAB_MEM_ALLOC_PROFILING\n"
                               "#define USLAB_KMALLOC_PARTITION\n" + PLACES)
        with self.waiting(program, "random,mem_profiling=1") as process:
            run = subprocess.run([BIN, "info", "--allocinfo", "--json", "-p", str(process.pid)],
                                 check=True, capture_output=True, text=True)
            sites = json.loads(run.stdout)["allocinfo"]
            self.assertEqual(sum(site["calls"] for site in sites), 44, sites)

    def test_wrong_value(self):
        program = self.compile("wrong", PLACES)
        run = subprocess.run([program], env=environment("types"), capture_output=True, text=True,
                             timeout=60, check=True)
        self.assertIn("kmalloc.partition takes off, random, typed", run.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
