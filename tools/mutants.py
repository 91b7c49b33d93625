#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""mutants.py FOLDER [COUNT] [SEED]: how much would the unit tests of a folder notice?

Changes one thing at a time in the folder's product code (a comparison, an operator, a constant, a condition, a returned
error, a call left out), builds what depends on it, and runs the folder's own unit tests. A mutant that all tests pass is a
survivor: it is listed, and the share of them printed. Works on a copy of the tree, in BUILD/mutants; the sources here are
not touched. `make mutants FOLDER=src/base N=100`.
"""
import os
import random
import re
import shutil
import subprocess
import sys

TEST_SECONDS = 120
BUILD_SECONDS = 300

# What is written differently, and how. Each is tried where it stands in a line of code.
CHANGES = [
    (r" == ", " != "), (r" != ", " == "), (r" < ", " <= "), (r" <= ", " < "), (r" > ", " >= "), (r" >= ", " > "),
    (r" && ", " || "), (r" \|\| ", " && "), (r" \+ 1\b", ""), (r" - 1\b", ""), (r" \+ ", " - "), (r"(?<=\w) - ", " + "),
    (r"\breturn 0;", "return -1;"), (r"\breturn -E[A-Z0-9]+;", "return 0;"), (r"\breturn true;", "return false;"),
    (r"\breturn false;", "return true;"), (r"\bif \(!", "if ("), (r"\bif \((?!!)", "if (!"), (r"\+\+", "--"),
    (r" \+= ", " -= "), (r" << ", " >> "), (r" \| ", " & "), (r" \* ", " + "), (r"\bcontinue;", "break;"),
]
STATEMENT = re.compile(r"^\t+(?!return|break|continue|case|default|goto)[a-z_]\w*(?:->\w+|\.\w+)*(?:\(.*\)| [-+|&]?= .*|\+\+);$")
NOT_CODE = re.compile(r"^\s*(/\*|\*|//|#)|_Static_assert|^\s*assert\(|\bstatic const\b")


def product_files(folder):
    for root, _, names in os.walk(folder):
        for name in sorted(names):
            if name.endswith(".c") and not name.endswith(("_test.c", "_fuzz.c", ".bpf.c")):
                yield os.path.join(root, name)


def test_names(folder):
    """The tests of a folder are those whose files lie in it."""
    names = []
    for root, _, files in os.walk(folder):
        for name in files:
            if name.endswith("_test.c"):
                with open(os.path.join(root, name)) as text:
                    names += re.findall(r"^TEST\((\w+)\)", text.read(), re.M)
    return names


def without_text(line):
    """The line with strings and comments blanked, so that nothing is changed in them."""
    return re.sub(r'"(?:[^"\\]|\\.)*"|/\*.*?(?:\*/|$)|//.*', lambda m: " " * len(m.group(0)), line)


def mutants_of(path):
    with open(path) as text:
        lines = text.read().split("\n")
    in_comment = in_body = False
    for number, line in enumerate(lines):
        if line.startswith("{"):
            in_body = True
        elif line.startswith("}"):
            in_body = False
        in_comment = in_comment or ("/*" in line and "*/" not in line)
        if in_comment or not in_body or NOT_CODE.search(line):
            in_comment = in_comment and "*/" not in line
            continue
        code = without_text(line)
        for pattern, text in CHANGES:
            for match in re.finditer(pattern, code):
                yield path, number, line[:match.start()] + text + line[match.end():]
        if STATEMENT.match(line):
            yield path, number, re.match(r"\t+", line).group(0) + ";"


def run(command, where, seconds):
    environment = dict(os.environ, TEST_SECONDS="10")
    try:
        return subprocess.run(command, cwd=where, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                              stdin=subprocess.DEVNULL, timeout=seconds, check=False, env=environment).returncode
    except subprocess.TimeoutExpired:
        return 124


def copy_tree(to):
    """What git knows of, as it is here now; the folder of the build stays, so that the next time is quick."""
    os.makedirs(to, exist_ok=True)
    files = subprocess.check_output(["git", "ls-files", "-co", "--exclude-standard"], text=True).split("\n")
    for name in filter(None, files):
        target = os.path.join(to, name)
        if not os.path.exists(name):
            continue
        if os.path.exists(target) and os.path.getmtime(target) >= os.path.getmtime(name):
            continue
        os.makedirs(os.path.dirname(target) or ".", exist_ok=True)
        shutil.copy2(name, target)


class Trial:
    def __init__(self, tree, tests):
        self.tree, self.tests = tree, tests

    def make(self):
        return run(["make", "-j2", "CFLAGS=-O1 -g -Wno-error", "build/unit"], self.tree, BUILD_SECONDS)

    def passes(self):
        return run(["build/unit", "--exact", *self.tests], self.tree, TEST_SECONDS) == 0

    def try_one(self, path, number, changed):
        """What became of it: it was killed, does not build, or survived."""
        where = os.path.join(self.tree, path)
        with open(where) as text:
            original = text.read()
        lines = original.split("\n")
        lines[number] = changed
        with open(where, "w") as text:
            text.write("\n".join(lines))
        try:
            if self.make() != 0:
                return "unbuilt"
            return "survived" if self.passes() else "killed"
        finally:
            with open(where, "w") as text:
                text.write(original)


def main():
    folder = sys.argv[1].rstrip("/")
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 100
    random.seed(int(sys.argv[3]) if len(sys.argv) > 3 else 1)
    candidates = [m for path in product_files(folder) for m in mutants_of(path)]
    tests = test_names(folder)
    tree = os.path.join(os.environ.get("O", "build"), "mutants")
    copy_tree(tree)
    trial = Trial(tree, tests)
    print(f"{folder}: {len(candidates)} mutants can be made, {len(tests)} tests", flush=True)
    if trial.make() != 0 or not trial.passes():
        sys.exit("Without a change the tests do not build or pass.")
    random.shuffle(candidates)
    done = survived = 0
    for path, number, changed in candidates:
        if done == count:
            break
        outcome = trial.try_one(path, number, changed)
        if outcome == "unbuilt":
            continue
        done += 1
        if outcome == "survived":
            survived += 1
            print(f"{path}:{number + 1}: survived: {changed.strip()}", flush=True)
    print(f"{folder}: {survived} of {done} mutants survived")


main()
