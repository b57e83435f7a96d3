# SPDX-License-Identifier: MIT
"""What a result was measured on: the commit, and the machine as `uslab bench` describes it."""
import json
import os
import subprocess

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def commit():
    """The commit that is measured, marked if the tree differs from it; None outside of git."""
    git = ["git", "-c", "safe.directory=*", "-C", ROOT]
    head = subprocess.run([*git, "rev-parse", "--short=12", "HEAD"], capture_output=True,
                          text=True, check=False)
    if head.returncode:
        return None
    dirty = subprocess.run([*git, "status", "--porcelain"], capture_output=True, text=True,
                           check=False).stdout.strip()
    return f"commit {head.stdout.strip()}{' with changes' if dirty else ''}"


def described(uslab):
    """version, date and machine, from the JSON of a short run of that command."""
    short = subprocess.run([uslab, "bench", "pair", "--quick", "--only", "own-cache", "--no-counts", "--json"],
                           capture_output=True, text=True, check=True)
    result = json.loads(short.stdout)
    return {key: result[key] for key in ("version", "date", "machine")}
