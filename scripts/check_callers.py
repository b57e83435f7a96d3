# SPDX-License-Identifier: MIT
"""The rule of scripts/check.py on what comments say of who calls, against callgraph.py.

The paragraph "Flow:" at the head of a file of src/ or tools/uslab/ says in one form who calls the
functions of that file, or those that a header offers:

    Flow:       called by NAME, NAME and NAME [words]; calls NAME [words]; included by NAME.

Each name is a file or a folder, which stands for its files: of this folder, this floor (tools/uslab
is one), src/ or the root. Other names are `tools`, `programs` (what is exported), `tests`, `the loader`
(constructors), `every floor`, `every folder` (of tools/uslab), a function of the caller's, and `through
some_ops`, a global constant table that has the function. "Called by" and "included by" are complete,
"calls" is not; none names what is not so. "Called back by NAME": a function there was given one of
this file. Of a program of bench/ "started by NAME" says which files have its name as a text. Elsewhere
a comment above a function may say "called by other() and NAME"; that is checked likewise.
`scripts/callers FILE` prints what there is to say.
"""
import fnmatch
import os
import re

from callgraph import CALLERS_IN, Callers

SAYS = re.compile(r"\b(?P<back>[Cc]alled back by)\b|\b[Cc]alled (?P<by>by|from|through)\b"
                  r"|\b(?P<include>[Ii]ncluded|[Uu]sed) by\b|\b(?P<calls>[Cc]alls)\b"
                  r"|\b(?P<start>[Ss]tarted) by\b")
CLAUSE_ENDS = re.compile(r"[;:]|\.(?=\s|$)|,(?= calls? )")
PATH = r"(?<![\w/.<*])(?:[\w*-]+/)*[\w*-]+\.[ch]\b"
FOLDER = r"(?<![\w/.<*])(?:[\w-]+/)+(?![\w*{])"
ITEM = re.compile(rf"(?P<path>{PATH})|(?P<folder>{FOLDER})|through (?P<table>[\w*]+)"
                  r"|\b(?P<function>\w+)\(\)|\b(?P<word>programs?|tools|tests|loader|everything"
                  r"|every floor|every folder)\b")
NAMES_HERE, NAMES_THERE, NAMES_IN_ALL = 4, 2, 6  # of more files the folder is named
FLOORS_OF_EVERY = 6  # "every floor" calls what at least so many of the folders of src/ call
TOOLS = "tools/uslab/"
FLOW_IN = ("src/", TOOLS, "bench/")


class Flow:
    """The paragraph "Flow:" at the head of a file, against the graph."""

    def __init__(self, callers, path):
        self.callers, self.path = callers, path
        users, self.tables = callers.of_file(path)
        # the benchmarks link the library as programs do, and some files of the tool as their own
        self.users = {u for u in users
                      if path.startswith(("bench/", TOOLS)) or not u.startswith("bench/")}

    def check(self, text):
        """What is wrong in a text, one line for each mistake."""
        found, missing = [], False
        users = {u for u in self.users if not self._is_program(u)}
        for match in SAYS.finditer(text):
            clause = text[match.end():]
            end = CLAUSE_ENDS.search(clause)
            clause = clause[:end.start()] if end else clause
            if match.group("include"):
                yield from self._included(match.group(0), clause)
            elif match.group("start"):
                missing = True
                yield from self._started(clause)
            elif match.group("calls"):
                yield from self._calls(clause)
            elif match.group("back"):
                yield from self._calls(clause, "'called back by'", "which it calls nothing of")
            elif match.group("by") == "from":
                yield "says 'called from'; write 'called by'"
            else:
                missing = True
                text_of = f"through{clause}" if match.group("by") == "through" else clause
                found += self._items(text_of)
        if not missing:
            if self.path.startswith(FLOW_IN[1:]) and self.path.endswith(".c") and (users or self.tables):
                yield f"says not who calls it: {self.described()}"
            return
        for what, who in found:
            if who is None:
                yield f"'called by' names {what}, which is nothing here"
            elif not who:
                yield f"'called by' names {what}, which does not call it"
        covered = set().union(*(who for _, who in found if who))
        left = users - covered
        if left:
            yield f"'called by' leaves out {self.listed(left)}"
        through = self.tables - covered
        if through:
            yield f"'called by' leaves out 'through {', '.join(sorted(through))}'"
        if self.callers.is_exported(self.path) and not any("program" in what for what, _ in found):
            yield "'called by' leaves out programs, for which it is exported"

    def listed(self, paths):
        return ", ".join(sorted(self.short(p) for p in paths))

    def described(self):
        """What the paragraph has to say of its callers; None: it has none."""
        users = {u for u in self.users if not self._is_program(u)}
        parts, groups = [], {}
        for user in users:
            home = os.path.dirname(self.path) == os.path.dirname(user)
            groups.setdefault("" if home else self._room(user), set()).add(user)
        if self.path.startswith(TOOLS) and len(groups) >= FLOORS_OF_EVERY:
            return "called by every folder"
        if len(groups) >= FLOORS_OF_EVERY and not any(u.startswith("tools/") for u in users):
            return "called by every floor"
        for name, files in sorted(groups.items()):
            if len(files) <= (NAMES_HERE if not name else NAMES_THERE):
                parts += sorted(self.short(p) for p in files)
            elif not name:
                parts.append(self.short(os.path.dirname(self.path)) + "/")
            else:
                parts.append(self.short(os.path.commonpath(files)) + "/")
        if len(parts) > NAMES_IN_ALL:
            parts = [(self.short(os.path.dirname(self.path)) if not name else name) + "/"
                     for name in sorted(groups)]
            parts = ["tools" if p == "uslab/" else p for p in parts]
        if not self.path.startswith(TOOLS):
            parts = ["tools" if p.startswith("tools/") else p for p in parts]
        parts = list(dict.fromkeys(parts))
        text = self.callers.texts[self.path]
        if self.callers.is_exported(self.path):
            parts.append("programs")
        if "constructor" in text.code:
            parts.append("the loader")
        if self.tables:
            prefix = os.path.commonprefix(sorted(self.tables)).rsplit("_", 1)[0]
            parts.append("through " + (f"{prefix}_*" if len(self.tables) > 1
                                       else min(self.tables)))
        called = self.callers.in_tests()
        if not parts and any(n in called for n in self.callers.functions(self.path)):
            parts.append("tests")
        if not parts:
            return None
        listed = ", ".join(parts[:-1]) + (" and " if len(parts) > 1 else "") + parts[-1]
        return f"called {'' if listed.startswith('through') else 'by '}{listed}"

    def short(self, path):
        """As it is written in this file: a file of this floor by its name, if that is clear."""
        name = os.path.basename(path)
        if self.path.startswith(TOOLS):
            home = os.path.dirname(self.path) == os.path.dirname(path)
            return name if home else path.removeprefix(TOOLS).removeprefix("src/")
        return name if self.files(name) == {path} else path.removeprefix("src/")

    def _room(self, path):
        """The floor of a file of src/, the folder of one of the tools."""
        return os.path.dirname(path) if self.path.startswith(TOOLS) else path.split("/")[1]

    def calls(self):
        """What the paragraph may say of what this file calls; None: nothing."""
        groups, parts = {}, []
        for path in self.callers.used_by(self.path):
            if not path.startswith("include/"):
                groups.setdefault(os.path.dirname(path), set()).add(path)
        for folder, files in sorted(groups.items(), key=lambda g: (g[0] != os.path.dirname(self.path), g)):
            bodies = {p for p in files if p.endswith(".c")} or files
            parts += sorted(map(self.short, bodies)) if len(bodies) <= NAMES_HERE \
                else [self.short(folder) + "/"]
        return f"calls {', '.join(parts)}" if parts else None

    def _is_program(self, user):
        return user.startswith("include/") or (self.callers.is_exported(self.path)
                                               and user.startswith("tools/"))

    def _items(self, clause):
        """[(as written, the callers that it stands for; None: there is no such thing)]"""
        found = []
        for match in ITEM.finditer(clause):
            kind, word = match.lastgroup, match.group(match.lastgroup)
            users = self.users | self._maybe()
            if kind in ("path", "folder"):
                files = self.files(word)
                found.append((word, files & users if files else None))
            elif kind == "table":
                pattern = re.compile(word.replace("*", r"\w*") + "$")
                found.append((word, {t for t in self.tables if pattern.match(t)}))
            elif kind == "function":
                found.append((f"{word}()", {u for u in self.users
                                            if word in self.callers.texts[u].own}))
            else:
                found.append((word, self._word(word)))
        return found or [(clause.strip() or "nobody", None)]

    def _maybe(self):
        return self.callers.maybe_of_pointers(self.path) if self.path.endswith(".h") else set()

    def _word(self, word):
        if word == "tools":
            return {u for u in self.users if u.startswith("tools/")}
        if word.startswith("program"):
            return {"programs"} if self.callers.is_exported(self.path) else set()
        if word == "every floor":
            floors = {u.split("/")[1] for u in self.users if u.startswith("src/")}
            return self.users if len(floors) >= FLOORS_OF_EVERY else set()
        if word == "every folder":
            folders = {os.path.dirname(u) for u in self.users if u.startswith(TOOLS)}
            return self.users if len(folders) >= FLOORS_OF_EVERY else set()
        text = self.callers.texts[self.path]
        if word == "loader":
            return {"loader"} if "constructor" in text.code else set()
        if word == "tests":
            called = self.callers.in_tests()
            return {"tests"} if any(n in called for n in self.callers.functions(self.path)) else set()
        return None

    def files(self, word):
        """The files that a path or folder names: from this folder, this floor, src/ or the root; a
        bare name is of this folder, or of any folder of this floor."""
        here = os.path.dirname(self.path) + "/"
        floor = "/".join(self.path.split("/")[:2]) + "/"
        found = self.callers.matching(here + word)
        if "/" not in word:
            return found or {p for p in self.callers.matching(floor)
                             if fnmatch.fnmatchcase(os.path.basename(p), word)}
        for base in (floor, "src/", ""):
            found |= self.callers.matching(base + word)
        return found

    def _included(self, how, clause):
        users = self.callers.includers(self.path)
        words = [m for m in ITEM.finditer(clause)]
        covered, named = set(), False
        for match in words:
            kind, word = match.lastgroup, match.group(match.lastgroup)
            if kind == "word" and word in ("everything", "every floor"):
                floors = {u.split("/")[1] for u in users if u.startswith("src/")}
                named, covered = True, users
                if len(floors) < FLOORS_OF_EVERY:
                    yield f"'{how} {word}': of {len(floors)} floors only"
            elif kind in ("path", "folder") or word == "tools":
                files = self.files("tools/" if word == "tools" else word)
                if not files & users:
                    yield f"'{how}' names {word}, which does not include it"
                named, covered = True, covered | files
        if not named:
            yield f"'{how}' names no file or folder"
        elif users - covered:
            yield f"'{how}' leaves out {self.listed(users - covered)}"

    def _started(self, clause):
        """A program of bench/ is started by whoever knows its name."""
        name = os.path.basename(self.path).removesuffix(".c")
        users = {p for p in self.callers.texts if f'"{name}"' in self.callers.tree.source(p).text}
        named = set()
        for match in ITEM.finditer(clause):
            files = self.files(match.group(match.lastgroup)) if match.lastgroup in ("path", "folder") \
                else set()
            named |= files
            if not files & users:
                yield f"'started by' names {match.group(0)}, which does not name {name}"
        if users - named:
            yield f"'started by' leaves out {self.listed(users - named)}"

    def _calls(self, clause, how="'calls'", wrong="which it does not call"):
        uses = self.callers.used_by(self.path)
        for match in ITEM.finditer(clause):
            if match.lastgroup in ("path", "folder"):
                word = match.group(match.lastgroup)
                files = self.files(word)
                files |= {p[:-1] + "c" for p in files if p.endswith(".h")}
                if not files:
                    yield f"{how} names {word}, which is nothing here"
                elif not files & uses:
                    yield f"{how} names {word}, {wrong}"


def flow_of(source):
    """(line, text) of the paragraph "Flow:" in the comment at a file's head; None: it has none."""
    head = re.match(r"[^\n]*\n/\*\n(.*?)\*/", source.text, re.S)
    flow = re.search(r"^ \* Flow:(.*?)(?=^ \*\s*$|^ \* [A-Z][\w ]*:|\Z)", head.group(1), re.S | re.M) \
        if head else None
    if not flow:
        return None
    line = source.text.count("\n", 0, head.start(1) + flow.start()) + 1
    return line, " ".join(re.sub(r"\n \*", " ", flow.group(1)).split())


NAMED = re.compile(r"\b[Cc]alled (?:by|from) (?P<who>(?:(?:, | and |,? or |only )*"
                   rf"(?:\w+\(\)|{PATH}|{FOLDER}))+)")


def comments_of(source):
    """(offset, text, function that follows) of the comments after a file's head."""
    code = re.compile(r"^(?:[A-Za-z_][^\n;{=]*?)?\b(\w+)\(", re.M)
    blanked = "\n".join(source.code)
    for match in re.finditer(r"/\*.*?\*/", source.text, re.S):
        if match.start() < 60:  # the line of the licence, and the head
            continue
        after = code.search(blanked, match.end())
        yield match.start(), match.group(0), after.group(1) if after else None


def wrong_callers(tree, callers):
    """(file, line, text): what comments say about callers, and is not so."""
    for source in tree.c_files(*CALLERS_IN):
        flow = flow_of(source) if source.path.startswith(FLOW_IN) else None
        if flow:
            said = Flow(callers, source.path)
            yield from ((source.path, flow[0], text) for text in said.check(flow[1]))
        for offset, text, function in comments_of(source):
            joined = " ".join(re.sub(r"\n\s*\*", " ", text).split())
            for match in NAMED.finditer(joined):
                line = source.text.count("\n", 0, offset) + 1
                yield from ((source.path, line, wrong) for wrong in
                            wrong_function(callers, source.path, function, match.group("who")))


def wrong_function(callers, path, function, who):
    """A comment above a function names its callers: functions, files or folders."""
    places = {p for p in callers.places(function, path)
              if path.startswith("bench/") or not p[0].startswith("bench/")}
    covered = set()
    for match in ITEM.finditer(who):
        word = match.group(match.lastgroup)
        if match.lastgroup == "function":
            named = {p for p in places if p[1] == word}
        else:
            files = Flow(callers, path).files(word)
            named = {p for p in places if p[0] in files}
        if not named:
            yield f"{word} does not call {function}()"
        covered |= named
    left = sorted({f"{name}() of {p}" if name else p for p, name in places - covered})
    if left:
        yield f"{function}() is called by {', '.join(left)} as well"


def rule_callers(tree):
    """what comments say of who calls, includes or is called holds against objects and sources"""
    for part in ("src", "tools", "bench"):
        if not any(path.startswith(part + "/") for path in tree.objects.defines) \
                and any(path.startswith(part + "/") and path.endswith(".c") for path in tree.paths):
            tree.skip("callers", f"no objects of {part}/ in {tree.build}; build first")
            return
    yield from wrong_callers(tree, Callers(tree, tree.objects))
