#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The one file of `make dist`, in a root that holds nothing else: it records and names what runs on the machine, keeps and
shows it, and sends it on by gRPC and by HTTPS. Prints TAP."""
import hashlib
import json
import os
import re
import shutil
import subprocess
import tempfile
import time
import urllib.request

import common

FILE = os.path.join(common.BUILD, "dist", "wick")
SIZE_MAX = 10_000_000
VICTIM = os.path.join(common.BUILD, "victims", "v-fp")


# Most roots name modules for users and hosts that are made for their own libc, and end a program that has another.
SWITCH = "passwd: deadly files\ngroup: deadly files\nhosts: deadly files dns\n"
MODULE = """
__attribute__((constructor)) static void deadly(void)
{
	asm volatile("syscall" : : "a"(231), "D"(77));
}
"""


class Root:
    """Nothing but the file, /proc, /sys and /tmp, and what the file must not load."""

    def __init__(self, path):
        self.path = path
        os.chmod(path, 0o755)   # for the half that serves, too, which is nobody
        for folder in ("proc", "sys", "tmp"):
            os.mkdir(os.path.join(path, folder))
        shutil.copy(FILE, os.path.join(path, "wick"))
        self.add_module()

    def add_module(self):
        for folder in ("etc", "lib"):
            os.mkdir(os.path.join(self.path, folder))
        with open(os.path.join(self.path, "etc", "nsswitch.conf"), "w") as file:
            file.write(SWITCH)
        subprocess.run(["gcc", "-shared", "-fPIC", "-nostdlib", "-x", "c", "-", "-o", os.path.join(self.path, "lib", "libnss_deadly.so.2")],
                       input=MODULE, text=True, check=True)

    def command(self, *arguments):
        mounts = f"mount --bind /proc {self.path}/proc && mount --rbind /sys {self.path}/sys && exec chroot {self.path} /wick \"$@\""
        return ["unshare", "--mount", "sh", "-c", mounts, "sh", *arguments]

    def run(self, *arguments):
        return subprocess.run(self.command(*arguments), capture_output=True, text=True, timeout=120, check=False)

    def start(self, *arguments, **environment):
        log = open(os.path.join(self.path, "log"), "a")
        return subprocess.Popen(self.command(*arguments), stdout=log, stderr=log, env={**os.environ, **environment})


def check_file(tap, path):
    headers = subprocess.run(["readelf", "-dlW", path], capture_output=True, text=True, check=True).stdout
    tap.check_or_note("no library and no loader is asked for", "NEEDED" not in headers and "INTERP" not in headers, headers[-300:])
    tap.check_or_note("it is position independent", re.search(r"Elf file type is DYN", headers) is not None)
    size = os.path.getsize(path)
    tap.check("it is 10 MB at most", size <= SIZE_MAX, f"{size} bytes")


def check_told(tap, path):
    """What is in it is told: of each library its version, its licence and the text of that."""
    with open(path + ".spdx.json") as file:
        told = json.load(file)
    with open(path + ".licences.txt") as file:
        texts = file.read()
    with open(path, "rb") as file:
        digest = hashlib.sha256(file.read()).hexdigest()
    packages = {p["name"]: p for p in told["packages"]}
    tap.check_or_note("its SBOM is of this very file", packages["wick"]["checksums"][0]["checksumValue"] == digest)
    with open(path + ".linked") as file:
        linked = set(re.findall(r"lib([\w-]+?)(?:-[\d.]+)?\.a", file.read()))
    owners = {"bpf": "libbpf", "dw": "elfutils", "elf": "elfutils", "lzma": "xz-utils", "iberty": "libiberty", "z": "zlib", "yaml": "libyaml",
              "pcre2": "pcre2", "crypt": "libxcrypt", "c": "glibc", "m": "glibc", "mvec": "glibc", "pthread": "glibc", "gcc": "libgcc",
              "gcc_eh": "libgcc", "ssl": "openssl", "crypto": "openssl", "sqlite3": "sqlite"}
    missing = {name for name in linked if owners.get(name.removesuffix("-8"), name) not in packages}
    tap.check_or_note("... and tells of all that is linked", len(linked) >= 15 and not missing, missing)
    bad = [name for name, p in packages.items() if not re.match(r"\d", p["versionInfo"]) or p["licenseConcluded"] == "NOASSERTION"]
    tap.check_or_note("... with versions and licences", len(packages) >= 14 and not bad, bad)
    bare = [name for name, p in packages.items() if name != "wick" and f"\n{name} {p['versionInfo']}: " not in texts]
    tap.check_or_note("... whose texts go with it", not bare and "Permission is hereby granted" in texts, bare)


def check_record(tap, root):
    victim = subprocess.Popen([VICTIM, "20"], stdout=subprocess.DEVNULL)
    said = root.run("record", "-F", "199", "-d", "3", "-p", str(victim.pid), "-o", "/tmp/out.otlp")
    victim.kill()
    victim.wait()
    tap.check_or_note("it records in an empty root", said.returncode == 0, said.stderr[-500:])
    report = root.run("report", "--json", "/tmp/out.otlp")
    names = {row["name"] for row in json.loads(report.stdout)["rows"]} if report.returncode == 0 else set()
    tap.check_or_note("... and names what ran outside", {"leaf_a", "outer", "main"} <= names, sorted(names)[:20])
    whole = re.search(r"([\d.]+) % .*whole", said.stderr)
    tap.check_or_note("... with whole stacks", whole and float(whole[1]) >= 99, said.stderr[-500:])


def samples(port):
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/v1/flame?from=now-5m&to=now", timeout=5) as answer:
            return json.load(answer)["root"]
    except OSError:
        return 0


def comes(port, process):
    for _ in range(300):
        if samples(port) or process.poll() is not None:
            break
        time.sleep(0.1)
    return samples(port) > 0


def stop(*processes):
    for process in processes:
        process.terminate()
        process.wait(30)


def log_of(root):
    with open(os.path.join(root.path, "log")) as file:
        return file.read()[-800:]


def check_page_and_grpc(tap, root):
    """One keeps and shows what another sends, both in the root."""
    port = common.free_port()
    keeper = root.start(f"--config=yaml:{json.dumps(keeper_config(port))}")
    sender = root.start(f"-collection-agent=127.0.0.1:{port}", "-disable-tls", "-reporter-interval=1s")
    tap.check_or_note("it sends by gRPC, and another keeps and shows it", comes(port, sender), log_of(root))
    stop(sender, keeper)


def keeper_config(port, grpc=True, **tls):
    protocol = {"endpoint": f"127.0.0.1:{port}" if grpc else tls.pop("endpoint"), **({"tls": tls} if tls else {})}
    return {"receivers": {"otlp": {"protocols": {"grpc" if grpc else "http": protocol}}},
            "exporters": {"store": {"path": f"/tmp/store-{port}"}}, "extensions": {"page": {"endpoint": f"127.0.0.1:{port}"}},
            "service": {"extensions": ["page"], "telemetry": {"metrics": {"level": "none"}},
                        "pipelines": {"profiles": {"receivers": ["otlp"], "exporters": ["store"]}}}}


def check_https(tap, root):
    """The certificate is that of an authority that only SSL_CERT_FILE names, as a bundle of the world is."""
    certificate, key = (os.path.join(root.path, "tmp", name) for name in ("cert.pem", "key.pem"))
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", certificate, "-days", "2",
                    "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"], capture_output=True, check=True)
    port, intake = common.free_port(), common.free_port()
    config = keeper_config(port, grpc=False, endpoint=f"127.0.0.1:{intake}", cert_file="/tmp/cert.pem", key_file="/tmp/key.pem")
    keeper = root.start(f"--config=yaml:{json.dumps(config)}")
    sending = {"receivers": {"profiling": {"reporter_interval": "1s"}},
               "exporters": {"otlp_http": {"endpoint": f"https://127.0.0.1:{intake}"}},
               "service": {"telemetry": {"metrics": {"level": "none"}},
                           "pipelines": {"profiles": {"receivers": ["profiling"], "exporters": ["otlp_http"]}}}}
    sender = root.start(f"--config=yaml:{json.dumps(sending)}", SSL_CERT_FILE="/tmp/cert.pem")
    tap.check_or_note("it sends by HTTPS to whom SSL_CERT_FILE vouches for", comes(port, sender), log_of(root))
    stop(sender)
    before = samples(port)
    stranger = root.start(f"--config=yaml:{json.dumps(sending)}")
    time.sleep(4)
    tap.check_or_note("... and to nobody else", samples(port) == before and "certificate" in log_of(root), log_of(root))
    stop(stranger, keeper)


def main():
    tap = common.Tap()
    check_file(tap, FILE)
    check_told(tap, FILE)
    with tempfile.TemporaryDirectory(prefix="wick-one-file-") as folder:
        root = Root(folder)
        check_record(tap, root)
        check_page_and_grpc(tap, root)
        check_https(tap, root)
    tap.end()


if __name__ == "__main__":
    main()
