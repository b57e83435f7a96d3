#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""gcc -O2 of a large generated file: the same object file, byte by byte."""
import hashlib
import os
import random
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import preload  # noqa: E402

FUNCTIONS = 900

CASES = """\
		switch ((p->a + k) % 7) {{
		case 0: r += k * {0}; break;
		case 1: r ^= p->c[k % sizeof(p->c)]; break;
		case 2: p->b *= 1.{1}; break;
		case 3: if (r > {2}) return r; break;
		default: r = r * {3} + (int)p->b;
		}}
"""


def program():
    rng = random.Random(11)
    out = ["#include <stdio.h>\n#include <string.h>\n"]
    for i in range(FUNCTIONS):
        out.append(f"struct s{i} {{ int a; double b; char c[{i % 37 + 1}]; "
                   f"struct s{max(i - 1, 0)} *next; }};\n")
        out.append(f"int f{i}(struct s{i} *p, int n)\n{{\n\tint r = 0;\n"
                   "\tfor (int k = 0; k < n; k++) {\n")
        out.append(CASES.format(rng.randrange(1000), i, rng.randrange(10000), rng.randrange(3, 99)))
        call = f" + f{rng.randrange(i)}((void *)p->next, n - 1)" if i else ""
        out.append(f"\t}}\n\treturn r{call};\n}}\n")
    return "".join(out)


def main():
    preload.need("gcc")
    lab, peaks = preload.Lab(), preload.Peaks()
    source, target = lab.file("large.c"), lab.file("large.o")
    with open(source, "w", encoding="ascii") as stream:
        stream.write(program())

    def outcome(_):
        with open(target, "rb") as stream:
            return hashlib.sha256(stream.read()).hexdigest()

    # Once: the peak of one thread that always does the same varies by a thousandth or two.
    preload.compare(lab, peaks, "gcc -O2", ["gcc", "-O2", "-w", "-frandom-seed=1", "-c", source,
                                            "-o", target], outcome, rounds=1)
    peaks.finish()


if __name__ == "__main__":
    main()
