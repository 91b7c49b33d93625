#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Judges a recording of wick's, and believes nothing of it. `judge.py FILE.otlp [EXECUTABLE]` prints a line for each program.

wick calls a stack whole if its sample has no attribute wick.stack.end. Of the recording only the addresses and the paths
of the files are taken; functions, roots and calls are read from those files (machine.py). A whole stack is right if

  - its outermost frame is a root: the ELF entry point, where a thread starts (clone, clone3; by what the code does or by
    name), makecontext()'s __start_context, or the first function of a runtime (Go's, a greenlet's);
  - each return address follows a call instruction;
  - a call that names its target reaches the function of the next inner frame: that function itself, or one that jumps lead
    to from it. Where a jump goes by a register or memory (a PLT's, a switch, a tail call by pointer), or a function's bounds
    are not known, it may go anywhere and nothing is held against the stack.

What cannot be seen is not judged: frames of a runtime, and code in memory without a file, unless it is the root, which
must be seen. Behind a signal trampoline the address is where the program was interrupted, not a return address."""
import collections
import os
import sys

import machine                                                  # machine.py beside this file

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import common                                                   # noqa: E402  (a neighbour of this folder)

# Samples without a user stack of their own: nothing to judge, and no part of the shares.
NO_STACK = ("kernel_thread", "in_exec", "in_exit")
ROOTS = {"_start", "clone", "__clone", "clone3", "__clone3", "start_thread", "_rt0_amd64_linux", "_rt0_amd64",
         "runtime.rt0_go", "runtime.rt0_go.abi0", "runtime.goexit", "runtime.goexit.abi0", "runtime.mstart",
         "runtime.mstart.abi0", "runtime.mcall", "runtime.morestack", "runtime.morestack.abi0", "runtime.asmcgocall.abi0",
         "_ZN8greenlet12UserGreenlet15inner_bootstrapEP9_greenletP7_object"}
# Go lets goroutines go on in these, or puts calls of them between two instructions: no call leads to what is above.
INJECTED = {"runtime.asyncPreempt", "runtime.asyncPreempt.abi0", "runtime.sigpanic", "runtime.sigpanic0",
            "runtime.sigpanic0.abi0", "runtime.systemstack_switch", "runtime.systemstack_switch.abi0"}


class Frame:
    """A native frame: its address is in a file."""
    __slots__ = ("code", "path", "ea")

    def __init__(self, code, path, ea):
        self.code, self.path, self.ea = code, path, ea

    def __str__(self):
        names = sorted(self.code.names(self.ea), key=len)
        return f"{os.path.basename(self.path)}+{self.ea:#x}{' ' + names[0] if names else ''}"

    def is_root(self):
        code = self.code
        entry = code.elf.entry
        if entry and entry <= self.ea < entry + 80 and (code.function(self.ea) or (entry,))[0] <= entry:
            return True
        return bool(code.names(self.ea) & ROOTS) or code.is_start_context(self.ea) or code.is_thread_start(self.ea)


class Judge:
    def __init__(self, profile):
        self.profile = profile
        self.frames = {}
        self.verdicts = {}

    def frame(self, index):
        """A Frame; None for code without a file, "runtime" for frames that have no address at all."""
        if index not in self.frames:
            location = self.profile.tables["locationTable"][index]
            path = self.profile.mapped_file(location)
            code = machine.load(path) if path else None
            address = int(location.get("address", 0))
            if code:
                self.frames[index] = Frame(code, path, address)
            else:
                self.frames[index] = None if address else "runtime"
        return self.frames[index]

    def user(self, sample):
        return [self.frame(i) for i in sample.locations if not self.profile.frames(i)[0]]

    def verdict(self, sample):
        """What is wrong with a stack that was called whole; empty if nothing is."""
        if sample.locations not in self.verdicts:
            self.verdicts[sample.locations] = self.judge(self.user(sample))
        return self.verdicts[sample.locations]

    @staticmethod
    def judge(frames):
        if not frames:
            return "no user frame"
        outermost = frames[-1]
        if not isinstance(outermost, Frame):
            return "ends in code without a file"
        if not outermost.is_root():
            return f"ends at {outermost}, which is no root"
        for callee, caller in zip(frames, frames[1:]):
            wrong = wrong_call(callee, caller)
            if wrong:
                return wrong
        return ""


def wrong_call(callee, caller):
    """What is wrong between two frames; empty if nothing is, or nothing can be told."""
    if not isinstance(caller, Frame):
        return ""
    if isinstance(callee, Frame) and (callee.code.is_trampoline(callee.ea) or callee.code.names(callee.ea) & INJECTED):
        return ""
    if caller.code.is_trampoline(caller.ea) or caller.code.is_start_context(caller.ea) or \
            caller.code.names(caller.ea) & (INJECTED | {"runtime.goexit", "runtime.goexit.abi0"}):
        return ""
    call = caller.code.call_before(caller.ea + 1)
    if not call:
        return f"{caller} called nobody"
    if not isinstance(callee, Frame) or call.target is None or callee.code is not caller.code:
        return ""
    if not caller.code.may_reach(call.target, callee.ea):
        return f"{caller} calls {call.target:#x}, not {callee}"
    return ""


class Row:
    """A program's samples, added up."""

    def __init__(self, name):
        self.name = name
        self.samples = self.whole = self.false = self.frames = self.named = self.bits32 = 0
        self.ends = collections.Counter()
        self.reasons = collections.Counter()

    def share(self, count):
        return 100.0 * count / self.samples if self.samples else 0.0

    @property
    def whole_percent(self):
        return self.share(self.whole)

    @property
    def rooted_percent(self):
        return self.share(self.whole - self.false)

    @property
    def false_percent(self):
        return self.share(self.false)

    @property
    def named_percent(self):
        return 100.0 * self.named / self.frames if self.frames else 0.0

    def __str__(self):
        return (f"{self.name}: {self.samples} samples, {self.whole_percent:.1f} % whole, {self.rooted_percent:.1f} % by the "
                f"judge, {self.false_percent:.2f} % falsely, {self.named_percent:.0f} % of frames named")

    def details(self):
        lines = [f"{count} {end}" for end, count in self.ends.most_common(6)]
        return lines + [f"{count} false: {reason}" for reason, count in self.reasons.most_common(6)]


def add_sample(row, judge, sample):
    end = sample.attributes.get("wick.stack.end")
    if end in NO_STACK:
        return
    row.samples += sample.count
    for name in sample.user:
        if not name.startswith("["):
            row.frames += sample.count
            row.named += 0 if "+0x" in name else sample.count
    if end:
        row.ends[end] += sample.count
        return
    row.whole += sample.count
    wrong = judge.verdict(sample)
    if wrong:
        row.false += sample.count
        row.reasons[wrong] += sample.count


def judge_profile(profile, name, wanted=None):
    """One row for the samples of the executables that `wanted`, a function, takes."""
    judge, row = Judge(profile), Row(name)
    for sample in profile.samples:
        if not wanted or wanted(sample):
            add_sample(row, judge, sample)
    return row


def main():
    profile = common.Profile(sys.argv[1])
    names = sys.argv[2:] or sorted({s.executable for s in profile.samples})
    for name in names:
        row = judge_profile(profile, name, lambda s, n=name: s.executable == n)
        print(row)
        for line in row.details():
            print("   ", line)


if __name__ == "__main__":
    main()
