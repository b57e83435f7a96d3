#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""scripts/check.py on circles of objects and on who calls whom, and scripts/callers.

As check_test.py, whose small tree is used: each test plants what is wrong, and what is right.
"""
import os
import subprocess
import sys
import unittest

from check_test import SOURCE, CheckedTree, c_file


class CallersTest(CheckedTree):
    def pair(self, one, other, says="none."):
        """Two files of os/ whose functions call one another; the Flow of the first one."""
        names = [path.split("/")[-1][:-2] for path in (one, other)]
        for path, mine, its in ((one, *names), (other, *reversed(names))):
            self.c(path, f"int {its}_do(void);\nint {mine}_do(void);\n\nint {mine}_do(void)\n{{\n"
                   f"\treturn {its}_do();\n}}\n")
            self.put(f"tests/unit/{path[4:-2]}_test.c",
                     f"/* SPDX-License-Identifier: MIT */\n/*\n * {mine}_test.c - a test\n */\n")
        full = os.path.join(self.folder, one)
        with open(full, encoding="utf-8") as stream:
            text = stream.read()
        self.put(one, text.replace("Flow:       none.", f"Flow:       {says}"))
        for path in (one, other):
            self.compile(path, f"CMakeFiles/uslab_core.dir/{path}.o", "-c")

    def test_circle_of_objects_across_rooms(self):
        self.pair("src/os/a.c", "src/os/b.c")
        self.assertEqual(self.check()[0], 0, self.check()[1])
        self.pair("src/os/one/c.c", "src/os/two/d.c")
        self.expect("src/os/one/c.c:1: links: a circle of objects across folders: "
                    "src/os/one/c.c src/os/two/d.c\n")

    def test_circle_of_objects_of_tools(self):
        self.pair("tools/uslab/a/x.c", "tools/uslab/b/y.c")
        self.expect("tools/uslab/a/x.c:1: links: a circle of objects across folders:")

    def test_circle_of_rooms_of_tools(self):
        for path, calls in (("a/x.c", "y"), ("b/y.c", ""), ("b/z.c", "w"), ("a/w.c", "")):
            name = path[2]
            self.c(f"tools/uslab/{path}", (f"int {calls}_do(void);\n" if calls else "")
                   + f"int {name}_do(void);\n\nint {name}_do(void)\n{{\n"
                   + (f"\treturn {calls}_do();\n" if calls else "\treturn 0;\n") + "}\n")
            self.compile(f"tools/uslab/{path}", f"CMakeFiles/uslab_tool.dir/tools/uslab/{path}.o", "-c")
        self.expect("tools/uslab/a/x.c:1: links: a circle of folders: tools/uslab/a tools/uslab/b: "
                    "tools/uslab/a/x.c calls tools/uslab/b/y.c, "
                    "tools/uslab/b/z.c calls tools/uslab/a/w.c\n")

    # ---- who calls ----------------------------------------------------------------------------

    def flow(self, says, *wanted):
        """The Flow of a file whose function another one calls, and what is wrong with it."""
        self.pair("src/os/a.c", "src/os/b.c", says)
        status, output = self.check("--only", "callers")
        self.assertEqual(status, 1 if wanted else 0, output)
        self.assertEqual(output.count(": callers: "), len(wanted), output)
        for text in wanted:
            self.assertIn(f"src/os/a.c:8: callers: {text}\n", output)

    def test_called_by(self):
        self.flow("called by b.c; calls os/b.c.")
        self.flow("called by b.c only when it\n *             must. Called back by b.c.")
        self.flow("called by os/ and more.")
        self.flow("called by vm.c, b.c.", "'called by' names vm.c, which does not call it")
        self.flow("called by page/buddy.h.", "'called by' names page/buddy.h, which does not call it",
                  "'called by' leaves out b.c")
        self.flow("called by gone.c, b.c.", "'called by' names gone.c, which is nothing here")
        self.flow("called by whoever.", "'called by' names whoever, which is nothing here",
                  "'called by' leaves out b.c")
        self.flow("called by b_do().")
        self.flow("called by tools, b.c.", "'called by' names tools, which does not call it")
        self.flow("called from b.c.", "says 'called from'; write 'called by'")
        self.flow("called by every floor.", "'called by' names every floor, which does not call it",
                  "'called by' leaves out b.c")

    def test_calls(self):
        self.flow("called by b.c; calls vm.c.", "'calls' names vm.c, which it does not call")
        self.flow("called by b.c; called back by vm.c.",
                  "'called back by' names vm.c, which it calls nothing of")

    def test_called_by_for_programs(self):
        self.put("scripts/symbols.txt", "# names\na_do\n")
        self.flow("called by b.c and programs.")
        self.flow("called by b.c.", "'called by' leaves out programs, for which it is exported")

    def test_called_through_a_table(self):
        self.c("src/os/ops.h", "struct ops {\n\tint (*act)(void);\n};\nextern const struct ops a_ops;\n")
        body = '#include "os/ops.h"\n\nstatic int act(void)\n{\n\treturn 1;\n}\n\n' \
            "const struct ops a_ops = {\n\t.act = act,\n};\n"
        user = '#include "os/ops.h"\n\nint b_do(void);\n\nint b_do(void)\n{\n\treturn a_ops.act();\n}\n'
        for says, wrong in (("called through a_ops", None), ("called through a_*", None),
                            ("called by b.c", "'called by' names b.c, which does not call it"),
                            ("called through b_ops", "'called by' names b_ops, which does not")):
            for path, text in (("src/os/a.c", body), ("src/os/b.c", user)):
                self.put(path, c_file(path, text).replace("Flow:       none", f"Flow:       {says}"
                                                          if path == "src/os/a.c" else "Flow: none"))
                self.compile(path, f"CMakeFiles/uslab_core.dir/{path}.o", "-c")
            status, output = self.check("--only", "callers")
            self.assertEqual(status, 1 if wrong else 0, output)
            self.assertIn(wrong or "0 violations", output)

    def test_called_of_a_header(self):
        self.put("src/base/bits.h", c_file("src/base/bits.h", "#define BITS_TWO(x) ((x) + 2)\n"
                                           "#define BITS_SIX 6\nint bits_one(void);\n"))
        self.c("src/os/a.c", '#include "base/bits.h"\n\nint a_do(void);\n\nint a_do(void)\n{\n'
               "\treturn BITS_TWO(BITS_SIX);\n}\n")
        for path in ("src/os/a.c", "src/base/bits.c"):
            self.compile(path, f"CMakeFiles/uslab_core.dir/{path}.o", "-c")
        for says, wrong in (("called by os/a.c; included by base/ and os/a.c", None),
                            ("called by base/", "'called by' leaves out os/a.c"),
                            ("included by os/a.c", "'included by' leaves out bits.c"),
                            ("used by os/a.c and bits.c", None),
                            ("included by os/memory/vm.c", "'included by' names os/memory/vm.c")):
            self.put("src/base/bits.h", c_file("src/base/bits.h", "#define BITS_TWO(x) ((x) + 2)\n"
                                               "#define BITS_SIX 6\nint bits_one(void);\n").replace(
                                                   "Flow:       none", f"Flow:       {says}"))
            self.put("src/page/buddy.h", c_file("src/page/buddy.h"))
            output = self.check("--only", "callers")[1]
            self.assertIn(wrong or "0 violations", output)

    def test_called_by_above_a_function(self):
        good = "/* With the lock held. Called by b_do() only. */\nint a_more(void);\n"
        self.pair("src/os/a.c", "src/os/b.c", "called by b.c.")
        self.c("src/os/a.h", good.replace("a_more", "a_do"))
        self.assertEqual(self.check("--only", "callers")[0], 0, self.check()[1])
        self.c("src/os/a.h", "/* Called by os_close(). */\nint a_do(void);\n")
        self.expect("src/os/a.h:10: callers: os_close does not call a_do()",
                    "src/os/a.h:10: callers: a_do() is called by b_do() of src/os/b.c as well")

    def tool(self, says, *wanted):
        """As flow(), of a file of the command that a file of another folder and the root call."""
        for path, calls, flow in (("info/a.c", "", says), ("fs/b.c", "a", "called by main.c"),
                                  ("main.c", "b", "main()")):
            name = path.rsplit("/", 1)[-1][:-2]
            text = c_file(f"tools/uslab/{path}", (f"int {calls}_do(void);\n" if calls else "")
                          + f"int {name}_do(void);\n\nint {name}_do(void)\n{{\n\treturn "
                          + (f"{calls}_do()" if calls else "0") + ";\n}\n")
            self.put(f"tools/uslab/{path}", text.replace("Flow:       none.", f"Flow:       {flow}."))
            self.compile(f"tools/uslab/{path}", f"CMakeFiles/uslab_tool.dir/tools/uslab/{path}.o", "-c")
        status, output = self.check("--only", "callers")
        self.assertEqual(status, 1 if wanted else 0, output)
        self.assertEqual(output.count(": callers: "), len(wanted), output)
        for text in wanted:
            self.assertIn(f"tools/uslab/info/a.c:8: callers: {text}\n", output)

    def test_called_by_of_tools(self):
        self.c("src/base/bits.c", "int bits_one(void);\n\nint bits_one(void)\n{\n\treturn 1;\n}\n")
        self.compile("src/base/bits.c", "CMakeFiles/uslab_core.dir/src/base/bits.c.o", "-c")
        self.tool("called by fs/b.c")
        self.tool("called by fs/")
        self.tool("called by tools/uslab/fs/b.c")
        self.tool("called by main.c", "'called by' names main.c, which does not call it",
                  "'called by' leaves out fs/b.c")
        self.tool("called by every folder", "'called by' names every folder, which does not call it",
                  "'called by' leaves out fs/b.c")
        self.tool("called by fs/b.c; calls main.c", "'calls' names main.c, which it does not call")
        self.tool("prints", "says not who calls it: called by fs/b.c")

    def test_flow_of_tools_is_there(self):
        text = c_file("tools/uslab/fs/b.c").replace(" * Flow:       none.\n", "")
        self.put("tools/uslab/fs/b.c", text)
        self.put("tools/uslab/fs/b.h", text.replace("b.c", "b.h"))
        self.put("bench/c.c", text)
        self.expect("tools/uslab/fs/b.c:3: header: the header comment has no 'Flow:'\n",
                    "bench/c.c:3: header: the header comment starts with something else",
                    "bench/c.c:3: header: the header comment has no 'Flow:'\n")
        self.assertNotIn("b.h:3: header", self.check()[1])

    def test_started_by(self):
        self.put("tools/uslab/bench/run.c", c_file("tools/uslab/bench/run.c",
                                                   'const char *const worker = "work";\n'))
        self.c("tools/uslab/bench/more.c", "int more;\n")
        for path in ("src/base/bits.c", "tools/uslab/bench/run.c", "tools/uslab/bench/more.c"):
            self.compile(path, f"CMakeFiles/uslab_tool.dir/{path}.o", "-c")
        for says, wrong in (("started by tools/uslab/bench/run.c", None),
                            ("started by tools/uslab/bench/more.c",
                             "'started by' names tools/uslab/bench/more.c, which does not name work"),
                            ("started by tools/uslab/bench/more.c",
                             "'started by' leaves out tools/uslab/bench/run.c")):
            self.put("bench/work.c", c_file("bench/work.c", "int main(void)\n{\n\treturn 0;\n}\n").replace(
                "Flow:       none", f"Flow:       {says}"))
            self.compile("bench/work.c", "CMakeFiles/uslab-work.dir/bench/work.c.o", "-c")
            status, output = self.check("--only", "callers")
            self.assertEqual(status, 1 if wrong else 0, output)
            self.assertIn(wrong or "0 violations", output)

    def test_callers_script(self):
        self.pair("src/os/a.c", "src/os/b.c")
        run = lambda *names: subprocess.run(
            [sys.executable, os.path.join(SOURCE, "scripts", "callers"), "--root", self.folder, *names],
            capture_output=True, text=True, check=False)
        self.assertEqual(run("a_do").stdout, "a_do()\n  src/os/b.c:14: b_do()\n")
        self.assertEqual(run("os/a.c").stdout, "called by b.c\ncalls b.c\na_do()\n  src/os/b.c:14: b_do()\n")
        self.assertEqual(run("gone_do").returncode, 1)


if __name__ == "__main__":
    unittest.main()
