#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# ctest: timeout=900
"""The gdb commands slabinfo and slab, in a stopped process and in a core file."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from folder import InFolder  # noqa: E402

BIN = os.environ["USLAB_BIN"]
LIB = os.environ["USLAB_LIB"]
SRC = os.environ["USLAB_SRC"]
CC = os.environ.get("USLAB_CC", "cc")
SCRIPT = f"{SRC}/tools/gdb/uslab-gdb.py"

WIDGETS = r"""
#include <stdlib.h>
#include <uslab/slab.h>

struct widget {
	char bytes[328];
};

struct widget *live;
struct widget *gone;
struct widget on_stack;

int main(void)
{
	struct kmem_cache *cache = kmem_cache_create("widget", 328, 0, SLAB_STORE_USER, NULL);

	for (int i = 0; i < 100; i++)
		live = kmem_cache_alloc(cache, GFP_KERNEL);
	gone = kmem_cache_alloc(cache, GFP_KERNEL);
	kmem_cache_free(cache, gone);
	abort();
}
"""

MALLOC = r"""
#include <stdlib.h>

void *volatile block;

int main(void)
{
	for (int i = 0; i < 5000; i++)
		block = malloc(700);
	abort();
}
"""


STEPS = r"""
#include <stdio.h>
#include <stdlib.h>
#include <uslab/slab.h>

int value;

int main(void)
{
	struct kmem_cache *cache = kmem_cache_create("stepped", 64, 0, 0, NULL);
	void *p = kmem_cache_alloc(cache, GFP_KERNEL);
	kmem_cache_free(cache, p);
	p = kmem_cache_alloc(cache, GFP_KERNEL);
	kmem_cache_free(cache, p);
	p = malloc(100);
	value = 5;
	free(p);
	return 0;
}
"""


def compile_program(text, path, *options):
    subprocess.run([CC, "-g", "-O0", "-I", f"{SRC}/include", "-x", "c", "-", "-o", path, *options],
                   input=text, text=True, check=True)


class GdbTest(InFolder):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.widgets = os.path.join(cls.folder, "widgets")
        cls.blocks = os.path.join(cls.folder, "blocks")
        compile_program(WIDGETS, cls.widgets, "-L", LIB, "-luslab", f"-Wl,-rpath,{LIB}")
        compile_program(MALLOC, cls.blocks)

    def gdb(self, files, *commands, load=("-iex", f"source {SCRIPT}")):
        arguments = ["gdb", "-q", "-nx", "-batch", "-iex", "set debuginfod enabled off", *load]
        for command in commands:
            arguments += ["-ex", command]
        run = subprocess.run(arguments + list(files), capture_output=True, text=True, timeout=300,
                             cwd=self.folder, check=False, stdin=subprocess.DEVNULL)
        return run.stdout + run.stderr

    def check_widgets(self, text):
        self.assertRegex(text, r"(?m)^Name +Objects Objsize")
        self.assertRegex(text, r"(?m)^widget +100 +328 ")
        parts = text.split("====")
        self.assertRegex(parts[1], r"slab widget start (0x\w+) pointer offset 16 size 328")
        self.assertRegex(parts[1], r"allocated at main\+0x")
        self.assertRegex(parts[1], r"object +live")
        self.assertRegex(parts[2], r"object +free")
        self.assertRegex(parts[2], r"Free path:\n +main\+0x")
        self.assertNotRegex(parts[3], r"slab widget")

    LOOK = ("slabinfo", "echo ====\n", "slab live->bytes[16]@4", "echo ====\n", "slab gone",
            "echo ====\n", "slab on_stack")

    def test_process(self):
        self.check_widgets(self.gdb([self.widgets], "run", *self.LOOK))

    def test_core(self):
        place = tempfile.mkdtemp(dir=self.folder)
        core = os.path.join(place, "a core")
        # by gdb itself, so that it does not matter what the machine does with cores
        self.gdb([self.widgets], "run", f"generate-core-file {core}")
        self.assertTrue(os.path.exists(core))
        self.check_widgets(self.gdb([self.widgets, core], *self.LOOK))
        self.check_widgets(self.gdb([self.widgets, core], "set sysroot /", *self.LOOK))
        say = os.path.join(place, "say")
        with open(say, "w", encoding="ascii") as stream:
            stream.write("#!/bin/sh\necho said: \"$@\"\n")
        os.chmod(say, 0o755)
        look = f"set uslab-command {say}", "slabinfo"
        self.assertIn(f"said: info --core {core} --sysroot {place}\n",
                      self.gdb([self.widgets, core], f"set sysroot {place}", *look))
        self.assertIn(f"said: info --core {core}\n", self.gdb([self.widgets, core], *look))

    def test_next(self):
        """Over lines with inline hits, instruction by instruction: they end."""
        path = os.path.join(self.folder, "steps")
        for level in "-O0", "-O2":
            compile_program(STEPS, path, level, "-L", LIB, "-luslab", f"-Wl,-rpath,{LIB}")
            text = self.gdb([path], "break main", "run", *["next"] * 5, "print 12345678", "continue")
            self.assertRegex(text, r"(?s)\n1[3-9]\t.*12345678.*exited normally", text)
            self.assertNotIn("?? ()", text)

    def test_watch(self):
        """Without the CPU's registers each instruction is a step, also those of the drop-in."""
        path = os.path.join(self.folder, "steps")
        compile_program(STEPS, path, "-L", LIB, "-luslab", f"-Wl,-rpath,{LIB}")
        text = self.gdb([path], f"set environment LD_PRELOAD {LIB}/libuslab_malloc.so", "set startup-with-shell off",
                        "break main", "run", "set can-use-hw-watchpoints 0", "watch value", "continue", "continue",
                        "continue")
        self.assertRegex(text, r"(?s)New value = 5.*exited normally", text)

    def test_drop_in(self):
        text = self.gdb([self.blocks],
                        f"set environment LD_PRELOAD {LIB}/libuslab_malloc.so",
                        "set startup-with-shell off", "run", "slabinfo malloc", "slab block")
        self.assertRegex(text, r"(?m)^malloc-\d+ +5\d\d\d ")
        self.assertRegex(text, r"slab malloc-\d+ start 0x\w+ pointer offset 0")

    def test_loaded_with_the_library(self):
        """As installed: found by the library's name in gdb's auto-load directory."""
        library = os.path.realpath(f"{LIB}/libuslab.so")
        directory = os.path.join(self.folder, "auto-load")
        os.makedirs(directory + os.path.dirname(library))
        shutil.copy(SCRIPT, f"{directory}{library}-gdb.py")
        text = self.gdb([self.widgets], "run", "slabinfo",
                        load=("-iex", f"set auto-load scripts-directory {directory}",
                              "-iex", f"set auto-load safe-path {directory}"))
        self.assertRegex(text, r"(?m)^widget +100 ")

    def test_finds_the_command(self):
        text = self.gdb([self.widgets], "run", "show uslab-command")
        self.assertIn(os.path.realpath(BIN), text)

    def test_mistakes(self):
        self.assertIn("Neither a process of this machine nor a core file",
                      self.gdb([self.widgets], "slabinfo"))
        text = self.gdb([self.widgets], "run", "slab", "slab no_such_name", "slabinfo --bad",
                        "slab *(void **)0", "set uslab-command /no/such", "slabinfo")
        self.assertIn("Which address?", text)
        self.assertIn('No symbol "no_such_name"', text)
        self.assertIn("'--bad'", text)
        self.assertIn("Cannot access memory", text)
        self.assertIn("/no/such: No such file or directory", text)
        self.assertNotIn("Traceback", text)
        self.assertIn("does not use uslab", self.gdb(["/bin/true"], "starti", f"set uslab-command {BIN}", "slabinfo"))


if __name__ == "__main__":
    gdb = shutil.which("gdb")
    probe = gdb and subprocess.run([gdb, "-nx", "-batch", "-ex", "python print(6 * 7)"],
                                   capture_output=True, text=True, check=False).stdout
    if not probe or not re.search("^42$", probe, re.M):
        print("no gdb with Python here")
        sys.exit(77)
    unittest.main(verbosity=2)
