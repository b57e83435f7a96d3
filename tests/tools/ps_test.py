#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# ctest: timeout=300
"""uslab ps: which processes have uslab, what each holds, and what cannot be looked into."""
import json
import os
import pwd
import re
import shutil
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from folder import InFolder  # noqa: E402
from programs import WITH_LIBRARY, compile_program, start_program  # noqa: E402

BIN = os.environ["USLAB_BIN"]
MALLOC = os.path.join(os.environ["USLAB_LIB"], "libuslab_malloc.so")

# One object less than it says, where one is freed twice: a report.
OBJECTS = r"""
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	static void *volatile blocks[10000];

	for (int i = 0; i < atoi(argv[1]); i++)
		blocks[i] = malloc(1000);
	if (argc > 2) {
		free(blocks[0]);
		free(blocks[0]);
	}
	if (write(1, "ready\n", 6) != 6)
		return 1;
	pause();
}
"""

LINKED = r"""
#include <unistd.h>
#include <uslab/slab.h>

int main(int argc, char **argv)
{
	(void)argv;
	if (argc > 1)
		kmem_cache_alloc(kmem_cache_create("widget", 64, 0, 0, NULL), GFP_KERNEL);
	if (write(1, "ready\n", 6) != 6)
		return 1;
	pause();
}
"""

OWN = r"""
#include <stddef.h>
#include <unistd.h>

void *malloc(size_t size) { (void)size; return NULL; }
void *calloc(size_t count, size_t size) { (void)count; (void)size; return NULL; }
void *realloc(void *block, size_t size) { (void)block; (void)size; return NULL; }
void free(void *block) { (void)block; }

int main(void)
{
	if (write(1, "ready\n", 6) != 6)
		return 1;
	pause();
}
"""

# Something that calls itself uslab_root and is of another version.
OTHER = r"""
#include <stdint.h>
#include <unistd.h>

struct { uint64_t magic; uint32_t version, ready, sizes[6]; char name[16]; uint64_t more[64]; }
	uslab_root = { 0x746f6f7262616c73ull, 9999, 1, { 0 }, "5.4.3", { 0 } };

int main(void)
{
	if (write(1, "ready\n", 6) != 6)
		return 1;
	pause();
}
"""

# Who reads what it calls uslab_root waits for ever: a page that is missing, and nobody who brings it.
SILENT = r"""
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

char uslab_root[65536] __attribute__((aligned(65536)));

int main(void)
{
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register range = { .range = { (unsigned long)uslab_root, sizeof(uslab_root) },
					 .mode = UFFDIO_REGISTER_MODE_MISSING };

	if (fd < 0 || ioctl(fd, UFFDIO_API, &api) || ioctl(fd, UFFDIO_REGISTER, &range))
		return write(1, "none\n\n", 6) != 6;
	if (write(1, "ready\n", 6) != 6)
		return 1;
	pause();
}
"""


def uslab(*arguments, **options):
    return subprocess.run([BIN, *map(str, arguments)], capture_output=True, text=True, check=False, timeout=120,
                          **options)


class PsTest(InFolder):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        os.chmod(cls.folder, 0o755)
        cls.objects = compile_program(cls.folder, "objects", OBJECTS, "-fno-builtin")
        cls.linked = compile_program(cls.folder, "linked", LINKED, *WITH_LIBRARY)
        cls.other = compile_program(cls.folder, "other", OTHER, "-rdynamic")
        cls.silent = compile_program(cls.folder, "silent", SILENT, "-rdynamic")

    def start(self, *command, **environment):
        return start_program(self, list(map(str, command)), stderr=subprocess.DEVNULL,
                             env={**os.environ, **environment}).pid

    def preloaded(self, *arguments, **environment):
        return self.start(self.objects, *arguments, LD_PRELOAD=MALLOC, **environment)

    def ps(self, *arguments, status=0):
        done = uslab("ps", *arguments)
        self.assertEqual(done.returncode, status, done.stderr)
        return done.stdout

    def rows(self, *arguments):
        """{PID: the row}, of JSON."""
        return {row["pid"]: row for row in json.loads(self.ps("--json", *arguments))}

    def line_of(self, pid, *arguments):
        lines = [line.split(None, 9) for line in self.ps(*arguments).splitlines()]
        return dict(zip(lines[0], next(line for line in lines if line[0] == str(pid))))

    # ---- what is listed ----

    def test_numbers(self):
        pid = self.preloaded(5000)
        row = self.rows()[pid]
        info = json.loads(uslab("info", "-p", pid, "--json").stdout)
        caches = info["caches"]
        self.assertEqual((row["program"], row["state"], row["object"], row["version_text"]),
                         ("objects", "read", info["object"], info["uslab"]["version_text"]))
        self.assertEqual(row["objects"], sum(cache["objects"] for cache in caches))
        self.assertEqual(row["space_bytes"], sum(cache["slab_bytes"] for cache in caches))
        self.assertEqual((row["reports"], row["debug_flags"], row["sampled"]), (0, "", False))
        # 5000 of 1000 bytes, in blocks of 1024
        self.assertTrue(5000 * 1000 <= row["held_bytes"] <= row["space_bytes"], row)
        self.assertLess(row["held_bytes"], 5000 * 1024 + 200_000)
        with open(f"/proc/{pid}/statm", encoding="ascii") as stream:
            resident = int(stream.read().split()[1]) * os.sysconf("SC_PAGESIZE")
        self.assertAlmostEqual(row["resident_bytes"], resident, delta=1 << 20)

    def test_table(self):
        pid = self.preloaded(3, USLAB_DEBUG="FZU,malloc-1024")
        line = self.line_of(pid)
        self.assertEqual((line["Flags"], line["Reports"], line["Library"], line["Program"]),
                         ("FZU", "0", "libuslab_malloc.so", "objects"))
        self.assertRegex(line["Resident"], r"^\d+\.\dM$")
        exact = self.line_of(pid, "-B")
        self.assertEqual(int(exact["Waste"]), int(exact["Space"]) - int(exact["Held"]))

    def test_reports(self):
        pid = self.preloaded(3, "twice", USLAB_CONF="report=continue")
        self.assertEqual(self.line_of(pid)["Reports"], "1")

    def test_linked(self):
        pid = self.start(self.linked, "use")
        row = self.rows()[pid]
        self.assertEqual((row["state"], row["objects"]), ("read", 1))
        self.assertRegex(os.path.basename(row["object"]), r"^libuslab\.so")

    def test_unused(self):
        """A program that has a malloc of its own."""
        own = compile_program(self.folder, "own", OWN, "-fno-builtin")
        pid = self.start(own, LD_PRELOAD=MALLOC)
        row = self.rows()[pid]
        self.assertEqual([row[key] for key in ("state", "objects", "debug_flags", "sampled")], ["unused", *[None] * 3])
        self.assertEqual(self.line_of(pid)["Program"], "own (not used yet)")

    def test_both(self):
        """A row for each copy in a process."""
        pid = self.start(self.linked, "use", LD_PRELOAD=MALLOC)
        found = [row["object"] for row in json.loads(self.ps("--json")) if row["pid"] == pid]
        self.assertEqual(sorted(re.sub(r".*/|\.so.*", "", name) for name in found), ["libuslab", "libuslab_malloc"])

    def test_other_version(self):
        pid = self.start(self.other)
        row = self.rows()[pid]
        self.assertEqual((row["state"], row["data_version"], row["version_text"], row["held_bytes"]),
                         ("other_data", 9999, "5.4.3", None))
        self.assertRegex(self.line_of(pid)["Program"], r"^other \(data of version 9999; this command reads \d+\)$")

    def test_without(self):
        """Neither programs without it nor this command, which has the library in it."""
        pid = self.start(self.objects, 1)
        with subprocess.Popen([BIN, "ps", "--json"], stdout=subprocess.PIPE) as itself:
            found = [row["pid"] for row in json.load(itself.stdout)]
        self.assertNotIn(pid, found)
        self.assertNotIn(itself.pid, found)

    def test_order(self):
        few, many = self.preloaded(10), self.preloaded(9000)
        by_space = [pid for pid in self.rows("-S") if pid in (few, many)]
        self.assertEqual(by_space, [many, few])
        by_pid = list(self.rows())
        self.assertEqual(by_pid, sorted(by_pid))

    # ---- what cannot be ----

    def start_silent(self):
        process = subprocess.Popen([self.silent], stdout=subprocess.PIPE)
        for cleanup in (process.stdout.close, process.wait, process.kill):
            self.addCleanup(cleanup)
        if process.stdout.read(6) != b"ready\n":
            self.skipTest("this user may not have faults handled")
        return process.pid

    def test_silent(self):
        """Processes that cannot be read to the end do not keep others from being listed."""
        first, silent, last = self.preloaded(1), [self.start_silent() for _ in range(5)], self.preloaded(1)
        start = time.monotonic()
        rows = self.rows()
        elapsed = time.monotonic() - start
        self.assertEqual([rows[pid]["state"] for pid in (first, *silent, last)], ["read", *["no_answer"] * 5, "read"])
        # 5 s, 5 s, then less
        self.assertGreater(elapsed, 10)
        self.assertLess(elapsed, 20)
        row = rows[silent[0]]
        self.assertEqual((row["program"], *(row[key] for key in ("version_text", "held_bytes", "debug_flags"))),
                         ("silent", None, None, None))

    def test_silent_line(self):
        self.assertEqual(self.line_of(self.start_silent())["Program"], "silent (does not answer)")

    @unittest.skipUnless(os.getuid() == 0, "takes root")
    def test_no_proc(self):
        done = subprocess.run(["unshare", "-m", "sh", "-c", f"mount -t tmpfs none /proc && exec {BIN} ps"],
                              capture_output=True, text=True, check=False)
        if "mount" in done.stderr or "unshare" in done.stderr:
            self.skipTest(done.stderr)
        self.assertEqual((done.returncode, done.stdout, done.stderr),
                         (1, "", "uslab ps: needs /proc, which is not mounted here\n"))

    def test_wrong_use(self):
        for arguments, text in (("x",), "unexpected argument 'x'"), (("--core", "x"), "--core"):
            done = uslab("ps", *arguments)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertIn(text, done.stderr)

    def test_full_disk(self):
        self.preloaded(1)
        with open("/dev/full", "w", encoding="ascii") as full:
            done = subprocess.run([BIN, "ps"], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("uslab ps: cannot write all of the output\n", done.stderr)

    @unittest.skipUnless(os.getuid() == 0, "takes root, who can be somebody else")
    def test_others(self):
        """Who is not root is told how many processes he does not see."""
        pid = self.preloaded(1)
        nobody = pwd.getpwnam("nobody")
        command = shutil.copy(BIN, self.folder)
        done = subprocess.run([command, "ps", "--json"], capture_output=True, text=True, check=False,
                              user=nobody.pw_uid, group=nobody.pw_gid, extra_groups=[])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn(pid, [row["pid"] for row in json.loads(done.stdout)])
        self.assertRegex(done.stderr, r"^uslab ps: \d+ other process(es)? may not be looked into: that takes root, "
                                      r"or CAP_SYS_PTRACE")


if __name__ == "__main__":
    unittest.main()
