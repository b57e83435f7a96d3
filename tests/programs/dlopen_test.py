#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A storm of dlopen and dlclose: plug-ins that allocate in constructors, in thread storage, and last.

Some are loaded with RTLD_DEEPBIND. And plug-ins that inline the hit paths: the last sequence that a thread ran must not go away.
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import preload  # noqa: E402

PLUGINS = 6


CXX = "clang++" if "clang" in os.path.basename(preload.CC) else "g++"


def inlined(lab):
    """C and C++, hidden and not, with the library beside it or inside."""
    host = lab.build("hits_host", ["tests/programs/src/hits_host.c"], "-ldl")
    libraries = os.path.dirname(preload.LIBRARY)
    shared = os.path.join(libraries, "libuslab.so")
    beside = [shared, f"-Wl,-rpath,{libraries}"]
    inside = [os.path.join(libraries, "libuslab.a"), "-pthread"]
    include = "-I" + os.path.join(preload.SRC, "include")
    for language, compiler in ("c", preload.CC), ("c++", CXX):
        for kind, link in ("beside", beside), ("inside", inside):
            plugin = lab.build(f"hits-{language}-{kind}.so", ["tests/programs/src/hits.c"], include,
                               "-x", "none", *link, "-shared", "-fPIC", "-fvisibility=hidden",
                               compiler=[compiler, "-x", language])
            commands = [[host, plugin]] + ([[host, plugin, shared]] if kind == "beside" else [])
            for command in commands:
                said = lab.run_ok(command, preload=None).out.strip()
                print(f"{language}, {kind}, {len(command) - 1}: {said}")


def deepbind(lab):
    """Libraries that are loaded with RTLD_DEEPBIND, found by the RUNPATH of who loads them."""
    folder = lab.file("beside")
    os.mkdir(folder)
    lab.build("beside/libdeepbound.so", ["tests/programs/src/deepbound.c"], "-fno-builtin", "-shared", "-fPIC")
    program = lab.build("deepbind", ["tests/programs/src/deepbind.c"], "-fno-builtin", "-ldl",
                        f"-Wl,--enable-new-dtags,-rpath,{folder}")
    print(lab.run_ok([program, "libdeepbound.so"]).out.strip())
    print(lab.run_ok([program, "libdeepbound.so", "keep"], env={"USLAB_CONF": "deepbind"}).out.strip())


def main():
    lab = preload.Lab()
    deepbind(lab)
    program = lab.build("plugins", ["tests/programs/src/plugins.c"], "-pthread", "-ldl")
    plugins = [lab.build(f"plugin{i}.so", ["tests/programs/src/plugin.c"], "-shared", "-fPIC",
                         "-Wl,-soname,plugin%d.so" % i) for i in range(PLUGINS)]
    result = lab.run_ok([program, str(400 * preload.SOAK), *plugins])
    print(result.out.strip())
    # A program that opens its libraries late, and many of them.
    result = lab.run_ok([program, str(20 * preload.SOAK), *plugins], env={"LD_BIND_NOW": "1"})
    print(result.out.strip())
    # libuslab.so itself, opened and closed.
    unload = lab.build("unload", ["tests/programs/src/unload.c"], "-ldl")
    library = os.path.join(os.path.dirname(preload.LIBRARY), "libuslab.so")
    for conf in "front=array", "front=cpuslab", "front=queues,reap=5":
        result = lab.run_ok([unload, library], preload=None, env={"USLAB_CONF": conf})
        print(result.out.strip())
    inlined(lab)


if __name__ == "__main__":
    main()
