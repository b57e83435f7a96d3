#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Real programs with every block in a debug slab: they say the same, and nothing is reported.

ctest: timeout=900
USLAB_DEBUG=FZPU from the first request of the dynamic loader on, over several engines; live switching by
a second process while a program works. What is said of mistakes is in tests/misuse.
"""
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import preload  # noqa: E402
from folder import environment  # noqa: E402

PYTHON = "/usr/bin/python3"
ENGINES = ["slub", "slab", "slob", "slobseg:pow2"]
BIN = os.environ.get("USLAB_BIN", "")
STEPS = 1500 * preload.SOAK

WORK = """
import hashlib, json, re, threading, zlib
def work(n, out):
    d = {str(i): [i, str(i) * (i % 50)] for i in range(4000)}
    text = json.dumps(d)
    assert json.loads(text) == d
    out[n] = hashlib.sha256(zlib.decompress(zlib.compress(text.encode()))).hexdigest()
out = [None] * 3
threads = [threading.Thread(target=work, args=(n, out)) for n in range(3)]
[t.start() for t in threads]; [t.join() for t in threads]
print(out, len(re.findall("a+", "aab" * 10000)))
"""

SQL = """
create table t(a integer primary key, b text);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 4000)
  insert into t select i, printf('%d-%s', i * 7919 % 4001, hex(i)) from n;
create index x on t(b); update t set b = b || 'x' where a % 3 = 0;
select count(*), min(b), max(b), sum(length(b)) from t;
"""

# Works until it is told to stop, and says whether all was right.
LOOP = """
import os, sys
n = 0
print("ready", flush=True)
while not os.path.exists(sys.argv[1]):
    l = [bytes([i % 251]) * (i % 300) for i in range(3000)]
    assert all(b == bytes([i % 251]) * (i % 300) for i, b in enumerate(l))
    n += 1
print(n)
"""


def same(lab, name, command, env, **more):
    """Equal output with and without; and no word of the allocator, which run_ok sees."""
    expected = lab.run_ok(command, None, env=env, **more)
    start = time.monotonic()
    result = lab.run_ok(command, env={**env, "USLAB_DEBUG": "FZPU"}, **more)
    if "BUG " in result.err or "FIX " in result.err:
        preload.fail(f"{name}: reports:\n{result.err[-3000:]}")
    if result.out != expected.out:
        preload.fail(f"{name}: another output:\n{expected.out[-1000:]}\n{result.out[-1000:]}")
    print(f"{name:30}{time.monotonic() - start:8.2f} s")


def programs(lab):
    every = {"PYTHONMALLOC": "malloc"}
    for engine in ENGINES:
        conf = {"USLAB_CONF": f"engine={engine},front=historical"}
        same(lab, f"python3, {engine}", [PYTHON, "-c", WORK], {**every, **conf})
    same(lab, "sqlite3", ["sqlite3", ":memory:"], {}, stdin=SQL)
    repository = lab.file("repository")
    identity = {"HOME": lab.path, "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b",
                "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b",
                "GIT_AUTHOR_DATE": "2020-01-01T00:00:00",
                "GIT_COMMITTER_DATE": "2020-01-01T00:00:00"}
    for command in (["init", "-q", repository], ["-C", repository, "add", "-A", "."],
                    ["-C", repository, "commit", "-q", "--allow-empty", "-m", "first"]):
        lab.run_ok(["git", *command], env={**identity, "USLAB_DEBUG": "FZPU"})
    same(lab, "git", ["git", "-C", repository, "log", "--stat"], identity)


def torture(lab):
    blocks = lab.build("blocks", ["tests/programs/src/blocks.c"], "-fno-builtin", "-pthread")
    for rseq in ("1", "0"):
        for engine in ENGINES:
            for debug_flags in ("FZPU", "F", "ZP"):
                lab.run_ok([blocks, str(STEPS)],
                           env={"USLAB_CONF": f"engine={engine}", "USLAB_DEBUG": debug_flags,
                                "GLIBC_TUNABLES": f"glibc.pthread.rseq={rseq}"})


def switched(lab):
    """Debug flags come and go from outside while python works; it neither stops nor notices."""
    if not os.path.exists(BIN):
        print("skipped in part: no uslab command in this build")
        return
    done = lab.file("done")
    env = environment(LD_PRELOAD=preload.LIBRARY, PYTHONMALLOC="malloc")
    with subprocess.Popen([PYTHON, "-c", LOOP, done], env=env, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True) as program:
        if program.stdout.readline() != "ready\n":
            preload.fail(f"switched: it does not start: {program.stderr.read()[-3000:]}")
        slowest = 0.0
        for debug_flags in ["FZPU", "-", "F", "+U", "-", "ZP", "FZPU", "-"] * preload.SOAK:
            start = time.monotonic()
            run = subprocess.run([BIN, "debug", "-p", str(program.pid), "--cache", "malloc-*",
                                  debug_flags], capture_output=True, text=True, check=False)
            slowest = max(slowest, time.monotonic() - start)
            if run.returncode:
                program.kill()
                preload.fail(f"uslab debug {debug_flags}: {run.stdout}{run.stderr}")
            time.sleep(0.1)
        with open(done, "w", encoding="ascii"):
            pass
        out, err = program.communicate(timeout=300)
    if program.returncode or int(out) < 1 or err:
        preload.fail(f"switched: status {program.returncode}\n{out}\n{err[-3000:]}")
    print(f"switched: {out.strip()} rounds, slowest command {slowest:.3f} s")


def main():
    preload.need(PYTHON, "sqlite3", "git")
    lab = preload.Lab()
    torture(lab)
    programs(lab)
    switched(lab)


if __name__ == "__main__":
    main()
