#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The drop-in malloc over every engine with every front: a torture program, and Python's own tests.

Without USLAB_TEST_ALL=1 (make test-all) SLOB gets the smaller one of these tests, once.

ctest: timeout=900 (SLOB searches, and the old one searches for long)
"""
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import preload  # noqa: E402

PYTHON = "/usr/bin/python3"
ENGINES = ["slub", "slab", "slobseg", "slobseg:pow2", "slob", "slob:1991"]
FRONTS = ["array", "none", "queues", "cpuslab", "sheaves"]
STEPS = 4000 * preload.SOAK
ALL = preload.SOAK > 1 or bool(os.environ.get("USLAB_TEST_ALL"))


def pairs():
    return [(e, f) for e in ENGINES for f in FRONTS if f != "cpuslab" or e == "slub"]


def torture(lab):
    blocks = lab.build("blocks", ["tests/programs/src/blocks.c"], "-fno-builtin", "-pthread")
    for rseq in ("1", "0"):
        for engine, front in pairs():
            lab.run_ok([blocks, str(STEPS)],
                       env={"USLAB_CONF": f"engine={engine},front={front},reap=5",
                            "GLIBC_TUNABLES": f"glibc.pthread.rseq={rseq}"})
    # a class of its own: one engine for some sizes, another for the rest
    lab.run_ok([blocks, str(STEPS)],
               env={"USLAB_CONF": "engine=slab,engine:malloc-1*=slob,front:malloc-1*=none,"
                                  "engine:malloc-16=slobseg:pow2,front:malloc-?=queues"})


def python_tests(lab):
    """With its own allocator for small objects switched off, every object is a malloc."""
    if lab.run([PYTHON, "-c", "import test.test_list"]).status:
        print("skipped in part: Python's test suite is not installed (libpython3-testsuite)")
        return
    for engine in ENGINES:
        for front in ("default", "historical"):
            # SLOB searches for most of the time that test_dict takes: at most once
            slow = engine.startswith("slob") and not engine.startswith("slobseg")
            if slow and front == "historical" and not ALL:
                continue
            tests = ["test_list"] if slow and (front == "historical" or not ALL) else ["test_list", "test_dict"]
            start = time.monotonic()
            result = lab.run_ok([PYTHON, "-m", "test", *tests],
                                env={"USLAB_CONF": f"engine={engine},front={front}",
                                     "PYTHONMALLOC": "malloc"})
            print(f"{engine:14}{front:12}{time.monotonic() - start:8.2f} s{result.peak:8} KiB")


def main():
    preload.need(PYTHON)
    lab = preload.Lab()
    torture(lab)
    python_tests(lab)


if __name__ == "__main__":
    main()
