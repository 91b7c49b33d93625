# SPDX-License-Identifier: Apache-2.0
"""Lua 5.3 and 5.4: test/victims/lua/victim.lua against what its source says of its stacks.

A Lua runs in a root of its own (test/runtimes/install.sh), as in a container. Packages of it are stripped.
"""
import os
import re
import shutil
import subprocess

from common import ROOT
from runtime_profile import Victim
from victim_source import Source, installed

KIND = "lua"
VICTIM = os.path.join(ROOT, "test", "victims", "lua", "victim.lua")
VERSION = "5.4.4"
VERSIONS = ["5.3.6", "5.4.4", "5.4.6", "5.4.7"]

# What a stack of each scenario is, outermost first: * native code, FN a function that nobody calls by a name, [...] perhaps.
# Then functions and the share of samples they must be in (None: nearly all). Functions that are written in C have frames, too.
MAIN = "*;main chunk[;work"
SCENARIOS = {
    "split_time": ("[;(a|b|c)[;spin]]", {"a": 0.6, "b": 0.3, "c": 0.1}),
    "recursion": ("[(;down){1,500}[;spin]]", {"spin": None}),
    "exceptions": ("[;pcall[;*;FN[;(spin|error)]]|;handler[;spin]]", {"spin": None}),
    "closures": ("[;outer[;inner[;spin]]]", {"spin": None}),
    "coroutines": ("[;spin|;step[;*;FN[;spin|;yield|;deeper[;*;FN[;spin|;yield]]]]]", {"step": 0.91, "deeper": 0.45}),
    "sorting": ("[;sort[;*;FN[;key[;spin]]]]", {"key": None}),
    "substitution": ("[;rep|;gsub[;*;FN[;spin]]]", {"gsub": None}),
    "objects": ("[;setmetatable|;deposit[;spin]]", {"deposit": None}),
    "operators": ("[;setmetatable|;*;metamethod[;spin]]", {"metamethod": None}),
    "iterators": ("[;range|;*;for iterator[;spin]]", {"for iterator": None}),
    "tail_calls": ("[;first|;FN[;spin]]", {"spin": None}),
    "arguments": ("[;several[;spin|;select]]", {"spin": None}),
    "loaded": ("[;main chunk[;spin]]", {"spin": None}),
    "strings": ("[;(format|rep|concat)]", {}),
    "garbage": ("[(;make){1,11}]", {"make": None}),
    "small_calls": ("[(;fib){1,20}]", {"fib": None}),
}
# What `make test` runs.
QUICK = "split_time recursion sorting"

SOURCE = Source(KIND, VICTIM, lambda name: name, bare=r"$^")


def pattern_of(text):
    """The regular expression of a chain."""
    text = (MAIN + text + "]").replace("*;", r"\*;").replace("[", "(").replace("]", ")?")
    return text.replace("FN", r"function <[^;<>]*>") + r"(;\*)?"


def check_scenario(tap, root, version, scenario, samples):
    chain, shares = SCENARIOS[scenario]
    program = f"/usr/bin/lua{version[:3]}"
    # It has no way to tell its pid: the shell's, whose place it takes.
    with Victim(["sh", "-c", f"echo $$; exec chroot '{root}' {program} /tmp/victim.lua {scenario}"], stderr=subprocess.DEVNULL) as victim:
        SOURCE.check(tap, f"lua {version} {scenario}", victim, samples, pattern_of(chain), shares)


def run(tap, version, full):
    root, why = installed("lua", version)
    if not root:
        tap.skip(f"lua {version}", why or "it cannot be installed")
        return
    shutil.copy(VICTIM, os.path.join(root, "tmp", "victim.lua"))
    said = subprocess.run(["chroot", root, f"/usr/bin/lua{version[:3]}", "-v"], stdout=subprocess.PIPE, text=True, check=False)
    tap.check(f"lua {version} is that one", re.search(rf"Lua {re.escape(version)}\b", said.stdout), said.stdout.strip())
    samples = int(os.environ.get("SAMPLES", 5600 if full else 900))
    for scenario in os.environ.get("SCENARIOS", " ".join(SCENARIOS) if full else QUICK).split():
        check_scenario(tap, root, version, scenario, samples)
