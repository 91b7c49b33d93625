# SPDX-License-Identifier: Apache-2.0
"""Lua 5.1 to 5.4: test/victims/lua/victim.lua against what its source says of its stacks, and against Lua's own tracebacks.

A Lua runs in a root of its own (test/runtimes/install.sh), as in a container. Packages of it are stripped. Once more it runs
inside of a program in C, test/victims/lua/host.c, by the library of that version.
"""
import os
import re
import shutil
import subprocess
import time

from common import ROOT
from runtime_profile import Victim
from victim_source import Source, check_judged, check_spoilt, installed

KIND = "lua"
VICTIM = os.path.join(ROOT, "test", "victims", "lua", "victim.lua")
HOST = os.path.join(ROOT, "test", "victims", "lua", "host.c")
VERSION = "5.4.4"
VERSIONS = ["5.1.5", "5.1.5-noble", "5.2.4", "5.3.6", "5.4.4", "5.4.6", "5.4.7"]

# What a stack of each scenario is, outermost first: * native code, FN a function that nobody calls by a name, [...] perhaps.
# Then functions and the share of samples they must be in (None: nearly all). Functions that are written in C have frames, too.
MAIN = "*;main chunk[;work"
SCENARIOS = {
    "split_time": ("[;(a|b|c)[;spin]]", {"a": 0.6, "b": 0.3, "c": 0.1}),
    "recursion": ("[(;down){1,500}[;spin]]", {"spin": None}),
    "exceptions": ("[;pcall[;*;FN[;(spin|error)]]|;handler[;spin]]", {"spin": None}),
    "handlers": ("[;xpcall[;*;FN[;spin|;*;nothing[;spin]]]]", {"spin": None, "nothing": 0.53}),
    "closures": ("[;outer[;inner[;spin]]]", {"spin": None}),
    "coroutines": ("[;spin|;wrap|;step[;*;FN[;spin|;wrap|;yield|;deeper[;*;FN[;spin|;yield]]]]]", {"step": 0.91, "deeper": 0.45}),
    "yielding": ("[;wrap|;step[;*;FN[;(*;)?for iterator[;pcall[;(*;)?FN[;spin|;yield]]]]]]", {"step": None, "for iterator": None, "pcall": None, "spin": None}),
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
# Tracebacks of 5.1 know functions only by the variable that they are called by.
SCENARIOS_51 = {
    "operators": ("[;setmetatable|;*;FN[;spin]]", {"spin": None}),
    "iterators": (r"[;range|;*;\(for generator\)[;spin]]", {"(for generator)": None}),
}
ABSENT_51 = {"yielding"}      # nothing yields inside of pcall there
# What `make test` runs.
QUICK = "split_time recursion sorting"
# By a program that has Lua inside.
HOSTED = "recursion coroutines sorting"
# Its own tracebacks judge these: of a coroutine they have nothing of who has resumed it, and of deep stacks both ends.
JUDGED = "split_time exceptions handlers closures sorting objects operators iterators tail_calls arguments"

SOURCE = Source(KIND, VICTIM, lambda name: name, bare=r"$^")


def pattern_of(text):
    """The regular expression of a chain."""
    text = (MAIN + text + "]").replace("*;", r"\*;").replace("[", "(").replace("]", ")?")
    return text.replace("FN", r"function <[^;<>]*>") + r"(;\*)?"


def victim_of(root, command):
    """It has no way to tell its pid: the shell's, whose place it takes."""
    return Victim(["sh", "-c", f"echo $$; exec chroot '{root}' {command}"], stderr=subprocess.DEVNULL)


def check_scenario(tap, root, version, scenario, samples, program=None):
    if version[:3] == "5.1" and scenario in ABSENT_51:
        return
    chain, shares = (SCENARIOS_51 if version[:3] == "5.1" else {}).get(scenario, SCENARIOS[scenario])
    hosted = "hosted " if program else ""
    with victim_of(root, f"{program or '/usr/bin/lua' + version[:3]} /tmp/victim.lua {scenario}") as victim:
        SOURCE.check(tap, f"lua {version} {hosted}{scenario}", victim, samples, pattern_of(chain), {} if hosted else shares)


def check_tracebacks(tap, root, version, scenario, samples):
    out = os.path.join(root, "tmp", "shares.json")
    if os.path.exists(out):
        os.remove(out)
    with victim_of(root, f"/usr/bin/lua{version[:3]} /tmp/victim.lua {scenario} /tmp/shares.json") as victim:
        for _ in range(600):
            if os.path.exists(out):
                break
            time.sleep(0.1)
        check_judged(tap, f"lua {version} {scenario} as its tracebacks say", victim, samples, KIND, out)


def check_hosted(tap, root, version, samples):
    """Inside of a program in C, which also spoils what Lua knows of its calls."""
    library = f"/usr/lib/x86_64-linux-gnu/liblua{version[:3]}.so.0"
    if not os.path.exists(root + library):
        tap.skip(f"lua {version} hosted", "its library is not in the cache, which is older than this test")
        return
    subprocess.run(["gcc", "-O2", "-o", os.path.join(root, "tmp", "host"), HOST, "-ldl"], check=True)
    program = f"/tmp/host {library}"
    for scenario in os.environ.get("HOSTED", HOSTED).split():
        check_scenario(tap, root, version, scenario, samples, program)
    with victim_of(root, f"{program} /tmp/victim.lua spoilt") as victim:
        check_spoilt(tap, f"lua {version} hosted, that spoils what it has", victim, KIND)


def run(tap, version, full):
    root, why = installed("lua", version)
    if not root:
        tap.skip(f"lua {version}", why or "it cannot be installed")
        return
    shutil.copy(VICTIM, os.path.join(root, "tmp", "victim.lua"))
    said = subprocess.run(["chroot", root, f"/usr/bin/lua{version[:3]}", "-v"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, check=False)
    tap.check(f"lua {version} is that one", re.search(rf"Lua {re.escape(version.partition('-')[0])}\b", said.stdout), said.stdout.strip())
    samples = int(os.environ.get("SAMPLES", 5600 if full else 900))
    for scenario in os.environ.get("SCENARIOS", " ".join(SCENARIOS) if full else QUICK).split():
        check_scenario(tap, root, version, scenario, samples)
    if full:
        for scenario in os.environ.get("JUDGED", JUDGED).split():
            check_tracebacks(tap, root, version, scenario, samples)
        check_hosted(tap, root, version, samples)
