#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# ctest: timeout=600 sanitize=no
"""Programs whose main thread has ended by pthread_exit() while another one goes on: tools and reports serve them."""
import json
import os
import re
import shutil
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from folder import InOwnFolder, environment  # noqa: E402
from programs import compile_program, start_program  # noqa: E402

BIN = os.environ["USLAB_BIN"]
LIB = os.environ["USLAB_LIB"]
HEAD = r"""
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pthread_t first;
"""
SERVER = HEAD + r"""
static void *serve(void *arg)
{
	for (;;) {
		memset(malloc(600), 1, 600);
		usleep(1000);
	}
	return arg;
}

int main(int argc, char **argv)
{
	pthread_create(&first, NULL, serve, NULL);
	if (write(1, ".", 1) != 1)
		return 1;
	usleep((useconds_t)atoi(argv[argc - 1]) * 1000);
	pthread_exit(NULL);
}
"""
MISTAKE = HEAD + r"""
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>

__attribute__((noinline)) static void free_again(void *volatile block)
{
	free(block);
	free(block);
	__asm__ volatile("");
}

__attribute__((noinline)) static void *serve(void *arg)
{
	pthread_join(first, NULL);
	usleep(50000); /* the thread's memory goes after it is joined */
	free_again(malloc(600));
	return arg;
}

/* One that allows all, from the start of what is executed. */
static void install_filter(void)
{
	struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	struct sock_fprog program = { 1, &allow };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		_exit(77);
}

int main(int argc, char **argv)
{
	static pthread_t other;

	if (argc > 1) {
		install_filter();
		execl(argv[0], argv[0], NULL);
	}
	first = pthread_self();
	pthread_create(&other, NULL, serve, NULL);
	pthread_exit(NULL);
}
"""


def uslab(*arguments):
    return subprocess.run([BIN, *map(str, arguments)], capture_output=True, text=True, check=False, timeout=120)


class Tools(InOwnFolder):
    def start(self, milliseconds):
        program = compile_program(self.folder, "server", SERVER, "-pthread")
        env = environment(LD_PRELOAD=os.path.join(LIB, "libuslab_malloc.so"))
        return start_program(self, [program, str(milliseconds)], b".", env=env).pid

    def start_without_main(self):
        pid = self.start(0)
        while self.state(pid) != "Z":
            time.sleep(0.01)
        return pid

    @staticmethod
    def state(pid):
        with open(f"/proc/{pid}/stat", encoding="ascii") as stream:
            return stream.read().rsplit(")", 1)[1].split()[0]

    def succeeds(self, *arguments):
        run = uslab(*arguments)
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        return run.stdout

    def test_info(self):
        pid = self.start_without_main()
        found = json.loads(self.succeeds("info", "-p", pid, "--json"))
        self.assertTrue(found["object"].endswith("libuslab_malloc.so"))
        self.assertGreater(found["memory"]["process"], 1 << 20)
        self.assertIn("the program: its files, stacks", self.succeeds("info", "-m", "-p", pid))

    def test_debug(self):
        pid = self.start_without_main()
        self.succeeds("debug", "-p", pid, "-c", "malloc-640", "FZPU")
        self.assertIn("malloc-640", self.succeeds("debug", "-p", pid, "-c", "malloc-640", "-"))

    def test_top(self):
        self.assertIn("malloc-640", self.succeeds("top", "-b", "-p", self.start_without_main(), "-n", "1", "-d", "0.2"))

    def check_track(self, pid, seconds):
        site = json.loads(self.succeeds("track", "-p", pid, "-c", "malloc-640", "--once", "-i", seconds, "--json"))["sites"][0]
        self.assertEqual((site["function"], site["object"]), ("serve", "server"))
        self.assertIsInstance(site["line"], int)

    def test_track(self):
        self.check_track(self.start_without_main(), 0.5)

    def test_track_ends_meanwhile(self):
        """The end of the main thread is not taken for that of the process."""
        pid = self.start(1500)
        self.check_track(pid, 3)
        end = time.monotonic() + 60
        while self.state(pid) != "Z" and time.monotonic() < end:
            time.sleep(0.1)
        self.assertEqual(self.state(pid), "Z")
        self.assertNotIn("U", self.flags(pid))

    def flags(self, pid):
        caches = json.loads(self.succeeds("info", "-p", pid, "-z", "--json"))["caches"]
        return {"U" for cache in caches if cache["flags"]["store_user"]}

    @unittest.skipUnless(shutil.which("strace"), "no strace to refuse process_vm_readv() with")
    def test_by_file(self):
        """Where process_vm_readv() is forbidden /proc/PID/mem serves."""
        pid = self.start_without_main()
        run = subprocess.run(["strace", "-o", "/dev/null", "-e", "trace=process_vm_readv", "-e",
                              "inject=process_vm_readv:error=EPERM", BIN, "info", "-p", str(pid)],
                             capture_output=True, text=True, check=False, timeout=120)
        if "ptrace" in run.stderr:
            self.skipTest("strace is not permitted")
        self.assertEqual((run.returncode, run.stderr), (0, ""))


class Reports(InOwnFolder):
    def report(self, *arguments, **settings):
        program = compile_program(self.folder, "server", MISTAKE, "-pthread")
        preload = os.path.join(LIB, "libuslab_malloc.so")
        run = subprocess.run([program, *arguments], capture_output=True, text=True, check=False, timeout=120,
                             env=environment(LD_PRELOAD=preload, **settings))
        if run.returncode == 77:
            self.skipTest("filters of system calls are not permitted")
        self.assertIn("Object already free", run.stderr)
        return run.stderr

    def test_names(self):
        self.check_names()
        self.check_names(USLAB_DEBUG="FZPU")

    def test_filtered(self):
        """Memory is read through a file then."""
        self.check_names("filter", USLAB_DEBUG="FZPU")

    def check_names(self, *arguments, **settings):
        text = self.report(*arguments, **settings)
        self.assertRegex(text, r"free_again\+0x[0-9a-f]+/0x[0-9a-f]+")
        self.assertRegex(text, r"serve\+0x[0-9a-f]+/0x[0-9a-f]+")
        self.assertIsNone(re.search(r"(?m)^ +0x[0-9a-f]+$", text), text)


if __name__ == "__main__":
    unittest.main()
