#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a process leaves on a CPU, and in sizes that it has done with, goes back while it works on.

Memory that is resident, not times, but for how soon.

ctest: sanitize=no
"""
import concurrent.futures
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import preload  # noqa: E402

# Of what was resident before. Here 0.1 to 0.2, and 1.0 if nothing goes back. It takes up to 4 s until something
# is idle, another second until its pages go (purge_delay), and more where others use the CPU.
LEFT_MOST = 0.4
# Under a filter of system calls that may forbid it other CPUs are not fenced: 0.43 here.
LEFT_MOST_FILTERED = 0.75
MS = 10_000
RUNS = 2


def run(name, start, most):
    """Whether enough went back in one of the runs. start: what the program is started by."""
    lab = preload.Lab()
    program = lab.build("idle", ["tests/programs/src/idle.c"], "-fno-builtin")
    start = [lab.build("start", start), "-c"] if start else []
    for _ in range(RUNS):
        result = lab.run([*start, program, str(MS)], preload.LIBRARY)
        if start and result.status == preload.SKIP:
            print(f"{name}: not run: takes root, and a kernel with filters of system calls")
            return True
        if result.status or "uslab:" in result.err:
            print(f"{name}: status {result.status}", result.err[-4000:], sep="\n")
            return False
        before, after = map(int, result.out.split())
        print(f"{name}: {before} KiB resident, {after} after {MS} ms of other work")
        if after <= before * most:
            return True
    return False


def main():
    most = LEFT_MOST_FILTERED if preload.calls_may_be_forbidden() else LEFT_MOST
    # where the kernel does not count filters (before Linux 5.9) those of a container may forbid it
    with open("/proc/self/status", encoding="ascii", errors="replace") as status:
        counted = "Seccomp_filters:" in status.read()
    with concurrent.futures.ThreadPoolExecutor() as both:
        plain = both.submit(run, "as here", None, most)
        container = both.submit(run, "in a container", ["tests/tools/src/filtered_start.c"],
                                most if counted else LEFT_MOST_FILTERED)
        return 0 if plain.result() and container.result() else 1


if __name__ == "__main__":
    sys.exit(main())
