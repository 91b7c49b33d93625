#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Two privileges, two processes: what the sampler and the service may do; a service that was taken over (system calls put into
it by a debugger that is root); hostile bytes to the sampler; each half killed and back."""
import ctypes
import datetime
import http.client
import json
import os
import random
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "collector"))
from process import TAP, WICK, free_port, listens, scrape, wait_for  # noqa: E402

START_SECONDS = 30
# dac_read_search, kill, setgid, setuid, sys_ptrace, sys_nice, sys_resource, syslog, perfmon, bpf, checkpoint_restore
SAMPLER_CAPS = {2, 5, 6, 7, 19, 23, 24, 34, 38, 39, 40}
CAP_SYS_ADMIN = 21


def status(pid):
    """The fields of /proc/PID/status."""
    with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as file:
        return dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)


def caps(pid, name):
    value = int(status(pid)[name], 16)
    return {bit for bit in range(64) if value >> bit & 1}


def children(pid, name):
    """Those of a process that are called so."""
    found = []
    for entry in os.listdir("/proc"):
        try:
            if entry.isdigit() and int(status(entry)["PPid"]) == pid and status(entry)["Name"] == name:
                found.append(int(entry))
        except (OSError, KeyError):
            pass
    return found


class Wick:
    """Plain `wick` with a store of its own, in a folder that its user can get to."""

    def __init__(self, options=()):
        self.folder = tempfile.mkdtemp(prefix="wick-privileges-")
        os.chmod(self.folder, 0o755)
        self.port = free_port()
        self.errors = os.path.join(self.folder, "stderr")
        self.command = [WICK, f"--listen=localhost:{self.port}", *(options or [f"--store.path={self.folder}/store"])]
        self.process = None

    def __enter__(self):
        with open(self.errors, "ab") as errors:
            self.process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=errors, stderr=errors)
        if not self.is_up():
            said = self.said()
            self.__exit__()
            raise RuntimeError("wick did not start: " + said)
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def is_up(self):
        return wait_for(lambda: self.process.poll() is not None or (listens(self.port) and self.sampler()), START_SECONDS) \
            and self.process.poll() is None

    def half(self, name):
        found = children(self.process.pid, name)
        return found[0] if found else None

    def sampler(self):
        return self.half("wick: sampler")

    def service(self):
        return self.half("wick: service")

    def said(self):
        with open(self.errors, encoding="utf-8", errors="replace") as file:
            return file.read()

    def total(self):
        """Samples in the store."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        connection.request("GET", "/api/v1/top?from=now-10m&rows=1")
        total = json.loads(connection.getresponse().read())["total"]
        connection.close()
        return total

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(20)

    def metric(self, name):
        try:
            return sum(value for series, labels, value in scrape(self.port)
                       if series == name and labels.get("receiver", "profiling") == "profiling")
        except (OSError, http.client.HTTPException):
            return 0

    def taken(self):
        return self.metric("otelcol_receiver_accepted_profile_samples")


# ---- What each may do ---------------------------------------------------------------------------------------------------

def check_rights(wick):
    service, sampler, first = wick.service(), wick.sampler(), wick.process.pid
    for name, pid in (("service", service), ("sampler", sampler)):
        mine = status(pid)
        TAP.check(f"the {name} can gain no privilege", mine["NoNewPrivs"] == "1", mine["NoNewPrivs"])
        TAP.check(f"the {name}'s system calls are filtered", mine["Seccomp"] == "2", mine["Seccomp"])
    users = set(status(service)["Uid"].split() + status(service)["Gid"].split())
    TAP.check("the service is a user of its own", len(users) == 1 and users.isdisjoint({"0", "65534"}), str(users))
    TAP.check("… in no group besides", status(service)["Groups"].strip() == "", status(service)["Groups"])
    for name in ("CapEff", "CapPrm", "CapInh", "CapBnd", "CapAmb"):
        TAP.check(f"the service has no capability ({name})", not caps(service, name), str(caps(service, name)))
        TAP.check(f"the sampler has those that sampling needs, at most ({name})", caps(sampler, name) <= SAMPLER_CAPS,
                  str(caps(sampler, name) - SAMPLER_CAPS))
    TAP.check("nobody has CAP_SYS_ADMIN, not even who starts them", CAP_SYS_ADMIN not in caps(first, "CapBnd"))
    TAP.check("the sampler opens no port", not [s for s in sockets(sampler) if s not in unix_sockets()], str(sockets(sampler)))
    mode = os.stat(f"{wick.folder}/store")
    TAP.check("the store is the service's alone", mode.st_uid == int(status(service)["Uid"].split()[0]) and
              mode.st_mode & 0o777 == 0o700, f"{mode.st_uid} {mode.st_mode:o}")


def sockets(pid):
    found = []
    for fd in os.listdir(f"/proc/{pid}/fd"):
        try:
            to = os.readlink(f"/proc/{pid}/fd/{fd}")
        except OSError:
            continue
        if to.startswith("socket:"):
            found.append(to[8:-1])
    return found


def unix_sockets():
    with open("/proc/net/unix", encoding="ascii", errors="replace") as file:
        return {line.split()[6] for line in file.readlines()[1:]}


# ---- A service that was taken over -----------------------------------------------------------------------------------------

class Registers(ctypes.Structure):
    _fields_ = [(name, ctypes.c_ulonglong) for name in (
        "r15 r14 r13 r12 rbp rbx r11 r10 r9 r8 rax rcx rdx rsi rdi orig_rax rip cs eflags rsp ss fs_base gs_base ds es fs gs").split()]


class Taken:
    """A process whose main thread makes the system calls that it is told to: who runs code in it can do no more. x86-64."""
    PEEK, POKE, CONT, GETREGS, SETREGS, SINGLESTEP, ATTACH, DETACH = 1, 4, 7, 12, 13, 9, 16, 17

    def __init__(self, pid):
        self.pid, self.libc = pid, ctypes.CDLL(None, use_errno=True)
        self.libc.ptrace.restype = ctypes.c_long
        self.libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]

    def ask(self, request, address=0, data=0):
        result = self.libc.ptrace(request, self.pid, address, data)
        if result == -1 and request != self.PEEK:
            raise OSError(ctypes.get_errno(), "ptrace")
        return result

    def registers(self):
        registers = Registers()
        self.ask(self.GETREGS, 0, ctypes.addressof(registers))
        return registers

    def __enter__(self):
        self.ask(self.ATTACH)
        os.waitpid(self.pid, 0)
        self.before = self.registers()
        self.memory = open(f"/proc/{self.pid}/mem", "r+b", buffering=0)  # pylint: disable=consider-using-with
        self.code = next(int(line.split("-")[0], 16) for line in open(f"/proc/{self.pid}/maps", encoding="ascii")
                         if " r-xp " in line and "libc" in line)
        self.scratch = self.before.rsp - 8192
        self.old_code, self.old_scratch = self.read(self.code, 8), self.read(self.scratch, 4096)
        self.write(self.code, b"\x0f\x05\xcc" + self.old_code[3:])
        return self

    def __exit__(self, *_):
        self.write(self.code, self.old_code)
        self.write(self.scratch, self.old_scratch)
        self.ask(self.SETREGS, 0, ctypes.addressof(self.before))
        self.memory.close()
        self.ask(self.DETACH)

    def read(self, address, length):
        self.memory.seek(address)
        return self.memory.read(length)

    def write(self, address, data):
        self.memory.seek(address)
        self.memory.write(data)

    def call(self, number, *arguments):
        """What the call returns: -errno for what is refused. Bytes are put into its memory."""
        given, at = [], self.scratch
        for argument in arguments:
            if isinstance(argument, bytes):
                self.write(at, argument)
                given.append(at)
                at += (len(argument) + 15) // 16 * 16
            else:
                given.append(argument)
        now = self.registers()
        now.rax, now.orig_rax, now.rip = number, 2**64 - 1, self.code
        now.rdi, now.rsi, now.rdx, now.r10, now.r8, now.r9 = [a % 2**64 for a in given] + [0] * (6 - len(given))
        self.ask(self.SETREGS, 0, ctypes.addressof(now))
        self.ask(self.CONT)
        _, how = os.waitpid(self.pid, 0)
        assert os.WIFSTOPPED(how) and os.WSTOPSIG(how) == signal.SIGTRAP, how
        result = self.registers().rax
        return result - 2**64 if result >= 2**63 else result


def check_taken(wick):
    """Each is tried by the service, and by this test, root, for whom it works: else it would prove nothing."""
    sampler, victim = wick.sampler(), subprocess.Popen(["sleep", "60"])
    other = subprocess.Popen(["sleep", "60"], user=int(status(wick.service())["Uid"].split()[0]), group=65534, extra_groups=[])
    vector = struct.pack("<QQ", 0, 8)
    attributes = struct.pack("<II", 1, 112).ljust(112, b"\0")
    with Taken(wick.service()) as taken:
        tries = {
            "make a BPF map": (321, 0, struct.pack("<IIIII", 2, 4, 8, 1, 0).ljust(128, b"\0"), 128),
            "load a BPF program": (321, 5, struct.pack("<IIQQ", 1, 2, 0, 0).ljust(128, b"\0"), 128),
            "open a perf event": (298, attributes, -1 % 2**32, 0, -1 % 2**64, 0),
            "read /etc/shadow": (2, b"/etc/shadow\0", 0),
            "write to /etc": (2, b"/etc/wick-was-here\0", os.O_CREAT | os.O_WRONLY, 0o644),
            "trace the sampler": (101, 16, sampler, 0, 0),
            "trace a process of root's": (101, 16, victim.pid, 0, 0),
            "trace a process of its own user": (101, 16, other.pid, 0, 0),
            "read a process's memory": (310, victim.pid, vector, 1, vector, 1, 0),
            "read its own user's process's memory": (310, other.pid, vector, 1, vector, 1, 0),
            "write a process's memory": (311, other.pid, vector, 1, vector, 1, 0),
            "open a process's memory": (2, f"/proc/{sampler}/mem\0".encode(), os.O_RDWR),
            "read the environment of another's": (2, f"/proc/{victim.pid}/environ\0".encode(), 0),
            "signal the sampler": (62, sampler, signal.SIGTERM),
            "signal the sampler's thread": (234, sampler, sampler, signal.SIGTERM),
            "signal who has started it": (62, wick.process.pid, signal.SIGKILL),
            "signal a process of its own user": (62, other.pid, signal.SIGKILL),
            "signal all": (62, -1 % 2**64, 0),
            "become root": (105, 0),
            "make a namespace": (272, 0x10000000),
            "make one by clone": (56, 0x10000000 | signal.SIGCHLD, 0, 0, 0, 0),
            "mount": (165, b"none\0", b"/mnt\0", b"tmpfs\0", 0, 0),
            "load a module": (313, 0, b"\0", 0),
            "set up io_uring": (425, 4, bytes(120)),
            "catch page faults": (323, 0),
            "use keys": (250, 0, -3 % 2**64, 0),
            "join a namespace": (308, 0, 0),
            "open by handle": (304, -100 % 2**64, bytes(32), 0),
            "take a descriptor of another's": (438, 0, 0, 0),
        }
        for what, call in tries.items():
            got = taken.call(*call)
            TAP.check(f"a service that was taken over cannot {what}", got in (-1, -13), str(got))
        alive = taken.call(39)
        TAP.check("… and does make calls that it may", alive == wick.service(), str(alive))
        TAP.check("… its own memory file is all it opens", taken.call(2, b"/proc/self/status\0", 0) > 2)
    TAP.check("the sampler lives", wick.sampler() == sampler and victim.poll() is None and other.poll() is None)
    libc = ctypes.CDLL(None, use_errno=True)
    made = libc.syscall(321, 0, ctypes.create_string_buffer(struct.pack("<IIIII", 2, 4, 8, 1, 0).ljust(128, b"\0")), 128)
    TAP.check("root can make that BPF map", made > 0, str(ctypes.get_errno()))
    for process in (victim, other):
        process.kill()
        process.wait()
    before = wick.taken()
    TAP.check("the service goes on", wait_for(lambda: wick.taken() > before, 20))


# ---- Hostile bytes to the sampler ------------------------------------------------------------------------------------------

def borrow(pid, fd):
    """A copy of a descriptor of another process."""
    libc = ctypes.CDLL(None, use_errno=True)
    pidfd = libc.syscall(434, pid, 0)
    copy = libc.syscall(438, pidfd, fd, 0)
    os.close(pidfd)
    return copy


def channel(wick):
    """The service's end of the connection to the sampler, borrowed: of the pairs that the supervisor has made, and not that to
    itself, the third descriptor."""
    service = wick.service()
    for fd in sorted(int(name) for name in os.listdir(f"/proc/{service}/fd")):
        copy = borrow(service, fd) if fd > 3 and os.readlink(f"/proc/{service}/fd/{fd}").startswith("socket:") else -1
        if copy < 0:
            continue
        found = socket.socket(fileno=copy)
        if found.family == socket.AF_UNIX and \
           struct.unpack("iII", found.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0] == wick.process.pid:
            return found
        found.close()
    return None


def frame(kind, body, magic=0x6b636977, version=2):
    return struct.pack("<IHH", magic, version, kind) + body


def boost(number=1, rate=999, seconds=600, pid=1, service=b""):
    """A wish to sample a process faster: the last of these are good ones."""
    return frame(4, struct.pack("<IHHIBI", number, rate, seconds, pid, 0, 0) + bytes([len(service)]) + service + bytes(4))


def check_bytes(wick):
    rng = random.Random(7)
    sampler = wick.sampler()
    if borrow(os.getpid(), 0) < 0:
        TAP.skip("hostile bytes", "this kernel gives no descriptors of others")
        return
    hostile = [frame(3, struct.pack("<Q", 0)), frame(3, struct.pack("<Q", 2**64 - 1)), frame(1, bytes(16)), frame(2, bytes(4)),
               frame(3, b"short"), frame(3, bytes(9)), frame(9, bytes(8)), frame(3, bytes(8), magic=1), frame(3, bytes(8), version=1),
               frame(0, b""), rng.randbytes(4096), b"\0" * 100000, frame(5, bytes(16)), boost(rate=1000), boost(rate=65535), boost(seconds=601),
               boost(rate=0), boost(pid=0), boost(number=0), boost(service=b"a\n"), boost(service=b"a\0"), boost(service=b"\xff"), boost()[:-1],
               boost() + b"\0", boost(), boost(rate=0, seconds=0, pid=0)]
    for number, data in enumerate(hostile):
        connection = None
        ends = time.monotonic() + 10
        while not connection and time.monotonic() < ends:
            connection = channel(wick)
        if not TAP.check(f"hostile bytes {number}: the service is attached", connection):
            return
        with connection:
            connection.setblocking(False)
            for _ in range(200):
                try:
                    connection.send(data)
                except OSError:
                    break
        before = wick.taken()
        TAP.check(f"hostile bytes {number} change nothing: the same sampler goes on",
                  wait_for(lambda: wick.taken() > before, 20) and wick.sampler() == sampler)


# ---- Either half is killed --------------------------------------------------------------------------------------------------

def cpu_seconds(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def stored_seconds(wick, pid):
    """The CPU time that the store has of a process, once a window has come that began after now."""
    time.sleep(3)
    connection = http.client.HTTPConnection("127.0.0.1", wick.port, timeout=20)
    connection.request("GET", f"/api/v1/top?from=now-10m&rows=1&pid={pid}")
    total = json.loads(connection.getresponse().read())["total"]
    connection.close()
    return total / 20      # samples a second


def kill(wick, name, number):
    """One half, at a moment that nobody has chosen; the other stays, and both are back."""
    service, sampler = wick.service(), wick.sampler()
    os.kill(wick.half(f"wick: {name}"), signal.SIGKILL)
    if name == "sampler":
        came = wait_for(lambda: wick.sampler() not in (None, sampler), 20)
        stayed = wick.service() == service
    else:
        came = wait_for(lambda: wick.service() not in (None, service) and listens(wick.port), 20)
        stayed = wick.sampler() == sampler
    TAP.check(f"kill -9 of the {name}, {number}: it comes back, the other half stays", came and stayed, "" if came and stayed else wick.said()[-500:])
    before = wick.taken()
    TAP.check(f"kill -9 of the {name}, {number}: samples arrive again", wait_for(lambda: wick.taken() > before, 20))


def seconds_without(wick):
    """How long there was no sampler, as the service tells it: the kernel takes its time to take the programs."""
    total, gone = 0, None
    for line in wick.said().splitlines():
        if "the sampler is gone; " not in line and "sampling again" not in line:
            continue
        at = datetime.datetime.fromisoformat(line.split("\t")[0].replace("Z", "+00:00")).timestamp()
        if "gone" in line:
            gone = at
        elif gone:
            total, gone = total + at - gone, None
    return total


def check_kills(wick, rounds=3):
    """What a busy process took while one half was killed again and again is in the store, but for a window at each time, and
    what passed without a sampler."""
    rng = random.Random()
    for name in ("service", "sampler"):
        with subprocess.Popen(["nice", "-n", "-10", "sh", "-c", "while :; do :; done"]) as busy:
            time.sleep(1)
            for number in range(rounds):
                time.sleep(3 + rng.random())
                kill(wick, name, number)
            without = seconds_without(wick) if name == "sampler" else 0
            allowed = without + rounds * 1.2 + 1
            # So much that it can be told from what may be missing, however busy the machine is.
            wait_for(lambda: cpu_seconds(busy.pid) > 1.3 * allowed, 60, 0.1)  # pylint: disable=cell-var-from-loop
            busy.send_signal(signal.SIGSTOP)
            used, found = cpu_seconds(busy.pid), stored_seconds(wick, busy.pid)
            busy.kill()
        TAP.check(f"kill -9 of the {name}: no more than a window is lost each time",
                  used > 1.3 * allowed and -0.1 * used - 1 <= used - found <= allowed,
                  f"{used:.1f} s used, {found:.1f} s in the store, {without:.1f} s without a sampler")


# ---- Others ------------------------------------------------------------------------------------------------------------------

def check_stop(wick):
    halves = wick.service(), wick.sampler()
    wick.process.send_signal(signal.SIGTERM)
    TAP.check("SIGTERM ends all of it well", wick.process.wait(20) == 0)
    TAP.check("nobody is left behind", not any(os.path.exists(f"/proc/{pid}") for pid in halves))


def check_store_of_before():
    """A store that a wick of one process, root, has left is taken over whole, and can be given back."""
    with tempfile.TemporaryDirectory(prefix="wick-privileges-") as folder:
        os.chmod(folder, 0o755)
        seen = []
        for how in ("keep", "split", "keep"):
            with Wick([f"--privileges={how}", f"--store.path={folder}/store"]) as wick:
                wait_for(lambda: wick.taken() > 0, 20)  # pylint: disable=cell-var-from-loop
                owner = os.stat(f"{folder}/store").st_uid
                seen.append((how, owner, all(os.stat(f"{folder}/store/{name}").st_uid == owner
                                             for name in os.listdir(f"{folder}/store")), wick.total()))
                TAP.check(f"{how}: it stops", wick.stop() == 0)
        owners = [owner for _, owner, _, _ in seen]
        TAP.check("the store of root's becomes the service's, and root's again", owners[0] == owners[2] == 0 != owners[1] and
                  all(whole for _, _, whole, _ in seen), str(seen))
        TAP.check("… with all that is in it", seen[0][3] <= seen[1][3] <= seen[2][3], str(seen))


def check_gateway(key_mode):
    """What samples nothing is one process, confined the same; where it has to use a file of root's it stays root, without
    capabilities."""
    with tempfile.TemporaryDirectory(prefix="wick-privileges-") as folder:
        os.chmod(folder, 0o755)
        port = free_port()
        with open(f"{folder}/token", "w", encoding="ascii") as file:
            file.write("secret")
        os.chmod(f"{folder}/token", key_mode)
        with open(f"{folder}/config.yaml", "w", encoding="ascii") as file:
            json.dump({"receivers": {"otlp": {"protocols": {"http": {"endpoint": f"127.0.0.1:{port}", "auth": {
                "authenticator": "bearertokenauth"}}}}}, "exporters": {"nop": {}}, "extensions": {"bearertokenauth": {
                    "filename": f"{folder}/token"}}, "service": {"extensions": ["bearertokenauth"], "telemetry": {"metrics": {
                        "level": "none"}}, "pipelines": {"profiles": {"receivers": ["otlp"], "exporters": ["nop"]}}}}, file)
        with subprocess.Popen([WICK, f"--config={folder}/config.yaml"], stderr=subprocess.DEVNULL) as process:
            up = wait_for(lambda: listens(port), START_SECONDS)
            mine = status(process.pid) if up else {}
            process.terminate()
            ended = process.wait(20)
    is_root = key_mode & 0o044 == 0
    name = f"a collector with a token that {'only root' if is_root else 'all'} may read"
    if TAP.check(f"{name} starts and ends", up and ended == 0):
        TAP.check(f"{name} is {'root' if is_root else 'a user of its own'}", (mine["Uid"].split()[0] == "0") == is_root, mine["Uid"])
        TAP.check(f"{name} has no capability, can gain none, and is filtered", int(mine["CapPrm"], 16) == int(mine["CapBnd"], 16) == 0
                  and mine["NoNewPrivs"] == "1" and mine["Seccomp"] == "2", str(mine["CapPrm"]))


# ---- A service that had to stay root ------------------------------------------------------------------------------------------

CREATE, WRITE = os.O_CREAT | os.O_WRONLY, os.O_WRONLY


def landlock_abi():
    return max(0, ctypes.CDLL(None).syscall(444, None, 0, 1))


def config_of_root(folder, port, **more):
    """A collector with a token of root's, so that it stays root."""
    return {"receivers": {"otlp": {"protocols": {"http": {"endpoint": f"127.0.0.1:{port}", "auth": {"authenticator": "bearertokenauth"}}}},
                          "profiling": {}},
            "exporters": {"store": {"path": f"{folder}/store"}, "file": {"path": f"{folder}/out/profiles.json"}, **more},
            "extensions": {"bearertokenauth": {"filename": f"{folder}/secrets/token"}, "page": {"endpoint": f"127.0.0.1:{port + 1}"}},
            "service": {"extensions": ["bearertokenauth", "page"], "telemetry": {"metrics": {"level": "none"}},
                        "pipelines": {"profiles": {"receivers": ["otlp", "profiling"], "exporters": ["store", "file", *more]}}}}


def write_config(folder, config):
    """As editors do: aside, then renamed."""
    with open(f"{folder}/etc/new", "w", encoding="ascii") as file:
        json.dump(config, file)
    os.rename(f"{folder}/etc/new", f"{folder}/etc/wick.yaml")


class OfRoot(Wick):
    """A wick whose service stays root for a token that only root may read."""

    def __init__(self):
        super().__init__()
        self.port = self.pair_of_ports()
        for name in ("etc", "secrets", "out", "beside", "more"):
            os.mkdir(f"{self.folder}/{name}", 0o755)
        with open(f"{self.folder}/secrets/token", "w", encoding="ascii") as file:
            file.write("secret")
        os.chmod(f"{self.folder}/secrets/token", 0o600)
        os.chmod(f"{self.folder}/secrets", 0o700)
        for name in ("beside/secret", "beside/mine"):
            with open(f"{self.folder}/{name}", "w", encoding="ascii") as file:
                file.write("of root's")
        write_config(self.folder, config_of_root(self.folder, self.port))
        self.command = [WICK, f"--config={self.folder}/etc/wick.yaml"]

    @staticmethod
    def pair_of_ports():
        while True:
            port = free_port()
            with socket.socket() as other:
                try:
                    other.bind(("127.0.0.1", port + 1))
                    return port
                except OSError:
                    pass


def root_tries(wick):
    """What files a service of root's could use to become root again, with what root gets from the same calls."""
    folder = wick.folder.encode()
    return {
        "read /etc/shadow": (2, b"/etc/shadow\0", 0),
        "read /etc/gshadow": (2, b"/etc/gshadow\0", 0),
        "read a file of root's beside its own": (2, folder + b"/beside/secret\0", 0),
        "list /root": (2, b"/root\0", os.O_DIRECTORY),
        "write to a file of root's": (2, folder + b"/beside/mine\0", WRITE),
        "write to the configuration": (2, folder + b"/etc/wick.yaml\0", WRITE),
        "write to its token": (2, folder + b"/secrets/token\0", WRITE),
        "make a file in /etc": (2, b"/etc/wick-was-here\0", CREATE, 0o644),
        "make one in /etc/cron.d": (2, b"/etc/cron.d/wick-was-here\0", CREATE, 0o644),
        "make one in /root": (2, b"/root/wick-was-here\0", CREATE, 0o644),
        "make one in /tmp": (2, b"/tmp/wick-was-here\0", CREATE, 0o644),
        "write to /proc/sys": (2, b"/proc/sys/kernel/core_pattern\0", WRITE),
        "delete a file of root's": (87, folder + b"/beside/secret\0"),
        "rename a file of root's": (82, folder + b"/beside/secret\0", folder + b"/out/secret\0"),
        "link a file of root's into its directory": (86, folder + b"/beside/secret\0", folder + b"/out/secret\0"),
        "shorten a file of root's": (76, folder + b"/beside/mine\0", 0),
        "make a directory": (83, folder + b"/beside/new\0", 0o755),
        "run a shell": (59, b"/bin/sh\0", 0, 0),
        "open the memory of a process of root's without capabilities": (2, f"/proc/{wick.process.pid}/mem\0".encode(), 0),
    }


def check_files_of_root(wick):
    with Taken(wick.service()) as taken:
        for what, call in root_tries(wick).items():
            got = taken.call(*call)
            # EXDEV: what is moved or linked from one directory to another where that is not allowed
            TAP.check(f"a service that stays root and was taken over cannot {what}", got in (-1, -13, -18), str(got))
        folder = wick.folder.encode()
        TAP.check("… but read its token", taken.call(2, folder + b"/secrets/token\0", 0) > 2)
        TAP.check("… but write to its directories", taken.call(2, folder + b"/out/x\0", CREATE, 0o600) > 2 and
                  taken.call(2, folder + b"/store/x\0", CREATE, 0o600) > 2 and taken.call(87, folder + b"/store/x\0") == 0)
    TAP.check("what it was kept from is as it was", all(os.path.getsize(f"{wick.folder}/beside/{name}") for name in ("mine", "secret")))
    for place in ("/etc", "/etc/cron.d", "/root", "/tmp"):
        if os.path.exists(f"{place}/wick-was-here"):
            os.unlink(f"{place}/wick-was-here")
    for what, call in root_tries(wick).items():     # root, for whom each works: else it would prove nothing
        if call[0] == 2 and not call[2]:
            TAP.check(f"root can {what}", os.path.exists(call[1].rstrip(b"\0").decode()))


def check_reload_of_root(wick):
    """SIGHUP: files in directories that were named before are used at once, by the same process; others by a new one."""
    service, sampler = wick.service(), wick.sampler()

    def reload(says, **more):
        before = wick.said().count(says)
        write_config(wick.folder, config_of_root(wick.folder, wick.port, **more))
        wick.process.send_signal(signal.SIGHUP)
        return wait_for(lambda: wick.said().count(says) > before, 20)

    done = reload("runs with the configuration as it is now", **{"file/2": {"path": f"{wick.folder}/out/two.json"}})
    TAP.check("SIGHUP with a file in a directory of before: the same service takes it", done and wick.service() == service)
    done = reload(f"is started again, to be let to {wick.folder}/more", **{"file/3": {"path": f"{wick.folder}/more/three.json"}})
    came = done and wait_for(lambda: wick.service() not in (None, service) and listens(wick.port), 20)
    TAP.check("SIGHUP with a file elsewhere: the service says so and is started again, the sampler stays", came and wick.sampler() == sampler)
    TAP.check("… and writes to it", wait_for(lambda: os.path.exists(f"{wick.folder}/more/three.json"), 20))
    write_config(wick.folder, {"nonsense": 1})
    service = wick.service()
    before = wick.said().count("the old one goes on running")
    wick.process.send_signal(signal.SIGHUP)
    TAP.check("SIGHUP with nonsense changes nothing", wait_for(lambda: wick.said().count("the old one goes on running") > before, 20)
              and wick.service() == service)


def check_root():
    if not landlock_abi():
        TAP.skip("a service that stays root", "this kernel has no Landlock")
        return
    with OfRoot() as wick:
        TAP.check("a service with a token of root's stays root", status(wick.service())["Uid"].split()[0] == "0")
        TAP.check("… and says what it may do", wait_for(lambda: "Landlock (ABI" in wick.said(), 20))
        check_files_of_root(wick)
        before = os.path.getsize(f"{wick.folder}/out/profiles.json")
        TAP.check("… and goes on to write", wait_for(lambda: os.path.getsize(f"{wick.folder}/out/profiles.json") > before, 20))
        check_reload_of_root(wick)
        check_stop(wick)


def main():
    if os.geteuid() != 0:
        TAP.skip("privileges", "needs root")
        return
    if sys.argv[1:] == ["root"]:
        check_root()
        TAP.end()
    with Wick() as wick:
        check_rights(wick)
        check_taken(wick)
        check_bytes(wick)
        check_kills(wick)
        check_stop(wick)
    check_store_of_before()
    check_gateway(0o644)
    check_gateway(0o600)
    check_root()
    TAP.end()


if __name__ == "__main__":
    main()
