# SPDX-License-Identifier: MIT
"""A redis-server under load, measured from its start to its end, for scripts/bench-malloc.

What it is asked is timed here: a server waits for its clients. Its protocol and its data are those of
tests/programs/redis_test.py.
"""
import os
import subprocess
import time

import malloc_applications  # noqa: F401  (first: it knows where the tests are)
from malloc_run import Failed, Job

import redis_test  # pylint: disable=wrong-import-order


def asked(lab, job, path, benchmark):
    """Seconds that its data and the benchmark took, and what that printed."""
    server = redis_test.Link(path, job.process)
    start = time.monotonic()
    redis_test.fill(server)
    run = subprocess.run([benchmark[0], "-s", path, *benchmark[1:]], capture_output=True, text=True,
                         timeout=lab.timeout, check=False)
    seconds = time.monotonic() - start
    if run.returncode or "rror" in run.stdout + run.stderr:
        raise Failed(f"redis-benchmark: {(run.stdout + run.stderr).strip()[-200:]}")
    server.shut_down()
    return seconds, run.stdout


def run(lab, contestant, program, benchmark):
    """({figure: value}, what the benchmark printed), as Job.wait()."""
    path = lab.file("redis.sock")
    if os.path.exists(path):
        os.unlink(path)
    job = Job(lab, [program, *redis_test.arguments(path, lab.path)], contestant,
              beside=os.path.join(lab.bin, "..", "lib", "libuslab_bench_mallocx.so"))
    try:
        seconds, output = asked(lab, job, path, benchmark)
    except (OSError, SystemExit, subprocess.TimeoutExpired) as error:
        raise Failed(f"redis-server: {error}") from None
    except KeyboardInterrupt:
        job.end()
        raise
    finally:
        if job.process.poll() is None:
            try:
                job.process.wait(10)
            except subprocess.TimeoutExpired:
                job.end()
    figures, _ = job.wait()
    figures["wall"] = seconds
    return figures, output
