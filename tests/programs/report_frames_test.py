#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The stack of a report begins in the program; USLAB_CONF=report.frames=all shows the allocator's own frames."""
import os
import re
import subprocess
import sys
import tempfile

BIN = os.environ["USLAB_BIN"]
CC = os.environ.get("USLAB_CC", "cc")

PROGRAM = r"""
#include <stdlib.h>

__attribute__((noinline)) void overflow(char *volatile p)
{
	p[40] = 1;
	free(p);
}

int main(void)
{
	overflow(malloc(40));
	return 0;
}
"""


def stack(program, conf):
    """Names of the frames behind "Call Trace:"."""
    env = {**os.environ, "USLAB_DEBUG": "FZPU", "USLAB_CONF": conf}
    result = subprocess.run([BIN, "run", program], env=env, capture_output=True, text=True,
                            check=True, timeout=60)
    lines = result.stderr.split("\n")
    if "Call Trace:" not in lines:
        sys.exit(f"no report: {result.stderr}")
    start = lines.index("Call Trace:") + 1
    found = []
    for line in lines[start:]:
        match = re.match(r" (?:\[<[0-9a-f]+>\] )?([\w.]+)\+0x[0-9a-f]+/0x[0-9a-f]+(.*)", line)
        if not match:
            break
        found.append((match.group(1), match.group(2).strip(" []")))
    return found


def main():
    with tempfile.TemporaryDirectory(prefix="uslab-frames-") as folder:
        program = os.path.join(folder, "overflow")
        with open(program + ".c", "w", encoding="ascii") as stream:
            stream.write(PROGRAM)
        subprocess.run([CC, "-O0", "-g", "-o", program, program + ".c"], check=True)
        for form in ("modern", "2.6.29"):
            frames = stack(program, f"report.format={form}")
            if [name for name, _ in frames[:2]] != ["overflow", "main"]:
                sys.exit(f"{form}: the stack does not begin in the program: {frames}")
            everything = stack(program, f"report.format={form},report.frames=all")
            if not everything[0][1].startswith("libuslab") or frames[0] not in everything:
                sys.exit(f"{form}: the allocator's own frames are not shown: {everything}")
            print(f"{form}: {len(everything) - len(frames)} frames of the allocator are left out")


if __name__ == "__main__":
    main()
