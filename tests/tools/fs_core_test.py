#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# ctest: timeout=300
"""uslab fs --core: the files that the process had; also in the background, with relative paths."""
import errno
import os
import signal
import sys
import tempfile
import unittest
import unittest.mock

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import cores  # noqa: E402
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from fs_test import SHAPES, Case, read, unmount, uslab, write  # noqa: E402


@unittest.skipIf(cores.why_none(), cores.why_none())
class Core(Case):
    def core_of(self, process):
        """Ends it; its core lies where it ran."""
        place = os.readlink(f"/proc/{process.pid}/cwd")
        process.send_signal(signal.SIGABRT)
        process.wait()
        core = cores.find(place)
        self.assertTrue(core, "no core file was written")
        return core

    def mount_core(self, core, *arguments, **options):
        folder = tempfile.mkdtemp(dir=self.folder)
        run = uslab("fs", "--core", core, *arguments, folder, **options)
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        self.addCleanup(unmount, folder)
        return folder

    def start_in(self, place):
        return self.start(cwd=place, preexec_fn=cores.allow)

    def test_files(self):
        process = self.start_in(tempfile.mkdtemp(dir=self.folder))
        top = self.mount(process.pid)
        live = {name: read(top, name) for name in ["proc/slabinfo"] + [
            f"kernel/slab/{cache}/{attribute}" for cache in ("widget", "first", "on-cpus")
            for attribute in SHAPES]}
        folder = self.mount_core(self.core_of(process))
        self.assertEqual({name: read(folder, name) for name in live}, live)
        self.assertIn(write("1", folder, "kernel/slab/widget/shrink"), (errno.EACCES, errno.EROFS))
        self.assertEqual(os.stat(folder + "/kernel/slab/widget/shrink").st_mode, 0o100400)

    def test_relative_paths(self):
        """In the background the working directory is another one, and code has names nevertheless."""
        place = tempfile.mkdtemp(dir=self.folder)
        with unittest.mock.patch.dict(os.environ, USLAB_DEBUG="U"):
            process = self.start_in(place)
        self.mount(process.pid)
        core = os.path.basename(self.core_of(process))
        for arguments in ((), ("--program", os.path.relpath(self.program, place)),
                          ("--sysroot", os.path.relpath("/", place))):
            folder = self.mount_core(core, *arguments, cwd=place)
            self.assertRegex(read(folder, "kernel/debug/slab/widget/alloc_traces"), r"\bmain\+0x\w+/")


if __name__ == "__main__":
    unittest.main()
