#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What containers are called, by their engines: a strict Docker, with a process in a cgroup of such a container, through the sampler of a
collector; the real containerd, with a container of its own and one as Kubernetes makes it; engines that are silent, talk without end,
talk nonsense or hang up, where nothing may wait or grow."""
import contextlib
import io
import json
import os
import resource
import shutil
import socket
import subprocess
import sys
import tarfile
import tempfile
import threading
import time
import urllib.parse

import common
import services

TAP = common.Tap()
ID = "c0" + "0123456789abcdef" * 3 + "a" * 14
PLAIN_ID = "c1" + "0123456789abcdef" * 3 + "b" * 14
IMAGE = "registry.example/busy:7"
HTTP_OK = b"HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n\r\n"


class Engine:
    """Listens on a socket; answer(connection, request) says what it does. Requests are kept."""

    def __init__(self, path, answer):
        self.requests, self.answer = [], answer
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.bind(path)
        self.socket.listen(64)
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self.socket.accept()
                threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection):
        with connection, contextlib.suppress(OSError):
            request = b""
            while b"\r\n\r\n" not in request:
                piece = connection.recv(4096)
                if not piece:
                    break
                request += piece
            self.requests.append(request)
            self.answer(connection, request)

    def close(self):
        self.socket.close()


def docker(connection, request):
    """GET /containers/json as Docker has it: only what the filter names; anything else is an error."""
    line = request.split(b"\r\n")[0].decode()
    method, target, version = line.split(" ")
    url = urllib.parse.urlsplit(target)
    query = urllib.parse.parse_qs(url.query, strict_parsing=True)
    filters = json.loads(query.get("filters", ["{}"])[0])
    if method != "GET" or version != "HTTP/1.0" or url.path != "/containers/json" or set(query) - {"all", "filters"}:
        connection.sendall(b"HTTP/1.0 400 Bad Request\r\n\r\n{}")
        return
    known = {"Id": ID, "Names": ["/web-1"], "Image": "registry:5000/shop/web:1.2", "ImageID": "sha256:" + "0" * 64, "Command": "busy",
             "Created": 1, "Ports": [{"PrivatePort": 80}], "State": "running",
             "Labels": {"team": "blue", "password": services.SECRET, "com.docker.compose.service": "web"},
             "HostConfig": {"NetworkMode": "default"}, "Mounts": []}
    connection.sendall(HTTP_OK + json.dumps([known] if filters == {"id": [ID]} else []).encode())


def silent(connection, _):
    connection.recv(1)


def flood(connection, _):
    connection.sendall(HTTP_OK + b"[")
    for _ in range(1 << 14):
        connection.sendall(b" " * 65536)


def garbage(connection, _):
    connection.sendall(os.urandom(65536))


def nonsense(connection, _):
    connection.sendall(HTTP_OK + b'[{"Id": "' + ID.encode() + b'", "Names": [[[[' * 1000)


def hangs_up(_, __):
    pass


def settings_for_ever(connection, _):
    while True:
        connection.sendall(b"\0\0\0\4\0\0\0\0\0" * 1000)


@contextlib.contextmanager
def contained(count=1, path="docker/" + ID):
    """So many busy processes in a cgroup of that container."""
    group = services.Cgroup(path)
    busy = [subprocess.Popen([sys.executable, "-c", "while 1: pass"]) for _ in range(count)]
    try:
        for process in busy:
            group.add(process.pid)
        yield [process.pid for process in busy]
    finally:
        for process in busy:
            services.stop(process)
        group.remove()


def described(pids, *arguments):
    """Attributes of each, what was counted; by a process that may have 128 MiB."""
    out = subprocess.run([services.TOOL, *arguments, *map(str, pids)], capture_output=True, text=True, timeout=60, check=True,
                         preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (128 << 20, 128 << 20)))
    words = out.stderr.split()
    return [dict(part.split("=", 1) for part in line.split("\t")[1:]) for line in out.stdout.splitlines()], dict(zip(words[::2], map(int, words[1::2])))


WANTED = {"container.id": ID, "container.name": "web-1", "container.image.name": "registry:5000/shop/web", "container.image.tags": "1.2",
          "container.label.team": "blue", "container.runtime.name": "docker", "service.name": "web", "wick.service.source": "container"}


def by_docker(folder):
    engine = Engine(f"{folder}/docker.sock", docker)
    with contained(3) as pids:
        found, counted = described(pids, "-s", f"docker:{folder}/docker.sock", "-l", "team")
    TAP.check("Docker says name, image and labels", all(WANTED.items() <= one.items() for one in found), str(found[0]))
    TAP.check("... is asked once for a container", len(engine.requests) == 1 and counted == {"asked": 1, "found": 1, "failed": 0},
              f"{len(engine.requests)} {counted}")
    TAP.check("... and no label leaves that is not wanted", services.SECRET not in str(found))
    with contained(1, "docker/" + "9" * 64) as pids:
        found, counted = described(pids, "-s", f"docker:{folder}/docker.sock")
    TAP.check("a container that it does not know has no name", "container.name" not in found[0] and counted["found"] == 0, str(found[0]))
    engine.close()


def by_pod(folder):
    """Of two busy processes the one in the pod's cgroup, by its uid."""
    uid = "0a1b2c3d-1111-4222-8333-444455556666"
    with contained(1, f"kubepods/burstable/pod{uid}/{ID}") as pids, contained(1, f"kubepods/besteffort/pod{uid[:-1]}7/{ID[::-1]}"):
        out = subprocess.run([common.WICK, "record", "-F", "97", "-d", "2", "--pod", uid, "-o", f"{folder}/pod.otlp"], capture_output=True, text=True,
                             timeout=120, check=False)
        seen = {sample.resource["process.pid"] for sample in common.Profile(f"{folder}/pod.otlp").samples} if out.returncode == 0 else None
    TAP.check("record --pod has the processes of that pod", seen == set(pids), f"{seen} {pids} {out.stderr[-300:]}")


def hostile(folder):
    for answer, api in ((silent, "docker"), (flood, "docker"), (garbage, "docker"), (nonsense, "docker"), (hangs_up, "docker"),
                        (silent, "cri"), (flood, "cri"), (garbage, "cri"), (settings_for_ever, "cri")):
        path = f"{folder}/{api}-{answer.__name__}.sock"
        engine = Engine(path, answer)
        with contained(2, f"{'docker' if api == 'docker' else 'kubepods'}/{ID}") as pids:
            found, counted = described(pids, "-s", f"{api}:{path}")
        good = all(one.get("container.id") == ID and "container.name" not in one and one["wick.service.source"] == "program" for one in found)
        TAP.check(f"an engine ({api}) {answer.__name__.replace('_', ' ')}: nobody waits, nothing grows, it rests",
                  good and counted["failed"] == 1 and len(engine.requests) <= 1, f"{counted} {found[:1]}")
        engine.close()


# ---- A collector ------------------------------------------------------------------------------------------------------------------

CONFIG = """
receivers:
  profiling:
    samples_per_second: 97
    reporter_interval: 200ms
    container_sockets: ["docker:%(folder)s/docker2.sock"]
    container_labels: [team]
    include: [{container: web-1}]
exporters:
  file: {path: "%(folder)s/out/out.json", flush_interval: 50ms}
service:
  telemetry: {metrics: {level: none}}
  pipelines:
    profiles: {receivers: [profiling], exporters: [file]}
"""


def resources(path):
    found = []
    with contextlib.suppress(FileNotFoundError), open(path, encoding="utf-8") as file:
        for line in file.read().split("\n")[:-1]:
            found += [sample.resource for sample in common.Profile(json.loads(line)).samples]
    return found


def by_collector(folder):
    engine = Engine(f"{folder}/docker2.sock", docker)
    os.chmod(folder, 0o755)
    os.mkdir(f"{folder}/out")
    os.chmod(f"{folder}/out", 0o777)
    with open(f"{folder}/config.yaml", "w", encoding="utf-8") as file:
        file.write(CONFIG % {"folder": folder})
    with contained(1) as pids, open(f"{folder}/log", "wb") as log, subprocess.Popen([sys.executable, "-c", "while 1: pass"]) as other:
        wick = subprocess.Popen([common.WICK, "--config", f"{folder}/config.yaml"], stdout=log, stderr=log)
        end = time.monotonic() + 30
        while len(resources(f"{folder}/out/out.json")) < 20 and time.monotonic() < end:
            time.sleep(0.2)
        wick.terminate()
        wick.wait(30)
        other.kill()
    found = resources(f"{folder}/out/out.json")
    with open(f"{folder}/log", encoding="utf-8", errors="replace") as file:
        said = file.read()
    wanted = {**WANTED, "container.image.tags": {"values": [{"stringValue": "1.2"}]}}
    TAP.check("the sampler of a collector asks, too, and a rule by that name chooses",
              len(found) >= 20 and all(wanted.items() <= one.items() and one["process.pid"] in pids for one in found),
              f"{len(found)} {found[:1]} {said[-300:]}")
    TAP.check("... once", len(engine.requests) == 1, str(len(engine.requests)))
    engine.close()


# ---- containerd -------------------------------------------------------------------------------------------------------------------

def image(path, name):
    """An image of one program that is busy, as `docker save` makes them."""
    layer = io.BytesIO()
    with tarfile.open(fileobj=layer, mode="w") as files:
        files.add(os.path.join(common.VICTIMS, "v-static"), "busy")
    config = {"architecture": "arm64" if os.uname().machine == "aarch64" else "amd64", "os": "linux", "config": {"Entrypoint": ["/busy", "60"]},
              "rootfs": {"type": "layers", "diff_ids": ["sha256:" + __import__("hashlib").sha256(layer.getvalue()).hexdigest()]}}
    with tarfile.open(path, "w") as archive:
        for part, data in (("config.json", json.dumps(config).encode()), ("layer.tar", layer.getvalue()),
                           ("manifest.json", json.dumps([{"Config": "config.json", "RepoTags": [name], "Layers": ["layer.tar"]}]).encode())):
            info = tarfile.TarInfo(part)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def field(number, value):
    """Of a protocol buffer: a number, or a text or message of less than 16 KiB."""
    if isinstance(value, int):
        return bytes([number << 3, value])
    value = value.encode() if isinstance(value, str) else value
    return bytes([number << 3 | 2, len(value) & 127 | 128, len(value) >> 7]) + value


def call(address, method, message, folder):
    """One call of CRI, by curl: the first text of its answer, and what was said about it."""
    said = subprocess.run(["curl", "-sS", "--max-time", "60", "--http2-prior-knowledge", "--unix-socket", address, "-H", "content-type: application/grpc",
                           "-H", "te: trailers", "--data-binary", "@-", "-D", f"{folder}/headers", "-o", f"{folder}/answer",
                           f"http://localhost/runtime.v1.RuntimeService/{method}"],
                          input=b"\0" + len(message).to_bytes(4, "big") + message, capture_output=True, check=False, timeout=90)
    with open(f"{folder}/headers", encoding="utf-8", errors="replace") as file:
        headers = file.read()
    with open(f"{folder}/answer", "rb") as file:
        answer = file.read()
    return answer[7:7 + answer[6]].decode() if len(answer) > 7 else None, headers + said.stderr.decode()


def as_kubernetes(address, folder):
    """A container in a pod, as a kubelet would ask for it: its id, or why there is none."""
    pod = field(1, field(1, "web-0") + field(2, "uid-1") + field(3, "shop")) + field(8, field(2, field(1, field(1, 2) + field(3, 2))))
    sandbox, said = call(address, "RunPodSandbox", field(1, pod), folder)
    if not sandbox:
        return None, said
    labels = b"".join(field(9, field(1, key) + field(2, value)) for key, value in (
        ("io.kubernetes.pod.name", "web-0"), ("io.kubernetes.pod.namespace", "shop"), ("io.kubernetes.container.name", "app"), ("team", "blue")))
    config = field(1, field(1, "app")) + field(2, field(1, IMAGE)) + field(3, "/busy") + field(4, "60") + labels
    container, said = call(address, "CreateContainer", field(1, sandbox) + field(2, config) + field(3, pod), folder)
    if container:
        _, said = call(address, "StartContainer", field(1, container), folder)
    return container, said


def by_cri(address, folder):
    container, said = as_kubernetes(address, folder)
    pids = [line.split()[1] for line in run("ctr", "-a", address, "-n", "k8s.io", "task", "ls").stdout.splitlines() if container and line.startswith(container)]
    if not pids:
        TAP.skip("containerd says of a pod's container what Kubernetes knows", "no pod runs here: " + str(said)[-200:].replace("\n", " "))
        return
    found, counted = described(pids, "-s", f"cri:{address}", "-l", "team")
    wanted = {"container.id": container, "container.name": "app", "container.image.name": IMAGE.split(":")[0], "container.image.tags": "7",
              "container.label.team": "blue", "k8s.pod.name": "web-0", "k8s.namespace.name": "shop", "k8s.container.name": "app",
              "service.name": "app", "wick.service.source": "container"}
    TAP.check("containerd says of a pod's container what Kubernetes knows", wanted.items() <= found[0].items() and counted["failed"] == 0,
              f"{found} {counted}")


def end_tasks(address):
    for space in ("shop", "k8s.io"):
        ctr = ("ctr", "-a", address, "-n", space)
        for line in run(*ctr, "task", "ls").stdout.splitlines()[1:]:
            run(*ctr, "task", "delete", "-f", line.split()[0])
        for name in run(*ctr, "container", "ls", "-q").stdout.split():
            run(*ctr, "container", "delete", name)


def by_containerd(folder):
    if not shutil.which("containerd") or not shutil.which("runc"):
        TAP.skip("containerd says image and labels", "there is no containerd, or no runc")
        return
    address = f"{folder}/containerd.sock"
    with open(f"{folder}/containerd.toml", "w", encoding="utf-8") as file:
        file.write(f'version = 2\nroot = "{folder}/root"\nstate = "{folder}/state"\n[grpc]\naddress = "{address}"\n'
                   f'[plugins."io.containerd.grpc.v1.cri"]\nsandbox_image = "{IMAGE}"\nrestrict_oom_score_adj = true\n')
    with open(f"{folder}/containerd.log", "w", encoding="utf-8") as log:
        daemon = subprocess.Popen(["containerd", "--config", f"{folder}/containerd.toml"], stdout=log, stderr=log)
    ctr = ("ctr", "-a", address, "-n", "shop")
    try:
        for _ in range(300):
            if run(*ctr, "version").returncode == 0:
                break
            time.sleep(0.1)
        image(f"{folder}/image.tar", IMAGE)
        said = run(*ctr, "image", "import", f"{folder}/image.tar")
        if said.returncode == 0:
            said = run(*ctr, "run", "-d", "--label", "team=blue", IMAGE, PLAIN_ID, "/busy", "60")
        if said.returncode:
            TAP.skip("containerd says image and labels", "no container runs here: " + said.stderr[-200:].replace("\n", " "))
            return
        pids = [line.split()[1] for line in run(*ctr, "task", "ls").stdout.splitlines() if line.startswith(PLAIN_ID)]
        found, counted = described(pids, "-s", f"cri:{address}", "-l", "team")
        wanted = {"container.id": PLAIN_ID, "container.image.name": "registry.example/busy", "container.image.tags": "7", "container.label.team": "blue"}
        TAP.check("containerd says image and labels", wanted.items() <= found[0].items() and counted == {"asked": 1, "found": 1, "failed": 0},
                  f"{found} {counted}")
        run("ctr", "-a", address, "-n", "k8s.io", "image", "import", f"{folder}/image.tar")
        by_cri(address, folder)
    finally:
        end_tasks(address)
        daemon.terminate()
        daemon.wait(30)


def main():
    if common.privileged_or_skip(TAP, "containers"):
        with tempfile.TemporaryDirectory(prefix="wick-containers-") as folder:
            try:
                by_docker(folder)
                by_pod(folder)
                hostile(folder)
                by_collector(folder)
            except services.Missing as error:
                TAP.skip("containers", str(error))
            by_containerd(folder)
    TAP.end()


if __name__ == "__main__":
    main()
