#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# ctest: timeout=300
"""uslab fs on caches of odd names: none is there twice, and lines of slabinfo are words."""
import os
import re
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from fs_test import BIN, Case, read, uslab  # noqa: E402


class Names(Case):
    def test_files(self):
        pid = self.start("names").pid
        top = self.mount(pid)
        lines = [re.sub(r" : (tunables|slabdata)", "", line).split()
                 for line in read(top, "proc/slabinfo").splitlines()[2:]]
        sizes = {words[0]: int(words[3]) for words in lines}
        self.assertEqual({len(words) for words in lines}, {12})
        self.assertEqual(len(sizes), len(lines))
        ids = {cache["object_size"]: cache["id"] for cache in self.caches(pid)}
        want = {"two?words": 1000, f"~{ids[1200]}": 1200, "dup": 1400, f"dup~{ids[1600]}": 1600,
                "x?": 1800, f"x?~{ids[2000]}": 2000}
        folders = {name.replace("two?words", "two words"): size for name, size in want.items()}
        for name, size in want.items():
            self.assertGreaterEqual(sizes[name], size)
            self.assertLess(sizes[name], size + 200)
        for name, size in folders.items():
            self.assertEqual(read(top, "kernel/slab", name, "object_size"), f"{size}\n")
        # and metrics have the names of the folders
        text = uslab("info", "-p", pid, "--prometheus").stdout
        samples = re.findall(r'(?m)^uslab_cache_object_size_bytes\{.*,cache="([^"]*)".* (\d+)$', text)
        self.assertEqual(len(samples), len({name for name, _ in samples}))
        self.assertLessEqual({(name, str(size)) for name, size in folders.items()}, set(samples))

    def test_slabtop(self):
        if not shutil.which("slabtop"):
            self.skipTest("no slabtop (procps)")
        run = subprocess.run([BIN, "fs", "-p", str(self.start("names").pid), "--enter", "--",
                              "slabtop", "-o"], capture_output=True, text=True, check=False, timeout=200)
        if re.search("cannot (make|mount|copy)|there is no /sys|/proc/slabinfo stays", run.stderr):
            self.skipTest(run.stderr.strip())
        self.assertEqual(run.returncode, 0, run.stderr)
        names = [line.split()[-1] for line in run.stdout.splitlines()[7:]]
        self.assertLessEqual({"two?words", "dup", "x?"}, set(names))
        self.assertEqual(len(names), len(set(names)))


if __name__ == "__main__":
    unittest.main(verbosity=2)
