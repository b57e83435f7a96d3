#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# ctest: timeout=240 serial
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
PEERS = ["mimalloc", "jemalloc", "tcmalloc", "tbbmalloc"]
MALLOCS = ["uslab-malloc", *PEERS, "glibc"]
OWN = ["own-cache", "own-cache-cpuslab", "own-cache-none", "kmalloc"]


def bench(*arguments, cwd=None, env=None):
    return subprocess.run([USLAB, "bench", *arguments], capture_output=True, text=True,
                          check=False, cwd=cwd, env={**os.environ, **(env or {})},
                          stdin=subprocess.DEVNULL, timeout=200)


class BenchTest(unittest.TestCase):
    def run_json(self, *arguments):
        run = bench(*arguments, "--json")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual(run.stderr, "", "nothing but results when no terminal is there")
        result = json.loads(run.stdout)
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
        self.assertEqual(set(by_name), set(OWN + MALLOCS + ["own-cache-bulk"]))
        self.check_metrics(result, by_name, [f"{count}.{order}" for count in (100, 1000, 10000)
                                             for order in ("fifo", "lifo", "mix")])

    def test_remote(self):
        if len(os.sched_getaffinity(0)) < 2:
            run = bench("remote", "--quick")
            self.assertEqual(run.returncode, 1)
            self.assertIn("two CPUs", run.stderr)
            return
        result, by_name = self.run_json("remote", "--quick", "--size", "128")
        self.assertEqual(set(by_name), set(OWN + MALLOCS + ["ring"]))
        self.assertEqual(result["settings"]["size"], 128)
        self.assertEqual(len(set(result["settings"]["cpus"])), 2)
        self.check_metrics(result, by_name, ["one-way", "one-way.bare", "two-way", "two-way.bare"])

    def test_malloc(self):
        result, by_name = self.run_json("malloc", "--quick")
        self.assertEqual(set(by_name), set(MALLOCS))
        self.check_metrics(result, by_name, [f"{kind}{what}" for what in ("", ".rss")
                                             for kind in ("mixed", "larson", "python")])

    def test_locality(self):
        result, by_name = self.run_json("locality", "--quick")
        self.assertEqual(set(by_name), set(MALLOCS + [
            "own-cache", "own-cache-cpuslab", "own-cache-used", "kmalloc", "kmalloc-quiet"]))
        self.check_metrics(result, by_name, ["pages", "lines", "walk-hot", "walk-cold"])
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
        packages = {"mimalloc": "libmimalloc2.0", "jemalloc": "libjemalloc2",
                    "tcmalloc": "libtcmalloc-minimal4", "tbbmalloc": "libtbbmalloc2"}
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
                ([], "which benchmark"), (["speed"], "speed"), (["pair", "batch"], "batch"),
                (["pair", "--rounds", "0"], "--rounds"), (["pair", "--rounds"], "--rounds"),
                (["pair", "--size", "7"], "--size"), (["pair", "--size", "8193"], "--size"),
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
        for name in ("pair", "batch", "remote", "malloc", "locality", "--quick", "--peers"):
            self.assertIn(name, run.stdout)
        self.assertLessEqual(max(map(len, run.stdout.splitlines())), 100)
        self.assertRegex(bench("--version").stdout, r"^uslab \d+\.\d+\.\d+\n$")

    def test_cpu_that_is_not_there(self):
        run = bench("pair", "--quick", "--cpu", "1023")
        self.assertEqual(run.returncode, 1)
        self.assertIn("CPU 1023", run.stderr)


if __name__ == "__main__":
    sys.exit(unittest.main(verbosity=1))
