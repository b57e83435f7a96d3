#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""No atomic exchange in the drop-in is of one or two bytes, but for that of base/atomic.h, which knows another way.

riscv64 has no instruction for those: there the compiler calls a function of libatomic, which the library is
not linked with. They are looked for in the code of x86-64, where the operand says how large each one is.
"""
import os
import platform
import re
import subprocess
import unittest

LIBRARY = os.environ.get("USLAB_MALLOC_SO") or os.path.join(os.environ["USLAB_LIB"], "libuslab_malloc.so")
ATOMIC = re.compile(r"\t(?:lock )?(?:xchg|cmpxchg|xadd)[bwlq]? +.*\(|\tlock ")


KNOWN = "cmpxchg_byte():"  # as objdump -l names what was inlined


def unknown(lines):
    """Those that are small, and not of KNOWN."""
    found, function = [], None
    for line in lines:
        if re.match(r"\S+\(\):$", line):
            function = line
        elif small(line) and function != KNOWN:
            found.append(line)
    return found


def small(line):
    """Is it an exchange whose operand is a register of one or two bytes, or which says so itself?"""
    if not ATOMIC.search(line):
        return False
    code = line.split("\t")[-1]
    register = re.search(r"%(\w+),", code)
    named = re.match(r"(?:lock )?(?:or|and|add|sub|xor|inc|dec|not|neg|xchg|xadd|cmpxchg)([bw]) ", code)
    return bool(named or (register and re.fullmatch(r"[abcd][lhx]|[sd]il?|[sb]pl?|r\d+[bw]", register.group(1))))


class Atomics(unittest.TestCase):
    def test_lines(self):
        """What the test looks for."""
        for code in "lock cmpxchg %al,(%rdi)", "xchg %r9b,0x8(%rdx)", "lock orb $0x1,(%rax)", "lock xadd %ax,(%rdi)":
            self.assertTrue(small("  10:\t" + code), code)
        for code in ("lock cmpxchg %eax,(%rdi)", "xchg %rax,(%rdx)", "lock orl $0x1,(%rax)", "xchg %ax,%ax",
                     "mov %al,(%rdi)", "lock cmpxchg16b (%rdi)", "lock subq $0x1,0x30(%rdx)"):
            self.assertFalse(small("  10:\t" + code), code)

    @unittest.skipUnless(platform.machine() == "x86_64", "reads code of x86-64")
    def test_library(self):
        command = ["objdump", "-d", "-l", "--no-show-raw-insn", LIBRARY]
        lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
        self.assertGreater(sum(bool(ATOMIC.search(line)) for line in lines), 50, "no code was read")
        self.assertEqual(unknown(lines), [])


if __name__ == "__main__":
    unittest.main()
