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

# Blocks, bytes of each, faults in a turn of its pages at most: 0.00 here, before docs/adr/0077 0.07, 0.28
# and 0.46. Turns that other work makes slow have more: what is not taken again soon goes back. So the best of
# some runs counts, of those that had a CPU for most of the time; where none had, faults say nothing. What
# depots may hold is tested by tests/unit/front/array_limit_test.c.
TURNS = ((300_000, 64, 0.05), (400_000, 256, 0.15), (50_000, 4096, 0.15), (2000, 16384, 0.05))
RUNS = 3
CPU_LEAST = 75  # per cent
# After 3 s of other work, of the pages of a turn; and what the program has besides.
LEFT_MOST = 0.25
BESIDES_KIB = 8 << 10
# Blocks, bytes of each, sizes, the peak at most in what a turn takes, beside BESIDES_KIB: what depots of other
# sizes hold must not add up. It is 2.0, 0.9 and 1.1; 2.4 and 2.2 if large objects had epochs alone (docs/adr/0081).
# Some of the last sizes are page runs.
SIZES = ((250_000, 64, 8, 3), (3000, 5000, 8, 1.5), (1000, 20000, 6, 1.5))
# Blocks, bytes of each, and what takes as much memory after their turns: one block, realloc() in doublings,
# blocks of 1 MiB. The peak is 0.9 to 1.0 of it, beside BESIDES_KIB; 1.8, 1.4 and 1.7 if each call had a few
# arrays reaped, however much it takes.
THEN = ((2000, 16384, "block"), (2000, 16384, "grow"), (2000, 16384, "blocks"))
THEN_MOST = 1.2


def main():
    lab = preload.Lab()
    program = lab.build("turns", ["tests/programs/src/turns.c"], "-fno-builtin")
    bad = 0
    for blocks, size, most in TURNS:
        too_many = False
        for _ in range(RUNS):
            out = lab.run_ok([program, str(blocks), str(size)], preload.LIBRARY).out
            faults, pages, after, end, _, cpu = map(int, out.split())
            print(f"{blocks} of {size} bytes: {faults} faults a turn of {pages} pages, with {cpu} % of a CPU; "
                  f"{after} KiB resident after the turns, {end} in the end")
            if faults <= pages * most:
                too_many = False
                break
            too_many |= cpu >= CPU_LEAST
        bad += too_many or end > pages * 4 * LEFT_MOST + BESIDES_KIB
    for blocks, size, sizes, most in SIZES:
        out = lab.run_ok([program, str(blocks), str(size), str(sizes)], preload.LIBRARY).out
        _, pages, _, end, peak, _ = map(int, out.split())
        print(f"{sizes} sizes from {size} bytes on, one after the other, {pages} pages each: "
              f"peak {peak} KiB, {end} in the end")
        bad += peak > pages * 4 * most + BESIDES_KIB
    after = lab.build("after_turns", ["tests/programs/src/after_turns.c"], "-fno-builtin")
    for blocks, size, what in THEN:
        peak = int(lab.run_ok([after, str(blocks), str(size), what], preload.LIBRARY).out)
        print(f"{blocks} of {size} bytes in turns, then {what}: peak {peak} KiB")
        bad += peak > blocks * size / 1024 * THEN_MOST + BESIDES_KIB
    if bad:
        preload.fail(f"above {TURNS} faults, {LEFT_MOST} of a turn in the end, or {SIZES}, {THEN_MOST} at the peak")


if __name__ == "__main__":
    main()
