# SPDX-License-Identifier: MIT
"""Runs programs with and without libuslab_malloc.so and compares what they say and what they take.

Used by tests/programs/*.py. From the environment (set by ctest, see cmake/tests.cmake):
USLAB_MALLOC_SO (the library), USLAB_CC (compiler), USLAB_SRC (the repository), and
USLAB_SOAK=N: N times as much of everything, for long runs; USLAB_PEAKS=FILE: keeps the peaks, one JSON
object a line (scripts/bench).
"""
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile

SKIP = 77
CAP_SYS_ADMIN = 21
PEAK_LIMIT = 1.1  # of glibc's peak resident memory
CPU_PEAK = 5  # KiB for each possible CPU: a page at start, and its share of tables
SOAK = max(1, int(os.environ.get("USLAB_SOAK", "1")))
SRC = os.environ.get("USLAB_SRC") or os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
LIBRARY = os.path.abspath(os.environ.get("USLAB_MALLOC_SO") or os.path.join(
    SRC, "build/release/lib/libuslab_malloc.so"))
CC = os.environ.get("USLAB_CC") or "cc"


def skip(why):
    print(f"skipped: {why}")
    sys.exit(SKIP)


def need(*programs):
    for program in programs:
        if not shutil.which(program):
            skip(f"{program} is not installed")


def calls_may_be_forbidden():
    """
    Does the library do without some calls, as a filter of system calls may forbid them? Not under
    those of a container (docs/system-calls.md).
    """
    with open("/proc/self/status", encoding="ascii", errors="replace") as stream:
        status = dict(line.split(":", 1) for line in stream if ":" in line)
    if status.get("Seccomp", "1").strip() == "0":
        return False
    capabilities = int(status.get("CapBnd", "-1"), 16)
    return (status.get("NoNewPrivs", "1").strip() != "0" or capabilities >> CAP_SYS_ADMIN & 1 != 0 or
            "Seccomp_filters" not in status)


def fail(why):
    print(f"FAILED: {why}")
    sys.exit(1)


class Result:
    def __init__(self, status, out, err, peak, cpu):
        self.status, self.out, self.err = status, out, err
        self.peak, self.cpu = peak, cpu  # KiB of the largest process; milliseconds


class Lab:
    """A temporary folder with what the tests need in it."""

    def __init__(self):
        if not os.path.exists(LIBRARY):
            fail(f"there is no {LIBRARY}; build it, or set USLAB_MALLOC_SO")
        self._folder = tempfile.TemporaryDirectory(prefix="uslab-test-")
        self.path = self._folder.name
        self.peak_tool = self.build("peak", ["tests/programs/src/peak.c"])

    def file(self, name):
        return os.path.join(self.path, name)

    def build(self, name, sources, *options, compiler=None):
        """Compiles sources of the repository; the result's path. compiler: a name, or with options."""
        target = self.file(name)
        paths = [os.path.join(SRC, s) for s in sources]
        compiler = compiler or CC
        compiler = [compiler] if isinstance(compiler, str) else compiler
        run = subprocess.run([*compiler, "-O2", "-g", "-D_GNU_SOURCE=", *paths, "-o", target,
                              *options], capture_output=True, text=True, check=False)
        if run.returncode:
            fail(f"{name} does not compile:\n{run.stderr}")
        return target

    def command(self, command, preload):
        """The command line and environment that run it through the measuring parent."""
        env = {k: v for k, v in os.environ.items() if k not in ("LD_PRELOAD", "PEAK_PRELOAD")}
        if preload:
            env["PEAK_PRELOAD"] = preload
        return [self.peak_tool, self.file("peak.txt"), *command], env

    def run(self, command, preload=None, cwd=None, stdin=None, timeout=600, env=None):
        line, full = self.command(command, preload)
        full.update(env or {})
        try:
            # A shell has its jobs in the background ignore SIGINT, and they hand that on.
            run = subprocess.run(line, cwd=cwd, input=stdin, env=full, capture_output=True,
                                 text=True, errors="replace", timeout=timeout, check=False,
                                 preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
        except subprocess.TimeoutExpired:
            fail(f"{' '.join(command)[:100]}: not done after {timeout} s"
                 f"{' with uslab' if preload else ''}")
        peak, cpu = 0, 0
        if os.path.exists(self.file("peak.txt")):
            with open(self.file("peak.txt"), encoding="ascii") as stream:
                peak, cpu = map(int, stream.read().split())
            os.unlink(self.file("peak.txt"))
        return Result(run.returncode, run.stdout, run.stderr, peak, cpu)

    def run_ok(self, command, preload=LIBRARY, **more):
        """Under uslab by default; must end with status 0 and no word of the allocator."""
        result = self.run(command, preload, **more)
        if result.status or "uslab:" in result.err:
            print(result.out[-2000:], result.err[-4000:], sep="\n")
            fail(f"{' '.join(command)[:100]}: status {result.status}")
        return result


FOR_CPUS = CPU_PEAK * max(0, os.sysconf("SC_NPROCESSORS_CONF") - 2)


def peak_ratio(glibc, uslab):
    return (uslab - FOR_CPUS) / max(glibc, 1)


class Peaks:
    """Peak memory of programs on glibc and on uslab; a table, and whether it is good enough."""

    def __init__(self):
        self.rows = []

    def add(self, name, glibc, uslab, limit=PEAK_LIMIT):
        """Each a list of Results of the same runs; the smallest counts, noise only adds."""
        self.rows.append((name, limit, min(r.peak for r in glibc), min(r.peak for r in uslab),
                          min(r.cpu for r in glibc), min(r.cpu for r in uslab)))

    def keep(self):
        if os.environ.get("USLAB_PEAKS"):
            with open(os.environ["USLAB_PEAKS"], "a", encoding="utf-8") as stream:
                for name, _, glibc, uslab, cpu, uslab_cpu in self.rows:
                    stream.write(json.dumps({"name": name, "glibc_kib": glibc, "uslab_kib": uslab,
                                             "glibc_ms": cpu, "uslab_ms": uslab_cpu}) + "\n")

    def finish(self):
        """Prints the table and ends the test."""
        bad = 0
        print(f"{'program':20}{'glibc KiB':>12}{'uslab KiB':>12}{'ratio':>8}"
              f"{'glibc ms':>12}{'uslab ms':>12}{'ratio':>8}")
        self.keep()
        for name, limit, glibc, uslab, cpu, uslab_cpu in self.rows:
            ratio = peak_ratio(glibc, uslab)
            bad += ratio > limit
            print(f"{name:20}{glibc:12}{uslab:12}{ratio:8.3f}{cpu:12}{uslab_cpu:12}"
                  f"{uslab_cpu / max(cpu, 1):8.3f}{'   TOO MUCH' if ratio > limit else ''}")
        if FOR_CPUS:
            print(f"without {FOR_CPUS} KiB for possible CPUs beyond two")
        if bad:
            fail(f"peak memory above {PEAK_LIMIT} times glibc's (or what the test allows)")
        sys.exit(0)


def compare(lab, peaks, name, command, outcome=lambda result: result.out, rounds=2, before=None,
            limit=PEAK_LIMIT, anonymous=False, most=0, **more):
    """
    Runs a command on glibc and on uslab, `rounds` times each in turn; all outcomes must be equal.
    most: up to so many rounds, as long as the peaks are above the limit. Noise only adds.
    before(): makes the state that a run starts from. anonymous: the peak is without pages of files, see peak.c.
    """
    runs = {None: [], LIBRARY: []}
    if anonymous:
        more["env"] = {**more.get("env", {}), "PEAK_ANONYMOUS": "1"}
    expected = None
    measured = os.environ.get("USLAB_PEAKS")
    for i in range(max(rounds, most) * SOAK):
        if i >= rounds * SOAK and not measured and peak_ratio(
                *(min(r.peak for r in results) for results in runs.values())) <= limit:
            break
        for preload, results in runs.items():
            if before:
                before()
            result = lab.run_ok(command, preload, **more)
            got = outcome(result)
            if expected is None:
                expected = got
            if got != expected:
                print(f"expected:\n{str(expected)[-1500:]}\ngot:\n{str(got)[-1500:]}")
                fail(f"{name}: another outcome {'with uslab' if preload else 'with glibc'}")
            results.append(result)
    peaks.add(name, runs[None], runs[LIBRARY], limit)
