# SPDX-License-Identifier: Apache-2.0
"""The victims and what is true of them: one Row each.

A chain is a regular expression over the whole user stack, outermost frame first, frames joined by ";". Frames of libc
and its kind read {libc.so.6}name, because what is inside them depends on their version and on installed debug files.
"""
import os
import re
import subprocess
from dataclasses import dataclass, field

from common import VICTIMS

LEAF_NAMES = ("leaf_a", "leaf_b", "leaf_c")
LIBC = r"\{lib(?:c|pthread)[.-][^;]*"
START = r"_start;(?:" + LIBC + r";|__libc_start_[^;]*;)+main;"
MAIN = START + "victim_main;outer;"
# Between the leaves a victim reads its CPU clock: also a true stack, a tick in a thousand, more on a busy machine,
# where a thread that gives way in that system call goes on in it.
CLOCK = r"victim_cpu_ns(?:;[^;]*){0,3}"
LEAF = f"(?:leaf_[abc]|{CLOCK})"
# glibc's signal trampoline; arm64's is in the vDSO.
TRAMPOLINE = r"(?:\{libc[^;]*|__restore_rt|\{[^;]*vdso[^;]*);"


@dataclass
class Row:
    name: str
    chain: str                                  # the whole user stack
    command: list = None                        # None: the victim of that name; []: started by another row
    executable: str = ""                        # which processes; "": the name itself
    leaves: dict = field(default_factory=lambda: {leaf: leaf for leaf in LEAF_NAMES})   # report's key: frame
    threads: bool = False                       # shares by thread name, too
    forbidden: str = ""                         # a frame that must not occur even once
    needs: str = ""                             # a tool without which the victim cannot be built
    machine: str = ""                           # only there
    alone: bool = False                         # not beside another victim: it uses both CPUs
    seconds: float = 1.0                        # times the usual time

    def executable_pattern(self):
        return self.executable or "^" + re.escape(self.name) + "$"


def frames(**names):
    """leaves of a scenario: frames(leaf_a="calls_a")."""
    return names


def stripped_chain():
    """v-stripped's functions by their addresses in the copy that still has names; the first two are known without."""
    listing = subprocess.run(["nm", os.path.join(VICTIMS, "v-strip-full")],
                             capture_output=True, text=True, check=False).stdout
    at = {}
    for line in listing.splitlines():
        fields = line.split()
        if len(fields) == 3:
            at[fields[2]] = rf"v-stripped\+0x{int(fields[0], 16):x}"
    at["_start"] = "_start"
    at["main"] = f"(?:main|{at.get('main', 'missing')})"    # not on arm64

    def of(name):
        return at.get(name, "missing-" + name)

    leaves = {leaf: of(leaf) for leaf in LEAF_NAMES}
    chain = of("_start") + r";(?:" + LIBC + ";)+" + ";".join(of(f) for f in ("main", "victim_main", "outer", "middle"))
    clock = of("victim_cpu_ns") + r"(?:;[^;]*){0,3}"
    return chain + ";(?:" + "|".join([*leaves.values(), clock]) + ")", leaves


def plain(name, needs="gcc"):
    return Row(name, MAIN + "middle;" + LEAF, needs=needs)


def launched(how, name, source):
    return Row(name, MAIN + "middle;" + LEAF, ["launch", how, source, "{s}"], executable=re.escape(name))


FLAVOURS = [plain(f"v-{name}") for name in (
    "gcc-O0 gcc-O1 gcc-O2 gcc-O3 omitfp fp pie nopie static static-pie lto noseparate nohdr debugframe norows".split())]
FLAVOURS += [plain(f"v-{name}", needs="clang") for name in "clang-O0 clang-O2 lld".split()]

# musl is built without unwind tables and without frame pointers: what called main can be named, not unwound.
MUSL = r"(?:[^;]*;){1,3}main;victim_main;outer;middle;" + LEAF

RUST = r"(?:::h[0-9a-f]{16})?"
# The C++ runtime, and what it calls; it may be called by a jump, too.
CXX = r"\{lib(?:stdc\+\+|gcc_s)[^;]*(?:;\{[^;]*)*"
BARE = "_start;bare_start;bare_main;bare_outer;middle;bare_leaf_[abc]"
BARE_LEAVES = {leaf: "bare_" + leaf for leaf in LEAF_NAMES}
CALLS = (f"(?:{CLOCK}|calls_pushes(?:;tiny_pushes)?|calls_room(?:;tiny_room)?"
         "|calls_nested(?:;tiny_nested(?:;tiny_pushes)?)?)")
FRAMES = "(?:frame_alloca|frame_vla|frame_realigned|frame_aligned|frame_large);"


def scenarios():
    chain, leaves = stripped_chain()
    return [
        Row("v-stripped", chain, leaves=leaves),
        Row("v-musl", MUSL, needs="musl-gcc"),
        Row("v-musl-static", MUSL, needs="musl-gcc"),
        Row("v-rust", r"_start;(?:" + LIBC + r";)+main;(?:(?:<|std::|core::|__rust|chain::main)[^;]*;)+" +
            ";".join(f"chain::{f}{RUST}" for f in ("victim_main", "outer", "middle")) +
            rf";(?:chain::leaf_[abc]{RUST}|{LIBC}(?:;[^;]*)*)", needs="rustc",
            leaves={leaf: f"chain::{leaf}{RUST}" for leaf in LEAF_NAMES}),
        Row("v-bare", BARE, leaves=BARE_LEAVES),
        Row("v-32bit", r"(?:[^;]*;)*\[32-bit\](?:;[^;]*)*", leaves={}, machine="x86_64"),
        Row("v-exceptions", MAIN + f"(?:{CXX}|handles[^;]*;"
            f"(?:leaf_b|{CLOCK}|{CXX}|thrower[^;]*;(?:{CXX}|guard::~guard[^;]*;{LEAF}))"
            r"|throws_often[^;]*(?:;throws_one[^;]*)?(?:;\{[^;]*)*"
            # For an instant, libgcc has the handler's return address, instead of its own, where it is about to return from.
            r"|throws_often[^;]*;throws_one[^;]*;throws_often[^;]*;\{libgcc_s[^;]*_Unwind_RaiseException;\{libgcc_s[^;]*)",
            leaves=frames(leaf_a="leaf_a", leaf_b="leaf_b", leaf_c=r"throws_often\b.*"),
            needs="g++"),
        Row("v-calls", MAIN + CALLS,
            leaves=frames(leaf_a="calls_pushes", leaf_b="calls_room", leaf_c="calls_nested")),
        Row("v-calls-fp", MAIN + CALLS,
            leaves=frames(leaf_a="calls_pushes", leaf_b="calls_room", leaf_c="calls_nested")),
        Row("v-inline", MAIN + f"middle;(?:{CLOCK}|inl_a;inl_a_inner|inl_b|inl_c;leaf_c)",
            leaves=frames(leaf_a="inl_a", leaf_b="inl_b", leaf_c="inl_c")),
        Row("v-tailcall", MAIN + LEAF),
        Row("v-recursion", MAIN + "(?:(?:recurse;){1000}" + LEAF + "|(?:recurse;){0,999}recurse)"),
        Row("v-signal", MAIN + "interrupted(?:;tiny)?(?:;" + TRAMPOLINE + "handler;" + LEAF + ")?"),
        Row("v-altstack", MAIN + "interrupted(?:;tiny)?(?:;" + TRAMPOLINE + "handler;" + LEAF + ")?"),
        Row("v-frames", MAIN + FRAMES + LEAF),
        Row("v-qsort", MAIN + r"(?:" + LIBC + ";)+compare;" + LEAF),
        Row("v-noreturn", MAIN + "middle;never_returns;" + LEAF, forbidden="after_middle"),
        Row("v-ucontext", r"(?:" + LIBC + ";)coroutine_body;" + LEAF),
        Row("v-vdso", MAIN + r"clocks_[abc](?:;v-vdso\+0x[0-9a-f]+|;[^;]*@plt)?(?:;\{[^;]*)*",
            leaves=frames(leaf_a="clocks_a", leaf_b="clocks_b", leaf_c="clocks_c")),
        Row("v-syscalls", MAIN + r"reads_[abc](?:;v-syscalls\+0x[0-9a-f]+|;[^;]*@plt)?(?:;\{[^;]*)*",
            leaves=frames(leaf_a="reads_a", leaf_b="reads_b", leaf_c="reads_c")),
        Row("v-asm", MAIN + "(?:" + CLOCK + r"|asm_pushes|asm_frame"
            r"|copies(?:;v-asm\+0x[0-9a-f]+|;[^;]*@plt)?(?:;\{libc[^;]*)*)",
            leaves=frames(leaf_a="asm_pushes", leaf_b="asm_frame", leaf_c="copies")),
        Row("v-plt", MAIN + rf"(?:{CLOCK}|calls_[abc](?:;plt_one|;plt_two|;v-plt\+0x[0-9a-f]+|;[^;]*@plt)?)",
            leaves=frames(leaf_a="calls_a", leaf_b="calls_b", leaf_c="calls_c")),
        Row("v-fork", MAIN + "middle;" + LEAF),
        Row("v-jit", MAIN + "generated_caller;middle;" + LEAF),
        Row("v-jitdump", MAIN + "generated_caller;middle;" + LEAF),
        Row("v-jit-memfd", MAIN + "generated_caller;middle;" + LEAF),
        Row("v-jit-gdb", MAIN + "generated_caller;middle;" + LEAF),
        Row("v-hidden", START + "victim_setup;hides;victim_main;outer;middle;" + LEAF),
        Row("v-vfork", START + "victim_setup;vfork_round;" + LEAF),
        Row("v-threads", r"(?:" + LIBC + r";){1,3}thread_body;victim_main;outer;middle;" + LEAF,
            threads=True, alone=True),
        Row("v-comm", START + "victim_setup;victim_main;outer;middle;" + LEAF, threads=True),
        Row("v-dlopen", MAIN + f"dl_outer;dl_middle;(?:dl_leaf_[abc]|{CLOCK})",
            leaves={leaf: "dl_" + leaf for leaf in LEAF_NAMES}),
        Row("v-replaced", MAIN + f"dl_outer;dl_middle;(?:dl_leaf_[abc]|{CLOCK})",
            leaves={leaf: "dl_" + leaf for leaf in LEAF_NAMES},
            forbidden="wrong_.*"),
        launched("deleted", "v-deleted", "v-gcc-O2"),
        launched("memfd", "v-memfd", "v-noseparate"),
        launched("namespace", "v-namespace", "v-static"),
        Row("v-spawned", MAIN + "middle;" + LEAF, ["launch", "spawn", "22", "v-spawned", "0.25"]),
        Row("v-ping", MAIN + "ping_middle;" + LEAF, ["v-ping", "0.25", "44"],
            forbidden="pong_middle", leaves={}, seconds=2),
        Row("v-pong", MAIN + "pong_middle;" + LEAF, [], forbidden="ping_middle", leaves={}),
        Row("v-reuse-a", MAIN + "reuse_a_middle;" + LEAF, ["launch", "reuse", "44", "v-reuse-a", "v-reuse-b", "0.25"],
            forbidden="reuse_b_middle", leaves={}, seconds=2),
        Row("v-reuse-b", MAIN + "reuse_b_middle;" + LEAF, [], forbidden="reuse_a_middle", leaves={}),
    ]


def rows():
    return FLAVOURS + scenarios()
