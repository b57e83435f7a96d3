#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# ctest: timeout=300 sanitize=no
"""USLAB_CONF=realtime: while its memory lasts no call makes a system call, faults in a page, or takes more
instructions than docs/realtime.md says; uslab info shows it.
"""
import ctypes
import glob
import json
import os
import re
import resource
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from folder import InFolder, environment  # noqa: E402

BIN = os.environ["USLAB_BIN"]
SO = os.environ["USLAB_MALLOC_SO"]
SRC = os.environ["USLAB_SRC"]
BUILD = os.environ["USLAB_BUILD"]
CC = os.environ.get("USLAB_CC", "cc")
CHUNK = 4 << 20
PR_CAPBSET_DROP, CAP_IPC_LOCK = 24, 14


def without_right_to_lock():
    """For the program only: an ordinary user has no such capability to drop."""
    ctypes.CDLL(None).prctl(PR_CAPBSET_DROP, CAP_IPC_LOCK, 0, 0, 0)
    resource.setrlimit(resource.RLIMIT_MEMLOCK, (0, 0))


def with_few_addresses_too():
    without_right_to_lock()
    resource.setrlimit(resource.RLIMIT_AS, (256 << 20, 256 << 20))


def shares(size):
    """Bytes that are made ready for size: equal shares for all nodes, of whole chunks."""
    nodes = len(glob.glob("/sys/devices/system/node/node[0-9]*")) or 1
    return -(-size // (nodes * CHUNK)) * nodes * CHUNK


def stated_bound():
    with open(os.path.join(SRC, "docs", "realtime.md"), encoding="utf-8") as stream:
        return int(re.search(r"at most ([\d,]+) instructions", stream.read())[1].replace(",", ""))


class RealtimeTest(InFolder):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.program = os.path.join(cls.folder, "realtime")
        subprocess.run([CC, "-O1", "-fno-builtin", "-o", cls.program,
                        f"{SRC}/tests/tools/src/realtime.c"], check=True)

    def run_load(self, conf, *arguments, **more):
        return subprocess.run([self.program, *arguments], capture_output=True, text=True,
                              check=False, timeout=200,
                              env=environment(LD_PRELOAD=SO, USLAB_CONF=conf), **more)

    def test_no_system_call_and_no_fault(self):
        run = self.run_load("realtime=128M", "300000")
        if run.returncode == 77:
            self.skipTest("the system takes no filter")
        self.assertEqual(run.returncode, 0, run)
        self.assertLessEqual(int(run.stdout.split()[1]), 2, "those of the load's own code and data")

    def test_the_filter_and_the_count_notice(self):
        """Of this test itself: without the mode both happen."""
        run = self.run_load("realtime=0", "300000", "any")
        self.assertGreater(int(run.stdout.split()[1]), 100, "also with large pages of the system")
        run = self.run_load("purge_limit=0,purge_delay=0", "300000")
        if run.returncode != 77:
            self.assertEqual(run.returncode, -31, run)  # SIGSYS

    def test_too_little_goes_on(self):
        run = self.run_load("realtime=4M", "50000", "any")
        self.assertEqual(run.returncode, 0, run)

    def test_refused_locks(self):
        run = self.run_load("realtime=16M", "100", "any", preexec_fn=without_right_to_lock)
        self.assertEqual(run.returncode, 0, run)
        self.assertEqual(run.stderr.count("\n"), 1, run.stderr)
        self.assertRegex(run.stderr, r"USLAB_CONF: realtime: memory is not locked, .*RLIMIT_MEMLOCK")

    def test_less_and_not_locked(self):
        run = self.run_load("realtime=256M", "100", "any", preexec_fn=with_few_addresses_too)
        self.assertEqual(run.returncode, 0, run)
        self.assertRegex(run.stderr, r"\A.*realtime: there is memory for [1-9]\d* KiB only\n"
                                     r".*realtime: memory is not locked, .*\n\Z")

    def test_limit(self):
        """Whichever comes first, no more than the limit is made ready, and one line says so."""
        for conf in ("limit=16M,realtime=64M", "realtime=64M,limit=16M"):
            with self.subTest(conf=conf):
                run = self.run_load(conf, "0", "any", preexec_fn=without_right_to_lock)
                self.assertEqual(run.returncode, 0, run)
                found = re.search(r"(?m)^.*USLAB_CONF: realtime: the limit of 16384 KiB allows only (\d+) KiB$",
                                  run.stderr)
                self.assertLessEqual(int(found[1]), 16 << 10)
                totals = json.loads(self.info(conf, "--json"))["uslab"]
                self.assertEqual(totals["realtime_bytes"], int(found[1]) << 10)
                self.assertLessEqual(totals["held_bytes"], totals["limit"])
        self.assertNotIn("limit of", self.run_load("limit=64M,realtime=32M", "0", "any").stderr)

    def info(self, conf, *options, **more):
        process = subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.DEVNULL,
                                   env=environment(LD_PRELOAD=SO, USLAB_CONF=conf), **more)
        with process:
            process.stdin.write(b"x")
            process.stdin.flush()
            process.stdout.read(1)
            run = subprocess.run([BIN, "info", "-p", str(process.pid), *options],
                                 capture_output=True, text=True, check=True)
            process.stdin.close()
        return run.stdout

    def test_info(self):
        totals = json.loads(self.info("realtime=32M", "--json"))["uslab"]
        made = totals["realtime_bytes"]
        self.assertEqual(made, shares(32 << 20))
        self.assertIn(totals["realtime_locked"], (0, made))
        self.assertEqual(totals["realtime_exceeded"], 0)
        self.assertTrue(0 < totals["free_bytes"] < made)
        totals = json.loads(self.info("", "--json"))["uslab"]
        self.assertEqual(totals["realtime_bytes"], 0)
        text = self.info("realtime=32M", "-T", preexec_fn=without_right_to_lock)
        self.assertRegex(text, r"\nRealtime +: +[\d.]+M +Left +: +[\d.]+M +Exceeded: +0 +\(not locked\)\n")
        self.assertNotIn("Realtime", self.info("", "-T"))

    def test_metrics(self):
        def values(conf, **more):
            text = self.info(conf, "--openmetrics", **more)
            return [int(re.search(rf"^uslab_realtime_{name}{{.*}} (\d+)$", text, re.M)[1])
                    for name in ("bytes", "locked_bytes", "exceeded_total")]

        self.assertEqual(values("realtime=30M", preexec_fn=without_right_to_lock), [shares(30 << 20), 0, 0])
        made, locked, exceeded = values("realtime=32M")
        self.assertEqual((made, exceeded), (shares(32 << 20), 0))
        self.assertIn(locked, (0, made), "all or nothing")
        self.assertEqual(values(""), [0, 0, 0])

    def test_longest_call(self):
        with open(os.path.join(BUILD, "CMakeCache.txt"), encoding="utf-8") as file:
            if "CMAKE_BUILD_TYPE:STRING=Rel" not in file.read():
                self.skipTest("what is stated is said of optimised builds")
        run = subprocess.run([BIN, "bench", "latency", "--rounds", "1", "--ops", "200000", "--only",
                              "uslab-realtime", "--json"], capture_output=True, text=True,
                             check=False, env=environment(), timeout=250)
        self.assertEqual(run.returncode, 0, run.stderr)
        result = json.loads(run.stdout)
        longest = result["contestants"][0]["instructions"]["longest"]
        if longest is None:
            self.skipTest(result["count_note"])
        print(f"longest call: {longest:.0f} instructions")
        self.assertLessEqual(longest, stated_bound())
        self.assertGreater(longest, 1000, "a block of 2 MiB has that many descriptors to write")


if __name__ == "__main__":
    sys.exit(unittest.main(verbosity=1))
