#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# ctest: timeout=600 label=full sanitize=no
"""scripts/memory-breakdown: all that is resident is of one kind, and of the right one."""
import json
import os
import signal
import subprocess
import sys
import time
import unittest

sys.dont_write_bytecode = True
SOURCE = os.environ.get("USLAB_SRC") or os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
BUILD = os.environ.get("USLAB_BUILD", os.path.join(SOURCE, "build", "release"))
BIN = os.environ.get("USLAB_BIN", os.path.join(BUILD, "bin", "uslab"))
LIBRARY = os.environ.get("USLAB_MALLOC_SO", os.path.join(BUILD, "lib", "libuslab_malloc.so"))
SCRIPT = os.path.join(SOURCE, "scripts", "memory-breakdown")
sys.path[:0] = [os.path.join(SOURCE, "scripts"), os.path.join(SOURCE, "tests", "support")]
import memory_count as count  # noqa: E402
import memory_kinds as kinds  # noqa: E402
from folder import InFolder, InOwnFolder, environment  # noqa: E402

MIB = 1 << 20
ERROR = 16 * kinds.PAGE  # pages that reading made resident
# Blocks of 1000 bytes, of which three quarters go; whole pages; one large block; memory of its own.
PROGRAM = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
static char *small[16384], *pages[64];
int main(void)
{
	char *large = malloc(16 << 20), *own = mmap(NULL, 8 << 20, PROT_READ | PROT_WRITE,
						   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (int i = 0; i < 16384; i++)
		memset(small[i] = malloc(1000), 1, 1000);
	for (int i = 0; i < 64; i++)
		memset(pages[i] = malloc(65536), 1, 65536);
	memset(large, 1, 16 << 20);
	memset(own, 1, 8 << 20);
	for (int i = 0; i < 16384; i++)
		if (i % 4)
			free(small[i]);
	puts("ready");
	fflush(stdout);
	getchar();
	return large[5] + own[5] == 0;
}
"""
SCOPE = "/proc/sys/kernel/yama/ptrace_scope"


def scope():
    """Who may look into a process: 0: its user."""
    try:
        with open(SCOPE, encoding="ascii") as stream:
            return int(stream.read())
    except OSError:
        return 0


@unittest.skipIf(scope() and os.geteuid(), "the system lets no program look into another one")
class Breakdown(InFolder):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        path = os.path.join(cls.folder, "program")
        subprocess.run(["cc", "-O1", "-x", "c", "-o", path, "-"], input=PROGRAM, text=True, check=True)
        process = subprocess.Popen([path], env=environment(LD_PRELOAD=LIBRARY), stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, text=True)
        try:
            process.stdout.readline()
            process.send_signal(signal.SIGSTOP)
            kinds.wait_until_stopped(process.pid)
            cls.result = kinds.breakdown(process.pid, BIN)
            cls.count(process.pid)
            with open(f"/proc/{process.pid}/status", encoding="ascii") as stream:
                cls.status = dict(line.split(":", 1) for line in stream)
        finally:
            process.kill()
            process.communicate()

    @classmethod
    def count(cls, process):
        found = kinds.info(process, BIN)
        there = count.by_class(process, int(found["uslab"]["arena_base"], 16), found["uslab"]["arena_bytes"])
        cls.classes = {c["name"]: there.get(c["id"], 0) for c in found["caches"] if c["name"].startswith("malloc-")
                       and c["id"]}
        cls.by_name = {c["name"]: {k: v for k, v in c.items() if k != "name"} for c in cls.result["classes"]}
        cls.file = count.of_file(process, kinds.LIBRARY)

    def test_the_sum(self):
        """Equal to smaps; the counter of the kernel lags by up to 64 pages for each CPU and kind."""
        there = sum(self.result["kinds"].values())
        self.assertEqual(set(self.result["kinds"]), {kind for kind, _ in kinds.KINDS})
        self.assertLessEqual(abs(there - self.result["resident"]), ERROR)
        lag = ERROR + 4 * 64 * kinds.PAGE * os.sysconf("SC_NPROCESSORS_CONF")
        self.assertLessEqual(abs(there - int(self.status["VmRSS"].split()[0]) * 1024), lag)

    def test_the_kinds(self):
        """What the program did is found; a MiB or a tenth more is the start's, and what is cached."""
        found = self.result["kinds"]
        used = 4096 * 1024
        for kind, size in ("used", used), ("mapped", 16 * MIB), ("anonymous", 8 * MIB), ("runs", 4 * MIB):
            self.assertGreaterEqual(found[kind], size, kind)
            self.assertLess(found[kind], size * 1.1 + MIB, kind)
        self.assertGreater(found["held"] + found["free"] + found["tails"] + found["free pages"], 9 * MIB)
        for kind in ("windows", "descriptors", "caches", "library", "library data", "program files", "stack"):
            self.assertTrue(0 < found[kind] < 12 * MIB, (kind, found[kind]))

    def test_beside_another_count(self):
        """The arena by class bytes, each class for itself, and the library's file."""
        for name, size in self.classes.items():
            self.assertEqual(sum(self.by_name.get(name, {"": 0}).values()), size, name)
        self.assertEqual(self.result["kinds"]["library"] + self.result["kinds"]["library data"], self.file)

    def test_the_classes(self):
        by_name = {c["name"]: c for c in self.result["classes"]}
        self.assertEqual(max(by_name, key=lambda name: by_name[name]["used"]), "malloc-1024")
        for kind in ("used", "held", "free", "tails"):
            self.assertEqual(sum(c[kind] for c in by_name.values()), self.result["kinds"][kind])

    def test_the_command(self):
        path = os.path.join(self.folder, "result.json")
        run = subprocess.run([SCRIPT, "--build", BUILD, "--programs", "g++", "--peers", "glibc", "--rounds", "1",
                              "--json", path], capture_output=True, text=True, check=False)
        self.assertEqual(run.returncode, 0, run.stderr)
        with open(path, encoding="utf-8") as stream:
            (program,) = json.load(stream)["programs"]
        self.assertEqual(program["name"], "g++")
        self.assertEqual(set(program["peaks"]), {"uslab", "glibc"})
        total = sum(program["kinds"].values())
        self.assertLessEqual(abs(total - program["resident"]), ERROR)
        self.assertLess(total, program["peaks"]["uslab"] * 1.1)
        for kind, what in kinds.KINDS:
            self.assertRegex(run.stdout, rf"(?m)^\| {what[:20].replace('(', '.')}.* {program['kinds'][kind] // 1024}"
                             if not program["kinds"][kind] % 1024 else what[:20])


# Stands for g++: says that it runs, by its number, and goes on until it is killed.
ENDLESS = """#!/bin/sh
echo $$ >"$STARTED.new"
mv "$STARTED.new" "$STARTED"
exec sleep 3600
"""


def runs(process):
    """Not gone, and no zombie that nobody has waited for."""
    try:
        with open(f"/proc/{process}/stat", encoding="ascii") as stream:
            return stream.read().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


class Ends(InOwnFolder):
    def started(self):
        """The process of memory-breakdown, and that of the program that it runs."""
        path, says = self.put("bin/g++", ENDLESS), os.path.join(self.folder, "started")
        os.chmod(path, 0o755)
        os.mkdir(os.path.join(self.folder, "tmp"))
        run = subprocess.Popen([SCRIPT, "--build", BUILD, "--programs", "g++", "--peers", "glibc"], env=environment(
            PATH=f"{os.path.dirname(path)}:{os.environ['PATH']}", TMPDIR=os.path.join(self.folder, "tmp"),
            STARTED=says), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(run.kill)
        while not os.path.exists(says):
            if run.poll() is not None:
                self.fail(run.communicate()[1])
            time.sleep(0.01)
        with open(says, encoding="ascii") as stream:
            return run, int(stream.read())

    def test_by_signals(self):
        """Neither files nor programs stay, and whoever waits for it learns of the signal."""
        run, program = self.started()
        self.assertEqual(len(os.listdir(os.path.join(self.folder, "tmp"))), 1)
        run.send_signal(signal.SIGTERM)
        self.assertEqual(run.communicate(), ("", ""))
        self.assertEqual(run.returncode, -signal.SIGTERM)
        self.assertEqual(os.listdir(os.path.join(self.folder, "tmp")), [])
        while runs(program):  # killed it is; the kernel takes a moment
            time.sleep(0.01)


class Wrong(InFolder):
    def refused(self, status, words, *arguments):
        run = subprocess.run([SCRIPT, *arguments], capture_output=True, text=True, check=False)
        self.assertEqual((run.returncode, run.stdout), (status, ""))
        self.assertIn(words, run.stderr)

    def test_arguments(self):
        self.refused(2, "no program 'nonsense'", "--programs", "nonsense")
        self.refused(2, "at least one round", "--rounds", "0")
        self.refused(2, "not allowed with", "--json", os.path.join(self.folder, "one"), "--save")
        self.refused(1, "build first", "--build", self.folder, "--programs", "gcc", "--peers", "glibc")

    def test_a_file_that_cannot_be(self):
        """Said first: the build folder, which has no library, comes later."""
        for path, words in ((os.path.join(self.folder, "nothere", "one"), "No such file"),
                            (self.folder, "Is a directory")):
            self.refused(1, words, "--build", self.folder, "--programs", "gcc", "--json", path)
        kept = os.path.join(self.folder, "kept")
        with open(kept, "w", encoding="ascii") as stream:
            stream.write("kept")
        for path in kept, os.path.join(self.folder, "new"):
            self.refused(1, "build first", "--build", self.folder, "--programs", "gcc", "--peers", "glibc",
                         "--json", path)
        with open(kept, encoding="ascii") as stream:
            self.assertEqual(stream.read(), "kept")
        self.assertNotIn("new", os.listdir(self.folder))

    def test_no_process(self):
        with self.assertRaises(kinds.Gone):
            kinds.breakdown(2 ** 22 + 1, BIN)


if __name__ == "__main__":
    unittest.main()
