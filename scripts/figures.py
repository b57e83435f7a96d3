#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes the README's tables of figures from the newest raw results in bench/results.

usage: scripts/figures.py [--root DIR]

A run is a folder of bench/results named by commit and CPU, which scripts/bench makes. The tables stand
between two markers in README.md; scripts/check.py compares them with the raw results. Where a run has
a remark.md, its text goes with the tables.
"""
import argparse
import itertools
import json
import os
import re
import sys
import textwrap

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
RESULTS = "bench/results"
BEGIN, END = "<!-- figures: begin, by scripts/figures.py -->", "<!-- figures: end -->"
COLUMNS = 98
SLOWER = 1.05  # from this ratio on a figure is bold

# (benchmark, contestant, metric, at most so many times the fastest peer, or None, what it is)
HEADLINES = (
    ("pair", "own-cache", "pair", 0.45, "alloc + free of 64 bytes, own cache"),
    ("pair", "kmalloc", "pair", None, "kmalloc(64) + kfree"),
    ("pair", "uslab-malloc", "pair", 1.00, "malloc + free of 64 bytes, drop-in"),
    ("handoff", "own-cache", "one-way", None, "one thread allocates, one frees, own cache"),
    ("handoff", "uslab-malloc", "one-way", 0.70, "the same, drop-in"),
    ("batch", "own-cache", "1000.fifo", None, "1000 allocs, then 1000 frees, own cache"),
    ("batch", "uslab-malloc", "1000.fifo", None, "the same, drop-in"),
    ("batch", "uslab-malloc", "1000.two", None, "the same by two threads, drop-in"),
    ("malloc", "uslab-malloc", "mixed", None, "mixed sizes and lifetimes, drop-in"),
    ("malloc", "uslab-malloc", "larson", None, "threads that inherit blocks, drop-in"),
    ("malloc", "uslab-malloc", "python", None, "calls of an interpreter, drop-in"),
)
TIMED = tuple(dict.fromkeys(row[0] for row in HEADLINES))
PROGRAMS = ("programs",)
OF_RESULT = ("version", "date", "note", "machine")
OF_MACHINE = ("cpu", "cpus", "kernel", "libc", "compiler", "load")


class Failure(Exception):
    """Why there are no figures, as one line."""


def raw_result(path):
    """What one file of raw results says. Every result has what OF_RESULT and OF_MACHINE name."""
    with open(path, encoding="utf-8") as text:
        try:
            result = json.load(text)
        except ValueError as error:
            raise Failure(f"{path}: is no JSON: {error}") from error
    if not isinstance(result, dict) or not isinstance(result.get("machine", {}), dict):
        raise Failure(f"{path}: is no result of a benchmark")
    missing = [key for key in OF_RESULT if key not in result]
    missing += [f"machine.{key}" for key in OF_MACHINE if key not in result.get("machine", OF_MACHINE)]
    if missing:
        raise Failure(f"{path}: has no {', '.join(missing)}")
    if not isinstance(result["date"], str):
        raise Failure(f"{path}: {result['date']!r} is no date")
    return result


class Run:
    """One folder of raw results."""

    def __init__(self, path):
        self.name, self.path = os.path.basename(os.path.abspath(path)), path
        self.results = {}
        for file in sorted(os.listdir(self.path)):
            if file.endswith(".json"):
                self.results[file[:-5]] = raw_result(os.path.join(self.path, file))
        self.date = max((r["date"] for r in self.results.values()), default="")

    def proper_names(self):
        """What the folder should be named, by each of its results."""
        return {folder_name(r["note"], r["machine"]["cpu"]) for r in self.results.values()}

    def contestants(self, benchmark):
        return {entry["name"]: entry for entry in self.results[benchmark]["contestants"]}

    def remark(self):
        path = os.path.join(self.path, "remark.md")
        if not os.path.exists(path):
            return []
        with open(path, encoding="utf-8") as text:
            return [wrap(text.read())]


def folder_name(note, cpu):
    """"commit 0123456789ab with changes", "Maker(R) Model CPU @ 2 GHz" -> 0123456789ab-changed-maker-model"""
    commit = re.match(r"commit ([0-9a-f]+)( with changes)?$", note or "")
    words = re.sub(r"\((R|TM|r|tm)\)|@.*|\b(CPU|Processor)\b|\d+-Core", " ", cpu)
    model = "-".join(re.findall(r"[a-z0-9.]+", words.lower())) or "cpu"
    if not commit:
        return f"unknown-{model}"
    return f"{commit.group(1)}{'-changed' if commit.group(2) else ''}-{model}"


def runs(root):
    """All runs, the oldest first."""
    folder = os.path.join(root, RESULTS)
    names = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
    found = [Run(os.path.join(folder, name)) for name in names
             if name != "published" and os.path.isdir(os.path.join(folder, name))]
    return sorted((run for run in found if run.results), key=lambda run: run.date)


def newest(found, benchmarks):
    for run in reversed(found):
        if all(name in run.results for name in benchmarks):
            return run
    raise Failure(f"no run in {RESULTS} has {', '.join(benchmarks)}; make bench")


def problems(root):
    """(file, line, text) of what is not as the raw results say, for scripts/check.py."""
    try:
        found = runs(root)
    except Failure as error:
        yield RESULTS, 1, str(error)
        return
    for run in found:
        for name in sorted(run.proper_names() - {run.name}):
            yield f"{RESULTS}/{run.name}", 1, f"has results of {name}"
    path = os.path.join(root, "README.md")
    text = ""
    if os.path.exists(path):
        with open(path, encoding="utf-8") as stream:
            text = stream.read()
    if not found and BEGIN not in text:
        return
    try:
        before, between, _ = parts_of(text)
        made = f"\n{block(root)}\n\n"
    except Failure as error:
        yield "README.md", 1, str(error)
        return
    shown, wanted = between.split("\n"), made.split("\n")
    for number, (here, there) in enumerate(itertools.zip_longest(shown, wanted, fillvalue="")):
        if here != there:
            yield "README.md", before.count("\n") + number + 1, (
                f"is not '{there}', as in {RESULTS}: scripts/figures.py")
            return


# ---- the text ----

def wrap(text):
    return textwrap.fill(" ".join(text.split()), COLUMNS, break_long_words=False,
                         break_on_hyphens=False)


def table(head, rows):
    """Markdown, laid out; all columns but the first are right-aligned."""
    rows = [head, *rows]
    widths = [max(3, *(len(row[i]) for row in rows)) for i in range(len(head))]
    align = lambda cell, i: cell.ljust(widths[i]) if i == 0 else cell.rjust(widths[i])
    lines = ["| " + " | ".join(align(cell, i) for i, cell in enumerate(row)) + " |" for row in rows]
    lines.insert(1, "| " + " | ".join("-" * w if i == 0 else "-" * (w - 1) + ":"
                                      for i, w in enumerate(widths)) + " |")
    return "\n".join(lines)


def bold(text, ratio):
    return f"**{text}**" if ratio >= SLOWER else text


def figure(value):
    return f"{value:.2f}" if value < 10 else f"{value:.1f}"


def source(run, result, timed):
    """Where, when and on what a table's figures were measured."""
    machine = result["machine"]
    busy = timed and machine["load"] > 0.5 * machine["cpus"]
    return wrap(f"Measured {result['date'][:10]} on {machine['cpu']}, {machine['cpus']} CPUs, "
                f"{machine['kernel'].split('-')[0]}, {machine['libc']}, {machine['compiler']}; uslab "
                f"{result['version']}, {result['note'] or 'no commit'}. Raw results: "
                f"`{RESULTS}/{run.name}/`."
                + (f" **The machine was not quiet: load {machine['load']:.1f}.**" if busy else ""))


def fastest(contestants, metric):
    peers = [entry for entry in contestants.values() if entry["role"] == "peer"]
    return min(peers, key=lambda entry: entry["metrics"][metric]["median"])


def times(run):
    rows = []
    for benchmark, name, metric, _, what in HEADLINES:
        contestants = run.contestants(benchmark)
        ours = contestants[name]["metrics"][metric]["median"]
        peer = fastest(contestants, metric)
        theirs = peer["metrics"][metric]["median"]
        rows.append((what, figure(ours), f"{peer['name']} {figure(theirs)}",
                     bold(f"{ours / theirs:.2f}", ours / theirs)))
    pair = run.results["pair"]
    peers = [f"{entry['name']} {re.split('[+-]', entry['version'])[0]}"
             for entry in pair["contestants"] if entry["role"] == "peer"]
    intro = (f"Nanoseconds, medians of {pair['settings']['rounds']} rounds in turn. The ratio is to the "
             f"fastest of {', '.join(peers[:-1])} and {peers[-1]} in the same run: below 1 is faster, "
             f"bold is {SLOWER:g} and more.")
    return [wrap(intro), table(("", "ns", "fastest other", "ratio"), rows), source(run, pair, True),
            *run.remark()]


def programs(run, timed):
    """Peaks; their source stands once if that is the run of the times."""
    result = run.results["programs"]
    rows = []
    for entry in result["programs"]:
        ratio = entry["uslab_kib"] / entry["glibc_kib"]
        rows.append((entry["name"], f"{entry['glibc_kib'] / 1024:.1f}", f"{entry['uslab_kib'] / 1024:.1f}",
                     bold(f"{ratio:.2f}", ratio)))
    parts = [wrap("Peak resident memory of programs on the drop-in (MiB; of sqlite3 without pages of files), "
                  f"and the ratio to glibc's malloc; bold is {SLOWER:g} and more."),
             table(("", "glibc", "uslab", "ratio"), rows)]
    return parts if run is timed else parts + [source(run, result, False), *run.remark()]


def block(root):
    """What stands between the markers."""
    found = runs(root)
    timed = newest(found, TIMED)
    parts = times(timed)
    if any(name in run.results for run in found for name in PROGRAMS):
        parts += programs(newest(found, PROGRAMS), timed)
    return "\n\n".join(parts)


def parts_between(page, text, first, last):
    """(before, between, behind) two markers of a page."""
    before, begin, rest = text.partition(first)
    between, end, behind = rest.partition(last)
    if not (begin and end):
        raise Failure(f"{page} has no '{first}' and '{last}'")
    return before + begin, between, end + behind


def parts_of(text):
    return parts_between("README.md", text, BEGIN, END)


def write(root):
    path = os.path.join(root, "README.md")
    with open(path, encoding="utf-8") as stream:
        before, between, behind = parts_of(stream.read())
    made = f"\n{block(root)}\n\n"
    if made != between:
        with open(path, "w", encoding="utf-8") as stream:
            stream.write(before + made + behind)
    return made != between


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1].split("\n")[0],
                                     description=__doc__.split("\n")[0])
    parser.add_argument("--root", default=ROOT, help="the tree (default: this one)")
    try:
        changed = write(parser.parse_args().root)
    except (Failure, OSError, ValueError) as error:
        print(f"figures: {error}", file=sys.stderr)
        return 1
    print(f"figures: README.md {'written anew' if changed else 'is as the raw results are'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
