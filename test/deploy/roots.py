#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""roots.py [--write FILE] [NAME...]: the archive of `make tarball` in roots of other distributions, which have never seen wick: it is
installed there by its script, with the tools that the root has, and records a program of that root, whose functions it names. Roots are
unpacked from the packages of each distribution. --write: puts a table of them into that document. Prints TAP."""
import contextlib
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.join(HERE, "..", "..")
sys.path.insert(0, os.path.join(HERE, ".."))
import common  # noqa: E402

# What a small root has: a shell, its tools, and a program that is busy for as long as it is let.
PACKAGES = ["base-files", "base-passwd", "libc-bin", "dash", "bash", "coreutils", "sed", "grep", "tar", "gzip", "perl-base"]
SUITES = {"debian-11": "bullseye", "debian-12": "bookworm", "debian-13": "trixie", "debian-sid": "sid", "ubuntu-16.04": "xenial",
          "ubuntu-18.04": "bionic", "ubuntu-20.04": "focal", "ubuntu-22.04": "jammy", "ubuntu-24.04": "noble", "ubuntu-26.04": "resolute"}
# Perls that are older than those that wick reads the subs of: their functions in C have names.
OLD_PERL = {"ubuntu-16.04", "ubuntu-18.04"}
BUSY = ["/usr/bin/perl", "-e", "sub leaf { my $x = shift; $x = $x * 3 % 1000003 for 1 .. 1000; $x } while (1) { leaf(7) }"]


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)


def unpack_suite(suite, root):
    said = run(os.path.join(TOP, "tools", "debs.sh"), "--deps", suite, "amd64", root, *PACKAGES)
    # What maintainers' scripts would do.
    for link, target in (("bin/sh", "dash"), ("usr/bin/sh", "dash"), ("usr/bin/awk", "mawk")):
        path = os.path.join(root, link)
        if os.path.exists(os.path.join(os.path.dirname(path), target)) and not os.path.lexists(path):
            os.symlink(target, path)
    return said


def unpack_busybox(root):
    for folder in ("bin", "etc"):
        os.mkdir(os.path.join(root, folder))
    shutil.copy(shutil.which("busybox"), os.path.join(root, "bin", "busybox"))
    return run("chroot", root, "/bin/busybox", "--install", "-s", "/bin")


class Root:
    def __init__(self, path):
        self.path = path
        for folder in ("proc", "sys", "tmp", "dev"):
            os.makedirs(os.path.join(path, folder), exist_ok=True)
        open(os.path.join(path, "dev", "null"), "a").close()

    def command(self, *arguments):
        mounts = (f"mount --bind /proc {self.path}/proc && mount --rbind /sys {self.path}/sys && mount --bind /dev/null {self.path}/dev/null && "
                  f"exec chroot {self.path} \"$@\"")
        return ["unshare", "--mount", "sh", "-c", mounts, "sh", *arguments]

    def run(self, *arguments):
        return run(*self.command(*arguments))

    @contextlib.contextmanager
    def busy(self, command):
        process = subprocess.Popen(self.command(*command), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            yield process
        finally:
            process.kill()
            process.wait()


def archive():
    return sorted(glob.glob(os.path.join(common.BUILD, "wick-*-linux-amd64.tar.gz")))[-1:]


def check_install(tap, name, root):
    with tempfile.TemporaryDirectory(dir=os.path.join(root.path, "tmp")) as folder:
        run("tar", "-C", folder, "--strip-components=1", "-xzf", archive()[0])
        os.chmod(folder, 0o755)
        said = root.run("/bin/sh", "/tmp/" + os.path.basename(folder) + "/install.sh")
    tap.check_or_note(f"{name}: its script installs it", said.returncode == 0, said.stdout + said.stderr)
    version = root.run("/usr/local/bin/wick", "--version")
    tap.check_or_note(f"{name}: it starts", version.returncode == 0 and version.stdout.startswith("wick"), version.stdout + version.stderr)


def names(report):
    return {row["name"] for row in json.loads(report.stdout)["rows"]} if report.returncode == 0 else set()


def check_record(tap, name, root, command, wanted, wick="/usr/local/bin/wick"):
    """A recording of a program of the root, whose functions have names, and a flame graph of it."""
    with root.busy(command) as process:
        time.sleep(0.5)
        said = root.run(wick, "record", "-F", "199", "-d", "3", "-p", str(process.pid), "-o", "/tmp/out.otlp")
    tap.check_or_note(f"{name}: it records", said.returncode == 0, said.stderr[-500:])
    found = names(root.run(wick, "report", "--json", "/tmp/out.otlp"))
    tap.check_or_note(f"{name}: functions of its program have names", wanted <= found, sorted(found)[:30])
    drawn = root.run(wick, "convert", "/tmp/out.otlp", "/tmp/out.svg")
    svg = os.path.join(root.path, "tmp", "out.svg")
    text = ""
    if os.path.exists(svg):
        with open(svg) as file:
            text = file.read()
    tap.check_or_note(f"{name}: its flame graph has them", drawn.returncode == 0 and all(one in text for one in wanted), drawn.stderr)


class Table:
    """What the roots were, and what came of it."""

    def __init__(self):
        self.rows = []

    def add(self, tap, failed_before, root, libc, tools, program):
        self.rows.append((root, libc, tools, program, "ok" if tap.failed == failed_before else "FAILED"))

    def write(self, path):
        lines = ["| root | C library | installed by the tools of | what was recorded there, with names | |", "|---|---|---|---|---|"]
        lines += ["| " + " | ".join(row) + " |" for row in self.rows]
        with open(path) as file:
            text = file.read()
        begin, end = "<!-- by test/deploy/roots.py --write -->\n", "<!-- end -->"
        before, _, rest = text.partition(begin)
        with open(path, "w") as file:
            file.write(before + begin + "\n".join(lines) + "\n" + end + rest.partition(end)[2])


def said_version(root, *command):
    """The first number of a version in what a program of the root says of itself."""
    found = re.search(r"\bv?(\d+\.\d+[.\d]*)\s*$|\(v(\d+\.\d+\.\d+)\)", root.run(*command).stdout, re.M)
    return (found[1] or found[2]) if found else "?"


def check_suite(tap, table, name, work):
    path = os.path.join(work, name)
    os.mkdir(path)
    said = unpack_suite(SUITES[name], path)
    if said.returncode:
        tap.skip(name, "its packages cannot be had: " + said.stderr.strip()[-200:])
        return
    root = Root(path)
    failed = tap.failed
    check_install(tap, name, root)
    check_record(tap, name, root, BUSY, {"Perl_runops_standard" if name in OLD_PERL else "main::leaf", "perl_run", "main"})
    table.add(tap, failed, name.replace("-", " ").capitalize(), "glibc " + said_version(root, "/usr/bin/ldd", "--version"), "coreutils, dash",
              "Perl " + said_version(root, "/usr/bin/perl", "-v") + (", without its subs: wick does not read so old ones" if name in OLD_PERL else ""))
    shutil.rmtree(path)


def check_musl(tap, table, work):
    """As Alpine's are: busybox, a loader and libc of musl, and a program that is linked with them."""
    path = os.path.join(work, "musl")
    os.mkdir(path)
    unpack_busybox(path)
    loader = "/lib/ld-musl-x86_64.so.1"
    if not os.path.exists(loader):
        tap.skip("musl", "needs musl-tools")
        return
    os.mkdir(os.path.join(path, "lib"))
    shutil.copy(os.path.realpath(loader), path + loader)
    shutil.copy(os.path.join(common.BUILD, "victims", "v-musl"), os.path.join(path, "bin", "spin"))
    root, failed = Root(path), tap.failed
    check_install(tap, "musl", root)
    check_record(tap, "musl", root, ["/bin/spin", "60"], {"leaf_a", "outer", "main"})
    table.add(tap, failed, "busybox and musl, as Alpine has them", "musl", "busybox", "a program of musl")


def check_busybox(tap, table, work):
    """No libc, no package manager; the program is linked statically with musl."""
    path = os.path.join(work, "busybox")
    os.mkdir(path)
    unpack_busybox(path)
    root, failed = Root(path), tap.failed
    check_install(tap, "busybox", root)
    shutil.copy(os.path.join(common.BUILD, "victims", "v-musl-static"), os.path.join(path, "bin", "spin"))
    check_record(tap, "busybox", root, ["/bin/spin", "60"], {"leaf_a", "outer", "main"})
    check_uninstall(tap, "busybox", root)
    table.add(tap, failed, "busybox alone", "none", "busybox", "a static program of musl")


def check_rpm(tap, work):
    """The package of `make rpm`, by rpm, in a root that has a shell for its scripts and nothing else."""
    path = os.path.join(work, "rpm")
    os.mkdir(path)
    unpack_busybox(path)
    root = Root(path)
    (package,) = sorted(glob.glob(os.path.join(common.BUILD, "wick-*-1.x86_64.rpm")))[-1:] or [None]
    if not package or not shutil.which("rpm"):
        tap.skip("the rpm", "needs make rpm")
        return
    rpm = lambda *arguments: run("rpm", "--root", path, "--nodeps", *arguments)
    said = rpm("-i", package)
    tap.check_or_note("rpm installs its package", said.returncode == 0 and "scriptlet failed" not in said.stderr, said.stderr)
    shutil.copy(os.path.join(common.BUILD, "victims", "v-musl-static"), os.path.join(path, "bin", "spin"))
    check_record(tap, "rpm", root, ["/bin/spin", "60"], {"leaf_a", "outer", "main"}, wick="/usr/bin/wick")
    config = os.path.join(path, "etc", "wick", "config.yaml")
    with open(config, "a") as file:
        file.write("# mine\n")
    said = rpm("-U", "--force", package)
    with open(config) as file:
        tap.check_or_note("an upgrade keeps a configuration", said.returncode == 0 and file.read().endswith("# mine\n"), said.stderr)
    said = rpm("-e", "wick")
    tap.check_or_note("rpm takes it away", said.returncode == 0 and not os.path.exists(os.path.join(path, "usr/bin/wick")), said.stderr)


def check_uninstall(tap, name, root):
    with tempfile.TemporaryDirectory(dir=os.path.join(root.path, "tmp")) as folder:
        run("tar", "-C", folder, "--strip-components=1", "-xzf", archive()[0])
        os.chmod(folder, 0o755)
        root.run("/bin/sh", "/tmp/" + os.path.basename(folder) + "/install.sh", "--uninstall")
        kept = os.path.exists(os.path.join(root.path, "etc/wick/config.yaml"))
        root.run("/bin/sh", "/tmp/" + os.path.basename(folder) + "/install.sh", "--purge")
    left = [os.path.join(at, one) for at, _, files in os.walk(root.path) for one in files if "wick" in one and not at.startswith(root.path + "/proc")]
    tap.check_or_note(f"{name}: its script takes it away, the configuration last", kept and not left and
                      not os.path.exists(os.path.join(root.path, "etc/wick")), left)


def main(arguments):
    tap, table = common.Tap(), Table()
    write = arguments[1] if arguments[:1] == ["--write"] else None
    wanted = arguments[2 if write else 0:]
    if not common.privileged_or_skip(tap, "roots of other distributions"):
        tap.end()
    if not archive():
        tap.skip("roots of other distributions", "needs make tarball")
        tap.end()
    with tempfile.TemporaryDirectory(prefix="wick-roots-") as work:
        os.chmod(work, 0o755)
        if not wanted or "busybox" in wanted:
            check_busybox(tap, table, work)
        if not wanted or "musl" in wanted:
            check_musl(tap, table, work)
        if not wanted or "rpm" in wanted:
            check_rpm(tap, work)
        for name in SUITES:
            if not wanted or name in wanted:
                check_suite(tap, table, name, work)
    if write:
        table.write(write)
    tap.end()


if __name__ == "__main__":
    main(sys.argv[1:])
