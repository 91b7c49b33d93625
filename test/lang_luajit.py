# SPDX-License-Identifier: Apache-2.0
"""LuaJIT 2.1: test/victims/luajit/victim.lua against what its source says of its stacks.

A LuaJIT runs in a root of its own (test/runtimes/install.sh), as in a container. Packages of it are stripped.
"""
import os
import re
import shutil
import signal
import subprocess
import time

from common import ROOT, Recording
from runtime_profile import Victim
from victim_source import Source, check_judged, check_spoilt, installed

KIND = "luajit"
VICTIM = os.path.join(ROOT, "test", "victims", "luajit", "victim.lua")
VERSION = "2.1-20220320"
REFUSED = "2.1-beta3"
VERSIONS = [REFUSED, "2.1-20220320", "2.1-20230119", "2.1-20231223", "2.1-20250117", "2.1-20251030"]

# What a stack of each scenario is, outermost first: * native code, FN a function that nobody calls by a name, [...] perhaps.
# Then functions and the share of samples they must be in (None: nearly all). Functions that are written in C have frames, too.
MAIN = "*;main chunk[;work"
SCENARIOS = {
    "split_time": ("[;(a|b|c)[;spin]]", {"a": 0.6, "b": 0.3, "c": 0.1}),
    "recursion": ("[(;down){1,500}[;spin]]", {"spin": None}),
    "exceptions": ("[;pcall[;FN[;(spin|error)]]|;handler[;spin]]", {"spin": None}),
    "closures": ("[;outer[;inner[;spin]]]", {"spin": None}),
    "coroutines": ("[;spin|;wrap|;step[;FN[;spin|;wrap|;yield|;deeper[;FN[;spin|;yield]]]]]", {"step": 0.91, "deeper": 0.45}),
    "sorting": ("[;sort[;*;FN[;key[;spin]]]]", {"key": None}),
    "substitution": ("[;rep|;gsub[;*;FN[;spin]]]", {"gsub": None}),
    "objects": ("[;setmetatable|;deposit[;spin]]", {"deposit": None}),
    "operators": ("[;setmetatable|;(__add|__lt)[;spin]]", {"__add": 0.5, "__lt": 0.5}),
    "iterators": (r"[;range|;\(for generator\)[;spin]]", {"(for generator)": None}),
    "tail_calls": ("[;first[;spin]]", {"spin": None}),
    "arguments": ("[;several[;spin|;select]]", {"spin": None}),
    "loaded": ("[;main chunk[;spin]]", {"spin": None}),
    "strings": ("[;(format|rep|concat)]", {}),
    "garbage": ("[(;make){1,11}]", {"make": None}),
    "small_calls": ("[(;fib){1,20}]", {"fib": None}),
}
MODES = {"interpreted": "-joff", "compiled": "-jon"}
# What `make test` runs.
QUICK = "split_time recursion sorting"
# Its own tracebacks judge these: of a coroutine they have nothing of who has resumed it, and of deep stacks both ends.
JUDGED = "split_time exceptions closures sorting objects operators iterators tail_calls arguments"

SOURCE = Source(KIND, VICTIM, lambda name: name, bare=r"$^")


def pattern_of(text):
    """The regular expression of a chain."""
    text = (MAIN + text + "]").replace("*;", r"\*;").replace("[", "(").replace("]", ")?")
    return text.replace("FN", r"function <[^;<>]*>") + r"(;\*)?"


def victim_of(root, options):
    """It has no way to tell its pid: the shell's, whose place it takes."""
    command = f"echo $$; exec chroot '{root}' /usr/bin/luajit {options}"
    return Victim(["sh", "-c", command], stderr=subprocess.DEVNULL)


def check_tracebacks(tap, root, version, scenario, samples):
    out = os.path.join(root, "tmp", "shares.json")
    if os.path.exists(out):
        os.remove(out)
    with victim_of(root, f"-joff /tmp/victim.lua {scenario} /tmp/shares.json") as victim:
        for _ in range(600):
            if os.path.exists(out):
                break
            time.sleep(0.1)
        check_judged(tap, f"luajit {version} {scenario} as its tracebacks say", victim, samples, KIND, out)


def check_scenario(tap, root, version, mode, scenario, samples):
    chain, shares = SCENARIOS[scenario]
    with victim_of(root, f"{MODES[mode]} /tmp/victim.lua {scenario}") as victim:
        SOURCE.check(tap, f"luajit {version} {mode} {scenario}", victim, samples, pattern_of(chain), shares)


def check_refused(tap, root, version):
    """One whose objects have addresses of 32 bits is told of, as those that nobody here reads."""
    with victim_of(root, "-joff /tmp/victim.lua split_time") as victim:
        recording = Recording(["-p", str(victim.pid)])
        recording.wait_watching()
        victim.wait_cpu(1, limit=60)
        recording.process.send_signal(signal.SIGINT)
        recording.wait()
    found = re.search(r"^LuaJIT: .* are not read", recording.said(), re.M)
    if not tap.check(f"luajit {version} is told of as not read", found and "runtimes_refused" in recording.said(), found[0] if found else ""):
        tap.note(recording.said())


def run(tap, version, full):
    root, why = installed("luajit", version)
    if not root:
        tap.skip(f"luajit {version}", why or "it cannot be installed")
        return
    shutil.copy(VICTIM, os.path.join(root, "tmp", "victim.lua"))
    said = subprocess.run(["chroot", root, "/usr/bin/luajit", "-v"], stdout=subprocess.PIPE, text=True, check=False)
    tap.check(f"luajit {version} runs", re.search(r"LuaJIT 2\.1", said.stdout), said.stdout.strip())
    if version == REFUSED:
        check_refused(tap, root, version)
        return
    samples = int(os.environ.get("SAMPLES", 5600 if full else 900))
    for mode in os.environ.get("MODES", " ".join(MODES)).split():
        for scenario in os.environ.get("SCENARIOS", " ".join(SCENARIOS) if full else QUICK).split():
            check_scenario(tap, root, version, mode, scenario, samples)
    for scenario in os.environ.get("JUDGED", JUDGED if full else "split_time").split():
        check_tracebacks(tap, root, version, scenario, samples)
    with victim_of(root, "-joff /tmp/victim.lua spoilt") as victim:
        check_spoilt(tap, f"luajit {version} that spoils what it has", victim, KIND)
