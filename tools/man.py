#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""man.py WICK PAGE: the manual page with its synopsis and lists of options written anew, from what WICK's --help says.

In the page, lines from `.\\" made by make docs: WHAT` to `.\\" made until here` are replaced; WHAT is `synopsis` or
the name of a command. Everything else is kept as it was written.
"""
import re
import subprocess
import sys

BEGIN, END = '.\\" made by make docs: ', '.\\" made until here'
FLAG = re.compile(r"^  (?:-(\w), |    )--(\[no-\])?([\w.-]+)(?: (\S+))?(?:  +| (?=[a-z])|$)(.*)$")


def printed(wick, *arguments):
    return subprocess.run([wick, *arguments], capture_output=True, text=True, check=True).stdout


def commands(wick):
    part = printed(wick, "--help").partition("Commands:\n")[2].partition("\n\n")[0]
    return [name for name in (line.split()[0] for line in part.splitlines()) if name != "help"]


def escaped(text):
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return "\\&" + text if text[:1] in (".", "'") else text


def options(help_text):
    """[(short, negatable, long, argument, text)] of all lists of options in a help text."""
    found = []
    for line in help_text.splitlines():
        if m := FLAG.match(line):
            found.append([m[1], bool(m[2]), m[3], m[4], m[5]])
        elif found and line.startswith(" " * 28) and line.strip():
            found[-1][4] = (found[-1][4] + " " + line.strip()).strip()
    return found


def synopsis(wick):
    lines = []
    for command in commands(wick):
        usage = re.search(r"^Usage: wick (.*)$", printed(wick, "help", command), re.M)[1]
        name, _, rest = usage.partition(" ")
        lines += [".Nm", f".Cm {escaped(name)}"]
        lines += [f".Ar {escaped(rest)}"] if rest else []
    return lines + [".Nm", ".Cm help", ".Ar [COMMAND]", ".Nm", ".Fl \\-version"]


def tag(short, negatable, long, argument):
    name = escaped("-" + ("[no-]" if negatable else "") + long)
    return ".It " + (f"Fl {short} , " if short else "") + "Fl " + name + (f" Ar {escaped(argument)}" if argument else "")


def option_list(wick, command):
    found = [o for o in options(printed(wick, "help", command)) if o[2] != "help"]
    lines = [".Bl -tag -width Ds"] if found else []
    for *names, text in found:
        lines += [tag(*names), escaped(text[:1].upper() + text[1:]) + "."]
    return lines + [".El"] if found else lines


def written(wick, page):
    lines, skipping = [], False
    for line in page.splitlines():
        skipping = skipping and line != END
        if skipping:
            continue
        lines.append(line)
        if line.startswith(BEGIN):
            what, skipping = line[len(BEGIN):], True
            lines += synopsis(wick) if what == "synopsis" else option_list(wick, what)
    missing = [c for c in commands(wick) if BEGIN + c not in lines and options(printed(wick, "help", c))]
    if missing or skipping:
        sys.exit(f"man.py: {'a part has no end' if skipping else 'no part for ' + ', '.join(missing)}")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    with open(sys.argv[2], encoding="utf-8") as file:
        sys.stdout.write(written(sys.argv[1], file.read()))
