#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""uslab replay: what each tracer prints beside the events, and the order of lines.

Periods, differences of times, lost events, several instances.
"""
import json
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from replay_test import BINARY, data, replay, run, text_of  # noqa: E402

ALLOC = b"call_site=f ptr=0x1000 bytes_req=8 bytes_alloc=8 gfp_flags=GFP_KERNEL\n"
FREE = b"call_site=f ptr=0x1000\n"


class Tracers(unittest.TestCase):
    def counts(self, text, *keys):
        got = replay("-", stdin=text)["trace"]
        return [got[key] for key in keys]

    # ---- tracefs ----

    def test_overwritten_events_of_tracefs(self):
        text = (b"# tracer: nop\n#\n# entries-in-buffer/entries-written: 113678/167591   #P:2\n"
                b"              ls-1       [000] .....     1.000001: kmalloc: " + ALLOC)
        self.assertEqual(self.counts(text, "kmalloc", "gaps", "lost"), [1, 1, 53913])

    # ---- trace-cmd ----

    def test_differences_of_times(self):
        text = (b"              ls-1     [000]  1.000001:          kmalloc: " + ALLOC +
                b"              ls-1     [000]  1.000005: (+4)     kfree: " + FREE)
        self.assertEqual(self.counts(text, "kmalloc", "kfree", "ignored"), [1, 1, 0])

    def test_no_blank_before_the_time(self):
        text = (b"              ls-1     [000]222397463955043: kmalloc: " + ALLOC +
                b"              ls-1     [000]222397463955044: kfree: " + FREE)
        self.assertEqual(self.counts(text, "kmalloc", "kfree", "bad_lines"), [1, 1, 0])

    def test_instances(self):
        """The same events in two instances count twice, which is said once."""
        text = (b"i1:               ls-1     [000]  1.000001: kmalloc: " + ALLOC +
                b"i2:               ls-1     [000]  1.000001: kmalloc: " + ALLOC) * 2
        done = run("-", stdin=text)
        self.assertEqual((done.returncode, done.stderr.decode()), (
            0, "uslab replay: standard input: events of several instances or files ('i1', 'i2'): "
            "what more than one has counts more than once; grep can choose one\n"))
        done = run("-", stdin=b"".join(text.splitlines(True)[::2]))
        self.assertEqual((done.returncode, done.stderr), (0, b""))

    # ---- order ----

    def test_order_of_time(self):
        """Lines from last to first: the time of all of them is that of the first."""
        text = text_of(data("gcc.txt.zst"))
        self.assertEqual(replay("-", stdin=text)["trace"]["early"], 0)
        lines = [line for line in text.splitlines(True) if not line.startswith(b"#")]
        done = run("--json", "-", stdin=b"".join(reversed(lines)))
        got = json.loads(done.stdout)["trace"]
        self.assertGreater(got["early"], got["events"] // 2)
        self.assertEqual(done.stderr.decode(),
                         f"uslab replay: standard input: {got['early']} of {got['events']} memory "
                         "events are earlier than one before them: are the lines in the order of "
                         "time?\n")

    # ---- perf ----

    def test_periods_and_lost_events_of_perf(self):
        text = (b"cc1  77 [000]  1.000001:          1 kmem:kmalloc: " + ALLOC +
                b"cc1  77 [000]  1.000002: PERF_RECORD_LOST lost 34\n"
                b"cc1  77 [000]  1.000003:          1 kmem:kfree: " + FREE)
        self.assertEqual(self.counts(text, "kmalloc", "kfree", "ignored", "gaps", "lost"),
                         [1, 1, 0, 1, 34])


if __name__ == "__main__":
    if not os.access(BINARY, os.X_OK):
        print(f"replay_tracer_test: no {BINARY}; set USLAB_BIN", file=sys.stderr)
        sys.exit(1)
    unittest.main()
