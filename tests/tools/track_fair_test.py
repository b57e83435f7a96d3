#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# ctest: timeout=900
"""uslab track --sample is fair: the interval that it prints for a call site's share holds the true one.

Two event loops that sleep and then always work in the same order, tests/tools/src/event_loops.c. Each interval may
miss in 5 % of the runs. USLAB_TEST_RUNS=100 asks for 93 of 100, as documented; the runs of the suite are fewer, and may
miss as often as happens once in ten thousand times.
"""
import concurrent.futures
import json
import math
import os
import subprocess
import sys
import tempfile

BIN = os.environ["USLAB_BIN"]
SRC = os.environ["USLAB_SRC"]
CC = os.environ.get("USLAB_CC", "cc")
RUNS = int(os.environ.get("USLAB_TEST_RUNS", "20"))
SECONDS = 0.5
CACHE = "malloc-64"

# objects of each round of the loop
LOOPS = {
    "sleepy": {"small_leak": 1, "big_leak": 20},
    "bursts": {"small_leak": 2, "middle_leak": 50, "big_leak": 448},
}


def allowed_misses(runs, chance):
    """The fewest that more of happen with less than that chance, if each run misses in 5 %."""
    left = 1.0
    for misses in range(runs + 1):
        left -= math.comb(runs, misses) * 0.05 ** misses * 0.95 ** (runs - misses)
        if left < chance:
            return misses
    return runs


def track(pid, *arguments):
    result = subprocess.run(
        [BIN, "track", "-p", str(pid), "-c", CACHE, "--once", "-i", str(SECONDS), "--by=objects",
         "--json", *arguments], capture_output=True, text=True, check=False, timeout=300)
    if result.returncode or result.stderr:
        sys.exit(f"uslab track: {result.returncode} {result.stderr}")
    return json.loads(result.stdout)


def sites_of(found):
    return {site["function"]: site for site in found["sites"]}


def check_full(pid, shares):
    """What is known of the loop is what --full counts; a round may have been cut in two."""
    for _ in range(3):  # once more, if the program hardly ran meanwhile
        sites = sites_of(track(pid, "--full"))
        if set(shares) <= set(sites):
            break
    else:
        sys.exit(f"--full does not know all of {sorted(shares)}: {sorted(sites)}")
    total = sum(site["objects"] for name, site in sites.items() if name in shares)
    for name, share in shares.items():
        site = sites[name]
        if site["objects_low"] != site["objects"] or site["objects_high"] != site["objects"]:
            sys.exit(f"--full is not sure: {site}")
        if abs(site["objects"] / total - share) > 0.01 + 500 / total:
            sys.exit(f"{name}: {site['objects']} of {total}, expected a share of {share:.4f}")


def check_loop(program, loop):
    whole = sum(LOOPS[loop].values())
    shares = {name: count / whole for name, count in LOOPS[loop].items()}
    held, widths, few = dict.fromkeys(shares, 0), dict.fromkeys(shares, 0.0), 0
    process = subprocess.Popen([BIN, "run", program, loop], stdout=subprocess.PIPE)
    try:
        process.stdout.readline()
        check_full(process.pid, shares)
        for _ in range(RUNS):
            found = track(process.pid, "--sample")
            sites = sites_of(found)
            for name, share in shares.items():
                site = sites.get(name)
                if not site:  # not one sample: nothing was claimed
                    held[name] += 1
                    few += 1
                    continue
                few += site["too_few_samples"]
                if (site["objects"] is None) != site["too_few_samples"]:
                    sys.exit(f"a number in spite of too few samples: {site}")
                held[name] += site["share_low"] <= share <= site["share_high"]
                widths[name] += (site["share_high"] - site["share_low"]) / RUNS
            first = found["sites"][:1]  # none: the program did not get far in that time
            if first and not first[0]["too_few_samples"] and first[0]["function"] != "big_leak":
                sys.exit(f"{loop}: {first[0]['function']} comes first: {found['sites'][:3]}")
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
    most = 7 if RUNS == 100 else allowed_misses(RUNS, 1e-4)
    for name, share in shares.items():
        print(f"{loop}: {name}: share {share:.4f}, in {held[name]} of {RUNS} intervals, of a mean "
              f"width of {widths[name]:.4f}")
        if held[name] < RUNS - most:
            sys.exit(f"{name}: more than {most} intervals miss the true share")
    print(f"{loop}: too few samples for a number: {few}")


def main():
    with tempfile.TemporaryDirectory(prefix="uslab-fair-") as folder:
        program = os.path.join(folder, "event_loops")
        source = os.path.join(SRC, "tests", "tools", "src", "event_loops.c")
        subprocess.run([CC, "-O1", "-g", "-o", program, source], check=True)
        # both at the same time: almost all of it is waiting for the intervals to pass
        with concurrent.futures.ThreadPoolExecutor() as both:
            for done in [both.submit(check_loop, program, loop) for loop in LOOPS]:
                done.result()


if __name__ == "__main__":
    main()
