#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""image.py FILE ARCH OUT: an image for containers, of the one file of `make dist` and what it needs: certificates of
authorities, a user, its directories, its licences and SBOM. OUT is an archive that `docker load`, `podman load`, `ctr image import` and `skopeo
copy oci-archive:` take. The same file makes the same bytes: times are those of the last commit, or SOURCE_DATE_EPOCH."""
import gzip
import hashlib
import io
import json
import os
import subprocess
import sys
import tarfile
import time

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
AUTHORITIES = "/etc/ssl/certs/ca-certificates.crt"
PASSWD = "root:x:0:0:root:/:/wick\nwick:x:65532:65532:wick:/:/wick\n"
GROUP = "root:x:0:\nwick:x:65532:\n"
OCI = "application/vnd.oci.image."


def epoch():
    if "SOURCE_DATE_EPOCH" in os.environ:
        return int(os.environ["SOURCE_DATE_EPOCH"])
    said = subprocess.run(["git", "-C", TOP, "log", "-1", "--format=%ct"], capture_output=True, text=True, check=False)
    return int(said.stdout or 0)


def add(tar, name, data=None, mode=0o644, seconds=0):
    """A file, or a directory if there is no data."""
    entry = tarfile.TarInfo(name)
    entry.mtime, entry.mode, entry.uname, entry.gname = seconds, mode, "root", "root"
    if data is None:
        entry.type = tarfile.DIRTYPE
        tar.addfile(entry)
    else:
        entry.size = len(data)
        tar.addfile(entry, io.BytesIO(data))


def archive(entries, seconds):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for name, data, mode in entries:
            add(tar, name, data, mode, seconds)
    return out.getvalue()


def read(path):
    with open(path, "rb") as file:
        return file.read()


def root(path):
    folders = [("etc", 0o755), ("etc/ssl", 0o755), ("etc/ssl/certs", 0o755), ("etc/wick", 0o755), ("tmp", 0o1777), ("var", 0o755),
               ("var/cache", 0o755), ("var/cache/wick", 0o700), ("var/lib", 0o755), ("var/lib/wick", 0o700)]
    return [(name, None, mode) for name, mode in folders] + [
        ("etc/passwd", PASSWD.encode(), 0o644), ("etc/group", GROUP.encode(), 0o644),
        ("etc/ssl/certs/ca-certificates.crt", read(AUTHORITIES), 0o644),
        ("etc/wick/LICENSE", read(os.path.join(TOP, "LICENSE")), 0o644),
        ("etc/wick/licences.txt", read(path + ".licences.txt"), 0o644), ("etc/wick/wick.spdx.json", read(path + ".spdx.json"), 0o644),
        ("wick", read(path), 0o755)]


def digest(data):
    return "sha256:" + hashlib.sha256(data).hexdigest()


def as_json(value):
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def description(kind, data):
    return {"mediaType": OCI + kind, "digest": digest(data), "size": len(data)}


def main(binary_path, arch, out):
    seconds = epoch()
    version = read(os.path.join(TOP, "VERSION")).decode().strip()
    tar = archive(root(binary_path), seconds)
    layer = gzip.compress(tar, 9, mtime=0)
    config = as_json({
        "architecture": arch, "os": "linux", "created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds)),
        "config": {"Entrypoint": ["/wick"], "ExposedPorts": {"11000/tcp": {}}, "Volumes": {"/var/lib/wick": {}},
                   "Env": ["PATH=/", "SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt"],
                   "Labels": {"org.opencontainers.image.title": "wick", "org.opencontainers.image.version": version,
                              "org.opencontainers.image.licenses": "Apache-2.0"}},
        "rootfs": {"type": "layers", "diff_ids": [digest(tar)]}})
    manifest = as_json({"schemaVersion": 2, "mediaType": OCI + "manifest.v1+json",
                        "config": description("config.v1+json", config),
                        "layers": [description("layer.v1.tar+gzip", layer)]})
    reference = f"wick:{version}"
    index = as_json({"schemaVersion": 2, "mediaType": OCI + "index.v1+json", "manifests": [{
        **description("manifest.v1+json", manifest), "platform": {"architecture": arch, "os": "linux"},
        "annotations": {"io.containerd.image.name": "docker.io/library/" + reference, "org.opencontainers.image.ref.name": version}}]})
    blob = {data: "blobs/sha256/" + digest(data)[7:] for data in (config, layer, manifest)}
    # Older dockers read manifest.json.
    docker = as_json([{"Config": blob[config], "RepoTags": [reference], "Layers": [blob[layer]]}])
    entries = [("blobs", None, 0o755), ("blobs/sha256", None, 0o755)] + sorted((name, data, 0o644) for data, name in blob.items())
    entries += [("index.json", index, 0o644), ("manifest.json", docker, 0o644),
                ("oci-layout", as_json({"imageLayoutVersion": "1.0.0"}), 0o644)]
    with open(out, "wb") as file:
        file.write(archive(entries, seconds))
    print(f"{out}: {reference}, {len(layer) / 1e6:.1f} MB, {digest(manifest)}")


if __name__ == "__main__":
    main(*sys.argv[1:])
