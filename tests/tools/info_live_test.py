#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# ctest: timeout=900
"""uslab info on living processes: reports, users, addresses, changes, several at once, cores."""
import itertools
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

SRC = os.environ["USLAB_SRC"]
LIB = os.environ["USLAB_LIB"]
BIN = os.environ["USLAB_BIN"]

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import cores  # noqa: E402
from info_test import Folder, Started, uslab  # noqa: E402

# Caches of known content, and a loop of slow paths: commands are carried out there. USR1 writes
# beyond an object, USR2 takes a hundred more.
SUBJECT = r"""
#include <signal.h>
#include <stdio.h>
#include <unistd.h>
#include <uslab/slab.h>

static struct kmem_cache *plain, *tracked, *sparse, *polled;
static char *objects[1000], *more[100];
static volatile sig_atomic_t overrun, grow;

/* A cache with a constructor has no aliases. */
static void make(void *object)
{
	*(char *)object = 1;
}

static void on_signal(int number)
{
	if (number == SIGUSR1)
		overrun = 1;
	else
		grow = 1;
}

__attribute__((noinline)) void take_one_hundred(struct kmem_cache *cache)
{
	for (int i = 0; i < 100; i++)
		more[i] = uslab_cache_alloc(cache, GFP_KERNEL);
	__asm__("");
}

/* The signal that was asked for may be followed by the next one at once. */
static void done(void)
{
	puts("done");
	fflush(stdout);
}

int main(void)
{
	char *users[10];

	signal(SIGUSR1, on_signal);
	signal(SIGUSR2, on_signal);
	plain = kmem_cache_create("plain", 200, 0, 0, make);
	for (int i = 0; i < 1000; i++)
		objects[i] = kmem_cache_alloc(plain, GFP_KERNEL);
	tracked = kmem_cache_create("tracked", 100, 0,
				    SLAB_STORE_USER | SLAB_RED_ZONE | SLAB_CONSISTENCY_CHECKS, NULL);
	for (int i = 0; i < 10; i++)
		users[i] = kmem_cache_alloc(tracked, GFP_KERNEL);
	sparse = kmem_cache_create("sparse", 1000, 0, SLAB_RECLAIM_ACCOUNT, NULL);
	polled = kmem_cache_create("polled", 100, 0, SLAB_STORE_USER, NULL);
	for (int i = 0; i < 400; i++)
		more[i % 100] = kmem_cache_alloc(sparse, GFP_KERNEL);
	for (int i = 0; i < 100; i++)
		kmem_cache_free(sparse, more[i]);
	printf("ready\n%p %p %p %p\n", users[3], objects[7], kmalloc(1 << 20, GFP_KERNEL), (void *)&main);
	fflush(stdout);
	for (;;) {
		uslab_cache_free(polled, uslab_cache_alloc(polled, GFP_KERNEL)); /* the others stand still */
		if (grow) {
			grow = 0;
			take_one_hundred(plain);
			done();
		}
		if (overrun) {
			overrun = 0;
			more[50][200] = 1;
			done();
		}
		usleep(5000);
	}
}
"""


# Caches whose names are equal, or look so.
NAMESAKES = r"""
#include <stdio.h>
#include <unistd.h>
#include <uslab/slab.h>

static void make(void *object)
{
	*(char *)object = 1;
}

int main(void)
{
	static const char *const names[] = { "dup", "dup", "dup", "b\001", "b\002", "a b", "" };
	struct kmem_cache *caches[7];
	unsigned int i;

	for (i = 0; i < 7; i++)
		caches[i] = kmem_cache_create(names[i], 1000 + 100 * i, 0, 0, make);
	for (i = 1; i < 7; i++) /* the first one stays empty */
		for (unsigned int j = 0; j < 10 * i; j++)
			kmem_cache_alloc(caches[i], GFP_KERNEL);
	puts("ready");
	fflush(stdout);
	pause();
}
"""


# Three frees that are put off, and remembered by the reserve.
HANDLERS = r"""
#include <stdio.h>
#include <unistd.h>
#include <uslab/slab.h>

static void *blocks[3];

static void hook(const char *cache, const char *text, void *arg)
{
	for (int i = 0; i < 3; i++)
		kfree(blocks[i]);
}

int main(void)
{
	char *object = kmalloc(100, GFP_KERNEL);

	for (int i = 0; i < 3; i++)
		blocks[i] = kmalloc(100000, GFP_KERNEL);
	uslab_set_report_hook(hook, NULL, true);
	kfree(object + 8);
	puts("ready");
	fflush(stdout);
	for (;;)
		pause();
}
"""


IDLE = r"""
#include <stdio.h>
#include <unistd.h>

int main(void)
{
	puts("ready");
	fflush(stdout);
	for (;;)
		pause();
}
"""


class Case(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Folder()
        cls.program = cls.folder.compile("subject", SUBJECT, f"-I{SRC}/include",
                                         "-fno-omit-frame-pointer", f"{LIB}/libuslab.a", "-pthread")

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder.path)

    def start(self, **environment):
        """A subject, its pid, and the addresses that it prints."""
        started = Started(self.program, env=dict(os.environ, **environment),
                          stderr=subprocess.PIPE)
        pid = started.__enter__()
        self.addCleanup(started.process.stderr.close)
        self.addCleanup(started.__exit__)
        self.addresses = started.process.stdout.readline().split()
        self.process = started.process
        return pid

    def info(self, *arguments):
        run = uslab("info", *arguments)
        self.assertEqual((run.stderr, run.returncode), ("", 0))
        return run.stdout

    def caches(self, pid):
        data = json.loads(self.info("-p", pid, "--json"))
        return {cache["name"]: cache for cache in data["caches"]}

    def tell(self, number):
        """Has the subject do something."""
        os.kill(self.process.pid, number)
        self.assertEqual(self.process.stdout.readline(), "done\n")


class Reports(Case):
    def test_report(self):
        text = self.info("-p", self.start(), "^tracked$")
        self.assertTrue(text.startswith(
            "\nSlabcache: tracked          Aliases:  0 Order :  0 Objects: 10\n\nSizes (bytes) "))
        for line in ("Object :     100  Total  :       1   Sanity Checks : On   Total:    4096",
                     "Redzoning     : On   Used :    1000", "Poisoning     : Off  Loss :    3096",
                     "Tracking      : On   Lalig:", "Tracing       : Off  Lpadd:",
                     "tracked has no kmem_cache operations"):
            self.assertIn(line, text)
        self.assertRegex(text, r"\n     10 main\+0x[0-9a-f]+/0x[0-9a-f]+ \[subject\] age=\d+")
        self.assertRegex(text, r"\n     10 <not-available> age=")

    def test_tracking(self):
        pid = self.start()
        text = self.info("-p", pid, "-t")
        self.assertIn(f"\nplain: Kernel object allocation\n{'-' * 71}\nNo Data\n", text)
        self.assertRegex(text, rf"\n     10 main\+[^\n]* pid={pid}")
        self.assertRegex(text, r"\n        main\+0x[0-9a-f]+/0x[0-9a-f]+ \[subject\]\n")

    def test_performance(self):
        text = self.info("-p", self.start(USLAB_CONF="stats,front=cpuslab"), "-r", "plain")
        self.assertRegex(text, r"\nFastpath +\d+ +\d+ +\d+ +\d+\n")
        self.assertRegex(text, r"\nTotal +1000 +0\n")

    def test_nodes(self):
        pid = self.start(USLAB_CONF="topology=4x2")
        text = self.info("-p", pid, "-n")
        self.assertTrue(text.startswith("\nSlab                 :    0    1\n" + "-" * 32 + "\n"))
        plain = re.search(r"\nplain +(\d+) +(\d+)\n", text)
        self.assertEqual(sum(map(int, plain.groups())), self.caches(pid)["plain"]["slabs"])

    def test_totals(self):
        pid = self.start()
        caches = [cache for cache in self.caches(pid).values() if cache["id"]]
        text = self.info("-p", pid, "-TB")
        used = [cache for cache in caches if cache["slabs"] and cache["objects"]]
        self.assertRegex(text, rf"\nSlabcaches : +{len(caches)} .* Active: +{len(used)}\n")
        self.assertRegex(text, rf"\nMemory used: +{sum(cache['slab_bytes'] for cache in used)} ")
        self.assertRegex(text, rf"\n# Objects  : +{sum(cache['objects'] for cache in used)} ")

    def test_totals_of_what_cpus_hold(self):
        """Objects in use in partial slabs may be held by CPUs: no more than all are said to be in use there."""
        pid = self.start()
        os.kill(pid, signal.SIGSTOP)
        sparse = self.caches(pid)["sparse"]
        text = self.info("-p", pid, "-TB", "sparse")
        self.assertGreater(sparse["objects_held"], 0)
        ratio = min(sparse["objects_partial"] * 100 // sparse["objects"], 100)
        self.assertRegex(text, rf"PartObj: +{sparse['objects_partial']} +ORatio: +{ratio}%\n")
        self.assertRegex(text, rf"\nPartObjs +{ratio} ")
        self.assertRegex(text, rf"\n% PartObj( +{ratio}%){{4}}\n")

    def test_totals_of_whole_pages(self):
        """The subject has one block of 1 MiB; what it has resident is known to the kernel."""
        pid = self.start()
        os.kill(pid, signal.SIGSTOP)  # so that it takes and gives nothing meanwhile

        def resident():
            with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as stream:
                return int(re.search(r"Rss: +(\d+) kB", stream.read()).group(1)) * 1024
        for options in ("-TB", "-X"):
            before = resident()
            text = self.info("-p", pid, options)
            self.assertIn(f"\nWhole pages: {1 << 20:15}   # Blocks : {1:15}   Mapped: {0:6}\n", text)
            found = int(re.search(r"\nResident   : +(\d+)   Of uslab : +\d+   Free  : ", text).group(1))
            self.assertTrue(min(before, resident()) <= found <= max(before, resident()))
            self.assertNotIn("Whole pages", self.info("-p", pid, options, "plain"))
            self.assertLess(text.index("\nResident "), text.index("\nPer Cache "))
        self.assertIn("\nWhole pages:            1.0M ", self.info("-p", pid, "-T"))

    def test_totals_of_handlers(self):
        """The reserve for signal handlers, where the program has come to it: what a report's hook calls does."""
        pid = self.start()
        self.assertNotIn("In handlers", self.info("-p", pid, "-TB"))
        total = json.loads(self.info("-p", pid, "--json"))["uslab"]
        self.assertEqual([total["reserve_" + what] for what in ("blocks", "served", "failed", "lost")],
                         [0, 0, 0, 0])
        program = self.folder.compile("handlers", HANDLERS, f"-I{SRC}/include", f"{LIB}/libuslab.a",
                                      "-pthread")
        with Started(program, stderr=subprocess.DEVNULL) as pid:
            text = self.info("-p", pid, "-TB")
            self.assertIn(f"\nIn handlers: {3:15}   In use   : {3:15}   Failed: {0:6}\n", text)
            self.assertLess(text.index("\nIn handlers"), text.index("\nPer Cache "))
            total = json.loads(self.info("-p", pid, "--json"))["uslab"]
        self.assertEqual([total["reserve_" + what] for what in ("blocks", "served", "failed", "lost")],
                         [3, 3, 0, 0])

    def test_activity(self):
        run = uslab("info", "-p", self.start(), "-D")
        self.assertRegex(run.stdout,
                         r"\nplain                     1000          0          0   0   0     0 0")
        not_started = "was not started with USLAB_CONF=stats: it counts no allocations and frees\n"
        self.assertTrue(run.stderr.endswith(not_started), run.stderr)
        self.assertTrue(uslab("info", "-p", self.process.pid, "-A").stderr.endswith(not_started))
        pid = self.start(USLAB_CONF="stats")
        for option in ("-D", "-A"):
            run = uslab("info", "-p", pid, option, "--interval=0.01", "-c2")
            self.assertEqual((run.returncode, run.stderr),
                             (0, f"uslab info: subject ({pid}): allocations and frees that hit a CPU's array "
                                 "(the front array) are not counted\n"))
        self.info("-p", self.start(USLAB_CONF="stats,front=cpuslab"), "-D")

    def test_address(self):
        pid = self.start()
        user, plain, large, code = self.addresses
        text = self.info("-p", pid, "--address", user)
        self.assertRegex(text, rf"^{user} slab tracked start {user} data offset \d+ pointer "
                               r"offset 0 size 100 allocated at main\+0x\S+ \[subject\]\n    \S+\+")
        self.assertIn("\n  object     live\n", text)
        self.assertIn("red zones, users, checked slab\n", text)
        text = self.info("-p", pid, "--address", hex(int(plain, 16) + 5))
        self.assertIn(f" slab plain start {plain} pointer offset 5 size 200\n", text)
        text = self.info("-p", pid, f"--address={large}")
        self.assertIn(f" large allocation start {large} pointer offset 0 size 1048576\n", text)
        self.assertEqual(self.info("-p", pid, "--address", code), f"{code} non-slab memory\n")


class Changes(Case):
    def test_debug_of_a_full_cache(self):
        pid = self.start()
        self.assertEqual(self.info("-p", pid, "-da", "^plain$"), "")
        cache = self.caches(pid)["plain"]
        self.assertTrue(all(cache["flags"][key] for key in
                            ("sanity_checks", "red_zone", "poison", "store_user")))
        self.assertGreater(cache["slab_size"], 280)
        self.assertEqual((cache["debug_slabs"], cache["objects"]), (0, 1000))
        self.tell(signal.SIGUSR2)
        self.assertEqual(self.caches(pid)["plain"]["tracked"], 100)
        self.assertRegex(self.info("-p", pid, "-t", "^plain$"), r"\n    100 take_one_hundred\+")
        self.assertRegex(self.info("-p", pid, "-v", "^plain$"), r"^plain: \d+ slabs checked\n$")
        self.assertEqual(self.info("-p", pid, "-d", "^plain$"), "")
        cache = self.caches(pid)["plain"]
        self.assertFalse(cache["flags"]["poison"])
        self.assertEqual(cache["objects"], 1100)
        self.assertGreater(cache["debug_slabs"], 0)

    def test_validate_finds(self):
        pid = self.start()
        self.info("-p", pid, "--debug=FZPU", "^plain$")
        self.tell(signal.SIGUSR2)
        self.tell(signal.SIGUSR1)
        run = uslab("info", "-p", str(pid), "-v", "plain")
        self.assertEqual(run.returncode, 1)
        self.assertIn("has reported", run.stderr)
        self.process.kill()
        self.assertIn("BUG plain", self.process.stderr.read())

    def test_validate_of_nothing(self):
        run = uslab("info", "-p", str(self.start()), "-v", "^plain$")
        self.assertEqual((run.returncode, run.stdout), (0, ""))
        self.assertIn("none of these caches has checked objects (-dfzpu makes them)", run.stderr)

    def refused(self, text, *arguments):
        run = uslab("info", *arguments)
        self.assertEqual((run.returncode, run.stdout, run.stderr), (1, "", f"uslab info: {text}\n"))

    def test_debug_of_whole_pages(self):
        """By the name that uslab debug has for all of them."""
        pid = self.start()
        self.assertEqual(self.info("-p", pid, "-dfzpu", "^kmalloc-large$"), "")
        flags = self.caches(pid)["kmalloc-large"]["flags"]
        self.assertTrue(all(flags[key] for key in ("sanity_checks", "red_zone", "poison", "store_user")))
        self.assertRegex(self.info("-p", pid, "-v", "^kmalloc-large$"), r"^kmalloc-large: \d+ slabs? checked\n$")
        self.refused("kmalloc-mapped are blocks of whole pages, which go by the name kmalloc-large",
                     "-p", pid, "-d", "^kmalloc-mapped$")
        self.refused("kmalloc-large are blocks of whole pages, which have no slabs", "-p", pid, "-s", "^kmalloc-large$")
        self.refused("free-pages is no cache", "-p", pid, "-da", "free")
        self.assertEqual(self.info("-p", pid, "-d", "^kmalloc-"), "")
        self.assertFalse(self.caches(pid)["kmalloc-large"]["flags"]["store_user"])

    def test_debug_of_an_unused_class(self):
        """No cache is there before the command."""
        program = self.folder.compile("idle", IDLE)
        with Started(BIN, "run", program, env=dict(os.environ, USLAB_CONF="control=50")) as pid:
            self.assertNotIn("malloc-28672", self.caches(pid))
            self.assertEqual(self.info("-p", pid, "-dfz", "^malloc-28672$"), "")
            self.assertTrue(self.caches(pid)["malloc-28672"]["flags"]["red_zone"])

    def test_idle_program(self):
        """It takes no command, and is not asked where there is nothing to do."""
        program = self.folder.compile("idle", IDLE)
        with Started(BIN, "run", program) as pid:
            self.assertEqual(self.info("-p", pid, "-d"), "")
            self.refused("malloc-mapped are blocks of whole pages, which go by the name malloc-large",
                         "-p", pid, "-da", "^malloc-mapped$")

    def test_no_such_cache(self):
        pid = self.start()
        text = "no cache in use matches 'no-such.*cache'"
        for option in ("-d", "-da", "-s", "-v"):
            self.refused(text, "-p", pid, option, "no-such.*cache")
        for option in ("-m", "-t", "-o", "-r", "-a", "-n"):
            run = uslab("info", "-p", pid, option, "no-such.*cache")
            self.assertEqual((run.returncode, run.stderr.count(text)), (0, 1), option)

    def test_shrink(self):
        pid = self.start()
        before = self.caches(pid)["sparse"]
        self.assertEqual(self.info("-p", pid, "-s", "sparse"), "")
        after = self.caches(pid)["sparse"]
        self.assertEqual(after["objects"], before["objects"])
        self.assertLess(after["slabs"], before["slabs"])

    def test_ended(self):
        pid = self.start()
        self.process.kill()
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        run = uslab("info", "-p", str(pid), "-s")
        self.assertEqual((run.returncode, run.stdout), (1, ""))


class Namesakes(Case):
    """No two samples have the same labels, which the other options do not change."""

    def samples(self, *arguments):
        """Name and labels of all samples -> value."""
        lines = [line for line in self.info(*arguments).splitlines() if line[0] != "#"]
        samples = dict(line.rsplit(" ", 1) for line in lines)
        self.assertEqual(len(samples), len(lines), "labels are there twice")
        return samples

    def labels(self, *arguments):
        """Label of a cache -> its objects."""
        label = re.compile(r'uslab_cache_active_objects\{.*,cache="([^"]*)"')
        return {label.match(key)[1]: int(value) for key, value in self.samples(*arguments).items()
                if label.match(key)}

    def test_labels(self):
        program = self.folder.compile("namesakes", NAMESAKES, f"-I{SRC}/include", f"{LIB}/libuslab.a", "-pthread")
        with Started(program) as pid:
            ids = {cache["object_size"]: cache["id"] for cache in
                   json.loads(self.info("-p", pid, "--json", "-z"))["caches"]}
            want = {"dup": 0, f"dup~{ids[1100]}": 10, f"dup~{ids[1200]}": 20, "b?": 30, f"b?~{ids[1400]}": 40, "a b": 50,
                    f"~{ids[1600]}": 60}
            for form in ("--openmetrics", "--prometheus"):
                labels = self.labels("-p", pid, form)
                self.assertEqual({name: labels.get(name) for name in want}, want)
            self.assertEqual(self.labels("-p", pid, "--prometheus", "-SN1", "^dup$"), {f"dup~{ids[1200]}": 20})
            self.samples("-p", pid, "-p", self.start(), "--openmetrics")


def still(listing):
    """Without the cache that the subject goes on using."""
    return re.sub(r"(?m)^polled .*\n", "", listing)


class Several(Case):
    def test_headings(self):
        first, second = self.start(), self.start()
        text = self.info("-p", first, "-p", second, "-T")
        parts = text.split("\n\nsubject (")
        self.assertEqual(len(parts), 2)
        self.assertTrue(text.startswith(f"subject ({first}):\nSlabcache Totals\n"))
        self.assertTrue(parts[1].startswith(f"{second}):\nSlabcache Totals\n"))

    def test_json(self):
        first, second = self.start(), self.start()
        data = json.loads(self.info("-p", first, "-p", second, "--json"))
        self.assertEqual([part["pid"] for part in data], [first, second])

    def families(self, text, counter, suffix):
        """Each family has one type, samples of its name (a counter's with the suffix), and none is empty."""
        kinds = re.findall(r"(?m)^# TYPE (\w+) (\w+)$", text)
        self.assertEqual(len(kinds), len(set(name for name, _ in kinds)))
        samples = [name + suffix if kind == counter else name for name, kind in kinds]
        found = [name for name, _ in itertools.groupby(re.findall(r"(?m)^(?!#)(\w+){", text))]
        self.assertEqual(found, samples)  # in this order, each together
        self.assertEqual(re.findall(r"(?m)^# HELP (\w+) \S", text), [name for name, _ in kinds])
        for name, kind in zip(samples, (kind for _, kind in kinds)):
            self.assertEqual(name.endswith("_total"), kind == counter, name)
        labels = r'\w+="(?:[^"\\]|\\.)*"'
        for line in text.splitlines():
            if not line.startswith("#"):
                self.assertRegex(line, rf"^\w+{{{labels}(?:,{labels})*}} -?\d+$")

    def test_metrics(self):
        first, second = self.start(USLAB_CONF="stats"), self.start()
        text = self.info("-p", first, "-p", second, "--openmetrics")
        self.assertTrue(text.endswith("\n# EOF\n"))
        for pid in (first, second):
            self.assertIn('uslab_cache_active_objects{pid="%d",program="subject",cache="plain",'
                          'engine="slub"} 1000\n' % pid, text)
            self.assertIn('\nuslab_metadata_bytes{pid="%d",program="subject"} ' % pid, text)
        self.assertRegex(text, r'\nuslab_cache_events_total{pid="%d",.*cache="plain",.*,'
                               r'event="alloc_slab"} \d+\n' % first)
        own = self.info("-p", first, "-p", second, "--prometheus")
        self.families(text, "counter", "_total")
        self.families(own, "counter", "")
        self.assertNotIn("# EOF", own)
        names = [re.findall(r"(?m)^(?!#)(\w+){", form) for form in (text, own)]
        self.assertEqual(set(names[0]), set(names[1]))
        if shutil.which("promtool"):
            run = subprocess.run(["promtool", "check", "metrics"], input=own, text=True,
                                 capture_output=True, check=False)
            self.assertEqual((run.returncode, run.stdout, run.stderr), (0, "", ""))
        try:
            from prometheus_client.openmetrics import parser
        except ImportError:
            return
        families = list(parser.text_string_to_metric_families(text))
        self.assertIn("uslab_resident_bytes", [family.name for family in families])

    def round(self, watch):
        """What is printed at once, up to and with the last line."""
        lines = list(itertools.takewhile("# EOF\n".__ne__, watch.stdout))
        self.assertTrue(lines, "it has ended")
        return "".join(lines)

    def test_metrics_go_on(self):
        ended, other = self.start(), self.start()
        with subprocess.Popen([BIN, "info", "-p", str(ended), "-p", str(other), "--openmetrics",
                               "--interval=0.05", "plain"], text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE) as watch:
            last = self.round(watch)
            self.assertIn(f'pid="{ended}"', last)
            os.kill(ended, signal.SIGKILL)
            while f'pid="{ended}"' in last:
                last = self.round(watch)
            self.process.kill()
            watch.stdout.read()
            errors = watch.stderr.read()
        self.assertEqual(watch.returncode, 0, errors)
        self.assertIn(str(ended), errors)
        self.assertRegex(last, rf'\nuslab_allocated_bytes{{pid="{other}",.*}} \d+\n')

    def some_missing(self, live, *arguments):
        """What is printed of a live one, one that does not use uslab, and one that is not there."""
        with subprocess.Popen(["true"]) as ended:
            ended.wait()
        run = uslab("info", "-p", live, "-p", str(os.getpid()), "-p", str(ended.pid), *arguments)
        self.assertEqual(run.returncode, 1)
        other, missing = run.stderr.splitlines()
        self.assertIn(f"process {os.getpid()} ", other)
        self.assertEqual(missing, f"uslab info: no such process: {ended.pid}")
        return run.stdout

    def test_some_are_missing(self):
        pid = self.start()
        alone = self.info("-p", pid)
        self.assertEqual(still(self.some_missing(pid)), still(f"subject ({pid}):\n{alone}"))
        data = json.loads(self.some_missing(pid, "--json"))
        self.assertEqual([part["pid"] for part in data], [pid])
        text = self.some_missing(pid, "--openmetrics")
        self.assertIn(f'uslab_metadata_bytes{{pid="{pid}"', text)
        self.assertEqual(self.some_missing(pid, "--interval=0.01", "-c2").count("\nplain "), 2)

    def test_all_are_missing(self):
        run = uslab("info", "-p", str(os.getpid()), "-p", str(os.getppid()), "--json")
        self.assertEqual((run.returncode, run.stdout, run.stderr.count("\n")), (1, "", 2))

    def test_named_twice(self):
        first, second = self.start(), self.start()
        self.assertEqual(still(self.info("-p", first, "-p", first)), still(self.info("-p", first)))
        data = json.loads(self.info("-p", first, "-p", second, "-p", first, "--json"))
        self.assertEqual([part["pid"] for part in data], [first, second])
        many = ["-p", str(first)] * 100
        self.assertIsInstance(json.loads(self.info(*many, "--json")), dict)

    def test_errors_in_one_do_not_hide_the_other(self):
        first, second = self.start(), self.start()
        run = uslab("info", "-p", first, "-p", second, "-dQ")
        self.assertEqual(run.returncode, 2)
        os.kill(first, signal.SIGSTOP)
        run = uslab("info", "-p", first, "-p", second, "-s", "^sparse$")
        os.kill(first, signal.SIGCONT)
        self.assertEqual(run.returncode, 1)
        self.assertIn(f"process {first} (subject) is stopped", run.stderr)
        self.assertIn(f"subject ({second}):\n", run.stdout)

    TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}[+-]\d{4}"

    def test_interval(self):
        pid = self.start()
        text = self.info("-p", pid, "--interval", "0.05", "-c", "3", "-z")
        self.assertEqual(text.count("Name "), 3)
        self.assertRegex(text, rf"^{self.TIME}\nName ")
        self.assertEqual(len(re.findall(rf"\n\n{self.TIME}\nName ", text)), 2)
        times = re.findall(rf"(?m)^{self.TIME}$", text)
        self.assertEqual(times, sorted(set(times)))
        self.assertNotRegex(self.info("-p", pid), self.TIME)
        self.assertNotRegex(self.info("-p", pid, "--openmetrics", "--interval=0.01", "-c2"), self.TIME)

    def test_interval_of_json(self):
        pid = self.start()
        text = self.info("-p", pid, "--interval=0.01", "-c2", "--json")
        first, end = json.JSONDecoder().raw_decode(text)
        second = json.loads(text[end:])
        for data in (first, second):
            self.assertRegex(data["time"], rf"^{self.TIME}$")
        self.assertLess(first["time"], second["time"])
        self.assertNotIn("time", json.loads(self.info("-p", pid, "--json")))

    def test_warning_once(self):
        run = uslab("info", "-p", self.start(), "--interval=0.01", "-c3", "^no-such-cache")
        self.assertEqual((run.returncode, run.stderr.count("no cache in use matches")), (0, 1))

    def test_until_the_end(self):
        pid = self.start()
        with subprocess.Popen([BIN, "info", "-p", str(pid), "--interval=0.05"], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE) as watch:
            text = watch.stdout.readline()
            self.process.kill()
            text += watch.stdout.read()
            errors = watch.stderr.read()
        self.assertIn("plain ", text)
        self.assertEqual((watch.returncode, errors),
                         (0, f"uslab info: subject ({pid}) has ended\n"))


class Cores(Case):
    def core(self):
        """A core of a subject, and its list right before."""
        if cores.why_none():
            self.skipTest(cores.why_none())
        folder = tempfile.mkdtemp(prefix="uslab-core-")
        self.addCleanup(shutil.rmtree, folder)
        with Started(self.program, cwd=folder, preexec_fn=cores.allow) as pid:
            os.kill(pid, signal.SIGSTOP)
            before = self.info("-p", pid)
            os.kill(pid, signal.SIGABRT)
            os.kill(pid, signal.SIGCONT)
            os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        core = cores.find(folder)
        self.assertTrue(core, "no core file was written")
        return core, before

    def test_core(self):
        core, before = self.core()
        self.assertEqual(self.info("--core", core), before)
        self.assertRegex(self.info("--core", core, "-t", "^tracked$"),
                         r"\n     10 main\+0x[0-9a-f]+/0x[0-9a-f]+ \[subject\] age=")
        self.assertEqual(json.loads(self.info("--core", core, "--json"))["core"], core)
        text = self.info("--core", core, "-TB")
        self.assertIn(f"\nWhole pages: {1 << 20:15}   # Blocks : {1:15}   Mapped: {0:6}\n", text)
        there = int(re.search(r"\nIn the core: +(\d+)   Of uslab : +\d+ ", text).group(1))
        self.assertTrue(0 < there <= os.stat(core).st_size, there)
        for option in ("-s", "-v", "-dF"):
            run = uslab("info", "--core", core, option)
            self.assertEqual((run.returncode, run.stdout), (1, ""))
            self.assertIn("is a core file: nothing can be changed in it", run.stderr)

    def test_no_core(self):
        for path in ("/nonexistent", BIN, "/dev/null", self.folder.path):
            run = uslab("info", "--core", path)
            self.assertEqual((run.returncode, run.stdout), (1, ""), run.stderr)
            self.assertIn(path, run.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
