#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# ctest: timeout=900
"""uslab track of programs that take commands rarely, and of some whose files were replaced under them."""
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from folder import InOwnFolder  # noqa: E402
from programs import compile_program, start_program  # noqa: E402
from sleeps import await_sleeps  # noqa: E402

BIN = os.environ["USLAB_BIN"]
LIB = os.environ["USLAB_LIB"]
CACHE = "malloc-208"


def uslab(*arguments):
    return subprocess.run([BIN, *map(str, arguments)], capture_output=True, text=True, check=False,
                          timeout=300)


class TrackIdle(InOwnFolder):
    """A program that takes commands rarely is waited for once, however many caches are meant."""

    ECHO = r"""
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

static int filter_system_calls(void)
{
	struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	struct sock_fprog program = { 1, &allow };

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

int main(void)
{
	char c;

	for (;;) {
		void *volatile block = malloc(200);

		free(block);
		if (write(1, ".", 1) != 1 || read(0, &c, 1) != 1)
			return 0;
		if (c == 'e')
			execlp("sleep", "sleep", "1000", NULL);
		if (c == 'd' || c == 'D')
			prctl(PR_SET_DUMPABLE, c == 'D');
		if (c == 'f' && filter_system_calls())
			return 1;
	}
}
"""

    def setUp(self):
        super().setUp()
        self.program = compile_program(self.folder, "idle", self.ECHO)
        self.start()

    def start(self, *before):
        self.process = subprocess.Popen([*before, BIN, "run", self.program], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, bufsize=0)
        for cleanup in (self.process.stdout.close, self.process.stdin.close, self.process.wait,
                        self.process.kill):
            self.addCleanup(cleanup)
        self.assertEqual(self.process.stdout.read(1), b".")
        self.pid = self.process.pid

    def step(self, what=b"x"):
        """The program does that, and allocates once; b"": it has ended."""
        self.process.stdin.write(what)
        return self.process.stdout.read(1)

    def track(self, *arguments, before=()):
        """The tool, once it has switched tracking on and waits."""
        tool = subprocess.Popen([*before, BIN, "track", "-p", str(self.pid), "-c", CACHE, *arguments],
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for cleanup in (tool.stdout.close, tool.stderr.close, tool.wait, tool.kill):
            self.addCleanup(cleanup)
        while not self.debug_flags()[CACHE]:
            self.assertEqual(self.step(), b".")
            self.assertIsNone(tool.poll())
        return tool

    def await_off(self):
        """The program goes on, and takes the command of whoever switches tracking off."""
        end = time.monotonic() + 300
        while self.debug_flags()[CACHE]:
            self.assertLess(time.monotonic(), end)
            self.assertEqual(self.step(), b".")
            time.sleep(0.05)

    def steps_for(self, *arguments):
        """Runs the tool; the program allocates once whenever the tool has waited a while. How often it did."""
        tool = subprocess.Popen([BIN, *map(str, arguments)], stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True)
        steps = 0
        while tool.poll() is None and steps < 100:
            if await_sleeps(tool, 10):
                steps += 1
                self.assertEqual(self.step(), b".")
        output = tool.communicate(timeout=300)[0]
        self.assertEqual(tool.returncode, 0, output)
        return steps, output

    def debug_flags(self):
        caches = json.loads(uslab("info", "-p", self.pid, "-z", "--json").stdout)["caches"]
        return {c["name"]: c["flags"]["store_user"] for c in caches
                if re.fullmatch(r"malloc-(\d+|large)", c["name"])}

    def test_another_program(self):
        """It has been replaced by another one: what was seen last is shown."""
        for arguments in (["--once", "-i", "3600"], ["-i", "3600"]):
            with self.subTest(arguments=arguments):
                tool = self.track(*arguments)
                self.assertTrue(await_sleeps(tool, 10))
                self.process.stdin.write(b"e")
                output, errors = tool.communicate(timeout=300)
                self.assertEqual(tool.returncode, 0, errors)
                self.assertRegex(errors, r"^uslab track: .* is another program now, after [\d.]+ s; the figures are "
                                         r"as of [\d.]+ s\n$")
                self.assertEqual(output.count("tracked for"), 1, output)
                self.start()

    def test_nothing_grows(self):
        run = uslab("track", "-p", self.pid, "--watch", "0.2")
        self.assertEqual((run.returncode, run.stdout), (1, ""))
        self.assertRegex(run.stderr, r"no cache of .* grew within 0.2 s; --cache names one to track, .* --sample\n")

    def test_ends_before_anything_is_seen(self):
        """No table then: it would read as if the program had held nothing."""
        for arguments in (["--once", "-i", "3600"], ["-i", "3600"]):
            with self.subTest(arguments=arguments):
                tool = self.track(*arguments)
                self.process.kill()
                output, errors = tool.communicate(timeout=300)
                self.assertEqual((tool.returncode, output), (1, ""), errors)
                self.assertIn("ended", errors)
                self.start()

    def test_another_program_after_a_table(self):
        tool = self.track("-i", "0.1")
        self.assertIn("tracked for", tool.stdout.readline())
        self.process.stdin.write(b"e")
        errors = tool.communicate(timeout=300)[1]
        self.assertEqual(tool.returncode, 0, errors)
        self.assertRegex(errors, r"^uslab track: .* is another program now(, after .* s)?\n$")

    def test_idle_at_the_end(self):
        """What the program does not take in time it takes when it goes on."""
        tool = self.track("--once", "-i", "0.1", "--wait", "3")
        output, errors = tool.communicate(timeout=300)
        self.assertEqual(tool.returncode, 1, errors)
        self.assertIn("tracked for", output)
        self.assertRegex(errors, r"did not call malloc within 3 s")
        self.assertRegex(errors, rf"\nuslab track: tracking of .* is still on; that is tried again .* "
                                 rf"uslab track -p {self.pid} --off ends it\n$")
        self.assertTrue(self.debug_flags()[CACHE])
        self.await_off()

    def test_filter_meanwhile(self):
        tool = self.track("-i", "0.1")
        if not self.step(b"f"):
            self.skipTest("no seccomp filters here")
        self.assertEqual(self.step(), b".")
        tool.send_signal(signal.SIGINT)
        errors = tool.communicate(timeout=300)[1]
        self.assertEqual(tool.returncode, 1, errors)
        self.assertRegex(errors, rf"tracking of .* is still on; .*uslab track -p {self.pid} --off --force ends it\n$")
        self.steps_for("track", "-p", self.pid, "--off", "--force")
        self.assertFalse(self.debug_flags()[CACHE])

    def test_permission_lost(self):
        """What was seen last is shown; tracking is off once the program can be written to again."""
        less = ["setpriv", "--bounding-set", "-sys_ptrace"] if os.geteuid() == 0 else []
        if less and subprocess.run([*less, "true"], capture_output=True, check=False).returncode:
            self.skipTest("capabilities cannot be dropped")
        for arguments in (["--once", "-i", "3600"], ["-i", "3600"]):
            with self.subTest(arguments=arguments):
                self.start(*less)
                tool = self.track(*arguments, before=less)
                self.assertTrue(await_sleeps(tool, 10))
                self.step(b"d")
                output, errors = tool.communicate(timeout=300)
                self.assertEqual(tool.returncode, 1, errors)
                self.assertIn("tracked for", output)
                self.assertRegex(errors, r"can no longer be read, after [\d.]+ s: .*; the figures are as of [\d.]+ s\n")
                self.assertRegex(errors, r"tracking of .* is still on; that is tried again")
                self.step(b"D")
                self.await_off()

    def test_many_caches(self):
        steps, _ = self.steps_for("track", "-p", self.pid, "-c", "malloc-*", "--once", "-i", 0.1, "--keep")
        self.assertLess(steps, 10)
        debug_flags = self.debug_flags()
        self.assertGreater(len(debug_flags), 20)
        self.assertTrue(debug_flags["malloc-large"])  # as uslab info lists it
        self.assertTrue(all(debug_flags.values()), debug_flags)
        steps, _ = self.steps_for("track", "-p", self.pid, "--off")
        self.assertLess(steps, 10)
        self.assertFalse(any(self.debug_flags().values()))
        steps, output = self.steps_for("debug", "-p", self.pid, *[f"-c{name}" for name in list(debug_flags)[:20]], "F")
        self.assertLess(steps, 10)
        self.assertIn("20 caches", output)


class TrackReplaced(InOwnFolder):
    """Upgraded while it runs: another file has the program's path, and the library's is gone."""

    LIBRARY = r"""
#include <stdlib.h>

__attribute__((noinline)) void *take(void)
{
	void *volatile block = malloc(200);

	return block;
}

__attribute__((noinline)) void keep(void)
{
	static void **kept;
	void **block = take();

	*block = kept;
	kept = block;
}
"""
    PROGRAM = r"""
#include <stdio.h>
#include <unistd.h>

void keep(void);

__attribute__((noinline)) void serve(void)
{
	keep();
	usleep(1000);
}

int main(void)
{
	puts("ready");
	fflush(stdout);
	for (;;)
		serve();
}
"""

    def setUp(self):
        super().setUp()
        self.program = self.build("server", self.PROGRAM)
        library = os.path.join(self.folder, "libkeep.so")
        self.process = start_program(self, [BIN, "run", self.program])
        self.build_ids = {name: self.build_id(os.path.join(self.folder, name))
                          for name in ("server", "libkeep.so")}
        shutil.copy(shutil.which("true"), self.program + ".new")
        os.rename(self.program + ".new", self.program)
        os.unlink(library)

    def build(self, name, text):
        compile_program(self.folder, "libkeep.so", self.LIBRARY, "-Wl,--build-id=sha1", "-shared", "-fPIC")
        return compile_program(self.folder, name, text, "-Wl,--build-id=sha1", "-L" + self.folder,
                               "-lkeep", "-Wl,-rpath," + self.folder)

    @staticmethod
    def build_id(path):
        notes = subprocess.run(["readelf", "-n", path], capture_output=True, text=True, check=True).stdout
        return re.search(r"Build ID: ([0-9a-f]+)", notes).group(1)

    def stack(self, *before):
        result = subprocess.run([*before, BIN, "track", "-p", str(self.process.pid), "-c", CACHE, "--once",
                                 "-i", "0.5", "--json"], capture_output=True, text=True, check=False,
                                timeout=300)
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)["sites"][0]["stack"], result.stderr

    def can_read_library(self):
        with open(f"/proc/{self.process.pid}/maps", encoding="ascii") as stream:
            piece = next(line.split()[0] for line in stream if "libkeep" in line)
        start, end = (int(part, 16) for part in piece.split("-"))
        try:
            with open(f"/proc/{self.process.pid}/map_files/{start:x}-{end:x}", "rb"):
                return True
        except OSError:
            return False

    def check_program(self, frames):
        frame = next(f for f in frames if f["function"] == "serve")  # by /proc/PID/exe
        self.assertEqual(frame["build_id"], self.build_ids["server"])
        self.assertTrue(frame["file"].endswith("server.c"))
        self.assertIsInstance(frame["line"], int)

    def check_closed(self, frames, errors):
        self.check_program(frames)
        self.assertEqual((frames[0]["function"], frames[0]["line"]), ("", None))
        self.assertEqual(errors.count("libkeep.so is not the file that is in use any more"), 1, errors)

    def test_names(self):
        frames, errors = self.stack()
        if not self.can_read_library():
            self.check_closed(frames, errors)
            return
        self.check_program(frames)
        self.assertEqual([f["function"] for f in frames[:3]], ["take", "keep", "serve"])
        self.assertEqual(frames[0]["build_id"], self.build_ids["libkeep.so"])
        self.assertEqual(errors, "")

    @unittest.skipUnless(shutil.which("setpriv"), "no setpriv to go without capabilities")
    def test_without_permission(self):
        less = ["setpriv", "--bounding-set", "-sys_admin,-checkpoint_restore"]
        if subprocess.run([*less, "true"], capture_output=True, check=False).returncode:
            self.skipTest("capabilities cannot be dropped")
        self.check_closed(*self.stack(*less))


@unittest.skipUnless(shutil.which("g++"), "there is no g++")
class WithoutDebugInformation(InOwnFolder):
    """A function without debug information has no line of another one, wherever the linker puts it."""

    PLAIN = """#include <stdlib.h>
void *volatile kept[100000];
static int n;
__attribute__((noinline)) void plain(void)
{
	kept[n++ % 100000] = malloc(500);
	__asm__ volatile("");
}
"""
    MAIN = """#include <vector>
#include <stdlib.h>
#include <unistd.h>
extern "C" void plain();
__attribute__((noinline)) void add(std::vector<void *> &v)
{
	v.push_back(malloc(200));
}
int main()
{
	std::vector<void *> v;
	add(v);
	if (write(1, ".", 1) != 1)
		return 1;
	for (;;) {
		add(v);
		plain();
		usleep(500);
	}
}
"""

    def test_call_site(self):
        for compiler, name, text, options in (("gcc", "plain.c", self.PLAIN, ["-g0"]),
                                              ("g++", "main.cc", self.MAIN, ["-g"])):
            path = os.path.join(self.folder, name)
            with open(path, "w", encoding="utf-8") as stream:
                stream.write(text)
            subprocess.run([compiler, "-O2", *options, "-c", path, "-o", path + ".o"], check=True)
        for order in (("plain.c.o", "main.cc.o"), ("main.cc.o", "plain.c.o")):
            with self.subTest(order=order):
                subprocess.run(["g++", *order, "-o", "both"], cwd=self.folder, check=True)
                process = subprocess.Popen([BIN, "run", os.path.join(self.folder, "both")], stdout=subprocess.PIPE)
                try:
                    self.assertEqual(process.stdout.read(1), b".")
                    run = uslab("track", "-p", process.pid, "--once", "--interval", "0.5", "-c", "malloc-512")
                finally:
                    process.kill()
                    process.communicate()
                self.assertEqual(run.returncode, 0, run.stderr)
                self.assertRegex(run.stdout, r"(?m)  plain  malloc-512$")
                self.assertRegex(run.stdout, r"(?m)^ +plain\+\S+ \[both\]$")


class TrackOdd(InOwnFolder):
    """A program with a name that is no UTF-8, and a tool that may open few files."""

    PROGRAM = r"""
#include <stdlib.h>
#include <unistd.h>

__attribute__((noinline)) static void keep(void)
{
	void *volatile block = malloc(200);

	(void)block;
}

int main(void)
{
	keep(); /* the library starts with the first call */
	if (write(1, ".", 1) != 1)
		return 1;
	for (;;) {
		keep();
		usleep(1000);
	}
}
"""

    def start(self, name):
        program = compile_program(self.folder, "keep", self.PROGRAM)
        path = os.path.join(os.fsencode(self.folder), name)
        os.rename(program, path)
        return start_program(self, [BIN, "run", path], b".").pid

    @staticmethod
    def run_tool(*arguments, descriptors=None):
        def limit():
            resource.setrlimit(resource.RLIMIT_NOFILE, (descriptors, descriptors))

        return subprocess.run([BIN, *map(str, arguments)], capture_output=True, check=False, timeout=300,
                              preexec_fn=limit if descriptors else None)

    def track(self, pid, *arguments, **settings):
        run = self.run_tool("track", "-p", pid, "-c", CACHE, "--once", "-i", "0.3", *arguments, **settings)
        self.assertEqual(run.returncode, 0, run.stderr)
        return run.stdout.decode(), run.stderr.decode()

    def test_invalid_name(self):
        """Whatever files are called, output is UTF-8."""
        pid = self.start(b"le\xffak\xc3\xa4")
        frame = next(f for f in json.loads(self.track(pid, "--json")[0])["sites"][0]["stack"]
                     if f["function"] == "keep")
        self.assertEqual((frame["object"], frame["module"]), ("le?ak\u00e4", self.folder + "/le?ak\u00e4"))
        self.assertRegex(self.track(pid)[0], r"(?m)^ +keep\+\S+ \[le\?ak\u00e4\]")
        self.track(pid, "--folded=-")

    def test_few_descriptors(self):
        pid = self.start(b"keep")
        opened = 3 + self.has_descriptors_of_processes()
        output, errors = self.track(pid, descriptors=opened + 1)
        self.assertRegex(errors, r"^uslab track: no second process could be started \(.*\): if this one is killed, "
                                 r"tracking stays on\nuslab track: too few file descriptors \(ulimit -n\): names of "
                                 r"functions are missing\n$")
        self.assertNotIn("__libc_start", output)
        self.assertEqual(self.track(pid, descriptors=64)[1], "")

    @staticmethod
    def has_descriptors_of_processes():
        try:
            os.close(os.pidfd_open(os.getpid()))
        except (AttributeError, OSError):
            return False
        return True

    def test_filters_cannot_be_read(self):
        """What may end the program is not done where that is not known."""
        pid = self.start(b"keep")
        run = self.run_tool("track", "-p", pid, "-c", CACHE, "--once", "-i", "0.3",
                            descriptors=3 + self.has_descriptors_of_processes())
        self.assertEqual(run.returncode, 1, run.stderr)
        self.assertRegex(run.stderr, rb"seccomp filter.*cannot be read: too few file descriptors .*--force\n$")

    def test_library_of_invalid_name(self):
        library = os.path.join(os.fsencode(self.folder), b"libuslab_malloc\xff.so")
        shutil.copy(os.path.join(LIB, "libuslab_malloc.so"), library)
        program = compile_program(self.folder, "keep", self.PROGRAM)
        process = start_program(self, [program], b".", env={**os.environb, b"LD_PRELOAD": library})
        run = self.run_tool("info", "-p", process.pid, "--json")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual(json.loads(run.stdout.decode())["object"], self.folder + "/libuslab_malloc?.so")


class OtherMalloc(InOwnFolder):
    """Where another malloc comes first the drop-in is never used: this is said."""

    PROGRAM = r"""
#include <stddef.h>
#include <unistd.h>

void *malloc(size_t size)
{
	(void)size;
	return NULL;
}

void free(void *block)
{
	(void)block;
}

int main(void)
{
	if (write(1, ".", 1) != 1)
		return 1;
	pause();
}
"""

    def test_message(self):
        program = compile_program(self.folder, "own", self.PROGRAM)
        process = start_program(self, [BIN, "run", program], b".")
        run = uslab("info", "-p", process.pid)
        self.assertEqual((run.returncode, run.stdout), (1, ""))
        self.assertEqual(run.stderr, f"uslab info: process {process.pid} (own) has loaded uslab and not used it yet, or "
                                     "its malloc is another one: its own, or that of a library before uslab's in "
                                     "LD_PRELOAD\n")


if __name__ == "__main__":
    unittest.main()
