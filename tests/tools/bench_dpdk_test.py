#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""bench_dpdk_test - scripts/bench-dpdk says what it needs; it measures only where libdpdk is, by hand"""
import os
import subprocess
import unittest

SCRIPT = os.path.join(os.environ["USLAB_SRC"], "scripts", "bench-dpdk")


def run(*args, **environment):
    return subprocess.run([SCRIPT, *args], env={**os.environ, **environment}, capture_output=True, text=True,
                          check=False)


class Refused(unittest.TestCase):
    def test_usage(self):
        done = run("--rounds", "3")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("BUILD=DIR", done.stderr)

    def test_no_library(self):
        done = run(PKG_CONFIG_LIBDIR="/nonexistent", PKG_CONFIG_PATH="")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("apt-get install libdpdk-dev", done.stderr)


if __name__ == "__main__":
    unittest.main()
