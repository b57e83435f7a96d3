#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""uslab debug and others look at a program whose caches hold what should not have been freed: it is reported, and the program lives."""
import json
import os
import subprocess
import unittest

BIN = os.environ["USLAB_BIN"]
PROGRAM = os.path.join(os.environ["USLAB_BUILD"], "tests", "misuse", "latent")

# What is said of each; the second way where calls are out of line and notice it at once.
REPORTS = {
    "slub": {
        "double": r"BUG mine \(Not tainted\): Object already free",
        "interior": r"BUG mine .*: Invalid object pointer 0x",
        "foreign": r"BUG mine .*: Invalid object pointer 0x",
        "other": r"BUG mine .*: Invalid object pointer 0x|mine but object is from other",
        "link": r"BUG mine \(Not tainted\): Freechain corrupt",
    },
    "slab": {
        "double": r"BUG mine \(Not tainted\): Object already free\n(.*\n){1,7}slab: double free detected in cache 'mine', objp 0x",
        "interior": r"BUG mine .*: Invalid object pointer 0x",
        "foreign": r"BUG mine .*: Invalid object pointer 0x",
        "other": r"BUG mine .*: Invalid object pointer 0x|mine but object is from other",
        "index": r"BUG mine \(Not tainted\): Freechain corrupt\n(.*\n){1,7}slab error in slab_get_obj\(\): cache `mine': double free, or memory outside object",
    },
    "slobseg": {
        "double": r"BUG mine \(Not tainted\): Object already free",
        "interior": r"BUG mine .*: Invalid object pointer 0x",
        "foreign": r"BUG mine .*: Invalid object pointer 0x",
        "other": r"BUG mine .*: Invalid object pointer 0x|mine but object is from other",
        "link": r"BUG mine \(Not tainted\): Freechain corrupt",
    },
    # in pages that caches share nothing says whose an object is
    "slobseg:pow2": {
        "double": r"BUG mine \(Not tainted\): Object already free",
        "interior": r"BUG mine .*: Invalid object pointer 0x",
        "foreign": r"BUG mine .*: Invalid object pointer 0x",
        "other": None,
        "link": r"BUG slobseg:pow2 \(Not tainted\): Freechain corrupt",
    },
    # nor, without a header, where one starts
    "slob": {
        "double": r"BUG mine \(Not tainted\): Object already free",
        "interior": None,
        "foreign": r"BUG mine .*: Invalid object pointer 0x",
        "other": None,
        "link": r"BUG slob \(Not tainted\): Freechain corrupt",
        "header": r"BUG slob .*: Invalid object pointer 0x.*\n(.*\n){1,7}.*was freed twice, starts no object, ",
    },
    "slob:1991": {
        "double": r"BUG mine \(Not tainted\): Object already free",
        "link": r"BUG slob:1991 \(Not tainted\): Freechain corrupt",
    },
}
COMMANDS = [["F"], ["FZPU"], ["U"], ["--shrink"]]
BROKEN = ("link", "index")  # what isolates a slab


class Latent(unittest.TestCase):
    def tool(self, *words):
        tool = subprocess.run([BIN, *words], capture_output=True, text=True, check=False, timeout=120)
        self.assertEqual(tool.returncode, 0, tool.stderr)
        return tool.stdout

    def observe(self, engine, mistake, command, report):
        """report: what must be said of it; None: nothing can be, but the program must live."""
        environment = {k: v for k, v in os.environ.items() if not k.startswith("USLAB_CONF")}
        environment["USLAB_CONF"] = f"engine={engine},front=array"
        with subprocess.Popen([PROGRAM, mistake, "wait"], stdin=subprocess.PIPE, text=True, env=environment,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            self.assertEqual(process.stdout.readline(), "ready\n")
            pid = str(process.pid)
            self.tool("info", "-p", pid, "mine")
            for words in (command, ["--shrink"], ["F"], ["--validate"]):
                self.tool("debug", "-p", pid, "--cache", "mine", *words)
            known = json.loads(self.tool("info", "-p", pid, "--json"))["uslab"]
            self.assertEqual(known["isolated"], 1 if mistake in BROKEN else 0)
            _, said = process.communicate()
        self.assertEqual(process.returncode, 0, said)
        self.assertIn("the program goes on", said)
        if report:
            self.assertRegex(said, report)

    def test_all(self):
        for engine, reports in REPORTS.items():
            for mistake, report in reports.items():
                for command in COMMANDS:
                    with self.subTest(engine=engine, mistake=mistake, command=command):
                        self.observe(engine, mistake, command, report)

    def test_track(self):
        for engine in REPORTS:
            with self.subTest(engine=engine):
                self.track(engine)

    def track(self, engine):
        environment = {k: v for k, v in os.environ.items() if not k.startswith("USLAB_CONF")}
        environment["USLAB_CONF"] = f"engine={engine},front=none"
        with subprocess.Popen([PROGRAM, "double", "wait"], stdin=subprocess.PIPE, text=True, env=environment,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            self.assertEqual(process.stdout.readline(), "ready\n")
            self.tool("track", "-p", str(process.pid), "--cache=mine", "--full", "--once", "--interval=0.1")
            _, said = process.communicate()
        self.assertEqual(process.returncode, 0, said)
        self.assertIn("the program goes on", said)


if __name__ == "__main__":
    unittest.main()
