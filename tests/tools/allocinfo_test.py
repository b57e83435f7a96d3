#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# ctest: timeout=300
"""uslab info --allocinfo: call sites of a process, of its core, as a file; switched on and off from outside."""
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import cores  # noqa: E402
from folder import InFolder, environment  # noqa: E402

BIN = os.environ["USLAB_BIN"]
LIB = os.environ["USLAB_LIB"]
SRC = os.environ["USLAB_SRC"]
CC = os.environ.get("USLAB_CC", "cc")
HEAD = ["allocinfo - version: 1.0", "#     <size>  <calls> <tag info>"]

PROGRAM = r"""
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <uslab/kstring.h>

static void *kept[10000];
static int nr;

static void grow(int n)
{
	while (n-- > 0)
		kept[nr++] = kmalloc(64, GFP_KERNEL);
}

static void shrink(void)
{
	while (nr > 0)
		kfree(kept[--nr]);
}

static void never_called(void)
{
	grow(kmalloc(5, GFP_KERNEL) != NULL);
}

int main(int argc, char **argv)
{
	void (*volatile never)(void) = never_called;
	char line[200];
	void *plug_in = NULL;
	char *name;
	int n;

	(void)never;
	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		line[strcspn(line, "\n")] = '\0';
		if (sscanf(line, "grow %d", &n) == 1)
			grow(n);
		else if (!strcmp(line, "shrink"))
			shrink();
		else if (!strcmp(line, "name"))
			name = kstrdup("a name", GFP_KERNEL), (void)name;
		else if (!strcmp(line, "load"))
			plug_in = dlopen(argv[argc - 1], RTLD_NOW);
		else if (!strcmp(line, "call"))
			((void (*)(void))dlsym(plug_in, "plug_in_call"))();
		else if (!strcmp(line, "free"))
			((void (*)(void))dlsym(plug_in, "plug_in_free"))();
		else if (!strcmp(line, "unload"))
			dlclose(plug_in);
		puts(dlerror() ? "failed" : "done");
		fflush(stdout);
	}
	return 0;
}
"""

PLUG_IN = r"""
#include <uslab/slab.h>

static void *p;

void plug_in_call(void);
void plug_in_free(void);

void plug_in_call(void)
{
	p = kmalloc(1000, GFP_KERNEL);
}

void plug_in_free(void)
{
	kfree(p);
}
"""


class AllocinfoTest(InFolder):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.program = cls.build("program", PROGRAM, "-ldl")
        cls.plain = cls.build("plain", PROGRAM, "-ldl", "-UUSLAB_MEM_ALLOC_PROFILING")
        cls.plug_in = cls.build("libplug.so", PLUG_IN, "-shared", "-fPIC")
        # without sequences, which would have to stay
        cls.plug_in_unloads = cls.build("libgoes.so", PLUG_IN, "-shared", "-fPIC", "-DUSLAB_NO_RSEQ")

    @classmethod
    def build(cls, name, text, *flags):
        source = os.path.join(cls.folder, name + ".c")
        with open(source, "w", encoding="ascii") as stream:
            stream.write(text)
        path = os.path.join(cls.folder, name)
        subprocess.run([CC, "-O1", "-DUSLAB_MEM_ALLOC_PROFILING", f"-I{SRC}/include", name + ".c", "-o", path,
                        "-L", LIB, "-luslab", f"-Wl,-rpath,{LIB}", *flags], check=True, cwd=cls.folder)
        return path

    def setUp(self):
        self.process = None

    def start(self, *arguments, conf="control=10", program=None):
        self.place = tempfile.mkdtemp(dir=self.folder)
        self.process = subprocess.Popen([program or self.program, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True, cwd=self.place, env=environment(USLAB_CONF=conf),
                                        preexec_fn=cores.allow)
        self.addCleanup(self.end)
        self.assertEqual(self.process.stdout.readline(), "ready\n")

    def end(self):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()

    def do(self, *commands):
        for command in commands:
            self.process.stdin.write(command + "\n")
            self.process.stdin.flush()
            self.assertEqual(self.process.stdout.readline(), "done\n", command)

    def uslab(self, command, *arguments, status=0):
        run = subprocess.run([BIN, command, *map(str, arguments)], capture_output=True, text=True, check=False,
                             timeout=300)
        self.assertEqual(run.returncode, status, run.stderr)
        return run

    def switch(self, on):
        run = self.uslab("debug", "-p", self.process.pid, "--mem-profiling", on)
        self.assertIn("is on" if on else "is off", run.stdout)

    def lines(self, *options):
        """Of a process: [bytes, calls, tag]."""
        lines = self.uslab("info", "-p", self.process.pid, "--allocinfo", *options).stdout.splitlines()
        self.assertEqual(lines[:2], HEAD)
        return [[int(line.split()[0]), int(line.split()[1]), line.split(None, 2)[2]] for line in lines[2:]]

    def counts(self, function, *options):
        return [line[:2] for line in self.lines(*options) if line[2].endswith("func:" + function)]

    def test_from_the_start(self):
        self.start(conf="mem_profiling=1,control=10")
        self.do("grow 100", "name")
        self.assertEqual(self.counts("grow"), [[6400, 100]])
        self.assertEqual(self.counts("main"), [[8, 1]])
        self.assertRegex(self.lines()[0][2], r"^program\.c:\d+ func:grow$")  # largest first
        self.assertRegex(self.lines("-i")[-1][2], "grow$")
        self.assertEqual(len(self.lines("-N", 1)), 1)
        self.assertEqual(len(self.lines("GROW")), 1)
        self.assertIn("no call site", self.uslab("info", "-p", self.process.pid, "--allocinfo", "GROWN").stderr)
        self.assertEqual(self.counts("never_called"), [])
        self.assertEqual(self.counts("never_called", "-z"), [[0, 0]])
        self.do("shrink")
        self.assertEqual(self.counts("grow"), [])

    def test_switched(self):
        self.start()
        run = self.uslab("info", "-p", self.process.pid, "--allocinfo")
        self.assertEqual(run.stdout.splitlines(), HEAD)
        self.assertIn("--mem-profiling 1", run.stderr)
        run = self.uslab("info", "-p", self.process.pid, "--allocinfo", "no-such-site")
        self.assertEqual((run.stdout.splitlines(), run.stderr.count("\n")), (HEAD, 1))  # no second warning
        self.do("grow 50")
        self.switch(1)
        self.do("grow 7")
        self.assertEqual(self.counts("grow"), [[448, 7]])
        self.switch(0)
        self.do("shrink")
        run = self.uslab("info", "-p", self.process.pid, "--allocinfo")
        self.assertIn("numbers of then", run.stderr)
        self.assertEqual(self.counts("grow"), [[448, 7]])
        self.switch(1)
        self.assertEqual(self.lines(), [])
        self.do("grow 3")
        self.assertEqual(self.counts("grow"), [[192, 3]])

    def test_never(self):
        self.start(conf="mem_profiling=never,control=10")
        run = self.uslab("debug", "-p", self.process.pid, "--mem-profiling", 1, status=1)
        self.assertIn("never", run.stderr)

    def test_without_call_sites(self):
        """Nothing can be counted: that is said when it is switched on, with what to use, and nothing stays on."""
        self.start(program=self.plain)
        for _ in range(2):
            run = self.uslab("debug", "-p", self.process.pid, "--mem-profiling", 1, status=1)
            self.assertEqual(run.stdout, "")
            self.assertIn("no call sites", run.stderr)
            self.assertIn("is off again", run.stderr)
            self.assertIn(f"uslab track -p {self.process.pid}", run.stderr)
            self.do("grow 1")
        run = self.uslab("info", "-p", self.process.pid, "--allocinfo", "--json")
        self.assertFalse(json.loads(run.stdout)["on"])
        self.assertIn("uslab track", run.stderr)
        self.switch(0)

    def test_without_call_sites_so_far(self):
        """A plug-in may bring some: what was on stays on, and then they are counted."""
        self.start(self.plug_in, conf="mem_profiling=1,control=10", program=self.plain)
        run = self.uslab("debug", "-p", self.process.pid, "--mem-profiling", 1, status=1)
        self.assertIn("stays on", run.stderr)
        self.do("load", "call")
        self.assertEqual(self.counts("plug_in_call"), [[1024, 1]])
        self.switch(1)

    def test_json(self):
        self.start(conf="mem_profiling=1")
        self.do("grow 2")
        top = json.loads(self.uslab("info", "-p", self.process.pid, "--allocinfo", "--json").stdout)
        self.assertEqual((top["pid"], top["on"], top["lost"]), (self.process.pid, True, 0))
        site = top["allocinfo"][0]
        self.assertEqual((site["bytes"], site["calls"], site["file"], site["function"], site["module"]),
                         (128, 2, "program.c", "grow", None))

    def test_core(self):
        self.start(conf="mem_profiling=1")
        self.do("grow 100", "name")
        live = self.lines("-z")
        if cores.why_none():
            if not shutil.which("gcore"):
                self.skipTest(cores.why_none() + ", and there is no gcore")
            subprocess.run(["gcore", "-o", f"{self.place}/core", str(self.process.pid)], check=True,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        else:
            self.process.send_signal(signal.SIGABRT)
            self.process.wait(timeout=300)
        run = self.uslab("info", "--core", cores.find(self.place), "--allocinfo", "-z")
        self.assertEqual([line.split(None, 2)[2] for line in run.stdout.splitlines()[2:]],
                         [line[2] for line in live])
        self.assertIn("        6400      100 program.c", run.stdout)

    def plug_in_lives(self, path, goes):
        name = f"[{os.path.basename(path)}]"
        self.start(path, conf="mem_profiling=1")
        before = len(self.lines("-z"))
        self.do("load")
        self.assertEqual(len(self.lines("-z")), before + 1)
        self.do("call")
        self.assertEqual(self.counts("plug_in_call"), [[1024, 1]])
        self.assertIn(name, self.lines()[0][2])
        self.do("unload")
        self.assertEqual(self.counts("plug_in_call"), [[1024, 1]])  # it is in use still
        self.do("load", "call")
        self.assertEqual(self.counts("plug_in_call"), [[2048, 2]])  # the same call site
        self.do("free", "unload")
        self.assertEqual(self.counts("plug_in_call"), [[1024, 1]])
        with open(f"/proc/{self.process.pid}/maps", encoding="utf-8") as maps:
            self.assertEqual(os.path.basename(path) not in maps.read(), goes)

    def test_plug_in_that_stays(self):
        self.plug_in_lives(self.plug_in, False)

    def test_plug_in_that_goes(self):
        self.plug_in_lives(self.plug_in_unloads, True)

    def test_files(self):
        """uslab fs: proc/allocinfo and proc/sys/vm/mem_profiling."""
        self.start()
        folder = tempfile.mkdtemp(dir=self.folder)
        run = subprocess.run([BIN, "fs", "-p", str(self.process.pid), folder], capture_output=True, text=True,
                             check=False, timeout=300)
        if run.returncode == 1 and "cannot mount on" in run.stderr:
            self.skipTest(run.stderr.strip())
        self.assertEqual(run.returncode, 0, run.stderr)
        self.addCleanup(subprocess.run, ["fusermount3", "-u", "-z", folder], check=False)
        switch = f"{folder}/proc/sys/vm/mem_profiling"

        def read(path):
            with open(path, encoding="ascii") as stream:
                return stream.read()

        def write(path, text):
            with open(path, "w", encoding="ascii") as stream:
                stream.write(text)

        self.assertEqual(read(switch), "0\n")
        write(switch, "1\n")
        self.assertEqual(read(switch), "1\n")
        self.do("grow 100")
        self.switch(0)
        lines = read(f"{folder}/proc/allocinfo").splitlines()
        self.assertEqual(lines[:2], HEAD)
        self.assertEqual([line.split()[:2] for line in lines if line.endswith("grow")], [["6400", "100"]])
        for wrong in ("2\n", "x", ""):
            if wrong:
                self.assertRaises(OSError, write, switch, wrong)

    def test_wrong_usage(self):
        for arguments in (["debug", "-p", os.getpid(), "--mem-profiling", "2"],
                          ["debug", "-p", os.getpid(), "--mem-profiling", "1", "--cache", "x"],
                          ["info", "-p", os.getpid(), "--allocinfo", "--openmetrics"],
                          ["info", "--kernel", "--allocinfo"]):
            self.uslab(*arguments, status=2)


if __name__ == "__main__":
    unittest.main()
