#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
#
# ctest: timeout=1800
"""readme_test - every command of the README's sh blocks runs, from the top of the tree

`make test` is not run: this is it. The C example of the README must be examples/point.c in shape, and
is compiled as it stands.
"""
import os
import re
import subprocess
import sys
import tempfile
import unittest

TOP = os.environ["USLAB_SRC"]
NOT_HERE = {"make test"}


def blocks(language):
    with open(os.path.join(TOP, "README.md"), encoding="utf-8") as f:
        return re.findall(r"^```%s\n(.*?)^```$" % language, f.read(), re.M | re.S)


class Readme(unittest.TestCase):
    def test_commands(self):
        found = blocks("sh")
        self.assertGreaterEqual(len(found), 6)
        for block in found:
            if block.strip() in NOT_HERE:
                continue
            with self.subTest(block=block):
                # wait: what was started in the background must end well too
                run = subprocess.run(["bash", "-euc", block + "\nwait\n"], cwd=TOP,
                                     stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                     timeout=1500)
                if "needs two CPUs" in run.stderr and len(os.sched_getaffinity(0)) == 1:
                    continue  # which the README says
                self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
                self.assertNotEqual(run.stdout.strip(), "", block)

    def test_hosted_ci(self):
        """The hosted definition runs the two commands that the README begins with, and no other."""
        with open(os.path.join(TOP, ".github/workflows/test.yml"), encoding="utf-8") as f:
            (commands,) = re.findall(r"^ *command: \[(.*)\]$", f.read(), re.M)
        self.assertEqual(commands.split(", "), [block.strip() for block in blocks("sh")[:2]])

    def test_example(self):
        (source,) = blocks("c")
        with tempfile.TemporaryDirectory() as work:
            path = os.path.join(work, "example.c")
            with open(path, "w", encoding="utf-8") as f:
                f.write(source)
            program = os.path.join(work, "example")
            subprocess.run(["cc", "-O2", "-Wall", "-I", os.path.join(TOP, "include"), path,
                            os.path.join(os.environ["USLAB_BUILD"], "lib/libuslab.a"), "-o",
                            program], check=True)
            run = subprocess.run([program], capture_output=True, text=True, check=True)
            self.assertIn("point: 16 bytes", run.stdout)


if __name__ == "__main__":
    unittest.main(verbosity=2, argv=sys.argv)
