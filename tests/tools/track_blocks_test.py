#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# ctest: timeout=900
"""uslab track of what is too large for any cache: who holds whole pages, in the arena and mapped."""
import json
import os
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from folder import InFolder  # noqa: E402
from programs import compile_program, start_program  # noqa: E402

BIN = os.environ["USLAB_BIN"]

# Uploads and videos stay, requests go, and one log grows: it is resized, nothing else.
PROGRAM = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void *volatile held[1 << 20];
static int nr;

__attribute__((noinline)) void receive_upload(void)
{
	held[nr++] = memset(malloc(200000), 1, 100); /* UPLOAD */
}

__attribute__((noinline)) void map_video(void)
{
	held[nr++] = malloc(8 << 20); /* VIDEO */
}

__attribute__((noinline)) void grow_log(void)
{
	static char *volatile log;
	static size_t size = 100000;

	size += 1000;
	log = realloc(log, size); /* LOG */
	log[size - 1] = 1;
}

__attribute__((noinline)) void serve(void)
{
	void *volatile request = malloc(100000); /* REQUEST */

	free(request);
}

int main(int argc, char **argv)
{
	puts("ready");
	fflush(stdout);
	for (int i = 0;; i++) {
		if (argc == 1 || strcmp(argv[1], "log")) {
			receive_upload();
			for (int k = 0; k < 20; k++)
				serve();
			if (i % 10 == 0)
				map_video();
		}
		grow_log();
		usleep(20000);
	}
}
"""


def line_of(mark):
    return next(i for i, line in enumerate(PROGRAM.split("\n"), 1) if f"/* {mark} */" in line)


def uslab(*arguments):
    return subprocess.run([BIN, *map(str, arguments)], capture_output=True, text=True, check=False,
                          timeout=300)


class TrackBlocks(InFolder):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.program = compile_program(cls.folder, "server", PROGRAM)

    def start(self, *arguments):
        return start_program(self, [BIN, "run", "--", self.program, *arguments]).pid

    def track(self, pid, *arguments):
        result = uslab("track", "-p", pid, "--once", "--json", *arguments)
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout), result.stderr

    def row(self, pid):
        caches = json.loads(uslab("info", "-p", pid, "--json").stdout)["caches"]
        return next(c for c in caches if c["name"] == "malloc-large")

    def test_by_name(self):
        pid = self.start()
        found, _ = self.track(pid, "-c", "malloc-large", "-i", 4)
        self.assertFalse(found["estimated"])
        sites = {site["function"]: site for site in found["sites"]}
        for function, mark, size in (("map_video", "VIDEO", 8 << 20),
                                     ("receive_upload", "UPLOAD", 200000)):
            site = sites[function]
            self.assertEqual(site["line"], line_of(mark))
            self.assertGreater(site["objects"], 0)
            self.assertEqual(site["bytes"], site["objects"] * size)
            self.assertGreater(site["kept_per_second"], 0)
        self.assertEqual((sites["grow_log"]["line"], sites["grow_log"]["objects"]),
                         (line_of("LOG"), 1))
        self.assertGreater(sites["grow_log"]["bytes"], 100000)
        self.assertLessEqual(sites.get("serve", {"objects": 0})["objects"], 1)
        self.assertFalse(self.row(pid)["flags"]["store_user"])

    def test_what_grows(self):
        found, said = self.track(self.start(), "--watch", 2, "-i", 1.5)
        self.assertRegex(said, r"malloc-large grew by [\d.]+ \w+/s and is tracked now")
        # by what stays: the request that comes and goes is not the first
        self.assertIn(found["sites"][0]["function"], ("map_video", "receive_upload"))

    def test_nothing_but_realloc(self):
        found, _ = self.track(self.start("log"), "-c", "malloc-large", "-i", 0.5)
        self.assertEqual([site["function"] for site in found["sites"]], ["grow_log"])

    def test_keep_and_address(self):
        pid = self.start()
        self.track(pid, "-c", "malloc-large", "-i", 0.5, "--keep")
        row = self.row(pid)
        self.assertTrue(row["flags"]["store_user"])
        self.assertGreater(row["tracked"], 0)
        found, _ = self.track(pid, "-i", 0.3)  # it is tracked: nothing is to be chosen
        self.assertIn("receive_upload", [site["function"] for site in found["sites"]])
        self.assertEqual(uslab("track", "-p", pid, "--off").returncode, 0)
        self.assertFalse(self.row(pid)["flags"]["store_user"])

    def test_rows_that_are_no_caches(self):
        """They say what they are, and how whole pages are called."""
        pid = self.start()
        for name, text in (("malloc-mapped", "malloc-mapped are blocks of whole pages, which go by the name "
                                             "malloc-large"), ("free-pages", "free-pages is no cache")):
            for arguments in (("track", "-p", pid, "-c", name, "--once"), ("debug", "-p", pid, "-c", name, "F"),
                              ("debug", "-p", pid, "-c", name, "--status"),
                              ("defrag", "-p", pid, "-c", name)):
                result = uslab(*arguments)
                self.assertEqual((result.returncode, result.stderr), (1, f"uslab {arguments[0]}: {text}\n"))

    def test_debug_flags(self):
        pid = self.start()
        result = uslab("debug", "-p", pid, "--cache", "malloc-large", "U")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(result.stdout, r"malloc-large +- -> U\n1 cache of process ")
        self.assertTrue(self.row(pid)["flags"]["store_user"])
        result = uslab("debug", "-p", pid, "--cache", "malloc-large", "FZPU")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(result.stdout, r"malloc-large +U -> FZPU\n")
        result = uslab("debug", "-p", pid, "--cache", "malloc-large", "--validate")
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        result = uslab("debug", "-p", pid, "--cache", "malloc-large", "T")
        self.assertEqual(result.returncode, 1)
        self.assertIn("malloc-large", result.stderr)


if __name__ == "__main__":
    unittest.main()
