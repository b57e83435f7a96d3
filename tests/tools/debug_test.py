#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# ctest: timeout=900
"""uslab debug: checks of a running python3 switched on, an overflow reported, switched off again.

How long things take, and the throughput that comes back, is printed; USLAB_TEST_STRICT=1 in the environment asserts
it (within 5 %), which takes a quiet machine.
"""
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

BIN = os.environ["USLAB_BIN"]
PYTHON = os.environ.get("USLAB_PYTHON", sys.executable)
STRICT = os.environ.get("USLAB_TEST_STRICT") == "1"

# Allocates all the time; prints its rounds and the time (of the clock, of CPUs that it had) ten times a
# second; checks what it keeps; on a line
# of standard input it writes past the end of a block of malloc(50).
LOAD = """
import ctypes, os, select, sys, time
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
libc.malloc.argtypes = [ctypes.c_size_t]
libc.free.argtypes = [ctypes.c_void_p]
kept, rounds, next_print = {}, 0, 0
def overflow():
    block = libc.malloc(64)
    ctypes.memset(block + 64, 0x41, 2)
    libc.free(block)
while True:
    for i in range(200):
        kept[(rounds * 7 + i) % 3000] = (bytearray(50), bytes([i]) * 40, [i] * 5)
    for key in range(0, 3000, 97):
        entry = kept.get(key)
        if entry and (entry[1] != bytes([entry[2][0]]) * 40 or len(entry[0]) != 50):
            print("LOST", flush=True)
    rounds += 1
    now = time.monotonic()
    if now > next_print:
        next_print = now + 0.1
        print(rounds, f"{now:.3f} {time.process_time():.4f}", flush=True)
        if select.select([sys.stdin], [], [], 0)[0]:
            if not sys.stdin.readline():
                sys.exit(0)
            overflow()
"""


def uslab(*arguments, **options):
    return subprocess.run([BIN, *map(str, arguments)], capture_output=True, text=True, check=False,
                          timeout=300, **options)


class Load:
    """python3 under the drop-in, with malloc for its objects; what it prints is read by a thread."""

    def __init__(self):
        self.errors = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(
            [BIN, "run", PYTHON, "-c", LOAD], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=self.errors, text=True, env={**os.environ, "PYTHONMALLOC": "malloc"})
        self.pid = self.process.pid
        self.rounds, self.lost, self.longest = [], 0, 0.0
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()
        self.wait_rounds()

    def read(self):
        for line in self.process.stdout:
            if line.startswith("LOST"):
                self.lost += 1
                continue
            rounds, when, used = map(float, line.split())
            if self.rounds:
                self.longest = max(self.longest, when - self.rounds[-1][1])
            self.rounds.append((rounds, when, used))

    def wait_rounds(self, more=3):
        """Until it has printed a few times more."""
        want, deadline = len(self.rounds) + more, time.monotonic() + 300
        while len(self.rounds) < want:
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise AssertionError(f"it stands still; {self.stderr()}")
            time.sleep(0.02)

    def throughput(self, seconds):
        """Rounds per second of CPU time from now on: whatever else the machine does."""
        self.wait_rounds(1)
        first = self.rounds[-1]
        time.sleep(seconds)
        self.wait_rounds(1)
        last = self.rounds[-1]
        return (last[0] - first[0]) / (last[2] - first[2])

    def overflow(self):
        self.process.stdin.write("overflow\n")
        self.process.stdin.flush()

    def stderr(self):
        self.errors.seek(0)
        return self.errors.read()

    def close(self):
        if self.process.poll() is None:
            self.process.stdin.close()
            try:
                self.process.wait(300)
            except subprocess.TimeoutExpired:
                self.process.kill()
        self.process.wait()
        self.reader.join()
        self.process.stdout.close()
        self.errors.close()
        return self.process.returncode


class Live(unittest.TestCase):
    def setUp(self):
        self.load = Load()

    def tearDown(self):
        self.load.close()

    def debug(self, *arguments, status=0):
        result = uslab("debug", "-p", self.load.pid, *arguments)
        self.assertEqual(result.returncode, status, result.stdout + result.stderr)
        return result.stdout + result.stderr

    def test_switched_on_and_off(self):
        load = self.load
        seconds = 2 if STRICT else 0.2
        before = load.throughput(seconds)
        start = time.monotonic()
        text = self.debug("--cache", "malloc-64", "FZPU")
        took = time.monotonic() - start
        self.assertRegex(text, r"malloc-64 +- -> FZPU\n1 cache of process \d+ \(\S+\) switched")
        during = load.throughput(seconds / 2)
        self.assertEqual(load.stderr(), "")

        load.overflow()
        deadline = time.monotonic() + 300
        while "BUG malloc-64" not in load.stderr() and time.monotonic() < deadline:
            time.sleep(0.05)
        report = load.stderr()
        self.assertRegex(report, r"BUG malloc-64 .*: .*Redzone overwritten")
        self.assertIn("Allocated in ", report)
        self.assertRegex(self.debug("--status"), r"(?m)^malloc-64 +FZPU +\d+ +\d+ +\d+$")

        self.assertIn("malloc-64             FZPU -> -", self.debug("--cache", "malloc-64", "-"))
        after = load.throughput(seconds)
        if STRICT and after < before * 0.95:  # a machine that does something else as well gets a second look
            after = max(after, load.throughput(3))
        print(f"rounds per CPU second: {before:.0f} before, {during:.0f} with FZPU, {after:.0f} after "
              f"({after / before:.3f}); switched on in {took * 1000:.0f} ms; longest time without "
              f"a sign of life {load.longest * 1000:.0f} ms")
        self.assertEqual(load.lost, 0)
        if STRICT:
            self.assertLess(took, 1.0)
            self.assertGreater(after, before * 0.95)
            self.assertLess(load.longest, 2.0)
        self.assertEqual(load.close(), 0)

    def test_debug_flags_add_up(self):
        self.assertIn("- -> U", self.debug("--cache", "malloc-?6", "+u"))  # -16 as well
        self.assertIn("U -> ZU", self.debug("--cache", "malloc-96", "+Z"))
        self.assertIn("ZU -> Z", self.debug("--cache", "malloc-96", "--", "-U"))
        text = self.debug("--cache", "malloc-96", "--cache", "malloc-112", "F")
        self.assertIn("Z -> F", text)
        self.assertIn("2 caches", text)
        self.debug("--cache", "*", "-")
        self.load.wait_rounds()
        self.assertEqual(self.load.lost, 0)

    def test_many_at_once(self):
        text = self.debug("--cache", "malloc-*", "F")
        count = int(re.fullmatch(r"(\d+) caches +- -> F\n(\d+) caches of process \d+ \(\S+\) switched in "
                                 r"[\d.]+ ms\n", text).group(1))
        self.assertGreater(count, 20)
        text = self.debug("--cache", "malloc-*", "--cache", "malloc-64", "FU", "-v")
        rows = re.findall(r"(?m)^malloc-(?:\d+|large) +F -> FU$", text)
        self.assertIn("malloc-large", text)  # as uslab info lists it
        self.assertEqual(len(set(rows)), count)
        self.debug("--cache", "malloc-64", "Z")
        text = self.debug("--cache", "malloc-*", "Z")
        self.assertRegex(text, rf"(?m)^{count - 1} caches +FU -> Z$")
        self.assertRegex(text, r"(?m)^malloc-64 +Z, as before$")
        self.assertRegex(text, rf"\n{count - 1} caches of process .* switched in [\d.]+ ms; 1 had the debug flags "
                               r"already\n")
        text = self.debug("--cache", "malloc-*", "Z")
        self.assertRegex(text, rf"^{count} caches +Z, as before\n0 caches of process \d+ \(\S+\) switched; "
                               rf"{count} had the debug flags already\n$")

    def test_all_or_nothing(self):
        """One of the caches is not there: nothing is switched."""
        run = uslab("debug", "-p", self.load.pid, "-c", "malloc-64", "-c", "none", "-c", "malloc-80", "F")
        self.assertEqual(run.returncode, 1)
        self.assertIn("no cache 'none'", run.stderr)
        self.assertEqual(run.stdout, "")
        self.assertRegex(self.debug("--cache", "malloc-64", "--status"), r"(?m)^malloc-64 +- ")

    def test_not_done_is_not_said(self):
        """The first is switched, the second refuses."""
        run = uslab("debug", "-p", self.load.pid, "-c", "malloc-64", "-c", "malloc-large", "T")
        self.assertEqual(run.returncode, 1)
        self.assertIn("malloc-large", run.stderr)
        self.assertRegex(run.stdout, r"^malloc-64 +- -> T\n1 cache of process \d+ \(\S+\) switched, and no "
                                     r"more\n$")
        # what is for caches only goes to caches only, where nobody said otherwise
        self.assertNotIn("malloc-large", self.debug("--cache", "malloc-*", "-v", "T"))
        self.debug("--cache", "*", "-")

    def test_validate_and_shrink(self):
        self.debug("--cache", "malloc-64", "FZP")
        self.load.wait_rounds()
        self.assertRegex(self.debug("--cache", "malloc-64", "--validate"),
                         r"^[1-9]\d* slabs checked, 0 errors reported")
        self.assertRegex(self.debug("--cache", "malloc-64", "--shrink"), r"slabs of process .* -> ")
        self.debug("--cache", "malloc-80", "--validate", status=1)  # never debugged

    def test_validate_what_can_be(self):
        """Of all caches, or many, some are checked: the others are no errors."""
        self.debug("--cache", "malloc-64", "FZP")
        self.load.wait_rounds()
        for caches in ((), ("--cache", "malloc-*"), ("--cache", "*")):
            self.assertRegex(self.debug(*caches, "--validate"),
                             r"^[1-9]\d* slabs checked, 0 errors reported by process \d+ \(\S+\)\n$")
        self.assertRegex(self.debug("-v", "--cache", "malloc-*", "--validate"),
                         r"[1-9]\d* of \d+ caches never had debug flags\n")
        self.assertIn("ever had debug flags", self.debug("--cache", "malloc-80", "--validate", status=1))

    def capacities(self):
        result = uslab("info", "-p", self.load.pid, "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        return {cache["name"]: cache["capacity"] for cache in json.loads(result.stdout)["caches"] if cache["id"]}

    def test_capacity(self):
        self.debug("--cache", "*", "--shrink")  # the first command makes caches of classes that nobody has used
        before = self.capacities()
        text = self.debug("--cache", "malloc-64", "--capacity", 4)
        self.assertRegex(text, r"^malloc-64 +31 -> 4\n1 cache of process \d+ \(\S+\) changed in [\d.]+ ms\n$")
        self.assertEqual(self.capacities(), {**before, "malloc-64": 4})
        self.load.wait_rounds()
        text = self.debug("--cache", "malloc-6?", "--cache", "malloc-64", "--capacity", 4)
        self.assertRegex(text, r"^malloc-64 +4, as before\n0 caches of process \d+ \(\S+\) changed\n$")
        for capacity, number in (("31", 31), ("0", 0), ("1", 1)):
            text = self.debug("--cache", "malloc-*", "--capacity", capacity)
            self.assertRegex(text, r"\n[1-9]\d* caches of process \d+ \(\S+\) changed in")
            self.assertEqual(set(self.capacities().values()), {number})
            self.load.wait_rounds()
        self.assertEqual(len(re.findall(r"(?m)^malloc-\d+ +1 -> 0$", self.debug("-v", "--cache", "*", "--capacity", 0))),
                         len(before))
        self.debug("--cache", "*", "--capacity=default")
        self.assertEqual(self.capacities(), before)
        self.load.wait_rounds()
        self.assertEqual(self.load.lost, 0)
        self.assertEqual(self.load.stderr(), "")
        self.assertEqual(self.load.close(), 0)

    def test_capacity_with_debug_flags(self):
        self.debug("--cache", "malloc-64", "FZPU")
        self.debug("--cache", "malloc-*", "--capacity", 3)
        self.load.wait_rounds()
        self.debug("--cache", "malloc-64", "-")
        self.load.wait_rounds()
        self.debug("--cache", "malloc-64", "--shrink")
        self.assertEqual(self.capacities()["malloc-64"], 3)
        self.assertEqual(self.load.lost, 0)
        self.assertEqual(self.load.stderr(), "")

    def test_capacity_refused(self):
        self.debug("--cache", "*", "--shrink")  # as above
        before = self.capacities()
        self.assertIn("malloc-64: an array of front array holds 1 to 31 objects (0: no arrays); nothing was changed",
                      self.debug("--cache", "malloc-64", "--capacity", 32, status=1))
        self.assertIn("no cache 'none'", self.debug("--cache", "malloc-64", "--cache", "none", "--capacity", 4,
                                                    status=1))
        self.assertIn("has arrays", self.debug("--cache", "malloc-large", "--capacity", 4, status=1))
        self.assertEqual(self.capacities(), before)

    def test_unknown_cache(self):
        self.assertIn("no cache 'none-*'", self.debug("--cache", "none-*", "F", status=1))
        self.debug("--cache", "none-*", "--status", status=1)

    def test_stopped(self):
        os.kill(self.load.pid, signal.SIGSTOP)
        start = time.monotonic()
        try:
            text = self.debug("--cache", "malloc-64", "F", status=1)
            self.assertLess(time.monotonic() - start, 8)
        finally:
            os.kill(self.load.pid, signal.SIGCONT)
        self.assertIn("is stopped", text)
        self.load.wait_rounds()
        self.assertIn("no cache of process", self.debug("--status"))


class Idle(unittest.TestCase):
    def start(self, *command, **environment):
        """A program that answers to lines, and calls malloc before it answers only."""
        process = subprocess.Popen([BIN, "run", *command], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, env={**os.environ, **environment})
        for cleanup in (process.stdout.close, process.stdin.close, process.wait, process.kill):
            self.addCleanup(cleanup)
        self.ask(process)
        return process

    def ask(self, process):
        process.stdin.write(b"here?\n")
        process.stdin.flush()
        self.assertEqual(process.stdout.readline(), b"here?\n")

    def test_idle_program(self):
        result = uslab("debug", "-p", self.start("cat").pid, "--cache", "*", "--wait=1", "F")
        self.assertEqual((result.returncode, result.stdout), (1, ""))
        self.assertIn("USLAB_CONF=control=100", result.stderr)

    @staticmethod
    def wait_held(tool, number):
        """Until the tool holds the signal back, as it does once it has to do with the mailbox."""
        while True:
            with open(f"/proc/{tool.pid}/status", encoding="ascii") as stream:
                held = int(re.search(r"SigBlk:\t([0-9a-f]+)", stream.read()).group(1), 16)
            if held >> (number - 1) & 1:
                return
            time.sleep(0.01)

    def test_broken_off(self):
        """What was broken off does not happen later."""
        echo = "import sys\nfor line in sys.stdin: print(line, end='', flush=True)"
        process = self.start(PYTHON, "-c", echo, PYTHONMALLOC="malloc")
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            tool = subprocess.Popen([BIN, "debug", "-p", str(process.pid), "--cache", "*", "F"],
                                    preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
            self.wait_held(tool, number)
            tool.send_signal(number)
            self.assertEqual(tool.wait(300), -number)
            self.ask(process)
            status = uslab("debug", "-p", process.pid, "--cache", "malloc-64", "--status").stdout
            self.assertRegex(status, r"(?m)^malloc-64 +- ")

    def test_control_thread(self):
        process = self.start("cat", USLAB_CONF="control=50")
        result = uslab("debug", "-p", process.pid, "--cache", "malloc-64", "F")
        self.assertEqual((result.returncode, result.stderr), (0, ""))

    def validate_overflows(self, number):
        """So many blocks of 20,000 bytes with a byte behind each: what is reported, and the counters."""
        echo = ("import ctypes, sys\nlibc = ctypes.CDLL(None)\nlibc.malloc.restype = ctypes.c_void_p\n"
                f"blocks = [libc.malloc(20000) for i in range({number})]\n"
                "for block in blocks: ctypes.memset(block + 20000, 0x21, 1)\n"
                "for line in sys.stdin: print(line, end='', flush=True)")
        with tempfile.NamedTemporaryFile("r") as reports:
            process = self.start(PYTHON, "-c", echo, USLAB_DEBUG="FZPU,malloc-20480",
                                 USLAB_CONF=f"control=50,report.file={reports.name}")
            result = uslab("debug", "-p", process.pid, "--cache", "*", "--validate")
            self.assertRegex(result.stdout, rf"^\d+ slabs checked, {number} errors reported", result.stderr)
            totals = json.loads(uslab("info", "-p", process.pid, "--json").stdout)
            return reports.read(), totals

    def test_validate_long_blocks(self):
        text, totals = self.validate_overflows(3)
        self.assertEqual(len(re.findall(r"(?m)^BUG malloc-20480 .*kmalloc Redzone overwritten$", text)), 3)
        self.assertEqual(len(re.findall(r"(?m)^Call Trace:$", text)), 3)
        self.assertEqual(len(re.findall(r"(?m)^FIX malloc-20480: Restoring", text)), 3)
        self.assertNotIn("longer than 64 KiB", text)
        self.assertIn('"suppressed": 0', json.dumps(totals))

    def test_validate_more_than_fit(self):
        """Each that is not written is counted."""
        text, totals = self.validate_overflows(40)
        begun = len(re.findall(r"(?m)^BUG malloc-20480 ", text))
        self.assertRegex(text, rf"\[the report is longer than 64 KiB: the rest and {40 - begun} more reports are "
                               r"left out\]\n$")
        self.assertIn(f'"suppressed": {40 - begun}', json.dumps(totals))

    def test_unused_class(self):
        """No cache is there before the command; then it has the flags, whenever the program comes to use it."""
        process = self.start("cat", USLAB_CONF="control=50")
        name = "malloc-28672"
        self.assertNotIn(name, uslab("info", "-p", process.pid, "--json").stdout)
        result = uslab("debug", "-p", process.pid, "--cache", name, "F")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertRegex(result.stdout, rf"^{name} +- -> F\n")
        self.assertIn(name, uslab("debug", "-p", process.pid, "--status").stdout)


class Usage(unittest.TestCase):
    def refused(self, status, *arguments):
        result = uslab("debug", *arguments)
        self.assertEqual(result.returncode, status, arguments)
        self.assertTrue(re.match(r"uslab debug: .+\n", result.stderr), result.stderr)

    def test_usage(self):
        for arguments in ([], ["F"], ["-p", "x", "F"], ["-p", "1"], ["-p", "1", "-c", "a"],
                          ["-p", "1", "F"], ["-p", "1", "-c", "a", "Q"], ["-p", "1", "-c", "a", "+"],
                          ["-p", "1", "-c", "", "F"], ["-p", "1", "-c", "a", "F", "Z"],
                          ["-p", "1", "--status", "F"], ["-p", "1", "--status", "--shrink"],
                          ["-p", "1", "-c", "x" * 64, "F"], ["--no-such"], ["-p"],
                          ["-p", "1", "-p", "1", "--status"], ["-p", "1", "--capacity", "4"], ["-p", "1", "-c", "a", "--capacity"],
                          ["-p", "1", "-c", "a", "--capacity", "4", "F"],
                          ["-p", "1", "-c", "a", "--capacity", "4", "--shrink"],
                          *(["-p", "1", "-c", "a", "--capacity", number]
                            for number in ("", "x", "-1", "4 ", "1025", "4294967295", "0x4", "none"))):
            self.refused(2, *arguments)
        self.assertIn("'0' is no number of seconds from 1 to 86400",
                      uslab("debug", "-p", "1", "-c", "a", "--wait=0", "F").stderr)

    def test_no_process(self):
        self.refused(1, "-p", "4194304", "-c", "a", "F")
        self.refused(1, "-p", str(os.getpid()), "-c", "a", "F")

    def test_help(self):
        self.assertIn("usage: uslab debug", uslab("debug", "--help").stdout)


if __name__ == "__main__":
    unittest.main()
