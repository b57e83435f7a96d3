#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# ctest: timeout=900 sanitize=no
"""No tool hangs or crashes, whatever the memory of a process says (tests/tools/src/liar.c).

USLAB_TEST_ALL=1 (make test-all): twice as many lying processes; USLAB_SOAK=N: N times as many.
"""
import os
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from folder import InFolder  # noqa: E402

BIN = os.environ["USLAB_BIN"]
LIB = os.environ["USLAB_LIB"]
SRC = os.environ["USLAB_SRC"]
CC = os.environ.get("USLAB_CC", "cc")
PYTHON = os.environ.get("USLAB_PYTHON", sys.executable)
SEEDS = (12 if os.environ.get("USLAB_TEST_ALL") else 6) * max(1, int(os.environ.get("USLAB_SOAK", "1")))
TIMEOUT = 300  # seconds; a tool that follows a loop never ends

TOOLS = (
    ("info", "-p", "{}"),
    ("info", "-p", "{}", "-r"),
    ("info", "-p", "{}", "-T"),
    ("info", "-p", "{}", "-X"),
    ("info", "-p", "{}", "-D", "-z"),
    ("info", "-p", "{}", "-a"),
    ("info", "-p", "{}", "-t"),
    ("info", "-p", "{}", "-n"),
    ("info", "-p", "{}", "--json"),
    ("info", "-p", "{}", "--openmetrics"),
    ("info", "-p", "{}", "--address", "0x4141414141414141"),
    ("track", "-p", "{}", "--once", "--interval", "0.1", "--cache", "liar-*", "--keep", "--wait", "1"),
    ("debug", "-p", "{}", "--status"),
    ("top", "-p", "{}", "-b", "-n", "2", "-d", "0.1"),
    # its status is the command's; where there are no user namespaces it says so
    ("fs", "-p", "{}", "--enter", "--", "sh", "-c",
     "cat /sys/kernel/slab/*/* /sys/kernel/debug/slab/*/* /proc/slabinfo >/dev/null 2>&1; true"),
)

# What looks like a library, in what cannot be opened as a file: its dynamic section has no end.
SYMBOLS = r"""
import mmap, struct, sys
SIZE = 24 << 20
with open(sys.argv[1], "rb") as stream:
    header = bytearray(stream.read(64))
struct.pack_into("=QQIHHHHHH", header, 32, 64, 0, 0, 64, 56, 1, 0, 0, 0)
segment = struct.pack("=IIQQQQQQ", 2, 4, 4096, 4096, 4096, SIZE, SIZE, 8)
with open("/dev/zero", "r+b", buffering=0) as zero:
    library = mmap.mmap(zero.fileno(), 4096 + SIZE, flags=mmap.MAP_PRIVATE)
    library[:120] = bytes(header) + segment
    library[4096:] = struct.pack("=2Q", 1, 1) * (SIZE // 16)
print("ready", flush=True)
sys.stdin.read(1)
"""


class Hostile(InFolder):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.liar = os.path.join(cls.folder, "liar")
        subprocess.run([CC, "-O1", "-o", cls.liar, f"{SRC}/tests/tools/src/liar.c",
                        f"-I{SRC}/include", f"-I{SRC}/src", f"-L{LIB}", "-luslab",
                        f"-Wl,-rpath,{LIB}"], check=True)

    def start(self, *command):
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(process.wait)
        self.addCleanup(process.stdin.close)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.kill)
        self.assertEqual(process.stdout.readline(), "ready\n", command)
        return process.pid

    def look(self, pid, tool):
        arguments = [argument.format(pid) for argument in tool]
        return subprocess.run([BIN, *arguments], stdin=subprocess.DEVNULL, capture_output=True,
                              timeout=TIMEOUT, check=False)

    def test_truth(self):
        """The same looks at a process that does not lie end well (commands need the program's help)."""
        pid = self.start(self.liar, "0")
        for tool in TOOLS:
            if tool[0] in ("track", "fs"):
                continue
            run = self.look(pid, tool)
            self.assertEqual(run.returncode, 0, (tool, run.stderr))

    def test_symbols_without_end(self):
        """Of files that cannot be opened symbols are read from memory: not without a bound."""
        run = self.look(self.start(PYTHON, "-c", SYMBOLS, BIN), ("info", "-p", "{}"))
        self.assertEqual(run.returncode, 1)
        self.assertIn(b"too many files that cannot be opened", run.stderr)

    def test_lies(self):
        for seed in range(1, SEEDS + 1):
            pid = self.start(self.liar, str(seed))
            for tool in TOOLS:
                with self.subTest(seed=seed, tool=tool):
                    run = self.look(pid, tool)
                    self.assertIn(run.returncode, (0, 1), run.stderr[-500:])
                    if run.returncode:
                        self.assertTrue(run.stderr)


if __name__ == "__main__":
    unittest.main()
