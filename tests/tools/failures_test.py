#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""scripts/failures.py names the tests of a suite that failed, and shows how each ended."""
import os
import subprocess
import sys
import tempfile
import unittest

FAILURES = os.path.join(os.environ["USLAB_SRC"], "scripts", "failures.py")

# As ctest writes it.
JUNIT = """<?xml version="1.0" encoding="UTF-8"?>
<testsuite name="x" tests="4" failures="1" disabled="0" skipped="2">
	<testcase name="good" status="run"><system-out>fine</system-out></testcase>
	<testcase name="bad" status="fail"><failure message=""/>
		<system-out>{lines}&lt;last&gt; &amp; more
</system-out></testcase>
	<testcase name="skipped" status="notrun"><skipped message="SKIP_RETURN_CODE=77"/></testcase>
	<testcase name="missing" status="notrun"><skipped message="Unable to find executable"/>
		<system-out>Unable to find executable: /nowhere</system-out></testcase>
</testsuite>
"""


class Failures(unittest.TestCase):
    def said(self, *arguments, text=JUNIT.format(lines="".join(f"line {i}\n" for i in range(40)))):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "junit.xml")
            with open(path, "w", encoding="utf-8") as stream:
                stream.write(text)
            return subprocess.run([sys.executable, FAILURES, *arguments, path], capture_output=True,
                                  text=True, check=False)

    def test_names(self):
        self.assertEqual(self.said("--names").stdout, "bad missing\n")

    def test_ends(self):
        lines = self.said().stdout.splitlines()
        self.assertEqual(lines[0], "---- bad")
        self.assertEqual(lines[1:16], [f"line {i}" for i in range(26, 40)] + ["<last> & more"])
        self.assertEqual(lines[16:], ["---- missing", "Unable to find executable: /nowhere"])

    def test_cut_short(self):
        run = self.said(text=JUNIT[:200])
        self.assertEqual((run.returncode, run.stdout), (1, ""))
        self.assertIn("junit.xml: ", run.stderr)

    def test_no_file(self):
        run = subprocess.run([sys.executable, FAILURES, "/nowhere"], capture_output=True, text=True, check=False)
        self.assertEqual(run.returncode, 1)
        self.assertIn("/nowhere", run.stderr)


if __name__ == "__main__":
    unittest.main()
