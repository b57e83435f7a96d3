# SPDX-License-Identifier: MIT
"""Small programs that tests write and compile."""
import os
import subprocess

CC = os.environ.get("USLAB_CC", "cc")
# As flags: with the library, which the program finds where it was built.
WITH_LIBRARY = ("-I" + os.path.join(os.environ.get("USLAB_SRC", ""), "include"),
                "-L" + os.environ.get("USLAB_LIB", ""), "-luslab",
                "-Wl,-rpath," + os.environ.get("USLAB_LIB", ""))


def compile_program(folder, name, source, *flags, compiler=CC, ending=".c"):
    """The program in that folder, its source beside it; of flags that exclude others the last holds."""
    path = os.path.join(folder, name)
    with open(path + ending, "w", encoding="utf-8") as stream:
        stream.write(source)
    subprocess.run([compiler, "-O1", "-g", "-o", path, path + ending, *flags], check=True)
    return path


def start_program(test, command, says=b"ready\n", **options):
    """A program that runs until it or the test ends, and has said that. Returns the process."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, **options)
    for cleanup in (process.stdout.close, process.wait, process.kill):
        test.addCleanup(cleanup)
    test.assertEqual(process.stdout.read(len(says)), says)
    return process
