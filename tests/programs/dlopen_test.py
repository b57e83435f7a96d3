#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A storm of dlopen and dlclose: plug-ins that allocate in constructors, in thread storage, and last."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import preload  # noqa: E402

PLUGINS = 6


def main():
    lab = preload.Lab()
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


if __name__ == "__main__":
    main()
