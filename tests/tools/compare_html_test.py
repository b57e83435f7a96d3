#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""uslab compare --html in a real browser: its figures, drawings, clicks, and what it must not do.

A headless Chromium opens the page from its file. The DOM it ends with is compared with the JSON
inside the page, a picture of the page is decoded here, and copies of the page with other data or
with a script that clicks show the rest. Without Chromium the test is skipped.
"""
# ctest: timeout=900
import concurrent.futures
import copy
import json
import os
import re
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from browser import CHROMIUM, DARK, LIGHT, SIZE, Tab, View, colors_of  # noqa: E402
from folder import InFolder  # noqa: E402

SOURCE = os.environ.get("USLAB_SRC") or os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
BINARY = os.environ.get("USLAB_BIN") or os.path.join(SOURCE, "build", "release", "bin", "uslab")
TRACE = os.path.join(SOURCE, "tests", "data", "hackbench.txt.zst")
CLICKS = os.path.join(SOURCE, "tests", "support", "compare_html_clicks.js")
SKIP = 77

# A path that would end the element with the data, were it written as it is.
FOLDER, NAME = "a<", "script><!-- & \u00e9 {{json}}.txt.zst"
DATA = re.compile(r'(<script type="application/json" id="data">)(.*?)(</script>)', re.S)

# Columns of the page's tables, and what a figure is divided by in each unit.
FIGURES = {
    "Time": ["ns_per_op", "ratio_to_slob.time"] + [
        f"{side}.{key}" for side in ("alloc", "free")
        for key in ("ns.median", "ns.p99", "ns.p99_9", "ns.max", "instructions")],
    "Memory": ["slab_bytes.at_live_peak", "slab_bytes.peak", "slab_bytes.mean", "slab_bytes.end",
               "ratio_to_slob.slab_bytes", "fragmentation.at_live_peak", "fragmentation.mean",
               "fragmentation.end", "queue_bytes.at_live_peak", "queue_bytes.peak",
               "queue_bytes.end", "cpu_slab_bytes.at_live_peak", "cpu_slab_bytes.peak",
               "cpu_slab_bytes.end", "page_allocations", "meta_bytes"],
    "Summary": ["time_ratio_to_slob", "slab_bytes_ratio_to_slob"],
}
UNITS = {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}


def pick(figures, path):
    for key in path.split("."):
        figures = None if figures is None else figures.get(key)
    return figures


def number_in(text):
    """-> (value, digits after the point) of a table's cell."""
    plain = text.replace(" best", "").replace("\u202f", "").strip()
    return float(plain), len(plain.partition(".")[2])


def made_up_scaling(engines):
    cpus, nodes = [1, 2, 4, 8, 16, 32, 64], [1, 1, 1, 1, 2, 4, 8]
    constant = {"cpus": cpus, "nodes": nodes, "operations": 54321, "engines": {
        name: {"queue_bytes": [5000 * n + c for c in cpus], "slab_bytes": [1 << 20] * 7,
               "cpu_slab_bytes": [6000 * (n == 5) + c for c in cpus]}
        for n, name in enumerate(engines)}}
    return {"cpus": cpus, "nodes": nodes, "events": 1000, "constant": constant, "engines": {
        name: {"queue_bytes": [4096 * n * c for c in cpus],
               "cpu_slab_bytes": [7000 * (n == 5) * c for c in cpus],
               "slab_bytes": [1 << 20] * 7, "ns_per_op": [20 + n + c / 10 for c in cpus],
               "queue_bytes_one_node": [2048 * n * c for c in cpus],
               "cpu_slab_bytes_one_node": [3000 * (n == 5) * c for c in cpus]}
        for n, name in enumerate(engines)}}


class Test(InFolder):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        os.mkdir(os.path.join(cls.folder, FOLDER))
        cls.trace = os.path.join(FOLDER, NAME)
        shutil.copy(TRACE, os.path.join(cls.folder, cls.trace))
        run = subprocess.run([BINARY, "compare", "--rounds=1", "--html=page.html",
                              "--no-instructions", cls.trace],
                             cwd=cls.folder, capture_output=True, text=True, timeout=300,
                             check=False)
        if run.returncode:
            raise AssertionError(f"uslab compare: status {run.returncode}: {run.stderr}")
        cls.path = os.path.join(cls.folder, "page.html")
        with open(cls.path, encoding="utf-8") as stream:
            cls.page = stream.read()
        cls.data = json.loads(DATA.search(cls.page).group(2))
        cls.make_copies()
        cls.look()

    @classmethod
    def make_copies(cls):
        """Other data in the same page: several traces that are spread and clicked at, bad data."""
        several, bad = copy.deepcopy(cls.data), copy.deepcopy(cls.data)
        names = list(cls.data["traces"][0]["engines"])
        several["traces"].append(copy.deepcopy(several["traces"][0]))
        several["traces"][0]["scaling"] = made_up_scaling(names)
        several["traces"][1]["path"] = "second/one.txt"
        # Any front's queues may be empty in so short a trace.
        several["traces"][0]["engines"]["slab"]["curve"]["queue_bytes"] = [
            10000 + i for i, _ in enumerate(several["traces"][0]["curve"]["time"])]
        several["traces"][0]["engines"]["slub"]["curve"]["cpu_slab_bytes"] = [
            20000 + i for i, _ in enumerate(several["traces"][0]["curve"]["time"])]
        del several["traces"][1]["engines"][names[0]]
        several["traces"][0]["engines"]["slub"]["histogram"]["alloc"] = {
            "ns": [1000, 1258.925, 1584.893], "count": [10, 10, 20]}
        several["traces"][1]["errors"] = {names[0]: "out of <memory>"}
        for side in ("alloc", "free"):
            several["traces"][1]["engines"][names[1]][side]["instructions"] = None
        several["traces"][1]["engines"]["quite:new"] = copy.deepcopy(
            several["traces"][0]["engines"]["slab"])
        several["summary"] = {"engines": {name: {"time_ratio_to_slob": 0.25 * (n + 1),
                                                 "slab_bytes_ratio_to_slob": 1 + n / 8}
                                          for n, name in enumerate(names)}}
        bad["traces"][0]["engines"]["slab"]["map"]["live"] = "0"
        cls.several = several
        with open(CLICKS, encoding="utf-8") as stream:
            cls.copy_page("several", json.dumps(several), stream.read())
        cls.copy_page("bad", json.dumps(bad))
        cls.copy_page("untouched", json.dumps(several))
        cls.copy_page("broken", "{")
        cls.copy_page("version", json.dumps({**cls.data, "version": 2}))

    @classmethod
    def copy_page(cls, name, data, script=None):
        data = data.replace("<", "\\u003c")
        text = DATA.sub(lambda match: match.group(1) + data + match.group(3), cls.page)
        if script:
            text = text.replace("</body>", f"<script>{script}</script></body>")
        with open(os.path.join(cls.folder, f"{name}.html"), "w", encoding="utf-8") as stream:
            stream.write(text)

    @classmethod
    def look(cls):
        """All pages through browsers, two at a time: that is where the time goes."""
        wanted = {"page": (LIGHT, True), "dark": (DARK, True), "several": (LIGHT, False),
                  "bad": (LIGHT, False), "broken": (LIGHT, False), "version": (LIGHT, False)}
        shutil.copy(cls.path, os.path.join(cls.folder, "dark.html"))
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            views = {name: pool.submit(View, cls.folder, os.path.join(cls.folder, f"{name}.html"),
                                       flag, picture=picture)
                     for name, (flag, picture) in wanted.items()}
            cls.views = {name: view.result() for name, view in views.items()}

    # ---- the file

    def test_safe(self):
        inside = DATA.search(self.page).group(2)
        self.assertNotIn("<", inside)
        self.assertEqual(self.data["traces"][0]["path"], self.trace)
        self.assertEqual(self.page.count("<script"), self.page.count("</script"))
        self.assertNotIn("<!--", self.page)

    def test_alone(self):
        markup = DATA.sub("", self.page)
        self.assertIn("default-src 'none'", markup)
        loads = re.findall(r"""(?:src|href|action)\s*=\s*["']?\s*(?:https?:)?//""", markup)
        self.assertEqual(loads, [])
        self.assertEqual(re.findall(r"@import|url\s*\(", markup), [])
        self.assertEqual(self.views["several"].seen()["resources"], [])

    # ---- what the page says

    def test_no_errors(self):
        failed = f"{next(iter(self.data['traces'][0]['engines']))} has no figures: out of <memory>"
        for name in ("page", "dark", "several"):
            view = self.views[name]
            self.assertEqual(view.messages(), [failed] if name == "several" else [], name)
            self.assertEqual(view.console, [], name)
            self.assertEqual(view.html["data-ready"], "true")
        for name in ("bad", "broken", "version"):
            self.assertEqual(self.views[name].console, [], name)

    def check_cell(self, cell, value, unit, what):
        if value is None:
            self.assertEqual((cell["data-value"], cell.text()), ("", "\u2013"), what)
            return
        self.assertEqual(float(cell["data-value"]), float(value), what)
        shown, digits = number_in(cell.text())
        self.assertAlmostEqual(shown, value / UNITS.get(unit, 1), msg=what,
                               delta=0.5000001 * 10 ** -digits)
        if value:
            self.assertGreater(shown, 0, f"{what}: rounded to nothing")

    def check_table(self, table, title, engines):
        rows = {row["data-engine"]: row for row in table.find("tr", engine=True)}
        self.assertEqual(list(rows), [name for name in engines if name in rows])
        self.assertEqual(set(rows), set(engines))
        head = [th.text() for th in list(table.find("tr"))[1].find("th")][1:]
        cells = [cell["data-key"] for cell in next(iter(rows.values())).find("td")]
        self.assertEqual(len(head), len(cells))
        for key in FIGURES[title]:
            values = {name: pick(figures, key) for name, figures in engines.items()}
            if all(value is None for value in values.values()):
                self.assertNotIn(key, cells)
                continue
            unit = head[cells.index(key)].split()[-1]
            best = min(value for value in values.values() if value is not None)
            for name, value in values.items():
                cell = next(rows[name].find("td", key=key))
                self.check_cell(cell, value, unit, f"{name} {key}")
                if "best" in (cell["class"] or ""):
                    self.assertEqual(value, best, f"{name} {key} is marked")
                    self.assertIn("best", cell.text())

    def test_figures(self):
        for name, data in (("page", self.data), ("several", self.several)):
            sections = list(self.views[name].dom.find("section", trace=True))
            self.assertEqual(len(sections), len(data["traces"]))
            first = 1 if name == "several" else 0  # whose first trace is sorted by clicks
            for section, trace in zip(sections[first:], data["traces"][first:]):
                self.assertEqual(section["data-trace"], trace["path"])
                for title in ("Time", "Memory"):
                    table = next(section.find("table", table=title))
                    self.check_table(table, title, trace["engines"])
        self.check_table(next(self.views["several"].dom.find("table", table="Summary")), "Summary",
                         self.several["summary"]["engines"])
        self.assertEqual(list(self.views["page"].dom.find("table", table="Summary")), [])

    def test_best_marked(self):
        ns = {name: e["ns_per_op"] for name, e in self.data["traces"][0]["engines"].items()}
        marked = [row["data-engine"] for row in self.views["page"].dom.find("tr", engine=True)
                  for cell in row.find("td", key="ns_per_op") if "best" in (cell["class"] or "")]
        self.assertEqual(marked, [min(ns, key=ns.get)])

    def test_scaling_table(self):
        section = next(self.views["several"].dom.find("section", trace=self.trace))
        scaling = self.several["traces"][0]["scaling"]
        table = next(section.find("table", table="Scaling"))
        shown = {}
        for row in table.find("tr", engine=True):
            for cell in row.find("td"):
                place = (row["data-series"] or "", cell["data-key"], row["data-engine"])
                shown.setdefault(place, []).append(float(cell["data-value"]))
        wanted = {}
        for series, data, keys in (
                ("", scaling, ("queue_bytes", "queue_bytes_one_node", "cpu_slab_bytes",
                               "cpu_slab_bytes_one_node")),
                ("constant", scaling["constant"], ("queue_bytes", "cpu_slab_bytes"))):
            for key in keys:
                for name, engine in data["engines"].items():
                    if (series, key) == ("", "queue_bytes") or any(engine[key]):
                        wanted[series, key, name] = engine[key]
        self.assertEqual(shown, wanted)

    def test_words(self):
        text = self.views["page"].dom.text()
        trace = self.data["traces"][0]
        for words in (NAME, self.data["command"], self.data["machine"]["kernel"],
                      self.data["uslab"]):
            self.assertIn(words, text)
        self.assertIn(str(trace["events"]), text.replace("\u202f", ""))
        text = self.views["several"].dom.text().replace("\u202f", "")
        self.assertIn("At constant work the CPUs share the same 54321 operations.", text)

    # ---- what it draws

    def check_drawn(self, section, trace, scaling):
        drawn = {}
        for element in section.find(None, chart=True):
            canvases = [element] if element.tag == "canvas" else list(element.find("canvas"))
            for place in canvases or [element]:
                what = f"{element['data-chart']} {element['data-engine'] or ''}"
                self.assertGreater(int(place["data-drawn"] or 0), 0, f"{what} is not drawn")
            label = element["aria-label"] or next(element.find("svg"))["aria-label"]
            self.assertTrue(label, element["data-chart"])
            drawn.setdefault(element["data-chart"], []).append(element["data-engine"])
        maps = drawn.pop("map")
        self.assertEqual(set(maps), set(trace["engines"]))
        expected = ["scatter", "curves", "latency-alloc", "marks-alloc", "latency-free",
                    "marks-free"]
        self.assertEqual(list(drawn), expected + (["scaling"] if scaling else []))

    def test_drawn(self):
        for name, data in (("page", self.data), ("several", self.several)):
            sections = self.views[name].dom.find("section", trace=True)
            for section, trace in zip(sections, data["traces"]):
                self.check_drawn(section, trace, trace["scaling"])
        summary = next(self.views["several"].dom.find("div", chart="summary"))
        self.assertEqual(summary["data-drawn"], str(len(self.several["summary"]["engines"])))

    def test_maps(self):
        """Pages in use and free, counted here."""
        trace = self.data["traces"][0]
        for figure in self.views["page"].dom.find("figure"):
            name = next(figure.find("canvas"))["data-engine"]
            pages = bytes.fromhex(trace["engines"][name]["map"]["live"])
            used = len(pages) - pages.count(0xff)
            shown = next(figure.find("span", key="pages"))
            self.assertEqual(shown["data-value"], str(used), name)
            unit = "KiB" if used < 256 else "MiB"
            size = re.search(rf", ([\d.\u202f]+)\u202f{unit},", shown.text()).group(1)
            size = float(size.replace("\u202f", ""))
            self.assertAlmostEqual(size * UNITS[unit] / 4096 / used, 1, delta=0.01)

    def test_cells(self):
        """Every page has the colour of its level, free ones have none."""
        cells = self.views["several"].seen()["cells"]
        ramp = cells["ramp"] + [""]
        self.assertGreater(len(set(ramp)), 200)
        for name, engine in self.several["traces"][0]["engines"].items():
            pages = bytes.fromhex(engine["map"]["live"])
            self.assertEqual(cells["found"][name], [ramp[level] for level in pages], name)

    def test_marks(self):
        """One mark per engine in the scatter, the quickest leftmost, the smallest lowest."""
        trace = self.data["traces"][0]["engines"]
        scatter = next(self.views["page"].dom.find("div", chart="scatter"))
        at = {g["data-engine"]: [float(v) for v in re.findall(
            r"[\d.]+", next(g.find("path"))["d"])[:2]] for g in scatter.find("g", engine=True)}
        self.assertEqual(set(at), set(trace))
        self.assertLess(at[min(trace, key=lambda n: trace[n]["ns_per_op"])][0], 400)
        small = min(trace, key=lambda n: trace[n]["slab_bytes"]["at_live_peak"])
        self.assertGreater(at[small][1] + 10, max(y for _, y in at.values()))

    def palette(self, dark):
        """{engine's variable: colour} of the light or the dark theme, as the style sheet has it."""
        parts = re.findall(r"--(sl\w+(?:-\w+)?): #([0-9a-f]{6});", self.page)
        half = len(parts) // 2
        return {name: bytes.fromhex(value) for name, value in parts[half * dark:half * dark + half]}

    def test_pictures(self):
        for name, dark in (("page", 0), ("dark", 1)):
            width, height, colors = colors_of(self.views[name].picture)
            self.assertEqual((width, height), SIZE)
            self.assertGreater(len(colors), 50, "the picture is blank")
            background = max(colors, key=colors.get)
            self.assertEqual(max(background) < 64, bool(dark), f"the ground is {background.hex()}")
            used = {engine.replace(":", "-").replace("+", "-")
                    for engine in self.data["traces"][0]["engines"]}
            for engine, color in self.palette(dark).items():
                if engine in used:
                    self.assertGreater(colors.get(color, 0), 20, f"nothing of {engine}, {name}")

    # ---- what clicks do

    def test_sorting(self):
        seen = self.views["several"].seen()
        engines = self.several["traces"][0]["engines"]
        self.assertEqual(set(seen["unsorted"]), set(engines))
        for way, name, reverse in ("up", "ascending", False), ("down", "descending", True):
            rows, said = seen[way]
            self.assertEqual((set(rows), said), (set(engines), name))
            values = [engines[row]["ns_per_op"] for row in rows]  # two may have the same
            self.assertEqual(values, sorted(values, reverse=reverse))

    def test_legend(self):
        seen = self.views["several"].seen()
        for chart, painted in seen["painted"].items():
            if chart in ("alloc", "free"):
                seen_ones = sum(count > 20 for count in painted.values())
                self.assertGreater(seen_ones, 3, f"{chart}: {painted}")
            if chart == "scaling":
                self.assertGreater(min(painted.values()), 20, f"{chart}: {painted}")
        self.assertGreater(seen["painted"]["curves"]["slub"], 20)
        self.assertEqual((seen["without"]["curves"], seen["without"]["alloc"]), (0, 0))
        self.assertEqual(set(seen["marks"]) - set(seen["without"]["marks"]), {"slub"})
        self.assertEqual(set(seen["without"]["pressed"]), {"false"})
        self.assertEqual(seen["again"], {"curves": seen["painted"]["curves"]["slub"],
                                         "marks": seen["marks"]})

    def test_readout(self):
        """At the right end of the curves: the trace's time, and what slub then has."""
        seen = self.views["several"].seen()
        trace = self.several["traces"][0]
        at = {"ns": 1e-9, "\u00b5s": 1e-6, "ms": 1e-3, "s": 1}
        word, value, unit = seen["readout"].replace("\u202f", " ").split()
        self.assertEqual(word, "at")
        self.assertAlmostEqual(float(value) * at[unit] / trace["curve"]["time"][-1], 1, delta=0.01)
        value, unit = seen["pointed"].replace("\u202f", " ").rsplit(" ", 1)
        last = trace["engines"]["slub"]["curve"]["slab_bytes"][-1]
        self.assertAlmostEqual(float(value.replace(" ", "")) * UNITS[unit] / last, 1, delta=0.01)

    def test_choices(self):
        seen = self.views["several"].seen()
        self.assertNotEqual(seen["queues"], seen["painted"]["curves"])
        self.assertGreater(seen["queues"]["slab"], 20)
        self.assertGreater(seen["cpuSlabs"]["slub"], 20)
        self.assertNotEqual(seen["cpuSlabs"]["slub"], seen["queues"]["slub"])
        for what in ("scalingCpuSlabs", "scalingConstant"):
            self.assertGreater(seen[what]["slub"], 20, what)
            self.assertNotEqual(seen[what], seen["painted"]["scaling"], what)
        self.assertNotEqual(seen["scalingConstant"], seen["scalingCpuSlabs"])
        self.assertEqual(seen["notMeasured"],
                         "Not measured at constant work: time per operation.")
        self.assertNotEqual(seen["tail"], seen["painted"]["alloc"])
        self.assertGreater(seen["tail"]["slub"], 20)
        self.assertLess(seen["tailTop"], 15, "the tail does not begin with all calls")
        middles, counts = seen["shares"]
        self.assertEqual(counts, [0, 0.25, 0.25, 0.5, 0])
        self.assertEqual([round(x) for x in middles], [891, 1122, 1413, 1778, 2239])
        self.assertGreater(seen["scalingTime"]["slob"], 20)

    def test_widths(self):
        seen = self.views["several"].seen()
        self.assertLessEqual(seen["wide"], 0, "the page is wider than its window")
        self.assertEqual(seen["printed"], ["#f6f7f9", 660])

    def test_other_windows(self):
        """As wide as a phone, a tablet and a desktop, and from one to the other: whole, and without errors."""
        for name in ("page", "untouched"):
            tab = Tab(self.folder, os.path.join(self.folder, f"{name}.html"), 390)
            self.addCleanup(tab.close)
            for width in (390, 768, 1280, 390, 1280):
                tab.resize(width)
                self.assertEqual(tab.value("document.getElementById('errors').textContent"), "", width)
                self.assertLessEqual(tab.value("document.documentElement.scrollWidth - innerWidth"), 0)
                self.assertEqual(tab.value(
                    "[...document.querySelectorAll('[data-chart] > svg, [data-chart] .uplot')].filter("
                    "(one) => one.getBoundingClientRect().width > one.parentNode.clientWidth + 1).length"), 0)
            tables = dict(tab.value("[...document.querySelectorAll('.scroll')].map("
                                    "(one) => [one.ariaLabel, one.scrollWidth - one.clientWidth])"))
            self.assertLessEqual({"Time", "Memory"}, set(tables))
            self.assertEqual(set(tables.values()), {0}, "a table scrolls sideways")

    # ---- what is wrong is said

    def test_bad_part(self):
        view = self.views["bad"]
        self.assertEqual(len(view.messages()), 1)
        self.assertIn("the map of slab is not two digits a page", view.messages()[0])
        self.assertLessEqual({"Time", "Memory"}, {t["data-table"] for t in view.dom.find("table")})
        self.assertTrue(list(view.dom.find("div", chart="curves")))

    def test_bad_data(self):
        for name, words in (("broken", "JSON"), ("version", "data of version 2")):
            self.assertEqual(len(self.views[name].messages()), 1, name)
            self.assertIn(words, self.views[name].messages()[0])


if __name__ == "__main__":
    if not CHROMIUM:
        print("compare_html: skipped: no chromium here (scripts/setup installs it)")
        sys.exit(SKIP)
    unittest.main(verbosity=2)
