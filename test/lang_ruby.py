# SPDX-License-Identifier: Apache-2.0
"""Ruby 2.7 to 3.4: test/victims/ruby/victim.rb against what its source says of its stacks, and against stackprof, which
asks Ruby itself, by a signal.

A Ruby runs in a root of its own (test/runtimes/install.sh), as in a container.
"""
import glob
import json
import os
import re
import shutil
import subprocess

from common import ROOT
from runtime_profile import Victim, lines_of_calls, record_beside, wrong_lines

KIND = "ruby"
VICTIMS = os.path.join(ROOT, "test", "victims", "ruby")
VICTIM = os.path.join(VICTIMS, "victim.rb")
INSTALL = os.path.join(ROOT, "test", "runtimes", "install.sh")
VERSION = "3.1"
VERSIONS = ["2.7", "3.0", "3.1", "3.2", "3.3", "3.4", "3.3-yjit"]

# What a stack of each scenario is, outermost first: "a" is Object#a, * native code, [...] perhaps; functions written in C
# may stand at the end. Then functions and the share of samples they must be in (None: nearly all), and the oldest version.
MAIN = "*;<main>;main;"
SCENARIOS = {
    "split": (MAIN + "split[;(a|b|c)]", {"a": 0.6, "b": 0.3, "c": 0.1}, "2.7"),
    "recursion": (MAIN + "recursion[;down(;down){0,499}][;spin]", {"spin": None}, "2.7"),
    "exceptions": (MAIN + "exceptions[;catcher[;(thrower[;spin]|rescue in catcher[;handler[;spin]])]]",
                   {"spin": None}, "2.7"),
    "ensuring": (MAIN + "ensuring[;ensured[;spin]]", {"spin": None}, "2.7"),
    "blocks": (MAIN + "blocks[;yielder[;(spin|block in blocks[;yielder[;(spin|block (2 levels) in blocks[;spin])]])]]",
               {"block in blocks": 0.667, "block (2 levels) in blocks": 0.333}, "2.7"),
    "iterating": (MAIN + "iterating[;Array#each[;*;block in iterating[;spin]]]", {"block in iterating": None}, "2.7"),
    "tiny": (MAIN + "tiny[;Array#each[;*;block in tiny]]", {"tiny": None}, "2.7"),
    "sorting": (MAIN + "sorting[;Enumerable#sort_by[;Array#each[;*;block in sorting[;key[;spin]]]]]",
                {"key": None}, "2.7"),
    "substitution": (MAIN + "substitution[;String#gsub[;*;block in substitution[;replace[;spin]]]]",
                     {"replace": None}, "2.7"),
    "objects": (MAIN + "objects[;Base.also[;Base.build[;Class#new[;*;Derived#initialize[;Base#initialize"
                "[;Shared#shared[;spin]]]]]]]", {"Shared#shared": None, "Base.build": None}, "2.7"),
    "made_methods": (MAIN + "made_methods[[;*];Derived#made[;spin]]", {"Derived#made": None}, "2.7"),
    "unicode_names": (MAIN + "unicode_names[;Derived::Größe_長さ#größe[;spin]]",
                      {"Derived::Größe_長さ#größe": None}, "2.7"),
    "evaluated": (MAIN + "evaluated[;Kernel#eval[;*;<main>[;spin]]]", {"spin": None}, "2.7"),
    "generators": ("(" + MAIN + "generators|*;Enumerator#each;numbers[;spin])", {"numbers": None}, "2.7"),
    "fibers": ("(" + MAIN + "fibers|*;block in fibers[;spin])", {"block in fibers": None}, "2.7"),
    "threads": ("(" + MAIN + "threads|*;block (2 levels) in threads[;thread_body[;spin]])", {"spin": None}, "2.7"),
    "ractors": ("(" + MAIN + "ractors|*;block (2 levels) in ractors[;thread_body[;spin]])", {"spin": None}, "3.0"),
    "native": (MAIN + "native[;Native.call[;*;(Callback#called[;spin]|block in native[;spin])]]",
               {"Callback#called": 0.5, "block in native": 0.5}, "2.7"),
    "unlocked": ("(" + MAIN + "unlocked[;Native.compute]|*;block in unlocked[;thread_body[;spin]])",
                 {}, "3.0"),
    "garbage": (MAIN + "garbage[;Array#each[;*;block in garbage]]", {"Array#each": None}, "2.7"),
}
NATIVE = {"native", "unlocked"}     # need a module in C
NOT_OURS = {"block", "in", "rescue", "levels"}


def own(name):
    """As the profile has it: methods of the main program are Object's."""
    return re.sub(r"(?<![\w#.:<])[a-z_]\w*(?![\w#.:>])",
                  lambda m: m[0] if m[0] in NOT_OURS else "Object#" + m[0], name)


def pattern_of(text):
    """The regular expression of a chain."""
    text = own(text).replace("(2 levels)", r"\(2 levels\)").replace(".", r"\.")
    text = text.replace("*", r"\*").replace("[", "(").replace("]", ")?")
    return text + r"(;[A-Z]\w*[#.][^;]+)*(;\*)?"


def numbers(version):
    return tuple(int(n) for n in version.split("."))


def installed(*what):
    result = subprocess.run([INSTALL, *what], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    return (result.stdout.strip() if result.returncode == 0 else None), result.stderr.strip()[-300:]


class Ruby:
    """One in a root of its own, with modules; or a program without, that has YJIT and runs here."""

    def __init__(self, version, root):
        self.version, self.root = numbers(version.removesuffix("-yjit")), root
        self.environment = {"PATH": "/usr/sbin:/usr/bin", "LANG": "C.UTF-8", "VICTIM_SEED": "1"}
        self.has_modules = not version.endswith("-yjit")
        if not self.has_modules:
            self.command, self.victim = [root, "--yjit"], VICTIM
            return
        self.command, self.victim = ["chroot", root, f"/usr/bin/ruby{version}"], "/tmp/victim.rb"
        for name in ("victim.rb", "judge.rb"):
            shutil.copy(os.path.join(VICTIMS, name), os.path.join(root, "tmp", name))
        headers = glob.glob(f"{root}/usr/include/ruby-{version}*") + \
            glob.glob(f"{root}/usr/include/*/ruby-{version}*")
        subprocess.run(["gcc", "-O2", "-w", "-shared", "-fPIC", *(f"-I{h}" for h in headers), "-o",
                        os.path.join(root, "tmp", "native.so"), os.path.join(VICTIMS, "native.c")], check=True)

    def start(self, scenario, options=(), before=()):
        return Victim([*before, *self.command, "-W0", *options, self.victim, scenario], env=self.environment,
                      stderr=subprocess.DEVNULL)


def plain(name):
    return re.sub(r"^[\w:]+[#.]", "", name)


CALLS = lines_of_calls(VICTIM, plain)


def wrong_lines_of(stacks):
    return wrong_lines(stacks, KIND, CALLS, plain, lambda path: path.endswith("/victim.rb"))


def off_shares(stacks, shares):
    """Those that are too far off: three points, or what so many samples are off by once in two thousand times."""
    seen, off = stacks.inclusive(KIND), {}
    for name, share in shares.items():
        is_share = seen.get(own(name), 0)
        allowed = max(0.03, 3.5 * (share * (1 - share) / stacks.count) ** 0.5) if share else 0
        if abs(is_share - share) > allowed if share else is_share < 0.9:
            off[name] = round(is_share, 3)
    return off


def check_scenario(tap, ruby, label, scenario, samples, options=()):
    name = f"ruby {label} {scenario}"
    chain, shares, oldest = SCENARIOS[scenario]
    if ruby.version < numbers(oldest) or (scenario in NATIVE and not ruby.has_modules):
        tap.skip(name, "this Ruby cannot run it")
        return
    with ruby.start(scenario, options) as victim:
        if victim.pid is None:
            tap.check(name, False, "the victim does not run")
            return
        recording, stacks = record_beside(victim, samples, KIND)
    if not stacks or stacks.count < samples // 2:
        tap.note(recording.said())
        tap.check(name, False, f"{stacks.count if stacks else 0} samples")
        return
    if not ruby.has_modules:
        shares = {n: share for n, share in shares.items() if share}     # compiled, spin() takes little
    good, bad = stacks.matching(KIND, pattern_of(chain))
    off, (lines, example) = off_shares(stacks, shares), wrong_lines_of(stacks)
    if not tap.check(name, good >= 0.99 and not off and lines <= 0.01,
                     f"{good:.2%} of {stacks.count} stacks as expected, {1 - lines:.1%} lines, "
                     f"from {stacks.late_ns / 1e6:.0f} ms on" +
                     (f", shares {off}" if off else "") + (f", {example}" if lines > 0.01 else "")):
        tap.note(f"pattern {pattern_of(chain)}")
        for count, text in bad:
            tap.note(f"{count:6} {text[:400]}")


def check_hostile(tap, ruby, label, rounds):
    """A process that spoils its own structures must not harm wick."""
    for seed in range(rounds):
        ruby.environment["VICTIM_SEED"] = str(seed)
        with ruby.start("corrupt") as victim:
            recording, stacks = record_beside(victim, 500, KIND)
        count = stacks.count if stacks else 0
        tap.check(f"ruby {label} hostile, seed {seed}", recording.status == 0 and count > 100, f"{count} samples")


def check_stackprof(tap, ruby, label, samples):
    """Beside stackprof, which runs in the victim: it samples by the CPU time of the process, with each tick of the kernel
    at most. Three times as long as else, lest 5 points be chance."""
    name = f"ruby {label} agrees with stackprof"
    out = os.path.join(ruby.root, "tmp", "stackprof.json")
    if os.path.exists(out):
        os.remove(out)
    with ruby.start("split", ["-r", "/tmp/judge.rb"]) as victim:
        if victim.pid is None:
            tap.skip(name, "there is no stackprof for it")
            return
        _, stacks = record_beside(victim, 3 * samples, KIND)
        victim.process.terminate()
        victim.process.wait(30)
    if not stacks or not os.path.exists(out):
        tap.check(name, False, "nothing was recorded")
        return
    with open(out, encoding="utf-8") as file:
        theirs = json.load(file)
    ours = stacks.inclusive(KIND)
    apart = {n: (round(ours.get(n, 0), 3), round(share, 3)) for n, share in theirs["shares"].items()
             if share >= 0.02 and abs(ours.get(n, 0) - share) > 0.05}
    tap.check(name, not apart and theirs["samples"] > 200,
              f"{stacks.count} samples of ours, {theirs['samples']} of its, apart: {apart or 'none'}")


def run(tap, version, full):
    root, why = installed("ruby", version)
    if not root:
        tap.skip(f"ruby {version}", why or "it cannot be installed")
        return
    ruby = Ruby(version, root)
    samples = int(os.environ.get("SAMPLES", 5600 if full else 1200))
    for scenario in SCENARIOS:
        check_scenario(tap, ruby, version, scenario, samples)
    if ruby.has_modules:
        check_stackprof(tap, ruby, version, samples)
        check_hostile(tap, ruby, version, 5 if full else 1)
