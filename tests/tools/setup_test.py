#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""scripts/setup: what it asks apt-get for on systems that differ, and what it says on one that is too old.

The programs that it calls are made up: nothing is installed, or looked at, but for the versions of Debian's dpkg.
"""
import os
import shutil
import subprocess
import sys
import unittest

SOURCE = os.environ["USLAB_SRC"]
sys.path.insert(0, os.path.join(SOURCE, "tests", "support"))
from folder import InOwnFolder, environment  # noqa: E402

# What a minimal system has. apt-cache knows nothing before an update.
PROGRAMS = {
    "dpkg-query": 'for i; do [ "$i" != python3 ] || { printf "$HAS_PYTHON"; exit; }; done; exit 1',
    "apt-cache": 'echo "$2:"; line=$(grep "^$2 " "$LISTS" 2>/dev/null) || exit 0; '
                 'echo "  Candidate: ${line#* }"',
    "apt-get": 'echo "$*" >>"$CALLS"; [ "$1" != update ] || cp "$SYSTEM" "$LISTS"',
    "sudo": 'case $1 in env | apt-get) exec "$@" ;; esac',
    "id": "echo 1000",
}
OF_THE_SYSTEM = ("cat", "cp", "dpkg", "env", "grep", "printf", "sed", "sh", "tr")
BOOKWORM = {"gcc": "4:12.2.0-3", "cmake": "3.25.1-1", "python3": "3.11.2-1+b1", "libpython3.11-testsuite": "3.11.2-6",
            "libmimalloc2.0": "2.0.9"}


@unittest.skipUnless(shutil.which("dpkg"), "no Debian system")
class Setup(InOwnFolder):
    def setup_on(self, candidates, has_python="", **programs):
        for name, text in {**PROGRAMS, **programs}.items():
            if text:
                os.chmod(self.put(f"bin/{name}", f"#!/bin/sh\n{text}\n"), 0o755)
        for name in OF_THE_SYSTEM:
            os.symlink(shutil.which(name), os.path.join(self.folder, "bin", name))
        self.put("system", "".join(f"{name} {version}\n" for name, version in candidates.items()))
        settings = environment(PATH=os.path.join(self.folder, "bin"), HAS_PYTHON=has_python,
                               **{name.upper(): os.path.join(self.folder, name)
                                  for name in ("calls", "lists", "system")})
        done = subprocess.run(["sh", os.path.join(SOURCE, "scripts", "setup")], env=settings,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=60)
        try:
            with open(os.path.join(self.folder, "calls"), encoding="utf-8") as stream:
                done.calls = stream.read().splitlines()
        except FileNotFoundError:
            done.calls = []
        return done

    def asked_for(self, *arguments, **settings):
        done = self.setup_on(*arguments, **settings)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(done.calls[0], "update")
        return done.calls[1].split()

    def test_names(self):
        names = self.asked_for(BOOKWORM)
        self.assertIn("libmimalloc2.0", names)
        self.assertIn("libpython3.11-testsuite", names)

    def test_no_choice_reaches_apt(self):
        """Not even where the system has none of several."""
        names = self.asked_for({name: BOOKWORM[name] for name in ("gcc", "cmake", "python3")})
        self.assertEqual([name for name in names if "|" in name or "*" in name], [])
        self.assertIn("libmimalloc2.0", names)
        self.assertIn("libpython3.11-testsuite", names)

    def test_version_of_python(self):
        """That of its tests is the same, although the system has others."""
        sid = {**BOOKWORM, "python3": "3.14.8-1", "libpython3.14-testsuite": "3.14.8-1",
               "libpython3.13-testsuite": "3.13.9-1"}
        names = self.asked_for(sid)
        self.assertEqual([name for name in names if name.startswith("libpython")], ["libpython3.14-testsuite"])

    def test_installed_python(self):
        """It stays what it is: what is newer is not installed for it."""
        names = self.asked_for({**BOOKWORM, "libpython3.13-testsuite": "3.13.9-1", "python3": "3.13.9-1"},
                               has_python="3.11.2-1+b1")
        self.assertIn("libpython3.11-testsuite", names)

    def test_too_old(self):
        for name, version in (("cmake", "3.22.1-1ubuntu1.22.04.2"), ("gcc", "4:10.2.1-1")):
            with self.subTest(name=name):
                shutil.rmtree(self.folder)
                done = self.setup_on({**BOOKWORM, name: version})
                self.assertEqual((done.returncode, done.calls), (1, ["update"]))
                self.assertRegex(done.stderr, rf"^setup: {name} is {version.split(':')[-1]} here; uslab needs "
                                 r"[\d.]+ or newer: Debian 12, Ubuntu 24\.04 or newer\n$")

    def test_too_old_and_installed(self):
        """Nothing is asked of anybody; a newer one in the path is what builds."""
        done = self.setup_on(BOOKWORM, cmake='echo "cmake version 3.22.1"')
        self.assertEqual((done.returncode, done.calls), (1, []))
        self.assertIn("cmake is 3.22.1 here", done.stderr)
        shutil.rmtree(self.folder)
        self.asked_for({**BOOKWORM, "cmake": "3.22.1"}, cmake='echo "cmake version 3.30.0"')

    def test_neither_root_nor_sudo(self):
        """A command that works as it stands."""
        done = self.setup_on(BOOKWORM, sudo=None)
        self.assertEqual((done.returncode, done.calls), (1, []))
        self.assertIn("; as root: apt-get install gcc g++ ", done.stderr)
        self.assertNotIn("|", done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
