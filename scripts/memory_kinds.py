# SPDX-License-Identifier: MIT
"""Where the resident memory of a process on the drop-in is: by kind, in bytes.

Read from outside, of a process that is stopped: mappings from /proc/PID/smaps, which pages of the arena
are resident from /proc/PID/pagemap, whose slab each is from the class bytes (their place is part of the
ABI, include/uslab/layout.h), and how the slabs are used from `uslab info --json`.
"""
import json
import os
import re
import struct
import subprocess
import time

PAGE = os.sysconf("SC_PAGESIZE")
ARENA_PAGE = 4096
CLASSES = -(257 << 20)  # USLAB_CLASSES_OFFSET, from the arena's base
WINDOWS = -(1792 << 20)  # USLAB_WINDOWS_OFFSET; the tables of pages end there (src/page/arena.c)
DESCRIPTOR = 64  # bytes: struct page
PRESENT = 1 << 63  # a bit of an entry of pagemap
LIBRARY = "libuslab_malloc.so"

# (kind, what it is); all resident bytes are in one of these
KINDS = (
    ("used", "objects in use, in slabs"),
    ("held", "free objects in CPUs' arrays and depots"),
    ("free", "free objects in slabs"),
    ("tails", "tails of slabs, where one more object would not fit"),
    ("runs", "blocks of whole pages"),
    ("free pages", "free pages still resident"),
    ("mapped", "blocks with mappings of their own (at most)"),
    ("descriptors", "descriptors of pages, page classes"),
    ("windows", "windows: words of CPUs, tables of the hit paths"),
    ("caches", "caches' descriptors, arrays"),
    ("library", "code and tables of the library"),
    ("library data", "data of the library"),
    ("program files", "code and data of program and libraries"),
    ("stack", "stack of the first thread"),
    ("anonymous", "other memory of the program (its own mappings, stacks of threads)"),
)


class Gone(Exception):
    """The process ended, or is none on the drop-in, or may not be read."""


class Mapping:
    """A line of smaps: start, end, rights, name, resident bytes, flags."""

    def __init__(self, text):
        head = text.split("\n", 1)[0].split(maxsplit=5)
        self.start, self.end = (int(word, 16) for word in head[0].split("-"))
        self.rights, self.name = head[1], head[5].strip() if len(head) > 5 else ""
        self.resident = int(re.search(r"^Rss: +(\d+)", text, re.M).group(1)) * 1024
        flags = re.search(r"^VmFlags: (.*)", text, re.M)
        self.flags = flags.group(1).split() if flags else []


def content(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as stream:
            return stream.read()
    except OSError as error:
        raise Gone(f"{path}: {error.strerror}") from None


def mappings(process):
    text = content(f"/proc/{process}/smaps")
    found = [Mapping(part) for part in re.split(r"(?m)^(?=[0-9a-f]+-[0-9a-f]+ )", text) if part.strip()]
    if not found:
        raise Gone(f"process {process} has ended")
    return found


def resident(process):
    """Bytes, as the kernel sums up smaps."""
    found = re.search(r"^Rss: +(\d+)", content(f"/proc/{process}/smaps_rollup"), re.M)
    return int(found.group(1)) * 1024 if found else 0


def info(process, uslab):
    run = subprocess.run([uslab, "info", "-p", str(process), "--json"], capture_output=True, text=True, check=False)
    if run.returncode:
        raise Gone(run.stderr.strip() or f"uslab info: status {run.returncode}")
    return json.loads(run.stdout)


def wait_until_stopped(process):
    """SIGSTOP has been sent: until all threads stand, or a second is over."""
    end = time.monotonic() + 1
    while time.monotonic() < end:
        try:
            tasks = [content(f"/proc/{process}/task/{task}/stat") for task in os.listdir(f"/proc/{process}/task")]
        except OSError as error:
            raise Gone(str(error)) from None
        if all(task.rpartition(")")[2].split()[0] in "TtZX" for task in tasks):
            return
        time.sleep(0.001)
    raise Gone(f"process {process} does not stop")


def read_at(path, at, size):
    try:
        with open(path, "rb", buffering=0) as stream:
            stream.seek(at)
            return stream.read(size)
    except OSError as error:
        raise Gone(f"{path}: {error.strerror}") from None


# ---- the arena ----

def resident_pages(process, start, end):
    """For each page of the arena in [start, end): is it resident?"""
    entries = read_at(f"/proc/{process}/pagemap", start // PAGE * 8, (end - start) // PAGE * 8)
    here = [bool(entry & PRESENT) for (entry,) in struct.iter_unpack("<Q", entries)]
    return [page for page in here for _ in range(PAGE // ARENA_PAGE)]


def arena_pages(process, totals, maps):
    """{page class: resident bytes}; class 0: no slab of the drop-in's"""
    base, found = int(totals["arena_base"], 16), {}
    end = base + totals["arena_bytes"]
    for mapping in maps:
        start, stop = max(mapping.start, base), min(mapping.end, end)
        if start >= stop or not mapping.resident:
            continue
        classes = read_at(f"/proc/{process}/mem", base + CLASSES + (start - base) // ARENA_PAGE,
                          (stop - start) // ARENA_PAGE)
        for number, here in zip(classes, resident_pages(process, start, stop)):
            if here:
                found[number] = found.get(number, 0) + ARENA_PAGE
    return found


def slab_parts(cache, there):
    """Resident bytes of a class, by kind; pages that were never touched are free objects' and tails'."""
    parts, rest = {}, there
    free = cache["total_objects"] - cache["objects"] - cache["objects_held"]
    for kind, size in (("used", cache["objects"] * cache["slab_size"]),
                       ("held", cache["objects_held"] * cache["slab_size"]),
                       ("free", free * cache["slab_size"])):
        parts[kind] = max(0, min(size, rest))
        rest -= parts[kind]
    parts["tails"] = rest
    return parts


def arena_kinds(process, found, maps):
    """({kind: bytes}, [(class, its parts)])"""
    pages, kinds, classes = arena_pages(process, found["uslab"], maps), {}, []
    for cache in found["caches"]:
        if cache["id"] and cache["name"].startswith("malloc-") and pages.get(cache["id"]):
            parts = slab_parts(cache, pages.pop(cache["id"]))
            classes.append({"name": cache["name"], **parts})
            for kind, size in parts.items():
                kinds[kind] = kinds.get(kind, 0) + size
    # Pages that were only read are in pagemap, as the one page of zeros, and do not count as resident.
    base = int(found["uslab"]["arena_base"], 16)
    counted_by_smaps = sum(m.resident for m in maps if base <= m.start < base + found["uslab"]["arena_bytes"])
    rest = max(0, counted_by_smaps - sum(kinds.values()))
    kinds["free pages"] = min(rest, found["uslab"]["dirty_bytes"])
    kinds["runs"] = rest - kinds["free pages"]
    return kinds, classes


# ---- all the rest ----

def is_ours(mapping, before):
    """Of the library's file, or its bss behind it?"""
    name = mapping.name or (before.name if before and before.end == mapping.start else "")
    return os.path.basename(name).startswith(LIBRARY)


def tables_size(limit):
    """Bytes of the tables of an arena of at most limit bytes: two bits and a descriptor a page."""
    def whole_pages(size):
        return -(-size // PAGE) * PAGE
    pages = limit // ARENA_PAGE
    return 2 * whole_pages(pages // 8) + pages * DESCRIPTOR


def kind_of(mapping, before, base, tables):
    """
    Kind of a mapping outside of the arena. Ours without a name have no huge pages, flag nh. Where a
    mapping of the caches comes to lie, the system decides: it may be next to the tables.
    """
    if is_ours(mapping, before):
        return "library data" if "w" in mapping.rights or not mapping.name else "library"
    if mapping.name == "[stack]":
        return "stack"
    if mapping.name and not mapping.name.startswith("[anon"):
        return "program files"
    if base + CLASSES <= mapping.start < base:
        return "descriptors"
    if base + WINDOWS <= mapping.start < base:
        return "windows"
    if "nh" in mapping.flags:
        return "descriptors" if base + WINDOWS - tables <= mapping.start < base else "caches"
    if before and before.end == mapping.start and before.name.startswith("/"):
        return "program files"  # bss
    return "anonymous"


def breakdown(process, uslab):
    """{"resident": bytes, "kinds": {kind: bytes}, "classes": [...]} of a process that does not run."""
    try:
        return counted(process, uslab)
    except (ValueError, IndexError, AttributeError, struct.error, OSError) as error:
        raise Gone(f"process {process} ended meanwhile: {error}") from error


def counted(process, uslab):
    maps, whole = mappings(process), resident(process)
    found = info(process, uslab)  # last: what it reads and the process has not read becomes resident
    totals = found["uslab"]
    base = int(totals["arena_base"], 16)
    end = base + totals["arena_bytes"]
    kinds = {kind: 0 for kind, _ in KINDS}
    in_arena, classes = arena_kinds(process, found, maps)
    tables = tables_size(totals["arena_limit"])
    kinds.update(in_arena)
    before = None
    for mapping in maps:
        if not base <= mapping.start < end:
            kinds[kind_of(mapping, before, base, tables)] += mapping.resident
        before = mapping
    kinds["mapped"] = min(kinds["anonymous"], totals["mapped_bytes"])
    kinds["anonymous"] -= kinds["mapped"]
    return {"program": found["program"], "resident": whole, "kinds": kinds, "classes": classes,
            "slab_bytes": totals["slab_bytes"]}
