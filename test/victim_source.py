# SPDX-License-Identifier: Apache-2.0
"""What tests of interpreted languages share: a victim whose stacks its source tells, judged by chains of functions, shares
of them, and the lines that callers are marked with ("# -> CALLEE ...")."""
import json
import os
import re
import subprocess

from common import ROOT, by_chance
from runtime_profile import lines_of_calls, record_beside, wrong_lines

INSTALL = os.path.join(ROOT, "test", "runtimes", "install.sh")
JUDGED = 0.02       # functions with a smaller share are not compared with a judge
APART = 0.05


def numbers(version):
    return tuple(int(n) for n in version.split("."))


def installed(*what):
    """(where it is or None, why not)"""
    result = subprocess.run([INSTALL, *what], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    return (result.stdout.strip() if result.returncode == 0 else None), result.stderr.strip()[-300:]


class Source:
    """A victim's source: which lines call what, and how its functions are called in profiles."""

    def __init__(self, kind, path, own, bare=r"^[\w:\\]+(?:[#.]|::|->)", lined=None):
        """lined(name): must that function have a line of this file, and within which of them?"""
        self.kind, self.path, self.own, self.bare, self.lined = kind, path, own, re.compile(bare), lined
        self.calls = lines_of_calls(path, self.plain)

    def plain(self, name):
        """A function without its class or package."""
        return self.bare.sub("", name)

    def wrong_lines(self, stacks):
        name = os.path.basename(self.path)
        return wrong_lines(stacks, self.kind, self.calls, self.plain, lambda path: os.path.basename(path) == name)

    def out_of_line(self, stacks):
        """The share of samples with a function that has no line of this file, or one that is not its own, and an example."""
        name, wrong, example = os.path.basename(self.path), 0, ""
        for frames, count, _ in stacks.all if self.lined else ():
            for frame in (f for f in frames if f.kind == self.kind):
                lines = self.lined(frame.name)
                if lines and (os.path.basename(frame.file) != name or frame.line not in lines):
                    wrong += count
                    example = f"{frame.name} is at {frame.file}:{frame.line}"
                    break
        return wrong / max(1, stacks.count), example

    def off_shares(self, stacks, shares, within=None):
        """Those that are too far off: three points, or what so many samples are off by rarely. With
        `within` they are those of the samples that this function is in."""
        seen, off = stacks.inclusive(self.kind), {}
        whole = seen.get(self.own(within), 0) if within else 1
        if not whole:
            return {within: 0}
        for name, share in shares.items():
            is_share = seen.get(self.own(name), 0) / whole
            allowed = max(0.03, by_chance(share, whole * stacks.count)) if share else 0
            if abs(is_share - share) > allowed if share else is_share < 0.9:
                off[name] = round(is_share, 3)
        return off

    def check(self, tap, name, victim, samples, pattern, shares, settle_ns=0, within=None):
        """Records a running victim: are its stacks as its source says? What was recorded, or None."""
        if victim.pid is None:
            tap.check(name, False, "the victim does not run")
            return None
        recording, stacks = record_beside(victim, samples, self.kind, settle_ns=settle_ns)
        if not stacks or stacks.count < samples // 2:
            tap.note(recording.said())
            tap.check(name, False, f"{stacks.count if stacks else 0} samples")
            return None
        good, bad = stacks.matching(self.kind, pattern)
        off, (lines, example) = self.off_shares(stacks, shares, within), max(self.wrong_lines(stacks), self.out_of_line(stacks))
        if not tap.check(name, good >= 0.99 and not off and lines <= 0.01,
                         f"{good:.2%} of {stacks.count} stacks as expected, {1 - lines:.1%} lines, "
                         f"from {stacks.late_ns / 1e6:.0f} ms on" +
                         (f", shares {off}" if off else "") + (f", {example}" if lines > 0.01 else "")):
            tap.note(f"pattern {pattern}")
            for count, text in bad:
                tap.note(f"{count:6} {text[:400]}")
        return stacks


def check_judged(tap, name, victim, samples, kind, out, is_compared=lambda function: True, during=None, within=None):
    """Beside a judge in the same process, which writes to `out` when that ends: shares of functions, by their name, and how
    many samples it took. It may have looked at those stacks alone that a function is in."""
    _, stacks = record_beside(victim, samples, kind, during)
    victim.process.terminate()
    victim.process.wait(30)
    if not stacks or not os.path.exists(out):
        tap.check(name, False, "nothing was recorded")
        return
    with open(out, encoding="utf-8") as file:
        theirs = json.load(file)
    ours = stacks.inclusive(kind)
    ours = {n: share / ours.get(within, 1) for n, share in ours.items()}
    apart = {n: (round(ours.get(n, 0), 3), round(share, 3)) for n, share in theirs["shares"].items()
             if is_compared(n) and share >= JUDGED and abs(ours.get(n, 0) - share) > max(APART, by_chance(share, stacks.count, theirs["samples"]))}
    tap.check(name, not apart and theirs["samples"] > 200,
              f"{stacks.count} samples of ours, {theirs['samples']} of its, apart: {apart or 'none'}")


def check_spoilt(tap, name, victim, kind):
    """A process that spoils its own structures must not harm wick."""
    recording, stacks = record_beside(victim, 500, kind)
    count = stacks.count if stacks else 0
    tap.check(name, recording.status == 0 and count > 100, f"{count} samples")
