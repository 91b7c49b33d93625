#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""languages.py LANGUAGE [--all] [VERSION ...]: do stacks show the functions of a language as they were called?

Each language is a module lang_LANGUAGE.py beside this one, with VERSION, the one that `make test` runs, VERSIONS, the
matrix, and run(tap, version, full). With --all the matrix runs, with the full number of samples, and a table of the
results is printed, as it is in docs/runtimes.md.
"""
import importlib
import sys

from common import Tap, privileged_or_skip


def main():
    arguments = [a for a in sys.argv[1:] if a != "--all"]
    full = "--all" in sys.argv
    tap = Tap()
    if not arguments:
        sys.exit(__doc__)
    language = importlib.import_module("lang_" + arguments[0])
    versions = arguments[1:] or (language.VERSIONS if full else [language.VERSION])
    if privileged_or_skip(tap, arguments[0]):
        for version in versions:
            language.run(tap, version, full)
    tap.end()


if __name__ == "__main__":
    main()
