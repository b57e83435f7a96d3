#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# ctest: timeout=900
"""uslab info --root and --kernel: what it changes in a tree, trees that are none, the kernel's own.

Sums over the kernel's own tree are made here once more.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

SRC = os.environ["USLAB_SRC"]

sys.path.insert(0, os.path.join(SRC, "tests", "support"))
import slabtree  # noqa: E402
from infotree import BIN, Case, uslab  # noqa: E402

KERNEL = "/sys/kernel/slab"


class Changes(Case):
    """-v, -s and -d write files."""

    table = [slabtree.Row("busy - 64 64 0 64 10 1 1 0 10 -"),
             slabtree.Row("idle - 64 64 0 64 0 2 2 0 0 -"),
             slabtree.Row("calm - 64 64 0 64 0 2 2 0 0 -"),
             slabtree.Row("none - 64 64 0 64 0 0 0 0 0 ZU")]

    def setUp(self):
        shutil.rmtree(self.tree)
        slabtree.make(self.tree, self.table)

    def read(self, cache, *files):
        texts = []
        for name in files:
            with open(f"{self.tree}/{cache}/{name}", encoding="ascii") as stream:
                texts.append(stream.read().strip())
        return texts

    def test_triggers(self):
        self.assertEqual(self.info("-s"), "")
        self.assertEqual(self.info("-v", "busy"), "")
        for cache in ("busy", "idle", "none"):
            self.assertEqual(self.read(cache, "shrink", "validate"),
                             ["1", "1" if cache == "busy" else ""])

    def test_debug_of_empty_caches(self):
        self.assertEqual(self.info("-da", "idle"), "")
        names = ("sanity_checks", "red_zone", "poison", "store_user", "trace", "shrink")
        self.assertEqual(self.read("idle", *names), ["1", "1", "1", "1", "0", "1"])
        # checks are switched on without that
        self.assertEqual(self.info("-df", "calm"), "")
        self.assertEqual(self.read("calm", "sanity_checks", "shrink"), ["1", ""])
        self.assertEqual(self.info("-d", "none"), "")
        self.assertEqual(self.read("none", *names), ["0", "0", "0", "0", "0", ""])
        self.assertEqual(self.info("--debug=T", "none"), "")
        self.assertEqual(self.read("none", *names), ["0", "0", "0", "0", "1", ""])

    def test_debug_of_full_caches(self):
        run = uslab("--root", self.tree, "-dFZPU", "busy")
        self.assertEqual((run.returncode, run.stdout), (1, ""))
        for what in ("redzoning", "poisoning", "tracking"):
            self.assertIn(f"busy not empty cannot enable {what}\n", run.stderr)
        self.assertEqual(self.read("busy", "sanity_checks", "red_zone", "poison"), ["1", "0", "0"])
        run = uslab("--root", self.tree, "-d-", "busy")
        self.assertIn("busy not empty cannot disable sanity checks\n", run.stderr)

    def test_trace_of_many(self):
        run = uslab("--root", self.tree, "-dt")
        self.assertEqual(run.returncode, 1)
        self.assertIn("idle can only enable trace for one slab at a time\n", run.stderr)
        self.assertEqual(self.read("idle", "trace"), ["0"])

    def test_no_such_cache(self):
        for option in ("-s", "-v", "-dF"):
            self.refused("no cache in use matches 'nothing'", "--root", self.tree, option, "nothing")

    def test_cannot_write(self):
        os.unlink(f"{self.tree}/idle/poison")
        os.mkdir(f"{self.tree}/idle/poison")
        self.refused("Cannot write to idle/poison: ", "--root", self.tree, "-dp", "idle")
        shutil.rmtree(f"{self.tree}/idle/poison")
        self.refused("Cannot write to idle/poison: ", "--root", self.tree, "-dp", "idle")


class Errors(Case):
    table = slabtree.rows()[:1]

    def test_no_tree(self):
        self.refused("No such file or directory", "--root", self.folder + "/nothing")
        self.refused("Not a directory", "--root", BIN)
        os.makedirs(self.folder + "/empty")
        self.refused("there is nothing to read", "--root", self.folder + "/empty")

    def test_permission(self):
        if os.geteuid() != 0:
            self.skipTest("takes root")
        closed = self.folder + "/closed"
        slabtree.make(closed, slabtree.rows()[:3])
        for folder, _, files in os.walk(closed):
            for name in files:
                os.chmod(os.path.join(folder, name), 0o400)
        binary = shutil.copy(BIN, self.folder)
        run = subprocess.run([binary, "info", "--root", closed], capture_output=True, text=True,
                             check=False, user=65534, group=65534, extra_groups=[])
        self.assertEqual((run.returncode, run.stdout), (1, ""))
        self.assertIn("it needs root", run.stderr)

    def test_odd_entries(self):
        odd = self.folder + "/odd"
        slabtree.make(odd, [slabtree.Row("a x,y 64 64 0 64 10 1 1 0 10 -")],
                      {"a": {"slabs": None, "order": "99"}})
        os.mkfifo(odd + "/a/extra")
        with open(odd + "/file", "w", encoding="ascii") as stream:
            stream.write("1\n")
        self.assertEqual(uslab("--root", odd, "-z").returncode, 0)
        self.assertEqual(uslab("--root", odd, "-a").stdout, "\na            <- x y\n")
        os.symlink("gone", odd + "/z")
        self.refused("unresolved alias 'z'", "--root", odd)

    def test_unreadable(self):
        # each is named, and left out with its links; the others are shown
        tree = self.folder + "/unreadable"
        table = [slabtree.Row(f"{name} - 64 64 0 64 10 1 1 0 10 -")
                 for name in ("fine", "words", "empty", "minus", "none", "half", "event")]
        table.append(slabtree.Row(":0000064 x,y 64 64 0 64 10 1 1 0 10 -"))
        slabtree.make(tree, table, {
            "words": {"objects": "seven"}, "empty": {"slabs": ""}, "minus": {"order": "-1"},
            "none": {"object_size": None}, "event": {"alloc_fastpath": "12x C0=12"},
            ":0000064": {"objects": "7 N0=7", "partial": "x"}})
        os.remove(tree + "/half/objects")
        os.mkdir(tree + "/half/objects")
        run = uslab("--root", tree, "-z", "-l")
        self.assertEqual([line.split()[0] for line in run.stdout.splitlines()[1:]], ["event", "fine"])
        self.assertEqual(run.returncode, 0)
        for text in ("words/objects: no number", "empty/slabs: empty", "minus/order: no number",
                     "none/object_size: it is missing", "half/objects: Is a directory",
                     ":0000064/partial: no number"):
            self.assertIn(f"uslab info: {tree}/{text}; this cache is left out\n", run.stderr)
        self.assertIn(f"{tree}/event/alloc_fastpath: no number; it counts as 0\n", run.stderr)
        self.assertEqual(run.stderr.count("\n"), 7)
        run = uslab("--root", tree, "--json")
        self.assertEqual({cache["name"] for cache in json.loads(run.stdout)["caches"]}, {"event", "fine"})
        shutil.rmtree(tree + "/fine")
        shutil.rmtree(tree + "/event")
        self.refused("no cache can be read", "--root", tree)

    def test_some_permission(self):
        if os.geteuid() != 0:
            self.skipTest("takes root")
        tree = self.folder + "/some"
        slabtree.make(tree, [slabtree.Row(f"{name} - 64 64 0 64 10 1 1 0 10 -") for name in "abc"])
        for name in "bc":
            os.chmod(f"{tree}/{name}/slabs", 0o400)
        binary = shutil.copy(BIN, self.folder)
        run = subprocess.run([binary, "info", "--root", tree, "--json"], capture_output=True,
                             text=True, check=False, user=65534, group=65534, extra_groups=[])
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual([cache["name"] for cache in json.loads(run.stdout)["caches"]], ["a"])
        self.assertRegex(run.stderr, r"\A.*/[bc]/slabs: Permission denied; it needs root, and such "
                         r"caches are left out\n\Z")


class Kernel(unittest.TestCase):
    """The running kernel's tree, and sums over it."""

    def setUp(self):
        try:
            with open(KERNEL + "/kmalloc-64/slabs", encoding="ascii") as stream:
                stream.read()
        except OSError as error:
            self.skipTest(str(error))

    def sums(self, tree):
        """Folders, caches in use, slab bytes, objects; links and their targets."""
        result = {"caches": 0, "active": 0, "bytes": 0, "objects": 0, "links": 0, "targets": 0}
        for name in os.listdir(tree):
            path = os.path.join(tree, name)
            if os.path.islink(path):
                result["links"] += 1
                continue
            numbers = {}
            for key in ("slabs", "objects", "order"):
                with open(os.path.join(path, key), encoding="ascii") as stream:
                    numbers[key] = int(stream.read().split()[0])
            result["caches"] += 1
            result["targets"] += name.startswith(":")
            if numbers["slabs"] and numbers["objects"]:
                result["active"] += 1
                result["bytes"] += numbers["slabs"] * (slabtree.PAGE << numbers["order"])
                result["objects"] += numbers["objects"]
        return result

    def totals(self, *source):
        run = uslab(*source, "-TB")
        self.assertEqual((run.stderr, run.returncode), ("", 0))
        match = re.search(r"Slabcaches : +(\d+) +Aliases  : +(\d+)->(\d+) +Active: +(\d+)\n"
                          r"Memory used: +(\d+) .*\n# Objects  : +(\d+) ", run.stdout)
        keys = ("caches", "links", "targets", "active", "bytes", "objects")
        return dict(zip(keys, map(int, match.groups())))

    def test_copy(self):
        # a tree that stands still: to the last object
        with tempfile.TemporaryDirectory() as folder:
            for name in os.listdir(KERNEL):
                path = os.path.join(KERNEL, name)
                copy = os.path.join(folder, name)
                if os.path.islink(path):
                    os.symlink(os.path.basename(os.readlink(path)), copy)
                    continue
                os.mkdir(copy)
                try:
                    for key in ("slabs", "objects", "order", "object_size", "slab_size", "aliases"):
                        shutil.copyfile(os.path.join(path, key), os.path.join(copy, key))
                except FileNotFoundError:  # the kernel has just destroyed it
                    shutil.rmtree(copy)
            self.assertEqual(self.totals("--root", folder), self.sums(folder))

    def test_live(self):
        before = self.sums(KERNEL)
        found = self.totals("--kernel")
        after = self.sums(KERNEL)
        for key, value in found.items():
            low, high = sorted((before[key], after[key]))
            slack = max(2, high // 20)  # it goes on meanwhile
            self.assertTrue(low - slack <= value <= high + slack, (key, low, value, high))


if __name__ == "__main__":
    unittest.main(verbosity=2)
