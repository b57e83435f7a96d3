#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The hit paths of malloc and free, counted in the disassembly of libuslab_malloc.so.

A hit path is a way through the function from its first instruction to a ret that never leaves it:
whatever calls or jumps to another function is a miss. Every such way is followed, and the longest
counts. Together they may have 44 instructions; no way may touch the stack.

    hitpath_test.py [LIBRARY]       default: $USLAB_MALLOC_SO
"""
import os
import re
import subprocess
import sys

LIMIT = 44
SKIP = 77
STACK = re.compile(r"^(push|pop|leave|enter)|%[re]sp\b")


def disassemble(library, function):
    """[(address, mnemonic, operands)] of one function."""
    run = subprocess.run(["objdump", "-d", "--no-show-raw-insn", f"--disassemble={function}",
                          library], capture_output=True, text=True, check=True)
    body = run.stdout.split(f"<{function}>:\n", 1)
    if len(body) < 2:
        sys.exit(f"hitpath: {library} has no function {function}")
    found = []
    for line in body[1].splitlines():
        match = re.match(r"\s+([0-9a-f]+):\s+(\S+)\s*(.*)", line)
        if not match:
            break
        found.append((int(match.group(1), 16), match.group(2), match.group(3)))
    return found


def hit_paths(code):
    """Every list of instructions from the entry to a ret inside of the function, loops once."""
    position = {address: i for i, (address, _, _) in enumerate(code)}
    found = []

    def follow(i, path):
        while i < len(code):
            address, name, operands = code[i]
            if address in (step[0] for step in path) or name.startswith("call"):
                return
            path = path + [code[i]]
            if name.startswith("ret"):
                found.append(path)
                return
            target = re.match(r"([0-9a-f]+)\b", operands)
            target = position.get(int(target.group(1), 16)) if target else None
            if name.startswith("jmp"):
                if target is None:
                    return
                i = target
                continue
            if name.startswith("j") and target is not None:
                follow(target, path)
            i += 1

    follow(0, [])
    return found


def main():
    library = sys.argv[1] if len(sys.argv) > 1 else os.environ.get("USLAB_MALLOC_SO")
    if not library:
        print(__doc__, file=sys.stderr)
        return 2
    sections = subprocess.run(["objdump", "-h", library], capture_output=True, text=True,
                              check=True).stdout
    if "__rseq_cs" not in sections or "x86-64" not in sections:
        print("hitpath: skipped: this build has no restartable sequences")
        return SKIP

    total, failed = 0, False
    for function in ("malloc", "free"):
        paths = hit_paths(disassemble(library, function))
        if not paths:
            print(f"hitpath: {function} never returns without a call: no hit path at all")
            return 1
        longest = max(paths, key=len)
        total += len(longest)
        print(f"{function}: {len(longest)} instructions")
        for _, name, operands in longest:
            print(f"    {name:8}{operands}")
        for step in longest:
            if STACK.search(f"{step[1]} {step[2]}"):
                print(f"hitpath: {function} uses the stack: {step[1]} {step[2]}")
                failed = True
        if not any("%fs:" in operands for _, _, operands in longest):
            print(f"hitpath: the way through {function} has no sequence in it: not a hit")
            failed = True
    print(f"malloc + free: {total} instructions, at most {LIMIT} allowed")
    return 1 if failed or total > LIMIT else 0


if __name__ == "__main__":
    sys.exit(main())
