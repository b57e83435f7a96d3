#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# ctest: timeout=900
"""uslab track: who holds the memory of a program that hoards some and frees the rest.

Tables, JSON, folded stacks, profiles (read back here), and that whatever was switched on is off again.
"""
import gzip
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from folder import InFolder, InOwnFolder  # noqa: E402
from programs import WITH_LIBRARY, compile_program, start_program  # noqa: E402
from sleeps import await_sleeps  # noqa: E402

BIN = os.environ["USLAB_BIN"]
CC = os.environ.get("USLAB_CC", "cc")
CXX = "clang++" if "clang" in os.path.basename(CC) else "g++"

# Blocks of 200 bytes: hoard() keeps one of them every millisecond, churn() frees eight at once.
PROGRAM = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void **hoarded;

__attribute__((noinline)) void hoard(void)
{
	void **block = malloc(200); /* HOARD */
	*block = hoarded;
	hoarded = block;
}

__attribute__((noinline)) void churn(void)
{
	char *text[8];

	for (int i = 0; i < 8; i++) {
		text[i] = malloc(200); /* CHURN */
		memset(text[i], i, 200);
	}
	for (int i = 0; i < 8; i++)
		free(text[i]);
}

int main(void)
{
	puts("ready");
	fflush(stdout);
	for (;;) {
		hoard();
		for (int i = 0; i < 20; i++)
			churn();
		usleep(1000);
	}
}
"""

# Templates of the C++ library and an inlined function on the way to two allocations.
PROGRAM_CXX = r"""
#include <cstdio>
#include <cstdlib>
#include <unistd.h>
#include <vector>

namespace shop {
	struct Item { char text[200]; };
	static std::vector<Item *> items;

	__attribute__((always_inline)) inline Item *make_item(int kind)
	{
		return (Item *)malloc(sizeof(Item) + kind); // INLINED
	}

	__attribute__((noinline)) void Buy(const char *, int kind)
	{
		items.push_back(make_item(kind)); // BUY
	}

	__attribute__((noinline)) std::vector<Item> *Stock()
	{
		return new std::vector<Item>(1); // STOCK
	}
}

int main()
{
	puts("ready");
	fflush(stdout);
	for (;;) {
		shop::Buy("", 0);
		if (!shop::Stock())
			return 1;
		usleep(1000);
	}
}
"""

HOARD_LINE = next(i for i, line in enumerate(PROGRAM.split("\n"), 1) if "HOARD" in line)
CACHE = "malloc-208"


def uslab(*arguments, **options):
    return subprocess.run([BIN, *map(str, arguments)], capture_output=True, text=True, check=False,
                          timeout=300, **options)


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if not byte & 0x80:
            return value, at


def fields(data):
    """(number, value or bytes) of a protobuf message."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        value, at = varint(data, at)
        if key & 7 == 2:
            value, at = data[at:at + value], at + value
        yield key >> 3, value


def varints(data):
    at, found = 0, []
    while at < len(data):
        value, at = varint(data, at)
        found.append(value)
    return found


def read_profile(path):
    """{stack of names, innermost first: (objects, bytes)} and the sample types."""
    with gzip.open(path) as stream:
        message = list(fields(stream.read()))
    strings = [value.decode() for number, value in message if number == 6]
    functions = {dict(fields(f))[1]: strings[dict(fields(f))[2]] for n, f in message if n == 5}
    locations = {}
    for number, value in message:
        if number == 4:
            location = dict(fields(value))
            locations[location[1]] = [functions[dict(fields(line))[1]]
                                      for n, line in fields(value) if n == 4]
    samples = {}
    for number, value in message:
        if number == 2:
            sample = dict(fields(value))
            stack = tuple(name for i in varints(sample[1]) for name in locations[i])
            samples[stack] = tuple(varints(sample[2]))
    types = [tuple(strings[v] for _, v in fields(value)) for n, value in message if n == 1]
    return samples, types


class Track(InFolder):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.program = compile_program(cls.folder, "hoarder", PROGRAM)

    def setUp(self):
        self.process = subprocess.Popen([BIN, "run", self.program], stdout=subprocess.PIPE)
        self.pid = self.process.pid
        self.assertEqual(self.process.stdout.readline(), b"ready\n")

    def tearDown(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def track(self, *arguments, status=0):
        result = uslab("track", "-p", self.pid, *arguments)
        self.assertEqual(result.returncode, status, result.stdout + result.stderr)
        return result.stdout if status == 0 else result.stderr

    def debug_flags(self):
        """Debug flags of the cache, and whether it is sampled; it may be made by the command only."""
        caches = json.loads(uslab("info", "-p", self.pid, "--json").stdout)["caches"]
        found = [(c["flags"]["store_user"], c["sampled"]) for c in caches if c["name"] == CACHE]
        return found[0] if found else (False, False)

    def check_site(self, site):
        self.assertEqual((site["function"], site["line"]), ("hoard", HOARD_LINE))
        self.assertTrue(site["file"].endswith("hoarder.c"))
        self.assertEqual(site["object"], "hoarder")
        self.assertEqual([f["function"] for f in site["stack"]][:2], ["hoard", "main"])
        self.assertEqual(site["cache"], CACHE)

    def test_full(self):
        start = time.monotonic()
        text = self.track("--cache", CACHE, "--once", "--interval", 1.5, "--json")
        took = time.monotonic() - start
        found = json.loads(text)
        self.assertFalse(found["estimated"])
        site = found["sites"][0]
        self.check_site(site)
        # one a millisecond at most, and sleeping takes longer than it says
        self.assertTrue(0 < site["objects"] <= 1000 * took + 200, (site["objects"], took))
        self.assertEqual(site["bytes"], site["objects"] * 200)
        self.assertGreater(site["kept_per_second"], 0)
        self.assertTrue(0 < site["age_ms"]["max"] < 1000 * took + 200, (site["age_ms"], took))
        for other in found["sites"][1:]:
            self.assertLess(other["objects"], 20)
        self.assertEqual(self.debug_flags(), (False, False))

    def test_sampled(self):
        found = json.loads(self.track("-c", CACHE, "--sample", "--once", "-i", 4, "--json"))
        self.assertTrue(found["estimated"])
        self.check_site(found["sites"][0])
        site = found["sites"][0]
        for key in ("objects", "bytes", "kept_per_second", "kept_bytes_per_second", "share"):
            self.assertLess(site[key + "_low"], site[key + "_high"])
            self.assertTrue(site[key + "_low"] <= site[key] <= site[key + "_high"], (key, site))
        self.assertFalse(site["too_few_samples"])
        cache = found["caches"][0]
        self.assertLess(cache["tracked"], cache["objects"])
        self.assertEqual(self.debug_flags(), (False, False))

    def test_sampled_table(self):
        lines = self.track("-c", CACHE, "--sample", "--once", "-i", 3, "--top", 1).split("\n")
        self.assertIn("95 of 100", lines[1])
        self.assertRegex(lines[2], r"^ +Objects +Bytes +\+-% +Kept/s +\+-% +Share Age .*Call site$")
        self.assertRegex(lines[3], r"^ +\d+ +[\d.]+ [KM]iB +\d+% +([\d.]+ +\d+%|<[\d.]+) +[\d.]+- *[\d.]+%"
                                   rf" +[\d.]+/[\d.]+/[\d.]+  hoard hoarder.c:{HOARD_LINE}  {CACHE}$")

    def test_what_grows(self):
        result = uslab("track", "-p", self.pid, "--once", "--watch=2", "-i3", "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(result.stderr, rf"{CACHE} grew by [\d.]+ \w+/s and is sampled now")
        self.check_site(json.loads(result.stdout)["sites"][0])
        self.assertEqual(self.debug_flags(), (False, False))

    def test_table(self):
        lines = self.track("--cache", CACHE, "--once", "-i", 1, "--top", 1).split("\n")
        self.assertRegex(lines[0], rf"^hoarder \({self.pid}\): tracked for [\d.]+ s: {CACHE} \(")
        self.assertRegex(lines[1], r"^ +Objects +Bytes +Kept/s Age min/mean/max s  Call site$")
        self.assertRegex(lines[2], r"^ +\d+ +[\d.]+ [KM]iB +[\d.]+ +[\d.]+/[\d.]+/[\d.]+  hoard "
                                   rf"hoarder.c:{HOARD_LINE}  {CACHE}$")
        self.assertRegex(lines[3], r"^ +hoard\+0x[0-9a-f]+/0x[0-9a-f]+ \[hoarder\]  hoarder.c:")
        self.assertRegex(lines[4], r"^ +main\+")

    def test_live_until_interrupted(self):
        process = subprocess.Popen([BIN, "track", "-p", str(self.pid), "-c", CACHE, "-i", "0.5"],
                                   stdout=subprocess.PIPE, text=True)
        lines = [process.stdout.readline() for _ in range(12)]
        self.assertIn("tracked for", lines[0])
        self.assertEqual(self.debug_flags(), (True, False))
        process.send_signal(signal.SIGINT)
        rest = process.communicate(timeout=300)[0]
        self.assertEqual(process.returncode, 0)
        self.assertGreater(("".join(lines) + rest).count("tracked for"), 1)
        self.assertEqual(self.debug_flags(), (False, False))

    def await_debug_flags(self, debug_flags):
        end = time.monotonic() + 300
        while self.debug_flags() != debug_flags:
            self.assertLess(time.monotonic(), end)
            time.sleep(0.05)

    def test_killed(self):
        """What it switched on is switched off however it ends."""
        for end in (signal.SIGQUIT, signal.SIGKILL):
            for mode, on in (("--full", (True, False)), ("--sample", (False, True))):
                process = subprocess.Popen([BIN, "track", "-p", str(self.pid), "-c", CACHE, mode,
                                            "-i", "0.5"], stdout=subprocess.PIPE, text=True)
                process.stdout.readline()
                self.assertEqual(self.debug_flags(), on)
                process.send_signal(end)
                process.communicate(timeout=300)
                self.assertEqual(process.returncode, 0 if end == signal.SIGQUIT else -end)
                self.await_debug_flags((False, False))

    def test_stopped(self):
        os.kill(self.pid, signal.SIGSTOP)
        try:
            self.assertIn("is stopped", self.track("--once", "--watch", 0.3, status=1))
        finally:
            os.kill(self.pid, signal.SIGCONT)

    def test_tracked_before(self):
        """Since when is known, also if somebody else switched it on, and after a gap."""
        self.track("-c", CACHE, "--once", "-i", 0.1, "--keep")
        time.sleep(2)
        self.track("--off")
        start = time.monotonic()
        self.assertEqual(uslab("debug", "-p", self.pid, "-c", CACHE, "U").returncode, 0)
        self.end_of(0.5)
        found = json.loads(self.track("-c", CACHE, "--once", "--json"))
        took = time.monotonic() - start
        self.assertFalse(found["at_least"])
        self.assertTrue(0.4 < found["seconds"] < took + 0.1, (found["seconds"], took))
        self.assertLess(found["sites"][0]["age_ms"]["max"], 1000 * took + 100)
        self.assertIsNone(found["caches"][0]["growth_bytes_per_second"])  # nobody watched
        line = self.track("-c", CACHE, "--once").split("\n")[0]
        self.assertRegex(line, rf"^hoarder \({self.pid}\): tracked for \d+\.\d s: ")
        self.track("--off")

    @staticmethod
    def end_of(seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            time.sleep(0.05)

    def test_otherwise(self):
        """What another tool samples is not taken for all there is, and the other way round."""
        for on, other, how in (("--sample", "--full", "sampled"), ("--full", "--sample", "tracked in full")):
            first = subprocess.Popen([BIN, "track", "-p", str(self.pid), "-c", CACHE, on, "-i", "0.5"],
                                     stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            first.stdout.readline()
            before = self.debug_flags()
            self.assertRegex(self.track("-c", CACHE, other, "--once", "-i", 0.1, status=1),
                             rf"{CACHE}: {how} already, .*--off")
            self.assertEqual(self.debug_flags(), before)
            # who wants the same gets it, and hears of its end
            second = subprocess.Popen([BIN, "track", "-p", str(self.pid), "-c", CACHE, on, "-i", "0.5"],
                                      stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            second.stdout.readline()
            first.send_signal(signal.SIGINT)
            first.communicate(timeout=300)
            ended = f"{CACHE} is not {'sampled' if on == '--sample' else 'tracked'} any more"
            for line in second.stderr:
                if ended in line:
                    break
            else:
                self.fail(ended)
            second.send_signal(signal.SIGINT)
            second.communicate(timeout=300)
            self.assertEqual((first.returncode, second.returncode), (0, 0))
        # who did not ask for either is told which it is
        self.track("-c", CACHE, "--sample", "--once", "-i", 0.3, "--keep")
        result = uslab("track", "-p", self.pid, "-c", CACHE, "--once", "--json")
        self.assertEqual(result.returncode, 0)
        self.assertRegex(result.stderr, rf"{CACHE}: sampled already, .* so it is shown")
        self.assertTrue(json.loads(result.stdout)["estimated"])
        self.track("--off")

    def test_others_sample_on(self):
        """The end of a tool does not end what was left on, nor what another one samples meanwhile."""
        other = ("-c", "malloc-80", "--sample", "--once", "-i", 1.5)
        self.track("-c", CACHE, "--sample", "--once", "-i", 0.1, "--keep")
        start = time.monotonic()
        self.track(*other)
        took = time.monotonic() - start
        found = json.loads(self.track("-c", CACHE, "--once", "-i", 0.1, "--json"))
        self.assertGreater(found["seconds"], took)  # it did not begin anew
        self.track("--off")
        start = time.monotonic()
        process = subprocess.Popen([BIN, "track", "-p", str(self.pid), "-c", CACHE, "--sample", "-i", "0.5", "--json"],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        process.stdout.readline()
        self.track(*other)
        took = time.monotonic() - start
        while json.loads(process.stdout.readline())["seconds"] < took + 1:
            pass
        process.send_signal(signal.SIGINT)
        errors = process.communicate(timeout=300)[1]
        self.assertEqual((process.returncode, errors), (0, ""))
        self.assertEqual(self.debug_flags(), (False, False))

    def end_while_tracked(self, *arguments):
        """Ends the program once the tool has looked at it. What the tool said, and its status."""
        process = subprocess.Popen([BIN, "track", "-p", str(self.pid), "-c", CACHE, *arguments],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.await_debug_flags((True, False))
        self.assertTrue(await_sleeps(process, 10))
        self.process.kill()  # and nobody waits for it: a zombie has no memory
        output, errors = process.communicate(timeout=300)
        return output, errors, process.returncode

    def test_program_ends(self):
        process = subprocess.Popen([BIN, "track", "-p", str(self.pid), "-c", CACHE, "-i", "0.5"],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        process.stdout.readline()
        self.process.kill()
        self.process.wait()
        _, errors = process.communicate(timeout=300)
        self.assertEqual(process.returncode, 0)
        self.assertRegex(errors, r"^uslab track: .* has ended(, after [\d.]+ s; the figures are as of [\d.]+ s)?\n$")

    def test_program_ends_before_the_table(self):
        """At once, and what was seen last is shown: with names, whose files are gone with the process."""
        output, errors, status = self.end_while_tracked("--once", "-i", "3600", "--json")
        self.assertEqual(status, 0, errors)
        found = re.match(rf"^uslab track: hoarder \({self.pid}\) has ended, after ([\d.]+) s; the figures "
                         r"are as of ([\d.]+) s\n$", errors)
        self.assertTrue(found, errors)
        self.assertLessEqual(float(found.group(2)), float(found.group(1)))
        table = json.loads(output)
        self.assertLess(table["seconds"], 3000)
        self.check_site(table["sites"][0])
        self.assertGreater(table["sites"][0]["objects"], 0)

    def test_program_ends_between_tables(self):
        output, errors, status = self.end_while_tracked("-i", "3600")
        self.assertEqual(status, 0, errors)
        self.assertRegex(errors, r"has ended, after [\d.]+ s; the figures are as of [\d.]+ s\n$")
        self.assertIn("hoard hoarder.c", output)

    def test_program_ends_while_watched(self):
        process = subprocess.Popen([BIN, "track", "-p", str(self.pid), "--once", "--watch", "3600"],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.assertIn("watching", process.stderr.readline())
        self.assertTrue(await_sleeps(process, 10))
        self.process.kill()
        errors = process.communicate(timeout=300)[1]
        self.assertEqual(process.returncode, 1, errors)
        self.assertIn("ended", errors)

    def test_keep_and_off(self):
        self.track("-c", CACHE, "--once", "-i", 0.3, "--keep")
        self.assertEqual(self.debug_flags(), (True, False))
        # what was on before stays on
        self.track("-c", CACHE, "--once", "-i", 0.3)
        self.assertEqual(self.debug_flags(), (True, False))
        self.track("--off")
        self.assertEqual(self.debug_flags(), (False, False))
        self.track("-c", CACHE, "--sample", "--once", "-i", 0.3, "--keep")
        self.assertEqual(self.debug_flags(), (False, True))
        self.track("--off")
        self.assertEqual(self.debug_flags(), (False, False))

    def test_folded(self):
        text = self.track("-c", CACHE, "--folded=-", "-i", 1)
        folded = dict(line.rsplit(" ", 1) for line in text.strip().split("\n"))
        stack = next(s for s in folded if s.endswith("main;hoard"))
        self.assertEqual(int(folded[stack]) % 200, 0)
        self.assertGreater(int(folded[stack]), 0)
        counted = self.track("-c", CACHE, "--folded=-", "-i", 1, "--by=objects")
        self.assertRegex(counted, r"(?m)main;hoard \d+$")

    def test_pprof(self):
        path = os.path.join(self.folder, "profile.gz")
        found = json.loads(self.track("-c", CACHE, f"--pprof={path}", "-i", 1, "--json"))
        samples, types = read_profile(path)
        self.assertEqual(types, [("inuse_objects", "count"), ("inuse_space", "bytes")])
        stack = next(s for s in samples if s[:2] == ("hoard", "main"))
        self.assertEqual(samples[stack], (found["sites"][0]["objects"], found["sites"][0]["bytes"]))

    @unittest.skipUnless(shutil.which("gdb"), "no gdb to make a core file with")
    def test_core(self):
        start = time.monotonic()
        self.track("-c", CACHE, "--once", "-i", 0.3, "--keep")
        core = os.path.join(self.folder, "core")
        subprocess.run(["gdb", "-p", str(self.pid), "-batch", "-ex", f"gcore {core}"], check=True,
                       capture_output=True, timeout=300)
        result = uslab("track", "--core", core, "--json")
        os.unlink(core)
        self.assertEqual(result.returncode, 0, result.stderr)
        site = json.loads(result.stdout)["sites"][0]
        self.check_site(site)
        self.assertLess(site["age_ms"]["max"], 1000 * (time.monotonic() - start) + 200)

    def test_errors(self):
        self.assertIn("no cache 'none'", self.track("-c", "none", "--once", status=1))
        self.assertIn("no cache 'no*'",
                      self.track("-c", "malloc-*", "-c", "no*", "--once", status=1))
        # before anything is watched
        text = self.track("--folded=/nonexistent/f", status=1)
        self.assertEqual(text, "uslab track: /nonexistent/f: No such file or directory\n")
        text = self.track("-c", CACHE, "--folded=/dev/full", "-i", 0.3, status=1)
        self.assertIn("cannot write '/dev/full': No space left on device\n", text)
        self.assertEqual(self.debug_flags(), (False, False))

    def test_usage(self):
        for arguments in ([], ["-p"], ["-p", "0"], ["-p", "1", "x"], ["-p", "1", "--core=x"],
                          ["-p", "1", "--full", "--sample"], ["-p", "1", "--sample=2"],
                          ["-p", "1", "-i", "0"], ["-p", "1", "-i", "nan"], ["-p", "1", "--by=x"],
                          ["-p", "1", "--off", "--keep"], ["-p", "1", "-n", "0"], ["--core=x", "--off"],
                          ["-p", "1", "-c", ""], ["-p", "1", "--json", "--folded=-"], ["-p", "1", "-p", "2"],
                          ["-p", "1", "--sysroot=/"], ["-p", "1", "--program=x"],
                          ["--core=x", "--program=y", "z"]):
            result = uslab("track", *arguments)
            self.assertEqual(result.returncode, 2, arguments)
            self.assertTrue(re.match(r"uslab track: .+\nTry", result.stderr), result.stderr)
        self.assertIn("a process or a core, not both", uslab("track", "-p", "1", "--core=x").stderr)
        self.assertIn("usage: uslab track", uslab("track", "--help").stdout)
        self.assertEqual(uslab("track", "-p", os.getpid()).returncode, 1)


OWN_CACHE = r"""
#include <stdio.h>
#include <unistd.h>
#include <uslab/slab.h>

int main(void)
{
	struct kmem_cache *cache = kmem_cache_create("sessions", 200, 0, 0, NULL);

	puts("ready");
	fflush(stdout);
	while (kmem_cache_alloc(cache, GFP_KERNEL))
		usleep(500);
}
"""


class TrackOwnCache(InOwnFolder):
    """A cache of the program's own has hits that count nothing: it is tracked in full, which is said."""

    def test_in_full(self):
        program = compile_program(self.folder, "own", OWN_CACHE, *WITH_LIBRARY)
        process = start_program(self, [program])
        for arguments in (["--watch=1"], ["-c", "sessions", "--sample"]):
            result = uslab("track", "-p", process.pid, "--once", "-i1", "--json", *arguments)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertEqual(result.stderr.count("sessions cannot be sampled"), 1, result.stderr)
            self.assertIn("tracked in full", result.stderr)
            found = json.loads(result.stdout)
            self.assertFalse(found["estimated"] or found["caches"][0]["sampled"])
            self.assertEqual(found["sites"][0]["function"], "main")


def line_of(mark):
    return next(i for i, line in enumerate(PROGRAM_CXX.split("\n"), 1) if f"// {mark}" in line)


@unittest.skipUnless(shutil.which(CXX), "no C++ compiler")
class TrackCxx(InOwnFolder):
    """Names of C++, inlined functions, and code without names."""

    def start(self, *flags):
        program = compile_program(self.folder, "shop", PROGRAM_CXX, "-O2", "-g0", *flags, compiler=CXX,
                                  ending=".cc")
        return start_program(self, [BIN, "run", program]).pid, program

    def track(self, pid, *arguments):
        result = uslab("track", "-p", pid, "-c", CACHE, "--once", "-i", 1, *arguments)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def test_names_and_inlined(self):
        pid, _ = self.start("-g")
        sites = {site["function"]: site for site in json.loads(self.track(pid, "--json"))["sites"]}
        # not the header of the C++ library that allocates, but who called it
        site = next(s for name, s in sites.items() if name.startswith("shop::Stock"))
        self.assertEqual(site["line"], line_of("STOCK"))
        self.assertIn("std::", site["stack"][0]["function"])
        site = next(s for name, s in sites.items() if "make_item" in name)
        self.assertEqual(site["line"], line_of("INLINED"))
        inner, outer = site["stack"][:2]
        self.assertEqual((inner["inlined"], outer["inlined"]), (True, False))
        self.assertEqual(inner["address"], outer["address"])
        self.assertEqual(outer["function"], "shop::Buy(char const*, int)")
        self.assertEqual(outer["line"], line_of("BUY"))
        self.assertTrue(outer["symbol"].startswith("_ZN4shop3Buy"))
        folded = self.track(pid, "--folded=-")
        self.assertRegex(folded, r"(?m);main;shop::Buy\(char const\*, int\);[^;\n]*make_item[^;\n]* \d+$")
        text = self.track(pid)
        self.assertRegex(text, r"(?m)^ +[^ ]*make_item.* \[inlined\]  shop.cc:\d+$")
        self.assertRegex(text, r"(?m)^ +shop::Buy\(char const\*, int\)\+0x[0-9a-f]+/0x[0-9a-f]+ \[shop\]")
        # the library's inlined functions, and whole names, are for who asks for all, and for programs
        self.assertNotIn("std::", text)
        self.assertIn("std::vector<shop::Item", self.track(pid, "-v"))
        self.assertIn("std::allocator<shop::Item>", folded)

    def test_without_names(self):
        pid, program = self.start("-s", "-Wl,--build-id=sha1")
        frame = json.loads(self.track(pid, "--json"))["sites"][0]["stack"][0]
        self.assertEqual((frame["function"], frame["module"]), ("", program))
        self.assertRegex(frame["build_id"], r"^[0-9a-f]{40}$")
        headers = subprocess.run(["readelf", "-n", program], capture_output=True, text=True,
                                 check=True).stdout
        self.assertIn(frame["build_id"], headers)
        self.assertIn(f"{program}+{frame['module_offset']} (build-id {frame['build_id']})",
                      self.track(pid))

    @unittest.skipUnless(shutil.which("go"), "no pprof to read it with")
    def test_pprof_reads_it(self):
        pid, program = self.start("-g")
        path = program + ".pb.gz"
        self.track(pid, f"--pprof={path}")
        # Go builds pprof when it is first asked for: in its usual cache, so that this is not done each time
        cache = subprocess.run(["go", "env", "GOCACHE"], capture_output=True, text=True,
                               check=True).stdout.strip()
        raw = subprocess.run(["go", "tool", "pprof", "-raw", path], capture_output=True, text=True,
                             check=False, env={**os.environ, "HOME": os.path.dirname(program),
                                               "GOCACHE": cache})
        if raw.returncode and "no such tool" in raw.stderr:
            self.skipTest("this Go has no pprof")
        self.assertEqual(raw.returncode, 0, raw.stderr)
        self.assertIn("shop::Buy(char const*, int)", raw.stdout)
        self.assertRegex(raw.stdout, rf"(?m)^\d+: 0x[0-9a-f]+/0x[0-9a-f]+/0x[0-9a-f]+ {program} .*\[FN\]")


if __name__ == "__main__":
    unittest.main()
