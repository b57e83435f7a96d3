#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# ctest: timeout=300 label=full
"""uslab-bench-mesh: what sharing pages would release, of heaps for which it can be worked out."""
import os
import re
import subprocess
import sys
import unittest

SRC = os.environ["USLAB_SRC"]
BENCH = os.path.join(os.path.dirname(os.environ["USLAB_BIN"]), "uslab-bench-mesh")

sys.path.insert(0, os.path.join(SRC, "tests", "support"))
from folder import InFolder, environment  # noqa: E402

COLUMNS = ("size", "kib", "live", "empty", "pages", "slabs", "move")


def run(*arguments, **settings):
    return subprocess.run([BENCH, *arguments], capture_output=True, text=True, check=False,
                          env=environment(**settings), timeout=250)


def rows(text):
    """By cache, and "all": the columns as numbers."""
    found = {}
    for name, numbers in re.findall(r"(?m)^(\S+) +((?:[\d.]+ *){7})$", text):
        found[name] = dict(zip(COLUMNS, map(float, numbers.split())))
    return found


@unittest.skipUnless(os.path.exists(BENCH), "the benchmarks were not built")
class Mesh(InFolder):
    def heap(self, percent, **settings):
        done = run("heap", str(percent), **settings)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        found = rows(done.stdout)
        for row in found.values():
            for column in ("pages", "slabs"):  # of two that share one is released
                self.assertTrue(0 <= row[column] <= 50, row)
            self.assertTrue(0 <= row["empty"] <= 100 and 0 <= row["move"] <= 100, row)
        return found

    def test_heap(self):
        """Of pages with two places 42 % have one object, half of these in either; with 256 places none fit."""
        for settings in {}, {"USLAB_CONF": "random"}:
            found = self.heap(70, **settings)
            self.assertGreaterEqual(len(found), 13)
            for name, row in found.items():
                if row["size"] >= 16 and row["size"] < 4096 and name.startswith("mesh-"):
                    self.assertLess(abs(row["live"] - 30), 3, name)
                    self.assertLess(abs(row["move"] - 70), 5, name)
            self.assertTrue(17 < found["mesh-2048"]["pages"] < 23, found["mesh-2048"])
            self.assertLess(abs(found["mesh-2048"]["empty"] - 49), 5)
            self.assertTrue(30 < found["mesh-256"]["pages"] < 48, found["mesh-256"])
            self.assertLess(found["mesh-64"]["pages"], 12)
            self.assertEqual(found["mesh-16"]["pages"], 0)
            self.assertEqual(found["mesh-4096"]["pages"], 0)

    def test_fewer(self):
        """With 95 % freed there is more to share than with 70, of each size."""
        few, many = self.heap(95), self.heap(70)
        for name in ("mesh-64", "mesh-256", "mesh-512"):
            self.assertGreater(few[name]["pages"] + few[name]["empty"], many[name]["pages"] + many[name]["empty"], name)

    def test_costs(self):
        done = run("costs")
        self.assertEqual(done.returncode, 0, done.stderr)
        for line in "anonymous", "memfd", "before", "each second page shared", "and read":
            self.assertRegex(done.stdout, rf"(?m)^{line} +\d+ +\d+ +\d+")
        pairs = re.search(r"(\d+) pairs", done.stdout)
        self.assertGreater(int(pairs[1]), 0)

    def test_usage(self):
        for arguments in (), ("heap", "100"), ("process",), ("process", "x"), ("costs", "1"), ("other",):
            done = run(*arguments)
            self.assertEqual((done.returncode, done.stdout), (2, ""), arguments)
            self.assertIn("usage:", done.stderr)
        self.assertEqual(run("process", str(2 ** 22 + 1)).returncode, 1)


if __name__ == "__main__":
    unittest.main()
