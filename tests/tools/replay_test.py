#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""uslab replay: counts against an independent reading of the traces, fronts, formats, errors.

The traces in tests/data are read here once more, with regular expressions and a dictionary of live
pointers, and every count that the command prints has to agree; so has the library's own count of
live objects. Messages and exit statuses are compared to the letter.
"""
import json
import os
import re
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from folder import InOwnFolder  # noqa: E402

SOURCE = os.environ.get("USLAB_SRC") or os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
BINARY = os.environ.get("USLAB_BIN") or os.path.join(SOURCE, "build", "release", "bin", "uslab")
DATA = os.path.join(SOURCE, "tests", "data")
DEMO = os.path.join(SOURCE, "data", "hackbench-demo.txt.zst")
FRONTS = ("array", "cpuslab", "none")
PAIRS = (("slob:1991", "none"), ("slob", "none"), ("slobseg:pow2", "none"), ("slobseg", "none"),
         ("slab", "queues"), ("slab", "none"), ("slob", "array"), ("slobseg", "queues"))
KINDS = ("kmalloc", "kmalloc_node", "kmem_cache_alloc", "kmem_cache_alloc_node", "kfree",
         "kmem_cache_free")
FORMAT = "an event of the kernel's: 'TASK-PID [CPU] TIME: EVENT: FIELDS'"
CUT = "expected the rest of the line and a newline, found the end of the file"


def data(name):
    return os.path.join(DATA, name)


def run(*arguments, stdin=None, env=None):
    environment = {k: v for k, v in os.environ.items() if k != "USLAB_CONF"}
    environment.update(env or {})
    return subprocess.run([BINARY, "replay", *arguments], input=stdin, capture_output=True,
                          env=environment, timeout=300, check=False)


def replay(*arguments, **keywords):
    """The JSON of a replay that has to succeed."""
    done = run("--json", *arguments, **keywords)
    if done.returncode:
        raise AssertionError(f"{arguments}: status {done.returncode}: {done.stderr.decode()}")
    return json.loads(done.stdout)


def bytes_of(path):
    with open(path, "rb") as stream:
        return stream.read()


def text_of(path):
    if path.endswith(".zst"):
        return subprocess.run(["zstd", "-dcq", path], capture_output=True, check=True).stdout
    return bytes_of(path)


def number(text):
    return int(text, 16) if text.startswith("0x") else int(text)


def kmalloc_size(size):
    """Of the kernel's cache that serves it."""
    return next(s for s in sorted([96, 192] + [8 << i for i in range(11)]) if s >= size)


def cache_of(kind, size, fields):
    """What is one cache; None: a normal one of kmalloc's."""
    flags = fields["gfp_flags"].split("|")
    asked = any(flag.endswith("_ACCOUNT") for flag in flags)
    accounted = fields.get("accounted") in ("true", "1")
    if kind.startswith("kmem"):
        stride = number(fields["bytes_alloc"])
        if "name" in fields:
            return fields["name"], (size + 7) // 8, stride
        return None, size, stride, accounted and not asked
    if size > 8192:
        return None
    if any(flag in ("GFP_DMA", "__GFP_DMA") for flag in flags):
        return "dma-kmalloc", kmalloc_size(size)
    reclaimable = any(flag.endswith(("_RECLAIMABLE", "_TEMPORARY")) for flag in flags)
    return ("kmalloc-cg", kmalloc_size(size)) if accounted and not reclaimable else None


def events(count, size, stride, name=None, kind="kmem_cache_alloc", rest="", first=1,
           gfp="GFP_KERNEL"):
    """The text of so many allocations that are all alive."""
    fields = f"{'name=' + name + ' ' if name else ''}bytes_req={size} bytes_alloc={stride}"
    return "".join(f"     x-1     [000] .....     1.{i:06d}: {kind}: call_site=f "
                   f"ptr={i:x}0000 {fields} gfp_flags={gfp}{rest}\n"
                   for i in range(first, first + count)).encode()


class Expected:
    """A trace, counted independently of the command."""

    LINE = re.compile(r".*\[\d+\] +(?:[^ ]+ +)?[\d.]+: +(?:kmem:)?(\w+): (.*)")

    def __init__(self, text, limit=None):
        self.trace = dict.fromkeys((*KINDS, "matched_frees", "implied_frees", "unmatched_frees",
                                    "null_frees", "failed", "zero_size", "too_large",
                                    "allocations"), 0)
        self.objects = {"peak": 0}
        self.live, self.caches, self.requested, self.peak = {}, set(), 0, 0
        events = 0
        for line in text.decode().splitlines():
            match = None if line.startswith("#") else self.LINE.match(line)
            if not match or match.group(1) not in KINDS:
                continue
            if events == limit:
                break
            events += 1
            self.trace[match.group(1)] += 1
            self.event(match.group(1), dict(re.findall(r"(\w+)= *(\S+)", match.group(2))))
        self.caches.discard(None)
        self.trace["events"] = events
        self.objects["live"] = self.objects["live_library"] = len(self.live)

    def end_of(self, pointer, implied):
        if pointer in self.live:
            self.requested -= self.live.pop(pointer)
            self.trace["matched_frees"] += 1
            self.trace["implied_frees"] += implied
            return True
        return False

    def event(self, kind, fields):
        text = fields["ptr"]
        pointer = 0 if text in ("(null)", "(nil)") else int(text, 16)
        if kind in ("kfree", "kmem_cache_free"):
            if pointer in (0, 16):
                self.trace["null_frees"] += 1
            elif not self.end_of(pointer, 0):
                self.trace["unmatched_frees"] += 1
            return
        size = number(fields["bytes_req"])
        if pointer == 0:
            self.trace["failed"] += 1
            return
        self.end_of(pointer, 1)
        if size == 0 or size > 4 << 20:
            self.trace["zero_size" if size == 0 else "too_large"] += 1
            return
        self.caches.add(cache_of(kind, size, fields))
        self.live[pointer] = size
        self.requested += size
        self.peak = max(self.peak, self.requested)
        self.trace["allocations"] += 1
        self.objects["peak"] = max(self.objects["peak"], len(self.live))


class Replay(InOwnFolder):
    maxDiff = None

    def agrees(self, got, expected):
        for section in ("trace", "objects"):
            wanted = getattr(expected, section)
            self.assertEqual({k: got[section][k] for k in wanted}, wanted)
        self.assertEqual(got["replay"]["caches"], len(expected.caches))
        self.assertEqual(got["bytes"]["requested_peak"], expected.peak)
        self.assertEqual(got["bytes"]["requested_end"], expected.requested)
        self.assertEqual(got["objects"]["out_of_memory"], 0)
        self.assertEqual(got["time"]["alloc"]["operations"], expected.trace["allocations"])
        self.assertEqual(got["time"]["free"]["operations"], expected.trace["matched_frees"])

    def fails(self, message, *arguments, status=1, **keywords):
        done = run(*arguments, **keywords)
        self.assertEqual((done.returncode, done.stdout.decode(), done.stderr.decode()),
                         (status, "", message))

    # ---- counts ----

    def test_pieces_of_real_traces_under_every_front(self):
        for name in ("hackbench.txt.zst", "gcc.txt.zst"):
            expected = Expected(text_of(data(name)))
            self.assertGreater(expected.trace["implied_frees"]
                               + expected.trace["unmatched_frees"], 0)
            for front in FRONTS:
                with self.subTest(name=name, front=front):
                    got = replay(data(name), "--engine", "slub", "--front", front)
                    self.agrees(got, expected)
                    self.assertEqual(got["replay"]["front"], front)
                    self.assertEqual(got["replay"]["engine"], "slub")
                    bytes_ = got["bytes"]
                    self.assertLessEqual(bytes_["requested_peak"],
                                         bytes_["slabs_peak"] + bytes_["large_peak"])
                    self.assertLessEqual(bytes_["requested_end"],
                                         bytes_["slabs_end"] + bytes_["large_end"])

    def test_every_engine(self):
        """The same objects for all, kfree() of an object of a cache included."""
        for name in ("hackbench.txt.zst", "gcc.txt.zst", "old-kernels.txt"):
            expected = Expected(text_of(data(name)))
            for engine, front in PAIRS:
                with self.subTest(name=name, engine=engine, front=front):
                    got = replay(data(name), "-e", engine, "-f", front, "--free-at-end")
                    self.agrees(got, expected)
                    self.assertEqual((got["replay"]["engine"], got["replay"]["front"]),
                                     (engine, front))
                    self.assertEqual(got["objects"]["live_freed"], 0)

    # ---- made-up machines ----

    def test_made_up_machine(self):
        expected = Expected(text_of(data("gcc.txt.zst")))
        for engine, front in (("slub", "array"), ("slub", "cpuslab"), ("slab", "queues")):
            got = replay(data("gcc.txt.zst"), "-e", engine, "-f", front, "--cpus", "1",
                         "--free-at-end")
            self.agrees(got, expected)
            self.assertEqual(got["replay"]["made_up_cpus"], 1)
            one = got["bytes"]["slabs_end"]
            got = replay(data("gcc.txt.zst"), "-e", engine, "-f", front, "--cpus", "6",
                         "--nodes", "2", "--free-at-end")
            self.agrees(got, expected)
            self.assertEqual([got["replay"][k] for k in ("made_up_cpus", "made_up_nodes",
                                                         "copies")], [6, 2, 1])
            # the trace's two CPUs have a front each: CPU 0 and 1 of the same node
            self.assertGreater(got["bytes"]["slabs_end"], one)

    def test_spread(self):
        """Eight CPUs are four copies of a trace of two; an odd one is left over."""
        path = data("gcc.txt.zst")
        once = replay(path, "--cpus", "2")
        self.assertEqual(once["trace"]["cpus"], 2)
        for cpus, copies in ((1, 1), (8, 4), (9, 4)):
            got = replay(path, "--cpus", str(cpus), "--spread", "--free-at-end")
            self.assertEqual(got["replay"]["copies"], copies)
            self.assertEqual(got["objects"]["live"], copies * once["objects"]["live"])
            self.assertEqual(got["objects"]["live_library"], got["objects"]["live"])
            self.assertEqual(got["objects"]["live_freed"], 0)
            self.assertEqual(got["objects"]["peak"], copies * once["objects"]["peak"])
            for key in ("requested_peak", "requested_end"):
                self.assertEqual(got["bytes"][key], copies * once["bytes"][key])
            self.assertEqual(got["trace"], once["trace"])
            self.assertEqual(copies * (got["trace"]["allocations"] - got["trace"]["matched_frees"]),
                             got["objects"]["live"])
            for verb in ("alloc", "free"):
                self.assertEqual(got["time"][verb]["operations"],
                                 copies * once["time"][verb]["operations"])
            self.assertGreater(got["bytes"]["slabs_peak"], copies * 3 // 4
                               * once["bytes"]["slabs_peak"])

    def test_spread_of_high_cpus(self):
        """Only CPUs that have events count, and copies of others fill the machine like theirs."""
        text = events(300, 64, 64, "a")
        high = text.replace(b"[000]", b"[040]")
        for content, cpus, copies in ((text, 1, 4), (high, 1, 4),
                                      (text + events(300, 64, 64, "a", first=400)
                                       .replace(b"[000]", b"[004]"), 2, 2)):
            got = replay("-", "--cpus", "4", "--spread", "-e", "slub", "-f", "cpuslab", "--stats",
                         stdin=content)
            self.assertEqual((got["trace"]["cpus"], got["replay"]["copies"]), (cpus, copies))
            # the CPU slab of each of the four is another one: of 1200 objects as many miss
            stats = next(cache for cache in got["statistics"] if cache["name"] == "a")
            self.assertEqual(stats["alloc_slab"], 4 * -(-300 // 64))
            self.assertEqual(got["objects"]["live"], 1200)

    def test_demo_trace(self):
        self.agrees(replay(DEMO), Expected(text_of(DEMO)))

    def test_formats_are_the_same_trace(self):
        first = None
        for name in ("tracefs", "trace-cmd", "perf", "perf-callchain"):
            path = data(f"formats-{name}.txt")
            got = replay(path)
            self.agrees(got, Expected(text_of(path)))
            first = first or got
            for section in ("objects", "bytes"):
                self.assertEqual(got[section], first[section], name)
            self.assertEqual(got["replay"]["caches"], first["replay"]["caches"])
            self.assertEqual(got["trace"]["cpus"], first["trace"]["cpus"])

    def test_old_kernels(self):
        path = data("old-kernels.txt")
        got = replay(path)
        self.agrees(got, Expected(text_of(path)))
        trace = got["trace"]
        self.assertEqual((trace["ignored"], trace["gaps"], trace["lost"]), (1, 2, 130))
        # a kmalloc of 16344 bytes has no cache
        self.assertEqual((got["bytes"]["large_peak"], got["bytes"]["large_end"]), (16384, 0))

    def test_text_and_json_have_the_same_numbers(self):
        path = data("gcc.txt.zst")
        arguments = (path, "--front", "cpuslab", "--stats", "--free-at-end")
        got = replay(*arguments)
        lines = iter(run(*arguments).stdout.decode().splitlines())
        for section in ("trace", "replay", "objects", "bytes"):
            self.assertEqual(next(lines).lower(), section)
            for key, value in got[section].items():
                words = re.match(r"  .{40} +(\S+)", next(lines)).group(1)
                if key not in ("cpu", "seconds"):
                    self.assertEqual(words, str(value), key)
        rest = list(lines)
        self.assertEqual(rest[0], "Time of one operation")
        for verb, line in zip(("alloc", "free"), rest[5:7]):
            self.assertEqual(line.split()[:2], [verb, str(got["time"][verb]["operations"])])
        events = [line.split() for line in rest[7:]]
        wanted = []
        for cache in got["statistics"]:
            wanted += [["Events"], ["cache", cache.pop("name")],
                       ["object", "size", str(cache.pop("object_size"))]]
            wanted += [[key, str(value)] for key, value in cache.items() if value]
        self.assertEqual(events, wanted)

    def test_times_are_in_order(self):
        got = replay(data("hackbench.txt.zst"))["time"]
        for verb in ("alloc", "free"):
            values = [got[verb][k] for k in ("median_ns", "p99_ns", "p99_9_ns", "max_ns")]
            self.assertEqual(values, sorted(values))
            self.assertGreater(values[-1], 0)
        self.assertGreater(got["clock_ns"], 0)

    def test_seconds_of_short_traces(self):
        """They are thousandths, and no more than that is rounded away."""
        for arguments in (("--json",), ()):
            self.assertRegex(run(*arguments, data("vector1.txt")).stdout.decode(),
                             r'("seconds":|seconds per round) *\d+\.\d{6}\b')

    def test_time_of_nothing(self):
        """Where nothing is freed nothing is known of the time that it takes."""
        line = "kmalloc: call_site=f ptr=01 bytes_req=1 bytes_alloc=8 gfp_flags=GFP_KERNEL"
        got = replay(self.put("one", f"     x-1     [000] .....     1.000001: {line}\n".encode()))["time"]["free"]
        self.assertEqual((got["operations"], got["median_ns"], got["max_ns"]), (0, None, None))

    # ---- statistics of the specification ----

    def statistics(self, name, events):
        got = replay(data(name), "--events", str(events), "--engine", "slub", "--front",
                     "cpuslab", "--stats")
        self.assertEqual([c["name"] for c in got["statistics"]], ["vector"])
        return {k: v for k, v in got["statistics"][0].items() if v and k != "name"}

    def test_vector_1(self):
        """65 allocations take two slabs; frees of the full one put it on the CPU's list."""
        wanted = {"object_size": 64, "alloc_fastpath": 63, "alloc_slowpath": 2, "alloc_slab": 2,
                  "deactivate_bypass": 1}
        self.assertEqual(self.statistics("vector1.txt", 65), wanted)
        wanted.update(free_slowpath=1, cpu_partial_free=1)
        self.assertEqual(self.statistics("vector1.txt", 66), wanted)
        wanted.update(free_slowpath=3, free_frozen=2)
        self.assertEqual(self.statistics("vector1.txt", 68), wanted)

    def test_vector_2(self):
        """When slab 2 is used up, slab 1 comes back from the CPU's list and is refilled from."""
        wanted = {"object_size": 64, "alloc_fastpath": 126, "alloc_slowpath": 2, "alloc_slab": 2,
                  "deactivate_bypass": 1, "free_slowpath": 1, "cpu_partial_free": 1}
        self.assertEqual(self.statistics("vector2.txt", 129), wanted)
        wanted.update(alloc_slowpath=3, deactivate_bypass=2, cpu_partial_alloc=1, alloc_refill=1)
        self.assertEqual(self.statistics("vector2.txt", 130), wanted)

    def test_vector_3(self):
        """The fifth slab for the CPU's list finds four: they go to the node."""
        wanted = {"object_size": 64, "alloc_fastpath": 315, "alloc_slowpath": 6, "alloc_slab": 6,
                  "deactivate_bypass": 5, "free_slowpath": 4, "cpu_partial_free": 4}
        self.assertEqual(self.statistics("vector3.txt", 325), wanted)
        wanted.update(free_slowpath=5, cpu_partial_free=5, cpu_partial_drain=1,
                      free_add_partial=4)
        self.assertEqual(self.statistics("vector3.txt", 326), wanted)

    # ---- options ----

    def test_events_stops_early(self):
        text = text_of(data("gcc.txt.zst"))
        for limit in (1, 777, 10 ** 9):
            self.agrees(replay(data("gcc.txt.zst"), "-n", str(limit)),
                        Expected(text, limit))

    def test_rounds_start_fresh(self):
        path = data("hackbench.txt.zst")
        one, three = replay(path), replay(path, "--rounds", "3")
        self.assertEqual(three["replay"]["rounds"], 3)
        self.assertEqual(three["objects"], one["objects"])
        self.assertEqual(three["bytes"]["slabs_end"], one["bytes"]["slabs_end"])

    def test_free_at_end(self):
        got = replay(data("hackbench.txt.zst"), "--free-at-end", "--front", "none")
        self.assertEqual(got["objects"]["live_freed"], 0)
        self.assertGreater(got["objects"]["live"], 0)
        self.assertLess(got["bytes"]["slabs_freed"], got["bytes"]["slabs_end"])

    def test_merging(self):
        """Names are those of caches after the kernel's merging; without them it is done here."""
        text = text_of(data("gcc.txt.zst"))
        for content, merges in ((text, False), (re.sub(rb" name=\S+", b"", text), True)):
            merged = replay("-", stdin=content)["replay"]
            apart = replay("-", "--nomerge", stdin=content)["replay"]
            self.assertEqual(merged["library_caches"] < merged["caches"], merges)
            self.assertEqual(apart["library_caches"], apart["caches"])
            self.assertEqual((merged["merging"], apart["merging"]), ("on", "off"))

    def merged(self, *pieces):
        """How many caches serve these pieces of traces, of how many."""
        text = b"".join(events(3, first=100 * i + 1, **piece) for i, piece in enumerate(pieces))
        got = replay("-", stdin=text)["replay"]
        return got["library_caches"], got["caches"]

    def test_what_merges(self):
        plain = {"size": 60, "stride": 64}
        self.assertEqual(self.merged(plain, {"size": 64, "stride": 64}), (1, 2))
        # SLUB looks at the stride alone: an alignment is no flag that keeps caches apart
        self.assertEqual(self.merged({"size": 224, "stride": 256}, {"size": 250, "stride": 256}),
                         (1, 2))
        self.assertEqual(self.merged(plain, {"size": 64, "stride": 72}), (2, 2))
        # a free pointer outside: it has a constructor, or RCU
        self.assertEqual(self.merged({"size": 64, "stride": 72}, {"size": 72, "stride": 72}),
                         (2, 2))
        self.assertEqual(self.merged(dict(plain, rest=" accounted=true"),
                                     dict(plain, rest=" accounted=false")), (2, 2))
        self.assertEqual(self.merged(dict(plain, name="a"), dict(plain, name="b")), (2, 2))
        # merging has raised the size of the objects of one cache
        self.assertEqual(self.merged(dict(plain, name="a"),
                                     {"size": 64, "stride": 64, "name": "a"}), (1, 1))

    # ---- strides ----

    def slab_bytes(self, engine, size, stride, count=2048):
        got = replay("-", "-e", engine, "-f", "none", "-t", "all",
                     stdin=events(count, size, stride, "a"))
        self.assertEqual(got["objects"]["live_library"], count)
        return got["bytes"]["slabs_end"] / count

    def test_strides(self):
        """As far apart as in the kernel, and what an alignment or a constructor is elsewhere."""
        for size, stride, others in ((224, 256, 256), (1568, 1600, 1600), (24, 32, 32),
                                   (96, 104, 96), (1120, 1128, 1120), (192, 192, 192),
                                   (768, 832, 768), (61, 72, 64)):
            for engine in ("slub", "slab", "slobseg", "slob"):
                with self.subTest(size=size, stride=stride, engine=engine):
                    got = self.slab_bytes(engine, size, stride)
                    wanted = stride if engine == "slub" else others
                    # the last object of SLOB's pages needs no alignment behind it
                    self.assertGreaterEqual(got, size if engine == "slob" else wanted)
                    self.assertLess(got, wanted * (1.45 if size > 1000 else 1.15))

    def test_constructed_objects_may_be_cleared(self):
        """With RCU the kernel clears objects as well."""
        done = run("-", "-t", "all", stdin=events(40, 96, 104, "a", gfp="GFP_KERNEL|__GFP_ZERO"))
        self.assertEqual((done.returncode, done.stderr), (0, b""))

    def test_strides_that_nothing_explains(self):
        got = replay("-", stdin=events(10, 64, 256, "a") + events(10, 64, 64, "b", first=20))
        self.assertEqual((got["replay"]["unknown_strides"], got["replay"]["caches"]), (1, 2))

    # ---- kinds of kmalloc ----

    def names(self, text, *arguments):
        got = replay("-", "--stats", *arguments, stdin=text)
        return [cache["name"] for cache in got["statistics"]]

    def test_kinds_of_kmalloc(self):
        text = b"".join(events(5, size, 8, kind="kmalloc", gfp=gfp, rest=rest, first=first)
                        for size, gfp, rest, first in (
                            (60, "GFP_KERNEL", " node=-1 accounted=false", 1),
                            (61, "GFP_KERNEL_ACCOUNT", " node=-1 accounted=true", 10),
                            (62, "GFP_KERNEL|GFP_DMA", "", 20),
                            (63, "GFP_KERNEL_ACCOUNT|__GFP_RECLAIMABLE", " accounted=true", 30),
                            (20, "GFP_KERNEL_ACCOUNT", " accounted=true", 40),
                            (5, "GFP_KERNEL_ACCOUNT", " accounted=true", 50),
                            (9000, "GFP_KERNEL_ACCOUNT", " accounted=true", 60)))
        normal = ["kmalloc-64", "kmalloc-rcl-64"]
        wanted = normal + ["dma-kmalloc-64", "kmalloc-cg-32", "kmalloc-cg-64", "kmalloc-cg-8"]
        self.assertEqual(sorted(self.names(text, "-f", "cpuslab")), sorted(wanted))
        for engine, front in (("slub", "array"), ("slab", "queues"), ("slob", "none"),
                              ("slob", "array"), ("slobseg:pow2", "none")):
            got = replay("-", "-e", engine, "-f", front, "--free-at-end", "-r", "2", stdin=text)
            self.assertEqual(got["replay"]["caches"], 4)
            # SLAB has none for less than 32 bytes, and a heap has none at all
            self.assertEqual(got["replay"]["library_caches"],
                             {"slub": 4, "slab": 3}.get(engine, 0))
            self.assertEqual(got["objects"]["live_library"], 35)
            self.assertEqual(got["objects"]["live_freed"], 0)
        # before 6.1 the kernel does not say it: nobody knows whether it had such caches
        text = events(5, 60, 64, kind="kmalloc", gfp="GFP_KERNEL_ACCOUNT")
        self.assertEqual(self.names(text, "-f", "cpuslab"), ["kmalloc-64"])

    # ---- options ----

    def test_touch(self):
        for touch in ("none", "line", "all"):
            got = replay(data("gcc.txt.zst"), "--touch", touch)
            self.assertEqual(got["replay"]["touch"], touch)

    def test_environment_is_kept_and_options_win(self):
        path = data("vector1.txt")
        front = lambda *a, **k: replay(path, *a, **k)["replay"]["front"]
        conf = {"USLAB_CONF": "front=none,hardened"}
        self.assertEqual(front(env=conf), "none")
        self.assertEqual(front("--front", "cpuslab", env=conf), "cpuslab")
        self.assertEqual(front("--front", "none", "--stats", env=conf), "none")

    def test_standard_input(self):
        path = data("hackbench.txt.zst")
        text = text_of(path)
        for content in (text, text.replace(b"\n", b"\r\n"), bytes_of(path)):
            got = replay("-", stdin=content)
            self.agrees(got, Expected(text))
            self.assertEqual(got["trace"]["file"], "-")

    def test_frames_one_after_another(self):
        text = text_of(data("vector1.txt"))
        half = text.index(b"\n", len(text) // 2) - 30
        frames = b"".join(subprocess.run(["zstd", "-qc"], input=part, capture_output=True,
                                         check=True).stdout for part in (text[:half], text[half:]))
        self.agrees(replay("-", stdin=frames), Expected(text))

    def test_help_and_version(self):
        done = run("--help")
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        self.assertIn(b"usage: uslab replay ", done.stdout)
        self.assertRegex(run("--version").stdout.decode(), r"^uslab \d+\.\d+\.\d+\n$")

    # ---- what is wrong ----

    def test_wrong_usage(self):
        hint = "Try 'uslab replay --help'.\n"
        for message, arguments in (
                ("which trace? ('-' for standard input)", ()),
                ("one trace at a time, please: 'b'", ("a", "b")),
                ("no front 'x'; there are: array, cpuslab, queues, sheaves, sheaves:6.18, none",
                 ("--front", "x", "a")),
                ("no engine 'buddy'; there are: slub, slab, slobseg, slobseg:pow2, slob, slob:1991",
                 ("--engine=buddy", "a")),
                ("--cpus takes a number from 1 to 1500, not '0'", ("--cpus", "0", "a")),
                ("--cpus takes a number from 1 to 1500, not '1501'", ("--cpus=1501", "a")),
                ("--nodes takes a number from 1 to 64, not '65'", ("--nodes=65", "a")),
                ("--nodes needs --cpus", ("--nodes", "2", "a")),
                ("--nodes 5: more nodes than the 4 CPUs", ("--cpus=4", "--nodes=5", "a")),
                ("--spread needs --cpus", ("--spread", "a")),
                ("front 'cpuslab' does not go with engine 'slab'; fronts that do: array, queues, "
                 "sheaves, none", ("-e", "slab", "-f", "cpuslab", "/does/not/exist")),
                ("front 'sheaves:6.18' does not go with engine 'slob'; fronts that do: array, "
                 "queues, sheaves, none", ("-f", "sheaves:6.18", "-e", "slob", "a")),
                ("no touch ''; there are: none, line, all", ("-t", "", "a")),
                ("--events takes a number from 1 to 1099511627776, not '0'", ("-n", "0", "a")),
                ("--rounds takes a number from 1 to 999, not '1k'", ("-r", "1k", "a")),
                ("unknown or ambiguous option '--no'", ("--no", "a")),
                ("option '-n' needs a value", ("a", "-n"))):
            self.fails(f"uslab replay: {message}\n{hint}", *arguments, status=2)

    def test_files_that_cannot_be_read(self):
        self.fails("uslab replay: /does/not/exist: cannot open: No such file or directory\n",
                   "/does/not/exist")
        self.fails(f"uslab replay: {DATA}: cannot read: Is a directory\n", DATA)

    def test_foreign_files(self):
        for content, found in (
                (b"\x17\x08\x44tracing\x00", "a trace.dat file; give the output of "
                 "'trace-cmd report'"),
                (b"PERFILE2\x00\x00", "a perf.data file; give the output of 'perf script'"),
                (b"\x1f\x8b\x08\x00", "a gzip file; give the output of 'zcat'"),
                (b"\xfd7zXZ\x00", "an xz file; give the output of 'xzcat'"),
                (b"\x7fELF\x02\x01", "a program")):
            path = self.put("foreign", content)
            self.fails(f"uslab replay: {path}:1: expected the text of a trace, found {found}\n",
                       path)

    def test_text_that_is_no_trace(self):
        none = "expected memory events (kmalloc, kmem_cache_alloc, kfree, kmem_cache_free), " \
            "found none up to here"
        event = b"     x-1     [000]     1.000001: sched_wakeup: comm=a pid=1\n"
        for content, line, message in (
                (b"", 1, none), (b"# a\n#\n\n", 3, none), (event, 1, none),
                (b"root:x:0\n", 1, f"column 1: expected {FORMAT}, found 'root:x:0'"),
                (b"# trace\n\xff\xfe\x00\x01\n", 2, f"column 1: expected {FORMAT}, found '????'"),
                (b"\n" * 99 + b"A" * 70000 + b"\nx\n", 100,
                 "expected a line of at most 65536 bytes")):
            self.fails(f"uslab replay: standard input:{line}: {message}\n", "-", stdin=content)

    def test_lines_that_are_wrong(self):
        head = "     x-1     [000] .....     1.000001: "
        at = len(head)
        good = "kmalloc: call_site=f ptr=01 bytes_req=1 bytes_alloc=8 gfp_flags=GFP_KERNEL"
        for fields, column, expected, found in (
                ("", at, "an event after the time", None),
                ("kfree: call_site=f", 19 + at, "field 'ptr=' of event kfree", None),
                ("kfree: call_site=f ptr=", 24 + at, "a pointer in hex after 'ptr='", None),
                ("kfree: call_site=f ptr=12g4", 24 + at, "a pointer in hex after 'ptr='", "12g4"),
                ("kfree: ptr=1 ptr=1", 14 + at, "each field once", "ptr=1"),
                ("kfree: ptr", 8 + at, "a field 'key=value'", "ptr"),
                (good.replace("req=1", "req=18446744073709551616"), 39 + at,
                 "a number after 'bytes_req='", "18446744073709551616"),
                (good.replace("req=1", "req=-1"), 39 + at, "a number after 'bytes_req='", "-1"),
                (good.replace("GFP_KERNEL", "GFP_KERNEL|"), 65 + at,
                 "flags joined by '|' after 'gfp_flags='", "GFP_KERNEL|"),
                (good[:50], 39 + at, "a number after 'bytes_req='", "1 bytes_allo")):
            text = (head + good + "\n" + head + fields + "\n").encode()
            done = run("-", stdin=text)
            self.assertEqual(done.returncode, 1, fields)
            message = done.stderr.decode()
            self.assertTrue(message.startswith("uslab replay: standard input:2: column "), message)
            self.assertIn(f"expected {expected}, found ", message)
            if found:
                self.assertIn(f"column {column}: ", message)
                self.assertTrue(message.endswith(f"found '{found}'\n"), message)

    def test_truncated_text(self):
        """Cut anywhere but behind a newline it is an error that names the last line."""
        text = text_of(data("vector1.txt"))
        for cut in list(range(1, 200, 7)) + list(range(5000, 5300, 11)) + [len(text) - 1]:
            part = text[:cut]
            line = part.count(b"\n") + 1
            if part.endswith(b"\n"):
                continue
            self.fails(f"uslab replay: standard input:{line}: {CUT}\n", "-", stdin=part)

    def test_truncated_zstd(self):
        content = bytes_of(data("hackbench.txt.zst"))
        for cut in (5, 10, 5000, len(content) - 1):
            path = self.put("cut.zst", content[:cut])
            done = run(path)
            message = done.stderr.decode()
            self.assertEqual(done.returncode, 1)
            self.assertRegex(message, "^uslab replay: " + re.escape(path) + r":\d+: the zstd data "
                             "ends early: expected the rest of the compressed frame\n$")

    def test_damaged_zstd(self):
        content = bytearray(bytes_of(data("hackbench.txt.zst")))
        for at in range(40, 60):
            content[at] ^= 0x5a
        done = run(self.put("bad.zst", content))
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr.decode(), r":\d+: the zstd data is damaged: ")

    def test_keep_going(self):
        text = text_of(data("vector1.txt")).splitlines(keepends=True)
        text[10:10] = [b"nonsense\n", b"B" * 100000 + b"\n", b"x-1 [0] 1.0: kfree: ptr=\x00\n"]
        text.append(b"     x-1     [000]     1.0: kfree: call_site=f ptr=ff")
        got = replay("--keep-going", "-", stdin=b"".join(text))
        self.assertEqual(got["trace"]["bad_lines"], 4)
        self.assertEqual(got["trace"]["lines"], len(text))
        self.assertEqual(got["objects"]["live"], 62)
        done = run("-k", "-", stdin=b"".join(text))
        self.assertEqual(done.stderr.decode(), "uslab replay: lines left out: 4; the first: "
                         f"standard input:11: column 1: expected {FORMAT}, found 'nonsense'\n")

    def test_keep_going_over_all_lines(self):
        """Nothing is left, and it is said why: as of a trace whose pointers nobody may see."""
        pointer = b"     x-1     [000] .....     1.0: kfree: call_site=f ptr=(____ptrval____)\n"
        first = "column 58: expected a pointer in hex after 'ptr=', found '(____ptrval____)'"
        none = "expected memory events (kmalloc, kmem_cache_alloc, kfree, kmem_cache_free), " \
            "found none up to here"
        for content, line, more in (
                (pointer * 3, 3, f"; lines left out: 3; the first: standard input:1: {first}"),
                (pointer + b"cut", 2, f"; lines left out: 2; the first: standard input:1: {first}"),
                (b"cut", 1, f"; lines left out: 1; the first: standard input:1: {CUT}")):
            self.fails(f"uslab replay: standard input:{line}: {none}{more}\n", "-k", "-",
                       stdin=content)

    def test_keep_going_over_the_end_of_truncated_zstd(self):
        content = bytes_of(data("hackbench.txt.zst"))
        got = replay("-k", self.put("cut.zst", content[:15000]))
        self.assertEqual(got["trace"]["bad_lines"], 1)
        self.assertEqual(got["objects"]["live"], got["objects"]["live_library"])
        for cut in (5, 200):
            path = self.put("cut.zst", content[:cut])
            self.fails(f"uslab replay: {path}:1: expected memory events (kmalloc, "
                       "kmem_cache_alloc, kfree, kmem_cache_free), found none up to here; lines "
                       f"left out: 1; the first: {path}:1: the zstd data ends early: expected the "
                       "rest of the compressed frame\n",
                       "-k", path)

    def test_names_of_tasks_and_caches_are_not_trusted(self):
        event = b"kmem_cache_alloc: call_site=f ptr=%016x name=%s bytes_req=64 bytes_alloc=64 " \
            b"gfp_flags=GFP_KERNEL node=-1 accounted=false\n"
        names = [b"a-1 [000] 1: x:", b"x-1 [0] . 1.5:", b"[000]", b"a (b) c", b"\xff\x00\xfe", b"-",
                 b"1.5: kfree:"]
        lines = [b"%16s-%-7d [001] .....     1.000001: " % (name, i) +
                 event % (4096 * (i + 1), b"\xff\xfe<&\"\x00" if i == 3 else b"n" * 200)
                 for i, name in enumerate(names)]
        got = replay("-", "--stats", "--front", "cpuslab", "--nomerge", stdin=b"".join(lines))
        self.assertEqual(got["trace"]["kmem_cache_alloc"], len(names))
        self.assertEqual(got["trace"]["cpus"], 1)
        self.assertEqual(sorted(c["name"] for c in got["statistics"]),
                         ["??<&\"?", "n" * 63])


if __name__ == "__main__":
    if not os.access(BINARY, os.X_OK):
        print(f"replay_test: no {BINARY}; set USLAB_BIN", file=sys.stderr)
        sys.exit(1)
    unittest.main()
