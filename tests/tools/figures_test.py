#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# ctest: timeout=900
"""scripts/figures.py and scripts/bench: from raw results to the tables of the README.

Made-up results, whose quotients are computed here once more; and a run of the benchmarks, a short one, in
a small tree, whose figures arrive in its README. That check.py sees other figures: check_test.py.
"""
import json
import os
import shutil
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
SOURCE = os.environ.get("USLAB_SRC") or os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
BUILD = os.environ.get("USLAB_BUILD", os.path.join(SOURCE, "build", "release"))
sys.path[:0] = [os.path.join(SOURCE, "scripts"), os.path.join(SOURCE, "tests", "support")]
import figures  # noqa: E402
from folder import InOwnFolder  # noqa: E402

README = f"# it\n\n{figures.BEGIN}\nstale\n{figures.END}\n\nmore\n"
COMMIT = "commit 0123456789ab"


def result(benchmark, date="2030-01-02T03:04:05Z", note=COMMIT, load=0.1, cpu="Maker(R) Fast CPU @ 2 GHz"):
    """A result with what the README shows; the n-th metric of a contestant is n times as long."""
    metrics = list(dict.fromkeys(row[2] for row in figures.HEADLINES if row[0] == benchmark))
    entry = lambda name, role, base: {"name": name, "role": role, "version": "1.2+dfsg-3", "metrics": {
        metric: {"median": base * (n + 1)} for n, metric in enumerate(metrics)}}
    return {"benchmark": benchmark, "version": "9.8.7", "date": date, "note": note, "machine": {
        "cpu": cpu, "cpus": 4, "kernel": "Linux 6.1.2-local", "libc": "glibc 2.36", "compiler": "GCC 12",
        "load": load}, "settings": {"rounds": 9}, "contestants": [
            entry("own-cache", "uslab", 2.0), entry("kmalloc", "uslab", 4.0),
            entry("uslab-malloc", "uslab", 12.5), entry("floor", "floor", 0.1),
            entry("slow", "peer", 20.0), entry("quick", "peer", 10.0), entry("glibc", "system", 5.0)]}


def programs(**more):
    return {**result("pair", **more), "benchmark": "programs", "programs": [
        {"name": "cat", "glibc_kib": 2048, "uslab_kib": 2560},
        {"name": "dog", "glibc_kib": 10240, "uslab_kib": 10240}]}


class InTree(InOwnFolder):
    def setUp(self):
        super().setUp()
        self.put("README.md", README)

    def readme(self):
        with open(os.path.join(self.folder, "README.md"), encoding="utf-8") as stream:
            return stream.read()

    def add_run(self, name, *results):
        for one in results:
            self.put(f"bench/results/{name}/{one['benchmark']}.json", json.dumps(one))

    def times(self, **more):
        return [result(name, **more) for name in figures.TIMED]

    def rows(self):
        """{first cell: the others}"""
        cells = [line.strip("| ").split(" | ") for line in self.readme().splitlines()
                 if line.startswith("| ") and "--" not in line]
        return [[cell.strip() for cell in row] for row in cells]


class Tables(InTree):
    def test_tables(self):
        self.add_run("0123456789ab-maker-fast", *self.times(), programs())
        self.assertTrue(figures.write(self.folder))
        self.assertFalse(figures.write(self.folder), "a second time there is nothing to do")
        self.assertEqual(list(figures.problems(self.folder)), [])
        text = self.readme()
        self.assertTrue(text.startswith("# it\n\n") and text.endswith("\n\nmore\n"))
        self.assertNotIn("stale", text)
        self.assertLessEqual(max(map(len, text.splitlines())), 100)
        rows = self.rows()
        self.assertIn(["alloc + free of 64 bytes, own cache", "2.00", "quick 10.0", "0.20"], rows)
        self.assertIn(["malloc + free of 64 bytes, drop-in", "12.5", "quick 10.0", "**1.25**"], rows)
        self.assertIn(["calls of an interpreter, drop-in", "37.5", "quick 30.0", "**1.25**"], rows)
        self.assertIn(["cat", "2.0", "2.5", "**1.25**"], rows)
        self.assertIn(["dog", "10.0", "10.0", "1.00"], rows)
        plain = " ".join(text.split())
        self.assertIn("the fastest of slow 1.2 and quick 1.2 in", plain)
        self.assertIn("Measured 2030-01-02 on Maker(R) Fast CPU @ 2 GHz, 4 CPUs, Linux 6.1.2, glibc 2.36, "
                      "GCC 12; uslab 9.8.7, commit 0123456789ab. Raw", plain)
        self.assertEqual(plain.count("Measured"), 1, "one run is described once")
        self.assertNotIn("quiet", plain)

    def test_two_runs(self):
        """Times from the newest that has them, memory from the newest that has that."""
        self.add_run("0123456789ab-maker-fast", *self.times(), programs())
        newer = {"date": "2031-01-02T03:04:05Z", "note": "commit ffff56789abc with changes"}
        self.add_run("ffff56789abc-changed-maker-fast", programs(**newer))
        self.put("bench/results/ffff56789abc-changed-maker-fast/remark.md", "By the\nway.\n")
        figures.write(self.folder)
        plain = " ".join(self.readme().split())
        times, _, memory = plain.partition("Peak resident memory")
        self.assertIn("commit 0123456789ab. Raw", times)
        self.assertIn("commit ffff56789abc with changes. Raw", memory)
        self.assertIn("By the way.", memory)

    def test_busy_machine(self):
        self.add_run("0123456789ab-maker-fast", *self.times(load=2.1))
        figures.write(self.folder)
        self.assertIn("**The machine was not quiet: load 2.1.**", " ".join(self.readme().split()))

    def test_no_results(self):
        self.add_run("0123456789ab-maker-fast", *self.times()[1:])
        with self.assertRaisesRegex(figures.Failure, "no run in bench/results has pair"):
            figures.write(self.folder)
        self.assertEqual(self.readme(), README)
        script = os.path.join(SOURCE, "scripts", "figures.py")
        run = subprocess.run([sys.executable, script, "--root", self.folder], capture_output=True, text=True,
                             check=False)
        self.assertEqual((run.returncode, run.stdout), (1, ""))
        self.assertRegex(run.stderr, "^figures: no run.*\n$")

    def test_a_file_that_is_no_result(self):
        path = self.put("bench/results/0123456789ab-maker-fast/pair.json", "{}")
        with self.assertRaisesRegex(figures.Failure, "pair.json: has no version"):
            figures.write(self.folder)
        self.assertEqual(list(figures.problems(self.folder)),
                         [(figures.RESULTS, 1, f"{path}: has no version, date, note, machine")])

    def test_names_of_folders(self):
        for note, cpu, name in (
                ("commit 0123456789ab", "Intel(R) Xeon(R) Processor", "0123456789ab-intel-xeon"),
                ("commit 0123456789ab with changes", "AMD EPYC 7763 64-Core Processor",
                 "0123456789ab-changed-amd-epyc-7763"),
                (None, "Intel(R) Core(TM) i7-8550U CPU @ 1.80GHz", "unknown-intel-core-i7-8550u"),
                ("commit 0123456789ab", "", "0123456789ab-cpu")):
            self.assertEqual(figures.folder_name(note, cpu), name)


class OneCommand(InTree):
    """`make bench` in a tree of its own, with the same scripts and a short run."""

    def setUp(self):
        super().setUp()
        shutil.copytree(os.path.join(SOURCE, "scripts"), os.path.join(self.folder, "scripts"))
        self.put(".gitignore", "/build/\n__pycache__/\n")
        self.git("init", "-q")
        self.git("add", "-A")
        self.git("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "one")

    def git(self, *arguments):
        return subprocess.run(["git", "-C", self.folder, *arguments], capture_output=True, text=True,
                              check=True).stdout.strip()

    def bench(self, *arguments):
        """With what is built elsewhere; only what needs one CPU and little time."""
        build = os.path.join(self.folder, "build", "release")
        os.makedirs(build, exist_ok=True)
        for name in ("bin", "lib"):
            if not os.path.exists(os.path.join(build, name)):
                os.symlink(os.path.join(BUILD, name), os.path.join(build, name))
        return subprocess.run([sys.executable, os.path.join(self.folder, "scripts", "bench"), *arguments],
                              capture_output=True, text=True, check=False, cwd=self.folder, timeout=800)

    @unittest.skipIf(len(os.sched_getaffinity(0)) < 2, "handoff takes two CPUs")
    def test_kept_by_commit(self):
        head = self.git("rev-parse", "--short=12", "HEAD")
        run = self.bench("--benchmarks", ",".join(figures.TIMED), "--rounds", "1", "--ms", "4",
                         "--no-counts")
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        (folder,) = os.listdir(os.path.join(self.folder, figures.RESULTS))
        self.assertRegex(folder, rf"^{head}-[a-z0-9.-]+$")
        self.assertIn(f"results are in bench/results/{folder}", run.stdout)
        self.assertEqual(list(figures.problems(self.folder)), [])
        with open(os.path.join(self.folder, figures.RESULTS, folder, "pair.json"), encoding="utf-8") as text:
            pair = json.load(text)
        self.assertEqual(pair["note"], f"commit {head}")
        ours = next(e for e in pair["contestants"] if e["name"] == "own-cache")["metrics"]["pair"]
        row = next(row for row in self.rows() if row[0] == "alloc + free of 64 bytes, own cache")
        self.assertAlmostEqual(float(row[1]), ours["median"], delta=0.051 if float(row[1]) >= 10 else 0.0051)
        self.assertAlmostEqual(float(row[3].strip("*")), ours["ratio"], delta=0.0051)

    def test_programs(self):
        """Peaks are kept of each, also of one that takes too much; that one's test ends the run with 1."""
        stub = ("import sys\nsys.path.insert(0, {support!r})\nimport preload\npeaks = preload.Peaks()\n"
                "of = lambda peak: [preload.Result(0, '', '', peak, 5), preload.Result(0, '', '', peak + 1, 4)]\n"
                "peaks.add('{name}', of(1000), of({ours}))\npeaks.finish()\n")
        names = ("gcc", "git", "python", "sqlite", "redis")
        for name in names:
            self.put(f"tests/programs/{name}_test.py", stub.format(
                support=os.path.join(SOURCE, "tests", "support"), name=name,
                ours=90000 if name == "git" else 1010))
        run = self.bench("--benchmarks", "programs")
        self.assertEqual(run.returncode, 1, run.stdout + run.stderr)
        self.assertIn("bench: git: FAILED", run.stderr)
        self.assertNotIn("bench: gcc", run.stderr)
        self.assertIn("README.md stays as it is: no run in bench/results has pair", run.stderr)
        (folder,) = os.listdir(os.path.join(self.folder, figures.RESULTS))
        with open(os.path.join(self.folder, figures.RESULTS, folder, "programs.json"), encoding="utf-8") as text:
            kept = json.load(text)
        self.assertIn("-changed-", folder)
        self.assertEqual(figures.folder_name(kept["note"], kept["machine"]["cpu"]), folder)
        self.assertEqual([entry["name"] for entry in kept["programs"]], list(names))
        self.assertEqual(kept["programs"][0], {"name": "gcc", "glibc_kib": 1000, "uslab_kib": 1010,
                                               "glibc_ms": 4, "uslab_ms": 4})

    def test_quick_keeps_nothing(self):
        run = self.bench("--quick", "--benchmarks", "pair", "--no-counts")
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        self.assertEqual(self.git("status", "--porcelain"), "")
        self.assertIn("results are in build/release/bench-quick", run.stdout)

    def test_unknown_benchmark(self):
        run = self.bench("--benchmarks", "pair,nonsense")
        self.assertEqual(run.returncode, 2)
        self.assertIn("no benchmark 'nonsense'", run.stderr)


if __name__ == "__main__":
    unittest.main()
