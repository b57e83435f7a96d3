#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# ctest: timeout=900
"""What valgrind, the sanitizers and bpftrace see of objects, in small programs compiled here.

Each tool is asked for its errors by case, then whether a program without mistakes has none: one that
does everything at random, over each engine. Tools that are not there, or that the system does not let
work, are skipped.
"""
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from folder import InFolder, environment  # noqa: E402
from programs import WITH_LIBRARY, compile_program  # noqa: E402

SRC = os.environ["USLAB_SRC"]
MALLOC_SO = os.environ["USLAB_MALLOC_SO"]
CC = os.environ.get("USLAB_CC", "cc")

CASES = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uslab/slab.h>

static struct kmem_cache *cache;
static volatile char sink;

static char *hide(void *p)
{
	void *volatile hidden = p;

	return hidden;
}

static __attribute__((noinline)) void forget(void)
{
	memset(kmem_cache_alloc(cache, 0), 0, 100);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	char *p[40];
	char *q;

	cache = kmem_cache_create("victims", 100, 0, 0, NULL);
	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < 40; i++)
			memset(p[i] = hide(kmem_cache_alloc(cache, 0)), i, 100);
		for (int i = 0; i < 40; i++)
			kmem_cache_free(cache, p[i]);
	}
	q = hide(kmem_cache_alloc(cache, __GFP_ZERO));
	if (q[0] | q[99])
		return 3;
	if (!strcmp(what, "uaf")) {
		kmem_cache_free(cache, q);
		sink = q[7];
		return 0;
	} else if (!strcmp(what, "overrun")) {
		sink = q[100];
	} else if (!strcmp(what, "kmalloc")) {
		char *k = hide(kmalloc(40, 0));
		k[40] = 1;
		kfree(k);
	} else if (!strcmp(what, "grown") || !strcmp(what, "shrunk")) {
		char *k = hide(krealloc(kmalloc(*what == 'g' ? 50 : 62, 0), 60, 0));
		k[60] = 1;
		kfree(k);
	} else if (!strcmp(what, "large")) {
		char *k = hide(kmalloc(20000, 0));
		kfree(k);
		k[10] = 1;
	} else if (!strcmp(what, "double")) {
		kmem_cache_free(cache, q);
	} else if (!strcmp(what, "leak")) {
		forget();
	}
	kmem_cache_free(cache, q);
	if (strcmp(what, "leak"))
		kmem_cache_destroy(cache);
	return 0;
}
"""

# Blocks that are resized in a class, by pages, and by moving. No mistake.
RESIZE = r"""
#include <stdlib.h>
#include <string.h>

static void *resize(void *p, size_t size)
{
	p = realloc(p, size);
	memset(p, 3, size);
	return p;
}

int main(void)
{
	static const size_t small[] = { 100, 110, 90, 105 };
	void *p = NULL, *q = NULL;
	int i;

	for (i = 0; i < 4; i++)
		p = resize(p, small[i]);
	for (i = 1; i < 30; i++) {
		p = resize(p, 63000 + i * 37000);
		q = resize(q, 63000 + i * 37000);
	}
	for (; i; i--) {
		p = resize(p, 63000 + i * 37000);
		q = resize(q, 63000 + i * 37000);
	}
	free(p);
	free(q);
	return 0;
}
"""

# Everything at random; what an object holds is checked before it is freed. No mistake.
RANDOM = r"""
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <uslab/slab.h>

#define NR 200

static struct kmem_cache *caches[3];

static void ctor(void *obj)
{
	memset(obj, 0x33, 200);
}

static void *work(void *arg)
{
	struct { unsigned char *p; unsigned int size, fill; int cache; } o[NR] = { { 0 } };
	unsigned int seed = (unsigned int)(long)arg;

	for (int i = 0; i < 6000; i++) {
		unsigned int n = rand_r(&seed) % NR;

		if (!o[n].p) {
			int c = (int)(rand_r(&seed) % 4) - 1;
			gfp_t gfp = rand_r(&seed) % 4 ? 0 : __GFP_ZERO;

			o[n].cache = c;
			o[n].size = c >= 0 ? kmem_cache_size(caches[c]) :
				    1 + rand_r(&seed) % (rand_r(&seed) % 20 ? 500 : 40000);
			if (c == 1)
				gfp = 0;
			o[n].p = c >= 0 ? kmem_cache_alloc(caches[c], gfp) : kmalloc(o[n].size, gfp);
			for (unsigned int b = 0; gfp && b < o[n].size; b++)
				if (o[n].p[b])
					abort();
			if (c == 1)
				o[n].fill = 0x33;
			else
				memset(o[n].p, o[n].fill = n & 255, o[n].size);
			continue;
		}
		for (unsigned int b = 0; b < o[n].size; b++)
			if (o[n].p[b] != o[n].fill)
				abort();
		if (o[n].cache < 0 && rand_r(&seed) % 3 == 0) {
			unsigned int size = 1 + rand_r(&seed) % 600;

			o[n].p = krealloc(o[n].p, size, 0);
			memset(o[n].p, (int)o[n].fill, o[n].size = size);
			continue;
		}
		if (o[n].cache < 0)
			kfree(o[n].p);
		else
			kmem_cache_free(caches[o[n].cache], o[n].p);
		o[n].p = NULL;
	}
	for (int n = 0; n < NR; n++)
		if (o[n].p && o[n].cache < 0)
			kfree(o[n].p);
		else if (o[n].p)
			kmem_cache_free(caches[o[n].cache], o[n].p);
	return NULL;
}

static void bulk(void)
{
	void *p[50];

	if (kmem_cache_alloc_bulk(caches[0], __GFP_ZERO, 50, p) != 50)
		abort();
	for (int i = 0; i < 50; i++)
		memset(p[i], i, 72);
	kmem_cache_free_bulk(caches[0], 50, p);
}

int main(void)
{
	pthread_t thread;

	caches[0] = kmem_cache_create("plain", 72, 0, 0, NULL);
	caches[1] = kmem_cache_create("constructed", 200, 0, 0, ctor);
	caches[2] = kmem_cache_create("stable", 120, 64, 0, NULL);
	pthread_create(&thread, NULL, work, (void *)1);
	work((void *)2);
	pthread_join(thread, NULL);
	bulk();
	for (int c = 0; c < 3; c++) {
		kmem_cache_shrink(caches[c]);
		kmem_cache_validate(caches[c]);
		kmem_cache_destroy(caches[c]);
	}
	uslab_trim();
	return 0;
}
"""

# Objects that go from hand to hand; with an argument, a race on one of them, or with its free.
HANDED = r"""
#include <pthread.h>
#include <string.h>
#include <uslab/slab.h>

static struct kmem_cache *cache;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char *hand;
static char *shared;

static void *work(void *arg)
{
	for (int i = 0; i < 2000; i++) {
		char *p = kmem_cache_alloc(cache, i % 3 ? GFP_KERNEL : GFP_KERNEL | __GFP_ZERO);
		char *k = kmalloc(64, GFP_KERNEL);
		char *z = kzalloc(20000, GFP_KERNEL);
		char *q;

		memset(k, 1, 64);
		memset(z, 2, 20000);
		memset(p, i, 100);
		pthread_mutex_lock(&lock);
		q = hand;
		hand = p;
		pthread_mutex_unlock(&lock);
		if (q) {
			memset(q, 3, 100);
			kmem_cache_free(cache, q);
		}
		kfree(k);
		kfree(z);
	}
	return arg;
}

static void *race(void *arg)
{
	shared[5]++;
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t t;

	cache = kmem_cache_create("handed", 100, 0, 0, NULL);
	pthread_create(&t, NULL, work, NULL);
	work(NULL);
	pthread_join(t, NULL);
	if (argc < 2)
		return 0;
	shared = kmem_cache_zalloc(cache, GFP_KERNEL);
	pthread_create(&t, NULL, race, NULL);
	if (argv[1][0] == 'f')
		kmem_cache_free(cache, shared);
	else
		shared[5]++;
	pthread_join(t, NULL);
	return 0;
}
"""

# What the library has written holds something; by argument: what nobody has written.
UNDEFINED = r"""
#include <string.h>
#include <uslab/slab.h>

static void ctor(void *p)
{
	memset(p, 1, 100);
}

static int holds(const char *p, int at)
{
	return p[at] ? 9 : 0;
}

int main(int argc, char **argv)
{
	struct kmem_cache *c = kmem_cache_create("plain", 100, 0, 0, NULL);
	struct kmem_cache *d = kmem_cache_create("constructed", 100, 0, 0, ctor);
	const char *what = argc > 1 ? argv[1] : "";
	void *b[50];
	char *p;

	for (int i = 0; i < 100; i++) {
		p = kmem_cache_zalloc(c, GFP_KERNEL);
		if (holds(p, 99))
			return 2;
		kmem_cache_free(c, p);
	}
	if (kmem_cache_alloc_bulk(c, GFP_KERNEL | __GFP_ZERO, 50, b) != 50)
		return 3;
	for (int i = 0; i < 50; i++)
		if (holds(b[i], 7))
			return 4;
	kmem_cache_free_bulk(c, 50, b);
	p = kmem_cache_alloc(d, GFP_KERNEL);
	if (!holds(p, 50))
		return 5;
	kmem_cache_free(d, p);
	p = kzalloc(40000, GFP_KERNEL);
	if (holds(p, 39999))
		return 6;
	kfree(p);
	p = krealloc(kcalloc(10, 10, GFP_KERNEL), 5000, GFP_KERNEL);
	if (holds(p, 99))
		return 7;
	kfree(p);
	if (!strcmp(what, "kmalloc"))
		return holds(kmalloc(64, GFP_KERNEL), 3);
	if (!strcmp(what, "own"))
		return holds(kmem_cache_alloc(c, GFP_KERNEL), 3);
	if (!strcmp(what, "large"))
		return holds(kmalloc(30000, GFP_KERNEL), 3);
	if (!strcmp(what, "freed")) {
		p = kmem_cache_zalloc(c, GFP_KERNEL);
		kmem_cache_free(c, p);
		return holds(p, 30);
	}
	return 0;
}
"""

# Objects that only other objects point to.
REACHABLE = r"""
#include <stdlib.h>
#include <string.h>
#include <uslab/slab.h>

static char **head;

int main(int argc, char **argv)
{
	head = kmem_cache_alloc(kmem_cache_create("heads", 64, 0, 0, NULL), 0);
	*head = strdup(argv[0]);
	if (argc > 1)
		*head = NULL;
	return 0;
}
"""

PROBED = r"""
#include <unistd.h>
#include <uslab/slab.h>

int main(void)
{
	struct kmem_cache *cache = kmem_cache_create("probed", 100, 0, 0, NULL);

	for (;;) {
		void *p[50];

		for (int j = 0; j < 50; j++)
			p[j] = kmem_cache_alloc(cache, GFP_KERNEL);
		for (int j = 0; j < 50; j++)
			kmem_cache_free(cache, p[j]);
		kfree(kmalloc(333, GFP_ATOMIC));
		kfree(kmalloc(20000, 0));
		kmalloc(77, 0); /* a leak */
		usleep(5000);
	}
}
"""


def compile_linked(folder, name, source, *flags, **keywords):
    return compile_program(folder, name, source, *flags, *WITH_LIBRARY, "-lpthread", **keywords)


def run(command, **settings):
    done = subprocess.run(command, env=environment(**settings), stdin=subprocess.DEVNULL, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300, check=False)
    return done.returncode, done.stdout


LEFT = r"""
#include <malloc.h>
#include <stdlib.h>
__attribute__((weak)) void free_sized(void *p, size_t size), free_aligned_sized(void *p, size_t align, size_t size);
void *reallocarray(void *p, size_t n, size_t size);
int main(void)
{
	free(reallocarray(NULL, 10, 8));
	free(reallocarray(malloc(10), 30, 8));
	free(pvalloc(10));
	free_sized(malloc(20), 20);
	free_aligned_sized(aligned_alloc(64, 128), 64, 128);
	return 0;
}
"""


@unittest.skipUnless(shutil.which("valgrind") and os.path.exists("/usr/include/valgrind"),
                     "no valgrind")
class Valgrind(InFolder):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.cases = compile_linked(cls.folder, "cases", CASES)
        cls.random = compile_linked(cls.folder, "random", RANDOM)

    def valgrind(self, program, *arguments, **settings):
        return run(["valgrind", "-q", "--leak-check=full", "--error-exitcode=99", program,
                    *arguments], **settings)

    def errors(self, case, **settings):
        status, text = self.valgrind(self.cases, case, **settings)
        # pids; the library's own frames
        return status, re.sub(r"(?m)^==\d+== ?", "", text)

    def finds(self, case, *expected):
        status, text = self.errors(case)
        self.assertEqual(status, 99, text)
        for line in expected:
            self.assertIn(line, text)

    def test_use_after_free(self):
        self.finds("uaf", "Invalid read of size 1", "is 7 bytes inside a block of size 100 free'd",
                   "Block was alloc'd at")

    def test_overrun(self):
        self.finds("overrun", "is 0 bytes after a block of size 100 client-defined")

    def test_kmalloc_knows_what_was_asked_for(self):
        self.finds("kmalloc", "Invalid write of size 1",
                   "is 0 bytes after a block of size 40 client-defined")
        for case in ("grown", "shrunk"):
            self.finds(case, "is 0 bytes after a block of size 60 client-defined")

    def test_whole_pages(self):
        self.finds("large", "is 10 bytes inside a block of size 20,000 free'd")

    def test_double_free(self):
        _, text = self.errors("double")
        self.assertIn("Invalid free()", text)
        self.assertIn("is 0 bytes inside a block of size 100 free'd", text)

    def test_leak(self):
        self.finds("leak", "100 bytes in 1 blocks are definitely lost", "forget (cases.c:")

    def test_resized_blocks_of_the_drop_in(self):
        """In place, by growing and by moving; valgrind would take its own malloc without the option."""
        program = compile_linked(self.folder, "resize", RESIZE, "-fno-builtin", "-Wl,--as-needed")
        for debug in ("-", "FZPU"):
            status, text = run(["valgrind", "-q", "--error-exitcode=99",
                                "--soname-synonyms=somalloc=nouserintercepts", program],
                               LD_PRELOAD=os.environ["USLAB_MALLOC_SO"], USLAB_DEBUG=debug)
            self.assertEqual((status, text), (0, ""), debug)

    def test_functions_that_valgrind_leaves(self):
        """It replaces malloc() and its like in the drop-in, not all of them: blocks of the others are its own, too."""
        program = os.path.join(self.folder, "left")
        subprocess.run([CC, "-O1", "-g", "-fno-builtin", "-x", "c", "-", "-o", program], input=LEFT, text=True, check=True)
        status, text = run(["valgrind", "-q", "--error-exitcode=99", program],
                           LD_PRELOAD=os.environ["USLAB_MALLOC_SO"])
        self.assertEqual((status, text), (0, ""))

    def test_declined(self):
        status, text = self.errors("uaf", USLAB_CONF="valgrind=0")
        self.assertEqual((status, text), (0, ""))

    def test_no_mistake_no_error(self):
        for engine in ("slub", "slab", "slob", "slob:1991", "slobseg", "slobseg:pow2"):
            for debug in ("-", "FZPU"):
                if debug != "-" and engine not in ("slub", "slob"):
                    continue
                with self.subTest(engine=engine, debug=debug):
                    status, text = self.valgrind(self.random, USLAB_CONF=f"engine={engine}",
                                                 USLAB_DEBUG=debug)
                    self.assertEqual((status, text), (0, ""))

    def test_with_guarded_pages(self):
        status, text = self.valgrind(self.random, USLAB_CONF="kfence.sample=10")
        self.assertEqual((status, text), (0, ""))


class AddressSanitizer(InFolder):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        try:
            cls.cases = compile_linked(cls.folder, "cases", CASES, "-fsanitize=address")
        except subprocess.CalledProcessError as error:
            raise unittest.SkipTest("the compiler has no AddressSanitizer") from error
        cls.random = compile_linked(cls.folder, "random", RANDOM, "-fsanitize=address")
        cls.reachable = compile_linked(cls.folder, "reachable", REACHABLE, "-fsanitize=address")
        cls.runner = ["setarch", "-R"] if run(["setarch", "-R", "true"])[0] == 0 else []

    def test_errors(self):
        for case, what in (("uaf", "READ of size 1"), ("overrun", "READ of size 1"),
                           ("kmalloc", "WRITE of size 1"), ("large", "WRITE of size 1"),
                           ("grown", "WRITE of size 1"), ("shrunk", "WRITE of size 1")):
            with self.subTest(case=case):
                status, text = run(self.runner + [self.cases, case])
                self.assertNotEqual(status, 0, text)
                self.assertIn("AddressSanitizer: use-after-poison", text)
                self.assertIn(what, text)
                self.assertRegex(text, r"#0 0x[0-9a-f]+ in main ")

    def test_declined(self):
        status, text = run(self.runner + [self.cases, "overrun"], USLAB_CONF="asan=0")
        self.assertEqual((status, text), (0, ""))

    def test_no_mistake_no_error(self):
        for engine in ("slub", "slab", "slob", "slobseg", "slobseg:pow2"):
            for debug in ("-", "FZPU"):
                with self.subTest(engine=engine, debug=debug):
                    status, text = run(self.runner + [self.random], USLAB_DEBUG=debug,
                                       USLAB_CONF=f"engine={engine},kfence.sample=100")
                    self.assertEqual((status, text), (0, ""))

    def test_objects_are_roots(self):
        self.assertEqual(run(self.runner + [self.reachable]), (0, ""))
        status, text = run(self.runner + [self.reachable, "lost"])
        if "LeakSanitizer has encountered a fatal error" in text:
            self.skipTest("LeakSanitizer cannot work here")
        self.assertNotEqual(status, 0)
        self.assertIn("detected memory leaks", text)


class Sanitizer(InFolder):
    """What two sanitizers have in common."""
    FLAG = COMPILER = None

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.runner = ["setarch", "-R"] if run(["setarch", "-R", "true"])[0] == 0 else []
        if cls.FLAG is None:
            raise unittest.SkipTest("for those below")
        try:
            cls.random = cls.compile("random", RANDOM)
        except (subprocess.CalledProcessError, FileNotFoundError) as error:
            raise unittest.SkipTest(f"no compiler that knows {cls.FLAG}") from error
        probe = cls.compile("probe", "int main(void) { return 0; }")
        if run(cls.runner + [probe]) != (0, ""):
            raise unittest.SkipTest(f"programs with {cls.FLAG} do not run here")

    @classmethod
    def compile(cls, name, source):
        return compile_linked(cls.folder, name, source, cls.FLAG, compiler=cls.COMPILER)

    def no_errors(self):
        for engine in ("slub", "slab", "slob", "slobseg", "slobseg:pow2"):
            for debug in ("-", "FZPU"):
                with self.subTest(engine=engine, debug=debug):
                    status, text = run(self.runner + [self.random], USLAB_DEBUG=debug,
                                       USLAB_CONF=f"engine={engine},kfence.sample=100")
                    self.assertEqual((status, text), (0, ""))


class ThreadSanitizer(Sanitizer):
    FLAG, COMPILER = "-fsanitize=thread", CC

    def test_no_mistake_no_error(self):
        self.no_errors()

    def test_objects_are_handed_on(self):
        handed = self.compile("handed", HANDED)
        self.assertEqual(run(self.runner + [handed]), (0, ""))
        for argument in ("race", "free"):
            with self.subTest(argument=argument):
                status, text = run(self.runner + [handed, argument])
                self.assertNotEqual(status, 0, text)
                self.assertEqual(text.count("WARNING: ThreadSanitizer: data race"), 1, text)
                self.assertRegex(text, r"#0 race ")


class MemorySanitizer(Sanitizer):
    FLAG, COMPILER = "-fsanitize=memory", "clang"

    def test_no_mistake_no_error(self):
        self.no_errors()

    def test_what_is_undefined(self):
        program = self.compile("undefined", UNDEFINED)
        self.assertEqual(run(self.runner + [program]), (0, ""))
        for argument in ("kmalloc", "own", "large", "freed"):
            with self.subTest(argument=argument):
                status, text = run(self.runner + [program, argument])
                self.assertNotEqual(status, 0, text)
                self.assertIn("MemorySanitizer: use-of-uninitialized-value", text)


@unittest.skipUnless(shutil.which("bpftrace") and os.geteuid() == 0, "no bpftrace, or not root")
class Bpftrace(InFolder):
    @staticmethod
    def output(bpftrace, ends):
        """A signal that comes while bpftrace attaches may be lost: it gets another one."""
        for seconds in [300] if ends else [5] + [10] * 30:
            try:
                return bpftrace.communicate(timeout=seconds)[0]
            except subprocess.TimeoutExpired:
                bpftrace.send_signal(signal.SIGINT)
        bpftrace.kill()
        return bpftrace.communicate()[0]

    @staticmethod
    def wait_mapped(pid):
        """Until the library is there: bpftrace looks for its probes once."""
        while True:
            with open(f"/proc/{pid}/maps", encoding="utf-8") as stream:
                if "libuslab" in stream.read():
                    return
            time.sleep(0.02)

    def trace(self, program, *script, env=None):
        """What bpftrace prints of a program that was there before it, and is there afterwards.

        Scripts that are given here exit by themselves; the others are ended after some seconds.
        """
        with subprocess.Popen([program], env=env) as process:
            try:
                self.wait_mapped(process.pid)
                with subprocess.Popen(["bpftrace", "-p", str(process.pid), *script],
                                      stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                      text=True) as bpftrace:
                    text = self.output(bpftrace, ends=script[0] == "-e")
                self.assertIsNone(process.poll())
            finally:
                process.kill()
        if "ERROR: Could not" in text or "Error attaching" in text or "@" not in text:
            self.skipTest("bpftrace cannot attach here: " + text[-300:])
        return text

    def test_arguments(self):
        program = compile_linked(self.folder, "probed", PROBED)
        text = self.trace(program, "-e", """
            usdt:*:uslab:kmem_cache_alloc { @alloc[arg2, arg3, arg4] = count(); }
            usdt:*:uslab:kmem_cache_free { @free[str(arg2)] = count(); }
            usdt:*:uslab:kmalloc { @kmalloc[arg2, arg3, arg4] = count(); }
            usdt:*:uslab:kfree { @kfree = count(); }
            interval:s:5 { exit(); }""")
        # bytes_req, bytes_alloc, gfp_flags
        counts = dict(re.findall(r"(?m)^@([^:\n]+): (\d+)$", text))
        gfp_kernel = 0x40 | 0x80 | 0x400 | 0x800
        self.assertGreater(int(counts[f"alloc[100, 104, {gfp_kernel}]"]), 0)
        self.assertGreater(int(counts["free[probed]"]), 0)
        self.assertGreater(int(counts[f"kmalloc[333, 512, {0x20 | 0x200 | 0x800}]"]), 0)
        self.assertGreater(int(counts["kmalloc[20000, 32768, 0]"]), 0)
        self.assertGreater(int(counts["kfree"]), 0)

    def test_scripts(self):
        program = compile_linked(self.folder, "probed", PROBED)
        folder = os.path.join(SRC, "tools", "bpftrace")
        for name, expected in (("uslab-sizes.bt", "@asked_bytes"), ("uslab-sites.bt", "@bytes[main]"),
                               ("uslab-leaks.bt", "@stack[")):
            with self.subTest(script=name):
                self.assertIn(expected, self.trace(program, os.path.join(folder, name)))

    def test_drop_in(self):
        env = dict(os.environ, LD_PRELOAD=MALLOC_SO)
        program = compile_program(self.folder, "plain",
                                  "#include <stdlib.h>\n#include <unistd.h>\nint main(void) {\n"
                                  "for (;;) {\nvoid *volatile p[40];\n"
                                  "for (int j = 0; j < 40; j++) p[j] = malloc(700);\n"
                                  "for (int j = 0; j < 40; j++) free(p[j]);\n"
                                  "free(malloc(100000)); usleep(5000); } }\n")
        text = self.trace(program, "-e", """
            usdt:*:uslab:kmalloc { @alloc[arg2] = count(); } usdt:*:uslab:kfree { @free = count(); }
            interval:s:5 { exit(); }""", env=env)
        counts = dict(re.findall(r"(?m)^@([^:\n]+): (\d+)$", text))
        self.assertGreater(int(counts["alloc[700]"]), 0)
        self.assertGreater(int(counts["alloc[100000]"]), 0)
        self.assertGreater(int(counts["free"]), 0)


if __name__ == "__main__":
    unittest.main()
