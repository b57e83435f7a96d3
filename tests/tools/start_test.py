#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# ctest: sanitize=no
"""What the drop-in adds to the start of a process that hardly allocates: faults and system calls.

They are counted, not timed, and compared with the same program on glibc's malloc, so that this holds on
any machine. scripts/function-order.txt is compared with the sources and with the library.
"""
import glob
import os
import re
import shutil
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
SOURCE = os.environ.get("USLAB_SRC") or os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
BUILD = os.environ.get("USLAB_BUILD", os.path.join(SOURCE, "build", "release"))
LIBRARY = os.environ.get("USLAB_MALLOC_SO", os.path.join(BUILD, "lib", "libuslab_malloc.so"))
START = os.path.join(BUILD, "bin", "uslab-bench-start")
sys.path.insert(0, os.path.join(SOURCE, "tests", "support"))
from folder import InFolder, environment  # noqa: E402

# Measured, with 2 CPUs and one node: 60 to 63 faults, of which a library that does nothing has 16. A CPU has a
# page of words; of the 13 pages of caches each is one.
FAULTS, FAULTS_OF_CPU = 72, 1
CALLS, CALLS_OF_NODE = 43, 5  # 38 of 2 CPUs and one node
ORDER = os.path.join(SOURCE, "scripts", "function-order.txt")


def nodes():
    return len(glob.glob("/sys/devices/system/node/node[0-9]*")) or 1


def possible_cpus():
    """Those that may come as well: the library has words for them."""
    try:
        with open("/sys/devices/system/cpu/possible", encoding="ascii") as stream:
            return int(re.split("[-,]", stream.read().strip())[-1]) + 1
    except (OSError, ValueError):
        return os.sysconf("SC_NPROCESSORS_CONF")


def is_ordered():
    """Was the linker told the order of functions?"""
    sections = subprocess.run(["readelf", "-SW", LIBRARY], capture_output=True, text=True, check=True).stdout
    return ".text.first" in sections


def names():
    """{part: its names}"""
    found, part = {}, None
    with open(ORDER, encoding="utf-8") as stream:
        for line in stream:
            if line.startswith("# at the start") or line.startswith("# later"):
                part = found.setdefault(line[2:].strip(), [])
            elif not line.startswith("#") and line.strip():
                part.append(line.strip())
    return found


class Start(InFolder):
    def faults(self, **more):
        """The fewest of some runs: what else the system does may add some."""
        path, least = os.path.join(self.folder, "figures"), None
        for _ in range(10):
            subprocess.run([START, path, "true"], env=environment(**more), check=True)
            with open(path, encoding="ascii") as stream:
                found = int(stream.read().split()[4])
            least = found if least is None else min(least, found)
        return least

    def calls(self, **more):
        run = subprocess.run(["valgrind", "--trace-syscalls=yes", "true"], env=environment(**more),
                             capture_output=True, text=True, check=False)
        if "debuginfo reader" in run.stderr:
            self.skipTest("this valgrind cannot read the compiler's debug information")
        self.assertEqual(run.returncode, 0, run.stderr)
        return len(re.findall(r"^SYSCALL\[\d+,1\]\( *\d+\) sys_", run.stderr, re.MULTILINE))

    def test_faults(self):
        if os.sysconf("SC_PAGESIZE") != 4096:
            self.skipTest("counted for pages of 4 KiB")
        more = self.faults(BENCH_PRELOAD=LIBRARY) - self.faults()
        self.assertGreater(more, 0, "the library was not loaded")
        if not is_ordered():
            self.skipTest("counted with functions in order")
        self.assertLessEqual(more, FAULTS + FAULTS_OF_CPU * max(0, possible_cpus() - 2))

    def test_system_calls(self):
        if not shutil.which("valgrind"):
            self.skipTest("valgrind is not installed")
        more = self.calls(LD_PRELOAD=LIBRARY) - self.calls()
        self.assertGreater(more, 5, "the library was not loaded")
        self.assertLessEqual(more, CALLS + CALLS_OF_NODE * (nodes() - 1))


class Order(unittest.TestCase):
    def test_functions_of_the_sources(self):
        text = ""
        for path in glob.glob(os.path.join(SOURCE, "src", "**", "*.[ch]"), recursive=True):
            with open(path, encoding="utf-8") as stream:
                text += stream.read()
        known = set(re.findall(r"\b(\w+)\(", text))
        listed = [name for part in names().values() for name in part]
        self.assertGreater(len(listed), 100)
        self.assertEqual(len(listed), len(set(listed)), "a name stands twice")
        self.assertEqual([name for name in listed if name not in known], [])

    def test_they_stand_together(self):
        """Where the linker was told: those of the start within 32 KiB, all within 96 KiB."""
        sections = subprocess.run(["readelf", "-SW", LIBRARY], capture_output=True, text=True, check=True).stdout
        first = re.search(r" \.text\.first +PROGBITS +([0-9a-f]+) [0-9a-f]+ ([0-9a-f]+)", sections)
        if not first:
            self.skipTest("this linker was not told")
        low, size = (int(word, 16) for word in first.groups())
        symbols = subprocess.run(["nm", LIBRARY], capture_output=True, text=True, check=True).stdout
        at = {}
        for address, name in re.findall(r"^([0-9a-f]+) [tT] (\w+)", symbols, re.MULTILINE):
            at.setdefault(name, []).append(int(address, 16))
        self.assertLessEqual(size, 96 << 10)
        for part, most in ("at the start", 32 << 10), ("later", 96 << 10):
            for name in names()[part]:
                for place in at.get(name, []):
                    self.assertTrue(low <= place < low + most, f"{name} at {place:#x}, not behind {low:#x}")


if __name__ == "__main__":
    unittest.main()
