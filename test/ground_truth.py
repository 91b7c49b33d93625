#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Are the stacks true? Records the victims at 997 Hz and compares with what is known of them (truth_table.py).

ground_truth.py [--seconds S] [NAME...]: only the victims whose name contains a NAME. Two victims run at a time,
several in a row within one recording, so that new processes, not only old ones, are what is judged.

For each victim: 5,000 samples or more; 99.5 % of them have the whole expected stack, frame by frame up to _start or the
thread's start; the shares of the leaves are within 3 points, or what chance allows, of what the victim measured itself;
nothing forbidden occurs. Samples taken inside execve and exit have no stack to compare and are counted apart.
"""
import argparse
import collections
import os
import platform
import re
import shlex
import shutil
import sys

from common import RATE_HZ, VICTIMS, WICK, Recording, Tap, by_chance, privileged_or_skip, victim_reports
from truth_table import rows

CHAIN_SHARE = 0.995
SHARE_POINTS = 3.0
SAMPLES = 5000
SECONDS = 5.4
VICTIMS_IN_A_ROW = 4
STARTING_OR_ENDING = re.compile(r"execve|do_exit|do_group_exit|begin_new_exec|load_elf_binary|exit_mmap")
# Before main(): of static programs that call exec all the time, where finding out about caches traps in a virtual machine.
LIBC_STARTING = re.compile(r"_start;__libc_start_main;(handle_intel|intel_check|get_common_cache_info|update_active|init_c|cpu_features|"
                           r"__libc_init|__libc_setup_tls|_dl_|__tunables|apply_irel)")
WORST_SHOWN = 5


def chosen(tap, names):
    picked = []
    for row in rows():
        if names and not any(n in row.name for n in names):
            continue
        if row.machine and row.machine != platform.machine():
            tap.skip(f"truth {row.name}", f"only on {row.machine}")
        elif row.needs and not shutil.which(row.needs):
            tap.skip(f"truth {row.name}", f"no {row.needs} here")
        else:
            picked.append(row)
    return picked


def command_of(row, seconds):
    words = row.command if row.command is not None else [row.name, "{s}"]
    full = []
    for word in words:
        path = os.path.join(VICTIMS, word)
        full.append(path if os.path.exists(path) else word.replace("{s}", f"{seconds:.1f}"))
    return full


def batches(picked):
    """Lists of lanes; the lanes of a batch run at the same time, the rows of a lane one after the other."""
    starters = [r for r in picked if r.command != []]
    together = [r for r in starters if not r.alone]
    for at in range(0, len(together), 2 * VICTIMS_IN_A_ROW):
        part = together[at:at + 2 * VICTIMS_IN_A_ROW]
        yield [lane for lane in (part[0::2], part[1::2]) if lane]
    for row in starters:
        if row.alone:
            yield [[row]]


def read_report(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError as error:
        return f"it did not start: {error}"


def record(batch, seconds):
    """(recording, {row name: report}); each lane is a shell that runs its victims in order."""
    lanes = []
    folder = os.path.join(VICTIMS, "reports")
    os.makedirs(folder, exist_ok=True)
    for lane in batch:
        for row in lane:
            path = os.path.join(folder, row.name)
            if os.path.exists(path):
                os.unlink(path)
        steps = [
    f"{shlex.join(command_of(row, seconds))} >{shlex.quote(os.path.join(folder, row.name))} 2>&1" for row in lane]
        lanes.append("( " + "; ".join(steps) + " ) &")
    recording = Recording([], ["sh", "-c", " ".join(lanes) + " wait"], timeout=60 + 60 * VICTIMS_IN_A_ROW).wait()
    reports = {}
    for lane in batch:
        for row in lane:
            text = read_report(os.path.join(folder, row.name))
            reports[row.name] = (victim_reports(text), text)
    return recording, reports


def tally(samples, key):
    found = collections.Counter()
    for sample in samples:
        found[key(sample)] += sample.count
    return found


def shares(counts):
    total = sum(counts.values())
    return {k: 100.0 * v / total for k, v in counts.items()} if total else {}


def compare_shares(counts, want):
    """(fits, text) of what was counted and {name: percent}."""
    got, count = shares(counts), max(1, sum(counts.values()))
    fits = all(abs(got.get(k, 0.0) - want.get(k, 0.0)) <= max(SHARE_POINTS, 100 * by_chance(want.get(k, 0.0) / 100, count))
               for k in set(got) | set(want))
    text = " ".join(f"{k}={got.get(k, 0.0):.1f}/{want.get(k, 0.0):.1f}" for k in sorted(want))
    return fits, text


def leaf_counts(row, samples):
    patterns = {leaf: re.compile(frame) for leaf, frame in row.leaves.items()}
    found = collections.Counter()
    for sample in samples:
        for leaf, pattern in patterns.items():
            if any(pattern.fullmatch(f) for f in sample.user):
                found[leaf] += sample.count
    return found


def show_worst(tap, samples, chain):
    wrong = tally((s for s in samples if not chain.fullmatch(s.text)), lambda s: (s.text, ";".join(s.kernel)))
    for (user, kernel), count in wrong.most_common(WORST_SHOWN):
        if len(user) > 600:
            user = user[:300] + " ... " + user[-300:]
        tap.note(f"  {count:6} {user or '(no user frames)'}{' | kernel: ' + kernel[-200:] if kernel else ''}")


def judge(tap, row, profile, report, text, expected_samples):
    samples, apart = [], []
    for sample in profile.of(row.executable_pattern()):
        is_apart = any(STARTING_OR_ENDING.search(f) for f in sample.kernel) or LIBC_STARTING.match(sample.text)
        (apart if is_apart else samples).append(sample)
    total = sum(s.count for s in samples)
    chain = re.compile(row.chain)
    good = sum(s.count for s in samples if chain.fullmatch(s.text))
    share = good / total if total else 0.0
    enough = total >= expected_samples
    exact = tap.check(f"truth {row.name} chain", enough and share >= CHAIN_SHARE,
                      f"{100 * share:.2f} % of {total} whole, {sum(s.count for s in apart)} in exec, exit or libc's start")
    if not exact:
        if not enough:
            tap.note(f"  {total} samples are less than {expected_samples}; the victim said: {text.strip()[-500:]}")
        show_worst(tap, samples, chain)
    if row.leaves:
        want = shares({k: report.get(k, 0) for k in row.leaves})
        fits, words = compare_shares(leaf_counts(row, samples), want)
        tap.check(f"truth {row.name} shares", fits and bool(want), words)
    if row.threads:
        found = tally(samples, lambda s: s.attributes.get("thread.name"))
        fits, words = compare_shares(found, shares(report.get("threads", {})))
        tap.check(f"truth {row.name} thread names", fits and "threads" in report, words)
    if row.forbidden:
        forbidden = re.compile(row.forbidden)
        bad = sum(s.count for s in samples + apart if any(forbidden.fullmatch(f) for f in s.user))
        tap.check(f"truth {row.name} not mixed", bad == 0, f"{bad} samples with {row.forbidden}")


def run_batch(tap, batch, picked, seconds, factor):
    recording, reports = record(batch, seconds)
    started = [row for lane in batch for row in lane]
    # Rows without a command of their own follow the row before them.
    judged = []
    for row in started:
        judged.append((row, row))
        at = picked.index(row) + 1
        while at < len(picked) and picked[at].command == []:
            judged.append((picked[at], row))
            at += 1
    try:
        profile = recording.profile()
    except (OSError, ValueError, KeyError, IndexError) as error:
        for row, _ in judged:
            tap.check(f"truth {row.name} chain", False, f"no readable profile: {error}")
        tap.note(recording.said())
        return
    if recording.status:
        tap.check("truth record ends well", False, f"status {recording.status}")
        tap.note(recording.said())
    for row, source in judged:
        report, text = reports[source.name]
        judge(tap, row, profile, report, text, SAMPLES * factor)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument(
    "--seconds",
    type=float,
    default=SECONDS,
     help="CPU time of each victim; less than 5.4 asks for fewer samples")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    tap = Tap()
    if not privileged_or_skip(tap, "ground truth"):
        tap.end()
    if not os.path.exists(WICK) or not os.path.isdir(VICTIMS):
        tap.check("ground truth", False, "make, then make -C test/victims")
        tap.end()
    picked = chosen(tap, options.names)
    factor = min(1.0, options.seconds / SECONDS)
    tap.note(f"{len(picked)} victims, {options.seconds} s each at {RATE_HZ} Hz")
    for batch in batches(picked):
        run_batch(tap, batch, picked, options.seconds, factor)
    tap.end()


if __name__ == "__main__":
    sys.exit(main())
