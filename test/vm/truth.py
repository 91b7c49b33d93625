#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The victims of ../truth_table.py in a guest: whole chains only, since emulation leaves too few samples for shares, and
makes start-up so slow that it has to be told apart.

truth.py --script: the guest's shell script, which runs all that was built in two lanes.
truth.py DIR MACHINE [WITHOUT...]: judges DIR/truth.otlp, recorded there, but for the named victims. Prints TAP.

WICK_BUILD says where the victims are; in the guest they are in /victims.
"""
import dataclasses
import os
import re
import shlex
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import ground_truth  # noqa: E402
from common import VICTIMS, Profile, Tap  # noqa: E402
from truth_table import rows  # noqa: E402

SECONDS = 1.5
SAMPLES = 40		# of some 700: the host has other things to do, and the guest's clock does not stand still for it
CHAIN_SHARE = 0.99
# The timer of these victims goes on while they start and end.
HANDLER = re.compile(r"_start;(?!.*;interrupted;).*;handler;.*")
# Until its tables are there, a stack is copied, and the copy does not hold 1000 frames. While libgcc replaces the frames
# between throw and catch, there is no way through them. Generated code is looked at after its first sample; if it has no
# frame pointer, it waits for its rows, too.
SHARES = {"v-recursion": 0.9, "v-exceptions": 0.95, "v-jit": 0.95, "v-jitdump": 0.95, "v-jit-memfd": 0.95, "v-jit-gdb": 0.5}


def command_of(row):
    words = [row.name, "{s}"] if row.command is None else row.command
    return [os.path.join("/victims", word) if os.path.exists(os.path.join(VICTIMS, word)) else
            word.replace("{s}", str(SECONDS)) for word in words]


def chosen():
    """What was built; not the long loops of exec and PID reuse, which no kernel does differently."""
    for row in rows():
        words = command_of(row)
        if words and words[0].startswith("/victims/") and (row.command is None or "{s}" in row.command):
            yield row


def script():
    lanes = ["", ""]
    for number, row in enumerate(chosen()):
        lanes[number % 2] += shlex.join(command_of(row)) + " >/dev/null 2>&1\n"
    print("".join("(\n%s) &\n" % lane for lane in lanes) + "wait")


def in_leaf(row, sample):
    """The rest is start-up, exit, and the way from one leaf to the next."""
    return any(re.fullmatch(leaf, frame) for leaf in row.leaves.values() for frame in sample.user) and \
        not HANDLER.fullmatch(sample.text)


# The outer part of these stacks is read from the process while it runs. Two emulated processors that others share come to that
# when it has ended; ground_truth.py demands it of a real one.
TOO_LATE = {"v-hidden"}


def judge(folder, machine, *without):
    tap = Tap()
    profile = Profile(os.path.join(folder, "truth.otlp"))
    everything = profile.samples
    for row in chosen():
        if not row.leaves or row.machine not in ("", machine) or row.name in without or row.name in TOO_LATE:
            continue
        profile.samples = [sample for sample in everything if in_leaf(row, sample)]
        ground_truth.CHAIN_SHARE = SHARES.get(row.name, CHAIN_SHARE)
        ground_truth.judge(tap, dataclasses.replace(row, leaves={}, threads=False), profile, {}, "", SAMPLES)
    tap.end()


if __name__ == "__main__":
    script() if sys.argv[1] == "--script" else judge(*sys.argv[1:])
