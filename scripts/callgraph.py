# SPDX-License-Identifier: MIT
"""Who calls what, of the objects of a build and the sources: for scripts/check.py and callers.

The objects say which file uses which function. Where a function is called by what a header has
(an inline function, a macro), each file that includes it uses the function; the sources say that
it was the header's doing. Functions that are only in headers have no symbol: there the sources say
all. A function that a global constant table holds (`struct engine_ops slab_ops`) is called through
that table.
"""
import os
import re

TABLE = re.compile(r"^(?!static\b|extern\b|typedef\b)[A-Za-z_][\w ]*?\b(\w+) = \{"
                   r"(\n.*?^|[^\n]*)\};", re.S | re.M)
TOKEN = re.compile(r"[A-Za-z_]\w*")
INCLUDE = re.compile(r'^\s*#\s*include\s*["<]([^">]+)[">]', re.M)
CALLERS_IN = ("src/", "include/", "tools/uslab/", "bench/")
# Functions of the drop-in that do what the C library's do: whoever calls them below means that.
PASSED_ON = {"dlopen"}
OBJECT = re.compile(r"CMakeFiles/uslab(?!_bench_null)[\w-]*\.dir/((?:src|tools|bench)/.+\.c)\.o$")


class Objects:
    """The objects of a build: of which functions and variables, and what each uses of others."""

    def __init__(self, tree):
        self.defines, self.uses, self.functions, self.homes = {}, {}, {}, {}
        paths = {}
        for folder, _, files in os.walk(os.path.join(tree.build, "CMakeFiles")):
            for name in files:
                match = OBJECT.search(os.path.join(folder, name))
                if match and match.group(1) in tree.paths:
                    paths[os.path.join(folder, name)] = match.group(1)
        if paths:
            self._read(tree.tool("readelf", "-sW", *sorted(paths)) or "", paths)
        for path, names in self.defines.items():
            for name in names:
                self.homes.setdefault(name, []).append(path)

    def _read(self, text, paths):
        """readelf shows machine code where nm shows what LTO knows."""
        path = next(iter(paths.values()))  # a single object has no line of its own
        for line in text.splitlines():
            if line.startswith("File: "):
                path = paths[line[6:]]
            fields = line.split()
            if len(fields) < 8 or fields[4] not in ("GLOBAL", "WEAK"):
                continue
            name = fields[7].split("@")[0]
            if fields[6] == "UND":
                self.uses.setdefault(path, set()).add(name)
                continue
            self.defines.setdefault(path, set()).add(name)
            if fields[3] == "FUNC":
                self.functions.setdefault(name, path)

    def home(self, name, user):
        """The file that has what user uses by this name; None: a library has it."""
        found = self.homes.get(name, [])
        if not user.startswith("src/") or name in PASSED_ON:  # malloc() is libc's there
            found = [p for p in found if not p.startswith("src/malloc/")]
        near = [p for p in found if p.split("/")[0] == user.split("/")[0]]
        return (near or found or [None])[0]

    def graph(self, without=frozenset()):
        """{file: {files whose functions or variables it uses}}"""
        graph = {}
        for user, names in self.uses.items():
            for name in names - without:
                target = self.home(name, user)
                if target and target != user:
                    graph.setdefault(user, set()).add(target)
        return graph


def strongly_connected(graph):
    """Tarjan's components of more than one member, of {node: set of nodes}."""
    index, low, stack, found = {}, {}, [], []

    def visit(node):
        index[node] = low[node] = len(index)
        stack.append(node)
        for following in sorted(graph.get(node, ())):
            if following not in index:
                visit(following)
            if following in stack:
                low[node] = min(low[node], low[following])
        if low[node] == index[node]:
            position = stack.index(node)
            if len(stack) - position > 1:
                found.append(sorted(stack[position:]))
            del stack[position:]

    for node in sorted(graph):
        if node not in index:
            visit(node)
    return found


class Text:
    """What one C file says: names in its code, of headers only what they do, and its tables."""

    def __init__(self, source):
        code = "\n".join(source.code)
        self.path, self.lines = source.path, source.code
        self.includes = INCLUDE.findall("\n".join(source.lines))
        self.tables = {m.group(1): set(TOKEN.findall(m.group(2))) for m in TABLE.finditer(code)}
        self.bodies = list(self._bodies(source.path.endswith(".h")))
        self.own = {name for name, _, _ in self.bodies if name}
        self.names = {}  # of whatever is done here, and of which of its functions
        for name, start, end in self.bodies:
            for word in TOKEN.findall("\n".join(self.lines[start - 1:end])):
                self.names.setdefault(word, []).append(name)
        self.code = set(TOKEN.findall(TABLE.sub("", code)))
        inside = {n for _, start, end in self.bodies for n in range(start, end + 1)}
        outside = "\n".join(c for n, c in enumerate(self.lines, 1) if n not in inside)
        self.declares = set(re.findall(r"\b(\w+)\(", outside))
        self.pointers = set(re.findall(r"\(\*(\w+)\)\(", code))
        self.through = set(re.findall(r"(?:->|\.)(\w+)\(", code))

    def _bodies(self, header):
        """(name, first line, last) of each function, and in a header of each macro."""
        start, name = None, "?"
        for number, line in enumerate(self.lines, 1):
            macro = re.match(r"#\s*define\s+(\w+)(\()?", line)
            if macro and header:
                last = number
                while last < len(self.lines) and self.lines[last - 1].endswith("\\"):
                    last += 1
                yield macro.group(2) and macro.group(1), number, last  # constants are not called
                continue
            match = re.match(r"(?=[A-Za-z_]).*?\b(?!__attribute__\b)(\w+)\s*\(", line)
            if match and not start:
                name = match.group(1)
            if line.startswith("{"):
                start = number
            elif line.startswith("}") and start:
                yield name, start, number
                start = None


class Callers:
    """Who calls the functions of a file, or a function."""

    def __init__(self, tree, objects=None):
        self.tree = tree
        self.objects = objects or Objects(tree)
        self.texts = {s.path: Text(s) for s in tree.c_files(*CALLERS_IN)}
        self._closures, self._by_function, self._used, self._in_tests = {}, {}, {}, None
        self._resolved, self._matching = {}, {}
        self.exported = {line for name in ("symbols", "symbols-malloc", "symbols-inspect")
                         if f"scripts/{name}.txt" in tree.paths
                         for line in tree.source(f"scripts/{name}.txt").lines}
        self.tables = {t: p for p, text in self.texts.items() for t in text.tables}

    def resolve(self, include, path):
        key = include, os.path.dirname(path)
        if key not in self._resolved:
            bases = ("src/", "include/", "tools/uslab/", key[1] + "/")
            full = (os.path.normpath(base + include) for base in bases)
            self._resolved[key] = next((f for f in full if f in self.texts), None)
        return self._resolved[key]

    def matching(self, name):
        """The files that a path names, or a folder (which ends with a slash); * is no slash."""
        if name not in self._matching:
            pattern = re.escape(name).replace(r"\*", "[^/]*") + ("" if name.endswith("/") else "$")
            self._matching[name] = {p for p in self.texts if re.match(pattern, p)} \
                if "*" in name or name.endswith("/") else {name} & self.texts.keys()
        return set(self._matching[name])

    def closure(self, path):
        """The headers that a file includes, itself or by others."""
        if path not in self._closures:
            found, todo = set(), [path]
            while todo:
                at = todo.pop()
                for include in self.texts[at].includes:
                    target = self.resolve(include, at)
                    if target and target not in found:
                        found.add(target)
                        todo.append(target)
            self._closures[path] = found
        return self._closures[path]

    def functions(self, path):
        """{function: the file that has it}: those of a .c file, or those that a header offers."""
        text = self.texts[path]
        if path.endswith(".c"):
            return {n: path for n in self.objects.defines.get(path, ()) if n in text.own}
        functions = {n: self.objects.functions[n] for n in text.declares - text.own
                     if n in self.objects.functions}
        functions.update((n, path) for n in text.own)
        if re.match(r"src/arch/\w+\.h$", path):  # what this CPU's folder has
            functions.update((n, p) for p in self.closure(path) if p.startswith("src/arch/")
                             for n in self.texts[p].own)
        return functions

    def of_function(self, name, home):
        """(files that call a function, tables that hold it)."""
        if (name, home) in self._by_function:
            return self._by_function[name, home]
        users, tables = set(), set()
        if home.endswith(".h"):
            users = {p for p, t in self.texts.items() if p != home and home in self.closure(p)
                     and (name in t.code if p.endswith(".c") else name in t.names)}
        else:
            for user, names in self.objects.uses.items():
                if name in names and self.objects.home(name, user) == home:
                    users |= self._who(user, name)
            users |= {p for p in self.texts if p.startswith("include/") and name in self.texts[p].names}
        for table, owner in self.tables.items():
            if name in self.texts[owner].tables[table] and (owner in users or owner == home
                                                            or home in self.closure(owner)):
                tables.add(table)
                if name not in self.texts[owner].code:
                    users.discard(owner)
        self._by_function[name, home] = users - {home}, tables
        return self._by_function[name, home]

    def _who(self, user, name):
        """The object of user calls name: the file itself, or headers that it includes?"""
        text = self.texts[user]
        if name in text.code or any(name in words for words in text.tables.values()):
            return {user}
        return {h for h in self.closure(user) if name in self.texts[h].names} or {user}

    def of_file(self, path):
        """(files that call functions of path, tables by which they are called)."""
        users, tables = set(), set()
        functions = self.functions(path)
        for name, home in functions.items():
            more, by = self.of_function(name, home)
            users, tables = users | more, tables | by
        if path.endswith(".c"):  # static functions have no symbol that others could use
            own = self.texts[path].tables
            tables |= {t for t, words in own.items() if words & self.texts[path].own}
        else:
            users |= self._of_pointers(path)
            users -= set(functions.values())
        return users - {path}, tables

    def _of_pointers(self, path):
        """Who calls what only a table of operations declared in this header has."""
        own = self.texts[path].pointers
        others = {m for p, t in self.texts.items() if p != path for m in t.pointers}
        return {p for p, t in self.texts.items() if t.through & (own - others)
                and path in self.closure(p)}

    def maybe_of_pointers(self, path):
        """As above; others may have members of that name."""
        return {p for p, t in self.texts.items() if t.through & self.texts[path].pointers
                and path in self.closure(p)}

    def used_by(self, path):
        """The files that a file calls, itself or by what headers have; of a header those also that
        its functions call where they are."""
        if not self._used:
            for p in self.texts:
                for user in self.of_file(p)[0] if p.startswith(("src/", "tools/")) else ():
                    self._used.setdefault(user, set()).add(p)
            for user, targets in self.objects.graph().items():
                self._used.setdefault(user, set()).update(targets)
        homes = {path} | (set(self.functions(path).values()) if path.endswith(".h") else set())
        return set().union(*(self._used.get(home, set()) for home in homes)) - {path}

    def places(self, function, near):
        """{(file, function in it)} that call a function, also one of this file only; "" for tables."""
        text = self.texts[near]
        found = {(near, name) for name in text.names.get(function, ()) if name != function}
        for home in {self.objects.functions.get(function), near}:
            if home and function in self.texts[home].own:
                users, tables = self.of_function(function, home)
                found |= {(u, n) for u in users | {home} for n in self.texts[u].names.get(function, [""])
                          if n != function and (n or u != home)}
                found |= {(self.tables[t], "") for t in tables}
        return found

    def in_tests(self):
        """All names in the tests."""
        if self._in_tests is None:
            self._in_tests = set()
            for source in self.tree.c_files("tests/"):
                self._in_tests.update(TOKEN.findall(source.text))
        return self._in_tests

    def is_exported(self, path):
        return any(name in self.exported for name in self.functions(path))

    def includers(self, path):
        return {p for p, t in self.texts.items() if any(self.resolve(i, p) == path for i in t.includes)}
