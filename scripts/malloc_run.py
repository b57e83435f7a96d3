# SPDX-License-Identifier: MIT
"""Runs one program with one allocator, and what that took.

The command is started by uslab-bench-start, a small program, which writes times, peak and faults:
the peak of a process includes that of whoever forked it, and Python is large.
"""
import os
import re
import signal
import subprocess
import tempfile

NOT_OURS = ("LD_PRELOAD", "BENCH_PRELOAD")


class Failed(Exception):
    """A run that is no measurement, as one line."""


class Interrupts:
    """SIGINT and SIGTERM wait while a process is started: before its number is known nobody could end it."""

    def __enter__(self):
        self.came = []
        self.before = {number: signal.signal(number, lambda number, _: self.came.append(number))
                       for number in (signal.SIGINT, signal.SIGTERM)}

    def __exit__(self, *_):
        for number, handler in self.before.items():
            signal.signal(number, handler)
        for number in self.came:
            signal.raise_signal(number)


class Job:
    """A program that was started and is being measured. beside: a library to preload behind each malloc."""

    def __init__(self, lab, command, contestant, env=None, cwd=None, stdin=None, beside=None):
        full = {k: v for k, v in os.environ.items() if k not in NOT_OURS}
        full.update({**(env or {}), **contestant.environment})
        libraries = [path for path in (contestant.path or lab.plain, beside) if path]
        if libraries:
            full["BENCH_PRELOAD"] = ":".join(libraries)
        self.lab, self.command = lab, command
        self.output = tempfile.TemporaryFile(dir=lab.path)
        self.errors = tempfile.TemporaryFile(dir=lab.path)
        self.figures = lab.file("figures")
        if os.path.exists(self.figures):
            os.unlink(self.figures)
        with open(stdin or os.devnull, "rb") as source, Interrupts():
            self.process = subprocess.Popen([lab.start, self.figures, *command], env=full, cwd=cwd or lab.path,
                                            stdin=source, stdout=self.output, stderr=self.errors,
                                            start_new_session=True)
            lab.jobs.append(self)

    def end(self):
        """Ends the program and all that it started."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        if self in self.lab.jobs:
            self.lab.jobs.remove(self)

    def wait(self):
        """-> ({figure: value}, what it wrote)"""
        try:
            status = self.process.wait(self.lab.timeout)
        except subprocess.TimeoutExpired:
            self.end()
            raise Failed(f"not done after {self.lab.timeout} s") from None
        except BaseException:
            self.end()
            raise
        self.end()
        texts = []
        for stream in (self.output, self.errors):
            stream.seek(0)
            texts.append(stream.read().decode(errors="replace"))
            stream.close()
        if status:
            last = (texts[1].strip() or texts[0].strip()).splitlines()[-1:]
            raise Failed(f"status {status}{': ' + last[0][:200] if last else ''}")
        if re.search(r"^uslab: ", texts[1], re.M):
            raise Failed(texts[1].strip().splitlines()[0][:200])
        with open(self.figures, encoding="ascii") as stream:
            wall, user, system, rss, minor, major = map(int, stream.read().split())
        return {"wall": wall / 1e9, "user": user / 1e6, "sys": system / 1e6, "rss": rss, "faults": minor,
                "major": major}, texts[0]


class Lab:
    """Where programs run. plain: what is preloaded to get glibc's malloc, for the program of the moment."""

    def __init__(self, path, bin_folder, timeout, percent):
        self.path, self.bin, self.timeout, self.percent = path, bin_folder, timeout, percent
        self.start = os.path.join(bin_folder, "uslab-bench-start")
        self.load = os.path.join(bin_folder, "uslab-bench-load")
        self.plain = None
        self.jobs = []  # that may still run

    def end(self):
        """Ends what runs."""
        for job in list(self.jobs):
            job.end()

    def file(self, *names):
        return os.path.join(self.path, *names)

    def run(self, command, contestant, **more):
        return Job(self, command, contestant, **more).wait()


def measured(program, contestant, lab):
    """
    -> {figure: value} of one run: time in seconds, user, sys, cpu, rss in KiB, faults, major.

    A program that runs for a fixed time says itself how long a fixed amount of work takes: that is
    its time, and its CPU time is that of the same work.
    """
    program.before(lab)
    lab.plain = program.plain
    try:
        figures, output = program.run(lab, contestant)
    finally:
        lab.plain = None
    figures["time"] = figures["wall"]
    share = 1
    if program.relative:
        figures["time"] = program.relative(output)
        if not figures["time"]:
            raise Failed(f"it does not say how long it took: {output.strip()[-200:]!r}")
        share = figures["time"] / figures["wall"]
    figures["cpu"] = (figures["user"] + figures["sys"]) * share
    for name, value in re.findall(r"^metric (ns|end) ([\d.]+)$", output, re.M):
        figures[name] = float(value)
    return figures
