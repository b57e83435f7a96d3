# SPDX-License-Identifier: MIT
"""Control groups that tests make, where they may."""
import os


class Cgroup:
    """A group of version 2 or 1 with so much memory and no swap; self.problem says why there is none."""

    def __init__(self, limit):
        self.path, self.problem = None, "there is no memory controller of cgroups"
        for parent, version in self.parents():
            path = os.path.join(parent, f"uslab-test-{os.getpid()}")
            try:
                os.mkdir(path)
            except OSError as error:
                self.problem = f"no cgroup can be made: {error}"
                continue
            try:
                names = {2: ("memory.max", "memory.swap.max"),
                         1: ("memory.limit_in_bytes", "memory.memsw.limit_in_bytes")}[version]
                self.write(path, names[0], limit)
                if os.path.exists(os.path.join(path, names[1])):
                    self.write(path, names[1], 0 if version == 2 else limit)
                self.path, self.problem = path, None
                return
            except OSError as error:
                self.problem = f"no limit can be set: {error}"
                os.rmdir(path)

    @staticmethod
    def parents():
        with open("/proc/self/mountinfo", encoding="utf-8") as stream:
            for line in stream:
                left, right = line.split(" - ")
                point, (kind, _, options) = left.split()[4], right.split()
                if kind == "cgroup" and "memory" in options.split(","):
                    yield point, 1
                elif kind == "cgroup2":
                    yield point, 2

    @staticmethod
    def write(path, name, value):
        with open(os.path.join(path, name), "w", encoding="ascii") as stream:
            stream.write(f"{value}\n")

    def enter(self):
        self.write(self.path, "cgroup.procs", os.getpid())

    def most(self):
        for name in ("memory.peak", "memory.max_usage_in_bytes"):
            try:
                with open(os.path.join(self.path, name), encoding="ascii") as stream:
                    return int(stream.read())
            except OSError:
                pass
        return 0

    def remove(self):
        if self.path:
            os.rmdir(self.path)
