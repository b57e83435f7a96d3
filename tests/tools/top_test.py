#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# ctest: timeout=900
"""uslab top: on a real terminal (tmux), by keys; in batch mode; errors.

The program looked into allocates steadily from a cache "grower", keeps "steady", and knows "empty".
"""
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from folder import InOwnFolder  # noqa: E402
from programs import WITH_LIBRARY, compile_program  # noqa: E402

BIN = os.environ["USLAB_BIN"]

PROGRAM = r"""
#include <signal.h>
#include <stdio.h>
#include <unistd.h>
#include <uslab/slab.h>

static void *objects[100000];

static void replace(int number)
{
	(void)number;
	execl("/bin/sleep", "sleep", "1000", NULL);
}

int main(void)
{
	struct kmem_cache *grower = kmem_cache_create("grower", 1000, 0, 0, NULL);
	struct kmem_cache *steady = kmem_cache_create("steady", 2000, 0, 0, NULL);

	kmem_cache_create("empty", 3000, 0, 0, NULL);
	signal(SIGUSR1, replace);
	for (int i = 0; i < 500; i++)
		kmem_cache_alloc(steady, GFP_KERNEL);
	puts("ready");
	fflush(stdout);
	for (int i = 0; i < 100000; i++) {
		objects[i] = kmem_cache_alloc(grower, GFP_KERNEL);
		usleep(2000);
	}
}
"""


class Terminal:
    """`uslab top` in a terminal of its own."""

    def __init__(self, folder, width, height, *arguments, term="screen-256color"):
        socket = os.path.join(tempfile.mkdtemp(dir=folder), "tmux")  # a server of its own
        self.tmux = ["tmux", "-f", "/dev/null", "-S", socket]
        # tmux has a TERM of its own
        command = " ".join([f"TERM={term}", BIN, "top", *map(str, arguments)]) + "; echo status=$?; sleep 900"
        self.run("new-session", "-d", "-x", width, "-y", height, command)

    def run(self, *arguments):
        return subprocess.run([*self.tmux, *map(str, arguments)], capture_output=True, text=True,
                              check=False, timeout=300)

    def screen(self):
        return self.run("capture-pane", "-p").stdout

    def keys(self, *keys):
        self.run("send-keys", *keys)

    def wait(self, pattern, seconds=300):
        """The screen once it has that on it."""
        end = time.monotonic() + seconds
        while True:
            screen = self.screen()
            if re.search(pattern, screen):
                return screen
            if time.monotonic() > end:
                raise AssertionError(f"no {pattern!r} on the screen:\n{screen}")
            time.sleep(0.05)

    def close(self):
        self.run("kill-server")


@unittest.skipUnless(shutil.which("tmux"), "tmux is not installed")
class OnTerminal(InOwnFolder):
    def setUp(self):
        super().setUp()
        path = compile_program(self.folder, "grower", PROGRAM, *WITH_LIBRARY)
        self.program = subprocess.Popen([path], stdout=subprocess.PIPE, text=True,
                                        stderr=subprocess.DEVNULL)
        self.addCleanup(self.program.stdout.close)
        self.addCleanup(self.program.wait)
        self.addCleanup(self.program.kill)
        self.assertEqual(self.program.stdout.readline(), "ready\n")

    def top(self, *arguments, size=(120, 24)):
        terminal = Terminal(self.folder, *size, "-p", self.program.pid, "-d", "0.2", *arguments)
        self.addCleanup(terminal.close)
        return terminal

    def twice(self, top, key, answer):
        """Keys that act on the process ask to be pressed again."""
        top.keys(key)
        top.wait(f"{key} again to confirm")
        top.keys(key)
        return top.wait(answer)

    def lines(self, screen):
        return [line.split()[0] for line in screen.splitlines()[3:] if line.strip()]

    def test_sorts_and_filters(self):
        top = self.top()
        screen = top.wait("steady")
        self.assertIn(f"grower ({self.program.pid})", screen.splitlines()[0])
        self.assertEqual(self.lines(screen)[0], "steady")  # by bytes
        top.keys("g")
        screen = top.wait(r"by growth[\s\S]*grower .*\+[0-9.]+K/s")
        self.assertEqual(self.lines(screen)[0], "grower")
        top.keys("n")
        screen = top.wait("by name")
        self.assertLess(self.lines(screen).index("grower"), self.lines(screen).index("steady"))
        self.assertNotIn("empty", screen)
        top.keys("z")
        top.wait("empty")
        top.keys("/")
        top.wait("show names with:")
        top.keys("tea", "Enter")
        screen = top.wait("filter tea")
        self.assertEqual(self.lines(screen)[0], "steady")
        self.assertNotIn("grower ", screen.splitlines()[3])
        top.keys("q")
        top.wait("status=0")

    def test_common_sizes(self):
        """Whole numbers, and the interval, on the usual terminals; all columns where they have room."""
        row = re.compile(r"^(?:grower|steady) +\d+(?: +\d+)?(?: +\d+(?:\.\d)?[KM]?){3} +(?:0|-|[+-]\S+/s)"
                         r"(?: +\d+/\d+/\d+)? *$")
        for width, height, columns in ((80, 24, 7), (100, 30, 9), (200, 50, 9)):
            top = self.top(size=(width, height))
            screen = top.wait(r"grower[\s\S]*q quit").splitlines()
            self.assertTrue(screen[0].endswith(", every 0.2 s"), screen[0])
            self.assertGreaterEqual(len(screen[2].split()), columns)
            rows = [line for line in screen[3:] if line.startswith(("grower", "steady"))]
            self.assertEqual(len(rows), 2)
            for line in rows:
                self.assertRegex(line, row)
            top.keys("-")
            top.wait(r"every 0\.4 s")
            top.keys("q")
            top.wait("status=0")
            top.close()

    def test_growth_decays(self):
        """Nothing is allocated any more: of the rows and of all. After how many looks: unit/tools/top/top_rows_test."""
        top = self.top("-s", "growth", size=(80, 24))
        top.wait(r"(?m)^grower .*\+[0-9.]+K/s")
        os.kill(self.program.pid, signal.SIGSTOP)
        top.wait(r"\)\n[\s\S]*grower .* 0 *\n")
        os.kill(self.program.pid, signal.SIGCONT)

    def test_detail_and_help(self):
        top = self.top("-s", "growth")
        top.wait(r"\+[0-9.]+K/s")
        top.keys("Home", "Enter")
        screen = top.wait(r"object_size +1000")
        self.assertRegex(screen, r"bytes held, newest at the right: \S+")
        top.keys("Escape")
        top.wait("Objsize")
        top.keys("h")
        top.wait("set its debug flags")
        top.keys("q")
        top.wait("status=0")

    def test_switches_debugging_and_tracking(self):
        top = self.top("-s", "growth")
        top.wait(r"\+[0-9.]+K/s")
        top.keys("Home")
        self.twice(top, "t", "track grower: done")
        top.wait(r"(?m)^grower .* U$")
        top.keys("c")
        screen = top.wait(r"[0-9]+ of [0-9]+ live objects are tracked[\s\S]*main\+0x")
        self.assertRegex(screen, r"grower\.c:\d+")
        top.keys("Escape")
        top.keys("d")
        top.wait("debug flags")
        top.keys("FZP", "Enter")
        top.wait(r"(?m)^grower .* PZF$")
        self.twice(top, "v", "validated [1-9][0-9]* slabs of grower")
        self.twice(top, "s", "shrink grower: done")
        top.keys("d")
        top.keys("-", "Enter")
        top.wait(r"(?m)^grower [^A-Z]* 0?[^A-Z]*$")
        self.assertIsNone(self.program.poll())

    def test_keys_act_on_the_row_that_is_shown(self):
        """The filter hides the cache that the cursor was on: keys are for the one that is shown instead."""
        top = self.top("-s", "name")
        self.assertEqual(self.lines(top.wait("steady"))[-2], "steady")
        top.keys("End")
        top.keys("/")
        top.wait("show names with:")
        top.keys("grow", "Enter")
        self.assertNotIn("steady", top.wait("filter grow"))
        self.twice(top, "t", "track grower: done")
        top.keys("c")
        top.wait("grower: call sites")
        top.keys("Escape")
        top.keys("d")
        top.wait("debug flags of grower ")
        top.keys("FZP", "Enter")
        top.wait("debug grower: done")
        self.twice(top, "v", "validated [0-9]+ slabs of grower")
        self.twice(top, "s", "shrink grower: done")
        top.keys("/")
        top.wait("show names with:")
        top.keys("nothing", "Enter")
        top.wait(" 0 caches by name")
        for key in "tsdvm":
            top.keys("p", key)  # p: an earlier message goes
            top.wait("no cache is shown")
        top.keys("/")
        top.wait("show names with:")
        top.keys("Enter")
        self.assertRegex(top.wait("(?m)^steady"), r"(?m)^steady .* \d+/\d+/\d+$")  # without debug flags

    def test_last_line_names_the_keys(self):
        """All of it on 80 columns; M is memory, and m asks before it moves anything."""
        top = self.top(size=(80, 24))
        last = top.wait(r"steady[\s\S]*q quit").rstrip("\n").splitlines()[-1]
        self.assertEqual(last, "h help  b/o/g/w/n sort  Enter detail  c sites  M memory  d debug  q quit")
        top.keys("M")
        top.wait("%process")
        top.keys("Escape")
        top.wait("Objsize")
        top.keys("m")
        top.wait("objects of steady do not move")
        top.keys("s")
        top.wait("shrink steady: s again to confirm")
        top.keys("m")  # calls it off
        top.wait("objects of steady do not move")
        top.keys("s")
        top.wait("shrink steady: s again to confirm")
        top.wait(r"q quit")  # and so does time
        self.assertIsNone(self.program.poll())

    def test_keys_before_the_cursor_was_moved(self):
        """Row 1 is current from the start."""
        top = self.top("-s", "name")
        first = self.lines(top.wait("steady"))[0]
        top.keys("c")
        top.wait(rf"(?m)^{first}: call sites")
        top.close()
        top = self.top("-s", "name")
        self.assertEqual(self.lines(top.wait("steady"))[0], first)
        self.twice(top, "t", f"track {first}: done")
        self.twice(top, "s", f"shrink {first}: done")

    def test_resizes_and_says_when_the_process_ends(self):
        top = self.top(size=(120, 10))
        top.wait("steady")
        top.run("resize-window", "-x", "60", "-y", "30")
        screen = top.wait(r"(?m)^Name +Objects +Held +Space +Waste +Growth$")
        self.assertTrue(all(len(line) <= 60 for line in screen.splitlines()))
        top.run("resize-window", "-x", "10", "-y", "2")
        top.wait(r"^[^\n]{1,10}\n[^\n]{0,10}\n$")
        top.run("resize-window", "-x", "120", "-y", "30")
        top.wait("steady[\\s\\S]*q quit")
        self.program.kill()
        self.program.wait()
        screen = top.wait("has ended")
        self.assertIn("steady", screen)
        top.keys("q")
        top.wait("status=0")

    def test_terminals_that_cannot_show_it(self):
        for term in ("dumb", "no-such-terminal"):
            top = Terminal(self.folder, 80, 24, "-p", self.program.pid, term=term)
            self.addCleanup(top.close)
            screen = top.wait(r"status=\d", 30)
            self.assertIn(f"uslab top: the terminal '{term}' cannot show it; -b prints lines\nstatus=1\n", screen)

    def test_says_why_it_ends(self):
        """When its screen is gone: the process is another program."""
        top = self.top()
        top.wait("steady")
        self.program.send_signal(signal.SIGUSR1)
        self.assertRegex(top.wait(r"(?m)status=1$"), r"(?m)^uslab top: process \d+ \(grower\) changed while it was being read")


class Batch(unittest.TestCase):
    def top(self, *arguments, **options):
        return subprocess.run([BIN, "top", *map(str, arguments)], capture_output=True, text=True,
                              check=False, timeout=300, **options)

    @unittest.skipUnless(os.access("/sys/kernel/slab/kmalloc-64/objects", os.R_OK),
                         "the kernel's caches cannot be read")
    def test_kernel(self):
        run = self.top("--kernel", "-b", "-n", 2, "-d", 0.1, "-s", "objects")
        self.assertEqual((run.stderr, run.returncode), ("", 0))
        looks = run.stdout.strip().split("\n\n")
        self.assertEqual(len(looks), 2)
        objects = [int(line.split()[1]) for line in looks[1].splitlines()[3:]]
        self.assertGreater(len(objects), 20)
        self.assertEqual(objects, sorted(objects, reverse=True))

    def test_growth_is_not_known_at_first(self):
        with tempfile.TemporaryDirectory() as folder:
            path = compile_program(folder, "subject", PROGRAM, *WITH_LIBRARY)
            with subprocess.Popen([path], stdout=subprocess.PIPE, text=True) as program:
                self.assertEqual(program.stdout.readline(), "ready\n")
                run = self.top("-p", program.pid, "-b", "-n", 2, "-d", 2.5, "-s", "growth")
                program.kill()
        self.assertEqual((run.stderr, run.returncode), ("", 0))
        looks = run.stdout.strip().split("\n\n")
        growth = [dict(re.findall(r"(?m)^(\w+)(?: +\S+){5} +(\S+)", look)) for look in looks]
        self.assertEqual([look["steady"] for look in growth], ["-", "0"])
        self.assertEqual(growth[0].get("grower", "-"), "-")  # it may have no object yet
        self.assertRegex(growth[1]["grower"], r"\+.*/s")

    def test_full_disk(self):
        with tempfile.TemporaryDirectory() as folder, open("/dev/full", "w") as full:
            path = compile_program(folder, "subject", PROGRAM, *WITH_LIBRARY)
            with subprocess.Popen([path], stdout=subprocess.PIPE, text=True) as program:
                self.assertEqual(program.stdout.readline(), "ready\n")
                try:
                    run = subprocess.run([BIN, "top", "-p", str(program.pid), "-b", "-d", "0.1"], stdout=full,
                                         stderr=subprocess.PIPE, text=True, check=False, timeout=60)
                finally:
                    program.kill()
        self.assertEqual((run.stderr, run.returncode),
                         ("uslab top: cannot write the output: No space left on device\n", 1))

    def test_errors(self):
        for arguments, status, text in (
                ((), 2, "-p PID"),
                (("-p", "x"), 2, "process id"),
                (("-p", "1", "--kernel"), 2, "once"),
                (("--kernel", "-s", "colour"), 2, "order"),
                (("--kernel", "-d", "0"), 2, "interval"),
                (("--kernel", "-n", "0"), 2, "count"),
                (("--kernel", "more"), 2, "more"),
                (("--nonsense",), 2, "nonsense"),
                (("-b", "-p", os.getpid()), 1, "uslab"),
                (("-b", "-p", 4194304), 1, "4194304"),
                (("-b", "--root", "/nonexistent"), 1, "/nonexistent")):
            run = self.top(*arguments)
            self.assertEqual(run.returncode, status, (arguments, run.stderr))
            self.assertIn(text, run.stderr)
            self.assertEqual(run.stdout, "")

    @unittest.skipUnless(os.access("/sys/kernel/slab/kmalloc-64/objects", os.R_OK),
                         "the kernel's caches cannot be read")
    def test_no_terminal(self):
        run = self.top("--kernel", stdin=subprocess.DEVNULL)
        self.assertEqual(run.returncode, 2)
        self.assertIn("-b prints lines", run.stderr)

    def test_help(self):
        self.assertIn("usage: uslab top", self.top("--help").stdout)
        self.assertRegex(self.top("--version").stdout, r"^uslab \d")


if __name__ == "__main__":
    unittest.main()
