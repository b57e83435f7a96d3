# SPDX-License-Identifier: MIT
"""When a tool is at the point where it waits, whatever else the machine does."""
import re
import time


def await_sleeps(process, count):
    """Until a tool has slept some times more, as it does while it waits. False: it has ended."""
    def sleeps():
        with open(f"/proc/{process.pid}/status", encoding="ascii") as stream:
            return int(re.search(r"\nvoluntary_ctxt_switches:\s+(\d+)", stream.read()).group(1))
    first, end = sleeps(), time.monotonic() + 300
    while sleeps() < first + count and time.monotonic() < end:
        if process.poll() is not None:
            return False
        time.sleep(0.02)
    return process.poll() is None
