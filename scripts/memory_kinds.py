# SPDX-License-Identifier: MIT
"""Where the resident memory of a process on the drop-in is: by kind, in bytes.

What of it is uslab's says `uslab info --json` ("memory"); the program's files and its stack are told
from the rest by /proc/PID/smaps. The process is stopped meanwhile, so that the two agree.
"""
import json
import os
import re
import subprocess
import time

PAGE = os.sysconf("SC_PAGESIZE")
LIBRARY = "libuslab_malloc.so"

# (kind, what it is, keys of uslab's kinds); all resident bytes are in one of these
PARTS = (
    ("used", "objects in use, in slabs", ("live", "padding")),
    ("held", "free objects in CPUs' arrays and depots", ("held_cpu", "held_node", "lent")),
    ("free", "free objects in slabs", ("free", "unknown")),
    ("tails", "tails of slabs, where one more object would not fit", ("tails",)),
    ("runs", "blocks of whole pages", ("runs",)),
    ("free pages", "free pages still resident", ("listed", "fresh", "due", "clean", "between")),
    ("mapped", "blocks with mappings of their own", ("large", "kept")),
    ("descriptors", "descriptors of pages, page classes", ("descriptors", "classes", "used_bits")),
    ("windows", "windows: words of CPUs, tables of the hit paths", ("windows",)),
    ("caches", "caches' descriptors, arrays", ("metadata", "tables")),
    ("library", "code and tables of the library", ("library",)),
    ("library data", "data of the library", ("library_data",)),
    ("program files", "code and data of program and libraries", ()),
    ("stack", "stack of the first thread", ()),
    ("anonymous", "other memory of the program (its own mappings, stacks of threads)", ()),
)
KINDS = tuple((kind, what) for kind, what, _ in PARTS)
OF_CLASS = {"used": ("live", "padding"), "held": ("held_cpu", "held_node", "lent"), "free": ("free",),
            "tails": ("tails",)}


class Gone(Exception):
    """The process ended, or is none on the drop-in, or may not be read."""


class Mapping:
    """A line of smaps: start, end, rights, name, resident bytes."""

    def __init__(self, text):
        head = text.split("\n", 1)[0].split(maxsplit=5)
        self.start, self.end = (int(word, 16) for word in head[0].split("-"))
        self.rights, self.name = head[1], head[5].strip() if len(head) > 5 else ""
        self.resident = int(re.search(r"^Rss: +(\d+)", text, re.M).group(1)) * 1024


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


def program_parts(maps):
    """Resident bytes of the program's files with their data, the library apart, and of its stack."""
    parts, before = {"program files": 0, "stack": 0}, None
    for mapping in maps:
        behind = before and before.end == mapping.start and before.name.startswith("/")
        name = mapping.name or (before.name if behind else "")  # bss
        if mapping.name == "[stack]":
            parts["stack"] += mapping.resident
        elif name and not name.startswith("[anon") and not os.path.basename(name).startswith(LIBRARY):
            parts["program files"] += mapping.resident
        before = mapping
    return parts


def breakdown(process, uslab):
    """{"resident": bytes, "kinds": {kind: bytes}, "classes": [...]} of a process that does not run."""
    found = info(process, uslab)
    memory = found["memory"]
    if not memory:
        raise Gone(f"the resident memory of process {process} is not known")
    kinds = {kind: sum(memory["kinds"][key] for key in keys) for kind, _, keys in PARTS}
    kinds.update(program_parts(mappings(process)))
    kinds["anonymous"] = max(0, memory["process"] - sum(kinds.values()))
    classes = [{"name": cache["name"], **{kind: sum(cache["memory"][key] for key in keys)
                                          for kind, keys in OF_CLASS.items()}}
               for cache in found["caches"] if cache["memory"]]
    return {"program": found["program"], "resident": memory["process"], "kinds": kinds,
            "classes": [c for c in classes if any(c[kind] for kind in OF_CLASS)],
            "slab_bytes": found["uslab"]["slab_bytes"]}
