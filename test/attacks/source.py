#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Somebody who may ask the page, and send profiles whose frames name whatever file he likes, wants to read files of the machine as if
they were sources. Prints TAP."""
import json
import os
import tempfile
import time
import urllib.parse

from attack import TAP, Wick, free_port, get, post, wait_for

SECRET = "root:x:0:0"


def config(port, folder, source):
    address = f"127.0.0.1:{port}"
    return {"receivers": {"otlp": {"protocols": {"http": {"endpoint": address}}}},
            "exporters": {"store": {"path": os.path.join(folder, "store")}},
            "extensions": {"page": {"endpoint": address} | source},
            "service": {"extensions": ["page"],
                        "pipelines": {"profiles": {"receivers": ["otlp"], "exporters": ["store"]}}}}


def lay_out(folder):
    """Sources, and beside and among them what is none, or leads elsewhere."""
    source = os.path.join(folder, "src")
    os.makedirs(os.path.join(source, "dir.c"))
    os.chmod(folder, 0o755)
    for name, text in (("good.c", "int good;\n"), ("id_rsa", SECRET), ("binary.c", SECRET + "\0"), ("huge.c", SECRET * 200000),
                       ("../outside.c", SECRET)):
        with open(os.path.join(source, name), "w", encoding="ascii") as file:
            file.write(text)
    for target, name in (("/etc/passwd", "link.c"), ("..", "up"), ("/etc", "etc"), ("/proc/self/root", "root")):
        os.symlink(target, os.path.join(source, name))
    os.mkfifo(os.path.join(source, "pipe.c"))
    os.mknod(os.path.join(source, "zero.c"), 0o20644, os.makedev(1, 5))
    return source


def named_files(folder):
    """What frames name: each must not be shown."""
    return ["/etc/passwd", "/etc/shadow", "../../../../etc/passwd", "/etc/passwd\0.c", "link.c", "up/outside.c", f"{folder}/outside.c",
            f"{folder}/src/../outside.c", "etc/passwd", "etc/../link.c", "root/etc/passwd", "root/etc/hosts.c", "dir.c", "pipe.c", "zero.c", "binary.c",
            "huge.c", "id_rsa", "/proc/self/environ", "/proc/self/maps.c", "file:///etc/passwd", "x/" * 300 + "good.c", "a" * 5000 + ".c", ".", "/", "c"]


def profile(files):
    strings = ["", "samples", "count"] + [f"f{i}" for i in range(len(files))] + files
    return json.dumps({"resourceProfiles": [{"resource": {}, "scopeProfiles": [{"profiles": [{
        "sampleType": {"typeStrindex": 1, "unitStrindex": 2}, "timeUnixNano": str(time.time_ns()), "samples": [
            {"stackIndex": i + 1, "timestampsUnixNano": [str(time.time_ns())]} for i in range(len(files))]}]}]}],
        "dictionary": {"mappingTable": [{}], "linkTable": [{}], "attributeTable": [{}], "stringTable": strings,
                       "functionTable": [{}] + [{"nameStrindex": 3 + i, "filenameStrindex": 3 + len(files) + i} for i in range(len(files))],
                       "locationTable": [{}] + [{"lines": [{"functionIndex": i + 1, "line": 1}]} for i in range(len(files))],
                       "stackTable": [{}] + [{"locationIndices": [i + 1]} for i in range(len(files))]}}).encode()


def ask(port, **query):
    status, body = get(port, "/api/v1/source?" + urllib.parse.urlencode(query))
    return status, body.decode()


def send(port, files):
    status = post(port, profile(files), {"content-type": "application/json"})
    TAP.check("profiles that name such files are taken", status == 200, str(status))
    wait_for(lambda: json.loads(get(port, "/api/v1/top")[1])["count"] >= len(files), 20)


def attack(folder, port, source):
    with Wick(config(port, folder, {"source": [source]}), (port,)):
        files = named_files(folder) + ["/build/good.c"]
        send(port, files)
        for i, name in enumerate(files[:-1]):
            status, body = ask(port, function=f"f{i}")
            why = json.loads(body).get("text", {}).get("why", "")
            TAP.check(f"{name[:40]!a} is not shown, and that is said", status == 200 and why and SECRET not in body, why or body[:300])
        good = f"f{len(files) - 1}"
        TAP.check("a source file is", json.loads(ask(port, function=good)[1])["text"].get("lines") == ["int good;"])
        for name in ("/etc/passwd", "good.c", f"{source}/good.c", "id_rsa", "/build/../build/good.c", "\0"):
            status, body = ask(port, function=good, source=name)
            TAP.check(f"{name!a}, which no frame of the function names, is refused", status in (400, 404) and SECRET not in body, str(status))


def nothing_by_itself(folder, port):
    with Wick(config(port, folder, {}), (port,)):
        send(port, [f"{folder}/src/good.c"])
        text = json.loads(ask(port, function="f0")[1])["text"]
        TAP.check("nothing is shown unless a directory was named", "--page.source" in text.get("why", ""), str(text))


def main():
    if os.geteuid():
        print("ok - source # SKIP not root: no device can be made")
        return
    with tempfile.TemporaryDirectory() as folder:
        source = lay_out(folder)
        attack(folder, free_port(), source)
    with tempfile.TemporaryDirectory() as folder:
        lay_out(folder)
        nothing_by_itself(folder, free_port())
    TAP.end()


main()
