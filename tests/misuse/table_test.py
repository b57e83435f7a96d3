#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The table of docs/debugging.md is what scripts/misuse-table finds, and nothing that glibc notices is missed.

The table is that of preset release on a machine with restartable sequences; elsewhere only the latter is looked at.

ctest: timeout=600
"""
import os
import subprocess
import sys

build = os.environ["USLAB_BUILD"]
script = os.path.join(os.environ["USLAB_SRC"], "scripts", "misuse-table")
# arrays of CPUs, which hide what a lock would see, need rseq
has_rseq = os.path.basename(build) == "release" and "rseq" not in os.environ.get("GLIBC_TUNABLES", "")
mode = "--check" if has_rseq else "--missed"
sys.exit(subprocess.run([sys.executable, script, mode, "--build", build], check=False).returncode)
