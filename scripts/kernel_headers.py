#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Which headers include/uslab/linux has for kernel code, and which names are in each.

usage: kernel_headers.py [--check]

Macros are taken from the text of a header; types and functions from what $CC or cc makes of it, as
GNU C11. Every macro has to be known to the compiler after the header alone. This writes the table
docs/kernel-headers.md. --check writes nothing and says where the document differs, as `make check`
does; status 1 if it does, or if a header has no names.
"""
import argparse
import os
import re
import subprocess
import sys

from kernel_api import TOP, compiler  # from this folder

FOLDER, DOCUMENT = "include/uslab/linux/linux", "docs/kernel-headers.md"

INTRODUCTION = """# Headers for kernel code

What is in `include/uslab/linux/`, for `-I` ([kernel-code.md](kernel-code.md) says how).
`scripts/kernel_headers.py` compiles each header and writes this; `scripts/check.py` (rule kernel)
sees to it that it holds. Not listed are names that only pass on others' (`<uslab/slab.h>` and its
like, see [kernel-api.md](kernel-api.md), libc's, the system's).

Beside the headers that a kernel tree has for its tools: *ours*, these hide the tree's; *tree's*,
the tree's own if it has that file; *both*, the tree's or the system's, and what is missing there.
"""


def headers(root):
    """[(name, text)]; parts of others (uslab_...) are none."""
    folder = os.path.join(root, FOLDER)
    for name in sorted(os.listdir(folder)):
        if not name.startswith("uslab_"):
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                yield name, file.read()


def title(text):
    found = re.search(r"^ \* \S+ - (.*?)\n \*(?:/|\n)", text, re.M | re.S).group(1)
    return re.sub(r"(<[\w/.]+>)", r"`\1`", re.sub(r"\s*\n \* ", " ", found))


def whose(name, text):
    if f"#include_next <linux/{name}>" not in text:
        return "ours"
    return "tree's" if re.search(rf"#include_next <linux/{name}>\n#else", text) else "both"


def macros(text):
    found = re.findall(r"^#define (\w+)", text, re.M)
    return [name for name in dict.fromkeys(found) if not name.startswith("USLAB_")]


# As if the program had included a header of liburcu, which need not be there.
LIBURCU = """#define _URCU_CALL_RCU_H
struct rcu_head { void *words[2]; };
void call_rcu(struct rcu_head *head, void (*func)(struct rcu_head *head));
void synchronize_rcu(void);
void rcu_barrier(void);
"""


def compile_header(root, name, flags, more=""):
    """The compiler's run."""
    return subprocess.run(
        compiler() + ["-std=gnu11", "-w", "-x", "c", *flags,
                      f"-I{root}/include/uslab/linux", f"-I{root}/include", "-"],
        input=f"{LIBURCU}#include <linux/{name}>\n{more}", capture_output=True, text=True,
        check=False)


def declared(root, name):
    """Types and functions that the compiler finds in the header itself."""
    here, lines = False, []
    for line in compile_header(root, name, ["-E"]).stdout.splitlines():
        if line.startswith("# "):
            here = line.split('"')[1].endswith(f"{FOLDER}/{name}")
        elif here:
            lines.append(line)
    text, found = "\n".join(lines), []
    found += re.findall(r"^(?:typedef )?(struct \w+)\s*\{", text, re.M)
    found += re.findall(r"^typedef [^;{(]*?(\w+);|^\} (\w+);", text, re.M)
    found = [name if isinstance(name, str) else name[0] or name[1] for name in found]
    found += re.findall(r"static inline\b[^;{}()]*?(?:__attribute__\(\([^;{}]*?\)\)\)?[^;{}()]*?)*\b(\w+)\(", text)
    return [name for name in dict.fromkeys(found) if "uslab_" not in name]


def make(root):
    """(the document, [mistake]); None: there is no compiler."""
    if compiler() is None:
        return None
    text, mistakes = [INTRODUCTION, "\n| header | what | whose | names |\n| --- | --- | --- | --- |\n"], []
    for name, source in headers(root):
        known = macros(source)
        guards = "".join(f"#ifndef {macro}\n#error {macro}\n#endif\n" for macro in known)
        run = compile_header(root, name, ["-fsyntax-only"], guards)
        if run.returncode:
            mistakes.append((f"{FOLDER}/{name}", run.stderr.strip().splitlines()[0]))
        names = ", ".join(f"`{one}`" for one in dict.fromkeys(declared(root, name) + known))
        text.append(f"| `linux/{name}` | {title(source)} | {whose(name, source)} | {names} |\n")
    return "".join(text), mistakes


def problems(root):
    """For scripts/check.py: (file, line, text) of what is wrong; None: there is no compiler."""
    if not os.path.isdir(os.path.join(root, FOLDER)):
        return []
    made = make(root)
    if made is None:
        return None
    want, found = made[0], [(path, 1, text) for path, text in made[1]]
    path, have = os.path.join(root, DOCUMENT), ""
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            have = file.read()
    if have != want:
        pairs = zip(have.splitlines(), want.splitlines())
        line = next((n for n, (old, new) in enumerate(pairs, 1) if old != new), 1)
        found.append((DOCUMENT, line, "differs from what scripts/kernel_headers.py makes"))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--check", action="store_true", help="write nothing, say what differs")
    options = parser.parse_args()
    made = make(TOP)
    if made is None:
        print("kernel_headers: there is no C compiler; CC names one", file=sys.stderr)
        return 1
    if not options.check:
        with open(os.path.join(TOP, DOCUMENT), "w", encoding="utf-8") as file:
            file.write(made[0])
    found = problems(TOP)
    for path, line, text in found:
        print(f"{path}:{line}: {text}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
