#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# ctest: sanitize=no
"""A set-user-ID program passes over the library's environment, which its caller made."""
import os
import stat
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from folder import InFolder, environment  # noqa: E402

CC = os.environ.get("USLAB_CC", "cc")
LIB = os.environ["USLAB_LIB"]
SRC = os.environ["USLAB_SRC"]
NOBODY = 65534
ENVIRONMENT = {"USLAB_CONF": "nonsense=1", "USLAB_DEBUG": "~", "USLAB_FAILSLAB": "nonsense"}
PLAIN, SECURE = 3, 4

PROGRAM = f"""
#include <sys/auxv.h>
#include <uslab/slab.h>

int main(void)
{{
	kfree(kmalloc(8, GFP_KERNEL));
	return getauxval(AT_SECURE) ? {SECURE} : {PLAIN};
}}
"""


class SecureTest(InFolder):
    def run_with(self, program, name):
        done = subprocess.run([program], env=environment(**{name: ENVIRONMENT[name]}), stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, check=False, timeout=60)
        return done.returncode, done.stderr

    @unittest.skipIf(os.geteuid() != 0, "only root can make a program of somebody else's")
    def test_set_user_id(self):
        program = os.path.join(self.folder, "other")
        subprocess.run([CC, "-o", program, "-x", "c", "-", "-x", "none", f"-I{SRC}/include", f"{LIB}/libuslab.a",
                        "-pthread"], input=PROGRAM, text=True, check=True)
        os.chmod(self.folder, 0o755)
        for name in ENVIRONMENT:
            status, said = self.run_with(program, name)
            self.assertEqual(status, PLAIN)
            self.assertIn(name, said)
        os.chown(program, NOBODY, NOBODY)
        os.chmod(program, 0o755 | stat.S_ISUID)
        for name in ENVIRONMENT:
            status, said = self.run_with(program, name)
            if status == PLAIN:
                self.skipTest("the file system has no set-user-ID programs")
            self.assertEqual((status, said), (SECURE, ""))


if __name__ == "__main__":
    unittest.main(verbosity=2)
