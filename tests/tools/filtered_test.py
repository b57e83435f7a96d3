#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# ctest: timeout=900 sanitize=no
"""A program that its seccomp filter ends for system calls it does not know (tests/tools/src/filtered.c).

No tool has it make any without --force; and those that docs/debugging.md lists are all that are made.
"""
import os
import re
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from folder import InFolder, environment  # noqa: E402

BIN = os.environ["USLAB_BIN"]
SO = os.environ["USLAB_MALLOC_SO"]
SRC = os.environ["USLAB_SRC"]
CC = os.environ.get("USLAB_CC", "cc")

READING = (
    ("info", "-p", "{}"),
    ("info", "-p", "{}", "-T"),
    ("info", "-p", "{}", "-t"),
    ("top", "-p", "{}", "-b", "-n", "2", "-d", "0.1"),
    ("debug", "-p", "{}", "--status"),
)
WRITING = (
    ("debug", "-p", "{}", "-c", "malloc-*", "FZPU"),
    ("debug", "-p", "{}", "-c", "malloc-large", "FZPU"),
    ("debug", "-p", "{}", "--validate"),
    ("debug", "-p", "{}", "--shrink"),
    ("debug", "-p", "{}", "-c", "malloc-large", "-"),
    ("debug", "-p", "{}", "-c", "malloc-*", "-"),
    ("info", "-p", "{}", "-dfzpu", "malloc-64"),
    ("info", "-p", "{}", "-s", "malloc-64"),
    ("track", "-p", "{}", "--once", "--interval", "0.5", "--sample", "-c", "malloc-1*"),
    ("track", "-p", "{}", "--once", "--interval", "0.5", "--full", "-c", "malloc-*"),
    ("track", "-p", "{}", "--once", "--interval", "0.5", "--full", "-c", "malloc-large"),
)


def listed(*rows):
    """Names of the table's rows that begin so."""
    names = []
    with open(os.path.join(SRC, "docs", "debugging.md"), encoding="utf-8") as stream:
        text = stream.read()
    for row in rows:
        found = re.search(rf"^\| {row}[^|]*\|([^|]*)\|$", text, re.M)
        assert found, f"docs/debugging.md has no row '{row}'"
        names += re.findall(r"`(\w+)`", found[1])
    return names


def filters(pid):
    """How many of its threads have one, and have none."""
    modes = []
    for thread in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{thread}/status", encoding="utf-8") as stream:
            modes += re.findall(r"^Seccomp:\s*(\d)", stream.read(), re.M)
    return sum(mode != "0" for mode in modes), modes.count("0")


class Filtered(InFolder):
    def start(self, names, *arguments):
        program = os.path.join(self.folder, "filtered")
        subprocess.run([CC, "-O1", "-g", "-pthread", "-o", program,
                        "-DALLOWED=" + ",".join("SYS_" + name for name in names),
                        f"{SRC}/tests/tools/src/filtered.c"], check=True)
        with open(os.path.join(self.folder, "log"), "wb") as log:
            process = subprocess.Popen([program, *arguments], stderr=log,
                                       env=environment(LD_PRELOAD=SO))
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        for _ in range(60000):
            if process.poll() is not None or filters(process.pid) == (2, 0):
                break
            time.sleep(0.001)
        if process.poll() == 1:
            self.skipTest("no seccomp filters here")
        self.alive(process)
        return process

    def alive(self, process, what="the start"):
        status = process.poll()
        if status is None:
            return
        self.fail(f"{what} ended it: {signal.Signals(-status).name if status < 0 else status}")

    def run_tool(self, process, words, *more):
        done = subprocess.run([BIN, *(word.format(process.pid) for word in words), *more],
                              capture_output=True, text=True, check=False, timeout=120)
        time.sleep(0.2)  # some rounds of the program, with what was switched
        self.alive(process, " ".join(words))
        return done

    def test_observed(self):
        process = self.start(listed("a miss"))
        for words in READING:
            self.assertEqual(self.run_tool(process, words).returncode, 0, words)
        for words in WRITING:
            done = self.run_tool(process, words)
            self.assertEqual(done.returncode, 1, words)
            self.assertRegex(done.stderr, r"seccomp filter.*membarrier.*--force", words)

    def test_listed(self):
        process = self.start(listed("a miss", "a command"))
        for words in WRITING:
            done = self.run_tool(process, words, "--force")
            self.assertEqual(done.returncode, 0, (words, done.stdout, done.stderr))

    def test_reports(self):
        process = self.start(listed("a miss", "a command", "a report"), "mistakes")
        for words in WRITING[:1] + WRITING[4:]:
            self.run_tool(process, words, "--force")
        with open(os.path.join(self.folder, "log"), encoding="utf-8") as stream:
            text = stream.read()
        self.assertTrue("Object already free" in text and re.search(r"\n round_of\+", text), text[:4000])


if __name__ == "__main__":
    unittest.main()
