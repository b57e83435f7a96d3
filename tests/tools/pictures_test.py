#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# ctest: timeout=900
"""scripts/pictures: what the README shows, made anew from a real run, has what it must have.

The texts that the README shows have the form of those of the new run: the same lines and columns with
other numbers. Its pictures have the parts that the new ones have. Skipped where tmux, redis-server or
Chromium are missing.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

sys.dont_write_bytecode = True
SOURCE = os.environ.get("USLAB_SRC") or os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
BUILD = os.environ.get("USLAB_BUILD", os.path.join(SOURCE, "build", "release"))
SCRIPT = os.path.join(SOURCE, "scripts", "pictures")
KEPT = os.path.join(SOURCE, "docs", "pictures")
PICTURES = ("top.svg", "compare.png", "compare-dark.png")
SKIP = 77
MOST = 200 * 1024
sys.path[:0] = [os.path.join(SOURCE, "scripts"), os.path.join(SOURCE, "tests", "support")]
from browser import colors_of  # noqa: E402
from terminal_svg import draw  # noqa: E402

SVG = "{http://www.w3.org/2000/svg}"
# Two engines' curves, in the light and the dark colours of the page.
CURVES = {"compare.png": ("d04a00", "008a62"), "compare-dark.png": ("ff7a38", "2bc596")}
AMOUNT = r"\d+(?:\.\d)?[KMG]?"
CACHE = re.compile(rf"(\S+) +\d+ +(\d+) +{AMOUNT} +\d+/\d+/\d+ +\d+ +\d+ +\d+ +\d+(?: \S+)?$")


def lines_of(picture):
    """[(y, [(x, width, text)])] of an SVG, from the top."""
    found = {}
    for text in picture.iter(f"{SVG}text"):
        if text.get("textLength"):
            found.setdefault(float(text.get("y")), []).append(
                (float(text.get("x")), float(text.get("textLength")), text.text))
    return sorted(found.items())


def form(report):
    """A report without what differs between machines: numbers of any kind, and the C library's frames."""
    kept = [line for line in report.splitlines()
            if not re.search(r"^ (?:libc\.so|__libc_start|_start|libuslab)", line)]
    plain = [re.sub(r"\b[0-9a-f]{8,}\b|0x[0-9a-f]+|(?<=[=+/])\d+", "N", line) for line in kept]
    return [line for line in plain if not line.startswith("Redzone")]


class Draw(unittest.TestCase):
    def test_colours_and_places(self):
        screen = "a <b>\x1b[1m  bold\x1b[0;32m green\x1b[38;5;196;7m red \x1b[0m\n\x1b[2mdim\n"
        picture = xml.etree.ElementTree.fromstring(draw(screen, "a & b", 40))
        texts = {text.text: text for text in picture.iter(f"{SVG}text")}
        self.assertEqual(set(texts), {"a & b", "a <b>", "bold", "green", "red", "dim"})
        at = {text: float(texts[text].get("x")) for text in ("a <b>", "bold", "green", "red")}
        cell = float(texts["a <b>"].get("textLength")) / 5
        for text, column in ("bold", 7), ("green", 12), ("red", 18):
            self.assertAlmostEqual(at[text] - at["a <b>"], column * cell)
        self.assertEqual(texts["bold"].get("font-weight"), "bold")
        self.assertIsNone(texts["green"].get("font-weight"), "0 ends bold")
        self.assertEqual(texts["green"].get("fill"), "#6fd08c")
        ground, paper = [rect.get("fill") for rect in picture.iter(f"{SVG}rect")]
        self.assertEqual((paper, texts["red"].get("fill")), ("#ff0000", ground), "reversed")
        self.assertNotIn(texts["dim"].get("fill"), (None, ground))
        self.assertLess(float(texts["red"].get("y")), float(texts["dim"].get("y")))


class Real(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        missing = [name for name in ("tmux", "redis-server", "redis-benchmark", "chromium")
                   if not shutil.which(name)]
        if missing:
            print(f"skipped: {', '.join(missing)} not installed")
            sys.exit(SKIP)
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = folder.name
        run = subprocess.run([SCRIPT, "--build", BUILD, "--output", cls.folder], capture_output=True,
                             text=True, check=False, stdin=subprocess.DEVNULL)
        if run.returncode:
            raise AssertionError(run.stdout + run.stderr)
        with open(os.path.join(SOURCE, "README.md"), encoding="utf-8") as stream:
            cls.readme = stream.read()

    def both(self, name):
        """The picture of the README, and the new one."""
        return [os.path.join(folder, name) for folder in (KEPT, self.folder)]

    def text(self, name):
        """What the README shows, and what the run had."""
        (shown,) = re.findall(rf"<!-- shown: {name}, by scripts/pictures -->\n```text\n(.*?)^```$",
                              self.readme, re.S | re.M)
        with open(os.path.join(self.folder, f"{name}.txt"), encoding="utf-8") as stream:
            return shown, stream.read()

    def test_readme_has_them(self):
        self.assertEqual(set(re.findall(r'(?:src|srcset)="docs/pictures/([^"]+)"', self.readme)), set(PICTURES))
        for name in PICTURES:
            for path in self.both(name):
                self.assertLess(os.path.getsize(path), MOST, path)

    def test_top(self):
        for path in self.both("top.svg"):
            picture = xml.etree.ElementTree.parse(path).getroot()
            lines = lines_of(picture)
            words = [[text for _, _, text in sorted(line)] for _, line in lines]
            self.assertRegex(words[0][0], r"^redis-server \(\d+\) - \d+ caches by space")
            self.assertEqual(words[2], ["Name", "Objects", "Held", "Space", "Growth"])
            rows = [row for row in words if row[0].startswith("malloc-")]
            self.assertGreaterEqual(len(rows), 10)
            for row in rows:
                self.assertRegex(" ".join(row), rf"^malloc-\w+ \d+(?: {AMOUNT}){{2}} (?:0|-|[+-]{AMOUNT}/s)$")
            self.assertTrue(any(row[-1].startswith("+") for row in rows), "none grows")
            width, height = float(picture.get("width")), float(picture.get("height"))
            for y, line in lines:
                self.assertLess(y, height)
                self.assertLessEqual(max(x + length for x, length, _ in line), width)
            ground = next(picture.iter(f"{SVG}rect"))
            self.assertEqual((float(ground.get("width")), float(ground.get("height"))), (width, height))

    def test_compare(self):
        for name, curves in CURVES.items():
            for path in self.both(name):
                width, height, colors = colors_of(path)
                self.assertGreater(width, 600)
                self.assertTrue(width / 2 < height < width * 2, (width, height))
                self.assertGreater(len(colors), 100, "blank")
                for color in curves:  # a curve's width times the picture's, at least
                    self.assertGreater(colors.get(bytes.fromhex(color), 0), width / 2, (path, color))
                ground = max(colors, key=colors.get)
                self.assertEqual(max(ground) < 64, "dark" in name, f"the ground is {ground.hex()}")

    def test_info(self):
        shown, fresh = [text.splitlines() for text in self.text("info")]
        self.assertEqual((len(shown), len(fresh)), (8, 8))
        self.assertEqual(shown[0].split(), fresh[0].split())
        self.assertEqual(shown[0].index("Objects"), fresh[0].index("Objects"))
        for row in shown[1:] + fresh[1:]:
            match = CACHE.match(row)
            self.assertTrue(match, row)
            size = re.match(r"malloc-(\d+)$", match.group(1))
            self.assertIn(match.group(2), size.groups() if size else row)

    def test_report(self):
        shown, fresh = [form(text) for text in self.text("report")]
        self.assertEqual(shown, fresh)
        self.assertIn("BUG malloc-16 (Not tainted): Poison overwritten", shown)
        self.assertIn(" session_close+N/N", shown)


class Wrong(unittest.TestCase):
    def test_errors(self):
        for arguments, word in ((["--build", "/nothere"], "build first"),
                                (["--build", BUILD, "--trace", "/nothere.txt"], "nothere.txt")):
            with tempfile.TemporaryDirectory() as folder:
                run = subprocess.run([SCRIPT, "--output", folder, *arguments], capture_output=True, text=True,
                                     check=False)
            self.assertEqual((run.returncode, run.stdout), (1, ""))
            self.assertRegex(run.stderr, rf"^pictures: .*{word}.*\n$")


if __name__ == "__main__":
    unittest.main()
