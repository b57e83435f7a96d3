#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Large blocks in turn, and large blocks that grow: page faults and peak memory beside glibc's.

Counts, not times: a fault costs 0.5 to 2 us, and these programs do little else.

ctest: sanitize=no
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import preload  # noqa: E402

# Of glibc's: faults, peak. In turn it is 1.2 to 1.4, beside four busy loops up to 1.9 (what is idle goes with time); it was 7.5.
LIMITS = {"turn": (2.5, 1.03), "grow": (1.1, 1.02)}


def main():
    lab = preload.Lab()
    program = lab.build("large_blocks", ["tests/programs/src/large_blocks.c"], "-fno-builtin")
    bad = 0
    for mode, (fault_limit, peak_limit) in LIMITS.items():
        figures = {}
        for library in (None, preload.LIBRARY):
            runs = [list(map(int, lab.run_ok([program, mode], library).out.split()))
                    for _ in range(3)]
            figures[library] = list(map(min, zip(*runs)))
        faults, peak = (u / g for g, u in zip(figures[None], figures[preload.LIBRARY]))
        print(f"{mode}: faults {figures[preload.LIBRARY][0]}, {faults:.3f} of glibc's; "
              f"peak {figures[preload.LIBRARY][1]} KiB, {peak:.3f} of glibc's")
        bad += faults > fault_limit or peak > peak_limit
    if bad:
        preload.fail(f"above {LIMITS}")


if __name__ == "__main__":
    main()
