#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# ctest: timeout=300
"""scripts/bench-malloc: what it runs, in which order, what it says and keeps, and its errors.

Times are not judged, only that they are there, belong together and are what the raw runs say. A
made-up mimalloc-bench of shell scripts stands for a real one; a copy of the drop-in under another
name is a peer.
"""
import csv
import json
import math
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import time
import unittest

SOURCE = os.environ.get("USLAB_SRC") or os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
BUILD = os.path.dirname(os.path.dirname(os.path.abspath(os.environ["USLAB_BIN"])))
DROP_IN = os.environ["USLAB_MALLOC_SO"]
sys.path.insert(0, os.path.join(SOURCE, "tests", "support"))
from folder import InOwnFolder  # noqa: E402

HEAD = "# benchmark allocator elapsed rss user sys page-faults page-reclaims"


class InFolder(InOwnFolder):
    def setUp(self):
        super().setUp()
        self.peer = os.path.join(self.folder, "libpeer.so")
        shutil.copy(DROP_IN, self.peer)

    def bench(self, *arguments, env=None, timeout=280):
        full = {k: v for k, v in os.environ.items() if k not in ("MIMALLOC_BENCH", "LD_PRELOAD")}
        return subprocess.run([sys.executable, os.path.join(SOURCE, "scripts", "bench-malloc"), "--build", BUILD,
                               *arguments], capture_output=True, text=True, check=False, cwd=self.folder,
                              env={**full, **(env or {})}, stdin=subprocess.DEVNULL, timeout=timeout)

    def quick(self, *arguments, status=0, peers=None, env=None):
        """A quick run with a copy of the drop-in as peer and glibc -> its JSON."""
        run = self.bench("--quick", "--peers", peers or f"peer={self.peer},glibc", "--json", "r.json", *arguments,
                         env=env)
        self.assertEqual(run.returncode, status, run.stdout + run.stderr)
        self.text, self.errors = run.stdout, run.stderr
        with open(os.path.join(self.folder, "r.json"), encoding="utf-8") as stream:
            result = json.load(stream)
        self.by_name = {c["name"]: c for c in result["contestants"]}
        return result

    def program(self, name, script):
        """A program of the made-up mimalloc-bench; its folder."""
        tree = os.path.join(self.folder, "mb")
        path = os.path.join(tree, "out", "bench", name)
        self.put(os.path.relpath(path, self.folder), "#!/bin/sh\n" + script)
        os.chmod(path, 0o755)
        return {"MIMALLOC_BENCH": tree}


class Results(InFolder):
    def test_numbers(self):
        """JSON, CSV and text of own loads agree with one another."""
        result = self.quick("--programs", "growth,churn-2,book", "--threads", "2", "--rounds", "3", "--csv", "r.csv")
        self.assertEqual([p["name"] for p in result["programs"]], ["growth", "churn-2", "book"])
        self.assertEqual(result["base"], "peer")
        self.assertEqual(result["settings"]["rounds"], 3)
        self.assertEqual({name: c["role"] for name, c in self.by_name.items()},
                         {"uslab": "uslab", "peer": "peer", "glibc": "system", "own-cache": "uslab"})
        self.assertIn("cpu", result["machine"])
        self.assertEqual(self.by_name["peer"]["library"], "libpeer.so")
        self.assertIn("--peers peer=libpeer.so,glibc", result["command"])
        self.assertNotIn(self.folder, self.text)
        for name, contestant in self.by_name.items():
            programs = {metric.split(".")[0] for metric in contestant["metrics"]}
            self.assertEqual(programs, {"book"} if name == "own-cache" else {"growth", "churn-2", "book"})
            for key, m in contestant["metrics"].items():
                self.assertEqual(len(m["samples"]), 3)
                self.assertAlmostEqual(m["median"], statistics.median(m["samples"]))
                self.assertTrue(m["min"] <= m["q1"] <= m["median"] <= m["q3"] <= m["max"], key)
                if key.split(".")[1] == "rss":
                    self.assertGreater(m["min"], 500)
                    base = self.by_name["peer"]["metrics"][key]["median"]
                    self.assertAlmostEqual(m["ratio"], m["median"] / base)
        self.check_means(result)
        self.check_csv(["growth", "churn-2", "book"])
        for line in ("time: medians", "peak resident memory: medians", "geometric mean, 3 in all"):
            self.assertIn(line, self.text)
        rows = re.findall(r"^growth +([\d.]+) +([\d.]+) +1\.000 +([\d.]+) +- ", self.text, re.M)
        self.assertEqual(len(rows), 5, self.text)  # tables
        _, last = self.text.split("resident memory when all is freed", 1)
        end = self.by_name["peer"]["metrics"]["churn-2.end"]
        self.assertRegex(last, rf"\nchurn-2 +{end['median']:.0f} +")
        self.assertEqual(end["ratio"], 1)
        growth = self.by_name["peer"]["metrics"]["growth.rss"]["median"]
        self.assertIn(f"{growth:.0f}", [row[0] for row in rows])

    def check_means(self, result):
        """Of the ratios of all programs, computed once more."""
        ratios = [self.by_name["uslab"]["metrics"][f"{p['name']}.rss"]["ratio"] for p in result["programs"]]
        self.assertAlmostEqual(result["means"]["all"]["uslab"]["rss"],
                               math.prod(ratios) ** (1 / len(ratios)))
        self.assertEqual(result["means"]["all"]["peer"], {"time": 1, "cpu": 1, "rss": 1})
        self.assertNotIn("own-cache", result["means"]["all"])

    def check_csv(self, programs):
        """mimalloc-bench's: one line for each run, figures as in the JSON."""
        with open(os.path.join(self.folder, "r.csv"), encoding="utf-8") as stream:
            head, *lines = stream.read().splitlines()
        self.assertEqual(head, HEAD)
        runs = list(csv.reader((re.sub(" +", " ", line) for line in lines), delimiter=" "))
        self.assertEqual({len(run) for run in runs}, {8})
        self.assertEqual(len(runs), 3 * (3 * len(programs) + 1))
        peaks = [float(run[3]) for run in runs if run[:2] == [programs[0], "sys"]]
        self.assertEqual(sorted(peaks),
                         sorted(self.by_name["glibc"]["metrics"][f"{programs[0]}.rss"]["samples"]))

    def test_output(self):
        """What is printed is kept; --json - prints the JSON only."""
        run = self.bench("--quick", "--peers", "glibc", "--programs", "growth", "--output", "kept/here")
        self.assertEqual(run.returncode, 0, run.stderr)
        kept = os.path.join(self.folder, "kept", "here")
        self.assertEqual(sorted(os.listdir(kept)),
                         ["loads.csv", "loads.json", "loads.txt"])
        with open(os.path.join(kept, "loads.txt"), encoding="utf-8") as stream:
            self.assertEqual(stream.read(), run.stdout)
        with open(os.path.join(kept, "loads.json"), encoding="utf-8") as stream:
            self.assertEqual(json.load(stream)["benchmark"], "loads")
        run = self.bench("--quick", "--peers", "glibc", "--programs", "growth", "--json", "-")
        self.assertEqual(json.loads(run.stdout)["base"], "glibc")

    def test_relative_build(self):
        """Programs run in other folders: what is preloaded there is the library all the same."""
        tree = self.program("cfrac", f"echo \"$LD_PRELOAD\" >>{self.folder}/preloaded\n")
        self.quick("--build", os.path.relpath(BUILD, self.folder), "--programs", "cfrac", peers="glibc", env=tree)
        with open(os.path.join(self.folder, "preloaded"), encoding="utf-8") as stream:
            self.assertEqual(sorted({line.strip() for line in stream}),
                             ["", os.path.join(BUILD, "lib", "libuslab_malloc.so")])

    def test_applications(self):
        """A server is measured although it waits for clients; what is not installed is not run."""
        result = self.quick("--programs", "perl,redis-server", env={"PERL_BADLANG": "0"})
        ran = [p["name"] for p in result["programs"]]
        self.assertEqual(sorted(ran + [p["name"] for p in result["absent"]]), ["perl", "redis-server"])
        self.assertEqual("perl" in ran, bool(shutil.which("perl")))
        for name in ran:
            for contestant in ("uslab", "peer", "glibc"):
                metrics = self.by_name[contestant]["metrics"]
                self.assertGreater(metrics[f"{name}.time"]["median"], 0)
                self.assertGreater(metrics[f"{name}.rss"]["median"], 3000)

    def test_loads(self):
        """Each load with some threads; what they say of themselves arrives."""
        result = self.quick("--programs", "loads", "--threads", "2,5", "--peers", f"peer={self.peer}")
        self.assertEqual(len(result["programs"]), 16)
        for program in result["programs"]:
            metrics = self.by_name["uslab"]["metrics"]
            self.assertGreater(metrics[f"{program['name']}.ns"]["median"], 0)
            self.assertGreater(metrics[f"{program['name']}.end"]["median"], 500)
        self.assertEqual({key.split(".")[0] for key in self.by_name["own-cache"]["metrics"]},
                         {"book", "table-2", "table-5", "server-2", "server-5", "list-queue", "list-fill",
                          "map-small", "map-replace"})


class MimallocBench(InFolder):
    def test_a_built_one(self):
        """Its programs run with its arguments; those that say their time have that."""
        self.put("mb/bench/barnes/input", "seen\n")
        env = self.program("larson", 'echo "ran $*" >&2; test "$6" = 4141 || exit 9\n'
                           'echo "Throughput = 5 operations per second, relative time: 61.500s."\n')
        self.program("barnes", 'read word; test "$word" = seen\n')
        result = self.quick("--programs", "mimalloc-bench,larson-*,barnes", "--threads", "3,64", "--csv", "r.csv",
                            env=env)
        self.assertEqual([p["name"] for p in result["programs"]], ["barnes", "larson-3"])
        self.assertTrue(result["programs"][1]["relative"])
        self.assertEqual(self.by_name["glibc"]["metrics"]["larson-3.time"]["samples"], [61.5])
        m = {name: self.by_name["glibc"]["metrics"][f"larson-3.{name}"]["median"]
             for name in ("wall", "user", "sys", "cpu")}
        self.assertLess(m["wall"], 30)
        self.assertAlmostEqual(m["cpu"], (m["user"] + m["sys"]) * 61.5 / m["wall"])
        with open(os.path.join(self.folder, "r.csv"), encoding="utf-8") as stream:
            self.assertRegex(stream.read(), r"larson-3 +sys +1:01\.500 \d+ [\d.]+ [\d.]+ \d+ \d+\n")
        absent = {p["name"]: p["why"] for p in result["absent"]}
        self.assertIn("out/bench/cfrac", absent["cfrac"])
        self.assertNotIn("barnes", absent)
        self.assertIn("bench-malloc: cfrac is not run: no ", self.errors)

    def test_relative_times(self):
        """What each of them prints, and the seconds that mimalloc-bench makes of it."""
        said = {"rptest": ("3 threads [8,16000] 500 loops: ........2500000 memory ops/CPU second (60MiB peak)", 0.8),
                "xmalloc-test": ("rtime: 4.557, free/sec: 21.942 M", 4.557),
                "glibc-thread": ("50000000 iterations", 20),
                "larson-sized": ("Throughput = 167 operations per second, relative time: 59.779s.", 59.779)}
        for name, (text, _) in said.items():
            env = self.program(name, f"echo Done 1 2.5; echo '{text}'\n")
        self.quick("--programs", ",".join(f"{name}-3" for name in said), "--threads", "3", env=env)
        for name, (_, seconds) in said.items():
            self.assertAlmostEqual(self.by_name["peer"]["metrics"][f"{name}-3.time"]["median"], seconds)

    def test_redis(self):
        """Its own server and benchmark; here they are the installed ones."""
        tools = [shutil.which(name) for name in ("redis-server", "redis-benchmark")]
        if None in tools:
            self.skipTest("redis is not installed")
        env = self.program("cfrac", "true\n")
        sources = os.path.join(self.folder, "mb", "extern", "redis-1.2", "src")
        os.makedirs(sources)
        for tool in tools:
            os.symlink(tool, os.path.join(sources, os.path.basename(tool)))
        self.quick("--programs", "redis", env=env, peers=f"peer={self.peer}")
        m = self.by_name["peer"]["metrics"]
        self.assertGreater(m["redis.time"]["median"], 0)
        self.assertNotEqual(m["redis.time"]["median"], m["redis.wall"]["median"])

    def test_one_that_does_not_say_its_time(self):
        env = self.program("larson", "echo nothing\n")
        result = self.quick("--programs", "larson-2", status=1, env=env)
        self.assertIn("does not say how long", result["failed"][0]["why"])

    def test_order(self):
        """All in turn within a round, and the rounds begin with another one."""
        env = self.program("cfrac", 'echo "${LD_PRELOAD-none} $MARK" >> "$MARKS"\n')
        marks = os.path.join(self.folder, "marks")
        self.put("peers", "# two lines\nfirst=libpeer.so 1.2 beta MARK=here\n\nlast=./libpeer.so\n")
        result = self.quick("--programs", "cfrac", "--rounds", "3", peers="@peers,glibc",
                            env={**env, "MARKS": marks, "MARK": "there"})
        with open(marks, encoding="utf-8") as stream:
            seen = [line.split() for line in stream]
        names = [("uslab", "there"), ("libpeer.so", "here"), ("libpeer.so", "there"), ("none", "there")]
        found = [("uslab" if "libuslab" in path else os.path.basename(path), mark) for path, mark in seen]
        self.assertEqual(found, names + names[1:] + names[:1] + names[2:] + names[:2])
        self.assertEqual(self.by_name["first"]["version"], "1.2 beta")
        self.assertEqual(self.by_name["first"]["environment"], {"MARK": "here"})
        self.assertEqual(self.by_name["last"]["version"], None)
        self.assertEqual(result["base"], "first")

    def test_failure(self):
        """A program that fails with one of them is said to, is in no mean, and is not run again."""
        env = self.program("cfrac", 'case "$LD_PRELOAD" in *libpeer*) echo x >> "$MARKS"; echo sorry >&2; '
                           'exit 3;; esac\n')
        self.program("espresso", "true\n")
        marks = os.path.join(self.folder, "marks")
        result = self.quick("--programs", "cfrac,espresso", "--rounds", "2", "--base", "glibc", status=1,
                            env={**env, "MARKS": marks})
        self.assertEqual(result["failed"], [{"program": "cfrac", "contestant": "peer", "why": "status 3: sorry"}])
        self.assertIn("geometric mean, 1 in all", self.text)
        self.assertIn("cfrac with peer: status 3: sorry", self.text)
        self.assertNotIn("cfrac.time", self.by_name["peer"]["metrics"])
        self.assertIn("cfrac.time", self.by_name["uslab"]["metrics"])
        with open(marks, encoding="utf-8") as stream:
            self.assertEqual(stream.read(), "x\n")

    def test_timeout(self):
        """What takes too long is ended, with all that it started."""
        env = self.program("cfrac", 'sleep 100 & echo $! >> "$MARKS"; wait\n')
        marks = os.path.join(self.folder, "marks")
        result = self.quick("--programs", "cfrac", "--timeout", "1", status=1, env={**env, "MARKS": marks})
        self.assertEqual({f["why"] for f in result["failed"]}, {"not done after 1 s"})
        with open(marks, encoding="utf-8") as stream:
            for pid in stream.read().split():
                self.assertFalse(self.runs(pid), pid)

    def test_interrupt(self):
        for sent in signal.SIGINT, signal.SIGTERM:
            with self.subTest(sent.name):
                self.interrupt(sent)

    def interrupt(self, sent):
        """The runs so far are kept, the program that runs is ended, and no folder stays."""
        env = self.program("cfrac", 'echo $$ >> "$MARKS"; test $(wc -l < "$MARKS") -lt 4 || exec sleep 100\n')
        marks = os.path.join(self.folder, f"marks-{sent}")
        temporary = os.path.join(self.folder, "temporary")
        os.makedirs(temporary, exist_ok=True)
        command = [sys.executable, os.path.join(SOURCE, "scripts", "bench-malloc"), "--build", BUILD, "--rounds", "2",
                   "--peers", "glibc", "--programs", "cfrac", "--json", "r.json"]
        with subprocess.Popen(command, env={**os.environ, **env, "MARKS": marks, "TMPDIR": temporary},
                              cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                              preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler)) as run:
            while not self.lines(marks, 4):
                time.sleep(0.05)
                self.assertIsNone(run.poll())
            run.send_signal(sent)
            self.assertIn("interrupted: these are the runs so far", run.communicate(timeout=60)[1])
        self.assertEqual(run.returncode, 130)
        self.assertEqual(os.listdir(temporary), [])
        self.assertFalse(self.runs(self.lines(marks, 4)[-1]))
        with open(os.path.join(self.folder, "r.json"), encoding="utf-8") as stream:
            samples = [len(c["metrics"]["cfrac.time"]["samples"]) for c in json.load(stream)["contestants"]]
        self.assertEqual(samples, [1, 2])  # the second round begins with the second of them

    @staticmethod
    def lines(path, number):
        """Of a file, once there are so many."""
        if not os.path.exists(path):
            return None
        with open(path, encoding="utf-8") as stream:
            found = stream.read().splitlines()
        return found if len(found) == number else None

    @staticmethod
    def runs(pid):
        """Still, after seconds? A process that was killed is there for a moment."""
        for _ in range(1000):
            try:
                with open(f"/proc/{pid}/stat", encoding="utf-8") as stream:
                    if stream.read().rsplit(")", 1)[1].split()[0] == "Z":
                        return False
            except OSError:
                return False
            time.sleep(0.01)
        return True

    def test_list(self):
        env = self.program("cfrac", "true\n")
        run = self.bench("--list", "--threads", "2,64", env=env)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertRegex(run.stdout, r"(?m)^cfrac +mimalloc-bench +cfrac 1754\d+\nespresso .*\n +cannot run: no ")
        for name in ("churn-2", "churn-64", "growth", "gcc", "redis-server", "larson-2", "sh6bench-4"):
            self.assertRegex(run.stdout, rf"(?m)^{re.escape(name)} ")
        self.assertNotRegex(run.stdout, r"(?m)^larson-64 ")
        self.assertNotIn("cfrac", self.bench("--list").stdout)


class WrongUse(InFolder):
    def wrong(self, status, word, *arguments, env=None):
        run = self.bench("--quick", *arguments, env=env)
        self.assertEqual(run.returncode, status, (arguments, run.stderr))
        self.assertEqual(run.stdout, "")
        self.assertIn(word, run.stderr)
        self.assertNotIn("Traceback", run.stderr)

    def test_wrong_use(self):
        self.put("bad", "peer libpeer.so\n")
        self.wrong(2, "no program 'fast'", "--programs", "growth,fast")
        self.wrong(2, "no peer 'hoard'", "--peers", "hoard")
        self.wrong(2, "'peer libpeer.so' is not NAME=PATH", "--peers", "@bad")
        self.wrong(2, "'a b' is no name", "--peers", f"a b={self.peer}")
        self.wrong(2, "two peers are named a", "--peers", f"a={self.peer},a={self.peer}")
        self.wrong(2, "--base nobody", "--peers", "glibc", "--base", "nobody")
        self.wrong(2, "at least one round", "--rounds", "0")
        self.wrong(2, "2 to 64 threads", "--threads", "1")
        self.wrong(2, "no list of numbers", "--threads", "two")

    def test_what_is_not_there(self):
        self.put("none/out/bench/readme", "")
        self.wrong(1, "there is no library /no/lib.so (peer)", "--peers", "peer=/no/lib.so")
        self.wrong(1, "cannot read the list of peers: nowhere", "--peers", "@nowhere")
        self.wrong(1, "build mimalloc-bench's programs first", env={"MIMALLOC_BENCH": self.folder})
        self.wrong(1, "build first: make", "--build", "empty", "--peers", "glibc")
        self.wrong(1, "no program is left to run", "--peers", "glibc", "--programs", "cfrac",
                   env={"MIMALLOC_BENCH": "none"})

    def test_library_that_is_not_taken(self):
        """The dynamic linker only warns; glibc must not pass for the peer."""
        self.put("fake.so", "no library")
        self.wrong(1, "not from ", "--peers", f"fake={os.path.join(self.folder, 'fake.so')}")


if __name__ == "__main__":
    sys.exit(unittest.main(verbosity=1))
