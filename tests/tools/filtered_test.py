#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# ctest: timeout=900 sanitize=no
"""A program that its seccomp filter ends for system calls it does not know (tests/tools/src/filtered.c).

No tool has it make any without --force; and those that docs/system-calls.md lists are all that are made. A filter that
was there before the program (tests/tools/src/filtered_start.c) asks for no --force.
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
    with open(os.path.join(SRC, "docs", "system-calls.md"), encoding="utf-8") as stream:
        text = stream.read()
    for row in rows:
        found = re.search(rf"^\| {row}[^|]*\|([^|]*)\|$", text, re.M)
        assert found, f"docs/system-calls.md has no row '{row}'"
        names += re.findall(r"`(\w+)`", found[1])
    return names


def filters(pid):
    """How many filters each of its threads has; where the kernel does not count them, whether it has one."""
    found = []
    for thread in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{thread}/status", encoding="utf-8") as stream:
            status = dict(line.split(":\t", 1) for line in stream.read().splitlines() if ":\t" in line)
        mode = int(status["Seccomp"])
        found.append(int(status.get("Seccomp_filters", mode != 0)))
    return found


class Filtered(InFolder):
    def build(self, name, *flags):
        program = os.path.join(self.folder, name)
        subprocess.run([CC, "-O1", "-g", "-pthread", "-o", program, *flags,
                        f"{SRC}/tests/tools/src/{name}.c"], check=True)
        return program

    def start(self, names, *arguments, under=()):
        """names: of the system calls that its own filter lets through; empty: it has none."""
        allowed = "-DALLOWED=" + ",".join("SYS_" + name for name in names)
        program = self.build("filtered", *([allowed] if names else []))
        with open(os.path.join(self.folder, "log"), "wb") as log:
            process = subprocess.Popen([*under, program, *arguments], stderr=log,
                                       env=environment(LD_PRELOAD=SO))
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        wanted = bool(names) + bool(under) if self.counts(process) else 1
        for _ in range(60000):
            found = filters(process.pid) if process.poll() is None else []
            if not found or (len(found) == 2 and min(found) >= wanted):
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

    def counts(self, process):
        """Does this kernel say how many filters there are?"""
        with open(f"/proc/{process.pid}/status", "rb") as stream:
            return b"Seccomp_filters:" in stream.read()

    def look_at_report(self):
        with open(os.path.join(self.folder, "log"), encoding="utf-8") as stream:
            text = stream.read()
        self.assertTrue("Object already free" in text and re.search(r"\n round_of\+", text), text[:4000])

    def test_observed(self):
        process = self.start(listed("a miss"))
        for words in READING:
            self.assertEqual(self.run_tool(process, words).returncode, 0, words)
        for words in WRITING:
            done = self.run_tool(process, words)
            self.assertEqual(done.returncode, 1, words)
            self.assertRegex(done.stderr, r"seccomp filter that it added after its start"
                             r".*membarrier.*--force", words)

    def test_listed(self):
        process = self.start(listed("a miss", "a command"))
        for words in WRITING:
            done = self.run_tool(process, words, "--force")
            self.assertEqual(done.returncode, 0, (words, done.stdout, done.stderr))

    def test_reports(self):
        process = self.start(listed("a miss", "a command", "a report"), "mistakes")
        for words in WRITING[:1] + WRITING[4:]:
            self.run_tool(process, words, "--force")
        self.look_at_report()

    def test_from_the_start(self):
        process = self.start((), "mistakes", under=[self.build("filtered_start")])
        for words in WRITING:
            done = self.run_tool(process, words)
            if not self.counts(process):
                self.assertEqual(done.returncode, 1, words)
                self.assertRegex(done.stderr, r"is not known.*before 5\.9.*--force", words)
                continue
            # the program makes mistakes, which --validate may see
            self.assertIn(done.returncode, (0, 1) if "--validate" in words else (0,),
                          (words, done.stdout, done.stderr))
            self.assertNotIn("seccomp", done.stderr)
        if self.counts(process):
            self.look_at_report()

    def test_one_more(self):
        names = listed("a miss", "a command")
        process = self.start(names, under=[self.build("filtered_start")])
        for words in WRITING[-1:] + WRITING[:1]:
            done = self.run_tool(process, words)
            self.assertEqual(done.returncode, 1, words)
            self.assertRegex(done.stderr, r"seccomp filter.*after its start.*--force", words)
            self.assertEqual(self.run_tool(process, words, "--force").returncode, 0, words)


if __name__ == "__main__":
    unittest.main()
