# SPDX-License-Identifier: MIT
"""gdb commands for programs that use uslab: `slabinfo` and `slab ADDRESS`.

gdb loads this file together with the library where it is installed in its auto-load directory;
elsewhere say `source .../uslab-gdb.py`. The numbers come from the uslab command, which reads the
process that gdb holds, or the core file that gdb has opened: one reader for all, which knows every
engine and front, needs no debug information, and calls no function in the program.
"""
import os
import re
import shutil
import subprocess

import gdb

LIBRARY = re.compile(r"/libuslab(_malloc)?\.so")


class UslabCommand(gdb.Parameter):
    """Path of the uslab command that `slabinfo` and `slab` ask.
Empty: the one beside the library, or the first one in PATH."""

    set_doc = "Set the path of the uslab command."
    show_doc = "Show the path of the uslab command."

    def __init__(self):
        super().__init__("uslab-command", gdb.COMMAND_DATA, gdb.PARAM_OPTIONAL_FILENAME)
        self.value = ""

    def get_set_string(self):
        return ""

    def get_show_string(self, value):
        return f"The uslab command is \"{value or find_command()}\"."


def beside_library():
    """bin/uslab of the prefix that the library is installed in, or of its build folder."""
    for objfile in gdb.objfiles():
        path = os.path.realpath(objfile.filename or "")
        if not LIBRARY.search(path):
            continue
        folder = os.path.dirname(path)
        for _ in range(2):  # lib, or lib/x86_64-linux-gnu
            folder = os.path.dirname(folder)
            command = os.path.join(folder, "bin", "uslab")
            if os.access(command, os.X_OK):
                return command
    return None


def find_command():
    return beside_library() or shutil.which("uslab") or "uslab"


def core_file():
    """The core file that gdb has opened; gdb says so only in a text."""
    files = gdb.execute("info files", False, True)
    found = re.search(r"^Local core dump file:\s*[`']([^\n]*)',", files, re.M)
    return found.group(1) if found else None


def places():
    """Arguments by which the command finds what gdb looks at; the first that works is right."""
    inferior = gdb.selected_inferior()
    kind = inferior.connection.type if inferior.connection else None
    if kind == "native" and inferior.pid:
        return [["-p", str(inferior.pid)]]
    if kind != "core":
        raise gdb.GdbError("Neither a process of this machine nor a core file is being debugged.")
    core = ["--core", core_file()]
    sysroot = gdb.parameter("sysroot") or ""
    if os.path.isdir(sysroot):  # it may be "target:", too
        core += ["--sysroot", sysroot]
    program = gdb.current_progspace().filename
    return [core, core + ["--program", program]] if program else [core]


def ask(arguments):
    """Prints what `uslab info` says."""
    command = gdb.parameter("uslab-command") or find_command()
    for place in places():
        try:
            run = subprocess.run([command, "info", *place, *arguments], stdin=subprocess.DEVNULL,
                                 capture_output=True, text=True, errors="replace", check=False)
        except OSError as error:
            raise gdb.GdbError(f"{command}: {error.strerror}; see `set uslab-command'.") from error
        if run.returncode != 1:
            break
    gdb.write(run.stdout)
    if run.returncode:
        raise gdb.GdbError(run.stderr.strip() or f"{command} ended with status {run.returncode}")
    gdb.write(run.stderr, gdb.STDERR)


class SlabInfo(gdb.Command):
    """The caches of the program: slabinfo [OPTION]... [PATTERN]
Options are those of `uslab info`: -T for totals, -r for reports, -t for call sites, ..."""

    def __init__(self):
        super().__init__("slabinfo", gdb.COMMAND_DATA)

    def invoke(self, argument, from_tty):
        ask(gdb.string_to_argv(argument))


def address_of(expression):
    """The value of a pointer or number; where anything else lies."""
    value = gdb.parse_and_eval(expression)
    kind = value.type.strip_typedefs().code
    if kind in (gdb.TYPE_CODE_REF, gdb.TYPE_CODE_RVALUE_REF):
        value = value.referenced_value()
        kind = value.type.strip_typedefs().code
    if kind in (gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_UNION, gdb.TYPE_CODE_ARRAY,
                gdb.TYPE_CODE_FUNC):
        if value.address is None:
            raise gdb.GdbError("That is not in memory.")
        value = value.address
    return int(value) & (1 << 64) - 1


class Slab(gdb.Command):
    """What is at an address: slab EXPRESSION
Which cache and object it belongs to, whether that is live or free, and, where users are tracked,
who allocated and who freed it."""

    def __init__(self):
        super().__init__("slab", gdb.COMMAND_DATA, gdb.COMPLETE_EXPRESSION)

    def invoke(self, argument, from_tty):
        if not argument:
            raise gdb.GdbError("Which address? Say `slab EXPRESSION'.")
        try:
            address = address_of(argument)
        except gdb.error as error:
            raise gdb.GdbError(str(error)) from error
        ask(["--address", hex(address)])


UslabCommand()
SlabInfo()
Slab()
