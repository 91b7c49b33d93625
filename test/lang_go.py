# SPDX-License-Identifier: Apache-2.0
"""Go: labels of goroutines as attributes, in programs linked in every way (test/victims/go/labels)."""
import os
import subprocess
import tempfile

from common import ROOT
from runtime_profile import Victim, record_beside

KIND = "go"
VICTIMS = os.path.join(ROOT, "test", "victims", "go")
PREFIX = "process.context.label."
VERSION = "installed"
VERSIONS = [VERSION]
SAMPLES, FULL_SAMPLES = 2000, 6000
EXACT = 0.99
# Until wick has its tables it walks copies of stacks, in which there are no labels.
SETTLE_NS = 300_000_000

# What a function's goroutine is labelled with while it runs.
MANY = {f"key{i:02}": str(i % 10) * (10 * i + 1) for i in range(12)}
LABELS = {
    "main.long": {"function": "long"},
    "main.inner": {"größe": "长", "level": "inner", "of": "nested"},
    "main.many": MANY,
    "main.none": {},
}


def build(folder, go, victim, flags=(), **environment):
    """The path of the program, or None with the reason."""
    path = os.path.join(folder, victim)
    result = subprocess.run([go, "build", *flags, "-o", path, "./" + victim], cwd=VICTIMS, capture_output=True, text=True,
                            env={**os.environ, "GOTOOLCHAIN": "local", "GOFLAGS": "-buildvcs=false", **environment},
                            timeout=300, check=False)
    return (path, "") if result.returncode == 0 else (None, result.stderr[-500:])


def labels_of(attributes):
    return {key[len(PREFIX):]: value for key, value in attributes.items() if key.startswith(PREFIX)}


def is_request(labels, parity):
    """Labels that were garbage soon after: gone, but never those of another request."""
    return not labels or (labels.get("kind") == parity and labels.get("request", "").startswith(parity + "-"))


def settled(stacks, pid):
    """Names of functions, labels and how often, from a little after the first labels on."""
    samples = [s for s in stacks.profile.samples if s.pid == pid]
    first_ns = min((t for s in samples if labels_of(s.attributes) for t in s.times_ns), default=0) + SETTLE_NS
    for sample in samples:
        count = sum(t >= first_ns for t in sample.times_ns)
        if count:
            yield {f.name for f in stacks.user_frames(sample)}, labels_of(sample.attributes), count


def check_labels(tap, name, stacks, pid):
    good, bad, requests, kept = 0, [], 0, 0
    for names, labels, count in settled(stacks, pid):
        function = next((n for n in LABELS if n in names), None)
        parity = next((p for p in ("even", "odd") if "main." + p in names), None)
        if function:
            right = labels == LABELS[function]
        elif parity:
            right = is_request(labels, parity)
            requests += count
            kept += count * bool(labels)
        else:
            continue
        good += count * right
        if not right:
            bad.append((count, function or parity, labels))
    total = good + sum(count for count, _, _ in bad)
    tap.check(f"{name}: labels of the function that runs", total > 100 and good / total >= EXACT, f"{good} of {total}")
    for entry in sorted(bad, key=lambda e: -e[0])[:3]:
        tap.note(entry)
    tap.check(f"{name}: labels that are soon garbage", requests and kept / requests >= 0.5, f"{kept} of {requests}")


def run_labels(tap, name, path, samples):
    with Victim([path, "600s"]) as victim:
        recording, stacks = record_beside(victim, samples, KIND, settle_ns=SETTLE_NS)
        pid = victim.pid
    if tap.check(f"{name}: recorded", stacks is not None and stacks.count, "" if stacks else recording.said()[-300:]):
        check_labels(tap, name, stacks, pid)


def run(tap, version, full):
    samples = FULL_SAMPLES if full else SAMPLES
    with tempfile.TemporaryDirectory() as folder:
        path, reason = build(folder, "go", "labels", CGO_ENABLED="0")
        if tap.check(f"{version} labels: built", path, reason):
            run_labels(tap, f"{version} labels", path, samples)
