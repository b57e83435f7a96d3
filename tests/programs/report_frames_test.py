#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The stack of a report begins in the program; USLAB_CONF=report.frames=all shows the allocator's own frames."""
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from programs import compile_program  # noqa: E402

BIN = os.environ["USLAB_BIN"]
LIB = os.environ["USLAB_LIB"]
SRC = os.environ["USLAB_SRC"]

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


STATIC = r"""
#include <uslab/slab.h>

__attribute__((noinline)) void overflow(char *volatile p)
{
	p[40] = 1;
	kfree(p);
}

int main(void)
{
	overflow(kmalloc(40, GFP_KERNEL));
	return 0;
}
"""


def report(program, conf, *before):
    env = {**os.environ, "USLAB_DEBUG": "FZPU", "USLAB_CONF": conf}
    return subprocess.run([*before, program], env=env, capture_output=True, text=True, check=True,
                          timeout=60)


def stack(program, conf, *before):
    """Names of the frames behind "Call Trace:"."""
    result = report(program, conf, *before)
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


def stripped(program):
    """Without symbols a frame is a place in the object, not an address."""
    subprocess.run(["strip", program], check=True)
    text = report(program, "", BIN, "run").stderr
    trace = text[text.index("Call Trace:\n"):].split("\n")[1:]
    if not re.fullmatch(r" overflow\+0x[0-9a-f]+", trace[0]):
        sys.exit(f"stripped: no place in the object: {trace}")
    if re.search(r"(?m)^ 0x[0-9a-f]+$", text):
        sys.exit(f"stripped: a frame is an address only: {text}")
    print("stripped: frames are places in objects")


def static(folder):
    """The library in the program itself: its frames are left out, too."""
    program = compile_program(folder, "static", STATIC, "-O0", f"-I{SRC}/include",
                              f"{LIB}/libuslab.a", "-lpthread")
    for form in ("modern", "2.6.29"):
        frames = stack(program, f"report.format={form}")
        if [name for name, _ in frames[:2]] != ["overflow", "main"]:
            sys.exit(f"static, {form}: the stack does not begin in the program: {frames}")
        everything = stack(program, f"report.format={form},report.frames=all")
        if len(everything) <= len(frames) or everything[-len(frames):] != frames:
            sys.exit(f"static, {form}: the allocator's own frames are not shown: {everything}")
    print("static: the same")


def main():
    with tempfile.TemporaryDirectory(prefix="uslab-frames-") as folder:
        program = compile_program(folder, "overflow", PROGRAM, "-O0")
        for form in ("modern", "2.6.29"):
            frames = stack(program, f"report.format={form}", BIN, "run")
            if [name for name, _ in frames[:2]] != ["overflow", "main"]:
                sys.exit(f"{form}: the stack does not begin in the program: {frames}")
            everything = stack(program, f"report.format={form},report.frames=all", BIN, "run")
            if not everything[0][1].startswith("libuslab") or frames[0] not in everything:
                sys.exit(f"{form}: the allocator's own frames are not shown: {everything}")
            print(f"{form}: {len(everything) - len(frames)} frames of the allocator are left out")
        stripped(program)
        static(folder)


if __name__ == "__main__":
    main()
