#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# ctest: sanitize=no
"""scripts/reached: which functions run is said by gdb, and what cannot be said is."""
import os
import shutil
import signal
import subprocess
import sys
import time
import unittest

sys.dont_write_bytecode = True
SOURCE = os.environ.get("USLAB_SRC") or os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
BUILD = os.environ.get("USLAB_BUILD", os.path.join(SOURCE, "build", "release"))
IDLE = "int main(void) { return 0; }"
ONE = """#include <stdlib.h>
int main(int n, char **v) { char *volatile p = malloc(100); free(p); return n != 2 || v[1][1] != ' '; }"""
SIGNALS = """#include <signal.h>
#include <stdlib.h>
static void on_signal(int number) { (void)number; }
int main(void) { signal(SIGINT, on_signal); signal(SIGTRAP, on_signal); raise(SIGINT); raise(SIGTRAP);
char *volatile p = malloc(100); free(p); return 0; }"""
sys.path.insert(0, os.path.join(SOURCE, "tests", "support"))
from folder import InFolder, environment  # noqa: E402
from programs import CC, compile_program  # noqa: E402


def reached(*arguments):
    return subprocess.run([os.path.join(SOURCE, "scripts", "reached"), "--build", BUILD, *arguments],
                          capture_output=True, env=environment(), text=True, check=False)


class Reached(InFolder):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        if not shutil.which(CC) or not shutil.which("gdb"):
            raise unittest.SkipTest("there is no compiler, or no gdb")
        cls.idle = [compile_program(cls.folder, "idle", IDLE)]
        cls.one = [compile_program(cls.folder, "one", ONE), "a b"]
        cls.signals = [compile_program(cls.folder, "signals", SIGNALS)]
        probe = subprocess.run(["gdb", "-q", "-nx", "-batch", "-ex", "python print('py' + 'thon')", "-ex", "run",
                                *cls.idle], capture_output=True, text=True, check=False)
        if "python" not in probe.stdout or "exited normally" not in probe.stdout:
            raise unittest.SkipTest("gdb has no Python, or may run nothing")

    def names(self, *program):
        run = reached("--all", *program)
        self.assertEqual(run.returncode, 0, run.stderr)
        return {line.split()[1] for line in run.stdout.splitlines()}

    def test_what_starts_when(self):
        idle = self.names(*self.idle)
        self.assertIn("os_env", idle)
        self.assertNotIn("malloc", idle)
        self.assertLess(idle | {"malloc", "free", "arena_grow"}, self.names(*self.one))

    def test_signals_are_the_program_s(self):
        self.assertIn("malloc", self.names(*self.signals))

    def test_what_is_listed_is_not_printed(self):
        run = reached(*self.one)
        self.assertEqual(run.returncode, 0, run.stderr)
        if ".text.first" in subprocess.run(["readelf", "-SW", os.path.join(BUILD, "lib", "libuslab_malloc.so")],
                                           capture_output=True, text=True, check=True).stdout:
            self.assertNotIn("malloc", run.stdout.split())
        else:
            self.assertIn("malloc", run.stdout.split())

    def until(self, condition):
        end = time.monotonic() + 50
        while not condition():
            self.assertLess(time.monotonic(), end)
            time.sleep(0.1)

    def test_gdb_ends_with_it(self):
        path = os.path.join(self.folder, "pid")
        with subprocess.Popen([os.path.join(SOURCE, "scripts", "reached"), "--build", BUILD, "sh", "-c",
                               f"echo $$ > {path}.new; mv {path}.new {path}; while :; do sleep 0.1; done"],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment()) as run:
            self.until(lambda: os.path.exists(path) or run.poll() is not None)
            run.terminate()
            run.communicate(timeout=50)
        self.assertEqual(run.returncode, 128 + signal.SIGTERM)
        with open(path, encoding="ascii") as stream:
            program = int(stream.read())
        self.until(lambda: not os.path.exists(f"/proc/{program}"))

    def test_what_cannot_be_run(self):
        for program, text in (("/nothing", "there is no program /nothing"), (__file__, "did not run with the drop-in")):
            run = reached(program)
            self.assertEqual(run.returncode, 1, run.stderr)
            self.assertIn(text, run.stderr)
        self.assertEqual(reached().returncode, 2)
        run = reached("--build", "/nothing", *self.idle)
        self.assertEqual((run.returncode, run.stdout), (1, ""))
        self.assertIn("build it", run.stderr)


if __name__ == "__main__":
    unittest.main()
