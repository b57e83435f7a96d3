#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# ctest: sanitize=no
"""scripts/reached: which functions run is said by gdb, and what cannot be said is."""
import os
import shutil
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
SOURCE = os.environ.get("USLAB_SRC") or os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
BUILD = os.environ.get("USLAB_BUILD", os.path.join(SOURCE, "build", "release"))
ALLOCATES = ["bash", "-c", "x=$(echo 'a  b'); [ \"$x\" = 'a  b' ]"]


def reached(*arguments):
    return subprocess.run([os.path.join(SOURCE, "scripts", "reached"), "--build", BUILD, *arguments],
                          capture_output=True, text=True, check=False)


class Reached(unittest.TestCase):
    def setUp(self):
        if not shutil.which("gdb"):
            self.skipTest("there is no gdb")

    def names(self, *program):
        run = reached("--all", *program)
        self.assertEqual(run.returncode, 0, run.stderr)
        return {line.split()[1] for line in run.stdout.splitlines()}

    def test_what_starts_when(self):
        idle = self.names("true")
        self.assertIn("os_env", idle)
        self.assertNotIn("malloc", idle)
        self.assertLess(idle | {"malloc", "free", "arena_grow"}, self.names(*ALLOCATES))

    def test_what_is_listed_is_not_printed(self):
        run = reached(*ALLOCATES)
        self.assertEqual(run.returncode, 0, run.stderr)
        if ".text.first" in subprocess.run(["readelf", "-SW", os.path.join(BUILD, "lib", "libuslab_malloc.so")],
                                           capture_output=True, text=True, check=True).stdout:
            self.assertNotIn("malloc", run.stdout.split())
        else:
            self.assertIn("malloc", run.stdout.split())

    def test_what_cannot_be_run(self):
        for program, text in (("/nothing", "there is no program /nothing"), (__file__, "does not load the drop-in")):
            run = reached(program)
            self.assertEqual(run.returncode, 1, run.stderr)
            self.assertIn(text, run.stderr)
        self.assertEqual(reached().returncode, 2)
        run = reached("--build", "/nothing", "true")
        self.assertEqual((run.returncode, run.stdout), (1, ""))
        self.assertIn("build it", run.stderr)


if __name__ == "__main__":
    unittest.main()
