#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Draws charts of the raw results in bench/results, and shows them in docs/performance.md.

usage: scripts/charts.py [--root DIR] [--results DIR] [--output DIR]

Each chart is of the newest run that has its benchmark, or of the folder that --results names; a
benchmark without results has no chart. The pictures, chart-*.svg, go to docs/pictures, and the part of
docs/performance.md between two markers shows them; with --output they only go to that folder.
A new chart is a function and a row of CHARTS. scripts/check.py compares the charts with the results.
"""
import argparse
import math
import os
import sys

sys.dont_write_bytecode = True
from chart_svg import bars, dots, number  # noqa: E402  (from this folder)
from figures import RESULTS, Failure, Run, parts_between, runs, source, wrap  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PAGE, PICTURES = "docs/performance.md", "docs/pictures"
BEGIN, END = "<!-- charts: begin, by scripts/charts.py -->", "<!-- charts: end -->"
# Fronts that a kernel had are for docs/results.md; here they would make all others look alike.
HIDDEN = ("own-cache-cpuslab", "own-cache-none", "own-cache-used")
OURS = ("own-cache", "uslab-malloc", "uslab")  # in rows of dots
ORDERS = {"fifo": "in order", "lifo": "reversed", "mix": "shuffled"}
TWO = {f"{n}.two": f"{n} on two CPUs" for n in (100, 1000, 10000)}  # not in results of one CPU, nor in old ones
HANDOFF = {"one-way": "one allocates, one frees", "two-way": "both do both",
           "one-way.bare": "one way, not touched", "two-way.bare": "both, not touched"}
POINTS = {point: point for point in ("p50", "p90", "p99", "p99.9", "p99.99")} | {"repeat": "longest"}
LOADS = {"mixed": "mixed sizes", "larson": "threads inherit", "python": "interpreter"}


class Chart:
    """What a function of CHARTS returns: a picture, and what is said of it."""

    def __init__(self, title, says, svg):
        self.title, self.says, self.svg = title, says, svg


# ---- what the results say ----

def median(entry, metric):
    value = entry["metrics"][metric]["median"]
    if not isinstance(value, (int, float)) or not value > 0 or not math.isfinite(value):
        raise Failure(f"{entry['name']}: {metric}: {value!r} is no time and no size")
    return value


def shown(result, roles=("uslab", "peer", "system")):
    return [c for c in result["contestants"] if c["role"] in roles and c["name"] not in HIDDEN]


def fastest(result, metric):
    peers = [median(c, metric) for c in result["contestants"] if c["role"] == "peer" and metric in c["metrics"]]
    if not peers:
        raise Failure(f"no peer has {metric}")
    return min(peers)


def ratios(result, labels):
    """Series and rows for dots(): each metric of labels over the fastest peer's."""
    entries = [c for c in shown(result) if c["role"] != "uslab" or c["name"] in OURS]
    rows = []
    for metric, label in labels.items():
        base = fastest(result, metric)
        rows.append((label, {c["name"]: median(c, metric) / base for c in entries if metric in c["metrics"]}))
    return [(c["name"], c["role"]) for c in entries], rows


def described(rows):
    """The figures of dots, for those who do not see them."""
    return "; ".join(f"{label}: " + ", ".join(f"{name} {number(value)}" for name, value in row.items())
                     for label, row in rows)


def dot_chart(title, says, series, rows):
    return Chart(title, says, dots(title, described(rows), series, rows))


def bar_chart(title, says, rows):
    return Chart(title, says, bars(title, ", ".join(f"{name} {note}" for name, _, _, note in rows), rows))


# ---- the charts ----

def pair(result):
    base = fastest(result, "pair")
    rows = [(c["name"], median(c, "pair"), c["role"],
             f"{number(median(c, 'pair'))} ns" + ("" if c["role"] == "floor" else
                                                  f", {number(median(c, 'pair') / base)}"))
            for c in shown(result, ("uslab", "peer", "system", "floor"))]
    return bar_chart("malloc + free of 64 bytes", "ns, and the ratio to the fastest peer.", rows)


def batch(result):
    labels = {f"{n}.{order}": f"{n} {word}" for n in (100, 1000, 10000) for order, word in ORDERS.items()}
    labels |= {metric: word for metric, word in TWO.items() if any(metric in c["metrics"] for c in shown(result))}
    return dot_chart("Bursts of 64 bytes, time to the fastest peer",
                     "N blocks allocated, then all freed; left is faster.", *ratios(result, labels))


def handoff(result):
    return dot_chart("From thread to thread, time to the fastest peer",
                     "Blocks freed by another thread; left is faster.", *ratios(result, HANDOFF))


def latency(result):
    """Without percentiles that a clock's step makes 0 for somebody."""
    known = lambda metric: all(c["metrics"][metric]["median"] > 0 for c in shown(result) if metric in c["metrics"])
    labels = {f"all.{point}": word for point, word in POINTS.items() if known(f"all.{point}")}
    return dot_chart("Times of single calls, to the fastest peer",
                     "Mixed sizes from 16 bytes to 2 MiB; left is faster.", *ratios(result, labels))


def modes(result):
    rows = [(c["name"], median(c, "written"), c["role"], f"{number(median(c, 'written'))} ns, to "
             f"{number(c['metrics']['written']['max'])}") for c in shown(result, ("uslab", "peer", "system", "floor"))]
    return bar_chart("malloc, write, free of 64 bytes, over processes",
                     "ns, the median process and the slowest.", rows)


def load_time(result):
    return dot_chart("Mixed loads, time to the fastest peer", "Left is faster.", *ratios(result, LOADS))


def load_memory(result):
    return dot_chart("Mixed loads, peak resident memory to the leanest peer", "Left is leaner.",
                     *ratios(result, {f"{key}.rss": label for key, label in LOADS.items()}))


def programs(result):
    rows = [(p["name"], {"uslab": p["uslab_kib"] / p["glibc_kib"]}) for p in result["programs"]]
    return dot_chart("Programs on the drop-in, peak resident memory to glibc", "Left is leaner.",
                     [("uslab", "uslab")], rows)


def means(result, figure, what):
    found, roles = result["means"]["all"], {c["name"]: c["role"] for c in result["contestants"]}
    rows = [(name, row[figure], roles[name], number(row[figure])) for name, row in found.items() if figure in row]
    title = f"Whole programs, {what}"
    return bar_chart(title, f"Geometric means, to {result['base']}; shorter is better.",
                     sorted(rows, key=lambda row: row[1]))


def by_program(result, figure, what):
    entries = [c for c in shown(result) if c["name"] in result["means"]["all"]]
    base = next(c for c in result["contestants"] if c["name"] == result["base"])
    rows = []
    for program in result["programs"]:
        metric = f"{program['name']}.{figure}"
        if metric in base["metrics"]:
            rows.append((program["name"], {c["name"]: median(c, metric) / median(base, metric)
                                           for c in entries if metric in c["metrics"]}))
    title = f"Each program, {what} to {result['base']}"
    return dot_chart(title, "Left is better.", [(c["name"], c["role"]) for c in entries], rows)


# (name, benchmark, function of its result)
CHARTS = (
    ("whole-time", "whole-programs", lambda r: means(r, "time", "time")),
    ("whole-memory", "whole-programs", lambda r: means(r, "rss", "peak resident memory")),
    ("program-time", "whole-programs", lambda r: by_program(r, "time", "time")),
    ("program-memory", "whole-programs", lambda r: by_program(r, "rss", "peak resident memory")),
    ("programs", "programs", programs),
    ("pair", "pair", pair),
    ("batch", "batch", batch),
    ("handoff", "handoff", handoff),
    ("latency", "latency", latency),
    ("modes", "modes", modes),
    ("load-time", "malloc", load_time),
    ("load-memory", "malloc", load_memory),
)


# ---- the page ----

def drawn(found):
    """[(file name, chart, its run, its result)] of the newest runs."""
    charts = []
    for name, benchmark, draw in CHARTS:
        run = next((run for run in reversed(found) if benchmark in run.results), None)
        if not run:
            continue
        try:
            charts.append((f"chart-{name}.svg", draw(run.results[benchmark]), run, run.results[benchmark]))
        except (KeyError, TypeError, AttributeError, ValueError, StopIteration, ZeroDivisionError) as error:
            what = f"has no {error}" if isinstance(error, KeyError) else str(error) or "has no base"
            raise Failure(f"{os.path.join(run.path, benchmark)}.json: {what}") from error
        except Failure as error:
            raise Failure(f"{os.path.join(run.path, benchmark)}.json: {error}") from error
    if not charts:
        raise Failure("there are no results to draw; make bench")
    return charts


def section(charts):
    """What stands between the markers: the pictures, then where they were measured, run by run."""
    parts, sources = [], {}
    for file, chart, run, result in charts:
        parts += [f"![{chart.title}](pictures/{file})", wrap(f"{chart.title}. {chart.says}")]
        kept = sources.get(run.name)
        if not kept or kept[1]["machine"]["load"] < result["machine"]["load"]:
            sources[run.name] = run, result
    parts += [source(run, result, True) for run, result in sources.values()]
    return "\n" + "\n\n".join(parts) + "\n"


def parts_of(text):
    return parts_between(PAGE, text, BEGIN, END)


def content(path):
    with open(path, encoding="utf-8") as stream:
        return stream.read()


def wanted(root, found):
    """{path: what it should hold} of the pictures and the page."""
    charts = drawn(found)
    files = {f"{PICTURES}/{file}": chart.svg for file, chart, _, _ in charts}
    before, _, behind = parts_of(content(os.path.join(root, PAGE)))
    files[PAGE] = f"{before}\n{section(charts)}\n{behind}"
    return files


def problems(root):
    """(file, line, text) of charts that are not of the newest results, for scripts/check.py."""
    path = os.path.join(root, PAGE)
    if not os.path.exists(path) or BEGIN not in content(path):
        return
    try:
        files = wanted(root, runs(root))
    except Failure as error:
        yield PAGE, 1, str(error)
        return
    folder = os.path.join(root, PICTURES)
    for file in sorted(os.listdir(folder)) if os.path.isdir(folder) else []:
        if file.startswith("chart-") and f"{PICTURES}/{file}" not in files:
            yield f"{PICTURES}/{file}", 1, "is of no results: scripts/charts.py"
    for file, text in files.items():
        there = os.path.join(root, file)
        if not os.path.exists(there) or content(there) != text:
            yield file, 1, f"is not as {RESULTS} says: scripts/charts.py"


def put(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as stream:
        stream.write(text)


def write(root, found):
    """Pictures and page; pictures of results that are gone go."""
    files = wanted(root, found)
    folder = os.path.join(root, PICTURES)
    for file in os.listdir(folder) if os.path.isdir(folder) else []:
        if file.startswith("chart-") and f"{PICTURES}/{file}" not in files:
            os.unlink(os.path.join(folder, file))
    for file, text in files.items():
        put(os.path.join(root, file), text)
    return len(files) - 1


def write_folder(folder, found):
    charts = drawn(found)
    for file, chart, _, _ in charts:
        put(os.path.join(os.path.abspath(folder), file), chart.svg)
    return len(charts)


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1].split("\n")[0],
                                     description=__doc__.split("\n")[0], allow_abbrev=False)
    parser.add_argument("--root", default=ROOT, help="the tree (default: this one)")
    parser.add_argument("--results", metavar="DIR", help="draw what is there (default: the newest of bench/results)")
    parser.add_argument("--output", metavar="DIR", help="write the pictures there, and no page")
    options = parser.parse_args()
    try:
        found = [Run(options.results)] if options.results else runs(options.root)
        if options.output:
            number_drawn, where = write_folder(options.output, found), options.output
        else:
            number_drawn, where = write(options.root, found), f"{PICTURES} and {PAGE}"
    except (Failure, OSError) as error:
        print(f"charts: {error}", file=sys.stderr)
        return 1
    print(f"charts: {number_drawn} pictures in {where}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
