#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# ctest: timeout=300 sanitize=no
"""What docs/production.md says of whole systems and containers: /etc/ld.so.preload, other namespaces."""
import os
import shutil
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from folder import InFolder, environment  # noqa: E402

BIN = os.environ["USLAB_BIN"]
LIB = os.environ["USLAB_LIB"]
NAME = "libuslab_malloc.so"
IN_NAMESPACE = ("unshare", "--mount", "--pid", "--fork", "--mount-proc")
WAIT = 60  # seconds

# A layer over /etc, in this namespace only.
OVER_ETC = """set -e
mount -t tmpfs none "$1"
mkdir "$1/upper" "$1/work"
mount -t overlay overlay -o "lowerdir=/etc,upperdir=$1/upper,workdir=$1/work" /etc
echo "$2" >/etc/ld.so.preload
chmod 644 /etc/ld.so.preload
"""
COUNT = f"grep -c {NAME} /proc/self/maps"


def run(*command):
    return subprocess.run(command, env=environment(), stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          check=False, timeout=WAIT)


def may_unshare():
    return os.geteuid() == 0 and shutil.which("unshare") and run(*IN_NAMESPACE, "true").returncode == 0


@unittest.skipUnless(may_unshare(), "no namespaces here")
class DeployedTest(InFolder):
    def setUp(self):
        os.chmod(self.folder, 0o755)
        self.preloaded = shutil.copy(os.path.realpath(os.path.join(LIB, NAME)), os.path.join(self.folder, NAME))

    def in_system(self, script):
        layer = os.path.join(self.folder, "layer")
        os.makedirs(layer, exist_ok=True)
        done = run(*IN_NAMESPACE, "sh", "-c", OVER_ETC + script, "sh", layer, self.preloaded)
        if "mount" in done.stderr:
            self.skipTest(done.stderr)
        return done

    def test_every_program(self):
        """All that the dynamic linker starts, of whatever user; nothing else is said."""
        done = self.in_system(f"{COUNT}; su nobody -s /bin/sh -c '{COUNT}'; env -i /bin/{COUNT}")
        self.assertEqual(done.stderr, "")
        counts = done.stdout.split()
        self.assertEqual(len(counts), 3, done.stdout)
        self.assertNotIn("0", counts)

    def test_wrong_path(self):
        """Programs start all the same, and say so."""
        self.preloaded += ".gone"
        done = self.in_system("echo started")
        self.assertIn("started", done.stdout)
        self.assertIn("cannot be preloaded", done.stderr)

    def test_container(self):
        """Seen from the host, whatever process numbers and files the program sees."""
        script = f"mount -t tmpfs none {self.folder}; LD_PRELOAD={LIB}/{NAME} exec sleep {WAIT}"
        program = subprocess.Popen([*IN_NAMESPACE, "sh", "-c", script], env=environment(),
                                   stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(program.wait)
        child = self.child_of(program.pid, "sleep")
        self.addCleanup(os.kill, int(child), signal.SIGKILL)
        done = self.info_of(child)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("malloc-", done.stdout)

    def info_of(self, pid):
        """It has its name before it has the library, and that before its first malloc."""
        end = time.monotonic() + WAIT
        while True:
            done = run(BIN, "info", "-p", pid)
            if not done.returncode or time.monotonic() > end:
                return done
            time.sleep(0.1)

    def child_of(self, pid, name):
        end = time.monotonic() + WAIT
        while time.monotonic() < end:
            children = run("pgrep", "-P", str(pid), "-x", name).stdout.split()
            if children:
                return children[0]
            time.sleep(0.1)
        raise AssertionError(f"no {name}")


if __name__ == "__main__":
    unittest.main(verbosity=2)
