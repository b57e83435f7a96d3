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

# Of glibc's: faults, peak. Faults are 0.8 in turn, 1.1 of middle blocks, 0.9 of a mix (7.5, 5.1,
# 3.6 without src/page/fit.c and keep.c), and more beside busy loops: what is idle goes with time.
# Before Linux 5.7, where no pages move, they are 1.2 in turn and 1.5 of a mix.
# Few blocks have 0.09 to 0.15, and 0.51 without src/page/refault_rate.c, as under a filter of system
# calls that may forbid it; the peak 1.26, and 0.92 then.
# A peak has 1/32 of what is in use waiting, where the program is fast, 1/64 of descriptors, and 2 MB.
# Bursts have 0.01 where nothing else runs, and more where a round takes longer; 0.5 before refaults of
# slabs kept a little beyond the peak. The peak is that of 4 MiB, of which 2 are the start of a library.
# Pauses have 0.29, of which the first two rounds are 0.2; 0.93 while refaults were forgotten in 64 ms.
LIMITS = {"turn": (2.0, 1.05), "middle": (2.0, 1.05), "mix": (2.0, 1.05),
          "few": (0.7, 1.05) if preload.calls_may_be_forbidden() else (0.35, 1.4), "grow": (1.12, 1.07),
          "bursts": (0.35, 1.6), "pauses": (0.6, 1.15)}


def main():
    lab = preload.Lab()
    program = lab.build("large_blocks", ["tests/programs/src/large_blocks.c"], "-fno-builtin")
    bad = 0
    for mode, (fault_limit, peak_limit) in LIMITS.items():
        figures = {}
        for library in (None, preload.LIBRARY):
            runs = [list(map(int, lab.run_ok([program, mode], library,
                                              env={"PEAK_SMALL_PAGES": "1"}).out.split()))
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
