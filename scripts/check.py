#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The rules of the repository, checked: scripts/check.py [--build DIR] [--root DIR] [--only RULE,...]

Prints one line per violation, `file:line: rule: text`, and ends with status 1 if there is any.
A rule that needs something that is not there (a build, clang-format) says loudly that it was
skipped. Each rule is one generator that takes the Tree and yields (file, line, text); its
docstring is what --list prints. tests/tools/check_test.py plants a violation of each. Those of
references to documents and files are in check_references.py, those of man pages in check_man.py.
"""
import argparse
import ast
import concurrent.futures
import functools
import hashlib
import os
import re
import shutil
import subprocess
import sys

import charts  # from this folder
import figures
import goals
import kernel_api
import kernel_headers
import option_table
import python_fields
from callgraph import Objects, strongly_connected
from check_callers import rule_callers  # noqa: F401: a rule is found by its name
from check_man import rule_man  # noqa: F401: a rule is found by its name
from check_references import rule_adr, rule_docs, rule_files, rule_quotes, rule_spec  # noqa: F401

# Bottom-up. A file may include its own folder and lower ranks; equal ranks never meet.
# base and arch share the bottom floor: arch may use base's words, not the other way round.
RANK = {"base": 0, "arch": 1, "os": 2, "page": 3, "engine": 4, "front": 5, "debug": 5,
        "cache": 6, "inspect": 7, "api": 8, "malloc": 8}
# Floors that are parted into folders by idea; their folders use one another. The engines do not.
OPEN_FLOORS = {"os", "debug", "cache"}
# The one name that is called upwards: a failed assertion ends in the os floor.
UPWARD = {"os_die"}
# These do not return: who calls them waits for nobody above, so they close no circle.
ENDS = UPWARD | {"os_die_fmt"}

MAX_FILE, MAX_FUNCTION, MAX_IF_PER_1000, MIN_IF = 700, 80, 10, 10
MAX_COLUMNS = 100
GLOSSARY = "docs/GLOSSARY.md"
WORDS_IN = ("src/", "include/", "tools/", "bench/", "docs/", "cmake/", "examples/", "python/",
            "rust/", "README.md")
WORDS_NOT_IN = ("docs/spec/", "tools/uslab/html/uplot/", "bench/results/")
HEADINGS = ("Data:", "Invariants:", "Locks:", "Flow:")
SPDX = "SPDX-License-Identifier: MIT"
CLANG_FORMAT_MAJOR = "14"

CPU_WORDS = re.compile(
    r"\b(__x86_64__|__amd64__|__i386__|__aarch64__|__arm__|__riscv\w*|__powerpc\w*|__s390\w*"
    r"|__loongarch\w*|__ARM_\w+|__SSE\w*__|__AVX\w*__|__builtin_ia32_\w+|_mm_\w+)\b"
    r"|#\s*include\s*<\w*(intrin|cpuid|arm_neon|arm_acle)\w*\.h>")
ASM_WORDS = re.compile(r"\b(asm(?!/)|__asm__|__asm)\b")
OS_HEADERS = re.compile(
    r"#\s*include\s*<((sys|linux|asm|bits)/[\w./-]+|unistd\.h|fcntl\.h|sched\.h|pthread\.h"
    r"|poll\.h|dlfcn\.h|signal\.h|time\.h|semaphore\.h|spawn\.h|link\.h)>")
OS_CALLS = re.compile(
    r"(?<![\w.>])(mmap|mmap64|munmap|mremap|madvise|mprotect|mincore|mlock|munlock|brk|sbrk|syscall"
    r"|open|openat|creat|read|pread|write|pwrite|close|fcntl|ioctl|fork|vfork|clone|execve?"
    r"|waitpid|kill|getpid|gettid|getenv|secure_getenv|sysconf|getauxval|getrlimit|setrlimit"
    r"|getrandom|clock_gettime|nanosleep|usleep|sleep|sched_\w+|pthread_\w+|sigaction"
    r"|sigprocmask|process_vm_readv|prctl|membarrier|getcpu|abort|exit|_exit)\s*\(")
LIBC_CALLS = re.compile(
    r"(?<![\w.>])(malloc|calloc|realloc|reallocarray|strdup|strndup|asprintf|printf|fprintf"
    r"|puts|fputs|fopen|fwrite|perror)\s*\(")
PRIVATE_PATHS = re.compile("|".join(("/wo" r"rk/", "/tmp/bash_" "jobs", r"\.lib" "rary", "/fa" r"rm/")))


class Source:
    """One file: its lines, and for C its lines without comments and strings."""

    def __init__(self, root, path):
        self.path = path
        with open(os.path.join(root, path), encoding="utf-8", errors="replace") as stream:
            self.text = stream.read()
        self.lines = self.text.splitlines()
        self._code = None

    @property
    def code(self):
        """Lines of a C file with comments and the insides of literals blanked."""
        if self._code is None:
            blank = lambda m: m.group(0)[0] + re.sub(r"[^\n]", " ", m.group(0)[1:-1]) \
                + m.group(0)[-1] if m.group(0)[0] in "\"'" else re.sub(r"[^\n]", " ", m.group(0))
            pattern = r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'"
            self._code = re.sub(pattern, blank, self.text, flags=re.S).splitlines()
        return self._code


class Tree:
    """The files of the repository and where its build is."""

    def __init__(self, root, build):
        self.root, self.build = os.path.abspath(root), os.path.abspath(build)
        self.paths = self._list()
        self.notes = []
        self._sources, self._objects = {}, None

    def _list(self):
        if os.path.exists(os.path.join(self.root, ".git")):
            run = subprocess.run(
                ["git", "-c", "safe.directory=*", "-C", self.root, "ls-files", "-z", "--cached",
                 "--others", "--exclude-standard"], capture_output=True, text=True, check=False)
            if run.returncode == 0:
                found = run.stdout.split("\0")
                return sorted(p for p in found if os.path.isfile(os.path.join(self.root, p)))
        found = []
        for folder, folders, files in os.walk(self.root):
            folders[:] = [f for f in folders if f not in (".git", "build", "__pycache__")]
            found += [os.path.relpath(os.path.join(folder, f), self.root) for f in files]
        return sorted(found)

    @functools.cached_property
    def parts(self):
        """All paths of files and folders."""
        return {p[:end.start()] for p in self.paths for end in re.finditer(r"/|$", p)}

    def source(self, path):
        if path not in self._sources:
            self._sources[path] = Source(self.root, path)
        return self._sources[path]

    def c_files(self, *prefixes):
        return [self.source(p) for p in self.paths
                if p.endswith((".c", ".h")) and (not prefixes or p.startswith(prefixes))]

    @property
    def objects(self):
        if self._objects is None:
            self._objects = Objects(self)
        return self._objects

    def skip(self, rule, why):
        self.notes.append(f"check: {rule}: SKIPPED: {why}")

    def tool(self, *command):
        """Standard output of a program, or None if it is missing or fails."""
        if not shutil.which(command[0]):
            return None
        run = subprocess.run(command, capture_output=True, text=True, check=False)
        return run.stdout if run.returncode == 0 else None


def folder_of(path):
    """src/engine/slub/free.c -> ("engine", "engine/slub"); None outside of src/."""
    parts = path.split("/")
    if parts[0] != "src" or len(parts) < 3:
        return None, None
    return parts[1], "/".join(parts[1:-1])


def rank_of(folder):
    """Folders as numbers: engine/slub stands above engine, beside engine/slab; arch chooses a CPU's
    folder, which therefore stands below it."""
    floor, _, part = folder.partition("/")
    return RANK.get(floor, 99) + ((-0.5 if floor == "arch" else 0.5) if part else 0)


def below(lower, upper):
    """May upper include lower? Folders of one floor may, where they are parts of one thing; rule
    links sees to it that no objects of two folders need one another."""
    floor = lower.partition("/")[0]
    if floor in OPEN_FLOORS and floor == upper.partition("/")[0]:
        return True
    return lower == upper or rank_of(lower) < rank_of(upper)


def matches(source, pattern):
    """(line number, matched word) of each match in the code of a C file."""
    for number, line in enumerate(source.code, 1):
        for match in pattern.finditer(line):
            yield number, next((g for g in match.groups() if g), match.group(0))


# ---- rules --------------------------------------------------------------------------------------

def rule_includes(tree):
    """includes go down only, and siblings never meet"""
    quoted = re.compile(r'^\s*#\s*include\s*"([^"]+)"')
    for source in tree.c_files("src/", "include/", "tools/", "bench/"):
        floor, folder = folder_of(source.path)
        if floor is not None and floor not in RANK:
            yield source.path, 1, f"src/{floor} is no floor; the floors are {' '.join(RANK)}"
            continue
        for number, line in enumerate(source.lines, 1):
            match = quoted.match(line)
            if not match or f"src/{match.group(1)}" not in tree.paths:
                continue
            target = folder_of(f"src/{match.group(1)}")[1]
            if floor is None:
                if target == "inspect" and source.path.startswith(("tools/", "bench/")):
                    continue
                yield source.path, number, f"{match.group(1)} is inside the library"
            elif not below(target, folder):
                side = "a sibling" if rank_of(target) == rank_of(folder) else "above"
                yield source.path, number, f"{folder} includes {match.group(1)}, which is {side}"


def rule_links(tree):
    """calls go down only; no circle of floors, of folders of the tools, nor of objects in several folders"""
    objects = tree.objects
    if not objects.defines:
        tree.skip("links", f"no objects in {tree.build}; build first")
        return
    graph = {}
    for user, names in sorted(objects.uses.items()):
        folder = folder_of(user)[1]
        for name in sorted(names - UPWARD) if folder else ():
            home = objects.home(name, user)
            target = folder_of(home)[1] if home else folder
            if not target:
                continue
            if not below(target, folder):
                yield user, 1, f"{folder} calls {name}() up in {home}"
            parts = [r.partition("/")[0] if r.partition("/")[0] in OPEN_FLOORS else r
                     for r in (folder, target)]
            if parts[0] != parts[1]:
                graph.setdefault(parts[0], set()).add(parts[1])
    for cycle in strongly_connected(graph):
        yield "src", 1, f"link cycle: {' '.join(cycle)}"
    circles = 0
    for circle in strongly_connected(objects.graph(without=ENDS)):
        if len({os.path.dirname(path) for path in circle}) > 1:
            circles += 1
            yield circle[0], 1, f"a circle of objects across folders: {' '.join(circle)}"
    for circle, pairs in () if circles else circles_of_tools(objects):
        yield pairs[0][0], 1, (f"a circle of folders: {' '.join(circle)}: "
                               + ", ".join(f"{user} calls {home}" for user, home in pairs))


def circles_of_tools(objects):
    """(folders, calls between them) of each circle of folders in tools/uslab/. Of the files in that
    folder itself main.c stands above all folders; the others stand below them."""
    graph, calls = {}, {}
    for user, homes in sorted(objects.graph(without=ENDS).items()):
        if not user.startswith("tools/uslab/") or user == "tools/uslab/main.c":
            continue
        for home in sorted(homes):
            folders = os.path.dirname(user), os.path.dirname(home)
            if home.startswith("tools/uslab/") and folders[0] != folders[1]:
                graph.setdefault(folders[0], set()).add(folders[1])
                calls.setdefault(folders, []).append((user, home))
    for circle in strongly_connected(graph):
        yield circle, [pair for folders, pairs in sorted(calls.items()) for pair in pairs
                       if set(folders) <= set(circle)]


def rule_asm(tree):
    """asm and CPU macros only in src/arch, include/uslab/arch and tools/uslab/arch"""
    for source in tree.c_files("src/", "include/", "tools/"):
        if source.path.startswith(("src/arch/", "include/uslab/arch/", "tools/uslab/arch/")):
            continue
        for pattern in (ASM_WORDS, CPU_WORDS):
            for number, word in matches(source, pattern):
                yield source.path, number, f"{word} belongs in an arch folder"


def rule_os(tree):
    """OS calls and headers only in src/os; no heap and no stdio of libc inside the library"""
    for source in tree.c_files("src/"):
        floor = folder_of(source.path)[0]
        if floor != "os":
            for pattern in (OS_HEADERS, OS_CALLS):
                for number, word in matches(source, pattern):
                    # what is exported is defined here, not called
                    if not source.code[number - 1].startswith("USLAB_API "):
                        yield source.path, number, f"{word} belongs in src/os"
        if floor != "malloc":
            for number, word in matches(source, LIBC_CALLS):
                yield source.path, number, f"{word}() of libc inside the allocator"


def rule_header(tree):
    """C files open with a comment that names the file; in src/ with four headings, in tools with Flow"""
    for source in tree.c_files():
        match = re.match(r"[^\n]*\n/\*\n \* (.*?)\*/", source.text, flags=re.S)
        if not match:
            yield source.path, 2, "no header comment after the SPDX line"
            continue
        comment, path = match.group(1), source.path
        if not path.startswith(("src/", "include/", "tools/uslab/", "bench/")):
            continue
        name = path if path.startswith("bench/") else path.split("/", 1)[1]
        if not comment.startswith(f"{name} - "):
            yield path, 3, f"the header comment starts with something else than '{name} - '"
        headings = HEADINGS if path.startswith("src/") else HEADINGS[-1:] \
            if path.startswith(("tools/", "bench/")) and path.endswith(".c") else ()
        for heading in headings:
            if f" * {heading}" not in comment:
                yield path, 3, f"the header comment has no '{heading}'"


def rule_spdx(tree):
    """every source says its licence in its first lines"""
    for path in tree.paths:
        base = os.path.basename(path)
        if path.endswith((".c", ".h")):
            if tree.source(path).lines[:1] != [f"/* {SPDX} */"]:
                yield path, 1, f"the first line is not '/* {SPDX} */'"
        elif path.endswith((".py", ".sh", ".cmake", ".rs", ".toml")) or base in ("CMakeLists.txt", "Makefile") \
                or (path.startswith("scripts/") and "." not in base and base != "EXEMPT"):
            if not any(SPDX in line for line in tree.source(path).lines[:3]):
                yield path, 1, f"no '{SPDX}' in the first three lines"


def c_functions(source):
    """(first line, name, lines) of each function: kernel layout, braces in column 0."""
    start, name = None, "?"
    for number, line in enumerate(source.code, 1):
        match = re.match(r"[A-Za-z_].*?(\w+)\s*\(", line)
        if match and not start:
            name = match.group(1)
        if line.startswith("{"):
            start = number
        elif line.startswith("}") and start:
            yield start, name, number - start + 1
            start = None


def rule_size(tree):
    """files have at most 700 lines, functions at most 80"""
    for path in tree.paths:
        if not path.endswith((".c", ".h", ".rs", ".py", ".sh", ".cmake", "CMakeLists.txt")):
            continue
        source = tree.source(path)
        if len(source.lines) > MAX_FILE:
            yield path, MAX_FILE, f"{len(source.lines)} lines; at most {MAX_FILE}"
        found = []
        if path.endswith((".c", ".h")):
            found = c_functions(source)
        elif path.endswith(".py"):
            found = [(n.lineno, n.name, n.end_lineno - n.lineno + 1)
                     for n in ast.walk(ast.parse(source.text)) if isinstance(n, ast.FunctionDef)]
        for number, name, length in found:
            if length > MAX_FUNCTION:
                yield path, number, f"{name}() has {length} lines; at most {MAX_FUNCTION}"


def rule_ifs(tree):
    """at most 10 #if lines in 1000 outside arch, os and base (guards and __cplusplus are free)"""
    total, lines, worst = 0, 0, ("src", 0)
    for source in tree.c_files("src/", "include/"):
        if re.match(r"src/(arch|os|base)/|include/uslab/arch/", source.path):
            continue
        count = sum(1 for line in source.code if re.match(r"\s*#\s*if", line)
                    and not re.search(r"__cplusplus|_H$", line.rstrip()))
        total, lines = total + count, lines + len(source.lines)
        worst = max(worst, (source.path, count), key=lambda pair: pair[1])
    allowed = max(MIN_IF, lines * MAX_IF_PER_1000 // 1000)
    if total > allowed:
        yield worst[0], 1, (f"{total} #if lines in {lines}; at most {allowed}; "
                            f"this file has most of them, {worst[1]}")


def exemptions(tree):
    """{path: reason} of tests/EXEMPT, and the violations in that file itself."""
    reasons, wrong, path = {}, [], "tests/EXEMPT"
    for number, line in enumerate(tree.source(path).lines if path in tree.paths else [], 1):
        if not line.strip() or line.startswith("#"):
            continue
        name, _, reason = line.partition(":")
        if not reason.strip():
            wrong.append((path, number, f"{name} is exempt without a reason"))
        if name not in tree.paths:
            wrong.append((path, number, f"{name} is no file"))
        reasons[name] = reason
    return reasons, wrong


def rule_tests(tree):
    """tests mirror sources: each .c of src/ has a _test.c in tests/unit/, or a reason in tests/EXEMPT"""
    exempt, wrong = exemptions(tree)
    yield from wrong
    for path in tree.paths:
        if path.startswith("src/") and path.endswith(".c"):
            mirror = f"tests/unit/{path[4:-2]}_test.c"
            if mirror not in tree.paths and path not in exempt:
                yield path, 1, f"has no {mirror}"
            elif mirror in tree.paths and path in exempt:
                yield path, 1, f"is named in tests/EXEMPT, yet {mirror} exists"
        match = re.match(r"tests/unit/(.+)_test\.c$", path)
        if match:
            home = re.sub(r"^tools/", "tools/uslab/", match.group(1))
            home = home if home.startswith("tools/") else f"src/{home}"
            if f"{home}.c" not in tree.paths and f"{home}.h" not in tree.paths:
                yield path, 1, f"tests nothing: neither {home}.c nor {home}.h"


def rule_options(tree):
    """tables of options and debug flags in documents are what options.def and scripts/option_table.py make"""
    for path, want in option_table.differing(tree.root, tree.paths):
        pairs = zip(tree.source(path).lines, want.splitlines())
        line = next((n for n, (have, wanted) in enumerate(pairs, 1) if have != wanted), 1)
        yield path, line, "differs from the table of options: scripts/option_table.py"


def rule_exports(tree):
    """what a shared library exports is what its list says, scripts/symbols*.txt"""
    for library, listed in (("libuslab.so", "scripts/symbols.txt"),
                            ("libuslab_malloc.so", "scripts/symbols-malloc.txt"),
                            ("libuslab_inspect.so", "scripts/symbols-inspect.txt")):
        path = os.path.join(tree.build, "lib", library)
        if not os.path.exists(path):
            tree.skip("exports", f"no {path}; build first")
            continue
        if listed not in tree.paths:
            yield listed, 1, f"is missing; {library} has no list of exports"
            continue
        want = {line.strip(): number for number, line in enumerate(tree.source(listed).lines, 1)
                if line.strip() and not line.startswith("#")}
        output = tree.tool("nm", "-D", "--defined-only", path)
        if output is None:
            tree.skip("exports", f"nm cannot read {path}")
            continue
        have = {line.split()[-1].split("@")[0] for line in output.splitlines()
                if line.split()[-2] != "A"}
        for name in sorted(have - set(want)):
            yield listed, 1, f"{library} exports {name}, which is not listed"
        for name in sorted(set(want) - have):
            yield listed, want[name], f"{library} does not export {name}"


def rule_layout(tree):
    """what programs inline is what scripts/layouts.txt says of its number, USLAB_LAYOUT"""
    header, record = "include/uslab/layout.h", "scripts/layouts.txt"
    if header not in tree.paths:
        return
    number = re.search(r"^#define USLAB_LAYOUT (\d+)\b", tree.source(header).text, re.M)
    if not number:
        yield header, 1, "defines no USLAB_LAYOUT"
        return
    inlined = [header] + [p for p in tree.paths if p.startswith("include/uslab/arch/rseq-")]
    text = " ".join(re.sub(r"/\*.*?\*/", " ", tree.source(p).text, flags=re.S) for p in inlined)
    text = " ".join(re.sub(r"\\\n", " ", text).split())
    want = f"{number.group(1)} {hashlib.sha256(text.encode()).hexdigest()[:16]}"
    if record not in tree.paths or want not in tree.source(record).lines:
        yield header, 1, (f"{record} has no line '{want}': raise USLAB_LAYOUT, unless compiled programs "
                          "go on working; then add the line")


def rule_format(tree):
    """the layout is what clang-format 14 makes of it"""
    for name in (f"clang-format-{CLANG_FORMAT_MAJOR}", "clang-format"):
        version = tree.tool(name, "--version")
        if version and f"version {CLANG_FORMAT_MAJOR}." in version:
            break
    else:
        tree.skip("format", f"no clang-format {CLANG_FORMAT_MAJOR} here")
        return
    files = [source.path for source in tree.c_files()]

    def check(part):
        return subprocess.run([name, "--dry-run", *part], cwd=tree.root, capture_output=True,
                              text=True, check=False).stderr

    with concurrent.futures.ThreadPoolExecutor() as pool:
        output = "".join(pool.map(check, [files[i:i + 8] for i in range(0, len(files), 8)]))
    seen = set()
    for match in re.finditer(r"^(\S+?):(\d+):\d+: (?:warning|error): .*clang-format", output, re.M):
        if match.group(1) not in seen:  # the first place of a file; `make format` mends them all
            seen.add(match.group(1))
            yield match.group(1), int(match.group(2)), "not as clang-format lays it out: make format"


def rule_width(tree):
    """comments of C files, documents but for tables and code, and README.md have 100 columns"""
    for source in tree.c_files():
        for number, (line, code) in enumerate(zip(source.lines, source.code), 1):
            columns = len(line.expandtabs(8))
            if columns > MAX_COLUMNS and not code.strip():
                yield source.path, number, f"{columns} columns; at most {MAX_COLUMNS}"
    readme = tree.source("README.md").lines if "README.md" in tree.paths else ()
    for number, line in enumerate(readme, 1):
        if len(line) > MAX_COLUMNS and not line.startswith("| `"):
            yield "README.md", number, f"{len(line)} columns; at most {MAX_COLUMNS}"
    for path in tree.paths:
        if not path.endswith(".md") or path.startswith(("tests/data/", "docs/adr/", "README.md")):
            continue
        text = re.sub(r"^```.*?^```", lambda m: "\n" * m.group(0).count("\n"), tree.source(path).text,
                      flags=re.M | re.S)
        for number, line in enumerate(text.split("\n"), 1):
            if len(line) > MAX_COLUMNS and not line.startswith(("|", "    ", "[", "<!--")):
                yield path, number, f"{len(line)} columns; at most {MAX_COLUMNS}"


def rule_charts(tree):
    """docs/performance.md and docs/pictures have the charts of the newest raw results"""
    yield from charts.problems(tree.root)


def rule_goals(tree):
    """docs/performance.md says which goals the newest raw results reach"""
    yield from goals.problems(tree.root)


def rule_figures(tree):
    """README.md has the figures of the newest raw results, whose folders are named by commit and CPU"""
    yield from figures.problems(tree.root)


def rule_kernel(tree):
    """docs/kernel-api.md and kernel-headers.md say which of the kernel's names the headers have"""
    if kernel_api.compiler() is None:
        tree.skip("kernel", "no C compiler here")
        return
    if kernel_api.NAMES in tree.paths:
        yield from kernel_api.problems(tree.root)
    yield from kernel_headers.problems(tree.root)


def rule_python(tree):
    """python/uslab/fields.py has the statistics of src/inspect/fields.def"""
    yield from python_fields.problems(tree.root)


def rule_private(tree):
    """no path of a private machine"""
    for path in tree.paths:
        for number, line in enumerate(tree.source(path).lines, 1):
            match = PRIVATE_PATHS.search(line)
            if match:
                yield path, number, f"'{match.group(0)}' is a place of one machine"


def forbidden_words(tree):
    """{phrase: the word to use} of the third column of docs/GLOSSARY.md."""
    found = {}
    for line in tree.source(GLOSSARY).lines if GLOSSARY in tree.paths else ():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if len(cells) == 3:
            found.update((phrase, cells[0]) for phrase in re.findall(r'"([^"]+)"', cells[2]))
    return found


def rule_words(tree):
    """no word that docs/GLOSSARY.md says is not used"""
    words = forbidden_words(tree)
    if not words:
        return
    pattern = re.compile(r"\b(" + "|".join(map(re.escape, words)) + r")\b", re.IGNORECASE)
    for path in tree.paths:
        if not path.startswith(WORDS_IN) or path.startswith(WORDS_NOT_IN) or path == GLOSSARY:
            continue
        if not path.endswith((".c", ".h", ".rs", ".def", ".md", ".scd", ".py", ".cmake", ".sh")):
            continue
        for number, line in enumerate(tree.source(path).lines, 1):
            for match in pattern.finditer(line):
                instead = words[match.group(1).lower()]
                yield path, number, f"'{match.group(1)}': the word is '{instead}' ({GLOSSARY})"


def rule_todo(tree):
    """no TODO, FIXME or XXX left in the sources"""
    for source in tree.c_files():
        for number, line in enumerate(source.lines, 1):
            match = re.search(r"\b(TO" r"DO|FIX" r"ME|XX" r"X)\b", line)
            if match:
                yield source.path, number, f"{match.group(0)}: do it, or file an issue"


def rule_twice(tree):
    """no atomic load inside MIN, MAX or CLAMP, which read what they get twice, and it may change in between"""
    pattern = re.compile(r"\b(MIN|MAX|CLAMP)(\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\))")
    for source in tree.c_files():
        code = "\n".join(source.code)
        for match in pattern.finditer(code):
            if re.search(r"\b(load_(relaxed|acquire)|__atomic_load_n)\(", match.group(2)):
                line = code.count("\n", 0, match.start()) + 1
                yield source.path, line, f"{match.group(1)} of an atomic load: load into a variable first"


RULES = {name[5:]: rule for name, rule in sorted(globals().items()) if name.startswith("rule_")}


def main():
    here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    parser = argparse.ArgumentParser(description="Checks the rules of this repository.")
    parser.add_argument("--root", default=here, help="the tree to check")
    parser.add_argument("--build", help="the build folder (default: ROOT/build/release)")
    parser.add_argument("--only", help="only these rules, comma-separated")
    parser.add_argument("--list", action="store_true", help="say what the rules are")
    options = parser.parse_args()
    if options.list:
        for name, rule in RULES.items():
            print(f"{name:10} {rule.__doc__}")
        return 0
    names = options.only.split(",") if options.only else list(RULES)
    unknown = [name for name in names if name not in RULES]
    if unknown:
        parser.error(f"no rule '{unknown[0]}'; --list names them")

    tree = Tree(options.root, options.build or os.path.join(options.root, "build", "release"))
    wrong = [(path, line, name, text) for name in names for path, line, text in RULES[name](tree)]
    for path, line, name, text in sorted(wrong):
        print(f"{path}:{line}: {name}: {text}")
    for note in tree.notes:
        print(note)
    print(f"check: {len(names)} rules, {len(tree.paths)} files, {len(wrong)} violations")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
