# SPDX-License-Identifier: MIT
"""The contestants of scripts/bench-malloc: names, libraries, versions, and whether a library is taken.

A list is NAME=PATH (any .so), NAME (glibc, or the library of one of Debian's packages) or @FILE,
separated by commas. In a file each line is NAME=PATH and, after spaces, the version and variables of
the environment (VARIABLE=VALUE) with which that library is at its best.
"""
import glob
import hashlib
import os
import re
import subprocess

# name: [(library, package)], the first one that is there counts: Debian's releases differ
DEBIAN = {
    "mimalloc": [("libmimalloc.so.3", "libmimalloc3"), ("libmimalloc.so.2", "libmimalloc2.0")],
    "jemalloc": [("libjemalloc.so.2", "libjemalloc2")],
    "tcmalloc": [("libtcmalloc_minimal.so.4", "libtcmalloc-minimal4t64"),
                 ("libtcmalloc_minimal.so.4", "libtcmalloc-minimal4")],
    "tbbmalloc": [("libtbbmalloc_proxy.so.2", "libtbbmalloc2")],
}
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
GLIBC, OWN_CACHE = "glibc", "own-cache"
DROP_IN = "libuslab_malloc.so"
FOLDERS = ("/usr/lib/*-linux-gnu", "/usr/lib64", "/usr/lib", "/usr/local/lib")


class Failure(Exception):
    """What ends the run, as one line; status 2: wrong use."""

    def __init__(self, text, status=1):
        super().__init__(text)
        self.status = status


def shown(words):
    """As results that are kept have it: paths of this machine without their folders, but for the system's."""
    def shorter(found):
        path = found.group()
        below = os.path.relpath(path, ROOT)
        return below if not below.startswith("..") else path if path.startswith("/usr/") else os.path.basename(path)
    return re.sub(r"(?<![^=@,])/[^=@,]*[^=@,/]", shorter, words)


class Contestant:
    """One allocator. path None: glibc's malloc, or caches of its own (role uslab)."""

    def __init__(self, name, role, path=None, version=None, package=None, environment=None):
        self.name, self.role, self.path = name, role, path
        self.version, self.package, self.environment = version, package, environment or {}

    @property
    def own(self):
        return self.name == OWN_CACHE and not self.path

    def described(self):
        """As it stands in the JSON."""
        digest = None
        if self.path:
            with open(self.path, "rb") as stream:
                digest = hashlib.sha256(stream.read()).hexdigest()
        return {"name": self.name, "role": self.role, "library": self.path and shown(self.path), "package": self.package,
                "version": self.version, "environment": self.environment, "sha256": digest}


def package_version(package):
    query = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", package], capture_output=True, text=True,
                           check=False) if os.path.exists("/usr/bin/dpkg-query") else None
    return query.stdout.strip() or None if query and query.returncode == 0 else None


def from_debian(name):
    """The contestant, or None where its package is not installed."""
    found = [(path, package) for library, package in DEBIAN[name] for folder in FOLDERS
             for path in sorted(glob.glob(os.path.join(folder, library)))]
    for path, package in found:
        if package_version(package):
            return Contestant(name, "peer", path, package_version(package), package)
    return Contestant(name, "peer", found[0][0]) if found else None


def from_file(name, path, version=None, environment=None):
    path = os.path.abspath(os.path.expanduser(path))
    if not os.path.isfile(path):
        raise Failure(f"there is no library {path} ({name})")
    if not re.fullmatch(r"[\w.+-]+", name):
        raise Failure(f"'{name}' is no name of a peer: letters, digits and ._+- only", 2)
    role = "uslab" if os.path.basename(os.path.realpath(path)).startswith(DROP_IN) else "peer"
    return Contestant(name, role, path, version, environment=environment)


def listed(path):
    """The contestants of a file of NAME=PATH lines."""
    try:
        with open(path, encoding="utf-8") as stream:
            lines = stream.read().splitlines()
    except OSError as error:
        raise Failure(f"cannot read the list of peers: {path}: {error.strerror}") from None
    for number, line in enumerate(lines, 1):
        line = line.split("#")[0].strip()
        if not line:
            continue
        name, equals, rest = line.partition("=")
        if not equals or not rest:
            raise Failure(f"{path}:{number}: '{line}' is not NAME=PATH", 2)
        library, *words = rest.split()
        yield from_file(name, os.path.join(os.path.dirname(os.path.abspath(path)), library),
                        " ".join(word for word in words if "=" not in word) or None,
                        dict(word.split("=", 1) for word in words if "=" in word))


def one(item):
    """The contestants that one item of the list names."""
    if item.startswith("@"):
        return list(listed(item[1:]))
    name, equals, path = item.partition("=")
    if equals:
        return [from_file(name, path)]
    if name == GLIBC:
        return [Contestant(GLIBC, "system")]
    if name not in DEBIAN:
        raise Failure(f"no peer '{name}'; there are {', '.join([*DEBIAN, GLIBC])}, or NAME=PATH", 2)
    found = from_debian(name)
    if not found:
        library, packages = DEBIAN[name][0][0], " or ".join(package for _, package in DEBIAN[name])
        raise Failure(f"{name}: {library} is not installed: apt-get install {packages}")
    return [found]


def contestants(text, drop_in):
    """All contestants, ours first; text None: Debian's that are installed, and glibc."""
    drop_in = os.path.abspath(drop_in)  # programs run in folders of their own
    if text is None:
        found = [c for c in map(from_debian, DEBIAN) if c] + one(GLIBC)
    else:
        found = [c for item in text.split(",") if item for c in one(item)]
    if not any(c.name == "uslab" for c in found):
        if not os.path.isfile(drop_in):
            raise Failure(f"there is no {drop_in}; build first: make")
        found.insert(0, Contestant("uslab", "uslab", drop_in))
    names = [c.name for c in found]
    for name in names:
        if names.count(name) > 1:
            raise Failure(f"two peers are named {name}", 2)
    return found


def check_taken(contestant, load):
    """The dynamic linker only warns of a library that it cannot preload: glibc would be measured."""
    if not contestant.path:
        return
    env = {**os.environ, **contestant.environment, "LD_PRELOAD": contestant.path}
    run = subprocess.run([load, "--mode", "origin"], env=env, capture_output=True, text=True, check=False, cwd=os.sep)
    origin = re.search(r"^text origin (.+)$", run.stdout, re.M)
    if run.returncode:
        raise Failure(f"{contestant.name}: a program that preloads {contestant.path} ends with status "
                      f"{run.returncode}: {run.stderr.strip()[-300:]}")
    if not origin or os.path.realpath(origin.group(1)) != os.path.realpath(contestant.path):
        raise Failure(f"{contestant.name}: malloc comes from {origin.group(1) if origin else 'nowhere'}, "
                      f"not from {contestant.path}: {run.stderr.strip()[-300:]}")
