# SPDX-License-Identifier: MIT
"""The programs of scripts/bench-malloc: our loads, and those of a mimalloc-bench that is built elsewhere.

Arguments of the latter are those that its own script gives them, with the number of threads where
that has the number of CPUs. Applications are in malloc_applications.py.
"""
import glob
import os
import re
import shutil

LOADS, MIMALLOC_BENCH, APPLICATIONS = "loads", "mimalloc-bench", "applications"
CONTAINERS = ("list-queue", "list-fill", "map-small", "map-replace")  # of the loads, those in C++
OWN_CACHES = ("book", "table", "server", *CONTAINERS)  # those that run on caches of their own as well


class Program:
    """A command, or what overrides run(). missing: why it cannot be run here."""

    def __init__(self, name, group, what, command=(), *, cwd=None, stdin=None, env=None, relative=None, quick=True,
                 missing=None):
        self.name, self.group, self.what, self.command = name, group, what, list(command)
        self.cwd, self.stdin, self.env = cwd, stdin, env
        self.relative, self.quick, self.missing = relative, quick, missing
        self.plain = None  # to preload for glibc's malloc; None: it has that anyway

    def prepare(self, lab):
        """Once, before the first run."""

    def before(self, lab):
        """Before each run."""

    def run(self, lab, contestant):
        return lab.run(self.command, contestant, env=self.env, cwd=self.cwd, stdin=self.stdin)

    def suits(self, contestant):
        return not contestant.own


# ---- our own loads ----

class Load(Program):
    """One of uslab-bench-load, for own-cache of uslab-bench-load-cache; so for containers."""

    def __init__(self, mode, threads, what):
        name = f"{mode}-{threads}" if threads else mode
        super().__init__(name, LOADS, what, ["--mode", mode])
        if threads:
            self.command += ["--threads", str(threads)]
        self.mode = mode
        self.workers = ("uslab-bench-load", "uslab-bench-load-cache")
        if mode in CONTAINERS:
            self.workers = ("uslab-bench-containers-malloc", "uslab-bench-containers-cache")

    def run(self, lab, contestant):
        command = [os.path.join(lab.bin, self.workers[contestant.own]), *self.command, "--count", str(lab.percent)]
        return lab.run(command, contestant)

    def suits(self, contestant):
        return not contestant.own or self.mode in OWN_CACHES


# (mode, with several threads, what)
LOAD_TABLE = (
    ("churn", True, "2000 threads created and ended, each with 1000 blocks"),
    ("chain", True, "messages from thread to thread, each frees what it was sent"),
    ("phases", False, "a long life in phases of other sizes and orders"),
    ("growth", False, "vectors and strings that grow by realloc"),
    ("big", False, "blocks of 32 KiB to 4 MiB in turn"),
    ("book", False, "an order book: orders, price levels, trades"),
    ("table", True, "a hash table whose entries other threads free"),
    ("server", True, "requests with arenas, connections, responses"),
    ("list-queue", False, "std::list as a queue of 1000 items"),
    ("list-fill", False, "100 lists, each filled, walked along and dropped in turn"),
    ("map-small", False, "maps of 16 keys, made, asked and dropped"),
    ("map-replace", False, "a std::map of 10,000 keys, random ones are replaced"),
)


def loads(threads):
    return [Load(mode, number, what) for mode, several, what in LOAD_TABLE
            for number in (threads if several else (None,))]


# ---- mimalloc-bench ----

def found(before, after, seconds=lambda number: number):
    """A function of a program's output: the last number between these patterns, as seconds; or None."""
    def relative(output):
        numbers = re.findall(rf"{before}(\d+(?:\.\d+)?){after}", output, re.M)
        return seconds(float(numbers[-1])) if numbers and float(numbers[-1]) else None
    return relative


LARSON = found("relative time: ", "s")
RPTEST = found(r"\.\.\.", " memory ops", lambda ops: 2e6 / ops)
XMALLOC = found("rtime: ", "")
ITERATIONS = found("^", " iterations", lambda count: 1e9 / count)
REDIS = found("", " requests per second", lambda ops: 2e6 / ops)

# (name, program, arguments, relative time, short); {t}: threads, {t2}: twice as many, {cpus}: CPUs
# here. A row with {t} or {t2} is there for each number of threads.
MIMALLOC_TABLE = (
    ("cfrac", "cfrac", "17545186520507317056371138836327483792789528", None, True),
    ("espresso", "espresso", "{bench}/espresso/largest.espresso", None, True),
    ("barnes", "barnes", "", None, True),
    ("alloc-test-1", "alloc-test", "1", None, False),
    ("alloc-test-{t}", "alloc-test", "{t}", None, False),
    ("larson-{t}", "larson", "5 8 1000 5000 100 4141 {t}", LARSON, False),
    ("larson-sized-{t}", "larson-sized", "5 8 1000 5000 100 4141 {t}", LARSON, False),
    ("mstress-{t}", "mstress", "{t} 50 25", None, True),
    ("rptest-{t}", "rptest", "{t} 0 1 2 500 1000 100 8 16000", RPTEST, False),
    ("xmalloc-test-{t}", "xmalloc-test", "-w {t} -t 5 -s 64", XMALLOC, False),
    ("cache-scratch-1", "cache-scratch", "1 1000 1 2000000 {cpus}", None, True),
    ("cache-scratch-{t}", "cache-scratch", "{t} 1000 1 2000000 {cpus}", None, True),
    ("cache-thrash-1", "cache-thrash", "1 1000 1 2000000 {cpus}", None, True),
    ("cache-thrash-{t}", "cache-thrash", "{t} 1000 1 2000000 {cpus}", None, True),
    ("glibc-simple", "glibc-simple", "", None, False),
    ("glibc-thread-{t}", "glibc-thread", "{t}", ITERATIONS, False),
    ("sh6bench-{t2}", "sh6bench", "{t2}", None, False),
    ("sh8bench-{t2}", "sh8bench", "{t2}", None, False),
    ("malloc-large", "malloc-large", "", None, False),
    ("mleak-10", "mleak", "5", None, False),
    ("mleak-100", "mleak", "50", None, False),
)
INPUTS = {"barnes": "bench/barnes/input"}
MOST_THREADS = {"alloc-test": 16}


def bench_rows(threads):
    """(name, program, arguments, relative time, short) with the threads put in."""
    for name, program, arguments, relative, short in MIMALLOC_TABLE:
        numbers = threads if "{t" in name else threads[:1]
        for t in numbers:
            if t > MOST_THREADS.get(program, t):
                continue
            values = {"t": t, "t2": 2 * t, "cpus": os.cpu_count(), "bench": "{bench}"}
            yield (name.format(**values), program, arguments.format(**values), relative, short)


class Redis(Program):
    """mimalloc-bench's: one list that grows and is read, by its redis-benchmark."""

    def __init__(self, folder):
        pattern = os.path.join(folder, "extern", "redis-*", "src", "redis-server")
        servers = sorted(glob.glob(pattern))
        super().__init__("redis", MIMALLOC_BENCH, "redis-server, lpush and lrange", relative=REDIS, quick=False,
                         missing=None if servers else f"no {pattern}")
        self.server = servers[-1] if servers else None

    def run(self, lab, contestant):
        import malloc_redis  # pylint: disable=import-outside-toplevel
        sources = os.path.dirname(self.server)
        command = [os.path.join(sources, "redis-benchmark"), "-r", "1000000", "-n", "100000", "-q", "-P", "16",
                   "lpush", "a", "1", "2", "3", "4", "5", "lrange", "a", "1", "5"]
        return malloc_redis.run(lab, contestant, self.server, command)


def outside(folder):
    """Programs of mimalloc-bench that come from elsewhere, with its inputs."""
    extern, inputs = os.path.join(folder, "extern"), os.path.join(folder, "bench")
    lean, lua = os.path.join(extern, "lean"), os.path.join(extern, "lua")
    rocks = sorted(glob.glob(os.path.join(extern, "rocksdb-*", "db_bench")))
    pdf, problem = os.path.join(extern, "large.pdf"), os.path.join(inputs, "z3", "test1.smt2")
    jobs = str(min(8, os.cpu_count()))

    def row(name, what, command, needs, **more):
        missing = next((f"no {path}" for path in needs if not shutil.which(path) and not os.path.isfile(path)), None)
        return Program(name, MIMALLOC_BENCH, what, command, quick=False, missing=missing, **more)

    yield Redis(folder)
    built = row("lua", "a build of lua by make", ["sh", "-c", f"make clean >/dev/null && make -j {jobs}"],
                [os.path.join(lua, "makefile")], cwd=lua)
    if built.missing and os.path.isfile(os.path.join(lua, "Makefile")):
        built.missing = None
    yield built
    yield row("lean", "lean makes its library", ["sh", "-c", "find . -name '*.olean' -delete; "
                                                 f"../bin/lean --make -j {jobs}"],
              [os.path.join(lean, "bin", "lean")], cwd=os.path.join(lean, "library"))
    yield row("z3", "z3 solves test1.smt2", ["z3", "-smt2", problem], ["z3", problem])
    yield row("gs", "Ghostscript reads a large PDF", ["gs", "-dBATCH", "-dNODISPLAY", pdf], ["gs", pdf])
    yield row("rocksdb", "db_bench fillrandom", [rocks[-1] if rocks else "db_bench", "--benchmarks=fillrandom"],
              [rocks[-1] if rocks else os.path.join(extern, "rocksdb-*", "db_bench")])


def mimalloc_bench(folder, threads):
    """All its programs that we know of; folder None: none of them."""
    if not folder:
        return []
    binaries, programs = os.path.join(folder, "out", "bench"), []
    for name, program, arguments, relative, short in bench_rows(threads):
        path = os.path.join(binaries, program)
        arguments = arguments.format(bench=os.path.join(folder, "bench")).split()
        stdin = os.path.join(folder, INPUTS[program]) if program in INPUTS else None
        missing = None if os.access(path, os.X_OK) else f"no {path}"
        programs.append(Program(name, MIMALLOC_BENCH, " ".join([program, *arguments])[:60], [path, *arguments],
                                stdin=stdin, relative=relative, quick=short, missing=missing))
    return programs + list(outside(folder))
