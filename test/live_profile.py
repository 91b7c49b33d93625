#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""GET /debug/pprof/profile on the page's port: `go tool pprof` of the whole machine and of one process, while a victim runs;
bad questions; too many clients; clients that go; a wick that only collects."""
import concurrent.futures
import gzip
import http.client
import os
import re
import shutil
import socket
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "collector"))
import process  # noqa: E402
from process import TAP  # noqa: E402
import common  # noqa: E402

HZ = 97
PROFILE = "/debug/pprof/profile"
VICTIM = os.path.join(common.VICTIMS, "v-gcc-O1")


def start(port, receiver):
    """wick with the page at that port, and a pipeline of that receiver."""
    options = {"samples_per_second": HZ} if receiver == "profiling" else {}
    return process.Wick({"receivers": {receiver: options}, "exporters": {"nop": {}},
                         "extensions": {"page": {"endpoint": f"127.0.0.1:{port}"}},
                         "service": {"extensions": ["page"],
                                     "pipelines": {"profiles": {"receivers": [receiver], "exporters": ["nop"]}}}}, [port])


def ask(port, path, timeout=60):
    """(status, headers, body)."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, dict(answer.getheaders()), answer.read()
    finally:
        connection.close()


def pprof(*arguments):
    """(status, what it prints, what it says)."""
    home = {**os.environ, "PPROF_TMPDIR": "/tmp", "NO_PROXY": "*"}
    done = subprocess.run(["go", "tool", "pprof", "-symbolize=none", "-timeout=60", *arguments], capture_output=True,
                          text=True, check=False, env=home)
    return done.returncode, done.stdout, done.stderr


def busy(seconds):
    return subprocess.Popen([VICTIM, str(seconds)], stdout=subprocess.DEVNULL)


def machine(port, victim):
    status, printed, said = pprof("-top", "-nodecount=2000", f"http://127.0.0.1:{port}{PROFILE}?seconds=3")
    TAP.check("go tool pprof fetches the machine", status == 0, said[-200:] if status else "")
    names = re.findall(r"^ .*\s(\S+)$", printed, re.M)
    TAP.check("the victim's functions are there", "leaf_a" in names and "middle" in names, str(names[:10]))
    duration = re.search(r"Duration: (\S+?)s, Total samples = (\S+?)(m?s)\b", printed)
    total = duration and float(duration.group(2)) / (1000 if duration.group(3) == "ms" else 1)
    TAP.check("of so many seconds", duration and duration.group(1) == "3", "" if duration else printed[:200].replace("\n", " "))
    TAP.check("with a total that can be", total and 0.1 < total <= 3 * os.cpu_count() * 1.1, str(total))


def one_process(port, victim):
    path = f"{PROFILE}?seconds=3&pid={victim.pid}"
    status, printed, said = pprof("-raw", f"http://127.0.0.1:{port}{path}")
    TAP.check("go tool pprof fetches one process", status == 0, said[-200:] if status else "")
    pids = set(re.findall(r"\bpid:\[(\d+)", printed))
    TAP.check("only it is there", pids == {str(victim.pid)}, str(pids))
    files = set(re.findall(r"^\d+: 0x\S+ (\S+)", printed, re.M))
    TAP.check("and nothing of others", any(name.endswith("v-gcc-O1") for name in files) and not any(name.endswith("/wick") for name in files),
              str(files))
    counts = [int(count) for count in re.findall(r"^\s+(\d+)\s+\d+:", printed, re.M)]
    TAP.check("not more samples than one thread can have", 0 < sum(counts) <= 3 * HZ + 3, str(sum(counts)))


def idle(port, _):
    """A process that does nothing: a profile without samples that pprof reads."""
    with subprocess.Popen(["sleep", "60"]) as sleeper:
        status, headers, body = ask(port, f"{PROFILE}?seconds=1&pid={sleeper.pid}")
        sleeper.kill()
    path = os.path.join("/tmp", f"wick-idle-{os.getpid()}.pb.gz")
    with open(path, "wb") as file:
        file.write(body)
    good, printed, said = pprof("-raw", path)
    os.unlink(path)
    TAP.check("an idle process has an empty profile", status == 200 and good == 0 and "samples/count" in printed, said[-200:])
    TAP.check("it is gzip, to be saved", gzip.decompress(body) and "attachment" in headers.get("content-disposition", ""))


def bad_questions(port, _):
    for query, status, sentence in (("seconds=0", 400, b"from 1 to 300"), ("seconds=301", 400, b"from 1 to 300"),
                                    ("seconds=x", 400, b"from 1 to 300"), ("pid=x", 400, b"number of a process"),
                                    ("pid=2000000000", 404, b"no process 2000000000"),
                                    (f"hz={HZ + 1}", 400, f"samples {HZ} times a second".encode())):
        found, headers, body = ask(port, f"{PROFILE}?{query}")
        TAP.check(f"?{query}: {status}", found == status and sentence in body and headers.get("x-go-pprof") == "1",
                  f"{found} {body}")
    status, _, body = ask(port, "/debug/pprof/")
    TAP.check("/debug/pprof/ tells what there is", status == 200 and b"profile?seconds" in body, str(status))
    status, _, body = ask(port, "/debug/pprof/heap")
    TAP.check("/debug/pprof/heap: 404 with a sentence", status == 404 and b"Go's" in body, f"{status} {body}")
    status, _, said = pprof("-top", f"http://127.0.0.1:{port}{PROFILE}?seconds=301")
    TAP.check("go tool pprof shows the sentence", status != 0 and "from 1 to 300" in said, said[-300:].replace("\n", " "))


def many_clients(port, _):
    """Four at once; a fifth is told so; the page answers meanwhile."""
    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        began = threading.Barrier(6)

        def one():
            began.wait()
            return ask(port, f"{PROFILE}?seconds=5")[0]

        asked = [pool.submit(one) for _ in range(6)]
        told = process.wait_for(lambda: sum(a.done() for a in asked) == 2, 4)
        status = ask(port, "/debug/pprof/", 5)[0]
        TAP.check("while they wait the server answers others", told and status == 200)
        found = sorted(a.result() for a in asked)
    TAP.check("of six at once four are served, two told to wait", found == [200] * 4 + [503] * 2, str(found))


def gone_clients(port, _):
    """Four that go away: their places are free again."""
    sockets = []

    def take_place():
        client = socket.create_connection(("127.0.0.1", port))
        client.sendall(f"GET {PROFILE}?seconds=300 HTTP/1.1\r\nhost: localhost\r\n\r\n".encode())
        sockets.append(client)

    def are_taken():
        """Whoever asks that takes a place, if there still is one: another has not got it then."""
        if ask(port, f"{PROFILE}?seconds=1")[0] == 503:
            return True
        take_place()
        return False

    for _ in range(4):
        take_place()
    TAP.check("all places are taken", process.wait_for(are_taken, 20))
    for client in sockets:
        client.close()
    TAP.check("clients that go leave their places", process.wait_for(lambda: ask(port, f"{PROFILE}?seconds=1")[0] == 200, 20))


def collector():
    port = process.free_port()
    with start(port, "nop"):
        status, _, body = ask(port, PROFILE)
        TAP.check("a wick that only collects says so", status == 503 and b"receiver profiling" in body, f"{status} {body}")


def main():
    collector()
    if not common.privileged_or_skip(TAP, "profiles of this machine"):
        TAP.end()
    if not shutil.which("go"):
        TAP.skip("go tool pprof", "there is no go here; install golang")
        TAP.end()
    port = process.free_port()
    with start(port, "profiling") as wick, busy(120) as victim:
        for run in (machine, one_process, idle, bad_questions, many_clients, gone_clients):
            run(port, victim)
        victim.kill()
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            held = pool.submit(ask, port, f"{PROFILE}?seconds=300")
            time.sleep(0.5)
            status = wick.stop()
            TAP.check("wick stops while somebody waits, and says so", status == 0 and held.result()[0] in (200, 503), str(status))
    TAP.end()


if __name__ == "__main__":
    main()
