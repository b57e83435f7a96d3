#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""git gc on a clone of a history made here: the same objects, and every one of them readable."""
import os
import random
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import preload  # noqa: E402

COMMITS = 1500
FILES = 150
GIT = ["git", "-c", "pack.threads=1", "-c", "gc.auto=0", "-c", "safe.directory=*"]


def history():
    """A fast-import stream: text files that grow and change a few lines at a time."""
    rng = random.Random(7)
    files = [[f"line {rng.random()} of file {n}\n" for _ in range(rng.randrange(20, 400))]
             for n in range(FILES)]
    out = []
    for commit in range(COMMITS):
        out.append("commit refs/heads/main\n"
                   f"committer A U Thor <author@example.com> {1600000000 + commit * 60} +0000\n"
                   f"data {len(str(commit)) + 7}\ncommit {commit}\n")
        for _ in range(3):
            n = rng.randrange(FILES)
            for _ in range(5):
                files[n][rng.randrange(len(files[n]))] = f"changed {rng.random()} in {commit}\n"
            text = "".join(files[n])
            out.append(f"M 100644 inline dir{n % 12}/file{n}.txt\ndata {len(text)}\n{text}\n")
    return "".join(out)


def main():
    preload.need("git")
    lab, peaks = preload.Lab(), preload.Peaks()
    os.environ.update(GIT_CONFIG_GLOBAL="/dev/null", GIT_CONFIG_SYSTEM="/dev/null",
                      HOME=lab.path, LC_ALL="C")
    source, clone = lab.file("source.git"), lab.file("clone.git")
    lab.run_ok([*GIT, "init", "-q", "--bare", "-b", "main", source], None)
    lab.run_ok([*GIT, "-C", source, "fast-import", "--quiet"], None, stdin=history())
    # What a clone gets is packed there, by as many threads as there are CPUs: each time another pack.
    lab.run_ok([*GIT, "-C", source, "config", "pack.threads", "1"], None)

    def before():
        shutil.rmtree(clone, ignore_errors=True)
        lab.run_ok([*GIT, "clone", "-q", "--bare", "--no-local", source, clone], None)

    def outcome(_):
        """Asked without uslab: what is in the repository now, and is it whole?"""
        lab.run_ok([*GIT, "-C", clone, "fsck", "--strict", "--full"], None)
        objects = lab.run_ok([*GIT, "-C", clone, "cat-file", "--batch-all-objects",
                              "--batch-check"], None).out
        packs = [f for f in os.listdir(os.path.join(clone, "objects/pack")) if f.endswith(".pack")]
        return objects, packs  # a pack is named after what is in it

    preload.compare(lab, peaks, "git gc", [*GIT, "-C", clone, "gc", "--quiet"], outcome,
                    before=before, most=4)
    # Hundreds of short-lived objects of 4 to 13 KiB in all sizes, the worst there is for size classes: 1.11 to
    # 1.15, and 1.16 beside other work.
    # Once, as a rule: the peak of one thread that always does the same varies by a thousandth or two, but
    # more where the machine is busy, since what is free goes back after a time.
    preload.compare(lab, peaks, "git gc --aggressive",
                    [*GIT, "-C", clone, "gc", "--quiet", "--aggressive"], outcome, before=before,
                    limit=1.2, rounds=1, most=3)
    peaks.finish()


if __name__ == "__main__":
    main()
