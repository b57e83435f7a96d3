#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Says in docs/performance.md which goals for speed and memory are reached, by the raw results.

usage: scripts/goals.py [--root DIR]

Each goal is held against the newest run in bench/results that has its benchmark; a goal whose benchmark
has no results is left out. The table stands between two markers. A new goal is a row of GOALS.
scripts/check.py compares the table with the results.
"""
import argparse
import collections
import os
import sys

sys.dont_write_bytecode = True
from charts import ORDERS, PAGE, content, put  # noqa: E402  (from this folder)
from figures import RESULTS, Failure, figure, parts_between, runs, source, table, wrap  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BEGIN, END = "<!-- goals: begin, by scripts/goals.py -->", "<!-- goals: end -->"
BURSTS = {f"{n}.{order}": f"{n} {word}" for n in (100, 1000, 10000) for order, word in ORDERS.items()}
WALKS = {"walk-hot": "warm", "walk-cold": "cold", "cold-later": "cold, later"}
WORDS = BURSTS | WALKS

# What a goal asks for is at most .limit of what it is beside; .beside is words for that, with its figure.
Reached = collections.namedtuple("Reached", "value limit beside")


def number(value):
    return f"{value:.0f}" if isinstance(value, int) or value >= 100 else figure(value)


def said(reached):
    """Bold where it is not enough, then with as many digits as show it."""
    if reached.value <= reached.limit:
        return number(reached.value)
    text = number(reached.value)
    return f"**{text if float(text) > reached.limit else f'{reached.value:.3f}'}**"


# ---- what the results say ----

def entry(result, name):
    return next(c for c in result["contestants"] if c["name"] == name)


def median(contestant, metric):
    return contestant["metrics"][metric]["median"]


def others(result, metric, roles=("peer",)):
    """(figure, name) of those that have it, the least first."""
    found = [(median(c, metric), c["name"]) for c in result["contestants"]
             if c["role"] in roles and metric in c["metrics"]]
    if not found:
        raise Failure(f"no peer has {metric}")
    return sorted(found)


def beside_fastest(name, metrics, limit, roles=("peer",)):
    """Of several metrics that one which is farthest above its fastest peer's."""
    def reach(result):
        known = [m for m in metrics(result) if m in entry(result, name)["metrics"]]
        rated = [(median(entry(result, name), m) / others(result, m, roles)[0][0], m) for m in known]
        ratio, metric = max(rated)
        theirs, peer = others(result, metric, roles)[0]
        where = f" ({WORDS.get(metric, metric.rsplit('.', 1)[0])})" if len(known) > 1 else ""
        return Reached(ratio, limit, f"{peer} {number(theirs)}{where}")
    return reach


def always(*metrics):
    return lambda result: metrics


def beside(name, metric, other, limit):
    """One contestant's figure to another one's of the same run."""
    def reach(result):
        theirs = median(entry(result, other), metric)
        return Reached(median(entry(result, name), metric) / theirs, limit, f"{other} {number(theirs)}")
    return reach


def itself(name, metric, limit, unit):
    """A figure as it is; the least of the peers beside it."""
    def reach(result):
        theirs, peer = others(result, metric)[0]
        return Reached(median(entry(result, name), metric), limit, f"{peer} {number(theirs)} {unit}".strip())
    return reach


def spread(name, metric, limit):
    def reach(result):
        of = entry(result, name)["metrics"][metric]
        return Reached(of["max"] / of["median"], limit, f"median {figure(of['median'])}")
    return reach


# ---- whole programs ----

def mean(key, limit, other=None):
    """A geometric mean over all programs, to the least of the peers' or to one peer's."""
    def reach(result):
        means = result["means"]["all"]
        peers = [c["name"] for c in result["contestants"] if c["role"] == "peer" and c["name"] in means]
        peer = other or min(peers, key=lambda name: means[name][key])
        return Reached(means["uslab"][key] / means[peer][key], limit, peer)
    return reach


def worst_program(key, limit):
    """How many programs are above their best peer's figure by more than limit, and the worst of them."""
    def reach(result):
        ours, rated = entry(result, "uslab"), []
        for program in result["programs"]:
            metric = f"{program['name']}.{key}"
            if metric in ours["metrics"]:
                rated.append((median(ours, metric) / others(result, metric)[0][0], program["name"]))
        above = [name for ratio, name in rated if ratio > limit]
        ratio, name = max(rated)
        return Reached(len(above), 0, f"of {len(rated)}; {name} {figure(ratio)}")
    return reach


def programs_named(key, *starts):
    """The metrics of programs whose names begin so."""
    return lambda result: [f"{p['name']}.{key}" for p in result["programs"] if p["name"].startswith(starts)]


ANY = ("peer", "system")
GOALS = (
    # (benchmark, what it is, the goal in words, how far it is reached)
    ("whole-programs", "whole programs, time", "0.95 of the best peer's mean", mean("time", 0.95)),
    ("whole-programs", "whole programs, CPU time", "0.95 of the best peer's mean", mean("cpu", 0.95)),
    ("whole-programs", "whole programs, peak memory", "0.56 of mimalloc2's mean", mean("rss", 0.56, "mimalloc2")),
    ("whole-programs", "programs above 1.15 of their best peer's CPU time", "none", worst_program("cpu", 1.15)),
    ("whole-programs", "programs above 1.25 of their best peer's peak", "none", worst_program("rss", 1.25)),
    ("pair", "own cache, a pair", "0.30 of the fastest", beside_fastest("own-cache", always("pair"), 0.30)),
    ("pair", "drop-in, a pair", "1.0 of the fastest", beside_fastest("uslab-malloc", always("pair"), 1.0)),
    ("modes", "drop-in, a pair with a write, median of processes", "1.02 of a malloc that does nothing",
     beside("uslab-malloc", "written", "null-malloc", 1.02)),
    ("modes", "the same, the slowest process", "1.2 of the median", spread("uslab-malloc", "written", 1.2)),
    ("batch", "drop-in, bursts of 100 to 10,000", "1.0 of the fastest",
     beside_fastest("uslab-malloc", always(*BURSTS), 1.0)),
    ("batch", "own cache, the same", "1.0 of the fastest", beside_fastest("own-cache", always(*BURSTS), 1.0)),
    ("malloc", "drop-in, mixed sizes", "1.0 of the fastest", beside_fastest("uslab-malloc", always("mixed"), 1.0)),
    ("malloc", "drop-in, an interpreter", "1.0 of the fastest",
     beside_fastest("uslab-malloc", always("python"), 1.0)),
    ("handoff", "drop-in, one thread allocates, one frees", "0.8 of snmalloc",
     beside("uslab-malloc", "one-way", "snmalloc", 0.8)),
    ("loads", "own caches in an order book, a table, a server", "0.7 of the fastest malloc",
     beside_fastest("own-cache", programs_named("time", "book", "table", "server"), 0.7, ANY)),
    ("loads", "drop-in, 2000 threads, memory at the end", "less than any peer",
     beside_fastest("uslab", programs_named("end", "churn"), 1.0)),
    ("loads", "the same, time", "1.0 of the fastest", beside_fastest("uslab", programs_named("time", "churn"), 1.0)),
    ("locality", "drop-in, pages of 200 blocks on a used heap", "10", itself("uslab-malloc", "pages", 10, "")),
    ("locality", "own cache that was used, the same", "10", itself("own-cache-used", "pages", 10, "")),
    ("locality", "drop-in, walks over them", "1.1 of the fastest",
     beside_fastest("uslab-malloc", always(*WALKS), 1.1)),
    ("locality", "own cache that was used, the same", "1.1 of the fastest",
     beside_fastest("own-cache-used", always(*WALKS), 1.1)),
    ("latency", "drop-in, 99.9 % of calls of 16 bytes to 2 MiB", "300 ns",
     itself("uslab-malloc", "all.p99.9", 300, "ns")),
    ("latency", "the same, 99.99 %", "1000 ns", itself("uslab-malloc", "all.p99.99", 1000, "ns")),
    ("latency", "the same, page faults", "1.2 of glibc's", beside("uslab-malloc", "run.faults", "glibc", 1.2)),
    ("latency", "`realtime`, the longest call that repeats", "0.1 of the best peer's",
     beside_fastest("uslab-realtime", always("all.repeat"), 0.1)),
)


# ---- the table ----

def held(found):
    """[(row of the table, run, result)], each by the newest run that has its benchmark."""
    rows = []
    for benchmark, what, goal, reach in GOALS:
        run = next((run for run in reversed(found) if benchmark in run.results), None)
        if not run:
            continue
        result = run.results[benchmark]
        try:
            reached = reach(result)
        except (KeyError, TypeError, ValueError, StopIteration, ZeroDivisionError) as error:
            raise Failure(f"{os.path.join(run.path, benchmark)}.json: cannot say '{what}': "
                          f"{error or 'something is missing'}") from error
        except Failure as error:
            raise Failure(f"{os.path.join(run.path, benchmark)}.json: {error}") from error
        rows.append(((what, goal, said(reached), reached.beside), run, result))
    if not rows:
        raise Failure("there are no results; make bench")
    return rows


def section(found):
    rows = held(found)
    reached = sum("**" not in row[2] for row, _, _ in rows)
    sources = {}
    for _, run, result in rows:
        kept = sources.get(run.name)
        if not kept or kept[1]["machine"]["load"] < result["machine"]["load"]:
            sources[run.name] = run, result
    parts = [wrap(f"{reached} of {len(rows)} are reached; bold are those that are not. Each figure is of the newest "
                  "run that has it; ratios are to that contestant of the same run which stands beside them."),
             table(("", "at most", "reached", "beside"), [row for row, _, _ in rows]),
             *(source(run, result, True) for run, result in sources.values())]
    return "\n" + "\n\n".join(parts) + "\n"


def parts_of(text):
    return parts_between(PAGE, text, BEGIN, END)


def wanted(root):
    before, _, behind = parts_of(content(os.path.join(root, PAGE)))
    return f"{before}\n{section(runs(root))}\n{behind}"


def problems(root):
    """(file, line, text) of a table that is not of the newest results, for scripts/check.py."""
    path = os.path.join(root, PAGE)
    if not os.path.exists(path) or BEGIN not in content(path):
        return
    try:
        if wanted(root) != content(path):
            yield PAGE, 1, f"its goals are not as {RESULTS} says: scripts/goals.py"
    except Failure as error:
        yield PAGE, 1, f"goals: {error}"


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1].split("\n")[0],
                                     description=__doc__.split("\n")[0], allow_abbrev=False)
    parser.add_argument("--root", default=ROOT, help="the tree (default: this one)")
    root = parser.parse_args().root
    try:
        put(os.path.join(root, PAGE), wanted(root))
    except (Failure, OSError) as error:
        print(f"goals: {error}", file=sys.stderr)
        return 1
    print(f"goals: a table in {PAGE}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
