#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# ctest: sanitize=no
"""What the drop-in adds to the start of a process that allocates nothing, or hardly: faults and system calls.

They are counted, not timed, and compared with the same program on glibc's malloc, so that this holds on
any machine. scripts/function-order.txt is compared with the sources and with the library.
"""
import glob
import os
import platform
import re
import shutil
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
SOURCE = os.environ.get("USLAB_SRC") or os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
BUILD = os.environ.get("USLAB_BUILD", os.path.join(SOURCE, "build", "release"))
LIBRARY = os.environ.get("USLAB_MALLOC_SO", os.path.join(BUILD, "lib", "libuslab_malloc.so"))
START = os.path.join(BUILD, "bin", "uslab-bench-start")
sys.path.insert(0, os.path.join(SOURCE, "tests", "support"))
from folder import InFolder, environment  # noqa: E402
from programs import CC, compile_program  # noqa: E402

# Measured, with 2 CPUs and one node: 23 faults of a program that allocates nothing, since the library does not
# start then, of which a library that does nothing has 16; 67 to 69 with one block. The rest is room: how many
# pages of a file one fault maps is the kernel's matter. A CPU has a page of words.
IDLE_FAULTS, FAULTS, FAULTS_OF_CPU = 30, 78, 1
# System calls, counted by valgrind, under which getcpu and clock_gettime are calls as well: 13, and 55.
IDLE_CALLS, CALLS, CALLS_OF_NODE = 16, 60, 5
# Under a filter of system calls, as in a container, a child tries some at the start: 28 faults and 24 calls more.
FILTERED_FAULTS, FILTERED_CALLS = 32, 28
# Section, and bytes from its first function to the last one of that part; GCC 14 makes 70 and 146 KiB of the others.
PARTS = {"in every process": (".text.every", 4 << 10), "at the start": (".text.first", 76 << 10),
         "later": (".text.first", 160 << 10)}
# With these the order is known to have all that ordinary programs run. Others put other functions into their callers,
# so a few may have no place in it.
KNOWN = ("x86_64", ("12", "14"))
# Programs that print what they have mapped themselves; one forks while it has threads.
FORKS = """import os, sys, threading
done = threading.Event()
threading.Thread(target=done.wait).start()
child = os.fork()
if child:
    os.waitpid(child, 0)
if (child == 0) == (sys.argv[2] == "child"):
    print(open(sys.argv[1]).read(), flush=True)
if not child:
    os._exit(0)
done.set()
"""
OWN = "/proc/self/smaps"
PRINTERS = [["cat", OWN], ["sort", "-s", "-k", "99", OWN], ["awk", "1", OWN], ["sed", "-n", "p", OWN], ["grep", ".", OWN],
            ["perl", "-n", "-e", "print", OWN], ["bash", "-c", f"while read -r x; do echo \"$x\"; done <{OWN}"],
            ["bash", "-c", f"ulimit -n 100; while read -r x; do echo \"$x\"; done <{OWN}"],
            [sys.executable, "-c", f"print(open('{OWN}').read())"], [sys.executable, "-c", FORKS, OWN, "parent"],
            [sys.executable, "-c", FORKS, OWN, "child"]]
SETTINGS = [{}, {"GLIBC_TUNABLES": "glibc.pthread.rseq=0"}, {"USLAB_CONF": ""}, {"USLAB_CONF": "purge_delay=2000"}]
IDLE = "int main(void) { return 0; }"
ONE = "#include <stdlib.h>\nint main(void) { char *volatile p = malloc(100); *p = 1; free(p); return 0; }"
# What works for longer than an epoch of depots and idle arrays, all sizes in turn, and is interrupted all the time, as
# on a busy machine; then it prints what it has mapped.
LONG = """#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile int signals;

static void count(int signal)
{
	(void)signal;
	signals++;
}

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_handler = count, .sa_flags = SA_RESTART };
	struct itimerval often = { { 0, 20 }, { 0, 20 } }, never = { { 0, 0 }, { 0, 0 } };
	static char *volatile blocks[1000];
	time_t end = time(NULL) + 4;
	unsigned int random = 1;
	char text[4096];
	ssize_t n;
	int fd;

	(void)argc;
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	while (signals < 20000 || time(NULL) < end)
		for (int i = 0; i < 1000; i++) {
			random = random * 1664525 + 1013904223;
			free(blocks[i]);
			blocks[i] = malloc(random >> 16 >> random % 13);
			if (blocks[i])
				*blocks[i] = 1;
		}
	setitimer(ITIMER_REAL, &never, NULL);
	fd = open(argv[1], O_RDONLY);
	while ((n = read(fd, text, sizeof(text))) > 0)
		if (write(1, text, n) != n)
			return 1;
	return 0;
}
"""
ORDER = os.path.join(SOURCE, "scripts", "function-order.txt")
# docs/production.md, "Addresses": what a start takes with 2 CPUs. The rest is for CPUs that may come as well.
START_KIB, START_KIB_OF_CPU = 24 << 10, 2 << 10
NO_START = "uslab: no memory at program start (ulimit -v, ulimit -d?); all allocations will fail\n"
SMALL_ONES = """#include <stdlib.h>
int main(void)
{
	char *volatile p;
	int i, failed = 0;

	for (i = 0; i < 1000; i++) {
		p = i % 10 ? malloc(1000) : aligned_alloc(64, 640);
		if (!p && i < 50)
			return 1;
		failed |= !p;
	}
	return 2 * failed;
}
"""


def nodes():
    return len(glob.glob("/sys/devices/system/node/node[0-9]*")) or 1


def is_filtered():
    with open("/proc/self/status", encoding="ascii", errors="replace") as status:
        return "\nSeccomp:\t2\n" in status.read()


def possible_cpus():
    """Those that may come as well: the library has words for them."""
    try:
        with open("/sys/devices/system/cpu/possible", encoding="ascii") as stream:
            return int(re.split("[-,]", stream.read().strip())[-1]) + 1
    except (OSError, ValueError):
        return os.sysconf("SC_NPROCESSORS_CONF")


def is_ordered():
    """Was the linker told the order of functions?"""
    sections = subprocess.run(["readelf", "-SW", LIBRARY], capture_output=True, text=True, check=True).stdout
    return ".text.first" in sections


def is_known():
    """Is it one of the compilers that KNOWN has? Those of several nodes run more."""
    comment = subprocess.run(["readelf", "-p", ".comment", LIBRARY], capture_output=True, text=True, check=True).stdout
    found = set(re.findall(r"GCC: .*?\) (\d+)\.", comment))
    return platform.machine() == KNOWN[0] and found and found <= set(KNOWN[1]) and nodes() == 1


def names():
    """{part: its names}"""
    found, part = {}, None
    with open(ORDER, encoding="utf-8") as stream:
        for line in stream:
            if re.match("# (in every process|at the start|later|large variables)", line):
                part = found.setdefault(line[2:].strip(), [])
            elif not line.startswith("#") and line.strip():
                part.append(line.strip())
    return found


class Start(InFolder):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        if not shutil.which(CC):
            raise unittest.SkipTest("there is no compiler")
        compile_program(cls.folder, "idle", IDLE)
        compile_program(cls.folder, "one", ONE)
        cls.long = compile_program(cls.folder, "long", LONG)

    def faults(self, program, **more):
        """The fewest of some runs: what else the system does may add some."""
        path, least = os.path.join(self.folder, "figures"), None
        for _ in range(30):
            subprocess.run([START, path, os.path.join(self.folder, program)], env=environment(**more), check=True)
            with open(path, encoding="ascii") as stream:
                found = int(stream.read().split()[4])
            least = found if least is None else min(least, found)
        return least

    def calls(self, program, **more):
        """With the tool that leaves malloc alone."""
        run = subprocess.run(["valgrind", "--tool=none", "--trace-syscalls=yes", os.path.join(self.folder, program)],
                             env=environment(**more), capture_output=True, text=True, check=False)
        if "debuginfo reader" in run.stderr:
            self.skipTest("this valgrind cannot read the compiler's debug information")
        self.assertEqual(run.returncode, 0, run.stderr)
        return len(re.findall(r"^SYSCALL\[\d+,1\]\( *\d+\) sys_", run.stderr, re.MULTILINE))

    def test_faults(self):
        if os.sysconf("SC_PAGESIZE") != 4096:
            self.skipTest("counted for pages of 4 KiB")
        idle, one = (self.faults(program, BENCH_PRELOAD=LIBRARY) - self.faults(program)
                     for program in ("idle", "one"))
        self.assertGreater(idle, 0, "the library was not loaded")
        if not is_ordered():
            self.skipTest("counted with functions in order")
        self.assertLessEqual(idle, IDLE_FAULTS)
        self.assertLessEqual(one, FAULTS + FAULTS_OF_CPU * max(0, possible_cpus() - 2) +
                             FILTERED_FAULTS * is_filtered())

    def runs_with(self, addresses, *settings):
        """The program that allocates 1 MB, with that limit in KiB."""
        return subprocess.run(["sh", "-c", f"ulimit -v {addresses} && exec env {' '.join(settings)} ./small"],
                              cwd=self.folder, env=environment(), capture_output=True, text=True, check=False)

    def least(self):
        """The least limit with which it runs on the C library alone, by 64 KiB."""
        low, high = 1000, 100000
        while high - low > 64:
            middle = (low + high) // 2
            low, high = (low, middle) if self.runs_with(middle).returncode == 0 else (middle, high)
        return high

    def test_addresses(self):
        """What a start takes at least; with less it says so, once, where the first request fails."""
        compile_program(self.folder, "small", SMALL_ONES)
        alone, preload = self.least(), f"LD_PRELOAD={LIBRARY}"
        run = self.runs_with(alone + START_KIB + START_KIB_OF_CPU * max(0, possible_cpus() - 2), preload)
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        run = self.runs_with(alone + START_KIB // 2, preload)
        self.assertEqual((run.returncode, run.stderr), (2, NO_START), "early blocks, then none, and a line")

    def test_ordinary_programs_need_no_other_function(self):
        """
        Of the code that is in no part of the order no page is mapped; also without rseq, with a setting, and where
        it takes longer and is interrupted.
        """
        if not is_ordered() or not is_known():
            self.skipTest("the order is not known to be all of it with this compiler, or with several nodes")
        file = re.escape(os.path.basename(os.path.realpath(LIBRARY)))
        runs = [(command, settings) for command in PRINTERS if shutil.which(command[0]) for settings in SETTINGS]
        for command, settings in [*runs, ([self.long, OWN], {})]:
            smaps = subprocess.run(command, env=environment(LD_PRELOAD=LIBRARY, **settings), text=True,
                                   capture_output=True, check=True).stdout
            resident = [int(size) for size in re.findall(
                rf"(?m)^\w+-\w+ r-xp .*/{file}(?: \(deleted\))?\n(?:[A-Z].*\n)*?Rss: +(\d+) kB", smaps)]
            with self.subTest(command=command, settings=settings):
                if command[0] != sys.executable and (len(resident) != 3 or not resident[1]):
                    continue  # it is linked statically, or has a malloc of its own
                self.assertEqual(len(resident), 3, "the library was not loaded")
                self.assertGreater(resident[1], 0, "it did not start")
                self.assertEqual(resident[2], 0, "scripts/reached says which function that is")

    def test_system_calls(self):
        if not shutil.which("valgrind"):
            self.skipTest("valgrind is not installed")
        idle, one = (self.calls(program, LD_PRELOAD=LIBRARY) - self.calls(program) for program in ("idle", "one"))
        self.assertGreater(idle, 5, "the library was not loaded")
        self.assertGreater(one, idle + 5, "malloc was not the library's")
        self.assertLessEqual(idle, IDLE_CALLS)
        self.assertLessEqual(one, CALLS + CALLS_OF_NODE * (nodes() - 1) + FILTERED_CALLS * is_filtered())


class Order(unittest.TestCase):
    def test_functions_of_the_sources(self):
        text = ""
        for path in glob.glob(os.path.join(SOURCE, "src", "**", "*.[ch]"), recursive=True):
            with open(path, encoding="utf-8") as stream:
                text += stream.read()
        known = set(re.findall(r"\b(\w+)\(", text))
        listed = [name for part in PARTS for name in names()[part]]
        self.assertGreater(len(listed), 100)
        self.assertEqual(len(listed), len(set(listed)), "a name stands twice")
        self.assertEqual([name for name in listed if name not in known], [])
        large = names()["large variables, or seldom used"]
        self.assertEqual([name for name in large if not re.search(rf"(?m)^(?!\s*extern).*\b{name}(;|\[| = )", text)],
                         [])

    def test_they_stand_together(self):
        """Where the linker was told; and the mapping that they are in has nothing else in it."""
        sections = subprocess.run(["readelf", "-SW", LIBRARY], capture_output=True, text=True, check=True).stdout
        if not is_ordered():
            self.skipTest("this linker was not told")
        lows = {name: int(low, 16) for name, low in
                re.findall(r" (\.text\.\w+) +PROGBITS +([0-9a-f]+) ", sections)}
        symbols = subprocess.run(["nm", LIBRARY], capture_output=True, text=True, check=True).stdout
        at = {}
        for address, name in re.findall(r"^([0-9a-f]+) [tT] (\w+)(?!.*\.cold)", symbols, re.MULTILINE):
            at.setdefault(name, []).append(int(address, 16))
        for part, (section, most) in PARTS.items():
            low = lows[section]
            for name in names()[part]:
                for place in at.get(name, []):
                    self.assertTrue(low <= place < low + most, f"{name} at {place:#x}, not behind {low:#x}")
        segments = subprocess.run(["readelf", "-lW", LIBRARY], capture_output=True, text=True, check=True).stdout
        self.assertRegex(segments, r"(?m)^ +\d+ +\.init \.plt (\.plt\.\w+ )?\.fini \.text\.every *$")
        self.assertRegex(segments, r"(?m)^ +\d+ +\.text\.first *$")
        self.assertRegex(segments, r"(?m)^ +\d+ .*\.dynsym .*\.rela\.plt \.rodata\.first( \.relr\.dyn)? *$")


if __name__ == "__main__":
    unittest.main()
