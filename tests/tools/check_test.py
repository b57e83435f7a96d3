#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""scripts/check.py finds what it says it finds.

A small tree that keeps every rule is made in a temporary folder; each test plants one violation
in it and expects the rule's name and the place. A test that finds the clean tree unclean fails too.
"""
import contextlib
import io
import json
import os
import re
import subprocess
import sys
import unittest
import unittest.mock

sys.dont_write_bytecode = True
SOURCE = os.environ.get("USLAB_SRC") or os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
CHECK = os.path.join(SOURCE, "scripts", "check.py")
sys.path[:0] = [os.path.join(SOURCE, "scripts"), os.path.join(SOURCE, "tests", "support")]
import check as command  # noqa: E402
from folder import InOwnFolder  # noqa: E402

CC = os.environ.get("USLAB_CC", "cc")

HEAD = """/* SPDX-License-Identifier: MIT */
/*
 * {} - one line
 *
 * Data:       none.
 * Invariants: none.
 * Locks:      none.
 * Flow:       none.
 */
"""

PAGE = """kmem_cache_size(3)

# NAME

kmem_cache_size - bytes

# SYNOPSIS

```
int kmem_cache_size(void);
```

# DESCRIPTION

# RETURN VALUE

# ERRORS

# ATTRIBUTES

*Threads*
	Safe.

*Signal handlers*
	Safe.

*fork*
	Safe.

# COST

# SOURCE

# EXAMPLE

@examples/size.c@

# SEE ALSO

*kmem_cache_size*(3), *malloc*(3)
"""

PROGRAM = "int kmem_cache_size(void);\n\nint main(void)\n{\n\treturn kmem_cache_size();\n}\n"


def c_file(path, body=""):
    return HEAD.format(path.split("/", 1)[1]) + body


# Apart, so that these are no references of this file.
ADR, MAN = "docs/" "adr/", "{}" "({})".format

DECISION = """# 0001: one
two

- Status: accepted
- Date: 2026-11-20, changed 2026-11-22

## Context

Why.

## Decision

What.

## Rejected

Else.
""".replace("one\ntwo", "one two")

DECISIONS = """# Decisions

- [0001](0001-one-two.md): **one
  two**. What `it` is. In
  `src/page/`, `src/os/memory/vm.c`.

`docs/adr/NNNN` is the form. In `nowhere/`.
"""


class CheckedTree(InOwnFolder):
    """A tree that keeps every rule, to plant something in."""

    def setUp(self):
        super().setUp()
        with open(os.path.join(SOURCE, ".clang-format"), encoding="utf-8") as layout:
            self.put(".clang-format", layout.read())
        self.c("src/base/bits.h", "int bits_one(void);\n")
        self.c("src/base/bits.c", '#include "base/bits.h"\n\nint bits_one(void)\n{\n\treturn 1;\n}\n')
        self.c("src/page/buddy.h", '#include "base/bits.h"\n')
        self.c("include/uslab/slab.h", "#define USLAB_API\n\nUSLAB_API int kmem_cache_size(void);\n")
        self.put("docs/man/kmem_cache_size.3.scd", PAGE)
        self.put("examples/size.c", c_file("tests/examples/size.c", PROGRAM))
        for name in ("base/bits", "os/memory/vm"):
            self.put(f"tests/unit/{name}_test.c",
                     f"/* SPDX-License-Identifier: MIT */\n/*\n * {name}_test.c - a test\n */\n")
        self.put("README.md", "Read `src/base/bits.c` and [this](docs/a.md), `src/<floor>/x.c`.\n")
        self.put("docs/a.md", "See `base/bits.{c,h}`, `tests/unit/*/*_test.c` and [up](../README.md).\n")
        self.put("scripts/symbols.txt", "# names\nkmem_cache_size\n")
        self.put(f"{ADR}0001-one-two.md", DECISION)
        self.put(f"{ADR}README.md", DECISIONS)
        self.c("src/page/page.h", f"/* {ADR}0001: why */\n")
        self.c("src/os/memory/vm.c", f"/* {ADR}0001-one-two.md, and AD" "R 0001 */\n#include <unistd.h>\n\n"
               "int os_close(int fd);\n\nint os_close(int fd)\n{\n\treturn close(fd);\n}\n")
        self.put("docs/man/uslab.1.scd", "uslab(1)\n\n# NAME\n\nuslab - the command\n")
        self.put("scripts/symbols-malloc.txt", "# names\nmalloc\n")

    def c(self, path, body):
        self.put(path, c_file(path, body))

    def check(self, *arguments):
        """In this process: to start the command takes longer than most rules do."""
        output, argv = io.StringIO(), [CHECK, "--root", self.folder, *arguments]
        with (contextlib.redirect_stdout(output), contextlib.redirect_stderr(output),
              unittest.mock.patch.object(sys, "argv", argv)):
            try:
                status = command.main()
            except SystemExit as end:
                status = end.code
        return status, output.getvalue()

    def expect(self, *wanted):
        # the rules that are named, which is quicker than all; test_clean_tree has all
        rules = sorted({rule for text in wanted for rule in re.findall(r":\d+: ([a-z]+):", text)})
        status, output = self.check(*(["--only", ",".join(rules)] if rules else []))
        self.assertEqual(status, 1, output)
        for text in wanted:
            self.assertIn(text, output)

    def compile(self, source, output, *flags):
        full = os.path.join(self.folder, "build/release", output)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        subprocess.run([CC, "-fPIC", "-I", os.path.join(self.folder, "src"), *flags,
                        os.path.join(self.folder, source), "-o", full], check=True)


class CheckTest(CheckedTree):
    # ---- the clean tree, and the command line -------------------------------------------------

    def test_clean_tree(self):
        run = subprocess.run([sys.executable, CHECK, "--root", self.folder], capture_output=True,
                             text=True, check=False)
        status, output = run.returncode, run.stdout + run.stderr
        self.assertEqual(status, 0, output)
        self.assertEqual(self.check(), (status, output))
        self.assertIn("links: SKIPPED", output)
        self.assertIn("callers: SKIPPED", output)
        self.assertIn("exports: SKIPPED", output)

    def test_unknown_rule_is_wrong_usage(self):
        self.assertEqual(self.check("--only", "nonsense")[0], 2)

    def test_only_runs_one_rule(self):
        self.c("src/page/buddy.h", "/* TO" "DO */\n#include <sys/mman.h>\n")
        output = self.check("--only", "todo")[1]
        self.assertIn("src/page/buddy.h:10: todo:", output)
        self.assertNotIn(" os:", output)

    # ---- one violation each -------------------------------------------------------------------

    def test_include_upwards(self):
        self.c("src/base/bits.h", '#include "page/buddy.h"\n')
        self.expect("src/base/bits.h:10: includes: base includes page/buddy.h, which is above")

    def test_atomic_load_read_twice(self):
        self.c("src/page/buddy.h", "int a = MIN(b, /* ) */\n\t(long)load_relaxed(&c->d));\nint e = MAX(b, f(c));\n"
                                   "int g = load_relaxed(&h) + MAX(1, 2);\n")
        output = self.check("--only", "twice")[1]
        self.assertIn("src/page/buddy.h:10: twice: MIN", output)
        self.assertIn(", 1 violations", output)

    def test_include_sibling(self):
        self.c("src/engine/slab/slab.h", "")
        self.c("src/engine/slub/slub.h", '#include "engine/slab/slab.h"\n')
        self.expect("src/engine/slub/slub.h:10: includes: ", "a sibling")

    def test_include_from_tools(self):
        self.put("tools/uslab/x.c", c_file("tools/uslab/x.c", '#include "base/bits.h"\n'))
        self.expect("tools/uslab/x.c:10: includes: base/bits.h is inside the library")

    def test_unknown_floor(self):
        self.c("src/attic/x.h", "")
        self.expect("src/attic/x.h:1: includes: src/attic is no floor")

    def test_link_upwards_and_cycle(self):
        self.c("src/page/buddy.c", "int bits_one(void);\nint page_up(void);\n\nint page_up(void)\n{\n"
               "\treturn bits_one();\n}\n")
        self.c("src/base/bits.c", "int bits_one(void);\nint page_up(void);\n\nint bits_one(void)\n{\n"
               "\treturn page_up();\n}\n")
        for path in ("src/page/buddy.c", "src/base/bits.c"):
            self.compile(path, f"CMakeFiles/uslab_core.dir/{path}.o", "-c")
        self.expect("src/base/bits.c:1: links: base calls page_up() up in src/page/buddy.c",
                    "links: link cycle: base page")

    def test_words_of_the_glossary(self):
        self.put("docs/GLOSSARY.md", "# Words\n\n| word | what it means | not |\n| --- | --- | --- |\n"
                 '| cached | free, and a CPU has it | "in hand", "put aside" |\n')
        self.assertEqual(self.check()[0], 0, self.check()[1])
        self.c("src/page/buddy.h", "/* What it keeps In Hand. */\nint x;\n")
        self.put("docs/b.md", "It is put aside, beforehand in handfuls.\n")
        self.expect("src/page/buddy.h:10: words: 'In Hand': the word is 'cached' (docs/GLOSSARY.md)",
                    "docs/b.md:1: words: 'put aside'", ", 2 violations")

    def test_asm_outside_arch(self):
        self.c("src/page/buddy.h", 'static inline void f(void)\n{\n\t__asm__("nop");\n}\n')
        self.c("src/arch/x86_64/x.h", 'static inline void g(void)\n{\n\t__asm__("nop");\n}\n')
        self.expect("src/page/buddy.h:12: asm: __asm__ belongs in an arch folder")
        self.assertNotIn("src/arch", self.check()[1])

    def test_cpu_macro_outside_arch(self):
        self.c("include/uslab/slab.h", "#ifdef __x86_64__\n#endif\n")
        self.expect("include/uslab/slab.h:10: asm: __x86_64__")

    def test_asm_in_a_comment_or_string_is_none(self):
        self.c("src/page/buddy.h", '/* __asm__ and mmap() */\n#define TEXT "asm malloc(3)"\n')
        self.assertEqual(self.check()[0], 0, self.check()[1])

    def test_os_call_and_header(self):
        self.c("src/page/buddy.h", "#include <sys/mman.h>\n\nstatic inline int f(void)\n{\n"
               "\treturn munmap(0, 1);\n}\n")
        self.expect("src/page/buddy.h:10: os: sys/mman.h", "src/page/buddy.h:14: os: munmap")

    def test_os_call_of_a_table_is_none(self):
        self.c("src/page/buddy.h", "#define CALL(ops) ((ops)->open(1) + (ops).read(2))\n")
        self.assertEqual(self.check()[0], 0, self.check()[1])

    def test_libc_heap(self):
        self.c("src/os/memory/vm.c", "#include <stdlib.h>\n\nvoid *f(void);\n\nvoid *f(void)\n{\n"
               "\treturn malloc(1);\n}\n")
        self.expect("src/os/memory/vm.c:16: os: malloc() of libc")

    def test_header_missing(self):
        self.put("src/page/buddy.h", "/* SPDX-License-Identifier: MIT */\nint x;\n")
        self.expect("src/page/buddy.h:2: header: no header comment")

    def test_header_heading_and_name(self):
        self.put("src/page/buddy.h", c_file("src/page/other.h").replace("Locks:", "Latches:"))
        self.expect("src/page/buddy.h:3: header: the header comment has no 'Locks:'",
                    "something else than 'page/buddy.h - '")

    def test_spdx(self):
        self.put("scripts/tool", "#!/bin/sh\necho\n")
        self.put("src/page/buddy.h", c_file("src/page/buddy.h").replace("MIT", "GPL-2.0"))
        self.expect("scripts/tool:1: spdx:", "src/page/buddy.h:1: spdx:")

    def test_file_size(self):
        self.c("src/page/buddy.h", "\n".join(f"int x{i};" for i in range(700)) + "\n")
        self.expect("src/page/buddy.h:700: size: 709 lines")

    def test_function_size(self):
        self.c("src/page/buddy.h", "static inline int f(int x)\n{\n" + "\tx++;\n" * 80
               + "\treturn x;\n}\n")
        self.put("scripts/x.py", "# SPDX-License-Identifier: MIT\ndef g():\n" + "    pass\n" * 80)
        self.expect("src/page/buddy.h:11: size: f() has 83 lines", "scripts/x.py:2: size: g() has 81")

    def test_comment_width(self):
        wide = "x" * 91
        self.c("src/page/buddy.h", f"/* {wide}xxxx */\n\t/* {wide} */\n/* {wide}xxx */\n")
        self.expect("src/page/buddy.h:10: width: 101 columns", "src/page/buddy.h:11: width: 105")
        self.assertNotIn("buddy.h:12", self.check()[1])

    def test_readme_width(self):
        wide = "x" * 96
        self.put("README.md", f"{wide}xxxx\n{wide}xxxxx\n| `key` | {wide} |\n")
        self.expect("README.md:2: width: 101 columns")
        self.assertEqual(self.check()[1].count("columns"), 1)

    def test_document_width(self):
        wide = "x" * 99
        self.put("docs/a.md", f"{wide}x\n{wide}xx\n| {wide} |\n```\n{wide}xxx\n```\n\n    {wide}\n\n- {wide}\n")
        self.expect("docs/a.md:2: width: 101 columns", "docs/a.md:10: width: 101 columns", ", 2 violations")

    def test_charts(self):
        marks = "<!-- charts: begin, by scripts/charts.py -->\n<!-- charts: end -->\n"
        self.put("docs/performance.md", "It.\n\n" + marks)
        self.put("scripts/charts.py", "# SPDX-License-Identifier: MIT\n")
        self.expect("docs/performance.md:1: charts: there are no results to draw")

    def test_figures_of_the_readme(self):
        metric = lambda value: {name: {"median": value} for name in
                                ("pair", "one-way", "1000.fifo", "1000.two", "mixed", "larson",
                                 "python")}
        entry = lambda name, role, value: {"name": name, "role": role, "version": "1-2",
                                           "metrics": metric(value)}
        result = {"note": "commit 0123456789ab", "version": "1", "date": "2030-01-02T03:04:05Z", "settings": {
            "rounds": 9}, "machine": {"cpu": "Fast CPU", "cpus": 2, "load": 0, "kernel": "Linux 6", "libc": "c",
                                      "compiler": "cc"}, "contestants": [
            entry("own-cache", "uslab", 2), entry("kmalloc", "uslab", 3), entry("uslab-malloc", "uslab", 4),
            entry("one", "peer", 5), entry("two", "peer", 6)]}
        for name in ("pair", "handoff", "batch", "malloc"):
            self.put(f"bench/results/0123456789ab-fast/{name}.json", json.dumps(result))
        self.expect("README.md:1: figures: README.md has no '<!-- figures: begin")
        self.put("scripts/figures.py", "# SPDX-License-Identifier: MIT\n")
        marks = "<!-- figures: begin, by scripts/figures.py -->\n<!-- figures: end -->\n"
        self.put("README.md", "It.\n\n" + marks)
        self.expect("README.md:4: figures: is not 'Nanoseconds")
        subprocess.run([sys.executable, os.path.join(SOURCE, "scripts", "figures.py"), "--root", self.folder],
                       check=True, capture_output=True)
        self.assertEqual(self.check()[0], 0, self.check()[1])
        with open(os.path.join(self.folder, "README.md"), encoding="utf-8") as stream:
            text = stream.read()
        line = next(n for n, row in enumerate(text.split("\n"), 1) if row.startswith("| kmalloc"))
        self.put("README.md", text.replace("3.00", "2.99"))
        self.expect(f"README.md:{line}: figures: is not '| kmalloc(64)")
        self.put("README.md", text.replace("Measured", "Well measured"))
        self.expect(": figures: is not 'Measured")
        self.put("README.md", text.replace("<!-- figures: end -->", "better\n<!-- figures: end -->"))
        self.expect(": figures: is not '', as in")
        self.put("README.md", text)
        result["contestants"][0]["metrics"] = metric(1)
        self.put("bench/results/0123456789ab-fast/pair.json", json.dumps(result))
        self.expect("figures: is not '| alloc + free of 64 bytes")
        result["note"] += " with changes"
        self.put("bench/results/0123456789ab-fast/memory.json", json.dumps(result))
        self.expect("bench/results/0123456789ab-fast:1: figures: has results of 0123456789ab-changed-fast")

    def test_if_budget(self):
        self.c("src/page/buddy.h", "#ifdef A\n#endif\n" * 11)
        self.c("src/os/os.h", "#ifdef A\n#endif\n" * 11)
        self.expect("src/page/buddy.h:1: ifs: 11 #if lines")

    def test_source_without_test(self):
        self.c("src/page/run.c", "")
        self.expect("src/page/run.c:1: tests: has no tests/unit/page/run_test.c")

    def test_exemption(self):
        self.c("src/page/run.c", "")
        self.put("tests/EXEMPT", "# why\nsrc/page/run.c: constant table, read by the engine's tests\n")
        self.assertEqual(self.check()[0], 0, self.check()[1])
        self.put("tests/EXEMPT", "src/page/run.c:\nsrc/page/gone.c: moved\nsrc/os/memory/vm.c: lazy\n")
        self.expect("tests/EXEMPT:1: tests: src/page/run.c is exempt without a reason",
                    "tests/EXEMPT:2: tests: src/page/gone.c is no file",
                    "src/os/memory/vm.c:1: tests: is named in tests/EXEMPT, yet")

    def test_test_without_source(self):
        self.put("tests/unit/page/gone_test.c", c_file("tests/unit/page/gone_test.c"))
        self.expect("tests/unit/page/gone_test.c:1: tests: tests nothing")

    def test_document_paths(self):
        self.put("docs/a.md", "See `src/base/gone.c`,\n`base/{bits,gone}.h` and [x](gone.md).\n"
                 "```\ncc -I include src/base/absent.c\n```\n")
        self.expect("docs/a.md:1: docs: names src/base/gone.c",
                    "docs/a.md:2: docs: names base/{bits,gone}.h",
                    "docs/a.md:2: docs: links to gone.md",
                    "docs/a.md:4: docs: names src/base/absent.c")
        self.put("docs/a.md", '<img\nsrc="gone.png">\n')
        self.expect("docs/a.md:2: docs: links to gone.png")

    def test_functions_in_documents(self):
        self.put("CHANGELOG.md", "`gone()`\n")
        self.put("docs/a.md", "`bits_one()`, `struct x f; os_close()`\n")
        self.assertEqual(self.check()[0], 0, self.check()[1])
        self.put("docs/a.md", "`bits_one()`, `x = bits_two()`\nand `os_clos()`, `bits_one` os()\n")
        self.expect("docs/a.md:1: docs: names bits_two(), which is nowhere",
                    "docs/a.md:2: docs: names os_clos(), which is nowhere", ", 2 violations")

    def test_document_headings(self):
        self.put("docs/a.md", "# One, two\n\n[a](#one-two) [b](../README.md#c-d)\n[c](a.md#onetwo)\n")
        self.put("README.md", "## C/D `e`\n\n## C D\n\n[f](#cd-e) [g](docs/a.md#two)\n")
        self.expect("docs/a.md:4: docs: links to a.md#onetwo, which is no heading",
                    "README.md:5: docs: links to docs/a.md#two, which is no heading", ", 2 violations")

    def test_files_in_comments(self):
        self.c("src/page/buddy.h", "/* base/bits.c, vm.c, src/base, ../base/bits.h, b*.h, linux/gone.h,\n"
               " * tests/unit/NAME.c, <sys/gone.h>, src/<floor>/gone.c */\n"
               '#define TEXT "src/base/gone.c /* gone.c" /* bits.h */\n')
        self.put("scripts/x.py", '"""SPDX-License-Identifier: MIT, src/os/memory/vm.c."""\nA = "src/gone.c"\n')
        self.assertEqual(self.check()[0], 0, self.check()[1])
        self.c("src/page/buddy.h", '#define URL "http://x" // see os/gone.h,\n/*\n * as gone.c, src/gone\n'
               " * and base/gone*.c do */\n")
        self.put("docs/man/uslab.1.scd", "# NAME\n\nuslab - the command\n\ntools/gone has more\n")
        self.put("docs/a.md", "See docs/gone.md.\n")
        self.put("scripts/x.py", '"""SPDX-License-Identifier: MIT, see\nsrc/os/memory/vm2.c."""\n')
        self.put("cmake/x.cmake", "set(a #b)  # {}: MIT, {}/gone.cmake\n".format(
            "SPDX-License-Identifier", "cmake"))
        self.expect(*(f"{place}, which does not exist" for place in (
            "src/page/buddy.h:10: files: names os/gone.h", "src/page/buddy.h:12: files: names gone.c",
            "src/page/buddy.h:12: files: names src/gone", "src/page/buddy.h:13: files: names base/gone*.c",
            "docs/man/uslab.1.scd:5: files: names tools/gone", "docs/a.md:1: files: names docs/gone.md",
            "scripts/x.py:2: files: names src/os/memory/vm2.c", "cmake/x.cmake:1: files: names cmake/gone.cmake")),
                    ", 8 violations")

    # ---- decisions ----------------------------------------------------------------------------

    def test_references_to_decisions(self):
        self.c("src/page/buddy.h", f"/* {ADR}0002,\n * {ADR}0001-two.md, AD" "R 17,\n * as AD" "R\n * 0003 */\n")
        self.put("docs/a.md", f"See {ADR}0009.\n")
        self.expect(f"src/page/buddy.h:10: adr: there is no {ADR}0002\n",
                    f"src/page/buddy.h:11: adr: there is no {ADR}0001-two.md\n",
                    "src/page/buddy.h:11: adr: there is no AD" "R 17\n",
                    "src/page/buddy.h:12: adr: there is no AD" "R * 0003\n",
                    f"docs/a.md:1: adr: there is no {ADR}0009\n", ", 5 violations")

    def test_form_of_decisions(self):
        name = f"{ADR}0001-one-two.md"
        for old, new in (("0001:", "0002:"), ("# 0001: ", "# 1. "), ("accepted", "good"), ("20, ch", "20; ch"),
                         ("- Date", "Date"), ("## Context\n\nWhy.\n\n", ""), ("accepted", "superseded")):
            self.put(name, DECISION.replace(old, new))
            self.expect(f"{name}:1: adr: does not begin with '# NNNN: title'")
        for old, new in (("## Decision", "## Choices"), ("## Rejected", "## Measured"), ("## Rejected", "Not:"),
                         ("## Rejected", "## Consequences\n\nYes.\n\n## Rejected")):
            self.put(name, DECISION.replace(old, new))
            self.expect(f"{name}:1: adr: has the sections ")
        self.put(name, DECISION + "word " * 21 + "\n| " + "cell | " * 20 + "\n")
        self.expect(f"{name}:17: adr: 105 columns; at most 100", ", 1 violations")
        for status in ("accepted; superseded in part by AD" "R 0001: why\n  it is", "superseded by AD" "R 0001"):
            self.put(name, DECISION.replace("accepted", status))
            self.assertEqual(self.check()[0], 0, self.check()[1])

    def test_names_of_decisions(self):
        self.put(f"{ADR}0001-three.md", DECISION)
        self.put(f"{ADR}2-four.md", DECISION)
        self.expect("0001-three.md", "is also ", f"{ADR}2-four.md:1: adr: is not called {ADR}NNNN")

    def test_index_of_decisions(self):
        index = f"{ADR}README.md"
        self.put(f"{ADR}0002-three.md", DECISION.replace("0001: one two", "0002: three"))
        self.expect(f"{index}:1: adr: has no line for 0002-three.md",
                    f"{ADR}0002-three.md:1: adr: no file outside docs/ names {ADR}0002", ", 2 violations")
        self.c("src/page/buddy.h", f"/* {ADR}0002 */\n")
        entry = "- [0002](0002-three.md): **three**. What. In `src/page/`.\n"
        self.put(index, DECISIONS + "\n" + entry)
        self.assertEqual(self.check()[0], 0, self.check()[1])
        self.put(index, DECISIONS + "\n" + entry.replace("three**", "four**"))
        self.expect(f"{index}:9: adr: 0002 is called 'three'")
        self.put(index, DECISIONS + "\n" + entry.replace("src/page", "src/os"))
        self.expect(f"{index}:9: adr: no file of src/os/ names {ADR}0002",
                    f"{index}:9: adr: src/page/buddy.h names 0002, and is in none of its folders")
        self.put(index, DECISIONS + "\n" + entry.replace("0002-three.md", "0001-one-two.md"))
        self.expect(f"{index}:1: adr: has no line for 0002-three.md")
        os.remove(os.path.join(self.folder, index))
        self.expect(f"{index}:1: adr: has no line for 0001-one-two.md")

    def test_references_to_the_specification(self):
        self.put("docs/spec/04-slub.md", "# 4. SLUB\n\n## 4.8 Slow path\n\n- **a.** One step. See [4.9].\n\n"
                 "## 4.9 Lists\n\n1. One point, as [4.8] says.\n\n[4.8]: #48-slow-path\n[4.9]: #49-lists\n")
        self.put("docs/spec/14-vectors.md", "# 14. Vectors\n\n## 14.1 The first\n")
        self.put("docs/spec/A-sheaves.md", "# A Sheaves\n\n## A0 Time line\n")
        put = lambda text: self.c("src/page/buddy.h", text.replace("@", "spe" "c"))
        good = "/* @ 4, @ 4.8, 4.9, @ 4.8a and 4.9, point 1, @\n * 4.9 to A0; Vec" "tor 1, Linux 4.99 */\n"
        put(good)
        self.assertEqual(self.check()[0], 0, self.check()[1])
        put(good + "/* (@ 4.8b, 4.10) and @ 9;\n * vec" "tors 1 and 2, pit" "fall 1, @\n * 4.9 point 2 */\n")
        self.put("docs/a.md", "As spe" "c A1 says.\n")
        self.put("docs/spec/14-vectors.md", "# 14. Vectors\n\n## 14.1 As [4.8] and [4.9]\n\n"
                 "[4.8]: 04-slub.md#48-gone\n")
        self.expect(*(f"src/page/buddy.h:{line}: spec: docs/spec has no {part}\n" for line, part in (
            (12, "4.8b"), (12, "4.10"), (12, "9"), (13, "14.2"), (13, "15.1"), (13, "4.9 point 2"))),
                    "docs/a.md:1: spec: docs/spec has no A1",
                    "docs/spec/14-vectors.md:3: spec: [4.9] has no link",
                    "docs/spec/14-vectors.md:5: spec: [4.8] leads to 04-slub.md#48-gone")

    def test_quotes(self):
        self.put("tests/misuse/expected/a.txt", "BUG a\nfreed by b\n")
        quote = lambda text, name="tests/misuse/expected/a.txt": f"<!-- from {name} -->\n```text\n{text}\n```\n"
        self.put("docs/a.md", quote("BUG a") + quote("freed by b"))
        status, output = self.check()
        self.assertEqual(status, 0, output)
        self.put("docs/a.md", quote("BUG a") + quote("by b") + quote("BUG a\nfreed") + quote("x", "docs/gone.txt"))
        self.expect("docs/a.md:5: quotes: tests/misuse/expected/a.txt has no such lines",
                    "docs/a.md:9: quotes: tests", "docs/a.md:14: quotes: docs/gone.txt has no such lines")

    def test_option_tables(self):
        self.put("src/cache/config/options.def", '#define BOTH "0 or 1"\n'
                 'OPTION("b", set_b, BOTH, "1", "0", "0.1", "it does")\nALIAS("c", "b")\n'
                 'RULE("d:", set_d, "x, " "y", "x", "none", "0.1", "rule")\n'
                 'MEMBER("e.", "f", set_e, "y", "y", "none", "0.1", "member")\n')
        head = "<!-- scripts/option_table.py: options -->\n\n"
        row = "- `b`, `c` (default: 0): it does. Takes 0 or 1.\n"
        rest = ("- `d:PATTERN` (default: none): rule. Takes x, y.\n- `e.f` (default: none): member. Takes y.\n"
                "<!-- scripts/option_table.py: end -->\n")
        self.put("scripts/option_table.py", "# SPDX-License-Identifier: MIT\n")
        self.put("docs/a.md", head + row + rest)
        status, output = self.check()
        self.assertEqual(status, 0, output)
        self.put("docs/a.md", head + row.replace("0 or 1", "0 or 2") + rest)
        self.expect("docs/a.md:3: options: differs from the table")

    def test_names_of_the_kernel(self):
        names = "# names\n\n## slab.h\nkmem_cache_size\nkvfree_rcu_init\n"
        table = "\n## slab.h\n\n| name | here |\n| --- | --- |\n"
        there = "| `kmem_cache_size` | yes, *kmem_cache_size" "(3)* |\n"
        absent = "| `kvfree_rcu_init` | no; internal: how the kernel itself starts RCU |\n"
        self.put("scripts/kernel-names.txt", names)
        self.put("scripts/kernel_api.py", "# SPDX-License-Identifier: MIT\n")
        sys.path.insert(0, os.path.join(SOURCE, "scripts"))
        import kernel_api  # pylint: disable=import-outside-toplevel
        head = kernel_api.INTRODUCTION
        self.put("docs/kernel-api.md", head + table + there + absent)
        self.assertEqual(kernel_api.problems(self.folder), [])
        self.put("docs/kernel-api.md", head + table + there)
        self.expect("docs/kernel-api.md:1: kernel: differs")
        self.put("scripts/kernel-names.txt", names + "kstrange\n")
        self.expect("scripts/kernel-names.txt:1: kernel: kstrange is absent, and")
        self.c("include/uslab/slab.h", "#define USLAB_API\n\nUSLAB_API int kmem_cache_size(void);\n"
               "#define kvfree_rcu_init(p) p\n")
        self.expect("scripts/kernel-names.txt:1: kernel: kvfree_rcu_init is there, yet")

    def test_headers_for_kernel_code(self):
        sys.path.insert(0, os.path.join(SOURCE, "scripts"))
        import kernel_headers  # pylint: disable=import-outside-toplevel
        head = kernel_headers.INTRODUCTION + "\n| header | what | whose | names |\n| --- | --- | --- | --- |\n"
        comment = "/* SPDX-License-Identifier: MIT */\n/*\n * uslab/linux/linux/bits.h - bits\n */\n"
        code = "#define BIT(n) (1ul << (n))\nstatic inline int fls(int x)\n{\n\treturn x;\n}\n"
        self.put(kernel_headers.FOLDER + "/bits.h", comment + code)
        self.put(kernel_headers.DOCUMENT, head + "| `linux/bits.h` | bits | ours | `fls`, `BIT` |\n")
        self.assertEqual(kernel_headers.problems(self.folder), [])
        self.put(kernel_headers.DOCUMENT, head)
        self.expect("docs/kernel-headers.md:1: kernel: differs")
        self.put(kernel_headers.FOLDER + "/bits.h", comment + code + "#undef BIT\n")
        self.expect("include/uslab/linux/linux/bits.h:1: kernel: <stdin>:")

    # ---- man pages of the public functions: scripts/check_man.py ------------------------------

    def pages(self, **files):
        """The clean tree with other contents: the violations of the rule."""
        places = {"page": "docs/man/kmem_cache_size.3.scd", "malloc": "docs/man/uslab-malloc.3.scd"}
        for name, text in files.items():
            self.put(places[name], text)
        return self.check("--only", "man")[1]

    def test_function_without_page(self):
        self.c("include/uslab/slab.h", """#define USLAB_API
#define USLAB_INLINE static inline
#define KMEM_CACHE(type) \\
	kmem_cache_create(sizeof(type))
/* USLAB_API int in_a_comment(void); */
typedef void (*uslab_hook)(int);
USLAB_API int kmem_cache_size(void);
USLAB_API void *kmem_cache_create(unsigned int size,
				  void (*ctor)(void *obj)) __attribute__((__malloc__(1)));
USLAB_INLINE void *kzalloc(unsigned int size)
{
	return kmem_cache_create(size, 0);
}
USLAB_API extern char *uslab_handles;
""")
        output = self.pages()
        for line, name in ((12, "KMEM_CACHE"), (15, "uslab_hook"), (17, "kmem_cache_create"),
                           (19, "kzalloc"), (23, "uslab_handles")):
            self.assertIn(f"include/uslab/slab.h:{line}: man: {name} has no page in docs/man", output)
        self.assertIn(" 5 violations", output)

    def test_page_without_function(self):
        output = self.pages(page=PAGE.replace("size - bytes", "size, kmem_cache_gone - bytes"))
        self.assertIn("kmem_cache_size.3.scd:3: man: is about kmem_cache_gone, which no header declares",
                      output)
        self.assertIn(" 1 violations", output)

    def test_page_with_another_prototype(self):
        output = self.pages(page=PAGE.replace("int kmem_cache_size(void);", "long kmem_cache_size(void);"))
        self.assertIn("kmem_cache_size.3.scd:7: man: SYNOPSIS does not have 'int kmem_cache_size(void)'",
                      output)

    def test_page_without_section(self):
        output = self.pages(page=PAGE.replace("# COST\n", ""))
        self.assertIn("kmem_cache_size.3.scd:1: man: has no section COST", output)
        output = self.pages(page=PAGE.replace("# COST\n\n# SOURCE", "# SOURCE\n\n# COST"))
        self.assertIn("kmem_cache_size.3.scd:1: man: the sections stand in another order", output)
        output = self.pages(page=PAGE.replace("*fork*", "*exec*"))
        self.assertIn("man: ATTRIBUTES does not say '*fork*'", output)

    def test_page_without_example(self):
        output = self.pages(page=PAGE.replace("@examples/size.c@", "none"))
        self.assertIn("man: shows no file of examples/", output)
        self.assertIn("examples/size.c:1: man: no page of section 3 shows it", output)
        self.put("examples/size.c", c_file("tests/examples/size.c", "/* kmem_cache_size() */\n"))
        self.assertIn("man: no program on this page calls kmem_cache_size", self.pages(page=PAGE))
        output = self.pages(page=PAGE.replace("size.c@", "gone.c@"))
        self.assertIn("man: shows examples/gone.c, which does not exist", output)

    def test_reference_to_no_page(self):
        self.put("docs/man/uslab.1.scd", "uslab(1)\n\n# NAME\n\nuslab - x\n\n# SEE ALSO\n\n"
                 f"{MAN('*uslab-gone*', 1)}, *kmem_cache_size*(1), *uslab*(1), *kmem_cache_size*(3), *ls*(1)\n")
        output = self.pages()
        self.assertIn(f"docs/man/uslab.1.scd:9: man: there is no page {MAN('uslab-gone', 1)}", output)
        self.assertIn("docs/man/uslab.1.scd:9: man: there is no page kmem_cache_size(1)", output)
        self.assertIn(" 2 violations", output)

    def test_reference_to_no_page_elsewhere(self):
        self.put("docs/a.md", " ".join((MAN("uslab", 1), MAN("*uslab*", 1), MAN("kmem_cache_size", 3),
                                        MAN("free", 3), MAN("other", 1))) + "\n")
        call = "/* kmem_cache_size(2) */\n"
        self.c("src/page/buddy.h", call)
        self.assertIn(" 0 violations", self.pages())
        self.put("docs/a.md", f"{MAN('uslab-gone', 1)}\n{MAN('*uslab*', 7)} {MAN('kmem_cache_new', 3)}\n")
        self.put("scripts/tool", f"#!/bin/sh\n# {MAN('uslab_gone', 3)}\n")
        self.c("src/page/buddy.h", f'{call}#define TEXT "{MAN("uslab-gone", 1)}"\n')
        output = self.pages()
        for place in ("docs/a.md:1: man: there is no page uslab-gone", "docs/a.md:2: man: there is no page uslab(",
                      "docs/a.md:2: man: there is no page kmem_cache_new",
                      "scripts/tool:2: man: there is no page uslab_gone",
                      "src/page/buddy.h:11: man: there is no page uslab-gone", ", 5 violations"):
            self.assertIn(place, output)

    def test_two_pages_of_one_function(self):
        self.put("docs/man/other.3.scd", PAGE)
        self.assertIn("other.3.scd:3: man: kmem_cache_size has a page already, docs/man/kmem_cache_size.3.scd",
                      self.pages())

    def test_export_that_is_not_declared(self):
        self.put("scripts/symbols.txt",
                 "# names\nkmem_cache_size\nuslab_root\nuslab_layout_9\nuslab_gone\n")
        output = self.pages()
        self.assertIn("scripts/symbols.txt:5: man: uslab_gone is exported, but no header declares it", output)
        self.assertIn(" 1 violations", output)

    def test_malloc_that_its_page_does_not_name(self):
        page = PAGE.replace("kmem_cache_size", "uslab-malloc")
        page = page.replace("DESCRIPTION\n", "DESCRIPTION\n\n*calloc*\n")
        self.put("scripts/symbols-malloc.txt", "valloc\ncalloc\n_Znwm\n")
        output = self.pages(malloc=page)
        self.assertIn("scripts/symbols-malloc.txt:1: man: docs/man/uslab-malloc.3.scd does not name valloc",
                      output)
        self.assertIn(" 1 violations", output)

    def test_exports(self):
        body = "int kmem_cache_size(void);\nint leaked(void);\n\nint kmem_cache_size(void)\n{\n" \
            "\treturn 1;\n}\n\nint leaked(void)\n{\n\treturn 2;\n}\n"
        self.c("src/base/bits.c", body)
        self.compile("src/base/bits.c", "lib/libuslab.so", "-shared")
        self.compile("src/base/bits.c", "lib/libuslab_malloc.so", "-shared")
        self.expect("scripts/symbols.txt:1: exports: libuslab.so exports leaked",
                    "scripts/symbols-malloc.txt:2: exports: libuslab_malloc.so does not export malloc")

    def test_inlined_layout(self):
        self.put("scripts/layouts.txt", "# SPDX-License-Identifier: MIT\n")
        self.c("include/uslab/layout.h", "#define USLAB_LAYOUT 7\n#define USLAB_NR_HANDLES 8\n")
        self.expect("include/uslab/layout.h:1: layout: scripts/layouts.txt has no line '7 ")
        line = re.search("no line '(.*?)'", self.check()[1]).group(1)
        self.put("scripts/layouts.txt", f"# SPDX-License-Identifier: MIT\n{line}\n")
        self.c("include/uslab/layout.h", "#define USLAB_LAYOUT 7 /* why */\n#define USLAB_NR_HANDLES  8\n")
        self.assertEqual(self.check("--only", "layout")[0], 0, "comments and blanks are no layout")
        self.c("include/uslab/layout.h", "#define USLAB_LAYOUT 7\n#define USLAB_NR_HANDLES 9\n")
        self.expect("include/uslab/layout.h:1: layout: scripts/layouts.txt has no line '7 ")

    def test_format(self):
        self.c("src/page/buddy.h", "int   x ;\n")
        status, output = self.check("--only", "format")
        if "SKIPPED" in output:
            self.skipTest(output)
        self.assertEqual(status, 1, output)
        self.assertIn("src/page/buddy.h:10: format:", output)

    def test_private_path(self):
        self.put("docs/a.md", "\nas in /wo" "rk/shared\n")
        self.expect("docs/a.md:2: private:")


if __name__ == "__main__":
    unittest.main()
