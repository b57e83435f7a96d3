#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
#
# ctest: timeout=300
"""linux_test - kernel code compiles unchanged against what is installed for it, and runs

The pieces of tests/linux/, as GNU C11, with GCC and Clang, by the flags of uslab-linux.pc; once
more through find_package(), and with the headers that a kernel tree has for its tools behind ours,
where KERNEL_TREE names one. Each header of the folder compiles by itself. What such a tree lacks is
filled in; the shim for the kernel's tests of its trees (scripts/kernel-tests) does what they want.
"""
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest

SOURCE, BUILD = os.environ["USLAB_SRC"], os.environ["USLAB_BUILD"]
PIECES = os.path.join(SOURCE, "tests", "linux")
HEADERS = os.path.join(SOURCE, "include", "uslab", "linux", "linux")
TREE = os.environ.get("KERNEL_TREE", "")
FLAGS = ["-std=gnu11", "-Wall", "-Werror"]
# Begin and end of a part of <linux/types.h>
PARTS = ("uslab_types_begin.h", "uslab_types_end.h")

CMAKE = """cmake_minimum_required(VERSION 3.25)
project(pieces LANGUAGES C)
find_package(uslab 0.1 REQUIRED)
foreach(kind uslab uslab_static)
	add_executable(rules_${kind} ${PIECES}/rule_list_test.c ${PIECES}/main.c)
	target_link_libraries(rules_${kind} PRIVATE uslab::${kind} uslab::uslab_linux)
endforeach()
"""

# The least of a kernel tree's headers: its BUG() and WARN() are in others than ours, and it has no
# fallthrough.
MADE_UP_TREE = {
    "linux/types.h": """#pragma once
#include <stdint.h>
typedef uint8_t u8; typedef int8_t s8; typedef uint16_t u16; typedef int16_t s16;
typedef uint32_t u32; typedef int32_t s32; typedef uint64_t u64; typedef int64_t s64;
typedef struct { int counter; } atomic_t;
typedef enum { TREES_OWN } gfp_t;
""",
    "linux/list.h": "struct tree_list;\n",
    "linux/compiler.h": "#define likely(x) (x)\n#define unlikely(x) (x)\n#define __must_check\n"
                        "#define __printf(f, n) __attribute__((__format__(__printf__, f, n)))\n"
                        "#define READ_ONCE(x) (*(volatile __typeof__(x) *)&(x))\n",
    "linux/bug.h": "#define BUILD_BUG_ON_ZERO(e) ((int)sizeof(struct { int:-!!(e); }))\n",
    "linux/kernel.h": "#include <linux/compiler.h>\n#define clamp(n, a, b) ((n) > (b) ? (b) : (n))\n"
                      "#define BUG_ON(x) ((x) ? __builtin_trap() : (void)0)\n",
    "asm/bug.h": "#define WARN_ON(x) (!!(x))\n",
}
BESIDE = """#include <linux/bug.h>
#include <linux/compiler.h>
#include <linux/slab.h>

int main(void)
{
	gfp_t flags = GFP_KERNEL; /* ours: an enumeration takes no |= without a word of the compiler */
	int n = 1;

	flags |= __GFP_ZERO;
	BUG_ON(WARN_ON(!flags) || clamp_t(int, 5, 1, 3) != 3);
	switch (n) {
	case 1:
		n++;
		fallthrough;
	default:
		return n != 2;
	}
}
"""

# What trees do not have.
ALONE = """#include <linux/bitops.h>
#include <linux/cache.h>
#include <linux/kernel.h>

int main(void)
{
	BUG_ON(get_count_order(0) != -1 || get_count_order(1) != 0 || get_count_order(3) != 2);
	BUG_ON(get_count_order(~0u) != 32 || get_count_order_long((1ul << 40) + 1) != 41);
	BUG_ON(L1_CACHE_ALIGN(L1_CACHE_BYTES + 1) != 2 * L1_CACHE_BYTES);
	BUG_ON(cache_line_size() != SMP_CACHE_BYTES);
	return 0;
}
"""

# As the tests of trees use the shim.
TREES = os.path.join(PIECES, "trees")
SHIM_USER = """#include <linux/kernel.h>
#include <linux/slab.h>

void kmem_cache_set_non_kernel(struct kmem_cache *, unsigned int);
void kmem_cache_set_callback(struct kmem_cache *, void (*)(void *));
void kmem_cache_set_private(struct kmem_cache *, void *);
unsigned int kmem_cache_nr_allocated(struct kmem_cache *);
unsigned long kmem_cache_get_alloc(struct kmem_cache *);
unsigned int kmem_cache_nr_tallocated(struct kmem_cache *);
void kmem_cache_zero_nr_tallocated(struct kmem_cache *);

static unsigned int writers;

static void second_writer(void *arg)
{
	BUG_ON(arg != &writers);
	writers++;
}

static unsigned int served(struct kmem_cache *s, gfp_t flags, unsigned int calls)
{
	unsigned int n = 0;
	void *p;

	while (calls--) {
		p = kmem_cache_alloc(s, flags);
		if (!p)
			continue;
		n++;
		kmem_cache_free(s, p);
	}
	return n;
}

int main(void)
{
	struct kmem_cache *s = kmem_cache_create("nodes", 256, 256, SLAB_PANIC, NULL);
	void *p[7];

	BUG_ON(served(s, GFP_NOWAIT, 9) != 0 || served(s, GFP_KERNEL, 9) != 9);
	kmem_cache_set_non_kernel(s, 3);
	BUG_ON(served(s, GFP_NOWAIT, 9) != 3 || served(s, GFP_KERNEL, 9) != 9);
	kmem_cache_set_non_kernel(s, 0);
	BUG_ON(served(s, GFP_NOWAIT, 9) != 0);

	kmem_cache_set_private(s, &writers);
	kmem_cache_set_callback(s, second_writer);
	BUG_ON(served(s, GFP_NOWAIT, 2) != 0 || writers != 0);
	BUG_ON(served(s, GFP_KERNEL, 2) != 2 || writers != 2);
	kmem_cache_set_callback(s, NULL);
	BUG_ON(served(s, GFP_KERNEL, 1) != 1 || writers != 2);

	kmem_cache_zero_nr_tallocated(s);
	BUG_ON(kmem_cache_alloc_bulk(s, GFP_KERNEL, 7, p) != 7);
	BUG_ON(kmem_cache_nr_tallocated(s) != 7 || kmem_cache_nr_allocated(s) != 7);
	BUG_ON(kmem_cache_get_alloc(s) != 7 * 256);
	kmem_cache_free_bulk(s, 7, p);
	BUG_ON(kmem_cache_nr_tallocated(s) != 7 || kmem_cache_nr_allocated(s) != 0);
	kmem_cache_destroy(s);
	return 0;
}
"""
SHIM_LINES = 40


def uses_rcu(path):
    with open(path, encoding="utf-8") as file:
        return "<linux/rcu" in file.read()


class Linux(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.work = tempfile.mkdtemp()
        cls.prefix = os.path.join(cls.work, "prefix")
        subprocess.run(["cmake", "--install", BUILD, "--prefix", cls.prefix], check=True,
                       stdout=subprocess.DEVNULL)
        cls.lib = next(folder for folder, _, files in os.walk(cls.prefix) if "libuslab.a" in files)
        cls.environment = dict(os.environ, PKG_CONFIG_PATH=os.path.join(cls.lib, "pkgconfig"),
                               LD_LIBRARY_PATH=cls.lib)
        cls.compilers = [name for name in ("gcc", "clang") if shutil.which(name)]

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.work)

    def run_ok(self, command, **more):
        run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120,
                             env=self.environment, **more)
        self.assertEqual(run.returncode, 0, f"{shlex.join(command)}\n{run.stdout}{run.stderr}")
        return run.stdout + run.stderr

    def flags(self, option):
        return shlex.split(self.run_ok(["pkg-config", option, "uslab-linux"]))

    @staticmethod
    def urcu(compiler):
        return subprocess.run([compiler, "-shared", "-lurcu-bp", "-o", "/dev/null"],
                              stderr=subprocess.DEVNULL, check=False).returncode == 0

    def pieces(self, more):
        """Each piece with each compiler, with more flags behind those of pkg-config."""
        ran = 0
        for compiler in self.compilers:
            for name in sorted(os.listdir(PIECES)):
                path, libraries = os.path.join(PIECES, name), []
                if not name.endswith("_test.c"):
                    continue
                if uses_rcu(path):
                    if not self.urcu(compiler):
                        print(f"{compiler}, {name}: SKIPPED, there is no liburcu", file=sys.stderr)
                        continue
                    libraries = ["-lurcu-bp"]
                program = os.path.join(self.work, f"{compiler}-{name[:-2]}")
                with self.subTest(piece=name, compiler=compiler):
                    self.run_ok([compiler, *FLAGS, "-O2", *self.flags("--cflags"), *more, path,
                                 os.path.join(PIECES, "main.c"), *self.flags("--libs"), *libraries,
                                 "-pthread", "-o", program])
                    self.assertEqual(self.run_ok([program]), "ok\n")
                    ran += 1
        self.assertGreaterEqual(ran, 4 * len(self.compilers))

    def test_alone(self):
        self.pieces([])

    @unittest.skipUnless(TREE, "KERNEL_TREE names no kernel tree")
    def test_beside_a_kernel_tree(self):
        cpu = {"x86_64": "x86", "aarch64": "arm64", "riscv64": "riscv"}[platform.machine()]
        folders = [os.path.join(TREE, "tools", "include"),
                   os.path.join(TREE, "tools", "arch", cpu, "include")]
        self.assertTrue(os.path.exists(os.path.join(folders[0], "linux", "list.h")), folders[0])
        self.pieces([f"-I{folder}" for folder in folders])

    def run_text(self, name, text, flags):
        """Compiles text by the flags of uslab-linux.pc with more flags behind, and runs it."""
        for compiler in self.compilers:
            with self.subTest(compiler=compiler):
                program = os.path.join(self.work, f"{compiler}-{name}")
                self.run_ok([compiler, *FLAGS, *self.flags("--cflags"), *flags, "-x", "c", "-",
                             *self.flags("--libs"), "-o", program], input=text)
                self.run_ok([program])

    def test_names_of_ours_alone(self):
        self.run_text("alone", ALONE, [])

    def test_beside_headers_of_a_newer_system(self):
        """The system's <linux/bits.h> (Debian 13 has one) has none of the names that kernel code uses."""
        system = os.path.join(self.work, "system")
        os.makedirs(os.path.join(system, "linux"))
        with open(os.path.join(system, "linux", "bits.h"), "w", encoding="utf-8") as file:
            file.write("#define __GENMASK(high, low) 0\n")
        self.run_text("newer", ALONE, ["-isystem", system])

    def test_beside_a_made_up_tree(self):
        tree = os.path.join(self.work, "tree")
        for name, text in MADE_UP_TREE.items():
            os.makedirs(os.path.dirname(os.path.join(tree, name)), exist_ok=True)
            with open(os.path.join(tree, name), "w", encoding="utf-8") as file:
                file.write(text)
        self.run_text("beside", BESIDE, [f"-I{tree}"])

    def test_shim_of_the_tests_of_trees(self):
        """No longer than it may be, and good for what it is for."""
        lines = 0
        for name in ("shim.c", os.path.join("linux", "slab.h")):
            with open(os.path.join(TREES, name), encoding="utf-8") as file:
                code = re.sub(r"/\*.*?\*/", "", file.read(), flags=re.S)
            lines += sum(1 for line in code.splitlines() if line.strip())
        self.assertLessEqual(lines, SHIM_LINES)
        for compiler in self.compilers:
            with self.subTest(compiler=compiler):
                program = os.path.join(self.work, f"{compiler}-shim")
                self.run_ok([compiler, *FLAGS, f"-I{TREES}", *self.flags("--cflags"), "-x", "c", "-",
                             os.path.join(TREES, "shim.c"), *self.flags("--libs"), "-o", program],
                            input=SHIM_USER)
                self.assertEqual(self.run_ok(["env", "USLAB_FAILSLAB=1,100,0,-1",
                                              "USLAB_CONF=slab_nomerge=1", program]), "")

    def test_each_header_by_itself(self):
        for compiler in self.compilers:
            urcu = self.urcu(compiler)
            for name in sorted(set(os.listdir(HEADERS)) - set(PARTS)):
                if name.startswith("rcu") and not urcu:
                    continue
                with self.subTest(header=name, compiler=compiler):
                    text = f"#include <linux/{name}>\n#include <linux/{name}>\nint nothing;\n"
                    said = self.run_ok([compiler, *FLAGS, "-Wextra", *self.flags("--cflags"), "-x", "c",
                                        "-fsyntax-only", "-"], input=text)
                    self.assertEqual(said, "")

    def test_find_package(self):
        folder = os.path.join(self.work, "cmake")
        os.makedirs(folder)
        with open(os.path.join(folder, "CMakeLists.txt"), "w", encoding="utf-8") as file:
            file.write(CMAKE)
        self.run_ok(["cmake", "-G", "Ninja", "-S", folder, "-B", folder, f"-DPIECES={PIECES}",
                     f"-DCMAKE_PREFIX_PATH={self.prefix}"])
        self.run_ok(["cmake", "--build", folder])
        for kind in ("uslab", "uslab_static"):
            self.assertEqual(self.run_ok([os.path.join(folder, f"rules_{kind}")]), "ok\n")


if __name__ == "__main__":
    unittest.main(verbosity=2)
