#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Allocation before everything: in function resolvers, .preinit_array, first constructors; and after."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import preload  # noqa: E402


def main():
    lab = preload.Lab()
    # Without a PLT the resolver's own references are in place when it runs.
    lab.build("libearly.so", ["tests/programs/src/early_lib.c"], "-shared", "-fPIC", "-fno-plt",
              "-Wl,-z,now", "-Wl,-soname,libearly.so")
    program = lab.build("early", ["tests/programs/src/early.c"], f"-L{lab.path}", "-learly",
                        f"-Wl,-rpath,{lab.path}")
    for name, environment in {
            "plain": {}, "bound at start": {"LD_BIND_NOW": "1"},
            "front=none": {"USLAB_CONF": "front=none"},
            "no rseq": {"GLIBC_TUNABLES": "glibc.pthread.rseq=0"}}.items():
        result = lab.run_ok([program], env=environment)
        print(f"{name}: {result.out.strip()}")
    # A program that does nothing must not be hurt either.
    lab.run_ok(["/bin/true"])


if __name__ == "__main__":
    main()
