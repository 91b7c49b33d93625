#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Kinds of samples: each of kinds/ alone and beside cpu, by record; then what each kind says of itself, in its truth.py: a
program of which it is known what is to be found.

truth.py has check(tap, tools); tools is this module."""
import glob
import importlib.util
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

import common

FOLDER = tempfile.TemporaryDirectory(prefix="wick-kinds-")


class Recorded:
    def __init__(self, recording):
        self.profile = recording.profile()
        self.text = recording.stderr.decode(errors="replace")
        self.printed = recording.stdout.decode(errors="replace")

    def types(self):
        return {sample.type for sample in self.profile.samples}

    def value(self, kind, *functions):
        """The sum over samples of that type whose user stack ends with these functions."""
        return sum(s.count for s in self.profile.samples if s.type == kind and s.user[-len(functions):] == functions)

    def lost(self):
        return sum(int(n) for n in re.findall(r"^ *(\d+)  (?:\w+\.)?samples_lost", self.text, re.MULTILINE))


def cpus():
    return os.cpu_count() or 1


def compile_c(name, source, *flags):
    """The path of a program made of that text."""
    path = os.path.join(FOLDER.name, name)
    subprocess.run(["gcc", "-O1", "-g", "-D_GNU_SOURCE", *flags, "-x", "c", "-", "-o", path], input=source, text=True, check=True)
    return path


def record(tap, kinds, *command):
    """What `wick record -e KINDS` finds of a command; None if it failed."""
    recording = common.Recording(["-e", kinds], list(command), rate=99).wait()
    if not tap.check(f"wick record -e {kinds}", recording.status == 0):
        tap.note(recording.said())
        return None
    return Recorded(recording)


def every_kind(tap):
    busy = ["sh", "-c", "for i in $(seq 1 200); do /bin/true; done"]
    for name in kind_names():
        for kinds in (name, "cpu," + name) if name != "cpu" else (name,):
            found = record(tap, kinds, *busy)
            if found:
                tap.check(f"-e {kinds}: one sample type a kind", len(found.types()) == len(kinds.split(",")),
                          ", ".join(sorted(found.types())))


def kind_names():
    with open(os.path.join(common.ROOT, "kinds", "list.h"), encoding="utf-8") as table:
        return sorted(re.findall(r"X\(\d+, \w+, (\w+)\)", table.read()))


def ask(port, question):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/v1/{question}", timeout=20) as answer:
        return json.load(answer)


def served(tap):
    """All kinds at once by the receiver, and what the page's API says of them."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    wick = subprocess.Popen([common.WICK, f"--listen=127.0.0.1:{port}", f"--set=exporters.store.path={FOLDER.name}/store",
                             f"--set=receivers.profiling.kinds=[{', '.join(kind_names())}]"], stderr=subprocess.PIPE)
    try:
        found, until = [], time.monotonic() + 60
        while len(found) < len(kind_names()) and wick.poll() is None and time.monotonic() < until:
            subprocess.run(["sh", "-c", "for i in $(seq 1 100); do /bin/true; done"], check=True)
            try:
                found = ask(port, "types")
            except OSError:
                pass    # it is about to begin
        tap.check("the page knows each kind by its title", len({kind["title"] for kind in found}) == len(kind_names()), str(found))
        for kind in found:
            total = ask(port, f"flame?where=type%3D{kind['type']}")["total"]
            tap.check(f"the page has a flame graph of {kind['title']}", total > 0, str(total))
    finally:
        wick.terminate()
        tap.check("it ends well", wick.wait(60) == 0, wick.stderr.read().decode(errors="replace")[-500:])


def refuses(tap):
    for kinds in ("nothing", "cpu:2", "cpu,cpu"):
        output = os.path.join(FOLDER.name, "none.otlp")
        run = subprocess.run([common.WICK, "record", "-e", kinds, "-d", "1", "-o", output], capture_output=True, text=True,
                             check=False)
        tap.check(f"-e {kinds} is refused with a list of kinds", run.returncode == 1 and "there are cpu" in run.stderr,
                  run.stderr.strip())


def main():
    tap = common.Tap()
    if common.privileged_or_skip(tap, "kinds"):
        refuses(tap)
        every_kind(tap)
        served(tap)
        for path in sorted(glob.glob(os.path.join(common.ROOT, "kinds", "*", "truth.py"))):
            spec = importlib.util.spec_from_file_location("truth", path)
            truth = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(truth)
            truth.check(tap, sys.modules[__name__])
    tap.end()


if __name__ == "__main__":
    main()
