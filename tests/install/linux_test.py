#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
#
# ctest: timeout=300
"""linux_test - kernel code compiles unchanged against what is installed for it, and runs

The pieces of tests/linux/, as GNU C11, with GCC and Clang, by the flags of uslab-linux.pc; once
more through find_package(), and with the headers that a kernel tree has for its tools behind ours,
where KERNEL_TREE names one. Each header of the folder compiles by itself.
"""
import os
import platform
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
                if name == "main.c":
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
