# SPDX-License-Identifier: Apache-2.0
""".NET 6 to 10: test/victims/dotnet/Victim.cs against what its source says of its stacks.

A .NET runs in a root of its own (test/runtimes/install.sh), as in a container, without any variable that profilers want.
"""
import os
import re
import shutil
import subprocess

from common import ROOT
from runtime_profile import Victim, record_beside
from victim_source import Source, installed, numbers

KIND = "dotnet"
VICTIMS = os.path.join(ROOT, "test", "victims", "dotnet")
VERSION = "8"
VERSIONS = ["6", "7", "8", "9", "10"]

# What a stack of each scenario is, outermost first: * native code, [...] perhaps, @ a method of the victim. Methods of the
# framework and stubs may stand at the end. Then methods and the share of samples they must be in (None: nearly all).
MAIN = "*;@Program.Main;"
SCENARIOS = {
    "split_time": (MAIN + "@Program.SplitTime[;@Program.(A|B|C)[;@Program.Spin]]",
                   {"Program.A": 0.6, "Program.B": 0.3, "Program.C": 0.1}),
    "recursion": (MAIN + "@Program.Recursion[(;@Program.Down){1,500}[;@Program.Spin]]", {"Program.Spin": None}),
    # The handler runs while the one that has thrown is still there.
    "exceptions": (MAIN + "@Program.Exceptions[;@Program.Catcher[;@Program.Thrower[;@Program.Spin]]"
                   "(;System.ANY|;NATIVE)*[;@Program.Catcher[;@Program.Handler[;@Program.Spin]]]]",
                   {"Program.Spin": None}),
    "objects": (MAIN + "@Program.Objects[;@Derived.Work[;@Base.Work[;@Base.Shared[;@Program.Spin]]]]", {"Base.Shared": None}),
    "interfaces": (MAIN + "@Program.Interfaces[;(@Derived.Area[;@Derived.Work[;@Base.Work[;@Base.Shared[;@Program.Spin]]]]|"
                   "@Square.Area[;@Program.Spin])]", {"Derived.Area": 0.5, "Square.Area": 0.5}),
    "unicode_names": (MAIN + "@Program.UnicodeNames[;@Derived.Größe.Messen[;@Program.Spin]]", {"Derived.Größe.Messen": None}),
    "generics": (MAIN + "@Program.Generics[;@Box`1.Hold[;@Program.Spin]]", {"Box`1.Hold": None}),
    # What .NET has inlined is not told of anywhere.
    "closures": (MAIN + "@Program.Closures[[;@Program.Closures+lambda0];@Program.Spin]", {"Program.Spin": None}),
    "generators": (MAIN + "@Program.Generators[[;@Program.Numbers+MoveNext][;@Program.Spin]]", {"Program.Spin": None}),
    "mapping": (MAIN + "@Program.Mapping(;System.Linq.ANY)*[;@Program.Mapped[;@Program.Spin]]", {"Program.Mapped": None}),
    "sorting": (MAIN + "@Program.Sorting(;System.Collections.Generic.ANY|;System.Array.Sort)*[;@Number.CompareTo[;@Program.Spin]]",
                {"Number.CompareTo": None, "+System.Collections.Generic.GenericArraySortHelper`1.Sort": None}),
    "framework": (MAIN + "@Program.Framework(;System.ANY)*", {"Program.Framework": None}),
    "native": (MAIN + "@Program.Native[;IL_STUB_PInvoke[;*[;IL_STUB_ReversePInvoke[;@Program.Compare[;@Program.Spin]]]]]",
               {"IL_STUB_PInvoke": None, "Program.Compare": None}),
    "dynamic": (MAIN + "@Program.Dynamic[;Generated[;@Program.Spin]]", {"+Generated": None}),
    "asynchronous": (r"\*(;System.ANY|;@Program.ANY)*", {"Program.Inner+MoveNext": None}),
    "threads": (r"\*(;System.ANY)*;@Program.Work8;@Program.SplitTime[;@Program.(A|B|C)[;@Program.Spin]]",
                {"Program.A": 0.6, "Program.B": 0.3, "Program.C": 0.1}),
}
# What `make test` runs.
QUICK = "split_time recursion exceptions interfaces generics generators sorting framework native dynamic asynchronous threads"


def pattern_of(text):
    """The regular expression of a chain; stubs and helpers, in brackets, may stand wherever one method calls another."""
    if text.startswith("*"):
        text = r"\*" + text[1:]
    text = text.replace(";*[", r";\*[").replace(".", r"\.").replace("+MoveNext", r"\+MoveNext")
    text = text.replace("+lambda", r"\+lambda").replace("[", "(").replace("]", ")?")
    text = text.replace("@", r"Victims\.").replace(";", r"(?:;\([^;]*\))*;") + r"(;\([^;]*\))*(;\*)?"
    # A method that was compiled anew while it ran stands there twice.
    text = re.sub(r"Victims\\.Program\\.(Main|Work8|Spin)\b", r"Victims\\.Program\\.\1(?:;Victims\\.Program\\.\1)?", text)
    return text.replace("ANY", r"[^;*]+").replace("NATIVE", r"\*")


def own(name):
    return name[1:] if name[0] == "+" else name if name.startswith("IL_") else "Victims." + name


def lines_of_methods():
    """{method: its lines}, by how the source is indented; those that stand there by themselves, or are made of one."""
    found, head, start = {}, None, 0
    with open(os.path.join(VICTIMS, "Victim.cs"), encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            if not head and (head := re.match(r"(\t{2,3})[a-zA-Z].* (\w+)(?:<\w+>)?\(.*\)$", line)):
                start = number
            elif head and line.rstrip() == head[1] + "}":
                found.setdefault(head[2], set()).update(range(start, number + 1))
                head = None
    return found


METHODS = lines_of_methods()


def lined(name):
    """Where a method of the victim must be: constructors and what is not written there have no lines."""
    return METHODS.get(re.sub(r"\+.*", "", name).rpartition(".")[2]) if name.startswith("Victims.") else None


SOURCE = Source(KIND, os.path.join(VICTIMS, "Victim.cs"), own, bare=r"^.*\.", lined=lined)


class Dotnet:
    """One in a root of its own."""

    def __init__(self, version, home):
        self.version, self.home = numbers(version), home
        self.root = home.removesuffix("/usr/lib/dotnet")

    def build(self, version, *kind):
        """Compiles the victim, once."""
        return subprocess.run([os.path.join(VICTIMS, "build.sh"), version, *kind], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True, check=False)

    def spoil(self):
        """Another build's PDB beside the same program: its id is another, its lines would be the same."""
        here, there = os.path.join(self.root, "tmp/victim"), os.path.join(self.root, "tmp/victim-spoilt")
        shutil.copytree(here, there, dirs_exist_ok=True)
        with open(os.path.join(here, "Victim.dll"), "rb") as file:
            guid = file.read().partition(b"RSDS")[2][:16]
        with open(os.path.join(here, "Victim.pdb"), "rb") as file:
            pdb = file.read()
        with open(os.path.join(there, "Victim.pdb"), "wb") as file:
            file.write(pdb.replace(guid, bytes([guid[0] ^ 1]) + guid[1:], 1))
        return guid in pdb

    def start(self, scenario, folder="victim"):
        env = {"PATH": "/usr/sbin:/usr/bin:/bin", "LANG": "C.UTF-8", "DOTNET_SYSTEM_GLOBALIZATION_INVARIANT": "1"}
        # It wants /proc, which a mount namespace of its own has.
        return Victim(["unshare", "-m", "sh", "-c", 'mount -t proc proc "$0/proc" && exec chroot "$0" /usr/lib/dotnet/dotnet "$@"',
                       self.root, f"/tmp/{folder}/Victim.dll", scenario], env=env, stderr=subprocess.DEVNULL)


def own_lines(victim):
    """{(caller, callee): the caller's lines}, as .NET's own stack traces have them."""
    found = {}
    for line in iter(lambda: victim.process.stdout.readline().split(), ["."]):
        if not line:
            break
        if len(line) == 3 and "<" not in line[0] + line[2]:
            found.setdefault((line[0], line[2]), set()).add(int(line[1]))
    return found


def other_lines(stacks, own):
    """The share of samples in which a caller has another line than in .NET's own stack traces; how many have one, an example. They
    say of a handler what was called when it was thrown, so that the source may be right, too."""
    wrong, known, example = 0, 0, ""
    for frames, count, _ in stacks.all:
        chain = [f for f in frames if f.kind == KIND]
        pairs = [(a, b, own[a.name, b.name]) for a, b in zip(chain, chain[1:]) if own.get((a.name, b.name), {0}) != {0}]
        known += count if pairs else 0
        for caller, callee, lines in pairs:
            if caller.line not in lines | SOURCE.calls.get(SOURCE.plain(callee.name), set()):
                wrong += count
                example = f"{caller.name}:{caller.line} calls {callee.name}, not at {sorted(lines)}"
                break
    return wrong / max(1, known), known, example


def check_scenario(tap, dotnet, label, scenario, samples):
    chain, shares = SCENARIOS[scenario]
    with dotnet.start(scenario) as victim:
        own = own_lines(victim)
        stacks = SOURCE.check(tap, f"dotnet {label} {scenario}", victim, samples, pattern_of(chain), shares)
    if stacks and own:
        off, known, example = other_lines(stacks, own)
        # Of what is compiled for a lambda, an async or a dynamic method there is nothing to compare.
        if known > stacks.count // 2 or scenario in ("split_time", "recursion"):
            tap.check(f"dotnet {label} {scenario}: lines as in .NET's own stack traces", known and off <= 0.01,
                      f"{1 - off:.2%} of {known} {example if off > 0.01 else ''}")


def check_pdbs(tap, dotnet, version):
    """A PDB that is in the assembly is found, and one of another build is not believed."""
    built = dotnet.build(version, "embedded")
    with dotnet.start("split_time", "victim-embedded") as victim:
        _, stacks = record_beside(victim, 300, KIND)
    off, example = SOURCE.out_of_line(stacks) if stacks else (1, "nothing was recorded")
    tap.check(f"dotnet {version}: lines of a PDB that is in the assembly", built.returncode == 0 and off <= 0.01,
              f"{1 - off:.1%} of {stacks.count if stacks else 0} samples {example}")
    is_spoilt = dotnet.spoil()
    with dotnet.start("split_time", "victim-spoilt") as victim:
        _, stacks = record_beside(victim, 300, KIND)
    lines = [f for frames, _, _ in stacks.all for f in frames if f.kind == KIND and (f.file or f.line)] if stacks else None
    tap.check(f"dotnet {version}: no lines of another build's PDB", is_spoilt and lines == [] and stacks.count > 100,
              f"{stacks.count if stacks else 0} samples {lines[:1] if lines else ''}")


def run(tap, version, full):
    home, why = installed("dotnet", version)
    if not home:
        tap.skip(f"dotnet {version}", why or "it cannot be installed")
        return
    dotnet = Dotnet(version, home)
    built = dotnet.build(version)
    if not tap.check(f"dotnet {version} compiles the victim", built.returncode == 0, (built.stdout + built.stderr)[-300:]):
        return
    samples = int(os.environ.get("SAMPLES", 5600 if full else 1200))
    for scenario in os.environ.get("SCENARIOS", " ".join(SCENARIOS) if full else QUICK).split():
        check_scenario(tap, dotnet, version, scenario, samples)
    check_pdbs(tap, dotnet, version)
