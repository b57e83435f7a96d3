#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# ctest: timeout=900
"""uslab track of a program with more caches than a byte can count: all of them are switched, shown, and off again."""
import json
import os
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from folder import InOwnFolder, environment  # noqa: E402
from programs import WITH_LIBRARY, compile_program  # noqa: E402

BIN = os.environ["USLAB_BIN"]
CACHES = 300
CHOSEN = ("-cmany-*", "-ckmalloc-large")

# An object of each cache, and whole pages, whenever it is told to.
PROGRAM = rf"""
#include <stdio.h>
#include <unistd.h>
#include <uslab/slab.h>

int main(void)
{{
	static struct kmem_cache *cache[{CACHES}];
	char name[32], c;

	for (int i = 0; i < {CACHES}; i++) {{
		snprintf(name, sizeof(name), "many-%d", i);
		cache[i] = kmem_cache_create(name, 64, 0, SLAB_NO_MERGE, NULL);
	}}
	for (;;) {{
		for (int i = 0; i < {CACHES}; i++)
			kmem_cache_alloc(cache[i], GFP_KERNEL);
		kmalloc(1 << 20, GFP_KERNEL);
		if (write(1, ".", 1) != 1 || read(0, &c, 1) != 1)
			return 0;
	}}
}}
"""


class TrackMany(InOwnFolder):
    def setUp(self):
        super().setUp()
        program = compile_program(self.folder, "many", PROGRAM, *WITH_LIBRARY)
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0,
                                        env=environment(USLAB_CONF="control=20"))
        for cleanup in (self.process.stdout.close, self.process.stdin.close, self.process.wait,
                        self.process.kill):
            self.addCleanup(cleanup)
        self.assertEqual(self.process.stdout.read(1), b".")

    def command(self, *arguments):
        return [BIN, "track", "-p", str(self.process.pid), *arguments]

    def track(self, *arguments):
        result = subprocess.run(self.command(*arguments), capture_output=True, text=True, check=False, timeout=300)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def tracked(self):
        """How many are."""
        found = subprocess.run([BIN, "info", "-p", str(self.process.pid), "-z", "--json"], capture_output=True,
                               text=True, check=True, timeout=300)
        return sum(cache["flags"]["store_user"] for cache in json.loads(found.stdout)["caches"])

    def await_tracked(self, number):
        end = time.monotonic() + 300
        while self.tracked() != number:
            self.assertLess(time.monotonic(), end)
            time.sleep(0.05)

    def test_all(self):
        self.track(*CHOSEN, "--once", "-i0.1", "--keep")
        self.assertEqual(self.tracked(), CACHES + 1)
        self.process.stdin.write(b"x")
        self.assertEqual(self.process.stdout.read(1), b".")
        found = json.loads(self.track(*CHOSEN, "--once", "--json"))
        self.assertEqual([cache["tracked"] for cache in found["caches"]], [1] * (CACHES + 1))
        self.assertEqual(sum(site["objects"] for site in found["sites"]), CACHES + 1)
        self.assertEqual(max(site["caches"] for site in found["sites"]), CACHES)
        self.track("--off")
        self.assertEqual(self.tracked(), 0)

    def test_killed(self):
        """What is noted of each cache reaches the process that switches them off."""
        tool = subprocess.Popen(self.command(*CHOSEN, "-i0.5"), stdout=subprocess.PIPE)
        self.addCleanup(tool.stdout.close)
        self.assertTrue(tool.stdout.readline())
        self.assertEqual(self.tracked(), CACHES + 1)
        tool.kill()
        tool.wait()
        self.await_tracked(0)


if __name__ == "__main__":
    unittest.main()
