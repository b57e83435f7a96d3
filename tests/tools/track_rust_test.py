#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# ctest: timeout=600
"""uslab track of a program in Rust: functions have the names that their author gave them, and who holds
memory is the program's function, not one of the library that was inlined into it.
"""
import json
import os
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from folder import InFolder  # noqa: E402
from programs import start_program  # noqa: E402

BIN = os.environ["USLAB_BIN"]

PROGRAM = r"""
use std::collections::HashMap;
use std::io::Write;

pub struct Order {
    id: u64,
    lines: Vec<u32>,
}

impl Order {
    #[inline(always)]
    fn new(id: u64) -> Order {
        Order { id, lines: (0..20).collect() } // LINES
    }
}

#[inline(never)]
fn number(n: u64) -> u64 {
    n
}

#[inline(never)]
fn remember(book: &mut HashMap<u64, Box<Order>>, n0: u64) {
LETS
    book.insert(n0, Box::new(Order::new(LAST))); // BOX
}

fn main() {
    let mut book = HashMap::new();

    println!("ready");
    std::io::stdout().flush().unwrap();
    for id in 0.. {
        remember(&mut book, id);
        std::thread::sleep(std::time::Duration::from_micros(200));
    }
    println!("{}", book.values().map(|o| o.id + o.lines.len() as u64).sum::<u64>());
}
"""
# In debug information each is a block, around all that follow.
LETS = 150
PROGRAM = PROGRAM.replace("LETS", "\n".join(f"    let n{i + 1} = number(n{i});" for i in range(LETS)))
PROGRAM = PROGRAM.replace("LAST", f"n{LETS}")


def line_of(mark):
    return next(i for i, line in enumerate(PROGRAM.split("\n"), 1) if line.endswith(f"// {mark}"))


@unittest.skipUnless(shutil.which("rustc"), "no rustc")
class TrackRust(InFolder):
    def start(self, *flags):
        source = os.path.join(self.folder, "shop.rs")
        program = os.path.join(self.folder, "shop")
        with open(source, "w", encoding="utf-8") as stream:
            stream.write(PROGRAM)
        subprocess.run(["rustc", "-O", "--edition=2021", *flags, "-o", program, source], check=True)
        return start_program(self, [BIN, "run", "--", program]).pid

    def track(self, pid, *arguments):
        run = subprocess.run([BIN, "track", "-p", str(pid), "--once", "-c", "malloc-80", "-i", "1",
                              "--full", *arguments],
                             capture_output=True, text=True, check=False, timeout=120)
        self.assertEqual(run.returncode, 0, run.stderr)
        return run.stdout

    def check_with_places(self, functions, *flags):
        pid = self.start("-g", *flags)
        site = json.loads(self.track(pid, "--json"))["sites"][0]
        self.assertIn(site["function"], functions)
        self.assertEqual(site["line"], line_of("LINES"))
        text = self.track(pid)
        self.assertRegex(text, r"shop::Order>?::new \[inlined\] +shop\.rs:%d\n" % line_of("LINES"))
        self.assertRegex(text, r" shop::remember\+0x\w+/0x\w+ \[shop\] +shop\.rs:%d\n" % line_of("BOX"))
        inlined = r"(alloc|core|std)::.* \[inlined\]"
        self.assertNotRegex(text, inlined)
        self.assertRegex(self.track(pid, "--verbose"), inlined)

    def test_names_as_the_compiler_makes_them(self):
        self.check_with_places(("shop::Order::new", "<shop::Order>::new"))

    def test_newer_names(self):
        self.check_with_places(("<shop::Order>::new",), "-C", "symbol-mangling-version=v0")

    def test_without_debug_information(self):
        pid = self.start("-C", "strip=debuginfo")
        site = json.loads(self.track(pid, "--json"))["sites"][0]
        self.assertEqual(site["function"], "shop::remember")
        text = self.track(pid)
        self.assertNotRegex(text, r"17h[0-9a-f]{16}|::h[0-9a-f]{16}|\$u7b\$|_RNv|_ZN")


if __name__ == "__main__":
    unittest.main(verbosity=2, argv=sys.argv)
