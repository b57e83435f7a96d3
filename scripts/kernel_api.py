#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Which names of <linux/slab.h>, <linux/mempool.h> and <linux/shrinker.h> a program finds in the public
headers.

usage: kernel_api.py [--check]

The names are in scripts/kernel-names.txt. Each is compiled against <uslab/slab.h> and the headers
beside it, as C, with $CC or cc. This writes the table docs/kernel-api.md, present names with the
manual page of each, and absent ones with the reason, which is below. --check writes nothing and
says where the document differs, as `make check` does; status 1 if it does, or if a name is absent
without a reason, or present in spite of one.
"""
import argparse
import os
import re
import shlex
import subprocess
import sys

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
NAMES, DOCUMENT = "scripts/kernel-names.txt", "docs/kernel-api.md"
HEADERS = ("uslab/slab.h", "uslab/mempool.h", "uslab/kstring.h", "uslab/cleanup.h", "uslab/rcu.h",
           "uslab/shrinker.h")

# (pattern of whole names, reason): the first that matches. Names that match none have to be there.
ABSENT = tuple((re.compile(rf"(?:{names})\Z"), reason) for names, reason in (
    (r"kvfree_rcu_init|kfree_rcu_scheduler_running", "internal: how the kernel itself starts RCU"),
    (r"kmem_cache_init(_late)?|kmalloc_(caches|index|type)|NR_KMALLOC_TYPES|KMALLOC_NOT_NORMAL_BITS"
     r"|SLAB_OBJ_MIN_SIZE|arch_slab_minalign", "internal: how the kernel itself finds its caches"),
    (r"kmalloc_large(_node)?", "internal: kmalloc() calls it; gone from the header since 6.10"),
    (r"kmem_valid_obj", "gone since 6.6: kmem_dump_obj() returns it"),
    (r"synchronize_shrinkers", "who ends a shrinker has waited already; <linux/shrinker.h> has it"),
    (r"(register_shrinker_prepared|(free_)?prealloc(ed)?_shrinker)",
     "nothing is prepared here; <linux/shrinker.h> has it"),
    (r"shrinker_debugfs_rename", "there is no debugfs"),
    (r"ARCH_DMA_MINALIGN", "no devices, so no alignment for them"),
))

# Likewise, what to know of a name that is there.
BUT = tuple((re.compile(rf"(?:{names})\Z"), text) for names, text in (
    (r"SLAB_TYPESAFE_BY_RCU", "the program has to bind an RCU (*uslab_set_rcu(3)*)"),
    (r"SLAB_(FAILSLAB|KASAN|SKIP_KFENCE)", "a cache with it is refused (EINVAL)"),
    (r"SLAB_NO_OBJ_EXT", "its objects are not counted by allocation profiling"),
    (r"SLAB_(MEM_SPREAD|DEBUG_OBJECTS)", "without effect"),
    (r"SLAB_(CACHE_DMA|CACHE_DMA32)", "keeps caches apart, the memory is the same"),
    (r"SHRINKER_(MEMCG_AWARE|NONSLAB)", "without effect"),
    (r"SLAB_ACCOUNT", "objects are charged to the thread's group (*uslab_group_create(3)*)"),
))

INTRODUCTION = """# The kernel's names

Which names of `<linux/slab.h>`, `<linux/mempool.h>` and `<linux/shrinker.h>`, Linux 6.1 to 7.x, a
program finds in `<uslab/slab.h>`, `<uslab/mempool.h>`, `<uslab/kstring.h>`, `<uslab/cleanup.h>`,
`<uslab/rcu.h>` and `<uslab/shrinker.h>`.
`scripts/kernel_api.py` compiles each name of `scripts/kernel-names.txt` and writes this;
`scripts/check.py` (rule kernel) sees to it that it holds. Where a function does other than in the
kernel its manual page says so.
"""


def sections(root):
    """[(title, [name])] of the list."""
    with open(os.path.join(root, NAMES), encoding="utf-8") as file:
        parts = re.split(r"^## (.+)\n", file.read(), flags=re.M)
    return [(title, [line.strip() for line in text.splitlines() if line.strip()])
            for title, text in zip(parts[1::2], parts[2::2])]


def program(root, names):
    """C that has one line for each name, with an error if it is unknown: (text, {line: name}). A macro
    of arguments is known if it is defined; types, functions and constants have a size."""
    lines = [f"#include <{header}>" for header in HEADERS
             if os.path.exists(os.path.join(root, "include", header))]
    places = {}
    for number, name in enumerate(names):
        if " " not in name:
            lines.append(f"#ifndef {name}")
        lines.append(f"int known_{number}[!!sizeof({name})];")
        places[len(lines)] = name
        if " " not in name:
            lines.append("#endif")
    return "\n".join(lines) + "\n", places


def compiler():
    """The command, which reports every error; None: there is none."""
    command = shlex.split(os.environ.get("CC", "cc"))
    try:
        run = subprocess.run(command + ["--version"], capture_output=True, text=True, check=False)
    except OSError:
        return None
    return command + (["-ferror-limit=0"] if "clang" in run.stdout else [])


def present(root, names):
    """The names that compile; None: there is no compiler."""
    command = compiler()
    if command is None:
        return None
    text, places = program(root, names)
    run = subprocess.run(command + ["-std=gnu17", "-w", "-fsyntax-only", "-I",
                                    os.path.join(root, "include"), "-x", "c", "-"],
                         input=text, capture_output=True, text=True, check=False)
    wrong = {int(line) for line in re.findall(r"^<stdin>:(\d+):\d+: error:", run.stderr, re.M)}
    if not wrong <= set(places) or (run.returncode and not wrong):
        raise RuntimeError(f"{' '.join(command)}: the headers do not compile:\n{run.stderr}")
    return [name for line, name in places.items() if line not in wrong]


def manual_pages(root):
    """{name: page} of section 3."""
    folder, found = os.path.join(root, "docs", "man"), {}
    for file_name in sorted(os.listdir(folder) if os.path.isdir(folder) else ()):
        if file_name.endswith(".3.scd"):
            with open(os.path.join(folder, file_name), encoding="utf-8") as file:
                names = re.search(r"# NAME\n+(.*?) - ", file.read(), re.S)
            for name in names.group(1).split(",") if names else ():
                found[name.strip()] = file_name[:-len(".3.scd")] + "(3)"
    return found


def text_for(name, table):
    return next((text for pattern, text in table if pattern.match(name)), None)


def present_text(name, pages):
    page, but = f", *{pages[name]}*" if name in pages else "", text_for(name, BUT)
    return f"yes{page}{f'; {but}' if but else ''}"


def make(root):
    """(the document, [mistake]); None: there is no compiler."""
    parts = sections(root)
    there = present(root, [name for _, names in parts for name in names])
    if there is None:
        return None
    there, pages, text, mistakes = set(there), manual_pages(root), [INTRODUCTION], []
    for title, names in parts:
        text.append(f"\n## {title}\n\n| name | here |\n| --- | --- |\n")
        for name in names:
            reason = text_for(name, ABSENT)
            if name in there and reason:
                mistakes.append(f"{name} is there, yet scripts/kernel_api.py says '{reason}'")
            elif name not in there and not reason:
                mistakes.append(f"{name} is absent, and scripts/kernel_api.py does not say why")
            text.append(f"| `{name}` | {present_text(name, pages) if name in there else f'no; {reason}'} |\n")
    return "".join(text), mistakes


def problems(root):
    """For scripts/check.py: (file, line, text) of what is wrong; None: there is no compiler."""
    made = make(root)
    if made is None:
        return None
    want, mistakes = made
    path, have = os.path.join(root, DOCUMENT), ""
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            have = file.read()
    found = [(NAMES, 1, mistake) for mistake in mistakes]
    if have != want:
        pairs = zip(have.splitlines(), want.splitlines())
        line = next((n for n, (old, new) in enumerate(pairs, 1) if old != new), 1)
        found.append((DOCUMENT, line, "differs from what scripts/kernel_api.py makes"))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--check", action="store_true", help="write nothing, say what differs")
    options = parser.parse_args()
    made = make(TOP)
    if made is None:
        print("kernel_api: there is no C compiler; CC names one", file=sys.stderr)
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
