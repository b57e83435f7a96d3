#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# ctest: timeout=900 sanitize=no
"""Debug flags take memory: a process that may lack it is not changed by uslab debug, info -d and track, but by --force.

The room is that of USLAB_CONF=limit, and of a cgroup where the test may make one. The estimate is held against what the
objects of a program take once all of them were replaced.
"""
import os
import re
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from cgroup import Cgroup  # noqa: E402
from folder import InFolder, environment  # noqa: E402
from programs import WITH_LIBRARY, compile_program  # noqa: E402

BIN = os.environ["USLAB_BIN"]
MB = 1 << 20

# Has 100,000 objects of so many bytes, from malloc or (with a cache's name) from a cache of its own; each line has it
# free all of them in a random order, and allocate as many.
PROGRAM = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef OWN
#include <uslab/slab.h>
static struct kmem_cache *cache;
#define GET(size) kmem_cache_alloc(cache, GFP_KERNEL)
#define PUT(p) kmem_cache_free(cache, p)
#else
#define GET(size) malloc(size)
#define PUT(p) free(p)
#endif

enum { NR = 100000 };
static void *objects[NR];

int main(int argc, char **argv)
{
	size_t size = atoi(argv[argc > 1]);
	char line[64];

	setvbuf(stdout, NULL, _IONBF, 0);
#ifdef OWN
	cache = kmem_cache_create("own", size, 0, 0, NULL);
#endif
	for (int i = 0; i < NR; i++)
		memset(objects[i] = GET(size), 1, size);
	puts("ready");
	while (fgets(line, sizeof(line), stdin)) {
		for (int i = 0; i < NR; i++) {
			int j = rand() % NR;
			void *p = objects[i];

			objects[i] = objects[j];
			objects[j] = p;
		}
		for (int i = 0; i < NR; i++) {
			PUT(objects[i]);
			memset(objects[i] = GET(size), 1, size);
		}
		puts("replaced");
	}
	return 0;
}
"""


def uslab(*arguments):
    return subprocess.run([BIN, *map(str, arguments)], capture_output=True, text=True, check=False, timeout=300)


class Memory(InFolder):
    programs = {}

    def start(self, limit=None, size=64, own=False, group=None, engine="slub"):
        """limit: MiB; it takes commands by itself."""
        conf = f"control=20,engine={engine}" + (f",limit={limit}M" if limit else "")
        if own not in self.programs:
            flags = ("-DOWN", *WITH_LIBRARY) if own else ()
            self.programs[own] = compile_program(self.folder, "own" if own else "program", PROGRAM, *flags)
        command = [self.programs[own], str(size)]
        process = subprocess.Popen(command if own else [BIN, "run", *command], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, text=True, env=environment(USLAB_CONF=conf),
                                   preexec_fn=group.enter if group else None)
        for cleanup in (process.stdout.close, process.stdin.close, process.wait, process.kill):
            self.addCleanup(cleanup)
        self.assertEqual(process.stdout.readline(), "ready\n")
        return process

    def replace(self, process):
        process.stdin.write("replace\n")
        process.stdin.flush()
        self.assertEqual(process.stdout.readline(), "replaced\n")

    def has_debug_flags(self, process, name="malloc-64"):
        result = uslab("debug", "-p", process.pid, "-c", name, "--status")
        self.assertEqual(result.returncode, 0, result.stderr)
        return not re.search(rf"(?m)^{name} +- ", result.stdout)

    def refused(self, process, command, how, instead, *arguments):
        """By the limit of 24 MiB, of which some 7 are used. Then with --force it is done."""
        result = uslab(command, "-p", process.pid, *arguments)
        self.assertEqual((result.returncode, result.stdout), (1, ""))
        self.assertRegex(result.stderr, rf"^uslab {command}: process {process.pid} \(program\) may take up to "
                         rf"\d+\.\d MiB more {how} \(1\d{{5}} objects in \d+ caches?(, and 32\.0 MiB of freed blocks)?\), "
                         r"and its limit of uslab \(24\.0 MiB\) leaves 1\d\.\d MiB: its allocations may fail for that\. "
                         rf"{instead}, or --force\n$")
        self.assertFalse(self.has_debug_flags(process))
        result = uslab(command, "-p", process.pid, *arguments, "--force")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(result.stderr, rf"^uslab {command}: process {process.pid} \(program\) may take up to .* leaves 1\d\.")

    DEBUG = "Choose fewer caches with --cache or fewer flags, use uslab track --sample"
    INFO = r"Choose fewer caches \(REGEX\) or fewer flags, use uslab track --sample"

    def test_debug(self):
        process = self.start(24)
        self.refused(process, "debug", "with fzpu", self.DEBUG, "-c", "malloc-64", "-c", "malloc-80", "fzpu")
        self.assertTrue(self.has_debug_flags(process))
        # what changes no slabs, and taking them off, is never refused
        for flags in ("+T", "-"):
            result = uslab("debug", "-p", process.pid, "-c", "malloc-64", flags)
            self.assertEqual((result.returncode, result.stderr), (0, ""), flags)
        self.refused(process, "debug", r"with \+U", self.DEBUG, "-c", "*", "+U")
        self.replace(process)

    def test_checks_alone(self):
        """With F and T objects are as large as before, but they go to other slabs."""
        process = self.start(12)
        for flags in "F", "T":
            result = uslab("debug", "-p", process.pid, "-c", "malloc-64", flags)
            self.assertEqual((result.returncode, result.stdout), (1, ""))
            self.assertRegex(result.stderr, rf"may take up to 6\.\d MiB more with {flags} \(1\d{{5}} objects in 1 cache\)")

    def test_one_by_one(self):
        """What was switched on before, and is not taken yet, counts."""
        process = self.start(40)
        for name, pending in ("malloc-64", ""), ("*", r", and 24\.\d MiB for what was switched on before"):
            result = uslab("debug", "-p", process.pid, "-c", name, "FZU")
            self.assertRegex(result.stderr, rf"objects? in \d+ caches?\){pending}[,;] (and )?its limit of uslab \(40\.0 MiB\)")

    def test_again(self):
        """On, off and on: what lies in debug slabs takes no more, though as much would not fit once more."""
        process = self.start(40)
        result = uslab("debug", "-p", process.pid, "-c", "malloc-64", "FZPU")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.replace(process)
        for flags in ("-", "FZPU"):
            result = uslab("debug", "-p", process.pid, "-c", "malloc-64", flags)
            self.assertEqual((result.returncode, result.stderr), (0, ""))
        # slabs of another layout are others
        self.assertIn("may take up to 18.", uslab("debug", "-p", process.pid, "-c", "malloc-64", "-").stderr
                      + uslab("debug", "-p", process.pid, "-c", "malloc-64", "U").stderr)

    def test_debug_all(self):
        process = self.start(24)
        self.refused(process, "debug", "with FZPU", self.DEBUG, "-c", "*", "FZPU")

    def test_no_cache_goes_first(self):
        process = self.start(24)
        result = uslab("debug", "-p", process.pid, "-c", "malloc-64", "-c", "none", "FZPU")
        self.assertEqual((result.returncode, result.stderr),
                         (1, f"uslab debug: process {process.pid} (program) has no cache 'none'\n"))

    def test_info(self):
        process = self.start(24)
        self.refused(process, "info", "with FZPU", self.INFO, "-da", "malloc-64$")
        self.assertTrue(self.has_debug_flags(process))
        result = uslab("info", "-p", process.pid, "-d", "malloc-64$")
        self.assertEqual((result.returncode, result.stderr), (0, ""))

    def test_track(self):
        process = self.start(24)
        self.refused(process, "track", "when tracked in full", "Choose fewer caches with --cache, use --sample", "-1",
                     "-i", "0.2", "-c", "malloc-64")
        self.assertFalse(self.has_debug_flags(process))
        result = uslab("track", "-p", process.pid, "-1", "-i", "0.2", "-c", "malloc-64", "--sample")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        result = uslab("track", "-p", process.pid, "--off")
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_track_own(self):
        """Own caches cannot be sampled: nobody is told to do that."""
        process = self.start(16, own=True)
        result = uslab("track", "-p", process.pid, "-1", "-i", "0.2", "-c", "own")
        self.assertEqual((result.returncode, result.stdout), (1, ""))
        self.assertRegex(result.stderr, r"^uslab track: process \d+ \(own\) may take up to 1\d\.\d MiB more when tracked in "
                         r"full \(100000 objects in 1 cache\), and its limit of uslab \(16\.0 MiB\) leaves \d\.\d MiB: "
                         r"its allocations may fail for that\. Choose fewer caches with --cache, or --force\n$")

    def test_engines(self):
        """Debug slabs are the same for all engines."""
        for engine in ("slab", "slob", "slobseg:pow2"):
            with self.subTest(engine):
                process = self.start(18, own=True, engine=engine)
                result = uslab("debug", "-p", process.pid, "-c", "own", "FZPU")
                self.assertEqual(result.returncode, 1)
                self.assertRegex(result.stderr, r"may take up to 15\.\d MiB more with FZPU \(100000 objects in 1 cache\)")
                process.kill()

    def test_cgroup(self):
        group = Cgroup(40 * MB)
        if group.problem:
            self.skipTest(group.problem)
        self.addCleanup(group.remove)
        process = self.start(group=group)
        result = uslab("debug", "-p", process.pid, "-c", "malloc-*", "FZPU")
        self.assertEqual((result.returncode, result.stdout), (1, ""))
        self.assertRegex(result.stderr, rf"more with FZPU \(1\d{{5}} objects in \d+ caches, and 32\.0 MiB of freed blocks\), "
                         rf"and its memory limit \(cgroup \S*/{os.path.basename(group.path)}, 40\.0 MiB\) leaves "
                         r"[23]\d\.\d MiB: it may be killed for that\. ")
        self.assertFalse(self.has_debug_flags(process))
        result = uslab("debug", "-p", process.pid, "-c", "malloc-96", "FZPU")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        result = uslab("debug", "-p", process.pid, "-c", "malloc-96", "-c", "malloc-large", "--force", "FZPU")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn(", and 64.0 MiB of call stacks at most; its memory limit (cgroup ", result.stderr)
        process.kill()
        process.wait()

    @staticmethod
    def peak(process):
        with open(f"/proc/{process.pid}/status", encoding="utf-8") as stream:
            return int(re.search(r"VmHWM:\s+(\d+) kB", stream.read()).group(1)) << 10

    def test_growth(self):
        """What the warning says is a bound, and no absurd one: of the peak while all objects are replaced."""
        for size, cache, flags, own in ((64, "malloc-64", "FZPU", False), (64, "malloc-64", "U", False),
                                        (24, "malloc-32", "Z", False), (200, "malloc-208", "FZPU", False),
                                        (48, "own", "FZPU", True), (300, "own", "ZP", True)):
            with self.subTest(size=size, flags=flags, own=own):
                limit = 20 + size // 3
                process = self.start(limit + size // 10, size, own)
                with open(f"/proc/{process.pid}/clear_refs", "w", encoding="ascii") as stream:
                    stream.write("5\n")  # the peak is what it has now
                before = self.peak(process)
                result = uslab("debug", "-p", process.pid, "-c", cache, flags)
                self.assertEqual(result.returncode, 0, result.stderr)
                self.assertRegex(result.stderr, rf"^uslab debug: process {process.pid} \(\w+\) may take up to \S+ MiB "
                                 rf"more with {flags} \(10\d{{4}} objects in 1 cache\); its limit of uslab "
                                 r"\(\d+\.0 MiB\) leaves \d+\.\d MiB\n$")
                most = float(re.search(r"may take up to ([\d.]+) MiB", result.stderr).group(1)) * MB
                self.replace(process)
                grown = self.peak(process) - before
                print(f"{size} {flags}: up to {most / MB:.1f} MiB, {grown / MB:.1f} in fact", file=sys.stderr)
                self.assertLessEqual(grown, most + MB // 2)  # tables and call stacks
                self.assertGreaterEqual(grown, most / 3)
                process.kill()


if __name__ == "__main__":
    unittest.main(verbosity=2)
