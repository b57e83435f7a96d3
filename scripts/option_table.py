#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The options of USLAB_CONF and the flags of USLAB_DEBUG, in documents and manual pages.

usage: option_table.py [--check]

Their one table is options.def, below src/. This writes it into each document (.md) and manual page
(.scd) between two comments, `scripts/option_table.py: WHAT` and `scripts/option_table.py: end`. WHAT
is `options`, `options: TITLE` for one group of them, or `flags`. --check writes nothing and names
the places that differ, as `make check` does; status 1 if there are any.
"""
import argparse
import os
import re
import sys
import textwrap

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
NAME = "scripts/option_table.py"
WIDTH = 100
MARKED = re.compile(
    rf"(?P<begin>^(?:<!-- |; ){re.escape(NAME)}: (?P<what>options|flags)(?:: (?P<group>[^\n]+?))?(?: -->)?\n)"
    rf"(?P<text>.*?)(?P<end>^(?:<!-- |; ){re.escape(NAME)}: end(?: -->)?$)", re.M | re.S)
TOKEN = re.compile(r'"(?:\\.|[^"\\])*"|\'[^\']\'|[A-Za-z_]\w*|\d+|[(),]')
CALLS = {
    "GROUP": ("title",),
    "OPTION": ("key", "set", "takes", "example", "initial", "since", "help"),
    "MEMBER": ("group", "name", "set", "takes", "example", "initial", "since", "help"),
    "RULE": ("prefix", "set", "takes", "example", "initial", "since", "help"),
    "ALIAS": ("key", "of"),
    "DEBUG_FLAG": ("letter", "flag", "where", "help"),
}


def arguments(text, macros):
    """The arguments of a call whose text begins behind its name: strings are joined."""
    found, current = [], ""
    for token in TOKEN.findall(text)[1:]:
        if token in ",)":
            found.append(current)
            current = ""
            if token == ")":
                break
        elif token[0] in "\"'":
            current += token[1:-1].replace('\\"', '"')
        else:
            current += macros.get(token, token)
    return found


def parse(text):
    """(options, flags) of options.def: dictionaries, in its order."""
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    macros = dict(re.findall(r'^#define (\w+) "(.*)"$', text, re.M))
    options, flags, title = [], [], ""
    for match in re.finditer(rf"^({'|'.join(CALLS)})(?=\()", text, re.M):
        kind = match.group(1)
        row = dict(zip(CALLS[kind], arguments(text[match.end():], macros), strict=True))
        if kind == "GROUP":
            title = row["title"]
        elif kind == "DEBUG_FLAG":
            flags.append(row)
        elif kind == "ALIAS":
            next(o for o in options if row["of"] in o["keys"])["keys"].append(row["key"])
        else:
            key = row.get("key") or row.get("group", "") + row.get("name", "") \
                or row["prefix"] + "PATTERN"
            options.append({**row, "keys": [key], "title": title})
    return options, flags


# ---- forms --------------------------------------------------------------------------------------

def refer(text):
    """Names of manual pages, emphasised as in all of them."""
    return re.sub(r"\b(uslab(?:-\w+)?)\((\d)\)", r"*\1*(\2)", text)


def in_markdown(text):
    return refer(text.replace("*", r"\*").replace("|", r"\|"))


def in_scdoc(text):
    return refer(re.sub(r"([*_\\])", r"\\\1", text))


def sentence(text):
    return text[0].upper() + text[1:] + "."


def markdown_options(options, titles):
    """A list, which fits a phone as well as a desk; with the titles of groups, or of one group."""
    lines, title = [], ""
    for option in options:
        if titles and option["title"] != title:
            title = option["title"]
            lines += [""] * bool(lines) + [f"{in_markdown(title)}:", ""]
        keys = ", ".join(f"`{key}`" for key in option["keys"])
        text = (f"- {keys} (default: {in_markdown(option['initial'])}): {in_markdown(option['help'])}."
                f" Takes {in_markdown(option['takes'])}.")
        lines += textwrap.wrap(text, WIDTH, subsequent_indent="  ", break_long_words=False,
                               break_on_hyphens=False)
    return lines


def scdoc_options(options):
    lines, title = [], ""
    for option in options:
        if option["title"] != title:
            title = option["title"]
            lines += [f"## {title}", ""]
        keys = ", ".join(f"*{in_scdoc(key)}*" for key in option["keys"])
        lines += [f"{keys} (default: {in_scdoc(option['initial'])})",
                  "\t" + in_scdoc(sentence(option["help"])) + " Takes " + in_scdoc(option["takes"])
                  + ". Since " + option["since"] + ".", ""]
    return lines


def markdown_flags(flags):
    lines = ["| flag | what it does | for |", "| --- | --- | --- |"]
    return lines + [f"| {row['letter']} | {in_markdown(row['help'])} | {in_markdown(row['where'])} |"
                    for row in flags]


def scdoc_flags(flags):
    lines = []
    for row in flags:
        lines += [f"*{row['letter']}*", "\t" + in_scdoc(sentence(row["help"])) + " For "
                  + in_scdoc(row["where"]) + ".", ""]
    return lines


def filled(text, path, table):
    """The text of a document with what it should have between its marks."""
    options, flags = table
    scdoc = path.endswith(".scd")

    def fill(match):
        if match.group("what") == "flags":
            lines = (scdoc_flags if scdoc else markdown_flags)(flags)
        else:
            group = match.group("group")
            chosen = [o for o in options if group in (None, o["title"])]
            if not chosen:
                raise SystemExit(f"{path}: options.def has no group '{group}'")
            lines = scdoc_options(chosen) if scdoc else markdown_options(chosen, group is None)
        empty = "\n" if scdoc or match.group("what") == "options" else ""
        return match.group("begin") + empty + "\n".join(lines) + "\n" + match.group("end")

    return MARKED.sub(fill, text)


# ---- the tree -----------------------------------------------------------------------------------

def read(root, path):
    with open(os.path.join(root, path), encoding="utf-8") as stream:
        return stream.read()


def definition(paths):
    """Which of these files the table is; None: none."""
    return next((p for p in paths if p.startswith("src/") and p.endswith("/options.def")), None)


def documents(paths):
    return [p for p in paths if p.endswith((".md", ".scd"))]


def differing(root, paths):
    """(path, text as it should be) of each document that is not so."""
    where = definition(paths)
    if not where:
        return
    table = parse(read(root, where))
    for path in documents(paths):
        text = read(root, path)
        want = filled(text, path, table)
        if text != want:
            yield path, want


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--check", action="store_true", help="write nothing")
    check = parser.parse_args().check
    paths = sorted(os.path.relpath(os.path.join(folder, f), TOP)
                   for top in ("src", "docs", ".") for folder, _, files in os.walk(os.path.join(TOP, top))
                   for f in files if top != "." or folder == os.path.join(TOP, "."))
    found = list(differing(TOP, paths))
    for path, want in found:
        print(f"{path}: {'differs' if check else 'written'}")
        if not check:
            with open(os.path.join(TOP, path), "w", encoding="utf-8") as stream:
                stream.write(want)
    return 1 if found and check else 0


if __name__ == "__main__":
    sys.exit(main())
