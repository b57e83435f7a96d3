#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A program that takes the same memory in turns keeps it; one that is done with it gives it back.

Counts, not times, but for how soon: a turn takes some 5 to 30 ms here, 20 times as long while each
of its pages is faulted in again.

ctest: sanitize=no
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import preload  # noqa: E402

# Blocks, bytes of each: what is kept in depots, and in free pages.
TURNS = ((100_000, 64), (400_000, 256), (50_000, 4096))
# Faults in a turn, of its pages: 0.00 here. Before, 0.22, 0.02 and 0.9.
FAULTS_MOST = 0.15
# After 3 s of other work, of the pages of a turn; and what the program has besides.
LEFT_MOST = 0.25
BESIDES_KIB = 8 << 10


def main():
    lab = preload.Lab()
    program = lab.build("turns", ["tests/programs/src/turns.c"], "-fno-builtin")
    bad = 0
    for blocks, size in TURNS:
        out = lab.run_ok([program, str(blocks), str(size)], preload.LIBRARY).out
        faults, pages, after, end = map(int, out.split())
        print(f"{blocks} of {size} bytes: {faults} faults a turn of {pages} pages; "
              f"{after} KiB resident after the turns, {end} in the end")
        bad += faults > pages * FAULTS_MOST or end > pages * 4 * LEFT_MOST + BESIDES_KIB
    if bad:
        preload.fail(f"more than {FAULTS_MOST} of the pages in a turn, or {LEFT_MOST} in the end")


if __name__ == "__main__":
    main()
