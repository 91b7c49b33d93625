#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The capabilities of wick, each dropped in turn: what stops, and what wick says. Two programs of another user run, one from
a folder that only he may enter, one whose file is gone. Prints TAP; --write FILE: a table of it, for docs/capabilities.md."""
import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
import common  # noqa: E402

USER = "23456"
# What is left without it: is anything recorded; are functions of the hidden, of the deleted program, of the kernel named?
ALL = {"recorded": True, "hidden": True, "deleted": True, "kernel": True}
NONE = dict.fromkeys(ALL, False)
TABLE = {
    "": (ALL, ""),
    "bpf": (NONE, "no CAP_BPF; run it with sudo, or once: sudo setcap"),
    "perfmon": (NONE, "no CAP_PERFMON; run it with sudo, or once: sudo setcap"),
    "sys_ptrace": ({**ALL, "deleted": False}, "no CAP_SYS_PTRACE: other users' processes cannot be opened"),
    "dac_read_search": ({**ALL, "hidden": False, "deleted": False}, "no CAP_DAC_READ_SEARCH: executables and debug files that this user may not read"),
    "checkpoint_restore": ({**ALL, "deleted": False}, "no CAP_CHECKPOINT_RESTORE: deleted executables"),
    "syslog": ({**ALL, "kernel": False}, "no CAP_SYSLOG: kernel addresses are hidden"),
}
NAMES = [name for name in TABLE if name]
SAMPLES = {"hidden": "of a program in a folder of another user", "deleted": "of a program whose file is deleted",
           "kernel": "of the kernel"}


@contextlib.contextmanager
def victims():
    """Another user's, each in a process that root of a container, without capabilities, could not read."""
    with tempfile.TemporaryDirectory() as work:
        os.chmod(work, 0o755)
        folder = os.path.join(work, "private")
        os.mkdir(folder)
        paths = [os.path.join(folder, name) for name in ("v-hidden-file", "v-deleted-file")]
        for path in paths:
            shutil.copy(os.path.join(common.VICTIMS, "v-fp"), path)
        os.chown(folder, int(USER), int(USER))
        os.chmod(folder, 0o700)
        for path in paths:
            os.chown(path, int(USER), int(USER))
            os.chmod(path, 0o700)
        running = [subprocess.Popen(["setpriv", "--reuid", USER, "--regid", USER, "--clear-groups", path, "600"],
                                    stdout=subprocess.DEVNULL) for path in paths]
        running.append(subprocess.Popen(["dd", "if=/dev/zero", "of=/dev/null"], stderr=subprocess.DEVNULL))
        for process in running[:2]:
            while not os.readlink(f"/proc/{process.pid}/exe").startswith(folder):
                time.sleep(0.01)
        os.unlink(paths[1])
        try:
            yield [process.pid for process in running]
        finally:
            for process in running:
                process.kill()
                process.wait()


def record(without, pids, out):
    held = [name for name in NAMES if name != without]
    said = subprocess.run(["setpriv", "--bounding-set=-all," + ",".join("+" + name for name in held), common.WICK, "record", "-F", "997",
                           "-d", "3", "-p", ",".join(map(str, pids)), "-o", out], capture_output=True, text=True, timeout=120, check=False)
    return said.returncode, said.stderr


def seen(status, pids, out):
    if status:
        return NONE
    named = {"hidden": 0, "deleted": 0, "kernel": 0}
    for sample in common.Profile(out).samples:
        if sample.pid in (pids[0], pids[1]):
            named["hidden" if sample.pid == pids[0] else "deleted"] += sample.count * ("middle" in sample.user)
        named["kernel"] += sample.count * any("read" in frame for frame in sample.kernel)
    return {"recorded": True, **{key: count > 5 for key, count in named.items()}}


def row(name, expected, text):
    lost = [SAMPLES[key] for key in SAMPLES if not expected[key]]
    what = "nothing" if not name else "everything: nothing is recorded" if not expected["recorded"] else "names of functions " + " and ".join(lost)
    return f"| {'none' if not name else '`CAP_' + name.upper() + '`'} | {what} | {text and '`' + text + '`'} |"


def main():
    tap = common.Tap()
    if not common.privileged_or_skip(tap, "capabilities"):
        tap.end()
    lines = []
    with victims() as pids, tempfile.TemporaryDirectory() as work:
        for name, (expected, text) in TABLE.items():
            out = os.path.join(work, f"{name}.otlp")
            status, said = record(name, pids, out)
            found = seen(status, pids, out)
            if not tap.check(f"without {name or 'any of them missing'}: what is lost, and what is said",
                             found == expected and (text in said if text else "no CAP_" not in said)):
                tap.note(f"{found}, expected {expected}\n{said[:1500]}")
            line = next((line for line in said.splitlines() if "no CAP_" in line), "")
            lines.append(row(name, found, line))
    if sys.argv[1:2] == ["--write"]:
        with open(sys.argv[2], "w") as file:
            file.write("\n".join(lines) + "\n")
    tap.end()


if __name__ == "__main__":
    main()
