#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The table of docs/debugging.md is what scripts/misuse-table finds, and nothing that glibc notices is missed.

The table is that of preset release on a machine with restartable sequences; elsewhere only the latter is looked at.

ctest: timeout=600
"""
import os
import runpy
import subprocess
import sys
import unittest

BUILD = os.environ["USLAB_BUILD"]
SCRIPT = os.path.join(os.environ["USLAB_SRC"], "scripts", "misuse-table")
# arrays of CPUs, which hide what a lock would see, need rseq
HAS_RSEQ = os.path.basename(BUILD) == "release" and "rseq" not in os.environ.get("GLIBC_TUNABLES", "")


def table(libc, of_libc, of_hardened):
    return f"| mistake | {libc} | default | hardened |\n| uaf write | {of_libc} | - | {of_hardened} |\n"


class Table(unittest.TestCase):
    def test_is_what_is_found(self):
        mode = "--check" if HAS_RSEQ else "--missed"
        done = subprocess.run([sys.executable, SCRIPT, mode, "--build", BUILD], check=False)
        self.assertEqual(done.returncode, 0)

    def test_another_glibc(self):
        """Its column is compared with that of the same version only."""
        script = runpy.run_path(SCRIPT)
        here, differences = script["MODES"][0][0], script["differences"]
        self.assertRegex(here, r"^glibc 2\.\d+$")
        found = table(here, "ended", "reported")
        self.assertEqual(differences(table(here, "crash", "reported"), found), [])
        self.assertEqual(len(differences(table(here, "-", "reported"), found)), 2)
        self.assertEqual(differences(table("glibc 2.1", "-", "reported"), found), [])
        self.assertEqual(len(differences(table("glibc 2.1", "-", "-"), found)), 2)


if __name__ == "__main__":
    unittest.main(verbosity=2)
