#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""scripts/build-peers: what it builds, names and keeps, its errors, and its list in `uslab bench`.

Made-up sources stand for the real ones and are built by the same means: a CMake project for mimalloc3, a file
of C for rpmalloc, and a jemalloc that cannot be configured. Their malloc hands out the next bytes.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import unittest

SOURCE = os.environ.get("USLAB_SRC") or os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
USLAB = os.environ["USLAB_BIN"]
sys.path.insert(0, os.path.join(SOURCE, "tests", "support"))
from folder import InOwnFolder, environment  # noqa: E402

# A free of the newest block takes it back, so that a loop of pairs does not run out.
MALLOC = """
#include <stddef.h>
#include <string.h>
static _Alignas(16) char space[64 << 20];
static size_t used;
static size_t whole(size_t n) { return (n + 31) & ~(size_t)15; }
void *malloc(size_t n)
{
	size_t *at = (size_t *)(space + __atomic_fetch_add(&used, whole(n), __ATOMIC_RELAXED));
	*at = n;
	return at + 2;
}
void free(void *p)
{
	size_t *at = (size_t *)p - 2, end;
	if (!p)
		return;
	end = (size_t)((char *)at - space) + whole(*at);
	__atomic_compare_exchange_n(&used, &end, (size_t)((char *)at - space), 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}
void *calloc(size_t n, size_t size) { return memset(malloc(n * size), 0, n * size); }
void *realloc(void *p, size_t n)
{
	void *q = malloc(n);
	if (p)
		memcpy(q, p, n < ((size_t *)p)[-2] ? n : ((size_t *)p)[-2]);
	return q;
}
"""
PROJECT = """
cmake_minimum_required(VERSION 3.16)
project(mimalloc C)
add_library(mimalloc SHARED malloc.c)
target_compile_options(mimalloc PRIVATE -fno-builtin)
"""


@unittest.skipUnless(all(map(shutil.which, ("cmake", "ninja", "git", "c++"))), "needs cmake, ninja, git, c++")
class BuildPeers(InOwnFolder):
    def setUp(self):
        super().setUp()
        self.sources, self.output = (os.path.join(self.folder, name) for name in ("sources", "output"))
        os.makedirs(self.sources)

    def build(self, *names, status=0):
        run = subprocess.run([os.path.join(SOURCE, "scripts", "build-peers"), self.sources, self.output, *names],
                             capture_output=True, text=True, check=False, env=environment())
        self.assertEqual(run.returncode, status, run.stdout + run.stderr)
        return run

    def git(self, name, *arguments):
        subprocess.run(["git", "-C", os.path.join(self.sources, name), "-c", "user.name=n", "-c", "user.email=e",
                        *arguments], check=True, capture_output=True)

    def committed(self, name, tag=None):
        self.git(name, "init")
        self.git(name, "add", ".")
        self.git(name, "commit", "-m", "all")
        if tag:
            self.git(name, "tag", tag)

    def put_sources(self):
        self.put("sources/mimalloc3/CMakeLists.txt", PROJECT)
        self.put("sources/mimalloc3/malloc.c", MALLOC)
        self.committed("mimalloc3", "v3.9.1")
        self.put("sources/rpmalloc/rpmalloc/rpmalloc.c", MALLOC)
        self.committed("rpmalloc")

    def listed(self):
        with open(os.path.join(self.output, "peers.txt"), encoding="utf-8") as stream:
            return stream.read().splitlines()

    def test_what_is_there_is_built(self):
        self.put_sources()
        self.build()
        mimalloc, rpmalloc = self.listed()
        self.assertEqual(mimalloc, f"mimalloc3={self.output}/libmimalloc3.so 3.9.1")
        self.assertRegex(rpmalloc, rf"^rpmalloc={re.escape(self.output)}/librpmalloc.so [0-9a-f]+-\d{{4}}-\d\d-\d\d$")
        for name in ("mimalloc3", "rpmalloc"):
            state = subprocess.run(["git", "-C", os.path.join(self.sources, name), "status", "--porcelain"],
                                   check=True, capture_output=True, text=True).stdout
            self.assertEqual(state, "", "sources are changed")

    def test_the_list_is_read(self):
        """Both are measured, by the version that the list has; JSON names no folder."""
        self.put_sources()
        self.build()
        peers = os.path.join(self.output, "peers.txt")
        with open(peers, "a", encoding="utf-8") as stream:
            stream.write("  # made by hand\nslow=librpmalloc.so 0.1 beta RPMALLOC_A=1 RPMALLOC_B=x=y # slow\n")
        run = subprocess.run([USLAB, "bench", "pair", "--quick", "--no-counts", "--json", "--peers", f"@{peers}",
                              "--only", "uslab-malloc,mimalloc3,slow"], capture_output=True, text=True, check=False)
        self.assertEqual(run.returncode, 0, run.stderr)
        by_name = {c["name"]: c for c in json.loads(run.stdout)["contestants"]}
        self.assertEqual(list(by_name), ["uslab-malloc", "mimalloc3", "slow"])
        self.assertEqual(by_name["mimalloc3"]["version"], "3.9.1")
        self.assertEqual(by_name["slow"]["version"], "0.1 beta")
        self.assertEqual(by_name["slow"]["library"], "librpmalloc.so")
        self.assertEqual(by_name["slow"]["environment"], {"RPMALLOC_A": "1", "RPMALLOC_B": "x=y"})
        self.assertEqual(by_name["slow"]["role"], "peer")
        self.assertGreater(by_name["slow"]["metrics"]["pair"]["median"], 0)

    def test_what_fails_is_named_and_the_rest_is_kept(self):
        self.put_sources()
        self.build("rpmalloc")
        self.put("sources/jemalloc/autogen.sh", "#!/bin/sh\necho no such thing >&2\nexit 3\n")
        os.chmod(os.path.join(self.sources, "jemalloc", "autogen.sh"), 0o755)
        run = self.build("jemalloc", "mimalloc3", status=1)
        self.assertIn("failed: jemalloc", run.stderr)
        self.assertEqual([line.split("=")[0] for line in self.listed()], ["mimalloc3", "rpmalloc"])
        with open(os.path.join(self.output, "jemalloc.log"), encoding="utf-8") as log:
            self.assertRegex(log.read(), "no such thing|needs autoconf")

    def test_wrong_use(self):
        script = os.path.join(SOURCE, "scripts", "build-peers")
        for arguments, status, word in (([], 2, ""), (["--fast"], 2, "--fast"), ([self.sources], 2, "OUTPUT"),
                                        ([self.sources, self.output, "hoard"], 2, "hoard"),
                                        ([self.sources, self.output, "snmalloc"], 1, "snmalloc"),
                                        ([self.folder + "/none", self.output], 1, "none")):
            run = subprocess.run([script, *arguments], capture_output=True, text=True, check=False)
            self.assertEqual(run.returncode, status, arguments)
            self.assertIn(word, run.stderr)


class GivenPeers(InOwnFolder):
    """--peers NAME=PATH and @FILE of `uslab bench`: what is refused, before anything runs."""

    def test_wrong_use(self):
        library = shutil.copy(os.environ["USLAB_MALLOC_SO"], os.path.join(self.folder, "libother.so"))
        lines = self.put("peers.txt", f"# two\nfine={library} 1\n\nbad {library}\n")
        many = ",".join(f"p{n}={library}" for n in range(17))
        for peers, status, word in ((f"a b={library}", 2, "'a b' is no name"), (f"={library}", 2, "'' is no name"),
                                    (f"kmalloc={library}", 2, "called 'kmalloc'"), (f"a={library},a={library}", 2, "'a'"),
                                    (many, 2, "more than 16"), ("a=/nowhere.so", 1, "no library /nowhere.so"),
                                    ("@/nowhere.txt", 1, "cannot read the list of peers /nowhere.txt"),
                                    (f"@{lines}", 1, f"{lines}:4: 'bad {library}' is not NAME=PATH")):
            run = subprocess.run([USLAB, "bench", "pair", "--quick", "--no-counts", "--peers", peers],
                                 capture_output=True, text=True, check=False)
            self.assertEqual((run.returncode, run.stdout), (status, ""), peers)
            self.assertIn(word, run.stderr)

    def test_a_build_of_ours_is_no_peer(self):
        """Ratios refer to peers; a library that is no malloc is not measured in the place of one."""
        ours = shutil.copy(os.environ["USLAB_MALLOC_SO"], os.path.join(self.folder, "libuslab_malloc.so.old"))
        peer = shutil.copy(ours, os.path.join(self.folder, "libpeer.so"))
        run = subprocess.run([USLAB, "bench", "pair", "--quick", "--no-counts", "--json", "--peers",
                              f"before={ours},jemalloc={peer}", "--only", "before,jemalloc"],
                             capture_output=True, text=True, check=False)
        self.assertEqual(run.returncode, 0, run.stderr)
        result = json.loads(run.stdout)
        self.assertEqual([(c["name"], c["role"]) for c in result["contestants"]],
                         [("before", "uslab"), ("jemalloc", "peer")])
        self.assertEqual(result["fastest_peer"], "jemalloc")
        text = self.put("libtext.so", "no library")
        run = subprocess.run([USLAB, "bench", "pair", "--quick", "--no-counts", "--peers", f"text={text}", "--only",
                              "text"], capture_output=True, text=True, check=False)
        self.assertEqual(run.returncode, 1)
        self.assertIn("text (mode pair) was not measured", run.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
