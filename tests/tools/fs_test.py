#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# ctest: timeout=900
"""uslab fs: the tree beside the kernel's own, the kernel's tools on it, writing, ends and errors.

The kernel's slabinfo is used if USLAB_SLABINFO names it: it is built from tools/mm/slabinfo.c (or
tools/vm) of a kernel's source. What cannot be mounted here is skipped, with the reason.
"""
import contextlib
import errno
import json
import os
import re
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from folder import InFolder  # noqa: E402

BIN = os.environ["USLAB_BIN"]
LIB = os.environ["USLAB_LIB"]
SRC = os.environ["USLAB_SRC"]
CC = os.environ.get("USLAB_CC", "cc")
SLABINFO = os.environ.get("USLAB_SLABINFO")
KERNEL = "/sys/kernel/slab"
NOBODY = 65534
# There is one shared queue of 8 batches for each node, where the machine may have more than one CPU.
SHARED = "8" if os.sysconf("SC_NPROCESSORS_CONF") > 1 else "0"

NUMBER = r"\d+\n"
FLAG = r"[01]\n"
NODES = r"(0|[1-9]\d*( N\d+=[1-9]\d*)+)\n"
CPUS = r"(0|[1-9]\d*( C\d+=[1-9]\d*)+)\n"
SHAPES = {
    "aliases": NUMBER, "align": NUMBER, "cache_dma": FLAG, "cpu_partial": NUMBER,
    "cpu_slabs": NODES, "defrag": "", "defrag_used_ratio": NUMBER, "limit": NUMBER, "ctor": r"(\S+\+0x[0-9a-f]+/0x[0-9a-f]+( \[\S+\])?\n)?",
    "destroy_by_rcu": FLAG, "failslab": FLAG, "hwcache_align": FLAG, "min_partial": NUMBER,
    "object_size": NUMBER, "objects": NODES, "objects_partial": NODES, "objs_per_slab": NUMBER,
    "order": r"\d\n", "partial": NODES, "poison": FLAG, "reclaim_account": FLAG, "red_zone": FLAG,
    "remote_node_defrag_ratio": NUMBER, "sanity_checks": FLAG, "sheaf_capacity": NUMBER,
    "shrink": "", "skip_kfence": FLAG, "slab_size": NUMBER, "slabs": NODES,
    "slabs_cpu_partial": r"\d+\(\d+\)( C\d+=\d+\([1-9]\d*\))*\n", "store_user": FLAG,
    "total_objects": NODES, "trace": FLAG, "usersize": NUMBER, "validate": "",
}
STATISTICS = """alloc_fastpath alloc_slowpath free_fastpath free_slowpath free_frozen
    free_add_partial free_remove_partial alloc_from_partial alloc_slab alloc_refill
    alloc_node_mismatch free_slab cpuslab_flush deactivate_full deactivate_empty
    deactivate_to_head deactivate_to_tail deactivate_remote_frees deactivate_bypass
    order_fallback cmpxchg_double_cpu_fail cmpxchg_double_fail cpu_partial_alloc
    cpu_partial_free cpu_partial_node cpu_partial_drain alloc_cpu_sheaf free_cpu_sheaf
    free_rcu_sheaf free_rcu_sheaf_fail sheaf_flush sheaf_refill sheaf_alloc sheaf_free barn_get
    barn_get_fail barn_put barn_put_fail sheaf_prefill_fast sheaf_prefill_slow
    sheaf_prefill_oversize sheaf_return_fast sheaf_return_slow""".split()
SHAPES.update((name, CPUS) for name in STATISTICS)
# Read-only in kernels of today; they were writable in Linux 3.18, but for the last one.
WRITABLE_HERE = {"order", "sanity_checks", "trace", "red_zone", "poison", "store_user", "failslab", "sheaf_capacity",
                 "defrag_used_ratio", "defrag", "limit"}


def read(*parts):
    with open(os.path.join(*parts), encoding="ascii") as stream:
        return stream.read()


def write(text, *parts):
    """errno of writing to an existing file as a shell does, 0 if it was taken."""
    try:
        descriptor = os.open(os.path.join(*parts), os.O_WRONLY | os.O_TRUNC)
        try:
            os.write(descriptor, text.encode())
        finally:
            os.close(descriptor)
    except OSError as error:
        return error.errno
    return 0


def uslab(*arguments, **options):
    return subprocess.run([BIN, *map(str, arguments)], capture_output=True, text=True, check=False,
                          timeout=300, **options)


def of_caches(totals):
    """-T or -X of a process without the lines that only a process has."""
    return "".join(line for line in totals.splitlines(True)
                   if not line.startswith(("Whole pages:", "Resident   :", "Kept pages :",
                                          "In handlers:")))


def wait_until(condition, seconds=300):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def unmount(folder):
    command = ["fusermount3", "-u", "-z"] if shutil.which("fusermount3") else ["umount", "-l"]
    subprocess.run([*command, folder], check=False, stderr=subprocess.DEVNULL)


class Case(InFolder):
    """A folder, the programs, and one quiet process."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        os.chmod(cls.folder, 0o755)
        cls.program = cls.compile("model", f"{SRC}/tests/tools/src/fs_model.c",
                                  f"-I{SRC}/include", f"{LIB}/libuslab.a", "-pthread")

    @classmethod
    def compile(cls, name, source, *flags):
        path = os.path.join(cls.folder, name)
        subprocess.run([CC, "-O1", "-g", "-o", path, source, *flags], check=True)
        return path

    @classmethod
    def start(cls, *arguments, **options):
        """A process of ours that said that it is ready."""
        environment = dict(os.environ, USLAB_CONF="stats")
        process = subprocess.Popen([cls.program, *arguments], stdout=subprocess.PIPE, text=True,
                                   env=environment, **options)
        cls.addClassCleanup(cls.stop, process)
        if process.stdout.readline() != "ready\n":
            raise AssertionError("the program did not start")
        return process

    @staticmethod
    def stop(process):
        process.kill()
        process.wait()
        process.stdout.close()

    def mount(self, pid, *options):
        """A folder on which the process is mounted."""
        folder = tempfile.mkdtemp(dir=self.folder)
        run = uslab("fs", "-p", pid, *options, folder)
        if run.returncode == 1 and "cannot mount on" in run.stderr:
            self.skipTest(run.stderr.strip())
        self.assertEqual((run.returncode, run.stdout, run.stderr), (0, "", ""))
        self.addCleanup(unmount, folder)
        return folder

    def caches(self, pid):
        run = uslab("info", "-p", pid, "--json")
        self.assertEqual(run.returncode, 0, run.stderr)
        return [cache for cache in json.loads(run.stdout)["caches"] if cache["id"]]


class Tree(Case):
    def test_layout(self):
        top = self.mount(self.start().pid)
        self.assertEqual(sorted(os.listdir(top)), ["groups", "kernel", "proc"])
        self.assertEqual(sorted(os.listdir(top + "/kernel")), ["debug", "slab"])
        self.assertEqual(os.listdir(top + "/kernel/debug"), ["slab"])
        self.assertEqual(sorted(os.listdir(top + "/proc")), ["allocinfo", "memory", "numastat", "slabinfo", "sys"])
        names = set(os.listdir(top + "/kernel/slab"))
        self.assertLessEqual({":0000440", "first", "second", "widget", "a!b", "kmalloc-64"}, names)
        self.assertEqual(os.readlink(top + "/kernel/slab/second"), ":0000440")
        self.assertEqual(os.readlink(top + "/kernel/slab/first"), ":0000440")

    def test_attributes(self):
        top = self.mount(self.start().pid)
        for name in os.listdir(top + "/kernel/slab"):
            folder = f"{top}/kernel/slab/{name}"
            self.assertEqual(set(os.listdir(folder)), set(SHAPES))
            for attribute, shape in SHAPES.items():
                text = read(folder, attribute)
                self.assertRegex(text, f"^{shape}$", f"{name}/{attribute}")
                self.assertLessEqual(len(text), 4095)

    def test_beside_the_kernel(self):
        if not os.access(KERNEL, os.R_OK):
            self.skipTest(f"no {KERNEL}")
        folders = [f"{KERNEL}/{name}" for name in sorted(os.listdir(KERNEL))[:40]]
        if not folders or not os.access(folders[0] + "/slabs", os.R_OK):
            self.skipTest(f"{KERNEL} may not be read")
        top = self.mount(self.start().pid)
        ours = f"{top}/kernel/slab/widget"
        self.assertEqual(stat.S_IMODE(os.stat(ours).st_mode),
                         stat.S_IMODE(os.stat(folders[0]).st_mode))
        for folder in folders:
            for attribute in os.listdir(folder):
                with self.subTest(attribute=attribute):
                    status, theirs = os.stat(f"{ours}/{attribute}"), os.stat(f"{folder}/{attribute}")
                    self.assertEqual(status.st_size, theirs.st_size)
                    if attribute not in WRITABLE_HERE:
                        self.assertEqual(status.st_mode, theirs.st_mode)
                    self.assertRegex(read(folder, attribute), f"^{SHAPES[attribute]}$")

    def test_modes(self):
        top = self.mount(self.start().pid)
        writable = {name for name in SHAPES
                    if os.stat(f"{top}/kernel/slab/widget/{name}").st_mode == 0o100600}
        self.assertEqual(writable, WRITABLE_HERE | set(STATISTICS) | {
            "min_partial", "cpu_partial", "remote_node_defrag_ratio", "shrink", "validate",
            "skip_kfence"})
        for name in set(SHAPES) - writable:
            self.assertEqual(os.stat(f"{top}/kernel/slab/widget/{name}").st_mode, 0o100400)
        owner = os.stat(f"{top}/kernel/slab/widget")
        self.assertEqual((owner.st_uid, owner.st_gid), (os.getuid(), os.getgid()))

    def test_numbers(self):
        pid = self.start().pid
        top = self.mount(pid)
        for cache in self.caches(pid):
            folder = f"{top}/kernel/slab/{cache['name'].replace('/', '!')}"
            for key in ("object_size", "slab_size", "align", "order", "objs_per_slab", "objects",
                        "total_objects", "slabs", "partial", "objects_partial", "cpu_slabs",
                        "min_partial", "cpu_partial"):
                with self.subTest(cache=cache["name"], key=key):
                    self.assertEqual(int(read(folder, key).split()[0]), cache[key])
            for key, value in cache["stats"].items():
                total, *cpus = read(folder, key).split()
                self.assertEqual(int(total), value)
                self.assertEqual(sum(int(cpu.split("=")[1]) for cpu in cpus), value)
        self.assertEqual(read(top, "kernel/slab/first/aliases"), "1\n")
        self.assertEqual(read(top, "kernel/slab/widget/objects"), "666 N0=666\n")
        self.assertRegex(read(top, "kernel/slab/a!b/ctor"), r"^make_thing\+0x0/0x[0-9a-f]+ \[model\]$")
        self.assertEqual(read(top, "kernel/slab/a!b/destroy_by_rcu"), "0\n")
        self.assertEqual(read(top, "kernel/slab/a!b/reclaim_account"), "1\n")
        self.assertEqual(read(top, "kernel/slab/widget/hwcache_align"), "1\n")
        self.assertEqual(read(top, "kernel/slab/kmalloc-64/usersize"), "64\n")
        self.assertRegex(read(top, "kernel/slab/on-cpus/slabs_cpu_partial"), r"\([1-9]")

    def test_slabinfo(self):
        pid = self.start().pid
        lines = read(self.mount(pid), "proc/slabinfo").splitlines()
        self.assertEqual(lines[0], "slabinfo - version: 2.1")
        self.assertTrue(lines[1].startswith("# name            <active_objs> <num_objs> <objsize>"))
        caches = {cache["name"]: cache for cache in self.caches(pid)}
        self.assertEqual(len(lines) - 2, len(caches))
        for line in lines[2:]:
            name, *fields = re.sub(r" : (tunables|slabdata)", "", line).split()
            cache = caches[name]
            tunables = ["120", "60", SHARED] if name == "queued" else ["0", "0", "0"]
            self.assertEqual(fields[5:8], tunables, line)
            self.assertEqual([int(field) for field in fields[:5] + fields[8:]],
                             [cache["objects"], cache["total_objects"], cache["slab_size"],
                              cache["objs_per_slab"], 1 << cache["order"], cache["slabs"],
                              cache["slabs"], cache["objects_shared"]], line)
        self.assertEqual([line.split()[0] for line in lines[2:8]],
                         ["a/b", "on-cpus", "queued", "widget", "empty", "first"])

    def test_kinds_in_listings(self):
        top = self.mount(self.start().pid)
        kinds = self.compile("kinds", f"{SRC}/tests/tools/src/fs_kinds.c")
        for folder, kind in (("kernel", 4), ("kernel/slab", None), ("kernel/slab/widget", 8)):
            run = subprocess.run([kinds, f"{top}/{folder}"], capture_output=True, text=True,
                                 check=True)
            for name, got in (line.rsplit(" ", 1) for line in run.stdout.splitlines()):
                want = kind or (10 if os.path.islink(f"{top}/{folder}/{name}") else 4)
                if name not in (".", ".."):
                    self.assertEqual(int(got), want, name)

    def test_one_time(self):
        # A file that is read in pieces is of one time; from the beginning it is of now.
        top = self.mount(self.start("busy").pid)
        path = top + "/proc/slabinfo"
        with open(path, "rb", buffering=0) as stream:
            before = stream.read(200)
            self.assertEqual(write("queued 50 25 4\n", path), 0)
            time.sleep(0.2)
            before += stream.read(100000)
            self.assertRegex(before.decode(), rf"\nqueued .* : tunables  120   60    {SHARED} :")
            stream.seek(0)
            self.assertRegex(stream.read(100000), rb"\nqueued .* : tunables   50   25    4 :")

    def test_follows_the_process(self):
        process = self.start("busy")
        top = self.mount(process.pid)
        path = top + "/kernel/slab/widget/alloc_slowpath"
        with open(path, encoding="ascii") as stream:
            first = stream.read()

            def changed():
                stream.seek(0)
                return stream.read() != first and read(path) != first
            self.assertTrue(wait_until(changed))

    def test_root_option(self):
        pid = self.start().pid
        tree = self.mount(pid) + "/kernel/slab"
        for option in ("-T", "-X"):
            there = uslab("info", "--root", tree, option)
            if "--root" in there.stderr:
                self.skipTest("this uslab info has no --root")
            self.assertEqual(there.stdout, of_caches(uslab("info", "-p", pid, option).stdout))


class Writing(Case):
    def setUp(self):
        self.process = self.start("busy")
        self.top = self.mount(self.process.pid)
        self.slab = self.top + "/kernel/slab"

    def test_numbers(self):
        for name, text, want in (("min_partial", "17\n", "17\n"), ("cpu_partial", "8", "8\n"),
                                 ("remote_node_defrag_ratio", "50\n", "50\n"),
                                 ("skip_kfence", "1\n", "1\n"), ("skip_kfence", "0\n", "0\n"),
                                 ("order", "3\n", "3\n")):
            with self.subTest(name=name):
                self.assertEqual(write(text, self.slab, "widget", name), 0)
                self.assertEqual(read(self.slab, "widget", name), want)
        self.assertEqual(read(self.slab, "first", "remote_node_defrag_ratio"), "100\n")
        for text, want in (("1M\n", "1048576\n"), ("0\n", "0\n")):
            self.assertEqual(write(text, self.slab, "queued/limit"), 0)
            self.assertEqual(read(self.slab, "queued/limit"), want)

    def test_refused(self):
        for name, text, want in (("min_partial", "x", errno.EINVAL), ("min_partial", "", 0),
                                  ("remote_node_defrag_ratio", "101", errno.ERANGE),
                                  ("order", "40", errno.EINVAL), ("shrink", "0", errno.EINVAL),
                                  ("validate", "1", errno.EINVAL), ("alloc_slab", "1", errno.EINVAL),
                                  ("slabs", "1", errno.EACCES), ("objects", "1", errno.EACCES)):
            with self.subTest(name=name, text=text):
                before = read(self.slab, "widget", name) if name != "alloc_slab" else ""
                self.assertEqual(write(text, self.slab, "widget", name), want)
                if name not in ("alloc_slab", "objects", "slabs"):
                    self.assertEqual(read(self.slab, "widget", name), before)

    def test_capacity(self):
        first = read(self.slab, "widget/sheaf_capacity")
        for text, want in (("4\n", "4\n"), ("0", "0\n"), ("31", "31\n"), ("default\n", first), ("0\n", "0\n"),
                           ("default", first)):
            self.assertEqual(write(text, self.slab, "widget/sheaf_capacity"), 0, text)
            self.assertEqual(read(self.slab, "widget/sheaf_capacity"), want)
        for cache, text, want in (("widget", "32", errno.EINVAL), ("widget", "1025", errno.ERANGE),
                                  ("widget", "-1", errno.EINVAL), ("widget", "few", errno.EINVAL),
                                  ("queued", "0", errno.EINVAL), ("on-cpus", "4", errno.EOPNOTSUPP),
                                  ("on-cpus", "default", errno.EOPNOTSUPP)):
            with self.subTest(cache=cache, text=text):
                before = read(self.slab, cache, "sheaf_capacity")
                self.assertEqual(write(text, self.slab, cache, "sheaf_capacity"), want)
                self.assertEqual(read(self.slab, cache, "sheaf_capacity"), before)
        self.assertEqual(write("50\n", self.slab, "queued/sheaf_capacity"), 0)
        self.assertEqual(read(self.slab, "queued/sheaf_capacity"), "50\n")
        self.assertIsNone(self.process.poll())

    def test_statistics(self):
        before = int(read(self.slab, "on-cpus/alloc_slab").split()[0])
        self.assertGreater(before, 0)
        self.assertEqual(write("0\n", self.slab, "on-cpus/alloc_slab"), 0)
        self.assertEqual(read(self.slab, "on-cpus/alloc_slab"), "0\n")
        self.assertNotEqual(read(self.slab, "on-cpus/free_slowpath"), "0\n")

    def test_debug_flags(self):
        # On a cache in use, where the kernel refuses.
        for name in ("sanity_checks", "red_zone", "poison", "store_user"):
            self.assertEqual(write("1", self.slab, "widget", name), 0, name)
            self.assertEqual(read(self.slab, "widget", name), "1\n")
        self.assertGreater(int(read(self.slab, "widget/slab_size")), 384)
        self.assertEqual(write("8", self.slab, "widget/cpu_partial"), errno.EINVAL)
        self.assertEqual(write("1", self.slab, "widget/validate"), 0)
        traces = f"{self.top}/kernel/debug/slab/widget"
        # The process keeps its widgets for a moment only: what one read found, the next may not.
        found = []

        def tracked():
            found.append(read(traces, "alloc_traces"))
            return "take_widget" in found[-1]
        self.assertTrue(wait_until(tracked), found[-1])
        self.assertLessEqual(len(found[-1]), 4095)
        self.assertRegex(found[-1], r"(?m)^ *\d+ \S+ .*age=[\d/]+ pid=\d+")
        for name in ("sanity_checks", "red_zone", "poison", "store_user"):
            self.assertEqual(write("0", self.slab, "widget", name), 0, name)
            self.assertEqual(read(self.slab, "widget", name), "0\n")
        self.assertIsNone(self.process.poll())

    def test_shrink(self):
        self.assertEqual(write("1\n", self.slab, "empty/shrink"), 0)
        self.assertEqual(write("1\n", self.slab, "widget/shrink"), 0)
        self.assertIsNone(self.process.poll())

    def test_tunables(self):
        path = self.top + "/proc/slabinfo"
        self.assertEqual(os.stat(path).st_mode, 0o100600)
        self.assertEqual(write("queued 50 25 4\n", path), 0)
        self.assertRegex(read(path), r"(?m)^queued .* : tunables   50   25    4 :")
        for text, want in (("queued 0 25 4", 0), ("queued 50 51 4", 0), ("queued 50 25 -1", 0),
                            ("queued 50 25", errno.EINVAL), ("queued", errno.EINVAL),
                            ("nothing 50 25 4", errno.EINVAL), ("widget 50 25 4", errno.EIO),
                            ("queued 60 25 4 " + "x" * 128, errno.EINVAL), ("queued 50 25 2147483647", errno.EINVAL)):
            with self.subTest(text=text):
                self.assertEqual(write(text, path), want)
        self.assertRegex(read(path), r"(?m)^queued .* : tunables   50   25    4 :")

    def test_nobody_listens(self):
        os.kill(self.process.pid, signal.SIGSTOP)
        try:
            self.assertEqual(write("1", self.slab, "widget/shrink"), errno.ETIMEDOUT)
            self.assertEqual(read(self.slab, "widget/shrink"), "")
        finally:
            os.kill(self.process.pid, signal.SIGCONT)


class Ends(Case):
    def foreground(self, pid):
        folder = tempfile.mkdtemp(dir=self.folder)
        process = subprocess.Popen([BIN, "fs", "-f", "-p", str(pid), folder], text=True,
                                   stderr=subprocess.PIPE)
        self.addCleanup(process.stderr.close)
        self.addCleanup(unmount, folder)
        wait_until(lambda: os.path.ismount(folder) or process.poll() is not None)
        if process.poll() is not None:
            text = process.stderr.read()
            if "cannot mount on" in text:
                self.skipTest(text.strip())
            self.fail(text)
        return process, folder

    def test_signals(self):
        pid = self.start().pid
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            process, folder = self.foreground(pid)
            process.send_signal(number)
            self.assertEqual(process.wait(10), 0)
            self.assertEqual(process.stderr.read(), "")
            self.assertFalse(os.path.ismount(folder))

    def test_unmounted(self):
        process, folder = self.foreground(self.start().pid)
        unmount(folder)
        self.assertEqual(process.wait(10), 0)

    def test_process_ends(self):
        model = self.start()
        process, folder = self.foreground(model.pid)
        descriptor = os.open(folder + "/kernel/slab/widget/objects", os.O_RDONLY)
        try:
            model.kill()
            model.wait()
            self.assertEqual(process.wait(10), 0)
            self.assertIn("has ended", process.stderr.read())
            self.assertRaises(OSError, os.read, descriptor, 100)
            self.assertFalse(os.path.ismount(folder))
        finally:
            with contextlib.suppress(OSError):
                os.close(descriptor)

    def test_background(self):
        model = self.start()
        folder = self.mount(model.pid)
        self.assertTrue(os.path.ismount(folder))
        model.kill()
        model.wait()
        self.assertTrue(wait_until(lambda: not os.path.ismount(folder)))

    def test_left_over(self):
        pid = self.start().pid
        process, folder = self.foreground(pid)
        process.kill()
        process.wait()
        run = uslab("fs", "-p", pid, folder)
        self.assertEqual(run.returncode, 1)
        self.assertIn(f"fusermount3 -u {folder}", run.stderr)


class Usage(Case):
    def refused(self, status, text, *arguments):
        run = uslab("fs", *arguments)
        self.assertEqual((run.returncode, run.stdout), (status, ""), run.stderr)
        self.assertIn(text, run.stderr)
        self.assertTrue(run.stderr.startswith("uslab fs: "), run.stderr)

    def test_wrong_usage(self):
        for text, *arguments in (
                ("which process?",), ("which process?", "/tmp"), ("which folder?", "-p", "1"),
                ("no process id", "-p", "x", "/tmp"), ("needs a value", "-p"),
                ("unknown option", "-q"), ("one folder only", "-p", "1", "/tmp", "/var"),
                ("not both", "-p", "1", "--core", "x", "/tmp"),
                ("goes with --core", "-p", "1", "--program", "x", "/tmp"),
                ("goes with --core", "-p", "1", "--sysroot", "/", "/tmp"),
                ("goes with DIR", "-p", "1", "-f", "--enter")):
            with self.subTest(arguments=arguments):
                self.refused(2, text, *arguments)

    def test_help(self):
        run = uslab("fs", "--help")
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        self.assertIn("usage: uslab fs -p PID", run.stdout)
        self.assertIn("  fs ", uslab("--help").stdout)

    def test_failures(self):
        pid = self.start().pid
        self.refused(1, "does not use uslab", "-p", os.getpid(), self.folder)
        self.refused(1, "there is no folder", "-p", pid, self.folder + "/none")
        self.refused(1, "is not empty", "-p", pid, self.folder)
        self.refused(1, "Not a directory", "-p", pid, self.program)

    def test_no_device(self):
        if os.geteuid() != 0:
            self.skipTest("only root can hide /dev/fuse")
        folder = tempfile.mkdtemp(dir=self.folder)
        run = subprocess.run(["unshare", "-m", "sh", "-c",
                              'mount -t tmpfs none /dev && exec "$@"', "sh", BIN, "fs", "-p",
                              str(self.start().pid), folder], capture_output=True, text=True,
                             check=False)
        if "unshare" in run.stderr or "mount:" in run.stderr.split("uslab fs")[0]:
            self.skipTest(run.stderr.strip())
        self.assertEqual(run.returncode, 1)
        self.assertIn("/dev/fuse", run.stderr)


class Enter(Case):
    """As the user who runs the tests; the class below once more as nobody."""

    user = {}
    device = False  # with a /dev/fuse that everybody may open

    def setUp(self):
        self.bin = BIN
        self.runner, self.runner_user = [], self.user
        if self.user:
            if os.geteuid() != 0:
                self.skipTest("only root can be somebody else")
            self.bin = f"{self.folder}/uslab"
            if not os.path.exists(self.bin):
                shutil.copy(BIN, self.bin)
        self.pid = self.start(**self.user).pid
        if self.device:
            self.make_device()
        run = self.enter("true")
        if re.search("cannot (make|mount|copy)|there is no /sys", run.stderr):
            self.skipTest(run.stderr.strip())
        if "/proc/slabinfo stays" in run.stderr:
            self.skipTest("no /proc/slabinfo here")
        self.copied = "sees a copy" in run.stderr
        self.assertEqual(run.returncode, 0, run.stderr)

    def make_device(self):
        node = self.folder + "/fuse"
        try:
            if not os.path.exists(node):
                os.mknod(node, stat.S_IFCHR | 0o600, os.stat("/dev/fuse").st_rdev)
                os.chmod(node, 0o666)
        except OSError as error:
            self.skipTest(f"no /dev/fuse for all: {error}")
        self.runner = ["unshare", "-m", "sh", "-c", f"mount --bind {node} /dev/fuse && "
                       f"exec setpriv --reuid {NOBODY} --regid {NOBODY} --clear-groups \"$@\"", "sh"]
        self.runner_user = {}
        run = subprocess.run([*self.runner, "true"], capture_output=True, text=True, check=False)
        if run.returncode:
            self.skipTest(f"no /dev/fuse for all: {run.stderr.strip()}")

    def enter(self, *command):
        return subprocess.run([*self.runner, self.bin, "fs", "-p", str(self.pid), "--enter", "--", *command],
                              capture_output=True, text=True, check=False, timeout=300,
                              env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"},
                              **self.runner_user)

    def shell(self, script):
        run = self.enter("sh", "-c", script)
        if not self.copied:
            self.assertEqual(run.stderr, "")
        self.assertEqual(run.returncode, 0, run.stderr)
        return run.stdout

    def test_status(self):
        self.assertEqual(self.enter("sh", "-c", "exit 3").returncode, 3)
        self.assertEqual(self.enter("sh", "-c", "kill -9 $$").returncode, 137)
        self.assertEqual(self.enter("no-such-command").returncode, 127)
        self.assertEqual(self.enter("/").returncode, 126)

    def test_signal(self):
        process = subprocess.Popen([*self.runner, self.bin, "fs", "-p", str(self.pid), "--enter",
                                    "sh", "-c", "echo ready; exec sleep 900"], stdout=subprocess.PIPE,
                                   stderr=subprocess.DEVNULL, **self.runner_user)
        self.addCleanup(process.stdout.close)
        self.assertEqual(process.stdout.readline(), b"ready\n")
        process.terminate()
        self.assertEqual(process.wait(10), 128 + signal.SIGTERM)

    def test_default_command(self):
        run = subprocess.run([*self.runner, self.bin, "fs", "-p", str(self.pid), "--enter"],
                             input="cat /sys/kernel/slab/widget/objects\n", check=False, text=True,
                             capture_output=True, env=dict(os.environ, SHELL="/bin/sh"),
                             **self.runner_user)
        self.assertEqual((run.returncode, run.stdout), (0, "666 N0=666\n"), run.stderr)

    def test_files(self):
        text = self.shell("id -u; cat /sys/kernel/slab/first/object_size; ls /sys/kernel/debug; "
                          "sed -n 3p /proc/slabinfo; ls -ld /sys/kernel/slab/second")
        self.assertRegex(text, r"^%d\n440\nslab\na/b +\d.*\nlrwx.* -> :0000440\n$"
                         % self.user.get("user", os.getuid()))

    def mounts(self):
        """What is mounted where this test has to do with it; others mount meanwhile."""
        return [line for line in read("/proc/self/mounts").splitlines()
                if self.folder in line or f" {KERNEL}" in line or " /proc/slabinfo " in line]

    def test_nothing_left(self):
        mounts = self.mounts()
        names = sorted(os.listdir(KERNEL)) if os.path.isdir(KERNEL) else None
        self.shell("true")
        self.assertEqual(self.mounts(), mounts)
        if names is not None:
            self.assertEqual(sorted(os.listdir(KERNEL)), names)

    def test_process_ends(self):
        # a zombie has no memory any more, and this test, its parent, leaves it one; its maps would
        # be empty then, but not everybody may read them
        end = (f"kill -9 {self.pid}; "
               f"until grep -q '^State:.Z' /proc/{self.pid}/status; do sleep 0.05; done")
        if self.copied:
            self.assertEqual(self.shell(f"{end}; cat /sys/kernel/slab/widget/objects"),
                             "666 N0=666\n")
            return
        run = self.enter("sh", "-c", f"{end}; ls /sys/kernel/slab; "
                         "cat /proc/slabinfo; exit 7")
        self.assertEqual((run.returncode, run.stdout), (7, ""), run.stderr)
        self.assertIn("has ended", run.stderr)
        self.assertIn("Input/output error", run.stderr)

    def test_slabtop(self):
        if not shutil.which("slabtop"):
            self.skipTest("no slabtop (procps)")
        rows = {}
        for line in self.shell("slabtop -o").splitlines()[7:]:
            objects, active, _, _, slabs, each, size, name = line.split()
            rows[name] = (int(objects), int(active), int(slabs), int(each), size)
        want = {cache["name"]: (cache["total_objects"], cache["objects"], cache["slabs"],
                                cache["objs_per_slab"], f"{cache['slab_bytes'] // 1024}K")
                for cache in self.caches(self.pid)}
        self.assertGreater(len(rows), 5)
        for name, row in rows.items():
            self.assertEqual(row, want[name], name)

    def test_kernels_slabinfo(self):
        if not SLABINFO:
            self.skipTest("USLAB_SLABINFO does not name the kernel's slabinfo")
        tool = shutil.copy(SLABINFO, self.folder + "/slabinfo")
        for option in (["-T"], ["-X"], ["-r", "queued"], ["-T", "-B"], ["widget"], ["-r"]):
            with self.subTest(option=option):
                theirs = self.enter(tool, *option)
                self.assertEqual(theirs.returncode, 0, theirs.stderr)
                self.assertEqual(theirs.stdout.replace("a!b", "a/b"),
                                 of_caches(uslab("info", "-p", self.pid, *option).stdout))
        whole_pages = re.compile("(free-pages|[a-z]+-(large|mapped)) ")
        for option in ([], ["-S"], ["-L"], ["-P"], ["-z"], ["-e"], ["-U"], ["-B"], ["-D"], ["-f"]):
            with self.subTest(option=option):
                ours = [line for line in uslab("info", "-p", self.pid, *option).stdout.splitlines()
                        if not whole_pages.match(line)]
                theirs = self.enter(tool, *option).stdout.replace("a!b", "a/b").splitlines()
                self.assertEqual(sorted(theirs), sorted(ours))
        ours = uslab("info", "-p", self.pid, "-a").stdout
        self.assertEqual(sorted(self.enter(tool, "-a").stdout.split()), sorted(ours.split()))


class EnterAsNobody(Enter):
    user = {"user": NOBODY, "group": NOBODY, "extra_groups": []}

    def test_no_rights(self):
        text = self.shell("grep CapEff /proc/self/status; id -u")
        self.assertEqual(text.split(), ["CapEff:", "0000000000000000", str(NOBODY)])


class EnterAsNobodyWithDevice(EnterAsNobody):
    device = True

    def test_live(self):
        self.assertFalse(self.copied)
        self.assertIn("fuse.uslab", self.shell("grep ' /sys' /proc/self/mounts"))


if __name__ == "__main__":
    unittest.main(verbosity=2)
