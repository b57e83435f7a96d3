#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# ctest: timeout=300
"""uslab defrag: objects of a running program move, by the tool, by uslab fs's kin, by itself; what it refuses.

The program keeps one in ten of its records, and looks at all of them on each line of standard input.
"""
import json
import os
import pty
import re
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from folder import InOwnFolder  # noqa: E402
from programs import WITH_LIBRARY, compile_program  # noqa: E402

BIN = os.environ["USLAB_BIN"]
DEBUGGED = "USLAB_DEBUG" in os.environ

PROGRAM = r"""
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <uslab/slab.h>

#define RECORDS 20000

struct record {
	unsigned int number;
	char text[60];
};

static struct record *slot[RECORDS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void construct(void *obj)
{
	((struct record *)obj)->number = RECORDS;
}

static int move(void *from, void *to, void *arg)
{
	unsigned int i = ((struct record *)from)->number;
	int ret = -1;

	(void)arg;
	if (i >= RECORDS)
		return ret;
	pthread_mutex_lock(&lock);
	if (slot[i] == from) {
		*(struct record *)to = *slot[i];
		slot[i] = to;
		construct(from);
		ret = 0;
	}
	pthread_mutex_unlock(&lock);
	return ret;
}

/* The child goes on. */
static int fork_if(int argc, char **argv, const char *when)
{
	return argc > 1 && !strcmp(argv[1], when) && fork() ? wait(NULL) : 0;
}

int main(int argc, char **argv)
{
	struct kmem_cache_args args = { .front = "none" }; /* each call polls the mailbox */
	struct kmem_cache *others = kmem_cache_create_args("others", 1000, &args, 0);
	struct kmem_cache *s =
		kmem_cache_create("records", sizeof(struct record), 0, 0, construct);
	char line[10];

	if (fork_if(argc, argv, "early"))
		return 0;
	if (uslab_cache_set_move(s, move, NULL))
		return 1;
	for (unsigned int i = 0; i < RECORDS; i++) {
		slot[i] = kmem_cache_alloc(s, GFP_KERNEL);
		slot[i]->number = i;
	}
	for (unsigned int i = 0; i < RECORDS; i++)
		if (i * 2654435761u >> 16 & 15) {
			construct(slot[i]);
			kmem_cache_free(s, slot[i]);
			slot[i] = NULL;
		}
	kmem_cache_shrink(s);
	if (fork_if(argc, argv, "late"))
		return 0;
	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		unsigned int wrong = 0;

		kmem_cache_free(others, kmem_cache_alloc(others, GFP_KERNEL));

		pthread_mutex_lock(&lock);
		for (unsigned int i = 0; i < RECORDS; i++)
			wrong += slot[i] && slot[i]->number != i;
		pthread_mutex_unlock(&lock);
		printf("wrong: %u\n", wrong);
		fflush(stdout);
	}
}
"""


def size_text(number):
    """As the tool prints it."""
    for unit in ("B", "KiB", "MiB"):
        if number < 1023.95 or unit == "MiB":
            return f"{number} B" if unit == "B" else f"{number:.1f} {unit}"
        number /= 1024
    return None


class Defrag(InOwnFolder):
    def setUp(self):
        super().setUp()
        self.path = compile_program(self.folder, "store", PROGRAM, *WITH_LIBRARY)

    def start(self, conf, *arguments):
        program = subprocess.Popen([self.path, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                   env={**os.environ, "USLAB_CONF": conf})
        self.addCleanup(program.wait)
        self.addCleanup(program.stdout.close)
        self.addCleanup(program.stdin.close)
        self.addCleanup(program.kill)
        self.assertEqual(program.stdout.readline(), "ready\n")
        return program

    def tool(self, *arguments):
        return subprocess.run([BIN, *map(str, arguments)], capture_output=True, text=True, check=False,
                              timeout=100)

    def cache(self, pid):
        run = self.tool("info", "-p", pid, "--json")
        self.assertEqual(run.returncode, 0, run.stderr)
        return {cache["name"]: cache for cache in json.loads(run.stdout)["caches"]}["records"]

    def metrics(self, pid):
        """Those of defragmentation; caches whose objects never moved have none."""
        run = self.tool("info", "-p", pid, "--prometheus")
        self.assertEqual(run.returncode, 0, run.stderr)
        found = re.findall(r'^uslab_cache_defrag_(\w+)\{.*,cache="records",.*\} (\d+)$', run.stdout, re.M)
        self.assertEqual(run.stdout.count("\nuslab_cache_defrag_"), len(found))
        return {name: int(value) for name, value in found}

    def check(self, program):
        program.stdin.write("\n")
        program.stdin.flush()
        self.assertEqual(program.stdout.readline(), "wrong: 0\n")

    @staticmethod
    def child(program):
        with open(f"/proc/{program.pid}/task/{program.pid}/children", encoding="ascii") as file:
            return int(file.read())

    @unittest.skipIf(DEBUGGED, "objects of debug slabs do not move")
    def test_child_of_fork(self):
        program = self.start("control=20", "early")
        run = self.tool("defrag", "-p", self.child(program), "--budget", 200)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertRegex(run.stdout, r"given back, of .*, in \d+ steps? and")
        self.check(program)

    @unittest.skipIf(DEBUGGED, "objects of debug slabs do not move")
    def test_child_that_waits(self):
        program = self.start("control=20", "late")
        pid = self.child(program)
        run = self.tool("defrag", "-p", pid, "--wait", 1)
        self.assertEqual(run.returncode, 1)
        self.assertEqual(run.stderr, (
            f"uslab defrag: process {pid} (store) did not reach the library's slow paths within 1 s; nothing was "
            "changed; it is a child of fork() in which the library's own thread was not started so far; an "
            "allocation that is no hit does that\n"))
        self.check(program)
        run = self.tool("defrag", "-p", pid)
        self.assertEqual(run.returncode, 0, run.stderr)

    @unittest.skipIf(DEBUGGED, "objects of debug slabs do not move")
    def test_child_without(self):
        program = self.start("control=20,fork_thread=0", "early")
        pid = self.child(program)
        run = self.tool("defrag", "-p", pid, "--wait", 1)
        self.assertEqual(run.returncode, 1)
        self.assertEqual(run.stderr, (
            f"uslab defrag: process {pid} (store) did not reach the library's slow paths within 1 s; nothing was "
            "changed; it is a child of fork(), in which there is no thread of the library "
            "(USLAB_CONF=fork_thread=0)\n"))

    @unittest.skipIf(DEBUGGED, "objects of debug slabs do not move")
    def test_by_command(self):
        program = self.start("control=20")
        before = self.cache(program.pid)
        self.assertTrue(before["movable"])
        self.assertEqual(before["defrag_moved"], 0)
        self.assertEqual(self.metrics(program.pid), {})
        run = self.tool("defrag", "-p", program.pid, "--cache", "rec*", "--budget", 200, "--ratio", 40)
        self.assertEqual(run.returncode, 0, run.stderr)
        after = self.cache(program.pid)
        slabs, now, moved, refused = map(int, re.search(
            r"^records +(\d+) +(\d+) +(\d+) +(\d+) +[\d.]+ [KM]?i?B$", run.stdout, re.M).groups())
        self.assertEqual((slabs, now), (before["slabs"], after["slabs"]))
        self.assertLess(now * 4, slabs)
        self.assertEqual((moved, refused), (after["defrag_moved"], after["defrag_refused"]))
        self.assertGreaterEqual(after["defrag_slabs"], slabs - now)
        less = before["slab_bytes"] - after["slab_bytes"]
        self.assertEqual(re.findall(r"(\S+ [KM]?i?B)$|^(\S+ [KM]?i?B) of process", run.stdout, re.M),
                         [(size_text(less), ""), ("", size_text(less))])
        self.assertEqual(after["defrag_used_ratio"], 40)
        self.assertEqual(self.metrics(program.pid),
                         {f"{name}_total": after[f"defrag_{name}"] for name in ("moved", "refused", "bytes")})
        self.assertEqual(after["objects"], before["objects"])
        self.assertRegex(run.stdout, rf"of process {program.pid} \(store\) given back, of .*, in \d+ steps? and")
        self.check(program)
        again = self.tool("defrag", "-p", program.pid)
        self.assertEqual(again.returncode, 0, again.stderr)
        self.check(program)

    @unittest.skipIf(DEBUGGED, "objects of debug slabs do not move")
    def test_interrupted(self):
        """A step in each interval of control: the terminal sees how far it is, and a signal ends it with the table."""
        program = self.start("control=200")
        screen, terminal = pty.openpty()
        self.addCleanup(os.close, screen)
        with subprocess.Popen([BIN, "defrag", "-p", str(program.pid), "--budget", "1"], stdout=subprocess.PIPE,
                              stderr=terminal, text=True) as tool:
            os.close(terminal)
            shown = b""
            while b" of slabs emptied" not in shown:
                shown += os.read(screen, 1000)
            self.assertRegex(shown, rb"uslab defrag: \d+ steps in \d s, \S+ [KM]?i?B of slabs emptied")
            tool.terminate()
            text = tool.stdout.read()
        self.assertEqual(tool.returncode, -signal.SIGTERM, text)
        self.assertRegex(text, r"(?m)^records +\d+ .*B$")
        self.assertRegex(text, r"given back, of .*, in \d+ steps and .* ms; interrupted\n$")
        run = self.tool("defrag", "-p", program.pid)
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        self.check(program)

    @unittest.skipIf(DEBUGGED, "the message is of all of these caches")
    def test_debug_flags(self):
        program = self.start("control=20")
        for flags, message in (("F", True), ("-", False)):
            self.assertEqual(self.tool("debug", "-p", program.pid, "--cache", "records", flags).returncode, 0)
            run = self.tool("defrag", "-p", program.pid)
            self.assertEqual(run.returncode, 0, run.stderr)
            self.assertEqual(run.stderr, "uslab defrag: cache records has debug flags and is left alone; to switch "
                             f"them off: uslab debug -p {program.pid} --cache 'records' -\n" if message else "")
            self.assertEqual(self.cache(program.pid)["defrag_moved"] == 0, message)
        self.check(program)

    @unittest.skipIf(DEBUGGED, "objects of debug slabs do not move")
    def test_by_itself(self):
        program = self.start("defrag=20:50")
        deadline = time.monotonic() + 60
        while self.cache(program.pid)["slabs"] > 60 and time.monotonic() < deadline:
            time.sleep(0.05)
        cache = self.cache(program.pid)
        self.assertLessEqual(cache["slabs"], 60)
        self.assertGreater(cache["defrag_moved"], 0)
        self.check(program)

    def test_refusals(self):
        program = self.start("")
        with subprocess.Popen([BIN, "defrag", "-p", str(program.pid)], stderr=subprocess.PIPE, text=True) as tool:
            while tool.poll() is None:
                self.check(program)
                time.sleep(0.01)
            self.assertEqual(tool.returncode, 1)
            self.assertIn("has no thread for it; start it with USLAB_CONF=defrag=30", tool.stderr.read())
        run = self.tool("defrag", "-p", program.pid, "--cache", "others")
        self.assertEqual(run.returncode, 1)
        self.assertIn(f"process {program.pid} (store) has no cache of that name whose objects can be moved: the "
                      "program has to call uslab_cache_set_move() for it", run.stderr)
        run = self.tool("defrag", "-p", program.pid, "--cache", "nothing")
        self.assertEqual(run.returncode, 1)
        self.assertIn("has no cache 'nothing'", run.stderr)
        self.check(program)
        for wrong in ([], ["-p", program.pid, "--ratio", 101], ["-p", program.pid, "--budget", 0],
                      ["-p", program.pid, "more"], ["-p", program.pid, "-p", program.pid]):
            self.assertEqual(self.tool("defrag", *wrong).returncode, 2, wrong)


if __name__ == "__main__":
    unittest.main()
