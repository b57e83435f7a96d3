#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a process leaves on a CPU, and in sizes that it has done with, goes back while it works on.

Memory that is resident, not times, but for how soon.

ctest: sanitize=no
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import preload  # noqa: E402

# Of what was resident before. Here 0.1 to 0.2, and 1.0 if nothing goes back. It takes up to 4 s until something
# is idle, another second until its pages go (purge_delay), and more where others use the CPU.
LEFT_MOST = 0.4
MS = 10_000
RUNS = 2


def main():
    lab = preload.Lab()
    program = lab.build("idle", ["tests/programs/src/idle.c"], "-fno-builtin")
    for _ in range(RUNS):
        out = lab.run_ok([program, str(MS)], preload.LIBRARY).out
        before, after = map(int, out.split())
        print(f"{before} KiB resident, {after} after {MS} ms of other work")
        if after <= before * LEFT_MOST:
            return 0
    return 1


if __name__ == "__main__":
    sys.exit(main())
