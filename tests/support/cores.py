# SPDX-License-Identifier: MIT
"""Core files of programs that tests run: whether the system writes any, and where."""
import glob
import os
import resource


def pattern():
    with open("/proc/sys/kernel/core_pattern", encoding="ascii") as stream:
        return stream.read().strip()


def why_none():
    """Why no core lies where its program ran; None: one does."""
    if resource.getrlimit(resource.RLIMIT_CORE)[1] == 0:
        return "core files are forbidden here (ulimit -Hc)"
    if pattern().startswith("|") or "/" in pattern():
        return f"core files go elsewhere (kernel.core_pattern: {pattern()})"
    return None


def allow():
    """For preexec_fn: as large as may be."""
    hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
    resource.setrlimit(resource.RLIMIT_CORE, (hard, hard))


def find(folder):
    """The newest one; None: there is none."""
    found = glob.glob(f"{folder}/*core*") + glob.glob(f"{folder}/{pattern()}*")
    return max(found, key=os.path.getmtime, default=None)
