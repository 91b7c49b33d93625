# SPDX-License-Identifier: Apache-2.0
"""Perl 5.30 to 5.42: test/victims/perl/victim.pl against what its source says of its stacks, and against Perl itself, which
is asked by a signal (Judge.pm).

A Perl runs in a root of its own (test/runtimes/install.sh), as in a container; one without threads is built, and runs here.
"""
import glob
import os
import re
import shutil
import subprocess

from common import BUILD, ROOT
from victim_source import Source, check_judged, check_spoilt, installed, numbers
from runtime_profile import Victim, check_real

KIND = "perl"
VICTIMS = os.path.join(ROOT, "test", "victims", "perl")
VICTIM = os.path.join(VICTIMS, "victim.pl")
VERSION = "5.36"
VERSIONS = ["5.30", "5.32", "5.34", "5.36", "5.38", "5.40", "5.42", "5.36-unthreaded"]

# What a stack of each scenario is, outermost first: "a" is main::a, <main> the program, * native code, [...] perhaps. Then
# functions and the share of samples they must be in (None: nearly all).
MAIN = "*;<main>;main;"
EVAL = "eval \\{\\.\\.\\.\\}"
SCENARIOS = {
    "split_time": (MAIN + "split_time[;(a|b|c)]", {"a": 0.6, "b": 0.3, "c": 0.1}),
    "recursion": (MAIN + "recursion[;down(;down){0,499}][;spin]", {"spin": None}),
    "exceptions": (MAIN + "exceptions[;catcher[;(EVAL[;thrower[;spin]]|handler[;spin])]]", {"spin": None}),
    "nested_evals": (MAIN + "nested_evals[;EVAL[;nested_inner[;EVAL[;spin]]]]", {"spin": None}),
    "closures": (MAIN + "closures[;__ANON__[;__ANON__[;spin]]]", {"spin": None}),
    "generators": (MAIN + "generators[;__ANON__[;spin]]", {"spin": None}),
    "mapping": (MAIN + "mapping[;spin]", {"spin": None}),
    "sorting": (MAIN + "sorting[;*;key[;spin]]", {"key": None}),
    "sorting_by_sub": (MAIN + "sorting_by_sub[;*;by_key[;key[;spin]]]", {"by_key": None}),
    "sorting_much": (MAIN + "sorting_much", {"sorting_much": None}),
    "substitution": (MAIN + "substitution[;replace[;spin]]", {"replace": None}),
    "first_of": (MAIN + "first_of[;*;__ANON__[;spin]]", {"spin": None}),
    "first_tiny": (MAIN + "first_tiny[;*;__ANON__]", {"first_tiny": None}),
    "objects": (MAIN + "objects[;Derived::work[;Base::work[;Shared::shared[;spin]]]]", {"Shared::shared": None}),
    "unicode_names": (MAIN + "unicode_names[;Derived::größe[;spin]]", {"Derived::größe": None}),
    "autoloaded": (MAIN + "autoloaded[;Auto::AUTOLOAD[;spin]]", {"Auto::AUTOLOAD": None}),
    "tied_scalar": (MAIN + "tied_scalar[;*;Tied::FETCH[;spin]]", {"Tied::FETCH": None}),
    "overloaded": (MAIN + "overloaded[;*;Sum::add[;spin]]", {"Sum::add": None}),
    "destroying": (MAIN + "destroying[;*;Gone::DESTROY[;spin]]", {"Gone::DESTROY": None}),
    "gone_to": (MAIN + "gone_to[;(going|target[;spin])]", {"target": None}),
    "lexical": (MAIN + "lexical[;inner[;spin]]", {"inner": None}),
    "signals": (MAIN + "signals[;*;on_signal[;spin]]", {"on_signal": None}),
    "evaluated": (MAIN + "evaluated[;eval '\\.\\.\\.'[;spin]]", {"spin": None}),
    "requiring": (MAIN + "requiring[;require /tmp/required\\.pl[;spin]]", {"spin": None}),
    "threads_of": ("(" + MAIN + "threads_of|*;thread_body[;spin])", {"thread_body": None}),
    "native": (MAIN + "native[;*;(called[;spin]|__ANON__[;spin])]", {"called": 0.5, "__ANON__": 0.5}),
    "caught": (MAIN + "caught[;*;(called[;spin]|__ANON__[;*;EVAL[;(nested_inner[;EVAL[;spin]]|thrower[;spin])]])]",
               {"called": 0.333, "nested_inner": 0.333, "thrower": 0.333}),
    "hashes": (MAIN + "hashes", {"hashes": None}),
}
# What `make test` runs.
QUICK = ("split_time recursion exceptions sorting first_tiny objects unicode_names destroying evaluated requiring threads_of "
         "native caught")
LITERAL = {"eval", "require", "tmp", "required", "pl", "EVAL"}


def own(name):
    """As the profile has it: subs of the main program are main's."""
    return re.sub(r"(?<![\w:<])[a-z_]\w*(?![\w:>])|__ANON__",
                  lambda m: m[0] if m[0] in LITERAL else "main::" + m[0], name)


def pattern_of(text):
    """The regular expression of a chain."""
    text = own(text).replace("<main>", "main").replace("*", r"\*").replace("[", "(").replace("]", ")?")
    return text.replace("EVAL", EVAL) + r"(;\*)?"


SOURCE = Source(KIND, VICTIM, own)


class Perl:
    """One in a root of its own, or a program that runs here."""

    def __init__(self, version, root):
        self.version, self.has_threads = numbers(version.removesuffix("-unthreaded")), not version.endswith("-unthreaded")
        self.temporary = os.path.join(root, "tmp") if self.has_threads else os.path.join(BUILD, "perl-victim")
        self.environment = {"PATH": "/usr/sbin:/usr/bin", "LANG": "C.UTF-8", "VICTIM_SEED": "1"}
        os.makedirs(self.temporary, exist_ok=True)
        if self.has_threads:
            self.command, self.seen_as = ["chroot", root, "/usr/bin/perl"], "/tmp"
            headers = glob.glob(f"{root}/usr/lib/*/perl/5.*/CORE")[:1]
        else:
            self.command, self.seen_as = [root], self.temporary
            headers = glob.glob(os.path.join(os.path.dirname(root), "..", "lib", "5.*", "*", "CORE"))[:1]
            shutil.copy(os.path.join(VICTIMS, "required.pl"), "/tmp/required.pl")
        self.environment["VICTIM_NATIVE"] = os.path.join(self.seen_as, "native.so")
        for name in ("victim.pl", "required.pl", "Judge.pm"):
            shutil.copy(os.path.join(VICTIMS, name), os.path.join(self.temporary, name))
        subprocess.run(["gcc", "-O2", "-w", "-shared", "-fPIC", "-D_GNU_SOURCE", "-D_FILE_OFFSET_BITS=64",
                        *(f"-I{h}" for h in headers), "-o", os.path.join(self.temporary, "native.so"),
                        os.path.join(VICTIMS, "native.c")], check=True)

    def start(self, scenario, options=()):
        return Victim([*self.command, *options, os.path.join(self.seen_as, "victim.pl"), scenario],
                      env=self.environment, stderr=subprocess.DEVNULL)


def check_scenario(tap, perl, label, scenario, samples):
    name = f"perl {label} {scenario}"
    if scenario == "threads_of" and not perl.has_threads:
        tap.skip(name, "this Perl cannot run it")
        return
    chain, shares = SCENARIOS[scenario]
    with perl.start(scenario) as victim:
        SOURCE.check(tap, name, victim, samples, pattern_of(chain), shares)


def check_itself(tap, perl, label, scenario, samples):
    """Beside Perl itself, whose own caller() is asked by a signal of the victim's CPU time."""
    name = f"perl {label} agrees with its own caller() on {scenario}"
    out = "/tmp/judge.json" if not perl.has_threads else os.path.join(perl.temporary, "judge.json")
    if os.path.exists(out):
        os.remove(out)
    with perl.start(scenario, [f"-I{perl.seen_as}", "-MJudge"]) as victim:
        if victim.pid is None:
            tap.check(name, False, "the victim does not run")
            return
        # Of blocks and texts alike.
        check_judged(tap, name, victim, samples, KIND, out, lambda function: function != "(eval)")


def check_hostile(tap, perl, label, rounds):
    for seed in range(rounds):
        perl.environment["VICTIM_SEED"] = str(seed)
        with perl.start("corrupt") as victim:
            check_spoilt(tap, f"perl {label} hostile, seed {seed}", victim, KIND)


def check_large_file(tap, perl, label):
    """A real program: a log of 120 MB is read, taken to pieces, counted and sorted. Packages of Perl have no symbols."""
    path = os.path.join(perl.temporary, "large.log")
    with open(path, "w", encoding="ascii") as file:
        for i in range(1_200_000):
            file.write(f"10.{i % 7}.{i % 251}.{i % 199} - - [{i % 28 + 1:02}/Oct/2026:10:{i % 60:02}:00 +0000] "
                       f"\"GET /shop/item-{i * 7919 % 9973}?q={i % 97} HTTP/1.1\" {200 if i % 11 else 404} {i % 65536}\n")
    shutil.copy(os.path.join(VICTIMS, "large_file.pl"), perl.temporary)
    check_real(tap, f"perl {label}: a script over a large file",
               [*perl.command, os.path.join(perl.seen_as, "large_file.pl"), os.path.join(perl.seen_as, "large.log")],
               kind=KIND if perl.has_threads else None)
    os.remove(path)


def run(tap, version, full):
    root, why = installed("perl", version)
    if not root:
        tap.skip(f"perl {version}", why or "it cannot be installed")
        return
    perl = Perl(version, root)
    samples = int(os.environ.get("SAMPLES", 5600 if full else 1200))
    for scenario in os.environ.get("SCENARIOS", " ".join(SCENARIOS) if full else QUICK).split():
        check_scenario(tap, perl, version, scenario, samples)
    for scenario in ("split_time", "sorting"):
        check_itself(tap, perl, version, scenario, samples)
    check_hostile(tap, perl, version, 5 if full else 1)
    if full or version == VERSION:
        check_large_file(tap, perl, version)
