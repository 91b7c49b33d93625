#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plays systemd: the notify socket, the watchdog, sockets that are passed, the journal; with halves that are stopped and killed,
and with an environment that lies. systemd itself need not run."""
import contextlib
import http.client
import json
import os
import shutil
import signal
import socket
import struct
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "collector"))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from privileges import children, sockets  # noqa: E402
from process import TAP, WICK, free_port, listens, wait_for  # noqa: E402

SECONDS = 60            # for what a busy machine may be slow with; nothing waits for it but failures
WATCHDOG_SECONDS = 2
UCRED = struct.Struct("iII")


class Manager:
    """What systemd is to a service: a socket to be told at, and what it was told, by whom."""

    def __init__(self, folder, abstract=False):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.name = f"@wick-test-{os.getpid()}-{free_port()}" if abstract else os.path.join(folder, "notify")
        self.socket.bind(self.name.replace("@", "\0"))
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        self.socket.setblocking(False)
        self.told = []          # (pid, {key: value})

    def hear(self):
        while True:
            try:
                data, extra, _, _ = self.socket.recvmsg(4096, socket.CMSG_SPACE(UCRED.size))
            except BlockingIOError:
                return self.told
            pid = UCRED.unpack(extra[0][2][:UCRED.size])[0] if extra else 0
            self.told.append((pid, dict(line.split("=", 1) for line in data.decode().split("\n"))))

    def count(self, key):
        return sum(key in message for _, message in self.hear())

    def waits_for(self, key, count):
        return wait_for(lambda: self.count(key) >= count, SECONDS)

    def status(self):
        """The last words."""
        said = [message["STATUS"] for _, message in self.hear() if "STATUS" in message]
        return said[-1] if said else ""

    def falls_silent(self, key):
        """Nothing of it for three times as long as systemd would wait."""
        last, since, ends = self.count(key), time.monotonic(), time.monotonic() + SECONDS
        while time.monotonic() < ends:
            time.sleep(0.1)
            if self.count(key) != last:
                last, since = self.count(key), time.monotonic()
            if time.monotonic() - since > 3 * WATCHDOG_SECONDS:
                return True
        return False

    def close(self):
        self.socket.close()
        if not self.name.startswith("@"):
            os.unlink(self.name)


class Started:
    """A wick, started as systemd does: variables with its own pid, descriptors from 3 on."""

    def __init__(self, folder, arguments, environment=None, fds=(), errors=None):
        self.errors = errors or os.path.join(folder, f"stderr-{free_port()}")
        self.out = os.open(self.errors, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        self.pid = os.fork()
        if self.pid == 0:
            with contextlib.suppress(BaseException):
                self.become(arguments, environment or {}, fds)
            os._exit(127)
        os.close(self.out)
        self.status = None

    def become(self, arguments, environment, fds):
        high = [os.dup2(fd, 100 + i, False) for i, fd in enumerate(fds)]
        os.dup2(os.open("/dev/null", os.O_RDONLY), 0)
        os.dup2(self.out, 1)
        os.dup2(self.out, 2)
        for i, fd in enumerate(high):
            os.dup2(fd, 3 + i)
        mine = {key: value.replace("SELF", str(os.getpid())) for key, value in environment.items()}
        info = os.fstat(2)
        mine = {key: value.replace("STREAM", f"{info.st_dev}:{info.st_ino}") for key, value in mine.items()}
        os.execve(WICK, [WICK, *arguments], {**os.environ, **mine})

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if not self.is_over():
            os.kill(self.pid, signal.SIGKILL)
            wait_for(self.is_over, SECONDS)

    def is_over(self):
        if self.status is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.status = os.waitstatus_to_exitcode(status)
        return self.status is not None

    def signal(self, number):
        os.kill(self.pid, number)

    def half(self, name):
        found = children(self.pid, "wick: " + name)
        return found[0] if found else None

    def said(self):
        with open(self.errors, encoding="utf-8", errors="replace") as file:
            return file.read()

    def stop(self):
        self.signal(signal.SIGTERM)
        wait_for(self.is_over, SECONDS)
        return self.status


def get(port, path="/api/v1/status"):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=SECONDS)
    try:
        connection.request("GET", path)
        return connection.getresponse().status
    finally:
        connection.close()


def gets(port):
    with contextlib.suppress(OSError, http.client.HTTPException):
        return get(port) == 200
    return False


check = TAP.check_or_note


def watched(manager):
    return {"NOTIFY_SOCKET": manager.name, "WATCHDOG_USEC": str(WATCHDOG_SECONDS * 1000000), "WATCHDOG_PID": "SELF"}


def relay(folder, port, name="relay.yaml"):
    """A configuration that samples nothing: one process."""
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"receivers": {"otlp": {"protocols": {"http": {"endpoint": f"127.0.0.1:{port}"}}}},
                   "exporters": {"debug": {}},
                   "service": {"telemetry": {"metrics": {"level": "none"}},
                               "pipelines": {"profiles": {"receivers": ["otlp"], "exporters": ["debug"]}}}}, file)
    return path


# ---- Readiness, the watchdog -------------------------------------------------------------------------------------------------

def check_half(wick, manager, name):
    """Stopped, it shows nothing; then systemd must not hear that all is well."""
    pid = wick.half(name)
    os.kill(pid, signal.SIGSTOP)
    check(f"a {name} that has stopped: the watchdog is told no more", manager.falls_silent("WATCHDOG"))
    check("… and the status says which half it is", name in manager.status() and "does not go on" in manager.status(),
              manager.status())
    os.kill(pid, signal.SIGCONT)
    check("… and once it goes on, so does that", manager.waits_for("WATCHDOG", manager.count("WATCHDOG") + 2))
    check("… in words, too", wait_for(lambda: manager.status() == "samples this machine", SECONDS), manager.status())


def check_killed(wick, manager, name):
    pid = wick.half(name)
    os.kill(pid, signal.SIGKILL)
    check(f"a {name} that was killed is back, and watched", wait_for(lambda: wick.half(name) not in (None, pid), SECONDS) and
              manager.waits_for("WATCHDOG", manager.count("WATCHDOG") + 4) and
              wait_for(lambda: manager.status() == "samples this machine", SECONDS), manager.status())


def check_supervised(folder):
    port, manager = free_port(), Manager(folder)
    arguments = [f"--listen=localhost:{port}", f"--store.path={folder}/store"]
    with Started(folder, arguments, watched(manager)) as wick:
        check("READY=1 comes", manager.waits_for("READY", 1), wick.said())
        check("… when both halves are there", gets(port) and wick.half("sampler") and wick.half("service"))
        check("… with a status in words", manager.status() == "samples this machine", manager.status())
        check("the watchdog is told again and again", manager.waits_for("WATCHDOG", 4))
        for name in ("service", "sampler"):
            check_half(wick, manager, name)
        for name in ("service", "sampler"):
            check_killed(wick, manager, name)
        told = manager.count("READY")
        wick.signal(signal.SIGHUP)
        check("SIGHUP: RELOADING=1, then READY=1", manager.waits_for("RELOADING", 1) and manager.waits_for("READY", told + 1))
        message = next(message for _, message in manager.told if "RELOADING" in message)
        check("… with the time that it began", 0 < int(message["MONOTONIC_USEC"]) <= time.monotonic_ns() // 1000, str(message))
        mine = set(sockets(wick.pid))
        check("only the process that was started has spoken", {pid for pid, _ in manager.hear()} == {wick.pid})
        check("… and its children have none of its sockets", not mine & {one for name in ("sampler", "service")
                                                                        for one in sockets(wick.half(name))})
        check("SIGTERM: STOPPING=1, and it ends well", wick.stop() == 0 and manager.count("STOPPING") == 1, wick.said())
    manager.close()


def check_alone(folder):
    """One that only receives is one process; and an abstract socket."""
    port, manager = free_port(), Manager(folder, abstract=True)
    path = relay(folder, port)
    with Started(folder, [f"--config={path}"], watched(manager)) as wick:
        check("a collector that only receives: READY=1, to an abstract socket", manager.waits_for("READY", 1) and listens(port))
        check("… WATCHDOG=1 again and again", manager.waits_for("WATCHDOG", 4))
        wick.signal(signal.SIGSTOP)
        manager.hear()
        check("… none while it is stopped", manager.falls_silent("WATCHDOG"))
        wick.signal(signal.SIGCONT)
        check("… and again when it goes on", manager.waits_for("WATCHDOG", manager.count("WATCHDOG") + 2))
        with open(path, "w", encoding="utf-8") as file:
            file.write("receivers: [\n")
        wick.signal(signal.SIGHUP)
        check("a reload with a bad configuration: RELOADING=1, READY=1", manager.waits_for("RELOADING", 1) and
                  manager.waits_for("READY", 2))
        check("… and the status says that the old one goes on", "refused" in manager.status(), manager.status())
        check("… and ends with STOPPING=1", wick.stop() == 0 and manager.count("STOPPING") == 1)
        check("… all by itself", {pid for pid, _ in manager.hear()} == {wick.pid})
    manager.close()


def check_lies(folder):
    """Variables that anybody can set change nothing, however they are."""
    gone = os.path.join(folder, "nobody")
    lies = [{"NOTIFY_SOCKET": "x" * 5000, "WATCHDOG_USEC": "1" * 400, "LISTEN_FDS": "-1", "LISTEN_PID": "SELF"},
            {"NOTIFY_SOCKET": "@", "WATCHDOG_USEC": "1", "LISTEN_FDS": "1000000", "LISTEN_PID": "SELF",
             "JOURNAL_STREAM": "9" * 500},
            {"NOTIFY_SOCKET": "vsock:2:1", "WATCHDOG_USEC": "-5", "LISTEN_FDS": "3", "LISTEN_PID": "SELF",
             "LISTEN_FDNAMES": ":" * 10000, "JOURNAL_STREAM": ":"},
            {"NOTIFY_SOCKET": gone, "WATCHDOG_USEC": "18446744073709551616", "LISTEN_FDS": "3", "LISTEN_PID": "1",
             "JOURNAL_STREAM": "0:0"}]
    for lie in lies:
        port = free_port()
        with Started(folder, [f"--config={relay(folder, port)}"], lie) as wick:
            check("an environment that lies changes nothing", wait_for(lambda p=port: listens(p), SECONDS) and wick.stop() == 0,
                      wick.said())
    manager = Manager(folder)
    port = free_port()
    with Started(folder, [f"--config={relay(folder, port)}"], {**watched(manager), "WATCHDOG_PID": "1"}) as wick:
        check("a watchdog of another process is not told", manager.waits_for("READY", 1) and manager.falls_silent("WATCHDOG") and
                  manager.count("WATCHDOG") == 0)
        wick.stop()
    manager.close()


# ---- Sockets -----------------------------------------------------------------------------------------------------------------

def inode(sock):
    return str(os.fstat(sock.fileno()).st_ino)


def open_both():
    """One port on 127.0.0.1 and, where there is one, ::1, as wick.socket opens them."""
    four = socket.create_server(("127.0.0.1", 0))
    port, both = four.getsockname()[1], [four]
    with contextlib.suppress(OSError):
        both.append(socket.create_server(("::1", port), family=socket.AF_INET6))
    return port, both


def check_restart(wick, port):
    """While the service is gone nobody is refused: the supervisor holds the socket."""
    pid = wick.half("service")
    os.kill(pid, signal.SIGSTOP)
    os.kill(pid, signal.SIGKILL)
    wait_for(lambda: wick.half("service") != pid, SECONDS)
    check("who connects while the service is started again is answered", get(port) == 200)


def check_passed(folder):
    port, both = open_both()
    other = socket.create_server(("127.0.0.1", 0))
    wanted = {inode(sock) for sock in both}
    names = ":".join(["page"] * len(both) + ["nobody's"])
    listen = {"LISTEN_FDS": str(len(both) + 1), "LISTEN_PID": "SELF", "LISTEN_FDNAMES": names}
    with Started(folder, [f"--listen=localhost:{port}", f"--store.path={folder}/store"], listen,
                 [sock.fileno() for sock in (*both, other)]) as wick:
        check("who connects before it has started is answered", get(port) == 200, wick.said())
        for sock in both:
            sock.close()
        wait_for(lambda: wick.half("sampler"), SECONDS)
        check("the service listens on the sockets that were passed", wanted <= set(sockets(wick.half("service"))))
        check("… the sampler has none of them", not wanted & set(sockets(wick.half("sampler"))))
        unused = f"127.0.0.1:{other.getsockname()[1]} (nobody's)"
        check("one that no endpoint has is told of, by its name", wait_for(lambda: unused in wick.said(), SECONDS), wick.said())
        check_restart(wick, port)
        wick.signal(signal.SIGHUP)
        check("… and after a reload", wait_for(lambda: "as it is now" in wick.said(), SECONDS) and get(port) == 200)
        check("… and it ends well", wick.stop() == 0, wick.said())
    other.close()


def check_foreign(folder):
    """What is passed and is no socket that listens; and a path, which belongs to who made it."""
    path = os.path.join(folder, "otlp.sock")
    unix = socket.socket(socket.AF_UNIX)
    unix.bind(path)
    unix.listen()
    udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    pair = socket.socketpair()
    read, write = os.pipe()
    idle = socket.socket()
    config = os.path.join(folder, "unix.yaml")
    with open(relay(folder, 0), encoding="utf-8") as file:
        relayed = json.load(file)
    relayed["receivers"]["otlp"]["protocols"] = {"grpc": {"endpoint": path, "transport": "unix"}}
    with open(config, "w", encoding="utf-8") as file:
        json.dump(relayed, file)
    fds = [udp.fileno(), pair[0].fileno(), read, idle.fileno(), unix.fileno()]
    with Started(folder, [f"--config={config}"], {"LISTEN_FDS": str(len(fds) + 1), "LISTEN_PID": "SELF"}, fds) as wick:
        check("what is no socket that listens is left out, in words", wait_for(lambda: "Everything is ready" in wick.said(), SECONDS)
                  and wick.said().count("which was passed to listen on, is left out") == len(fds), wick.said())
        check("a path is taken", inode(unix) in sockets(wick.pid))
        wick.signal(signal.SIGHUP)
        check("… again after a reload", wait_for(lambda: "as it is now" in wick.said(), SECONDS) and inode(unix) in sockets(wick.pid))
        check("… and stays when wick ends", wick.stop() == 0 and os.path.exists(path))
    for sock in (unix, udp, *pair, idle):
        sock.close()
    os.close(read)
    os.close(write)
    os.unlink(path)


# ---- A directory of configuration ------------------------------------------------------------------------------------------------

def check_directory(folder):
    """A file more, then SIGHUP: the service, which may open little else, finds it."""
    port, other, manager = free_port(), free_port(), Manager(folder)
    below = os.path.join(folder, "config.d")
    os.mkdir(below)
    relay(below, port, "10.yaml")
    with Started(folder, [f"--config={below}"], watched(manager)) as wick:
        check("a directory is a configuration", manager.waits_for("READY", 1) and listens(port), wick.said())
        with open(os.path.join(below, "20.yaml"), "w", encoding="utf-8") as file:
            file.write(f"receivers: {{otlp: {{protocols: {{http: {{endpoint: '127.0.0.1:{other}'}}}}}}}}\n")
        wick.signal(signal.SIGHUP)
        check("… a file more is read by a reload", manager.waits_for("READY", 2) and listens(other) and not listens(port), wick.said())
        check("… which ends well", wick.stop() == 0, wick.said())
    manager.close()


# ---- The journal ---------------------------------------------------------------------------------------------------------------

def check_journal(folder):
    port = free_port()
    path = relay(folder, port)
    for stream, has in (("STREAM", True), ("1:2", False)):
        with Started(folder, [f"--config={path}"], {"JOURNAL_STREAM": stream}) as wick:
            wait_for(lambda p=port: listens(p), SECONDS)
            wick.stop()
            lines = wick.said().splitlines()
            check("each line for the journal has its priority" if has else "lines for others have none",
                      lines and all(line.startswith("<6>20" if has else "20") for line in lines), wick.said())
    with Started(folder, ["--config=/nowhere"], {"JOURNAL_STREAM": "STREAM"}) as wick:
        wait_for(wick.is_over, SECONDS)
        check("why it cannot start is an error there, too", wick.said().startswith("<3>wick run: "), wick.said())


def main():
    folder = tempfile.mkdtemp(prefix="wick-systemd-")
    os.chmod(folder, 0o755)
    try:
        check_journal(folder)
        check_alone(folder)
        check_directory(folder)
        check_lies(folder)
        check_foreign(folder)
        if os.geteuid() == 0:
            check_passed(folder)
            check_supervised(folder)
        else:
            TAP.skip("a wick that samples", "needs root")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    TAP.end()


if __name__ == "__main__":
    main()
