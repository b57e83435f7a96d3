#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# ctest: timeout=300 sanitize=no
"""Limits on real programs: python3 under the drop-in with USLAB_CONF=limit gets MemoryError and goes on;
a cache with a limit fails cleanly and is counted; a program with more shrinkable objects than its
cgroup has memory runs to its end with reclaim=cgroup and reclaim=psi, and is killed without.

The cgroup needs the rights and a memory controller (version 2 or 1) whose groups may be made: else
that part is skipped, with the reason.
"""
import json
import os
import re
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from cgroup import Cgroup  # noqa: E402
from folder import InFolder, environment  # noqa: E402

BIN = os.environ["USLAB_BIN"]
LIB = os.environ["USLAB_LIB"]
SO = os.environ["USLAB_MALLOC_SO"]
SRC = os.environ["USLAB_SRC"]
CC = os.environ.get("USLAB_CC", "cc")
MB = 1 << 20

# Takes what it can get, in small pieces and large ones; what it has stays whole.
PYTHON = r"""
import resource
kept = []
def fill():
    n = 0
    while True:
        kept.append(bytearray(3000) if n % 2 else [n] * 20)
        if n % 1000 == 0:
            kept.append(bytearray(5 << 20))
        n += 1
errors = 0
for size in (1 << 30, 1 << 40):
    try:
        bytearray(size)
    except MemoryError:
        errors += 1
for turn in range(2):
    try:
        fill()
    except MemoryError:
        errors += 1
    if any(type(x) is list and x[0] != x[-1] for x in kept):
        print("damaged")
    kept.clear()
words = sorted(str(n) for n in range(100000))
print(errors, len(words), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""

# At the limit one thread asks again and again; another one frees and allocates small objects, and says how
# long that takes of the CPU.
RETRY = r"""
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static volatile int stop;
static unsigned long failed, pairs;
static double spent_failing, spent_in_pairs;

static double used(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void *retry(void *arg)
{
	double start;

	while (malloc(20000)) {}
	start = used();
	while (!stop)
		failed += !malloc(20000);
	spent_failing = used() - start;
	return arg;
}

static void *pair(void *arg)
{
	static void *p[256];
	unsigned int x = 1;
	double start = used();

	while (!stop) {
		x = x * 1103515245 + 12345;
		free(p[x >> 16 & 255]);
		p[x >> 16 & 255] = malloc(16 + (x >> 8) % 2001);
		pairs++;
	}
	spent_in_pairs = used() - start;
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t thread[2];

	(void)argv;
	pthread_create(&thread[0], NULL, pair, NULL);
	usleep(100000);
	if (argc > 1)
		pthread_create(&thread[1], NULL, retry, NULL);
	sleep(2);
	stop = 1;
	pthread_join(thread[0], NULL);
	if (argc > 1)
		pthread_join(thread[1], NULL);
	printf("%.0f %.0f\n", spent_in_pairs / (double)pairs, failed ? spent_failing / (double)failed : 0);
}
"""

# Keeps what it has computed until a shrinker takes it back, or for ever without one.
SHRINKABLE = r"""
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uslab/shrinker.h>

#define SIZE 1024

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct kmem_cache *cache;
static void *list;
static unsigned long kept, dropped;

static unsigned long count(struct shrinker *s, struct shrink_control *sc)
{
	return __atomic_load_n(&kept, __ATOMIC_RELAXED);
}

static unsigned long scan(struct shrinker *s, struct shrink_control *sc)
{
	unsigned long n = 0;

	if (pthread_mutex_trylock(&lock))
		return SHRINK_STOP;
	for (; list && n < sc->nr_to_scan; n++) {
		void *obj = list;

		list = *(void **)obj;
		kmem_cache_free(cache, obj);
	}
	__atomic_sub_fetch(&kept, n, __ATOMIC_RELAXED);
	dropped += n;
	pthread_mutex_unlock(&lock);
	return n;
}

static struct shrinker shrinker = {
	.count_objects = count, .scan_objects = scan, .seeks = DEFAULT_SEEKS
};

int main(int argc, char **argv)
{
	unsigned long n = strtoul(argv[1], NULL, 10) << 20;

	cache = kmem_cache_create("computed", SIZE, 0, 0, NULL);
	if (!cache || register_shrinker(&shrinker, "computed"))
		return 2;
	for (unsigned long i = 0; i < n / SIZE; i++) {
		void **obj = kmem_cache_alloc(cache, GFP_KERNEL);

		if (!obj)
			return 3;
		memset(obj, 1, SIZE);
		pthread_mutex_lock(&lock);
		*obj = list;
		list = obj;
		kept++;
		pthread_mutex_unlock(&lock);
	}
	printf("%lu kept, %lu dropped\n", kept, dropped);
	return 0;
}
"""

LIMITED = r"""
#include <stdio.h>
#include <uslab/slab.h>

int main(void)
{
	struct kmem_cache *s = kmem_cache_create("tenant", 512, 0, 0, NULL);
	struct kmem_cache *other = kmem_cache_create("other", 512, 0, 0, NULL);
	unsigned long n = 0, refused = 0;

	if (s == other)
		return 2;
	for (int i = 0; i < 3000; i++)
		kmem_cache_alloc(s, GFP_KERNEL | __GFP_NOWARN) ? n++ : refused++;
	printf("%lu %lu %d\n", n, refused, !!kmem_cache_alloc(other, GFP_KERNEL));
	fflush(stdout);
	return getchar() == EOF;
}
"""


STALL_SEEN = 5000  # microseconds in all, of which a trigger of one microsecond sees some


def stalled():
    """How long tasks of the machine have waited for memory; None: that is not known."""
    try:
        with open("/proc/pressure/memory", encoding="ascii") as stream:
            return int(stream.readline().split("total=")[1])
    except OSError:
        return None


class LimitsTest(InFolder):
    def compiled(self, name, text, *flags):
        source, program = (os.path.join(self.folder, name + end) for end in (".c", ""))
        with open(source, "w", encoding="utf-8") as stream:
            stream.write(text)
        subprocess.run([CC, "-O1", *flags, "-I", f"{SRC}/include", source, "-o", program, "-L", LIB, "-luslab",
                        "-pthread"], check=True)
        return program

    def run_python(self, conf):
        return subprocess.run([sys.executable, "-c", PYTHON], capture_output=True, text=True,
                              env=environment(LD_PRELOAD=SO, USLAB_CONF=conf), timeout=200,
                              check=False)

    def test_python(self):
        """MemoryError, each time, and memory again after that; no more than the limit."""
        run = self.run_python("limit=512M")
        self.assertEqual(run.returncode, 0, run.stderr)
        errors, words, most = (int(word) for word in run.stdout.split())
        self.assertEqual((errors, words), (4, 100000))
        self.assertRegex(run.stderr, r"(?m)^uslab: limit of 512\.0 MiB met: \d+\.\d [KM]iB held, 10737\d+ bytes "
                                     r"refused to malloc-large$")
        # the interpreter itself, and what describes pages, come on top
        self.assertLess(most << 10, 512 * MB + 64 * MB)
        self.assertGreater(most << 10, 400 * MB)
        print(f"python3: at most {most >> 10} MiB resident", file=sys.stderr)

    def test_retry(self):
        """One line says that the limit is met. Figures for ADR 0063; their size depends on what else runs."""
        program = self.compiled("retry", RETRY, "-fno-builtin")
        log = os.path.join(self.folder, "log")
        for arguments in ([], ["retry"]):
            run = subprocess.run([program, *arguments], capture_output=True, text=True, check=True, timeout=100,
                                 env=environment(LD_PRELOAD=SO,
                                                 USLAB_CONF=f"limit=64M,report.interval=1000,report.file={log}"))
            pair, failure = run.stdout.split()
            print(f"{arguments or 'alone'}: a pair {pair} ns, a failed call {failure} ns", file=sys.stderr)
        with open(log, encoding="utf-8") as stream:
            lines = stream.read().splitlines()
        self.assertRegex(lines[0], r"^uslab: limit of 64\.0 MiB met: 6[34]\.\d MiB held, \d+ bytes refused to malloc-\d+$")
        self.assertEqual([line for line in lines[1:] if "suppressed" not in line], [])
        self.assertEqual(run.stderr, "")

    def test_options(self):
        for conf, text in (("limit=1000", "limit takes 1048576 to"), ("limit=x", "limit takes"),
                           ("limit:a=100", "limit:PATTERN takes 4096 to"),
                           ("reclaim=now", "reclaim takes 0, cgroup, psi")):
            with self.subTest(conf=conf):
                run = subprocess.run(["/bin/true"], capture_output=True, text=True, check=False,
                                     env=environment(LD_PRELOAD=SO, USLAB_CONF=conf))
                self.assertEqual(run.returncode, 0)
                self.assertIn(text, run.stderr)

    def test_cache(self):
        """NULL, and a count; other caches go on. info shows both."""
        program = self.compiled("limited", LIMITED)
        with subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                              env=environment(LD_LIBRARY_PATH=LIB,
                                              USLAB_CONF="limit:ten*=512k,limit=64M")) as process:
            got, refused, other = (int(word) for word in process.stdout.readline().split())
            info = json.loads(subprocess.run([BIN, "info", "--json", "-p",
                                              str(process.pid)], capture_output=True, text=True,
                                             check=True).stdout)
            report = subprocess.run([BIN, "info", "-r", "tenant", "-p", str(process.pid)],
                                    capture_output=True, text=True, check=True).stdout
            totals = subprocess.run([BIN, "info", "-T", "-p", str(process.pid)],
                                    capture_output=True, text=True, check=True).stdout
            memory = subprocess.run([BIN, "info", "-m", "-p", str(process.pid)],
                                    capture_output=True, text=True, check=True).stdout
            metrics = subprocess.run([BIN, "info", "--openmetrics", "-p", str(process.pid)],
                                     capture_output=True, text=True, check=True).stdout
            process.communicate("\n")
        self.assertEqual((got + refused, other), (3000, 1))
        # of this cache only: the others have no limit
        self.assertEqual(re.findall(r'(?m)^uslab_cache_(limit\w+){.*,cache="(\w+)",.*} (\d+)$', metrics),
                         [("limit_bytes", "tenant", str(512 << 10)),
                          ("limit_refused_total", "tenant", str(refused))])
        self.assertRegex(metrics, rf"(?m)^uslab_limit_bytes{{.*}} {64 * MB}$")
        self.assertTrue(900 <= got <= 1024, got)
        cache = next(c for c in info["caches"] if c["name"] == "tenant")
        self.assertEqual((cache["limit"], cache["limit_refused"]), (512 << 10, refused))
        self.assertLessEqual(cache["slab_bytes"], 512 << 10)
        self.assertRegex(report, rf"Limit  :\s+{512 << 10}  Refused:\s+{refused}")
        self.assertEqual(info["uslab"]["limit"], 64 * MB)
        self.assertLessEqual(info["uslab"]["held_bytes"], 64 * MB)
        limit = next(line for line in totals.splitlines() if line.startswith("Limit      :"))
        self.assertIn(limit, memory.splitlines())

    def uslab_of(self, pid):
        return json.loads(subprocess.run([BIN, "info", "--json", "-p", str(pid)], capture_output=True,
                                         text=True, check=True).stdout)["uslab"]

    def test_psi(self):
        """Others wait for memory, in a cgroup that is too small: this process reclaims."""
        program, shrinkable = self.compiled("waits", LIMITED), self.compiled("small", SHRINKABLE)
        reclaims = 0
        if stalled() is None:
            self.skipTest("there is no pressure stall information")
        with subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                              env=environment(LD_LIBRARY_PATH=LIB,
                                              USLAB_CONF="limit:ten*=512k,reclaim=psi:1:500000")) as process:
            process.stdout.readline()
            before = stalled()
            for _ in range(20):
                group = Cgroup(64 * MB)
                if group.problem:
                    break
                subprocess.run([shrinkable, "400"], preexec_fn=group.enter, check=False, timeout=100,
                               capture_output=True, env=environment(LD_LIBRARY_PATH=LIB))
                group.remove()
                reclaims = self.uslab_of(process.pid)["reclaims_psi"]
                if reclaims:
                    break
            waited, end = stalled() - before, time.monotonic() + 5
            while not reclaims and waited and time.monotonic() < end:  # the library's thread may be late
                time.sleep(0.1)
                reclaims = self.uslab_of(process.pid)["reclaims_psi"]
            process.communicate("\n")
        if not reclaims and (group.problem or waited < STALL_SEEN):
            self.skipTest(group.problem or f"others waited for memory for {waited} us, which is not enough")
        self.assertGreater(reclaims, 0)

    def test_cgroup(self):
        """256 MiB, and 400 MiB of objects that a shrinker may free."""
        program = self.compiled("shrinkable", SHRINKABLE)
        for conf in ("reclaim=cgroup", "reclaim=psi", "limit=192M", ""):
            group = Cgroup(256 * MB)
            if group.problem:
                self.skipTest(group.problem)
            try:
                run = subprocess.run([program, "400"], capture_output=True, text=True, check=False,
                                     env=environment(LD_LIBRARY_PATH=LIB, USLAB_CONF=conf),
                                     preexec_fn=group.enter, timeout=200)
                most = group.most()
            finally:
                group.remove()
            with self.subTest(conf=conf):
                print(f"{conf or 'nothing'}: status {run.returncode}, {run.stdout.strip()}, "
                      f"at most {most >> 20} MiB", file=sys.stderr)
                if not conf:
                    self.assertEqual(run.returncode, -signal.SIGKILL)
                    continue
                self.assertEqual(run.returncode, 0, run.stderr)
                kept, dropped = (int(n) for n in re.findall(r"\d+", run.stdout))
                self.assertEqual(kept + dropped, 400 * MB // 1024)
                self.assertGreater(dropped, 100 * MB // 1024)


if __name__ == "__main__":
    unittest.main(verbosity=2)
