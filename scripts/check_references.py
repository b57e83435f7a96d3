# SPDX-License-Identifier: MIT
"""Rules of scripts/check.py: what comments, documents, scripts and man pages refer to is there.

Each rule takes the Tree of check.py and yields (file, line, text).
"""
import ast
import fnmatch
import os
import re

COLUMNS = 100
C_TEXTS = (".c", ".h", ".rs", ".S", ".def", ".cc", ".cpp", ".hpp", ".bt", ".js", ".css")
TEXTS = (*C_TEXTS, ".py", ".sh", ".md", ".scd", ".txt", ".cmake", ".in", ".html", ".yml",
         "Makefile", "tests/EXEMPT", "ci/run")
# What others wrote, what programs print, and what was recorded.
NO_TEXTS = ("tests/data/", "tests/misuse/expected/", "bench/results/", "tools/uslab/html/uplot/")


def is_script(tree, path):
    """A program without a suffix, e.g. scripts/results."""
    return "." not in os.path.basename(path) and tree.source(path).text.startswith("#!")


def texts(tree):
    """Paths of what people write and read."""
    return [path for path in tree.paths if not path.startswith(NO_TEXTS)
            and (path.endswith(TEXTS) or is_script(tree, path))]


def line_of(text, offset):
    return text.count("\n", 0, offset) + 1


# ---- documents ----------------------------------------------------------------------------------

def path_exists(tree, token, doc):
    """Does a path named in a document name something: from the root, src/, or the document?"""
    for braces in re.findall(r"\{([^{}]*)\}", token)[:1]:
        return all(path_exists(tree, token.replace("{" + braces + "}", part.strip(), 1), doc)
                   for part in braces.split(","))
    token = token.rstrip("/")
    for base in ("", "src/", "include/", os.path.dirname(doc) + "/"):
        full = os.path.normpath(base + token)
        if full in tree.parts or (re.search(r"[*?[]", full) and any(
                fnmatch.filter(tree.paths, pattern) for pattern in (full, full + "/*"))):
            return True
    return False


def floors(tree):
    """Folders right below src/."""
    return {p.split("/")[1] for p in tree.paths if re.match(r"src/[^/]+/", p)}


def anchors(text):
    """What links behind a # may name: the headings of a Markdown text, as sites spell them."""
    return [re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")
            for heading in re.findall(r"^#+ (.*)", text, re.M)]


def words_of_code(tree):
    """All names in sources, tests and scripts."""
    words = set()
    for path in texts(tree):
        if not path.endswith((".md", ".scd", ".txt")):
            words.update(re.findall(r"[A-Za-z_]\w*", tree.source(path).text))
    return words


def rule_docs(tree):
    """every path, heading and function() that docs, README.md and CONTRIBUTING.md name exists"""
    tops = {p.split("/")[0] for p in tree.paths if "/" in p} | floors(tree)
    tops |= {"src", "include", "tests", "tools", "scripts", "docs", "bench", "cmake"}
    code = words_of_code(tree)
    word = re.compile(r"(?<![\w/.<>~$=:@-])[\w.-]+/[\w.,{}*/+-]*[\w}*/]")
    for path in tree.paths:
        if not path.endswith(".md") or not (path.startswith("docs/") or "/" not in path):
            continue
        fenced = False
        for number, line in enumerate(tree.source(path).lines, 1):
            fenced ^= line.startswith("```")
            for link in re.findall(r"(?:\]\(|\b(?:src|srcset|href)=\")([^)#\s\"]+)", line):
                if "://" not in link and not path_exists(tree, link, path):
                    yield path, number, f"links to {link}, which does not exist"
            for link, part in re.findall(r"\]\(([^)#\s]*)#([^)\s]+)\)", line):
                target = os.path.join(os.path.dirname(path), link) if link else path
                target = os.path.normpath(target)
                if target in tree.paths and part not in anchors(tree.source(target).text):
                    yield path, number, f"links to {link}#{part}, which is no heading there"
            for name in re.findall(r"`(?:[^`]*[^`\w])?(\w+)\(\)", line):
                if name not in code and not path.startswith(("docs/spec/", "CHANGELOG")):
                    yield path, number, f"names {name}(), which is nowhere in the sources"
            for span in [line] if fenced else re.findall(r"`([^`]+)`", line):
                for match in word.finditer(span):
                    token = match.group(0)
                    if token.split("/")[0] not in tops or token.endswith("/NNNN") \
                            or span[match.end():match.end() + 1] == "<":
                        continue
                    if not path_exists(tree, token, path):
                        yield path, number, f"names {token}, which does not exist"


QUOTED = re.compile(r"^<!-- from (\S+) -->\n```\w*\n(.*?)^```$", re.M | re.S)


def rule_quotes(tree):
    """what a document shows behind "<!-- from FILE -->" is a part of that file"""
    for path in tree.paths:
        for match in QUOTED.finditer(tree.source(path).text) if path.endswith(".md") else ():
            name, text = match.groups()
            if name not in tree.paths or f"\n{text}" not in f"\n{tree.source(name).text}":
                yield path, line_of(match.string, match.start()), f"{name} has no such lines"


# ---- the specification --------------------------------------------------------------------------

SPEC_GAP = r"(?:[ \t]+|[ \t]*\n[ \t]*(?:\*|#|//)?[ \t]*)"  # a blank, or a comment's next line
SPEC_PART = r"(?:\d+\.\d+(?!\.?\d)|A\d+)[a-z]?\b"
SPEC_NEXT = rf"(?:,|,?{SPEC_GAP}(?:and|or|to|-)){SPEC_GAP}"
SPEC_REFERENCE = re.compile(
    rf"\b[Ss]pec{SPEC_GAP}(?P<first>{SPEC_PART}|\d+\b(?!\.\d)|A\b)"
    rf"(?P<more>(?:{SPEC_NEXT}{SPEC_PART})*)"
    rf"(?:,?{SPEC_GAP}points?{SPEC_GAP}(?P<points>\d+(?:{SPEC_NEXT}\d+)*))?"
    rf"|\b(?P<list>[Vv]ector|[Pp]itfall)s?{SPEC_GAP}(?P<numbers>\d+\b(?:{SPEC_NEXT}\d+\b)*)")


def spec_parts(tree):
    """{"4", "4.8", "4.8a", "3.8 point 5", ...}: what docs/spec has headings and items for."""
    parts = set()
    for path in tree.paths:
        part = ""
        for line in tree.source(path).lines if re.match(r"docs/spec/.+\.md$", path) else ():
            heading = re.match(r"##? (\d+\.\d+|\d+(?=\.)|A\d*)\b", line)
            item = re.match(r"- \*\*([a-z])\.\*\*|(\d+)\. ", line)
            if line.startswith("#"):
                part = heading.group(1) if heading else ""
                parts.add(part)
            elif item:
                parts.add(part + (item.group(1) or f" point {item.group(2)}"))
    return parts - {""}


def spec_references(text):
    """(offset, part as spec_parts() has it) of each reference in a text."""
    for match in SPEC_REFERENCE.finditer(text):
        numbers = lambda group: re.findall(r"\d+", match.group(group) or "")
        if match.group("list"):
            section = "14" if match.group("list").lower() == "vector" else "15"
            yield from ((match.start(), f"{section}.{number}") for number in numbers("numbers"))
            continue
        cited = [match.group("first")] + re.findall(SPEC_PART, match.group("more"))
        yield from ((match.start(), part) for part in cited)
        yield from ((match.start(), f"{cited[-1]} point {number}") for number in numbers("points"))


def rule_spec(tree):
    """every reference to the specification ("spec 4.13", "vector 3") leads to a part of it"""
    parts = spec_parts(tree)
    for path in texts(tree):
        text = tree.source(path).text
        for offset, part in spec_references(text):
            if part not in parts:
                yield path, text.count("\n", 0, offset) + 1, f"docs/spec has no {part}"
        if not path.startswith("docs/spec/"):
            continue
        prose = re.sub(r"```.*?```|``.*?``|`[^`]*`", lambda m: "\n" * m.group(0).count("\n"), text,
                       flags=re.S)
        for match in re.finditer(r"\[(\d+\.\d+|A\d*)\](?!\()(: (\S*)#(\S+))?", prose):
            number, line = match.group(1), prose.count("\n", 0, match.start()) + 1
            if not match.group(2):
                if f"\n[{number}]: " not in prose:
                    yield path, line, f"[{number}] has no link at the file's end"
                continue
            target = os.path.join("docs/spec", match.group(3)) if match.group(3) else path
            headings = tree.source(target).text if target in tree.paths else ""
            if match.group(4) not in anchors(headings) or not match.group(4).startswith(
                    number.replace(".", "").lower()):
                yield path, line, f"[{number}] leads to {match.group(3)}#{match.group(4)}"


# ---- files --------------------------------------------------------------------------------------

FILE_SUFFIX = r"\.(?:c|h|S|def|py|md|scd|txt\.zst|txt|cmake|bt|sh|js|css|in)"
FILE_REFERENCE = re.compile(
    r"(?<![\w.<>~$@=\\{}*/-])(?:"
    rf"(?:(?:\.\.|\w[\w.-]*)/)+[\w.*-]*[\w*]{FILE_SUFFIX}"  # with folders
    r"|[A-Za-z][\w-]*\.(?:c|h|S|def|scd)"  # without
    r"|(?:src|include|tests|tools|scripts|docs|bench|examples|data|cmake)/[\w./*-]*[\w*]"
    r")(?![\w<{(*>])")
# Files of the kernel and its tools, of a build, and what stands for a name.
FILE_ELSEWHERE = re.compile(
    r"(?:include/)?(?:linux|asm|sys|bits|valgrind)/|(?:mm|lib)/|tools/(?:mm|vm)\b|build/"
    r"|(?:.*/)?(?:[A-Z]+\.(?!md)|\w*(?:NNNN|NAME|FOLDER))")


def c_comments(text):
    """A C text with all but its comments blanked."""
    pattern = r"(/\*.*?\*/|//[^\n]*)|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|[^/\"'\n]+|[/\"']"
    return re.sub(pattern, lambda m: m.group(1) or " " * len(m.group(0)), text, flags=re.S)


def script_comments(text, python):
    """The same of a script: comments, and the docstrings of Python."""
    lines, spoken = text.split("\n"), set()
    for node in ast.walk(ast.parse(text)) if python else ():
        if isinstance(node, (ast.Module, ast.FunctionDef, ast.ClassDef)) \
                and ast.get_docstring(node):
            spoken |= set(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    blanked = (line if number in spoken else re.sub(
        r"^(?:[^#]|(?<!\s)#)*", lambda m: " " * len(m.group(0)), line)
               for number, line in enumerate(lines, 1))
    return "\n".join(blanked)


def prose(tree, path):
    """What a file says to people, in its place; all else is blank."""
    text = tree.source(path).text
    if path.endswith((".md", ".scd")):
        return text
    if path.endswith(C_TEXTS):
        return c_comments(text)
    return script_comments(text, path.endswith(".py") or text.startswith("#!/usr/bin/env python"))


def parts_of_paths(tree):
    """All runs of whole components of all paths: what a reference may say of one."""
    parts = set()
    for path in tree.paths:
        names = path.split("/")
        parts |= {"/".join(names[i:j]) for j in range(1, len(names) + 1) for i in range(j)}
    return parts


def rule_files(tree):
    """every file and folder of the repository that a comment or document names exists"""
    parts = parts_of_paths(tree)
    for path in texts(tree):
        if path.startswith("docs/spec/"):  # whose files are the kernel's
            continue
        text = prose(tree, path)
        for match in FILE_REFERENCE.finditer(text):
            name = match.group(0)
            if "*" in name:
                there = any(fnmatch.fnmatch(part, name) for part in parts)
            else:
                there = name in parts or os.path.normpath(
                    os.path.join(os.path.dirname(path), name)) in parts
            if not there and not FILE_ELSEWHERE.match(name) and not name.startswith("docs/adr/"):
                yield path, line_of(text, match.start()), f"names {name}, which does not exist"


# ---- decisions ----------------------------------------------------------------------------------

ADR_INDEX = "docs/adr/README.md"
ADR_SECTIONS = ["Context", "Decision", "Measured", "Rejected", "Consequences"]
ADR_DATE = r"\d{4}-\d\d-\d\d"
ADR_HEAD = re.compile(
    r"# (?P<number>\d{4}): (?P<title>.+)\n\n"
    r"- Status: (?:accepted|superseded by ADR \d{4})\b.*(?:\n  .*)*\n"
    rf"- Date: {ADR_DATE}(?:, changed {ADR_DATE})?\n\n## Context\n")
ADR_REFERENCE = re.compile(r"\bdocs/adr/(\d+)(-[\w.-]*\w)?|\bADR[ \n*#/]+(\d+)")


def adr_form(path, text):
    """(line, what) of what is wrong with one record."""
    head = ADR_HEAD.match(text)
    if not head or head.group("number") != os.path.basename(path)[:4]:
        yield 1, "does not begin with '# NNNN: title', status, date and '## Context': " + ADR_INDEX
    sections = re.findall(r"^## (.*)$", text, re.M)
    want = [name for name in ADR_SECTIONS if name in sections]
    if sections != want or "Decision" not in want or want[-1] not in ADR_SECTIONS[3:]:
        yield 1, f"has the sections {', '.join(sections)}, not those of {ADR_INDEX} in their order"
    for number, line in enumerate(text.split("\n"), 1):
        if len(line) > COLUMNS and not line.startswith("|"):
            yield number, f"{len(line)} columns; at most {COLUMNS}"


def adr_index(tree, records, cited):
    """(line, what) of what is wrong in the index: titles, and folders whose code names the record."""
    text = tree.source(ADR_INDEX).text if ADR_INDEX in tree.paths else ""
    item = re.compile(r"^- \[(\d{4})\]\(([^)]*)\): \*\*([^*]*)\*\*(.*(?:\n  .*)*)", re.M)
    entries = {match.group(1): match for match in item.finditer(text)}
    for number, path in records.items():
        entry, title = entries.get(number), tree.source(path).lines[0][8:]
        if not entry or entry.group(2) != os.path.basename(path):
            yield 1, f"has no line for {os.path.basename(path)}"
            continue
        line, words = line_of(text, entry.start()), " ".join(entry.group(3).split())
        if words != title:
            yield line, f"{number} is called '{title}'"
        folders = re.findall(r"`([^`]+)`", " ".join(entry.group(4).split()).rpartition(" In ")[2])
        for folder in folders:
            if not any(source.startswith(folder) for source in cited.get(number, ())):
                yield line, f"no file of {folder} names docs/adr/{number}"
        for source in cited.get(number, ()):
            if source.startswith(("src/", "include/", "tools/")) \
                    and not source.startswith(tuple(folders)):
                yield line, f"{source} names {number}, and is in none of its folders"


def rule_adr(tree):
    """decisions have one form, an index, and code that names them; what names one is right"""
    records, cited = {}, {}
    for path in tree.paths:
        match = re.match(r"docs/adr/(\d{4})-[a-z0-9-]+\.md$", path)
        if match and match.group(1) in records:
            yield path, 1, f"{match.group(1)} is also {records[match.group(1)]}"
        elif match:
            records[match.group(1)] = path
            yield from ((path, *wrong) for wrong in adr_form(path, tree.source(path).text))
        elif path.startswith("docs/adr/") and path != ADR_INDEX:
            yield path, 1, "is not called docs/adr/NNNN-the-title-in-short.md"
    for path in texts(tree):
        text = tree.source(path).text
        for match in ADR_REFERENCE.finditer(text):
            number = match.group(1) or match.group(3)
            if number not in records or match.group(2) and not match.group(0) == records[number]:
                name = " ".join(match.group(0).split())
                yield path, line_of(text, match.start()), f"there is no {name}"
            elif match.group(1) and not path.startswith("docs/"):
                cited.setdefault(number, []).append(path)
    for number, path in records.items():
        if number not in cited:
            yield path, 1, f"no file outside docs/ names docs/adr/{number}"
    yield from ((ADR_INDEX, *wrong) for wrong in adr_index(tree, records, cited))
