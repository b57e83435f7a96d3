#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# ctest: timeout=900
"""uslab track --core of a program that was sampled: the estimates that it gave for the living program."""
import json
import os
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from folder import InOwnFolder, environment  # noqa: E402
from programs import compile_program  # noqa: E402

BIN = os.environ["USLAB_BIN"]
CACHES = {"small": "malloc-64", "large": "malloc-1024"}
OBJECTS = {"small": 200000, "large": 20000}
SIZES = {"small": 60, "large": 1000}

# Allocates when it is told to, once it is sampled, and then sits still.
PROGRAM = rf"""
#include <stdlib.h>
#include <unistd.h>

static void *volatile kept;

__attribute__((noinline)) static void small(void)
{{
	kept = malloc({SIZES["small"]});
}}

__attribute__((noinline)) static void large(void)
{{
	kept = malloc({SIZES["large"]});
}}

int main(void)
{{
	char c;

	small(); /* there are caches now; later these would be call sites of one object each */
	large();
	for (;;) {{
		if (write(1, ".", 1) != 1 || read(0, &c, 1) != 1)
			return 0;
		for (int i = 0; c == 'g' && i < {OBJECTS["small"]}; i++)
			small();
		for (int i = 0; c == 'g' && i < {OBJECTS["large"]}; i++)
			large();
	}}
}}
"""


@unittest.skipUnless(shutil.which("gdb"), "no gdb to make a core file with")
class TrackCore(InOwnFolder):
    def setUp(self):
        super().setUp()
        program = compile_program(self.folder, "keeper", PROGRAM)
        self.process = subprocess.Popen([BIN, "run", program], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, bufsize=0,
                                        env=environment(USLAB_CONF="control=20"))
        for cleanup in (self.process.stdout.close, self.process.stdin.close, self.process.wait,
                        self.process.kill):
            self.addCleanup(cleanup)
        self.assertEqual(self.process.stdout.read(1), b".")

    def tell(self, what):
        self.process.stdin.write(what)
        self.assertEqual(self.process.stdout.read(1), b".")

    def track(self, *arguments):
        result = subprocess.run([BIN, "track", *arguments], capture_output=True, text=True, check=False,
                                timeout=300)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def of_process(self, *arguments):
        return self.track("-p", str(self.process.pid), *(f"-c{name}" for name in CACHES.values()), *arguments)

    def of_core(self):
        core = os.path.join(self.folder, "core")
        subprocess.run(["gdb", "-p", str(self.process.pid), "-batch", "-ex", f"gcore {core}"], check=True,
                       capture_output=True, timeout=300)
        found = json.loads(self.track("--core", core, "--json"))
        os.unlink(core)
        return found

    @staticmethod
    def figures(found):
        """Of each call site what does not depend on how long it was tracked."""
        keys = [key + end for key in ("objects", "bytes", "share") for end in ("", "_low", "_high")]
        return {site["function"]: [site[key] for key in (*keys, "tracked")] for site in found["sites"]}

    def check_estimates(self, found):
        """Far more samples are taken than it needs to be right within a factor of two."""
        self.assertTrue(found["estimated"])
        self.assertEqual({cache["name"]: cache["sampled"] for cache in found["caches"]},
                         {name: True for name in CACHES.values()})
        for site in found["sites"]:
            name = site["function"]
            self.assertLess(site["tracked"] * 2, OBJECTS[name])
            self.assertTrue(OBJECTS[name] / 2 < site["objects"] < OBJECTS[name] * 2, site)
            self.assertTrue(OBJECTS[name] * SIZES[name] / 2 < site["bytes"] < OBJECTS[name] * SIZES[name] * 2,
                            site)
            self.assertTrue(site["objects_low"] < site["objects"] < site["objects_high"], site)

    def test_sampled(self):
        self.of_process("--sample", "--once", "-i0.1", "--keep")
        self.tell(b"g")
        live = json.loads(self.of_process("--once", "--json"))
        self.assertEqual({site["function"] for site in live["sites"]}, set(OBJECTS))
        self.check_estimates(live)
        core = self.of_core()
        self.check_estimates(core)
        self.assertEqual(self.figures(core), self.figures(live))
        # what is left of it after its end stands for as many as before
        self.of_process("--off")
        ended = self.of_core()
        self.check_estimates(ended)
        self.assertEqual(self.figures(ended), self.figures(live))


if __name__ == "__main__":
    unittest.main()
