#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Says which tests of a suite failed, and how each ended, for the last lines of scripts/test.

usage: scripts/failures.py [--names] JUNIT-FILE

--names: their names only, in one line.
"""
import argparse
import sys
import xml.etree.ElementTree as tree

LINES = 15  # of the output of each, from its end


def failed(path):
    """What failed, and what could not be started, which ctest takes for skipped."""
    for case in tree.parse(path).getroot().iter("testcase"):
        skipped = case.find("skipped")
        if case.find("failure") is not None or (skipped is not None and "Unable" in skipped.get("message", "")):
            yield case.get("name"), (case.findtext("system-out") or "").rstrip().splitlines()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--names", action="store_true", help="their names only, in one line")
    parser.add_argument("file", metavar="JUNIT-FILE")
    options = parser.parse_args()
    try:
        found = list(failed(options.file))
    except (OSError, tree.ParseError) as error:
        print(f"failures.py: {options.file}: {error}", file=sys.stderr)
        return 1
    if options.names:
        print(" ".join(name for name, _ in found))
        return 0
    for name, output in found:
        print(f"---- {name}")
        print("\n".join(output[-LINES:]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
