#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every mistake of the programs in this folder gives exactly the report that is expected.

The first comment of each program has lines `misuse: CASE [VARIABLE=VALUE...] [argument=WORD]`: the program
is run so, those named malloc_* under the drop-in; a case with needs=sequences only where hits are inlined,
because calls out of line notice the mistake at once. What it writes is compared with expected/CASE.txt, after
addresses, offsets in functions, numbers that are never the same and frames of the libraries were replaced
or left out. misuse_test.py --update [CASE...] writes the expected texts anew: read what changed.
"""
import difflib
import os
import re
import signal
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "support"))
from folder import environment  # noqa: E402

CASE = re.compile(r"^ \* misuse: (\S+)((?: \S+=\S+)*)$", re.M)

# In this order.
REPLACED = [
    (r"(?m)^uslab: \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z pid=\d+ tid=\d+\n", ""),  # each report has it
    (r"\.(?:constprop|isra|part|cold)(?:\.\d+)*(?=\+0x)", ""),  # compilers' copies of a function
    (r"\+0x[0-9a-f]+/0x[0-9a-f]+", "+N/N"),
    (r"\b0x[0-9a-f]{6,16}\b", "0xADDR"),
    (r"(?m)^([A-Z][a-z]+(?: b4)? +)[0-9a-f]{9,16}: ", r"\1ADDR: "),
    (r"\[<[0-9a-f]+>\]", "[<ADDR>]"),
    (r" start [0-9a-f]+", " start ADDR"),
    (r"\b(age|cpu|pid)=\d+", r"\1=N"),
    (r"(?m)^CPU: \d+ PID: \d+ ", "CPU: N PID: N "),
    (r"(?m)^Pid: \d+, ", "Pid: N, "),
    (r"kfence-#\d+", "kfence-#N"),
    (r"(?m), \d+ bytes free$", ", N bytes free"),
    (r"( of heap .*\nPointer 0xADDR @offset=)\d+", r"\1N"),
    (r"by task \d+ on cpu \d+ at \d+\.\d+s", "by task N on cpu N at Ns"),
    (r"uslab \d+\.\d+\.\d+", "uslab VERSION"),
    (r"flags=0xADDR\(slab\|node=\d+\)", "flags=0x200(slab|node=0)"),
    # Frames of libraries and of the program's start.
    (r"(?m)^ +(?:\[<ADDR>\] )?(?:\S+ \[lib[^\]]*\]|lib\S+\+0x[0-9a-f]+|lib\S+\+0xADDR|_start\+N/N|0xADDR)\n", ""),
]


def normal(text):
    for pattern, by in REPLACED:
        text = re.sub(pattern, by, text)
    return text


def has_sequences():
    with open(os.path.join(os.environ["USLAB_BUILD"], "CMakeCache.txt"), encoding="utf-8") as stream:
        return "USLAB_NO_RSEQ:BOOL=ON" not in stream.read()


def cases():
    """(case, program, environment, arguments)"""
    for name in sorted(os.listdir(HERE)):
        if not name.endswith(".c"):
            continue
        with open(os.path.join(HERE, name), encoding="utf-8") as stream:
            found = CASE.findall(stream.read())
        assert found, f"{name} says nothing on how it is run"
        for case, words in found:
            pairs = dict(word.split("=", 1) for word in words.split())
            argument = pairs.pop("argument", None)
            yield case, name[:-2], pairs, [argument] if argument else []


# Slabs as on a machine with two CPUs: SLUB's default grows with their number.
TWO_CPUS = "slub_min_objects=12"


def run(program, settings, arguments):
    conf = ",".join(filter(None, (settings.get("USLAB_CONF"), TWO_CPUS)))
    env = environment(**{**settings, "USLAB_CONF": conf})
    if program.startswith("malloc_"):
        env["LD_PRELOAD"] = os.environ["USLAB_MALLOC_SO"]
    path = os.path.join(os.environ["USLAB_BUILD"], "tests", "misuse", program)
    if not os.path.exists(path):
        return f"{program} was not built\n"
    done = subprocess.run([path] + arguments, env=env, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60, check=False)
    text = normal(done.stdout.decode("utf-8"))
    if done.returncode < 0:
        text += f"[ended by {signal.Signals(-done.returncode).name}]\n"
    elif done.returncode:
        text += f"[ended with status {done.returncode}]\n"
    return text


def main():
    update = "--update" in sys.argv[1:]
    chosen = [word for word in sys.argv[1:] if word != "--update"]
    expected_names = set(os.listdir(os.path.join(HERE, "expected")))
    failures = 0
    for case, program, settings, arguments in cases():
        path = os.path.join(HERE, "expected", case + ".txt")
        expected_names.discard(case + ".txt")
        if chosen and case not in chosen:
            continue
        if settings.pop("needs", None) == "sequences" and not has_sequences():
            continue
        text = run(program, settings, arguments)
        if update:
            with open(path, "w", encoding="utf-8") as stream:
                stream.write(text)
            continue
        expected = ""
        if os.path.exists(path):
            with open(path, encoding="utf-8") as stream:
                expected = stream.read()
        if text != expected:
            failures += 1
            print(f"--- {case}: {program} {' '.join(arguments)} with {settings}")
            sys.stdout.writelines(difflib.unified_diff(
                expected.splitlines(True), text.splitlines(True), path, "what it wrote"))
    for name in sorted(expected_names):
        failures += 1
        print(f"expected/{name}: no program has this case")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
