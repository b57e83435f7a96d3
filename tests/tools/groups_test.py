#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# ctest: timeout=300
"""Accounting groups from outside: uslab info --groups as table, JSON and metrics, the folder of uslab
fs; and two tenants of a program on the drop-in, of which one leaks into its limit."""
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from folder import InFolder, environment  # noqa: E402

BIN = os.environ["USLAB_BIN"]
LIB = os.environ["USLAB_LIB"]
SRC = os.environ["USLAB_SRC"]
CC = os.environ.get("USLAB_CC", "cc")
MB = 1 << 20

PROGRAM = r"""
#include <stdio.h>
#include <uslab/group.h>
#include <uslab/slab.h>

int main(void)
{
	struct uslab_group *top = uslab_group_create("top", 1 << 20, NULL);
	struct uslab_group *below = uslab_group_create("below", 0, top);
	struct uslab_group *gone = uslab_group_create("gone", 0, top);
	struct kmem_cache *s = kmem_cache_create("charged", 1024, 0, SLAB_ACCOUNT, NULL);

	uslab_group_enter(gone);
	if (!kmem_cache_alloc(s, GFP_KERNEL))
		return 1;
	uslab_group_enter(below);
	uslab_group_destroy(gone);
	for (int i = 0; i < 10; i++)
		if (!kmem_cache_alloc(s, GFP_KERNEL))
			return 1;
	if (kmalloc(2 << 20, GFP_KERNEL_ACCOUNT) || !kmem_cache_alloc(s, GFP_KERNEL))
		return 1;
	puts("ready");
	fflush(stdout);
	return getchar() == EOF;
}
"""

# With keys in objects: what CPUs hold is charged to either group, or to none, and is no usage.
KEYED = r"""
#include <stdio.h>
#include <uslab/account.h>

static void *p[300];

static void take_and_free(struct kmem_cache *s, struct uslab_group *group, int keep)
{
	uslab_group_enter(group);
	for (int i = 0; i < 300; i++)
		p[i] = kmem_cache_alloc_account(s, GFP_KERNEL);
	for (int i = keep; i < 300; i++)
		kmem_cache_free_account(s, p[i]);
	uslab_group_enter(NULL);
}

int main(void)
{
	struct uslab_group *a = uslab_group_create("a", 0, NULL);
	struct uslab_group *b = uslab_group_create("b", 0, NULL);
	struct kmem_cache *s = kmem_cache_create("keyed", 56, 0, USLAB_ACCOUNT_INLINE, NULL);
	struct kmem_cache *t = kmem_cache_create("other", 120, 0, USLAB_ACCOUNT_INLINE, NULL);

	take_and_free(s, NULL, 3);
	take_and_free(s, a, 100);
	take_and_free(t, b, 7);
	printf("%zu %zu\n", uslab_group_usage(a), uslab_group_usage(b));
	fflush(stdout);
	return getchar() == EOF;
}
"""

# Each tenant allocates and frees; the leaky one keeps what it has.
TENANTS = r"""
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <uslab/group.h>

#define LIMIT (64ul << 20)

struct tenant {
	struct uslab_group *group;
	int leaks;
	size_t refused;
	void **list;
};

static void *serve(void *arg)
{
	struct tenant *t = arg;

	uslab_group_enter(t->group);
	for (unsigned long i = 0; i < 400000; i++) {
		size_t size = 16 + i * 7919 % 1000;
		void **p = i % 1000 ? malloc(size) : calloc(1, 50000);

		if (!p) {
			t->refused += errno == ENOMEM;
			continue;
		}
		if (t->leaks) {
			*p = t->list;
			t->list = p;
		} else {
			p = realloc(p, size * 2);
			t->refused += !p;
			free(p);
		}
	}
	return NULL;
}

int main(void)
{
	struct tenant t[2] = { { uslab_group_create("leaky", LIMIT, NULL), 1, 0, NULL },
			       { uslab_group_create("frugal", LIMIT, NULL), 0, 0, NULL } };
	pthread_t thread[2];

	for (int i = 0; i < 2; i++)
		pthread_create(&thread[i], NULL, serve, &t[i]);
	for (int i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
	printf("%d %zu %zu %zu %zu\n", t[0].refused > 0, uslab_group_usage(t[0].group),
	       uslab_group_peak(t[0].group), t[1].refused, uslab_group_usage(t[1].group));
	while (t[0].list) {
		void **p = t[0].list;

		t[0].list = *p;
		free(p);
	}
	printf("%zu %zu\n", uslab_group_usage(t[0].group), uslab_group_usage(t[1].group));
	return 0;
}
"""


# A tenant has many blocks of one size, and then hits again and again; so does a thread in no group.
HITTING = r"""
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <uslab/group.h>

__attribute__((noinline)) static void *leak_here(void)
{
	return malloc(200);
}

static void *hit(void *group)
{
	void *volatile block;

	uslab_group_enter(group);
	for (unsigned long i = 0;; i++) {
		block = malloc(200);
		free(block);
		if (group && i % 1000 == 0)
			block = leak_here();
	}
	return NULL;
}

int main(void)
{
	struct uslab_group *tenant = uslab_group_create("tenant", 0, NULL);
	pthread_t thread;

	uslab_group_enter(tenant);
	for (int i = 0; i < 5000; i++)
		*(volatile char *)malloc(200) = 1;
	uslab_group_enter(NULL); /* what stdio allocates is not charged */
	printf("%zu\n", uslab_group_usage(tenant));
	fflush(stdout);
	getchar();
	pthread_create(&thread, NULL, hit, tenant);
	hit(NULL);
}
"""


def uslab(*arguments):
    return subprocess.run([BIN, *map(str, arguments)], capture_output=True, text=True, check=False, timeout=300)


class Groups(InFolder):
    def build(self, text, *flags):
        source = os.path.join(self.folder, self.id().split(".")[-1] + ".c")
        with open(source, "w", encoding="ascii") as stream:
            stream.write(text)
        subprocess.run([CC, "-O1", f"-I{SRC}/include", source, "-o", source[:-2], "-L", LIB, f"-Wl,-rpath,{LIB}",
                        "-pthread", *flags], check=True)
        return source[:-2]

    def start(self, program=PROGRAM, says=r"ready"):
        process = subprocess.Popen([self.build(program, "-luslab")], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   text=True, env=environment())
        self.addCleanup(self.end, process)
        self.assertRegex(process.stdout.readline(), f"^{says}\n$")
        return process.pid

    @staticmethod
    def end(process):
        process.kill()
        process.wait()
        process.stdin.close()
        process.stdout.close()

    def info(self, pid, *options):
        run = uslab("info", "-p", pid, *options)
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        return run.stdout

    def test_keys(self):
        pid = self.start(KEYED, r"6400 896|5600 840")  # with keys; or where there are no sequences
        groups = json.loads(self.info(pid, "--groups", "--json"))["groups"]
        usage = [group["usage"] for group in groups]
        self.assertIn(usage, ([6400, 896], [5600, 840]))
        flags = {cache["name"]: cache["flags"] for cache in json.loads(self.info(pid, "--json"))["caches"]}
        self.assertTrue(flags["keyed"]["account"] and flags["other"]["account"])
        self.assertEqual([flags[name]["account_inline"] for name in ("keyed", "other")], 2 * [usage == [6400, 896]])

    def test_info(self):
        pid = self.start()
        lines = [line.split() for line in self.info(pid, "--groups").splitlines()]
        self.assertEqual([line.pop(0) for line in lines], ["Id", "1", "2", "3"])
        self.assertEqual(lines[0], ["Group", "Usage", "Limit", "Peak", "Met", "Failed", "Threads"])
        self.assertEqual([line[:3] for line in lines[1:]],
                         [["top", str(12 * 1024), str(MB)], ["below", str(11 * 1024), "-"], ["gone", "(gone)", "1024"]])
        self.assertEqual(lines[1][4:], ["1", "1", "0"])
        self.assertEqual(lines[2][4:], ["0", "0", "1"])
        self.assertEqual(len(self.info(pid, "--groups", "BEL").splitlines()), 2)
        self.assertEqual(len(self.info(pid, "--groups", "-N", 2).splitlines()), 3)
        groups = json.loads(self.info(pid, "--groups", "--json"))["groups"]
        self.assertEqual([(g["id"], g["name"], g["parent"], g["usage"], g["limit"], g["destroyed"]) for g in groups],
                         [(1, "top", None, 12288, MB, False), (2, "below", 1, 11264, None, False),
                          (3, "gone", 1, 1024, None, True)])
        self.check_choice(pid)
        metrics = self.info(pid, "--openmetrics")
        self.assertRegex(metrics, r'uslab_group_usage_bytes\{pid="\d+",program="[^"]*",group="2",name="below"\} 11264\n')
        self.assertEqual(len(re.findall(r"^uslab_group_limit_bytes\{", metrics, re.M)), 1)
        self.assertIn("# TYPE uslab_group_failed counter\n", metrics)
        self.assertNotIn("uslab_limit_bytes", metrics)
        self.assertRegex(metrics, r'uslab_group_usage_bytes\{.*,group="3",name="gone",destroyed="true"\} 1024\n')
        self.assertEqual(metrics.count("destroyed="), metrics.count('group="3"'))
        self.assertTrue(metrics.endswith("# EOF\n"))
        run = uslab("info", "--kernel", "--groups")
        self.assertEqual(run.returncode, 2)
        self.assertIn("--groups is for processes", run.stderr)

    def check_choice(self, pid):
        """-N and -S, with and without --json; what matches nothing, and what --groups makes nothing of."""
        for options, names in ((("-N", 2), ["top", "below"]), (("-S", "-i"), ["gone", "below", "top"]),
                               (("-S", "-i", "-N", 1), ["gone"]), (("-S",), ["top", "below", "gone"])):
            groups = json.loads(self.info(pid, "--groups", "--json", *options))["groups"]
            self.assertEqual([group["name"] for group in groups], names)
            lines = self.info(pid, "--groups", *options).splitlines()[1:]
            self.assertEqual([line.split()[1] for line in lines], names)
            self.assertEqual(any(line[5:8] == "   " for line in lines), "-S" not in options)
        for options in ((), ("--json",)):
            run = uslab("info", "-p", pid, "--groups", *options, "nothing")
            self.assertEqual(run.returncode, 0)
            self.assertRegex(run.stderr, r"^uslab info: no group of .* matches\n$")
        run = uslab("info", "-p", pid, "--groups", "--interval=0.01", "-c2", "nothing")
        self.assertEqual((run.returncode, run.stderr.count("matches")), (0, 1))
        for options, message in ((["-L"], "-L has no meaning"), (["-T", "-z"], "-T has no meaning"),
                                 (["-i"], "-i goes with -S"), (["--allocinfo"], "two listings")):
            run = uslab("info", "-p", pid, "--groups", *options)
            self.assertEqual(run.returncode, 2)
            self.assertIn(message, run.stderr)

    def test_two_copies(self):
        """A group of one copy does not charge what the other allocates: that is said, and only where there are two."""
        program = self.build(PROGRAM, "-luslab")
        for preload in ("", os.path.join(LIB, "libuslab_malloc.so")):
            run = subprocess.run([program], input="end\n", capture_output=True, text=True, check=False, timeout=300,
                                 env=environment(LD_PRELOAD=preload))
            self.assertEqual("this process has two copies of uslab" in run.stderr, bool(preload), run.stderr)

    def test_long_names(self):
        """The column is as wide as the longest name that is shown, so that the numbers stay below one another."""
        name = "n" * 63
        text = PROGRAM.replace('uslab_group_create("gone", 0, top)', f'uslab_group_create("{name}", 0, below)')
        process = subprocess.Popen([self.build(text, "-luslab")], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   text=True, env=environment())
        self.addCleanup(self.end, process)
        self.assertEqual(process.stdout.readline(), "ready\n")
        lines = self.info(process.pid, "--groups").splitlines()
        self.assertEqual(len(lines), 4)
        self.assertEqual({len(line) for line in lines}, {len(lines[0])})
        self.assertTrue(lines[3].startswith(f"    3     {name} (gone) "), lines[3])
        self.assertEqual(lines[0].index("Usage") + 5, lines[1].index("12288") + 5)
        lines = self.info(process.pid, "--groups", "top").splitlines()
        self.assertTrue(lines[0].startswith("   Id Group                             Usage "), lines[0])

    def test_none(self):
        process = subprocess.Popen([self.build("#include <stdio.h>\n#include <uslab/slab.h>\nint main(void) { "
                                               'kfree(kmalloc(8, GFP_KERNEL)); puts("ready"); fflush(stdout); '
                                               "return getchar() == EOF; }", "-luslab")],
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment())
        self.addCleanup(self.end, process)
        self.assertEqual(process.stdout.readline(), "ready\n")
        run = uslab("info", "-p", process.pid, "--groups")
        self.assertEqual((run.returncode, len(run.stdout.splitlines())), (0, 1))
        self.assertIn("has no groups", run.stderr)
        self.assertNotIn("uslab_group", self.info(process.pid, "--openmetrics"))

    def test_folder(self):
        pid = self.start()
        folder = tempfile.mkdtemp(dir=self.folder)
        run = uslab("fs", "-p", pid, folder)
        if run.returncode == 1 and "cannot mount on" in run.stderr:
            self.skipTest(run.stderr.strip())
        self.addCleanup(subprocess.run, ["umount", folder], check=False)
        self.assertEqual(sorted(os.listdir(folder + "/groups")), ["1-top", "2-below", "3-gone"])
        found = {}
        for name in os.listdir(folder + "/groups/2-below"):
            with open(f"{folder}/groups/2-below/{name}", encoding="ascii") as stream:
                found[name] = stream.read()
        peak = int(found.pop("peak"))
        self.assertGreaterEqual(peak, 11264)
        self.assertEqual(found, {"usage": "11264\n", "limit": "max\n", "events": "met 0\nfailed 0\n",
                                 "threads": "1\n", "parent": "1-top\n"})
        with open(folder + "/groups/1-top/events", encoding="ascii") as stream:
            self.assertEqual(stream.read(), "met 1\nfailed 1\n")
        self.assertFalse(os.path.exists(folder + "/groups/9-none"))

    def test_hits(self):
        """Caches of a group, from outside; commands arrive in threads that only hit, in a group and in none."""
        process = subprocess.Popen([self.build(HITTING, "-luslab_malloc")], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, text=True, env=environment())
        self.addCleanup(self.end, process)
        usage = int(process.stdout.readline())
        self.assertGreaterEqual(usage, 5000 * 200)
        pid = process.pid
        self.assertEqual(json.loads(self.info(pid, "--groups", "--json"))["groups"][0]["usage"], usage)
        caches = json.loads(self.info(pid, "--json"))["caches"]
        found = [c for c in caches if c["name"] == "malloc-208:1-tenant"]
        if not found:  # no restartable sequences, or another front
            self.assertFalse([c for c in caches if c["group"]])
        else:
            self.assertEqual([c["name"] for c in caches if c["group"]], ["malloc-208:1-tenant"])
            self.assertEqual(found[0]["group"], 1)
            self.assertEqual(found[0]["group_size"], 208)
        process.stdin.write("\n")
        process.stdin.flush()
        for flags in ("F", "-"):
            run = uslab("debug", "-p", pid, "--cache", "malloc-208*", flags)
            self.assertEqual((run.returncode, run.stderr), (0, ""))
        for how in ("--sample", "--full"):
            run = uslab("track", "-p", pid, "--once", "--interval", "2", how, "-c", "malloc-208*")
            self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("leak_here", run.stdout)
        self.assertIsNone(process.poll())

    def test_tenants(self):
        """One leaks into its 64 MiB and gets ENOMEM, the other one never; counts end at zero."""
        run = subprocess.run([self.build(TENANTS, "-luslab_malloc")], capture_output=True, text=True, check=False,
                             env=environment(), timeout=300)
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        first, last = run.stdout.splitlines()
        refused, usage, peak, others, left = map(int, first.split())
        self.assertEqual((refused, others, left), (1, 0, 0))
        self.assertLessEqual(peak, 64 * MB)
        self.assertGreater(usage, 64 * MB - 2 * 4096)
        self.assertEqual(last, "0 0")


if __name__ == "__main__":
    unittest.main()
