#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# ctest: timeout=600 label=full
"""uslab info --memory: kinds against what a program did, and sums against what the kernel counts.

The counts beside the tool's are those of tests/support/memory_count.py.
"""
import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import unittest

SRC = os.environ["USLAB_SRC"]
LIB = os.environ["USLAB_LIB"]
BIN = os.environ["USLAB_BIN"]
MALLOC = os.environ["USLAB_MALLOC_SO"]

sys.path.insert(0, os.path.join(SRC, "tests", "support"))
import memory_count as count  # noqa: E402
from folder import InFolder, environment  # noqa: E402
from programs import WITH_LIBRARY, compile_program  # noqa: E402

KIB, MIB = 1 << 10, 1 << 20
ERROR = 16 * count.PAGE  # pages that reading made resident
ARENA = ("live", "padding", "held_cpu", "held_node", "lent", "free", "tails", "unknown", "runs", "listed", "fresh",
         "due", "clean", "between")
OF_CACHE = ("live", "padding", "held_cpu", "held_node", "lent", "free", "tails")

# Blocks of 1000 bytes, of which three quarters go; whole pages; large blocks, of which one goes.
BLOCKS = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static char *small[16384], *pages[64];
int main(int argc, char **argv)
{
	char *large = malloc(16 << 20), *gone = malloc(8 << 20);
	int ends[2];
	char c;

	for (int i = 0; i < 16384; i++)
		memset(small[i] = malloc(1000), 1, 1000);
	for (int i = 0; i < 64; i++)
		memset(pages[i] = malloc(65536), 1, 65536);
	memset(large, 1, 12 << 20);
	memset(gone, 1, 8 << 20);
	for (int i = 0; i < 16384; i++)
		if (i % 4)
			free(small[i]);
	free(gone);
	if (argc > 1 && pipe(ends) == 0 && !fork()) {
		close(ends[1]);
		return read(ends[0], &c, 1) != 0;
	}
	puts("ready");
	fflush(stdout);
	getchar();
	return large[5] == 0;
}
"""

# Caches of known content: "padded" has red zones and users, "plain" was half freed.
CACHES = r"""
#include <stdio.h>
#include <uslab/slab.h>
static char *plain_objects[4000];
int main(void)
{
	struct kmem_cache *plain = kmem_cache_create("plain", 512, 0, SLAB_NO_MERGE, NULL);
	struct kmem_cache *padded = kmem_cache_create("padded", 200, 0, SLAB_RED_ZONE | SLAB_STORE_USER, NULL);

	for (int i = 0; i < 4000; i++)
		*(plain_objects[i] = kmem_cache_alloc(plain, GFP_KERNEL)) = 1;
	for (int i = 0; i < 4000; i += 2)
		kmem_cache_free(plain, plain_objects[i]);
	for (int i = 0; i < 1000; i++)
		*(char *)kmem_cache_alloc(padded, GFP_KERNEL) = 1;
	puts("ready");
	fflush(stdout);
	getchar();
}
"""

# Blocks of all sizes up to 4 KiB, of which all but the first go.
BURST = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static char *block[65536];
int main(void)
{
	for (int i = 0; i < 65536; i++) {
		size_t size = 16 + i * 37l % 4080;

		memset(block[i] = malloc(size), 1, size);
	}
	for (int i = 1024; i < 65536; i++)
		free(block[i]);
	puts("ready");
	fflush(stdout);
	getchar();
}
"""

STRINGS = "kept = [b'x' * (40 + i % 2000) for i in range(60000)]\ndel kept[::3]\nprint('ready', flush=True)\ninput()\n"


def info(pid, *arguments):
    return subprocess.run([BIN, "info", "-p", str(pid), *arguments], capture_output=True, text=True, check=False,
                          timeout=300)


def numbers(pid):
    run = info(pid, "--json")
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


def stop(pid):
    """Until it stands, with all its threads."""
    os.kill(pid, signal.SIGSTOP)
    tasks = f"/proc/{pid}/task"
    while True:
        states = []
        for task in os.listdir(tasks):
            with open(f"{tasks}/{task}/stat", encoding="utf-8", errors="replace") as stream:
                states.append(stream.read().rpartition(")")[2].split()[0])
        if all(state in "TtZX" for state in states):
            return
        time.sleep(0.001)


class Memory(InFolder):
    @contextlib.contextmanager
    def running(self, *command, **settings):
        """A process that has said "ready", and waits for input."""
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                   cwd=self.folder, env=environment(**settings))
        try:
            self.assertEqual(process.stdout.readline(), "ready\n")
            yield process.pid
        finally:
            process.kill()
            process.communicate()

    def holds(self, pid, share=0):
        """All sums agree, with the kernel's as well, but for that share; what `info --json` says."""
        found = numbers(pid)
        memory, totals, kinds = found["memory"], found["uslab"], found["memory"]["kinds"]
        base = int(totals["arena_base"], 16)
        arena = count.in_range(pid, base, base + totals["arena_limit"])
        whole = count.resident(pid)
        self.assertEqual(memory["arena"], sum(kinds[key] for key in ARENA))
        self.assertEqual(memory["uslab"], sum(kinds.values()))
        self.assertEqual(memory["process"], memory["uslab"] + memory["moved"] + memory["rest"])
        self.assertLessEqual(abs(memory["arena"] - arena), ERROR + share * arena)
        self.assertLessEqual(abs(memory["arena"] + memory["moved"] - arena), ERROR + share * arena)
        self.assertLessEqual(abs(memory["process"] - whole), ERROR + share * whole)
        self.assertGreaterEqual(memory["rest"], 0)
        self.holds_for_caches(found)
        return found

    def holds_for_caches(self, found):
        for cache in found["caches"]:
            self.assertEqual(cache["memory"] is None, cache["id"] == 0, cache["name"])
        if any(cache["engine"].startswith("slob") for cache in found["caches"]):
            return  # objects in heaps, whose pages are no cache's
        for key in OF_CACHE:
            self.assertEqual(sum(cache["memory"][key] for cache in found["caches"] if cache["memory"]),
                             found["memory"]["kinds"][key], key)

    def classes_hold(self, pid, found, error=0):
        """Resident pages by class bytes, of a process that is stopped."""
        base = int(found["uslab"]["arena_base"], 16)
        there = count.by_class(pid, base, found["uslab"]["arena_bytes"])
        caches = {c["id"]: sum(c["memory"][key] for key in OF_CACHE) for c in found["caches"]
                  if c["name"].startswith("malloc-") and c["memory"]}
        self.assertGreater(sum(caches.values()), 0)
        for number, size in caches.items():
            self.assertLessEqual(abs(size - there.get(number, 0)), error, number)


class Known(Memory):
    """Programs of which it is known what they have."""

    def test_blocks(self):
        program = compile_program(self.folder, "blocks", BLOCKS)
        with self.running(program, LD_PRELOAD=MALLOC) as pid:
            stop(pid)
            found = self.holds(pid)
            self.classes_hold(pid, found)
            kinds = found["memory"]["kinds"]
            (cache,) = [c for c in found["caches"] if c["name"] == "malloc-1024"]
            held = cache["memory"]["held_cpu"] + cache["memory"]["held_node"]
            self.assertEqual(cache["memory"]["live"], cache["objects"] * 1024)
            self.assertEqual(held, cache["objects_held"] * 1024)
            self.assertGreaterEqual(cache["memory"]["live"], 4096 * 1024)
            self.assertGreater(cache["memory"]["free"], 11 * MIB)
            for kind, size in ("large", 12 * MIB), ("runs", 4 * MIB):
                self.assertGreaterEqual(kinds[kind], size)
                self.assertLess(kinds[kind], size * 1.1 + MIB)
            # the freed one is kept for the next, or was given back
            self.assertLessEqual(kinds["kept"], 8 * MIB)
            self.assertEqual(kinds["library"] + kinds["library_data"], count.of_file(pid, "libuslab_malloc.so"))
            for kind in "descriptors", "classes", "windows", "metadata":
                self.assertTrue(0 < kinds[kind] < 4 * MIB, (kind, kinds[kind]))

    @staticmethod
    def held(found):
        """What CPUs and depots hold, and what descriptors take."""
        kinds = found["memory"]["kinds"]
        return kinds["held_cpu"] + kinds["held_node"], kinds["descriptors"]

    def test_burst(self):
        """What CPUs and depots hold goes back while use falls, and all of it by a reap; nothing where pages stay."""
        program = compile_program(self.folder, "burst", BURST)
        with self.running(program, LD_PRELOAD=MALLOC, USLAB_CONF="purge_limit=1G") as pid:
            stays = self.held(self.holds(pid))
        for _ in range(10):  # use falls for those whose frees do not take seconds, as they do on a busy machine
            with self.running(program, LD_PRELOAD=MALLOC) as pid:
                goes = self.held(self.holds(pid))
            if goes[0] < stays[0] / 2 and goes[1] < stays[1] * 3 / 4:
                break
        self.assertLess(goes[0], stays[0] / 2)
        self.assertLess(goes[1], stays[1] * 3 / 4)
        with self.running(program, LD_PRELOAD=MALLOC, USLAB_CONF="reap=20") as pid:
            deadline = time.monotonic() + 120
            while self.held(numbers(pid))[0]:
                self.assertLess(time.monotonic(), deadline)
                time.sleep(0.1)

    def test_purged_lazily(self):
        """Pages that the system has yet to take are resident, and said to be so."""
        program = compile_program(self.folder, "lazy", BURST)
        with self.running(program, LD_PRELOAD=MALLOC, USLAB_CONF="purge=free") as pid:
            kinds = self.holds(pid)["memory"]["kinds"]
            with open("/proc/meminfo", encoding="ascii") as stream:
                free = int(re.search(r"MemAvailable: +(\d+)", stream.read())[1])
            if free > 1 << 20:  # KiB: nobody has taken them
                self.assertGreater(kinds["clean"], 64 * MIB)

    def test_fork(self):
        """What parent and child share counts in both."""
        program = compile_program(self.folder, "forking", BLOCKS)
        with self.running(program, "fork", LD_PRELOAD=MALLOC) as pid:
            with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as stream:
                (child,) = map(int, stream.read().split())
            for each in pid, child:
                found = self.holds(each)
                self.assertGreaterEqual(found["memory"]["kinds"]["large"], 12 * MIB)
                self.assertGreaterEqual(found["memory"]["kinds"]["live"], 4 * MIB)

    def test_caches(self):
        program = compile_program(self.folder, "caches", CACHES, *WITH_LIBRARY)
        for engine in "slub", "slab", "slobseg", "slob":
            with self.subTest(engine), self.running(program, USLAB_CONF=f"engine={engine}") as pid:
                found = self.holds(pid)
                caches = {c["name"]: c for c in found["caches"]}
                padded = caches["padded"]["memory"]
                self.assertGreaterEqual(padded["live"], 1000 * 200)
                self.assertLess(padded["live"], 1300 * 200)
                self.assertGreater(padded["padding"], 1000 * 64)  # two stacks' tracks, red zones
                plain = caches["plain"]["memory"]
                if engine == "slob":  # in a heap
                    self.assertGreaterEqual(found["memory"]["kinds"]["live"], 2000 * 512)
                    continue
                self.assertLess(abs(plain["live"] - 2000 * 512), 300 * 512)
                self.assertGreater(plain["free"] + plain["held_cpu"] + plain["held_node"], 1500 * 512)

    def test_static(self):
        """Linked into the program: its code and data are the program's."""
        library = os.path.join(LIB, "libuslab.a")
        if not os.path.exists(library):
            self.skipTest("there is no static library")
        program = compile_program(self.folder, "static", CACHES, "-I" + os.path.join(SRC, "include"), library,
                                  "-pthread", "-ldl")
        with self.running(program) as pid:
            found = self.holds(pid)
            self.assertEqual(found["memory"]["kinds"]["library"], 0)
            self.assertIn("linked into the program", info(pid, "--memory").stdout)

    def test_hardened(self):
        program = compile_program(self.folder, "hardened", CACHES, *WITH_LIBRARY)
        with self.running(program, USLAB_CONF="hardened") as pid:
            self.assertGreater(self.holds(pid)["memory"]["kinds"]["used_bits"], 0)

    def test_huge_pages(self):
        """Each page of one counts once, whatever it is for."""
        setting = "/sys/kernel/mm/transparent_hugepage/enabled"
        try:
            with open(setting, encoding="ascii") as stream:
                never = "[never]" in stream.read()
        except OSError:
            never = True
        if never:
            self.skipTest("the system has no transparent huge pages")
        source = BLOCKS.replace("i < 16384", "i < 160000").replace("small[16384]", "small[160000]")
        program = compile_program(self.folder, "huge", source)
        with self.running(program, LD_PRELOAD=MALLOC) as pid:
            found = self.holds(pid)
            self.assertLessEqual(found["memory"]["huge"], found["memory"]["uslab"])


class Shown(Memory):
    """All who show it say the same."""

    def test_formats(self):
        program = compile_program(self.folder, "shown", BLOCKS)
        with self.running(program, LD_PRELOAD=MALLOC) as pid:
            stop(pid)
            memory = numbers(pid)["memory"]
            text = info(pid, "-m", "-B", "-z")
            self.assertEqual(text.returncode, 0, text.stderr)
            said = {key: int(value) for value, key in re.findall(r"(?m)^ *(-?\d+) +-?[\d.]+% +(\w+)", text.stdout)}
            expected = {**memory["kinds"], **{k: v for k, v in memory.items() if k != "kinds"}}
            still = [key for key in expected if key not in ("fresh", "due", "library", "rest", "process", "uslab")]
            self.assertEqual(set(said), set(expected))
            self.assertEqual({key: said[key] for key in still}, {key: expected[key] for key in still})
            metrics = info(pid, "--openmetrics").stdout
            for key in set(still) & set(memory["kinds"]):
                self.assertRegex(metrics, rf'(?m)^uslab_memory_bytes{{pid="{pid}",.*,kind="{key}"}} {expected[key]}$')
            self.assertRegex(metrics, rf'uslab_memory_sum_bytes{{.*sum="arena"}} {memory["arena"]}\n')
            self.sums(pid, metrics)
            self.assertIn("malloc-1024 ", info(pid, "-m").stdout)
            caches = [cache for cache in numbers(pid)["caches"] if cache["name"].startswith("malloc-")]
            largest = max(caches, key=lambda cache: cache["slab_bytes"])["name"]
            self.assertTrue(info(pid, "-m", "-N", "1").stdout.splitlines()[-1].startswith(largest + " "))
            only = info(pid, "-m", "malloc-1024$").stdout
            self.assertEqual(len(only.splitlines()), 2, only)
            report = info(pid, "malloc-1024$").stdout
            self.assertRegex(report, r"Resident memory \(bytes\)\n-+\nLive   : +\d+  In CPUs: ")
            keys = subprocess.run([BIN, "info", "--fields"], capture_output=True, text=True, check=True).stdout
            for key in expected:
                self.assertRegex(keys, rf"(?m)^  {key} ")

    OWN = ("descriptors", "classes", "windows", "used_bits", "metadata", "tables", "library_data")

    def sums(self, pid, metrics):
        """uslab_resident_bytes and _metadata_bytes are those of the kinds, and so is "Of uslab" of -T."""
        def value(name):
            return int(re.search(rf"(?m)^{name}{{?.*}} (\d+)$", metrics).group(1))

        kinds = {kind: int(size) for kind, size in
                 re.findall(r'(?m)^uslab_memory_bytes{.*,kind="(\w+)"} (\d+)$', metrics)}
        resident = value("uslab_resident_bytes")
        self.assertEqual(resident, sum(kinds.values()))
        self.assertRegex(metrics, rf'(?m)^uslab_memory_sum_bytes{{.*sum="uslab"}} {resident}$')
        self.assertEqual(value("uslab_metadata_bytes"), sum(kinds[kind] for kind in self.OWN))
        for option in ("-TB", "-X"):
            said = int(re.search(r"Of uslab : +(\d+) ", info(pid, option).stdout).group(1))
            self.assertLess(abs(said - resident), 1 << 20)  # pages of the library's file come and go

    def test_large_blocks(self):
        """Untouched pages of large blocks are not resident, and what freed ones left is."""
        source = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(void)
{
	char *volatile untouched = malloc(64 << 20);
	char *volatile freed = malloc(8 << 20);

	memset(freed, 1, 8 << 20);
	free(freed);
	untouched[0] = 1;
	puts("ready");
	fflush(stdout);
	pause();
}
"""
        program = compile_program(self.folder, "large", source)
        with self.running(program, LD_PRELOAD=MALLOC) as pid:
            stop(pid)
            metrics = info(pid, "--openmetrics").stdout
            self.sums(pid, metrics)
            resident, active = (int(re.search(rf"(?m)^uslab_{name}_bytes{{.*}} (\d+)$", metrics).group(1))
                                for name in ("resident", "active"))
            self.assertGreaterEqual(active, 64 << 20)
            self.assertLess(resident, 48 << 20)

    def test_files(self):
        program = compile_program(self.folder, "filed", BLOCKS)
        with self.running(program, LD_PRELOAD=MALLOC) as pid:
            run = subprocess.run([BIN, "fs", "-p", str(pid), "--enter", "--", "true"], capture_output=True, check=False)
            if run.returncode:
                self.skipTest("no files here: " + run.stderr.decode())

    def test_refusals(self):
        for arguments, status, words in ((["--kernel", "-m"], 2, "--memory is for processes and cores"),
                                         (["-p", str(2 ** 22 + 1), "-m"], 1, "no such process"),
                                         (["-p", "1", "-m", "--json"], 2, "leave that out")):
            run = subprocess.run([BIN, "info", *arguments], capture_output=True, text=True, check=False)
            self.assertEqual((run.returncode, run.stdout), (status, ""), arguments)
            self.assertIn(words, run.stderr)


class Real(Memory):
    """Programs under load: within 1 %."""

    def test_python(self):
        python = shutil.which("python3")
        with self.running(python, "-c", STRINGS, LD_PRELOAD=MALLOC, PYTHONMALLOC="malloc") as pid:
            stop(pid)
            self.classes_hold(pid, self.holds(pid, 0.01), ERROR)

    def loaded(self, pid, load):
        """While the load runs, and after it."""
        with subprocess.Popen(load, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            try:
                time.sleep(0.3)
                memory = numbers(pid)["memory"]
                self.assertEqual(memory["arena"], sum(memory["kinds"][key] for key in ARENA))
                self.assertGreater(memory["kinds"]["live"], 0)
            finally:
                process.wait(timeout=120)
        self.holds(pid, 0.01)

    def test_redis(self):
        server, load = shutil.which("redis-server"), shutil.which("redis-benchmark")
        if not server or not load:
            self.skipTest("there is no redis")
        socket = os.path.join(self.folder, "redis")
        with subprocess.Popen([server, "--port", "0", "--unixsocket", socket, "--save", "", "--dir", self.folder],
                              env=environment(LD_PRELOAD=MALLOC), stdout=subprocess.DEVNULL) as process:
            try:
                while not os.path.exists(socket):
                    self.assertIsNone(process.poll())
                    time.sleep(0.01)
                self.loaded(process.pid, [load, "-s", socket, "-n", "60000", "-r", "20000", "-d", "300", "-t", "set",
                                          "-q", "-P", "8"])
            finally:
                process.kill()

    def query(self, session, text):
        """The first line of what a session says to it."""
        session.stdin.write(text + "\n")
        session.stdin.flush()
        return session.stdout.readline().strip()

    def as_server(self, *command, **options):
        """postgres does not run as root: then as nobody, where that user can read the library."""
        user = {"user": "nobody", "group": "nogroup", "extra_groups": []} if os.geteuid() == 0 else {}
        return subprocess.Popen(command, cwd=self.folder, **user, **options)

    def postgres_session(self):
        """The process that serves a session, which has sorted and kept some rows, and the session."""
        session = self.as_server("psql", "-h", self.folder, "-qAt", "postgres", stdin=subprocess.PIPE,
                                 stdout=subprocess.PIPE, text=True)
        pid = int(self.query(session, "SELECT pg_backend_pid();"))
        self.query(session, "SET work_mem = '64MB'; BEGIN; DECLARE kept CURSOR WITH HOLD FOR SELECT i, repeat('x', "
                   "50 + i % 500) FROM generate_series(1, 40000) AS i ORDER BY md5(i::text); COMMIT; SELECT 1;")
        return pid, session

    def test_postgres(self):
        """A backend that holds a result, while others work."""
        found = subprocess.run(["sh", "-c", "ls -d /usr/lib/postgresql/*/bin"], capture_output=True, text=True,
                               check=False).stdout.split()
        if not found or not shutil.which("psql"):
            self.skipTest("there is no postgres")
        os.chmod(self.folder, 0o777)
        data, server = os.path.join(self.folder, "data"), None
        made = self.as_server(f"{found[-1]}/initdb", "-D", data, "-A", "trust", "--no-sync", "-U", "nobody" if
                              os.geteuid() == 0 else os.environ["USER"], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True)
        said = made.communicate()[0]
        if made.returncode:
            self.skipTest("initdb: " + said[-300:])
        if self.as_server("test", "-r", MALLOC).wait():
            self.skipTest("nobody cannot read the library")
        server = self.as_server(f"{found[-1]}/postgres", "-D", data, "-k", self.folder, "-h", "", "-F",
                                env=environment(LD_PRELOAD=MALLOC), stdout=subprocess.DEVNULL,
                                stderr=subprocess.DEVNULL)
        try:
            while self.as_server("psql", "-h", self.folder, "-qc", "", "postgres", stderr=subprocess.DEVNULL).wait():
                self.assertIsNone(server.poll())
                time.sleep(0.05)
            pid, session = self.postgres_session()
            with session:
                load = self.as_server(f"{found[-1]}/pgbench", "-h", self.folder, "-i", "-q", "postgres",
                                      stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                found = self.holds(pid, 0.01)
                self.assertGreater(found["memory"]["kinds"]["live"], 256 * KIB)
                self.assertEqual(load.wait(timeout=120), 0)
                self.query(session, "CLOSE kept; SELECT 2;")
                self.holds(pid, 0.01)
                session.stdin.close()
        finally:
            server.send_signal(signal.SIGQUIT)
            server.wait(timeout=60)


if __name__ == "__main__":
    unittest.main()
