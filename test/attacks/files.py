#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Directories that were there before wick came, made by somebody who wants to read what it keeps, or to have it believe
or overwrite something. Prints TAP."""
import os
import shutil
import stat
import tempfile

from attack import PAYLOAD, STRANGER, TAP, Wick, free_port, post



def config(port, folder, store="store", queue=False):
    made = {"receivers": {"otlp": {"protocols": {"http": {"endpoint": f"127.0.0.1:{port}"}}}},
            "exporters": {"store": {"path": os.path.join(folder, store)}},
            "extensions": {},
            "service": {"extensions": [], "pipelines": {"profiles": {"receivers": ["otlp"], "exporters": ["store"]}}}}
    if queue:
        made["exporters"] = {"otlphttp": {"endpoint": "http://127.0.0.1:1", "sending_queue": {"storage": "file_storage"}}}
        made["extensions"]["file_storage"] = {"directory": os.path.join(folder, "queue")}
        made["service"]["extensions"] = ["file_storage"]
        made["service"]["pipelines"]["profiles"]["exporters"] = ["otlphttp"]
    return made


def try_to_start(folder, queue=False):
    """(whether it runs, what it said)"""
    port = free_port()
    wick = Wick(config(port, folder, queue=queue), (port,))
    os.umask(0)
    try:
        wick.start()
        post(port, PAYLOAD)
        wick.stop()
        return True, wick.said()
    except RuntimeError as error:
        return False, str(error)
    finally:
        os.umask(0o022)
        wick.kill()
        shutil.rmtree(wick.folder, ignore_errors=True)


def open_to_others(folder):
    """All below it that others may read, but for the folder itself."""
    found = []
    for path, directories, files in os.walk(folder):
        for name in directories + files:
            mode = os.lstat(os.path.join(path, name)).st_mode
            if stat.S_IMODE(mode) & 0o077:
                found.append(f"{name} {stat.S_IMODE(mode):04o}")
    return found


def scene(name, prepare, word, queue=False, target=None):
    """prepare(folder) lays the trap; wick must not start, and say why with that word. word None: it starts, and nothing
    is left open to others."""
    with tempfile.TemporaryDirectory() as folder:
        prepare(folder)
        runs, said = try_to_start(folder, queue)
        if word is None:
            TAP.check(f"{name}: it starts", runs, "" if runs else said[-300:])
            TAP.check(f"{name}: nothing is left open to others", not open_to_others(folder), str(open_to_others(folder)))
        else:
            TAP.check(f"{name}: it is refused with a reason", not runs and word in said,
                      "it runs" if runs else "" if word in said else said[-300:])
        if target:
            with open(os.path.join(folder, target), encoding="ascii") as file:
                TAP.check(f"{name}: what the link leads to is as it was", file.read() == "precious")


def store(folder, mode=0o700, owner=None):
    path = os.path.join(folder, "store")
    os.mkdir(path)
    os.chmod(path, mode)
    if owner is not None:
        os.chown(path, owner, owner)
    return path


def old_store(folder):
    """As older versions left it: 0755 with files of 0644."""
    path = store(folder, 0o755)
    try_to_start(folder)
    os.chmod(path, 0o755)
    for name in os.listdir(path):
        os.chmod(os.path.join(path, name), 0o755 if os.path.isdir(os.path.join(path, name)) else 0o644)


def with_file(folder, name="wick.db", **kwargs):
    path = store(folder, **kwargs)
    with open(os.path.join(path, name), "w", encoding="ascii"):
        pass
    return os.path.join(path, name)


def with_link(name, make):
    def prepare(folder):
        with open(os.path.join(folder, "target"), "w", encoding="ascii") as file:
            file.write("precious")
        os.chmod(os.path.join(folder, "target"), 0o600)
        make(os.path.join(folder, "target"), os.path.join(store(folder), name))
    return prepare


def queue_of(owner=None, link=False):
    def prepare(folder):
        os.mkdir(os.path.join(folder, "queue"), 0o700)
        _, said = try_to_start(folder, queue=True)
        made = [name for name in os.listdir(os.path.join(folder, "queue"))]
        assert made, said
        path = os.path.join(folder, "queue", made[0])
        if link:
            shutil.move(path, os.path.join(folder, "elsewhere"))
            os.symlink(os.path.join(folder, "elsewhere"), path)
        if owner is not None:
            os.chown(path, owner, owner)
    return prepare


def give_away(folder):
    os.chown(with_file(folder), STRANGER, STRANGER)


def main():
    if os.geteuid() != 0:
        TAP.skip("files of others", "needs root to make them")
        TAP.end()
    scene("a new store", lambda folder: None, None)
    scene("a store that others could read", old_store, None)
    scene("an empty directory of 0777", lambda folder: store(folder, 0o777), None)
    scene("a directory of 0777 with a file", lambda folder: with_file(folder, mode=0o777), "writable by others")
    scene("a directory of another user", lambda folder: store(folder, owner=STRANGER), "belongs to user")
    scene("wick.db of another user", give_away, "belongs to user")
    scene("wick.db as a symbolic link", with_link("wick.db", os.symlink), "symbolic link", target="target")
    scene("wick.db as a hard link", with_link("wick.db", os.link), "regular file", target="target")
    scene("lock as a symbolic link", with_link("lock", os.symlink), "symbolic link", target="target")
    scene("wick.db-wal as a symbolic link", with_link("wick.db-wal", os.symlink), "symbolic link", target="target")
    scene("a new queue", lambda folder: os.mkdir(os.path.join(folder, "queue"), 0o700), None, queue=True)
    scene("a queue of another user", queue_of(owner=STRANGER), "belongs to user", queue=True)
    scene("a queue as a symbolic link", queue_of(link=True), "symbolic link", queue=True)
    TAP.end()


main()
