# SPDX-License-Identifier: MIT
"""Reads the caches of programs that use uslab, of core files and of the kernel.

    import uslab

    for cache in uslab.process(1234).caches:
        print(cache.name, cache.objects)

The numbers are those of `uslab info --json`, from the same library (libuslab_inspect), by the same
names; uslab-info(1) says whom one may read. Nothing is changed in what is read. Any thread may call
any of this. Why it is made so: docs/adr/0053.
"""
import ctypes
import dataclasses
import json
import os
import warnings
from dataclasses import dataclass
from typing import Any, Dict, List, Optional, Union

from uslab.fields import Cache, Flags, Stats, Totals

try:
    from uslab.place import LIBRARY  # written when this was installed
except ImportError:
    LIBRARY = "libuslab_inspect.so"

__all__ = ["Cache", "Error", "Flags", "Snapshot", "Stats", "Totals", "core", "process", "tree"]

_Path = Union[str, "os.PathLike[str]"]


class Error(Exception):
    """It cannot be read: why, in the words of the command."""


class _Source(ctypes.Structure):
    """struct uslab_inspect_source of <uslab/inspect.h>."""

    _fields_ = [("pid", ctypes.c_int), ("core", ctypes.c_char_p), ("tree", ctypes.c_char_p),
                ("program", ctypes.c_char_p), ("library", ctypes.c_char_p), ("sysroot", ctypes.c_char_p)]


@dataclass(frozen=True)
class Snapshot:
    """All caches of a process, core file or kernel as they were at one time, about.

    The members are the keys of `uslab info --json`; what there is not is None.
    """

    caches: List[Cache]
    pid: Optional[int] = None
    program: Optional[str] = None
    object: Optional[str] = None
    """the file of the process that has uslab in it"""
    uslab: Optional[Totals] = None
    memory: Optional[Dict[str, Any]] = None
    """resident memory: bytes by kind ("kinds"), and sums; what they are says `uslab info --fields`"""
    core: Optional[str] = None
    tree: Optional[str] = None
    title: Optional[str] = None
    nodes: Optional[List[Dict[str, int]]] = None
    """of a process: what each node has of all caches together; empty with one node"""

    def cache(self, name: str) -> Cache:
        """The first cache that has this name or alias. KeyError: there is none."""
        for cache in self.caches:
            if name == cache.name or name in cache.aliases:
                return cache
        raise KeyError(name)

    def as_dict(self) -> Dict[str, Any]:
        """What `uslab info --json` prints, as json.loads() gives it."""
        unknown = ("memory",) if self.uslab else ()  # of a process: there, but null
        return {key: value for key, value in dataclasses.asdict(self).items()
                if value is not None or key in unknown}


def process(pid: int, library: Optional[str] = None) -> Snapshot:
    """A process. library: of several copies of uslab in it, the one in a file named like this."""
    if pid <= 0 or pid > 2 ** 31 - 1:
        raise Error(f"'{pid}' is no process id")
    return _snapshot(_Source(pid=pid, library=_bytes(library)))


def core(path: _Path, program: Optional[_Path] = None, library: Optional[str] = None,
         sysroot: Optional[_Path] = None) -> Snapshot:
    """A core file. program: the one that left it, if that is not where it was; sysroot: the folder in
    which the files lie that the core names."""
    return _snapshot(_Source(core=_bytes(path), program=_bytes(program), library=_bytes(library),
                             sysroot=_bytes(sysroot)))


def tree(path: Optional[_Path] = None) -> Snapshot:
    """The running kernel, or a folder like its /sys/kernel/slab."""
    if path is not None and not os.fspath(path):
        raise Error("the tree has no name")
    return _snapshot(_Source(tree=b"" if path is None else _bytes(path)))


def _bytes(text: Optional[_Path]) -> Optional[bytes]:
    name = None if text is None else os.fsencode(text)
    if name and b"\0" in name:
        raise Error("a name has a null character in it")
    return name


def _open() -> "ctypes._FuncPointer":
    name = os.environ.get("USLAB_INSPECT_SO") or LIBRARY
    if "/" in name:
        name = os.path.join(os.path.dirname(os.path.abspath(__file__)), name)
    try:
        function = ctypes.CDLL(name).uslab_inspect_json
    except (OSError, AttributeError) as error:
        raise ImportError(f"uslab: {error}; USLAB_INSPECT_SO names another library") from None
    function.argtypes = [ctypes.POINTER(_Source), ctypes.POINTER(ctypes.c_void_p)]
    function.restype = ctypes.c_void_p
    return function


_json = _open()
_free = ctypes.CDLL(None).free
_free.argtypes = [ctypes.c_void_p]


def _take(text: Optional[int]) -> str:
    """A text of the library, which is freed."""
    if not text:
        return ""
    try:
        return ctypes.string_at(text).decode("utf-8", "replace")
    finally:
        _free(text)


def _snapshot(source: _Source) -> Snapshot:
    said = ctypes.c_void_p()
    text = _take(_json(source, said))
    messages = _take(said.value).splitlines()
    if not text:
        raise Error("; ".join(messages) or "out of memory")
    for message in messages:
        warnings.warn(message, stacklevel=3)
    return _typed(json.loads(text))


def _typed(read: Dict[str, Any]) -> Snapshot:
    caches = [Cache(**{**cache, "flags": Flags(**cache["flags"]),
                       "stats": cache["stats"] and Stats(**cache["stats"])})
              for cache in read["caches"]]
    totals = Totals(**read["uslab"]) if "uslab" in read else None
    return Snapshot(**{**read, "caches": caches, "uslab": totals})
