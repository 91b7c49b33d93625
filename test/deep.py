#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Deep stacks keep both ends: programs that recurse by a known number of calls, of three functions that take turns.
Each call is to be there, or in the count of `[… N frames …]`; the functions before and after it must be those whose
turn it is; and what is written must say the same in every format."""
import os
import re
import subprocess
import sys

import common

KEPT = 1024     # frames that are shown: USER_FRAMES_MAX in bpf/abi.h
ROOT = 512      # ... of them, next to the root
STEP = 256      # N is a multiple of it
SECONDS = "4"   # one of a hundred samples may be of the moments before wick has a program's tables
GAP = re.compile(r"^\[… (\d+) frames …\]$")
TURN = re.compile(r"^turn_([012])$")
PYTHON = os.path.join(common.ROOT, "test/victims/python/deep.py")


def gap_of(frames):
    found = [(i, int(GAP.match(f)[1])) for i, f in enumerate(frames) if GAP.match(f)]
    return found if found else [(len(frames), 0)]


def wrong_with(frames, depth, outer, is_c):
    """What is wrong with a stack, outermost first, whose innermost call was reached; or None."""
    gaps = gap_of(frames)
    if len(gaps) > 1:
        return "more than one gap"
    at, missing = gaps[0]
    start = frames.index(outer) + 1 if outer in frames[:at] else None
    if start is None:
        return "no root's part"
    number = 0
    for i in range(start, len(frames)):
        if i == at:
            number += missing
            continue
        turn = TURN.match(frames[i])
        if not turn:
            if is_c or number >= depth:
                break
            continue        # C functions between those of an older Python
        if int(turn[1]) != number % 3:
            return f"call {number} is of {frames[i]}"
        number += 1
    if is_c and number != depth:
        return f"{number} calls instead of {depth}"
    return None


def wrong_lengths(profile, sample):
    """The same of how many frames there are; inlined functions are none of their own."""
    frames = [profile.frames(i)[1][0] for i in reversed(sample.locations) if not profile.frames(i)[0]]
    at, missing = gap_of(frames)[0]
    total = len(frames) - (1 if missing else 0) + missing
    if bool(missing) != (total > KEPT):
        return f"{missing} of {total} frames left out"
    if missing and (at != ROOT or len(frames) - 1 > KEPT or missing % STEP):
        return f"{at} frames next to the root, {len(frames) - 1} in all, {missing} left out"
    return None


def is_reached(frames):
    return any(f.startswith("leaf") for f in frames[-3:])


def judge(tap, name, profile, executable, depth, outer, is_c):
    samples = [s for s in profile.of(executable) if is_reached(s.user)]
    count = sum(s.count for s in samples)
    wrong = {}
    for s in samples:
        end = s.attributes.get("wick.stack.end")
        fault = f"ends by {end}" if end else wrong_with(s.user, depth, outer, is_c) or wrong_lengths(profile, s)
        if fault:
            wrong[fault] = wrong.get(fault, 0) + s.count
    bad = sum(wrong.values())
    good = tap.check(f"{name}: each call is shown or counted, and the root is there", count > 100 and bad <= count / 100,
                     f"{count - bad} of {count}")
    for fault, n in sorted(wrong.items(), key=lambda w: -w[1])[:5]:
        tap.note(f"{n} samples: {fault}")
    return good


def c_stacks(tap):
    for program, depth in (("v-deep", 200), ("v-deep", 1100), ("v-deep", 3000), ("v-deep-fp", 3000), ("v-deep", 8000)):
        path = os.path.join(common.VICTIMS, program)
        recording = common.Recording(["-v"], [path, SECONDS, str(depth)], rate=197).wait()
        if recording.status:
            tap.check(f"{program} {depth}", False)
            tap.note(recording.said())
            continue
        if not judge(tap, f"{program}, {depth} calls in C", recording.profile(), f"^{program}$", depth, "outer", True):
            tap.note(recording.said())
        shortened = re.search(r"(\d+)\s+stacks_shortened", recording.stderr.decode(errors="replace"))
        tap.check(f"{program}, {depth} calls: counted where frames are left out", bool(shortened and int(shortened[1]) > 100)
                  == (depth > 1000), shortened[1] if shortened else "")
        if depth == 3000 and program == "v-deep":
            formats(tap, recording)


def folded(path):
    """The stacks of a file in any format that end in leaf_a, with their counts."""
    text = subprocess.run([common.WICK, "convert", "--format=folded", path, "-"], capture_output=True, text=True, check=False)
    stacks = {}
    for line in text.stdout.splitlines():
        stack, _, count = line.rpartition(" ")
        if stack.endswith(";leaf_a"):
            stacks[stack] = stacks.get(stack, 0) + int(count)
    return stacks


def gaps_in(stacks):
    return {f for s in stacks for f in s.split(";") if GAP.match(f)}


def formats(tap, recording):
    """One frame, by that name, whoever writes and reads it."""
    ours = folded(recording.path)
    with_gap = sum(n for s, n in ours.items() if sum(bool(GAP.match(f)) for f in s.split(";")) == 1)
    tap.check("folded text has the frame once in each stack", ours and with_gap >= 0.99 * sum(ours.values()), " ".join(gaps_in(ours)))
    for name in ("x.pb.gz", "x.json", "x.folded", "x.data", "x.html", "x.svg", "x.speedscope.json"):
        path = os.path.join(recording.folder.name, name)
        made = subprocess.run([common.WICK, "convert", recording.path, path], capture_output=True, text=True, check=False)
        if name.split(".")[-2:] in (["x", "html"], ["x", "svg"], ["speedscope", "json"]):
            with open(path, encoding="utf-8") as file:
                text = file.read()
            good = gaps_in(ours) and all(gap in text for gap in gaps_in(ours))
        else:
            good = gaps_in(ours) and gaps_in(folded(path)) == gaps_in(ours)
        tap.check(f"{name} has it, too", made.returncode == 0 and good, made.stderr.strip()[-200:])


def python_stacks(tap):
    for depth in (900, 2500):
        recording = common.Recording([], [sys.executable, PYTHON, SECONDS, str(depth)], rate=197).wait()
        judge(tap, f"Python, {depth} calls", recording.profile(), "^python", depth, "outer", False)


def main():
    tap = common.Tap()
    if common.privileged_or_skip(tap, "deep stacks"):
        c_stacks(tap)
        python_stacks(tap)
    tap.end()


if __name__ == "__main__":
    main()
