#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""C++ on uslab: containers in threads, bad_alloc, new-handlers, nothrow and aligned new.

Once as a program, once as a plug-in that brings its own C++ library into a C program, once as a program
that has a static C++ library inside and is linked to uslab. And programs that replace some of the operators: the other forms call those, as the C++ library has them do.
"""
import itertools
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import preload  # noqa: E402

CXX = "clang++" if "clang" in os.path.basename(preload.CC) else "g++"


REPLACED = "tests/programs/src/cxx_replaced.cc"
REPLACEABLE = ("PLAIN", "ARRAY", "ALIGNED")


def replaced(lab):
    """Every choice of operators that a program, or a library that it is linked with, replaces."""
    for count in range(len(REPLACEABLE) + 1):
        for choice in itertools.combinations(REPLACEABLE, count):
            name = "replaced-" + "-".join(choice).lower()
            defines = ["-std=c++17", "-Wno-alloc-size-larger-than"]
            defines += [f"-DREPLACE_{form}" for form in choice]
            program = lab.build(name, [REPLACED], *defines, compiler=CXX)
            library = lab.build(f"lib{name}.so", [REPLACED], *defines, "-DLIBRARY", "-shared",
                                "-fPIC", compiler=CXX)
            linked = lab.build(name + "-linked", [REPLACED], *defines, "-DCALLS", library,
                               preload.LIBRARY, f"-Wl,-rpath,{lab.path}",
                               f"-Wl,-rpath,{os.path.dirname(preload.LIBRARY)}", compiler=CXX)
            expected = lab.run_ok([program], None).out
            # The program's operators come before those of a preloaded library, a library's after;
            # linked behind that library ours are found where the C++ library's were.
            for command, library in ([program], preload.LIBRARY), ([linked], None):
                got = lab.run_ok(command, library).out
                if got != expected:
                    print(f"expected:\n{expected}\ngot:\n{got}")
                    preload.fail(f"{name}: other operators were called")
            lab.run_ok([linked])


def static_library(lab, options):
    """A program with libstdc++.a inside, linked as uslab-malloc(3) says."""
    where = subprocess.run([CXX, "-print-file-name=libstdc++.a"], capture_output=True, text=True, check=True)
    if not os.path.isabs(where.stdout.strip()):
        print("static C++ library: not installed")
        return
    program = lab.build("cxx_static", ["tests/programs/src/cxx.cc"], "-DCXX_MAIN", "-DSTATIC_LIBRARY",
                        *options, "-static-libstdc++", "-rdynamic", "-Wl,-u,_ZSt17__throw_bad_allocv",
                        "-Wl,-u,_ZSt15get_new_handlerv", preload.LIBRARY,
                        f"-Wl,-rpath,{os.path.dirname(preload.LIBRARY)}", compiler=CXX)
    print("static C++ library:", lab.run_ok([program], None).out.strip())


def main():
    preload.need(CXX)
    lab = preload.Lab()
    options = ["-std=c++17", "-pthread", "-Wno-alloc-size-larger-than"]
    program = lab.build("cxx", ["tests/programs/src/cxx.cc"], "-DCXX_MAIN", *options, compiler=CXX)
    plugin = lab.build("cxx.so", ["tests/programs/src/cxx.cc"], "-shared", "-fPIC", *options,
                       compiler=CXX)
    host = lab.build("cxx_host", ["tests/programs/src/cxx_host.c"], "-ldl")
    for command in ([program], [host, plugin]):
        lab.run_ok(command, None)  # the test itself is right
        print("program:" if command[0] == program else "plug-in:", lab.run_ok(command).out.strip())
    static_library(lab, options)
    replaced(lab)


if __name__ == "__main__":
    main()
