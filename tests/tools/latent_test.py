#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""uslab debug on a program whose caches hold what should not have been freed: it is reported, and the program lives."""
import os
import subprocess
import unittest

BIN = os.environ["USLAB_BIN"]
PROGRAM = os.path.join(os.environ["USLAB_BUILD"], "tests", "misuse", "latent")

# What is said of each; the second way where calls are out of line and notice it at once.
REPORTS = {
    "double": r"BUG mine \(Not tainted\): Object already free",
    "interior": r"BUG mine \(Not tainted\): |lies inside of an object of mine",
    "foreign": r"Freed pointer is no object of this cache|was not allocated by uslab",
    "other": r"Freed pointer is no object of this cache|mine but object is from other",
    "link": r"BUG mine \(Not tainted\): Freechain corrupt",
}
COMMANDS = [["F"], ["FZPU"], ["U"], ["--shrink"]]


class Latent(unittest.TestCase):
    def observe(self, mistake, command):
        environment = {k: v for k, v in os.environ.items() if not k.startswith("USLAB_CONF")}
        with subprocess.Popen([PROGRAM, mistake, "wait"], stdin=subprocess.PIPE, text=True, env=environment,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            self.assertEqual(process.stdout.readline(), "ready\n")
            for words in (command, ["--shrink"], ["F"], ["--validate"]):
                tool = subprocess.run([BIN, "debug", "-p", str(process.pid), "--cache", "mine", *words],
                                      capture_output=True, text=True, check=False, timeout=120)
                self.assertEqual(tool.returncode, 0, tool.stderr)
            _, said = process.communicate()
        self.assertEqual(process.returncode, 0, said)
        self.assertIn("the program goes on", said)
        self.assertRegex(said, REPORTS[mistake])

    def test_all(self):
        for mistake in REPORTS:
            for command in COMMANDS:
                with self.subTest(mistake=mistake, command=command):
                    self.observe(mistake, command)


if __name__ == "__main__":
    unittest.main()
