#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""scripts/charts.py: figures of the results are those of the pictures; what cannot be drawn is said."""
import json
import math
import os
import re
import sys
import unittest
import xml.etree.ElementTree

sys.dont_write_bytecode = True
SOURCE = os.environ.get("USLAB_SRC") or os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
SCRIPT = os.path.join(SOURCE, "scripts", "charts.py")
sys.path[:0] = [os.path.join(SOURCE, "scripts"), os.path.join(SOURCE, "tests", "support")]
import charts  # noqa: E402
from results import RUN, ResultsTree, result  # noqa: E402

SVG = "{http://www.w3.org/2000/svg}"
PAGE = f"# it\n\n{charts.BEGIN}\nstale\n{charts.END}\n\nmore\n"
PEERS = tuple(f"peer{n}" for n in range(10))  # more than there are colours


def pair(**more):
    return result("pair", {"own-cache": ("uslab", {"pair": 1.5}), "own-cache-none": ("uslab", {"pair": 50}),
                           "a & b": ("peer", {"pair": 3}), "slow": ("peer", {"pair": 6}),
                           "glibc": ("system", {"pair": 4.5}), "loop": ("floor", {"pair": 0.25})}, **more)


def batch(*more):
    metrics = lambda base: {f"{n}.{order}": base * n / 100 for n in (100, 1000, 10000)
                            for order in (*charts.ORDERS, *more)}
    return result("batch", {"own-cache": ("uslab", metrics(1)), "uslab-malloc": ("uslab", metrics(8)),
                            "glibc": ("system", metrics(6)),
                            **{peer: ("peer", metrics(4 + n)) for n, peer in enumerate(PEERS)}})


def whole():
    metrics = lambda n: {"redis.time": n, "redis.rss": 1000 / n, "z3.time": 3 * n, "z3.rss": 500}
    names = {"uslab": ("uslab", metrics(0.5)), "own-cache": ("uslab", {"book.time": 1, "book.rss": 9}),
             "mi": ("peer", metrics(2)), "glibc": ("system", metrics(4))}
    means = {name: {"time": metrics["redis.time"] / 2, "cpu": 1, "rss": 0.7}
             for name, (_, metrics) in names.items() if name != "own-cache"}
    return result("whole-programs", names, base="mi", means={"all": means, "loads": {}},
                  programs=[{"name": "redis"}, {"name": "z3"}])


class InTree(ResultsTree):
    SCRIPT, PAGE, TEXT = SCRIPT, charts.PAGE, PAGE

    def draw(self):
        run = self.run_script()
        self.assertEqual((run.returncode, run.stderr), (0, ""))

    def picture(self, name):
        path = os.path.join(self.folder, charts.PICTURES, f"chart-{name}.svg")
        return xml.etree.ElementTree.parse(path).getroot()

    def bars(self, name):
        """{what its title says: (length, class)}"""
        return {bar.find(f"{SVG}title").text: (float(bar.get("width")), bar.get("class"))
                for bar in self.picture(name).iter(f"{SVG}rect") if bar.find(f"{SVG}title") is not None}

    def dots(self, name):
        """{what its title says: its place}"""
        return {dot.find(f"{SVG}title").text: float(re.match(r"translate\(([\d.]+) ", dot.get("transform")).group(1))
                for dot in self.picture(name).iter(f"{SVG}g") if dot.find(f"{SVG}title") is not None}


class Pictures(InTree):
    def test_bars(self):
        self.add(pair())
        self.draw()
        bars = self.bars("pair")
        self.assertEqual(set(bars), {"own-cache 1.50", "a & b 3.00", "slow 6.00", "glibc 4.50", "loop 0.250"})
        most = bars["slow 6.00"][0]
        for what, (length, _) in bars.items():
            self.assertAlmostEqual(length, most * float(what.split()[-1]) / 6, delta=0.1)
        self.assertEqual(bars["loop 0.250"][1], "floor")
        words = [text.text for text in self.picture("pair").iter(f"{SVG}text")]
        self.assertIn("1.50 ns, 0.500", words)
        self.assertIn("0.250 ns", words)

    def test_dots(self):
        self.add(batch())
        self.draw()
        dots = self.dots("batch")
        self.assertEqual(len(dots), 9 * (3 + len(PEERS)))
        for label in ("100 in order", "1000 reversed", "10000 shuffled"):
            one = dots[f"{label}: peer0 1.00"]
            octave = dots[f"{label}: uslab-malloc 2.00"] - one
            self.assertGreater(octave, 50)
            self.assertAlmostEqual(dots[f"{label}: own-cache 0.250"], one - 2 * octave, delta=0.3)
            for n, peer in enumerate(PEERS):
                self.assertAlmostEqual(dots[f"{label}: {peer} {charts.number(1 + n / 4)}"],
                                       one + octave * math.log2(1 + n / 4), delta=0.3)

    def test_two_cpus(self):
        """Bursts on two CPUs have rows where they were measured."""
        self.add(batch("two"))
        self.draw()
        dots = self.dots("batch")
        self.assertEqual(len(dots), 12 * (3 + len(PEERS)))
        for n in (100, 1000, 10000):
            self.assertIn(f"{n} on two CPUs: own-cache 0.250", dots)

    def test_whole_programs(self):
        self.add(whole())
        self.draw()
        self.assertEqual(list(self.bars("whole-time")), ["uslab 0.250", "mi 1.00", "glibc 2.00"])
        self.assertEqual(len({length for length, _ in self.bars("whole-memory").values()}), 1)
        self.assertEqual(set(self.dots("program-time")),
                         {f"{p}: {c}" for p in ("redis", "z3") for c in ("uslab 0.250", "mi 1.00", "glibc 2.00")})
        self.assertIn("redis: uslab 4.00", self.dots("program-memory"))
        self.assertIn("z3: uslab 1.00", self.dots("program-memory"))

    def test_latency_and_modes(self):
        of = lambda n: {f"all.{point}": n * (i + 1) for i, point in enumerate(charts.POINTS)}
        latency = result("latency", {"uslab-malloc": ("uslab", of(3)), "mi": ("peer", {**of(2), "all.p50": 0}),
                                     "je": ("peer", of(6))})
        modes = pair()
        modes["benchmark"] = "modes"
        for c in modes["contestants"]:
            value = c["metrics"].pop("pair")["median"]
            c["metrics"]["written"] = {"median": value, "max": 2 * value}
        self.add(latency, modes)
        self.draw()
        self.assertEqual(set(self.dots("latency")), {
            f"{point}: {name}" for point in ("p90", "p99", "p99.9", "p99.99", "longest")
            for name in ("uslab-malloc 1.50", "mi 1.00", "je 3.00")})
        self.assertIn("slow 6.00", self.bars("modes"))
        self.assertIn("6.00 ns, to 12.0", [text.text for text in self.picture("modes").iter(f"{SVG}text")])

    def test_for_every_reader(self):
        self.add(pair(), batch(), whole())
        self.draw()
        for name in ("pair", "batch", "whole-time", "program-memory"):
            picture = self.picture(name)
            width, height = float(picture.get("width")), float(picture.get("height"))
            self.assertTrue(picture.find(f"{SVG}title").text)
            self.assertIn("1.00", picture.find(f"{SVG}desc").text)
            self.assertIn("prefers-color-scheme: dark", picture.find(f"{SVG}style").text)
            ground = next(picture.iter(f"{SVG}rect"))
            self.assertEqual((float(ground.get("width")), float(ground.get("height"))), (width, height))
            for text in picture.iter(f"{SVG}text"):
                self.assertLess(float(text.get("y")), height)
                self.assertLess(float(text.get("x")), width)


class Page(InTree):
    def test_newest_of_each(self):
        self.add(pair())
        newer = batch()
        newer.update(date="2031-01-02T03:04:05Z", note="commit ffff56789abc")
        self.add(newer, run="ffff56789abc-maker-fast")
        self.draw()
        text = self.page()
        self.assertTrue(text.startswith("# it\n\n") and text.endswith("\n\nmore\n"))
        self.assertNotIn("stale", text)
        self.assertEqual(re.findall(r"\]\((.*?)\)", text), ["pictures/chart-pair.svg", "pictures/chart-batch.svg"])
        for name in (RUN, "ffff56789abc-maker-fast"):
            self.assertEqual(text.count(f"`bench/results/{name}/`"), 1)
        self.assertLessEqual(max(map(len, text.splitlines())), 100)
        self.assertEqual(list(charts.problems(self.folder)), [])

    def test_what_is_stale_is_said(self):
        self.add(pair(), batch())
        self.draw()
        changed = pair()
        changed["contestants"][0]["metrics"]["pair"]["median"] = 2.5
        self.add(changed)
        os.unlink(os.path.join(self.folder, "bench/results", RUN, "batch.json"))
        found = {file for file, _, _ in charts.problems(self.folder)}
        self.assertEqual(found, {f"{charts.PICTURES}/chart-pair.svg", f"{charts.PICTURES}/chart-batch.svg",
                                 charts.PAGE})
        self.draw()
        self.assertEqual(os.listdir(os.path.join(self.folder, charts.PICTURES)), ["chart-pair.svg"])
        self.assertEqual(list(charts.problems(self.folder)), [])

    def test_a_folder_by_name(self):
        self.add(pair())
        there = self.put("elsewhere/batch.json", json.dumps(batch()))
        run = self.run_script("--results", os.path.dirname(there), "--output", os.path.join(self.folder, "out"))
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        self.assertEqual(os.listdir(os.path.join(self.folder, "out")), ["chart-batch.svg"])
        self.assertEqual(self.page(), PAGE)


class Wrong(InTree):
    def expect(self, words, *arguments):
        run = self.run_script(*arguments)
        self.assertEqual((run.returncode, run.stdout), (1, ""))
        self.assertRegex(run.stderr, rf"^charts: .*{words}.*\n$")
        self.assertEqual(self.page(), PAGE)
        self.assertFalse(os.path.exists(os.path.join(self.folder, charts.PICTURES)))

    def test_no_results(self):
        self.expect("no results")
        self.expect("No such file", "--results", os.path.join(self.folder, "nothere"))

    def test_no_json(self):
        path = self.put(f"bench/results/{RUN}/pair.json", "{ no")
        self.expect(rf"{re.escape(path)}: is no JSON", "--results", os.path.dirname(path))

    def test_no_result(self):
        lacks = pair()
        del lacks["machine"]["load"]
        for content, words in (("{}", "has no version, date, note, machine"), ("[1, 2]", "is no result"),
                               ("7", "is no result"), ('{"machine": 7}', "is no result"),
                               (json.dumps(lacks), "has no machine.load"),
                               (json.dumps({**pair(), "date": 7}), "7 is no date")):
            path = self.put(f"bench/results/{RUN}/pair.json", content)
            self.expect(f"{re.escape(path)}: {words}")
            self.expect(f"{re.escape(path)}: {words}", "--results", os.path.dirname(path))
            self.assertEqual(len(list(charts.problems(self.folder))), 1)

    def test_missing_and_wrong_figures(self):
        for spoil, words in ((lambda r: r.pop("contestants"), "pair.json: has no 'contestants'"),
                             (lambda r: r["contestants"][0]["metrics"].clear(), "pair.json: has no 'pair'"),
                             (lambda r: r["contestants"][2]["metrics"]["pair"].update(median=None), "a & b: pair: None"),
                             (lambda r: r["contestants"][2]["metrics"]["pair"].update(median=-1), "a & b: pair: -1"),
                             (lambda r: r.update(contestants=r["contestants"][:2]), "no peer has pair"),
                             (lambda r: r.update(contestants=7), "pair.json: ")):
            spoilt = pair()
            spoil(spoilt)
            self.add(spoilt)
            self.expect(words)

    def test_page_without_markers(self):
        self.add(pair())
        self.put(charts.PAGE, "nothing\n")
        run = self.run_script()
        self.assertEqual((run.returncode, run.stdout), (1, ""))
        self.assertIn("has no '<!-- charts: begin", run.stderr)

    def test_usage(self):
        self.assertEqual(self.run_script("--nonsense").returncode, 2)


if __name__ == "__main__":
    unittest.main()
