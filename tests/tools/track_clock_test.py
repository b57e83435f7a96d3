#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# ctest: timeout=900
"""uslab track of programs whose clock is not the tool's, and of what a tool left that was killed."""
import ctypes.util
import glob
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from folder import InOwnFolder  # noqa: E402
from programs import compile_program  # noqa: E402

BIN = os.environ["USLAB_BIN"]
MALLOC = os.environ["USLAB_MALLOC_SO"]
CACHE = "malloc-640"
LEASE = 10  # seconds
LEAK = r"""
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

__attribute__((noinline)) void *leak(void)
{
	void *volatile block = malloc(600);

	return block;
}

int main(void)
{
	static void *last;

	printf("%d\n", (int)getpid());
	fflush(stdout);
	for (;;) {
		void **kept = leak();

		*kept = last;
		last = kept;
		for (int i = 0; i < 20; i++)
			free(leak());
		usleep(1000);
	}
}
"""


def uslab(*arguments):
    return subprocess.run([BIN, *map(str, arguments)], capture_output=True, text=True, check=False,
                          timeout=300)


def time_namespace(seconds):
    return ("unshare", "-T", "--monotonic", str(seconds), "--boottime", "1000000", "--fork", "--kill-child")


def may_unshare():
    return shutil.which("unshare") and not subprocess.run([*time_namespace(7), "true"], check=False,
                                                          capture_output=True).returncode


def libfaketime():
    found = ctypes.util.find_library("faketime")
    return found or next(iter(glob.glob("/usr/lib/*/faketime/libfaketime.so.1")), None)


class Clock(InOwnFolder):
    def start(self, *before, **environment):
        program = compile_program(self.folder, "leak", LEAK)
        preload = ":".join(filter(None, (environment.pop("first", None), MALLOC)))
        process = subprocess.Popen([*before, "env", f"LD_PRELOAD={preload}", program], stdout=subprocess.PIPE,
                                   text=True, env={**os.environ, **environment})
        for cleanup in (process.stdout.close, process.wait, process.kill):
            self.addCleanup(cleanup)
        self.pid = int(process.stdout.readline())

    def sampled(self):
        caches = json.loads(uslab("info", "-p", self.pid, "-z", "--json").stdout)["caches"]
        return next(c["sampled"] for c in caches if c["name"] == CACHE)

    def status(self):
        return uslab("debug", "-p", self.pid, "--status").stdout

    def check_table(self, *arguments):
        """A table of what was kept meanwhile, and of nothing else."""
        start = time.monotonic()
        result = uslab("track", "-p", self.pid, "--once", "-i", 2, "--json", "--wait", 60, *arguments)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertNotIn("interrupted", result.stderr)
        table = json.loads(result.stdout)
        self.assertGreater(table["seconds"], 1.9)
        self.assertLess(table["seconds"], time.monotonic() - start)
        site = next(site for site in table["sites"] if site["function"] == "leak")
        self.assertGreater(site["kept_per_second"], 0)
        self.assertLess(site["age_ms"]["max"], table["seconds"] * 1000 + 100)

    def kill_tool(self, *arguments):
        """The tool and its watchdog, both by -9, when the tool samples. Returns when that was."""
        tool = subprocess.Popen([BIN, "track", "-p", str(self.pid), "-c", CACHE, "--sample", "-i", "0.2", *arguments],
                                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.addCleanup(tool.stdout.close)
        while "tracked for" not in tool.stdout.readline():
            self.assertIsNone(tool.poll())
        with open(f"/proc/{tool.pid}/task/{tool.pid}/children", encoding="ascii") as stream:
            children = stream.read().split()
        for pid in (*map(int, children), tool.pid):
            os.kill(pid, signal.SIGKILL)
        tool.wait()
        return time.monotonic()

    def await_end(self, killed):
        """Sampling ends with the lease, which was renewed up to some seconds before the kill."""
        self.assertTrue(self.sampled())
        while self.sampled():
            self.assertLess(time.monotonic(), killed + LEASE + 60)
            time.sleep(0.1)
        self.assertGreater(time.monotonic(), killed + LEASE - 4)
        self.assertLess(time.monotonic(), killed + LEASE + 5)

    def check_all(self):
        self.check_table("--watch", 1)
        self.check_table("-c", CACHE, "--full")
        result = uslab("info", "-p", self.pid, "-m")
        self.assertEqual(result.returncode, 0, result.stderr)

    @unittest.skipUnless(may_unshare(), "no time namespaces here")
    def test_ahead(self):
        self.start(*time_namespace(1000000))
        self.check_all()

    @unittest.skipUnless(may_unshare(), "no time namespaces here")
    def test_behind(self):
        with open("/proc/uptime", encoding="ascii") as stream:
            up = int(float(stream.read().split()[0]))
        self.start(*time_namespace(-min(1000, up - 5)))
        self.check_all()
        self.await_end(self.kill_tool())

    @unittest.skipUnless(libfaketime(), "no libfaketime here")
    def test_faked(self):
        """Time stands still for the program, but not for the library."""
        self.start(first=libfaketime(), FAKETIME="2020-01-01 00:00:00", FAKETIME_NO_CACHE="1")
        self.check_all()
        self.await_end(self.kill_tool())

    def test_left(self):
        """What a tool left sampled is sampled no more when its lease has ended."""
        self.start()
        killed = self.kill_tool()
        refused = uslab("track", "-p", self.pid, "-c", CACHE, "--full", "--once", "-i", 0.1)
        self.assertEqual(refused.returncode, 1, refused.stdout)
        self.assertIn("sampled already", refused.stderr)
        self.assertRegex(self.status(), rf"(?m)^{CACHE} .*sampled")
        self.await_end(killed)
        self.assertNotRegex(self.status(), rf"(?m)^{CACHE} .*sampled")
        time.sleep(3)  # not tracked, and so not counted
        self.check_table("-c", CACHE, "--sample")
        self.assertNotIn("sampled", self.status())
        self.check_table("-c", CACHE, "--full")

    def test_attached(self):
        """A tool that joins within the lease of a killed one does not make it last for ever."""
        self.start()
        killed = self.kill_tool()
        result = uslab("track", "-p", self.pid, "-c", CACHE, "--sample", "--once", "-i", 1)
        self.assertEqual(result.returncode, 0, result.stderr)
        while self.sampled():
            self.assertLess(time.monotonic(), killed + 90)
            time.sleep(0.1)
        result = uslab("track", "-p", self.pid, "--off")
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_kept(self):
        """--keep is for ever, also if a tool that joined was killed."""
        self.start()
        result = uslab("track", "-p", self.pid, "-c", CACHE, "--sample", "--once", "-i", 0.1, "--keep")
        self.assertEqual(result.returncode, 0, result.stderr)
        killed = self.kill_tool()
        while time.monotonic() < killed + LEASE + 2:
            self.assertTrue(self.sampled())
            time.sleep(0.5)
        result = uslab("track", "-p", self.pid, "--off")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertFalse(self.sampled())


if __name__ == "__main__":
    unittest.main()
