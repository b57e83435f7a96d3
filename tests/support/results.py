# SPDX-License-Identifier: MIT
"""Made-up raw results of benchmarks, and a tree that has them, for tests of what scripts make of results."""
import json
import os
import subprocess
import sys

from folder import InOwnFolder

RUN = "0123456789ab-maker-fast"


def result(benchmark, contestants, date="2030-01-02T03:04:05Z", **more):
    """contestants: {name: (role, {metric: median})}; the most is half more."""
    return {"benchmark": benchmark, "version": "9.8.7", "date": date, "note": "commit 0123456789ab",
            "machine": {"cpu": "Maker(R) Fast CPU @ 2 GHz", "cpus": 4, "kernel": "Linux 6.1.2-local",
                        "libc": "glibc 2.36", "compiler": "GCC 12", "load": 0.1},
            "contestants": [{"name": name, "role": role, "metrics": {
                metric: {"median": value, "max": value and 1.5 * value} for metric, value in metrics.items()}}
                for name, (role, metrics) in contestants.items()], **more}


class ResultsTree(InOwnFolder):
    """A folder with results and a page that a script writes them to."""

    SCRIPT = PAGE = TEXT = None  # its path; of the page the name in the tree, and the text at first

    def setUp(self):
        super().setUp()
        self.put(self.PAGE, self.TEXT)

    def add(self, *results, run=RUN):
        for one in results:
            self.put(f"bench/results/{run}/{one['benchmark']}.json", json.dumps(one))

    def run_script(self, *arguments):
        return subprocess.run([sys.executable, self.SCRIPT, "--root", self.folder, *arguments],
                              capture_output=True, text=True, check=False)

    def page(self):
        with open(os.path.join(self.folder, self.PAGE), encoding="utf-8") as stream:
            return stream.read()
