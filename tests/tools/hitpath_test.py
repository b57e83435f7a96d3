#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The hit paths of malloc and its kin, counted in the disassembly of libuslab_malloc.so.

A hit path is a way through the function from its first instruction to a ret that never leaves it:
whatever calls or jumps to another function is a miss. Every such way is followed, loops once, and
of those with the same number of sequences the longest counts: realloc has none where the block
stays, one for NULL, and two where it moves. malloc and free may have 44 instructions together; no
way of theirs may touch the stack.

    hitpath_test.py [LIBRARY]       default: $USLAB_MALLOC_SO
"""
import os
import re
import subprocess
import sys

LIMIT = 44
SKIP = 77
ARMS = re.compile(r"^mov +%r\w+,%fs:0x8\(")  # a sequence begins
# function, sequences on the way, instructions at most (GCC 12 and 14, Clang 14), what it does
HITS = (
    ("realloc", 0, 36, "a block that stays"),
    ("realloc", 1, 21, "of NULL"),
    ("realloc", 2, 96, "a block of 16 bytes that moves; 5 more for each 16"),
    ("calloc", 1, 35, "16 bytes; 4 more for each 16"),
    ("posix_memalign", 1, 44, ""),
    ("aligned_alloc", 1, 41, ""),
    ("malloc_usable_size", 0, 25, ""),
    ("malloc_slow", 1, 21, "malloc of a thread while some are in groups, after 4 of its own"),
    ("_Znwm", 1, 17, "operator new"),
    ("_ZnwmSt11align_val_t", 1, 39, "operator new, aligned"),
    ("_ZdlPvm", 1, 31, "operator delete, sized"),
)
OUTSIDE = {"realloc": "realloc_move"}  # that function is a part of the first
STACK = re.compile(r"^(push|pop|leave|enter)|%[re]sp\b")


def disassemble(library):
    """{function: [(address, mnemonic, operands)]}."""
    run = subprocess.run(["objdump", "-d", "--no-show-raw-insn", library], capture_output=True,
                         text=True, check=True)
    functions, code = {}, []
    for line in run.stdout.splitlines():
        start = re.match(r"[0-9a-f]+ <(\S+)>:$", line)
        if start:
            code = functions.setdefault(start.group(1), [])
        match = re.match(r"\s+([0-9a-f]+):\s+(\S+)\s*(.*)", line)
        if match:
            code.append((int(match.group(1), 16), match.group(2), match.group(3)))
    return functions


def code_of(functions, name):
    """Of a function, and of what belongs to it."""
    if name not in functions:
        sys.exit(f"hitpath: the library has no function {name}")
    parts = [functions[name]]
    outside = OUTSIDE.get(name)
    parts += [code for other, code in functions.items() if outside and other.startswith(outside)]
    return [step for part in parts for step in part]


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


def longest_with(paths, sequences):
    """The longest of those ways with that many sequences; []: there is none."""
    return max((p for p in paths if sum(bool(ARMS.match(f"{s[1]} {s[2]}")) for s in p) == sequences),
               key=len, default=[])


def show(name, path):
    print(f"{name}: {len(path)} instructions")
    for _, mnemonic, operands in path:
        print(f"    {mnemonic:8}{operands}")


def pair_fails(functions):
    """malloc and free, which every build must keep short."""
    total, failed = 0, False
    for function in ("malloc", "free"):
        longest = longest_with(hit_paths(code_of(functions, function)), 1)
        if not longest:
            print(f"hitpath: no way through {function} has a sequence in it and no call")
            return True
        total += len(longest)
        show(function, longest)
        for step in longest:
            if STACK.search(f"{step[1]} {step[2]}"):
                print(f"hitpath: {function} uses the stack: {step[1]} {step[2]}")
                failed = True
    print(f"malloc + free: {total} instructions, at most {LIMIT} allowed")
    return failed or total > LIMIT


def others_fail(functions):
    """The other functions, of a build that turns calls at the end of a function into jumps."""
    if any(name.startswith("call") for _, name, _ in functions["malloc"]):
        print("hitpath: this build has calls for jumps: of the pair only")
        return False
    failed = False
    for function, sequences, limit, what in HITS:
        longest = longest_with(hit_paths(code_of(functions, function)), sequences)
        show(f"{function} ({what})" if what else function, longest)
        if not longest or len(longest) > limit:
            print(f"hitpath: {function} has {len(longest)} instructions, 1 to {limit} allowed")
            failed = True
    return failed


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
    functions = disassemble(library)
    return 1 if pair_fails(functions) + others_fail(functions) else 0


if __name__ == "__main__":
    sys.exit(main())
