#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Is a stack that is called whole, whole? Records small programs and lets the judge (judge.py) look at every stack.

Each program: falsely whole 0.05 % at most, and as many whole as it is known that tables or code allow; code at which nobody
can go on must be marked `[incomplete]` in the folded text, too. The long form, with real programs, is zoo.py."""
import os
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
from common import VICTIMS, WICK, Recording, Tap, privileged_or_skip    # noqa: E402  (a neighbour of this folder)

RATE_HZ = 997
SECONDS = 1.5
FALSE_PERCENT = 0.05
# name, whole at least, whole at most, %
PROGRAMS = (
    ("v-omitfp", 99.0, 100),
    ("v-threads", 99.0, 100),
    ("v-stripped", 99.0, 100),
    ("v-signal", 99.0, 100),
    ("v-musl-static", 99.0, 100),
    ("v-static-pie", 99.0, 100),
    ("v-ucontext", 99.0, 100),
    ("v-norows", 99.0, 100),
    ("v-unswept", 99.0, 100),
    ("v-slots", 99.0, 100),
    ("v-slots-unswept", 99.0, 100),
    ("v-jit-silent", 95.0, 100),
    ("v-roots", 0, 3.0),
)
MARKS = re.compile(r"^\[(incomplete|truncated)\]$")


def in_our_python():
    """Runs this again where capstone is installed."""
    if "WICK_JUDGE" in os.environ:
        return
    python = subprocess.run([os.path.join(HERE, "../peers/venv.sh"), "judge"], stdout=subprocess.PIPE, text=True, check=False)
    path = python.stdout.strip()
    if python.returncode or not path:
        print("ok - judge # SKIP capstone cannot be installed here")
        sys.exit(0)
    os.execve(path, [path, *sys.argv], {**os.environ, "WICK_JUDGE": "1"})


def judge_program(tap, judge, name, least, most):
    path = os.path.join(VICTIMS, name)
    if not os.path.exists(path):
        tap.skip(f"judge {name}", "not built here")
        return
    recording = Recording([], [path, f"{SECONDS}"], rate=RATE_HZ).wait()
    if recording.status:
        tap.check(f"judge {name}", False, "wick record failed")
        tap.note(recording.said())
        return
    row = judge.judge_profile(recording.profile(), name, lambda s: s.executable == name)
    good = tap.check(f"judge {name}", row.samples > 300 and row.false_percent <= FALSE_PERCENT and
                     least <= row.whole_percent <= most, str(row).split(": ", 1)[1])
    if not good:
        tap.note("\n".join(row.details()))
    check_marks(tap, name, recording)


def check_marks(tap, name, recording):
    """Every stack that was cut says so at its root in the folded text; no other does."""
    said = re.search(r"stacks: ([\d.]+) % of user stacks are whole", recording.stderr.decode(errors="replace"))
    folded = recording.path + ".folded"
    subprocess.run([WICK, "convert", recording.path, folded], capture_output=True, check=True)
    marked = total = 0
    with open(folded, encoding="utf-8", errors="replace") as file:
        for line in file:
            stack, count = line.rsplit(" ", 1)
            frames = stack.split(";")
            total += int(count)
            marked += int(count) if any(MARKS.match(f) for f in frames[:3]) else 0
    whole = 100.0 * (total - marked) / total if total else 0
    tap.check(f"judge {name}: what was cut is marked", said is not None and abs(whole - float(said[1])) <= 1.0,
              f"{whole:.1f} % without a mark, wick says {said[1] if said else 'nothing'}")


def check_32bit(tap):
    path = os.path.join(VICTIMS, "v-32bit")
    if not os.path.exists(path):
        tap.skip("judge 32-bit program", "not built here")
        return
    recording = Recording([], [path, f"{SECONDS}"], rate=RATE_HZ).wait()
    text = recording.stderr.decode(errors="replace")
    tap.check("a 32-bit program is not called whole", "stacks: 100" not in text and "32-bit" in text,
              next((line for line in text.splitlines() if line.startswith("stacks:")), "no line on stacks"))


def main():
    in_our_python()
    import judge                                                # pylint: disable=import-outside-toplevel
    tap = Tap()
    if privileged_or_skip(tap, "judge"):
        for name, least, most in PROGRAMS:
            if not sys.argv[1:] or name in sys.argv[1:]:
                judge_program(tap, judge, name, least, most)
        if not sys.argv[1:]:
            check_32bit(tap)
    tap.end()


if __name__ == "__main__":
    main()
