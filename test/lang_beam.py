# SPDX-License-Identifier: Apache-2.0
"""Erlang/OTP 25, 27 and 29 with the JIT: test/victims/beam/victim.erl against what its source says of its stacks, and against
the runtime itself, whose own stacks of a process are asked for in the same run; victim.exs is one in Elixir.

An Erlang runs in a root of its own (test/runtimes/install.sh), as in a container, without any flag that profilers want.
"""
import collections
import glob
import os
import re
import shutil
import subprocess

from common import ROOT
from runtime_profile import Victim, check_real, record_beside
from victim_source import Source, check_judged, check_spoilt, installed

KIND = "beam"
VICTIMS = os.path.join(ROOT, "test", "victims", "beam")
VERSION = "25"
VERSIONS = ["25", "27", "29"]

# What a stack of each scenario is, outermost first: @ a function of the victim, * native code, (NAME) a fragment of code that
# all modules share, [...] perhaps, ANY any function of the library. Fragments and what they call may stand at the end. Then
# functions and the share of samples they must be in (None: nearly all).
# Whatever is called last in a function is not called, but jumped to.
MAIN = "*(;init:ANY)+;@forever/1;@scenario/1;"
SPIN = "[;@spin/2]"
SCENARIOS = {
    "split_time": (MAIN + f"@split_time/0[;@(a|b|c)/1{SPIN}]", {"a/1": 0.6, "b/1": 0.3, "c/1": 0.1}),
    "recursion": (MAIN + f"@recursion/0[(;@down/1){{1,500}}{SPIN}]", {"spin/2": None}),
    "exceptions": (MAIN + f"@exceptions/0[;@catcher/0[;@(thrower|handler)/1{SPIN}]]", {"thrower/1": 0.5, "handler/1": 0.5}),
    "catching": (MAIN + f"@catching/0[;@failing/1{SPIN}]", {"failing/1": None}),
    "closures": (MAIN + f"@closures/0[;@-around/1-fun-0-/ANY[;@-closures/0-fun-0-/ANY{SPIN}]]", {"spin/2": None}),
    "mapping": (MAIN + f"@mapping/0(;lists:ANY)*[;@-mapping/0-fun-0-/1{SPIN}]", {"spin/2": None}),
    "comprehension": (MAIN + f"@comprehension/0(;@-comprehension/0-lcANY)*{SPIN}", {"spin/2": None}),
    "sorting": (MAIN + f"@sorting/0(;@-sorting/0-lcANY|;lists:ANY)*[;@-sorting/0-fun-ANY[;@key/1{SPIN}]]", {"key/1": None}),
    "unicode_names": (MAIN + f"@unicode_names/0[;@größe/1{SPIN}]", {"größe/1": None}),
    "many_values": (MAIN + f"@many_values/0(;@-many_values/0-lcANY|;lists:ANY)*{SPIN}", {"spin/2": None}),
    "garbage": (MAIN + "@garbage/0[;@waste/2(;lists:ANY)*]", {"waste/2": None}),
    "large_numbers": (MAIN + "@large_numbers/0(;@factorial/1){0,301}", {}),
    "builtins": (MAIN + "@builtins/0(;@hashes/1){0,201}(;lists:ANY)*", {"hashes/1": None}),
    "tables": (MAIN + "@tables/0(;@-tables/0-lcANY)*(;@fill/3){0,401}(;(ets|lists):ANY)*", {"tables/0": None}),
    "matching": (MAIN + "@matching/0(;(re|binary):ANY)*", {"matching/0": None}),
    "small_calls": (MAIN + "@small_calls/0(;@fib/1){0,23}", {"fib/1": None}),
    "natively": (MAIN + "@natively/0[;@native/1|;@spin/2]", {"natively/0": None}),
    "dynamic": (MAIN + f"@dynamic/0[;@größe/1{SPIN}]", {"größe/1": None}),
    "reloaded": (f"({MAIN}(@-reloaded/0-lcANY)(;@-reloaded/0-lcANY)*[;other:(one|two)/1[;@busy/1{SPIN}]|(;ANY)*]|"
                 "*;(code_server|erts_ANY|file_server|ANY):ANY(;ANY)*)",
                 {"+other:one/1": 0.5, "+other:two/1": 0.5}),
    "server": ("(" + MAIN + "@server/0(;ANY)*|" + f"*;proc_lib:ANY;gen_server:ANY(;gen_server:ANY)*[;@handle_call/3{SPIN}])",
               {"handle_call/3": None}),
    "processes": (f"*;@forever/1[;@split_time/0[;@(a|b|c)/1{SPIN}]]",
                  {"a/1": 0.6, "b/1": 0.3, "c/1": 0.1}),
}
# Where shares are those of the samples that a function is in: how long it takes to load a module is not known.
WITHIN = {"reloaded": "busy/1"}
# What `make test` runs.
QUICK = "split_time recursion exceptions sorting garbage builtins natively reloaded processes"
# Until the kernel has checked what walks the frames, stacks are copied: those of C code that Erlang has called are cut then.
SETTLE_NS = 1_000_000_000
# Between processes there is the scheduler, and other threads are of C code alone.
SCHEDULER = r"\*(;\(process_main\))?(;\*)?"
# Most of their time schedulers wait, and by default they do so by turning.
QUIET = ["+sbwt", "none", "+sbwtdcpu", "none", "+sbwtdio", "none"]


def pattern_of(text):
    """The regular expression of a chain. An anonymous function has quotes around its name."""
    text = re.sub(r"@(-.*?(?:-(?=/)|ANY))", r"victim:'?\1'?", text)
    text = re.sub(r"(^|[(|])\*", r"\1\\*", text).replace("[", "(").replace("]", ")?")
    text = text.replace("@", "victim:").replace("ANY", r"[^;*()]+")
    return f"({text}(;\\([^;()]*\\))*(;\\*)?|{SCHEDULER})"


def own(name):
    return name[1:] if name[0] == "+" else "victim:" + name


SOURCE = Source(KIND, os.path.join(VICTIMS, "victim.erl"), own, bare=r"^[^:]*:|/\d+$|'")


class Erlang:
    """One in a root of its own."""

    def __init__(self, root):
        self.root, self.folder = root, os.path.join(root, "tmp", "victim")
        erts = os.path.basename(glob.glob(f"{root}/usr/lib/erlang/erts-*")[0])
        self.bin = f"/usr/lib/erlang/{erts}/bin"
        self.environment = {"ROOTDIR": "/usr/lib/erlang", "BINDIR": self.bin, "EMU": "beam", "PROGNAME": "erl",
                            "HOME": "/tmp/victim", "PATH": "/usr/sbin:/usr/bin:/bin", "LANG": "C.UTF-8",
                            "VICTIM_NATIVE": "/tmp/victim/native", "ERL_CRASH_DUMP_SECONDS": "0"}
        os.makedirs(self.folder, exist_ok=True)
        for name in os.listdir(VICTIMS):
            shutil.copy(os.path.join(VICTIMS, name), self.folder)

    def command(self, *arguments):
        return ["chroot", self.root, f"{self.bin}/erlexec", *arguments]

    def build(self):
        subprocess.run(["gcc", "-O2", "-w", "-shared", "-fPIC", f"-I{self.root}/usr/lib/erlang/usr/include",
                        "-o", os.path.join(self.folder, "native.so"), os.path.join(VICTIMS, "native.c")], check=True)
        code = 'file:set_cwd("/tmp/victim"), {ok, _} = compile:file("victim", [report]), halt(0).'
        return subprocess.run(self.command("-noshell", "-eval", code), env=self.environment, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False, timeout=300)

    def start(self, scenario, **environment):
        return Victim(self.command(*QUIET, "-noshell", "-pa", "/tmp/victim", "-run", "victim", "main", scenario),
                      env={**self.environment, **environment}, stderr=subprocess.DEVNULL)

    def start_elixir(self, *flags):
        return Victim(self.command(*QUIET, *flags, "-noshell", "-pa", "/usr/lib/elixir/lib/elixir/ebin", "-s", "elixir", "start_cli",
                                   "-extra", "/tmp/victim/victim.exs"), env=self.environment, stderr=subprocess.DEVNULL)


def check_scenario(tap, erlang, version, scenario, samples):
    chain, shares = SCENARIOS[scenario]
    with erlang.start(scenario) as victim:
        SOURCE.check(tap, f"beam {version} {scenario}", victim, samples, pattern_of(chain), shares, SETTLE_NS,
                     WITHIN.get(scenario))


def check_itself(tap, erlang, version, scenario, samples):
    """Beside the runtime itself."""
    name = f"beam {version} agrees with its own current_stacktrace on {scenario}"
    out = os.path.join(erlang.folder, "judge.json")
    if os.path.exists(out):
        os.remove(out)
    with erlang.start(scenario, JUDGE="/tmp/victim/judge.json") as victim:
        if victim.pid is None:
            tap.check(name, False, "the victim does not run")
            return
        check_judged(tap, name, victim, samples, KIND, out, within="victim:forever/1")


def check_pids(tap, erlang, version, samples):
    """Each process is told by its pid, if asked for."""
    name = f"beam {version} pids of 8 processes"
    with erlang.start("processes", PIDS="/tmp/victim/pids") as victim:
        _, stacks = record_beside(victim, samples, KIND, settle_ns=SETTLE_NS, options=["--erlang-pids"])
    with open(os.path.join(erlang.folder, "pids"), encoding="ascii") as file:
        pids = set(re.findall(r"<[\d.]+>", file.read()))
    counts = collections.Counter()
    for frames, count, attributes in stacks.all if stacks else ():
        if any(f.name == "victim:split_time/0" for f in frames):
            counts[attributes.get("process.context.label.erlang.pid")] += count
    told = sum(count for pid, count in counts.items() if pid in pids)
    tap.check(name, len(pids) == 8 and pids <= set(counts) and told > 0.99 * sum(counts.values()),
              f"{told} of {sum(counts.values())} samples of {len(pids)} processes, {dict(counts)}")


def check_hostile(tap, erlang, version, rounds):
    """One that spoils what names are read from. Newer packages do not say where that is."""
    for seed in range(rounds):
        with erlang.start("spoilt", VICTIM_SEED=str(seed)) as victim:
            check_spoilt(tap, f"beam {version} hostile, seed {seed}", victim, KIND)


def check_elixir(tap, erlang, version, samples):
    module = "Victim.Chain."
    source = Source(KIND, os.path.join(VICTIMS, "victim.exs"), lambda name: module + name, bare=r"^.*\.|/\d+$|'")
    pattern = (r"(\*(;[^;*()]+)*;Victim\.Chain\.forever/0(;Victim\.Chain\.outer/1(;Victim\.Chain\.middle/1(;Enum\.[^;*()]+)*"
               r"(;Victim\.Chain\.[^;*()]*-fun-0-[^;*()]*(;Victim\.Chain\.'?inner!'?/1(;Victim\.Chain\.spin/2)?)?)?)?)?"
               rf"(;\([^;()]*\))*(;\*)?|{SCHEDULER})")
    with erlang.start_elixir() as victim:
        source.check(tap, f"beam {version} Elixir", victim, samples, pattern, {"spin/2": None})


def check_compiler(tap, erlang, version):
    """A real program: the compiler, over its own large modules. Packages of Erlang have no symbols of static functions."""
    code = '[{ok, _, _} = compile:noenv_file(F, [binary]) || F <- filelib:wildcard("/tmp/victim/large/*.erl")], halt(0).'
    large = os.path.join(erlang.folder, "large")
    os.makedirs(large, exist_ok=True)
    for number in range(2):
        functions = "".join(
            f"f{i}(X, Y) when is_integer(X), X > {i} ->\n\tcase Y of\n\t\t{{a, Z}} -> [Z + {i}, X | g(Y, {i})];\n"
            f"\t\t#{{k{i} := V}} -> try f{max(0, i - 1)}(V, X) catch _:E -> {{error, E, {i}}} end;\n"
            f"\t\t<<A:8, B/binary>> -> {{A, [C || <<C>> <= B, C > {i % 200}]}};\n\t\t_ -> lists:map(fun(Q) -> Q * {i} end, X)\n\tend;\n"
            f"f{i}(X, _) -> X.\n" for i in range(400))
        with open(os.path.join(large, f"large{number}.erl"), "w", encoding="ascii") as file:
            file.write(f"-module(large{number}).\n-compile([export_all, nowarn_export_all]).\ng(A, B) -> [A, B].\n{functions}")
    check_real(tap, f"beam {version}: the compiler", ["env", *(f"{k}={v}" for k, v in erlang.environment.items()),
                                                      *erlang.command("-noshell", "-eval", code)], kind=KIND, may_lack=True)


def run(tap, version, full):
    root, why = installed("erlang", version)
    if not root:
        tap.skip(f"beam {version}", why or "it cannot be installed")
        return
    erlang = Erlang(root)
    built = erlang.build()
    if not tap.check(f"beam {version} compiles the victim", built.returncode == 0, built.stdout[-300:]):
        return
    samples = int(os.environ.get("SAMPLES", 5600 if full else 900))
    for scenario in os.environ.get("SCENARIOS", " ".join(SCENARIOS) if full else QUICK).split():
        check_scenario(tap, erlang, version, scenario, samples)
    check_elixir(tap, erlang, version, samples)
    check_pids(tap, erlang, version, samples)
    for scenario in ("split_time", "sorting") if full else ("sorting",):
        check_itself(tap, erlang, version, scenario, samples)
    if version != "29":
        check_hostile(tap, erlang, version, 5 if full else 1)
    check_compiler(tap, erlang, version)
