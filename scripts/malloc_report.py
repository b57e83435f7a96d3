# SPDX-License-Identifier: MIT
"""What scripts/bench-malloc prints and keeps: medians, ratios, geometric means, CSV and JSON."""
import math
import statistics

from malloc_peers import shown

# (figure, title, its unit, digits, the means are taken of it)
TABLES = (
    ("time", "time", "s", 3, True),
    ("cpu", "CPU time, user and system", "s", 3, True),
    ("rss", "peak resident memory", "KiB", 0, True),
    ("faults", "minor page faults", "faults", 0, False),
    ("end", "resident memory when all is freed and all threads ended, of own loads", "KiB", 0, False),
)
CSV_HEAD = "# benchmark allocator elapsed rss user sys page-faults page-reclaims"
LEAST = {"time": 0.001, "cpu": 0.001, "rss": 1, "faults": 1, "end": 1}  # of a median, below a quotient
NAME, FIGURE = 18, 18


def summary(samples):
    """The statistics of one figure, as `uslab bench` has them; samples without those that failed."""
    if not samples:
        return None
    median = statistics.median(samples)
    q1, _, q3 = statistics.quantiles(samples, n=4, method="inclusive") if len(samples) > 1 else samples * 3
    return {"median": median, "min": min(samples), "max": max(samples), "q1": q1, "q3": q3,
            "spread": (q3 - q1) / median if median else None, "samples": samples}


class Results:
    """samples[program][contestant] = [{figure: value}]; failures[(program, contestant)] = why."""

    def __init__(self, programs, contestants, base):
        self.programs, self.contestants, self.base = programs, contestants, base
        self.samples = {p.name: {c.name: [] for c in contestants} for p in programs}
        self.failures = {}

    def add(self, program, contestant, figures):
        self.samples[program.name][contestant.name].append(figures)

    def fail(self, program, contestant, why):
        self.failures.setdefault((program.name, contestant.name), why)

    def figure(self, program, contestant, name):
        """Its summary; None where a run failed or none was made."""
        if (program.name, contestant.name) in self.failures:
            return None
        return summary([s[name] for s in self.samples[program.name][contestant.name] if name in s])

    def median(self, program, contestant, name):
        found = self.figure(program, contestant, name)
        return max(found["median"], LEAST.get(name, 0)) if found else None

    def ratio(self, program, contestant, name):
        here, base = (self.median(program, c, name) for c in (contestant, self.base))
        return here / base if here is not None and base else None

    def best_peer(self, program, name):
        """(the peer with the lowest median, its ratio), or None."""
        rated = [(self.ratio(program, c, name), c.name) for c in self.contestants if c.role == "peer"]
        rated = [(ratio, peer) for ratio, peer in rated if ratio is not None]
        if not rated:
            return None
        ratio, peer = min(rated)
        return peer, ratio

    def whole(self):
        """The contestants that run every program."""
        return [c for c in self.contestants if not c.own]

    def compared(self, group=None):
        """Programs that ended well with all of them; others would make means of different programs."""
        return [p for p in self.programs if group in (None, p.group) and
                all(self.median(p, c, "time") is not None for c in self.whole())]

    def mean(self, contestant, name, group=None):
        """(geometric mean of the ratios, of how many programs)"""
        ratios = [self.ratio(p, contestant, name) for p in self.compared(group)]
        if not ratios:
            return None
        return math.exp(statistics.fmean(map(math.log, ratios))), len(ratios)

    def groups(self):
        return list(dict.fromkeys(p.group for p in self.programs))


def benchmark(results):
    """What the results are kept as: own loads by themselves are another benchmark."""
    return "loads" if results.groups() == ["loads"] else "whole-programs"


# ---- text ----

def cell(value, width, digits=3):
    return f"{value:{width}.{digits}f}" if value is not None else f"{'-':>{width}}"


def widths(results):
    return [max(8, len(c.name) + 2) for c in results.contestants]


def row(results, program, name, digits):
    base = results.median(program, results.base, name)
    line = f"{program.name:{NAME}}{cell(base, FIGURE, digits)}"
    for contestant, width in zip(results.contestants, widths(results)):
        line += cell(results.ratio(program, contestant, name), width)
    best = results.best_peer(program, name)
    if best:
        ours = next((results.ratio(program, c, name) for c in results.contestants if c.role == "uslab"), None)
        line += f"  {best[0]} {best[1]:.3f}"
        if ours is not None:
            line = f"{line:{NAME + FIGURE + sum(widths(results)) + 20}}{ours / best[1]:8.3f}"
    return line.rstrip()


def means(results, name):
    for group in (*results.groups(), None):
        number = len(results.compared(group))
        if not number or (group and len(results.groups()) == 1):
            continue
        line = f"{f'geometric mean, {number} ' + (group or 'in all'):{NAME + FIGURE}}"
        for contestant, width in zip(results.contestants, widths(results)):
            found = results.mean(contestant, name, group) if not contestant.own else None
            line += cell(found[0] if found else None, width)
        yield line.rstrip()


def table(results, name, title, unit, digits, with_means):
    programs = [p for p in results.programs if any(results.figure(p, c, name) for c in results.contestants)]
    if not programs:
        return
    head = f"{results.base.name + ' ' + unit:>{NAME + FIGURE}}"
    for contestant, width in zip(results.contestants, widths(results)):
        head += f"{contestant.name:>{width}}"
    yield f"{title}: medians, and their ratios to {results.base.name}"
    yield f"{head}  {'best peer':18}{'uslab/it':>8}"
    for program in programs:
        yield row(results, program, name, digits)
    if with_means:
        yield from means(results, name)
    yield ""


def text(results, described):
    """All tables; described: what `head` takes."""
    lines = head(results, described)
    for name, title, unit, digits, with_means in TABLES:
        lines += table(results, name, title, unit, digits, with_means)
    for (program, contestant), why in results.failures.items():
        lines.append(f"{program} with {contestant}: {why}")
    if results.failures:
        lines.append("a program that failed with one of them counts in no mean")
    return "\n".join(lines).rstrip() + "\n"


def head(results, d):
    m = d["machine"]
    lines = [d["command"], f"uslab {d['version']}, {d['note'] or 'no commit'}, {d['date']}",
             f"machine: {m['cpu']}, {m['cpus']} CPUs, {m['memory_bytes'] / 2**30:.1f} GiB, load before the run "
             f"{m['load']:.2f}; {m['kernel']}, {m['libc']}, transparent huge pages: {d['settings']['huge_pages'] or 'unknown'}",
             f"{d['settings']['rounds']} rounds, contestants in turn; own loads at {d['settings']['percent']} %"]
    for c in results.contestants:
        what = shown(c.path or "") or ("caches of their own, in those loads that can" if c.own else "no preload")
        with_these = "".join(f" {name}={value}" for name, value in c.environment.items())
        lines.append(f"  {c.name:12}{(c.version or '-'):22} {what}{with_these}")
    return lines + [""]


# ---- files ----

def elapsed(seconds):
    """As time(1) writes it, without the minutes where there are none."""
    minutes, seconds = divmod(round(seconds, 3), 60)
    return f"{int(minutes)}:{seconds:06.3f}" if minutes else f"{seconds:.3f}"


def csv_line(program, contestant, figures):
    """One run in the format of mimalloc-bench's benchres.csv, in which glibc's malloc is `sys`."""
    name = "sys" if contestant.role == "system" else contestant.name
    return (f"{program.name:11} {name:5} {elapsed(figures['time'])} {figures['rss']} {figures['user']:.2f} "
            f"{figures['sys']:.2f} {figures['major']} {figures['faults']}")


def contestant_json(results, contestant):
    """As in the results of `uslab bench`: metrics by name, PROGRAM.FIGURE here."""
    metrics = {}
    for program in results.programs:
        for name in ("time", "wall", "user", "sys", "cpu", "rss", "faults", "major", "ns", "end"):
            found = results.figure(program, contestant, name)
            if found:
                metrics[f"{program.name}.{name}"] = {**found, "ratio": results.ratio(program, contestant, name)
                                                     if name in LEAST else None}
    return {**contestant.described(), "metrics": metrics}


def as_json(results, described, absent):
    best = {}
    for program in results.programs:
        best[program.name] = {name: dict(zip(("peer", "ratio"), found)) for name in LEAST
                              if (found := results.best_peer(program, name))}
    return {
        "benchmark": benchmark(results),
        "what": "whole programs under each allocator: seconds, KiB, page faults", **described,
        "key": "time", "base": results.base.name,
        "programs": [{"name": p.name, "group": p.group, "what": p.what, "best": best[p.name],
                      "relative": bool(p.relative)} for p in results.programs],
        "absent": [{"name": p.name, "group": p.group, "why": p.missing} for p in absent],
        "failed": [{"program": program, "contestant": contestant, "why": why}
                   for (program, contestant), why in results.failures.items()],
        "means": {(group or "all"): {c.name: {name: found[0] for name in ("time", "cpu", "rss")
                                              if (found := results.mean(c, name, group))}
                                     for c in results.whole()} for group in (*results.groups(), None)},
        "contestants": [contestant_json(results, c) for c in results.contestants],
    }
