#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# ctest: timeout=300
"""import uslab: what it reads is what `uslab info --json` prints, of processes, cores and trees; what
cannot be read is an exception with the command's words."""
import ast
import dataclasses
import glob
import json
import os
import signal
import subprocess
import sys
import threading
import unittest
import warnings

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import cores  # noqa: E402
import slabtree  # noqa: E402
from folder import InFolder  # noqa: E402
from programs import WITH_LIBRARY, compile_program  # noqa: E402

BIN, LIB, SRC = (os.environ[name] for name in ("USLAB_BIN", "USLAB_LIB", "USLAB_SRC"))
PACKAGE = os.path.join(SRC, "python")
os.environ["USLAB_INSPECT_SO"] = os.path.join(LIB, "libuslab_inspect.so")
sys.path.insert(0, PACKAGE)
sys.path.insert(0, os.path.join(SRC, "scripts"))
import python_fields  # noqa: E402
import uslab  # noqa: E402

QUIET = r"""
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <uslab/slab.h>

int main(void)
{
	struct kmem_cache *points = kmem_cache_create("points", 48, 0, SLAB_NO_MERGE, NULL);
	char byte;

	kmem_cache_create("first", 440, 0, 0, NULL);
	kmem_cache_create("other", 440, 0, 0, NULL);
	for (int i = 0; i < 300; i++)
		if (!kmem_cache_alloc(points, GFP_KERNEL) || !kmalloc(1000, GFP_KERNEL))
			return 1;
	kmalloc(1 << 20, GFP_KERNEL);
	if (write(1, "ready\n", 6) != 6 || read(0, &byte, 1) < 0)
		return 1;
	abort();
}
"""


def command(*arguments):
    """What `uslab info` prints, as JSON; or what it says."""
    run = subprocess.run([BIN, "info", "--json", *map(str, arguments)], capture_output=True,
                         text=True, check=False, timeout=120)
    return json.loads(run.stdout) if run.returncode == 0 else run.stderr


class Module(InFolder):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.quiet = compile_program(cls.folder, "quiet", QUIET, *WITH_LIBRARY)

    def start(self, *before, **environment):
        """A process that has said "ready" and waits for a byte."""
        process = subprocess.Popen([*before, self.quiet], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   env={**os.environ, **environment}, cwd=self.folder,
                                   preexec_fn=cores.allow)
        self.addCleanup(self.end, process)
        self.assertEqual(process.stdout.readline(), b"ready\n")
        return process

    @staticmethod
    def end(process):
        process.kill()
        process.wait()
        process.stdin.close()
        process.stdout.close()

    def fails(self, said, function, *arguments, **options):
        """It raises uslab.Error with what the command says."""
        with self.assertRaises(uslab.Error) as caught:
            function(*arguments, **options)
        self.assertEqual(f"uslab info: {caught.exception}\n", said)

    # ---- what is read ----

    def test_a_process_is_read_as_by_the_command(self):
        for conf in ("", "stats"):
            pid = self.start(USLAB_CONF=conf).pid
            module, tool = uslab.process(pid).as_dict(), command("-p", pid)
            # each look makes pages of the library resident
            self.assertEqual(*(list(found.pop("memory")) for found in (module, tool)))
            self.assertEqual(module, tool)
        cache = command("-p", pid)["caches"][0]
        self.assertEqual(list(uslab.process(pid).as_dict()["caches"][0]), list(cache))

    def test_members_have_the_values_and_types_of_the_process(self):
        pid = self.start().pid
        snapshot = uslab.process(pid)
        points = snapshot.cache("points")
        self.assertEqual((snapshot.pid, snapshot.program, snapshot.core), (pid, "quiet", None))
        self.assertEqual((points.objects, points.object_size, points.ctor), (300, 48, False))
        self.assertIs(points.flags.red_zone, False)
        self.assertEqual(points.stats.alloc_fastpath, 0)
        self.assertEqual(points.nodes[0]["slabs"], points.slabs)
        self.assertGreater(snapshot.uslab.arena_bytes, 0)
        self.assertEqual(snapshot.cache("other").name, "first")
        with self.assertRaises(KeyError):
            snapshot.cache("no such cache")
        with self.assertRaises(dataclasses.FrozenInstanceError):
            points.objects = 0

    def test_a_core_is_read_as_by_the_command(self):
        why = cores.why_none()
        if why:
            self.skipTest(why)
        process = self.start()
        before = uslab.process(process.pid)
        process.send_signal(signal.SIGABRT)
        process.wait(timeout=60)
        path = cores.find(self.folder)
        snapshot = uslab.core(path)
        self.assertEqual(snapshot.as_dict(), command("--core", path))
        self.assertEqual((snapshot.core, snapshot.cache("points")), (path, before.cache("points")))
        self.assertEqual(uslab.core(path, program=self.quiet).caches, snapshot.caches)
        self.fails(command("--core", path, "--program", BIN), uslab.core, path, program=BIN)
        self.assertEqual(uslab.core(path, sysroot="/").caches, snapshot.caches)
        self.fails(command("--core", path, "--sysroot", path), uslab.core, path, sysroot=path)

    def test_a_tree_is_read_as_by_the_command(self):
        root = slabtree.make(os.path.join(self.folder, "tree"), slabtree.rows())
        snapshot = uslab.tree(root)
        self.assertEqual(snapshot.as_dict(), command("--root", root))
        self.assertEqual((snapshot.tree, snapshot.uslab, snapshot.pid), (root, None, None))
        self.assertIsNone(snapshot.caches[0].capacity)

    def test_one_of_several_copies_is_chosen(self):
        pid = self.start(LD_PRELOAD=os.environ["USLAB_MALLOC_SO"]).pid
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            uslab.process(pid)
            uslab.process(pid)  # each time: who has not seen the first must know
        self.assertEqual([str(w.message)[-19:] for w in caught], ["(--library chooses)"] * 2)
        self.assertEqual([w.filename for w in caught], [__file__] * 2)
        for name in ("libuslab.so", "libuslab_malloc.so"):
            chosen = uslab.process(pid, library=name)
            self.assertEqual(chosen.as_dict(), command("-p", pid, "--library", name))
            self.assertIn(name, chosen.object)
        self.fails(command("-p", pid, "--library", "nowhere"), uslab.process, pid, library="nowhere")

    # ---- what cannot be read ----

    def test_errors_have_the_words_of_the_command(self):
        sleeping = subprocess.Popen(["sleep", "1000"])
        self.addCleanup(sleeping.wait)
        self.addCleanup(sleeping.kill)
        self.fails(command("-p", sleeping.pid), uslab.process, sleeping.pid)
        self.fails(command("-p", 2 ** 30), uslab.process, 2 ** 30)
        self.fails(command("--core", "/nowhere"), uslab.core, "/nowhere")
        self.fails(command("--core", __file__), uslab.core, __file__)
        self.fails(command("--root", "/nowhere"), uslab.tree, "/nowhere")
        self.fails(command("--root", "x" * 5000), uslab.tree, "x" * 5000)

    def test_arguments_that_cannot_be(self):
        for pid in (0, -1, 2 ** 31, 2 ** 64 + 1):
            self.fails(f"uslab info: '{pid}' is no process id\n", uslab.process, pid)
        for call in (lambda: uslab.core("a\0b"), lambda: uslab.tree(""), lambda: uslab.core("")):
            self.assertRaises(uslab.Error, call)
        self.assertRaises(TypeError, uslab.process, "1")

    def test_threads_have_messages_of_their_own(self):
        pid, wrong = self.start().pid, []

        def read(number):
            for _ in range(20):
                try:
                    uslab.process(pid if number % 2 else 2 ** 30 - number)
                except uslab.Error as error:
                    if str(error) != f"no such process: {2 ** 30 - number}":
                        wrong.append(str(error))
                else:
                    wrong.extend([] if number % 2 else ["there is one"])

        threads = [threading.Thread(target=read, args=(i,)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def test_without_the_library(self):
        run = subprocess.run([sys.executable, "-c", "import uslab"], capture_output=True, text=True,
                             env={**os.environ, "PYTHONPATH": PACKAGE, "USLAB_INSPECT_SO": "/nowhere.so"},
                             check=False)
        self.assertEqual(run.returncode, 1)
        self.assertIn("ImportError: uslab: /nowhere.so: ", run.stderr)
        self.assertIn("USLAB_INSPECT_SO names another library", run.stderr)

    # ---- the module itself ----

    def test_it_is_for_python_3_9(self):
        for path in glob.glob(os.path.join(PACKAGE, "uslab", "*.py")):
            with open(path, encoding="utf-8") as file:
                ast.parse(file.read(), path, feature_version=(3, 9))

    def test_the_classes_are_those_of_the_list(self):
        self.assertEqual(list(python_fields.problems(SRC)), [])
        found = python_fields.entries('CACHE_FIELD(unsigned int, a, "one", "1")\n'
                                      'TOTAL_FIELD(bool, b, "two",\n\t    "is it \\"2\\"")\n')
        self.assertEqual(found, [("CACHE_FIELD", "unsigned int", "one", "1"),
                                 ("TOTAL_FIELD", "bool", "two", 'is it \\"2\\"')])


if __name__ == "__main__":
    if not os.path.exists(os.environ["USLAB_INSPECT_SO"]):
        print("python_module_test: skipped: the command was not built")
        sys.exit(77)
    unittest.main(verbosity=2)
