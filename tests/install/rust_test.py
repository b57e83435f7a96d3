#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
#
# ctest: timeout=600 sanitize=no
"""rust_test - the crates of rust/: their own tests, beside other allocators and engines too, their
declarations against the headers, their examples, and a program on what is installed

Cargo comes from Debian or from elsewhere; without it this is skipped. Nothing is fetched: the
crates need no others. What cargo builds is in the build folder.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

SOURCE, BUILD, LIB = (os.environ[name] for name in ("USLAB_SRC", "USLAB_BUILD", "USLAB_LIB"))
DROP_IN = os.environ["USLAB_MALLOC_SO"]
RUST = os.path.join(SOURCE, "rust")
SYS = os.path.join(RUST, "uslab-sys", "src")
CC = os.environ.get("USLAB_CC", "cc")
TARGET = os.path.join(BUILD, "rust")
OFFLINE = ("--offline", "--locked")

# Not declared in Rust: data of other kinds, and functions with a va_list.
LEFT_OUT = {"uslab_layout_4", "uslab_group_key", "uslab_root", "kvasprintf", "kvasprintf_const",
            "uslab_cache_of_size"}
FILES = ("functions.rs", "group.rs", "mempool.rs", "profiling.rs", "shrinkers.rs")
CONSTRUCTOR = 'Option<unsafe extern "C" fn(obj: *mut c_void)>'
STRUCTS = {"kmem_cache", "kmem_cache_args", "kmem_cache_statistics", "slab_sheaf", "rcu_head",
           "uslab_rcu_ops", "uslab_kmalloc_site", "alloc_tag", "alloc_tag_counters",
           "uslab_alloc_tags", "uslab_group", "uslab_group_statistics", "shrinker",
           "shrink_control"}
C_TYPES = {"c_int": "int", "c_uint": "unsigned int", "c_long": "long", "c_ulong": "unsigned long",
           "c_char": "char", "c_void": "void", "usize": "size_t", "constructor": "constructor",
           "mempool_alloc_t": "mempool_alloc_t *", "mempool_free_t": "mempool_free_t *",
           "uslab_group_callback": "uslab_group_callback"}
HEADERS = "".join(f"#include <uslab/{name}.h>\n"
                  for name in ("slab", "mempool", "kstring", "rcu", "alloc_tag", "group",
                               "shrinker"))
CHECK = HEADERS + """
typedef void (*constructor)(void *obj);
#define SAME(name, result, ...) result (*same_##name)(__VA_ARGS__) = &name
"""


def environment(**more):
    """Without what USLAB_ variables of this test mean to the library, and with the library."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith("USLAB_")}
    kept.update(USLAB_DIR=BUILD, LD_LIBRARY_PATH=LIB, CARGO_TARGET_DIR=TARGET, CC=CC,
                CARGO_NET_OFFLINE="true", CARGO_INCREMENTAL="0", CARGO_PROFILE_DEV_DEBUG="0",
                CARGO_PROFILE_TEST_DEBUG="0")
    return dict(kept, **more)


def c_type(text):
    """A type of Rust as C has it."""
    pointer = re.fullmatch(r"\*(mut|const) (.+)", text)
    if pointer:
        to = c_type(pointer.group(2))
        return f"{to} const *" if pointer.group(1) == "const" else f"{to} *"
    return f"struct {text}" if text in STRUCTS else C_TYPES.get(text, text)


def read(name):
    with open(os.path.join(SYS, name), encoding="utf-8") as file:
        return re.sub(r"///?.*", "", file.read()).replace(CONSTRUCTOR, "constructor")


def declarations():
    """(name, arguments, result) of each function of the bindings, in C."""
    found = []
    for name in FILES:
        found += re.findall(r"pub (?:unsafe )?fn (\w+)\(([^)]*)\)(?:\s*-> ([^;{]+))?", read(name))
    found += re.findall(r'"\w+" (\w+)\(([^)]*)\)\s*(?:-> ([^=]+?))?\s*=', read("inlines.rs"))
    for name, arguments, result in found:
        kinds = [part.split(":")[-1].strip() for part in arguments.split(",") if part.strip()]
        kinds = [kind if kind == "..." else c_type(kind) for kind in kinds]
        yield name, ", ".join(kinds) or "void", c_type(result.strip() or "c_void")


class Rust(unittest.TestCase):
    def run_ok(self, *command, env, cwd=RUST):
        run = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, check=False,
                             stdin=subprocess.DEVNULL, timeout=500)
        self.assertEqual(run.returncode, 0, f"{command}\n{run.stdout}{run.stderr}")
        return run.stdout

    def programs(self):
        """{name: path} of the test programs, built."""
        text = self.run_ok("cargo", "test", *OFFLINE, "--workspace", "--no-run",
                           "--message-format=json", env=environment())
        built = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
        return {unit["target"]["name"].replace("-", "_"): unit["executable"] for unit in built
                if unit.get("profile", {}).get("test") and unit.get("executable")}

    def compiles(self, text):
        run = subprocess.run([CC, f"-I{SOURCE}/include", "-Werror", "-fsyntax-only", "-x", "c", "-"],
                             input=CHECK + text, capture_output=True, text=True, check=False)
        return run.returncode == 0, run.stderr

    def test_cargo_test(self):
        """All tests of the crates, those in documents among them."""
        text = self.run_ok("cargo", "test", *OFFLINE, "--workspace", env=environment())
        passed = sum(map(int, re.findall(r"test result: ok\. (\d+) passed", text)))
        self.assertGreater(passed, 40, text)

    def test_beside_others(self):
        """The tests once more: with the drop-in preloaded, as other engines, with debug flags."""
        programs = self.programs()
        for names, more in (
                (("global", "boxes", "threads"), {"LD_PRELOAD": DROP_IN}),
                (("global", "boxes"), {"USLAB_CONF": "engine=slob,front=none"}),
                (("global", "threads"), {"USLAB_CONF": "engine=slab"}),
                (("global", "boxes", "threads"), {"USLAB_CONF": "hardened"}),
                (("boxes", "threads"), {"USLAB_DEBUG": "FZPU"})):
            for name in names:
                with self.subTest(program=name, environment=more):
                    self.run_ok(programs[name], env=environment(**more))

    def test_the_replacement(self):
        """What Miri runs, as a program: an allocator of Rust in place of the library."""
        self.run_ok("cargo", "test", *OFFLINE, "-p", "uslab", "--test", "boxes", "--test", "memory",
                    "--test", "threads",
                    env=environment(RUSTFLAGS="--cfg uslab_fake",
                                    CARGO_TARGET_DIR=os.path.join(TARGET, "fake")))

    def test_declarations(self):
        """Each function has the type of the header's, each constant its value."""
        with open(os.path.join(SOURCE, "scripts", "symbols.txt"), encoding="utf-8") as file:
            exported = {line.strip() for line in file if line.strip() and line[0] != "#"}
        found = {name: (arguments, result) for name, arguments, result in declarations()}
        data = {name for file in FILES for name in re.findall(r"pub static (\w+):", read(file))}
        missing = exported - LEFT_OUT - set(found) - data
        self.assertEqual(missing, set(), "not declared in rust/uslab-sys")
        self.assertGreater(len(found), 100)
        lines = [f"SAME({name}, {result}, {arguments});\n"
                 for name, (arguments, result) in found.items() if name != "kfree_bulk"]
        listed = self.run_ok(self.programs()["uslab_sys"], "--nocapture", "constants_are_listed",
                             env=environment())
        values = re.findall(r"^constant (\w+) (\d+)", listed, re.M)
        self.assertGreater(len(values), 70)
        lines += [f'_Static_assert({name} == {value}u, "{name}");\n' for name, value in values]
        right, said = self.compiles("".join(lines))
        self.assertTrue(right, said)
        for wrong in ("SAME(kfree, void, void *);", '_Static_assert(GFP_ATOMIC == 1, "");'):
            self.assertFalse(self.compiles(wrong)[0], wrong)

    def test_examples(self):
        """Each prints what its first comment says; one with the archive in it needs no library."""
        examples = os.path.join(RUST, "uslab", "examples")
        for name in sorted(os.listdir(examples)):
            with open(os.path.join(examples, name), encoding="utf-8") as file:
                comment = "".join(re.findall(r"^//! ?(.*\n)", file.read(), re.M))
            command, _, expected = comment.partition("$ ")[2].partition("\n")
            self.assertEqual(command, f"cargo run --example {name[:-3]}")
            for features in ((), ("--features", "static"))[:2 if name == "cache.rs" else 1]:
                with self.subTest(example=name, features=features):
                    env = environment()
                    if features:
                        del env["LD_LIBRARY_PATH"]
                    said = self.run_ok(*command.split(), *OFFLINE, "-p", "uslab", *features, env=env)
                    self.assertEqual(said, expected)

    def test_without_std(self):
        self.run_ok("cargo", "check", *OFFLINE, "-p", "uslab", "--no-default-features",
                    env=environment())

    def test_documents(self):
        self.run_ok("cargo", "doc", *OFFLINE, "--workspace", "--no-deps",
                    env=environment(RUSTDOCFLAGS="-D warnings"))

    def test_what_is_packaged(self):
        for crate, files in (("uslab-sys", {"build.rs", "src/lib.rs", "src/shim.c", "src/fake.rs"}),
                             ("uslab", {"src/lib.rs", "examples/cache.rs", "tests/boxes.rs"})):
            listed = set(self.run_ok("cargo", "package", "--list", "--offline", "--allow-dirty",
                                     "-p", crate, env=environment()).split())
            self.assertLessEqual(files | {"Cargo.toml", "README.md", "LICENSE"}, listed)
            self.assertEqual([name for name in listed if "target" in name or "bench" in name], [])

    def test_installed(self):
        """A program on the installed library, which pkg-config finds."""
        with tempfile.TemporaryDirectory() as work:
            prefix = os.path.join(work, "prefix")
            subprocess.run(["cmake", "--install", BUILD, "--prefix", prefix], check=True,
                           stdout=subprocess.DEVNULL)
            lib = next(folder for folder, _, files in os.walk(prefix) if "libuslab.a" in files)
            env = environment(PKG_CONFIG_PATH=os.path.join(lib, "pkgconfig"))
            env.update(LD_LIBRARY_PATH=lib, CARGO_TARGET_DIR=os.path.join(work, "target"))
            del env["USLAB_DIR"]
            os.makedirs(os.path.join(work, "user", "src"))
            with open(os.path.join(work, "user", "Cargo.toml"), "w", encoding="utf-8") as file:
                file.write('[package]\nname = "user"\nversion = "1.0.0"\nedition = "2021"\n'
                           f'[dependencies]\nuslab = {{ path = "{RUST}/uslab" }}\n')
            shutil.copy(os.path.join(RUST, "uslab", "examples", "global.rs"),
                        os.path.join(work, "user", "src", "main.rs"))
            said = self.run_ok("cargo", "run", "--offline", env=env, cwd=os.path.join(work, "user"))
            self.assertIn("1000 words", said)
            for more, words in (({"PKG_CONFIG_PATH": work, "PKG_CONFIG_LIBDIR": work}, "make install"),
                                ({"USLAB_DIR": work}, "no uslab/slab.h in")):
                run = subprocess.run(["cargo", "build", "--offline"], cwd=os.path.join(work, "user"),
                                     env=dict(env, **more), capture_output=True, text=True, check=False)
                self.assertNotEqual(run.returncode, 0)
                self.assertIn(words, run.stderr)


if __name__ == "__main__":
    if not shutil.which("cargo"):
        print("skipped: there is no cargo here (scripts/setup installs Debian's)")
        sys.exit(77)
    unittest.main(verbosity=2)
