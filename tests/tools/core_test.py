#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# ctest: timeout=900
"""uslab info --core: a core file gives the numbers that the process had; damaged ones do no harm."""
import json
import os
import random
import re
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import types
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import cores  # noqa: E402
from folder import InFolder  # noqa: E402
from programs import WITH_LIBRARY, compile_program  # noqa: E402

BIN = os.environ["USLAB_BIN"]
LIB = os.environ["USLAB_LIB"]
SRC = os.environ["USLAB_SRC"]
CC = os.environ.get("USLAB_CC", "cc")
PYTHON = os.environ.get("USLAB_PYTHON", sys.executable)

WIDGETS = r"""
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <uslab/slab.h>

int main(void)
{
	static void *objects[3000];
	static const char *const fronts[] = { "array", "cpuslab", "queues", "none" };
	char byte;

	for (int i = 0; i < 4; i++) {
		struct kmem_cache_args args = { .front = fronts[i] };
		struct kmem_cache *cache = kmem_cache_create_args(fronts[i], 328, &args, 0);

		for (int j = 0; j < 3000; j++)
			objects[j] = kmem_cache_alloc(cache, GFP_KERNEL);
		for (int j = 0; j < 3000; j += 3)
			kmem_cache_free(cache, objects[j]);
	}
	kmalloc(1 << 20, GFP_KERNEL);
	kmalloc(20 << 20, GFP_KERNEL);
	if (write(1, "ready\n", 6) != 6 || read(0, &byte, 1) < 0)
		return 1;
	abort();
}
"""

OBJECTS = """
import sys
texts = [str(i) * 3 for i in range(100000)]
lists = {i: [i] for i in range(20000)}
del texts[::3]
print("ready", flush=True)
sys.stdin.read(1)
"""


class CoreTest(InFolder):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.widgets = os.path.join(cls.folder, "widgets")
        subprocess.run([CC, "-O1", "-I", f"{SRC}/include", "-x", "c", "-", "-o", cls.widgets,
                        "-L", LIB, "-luslab", f"-Wl,-rpath,{LIB}"],
                       input=WIDGETS, text=True, check=True)
        with open(os.path.join(cls.folder, "objects.py"), "w") as stream:
            stream.write(OBJECTS)

    def setUp(self):
        self.place = tempfile.mkdtemp(dir=self.folder)

    # ---- helpers ----

    def start(self, *command, coredump_filter=None):
        """A process that has said "ready" and waits."""
        def prepare():
            cores.allow()
            if coredump_filter is not None:
                with open("/proc/self/coredump_filter", "w", encoding="ascii") as stream:
                    stream.write(hex(coredump_filter))

        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   cwd=self.place, preexec_fn=prepare, stderr=subprocess.DEVNULL)
        self.addCleanup(self.end, process)
        self.assertEqual(process.stdout.readline(), b"ready\n")
        self.wait_asleep(process.pid)
        return process

    @staticmethod
    def wait_asleep(pid):
        while True:
            with open(f"/proc/{pid}/stat") as stream:
                if stream.read().rsplit(")", 1)[1].split()[0] == "S":
                    return
            time.sleep(0.01)

    @staticmethod
    def end(process):
        if process.poll() is None:
            process.kill()
        process.wait()
        process.stdin.close()
        process.stdout.close()

    def core_of(self, process, kill=True):
        """Ends the process; the path of its core."""
        why = cores.why_none()
        if why:
            if not shutil.which("gcore"):
                self.skipTest(why + ", and there is no gcore")
            subprocess.run(["gcore", "-o", f"{self.place}/core", str(process.pid)], check=True,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            process.kill()
        elif kill:
            process.send_signal(signal.SIGABRT)
        else:
            process.stdin.write(b"x")
            process.stdin.flush()
        process.wait(timeout=300)
        found = cores.find(self.place)
        self.assertTrue(found, "no core file was written")
        return found

    def info(self, *arguments, files=None):
        """files: that may be open at a time."""
        return subprocess.run([BIN, "info", *arguments], capture_output=True, text=True, timeout=300, check=False,
                              preexec_fn=files and (lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))))

    def numbers(self, *arguments, files=None):
        run = self.info(*arguments, "--json", files=files)
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        return json.loads(run.stdout)

    def fails(self, path, text, files=None):
        run = self.info("--core", path, files=files)
        self.assertEqual(run.returncode, 1, run.stderr)
        self.assertEqual(run.stdout, "")
        self.assertTrue(run.stderr.startswith("uslab info: "), run.stderr)
        self.assertEqual(run.stderr.count("\n"), 1)
        self.assertIn(text, run.stderr)

    def same_memory(self, live, core):
        """Taken out of both. A core of the kernel's has the pages that were resident, gdb's any."""
        was, memory = live.pop("memory"), core.pop("memory")
        for found in live, core:
            for cache in found["caches"]:
                cache.pop("memory")
        self.assertEqual(memory["moved"], 0)
        if not cores.why_none():
            for kind in "live", "padding", "runs", "metadata", "windows":
                self.assertLessEqual(abs(memory["kinds"][kind] - was["kinds"][kind]), was["kinds"][kind] / 50 + 65536,
                                     kind)

    def same_as_live(self, *command):
        process = self.start(*command)
        live = self.numbers("-p", str(process.pid))
        table = self.info("-p", str(process.pid), "-a").stdout
        path = self.core_of(process)
        core = self.numbers("--core", path)
        self.assertGreater(len(live["caches"]), 3)
        self.same_memory(live, core)
        for key in live:
            self.assertEqual(core[key], live[key], key)
        self.assertEqual(self.info("--core", path, "-a").stdout, table)
        return path, core

    # ---- tests ----

    def test_api_program(self):
        path, core = self.same_as_live(self.widgets)
        caches = {cache["name"]: cache for cache in core["caches"]}
        for front in ("array", "cpuslab", "queues", "none"):
            self.assertEqual(caches[front]["objects"], 2000)
        # what is reserved is not in it, by far; 1 MiB for each possible CPU is, as holes
        self.assertLess(os.stat(path).st_size, 100 + os.sysconf("SC_NPROCESSORS_CONF") << 20)
        if not cores.why_none():  # gcore's has all of libraries
            self.assertLess(os.stat(path).st_blocks * 512, 8 << 20)

    def test_drop_in(self):
        path, core = self.same_as_live(BIN, "run", "--", PYTHON, f"{self.folder}/objects.py")
        self.assertIn("libuslab_malloc.so", core["object"])
        self.assertLess(os.stat(path).st_size, 200 + os.sysconf("SC_NPROCESSORS_CONF") << 20)

    def test_abort_in_the_program(self):
        process = self.start(self.widgets)
        live = self.numbers("-p", str(process.pid))
        core = self.numbers("--core", self.core_of(process, kill=False))
        self.assertEqual(core["caches"], live["caches"])

    def test_program_is_gone(self):
        program = shutil.copy(self.widgets, self.place)
        process = self.start(program)
        live = self.numbers("-p", str(process.pid))
        path = self.core_of(process)
        os.unlink(program)
        self.assertEqual(self.numbers("--core", path)["caches"], live["caches"])

    def test_library_is_gone(self):
        """Whole pages, engines and fronts have the names that they have in the process."""
        library = shutil.copy(os.path.join(LIB, "libuslab_malloc.so"), self.place)
        process = self.start("env", f"USLAB_MALLOC_SO={library}", BIN, "run", "--", PYTHON,
                             f"{self.folder}/objects.py")
        live = self.numbers("-p", str(process.pid))["caches"]
        path = self.core_of(process)
        os.unlink(library)
        self.assertEqual(self.numbers("--core", path)["caches"], live)
        self.assertLess({"malloc-large", "malloc-mapped", "free-pages"},
                        {cache["name"] for cache in live})

    def test_names_of_each_engine(self):
        """Of heaps too, and of the fronts that are no default."""
        for engine, front in (("slob:1991", "none"), ("slobseg:pow2", "none"), ("slobseg", "array"),
                              ("slab", "queues"), ("slub", "cpuslab")):
            library = shutil.copy(os.path.join(LIB, "libuslab_malloc.so"), self.place)
            process = self.start("env", f"USLAB_MALLOC_SO={library}", BIN, "run", "-e", engine,
                                 "-f", front, "--", PYTHON, f"{self.folder}/objects.py")
            path = self.core_of(process)
            os.unlink(library)
            caches = self.numbers("--core", path)["caches"]
            found = {(cache["engine"], cache["front"]) for cache in caches if cache["id"]}
            self.assertEqual(found, {(engine, front)})
            if engine in ("slob:1991", "slobseg:pow2"):
                self.assertIn(f"{engine}-heap", {cache["name"] for cache in caches})

    MANY = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include <uslab/slab.h>

/* usage: many FILES NAMES: so many files of this folder, then so many that have only a name */
int main(int argc, char **argv)
{
	int files = atoi(argv[1]), all = files + atoi(argv[2]);
	char name[32], byte;

	kmem_cache_alloc(kmem_cache_create("widget", 100, 0, 0, NULL), GFP_KERNEL);
	for (int i = 0; i < all; i++) {
		int fd;

		snprintf(name, sizeof(name), "%d", i);
		fd = i < files ? open(name, O_RDWR | O_CREAT, 0600) : memfd_create(name, 0);
		if (fd < 0 || write(fd, name, sizeof(name)) != sizeof(name) ||
		    mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0) == MAP_FAILED || close(fd))
			return 1;
	}
	if (write(1, "ready\n", 6) != 6 || read(0, &byte, 1) < 0)
		return 1;
	abort();
}
"""

    def test_many_mapped_files(self):
        """More than there are descriptors, and more than 4096: the library is the last of them."""
        program = compile_program(self.folder, "many", self.MANY, *WITH_LIBRARY)
        process = self.start(program, "100", "4500")
        live = self.numbers("-p", str(process.pid))["caches"]
        path = self.core_of(process)
        self.assertEqual(self.numbers("--core", path, files=32)["caches"], live)

    def test_no_descriptors(self):
        """One for the core, and none for the files that were mapped."""
        run = self.info("--core", self.core_of(self.start(self.widgets)), files=4)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual(run.stderr.count("too few file descriptors"), 1, run.stderr)
        os.unlink(cores.find(self.place))
        path = self.core_of(self.start("/bin/sh", "-c", "echo ready; read x"))
        self.fails(path, "too few file descriptors", files=4)

    def test_program_without_uslab(self):
        process = self.start("/bin/sh", "-c", "echo ready; read x")
        path = self.core_of(process)
        self.fails(path, "did not use uslab")
        with open(path, "r+b") as stream:
            core = stream.read()
            twice = re.search(rb"(/[^\0]+)\0\1\0", core)  # of the names of mapped files: now there is one less
            stream.seek(twice.end(1))
            stream.write(b"x")
        self.fails(path, "1 of its mapped files were not looked at")

    def test_no_anonymous_memory(self):
        """/proc/PID/coredump_filter decides: without bit 0 there is nothing of uslab's."""
        for value in (0x00, 0x02, 0x10):
            path = self.core_of(self.start(self.widgets, coredump_filter=value))
            self.fails(path, "has no anonymous memory")
            self.fails(path, "coredump_filter")
            os.unlink(path)

    def test_no_headers(self):
        """Without bit 4 files are not known by their first pages: code is a file and an address in it."""
        for value in (0x01, 0x21, 0x33):
            program = self.start_tracked(value)
            path = self.core_of(program.process)
            run = subprocess.run([BIN, "track", "--core", path, "--json"], capture_output=True, text=True,
                                 timeout=300, check=False)
            self.assertEqual(run.returncode, 0, run.stderr)
            site = next(s for s in json.loads(run.stdout)["sites"] if s["cache"] == "malloc-640")
            self.check_frame(site["stack"][0], program.path, run.stderr, value & 0x10)
            os.unlink(path)

    KEEP = r"""
#include <stdlib.h>
#include <unistd.h>

__attribute__((noinline)) static void *keep(void)
{
	void *volatile block = malloc(600);

	return block;
}

int main(void)
{
	void *volatile block = keep();

	if (!block || write(1, "ready\n", 6) != 6 || read(0, (char *)block, 1) < 0)
		return 1;
	abort();
}
"""

    def start_tracked(self, value, library=f"{LIB}/libuslab_malloc.so"):
        """As start(), with all objects tracked. Its program has another place in memory than in the file."""
        path = compile_program(self.place, "keep", self.KEEP, "-no-pie", "-Wl,-z,separate-code")
        process = self.start("env", f"LD_PRELOAD={library}", "USLAB_DEBUG=U", path, coredump_filter=value)
        return types.SimpleNamespace(path=path, process=process)

    def check_frame(self, frame, program, errors, headers):
        self.assertEqual(frame["module"], program)
        if headers:
            self.assertEqual((frame["function"], errors), ("keep", ""))
            return
        self.assertEqual((frame["function"], frame["object"]), ("", "keep"))
        self.assertEqual(errors.count("lacks the first pages of ELF files"), 1, errors)
        self.assertEqual(errors.count("\n"), 1, errors)
        found = subprocess.run(["addr2line", "-f", "-e", program, frame["module_offset"]], capture_output=True,
                               text=True, check=True)
        self.assertEqual(found.stdout.split("\n", maxsplit=1)[0], "keep")

    def test_no_core_files(self):
        text = os.path.join(self.place, "text")
        with open(text, "w") as stream:
            stream.write("no core\n" * 100)
        self.fails(text, "it is no core file")
        with open(text, "w"):
            pass
        self.fails(text, "too short")
        self.fails(self.widgets, "it is no core file, but a program or library")
        self.fails(self.place, "it is no regular file")
        self.fails("/no/such/file", "No such file or directory")
        self.fails("/dev/null", "it is no regular file")

    def test_cut_short(self):
        path = self.core_of(self.start(self.widgets))
        with open(path, "rb") as stream:
            core = stream.read()
        for size in (10, 70, 1000, 5000, 100000, len(core) // 2):
            with open(path, "wb") as stream:
                stream.write(core[:size])
            run = self.info("--core", path)
            self.assertIn(run.returncode, (0, 1))
            self.assertEqual(run.returncode == 1, run.stdout == "")
            self.assertTrue(run.returncode == 0 or run.stderr.startswith("uslab info: "))
        with open(path, "wb") as stream:
            stream.write(core[:100000])
        self.fails(path, "is truncated")
        self.fails(path, "what is there has no uslab; its data may be among what is missing")

    def gcore(self, process):
        path = os.path.join(self.place, "core.gdb")
        subprocess.run(["gdb", "-p", str(process.pid), "-batch", "-ex", f"gcore {path}"], check=True,
                       capture_output=True, timeout=300)
        return path

    @unittest.skipUnless(shutil.which("gdb"), "no gdb to make a core file with")
    def test_cut_in_its_notes(self):
        """gcore writes them last."""
        path = self.gcore(self.start(self.widgets))
        with open(path, "rb") as stream:
            headers = stream.read(1 << 16)
        count = struct.unpack_from("<H", headers, 56)[0]
        offset, size = next((header[2], header[5]) for header in
                            (struct.unpack_from("<IIQQQQQQ", headers, 64 + 56 * i) for i in range(count))
                            if header[0] == 4)
        os.truncate(path, offset + 1000)
        missing = re.escape(f"{path} is truncated: {size - 1000} bytes are missing, among them which files")
        for command in ("info", "track"):
            run = subprocess.run([BIN, command, "--core", path], capture_output=True, text=True, check=False,
                                 timeout=300)
            self.assertEqual((run.returncode, run.stdout), (1, ""))
            self.assertRegex(run.stderr, f"^uslab {command}: {missing}")

    def track(self, *arguments):
        return subprocess.run([BIN, "track", "--core", *arguments], capture_output=True, text=True, check=False,
                              timeout=300)

    def test_never_tracked(self):
        """There is no table of it, but how to have one."""
        path = self.core_of(self.start(self.widgets))
        for arguments in ((), ("--json",), ("-c", "array")):
            run = self.track(path, *arguments)
            self.assertEqual((run.returncode, run.stdout), (1, ""))
            self.assertRegex(run.stderr, r"^uslab track: no(ne of these)? caches? of \S+ was tracked\..*USLAB_DEBUG=U.*--keep\n$")

    def test_tracked_program_is_gone(self):
        """That it can be named is said; once it is there are names."""
        program = self.start_tracked(0x33)
        path = self.core_of(program.process)
        moved = program.path + ".moved"
        os.rename(program.path, moved)
        run = self.track(path, "--json")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual(run.stderr, f"uslab track: {program.path} cannot be opened, and code in it has no names; if "
                         "it is elsewhere: --program=FILE, or --sysroot=DIR, the folder of all files\n")
        self.assertEqual(self.info("--core", path, "-r", "malloc-640").stderr,
                         run.stderr.replace("track", "info"))
        for arguments in (moved,), (f"--program={moved}",):
            run = self.track(path, *arguments, "--json")
            self.assertEqual((run.returncode, run.stderr), (0, ""))
            self.assertIn('"keep"', run.stdout)
        shutil.copy("/bin/sh", program.path)
        self.assertIn(f"{program.path} has changed since, and code", self.track(path).stderr)

    @staticmethod
    def mapped_files(pid):
        with open(f"/proc/{pid}/maps", encoding="utf-8") as stream:
            return {fields[5] for fields in (line.split(maxsplit=5) for line in stream.read().splitlines())
                    if len(fields) == 6 and fields[5].startswith("/")}

    def in_container(self):
        """What a program in a container left: its core, and all files in a folder, with an absolute link in that.
        On the way there the program was lost, and its library became another one."""
        library = shutil.copy(os.path.join(LIB, "libuslab_malloc.so"), self.place)
        program = self.start_tracked(0x33, library)
        live = self.numbers("-p", str(program.process.pid))
        root = os.path.join(self.place, "root")
        os.makedirs(root + "/srv")
        os.makedirs(root + os.path.dirname(self.place))
        inside = tuple(map(int, os.uname().release.split("-", maxsplit=1)[0].split(".")[:2])) >= (5, 6)
        os.symlink("/srv" if inside else os.path.relpath("/srv", os.path.dirname(self.place)), root + self.place)
        for path in self.mapped_files(program.process.pid):
            place = path.replace(self.place, "/srv")
            os.makedirs(root + os.path.dirname(place), exist_ok=True)
            shutil.copy(path, root + place)
        core = self.core_of(program.process)
        os.unlink(program.path)
        shutil.copy(os.path.join(LIB, "libuslab.so"), library)
        return types.SimpleNamespace(core=core, root=root, program=program.path, live=live)

    def stack(self, *arguments, errors=""):
        """Names of functions, from keep() on."""
        run = self.track(*arguments, "--json")
        self.assertEqual((run.returncode, run.stderr), (0, errors))
        site = next(s for s in json.loads(run.stdout)["sites"] if s["cache"] == "malloc-640")
        return [frame["function"] for frame in site["stack"]]

    def test_files_in_a_folder(self):
        left = self.in_container()
        arguments = left.core, "--sysroot", left.root
        names = self.stack(*arguments)
        self.assertEqual(names[:2], ["keep", "main"])
        self.assertTrue(names[2], names)  # of libc
        self.assertEqual(self.numbers("--core", *arguments)["caches"], left.live["caches"])
        users = self.info("--core", *arguments, "-r", "malloc-640")
        self.assertEqual((users.returncode, users.stderr), (0, ""))
        named = r"\bkeep\+0x\w+/0x\w+ \[keep\]"
        self.assertRegex(users.stdout, named)
        self.assertNotRegex(self.info("--core", left.core, "-r", "malloc-640").stdout, named)
        # the program that is given is not looked for there
        self.assertEqual(self.stack(left.core, left.root + "/srv/keep", "--sysroot", left.root), names)
        run = self.info("--core", *arguments, "--program", left.program)
        self.assertEqual((run.returncode, run.stdout), (1, ""))
        self.assertIn("the program given cannot be opened", run.stderr)

    def test_folder_lacks_files(self):
        """What is missing there is not taken from elsewhere, and what is another file is not read."""
        left = self.in_container()
        libc = next(path for path in self.mapped_files(os.getpid()) if re.search(r"/(libc\.so|libc-|ld-musl)", path))
        end = "under --sysroot, and code in it has no names\n"
        shutil.copy(os.path.join(LIB, "libuslab.so"), left.root + libc)
        self.assertEqual(self.stack(left.core, "--sysroot", left.root, errors=f"uslab track: {libc} is another file "
                                    + end)[:3], ["keep", "main", ""])
        os.unlink(left.root + libc)
        self.assertEqual(self.stack(left.core, "--sysroot", left.root, errors=f"uslab track: {libc} cannot be opened "
                                    + end)[:3], ["keep", "main", ""])
        os.unlink(left.root + "/srv/keep")
        run = self.track(left.core, "--sysroot", left.root)
        self.assertIn(f"uslab track: {left.program} cannot be opened {end.strip()}; if it is elsewhere: "
                      "--program=FILE\n", run.stderr)

    def test_library_is_lost(self):
        """Code in it has no names, and how to name its place is said."""
        name = "libheld.so"
        library = compile_program(self.place, name, self.KEEP.replace("int main(", "int held("), "-shared", "-fPIC")
        program = compile_program(self.place, "holder", "int held(void);int main(void){return held();}", library,
                                  "-Wl,-rpath," + self.place)
        path = self.core_of(self.start("env", f"LD_PRELOAD={LIB}/libuslab_malloc.so", "USLAB_DEBUG=U", program,
                                       coredump_filter=0x33))
        self.assertEqual(self.stack(path)[:3], ["keep", "held", "main"])
        root = os.path.join(self.place, "root")
        os.makedirs(root + self.place)
        os.rename(library, root + library)
        errors = (f"uslab track: {library} cannot be opened, and code in it has no names; if it is elsewhere: "
                  "--sysroot=DIR, the folder of all files\n")
        self.assertEqual(self.stack(path, errors=errors)[0], "")
        shutil.copy("/bin/sh", library)
        self.assertEqual(self.stack(path, errors=errors.replace("cannot be opened", "has changed since"))[0], "")

    def test_no_folder(self):
        path = self.core_of(self.start(self.widgets))
        for command in ("info", "track"):
            for folder, why in (("/no/such", "No such file or directory"), (path, "Not a directory"),
                                ("", "No such file or directory")):
                run = subprocess.run([BIN, command, "--core", path, f"--sysroot={folder}"], capture_output=True,
                                     text=True, check=False, timeout=300)
                self.assertEqual((run.returncode, run.stdout, run.stderr),
                                 (1, "", f"uslab {command}: --sysroot={folder}: {why}\n"))

    def test_no_uslab_and_lost_files(self):
        """Where uslab may be in a file that is elsewhere, that is said."""
        empty = tempfile.mkdtemp(dir=self.place)
        program = shutil.copy("/bin/sh", self.place)
        path = self.core_of(self.start(program, "-c", "echo ready; read x"))
        run = self.info("--core", path, "--sysroot", empty)
        self.assertEqual((run.returncode, run.stdout), (1, ""))
        self.assertIn(f"{program} cannot be opened under --sysroot: name the program's file if", run.stderr)
        run = self.info("--core", path, "--sysroot", empty, "--program", program)
        self.assertEqual((run.returncode, run.stdout), (1, ""))
        self.assertRegex(run.stderr, r"; /\S+ cannot be opened under --sysroot\n$")
        os.unlink(program)
        self.fails(path, "cannot be opened: name the program's file, or the folder of all files by --sysroot")

    def test_other_machines(self):
        path = self.core_of(self.start(self.widgets))
        with open(path, "rb") as stream:
            core = bytearray(stream.read())
        for at, value, text in ((4, 1, "32-bit"), (5, 2, "another kind of machine"),
                                (18, 0xb7, "another kind of machine")):
            before, core[at] = core[at], value
            with open(path, "wb") as stream:
                stream.write(core)
            core[at] = before
            self.fails(path, text)

    def test_damaged(self):
        """Random words anywhere in headers, notes and uslab's data: no crash, no hang."""
        path = self.core_of(self.start(self.widgets))
        with open(path, "rb") as stream:
            core = stream.read()
        rnd = random.Random(1)
        words = (0, 1, 2**64 - 1, 2**63, 2**32, 0x7fff, 4096)
        for _ in range(25):
            damaged = bytearray(core)
            for _ in range(rnd.randrange(1, 200)):
                reach = rnd.choice((2000, 10000, len(core) - 8))
                struct.pack_into("<Q", damaged, 64 + rnd.randrange(reach // 8 - 8) * 8,
                                 rnd.choice(words))
            with open(path, "wb") as stream:
                stream.write(damaged)
            run = self.info("--core", path)
            self.assertIn(run.returncode, (0, 1), run.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
