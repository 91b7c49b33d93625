# SPDX-License-Identifier: Apache-2.0
"""Ruby 2.7 to 3.4: test/victims/ruby/victim.rb against what its source says of its stacks, and against stackprof, which
asks Ruby itself, by a signal.

A Ruby runs in a root of its own (test/runtimes/install.sh), as in a container.
"""
import glob
import os
import re
import shutil
import subprocess

from common import ROOT
from victim_source import Source, check_judged, check_spoilt, installed, numbers
from runtime_profile import Victim

KIND = "ruby"
VICTIMS = os.path.join(ROOT, "test", "victims", "ruby")
VICTIM = os.path.join(VICTIMS, "victim.rb")
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


SOURCE = Source(KIND, VICTIM, own)


def check_scenario(tap, ruby, label, scenario, samples, options=()):
    name = f"ruby {label} {scenario}"
    chain, shares, oldest = SCENARIOS[scenario]
    if ruby.version < numbers(oldest) or (scenario in NATIVE and not ruby.has_modules):
        tap.skip(name, "this Ruby cannot run it")
        return
    if not ruby.has_modules:
        shares = {n: share for n, share in shares.items() if share}     # compiled, spin() takes little
    with ruby.start(scenario, options) as victim:
        SOURCE.check(tap, name, victim, samples, pattern_of(chain), shares)


def check_hostile(tap, ruby, label, rounds):
    for seed in range(rounds):
        ruby.environment["VICTIM_SEED"] = str(seed)
        with ruby.start("corrupt") as victim:
            check_spoilt(tap, f"ruby {label} hostile, seed {seed}", victim, KIND)


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
        check_judged(tap, name, victim, 3 * samples, KIND, out)


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
