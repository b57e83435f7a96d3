#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
#
# ctest: timeout=600
"""examples_test - each program of examples/ does what its first comment says

The comment has lines that begin with `$ `, commands, each followed by what it must print. They are
executed as they stand, in a copy of examples/; python3 is the one that runs this. `cc` and `c++`
are GCC's and Clang's, with each standard of the language that programs use, all warnings being
errors; without USLAB_TEST_ALL=1 (make test-all) the oldest and the newest. The section 3 pages show
the same files.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

SOURCE = os.environ["USLAB_SRC"]
LIB = os.environ["USLAB_LIB"]
EXAMPLES = os.path.join(SOURCE, "examples")
WARNINGS = "-Wall -Wextra -Wpedantic -Wshadow -Werror"
COMPILERS = [("gcc", "c11", "g++", "c++11"), ("gcc", "c17", "g++", "c++17"),
             ("clang", "c11", "clang++", "c++14"), ("clang", "c17", "clang++", "c++20")]
if not os.environ.get("USLAB_TEST_ALL"):
    COMPILERS = [COMPILERS[0], COMPILERS[-1]]


def transcript(path):
    """[(command, what it prints)] of the first comments of an example."""
    with open(path, encoding="utf-8") as file:
        comment = re.search(r"^/\*\n(.*?)^ \*/|^#\n((?:#[^\n]*\n)*)", file.read(), re.M | re.S)
    commands = []
    for line in (comment.group(1) or comment.group(2)).splitlines():
        text = re.sub(r"^(?: \*|#)(?:   )?", "", line)
        if re.match(r"(?: \*|#)   \$ ", line):
            commands.append((text[2:], []))
        elif commands:
            commands[-1][1].append(text)
    return [(command, "".join(line + "\n" for line in lines)) for command, lines in commands]


class Examples(unittest.TestCase):
    def wrappers(self, folder, compilers):
        """A folder with a cc and a c++ that find this build's library, as an installed one is found."""
        with open(os.path.join(os.environ["USLAB_BUILD"], "CMakeCache.txt"), encoding="utf-8") as file:
            no_rseq = re.search(r"^USLAB_NO_RSEQ:.*=ON$", file.read(), re.M)
        flags = f"{WARNINGS} -I{SOURCE}/include" + (" -DUSLAB_NO_RSEQ=1" if no_rseq else "")
        os.makedirs(folder)
        for name, compiler, standard in zip(("cc", "c++"), compilers[::2], compilers[1::2]):
            path = os.path.join(folder, name)
            with open(path, "w", encoding="utf-8") as file:
                file.write(f'#!/bin/sh\nexec {compiler} -std={standard} {flags} "$@" -L{LIB}\n')
            os.chmod(path, 0o755)
        os.symlink(sys.executable, os.path.join(folder, "python3"))

    def test_examples(self):
        with tempfile.TemporaryDirectory() as work:
            for number, compilers in enumerate(COMPILERS):
                here, bin_folder = os.path.join(work, str(number)), os.path.join(work, f"bin{number}")
                shutil.copytree(EXAMPLES, here)
                self.wrappers(bin_folder, compilers)
                environment = {key: value for key, value in os.environ.items() if key[:6] != "USLAB_"}
                environment.update(PATH=f"{bin_folder}:{environment['PATH']}", LD_LIBRARY_PATH=LIB,
                                   PYTHONPATH=os.path.join(SOURCE, "python"),
                                   USLAB_INSPECT_SO=os.path.join(LIB, "libuslab_inspect.so"))
                for name in sorted(n for n in os.listdir(EXAMPLES)
                                   if n[0] != "." and os.path.isfile(os.path.join(EXAMPLES, n))):
                    commands = transcript(os.path.join(EXAMPLES, name))
                    self.assertNotEqual(commands, [], f"{name} does not say how it is used")
                    for command, expected in commands:
                        with self.subTest(name=name, command=command, compilers=compilers):
                            run = subprocess.run(["sh", "-euc", command], cwd=here, env=environment,
                                                 stdin=subprocess.DEVNULL, capture_output=True,
                                                 text=True, check=False, timeout=60)
                            self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
                            self.assertEqual(run.stdout, expected)
                            self.assertEqual(run.stderr, "")

    def build(self, work, example, compiler, *options):
        """(the path of an example's program, what its compiler ended with)"""
        program, folder = os.path.join(work, example[:-2]), os.path.join(work, "bin")
        self.wrappers(folder, (compiler, "c11"))
        command = [os.path.join(folder, "cc"), os.path.join(EXAMPLES, example), "-o", program, *options]
        return program, subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)

    @unittest.skipUnless(shutil.which("musl-gcc"), "musl-gcc is not installed")
    def test_musl(self):
        """malloc.c needs nothing of uslab: it compiles also where musl's headers are."""
        with tempfile.TemporaryDirectory() as work:
            program, run = self.build(work, "malloc.c", "musl-gcc", "-static")
            self.assertEqual((run.returncode, run.stderr), (0, ""))
            said = subprocess.run([program], capture_output=True, text=True, check=True, timeout=60).stdout
            self.assertRegex(said, r"\A100 bytes: \d+ may be used, aligned to 16: yes\n\Z")

    def test_threads_do_not_race(self):
        """threads.c under ThreadSanitizer, which does not start everywhere if addresses are random."""
        with tempfile.TemporaryDirectory() as work:
            program, run = self.build(work, "threads.c", "gcc", "-fsanitize=thread", "-luslab", "-pthread")
            if run.returncode:
                self.skipTest("GCC's ThreadSanitizer is not installed")
            run = subprocess.run(["setarch", "-R", program], capture_output=True, text=True, check=False,
                                 timeout=60, env={**os.environ, "LD_LIBRARY_PATH": LIB})
            self.assertNotIn("data race", run.stderr)

    def test_a_transcript_is_read(self):
        """Some example prints something: what is compared is not always nothing."""
        commands = transcript(os.path.join(EXAMPLES, "point.c"))
        self.assertEqual([expected for _, expected in commands], ["", "point: 16 bytes\n"])

    def test_a_transcript_ends_with_its_comment(self):
        """Also one whose lines begin with #."""
        commands = transcript(os.path.join(EXAMPLES, "info.py"))
        self.assertEqual(commands[-1][1], "info.py: process (python3) does not use uslab\n")


if __name__ == "__main__":
    unittest.main(verbosity=2, argv=sys.argv)
