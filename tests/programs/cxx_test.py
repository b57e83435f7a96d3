#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""C++ on uslab: containers in threads, bad_alloc, new-handlers, nothrow and aligned new.

Once as a program, once as a plug-in that brings its own C++ library into a C program.
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import preload  # noqa: E402

CXX = "clang++" if "clang" in os.path.basename(preload.CC) else "g++"


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


if __name__ == "__main__":
    main()
