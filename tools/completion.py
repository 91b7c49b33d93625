#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""completion.py bash|zsh|fish WICK: what that shell needs to complete wick's commands and options, from their --help."""
import sys

import man


def quoted(text):
    return "'" + text.replace("'", "'\\''") + "'"


def spellings(option):
    short, negatable, name, argument, _ = option
    names = [f"--{name}"] + ([f"--no-{name}"] if negatable else []) + ([f"-{short}"] if short else [])
    return names, argument


def bash(table):
    cases = "\n".join(f"\t{command}) words={quoted(' '.join(n for o in options for n in spellings(o)[0]))} ;;"
                      for command, options in table.items())
    return f"""# bash completion for wick
_wick()
{{
\tlocal word=${{COMP_WORDS[COMP_CWORD]}} command=run words i
\tfor ((i = 1; i < COMP_CWORD; i++)); do
\t\t[[ ${{COMP_WORDS[i]}} == -* ]] || {{ command=${{COMP_WORDS[i]}}; break; }}
\tdone
\tcase $command in
{cases}
\tesac
\tif [[ $word == -* ]]; then
\t\tmapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
\telif ((COMP_CWORD == 1)); then
\t\tmapfile -t COMPREPLY < <(compgen -W {quoted(' '.join(table))} -- "$word")
\telse
\t\tcompopt -o default
\tfi
}}
complete -F _wick wick
"""


def zsh(table):
    lines = ["#compdef wick", "local -a commands", "commands=("]
    lines += [f"\t{quoted(command)}" for command in table] + [")"]
    lines += ["if ((CURRENT == 2)) && [[ $words[2] != -* ]]; then", "\t_describe command commands", "\treturn", "fi", "case $words[2] in"]
    for command, options in table.items():
        lines.append(f"{command}{'|-*' if command == 'run' else ''})")
        lines.append("\t_arguments \\")
        for option in options:
            names, argument = spellings(option)
            text = option[4].replace("[", "(").replace("]", ")").replace(":", " -")
            lines += [f"\t\t{quoted(name + '[' + text + ']' + (f':{argument}:_files' if argument and not name.startswith('--no-') else ''))} \\"
                      for name in names]
        lines += ["\t\t'*:file:_files'", "\t;;"]
    return "\n".join(lines + ["esac"]) + "\n"


def fish(table):
    lines = ["# fish completion for wick"]
    lines += [f"complete -c wick -n __fish_use_subcommand -a {command}" for command in table]
    for command, options in table.items():
        for short, _, name, argument, text in options:
            lines.append(f"complete -c wick -n '__fish_seen_subcommand_from {command}' -l {name}" + (f" -s {short}" if short else "") +
                         (" -r" if argument else "") + f" -d {quoted(text)}")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    known = {command: man.options(man.printed(sys.argv[2], "help", command)) for command in man.commands(sys.argv[2])}
    sys.stdout.write({"bash": bash, "zsh": zsh, "fish": fish}[sys.argv[1]](known))
