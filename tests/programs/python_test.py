#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Python's own tests of lists, dicts, json and threads, with and without uslab.

Some of those of threads wait, with limits that are many times as long as what they wait for.
"""
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import preload  # noqa: E402

PYTHON = "/usr/bin/python3"
TESTS = ["test_list", "test_dict", "test_json", "test_threading"]


def outcome(result):
    """How many tests ran in each module and how they ended; times differ."""
    return re.findall(r"Ran \d+ tests|^OK.*$|^All \d+ tests OK\.$", result.out + result.err, re.M)


def main():
    preload.need(PYTHON)
    lab, peaks = preload.Lab(), preload.Peaks()
    probe = lab.run([PYTHON, "-c", "import test.test_threading"])
    if probe.status:
        preload.skip("Python's test suite is not installed (libpython3-testsuite)")
    # One test wants to have waited for less than a second.
    preload.compare(lab, peaks, "python3 -m test",
                    [PYTHON, "-m", "test", "-v", "-i", "test_waitfor_timeout", *TESTS], outcome,
                    rounds=1, most=4)
    peaks.finish()


if __name__ == "__main__":
    main()
