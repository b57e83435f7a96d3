#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""uslab compare: one set of numbers that agree with each other, with the trace, and with its reading here.

ctest: timeout=900

Bytes are checked against the independent reading of replay_test.py; what cannot be known in advance
(times, bytes of slabs) against what must hold for every allocator.
"""
import contextlib
import glob
import json
import math
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "support")]
from folder import InOwnFolder  # noqa: E402
from replay_test import BINARY, Expected, bytes_of, data, events, text_of  # noqa: E402

NAMES = ["slob:1991", "slob", "slobseg:pow2", "slobseg", "slab", "slub",
         "slub:6.18", "slub:7.0", "slub+array", "slob+array"]
FRONTS = dict(zip(NAMES, ["none"] * 4 + ["queues", "cpuslab", "sheaves:6.18", "sheaves",
                                         "array", "array"]))
ENGINES = {"slub:6.18": "slub", "slub:7.0": "slub"}  # others are called as their engine
PAGE = 4096
EVENTS = 1500
TRACES = [data("gcc.txt.zst"), data("hackbench.txt.zst")]
TIMES = ["median", "p99", "p99_9", "max", "mean"]


def environment():
    return {k: v for k, v in os.environ.items() if k != "USLAB_CONF"}


def run(*arguments, **keywords):
    return subprocess.run([BINARY, "compare", *arguments], capture_output=True, env=environment(),
                          timeout=200, check=False, **keywords)


def compare(*arguments):
    done = run("--json", *arguments)
    if done.returncode or done.stderr:
        raise AssertionError(f"{arguments}: status {done.returncode}: {done.stderr.decode()}")
    return json.loads(done.stdout)


def on_one_cpu():
    """For the command: there its workers run one after the other."""
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


def children_of(pid):
    """Of all of its threads."""
    pids = []
    for path in glob.glob(f"/proc/{pid}/task/*/children"):
        try:
            with open(path, encoding="ascii") as stream:
                pids += [int(word) for word in stream.read().split()]
        except OSError:
            pass  # the thread has ended
    return pids


def is_worker(pid):
    """Has it started the worker's command, or is it still a copy of ours?"""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as stream:
            return b"--worker" in stream.read().split(b"\0")
    except OSError:
        return False  # it has ended


def has_ended(pid):
    """Also where nobody waits for it: the first process of a container may not."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as stream:
            return stream.read().rpartition(")")[2].split()[0] in "ZX"
    except OSError:
        return True


def ratio(a, b):
    return a / b if b else None


class Everything(unittest.TestCase):
    """All contestants on two traces, once."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.html = os.path.join(cls.folder.name, "page.html")
        cls.got = compare("--rounds", "2", "--events", str(EVENTS), "--html", cls.html,
                          "--no-instructions", *TRACES)
        cls.expected = [Expected(text_of(path), EVENTS) for path in TRACES]

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def engines(self):
        """(expectation, trace, name, engine) of each contestant on each trace."""
        for expected, trace in zip(self.expected, self.got["traces"]):
            self.assertEqual(list(trace["engines"]), NAMES)
            for name, engine in trace["engines"].items():
                with self.subTest(trace=trace["path"], name=name):
                    yield expected, trace, name, engine

    def near(self, a, b, places=3):
        self.assertAlmostEqual(a, b, delta=max(abs(b), 1.0) * 10 ** -places)

    def test_head(self):
        got = self.got
        self.assertEqual((got["version"], got["tool"]), (1, "uslab compare"))
        self.assertRegex(got["uslab"], r"^\d+\.\d+\.\d+$")
        self.assertTrue(got["command"].startswith("uslab compare --json --rounds 2 "))
        self.assertEqual(set(got["machine"]), {"cpu", "kernel", "cpus", "date"})
        self.assertEqual((got["rounds"], got["touch"]), (2, "line"))
        self.assertEqual(got["topology"]["made_up"], False)
        self.assertEqual(got["topology"]["spread"], False)
        self.assertEqual([t["path"] for t in got["traces"]], TRACES)

    def test_trace(self):
        for expected, trace in zip(self.expected, self.got["traces"]):
            self.assertEqual(trace["events"], EVENTS)
            self.assertEqual(trace["allocations"], expected.trace["allocations"])
            self.assertEqual(trace["frees"], expected.trace["matched_frees"])
            self.assertEqual(trace["live_peak_bytes"], expected.peak)
            self.assertEqual((trace["copies"], trace["stride"], trace["errors"]), (1, 1, {}))
            self.assertIsNone(trace["scaling"])
            self.assertGreater(trace["seconds"], 0)
            curve = trace["curve"]
            self.assertEqual(len(curve["time"]), len(curve["op"]))
            self.assertEqual(len(curve["time"]), len(curve["live_bytes"]))
            self.assertEqual(curve["time"], sorted(curve["time"]))
            self.assertEqual(curve["op"], sorted(set(curve["op"])))
            self.assertEqual((curve["time"][0], curve["op"][0]), (0, 0))
            self.assertEqual(curve["op"][-1], trace["allocations"] + trace["frees"] - 1)
            self.assertAlmostEqual(curve["time"][-1], trace["seconds"], places=6)
            self.assertEqual(max(curve["live_bytes"]), expected.peak)
            at = curve["op"].index(trace["live_peak_op"])
            self.assertEqual(curve["live_bytes"][at], expected.peak)
            self.assertEqual(curve["live_bytes"][-1], expected.requested)

    def test_times(self):
        for _, trace, name, engine in self.engines():
            self.assertEqual((engine["engine"], engine["front"]),
                             (ENGINES.get(name, name.split("+")[0]), FRONTS[name]))
            self.assertEqual(engine["rounds"], 2)
            operations = {"alloc": trace["allocations"], "free": trace["frees"]}
            self.assertGreater(engine["ns_per_op"], 0)
            for verb in operations:
                part = engine[verb]
                self.assertEqual(list(part["ns"]), TIMES)
                self.assertEqual(list(part["cycles"]), TIMES)
                values = [part["ns"][k] for k in TIMES[:4]]
                self.assertEqual(values, sorted(values))
                self.assertLessEqual(part["ns"]["mean"], part["ns"]["max"])
                if part["cycles"]["max"] is not None:
                    self.near(part["cycles"]["max"] / part["ns"]["max"],
                              engine["cycles_per_op"] / engine["ns_per_op"], 1)
                self.assertIsNone(part["instructions"])
            histogram = engine["histogram"]
            for verb in operations:
                self.assertEqual(len(histogram[verb]["ns"]), len(histogram[verb]["count"]))
                self.assertEqual(histogram[verb]["ns"], sorted(histogram[verb]["ns"]))
            self.assertEqual(sum(sum(histogram[verb]["count"]) for verb in operations)
                             + engine["disturbed"], 2 * sum(operations.values()))

    def test_bytes(self):
        for expected, _, name, engine in self.engines():
            slab, requested = engine["slab_bytes"], engine["requested_bytes"]
            queue, cpu_slab = engine["queue_bytes"], engine["cpu_slab_bytes"]
            self.assertEqual(requested["at_live_peak"], expected.peak)
            self.assertEqual(requested["peak"], expected.peak)
            self.assertEqual(requested["end"], expected.requested)
            self.assertLess(requested["mean"], expected.peak)
            for when in ("at_live_peak", "end"):
                self.assertGreaterEqual(slab[when], requested[when])
                self.assertEqual(slab[when] % PAGE, 0)
                self.assertLessEqual(slab[when], slab["peak"])
                self.assertLessEqual(queue[when], queue["peak"])
                self.assertLessEqual(cpu_slab[when], cpu_slab["peak"])
                self.assertLessEqual(queue[when] + cpu_slab[when] + requested[when], slab[when])
                self.near(engine["fragmentation"][when], slab[when] / requested[when])
            self.assertGreaterEqual(slab["mean"], requested["mean"])
            self.assertLessEqual(slab["mean"], slab["peak"])
            self.near(engine["fragmentation"]["mean"], slab["mean"] / requested["mean"])
            if name != "slub:6.18":  # there it depends on which caches the trace has
                self.assertEqual(queue["peak"] > 0, FRONTS[name] in ("queues", "array", "sheaves"))
            self.assertEqual(cpu_slab["peak"] > 0, FRONTS[name] in ("cpuslab", "sheaves:6.18"))
            self.assertGreater(engine["page_allocations"], 0)
            self.assertGreater(engine["meta_bytes"], 0)

    def test_curves(self):
        for _, trace, _, engine in self.engines():
            curve, live = engine["curve"], trace["curve"]
            self.assertEqual(len(curve["slab_bytes"]), len(live["op"]))
            self.assertEqual(len(curve["queue_bytes"]), len(live["op"]))
            self.assertEqual(len(curve["cpu_slab_bytes"]), len(live["op"]))
            for slab, *parts in zip(curve["slab_bytes"], curve["queue_bytes"],
                                    curve["cpu_slab_bytes"], live["live_bytes"]):
                self.assertLessEqual(sum(parts), slab)
            at = live["op"].index(trace["live_peak_op"])
            self.assertEqual(curve["slab_bytes"][at], engine["slab_bytes"]["at_live_peak"])
            for key in ("queue_bytes", "cpu_slab_bytes"):
                self.assertEqual(curve[key][at], engine[key]["at_live_peak"])
                self.assertEqual(max(curve[key]), engine[key]["peak"])
            self.assertEqual(curve["slab_bytes"][-1], engine["slab_bytes"]["end"])
            self.assertLessEqual(max(curve["slab_bytes"]), engine["slab_bytes"]["peak"])

    def test_map(self):
        for expected, _, _, engine in self.engines():
            pages = bytes.fromhex(engine["map"]["live"])
            self.assertEqual(len(pages), engine["map"]["pages"])
            self.assertEqual(len(pages), engine["map"]["all_pages"])
            used = [page for page in pages if page != 255]
            self.assertEqual(len(used) * PAGE, engine["slab_bytes"]["at_live_peak"])
            live = sum(page / 254 * PAGE for page in used)
            self.assertAlmostEqual(live, expected.peak, delta=len(used) * 17)

    def test_ratios(self):
        for _, trace, _, engine in self.engines():
            base = trace["engines"]["slob"]
            self.near(engine["ratio_to_slob"]["time"], engine["ns_per_op"] / base["ns_per_op"])
            self.near(engine["ratio_to_slob"]["slab_bytes"],
                      engine["slab_bytes"]["at_live_peak"] / base["slab_bytes"]["at_live_peak"])
        summary = self.got["summary"]["engines"]
        self.assertEqual(list(summary), NAMES)
        for name in NAMES:
            for key in ("time", "slab_bytes"):
                product = math.prod(t["engines"][name]["ratio_to_slob"][key]
                                    for t in self.got["traces"])
                self.near(summary[name][f"{key}_ratio_to_slob"], math.sqrt(product))

    def test_html(self):
        page = bytes_of(self.html).decode()
        self.assertTrue(page.lower().startswith("<!doctype html>"))
        for name in NAMES:
            self.assertIn(name, page)


class Options(InOwnFolder):
    maxDiff = None

    def fails(self, message, *arguments, status=1, **keywords):
        done = run(*arguments, **keywords)
        self.assertEqual((done.returncode, done.stdout.decode(), done.stderr.decode()),
                         (status, "", message))

    def test_table(self):
        done = run("-r", "3", "-e", "slub,slob,slab", "-n", "300", "--no-instructions", *TRACES)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        text = done.stdout.decode()
        lines = text.splitlines()
        self.assertTrue(lines[0].startswith("uslab compare -r 3 -e slub,slob,slab "))
        self.assertLessEqual(self.width(text), 124)
        self.assertIn("3 rounds, each in a process of its own", lines[2])
        first = [line.split()[0] for line in lines if line]
        for name in NAMES:
            # speed, cycles and bytes of two traces, and the summary
            self.assertEqual(first.count(name), 7 if name in ("slub", "slob", "slab") else 0, name)
        for row in [line for line in lines if line.startswith("slob ")][:6:3]:
            self.assertEqual(row.split()[-1], "3")
            self.assertEqual(row.split()[2], "1.000")
        self.assertEqual((first.count("Cycles"), first.count("requested")), (2, 2))
        self.assertIn("Summary", first)

    def test_instructions(self):
        """The array front takes few (without sequences a lock more); SLOB takes more, always."""
        for _ in range(5):  # on a machine with other work the time for single steps may run out
            trace = compare("-r1", "-n150", "-e", "slob,slub+array", data("vector1.txt"))["traces"][0]
            counts = {name: [engine[verb]["instructions"] for verb in ("alloc", "free")]
                      for name, engine in trace["engines"].items()}
            if None not in counts["slob"] + counts["slub+array"]:
                break
        if None in counts["slob"] + counts["slub+array"]:
            self.skipTest("neither counters nor ptrace here, or no time for single steps")
        self.assertGreater(min(counts["slob"]), 30)
        self.assertGreater(min(counts["slub+array"]), 8)
        self.assertLess(counts["slub+array"][1], counts["slob"][1])

    def test_bytes_do_not_depend_on_the_cpus(self):
        """Workers side by side, each on a CPU, and one after the other."""
        if len(os.sched_getaffinity(0)) == 1:
            self.skipTest("one CPU: nothing is side by side")
        arguments = ("-j", "-r1", "-n500", "--no-instructions", TRACES[0])
        here, alone = (json.loads(run(*arguments, **more).stdout)["traces"][0]["engines"]
                       for more in ({}, {"preexec_fn": on_one_cpu}))
        self.assertEqual(list(here), NAMES)
        for what in ("slab_bytes", "queue_bytes", "page_allocations"):
            self.assertEqual({name: engine[what] for name, engine in here.items()},
                             {name: engine[what] for name, engine in alone.items()}, what)

    def test_time_of_the_trace(self):
        """Bursts, then quiet work for half a minute: what CPUs keep goes back by the trace's time, not ours."""
        def trace(pause):
            lines, now = [], 100.0
            event = lambda verb, n, more="": lines.append(
                f"a-1 [000] {now:.6f}: {verb}: call_site=f ptr={0x1000 * (n + 1):x}{more}\n")
            for turn in range(1010):
                count = 5000 if turn < 10 else 200
                for n in range(count):
                    event("kmalloc", n, " bytes_req=100 bytes_alloc=128 gfp_flags=GFP_KERNEL")
                for n in range(count):
                    event("kfree", n)
                now += pause if turn >= 10 else 0.001
            return "".join(lines).encode()

        def queues(text):
            done = run("-j", "-r1", "-e", "slub+array", "--no-instructions", "-", input=text)
            self.assertEqual(done.returncode, 0, done.stderr)
            return json.loads(done.stdout)["traces"][0]["engines"]["slub+array"]["queue_bytes"]

        at_once, slowly = queues(trace(0.0)), queues(trace(0.03))
        self.assertLess(at_once["peak"], 2 * slowly["peak"])
        self.assertLess(3 * slowly["end"], at_once["end"])
        self.assertEqual(queues(trace(0.03)), slowly)

    def test_some_engines_and_standard_input(self):
        done = run("-j", "-r1", "-e", "slub+array", "--no-instructions", "-", input=bytes_of(data("vector1.txt")))
        got = json.loads(done.stdout)
        self.assertEqual([t["path"] for t in got["traces"]], ["-"])
        trace = got["traces"][0]
        self.assertEqual(list(trace["engines"]), ["slub+array"])
        self.assertEqual(trace["engines"]["slub+array"]["ratio_to_slob"],
                         {"time": None, "slab_bytes": None})
        self.assertIsNone(got["summary"])

    def test_made_up_machine(self):
        got = compare("-r1", "-n300", "-e", "slab,slub", "--cpus", "4", "--nodes", "2",
                      "--no-instructions", TRACES[0])
        self.assertEqual(got["topology"],
                         {"cpus": 4, "nodes": 2, "made_up": True, "spread": False})
        self.assertEqual(got["traces"][0]["copies"], 1)
        self.assertIsNone(got["traces"][0]["scaling"])

    def test_spread(self):
        got = compare("-r1", "-n500", "--cpus", "6", "--nodes", "2", "--spread",
                      "--no-instructions", TRACES[0])
        trace = got["traces"][0]
        expected = Expected(text_of(TRACES[0]), 500)
        self.assertEqual((trace["copies"], trace["stride"]), (3, 1))
        self.assertEqual(trace["live_peak_bytes"], 3 * expected.peak)
        for name in NAMES:
            engine = trace["engines"][name]
            self.assertEqual(engine["requested_bytes"]["at_live_peak"], 3 * expected.peak)
            self.assertEqual(engine["requested_bytes"]["peak"], 3 * expected.peak)
            self.assertGreaterEqual(engine["slab_bytes"]["at_live_peak"], 3 * expected.peak)
        scaling = trace["scaling"]
        self.assertEqual((scaling["cpus"], scaling["nodes"]), ([1, 2, 4, 6], [1, 1, 1, 2]))
        self.assertEqual(scaling["events"], trace["operations"])
        self.assertEqual(list(scaling["engines"]), ["slab", "slub", "slub+array"])
        for name, engine in scaling["engines"].items():
            self.assertEqual(engine["slab_bytes"], sorted(engine["slab_bytes"]), name)
            self.assertEqual(engine["slab_bytes"][-1],
                             trace["engines"][name]["slab_bytes"]["peak"])
            for key in ("queue_bytes", "cpu_slab_bytes"):
                self.assertEqual(engine[key][-1], trace["engines"][name][key]["peak"])
                self.assertEqual(engine[f"{key}_one_node"][:3], engine[key][:3])
                self.assertEqual(len(engine[f"{key}_one_node"]), 4)
            held, other = self.held(engine, name)
            self.assertGreater(held[-1], held[0])
            self.assertEqual(other, [0] * 4)
            self.assertEqual(len(engine["ns_per_op"]), 4)
            self.assertGreater(min(engine["ns_per_op"]), 0)
        self.check_constant(scaling, expected)
        one = compare("-r1", "-n500", "-e", "slab,slub", "--cpus", "6", "--spread",
                      "--no-instructions", TRACES[0])["traces"][0]["scaling"]["engines"]
        for name, key in (("slab", "queue_bytes"), ("slub", "cpu_slab_bytes")):
            self.assertEqual(scaling["engines"][name][f"{key}_one_node"], one[name][key])

    def held(self, engine, name):
        """(what the contestant caches, the other quantity) by number of CPUs."""
        keys = ["queue_bytes", "cpu_slab_bytes"]
        return [engine[key] for key in (keys[::-1] if FRONTS[name] == "cpuslab" else keys)]

    def check_constant(self, scaling, expected):
        """One copy of the trace, however many CPUs share it."""
        constant = scaling["constant"]
        self.assertEqual(list(constant), ["cpus", "nodes", "operations", "engines"])
        self.assertEqual([constant[key] for key in ("cpus", "nodes")],
                         [scaling[key] for key in ("cpus", "nodes")])
        self.assertEqual(constant["operations"], scaling["events"])
        self.assertEqual(list(constant["engines"]), list(scaling["engines"]))
        for name, engine in constant["engines"].items():
            growing = scaling["engines"][name]
            self.assertEqual(set(engine), {"queue_bytes", "cpu_slab_bytes", "slab_bytes"})
            for key in engine:  # as long as there is one copy, it has everything
                self.assertEqual(engine[key][:2], growing[key][:2], (name, key))
                self.assertEqual(len(engine[key]), 4)
            for slab, all_copies in zip(engine["slab_bytes"][2:], growing["slab_bytes"][2:]):
                self.assertGreaterEqual(slab, expected.peak)
                self.assertLess(slab, all_copies)
            held, other = self.held(engine, name)
            self.assertGreater(held[-1], held[0])
            self.assertEqual(other, [0] * 4)

    def test_spread_as_text(self):
        """Its tables and its sentences say what JSON says."""
        arguments = ("-r1", "-n500", "-e", "slob,slab,slub,slub+array", "--cpus", "4", "--nodes",
                     "2", "--spread", "--no-instructions", TRACES[1])
        scaling = compare(*arguments)["traces"][0]["scaling"]
        text = run(*arguments).stdout.decode()
        self.assertLessEqual(self.width(text), 124)
        self.assertEqual(re.findall(r" +$", text, re.M), [])
        growing, constant = text.split("\nScaling: ")[1].split("\nAt constant work: ")
        self.assertIn(f"the same {scaling['constant']['operations']} operations,", constant)
        for part, got in ((growing, scaling), (constant, scaling["constant"])):
            self.assertEqual(re.findall("^(Bytes in queues|Free bytes in slabs of CPUs|Slabs)$",
                                        part, re.M),
                             ["Bytes in queues", "Free bytes in slabs of CPUs", "Slabs"])
            self.assertEqual(self.slabs_table(part), self.slabs_wanted(got))
            self.assertIn("\nslob: no queues;\n", part)
            times = self.times_as_much(got["engines"]["slab"]["queue_bytes"])
            one = got["engines"]["slab"].get("queue_bytes_one_node")
            one = one and got["engines"]["slab"]["queue_bytes"][-1] / one[-1]
            self.assertIn(f"\nslab: {times} times as much on 4 CPUs and 2 nodes as on 1 CPU" + (
                f", {one:.2f} times what the same 4 CPUs hold on one node" if one else "") + ";\n",
                          part)
            size = self.size(got["engines"]["slub"]["cpu_slab_bytes"][-1])
            self.assertIn(f"\nslub: no queues; its CPU slabs hold {size};\n", part)
            times = self.times_as_much(got["engines"]["slub+array"]["queue_bytes"])
            self.assertIn(f"\nslub+array: {times} times as much on 4 CPUs and 2 nodes ", part)
        self.assertIn("ns per operation", growing)
        self.assertNotIn("ns per operation", constant)
        self.assertNotIn("(1 node)", constant)

    def width(self, text):
        """Of all lines but those with names of files."""
        return max(len(line) for line in text.splitlines()[1:] if not line.startswith("Trace "))

    def times_as_much(self, values):
        return f"{values[-1] / values[0]:.1f}"

    def size(self, value):
        """As the tables have it."""
        for unit in ("B", "KiB", "MiB"):
            if value < 1024:
                return f"{value:.1f} {unit}" if unit != "B" else f"{value} B"
            value /= 1024
        return f"{value:.1f} GiB"

    def slabs_table(self, part):
        """Rows of the table of slabs: CPUs, nodes and the sizes, without spaces in them."""
        rows = part.split("\nSlabs\n")[1].split("\n\n")[0].splitlines()
        self.assertEqual(rows[0].split(), ["CPUs", "nodes", "slob", "slab", "slub", "slub+array"])
        return [re.sub(r" ([KMG]?i?B)\b", r"\1", row).split() for row in rows[1:]]

    def slabs_wanted(self, got):
        return [[str(got["cpus"][i]), str(got["nodes"][i])] +
                [self.size(engine["slab_bytes"][i]).replace(" ", "")
                 for engine in got["engines"].values()] for i in range(len(got["cpus"]))]

    def test_many_copies_lose_objects(self):
        """320000 operations of one CPU, on two: half of the objects stay, over all of the time."""
        line = ("     x-1     [000] .....     1.{0:06d}: kmalloc: call_site=f ptr={0:x}0000 "
                "bytes_req=100 bytes_alloc=128 gfp_flags=GFP_KERNEL\n"
                "     x-1     [000] .....     1.{0:06d}: kfree: call_site=f ptr={1:x}0000\n")
        path = self.put("long", "".join(line.format(i, max(i - 50, 0) or 0xffff)
                                        for i in range(1, 160001)).encode())
        trace = compare("-r1", "-e", "slub", "--cpus", "2", "--spread", "--no-instructions",
                        path)["traces"][0]
        self.assertEqual((trace["copies"], trace["stride"], trace["events"]), (2, 2, 320000))
        self.assertLess(abs(trace["allocations"] - 80000), 4000)
        self.assertEqual(trace["operations"], trace["allocations"] + trace["frees"])
        self.assertGreater(trace["seconds"], 0.159)
        self.assertEqual(trace["scaling"]["events"], trace["operations"])
        self.assertEqual(trace["scaling"]["constant"]["operations"], 160000 + 159950)

    def test_doubtful_traces(self):
        """What is said of each, once for all contestants; and the work goes on."""
        line = ("{0}                x-1     [000] .....     {1}.0: kmalloc: call_site=f ptr={1}0000 "
                "bytes_req=100 bytes_alloc=128 gfp_flags=GFP_KERNEL\n")
        path = self.put("doubtful", (line.format("i1:", 2) + line.format("i2:", 1)).encode())
        done = run("-r1", "-e", "slub,slab", "--no-instructions", path)
        self.assertEqual((done.returncode, done.stderr.decode()), (
            0, f"uslab compare: {path}: events of several instances or files ('i1', 'i2'): what "
            "more than one has counts more than once; grep can choose one\n"
            f"uslab compare: {path}: 1 of 2 memory events are earlier than one before them: are "
            "the lines in the order of time?\n"))

    def test_seconds_of_short_traces(self):
        """As exact as the time stamps."""
        line = ("     x-1     [000] .....     1.{0:09d}: kmalloc: call_site=f ptr={0:x}0000 "
                "bytes_req=100 bytes_alloc=128 gfp_flags=GFP_KERNEL\n")
        trace = compare("-r1", "-e", "slub", "--no-instructions", self.put("short", "".join(
            line.format(i) for i in (100, 215)).encode()))["traces"][0]
        self.assertEqual((trace["seconds"], trace["curve"]["time"]), (115e-9, [0, 115e-9]))

    def test_help_and_version(self):
        done = run("--help")
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        self.assertIn(b"usage: uslab compare ", done.stdout)
        for name in NAMES:
            self.assertIn(name.encode(), done.stdout)
        self.assertRegex(run("-V").stdout.decode(), r"^uslab \d+\.\d+\.\d+\n$")

    # ---- what is wrong ----

    def test_wrong_usage(self):
        hint = "Try 'uslab compare --help'.\n"
        known = ", ".join(NAMES)
        for message, arguments in (
                ("which traces? ('-' for standard input)", ()),
                (f"no engine 'slip'; there are: {known}", ("-e", "slab,slip", "a")),
                (f"no engine ''; there are: {known}", ("--engines=slab,", "a")),
                ("no touch 'x'; there are: none, line, all", ("-tx", "a")),
                ("--rounds takes a number from 1 to 99, not '100'", ("-r100", "a")),
                ("--events takes a number from 1 to 1099511627776, not '-1'", ("-n-1", "a")),
                ("--cpus takes a number from 1 to 1500, not '1501'", ("--cpus=1501", "a")),
                ("--nodes takes a number from 1 to 64, not '99999999999999999999'",
                 ("--nodes=99999999999999999999", "a")),
                ("--nodes 5: more nodes than the 4 CPUs", ("--cpus=4", "--nodes=5", "a")),
                ("--nodes needs --cpus", ("--nodes=1", "a")),
                ("--spread needs --cpus", ("--spread", "a")),
                ("unknown or ambiguous option '--no'", ("--no", "a")),
                ("option '--html' needs a value", ("a", "--html")),
                ("--worker is for the command itself", ("--worker", "x"))):
            self.fails(f"uslab compare: {message}\n{hint}", *arguments, status=2)

    def test_blocks(self):
        """What was asked for, whoever served it: with lists of CPUs as many as there are slabs."""
        path = self.put("some", events(640, 64, 64, "a"))
        engines = compare("-r1", "-e", "slub,slub:7.0", "--no-instructions", "-j",
                          path)["traces"][0]["engines"]
        for name, engine in engines.items():
            self.assertLessEqual(engine["page_allocations"],
                                 engine["slab_bytes"]["peak"] // 4096, name)
            self.assertGreaterEqual(engine["page_allocations"], 10, name)

    def test_more_than_the_memory_there_is(self):
        """Said before any work, of all copies."""
        path = self.put("huge", events(300, 4 << 20, 4 << 20, kind="kmalloc"))
        for more in ((), ("-k",)):
            done = run(*more, "--cpus", "1500", "--spread", TRACES[0], path)
            self.assertEqual((done.returncode, done.stdout), (1, b""))
            self.assertRegex(done.stderr.decode(), f"^uslab compare: {re.escape(path)}: its objects "
                             r"need at least [\d.]+ .iB of memory, of which [\d.]+ .iB are there; "
                             r"fewer --cpus have fewer copies\n$")

    def test_traces_that_cannot_be_read(self):
        self.fails("uslab compare: /does/not/exist: cannot open: No such file or directory\n",
                   TRACES[0], "/does/not/exist")
        cut = self.put("cut.zst", bytes_of(TRACES[0])[:5000])
        done = run(TRACES[1], cut)
        self.assertEqual((done.returncode, done.stdout), (1, b""))
        self.assertRegex(done.stderr.decode(), "^uslab compare: " + re.escape(cut) + r":\d+: the "
                         "zstd data ends early: expected the rest of the compressed frame\n$")
        text = text_of(data("vector1.txt"))[:-10]
        line = text.count(b"\n") + 1
        path = self.put("cut.txt", text)
        wrong = (f"{path}:{line}: expected the rest of the line and a newline, found the end of "
                 "the file\n")
        self.fails(f"uslab compare: {wrong}", path)
        done = run("-k", "-j", "-r1", "-e", "slab", "--no-instructions", path)
        self.assertEqual((done.returncode, done.stderr.decode()),
                         (0, f"uslab compare: lines left out: 1; the first: {wrong}"))
        frees = self.put("frees", b"     x-1     [000] .....     1.000001: kfree: call_site=f "
                         b"ptr=0000000000001000\n")
        self.fails(f"uslab compare: {frees}: no allocation that could be performed\n", frees)

    def test_html_that_cannot_be_written(self):
        arguments = ("-r1", "-e", "slub", "-n100", "--no-instructions", data("vector1.txt"))
        done = run("--html", "/dev/full", *arguments)
        self.assertEqual((done.returncode, done.stderr.decode()),
                         (1, "uslab compare: /dev/full: cannot write: No space left on device\n"))
        self.assertIn(b"Speed", done.stdout)

    def test_html_is_opened_before_the_work(self):
        """Nothing is measured, not even read, for a page that cannot be; none is left empty."""
        message = "uslab compare: /does/not/exist: cannot create: No such file or directory\n"
        self.fails(message, "--html", "/does/not/exist", "-k", "/no/trace")
        page = os.path.join(os.path.dirname(self.put("old", b"a page")), "new")
        for arguments in (("/no/trace",), ("-e", "slub", "/no/trace")):
            self.assertEqual(run("--html", page, *arguments).returncode, 1)
            self.assertFalse(os.path.exists(page))
        # what was there stays until there is another one, all of which it becomes
        old = self.put("old", b"a page" * 100000)
        self.assertEqual(run("--html", old, "/no/trace").returncode, 1)
        self.assertEqual(bytes_of(old), b"a page" * 100000)
        arguments = ("-r1", "-e", "slub", "-n100", "--no-instructions", data("vector1.txt"))
        self.assertEqual(run("--html", old, *arguments).returncode, 0)
        self.assertNotIn(b"a page" * 2, bytes_of(old))
        self.assertTrue(bytes_of(old).rstrip().endswith(b"</html>"))

    def test_strides_that_nothing_explains(self):
        path = self.put("debug", events(10, 64, 256, "a") + events(10, 64, 64, "b", first=20))
        done = run("-r1", "-e", "slub,slab", "--no-instructions", path)
        self.assertEqual((done.returncode, done.stderr.decode()), (
            0, f"uslab compare: {path}: nothing explains the strides of 1 of 2 caches (a kernel "
            "with debug flags?); theirs are as small as can be\n"))

    def kill_worker(self, *arguments, before=on_one_cpu):
        """Runs the command on one CPU and kills the first worker that it has. (status, stdout, stderr)."""
        with subprocess.Popen([BINARY, "compare", *arguments], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, env=environment(), preexec_fn=before) as process:
            deadline = time.monotonic() + 300
            while process.poll() is None and time.monotonic() < deadline:
                pids = children_of(process.pid)
                if pids:
                    with contextlib.suppress(ProcessLookupError):  # it has just ended
                        os.kill(pids[0], signal.SIGKILL)
                    break
            output = process.communicate(timeout=300)
            return process.returncode, output[0].decode(), output[1].decode()

    def kill_first(self, *arguments):
        """Once more where this test came too late for the first worker, of slab."""
        for _ in range(20):
            status, text, errors = self.kill_worker(*arguments)
            if status and ": slub: " not in errors:
                break
        return status, text, errors

    def test_worker_that_dies(self):
        death = (f"uslab compare: {TRACES[1]}: slab: its process was killed by signal 9 "
                 "(Killed)\n")
        arguments = ("-r1", "-e", "slab,slub", "-j", TRACES[1])
        self.assertEqual(self.kill_first(*arguments), (1, "", death))
        status, text, errors = self.kill_first("-k", *arguments)
        self.assertEqual((status, errors), (1, death))
        trace = json.loads(text)["traces"][0]
        self.assertEqual(list(trace["engines"]), ["slub"])
        self.assertEqual(trace["errors"], {"slab": "its process was killed by signal 9 (Killed)"})

    def test_workers_that_die_side_by_side(self):
        """Each gets another try alone: memory or processes may have been too few for several."""
        if len(os.sched_getaffinity(0)) == 1:
            self.skipTest("one CPU: nothing is side by side")
        if os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") < 512 << 20:
            self.skipTest("so little memory is free that they run one after the other")
        status, text, errors = self.kill_worker("-r1", "-e", "slab,slub", "-j", TRACES[1], before=None)
        self.assertEqual((status, errors), (0, ""))
        self.assertEqual(list(json.loads(text)["traces"][0]["engines"]), ["slab", "slub"])

    def test_command_that_is_ended(self):
        """Its workers end with it, whoever counts what in them."""
        if not os.path.exists(f"/proc/self/task/{os.getpid()}/children"):
            self.skipTest("this system does not say which children a process has")
        with subprocess.Popen([BINARY, "compare", "-r9", TRACES[1]], stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL, env=environment()) as process:
            deadline = time.monotonic() + 100
            pids = []
            while not pids and process.poll() is None and time.monotonic() < deadline:
                time.sleep(0.005)
                pids = [pid for pid in children_of(process.pid) if is_worker(pid)]
            self.assertNotEqual(pids, [])
            for pid in pids:  # so that none of them ends by itself
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGSTOP)
            process.terminate()
        self.assertEqual(process.returncode, -signal.SIGTERM)
        while not all(has_ended(pid) for pid in pids):
            self.assertLess(time.monotonic(), deadline, pids)
            time.sleep(0.05)

    def test_worker_without_memory(self):
        """512 MiB of kmallocs do not fit a limit of 400 MiB of addresses."""
        line = ("     x-1     [000] .....     1.{0:06d}: kmalloc: call_site=f ptr={0:x}000 "
                "bytes_req=4194304 bytes_alloc=4194304 gfp_flags=GFP_KERNEL\n")
        path = self.put("large", "".join(line.format(i + 1) for i in range(128)).encode())
        limit = lambda: resource.setrlimit(resource.RLIMIT_AS, (400 << 20, 400 << 20))
        done = run("-r1", "-e", "slub", path, preexec_fn=limit)
        self.assertEqual((done.returncode, done.stdout), (1, b""))
        self.assertRegex(done.stderr.decode(), "uslab compare: " + re.escape(path) + ": slub: out "
                         r"of memory: no 4194304 bytes for operation \d+ of the trace\n$")


if __name__ == "__main__":
    unittest.main()
