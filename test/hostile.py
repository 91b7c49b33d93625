#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Does wick survive processes and files made to break a profiler?

Each case is recorded at 997 Hz. wick must end with the command's status, write a profile that can be read, keep the
samples, and stay below RSS_LIMIT in all its processes together. Its peak and what it said are kept in the log.
"""
import os
import random
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time

import lang_hotspot
from common import RATE_HZ, VICTIMS, WICK, Recording, Tap, privileged_or_skip
from runtime_profile import Stacks
from served import Served

SECONDS = 3
ENOUGH = SECONDS * RATE_HZ * 9 // 10
RSS_LIMIT_MIB = 128
HOSTILE = os.path.join(VICTIMS, "hostile")
UNFILLED = ["python3", os.path.join(os.path.dirname(os.path.abspath(__file__)), "victims", "python", "unfilled.py")]
STATIC = os.path.join(VICTIMS, "v-static")
BROKEN_FILES = 24
SEED = 20260101


class Peak(threading.Thread):
    """The highest sum of resident memory over all processes that run the wick binary."""

    def __init__(self):
        super().__init__(daemon=True)
        self.mib = 0.0
        self.stop = False

    def run(self):
        while not self.stop:
            self.mib = max(self.mib, self.measure())
            time.sleep(0.05)

    @staticmethod
    def measure():
        total = 0
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                if os.readlink(f"/proc/{pid}/exe") != os.path.realpath(WICK):
                    continue
                with open(f"/proc/{pid}/status", encoding="utf-8", errors="replace") as file:
                    total += sum(int(line.split()[1]) for line in file if line.startswith("VmRSS:"))
            except OSError:
                pass
        return total / 1024


def survive(tap, name, command, executable, minimum=100, status=0):
    """One case: at least `minimum` samples of the executable, whatever they look like."""
    peak = Peak()
    peak.start()
    recording = Recording([], command, timeout=120).wait()
    peak.stop = True
    peak.join()
    said = recording.stderr.decode(errors="replace").strip().replace("\n", "\n  ")
    tap.note(f"{name}: peak {peak.mib:.0f} MiB\n  {said}")
    try:
        samples = recording.profile().of(executable)
    except (OSError, ValueError, KeyError, IndexError) as error:
        tap.check(f"hostile {name}", False, f"status {recording.status}, no readable profile: {error}")
        return None
    count = sum(s.count for s in samples)
    tap.check(f"hostile {name}", recording.status == status and count >= minimum and peak.mib <= RSS_LIMIT_MIB,
              f"status {recording.status}, {count} samples, peak {peak.mib:.0f} MiB")
    return samples


def write(path, content, mode=0o755):
    with open(path, "wb") as file:
        file.write(content)
    os.chmod(path, mode)
    return path


def read(path):
    with open(path, "rb") as file:
        return file.read()


def with_own_build_id(content, pick):
    """What is known of a file is kept by build id; a changed file needs one of its own to be read at all."""
    at = content.index(b"\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0") + 16
    return content[:at] + pick.randbytes(20) + content[at + 20:]


def sections_65535(content):
    """The same program with 65,535 section headers of nonsense behind it; the kernel does not look at them."""
    changed = bytearray(content)
    struct.pack_into("<Q", changed, 40, len(content))
    struct.pack_into("<HHH", changed, 58, 64, 65535, 65534)
    pick = random.Random(SEED)
    header = b"".join(
    struct.pack(
        "<IIQQQQIIQQ", pick.randrange(
            1 << 16), pick.randrange(20), 2, pick.randrange(
                1 << 40), pick.randrange(
                    1 << 24), pick.randrange(
                        1 << 30), pick.randrange(70000), 0, 1, 24) for _ in range(1000))
    return bytes(changed) + header * 65 + header[:535 * 64]


def section_ranges(content):
    """{name: (offset, size)} of the parts that no running program needs."""
    shoff = struct.unpack_from("<Q", content, 40)[0]
    count, names_index = struct.unpack_from("<HH", content, 60)
    headers = [struct.unpack_from("<IIQQQQIIQQ", content, shoff + i * 64) for i in range(count)]
    names_at = headers[names_index][4]
    found = {"section headers": (shoff, count * 64)}
    for header in headers:
        end = content.index(b"\0", names_at + header[0])
        name = content[names_at + header[0]:end].decode()
        if name in (".eh_frame", ".symtab", ".strtab", ".shstrtab"):
            found[name] = (header[4], header[5])
    return found


def broken_copies(content, pick):
    ranges = list(section_ranges(content).values())
    for number in range(BROKEN_FILES):
        changed = bytearray(content)
        offset, size = ranges[number % len(ranges)]
        for _ in range(1 + number * 4):
            changed[offset + pick.randrange(size)] = pick.choice((0, 0x7f, 0x80, 0xff, pick.randrange(256)))
        yield with_own_build_id(bytes(changed), pick)


def junk_elf(pick):
    """An ELF header whose numbers are huge or random, then noise."""
    head = b"\x7fELF\x02\x01\x01" + bytes(9) + struct.pack("<HHI", 3, 62 if os.uname().machine == "x86_64" else 183, 1)
    return head + pick.randbytes(3 * 4096)


def case_broken(tap, folder):
    pick = random.Random(SEED)
    names = []
    for number, content in enumerate(broken_copies(read(STATIC), pick)):
        names.append(write(os.path.join(folder, f"v-broken-{number}"), content))
    script = "; ".join(f"{path} 0.2 >/dev/null" for path in names)
    samples = survive(tap, "broken sections", ["sh", "-c", script], r"^v-broken", minimum=BROKEN_FILES * 100)
    if samples is not None:
        seen = {s.executable for s in samples}
        tap.check("hostile broken sections keep every program", len(seen)
                  == BROKEN_FILES, f"{len(seen)} of {BROKEN_FILES} seen")


def case_lines(tap):
    """The kernel's own limit is below 100,000; it is raised meanwhile, where that is allowed."""
    limit = "/proc/sys/vm/max_map_count"
    before = read(limit)

    def set_limit(text):
        try:
            with open(limit, "wb") as file:
                file.write(text)
        except OSError as error:
            tap.note(f"max_map_count stays {before.decode().strip()}: {error}")

    set_limit(b"262144")
    try:
        survive(tap, "100,000 lines of maps", [HOSTILE, "lines", str(SECONDS), "100000"], "^hostile$", minimum=ENOUGH)
    finally:
        set_limit(before)


def replaced_by(folder, name, make_node):
    """A command whose executable's path becomes something else while it runs."""
    path = os.path.join(folder, name)
    shutil.copy(STATIC, path)
    make_node(path + ".new")
    return ["sh", "-c", f"{path} {SECONDS} >/dev/null & sleep 0.3; mv {path}.new {path}; wait"]


def case_unfilled(tap):
    """A process that lets whoever reads of its memory wait for ever. It outlives the recording; others are named."""
    victim = subprocess.Popen(UNFILLED, stdout=subprocess.PIPE)
    try:
        ready = victim.stdout.readline().split()
        if not ready:
            tap.skip("hostile memory that is never there", "the kernel has no userfaultfd, or does not let us have it")
            return
        recording = Recording(["-d", str(SECONDS), *(f"-p{pid.decode()}" for pid in ready)], timeout=60).wait()
        tap.note(recording.said())
        said = recording.stderr.decode(errors="replace")
        tap.check("hostile memory that is never there", recording.status == 0 and "processes_unresponsive" in said,
                  f"status {recording.status}")
        if recording.status:
            return
        stacks = Stacks(recording.profile(), int(ready[1]), "cpython")
        named = sum(count for frames, count, _ in stacks.all if any(f.name == "plain" for f in frames))
        tap.check("hostile memory leaves others their names", named > 0.5 * stacks.count > 0,
                  f"{named} of {stacks.count} samples")
    finally:
        victim.kill()
        victim.communicate()


def wait_for_work(victim):
    """Until it has used some CPU time: the code that it needs is in memory then."""
    while victim.poll() is None:
        if int(read(f"/proc/{victim.pid}/stat").rsplit(b")", 1)[1].split()[11]) >= os.sysconf("SC_CLK_TCK") / 2:
            return
        time.sleep(0.05)


def case_served(tap, folder):
    """A program from a mount whose server answers no more once it runs. Others that run keep their stacks."""
    mount = os.path.join(folder, "served")
    os.mkdir(mount)
    try:
        served = Served(mount, "v-served", read(STATIC))
    except OSError as error:
        tap.skip("hostile mount that answers no more", f"there is no FUSE here: {error}")
        return
    victims = []
    try:
        for path in (os.path.join(mount, "v-served"), STATIC):
            victims.append(subprocess.Popen([path, "60"], stdout=subprocess.DEVNULL))
        wait_for_work(victims[0])
        served.stop()
        recording = Recording(["-d", str(SECONDS), *(f"-p{victim.pid}" for victim in victims)], timeout=60).wait()
        tap.note(recording.said())
        said = recording.stderr.decode(errors="replace")
        tap.check("hostile mount that answers no more", recording.status == 0 and "processes_unresponsive" in said,
                  f"status {recording.status}")
        count = sum(s.count for s in recording.profile().of("^v-static$")) if recording.status == 0 else 0
        tap.check("hostile mount leaves others their samples", count > 0, f"{count} samples")
    finally:
        for victim in victims:
            victim.kill()
        served.close()
        for victim in victims:
            victim.wait()


def stop_readers(of_pid):
    """Holds the processes that read files for that wick, until they are killed for it. How many there were."""
    stopped = 0
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
                comm, rest = file.read().split("(", 1)[1].rsplit(")", 1)
            if comm == "wick: reader" and int(rest.split()[1]) == of_pid:
                os.kill(int(pid), signal.SIGSTOP)
                stopped += 1
        except OSError:
            pass
    return stopped


def case_slow_reader(tap, folder):
    """A file that is read for ever: whoever runs it, and what they run beside it, is sampled all the same."""
    pick = random.Random(SEED + 1)
    names = ["v-slow", "v-later"]
    for name in names:
        write(os.path.join(folder, name), with_own_build_id(read(STATIC), pick))
    begun = os.path.join(folder, "begun")
    os.mkfifo(begun)
    # Programs that start all the time are events, for which there is little room in the kernel.
    script = f"{STATIC} 8 >/dev/null & echo >{begun}; sleep 1; {folder}/v-slow 3 >/dev/null & " \
             "i=0; (while [ $i -lt 3000 ]; do i=$((i+1)); /bin/true; done) & sleep 3; " \
             f"{folder}/v-later 2 >/dev/null; wait"
    recording = Recording([], ["sh", "-c", script], timeout=120)
    with open(begun, encoding="ascii") as file:
        file.read()
    stopped = stop_readers(recording.process.pid)
    recording.wait()
    tap.note(recording.said())
    said = recording.stderr.decode(errors="replace")
    lost = "samples_lost" in said or "process_events_lost" in said
    tap.check("hostile file that is read for ever loses neither samples nor events", recording.status == 0 and stopped and not lost,
              f"status {recording.status}, {stopped} readers stopped")
    profile = recording.profile()
    for name, minimum in (("v-static", 5 * RATE_HZ), ("v-slow", 2 * RATE_HZ), ("v-later", RATE_HZ)):
        count = sum(s.count for s in profile.of(f"^{name}$"))
        tap.check(f"hostile file that is read for ever leaves {name} its samples", count >= minimum, f"{count} samples")
    later = profile.of("^v-later$")
    whole = sum(s.count for s in later if "main" in s.user)
    count = sum(s.count for s in later)
    tap.check("hostile file that is read for ever delays nothing but itself", whole >= 0.9 * count > 0,
              f"{whole} of {count} stacks of v-later from main on")


def case_java(tap):
    """JVMs that write over their own structures, one after the other: each falls soon, and not always the same way."""
    try:
        java = os.path.join(lang_hotspot.install("jdk", lang_hotspot.VERSION), "bin", "java")
        lang_hotspot.build()
    except (OSError, subprocess.CalledProcessError) as error:
        tap.skip("hostile JVMs", str(error))
        return
    options = "-XX:+SuppressFatalErrorMessage -XX:TieredStopAtLevel=1 -Xmx64m"
    survive(tap, "JVMs that corrupt themselves", [
        "sh", "-c", f"for seed in 0 1 2 3 4 5 6 7; do timeout -s KILL 5 {java} {options} -cp {lang_hotspot.FOLDER} "
        "Corrupt $seed 1000 >/dev/null 2>&1; done; true"], "^java$", minimum=300)


def main():
    tap = Tap()
    if not privileged_or_skip(tap, "hostile"):
        tap.end()
    pick = random.Random(SEED)
    seconds = str(SECONDS)
    with tempfile.TemporaryDirectory(prefix="wick-hostile-") as folder:
        survive(tap, "maps and unmaps", [HOSTILE, "maps", seconds], "^hostile$", minimum=ENOUGH)
        case_lines(tap)
        case_java(tap)
        survive(
    tap, "truncated while mapped", [
        HOSTILE, "truncate", seconds, os.path.join(
            VICTIMS, "libv-dl.so")], "^hostile$", minimum=ENOUGH)
        junk = write(os.path.join(folder, "junk"), junk_elf(pick))
        survive(tap, "random bytes with ELF magic", [HOSTILE, "run",
                seconds, junk, "0x1000"], "^hostile$", minimum=ENOUGH)
        survive(tap, "code in /dev/zero", [HOSTILE, "run", seconds, "/dev/zero", "0x1000"], "^hostile$", minimum=ENOUGH)
        survive(tap, "path becomes a FIFO", replaced_by(folder, "v-fifo", os.mkfifo), "^v-fifo", minimum=ENOUGH)
        survive(
    tap,
    "path becomes a device",
    replaced_by(
        folder,
        "v-device",
        lambda p: os.symlink(
            "/dev/zero",
            p)),
            "^v-device",
             minimum=ENOUGH)
        newline = os.path.join(folder, "new\nline\t\\012")
        os.mkdir(newline)
        shutil.copy(STATIC, os.path.join(newline, "v-new\nline"))
        survive(tap, "newlines in the path", [os.path.join(newline, "v-new\nline"), seconds], "^v-new", minimum=ENOUGH)
        many = write(os.path.join(folder, "v-sections"), sections_65535(with_own_build_id(read(STATIC), pick)))
        survive(tap, "65,535 sections", [many, seconds], "^v-sections$", minimum=ENOUGH)
        survive(tap, "500 processes at a time", [HOSTILE, "forks", seconds, "500"], "^hostile$", minimum=500)
        case_slow_reader(tap, folder)
        case_broken(tap, folder)
        case_unfilled(tap)
        case_served(tap, folder)
    tap.end()


if __name__ == "__main__":
    sys.exit(main())
