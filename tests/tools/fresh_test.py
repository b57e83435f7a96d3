#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""scripts/fresh: the roots that it makes and takes, and the logs of its commands.

The programs that it calls are made up: nothing is fetched or mounted, and commands run in no other root.
"""
import os
import subprocess
import sys
import unittest

SOURCE = os.environ["USLAB_SRC"]
sys.path.insert(0, os.path.join(SOURCE, "tests", "support"))
from folder import InOwnFolder, environment  # noqa: E402

PROGRAMS = {
    "id": "echo 0",
    "unshare": 'while [ "${1#-}" != "$1" ] || [ "$1" = private ]; do shift; done; exec "$@"',
    "mount": "",
    "git": "",
    "apt-config": "",
    "apt-get": """for suite in bookworm bookworm-updates; do
                      echo "http://debian.test/debian $suite Debian main"
                  done
                  echo "http://debian.test/debian-security bookworm-security Debian main"
                  echo "http://else.test stable Else main" """,
    "debootstrap": """root=$4
                      mkdir -p "$root/etc/apt/apt.conf.d" "$root/usr/sbin" "$root/usr/local/share/ca-certificates"
                      [ "$3" = sid ] && name=forky || name=$3
                      echo "VERSION_CODENAME=$name" >"$root/etc/os-release" """,
    # ROOT env -i ... sh -c "cd /root/uslab && COMMAND"
    "chroot": 'for last; do true; done; exec sh -c "${last#*&& }"',
}


class Fresh(InOwnFolder):
    def setUp(self):
        super().setUp()
        for name, text in PROGRAMS.items():
            os.chmod(self.put(f"bin/{name}", f"#!/bin/sh\n{text}\n"), 0o755)
        self.root = os.path.join(self.folder, "root")

    def fresh(self, *arguments):
        path = os.path.join(self.folder, "bin") + ":" + os.environ["PATH"]
        return subprocess.run([os.path.join(SOURCE, "scripts", "fresh"), *arguments], env=environment(PATH=path),
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=60)

    def passes(self, *arguments):
        done = self.fresh(*arguments)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        return done.stdout

    def sources(self):
        with open(os.path.join(self.root, "etc/apt/sources.list"), encoding="utf-8") as stream:
            return stream.read().splitlines()

    def test_suite(self):
        self.passes("--suite", "trixie", self.root, "true")
        self.assertEqual(self.sources(), ["deb http://debian.test/debian trixie main",
                                          "deb http://debian.test/debian trixie-updates main",
                                          "deb http://debian.test/debian-security trixie-security main"])

    def test_sid(self):
        """It has one source, and its root is taken again, whatever it calls itself."""
        self.passes("--suite", "sid", self.root, "true")
        self.assertEqual(self.sources(), ["deb http://debian.test/debian sid main"])
        self.assertNotIn("debootstrap", self.passes("--suite", "sid", self.root, "true"))

    def test_another_suite_is_there(self):
        self.passes(self.root, "true")
        done = self.fresh("--suite", "sid", self.root, "true")
        self.assertEqual(done.returncode, 1)
        self.assertIn("has Debian bookworm: give another folder", done.stderr)

    def test_logs(self):
        """However long the command is."""
        long = "echo " + "word " * 100
        self.assertIn(f"fresh: ok: {long}", self.passes(self.root, long, "echo a"))
        logs = sorted(os.listdir(os.path.join(self.root, "var/log/uslab")))
        self.assertEqual([name[:8] for name in logs], ["echo-a.l", "echo-wor"])
        done = self.fresh(self.root, "echo said; false")
        self.assertEqual(done.returncode, 1)
        self.assertIn("FAILED with status 1: echo said; false", done.stdout)


if __name__ == "__main__":
    unittest.main(verbosity=2)
