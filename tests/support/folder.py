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


class InOwnFolder(unittest.TestCase):
    """Each test has a folder."""

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="uslab-test-")
        self.addCleanup(shutil.rmtree, self.folder)

    def put(self, name, content):
        """A file in it, of bytes or text. Returns its path."""
        path = os.path.join(self.folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as stream:
            stream.write(content.encode("utf-8") if isinstance(content, str) else content)
        return path
