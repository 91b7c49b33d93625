#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""coverage.py BUILD: runs BUILD/unit, which was built with --coverage, and prints how many of the product's lines it ran,
by folder. Tests that fail do not matter here."""
import collections
import gzip
import json
import os
import subprocess
import sys
import tempfile

BATCH = 100


def is_product(name):
    return name.startswith(("src/", "lang/", "kinds/", "bpf/")) and name.endswith((".c", ".h")) and \
        not name.endswith(("_test.c", "_fuzz.c", ".skel.h"))


def gcov(files):
    """What gcov says of some object files: (file, line, times)."""
    with tempfile.TemporaryDirectory() as where:
        subprocess.run(["gcov", "--json-format", *map(os.path.abspath, files)], cwd=where, check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for name in os.listdir(where):
            with gzip.open(os.path.join(where, name), "rt") as text:
                for file in json.load(text)["files"]:
                    yield from ((file["file"], line["line_number"], line["count"]) for line in file["lines"])


def folder_of(name):
    parts = name.split("/")
    return "/".join(parts[:2]) if parts[0] in ("src", "lang", "kinds") and len(parts) > 2 else parts[0]


def main():
    build = sys.argv[1]
    subprocess.run([os.path.join(build, "unit")], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    data = [os.path.join(root, name) for root, _, names in os.walk(build) for name in names if name.endswith(".gcno")]
    lines = collections.defaultdict(int)
    for first in range(0, len(data), BATCH):
        for name, number, times in gcov(data[first:first + BATCH]):
            if is_product(name):
                lines[name, number] += times
    ran, there = collections.Counter(), collections.Counter()
    for (name, _), times in lines.items():
        for folder in (folder_of(name), "all"):
            there[folder] += 1
            ran[folder] += times > 0
    for folder in sorted(there):
        print(f"{folder:20} {100 * ran[folder] / there[folder]:5.1f} % of {there[folder]} lines")


main()
