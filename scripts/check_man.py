# SPDX-License-Identifier: MIT
"""The rules of scripts/check.py on man pages: the public headers against docs/man/*.3.scd."""
import re

from check_references import line_of, texts

SECTIONS = ("NAME", "SYNOPSIS", "DESCRIPTION", "RETURN VALUE", "ERRORS", "ATTRIBUTES", "COST",
            "SOURCE", "EXAMPLE", "SEE ALSO")
# What inline functions and macros call, not programs.
OUT_OF_LINE = re.compile(r"uslab_((cache|kv?malloc|kv?realloc|alloc_tags?)(_|$)|mem_profiling_on$|group_key$)")
SAFETY = ("Threads", "Signal handlers", "fork")
MALLOC_PAGE = "docs/man/uslab-malloc.3.scd"
NESTED = r"\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)"


def prototype(text):
    """A declaration without attributes and layout: how header and page are compared."""
    text = re.sub(rf"__attribute__\s*{NESTED}", " ", text)
    text = re.sub(rf"\bUSLAB_SIZED\s*{NESTED}|\bUSLAB_[A-Z_]+\b|\bextern\b", " ", text)
    return re.sub(r" ?([(),*;]) ?", r"\1", " ".join(text.split())).strip()


def declared(tree):
    """{name: (file, line, prototype)} of what programs may call; macros have no prototype."""
    found = {}
    for path in tree.paths:
        if not re.match(r"include/uslab/[\w-]+\.h$", path):
            continue
        text = re.sub(r"/\*.*?\*/", lambda m: re.sub(r"[^\n]", " ", m.group(0)),
                      tree.source(path).text, flags=re.S)
        for match in re.finditer(r"^[ \t]*#[ \t]*define (\w+)\(", text, re.M):
            if not re.match(r"uslab_|\w+_noprof$", match.group(1), re.I):  # _noprof: as without
                # a macro in front of a function does not hide that
                found.setdefault(match.group(1), (path, text.count("\n", 0, match.start()) + 1, None))
        text = re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", lambda m: "\n" * m.group(0).count("\n"), text,
                      flags=re.M)
        for match in re.finditer(r"\bUSLAB_(?:API|INLINE)\b([^;{]*)[;{]|\b(typedef [^;]*\(\*[^;]*);", text):
            line = text.count("\n", 0, match.start()) + 1
            said = prototype(match.group(1) or match.group(2))
            name = re.search(r"\(\*(\w+)\)" if match.group(2) else r"(\w+)(?=\(|\[|$)", said)
            if name:
                found[name.group(1)] = path, line, said
    return found


class Page:
    """One docs/man/*.scd: its names, sections, and the examples that it shows."""

    def __init__(self, source):
        self.path, self.text = source.path, source.text
        self.stem, self.section = re.match(r"docs/man/(.+)\.(\d)\.scd$", source.path).groups()
        parts = re.split(r"^# (.+)\n", source.text, flags=re.M)
        self.sections = dict(zip(parts[1::2], parts[2::2]))
        self.order = parts[1::2]
        names = self.sections.get("NAME", "").split(" - ")[0]
        self.names = [name.strip() for name in names.replace("\\", "").split(",") if name.strip()]

    def line(self, text):
        return self.text[:max(self.text.find(text), 0)].count("\n") + 1


def check_page(tree, page, functions):
    """What a page of section 3 has to have: yields (line, text)."""
    order = [name for name in page.order if name in SECTIONS]
    missing = [name for name in SECTIONS if name not in page.order]
    for name in missing:
        yield 1, f"has no section {name}"
    if not missing and order != list(SECTIONS):
        yield 1, "the sections stand in another order than " + ", ".join(SECTIONS)
    attributes = page.sections.get("ATTRIBUTES", "")
    for word in SAFETY:
        if f"\n*{word}*\n" not in attributes and attributes:
            yield page.line("# ATTRIBUTES"), f"ATTRIBUTES does not say '*{word}*'"
    examples = re.findall(r"^@(examples/.+)@$", page.text, re.M)
    if not examples:
        yield page.line("# EXAMPLE"), "shows no file of examples/"
    for example in examples:
        if example not in tree.paths:
            yield page.line(example), f"shows {example}, which does not exist"
    code = "".join(tree.source(example).text for example in examples if example in tree.paths)
    code = re.sub(r"/\*.*?\*/", "", code, flags=re.S)
    synopsis = prototype(page.sections.get("SYNOPSIS", ""))
    for name in page.names:
        if name not in functions:
            if name != page.stem or not name.startswith("uslab"):
                yield page.line("# NAME"), f"is about {name}, which no header declares"
            continue
        said = functions[name][2]
        if not (said and f"{said};" in synopsis) and (said or f"{name}(" not in synopsis):
            yield page.line("# SYNOPSIS"), f"SYNOPSIS does not have '{said or name}' as the header does"
        if not re.search(rf"\b{name}\b", code) and not OUT_OF_LINE.match(name) \
                and not (said or "").startswith("typedef"):
            yield page.line("# EXAMPLE"), f"no program on this page calls {name}"


# *uslab-info*(1), uslab-info(1)
REFERENCE = re.compile(r"(?<![\w.-])([*_]?)([a-zA-Z][\w-]*)\1\(([1-8])\)")


def check_references(tree, known, functions):
    """References to pages of ours lead somewhere, in comments and documents too. A call of a
    function in a C file is none: there only section 3 is one of a function."""
    for path in texts(tree):
        text = tree.source(path).text
        for match in REFERENCE.finditer(text):
            name, section = match.group(2, 3)
            function = name in functions or re.match(r"uslab_|kmem_", name)
            ours = function and (section == "3" or path.endswith(".scd"))
            ours = ours or re.match(r"uslab(?!_)\b", name)
            if ours and (name, section) not in known:
                yield path, line_of(text, match.start()), f"there is no page {name}({section})"


def rule_man(tree):
    """functions have pages of section 3 as headers have them; "uslab-info(1)" names a page that is there"""
    pages = [Page(tree.source(path)) for path in tree.paths if re.match(r"docs/man/.+\.\d\.scd$", path)]
    functions = declared(tree)
    known = {(name, page.section) for page in pages for name in page.names + [page.stem]}
    yield from check_references(tree, known, functions)
    shown = set()
    homes = {}
    for page in pages:
        if page.section != "3":
            continue
        for number, text in check_page(tree, page, functions):
            yield page.path, number, text
        for name in page.names:
            if homes.setdefault(name, page.path) != page.path:
                yield page.path, page.line("# NAME"), f"{name} has a page already, {homes[name]}"
        shown.update(re.findall(r"^@(examples/.+)@$", page.text, re.M))
    for name, (path, line, _) in functions.items():
        if name not in homes:
            yield path, line, f"{name} has no page in docs/man/*.3.scd"
    for path in tree.paths:
        if re.match(r"examples/[^./][^/]*$", path) and path not in shown:
            yield path, 1, "no page of section 3 shows it"
    yield from check_exports(tree, functions)


def check_exports(tree, functions):
    """What the library exports is declared, but for data of tools; the drop-in's page names its C functions."""
    page = tree.source(MALLOC_PAGE).text if MALLOC_PAGE in tree.paths else ""
    for listed in ("scripts/symbols.txt", "scripts/symbols-malloc.txt", "scripts/symbols-inspect.txt"):
        for number, name in enumerate(tree.source(listed).lines if listed in tree.paths else (), 1):
            if not re.match(r"[a-z]\w*$", name) or name in functions:
                continue
            if "malloc" in listed:
                if page and f"*{name}*" not in page:
                    yield listed, number, f"{MALLOC_PAGE} does not name {name}"
            elif not re.match(r"uslab_(root|layout_\d+)$", name):
                yield listed, number, f"{name} is exported, but no header declares it"
