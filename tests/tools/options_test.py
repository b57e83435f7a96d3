#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The options of USLAB_CONF: the command, the manual page and the README say the same of each.

What each takes is compared with the library in unit/cache/config/options_test. Here the drop-in refuses a wrong
value of every key, and a wrong flag, and says what it would take.
"""
import os
import re
import shutil
import subprocess
import unittest

BIN = os.environ["USLAB_BIN"]
TOP = os.environ["USLAB_SRC"]
BAD = "/no such folder/no such value"


def read(path):
    with open(os.path.join(TOP, path), encoding="utf-8") as stream:
        return stream.read()


def uslab(*arguments, **environment):
    env = {k: v for k, v in os.environ.items() if k not in ("USLAB_CONF", "USLAB_DEBUG")}
    return subprocess.run([BIN, *arguments], capture_output=True, text=True, check=False,
                          env={**env, **environment}, timeout=300)


def of_command():
    """{key: (default, help, what it takes)}, and {flag: start of its help}, of `uslab run --help-options`."""
    text = uslab("run", "--help-options").stdout
    options = {}
    for keys, default, more in re.findall(r"^  (\S.*) \[(.*)\]\n((?:      .*\n)+)", text, re.M):
        meaning, takes = re.fullmatch(r"(.*) takes (.*); since [\d.]+", " ".join(more.split())).groups()
        options.update((key, (default, meaning, takes)) for key in keys.split(", "))
    return options, dict(re.findall(r"^  ([A-Z])\n      (.*)", text, re.M))


def plain(text):
    """Text of a document without its marks."""
    return re.sub(r"\*(uslab[-\w]*)\*\(", r"\1(", text).replace("\\", "").replace("`", "")


def of_readme():
    text = read("README.md").split("<!-- scripts/option_table.py: options -->")[1].split("<!--")[0]
    found = {}
    for item in re.findall(r"^- ((?:.+\n)(?:  .+\n)*)", text, re.M):
        keys, default, meaning, takes = re.fullmatch(
            r"(`.*?`) \(default: (.*?)\): (.*)\. Takes (.*)\.", " ".join(item.split())).groups()
        found.update((key, (plain(default), plain(meaning), plain(takes))) for key in plain(keys).split(", "))
    return found


def of_page():
    text = read("docs/man/uslab.1.scd").split("# KEYS OF USLAB_CONF")[1].split("\n# ")[0]
    found = {}
    for keys, default, meaning, takes in re.findall(
            r"^(\*.*\*) \(default: (.*)\)\n\t(.*)\. Takes (.*)\. Since [\d.]+\.$", text, re.M):
        value = (plain(default), plain(meaning)[0].lower() + plain(meaning)[1:], plain(takes))
        found.update((plain(key).strip("*"), value) for key in keys.split(", "))
    return found


COMMANDS = ("run", "ps", "info", "debug", "defrag", "track", "top", "fs", "replay", "compare", "bench")


def rows_of_help(command):
    """{long option: (letter, value, help)} of `uslab COMMAND --help`."""
    found, name = {}, None
    for line in uslab(command, "--help").stdout.splitlines():
        row = re.match(r"  (?:-(\w), |    )--([\w-]+)(?:(\[?=\S+))?(?:  +(.*))?$", line)
        if row:
            letter, name, value, text = row.groups()
            found[name] = (letter, value, text)
        elif name and re.match(r" {12,}\S", line):
            letter, value, text = found[name]
            found[name] = (letter, value, f"{text} {line.strip()}")
        else:
            name = None
    return found


def rows_of_page(command):
    """{long option: letter} of the page's headings; a letter is that of all long ones behind it."""
    text = read(f"docs/man/uslab-{command}.1.scd").split("\n# OPTIONS")[1].split("\n# ")[0]
    found = {}
    for heading in re.findall(r"^\*-.*$", text, re.M):
        last = None
        for letter, name in re.findall(r"(?:\*-(\w)\*(?:\[_OPTIONS_\])?, )?\*--([\w-]+)\*", heading):
            last = found[name] = letter or last
    return found


class Commands(unittest.TestCase):
    maxDiff = None

    def test_pages(self):
        for command in COMMANDS:
            with self.subTest(command=command):
                rows = {name: letter for name, (letter, _, _) in rows_of_help(command).items()}
                self.assertGreaterEqual(len(rows), 5)
                self.assertEqual(rows_of_page(command), rows)

    def test_alike(self):
        """What several commands call the same they explain the same."""
        shared = {"pid", "core", "program", "library", "kernel", "root", "force", "wait", "touch", "events", "engine",
                  "no-progress", "help", "version"}
        texts = {}
        for command in COMMANDS:
            for name, row in rows_of_help(command).items():
                texts.setdefault(name, set()).add(row)
        self.assertEqual({name: rows for name, rows in texts.items() if name in shared and len(rows) > 1}, {})
        self.assertLessEqual(shared, texts.keys())

    def test_width(self):
        for command in COMMANDS:
            for name, (_, _, text) in rows_of_help(command).items():
                self.assertTrue(text, (command, name))
            wide = [line for line in uslab(command, "--help").stdout.splitlines()
                    if re.match(r"  +(-\w, )?--", line) and len(line) > 80]
            self.assertEqual(wide, [])


class Options(unittest.TestCase):
    maxDiff = None

    def test_command(self):
        run = uslab("run", "--help-options")
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        self.assertLessEqual(max(map(len, run.stdout.splitlines())), 88)
        options, flags = of_command()
        self.assertGreaterEqual(len(options), 40)
        self.assertEqual("".join(flags), "FZPUTAO")
        self.assertEqual(options["report.burst"][0], "10")
        self.assertEqual(options["slub_nomerge"], options["slab_nomerge"])

    def test_since(self):
        """A version that was, or is to be: of the changelog."""
        text = uslab("run", "--help-options").stdout
        since = set(re.findall(r"since\s+([\d.]+)$", text, re.M))
        known = {version.rpartition(".")[0] for version in re.findall(r"^## \[([\d.]+)\]", read("CHANGELOG.md"), re.M)}
        self.assertTrue(since)
        self.assertLessEqual(since, known)

    def test_documents(self):
        options, _ = of_command()
        lower = {key: (default, meaning[0].lower() + meaning[1:], takes)
                 for key, (default, meaning, takes) in options.items()}
        self.assertEqual(of_readme(), options)
        self.assertEqual(of_page(), lower)

    @unittest.skipUnless(shutil.which("scdoc") and shutil.which("man"), "no scdoc, or no man")
    def test_page(self):
        """Nothing of a key is lost where the page is shown."""
        page = subprocess.run(["scdoc"], input=read("docs/man/uslab.1.scd"), capture_output=True, text=True,
                              check=True).stdout
        shown = subprocess.run(["man", "-l", "-"], input=page, capture_output=True, text=True, check=True,
                               env={**os.environ, "MANWIDTH": "100", "LC_ALL": "C", "MAN_KEEP_FORMATTING": ""},
                               ).stdout
        shown = re.sub(r".\x08", "", shown)
        for key, (default, _, _) in of_command()[0].items():
            self.assertRegex(shown, rf"(?m)^ .*\b{re.escape(key)}.* \(default: {re.escape(default)}\)$")

    def test_refused(self):
        options, _ = of_command()
        for key, (_, _, takes) in options.items():
            pair = f"{key.replace('PATTERN', 'x')}={BAD}"
            run = uslab("run", "--", "true", USLAB_CONF=pair)
            said = f'uslab: USLAB_CONF: ignored "{pair}": {key} takes {takes}'
            self.assertEqual(run.returncode, 0)
            self.assertTrue(any(line.startswith(said) for line in run.stderr.splitlines()), (said, run.stderr))

    def test_unknown(self):
        options, _ = of_command()
        run = uslab("run", "--", "true", USLAB_CONF="nothing=1")
        self.assertIn('ignored "nothing=1": there is no such option, but engine, ', run.stderr)
        for key in options:
            if not key.startswith("slub_") or key == "slub_max_order":
                self.assertRegex(run.stderr, rf" {re.escape(key)}[,\n]")
        run = uslab("run", "--", "true", USLAB_CONF="limti=64M")
        self.assertIn('ignored "limti=64M": there is no such option; did you mean limit?\n', run.stderr)
        run = uslab("run", "--", "true", USLAB_CONF="topology=4x2,mempolicy=interleave:0-3")
        self.assertIn('ignored "mempolicy=interleave:0-3": this machine has memory on nodes 0-1 only\n', run.stderr)
        run = uslab("run", "--", "true", USLAB_DEBUG="Q")
        self.assertIn("option 'Q' unknown", run.stderr)
        self.assertIn(f"uslab: USLAB_DEBUG takes {' '.join(of_command()[1])}, ", run.stderr)

    def test_empty_debug(self):
        # what an empty USLAB_DEBUG means surprises: it stands where the variable is explained
        for path in ("README.md", "docs/debugging.md", "docs/production.md", "docs/man/uslab.1.scd",
                     "docs/man/uslab_set_debug.3.scd"):
            self.assertRegex(" ".join(plain(read(path)).split()), r"(?i)set but empty[,:]?( it)?( means| has)? (FZPU|F, Z, P and U)", path)
        self.assertIn("empty for F, Z, P and U", uslab("run", "--help-options").stdout)


if __name__ == "__main__":
    unittest.main(verbosity=2)
