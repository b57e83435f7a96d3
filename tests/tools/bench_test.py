#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# ctest: timeout=900
"""uslab bench: each benchmark runs, its JSON makes sense, and wrong use is told apart from failure.

Times are not judged here (that is scripts/bench, on a quiet machine), only that they are there,
belong to the right contestant and fit together.
"""
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

USLAB = os.environ["USLAB_BIN"]
SOURCE = os.environ.get("USLAB_SRC") or os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
ARRAYS = ("slub+array", "slub", "slub+none", "slab", "slab+array", "slob+array", "slobseg+array")
WAYS = ("single", "warm", "bulk", "PARTIAL", "NEW", "LOCAL", "FULL", "all")
NAMES = ("pair", "batch", "bulk", "handoff", "malloc", "locality", "latency", "modes", "fastpath", "concurrent",
         "remote", "hackbench", "memory")
PEERS = ["mimalloc", "jemalloc", "tcmalloc", "tbbmalloc"]
MALLOCS = ["uslab-malloc", *PEERS, "glibc"]
KERNEL = ["slob:1991", "slob", "slobseg:pow2", "slobseg", "slab", "slub", "slub+array", "slob+array"]
SIZES = [8 << i for i in range(10)]
OWN = ["own-cache", "own-cache-cpuslab", "own-cache-none", "kmalloc", "kmalloc-variable"]
# instructions of a pair, where there are sequences: by GCC 12 and 14, by Clang 14, and some room
MOST = {"own-cache": (25, 26), "own-cache-cpuslab": (225, 246), "own-cache-none": (760, 800),
        "kmalloc": (45, 50), "kmalloc-variable": (105, 132), "uslab-malloc": (52, 53)}


def bench(*arguments, cwd=None, env=None, start=None):
    return subprocess.run([USLAB, "bench", *arguments], capture_output=True, text=True,
                          check=False, cwd=cwd, env={**os.environ, **(env or {})},
                          stdin=subprocess.DEVNULL, timeout=200, preexec_fn=start)


def limits():
    """MOST of this build's compiler; nothing if it is not optimised or has no sequences."""
    with open(os.path.join(os.environ["USLAB_BUILD"], "CMakeCache.txt"), encoding="utf-8") as file:
        options = file.read()
    sections = subprocess.run(["objdump", "-h", USLAB + "-bench-cache"], capture_output=True,
                              text=True, check=True).stdout
    if "__rseq_cs" not in sections or "CMAKE_BUILD_TYPE:STRING=Rel" not in options:
        return {}
    clang = re.search(r"^CMAKE_C_COMPILER:.*clang", options, re.MULTILINE)
    return {name: most[1 if clang else 0] for name, most in MOST.items()}


class BenchTest(unittest.TestCase):
    def run_json(self, *arguments):
        run = bench(*arguments, "--json")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual(run.stderr, "", "nothing but results when no terminal is there")
        result = json.loads(run.stdout)
        self.assertEqual(result["benchmark"], arguments[0])
        self.assertEqual(result["command"].split()[:3], ["uslab", "bench", arguments[0]])
        for key in ("cpu", "cpus", "kernel", "libc", "compiler", "memory_bytes"):
            self.assertTrue(result["machine"][key], key)
        return result, {entry["name"]: entry for entry in result["contestants"]}

    def check_metrics(self, result, by_name, names):
        """Every contestant has these metrics, positive and in order; ratios are to the fastest."""
        for name in names:
            best = None
            for entry in by_name.values():
                metric = entry["metrics"][name]
                self.assertGreater(metric["min"], 0, (entry["name"], name))
                self.assertLessEqual(metric["min"], metric["median"])
                self.assertLessEqual(metric["median"], metric["max"])
                self.assertEqual(len(metric["samples"]), result["settings"]["rounds"])
                if entry["role"] == "peer":
                    best = min(best or metric["median"], metric["median"])
            for entry in by_name.values():
                metric = entry["metrics"][name]
                self.assertAlmostEqual(metric["ratio"], metric["median"] / best, delta=1e-3 *
                                       metric["ratio"])

    def test_pair(self):
        result, by_name = self.run_json("pair", "--quick")
        self.assertEqual(set(by_name), set(OWN + MALLOCS + ["null-malloc", "loop"]))
        self.check_metrics(result, by_name, ["pair"])
        counts = {name: entry["instructions"] for name, entry in by_name.items()}
        self.assertEqual(counts["loop"]["single_step"], 0)
        self.assertLess(counts["null-malloc"]["single_step"], counts["tcmalloc"]["single_step"])
        for name in MALLOCS:
            # call and jump through the PLT, twice, and the moves of the arguments
            outside = counts[name]["single_step"] - counts[name]["in_library"]
            self.assertTrue(4 <= outside <= 10, (name, outside))
        for name, most in limits().items():
            self.assertLessEqual(counts[name]["single_step"], most, name)
        for name in PEERS:
            self.assertTrue(by_name[name]["library"].endswith(".so") or
                            ".so." in by_name[name]["library"])

    def test_counts_repeat(self):
        only = ["pair", "--quick", "--only", "own-cache,uslab-malloc,jemalloc"]
        first, second = self.run_json(*only)[1], self.run_json(*only)[1]
        for name in first:
            self.assertEqual(first[name]["instructions"], second[name]["instructions"], name)

    def test_batch(self):
        result, by_name = self.run_json("batch", "--quick", "--rounds", "2")
        arrays = {name: by_name.pop(name) for name in ARRAYS}
        self.assertEqual(set(by_name), set(OWN + MALLOCS + ["own-cache-bulk"]))
        counts, two = (100, 1000, 10000), len(os.sched_getaffinity(0)) > 1
        names = [f"{count}.{order}" for count in counts for order in ("fifo", "lifo", "mix")]
        names += [f"{count}.two" for count in counts if two]
        self.check_metrics(result, by_name, names)
        self.assertEqual({name: list(entry["metrics"]) for name, entry in by_name.items()},
                         {name: names for name in by_name})
        self.assertEqual(len(set(result["settings"]["cpus"])), 2 if two else 1)
        for name, entry in arrays.items():
            got = {way: entry["metrics"][f"got.{way}"]["median"] for way in WAYS}
            for way in ("single", "warm", "bulk", "FULL", "all"):
                self.assertEqual(got[way], 1000, (name, way))
            if name.startswith("slo"):  # one by one, whatever the mode
                self.assertEqual(set(got.values()), {1000}, name)
                continue
            self.assertEqual(got["NEW"], 960, name)  # of slabs with 64 objects
            self.assertTrue(900 < got["PARTIAL"] <= 1000, (name, got))
            self.assertTrue(got["LOCAL"] < 200 and (got["LOCAL"] > 0) == (name != "slub+none"), (name, got))
            for way in WAYS:
                for what in ("alloc", "free"):
                    median = entry["metrics"][f"{what}.{way}"]["median"]
                    self.assertEqual(median is None, not got[way], (name, what, way))

    def test_batch_as_text(self):
        """Two CPUs have their columns and are named; with one the columns are not there."""
        run = lambda cpus: bench("batch", "--quick", "--only", "own-cache,own-cache-bulk,glibc",
                                 start=lambda: os.sched_setaffinity(0, cpus))
        allowed = sorted(os.sched_getaffinity(0))
        for cpus in allowed[-1:], allowed[-2:]:
            text = run(cpus).stdout
            self.assertIn("on CPU " + " and ".join(map(str, reversed(cpus))) + ";", text)
            for title in "median", "ratio":
                columns = re.search(rf"^{title} +100.fifo .* 10000.mix(.*)$", text, re.M).group(1).split()
                self.assertEqual(columns, ["100.two", "1000.two", "10000.two"] if len(cpus) > 1 else [])
        bulk = re.search(r"^own-cache-bulk +(.*)$", text, re.M).group(1).split()
        self.assertEqual(len(bulk), 9 + 3 * (len(allowed) > 1))

    def test_arrays_as_text(self):
        text = bench("batch", "--quick", "--peers", "none", "--only", "slab,own-cache").stdout
        self.assertIn("arrays: allocate", text)
        self.assertEqual(len([line for line in text.splitlines() if line.startswith("slab ")]), 4)
        alone = bench("batch", "--quick", "--peers", "none", "--only", "slab").stdout
        self.assertNotIn("1000.fifo", alone)
        self.assertNotIn("arrays: allocate", bench("batch", "--quick", "--peers", "none", "--only", "own-cache").stdout)

    def test_bulk(self):
        by_name = self.run_json("bulk", "--quick")[1]
        self.assertEqual(set(by_name), {"own-cache", "own-cache-cpuslab", "own-cache-none"})
        for entry in by_name.values():
            metrics = entry["metrics"]
            for count in (1, 2, 3, 4, 8, 16, 31, 32, 64, 100, 300, 1000):
                for what in ("loop", "bulk", "ratio"):
                    self.assertGreater(metrics[f"{what}.{count}"]["min"], 0)
        self.assertIn("bulk to loop", bench("bulk", "--quick").stdout)

    def test_bulk_of_so_many(self):
        result, by_name = self.run_json("bulk", "--quick", "--objects", "1237")
        self.assertEqual(result["settings"]["objects"], 1237)
        for entry in by_name.values():
            self.assertEqual(set(entry["metrics"]), {"loop.1237", "bulk.1237", "ratio.1237"})
        self.assertIsNone(self.run_json("bulk", "--quick")[0]["settings"]["objects"])

    def test_handoff(self):
        if len(os.sched_getaffinity(0)) < 2:
            run = bench("handoff", "--quick")
            self.assertEqual(run.returncode, 1)
            self.assertIn("two CPUs", run.stderr)
            return
        result, by_name = self.run_json("handoff", "--quick", "--size", "128")
        self.assertEqual(set(by_name), set(OWN + MALLOCS + ["ring"]))
        self.assertEqual(result["settings"]["size"], 128)
        self.assertEqual(len(set(result["settings"]["cpus"])), 2)
        self.check_metrics(result, by_name, ["one-way", "one-way.bare", "two-way", "two-way.bare"])

    def test_modes(self):
        """Each round is a process; the picture has as many as there were."""
        result, by_name = self.run_json("modes", "--quick", "--rounds", "4", "--size", "128")
        self.assertEqual(set(by_name), {"own-cache", "kmalloc", "null-malloc", *MALLOCS})
        self.check_metrics(result, by_name, ["written"])
        for entry in by_name.values():
            self.assertEqual(len(entry["metrics"]["written"]["samples"]), 4)
        text = bench("modes", "--quick", "--rounds", "12", "--only", "glibc,null-malloc").stdout
        table, picture = text.split("\nprocesses ", 1)
        for name in ("glibc", "null-malloc"):
            low, q1, median, q3, high, slowest, to_null = map(float, re.search(
                rf"^{name} +(.*)$", table, re.M).group(1).split())
            self.assertTrue(0 < low <= q1 <= median <= q3 <= high)
            self.assertAlmostEqual(slowest, high / median, delta=0.02 * slowest)
            if name == "null-malloc":
                self.assertEqual(to_null, 1)
            shown = re.search(rf"^{name} +([.\d#]+)$", picture, re.M).group(1)
            self.assertEqual(len(shown), 60)
            least = sum(10 if sign == "#" else int(sign) for sign in shown.replace(".", "0"))
            self.assertTrue(least == 12 or "#" in shown and least < 12, shown)

    def test_malloc(self):
        result, by_name = self.run_json("malloc", "--quick")
        self.assertEqual(set(by_name), set(MALLOCS))
        self.check_metrics(result, by_name, [f"{kind}{what}" for what in ("", ".rss")
                                             for kind in ("mixed", "larson", "python")])

    def test_latency(self):
        result, by_name = self.run_json("latency", "--quick", "--ops", "20000")
        self.assertEqual(list(by_name), ["kmalloc-variable", "uslab-malloc", "uslab-realtime", *PEERS,
                                          "glibc", "loop"])
        self.assertEqual(result["settings"]["ops"], 20000)
        points = ["p50", "p90", "p99", "p99.9", "p99.99", "max"]
        for name, entry in by_name.items():
            metrics = {key: m["median"] for key, m in entry["metrics"].items()}
            for kind in ("all", "malloc", "free", "calloc", "realloc"):
                times = [metrics[f"{kind}.{point}"] for point in points]
                self.assertEqual(times, sorted(times), (name, kind))
                self.assertLessEqual(metrics[f"{kind}.p50"], metrics[f"{kind}.repeat"], name)
            self.assertEqual(metrics["all.repeat"], max(metrics[f"{kind}.repeat"] for kind in (
                "malloc", "free", "calloc", "realloc")))
            self.assertLess(metrics["run.preempted"], 20000)
            self.assertGreater(metrics["run.clock"], 0)
            steps = entry["instructions"]["longest"]
            self.assertTrue(steps is None or 0 < steps < 10 ** 6, (name, steps))
        faults = {name: entry["metrics"]["run.faults"]["median"] for name, entry in by_name.items()}
        rss = {name: entry["metrics"]["run.rss"]["median"] for name, entry in by_name.items()}
        self.assertGreater(faults["glibc"], faults["loop"])
        self.assertGreater(rss["glibc"], rss["loop"])
        text = bench("latency", "--quick", "--ops", "1000", "--rounds", "2", "--only", "glibc,loop")
        self.assertEqual(text.returncode, 0, text.stderr)
        for words in ("\nall +p50 +p90 +p99 +p99.9 +p99.99 +max +repeat\n", "\nspread of all ",
                      "\nrealloc +p50 ", "\nrun +faults +rss +preempted +clock +insns\n"):
            self.assertRegex(text.stdout, words)
        self.assertNotIn("uslab-realtime", text.stdout)
        text = bench("latency", "--quick", "--ops", "1000", "--only", "uslab-realtime", "--no-counts")
        self.assertIn("(uslab-realtime had taken its memory before: realtime=256M)", text.stdout)

    def test_locality(self):
        result, by_name = self.run_json("locality", "--quick")
        self.assertEqual(set(by_name), set(MALLOCS + [
            "own-cache", "own-cache-cpuslab", "own-cache-used", "kmalloc", "kmalloc-quiet", "uslab-cpuslab"]))
        self.check_metrics(result, by_name, ["pages", "lines", "walk-hot", "walk-cold", "pages-later", "cold-later"])
        for name in ("uslab-malloc", "uslab-cpuslab"):
            self.assertLess(by_name[name]["metrics"]["pages-later"]["median"], 20, name)
        self.assertLess(by_name["uslab-cpuslab"]["metrics"]["pages"]["median"], 20)
        for entry in by_name.values():
            self.assertEqual(len(entry["locality"]["offsets"]), 200)
            self.assertEqual(len(set(entry["locality"]["offsets"])), 200)
            self.assertEqual(min(entry["locality"]["offsets"]), 0)
        own, shared = by_name["own-cache"]["locality"], by_name["kmalloc"]["locality"]
        # The article: side by side in an own cache, scattered in a shared one that was used.
        self.assertEqual(own["stride_bytes"], 40)
        self.assertGreater(own["next_to"], 150)
        self.assertLess(shared["next_to"], 100)
        for name in ("own-cache", "own-cache-cpuslab"):
            self.assertTrue(by_name[name]["locality"]["lifo"], name)

    def check_protocol(self, by_name, names, sizes):
        """Per size, the lowest of the sizes without one; all in cycles of a sane clock."""
        for entry in by_name.values():
            metrics = {name: m["median"] for name, m in entry["metrics"].items()}
            self.assertEqual(set(metrics), {"ns-per-cycle"} | set(names) |
                             {f"{name}.{size}" for name in names for size in sizes})
            self.assertTrue(0.1 <= metrics["ns-per-cycle"] <= 2, metrics["ns-per-cycle"])
            for name in names:
                lowest = min(metrics[f"{name}.{size}"] for size in sizes)
                self.assertGreater(lowest, 0)
                self.assertAlmostEqual(metrics[name], lowest, delta=lowest * 1e-3)

    def test_fastpath(self):
        result, by_name = self.run_json("fastpath", "--quick", "--objects", "200")
        self.assertEqual(list(by_name), KERNEL)
        self.check_protocol(by_name, ["alloc", "free", "pair"], SIZES + [8192, 16384])
        self.assertEqual(result["unit"], "cycles")
        self.assertEqual(result["base"], "slub")
        self.assertEqual(result["settings"]["objects"], 200)
        self.assertEqual([c["title"] for c in result["columns"]], ["Alloc", "Free", "Alloc/Free"])
        # slide 28
        self.assertEqual([c["published"] for c in result["columns"]], [
            {"slob": 183, "slab": 66, "slub": 45}, {"slob": 173, "slab": 73, "slub": 70},
            {"slob": 172, "slab": 102, "slub": 52}])
        for name, conf in (("slab", "engine=slab,front=queues"),
                           ("slub+array", "engine=slub,front=array")):
            self.assertEqual(by_name[name]["conf"], conf)
        self.assertEqual(by_name["slub"]["metrics"]["pair"]["ratio"], 1)

    def test_concurrent_and_remote(self):
        run = bench("concurrent", "remote", "--quick", "--objects", "50", "--threads", "3",
                    "--only", "slab,slub,slub+array", "--json")
        self.assertEqual(run.returncode, 0, run.stderr)
        concurrent, remote = json.loads(run.stdout)
        self.assertEqual((concurrent["benchmark"], remote["benchmark"]), ("concurrent", "remote"))
        for result, names in ((concurrent, ["alloc", "free", "pair"]),
                              (remote, ["free-one", "free-one-object", "free-all"])):
            self.assertEqual(result["settings"]["threads"], 3)
            by_name = {entry["name"]: entry for entry in result["contestants"]}
            self.assertEqual(list(by_name), ["slab", "slub", "slub+array"])
            self.check_protocol(by_name, names, SIZES)
        for entry in remote["contestants"]:
            # of three CPUs two had objects, and the average is over all three
            m = {name: metric["median"] for name, metric in entry["metrics"].items()}
            self.assertAlmostEqual(m["free-one-object"], m["free-one"] * 1.5, delta=0.01 *
                                   m["free-one"])

    def test_topology(self):
        """Threads that act for CPUs which this machine does not have."""
        only = ["--only", "slab,slub", "--cpus", "4", "--nodes", "2"]
        result, by_name = self.run_json("remote", "--quick", "--objects", "20", *only)
        self.assertEqual(result["settings"]["threads"], 4)
        self.assertEqual(result["settings"]["made_up_nodes"], 2)
        self.check_protocol(by_name, ["free-one", "free-one-object", "free-all"], SIZES)
        here, there = (self.run_json("memory", "--model", "small", *more)[1]["slub"]["metrics"]
                       ["small.slab"]["median"] for more in (["--only", "slub"], [*only[2:], "--only",
                                                                               "slub"]))
        self.assertGreater(there, here, "more CPUs and nodes hold more")

    def test_hackbench(self):
        result, by_name = self.run_json("hackbench", "-g", "2", "-f", "3", "-l", "4", "-s", "512",
                                        "--rounds", "2")
        self.assertEqual(list(by_name), KERNEL)
        self.assertEqual([result["settings"][key] for key in ("groups", "fds", "loops", "size")],
                         [2, 3, 4, 512])
        for entry in by_name.values():
            self.assertEqual(len(entry["metrics"]["seconds"]["samples"]), 2)
            self.assertGreater(entry["metrics"]["seconds"]["min"], 0)
            for name in ("peak", "end"):
                self.assertGreaterEqual(entry["metrics"][name]["min"], 0)
        # All messages are freed, and SLOB keeps no page that has nothing in it.
        self.assertEqual(by_name["slob"]["metrics"]["end"]["max"], 0)
        self.assertGreater(by_name["slub"]["metrics"]["end"]["min"], 0)

    def test_memory(self):
        result, by_name = self.run_json("memory", "--model", "small")
        self.assertEqual(list(by_name), KERNEL)
        self.assertEqual(result["unit"], "KiB")
        requested = {entry["metrics"]["small.requested"]["median"] for entry in by_name.values()}
        self.assertEqual(len(requested), 1, "the same for all")
        for name, entry in by_name.items():
            metrics = {key: m["median"] for key, m in entry["metrics"].items()}
            self.assertTrue(1 < metrics["small.slab"] / min(requested) < 2, (name, metrics))
            if "slob" in name:
                self.assertNotIn("small.reclaimable", metrics)
            else:
                self.assertAlmostEqual(metrics["small.reclaimable"] + metrics["small.unreclaimable"],
                                       metrics["small.slab"], delta=1)
        slab = {name: entry["metrics"]["small.slab"]["median"] for name, entry in by_name.items()}
        self.assertLess(slab["slob"], slab["slub"])  # what SLOB is for

    def test_protocol_text(self):
        run = bench("fastpath", "hackbench", "--quick", "--only", "slub,slab", "--groups", "1")
        self.assertEqual(run.returncode, 2, "fastpath has no --groups")
        run = bench("fastpath", "--quick", "--objects", "20", "--only", "slub,slab", "--sizes")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertRegex(run.stdout, r"\ncycles +Alloc +Free +Alloc/Free +spread\n")
        self.assertRegex(run.stdout, r"\nslab +[\d.]+ +\(66\) +[\d.]+ +\(73\) +[\d.]+ +\(102\)")
        self.assertRegex(run.stdout, r"\nslub +[\d.]+ +\(45\) +[\d.]+ +\(70\) +[\d.]+ +\(52\)")
        self.assertRegex(run.stdout, r"\nns +Alloc ")
        self.assertRegex(run.stdout, r"\n +pair\.8 +pair\.16 ")
        run = bench("hackbench", "--quick", "--rounds", "3", "--only", "slub")
        self.assertRegex(run.stdout, r"\nslub +1\.00( +[\d.]+){3}\n")

    def test_engine_that_is_not_there(self):
        """The library only warns of a configuration that it does not understand: this must fail."""
        worker = os.path.join(os.path.dirname(USLAB), "uslab-bench-kernel")
        run = subprocess.run([worker, "--mode", "fastpath", "--contestant", "slob/none",
                              "--objects", "10"], capture_output=True, text=True, check=False,
                             env={**os.environ, "USLAB_CONF": "engine=slub,front=none"})
        self.assertEqual(run.returncode, 1)
        self.assertIn("slub/none, not slob/none", run.stderr)

    def test_text(self):
        run = bench("locality", "--quick")
        self.assertEqual(run.returncode, 0, run.stderr)
        for text in ("uslab bench locality --quick", "machine:", "own-cache", "mimalloc",
                     "Order of reuse"):
            self.assertIn(text, run.stdout)
        picture = re.search(r"^own-cache: .*\n((?:    [.+#-]+\n){4})", run.stdout, re.M)
        self.assertIsNotNone(picture, run.stdout)
        self.assertEqual(len(re.sub(r"\s", "", picture.group(1))), 199)

    def test_save(self):
        with tempfile.TemporaryDirectory() as folder:
            kept = os.path.join(folder, "kept")
            run = bench("pair", "--quick", "--no-counts", "--peers", "tcmalloc", "--output", kept,
                        "--note", "a note")
            self.assertEqual(run.returncode, 0, run.stderr)
            self.assertEqual(sorted(os.listdir(kept)), ["pair.json", "pair.txt"])
            with open(os.path.join(kept, "pair.txt"), encoding="utf-8") as text:
                self.assertEqual(text.read(), run.stdout)
            with open(os.path.join(kept, "pair.json"), encoding="utf-8") as text:
                result = json.load(text)
            self.assertEqual(result["note"], "a note")
            self.assertIn("--note 'a note'", result["command"])
            self.assertEqual(result["fastest_peer"], "tcmalloc")
            self.assertNotIn("instructions", result["contestants"][0])
            run = bench("pair", "--quick", "--no-counts", "--output", os.path.join(kept, "a", "b"))
            self.assertEqual(run.returncode, 1)
            self.assertIn("cannot make the folder", run.stderr)

    def test_environment_is_kept(self):
        run = bench("pair", "--quick", "--no-counts", "--only", "glibc", "--json",
                    env={"MALLOC_ARENA_MAX": "1"})
        self.assertEqual(run.returncode, 0, run.stderr)
        environment = json.loads(run.stdout)["machine"]["environment"]
        self.assertEqual(environment["MALLOC_ARENA_MAX"], "1")

    def test_missing_peer(self):
        packages = {"mimalloc": "libmimalloc3 or libmimalloc2.0", "jemalloc": "libjemalloc2",
                    "tcmalloc": "libtcmalloc-minimal4t64 or libtcmalloc-minimal4",
                    "tbbmalloc": "libtbbmalloc2"}
        with tempfile.TemporaryDirectory() as empty:
            for peer, package in packages.items():
                run = bench("pair", "--quick", "--peers", peer, "--peer-dir", empty)
                self.assertEqual(run.returncode, 1)
                self.assertEqual(run.stdout, "")
                self.assertIn(f"apt-get install {package}", run.stderr)
            run = bench("pair", "--quick", "--no-counts", "--peers", "glibc", "--peer-dir", empty)
            self.assertEqual(run.returncode, 0, run.stderr)

    def test_library_that_is_not_taken(self):
        """A file that the dynamic linker does not preload must not pass for the peer."""
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "libjemalloc.so.2"), "w", encoding="utf-8") as fake:
                fake.write("no library")
            run = bench("pair", "--quick", "--no-counts", "--only", "jemalloc", "--peer-dir",
                        folder)
            self.assertEqual(run.returncode, 1)
            self.assertIn("jemalloc (mode pair) was not measured", run.stderr)

    def test_wrong_use(self):
        for arguments, word in (
                ([], "which benchmark"), (["speed"], "speed"), (["pair", "speed"], "speed"),
                (["pair", "--loops", "2"], "pair has no --loops"),
                (["pair", "--ops", "1000"], "pair has no --ops"),
                (["latency", "--ops", "999"], "--ops takes a number from 1000 to"),
                (["latency", "--size", "64"], "latency has no --size"),
                *(([name, "-t", "5"], f"{name} has no --ms")
                  for name in ("locality", "latency", "hackbench", "memory")),
                (["fastpath", "hackbench", "--loops", "2"], "fastpath has no --loops"),
                (["fastpath", "--threads", "2"], "fastpath has no --threads"),
                (["fastpath", "--size", "64"], "fastpath has no --size"),
                (["hackbench", "--sizes"], "hackbench has no --sizes"),
                (["hackbench", "--model", "small"], "hackbench has no --model"),
                (["memory", "--model", "large"], "large"), (["remote", "--threads", "1"], "2 to 64"),
                (["remote", "--nodes", "2"], "--cpus"), (["hackbench", "-g", "0"], "--groups"),
                (["remote", "--cpus", "2", "--nodes", "3"], "--nodes 3"),
                (["pair", "--rounds", "0"], "--rounds"), (["pair", "--rounds"], "--rounds"),
                (["pair", "--size", "7"], "--size"), (["pair", "--size", "32769"], "--size"),
                (["hackbench", "--size", "8193"], "hackbench has messages of up to 8192 bytes"),
                (["malloc", "--size", "64"], "--size"), (["pair", "--ms", "x"], "--ms"),
                (["pair", "--cpu", "1,1"], "--cpu"), (["pair", "--cpu", "-1"], "--cpu"),
                (["pair", "--peers", "hoard"], "hoard"), (["pair", "--only", "hoard"], "hoard"),
                (["pair", "--fast"], "--fast")):
            run = bench(*arguments)
            self.assertEqual(run.returncode, 2, arguments)
            self.assertEqual(run.stdout, "")
            self.assertIn(word, run.stderr)
            self.assertIn("uslab bench --help", run.stderr)

    def test_help_and_version(self):
        run = bench("--help")
        self.assertEqual(run.returncode, 0)
        for name in (*NAMES, "--quick", "--peers", "--groups", "--cpus"):
            self.assertIn(name, run.stdout)
        self.assertLessEqual(max(map(len, run.stdout.splitlines())), 100)
        self.check_who_takes(" ".join(run.stdout.split()))
        self.assertRegex(bench("--version").stdout, r"^uslab \d+\.\d+\.\d+\n$")

    def check_who_takes(self, text):
        """What the help text and the manual say of --size and --ms is what is refused or not."""
        with open(os.path.join(SOURCE, "docs", "man", "uslab-bench.1.scd"), encoding="utf-8") as stream:
            manual = " ".join(stream.read().replace("*", "").split())
        size = text.split("--size=")[1].split(" -")[0], manual.split("--size _N_ ")[1].split(" --cpu")[0]
        ms = text.split("--ms=")[1].split(" -")[0], manual.split("--ms _N_ ")[1].split(" -s,")[0]
        for name in NAMES:
            for option, said, taken in ("--size", size, True), ("--ms", ms, False):
                run = bench(name, option, "64", "--cpu", "1023", "--peers", "none")
                self.assertEqual(run.returncode, 2, run.stderr)
                refused = "CPU 1023" not in run.stderr  # there is no such CPU, but that is seen last
                for words in said:
                    self.assertEqual(bool(re.search(rf"\b{name}\b", words)), refused != taken,
                                     (name, option, words))

    def test_cpu_that_is_not_there(self):
        allowed = sorted(os.sched_getaffinity(0))
        for cpus in allowed[-1:], allowed:
            run = bench("pair", "--quick", "--cpu", "1023",
                        start=lambda cpus=cpus: os.sched_setaffinity(0, cpus))
            self.assertEqual((run.returncode, run.stdout), (2, ""))
            said = re.search(r"CPU 1023 is not there or not allowed; allowed: (\S+)\n", run.stderr)[1]
            ranges = (part.partition("-") for part in said.split(","))
            self.assertEqual([cpu for first, _, last in ranges
                              for cpu in range(int(first), int(last or first) + 1)], cpus)


if __name__ == "__main__":
    sys.exit(unittest.main(verbosity=1))
