#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# ctest: timeout=900
"""uslab run: the environment it sets, what it refuses, warns of, and the exit statuses."""
import errno
import os
import re
import shutil
import signal
import stat
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from folder import InOwnFolder  # noqa: E402
from programs import compile_program  # noqa: E402

BIN = os.environ["USLAB_BIN"]
LIB = os.environ["USLAB_LIB"]
PYTHON = os.environ.get("USLAB_PYTHON", sys.executable)
LIBRARY = os.path.realpath(os.path.join(LIB, "libuslab_malloc.so"))


def uslab(*arguments, **environment):
    env = {key: value for key, value in os.environ.items()
           if key not in ("USLAB_MALLOC_SO", "USLAB_CONF", "LD_PRELOAD")}
    env.update(environment)
    return subprocess.run([BIN, *arguments], capture_output=True, text=True, check=False, env=env,
                          timeout=300)


class RunTest(InOwnFolder):
    def setUp(self):
        super().setUp()
        os.chmod(self.folder, 0o755)

    def compile(self, name, *flags):
        return compile_program(self.folder, name, "#include <stdlib.h>\n#include <stdio.h>\n"
                               "int main(void) { free(malloc(7)); puts(\"ran\"); return 5; }\n",
                               "-O0", *flags)

    def environment(self, name, *arguments, **environment):
        run = uslab("run", *arguments, "--", "printenv", name, **environment)
        self.assertEqual(run.stderr, "")
        return run.stdout.rstrip("\n")

    # ---- what the program gets

    def test_mistakes_are_said_once(self):
        program = self.compile("said")
        for name in ("USLAB_CONF", "USLAB_FAILSLAB", "USLAB_DEBUG"):
            text = "~" if name == "USLAB_DEBUG" else "nonsense=1"
            run = uslab("run", "--", program, **{name: text})
            self.assertEqual((run.returncode, run.stdout), (5, "ran\n"), run.stderr)
            self.assertEqual(run.stderr.count("\n"), 2 if name == "USLAB_DEBUG" else 1, run.stderr)
            # the command's own library is told all the same where there is no other program
            self.assertEqual(uslab("--version", **{name: text}).stderr, run.stderr)


    def test_library(self):
        self.assertEqual(self.environment("LD_PRELOAD"), LIBRARY)
        maps = uslab("run", "--", "cat", "/proc/self/maps").stdout
        self.assertIn(LIBRARY, maps)

    def test_preload_before(self):
        self.assertEqual(self.environment("LD_PRELOAD", LD_PRELOAD="libc.so.6"),
                         f"{LIBRARY}:libc.so.6")

    def test_library_by_environment(self):
        other = shutil.copy(LIBRARY, self.folder)
        self.assertEqual(self.environment("LD_PRELOAD", USLAB_MALLOC_SO=other), other)
        link = os.path.join(self.folder, "link.so")
        os.symlink(other, link)
        self.assertEqual(self.environment("LD_PRELOAD", USLAB_MALLOC_SO=link), other)
        run = uslab("run", "--", "true", USLAB_MALLOC_SO="/nonexistent.so")
        self.assertEqual(run.returncode, 1)
        self.assertIn("USLAB_MALLOC_SO", run.stderr)

    def test_library_of_others(self):
        """What the dynamic linker preloads as well, or leaves out with a word of its own and goes on."""
        no_library = os.path.join(self.folder, "text.so")
        with open(no_library, "w", encoding="utf-8") as stream:
            stream.write("no library\n")
        inspect = os.path.join(os.path.dirname(LIBRARY), "libuslab_inspect.so")
        for path in (no_library, os.path.realpath(inspect), self.folder):
            run = uslab("run", "--", "true", USLAB_MALLOC_SO=path)
            self.assertEqual((run.returncode, run.stdout), (1, ""), path)
            self.assertIn("USLAB_MALLOC_SO", run.stderr)

    def test_library_that_may_not_be_read(self):
        folder = os.path.join(self.folder, "lib")
        os.mkdir(folder)
        alone = os.path.join(self.folder, "bin")
        os.mkdir(alone)
        alone = shutil.copy(BIN, alone)
        os.symlink("libuslab_malloc.so", os.path.join(folder, "libuslab_malloc.so"))
        run = subprocess.run([alone, "run", "--", "true"], capture_output=True, text=True, check=False,
                             env={"PATH": os.environ["PATH"]})
        self.assertEqual(run.returncode, 1)
        self.assertIn(os.strerror(errno.ELOOP), run.stderr)

    def test_library_with_a_blank(self):
        folder = os.path.join(self.folder, "a blank")
        os.mkdir(folder)
        run = uslab("run", "--", "true", USLAB_MALLOC_SO=shutil.copy(LIBRARY, folder))
        self.assertEqual(run.returncode, 1)
        self.assertIn("cannot be preloaded", run.stderr)

    def test_library_missing(self):
        os.mkdir(os.path.join(self.folder, "bin"))
        alone = shutil.copy(BIN, os.path.join(self.folder, "bin"))
        run = subprocess.run([alone, "run", "--", "true"], capture_output=True, text=True,
                             check=False, env={"PATH": os.environ["PATH"]})
        self.assertEqual(run.returncode, 1)
        self.assertIn("libuslab_malloc.so", run.stderr)
        # both in one folder
        beside = shutil.copy(LIBRARY, os.path.join(self.folder, "bin"))
        run = subprocess.run([alone, "run", "--", "printenv", "LD_PRELOAD"], capture_output=True,
                             text=True, check=False, env={"PATH": os.environ["PATH"]})
        self.assertEqual(run.stdout.strip(), os.path.realpath(beside))
        os.unlink(beside)
        # an installed tree: bin/uslab beside lib/
        os.mkdir(os.path.join(self.folder, "lib"))
        shutil.copy(LIBRARY, os.path.join(self.folder, "lib"))
        run = subprocess.run([alone, "run", "--", "printenv", "LD_PRELOAD"], capture_output=True,
                             text=True, check=False, env={"PATH": os.environ["PATH"]})
        self.assertEqual(run.stdout.strip(), os.path.realpath(self.folder)
                         + "/lib/libuslab_malloc.so")

    def test_choices(self):
        self.assertEqual(self.environment("USLAB_CONF", "--engine", "slub"), "engine=slub")
        self.assertEqual(self.environment("USLAB_CONF", "--front=cpuslab"), "front=cpuslab")
        self.assertEqual(self.environment("USLAB_CONF", "-e", "slub", "-f", "none",
                                          USLAB_CONF="slab_nomerge"),
                         "slab_nomerge,engine=slub,front=none")
        self.assertEqual(self.environment("USLAB_CONF", USLAB_CONF="stats"), "stats")
        self.assertEqual(uslab("run", "--", "printenv", "USLAB_CONF").returncode, 1)

    def test_choice_is_taken(self):
        for front in ("array", "cpuslab", "queues", "none"):
            code = ("import os, subprocess, sys; "
                    "print(subprocess.run([sys.argv[1], 'info', '--json', '-p', str(os.getpid())],"
                    " stdout=subprocess.PIPE, text=True).stdout)")
            run = uslab("run", "-f", front, PYTHON, "-c", code, BIN)
            self.assertEqual((run.returncode, run.stderr), (0, ""))
            self.assertIn(f'"front":"{front}"', run.stdout)
            self.assertIn('"name":"malloc-64"', run.stdout)

    def test_arguments(self):
        # all that follows the program is the program's, with "--" and without
        for before in ((), ("--",)):
            run = uslab("run", *before, "printf", "%s|", "--front", "-x", "--", "a b", "")
            self.assertEqual((run.stdout, run.returncode), ("--front|-x|--|a b||", 0))

    # ---- how it ends

    def test_status(self):
        self.assertEqual(uslab("run", "sh", "-c", "exit 42").returncode, 42)
        self.assertEqual(uslab("run", "sh", "-c", "kill -TERM $$").returncode, -signal.SIGTERM)

    def test_not_found(self):
        # a folder in PATH that this user cannot search is "Permission denied", as with execvp()
        for name in ("no-such-program-here", "/no/such/program"):
            run = uslab("run", "--", name, PATH="/usr/bin:/bin")
            self.assertEqual(run.returncode, 127)
            self.assertIn(name, run.stderr)

    def test_not_executable(self):
        path = os.path.join(self.folder, "plain")
        with open(path, "w", encoding="ascii") as stream:
            stream.write("no program")
        for name in (path, self.folder):
            run = uslab("run", "--", name)
            self.assertEqual(run.returncode, 126)
            self.assertIn(name, run.stderr)

    def test_usage(self):
        for text, *arguments in (("which program?",), ("which program?", "--front=none"),
                                 ("which program?", "--"),
                                 ("no engine 'sleb'; there are: slub", "--engine=sleb", "true"),
                                 ("no front 'arr'; there are: array, cpuslab, queues, sheaves, sheaves:6.18, "
                                  "none, historical", "-f", "arr", "true"),
                                 ("needs a value", "--front"), ("'-x'", "-x", "true")):
            run = uslab("run", *arguments)
            self.assertEqual((run.returncode, run.stdout), (2, ""))
            self.assertIn(text, run.stderr)
            self.assertIn("uslab run --help", run.stderr)

    def test_help(self):
        run = uslab("run", "--help")
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        self.assertIn("Fronts: array cpuslab queues sheaves sheaves:6.18 none historical", run.stdout)
        self.assertRegex(uslab("run", "--version").stdout, r"^uslab \d")

    # ---- programs on which it has no effect

    def check_warning(self, path, text):
        run = uslab("run", "--", path)
        self.assertEqual((run.stdout, run.returncode), ("ran\n", 5))
        if text:
            self.assertIn(f"'{path}' will run without uslab", run.stderr)
            self.assertIn(text, run.stderr)
        else:
            self.assertEqual(run.stderr, "")

    def test_warnings(self):
        self.check_warning(self.compile("plain"), None)
        self.check_warning(self.compile("static", "-static"), "statically linked")
        self.check_warning(self.compile("static-pie", "-static-pie", "-fPIE"), "statically linked")

    def test_other_libc(self):
        """Known by its dynamic linker, be it called as this one is in every other place."""
        own = subprocess.run(["readelf", "-l", BIN], capture_output=True, text=True, check=True)
        own = re.search(r"program interpreter: (.*)\]", own.stdout).group(1)
        for name, text in (("ld-other.so.1", "of another C library"), (os.path.basename(own), None)):
            linker = shutil.copy(own, os.path.join(self.folder, name))
            path = self.compile("program-" + name, f"-Wl,--dynamic-linker={linker}")
            self.check_warning(path, text)
        script = os.path.join(self.folder, "script")
        with open(script, "w", encoding="ascii") as stream:
            stream.write(f"#!{self.folder}/program-ld-other.so.1\n")
        os.chmod(script, 0o755)
        self.check_warning(script, "/ld-other.so.1, of another C library")

    @unittest.skipUnless(shutil.which("musl-gcc"), "musl is not installed")
    def test_musl(self):
        """It runs, where with LD_PRELOAD it would not even start, and keeps what LD_PRELOAD there was."""
        path = os.path.join(self.folder, "musl")
        with open(path + ".c", "w", encoding="ascii") as stream:
            stream.write("#include <stdlib.h>\n#include <stdio.h>\n"
                         "int main(void) { puts(getenv(\"LD_PRELOAD\") ? \"set\" : \"ran\"); return 5; }\n")
        subprocess.run(["musl-gcc", "-o", path, path + ".c"], check=True)
        self.check_warning(path, "ld-musl-")

    def test_sanitizers(self):
        """They need their own malloc: with the drop-in before it the shared ones crash, or give up, or see nothing."""
        tried = 0
        for compiler in ("gcc", "clang"):
            for flag, name in (("address", "AddressSanitizer"), ("thread", "ThreadSanitizer"),
                               ("leak", "LeakSanitizer"), ("memory", "MemorySanitizer")):
                for more in ((), ("-static-libasan",), ("-static-libtsan",)):
                    path = os.path.join(self.folder, f"{compiler}-{flag}{''.join(more)}")
                    if self.sanitized(path, compiler, f"-fsanitize={flag}", *more):
                        self.check_warning(path, f"built with {name}, which needs its own malloc")
                        tried += 1
        if not tried:
            self.skipTest("no compiler with a sanitizer")

    def sanitized(self, path, compiler, *flags):
        """Compiles a program that runs where the sanitizer does; its leaks are not looked for."""
        with open(path + ".c", "w", encoding="ascii") as stream:
            stream.write("#include <stdlib.h>\n#include <stdio.h>\n"
                         "const char *__asan_default_options(void) { return \"detect_leaks=0\"; }\n"
                         "const char *__lsan_default_options(void) { return \"detect_leaks=0\"; }\n"
                         "int main(void) { free(malloc(7)); puts(\"ran\"); return 5; }\n")
        if not shutil.which(compiler):
            return False
        made = subprocess.run([compiler, "-o", path, path + ".c", *flags], capture_output=True,
                              check=False)
        return made.returncode == 0 and subprocess.run([path], capture_output=True,
                                                       check=False).returncode == 5

    def test_script(self):
        static = self.compile("interpreter", "-static")
        script = os.path.join(self.folder, "script")
        with open(script, "w", encoding="ascii") as stream:
            stream.write(f"#! {static} -x\n")
        os.chmod(script, 0o755)
        self.check_warning(script, "statically linked")

    def test_other_user(self):
        # Root can make a program of somebody else's; others have one that is root's.
        if os.geteuid() == 0:
            path = self.compile("setuid")
            os.chown(path, 65534, 65534)
            os.chmod(path, 0o755 | stat.S_ISUID)
            self.check_warning(path, "set-user-ID")
            # not the root's own, which changes nobody
            os.chown(path, 0, 0)
            os.chmod(path, 0o755 | stat.S_ISUID)
            self.check_warning(path, None)
        else:
            path = shutil.which("su") or shutil.which("mount")
            run = uslab("run", "--", path, "--version")
            self.assertIn("set-user-ID", run.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
