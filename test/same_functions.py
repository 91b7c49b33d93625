#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""same_functions.py A B [NAME...]: two outputs of `wick report --json` have the same functions with the same shares.

Formats differ in what else they hold (units, modules, addresses), so names and shares are what is compared. NAMEs
are left out: what one of the formats cannot hold, or adds.
"""
import json
import re
import sys


def shares(path):
    report = json.load(open(path))
    found = {}
    for row in report["rows"]:
        # Folded stacks have no place for characters that separate its fields.
        name = re.sub(r"[^A-Za-z0-9_.+]", "", row["name"])
        self_sum, total_sum = found.get(name, (0, 0))
        found[name] = (self_sum + row["self"], total_sum + row["total"])
    return {name: (round(s / report["total"], 6), round(t / report["total"], 6)) for name, (s, t) in found.items()}


want, got = shares(sys.argv[1]), shares(sys.argv[2])
for name in sys.argv[3:]:
    want.pop(name, None)
    got.pop(name, None)
for name in sorted(set(want) | set(got)):
    if want.get(name) != got.get(name):
        print(f"{name}: {want.get(name)} became {got.get(name)}")
sys.exit(want != got)
