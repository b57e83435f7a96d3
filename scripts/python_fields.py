#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""python_fields - writes python/uslab/fields.py: the classes of Python's module, out of the one list
of statistics

    scripts/python_fields.py [--check]

The list is src/inspect/fields.def. What no tree of a kernel tells stands in tools/uslab/info/info_json.c.
"""
import argparse
import os
import re
import sys
import textwrap

FIELDS, MISSING, MADE = "src/inspect/fields.def", "tools/uslab/info/info_json.c", "python/uslab/fields.py"
STRING = r'"((?:[^"\\]|\\.)*)"'
ENTRY = re.compile(rf"^(CACHE|TOTAL)_([A-Z]+)\(([^\"]*?),?\s*{STRING},\s*{STRING}\)", re.M)
HEAD = '''# SPDX-License-Identifier: MIT
"""What is known of a process, a cache, its flags and its events: made by scripts/python_fields.py."""
from dataclasses import dataclass
from typing import Dict, List, Optional
'''
CLASSES = (("Totals", "A process, as a whole.", ("TOTAL_TEXT", "TOTAL_FIELD", "TOTAL_ADDRESS")),
           ("Flags", "How a cache was made, and what of it is checked.", ("CACHE_FLAG", "CACHE_BIT")),
           ("Stats", "Events of a cache, which are counted with USLAB_CONF=stats.", ("CACHE_STAT",)),
           ("Cache", "A cache; or a row for whole pages or a heap, if its id is 0.",
            ("CACHE_TEXT", "CACHE_FIELD")))
NODE = '''
    aliases: List[str]
    """its other names"""
    nodes: List[Dict[str, int]]
    """the same counts by node, of nodes where it has slabs"""
    flags: Flags
    memory: Optional[Dict[str, int]]
    """its resident bytes; None: not known, or no cache"""
    stats: Optional[Stats]
    """None: the kernel whose tree this is does not count them"""
'''


def read(root, path):
    with open(os.path.join(root, path), encoding="utf-8") as file:
        return file.read()


def entries(text):
    """[(macro, type of C, key, help)] of the list."""
    return [(f"{kind}_{what}", before.split(",")[0].strip(), key, said)
            for kind, what, before, key, said in ENTRY.findall(text)]


def missing(text):
    """The keys that are null for a tree."""
    return set(re.findall(STRING, re.search(r"missing\[\] = \{(.*?)\}", text, re.S).group(1)))


def python_type(macro, of_c, key, absent):
    if macro in ("CACHE_TEXT", "TOTAL_TEXT", "TOTAL_ADDRESS"):
        return "str"
    name = "bool" if macro in ("CACHE_FLAG", "CACHE_BIT") or of_c == "bool" else "int"
    return f"Optional[{name}]" if macro == "CACHE_FIELD" and key in absent else name


def made(root):
    """What the module is to be."""
    found, absent = entries(read(root, FIELDS)), missing(read(root, MISSING))
    text = HEAD
    for name, about, macros in CLASSES:
        text += f'\n\n@dataclass(frozen=True)\nclass {name}:\n    """{about}"""\n'
        for macro, of_c, key, said in found:
            if macro in macros:
                said = textwrap.fill(f'"""{said}"""', 96, initial_indent="    ",
                                     subsequent_indent="    ")
                text += f"\n    {key}: {python_type(macro, of_c, key, absent)}\n{said}\n"
        text += NODE if name == "Cache" else ""
    return text


def problems(root):
    """(file, line, text) if the module is not what the list says."""
    if not os.path.exists(os.path.join(root, FIELDS)) or not os.path.exists(os.path.join(root, MADE)):
        return
    have, want = read(root, MADE).splitlines(), made(root).splitlines()
    if have != want:
        line = next((n for n, (a, b) in enumerate(zip(have, want), 1) if a != b), min(len(have), len(want)))
        yield MADE, line, f"differs from {FIELDS}: scripts/python_fields.py"


def main():
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="only say whether it is up to date")
    if parser.parse_args().check:
        found = list(problems(root))
        for path, line, text in found:
            print(f"{path}:{line}: {text}")
        return 1 if found else 0
    with open(os.path.join(root, MADE), "w", encoding="utf-8") as file:
        file.write(made(root))
    return 0


if __name__ == "__main__":
    sys.exit(main())
