# SPDX-License-Identifier: MIT
"""The resident memory of a process that is stopped, counted without uslab's tool: by mappings
(/proc/PID/smaps), pages (/proc/PID/pagemap) and class bytes, whose place is part of the ABI
(include/uslab/layout.h). The tool goes by page descriptors and PAGEMAP_SCAN instead.
"""
import os
import re
import struct

PAGE = os.sysconf("SC_PAGESIZE")
ARENA_PAGE = 4096
CLASSES = -(257 << 20)  # USLAB_CLASSES_OFFSET, from the arena's base
PRESENT = 1 << 63  # bits of an entry of pagemap
FILE = 1 << 61
EXCLUSIVE = 1 << 56


def mappings(process):
    """(start, end, name, resident bytes, shared bytes) of each."""
    with open(f"/proc/{process}/smaps", encoding="utf-8", errors="replace") as stream:
        text = stream.read()
    for part in re.split(r"(?m)^(?=[0-9a-f]+-[0-9a-f]+ )", text):
        if not part.strip():
            continue
        head = part.split("\n", 1)[0].split(maxsplit=5)
        start, end = (int(word, 16) for word in head[0].split("-"))
        values = {key: int(value) * 1024 for key, value in re.findall(r"(?m)^(\w+): +(\d+) kB", part)}
        yield (start, end, head[5].strip() if len(head) > 5 else "", values["Rss"],
               values["Shared_Clean"] + values["Shared_Dirty"])


def resident(process):
    """Of the whole process, as the kernel sums it up."""
    with open(f"/proc/{process}/smaps_rollup", encoding="ascii", errors="replace") as stream:
        return int(re.search(r"(?m)^Rss: +(\d+)", stream.read()).group(1)) * 1024


def in_range(process, start, end):
    """Resident bytes of the mappings between two addresses."""
    return sum(size for first, last, _, size, _ in mappings(process) if start <= first and last <= end)


def of_file(process, part):
    """Of mappings of files whose names have that in them, and of nothing behind them (bss)."""
    total, behind = 0, None
    for start, end, name, size, _ in mappings(process):
        if part in os.path.basename(name) or (not name and behind == start):
            total, behind = total + size, end
    return total


def read_at(path, at, size):
    with open(path, "rb", buffering=0) as stream:
        stream.seek(at)
        return stream.read(size)


def pages(process, start, end, shared):
    """For each page of the arena in [start, end): is it resident, and more than the page of zeros?"""
    entries = read_at(f"/proc/{process}/pagemap", start // PAGE * 8, (end - start) // PAGE * 8)
    here = [bool(entry & PRESENT) and (shared or bool(entry & (FILE | EXCLUSIVE)))
            for (entry,) in struct.iter_unpack("<Q", entries)]
    return [page for page in here for _ in range(PAGE // ARENA_PAGE)]


def by_class(process, base, size):
    """{page class: resident bytes} of the arena; class 0: no slab of kmalloc or malloc."""
    found = {}
    for first, last, _, bytes_here, shared in mappings(process):
        start, stop = max(first, base), min(last, base + size)
        if start >= stop or not bytes_here:
            continue
        classes = read_at(f"/proc/{process}/mem", base + CLASSES + (start - base) // ARENA_PAGE,
                          (stop - start) // ARENA_PAGE)
        for number, here in zip(classes, pages(process, start, stop, shared)):
            if here:
                found[number] = found.get(number, 0) + ARENA_PAGE
    return found
