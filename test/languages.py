#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""languages.py LANGUAGE [--all] [VERSION ...]: do stacks show the functions of a language as they were called?

Each language is a module lang_LANGUAGE.py beside this one, with VERSION, the one that `make test` runs, VERSIONS, the
matrix, and run(tap, version, full). With --all the matrix runs, with the full number of samples, and a table of what was
found goes to test-logs/runtimes-LANGUAGE.md of the build, for docs/runtimes.md: a row for each check, a column for each
version.
"""
import importlib
import os
import re
import sys

from common import BUILD, Tap, privileged_or_skip

NUMBERS = re.compile(r"[\d.]+ ?% of \d+|\d+ of \d+|[-+]?[\d.]+ (?:points|%)|[\d.]+%|[-+][\d.]+\b")
UNTOLD = 24     # of a text without such numbers


class Table(Tap):
    """TAP that also remembers what it said, by check and version."""

    def __init__(self):
        super().__init__()
        self.version, self.rows = "", {}

    def remember(self, name, text):
        row = re.sub(rf"(?<!\S){re.escape(self.version)}(?!\S) ?", "", name.replace(": ", " : "), count=1)
        self.rows.setdefault(row.replace(" : ", ": "), {})[self.version] = text

    def check(self, name, good, detail=""):
        found = NUMBERS.search(str(detail))
        text = found[0] if found else str(detail).splitlines()[0][:UNTOLD] if detail else ""
        self.remember(name, text if good else f"**not ok** {text}".strip())
        return super().check(name, good, detail)

    def skip(self, name, reason):
        self.remember(name, "not run")
        super().skip(name, reason)

    def markdown(self, versions):
        """Checks that have nothing to tell but that they passed are left out."""
        lines = [["check", *versions], ["---"] * (1 + len(versions))]
        lines += [[name, *(cells.get(v, "") for v in versions)] for name, cells in self.rows.items() if any(cells.values())]
        return "".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |\n" for line in lines)


def write_table(tap, language, versions):
    path = os.path.join(BUILD, "test-logs", f"runtimes-{language}.md")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"{language}: {tap.failed} of {tap.count} checks failed\n\n{tap.markdown(versions)}\n")
    tap.note(f"the table is {path}")


def main():
    arguments = [a for a in sys.argv[1:] if a != "--all"]
    full = "--all" in sys.argv
    tap = Table()
    if not arguments:
        sys.exit(__doc__)
    language = importlib.import_module("lang_" + arguments[0])
    versions = arguments[1:] or (language.VERSIONS if full else [language.VERSION])
    if privileged_or_skip(tap, arguments[0]):
        for tap.version in versions:
            language.run(tap, tap.version, full)
    if full:
        write_table(tap, arguments[0], versions)
    tap.end()


if __name__ == "__main__":
    main()
