# SPDX-License-Identifier: MIT
"""Runs uslab info on made-up trees: each class of tests makes its own out of a table."""
import os
import subprocess

import slabtree
from folder import InFolder

BIN = os.environ["USLAB_BIN"]


def uslab(*arguments, **options):
    return subprocess.run([BIN, "info", *map(str, arguments)], capture_output=True, text=True,
                          check=False, timeout=60, **options)


class Case(InFolder):
    """Each class has a tree, which its tests do not change."""

    table = None
    changes = {}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        os.chmod(cls.folder, 0o755)
        cls.tree = cls.folder + "/slab"
        slabtree.make(cls.tree, cls.table or slabtree.rows(), cls.changes)

    def info(self, *arguments):
        """Standard output of a call that succeeds and says nothing else."""
        run = uslab("--root", self.tree, *arguments)
        self.assertEqual((run.stderr, run.returncode), ("", 0))
        return run.stdout

    def names(self, *arguments):
        return [line.split()[0] for line in self.info(*arguments).splitlines()[1:]]

    def refused(self, text, *arguments):
        run = uslab(*arguments)
        self.assertEqual((run.returncode, run.stdout), (1, ""), run.stderr)
        self.assertIn(text, run.stderr)
