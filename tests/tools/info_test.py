#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# ctest: timeout=900
"""uslab info: errors and exit codes, counts of live processes, listings, JSON.

Programs to look into are python3 under `uslab run` and small C programs compiled here.
"""
import json
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from programs import compile_program  # noqa: E402

BIN = os.environ["USLAB_BIN"]
LIB = os.environ["USLAB_LIB"]
SRC = os.environ["USLAB_SRC"]
PYTHON = os.environ.get("USLAB_PYTHON", sys.executable)

HEADER = "Name                   Objects Objsize           Space Slabs/Part/Cpu  O/S O %Fr %Ef Flg"

# Caches with known numbers of objects: 1000 live ones of three, and every third of 999 of one.
WIDGETS = r"""
#include <stdio.h>
#include <unistd.h>
#include <uslab/slab.h>

/* A cache with a constructor has no aliases. */
static void make(void *object)
{
	*(char *)object = 1;
}

static void keep(struct kmem_cache *cache, int count, int keep_each)
{
	static void *objects[1000];

	for (int i = 0; i < count; i++)
		objects[i] = kmem_cache_alloc(cache, GFP_KERNEL);
	for (int i = 0; i < count; i++)
		if (i % keep_each)
			kmem_cache_free(cache, objects[i]);
}

int main(void)
{
	static const char *const fronts[] = { "array", "cpuslab", "none" };
	char name[32];

	for (int i = 0; i < 3; i++) {
		struct kmem_cache_args args = { .front = fronts[i] };

		snprintf(name, sizeof(name), "Widget-%s", fronts[i]);
		keep(kmem_cache_create_args(name, 328, &args, 0), 1000, 1);
	}
	keep(kmem_cache_create("gadget", 200, 0, 0, make), 999, 3);
	kmem_cache_create("reclaimed", 200, 0, SLAB_RECLAIM_ACCOUNT | SLAB_HWCACHE_ALIGN, NULL);
	keep(kmem_cache_create("first", 440, 0, 0, NULL), 4, 2);
	kmem_cache_create("the-longest-of-all", 440, 0, 0, NULL);
	kmem_cache_create("third", 440, 0, 0, NULL);
	kmalloc(1 << 20, GFP_KERNEL);
	puts("ready");
	fflush(stdout);
	pause();
}
"""

# Something that calls itself uslab_root and is of another version.
IMPOSTOR = r"""
#include <stdio.h>
#include <unistd.h>
#include <stdint.h>

struct { uint64_t magic; uint32_t version, ready, sizes[6]; char name[16]; uint64_t more[64]; }
	uslab_root = { 0x746f6f7262616c73ull, VERSION, 1, { 0 }, "5.4.3", { 0 } };

int main(void)
{
	puts("ready");
	fflush(stdout);
	pause();
}
"""

LOAD = """
import random
random.seed(1)
live = {}
def work(n):
    for _ in range(n):
        live[random.randrange(30000)] = [bytes(random.randrange(1, 2000)),
                                         {j: str(j) for j in range(random.randrange(20))}]
        if random.random() < 0.3:
            live.pop(random.randrange(30000), None)
work(40000)
print("ready", flush=True)
while True:
    work(1000)
"""


def uslab(*arguments, **options):
    return subprocess.run([BIN, *map(str, arguments)], capture_output=True, text=True, check=False,
                          timeout=300, **options)


class Folder:
    """A temporary folder that others may read too, and what is compiled into it."""

    def __init__(self):
        self.path = tempfile.mkdtemp(prefix="uslab-info-")
        os.chmod(self.path, 0o755)

    def compile(self, name, source, *flags):
        return compile_program(self.path, name, source, "-g0", *flags)

    def widgets(self, how):
        flags = [f"-I{SRC}/include", "-pthread"]
        flags += {"static": [f"{LIB}/libuslab.a"],
                  "stripped": [f"{LIB}/libuslab.a", "-s"],
                  "kept": [f"{LIB}/libuslab.a"],
                  "shared": [f"-L{LIB}", "-luslab", f"-Wl,-rpath,{LIB}"]}[how]
        return self.compile(f"widgets-{how}", WIDGETS, *flags)


class Started:
    """A process that said that it is ready; ended when the block ends."""

    def __init__(self, *command, **options):
        self.command, self.options = command, options

    def __enter__(self):
        self.process = subprocess.Popen(self.command, stdout=subprocess.PIPE, text=True,
                                        **self.options)
        line = self.process.stdout.readline()
        if line != "ready\n":
            self.__exit__()
            raise AssertionError(f"{self.command}: said {line!r}, ended {self.process.returncode}")
        return self.process.pid

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


class Case(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Folder()

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder.path)

    def info(self, pid, *arguments):
        """Standard output of a call that succeeds and says nothing else."""
        run = uslab("info", "-p", pid, *arguments)
        self.assertEqual((run.stderr, run.returncode), ("", 0))
        return run.stdout

    def rows(self, pid, *arguments):
        text = self.info(pid, *arguments)
        if text.startswith("\nSlabcache: "):  # a single one is reported
            return {text.split()[1]: text}
        lines = text.splitlines()
        return {line.split()[0]: line for line in lines[1:]}

    def json(self, pid, *arguments):
        return json.loads(self.info(pid, "--json", *arguments))

    def caches(self, pid, *arguments):
        return {cache["name"]: cache for cache in self.json(pid, *arguments)["caches"]}


class Usage(Case):
    def refused(self, status, text, *arguments):
        run = uslab("info", *arguments)
        self.assertEqual(run.returncode, status, run.stderr)
        self.assertEqual(run.stdout, "")
        self.assertIn(text, run.stderr)
        self.assertTrue(run.stderr.startswith("uslab info: "), run.stderr)

    def test_wrong_usage(self):
        for text, *arguments in (
                ("which process?",),
                ("no process id", "-p", "x"),
                ("no process id", "-p", "0"),
                ("no process id", "-p", "-1"),
                ("no process id", "-p", "12x"),
                ("no process id", "--pid=99999999999"),
                ("needs a value", "-p"),
                ("needs a value", "--pid"),
                ("unknown option '-q'", "-p", "1", "-q"),
                ("'--nonsense'", "--nonsense"),
                ("takes no value", "--json=1", "-p", "1"),
                ("invalid pattern", "-p", "1", "a["),
                ("one pattern only", "-p", "1", "a", "b"),
                ("number of lines", "-p", "1", "-N", "many"),
                ("number of lines", "-p", "1", "-N", "0"),
                ("number of times", "-p", "1", "--interval", "1", "-c", "0"),
                ("two listings", "-p", "1", "--json", "-a"),
                ("two listings", "-p", "1", "--json", "-T"),
                ("two listings", "-p", "1", "--openmetrics", "--json"),
                ("two listings", "-p", "1", "--openmetrics", "--prometheus"),
                ("two listings", "-p", "1", "--prometheus", "--groups"),
                ("two listings", "-p", "1", "--prometheus", "-T"),
                ("a process or a core, not both", "-p", "1", "--core", "core"),
                ("a process or a tree, not both", "-p", "1", "--kernel"),
                ("one of --core", "--kernel", "--root", "/tmp"),
                ("one of --core", "--core", "core", "--kernel"),
                ("--program goes with", "-p", "1", "--program", "x"),
                ("--sysroot goes with", "-p", "1", "--sysroot", "/"),
                ("--sysroot goes with", "--kernel", "--sysroot", "/"),
                ("--library is for", "--kernel", "--library", "x"),
                ("--address is for", "--kernel", "--address", "0x1"),
                ("no address", "-p", "1", "--address", "here"),
                ("no address", "-p", "1", "--address=-5"),
                ("no number of seconds", "-p", "1", "--interval", "0"),
                ("no number of seconds", "-p", "1", "--interval", "soon"),
                ("(above 0, up to 1000000)", "-p", "1", "--interval", "1000001"),
                ("no number of times", "-p", "1", "--interval", "1", "-c", "x"),
                ("goes with --interval", "-p", "1", "-c", "1"),
                ("'q': use some of f, z, p, u and t, or a, or none", "-p", "1", "-dq"),
                ("invalid debug option 'fzF'", "-p", "1", "-dfzF"),
                ("invalid debug option 'au'", "-p", "1", "--debug=au")):
            with self.subTest(arguments=arguments):
                self.refused(2, text, *arguments)

    def test_help_and_version(self):
        for option in ("--help", "-h"):
            run = uslab("info", option)
            self.assertEqual((run.returncode, run.stderr), (0, ""))
            self.assertIn("usage: uslab info -p PID", run.stdout)
        self.assertRegex(uslab("info", "--version").stdout, r"^uslab \d+\.\d+\.\d+\n$")

    def test_main(self):
        for arguments in ((), ("frobnicate",), ("--frobnicate",)):
            run = uslab(*arguments)
            self.assertEqual((run.returncode, run.stdout), (2, ""))
            self.assertIn("uslab --help", run.stderr)
        self.assertIn("info", uslab("--help").stdout)
        self.assertRegex(uslab("--version").stdout, r"^uslab \d+\.\d+\.\d+\n$")

    def test_no_such_process(self):
        with open("/proc/sys/kernel/pid_max", encoding="ascii") as stream:
            self.refused(1, "no such process", "-p", int(stream.read()) + 1)

    def test_without_uslab(self):
        self.refused(1, "uslab run --", "-p", os.getpid())
        self.refused(1, "does not use uslab", "-p", os.getpid())

    def test_ended(self):
        child = subprocess.Popen(["true"])
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        self.refused(1, "it has ended", "-p", child.pid)
        child.wait()
        self.refused(1, "no such process", "-p", child.pid)

    def test_no_permission(self):
        # Nobody may look into this process; who is not root may not look into init.
        options, pid, binary = {}, 1, BIN
        if os.geteuid() == 0:
            binary = shutil.copy(BIN, self.folder.path)
            options, pid = {"user": 65534, "group": 65534, "extra_groups": []}, os.getpid()
        run = subprocess.run([binary, "info", "-p", str(pid)], capture_output=True, text=True,
                             check=False, **options)
        self.assertEqual((run.returncode, run.stdout), (1, ""))
        self.assertIn("no permission to look into process", run.stderr)
        yama = "/proc/sys/kernel/yama/ptrace_scope"
        scope = "0"
        if os.path.exists(yama):
            with open(yama, encoding="ascii") as stream:
                scope = stream.read().strip()
        self.assertEqual(yama in run.stderr, scope != "0")
        self.assertEqual("CAP_SYS_PTRACE" in run.stderr, scope != "3")

    def test_versions(self):
        with open(os.path.join(SRC, "src/inspect/root.h"), encoding="utf-8") as header:
            own = re.search(r"#define USLAB_ROOT_VERSION (\d+)", header.read())[1]
        newer = self.folder.compile("newer", IMPOSTOR, "-DVERSION=99")
        with Started(newer) as pid:
            self.refused(1, f"has uslab 5.4.3 ({os.path.realpath(newer)}), whose data", "-p", pid)
            self.refused(1, "version 99", "-p", pid)
            self.refused(1, "uslab 5.4.3", "-p", pid)
            self.refused(1, f"reads version {own}", "-p", pid)
        with Started(self.folder.compile("same", IMPOSTOR, f"-DVERSION={own}")) as pid:
            self.refused(1, "other data structures", "-p", pid)
            self.refused(1, "/same), built with", "-p", pid)

    def test_full_output(self):
        with Started(self.folder.widgets("static")) as pid, open("/dev/full", "w") as full:
            run = subprocess.run([BIN, "info", "-p", str(pid)], stdout=full, text=True,
                                 stderr=subprocess.PIPE, check=False)
            self.assertEqual(run.returncode, 1)
            self.assertIn("No space left", run.stderr)


class Counts(Case):
    def check_widgets(self, pid):
        caches = self.caches(pid)
        for front in ("array", "cpuslab", "none"):
            cache = caches[f"Widget-{front}"]
            self.assertEqual((cache["front"], cache["engine"]), (front, "slub"))
            self.assertEqual(cache["objects"], 1000)
            self.assertEqual(cache["object_size"], 328)
            self.assertGreaterEqual(cache["total_objects"], 1000 + cache["objects_held"])
        self.assertEqual(caches["gadget"]["objects"], 333)
        self.assertEqual(caches["first"]["objects"], 2)
        self.assertEqual(caches["reclaimed"]["slabs"], 0)
        self.assertEqual(caches["kmalloc-large"]["objects"], 1)
        self.assertEqual(caches["kmalloc-large"]["slab_bytes"], 1 << 20)

    def test_static(self):
        with Started(self.folder.widgets("static")) as pid:
            self.check_widgets(pid)

    def test_shared(self):
        with Started(self.folder.widgets("shared")) as pid:
            self.check_widgets(pid)

    def test_stripped(self):
        # Without any symbol nothing leads to uslab_root.
        with Started(self.folder.widgets("stripped")) as pid:
            run = uslab("info", "-p", pid)
            self.assertEqual(run.returncode, 1)
            self.assertIn("does not use uslab", run.stderr)
            self.assertIn("stripped of uslab_root", run.stderr)
        # docs/production.md says how it is found.
        program = self.folder.widgets("kept")
        subprocess.run(["strip", "--keep-symbol=uslab_root", program], check=True)
        with Started(program) as pid:
            self.check_widgets(pid)

    def test_without_rseq(self):
        environment = dict(os.environ, GLIBC_TUNABLES="glibc.pthread.rseq=0")
        with Started(self.folder.widgets("static"), env=environment) as pid:
            self.check_widgets(pid)
            self.assertFalse(self.json(pid)["uslab"]["rseq"])

    def test_program_gone(self):
        program = shutil.copy(self.folder.widgets("static"), self.folder.path + "/gone")
        with Started(program) as pid:
            os.unlink(program)
            self.check_widgets(pid)

    def test_library_gone(self):
        # An update while the program runs: the old file is deleted, another has its name.
        folder = self.folder.path + "/lib"
        os.mkdir(folder)
        library = shutil.copy(os.path.realpath(f"{LIB}/libuslab.so"), folder + "/libuslab.so.0.1")
        environment = dict(os.environ, LD_LIBRARY_PATH=folder)
        program = self.folder.compile("moved", WIDGETS, f"-I{SRC}/include", library, "-pthread")
        with Started(program, env=environment) as pid:
            os.unlink(library)
            self.check_widgets(pid)
            with open(library, "w", encoding="ascii") as stream:
                stream.write("another file\n")
            self.check_widgets(pid)

    def test_two_copies(self):
        with Started(BIN, "run", "--", self.folder.widgets("shared")) as pid:
            run = uslab("info", "-p", pid)
            self.assertEqual(run.returncode, 0)
            self.assertIn("2 copies of uslab", run.stderr)
            self.check_widgets_of(pid, "libuslab.so")
            names = self.caches(pid, "--library", "libuslab_malloc")
            self.assertIn("malloc-64", names)
            run = uslab("info", "-p", pid, "--library", "nonesuch")
            self.assertEqual(run.returncode, 1)
            self.assertIn("not in 'nonesuch'", run.stderr)

    def check_widgets_of(self, pid, library):
        caches = self.caches(pid, "--library", library)
        self.assertEqual(caches["gadget"]["objects"], 333)
        self.assertNotIn("malloc-64", caches)

    def test_many_at_once(self):
        # Processes that come, exec and go while they are looked at: an answer or a reason.
        for _ in range(30):
            process = subprocess.Popen([BIN, "run", "--", PYTHON, "-c", "pass"])
            while process.poll() is None:
                run = uslab("info", "-p", process.pid)
                self.assertIn(run.returncode, (0, 1), run.stderr)
                self.assertEqual(run.returncode == 1, run.stderr != "", run.stderr)


class Space(Case):
    """The sum of the space column against what the kernel says about the arena."""

    def arena_rss(self, pid, low, high):
        rss, inside = 0, False
        with open(f"/proc/{pid}/smaps", encoding="ascii", errors="replace") as stream:
            for line in stream:
                match = re.match(r"([0-9a-f]+)-([0-9a-f]+) ", line)
                if match:
                    start, end = (int(text, 16) for text in match.groups())
                    inside = start < high and low < end  # it may have grown since
                elif inside and line.startswith("Rss:"):
                    rss += int(line.split()[1]) * 1024
        return rss

    def sample(self, pid):
        data = self.json(pid)
        low, high = (int(data["uslab"][key], 16) for key in ("arena_base", "arena_end"))
        # the program goes on: its size is that of before and after
        before = self.arena_rss(pid, low, high)
        space = sum(int(line.split()[3]) for name, line in self.rows(pid, "-B").items()
                    if not name.endswith("-mapped"))
        after = self.arena_rss(pid, low, high)
        self.assertGreater(before, 20 << 20)
        return space / ((before + after) / 2)

    def check(self, **environment):
        environment = dict(os.environ, **environment)
        with Started(BIN, "run", "--", PYTHON, "-c", LOAD, env=environment) as pid:
            ratios = []
            for _ in range(9):
                os.kill(pid, signal.SIGSTOP)  # two looks at the same state, however busy we are
                ratios.append(self.sample(pid))
                os.kill(pid, signal.SIGCONT)
                time.sleep(0.1)
            # one of them may meet a large block that is being filled, or free pages being purged; and slabs
            # that were not written to all over have space that is not resident: 5 % soon after the start
            self.assertAlmostEqual(statistics.median(ratios), 1, delta=0.1, msg=str(ratios))

    def test_python(self):
        self.check()

    def test_python_all_malloc(self):
        self.check(PYTHONMALLOC="malloc")

    def test_python_cpuslab(self):
        self.check(PYTHONMALLOC="malloc", USLAB_CONF="front=cpuslab")

    def test_python_engines(self):
        for engine in ("slab", "slobseg", "slobseg:pow2", "slob"):
            with self.subTest(engine):
                self.check(USLAB_CONF=f"engine={engine},front=historical")

    def test_heap_row(self):
        environment = dict(os.environ, USLAB_CONF="engine=slob,front=historical",
                           PYTHONMALLOC="malloc")
        code = ("import time; x = [bytes(n % 900) for n in range(30000)]; "
                "print('ready', flush=True); time.sleep(900)")
        with Started(BIN, "run", "--", PYTHON, "-c", code, env=environment) as pid:
            data = self.json(pid)
            heap = {cache["name"]: cache for cache in data["caches"]}["slob-heap"]
            self.assertGreaterEqual(heap["objects"], 30000 - 900)
            self.assertLessEqual(heap["object_bytes"], heap["slab_bytes"])
            self.assertEqual(heap["slab_bytes"], 4096 * heap["slabs"])
            self.assertEqual(heap["engine"], "slob")
            self.assertEqual(data["uslab"]["inconsistent"], 0)
            self.assertIn("slob-heap", self.rows(pid))

    def test_stopped_program(self):
        # Nothing is asked of the program: it may as well be stopped.
        with Started(BIN, "run", "--", PYTHON, "-c", LOAD) as pid:
            os.kill(pid, signal.SIGSTOP)
            first = self.info(pid)
            self.assertEqual(self.info(pid), first)
            self.assertGreater(self.sample(pid), 0.9)


class Listings(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.started = Started(cls.folder.widgets("static"))
        cls.pid = cls.started.__enter__()

    @classmethod
    def tearDownClass(cls):
        cls.started.__exit__()
        super().tearDownClass()

    def names(self, *arguments):
        return list(self.rows(self.pid, *arguments))

    def test_format(self):
        lines = self.info(self.pid).splitlines()
        self.assertEqual(lines[0], HEADER)
        for line in lines[1:]:
            self.assertRegex(line, r"^\S.{20} [ \d]{7}\d [ \d]{6}\d [ \d.KMG]{15} [ \d/]{14} "
                                   r"[ \d]{3}\d \d [ \d]{2}\d [ \d]{2}\d [*dAPaZFUT]*$")
        gadget = [line for line in lines if line.startswith("gadget ")]
        self.assertRegex(gadget[0], r"^gadget {21}333     200 ")

    def test_regex(self):
        self.assertEqual(self.names("gadget"), ["gadget"])
        self.assertEqual(self.names("GADG"), ["gadget"])
        self.assertEqual(len(self.names("widget")), 3)
        self.assertEqual(self.names("^g.*t$"), ["gadget"])
        self.assertEqual(self.names(r"wid\{0,1\}get-a"), ["Widget-array"])
        self.assertEqual(self.names("gadget", "-z"), ["gadget"])
        run = uslab("info", "-p", self.pid, "no such (cache)")
        self.assertEqual((run.returncode, run.stdout), (0, ""))
        self.assertIn("no cache", run.stderr)

    def test_names_of_merged_caches(self):
        self.assertIn(":0000440", self.names())
        self.assertIn("the-longest-of-all", self.names("-f"))
        self.assertNotIn(":0000440", self.names("-f"))
        # one name that matches is the name; several are an id
        self.assertEqual(self.names("third"), ["third"])
        self.assertEqual(self.names("^thi\\|^fir"), [":0000440"])
        self.assertIn(" *", self.rows(self.pid)[":0000440"])

    def test_report_of_one(self):
        text = self.info(self.pid, "^gadget$")
        # the order depends on how many CPUs there are
        self.assertRegex(text, "^\nSlabcache: gadget           Aliases:  0 Order :  [0-3] Objects: 333\n"
                               r"\nSizes \(bytes\) ")
        self.assertIn("\nObject :     200  Total  :", text)
        # whole pages are no cache
        self.assertEqual(self.info(self.pid, "kmalloc-large").splitlines()[0], HEADER)

    def test_empty(self):
        self.assertNotIn("reclaimed", self.names())
        self.assertIn("reclaimed", self.names("-z"))
        self.assertIn("reclaimed", self.names("-e"))
        self.assertNotIn("gadget", self.names("-e"))
        self.assertNotIn("reclaimed", self.names("-zU"))
        self.assertIn("gadget", self.names("-zU"))
        self.assertTrue(self.rows(self.pid, "-z")["reclaimed"].endswith(" Aa"))

    def test_order(self):
        names = self.names()
        self.assertEqual(names, sorted(names, key=str.lower))
        self.assertEqual(self.names("-i"), names[::-1])
        sizes = [int(line.split()[3]) for line in self.rows(self.pid, "-SB").values()]
        self.assertEqual(sizes, sorted(sizes, reverse=True))
        losses = [int(line.split()[3]) for line in self.rows(self.pid, "-LB").values()]
        self.assertEqual(losses, sorted(losses, reverse=True))
        partial = [int(line.split()[4].split("/")[1])
                   for line in self.rows(self.pid, "--partial").values()]
        self.assertEqual(partial, sorted(partial, reverse=True))
        self.assertEqual(self.info(self.pid, "-L").splitlines()[0],
                         HEADER.replace("Space", " Loss"))

    def test_lines(self):
        self.assertEqual(self.names("-N", "2"), self.names()[:2])

    def test_aliases(self):
        self.assertEqual(self.info(self.pid, "-a"),
                         "\n:0000440     <- first the-longest-of-all third\n")
        self.assertIn("\n:a-0000256   <- reclaimed\n", self.info(self.pid, "-a1"))
        self.assertEqual(self.info(self.pid, "-ai"),
                         "first           -> :0000440\n"
                         "the-longest-of-all -> :0000440\n"
                         "third           -> :0000440\n")
        self.assertEqual(self.info(self.pid, "-a1", "^third"), "\n:0000440     <- third\n")


class Json(Case):
    def name_of(self, name):
        """What a program of that name is called, which has any bytes."""
        program = os.path.join(self.folder.path, name)
        shutil.copy(self.folder.widgets("static"), program)
        with Started(program) as pid:
            return self.json(pid)["program"]

    def test_schema(self):
        fields = {"": set()}
        for line in uslab("info", "--fields").stdout.splitlines():
            if line.startswith("  "):
                fields[part].add(line.split()[0])
            else:
                part = re.sub(r" \(.*\)|:", "", line)
                fields[part] = set()
        with Started(self.folder.widgets("static")) as pid:
            data = self.json(pid)
            text = uslab("info", "-p", pid, "-TB").stdout
            self.assertEqual(data["pid"], pid)
        self.assertEqual(set(data), {"pid", "program", "object", "uslab", "memory", "nodes", "caches"})
        self.assertEqual(data["program"], "widgets-static")
        self.assertTrue(data["object"].endswith("/widgets-static"))
        self.assertEqual(set(data["uslab"]), fields["uslab"])
        self.assertEqual(set(data["memory"]), fields["memory, in bytes"] | {"kinds"})
        self.assertEqual(set(data["memory"]["kinds"]), fields["memory, kinds"])
        self.assertEqual(self.name_of("w\u00fc\u20ac"), "w\u00fc\u20ac")
        self.assertEqual(self.name_of("w\x1b\u009bx"), "w???x")
        for cache in data["caches"]:
            memory = cache.pop("memory")
            self.assertEqual(memory is None, cache["id"] == 0)
            self.assertEqual(set(cache),
                             fields["caches"] | {"aliases", "nodes", "flags", "stats"})
            self.assertEqual(set(cache["flags"]), fields["caches, flags"])
            self.assertEqual(set(cache["stats"]), fields["caches, stats"])
            self.assertEqual(len(cache["stats"]), 43)
            for key, value in cache.items():
                kind = {"name": str, "unique_id": str, "engine": str, "front": str, "ctor": bool,
                        "sampled": bool, "movable": bool, "nodes": list, "aliases": list, "flags": dict,
                        "stats": dict}.get(key, int)
                self.assertIs(type(value), kind, key)
        first = next(cache for cache in data["caches"] if cache["name"] == "first")
        self.assertEqual(first["aliases"], ["the-longest-of-all", "third"])
        self.assertEqual((first["refcount"], first["unique_id"]), (3, ":0000440"))
        names = [cache["name"] for cache in data["caches"]]
        self.assertIn("reclaimed", names)  # empty
        total = data["uslab"]
        self.assertEqual(total["inconsistent"], 0)
        self.assertEqual(total["slab_bytes"] + total["run_bytes"] + total["free_bytes"],
                         total["arena_bytes"])
        # widgets of the front cpuslab took a batch of pages
        self.assertGreater(total["listed_bytes"], 0)
        self.assertLessEqual(total["listed_bytes"], total["free_bytes"])
        self.assertRegex(text, r"\nResident .*\nKept pages : +%d\n" % total["listed_bytes"])

    def test_selection(self):
        with Started(self.folder.widgets("static")) as pid:
            self.assertEqual(set(self.caches(pid, "gadget")), {"gadget"})
            self.assertEqual(len(self.caches(pid, "-N", "3")), 3)

    def test_counters(self):
        environment = dict(os.environ, USLAB_CONF="stats")
        with Started(self.folder.widgets("static"), env=environment) as pid:
            caches = self.caches(pid, "-A")
        gadget = caches["gadget"]
        self.assertEqual(gadget["stats"]["alloc_slab"] - gadget["stats"]["free_slab"],
                         gadget["slabs"])
        self.assertGreater(caches["Widget-cpuslab"]["stats"]["alloc_fastpath"], 900)


if __name__ == "__main__":
    unittest.main(verbosity=2)
