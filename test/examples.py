#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every example of README.md, docs/, the manual page and `wick COMMAND --help` is run, word for word, in a folder that has the files they name. Of what
would run until it is stopped the configuration is put together and checked instead (print-config), so that no port is taken; whole
configurations in the documents must be valid. --quick: without those that sample this machine. Prints TAP."""
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

import common

COMMANDS = ["record", "report", "top", "diff", "convert", "probes", "doctor", "run", "validate", "print-config", "components", "featuregate"]
# An example: a line of a block of code that begins with wick or leads to it by a pipe; in README.md also what opens a row of a table.
LINE = re.compile(r"^ {2,}(?:\$ )?((?:sudo )?wick(?: .*)?|perf .*\bwick .*)$")
ROW = re.compile(r"^\| `((?:sudo )?wick(?: [^`]*)?)` \|", re.M)
# What stands for something of the reader's: a name in capitals, a process, a group, ten seconds.
FOR_THE_READER = [(r"-p 1234,1235", "-p $VICTIM,$VICTIM"), (r"-p 1234\b", "-p $VICTIM"), (r"--cgroup /sys/fs/cgroup/\S+", "--cgroup $CGROUP"),
                  (r"-d (10|5)\b", "-d 0.5"), (r"--config=FILE", "--config=agent.yaml"), (r"--options TYPE", "--options otlp_grpc"),
                  (r"\[(--[^\]]*)\]", r"\1"), (r"--tree --by process --json FILE", "--json out.pb.gz"), (r"\bBEFORE AFTER\b", "before.pb.gz after.pb.gz"),
                  (r"\bIN OUT\b", "out.pb.gz out.otlp"), (r"\bwick top$", "wick top -b -n 1"), (r"\bwick top --by=process -d 0.5$", "wick top -b -n 1 --by=process -d 0.5"),
                  (r"\bHOST\b", "localhost"), (r"hot\.afdo \.\.\.$", "hot.afdo -c hot.c"), (r"/bin/app\b", os.path.join(common.VICTIMS, "probes"))]
STAND_INS = {
    "sudo": '#!/bin/sh\nexec "$@"\n',
    "make": "#!/bin/sh\ni=0; while [ $i -lt 60000 ]; do i=$((i+1)); done\n",
    "flamegraph.pl": "#!/bin/sh\nexec cat\n",
    "stackcollapse-perf.pl": "#!/bin/sh\ncat >/dev/null; echo 'main;work 3'\n",
    # The real one is not let beside another profiler; here only the file and its text are wanted.
    "perf": "#!/bin/sh\n[ \"$1\" != script ] || echo 'main;work 3'\n",
    # Who would record until Ctrl-C is sent one. Whoever serves is not started: what it would run is put together.
    "wick": '''#!/bin/sh
case "$*" in
record*\\ --\\ * | record*-d\\ *) exec "$WICK_BINARY" "$@" ;;
record*) exec timeout --foreground --preserve-status -s INT 4 "$WICK_BINARY" "$@" ;;
esac
case ${1:-} in
report|top|diff|convert|probes|doctor|validate|print-config|components|featuregate|help|--version|--help) exec "$WICK_BINARY" "$@" ;;
run) shift ;;
esac
exec "$WICK_BINARY" print-config "$@"
''',
}
CONFIG = """receivers: {otlp: {protocols: {grpc: {endpoint: localhost:4317}}}}
exporters: {debug: {verbosity: basic}}
service: {pipelines: {profiles: {receivers: [otlp], exporters: [debug]}}}
"""


def of_lines(lines):
    """Without what is said of them: behind a #, or in a column of its own."""
    return [re.sub(r"\s{2,}\S.*$|\s+#.*$", "", found[1]).strip() for found in map(LINE.match, lines) if found]


def of_document(path):
    with open(path) as file:
        text = file.read()
    if path.endswith(".1"):
        return of_lines("    " + line.removeprefix(".Dl ").replace("\\-", "-") for line in text.splitlines()
                        if line.startswith((".Dl ", "sudo wick ", "wick ")))
    return of_lines(line for line in text.splitlines() if line.startswith("    ")) + (ROW.findall(text) if path.endswith("README.md") else [])


def of_help(command):
    said = subprocess.run([common.WICK, command, "--help"], capture_output=True, text=True, check=True).stdout
    return of_lines(said.partition("Examples:\n")[2].splitlines())


def examples():
    documents = [os.path.join(common.ROOT, "README.md"), *sorted(glob.glob(os.path.join(common.ROOT, "docs", "*.md"))),
                 os.path.join(common.ROOT, "docs", "man", "wick.1")]
    found = {}
    for path in documents:
        found.update({one: os.path.relpath(path, common.ROOT) for one in of_document(path)})
    for command in COMMANDS:
        found.update({one: f"{command} --help" for one in of_help(command)})
    return found


def configurations(path):
    """Blocks of code that are a whole configuration."""
    with open(path) as file:
        text = file.read()
    blocks = re.findall(r"^```(?:yaml)?\n(.*?)^```", text, re.M | re.S) + re.findall(r"(?:^ {4}.*\n|^\n(?= {4}))+", text, re.M)
    for block in blocks:
        if "pipelines:" in block and "receivers:" in block and "exporters:" in block:
            yield re.sub(r"^ {4}", "", block, flags=re.M) if block.lstrip("\n").startswith("    ") else block


def prepare(folder, victim):
    """The files that examples name."""
    bin_folder = os.path.join(folder, "bin")
    os.mkdir(bin_folder)
    for name, text in STAND_INS.items():
        path = os.path.join(bin_folder, name)
        with open(path, "w") as file:
            file.write(text)
        os.chmod(path, 0o755)
    for name in ("agent", "base", "site"):
        with open(os.path.join(folder, name + ".yaml"), "w") as file:
            file.write(CONFIG)
    shutil.copy(os.path.join(common.ROOT, "test", "peers", "hot.c"), folder)
    subprocess.run(["clang", "-O2", "-g", "hot.c", "-o", "program"], cwd=folder, check=True)
    source = os.path.join(common.ROOT, "test", "golden", "otlp", "ebpf-profiler-c.bin")
    shutil.copy(source, os.path.join(folder, "source.otlp"))
    for name in ("out", "before", "after", "a", "b"):
        for end in ("pb.gz", "otlp", "folded", "data"):
            subprocess.run([common.WICK, "convert", "source.otlp", f"{name}.{end}"], cwd=folder, check=True, capture_output=True)
    shutil.copy(os.path.join(folder, "out.data"), os.path.join(folder, "perf.data"))
    cgroup = next((p for p in ("/sys/fs/cgroup/system.slice", "/sys/fs/cgroup/cpu", "/sys/fs/cgroup") if os.path.isdir(p)), "/")
    return {**os.environ, "PATH": bin_folder + ":" + os.environ["PATH"], "WICK_BINARY": common.WICK, "VICTIM": str(victim.pid), "CGROUP": cgroup}


def run(example, folder, environment):
    for pattern, instead in FOR_THE_READER:
        example = re.sub(pattern, instead, example)
    return subprocess.run(["bash", "-o", "pipefail", "-c", example.replace("./program", "timeout 1 ./program")], cwd=folder, env=environment,
                          capture_output=True, text=True, timeout=120, check=False, stdin=subprocess.DEVNULL)


def main():
    tap = common.Tap()
    found = examples()
    if "--list" in sys.argv:
        print("\n".join(f"{where}: {one}" for one, where in found.items()))
        return
    quick = "--quick" in sys.argv
    if not quick and not common.privileged_or_skip(tap, "examples"):
        tap.end()
    tap.check_or_note("examples are found in documents and in --help", len(found) >= 40 and len({w for w in found.values() if "--help" in w}) >= 8, found)
    victim = subprocess.Popen([os.path.join(common.VICTIMS, "v-fp"), "600"], stdout=subprocess.DEVNULL)
    try:
        with tempfile.TemporaryDirectory() as folder:
            environment = prepare(folder, victim)
            for one, where in found.items():
                if quick and re.search(r"wick (record|top( |$)(?!out)|doctor)", one):
                    continue
                said = run(one, folder, environment)
                tap.check_or_note(f"{where}: {one}", said.returncode in (0, 124), said.stderr[-600:])
            for path in sorted(glob.glob(os.path.join(common.ROOT, "docs", "*.md"))):
                for number, text in enumerate(configurations(path), 1):
                    said = subprocess.run([common.WICK, "validate", "--config=yaml:" + text], capture_output=True, text=True, check=False)
                    tap.check_or_note(f"{os.path.basename(path)}: configuration {number} is valid", said.returncode == 0, said.stderr)
    finally:
        victim.kill()
        victim.wait()
    tap.end()


if __name__ == "__main__":
    main()
