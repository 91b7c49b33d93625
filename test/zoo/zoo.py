#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Real programs, recorded and judged: `make zoo`. zoo.py [--fetch] [--write FILE] [NAME...]

Each program of test/zoo/list is fetched into the cache, run from there, recorded for 5 s at 297 Hz from its first
instruction on, and every stack that wick calls whole is looked at by the judge (judge.py). Falsely whole: 0.05 % at most
everywhere. Whole: what the list demands. --fetch: only brings the packages. --write: the table, as docs/zoo.md has it."""
import argparse
import os
import signal
import subprocess
import sys
import tempfile

import fetch

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
from common import Recording, Tap, privileged_or_skip           # noqa: E402  (a neighbour of this folder)
from quick import FALSE_PERCENT, in_our_python                  # noqa: E402

RATE_HZ = 297
SECONDS = 5
SAMPLES_MIN = 200
# What only starts the others.
STARTERS = {"bash", "sh", "dash", "timeout", "sleep", "cat", "rm"}

HEAD = """# What real programs show

`make zoo` fetches these programs from Debian, npm and PyPI, records each for 5 seconds at 297 Hz from its first instruction on, and has every
stack that wick calls whole looked at by a judge that believes nothing of wick's (test/zoo/judge.py): its outermost frame must be a root, each
return address must follow a call, and a call that names its target must reach the function that was called.

whole: by wick's word. root: whole, and the judge agrees. false: whole by wick's word, and the judge does not. named: frames with a name.

| program | samples | whole % | root % | false % | named % | cut, mostly |
|---|---|---|---|---|---|---|
"""


def record(program, folder):
    """What the program and its children did; the shell that starts them is no part of it."""
    script = os.path.join(folder, "script")
    with open(script, "w", encoding="ascii") as file:
        file.write(program.command + "\n")
    recording = Recording(["-d", str(SECONDS)], ["timeout", "-k", "1", str(SECONDS + 0.5), "bash", script], rate=RATE_HZ, timeout=90)
    return recording.wait()


def wanted(program):
    shown = STARTERS - {program.name}
    return lambda sample: sample.executable not in shown


def run_program(tap, judge, program, folder):
    try:
        fetch.fetch(program)
    except (OSError, subprocess.SubprocessError) as error:
        tap.skip(f"zoo {program.name}", str(error))
        return None
    before = dict(os.environ), os.getcwd()
    os.environ.update(fetch.environment(program))
    os.chdir(folder)
    try:
        recording = record(program, folder)
    finally:
        os.environ.clear()
        os.environ.update(before[0])
        os.chdir(before[1])
    if not os.path.exists(recording.path):
        tap.check(f"zoo {program.name}", False, "wick record failed")
        tap.note(recording.said())
        return None
    row = judge.judge_profile(recording.profile(), program.name, wanted(program))
    row.wanted = program.whole
    keep(recording, program)
    verdict(tap, program, row, recording)
    return row


def keep(recording, program):
    """For whoever wants to know more, if WICK_ZOO_KEEP names a folder."""
    to = os.environ.get("WICK_ZOO_KEEP")
    if to:
        os.makedirs(to, exist_ok=True)
        with open(recording.path, "rb") as source, open(os.path.join(to, program.name + ".otlp"), "wb") as target:
            target.write(source.read())


def verdict(tap, program, row, recording):
    if row.samples < SAMPLES_MIN:
        tap.skip(f"zoo {program.name}", f"it ran too short here: {row.samples} samples")
        tap.note(recording.said()[-1500:])
        return
    good = row.false_percent <= FALSE_PERCENT and (program.whole is None or row.whole_percent >= program.whole)
    tap.check(f"zoo {program.name}", good, str(row).split(": ", 1)[1] +
              ("" if program.whole is None else f" (must be {program.whole:.0f})"))
    tap.note("\n".join(row.details()))


def table(rows):
    lines = []
    for row in rows:
        if row.samples >= SAMPLES_MIN:
            cut = ", ".join(f"{count} {end}" for end, count in row.ends.most_common(2))
            lines.append(f"| {row.name} | {row.samples} | {row.whole_percent:.1f} | {row.rooted_percent:.1f} | {row.false_percent:.2f} | "
                         f"{row.named_percent:.0f} | {cut} |")
    return HEAD + "\n".join(lines) + "\n"


def main():
    in_our_python()
    import judge                                                # pylint: disable=import-outside-toplevel
    parser = argparse.ArgumentParser()
    parser.add_argument("--fetch", action="store_true")
    parser.add_argument("--write")
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    chosen = [p for p in fetch.programs() if not arguments.names or p.name in arguments.names]
    if arguments.fetch:
        for program in chosen:
            try:
                fetch.fetch(program)
            except (OSError, subprocess.SubprocessError) as error:
                print(f"{program.name}: {error}", flush=True)
        return
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    tap, rows = Tap(), []
    if privileged_or_skip(tap, "zoo"):
        with tempfile.TemporaryDirectory(prefix="wick-zoo-") as folder:
            fetch.write_inputs(folder)
            rows = [run_program(tap, judge, program, folder) for program in chosen]
    if arguments.write:
        with open(arguments.write, "w", encoding="ascii") as file:
            file.write(table([row for row in rows if row]))
    tap.end()


if __name__ == "__main__":
    main()
