#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Probes: events that a user makes up, against a program whose calls, arguments and times are known (victims/probes.c), and
against bpftrace, which counts and measures the same at the same time."""
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import tempfile
import time
import urllib.request

import common

VICTIM = os.path.join(common.VICTIMS, "probes")
FOLDER = tempfile.TemporaryDirectory(prefix="wick-probes-")
CLOSE = 0.02        # of bpftrace's
# tracefs is mounted by systemd, or by perf, or by nobody: bpftrace wants it, wick must not.
IN_NAMESPACE = ["unshare", "--mount", "sh", "-c"]
WITH_TRACEFS = [*IN_NAMESPACE, 'mount -t tracefs nodev /sys/kernel/tracing; exec "$@"', "sh"]
WITHOUT_TRACEFS = [*IN_NAMESPACE, 'while umount -l /sys/kernel/tracing; do :; done 2>/dev/null; umount -l /sys/kernel/debug 2>/dev/null; exec "$@"', "sh"]
KPROBES = os.path.exists("/sys/bus/event_source/devices/kprobe")


def values(profile, kind):
    """All values of a type, in the order of their times."""
    found = []
    for resource in profile.data.get("resourceProfiles", []):
        for scope in resource.get("scopeProfiles", []):
            for one in scope.get("profiles", []):
                if profile.strings[one.get("sampleType", {}).get("typeStrindex", 0)] != kind:
                    continue
                for sample in one.get("samples", []):
                    times = [int(t) for t in sample.get("timestampsUnixNano", [])]
                    found += zip(times, [int(v) for v in sample.get("values", [1] * len(times))])
    return [value for _, value in sorted(found)]


def total(profile, kind, *functions):
    return sum(s.count for s in profile.samples if s.type == kind and s.user[-len(functions):] == functions)


def counter(text, name):
    return sum(int(n) for n in re.findall(rf"^ *(\d+)  (?:\S+\.)?{name} ", text, re.M))


def record(tap, spec, *arguments, options=()):
    """(profile, what wick said, what the victim printed); None if it failed."""
    run = common.Recording(["-e", spec, *options], [VICTIM, *arguments]).wait()
    if not tap.check(f"wick record -e '{spec}'", run.status == 0):
        tap.note(run.said())
        return None
    printed = [json.loads(line) for line in run.stdout.decode().splitlines() if line.startswith("{")]
    return run.profile(), run.stderr.decode(errors="replace"), printed


def counts_and_arguments(tap):
    size = sum(100 + i % 10 for i in range(900))
    for spec, kind, expected, leaf in (
            (f"uprobe:{VICTIM}:take_size", "take_size", 900, ("calls", "take_size")),
            (f"uprobe:{VICTIM}:take_size{{value=arg0,unit=bytes,name=sizes}}", "sizes", size, ("calls", "take_size")),
            (f"uretprobe:{VICTIM}:take_size{{value=retval}}", "take_size", size + 900, ("main", "calls")),
            (f"uprobe:{VICTIM}:take_size{{if=arg0>107}}", "take_size", 180, ("calls", "take_size")),
            (f"uprobe:{VICTIM}:take_size{{value=retval,until=return}}", "take_size", size + 900, ("calls", "take_size")),
            (f"usdt:{VICTIM}:victim:step", "victim:step", 900, ("main", "calls")),
            (f"usdt:{VICTIM}:step{{value=arg0}}", "step", size, ("main", "calls"))):
        found = record(tap, spec, "calls", "900")
        if found:
            got = total(found[0], kind, *leaf)
            tap.check(f"... {kind} of {' > '.join(leaf)} is {expected}, exactly", got == expected, str(got))
    found = record(tap, f"uprobe:{VICTIM}:take_size{{rate=1000000}}", "calls", "30000")
    if found:
        tap.check("30000 calls at once are 30000 samples if that is wished", total(found[0], "take_size", "calls", "take_size") == 30000)


def quantiles(numbers):
    numbers = sorted(numbers)
    return [numbers[int((len(numbers) - 1) * q)] for q in (0.1, 0.25, 0.5, 0.75, 0.9, 0.99)] + [sum(numbers)]


def bpftrace(script):
    """bpftrace with that program, once it says that it is attached."""
    run = subprocess.Popen([*WITH_TRACEFS, "bpftrace", "-B", "line", "-e", 'BEGIN { printf("ready\\n"); } ' + script], stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE, text=True, env={**os.environ, "BPFTRACE_MAX_STRLEN": "64"})
    seen = ""
    while "ready" not in seen:
        line = run.stdout.readline()
        if not line:
            return run
        seen += line
    return run


def numbers_of(run):
    for _ in range(6):  # now and then it misses one
        run.send_signal(signal.SIGINT)
        try:
            text = run.communicate(timeout=10)[0]
            break
        except subprocess.TimeoutExpired:
            continue
    else:
        run.kill()
        text = run.communicate()[0]
    return [int(line.split()[1]) for line in text.splitlines() if line.startswith("took ")]


def distributions(tap):
    """Both measure the same naps. Of a run in which bpftrace does not come up nothing is said."""
    if not shutil.which("bpftrace"):
        tap.skip("distributions", "no bpftrace")
        return
    for name, wick, script in (
            ("a function from its call to its return",
             f"uprobe:{VICTIM}:nap{{until=return,name=naps}}",
             f"uprobe:{VICTIM}:nap {{ @s[tid] = nsecs; }} uretprobe:{VICTIM}:nap /@s[tid]/ "
             f'{{ printf("took %d\\n", nsecs - @s[tid]); delete(@s[tid]); }}'),
            ("a system call from one tracepoint to another",
             "syscalls:sys_enter_clock_nanosleep{until=syscalls:sys_exit_clock_nanosleep,name=naps}",
             'tracepoint:syscalls:sys_enter_clock_nanosleep /comm == "probes"/ { @s[tid] = nsecs; } '
             "tracepoint:syscalls:sys_exit_clock_nanosleep /@s[tid]/ "
             '{ printf("took %d\\n", nsecs - @s[tid]); delete(@s[tid]); }')):
        other = bpftrace(script)
        if other.poll() is not None:
            tap.check(f"bpftrace measures {name}", False, other.stderr.read()[-300:])
            continue
        found = record(tap, wick, "naps", "200")
        theirs = numbers_of(other)
        if not found:
            continue
        ours = values(found[0], "naps")
        own = [200000000] + found[2][0]["naps"]
        tap.check(f"{name}: both count 201", len(ours) == 201 and len(theirs) == 201, f"{len(ours)} and {len(theirs)}")
        if len(ours) != len(theirs):
            continue
        apart = max(abs(a - b) / b for a, b in zip(quantiles(ours), quantiles(theirs)))
        tap.check(f"{name}: quantiles and sum are bpftrace's within 2 %", apart <= CLOSE, f"{100 * apart:.2f} % at most")
        longer = max(a - b for a, b in zip(quantiles(ours)[:-1], quantiles(own)[:-1]))
        tap.note(f"the longest quantile is {longer / 1000:.0f} us longer than by the program's own clock")
        tap.check(f"{name}: the stack is that of the start", any(s.type == "naps" and "nap" in s.user for s in found[0].samples))


def hostile(tap):
    found = record(tap, f"uprobe:{VICTIM}:take_size{{value=arg0,unit=bytes}}", "hostile")
    if found:
        tap.check("a size of 2^64-1 does not drown the others", total(found[0], "take_size", "main", "take_size") == 1000)
        tap.check("... and is counted", counter(found[1], "values_out_of_range") == 1)
    found = record(tap, f"uprobe:{VICTIM}:read_text{{value=*arg0,if=arg0<100}}", "hostile")
    if found:
        tap.check("a pointer that faults counts as 0", total(found[0], "read_text", "main", "read_text") == 0)
        tap.check("... and is counted", counter(found[1], "values_unreadable") == 1)


def storm(tap):
    """How fast it is this machine decides; that it is sampled, and adds up all the same, wick does."""
    calls = 3000000
    found = record(tap, "tracepoint:syscalls:sys_enter_getppid{name=storm}", "storm", str(calls))
    if not found:
        return
    profile, text, printed = found
    took = printed[-1]["ns"] / 1e9
    a, b = ([s.count for s in profile.samples if s.type == "storm" and name in s.user] for name in ("storm_a", "storm_b"))
    owed, sent = counter(text, "values_owed"), counter(text, "samples_sent")
    tap.note(f"{calls / took:.0f} events a second for {took:.1f} s: {sent} samples, {owed} events after the last one")
    tap.check("3000000 events add up to as many", sum(a) + sum(b) + owed == calls, f"{sum(a) + sum(b)} and {owed}")
    tap.check("... few of them are samples", sent < calls / 20)
    tap.check("... and what came after the last sample is little", owed < calls / 100)
    tap.check("a third of them is storm_a's", abs(sum(a) / calls - 1 / 3) < 0.03, f"{sum(a) / calls:.4f}")
    tap.check("... nothing is lost", not counter(text, "samples_lost_ring_full") and not counter(text, "samples_lost_nested"))


def first_bytes(pid, path, symbol):
    """Of a function, as they are in the memory of a process, and in its file."""
    ea = int(next(line.split()[0] for line in subprocess.run(["nm", path], capture_output=True, text=True, check=True).stdout
                  .splitlines() if line.split()[-1] == symbol), 16)
    with open(f"/proc/{pid}/maps", encoding="utf-8") as maps:
        base = min(int(line.split("-")[0], 16) for line in maps if os.path.basename(path) in line)
    with open(f"/proc/{pid}/mem", "rb") as memory:
        memory.seek(base + ea)
        return memory.read(5)


def wait_for(condition, limit=60):
    until = time.monotonic() + limit
    while not condition() and time.monotonic() < until:
        time.sleep(0.02)
    return condition()


def namespace_and_unload(tap):
    """In a file that only a mount namespace has, by a process there; then all is as it was."""
    inside = os.path.join(FOLDER.name, "inside")
    os.mkdir(inside)
    script = f"mount -t tmpfs none {inside} && cp {VICTIM} {inside}/app && exec {inside}/app wait"
    victim = subprocess.Popen(["unshare", "-m", "sh", "-c", script])
    path = f"/proc/{victim.pid}/root{inside}/app"
    try:
        wait_for(lambda: os.readlink(f"/proc/{victim.pid}/exe").endswith("/app"))
        tap.check("the file is not there outside", not os.path.exists(f"{inside}/app"))
        before = first_bytes(victim.pid, path, "take_size")
        run = common.Recording(["-e", f"uprobe:{path}:take_size{{value=arg0}}", "-p", str(victim.pid)])
        changed = wait_for(lambda: first_bytes(victim.pid, path, "take_size") != before)
        tap.check("while it records, the code has a probe", changed)
        time.sleep(0.5)
        run.process.send_signal(signal.SIGINT)
        run.wait()
        tap.check("a probe in a file of another mount namespace", run.status == 0 and
                  total(run.profile(), "take_size", "main", "take_size") % 7 == 0 and
                  total(run.profile(), "take_size", "main", "take_size") > 0, run.said() if run.status else "")
        tap.check("afterwards the code is as it was", first_bytes(victim.pid, path, "take_size") == before)
        run = common.Recording(["-e", f"uprobe:{path}:take_size", "-p", str(victim.pid)])
        wait_for(lambda: first_bytes(victim.pid, path, "take_size") != before)
        run.process.kill()
        run.wait()
        tap.check("... and if wick is killed", wait_for(lambda: first_bytes(victim.pid, path, "take_size") == before))
    finally:
        victim.kill()
        victim.wait()


def file_vanishes(tap):
    path = os.path.join(FOLDER.name, "vanishing")
    shutil.copy(VICTIM, path)
    victim = subprocess.Popen([path, "wait"])
    try:
        before = first_bytes(victim.pid, path, "take_size")
        copy = shutil.copy(VICTIM, path + "-copy")
        run = common.Recording(["-e", f"uprobe:{path}:take_size", "-p", str(victim.pid)])
        wait_for(lambda: first_bytes(victim.pid, path, "take_size") != before)
        os.unlink(path)
        time.sleep(0.5)
        run.process.send_signal(signal.SIGINT)
        run.wait()
        tap.check("a file that vanishes while it is probed", run.status == 0 and
                  sum(s.count for s in run.profile().samples if s.type == "take_size") > 10, run.said() if run.status else "")
        os.rename(copy, path)
        tap.check("... and nothing of the probe is left in the process",
                  wait_for(lambda: first_bytes(victim.pid, path, "take_size") == before))
    finally:
        victim.kill()
        victim.wait()


def refusals(tap):
    for spec, said in (
            ("sched:sched_proces_exec", "did you mean sched:sched_process_exec?"),
            ("nosuch:thing", "this kernel has no tracepoint nosuch:thing"),
            ("sched:sched_switch{value=args.nothing}", "there are prev_comm, prev_pid"),
            ("sched:sched_switch{value=args.prev_comm}", "is not a number"),
            (f"uprobe:{VICTIM}:take_siz", "did you mean take_size?"),
            ("uprobe:/no/such/file:f", "No such file"),
            ("uprobe:no-such-library:f", "none of the folders"),
            ("uprobe:/etc/passwd:f", "cannot be read as a program"),
            (f"usdt:{VICTIM}:victim:stp", "did you mean step?"),
            (f"usdt:{VICTIM}:victim:step{{value=arg3}}", "is not there"),
            ("context-switchs", "no such kind of sample"),
            (f"uprobe:{VICTIM}:nap{{vaule=arg0}}", "no such option"),
            ("kprobe:no_such_function_here", "kernel has no such function" if KPROBES else "built without CONFIG_KPROBES")):
        run = common.Recording(["-e", spec, "-d", "1"]).wait()
        tap.check(f"-e {spec}: {said}", run.status == 1 and said in run.stderr.decode(), run.stderr.decode().strip()[-200:])


def without_tracefs(tap):
    run = subprocess.run([*WITHOUT_TRACEFS, "ls", "/sys/kernel/tracing/events"], capture_output=True, check=False)
    tap.check("tracefs can be missing", run.returncode != 0)
    run = subprocess.run([*WITHOUT_TRACEFS, common.WICK, "probes", "sched:sched_process_exec"], capture_output=True, text=True, check=False)
    tap.check("wick probes lists fields without a tracefs that is mounted", run.returncode == 0 and "args.old_pid" in run.stdout, run.stderr[-300:])
    path = os.path.join(FOLDER.name, "exec.otlp")
    run = subprocess.run([*WITHOUT_TRACEFS, common.WICK, "record", "-e", "sched:sched_process_exec", "-o", path, "--", "sh", "-c", "/bin/true; :"],
                         capture_output=True, text=True, check=False)
    tap.check("... and record takes a tracepoint", run.returncode == 0 and re.search(r": [1-9]\d* samples", run.stderr), run.stderr[-300:])


def served(tap):
    """By YAML, as the OpenTelemetry profiler has it and as wick does; the page has them with name and unit. The sampler, which
    may mount nothing, has tracefs from who started it."""
    port = common.free_port()
    probes = (f"[{{type: kprobe, mode: uprobe, symbol: take_size, target: {VICTIM}}}, "
              f"{{event: 'uprobe:{VICTIM}:take_size', name: sizes, value: arg0, unit: bytes}}, "
              f"'uprobe:{VICTIM}:nap{{until=return,name=naps}}', 'sched:sched_switch{{name=switches}}']")
    wick = subprocess.Popen([*WITHOUT_TRACEFS, common.WICK, f"--listen=127.0.0.1:{port}", f"--set=receivers.profiling.probes={probes}",
                             f"--set=exporters.store.path={FOLDER.name}/store"], stderr=subprocess.PIPE)
    victim = subprocess.Popen([VICTIM, "wait"])
    try:
        def types():
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/v1/types", timeout=20) as answer:
                    return {kind["title"]: kind["unit"] for kind in json.load(answer)}
            except OSError:
                return {}
        expected = {"take_size": "count", "sizes": "bytes", "naps": "nanoseconds", "switches": "count"}
        wait_for(lambda: expected.items() <= types().items() or wick.poll() is not None)
        tap.check("the page has each probe by its name and unit", expected.items() <= types().items(), str(types()))
    finally:
        victim.kill()
        victim.wait()
        wick.terminate()
        said = wick.communicate(timeout=60)[1].decode(errors="replace")
        tap.check("it ends well", wick.returncode == 0, said[-500:] if wick.returncode else "")


def documented(tap):
    """Every example of docs/probes.md is taken by this kernel, and makes a profile."""
    with open(os.path.join(common.ROOT, "docs", "probes.md"), encoding="utf-8") as text:
        lines = re.findall(r"^    sudo wick record (.*)$", text.read(), re.M)
    tap.check("docs/probes.md has examples", len(lines) >= 8, str(len(lines)))
    for line in lines:
        arguments = [word.replace("/bin/app", VICTIM) for word in shlex.split(re.sub(r" -o \S+", "", line))]
        run = common.Recording([*arguments, "-d", "0.2"]).wait()
        tap.check(f"wick record {line}", run.status == 0, run.stderr.decode().strip()[-300:] if run.status else "")
    run = subprocess.run([common.WICK, "probes", "sched:sched_process_exec"], capture_output=True, text=True, check=False)
    tap.check("wick probes lists fields", run.returncode == 0 and "args.old_pid" in run.stdout, run.stderr)


def main():
    tap = common.Tap()
    if common.privileged_or_skip(tap, "probes"):
        for check in (refusals, counts_and_arguments, hostile, distributions, storm, namespace_and_unload, file_vanishes, without_tracefs, served, documented):
            check(tap)
    tap.end()


if __name__ == "__main__":
    main()
