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
# Under a filter of system calls, as containers have one, other CPUs are not fenced: 0.43 here.
LEFT_MOST_FILTERED = 0.75
MS = 10_000
RUNS = 2


def left_most():
    with open("/proc/self/status", encoding="ascii", errors="replace") as status:
        filtered = any(line.startswith("Seccomp:") and line.split()[1] != "0" for line in status)
    return LEFT_MOST_FILTERED if filtered else LEFT_MOST


def main():
    lab = preload.Lab()
    most = left_most()
    program = lab.build("idle", ["tests/programs/src/idle.c"], "-fno-builtin")
    for _ in range(RUNS):
        out = lab.run_ok([program, str(MS)], preload.LIBRARY).out
        before, after = map(int, out.split())
        print(f"{before} KiB resident, {after} after {MS} ms of other work")
        if after <= before * most:
            return 0
    return 1


if __name__ == "__main__":
    sys.exit(main())
