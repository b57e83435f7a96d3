# SPDX-License-Identifier: MIT
"""What tests that run programs share: a folder of their own, and an environment without our settings."""
import os
import shutil
import tempfile
import unittest

os.umask(0o022)  # whatever the user has: some programs of the tests run as nobody


def environment(**settings):
    """The caller's without USLAB_*, and these."""
    return {**{k: v for k, v in os.environ.items() if not k.startswith("USLAB_")}, **settings}


class InFolder(unittest.TestCase):
    """Each class of tests has a folder, which is removed in the end, whatever happened."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="uslab-test-")
        cls.addClassCleanup(shutil.rmtree, cls.folder)
