#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tests/stress/malloc and the malloc fuzzer once more, built without uslab and run under LD_PRELOAD.

Each also under the fronts that have no hit path, where every call takes the way that a miss takes.
"""
import glob
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import preload  # noqa: E402


def main():
    lab = preload.Lab()
    sources = sorted(glob.glob(os.path.join(preload.SRC, "tests/stress/malloc/*_test.c")))
    assert sources
    for source in sources:
        name = os.path.basename(source)[:-len("_test.c")]
        program = lab.build(name, [source], "-pthread")
        result = lab.run_ok([program], timeout=300 * preload.SOAK)
        print(f"{name}: {result.out.strip()}")

    fuzz = lab.build("malloc_fuzz", ["tests/fuzz/malloc_fuzz.c"], "-pthread", "-w")
    lab.run_ok([fuzz, "--steps", str(10000 * preload.SOAK)])
    lab.run_ok([fuzz, "--steps", str(20000 * preload.SOAK), "--threads", "4", "--seed", "9"])
    for front in ("none", "cpuslab"):
        conf = {"USLAB_CONF": f"front={front}"}
        lab.run_ok([fuzz, "--steps", str(10000 * preload.SOAK), "--threads", "2", "--seed", "3"],
                   env=conf)
        print(f"malloc_fuzz: good with front={front}")
    lab.run_ok([fuzz, "--steps", str(10000 * preload.SOAK), "--threads", "2", "--seed", "4"],
               env={"GLIBC_TUNABLES": "glibc.pthread.rseq=0"})
    print("malloc_fuzz: good without rseq")


if __name__ == "__main__":
    main()
