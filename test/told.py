#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What wick cannot do it tells: runtimes whose own functions it does not read, with their share of samples, by record,
doctor's counters and the page's API; and a reader process that does not start, by one sentence."""
import json
import os
import re
import shutil
import subprocess
import tempfile
import time
import urllib.request

import common

SPIN = ["-c", "i=0; while [ $i -lt 300000 ]; do i=$((i + 1)); done"]


def make_julia(folder):
    """Such runtimes are known by the names of their files alone: any program will do."""
    return shutil.copy("/bin/sh", os.path.join(folder, "julia"))


def unread_by_record(tap, julia):
    recording = common.Recording([], [julia, *SPIN], rate=199).wait()
    said = recording.stderr.decode(errors="replace")
    found = re.search(r"^Julia: ([\d.]+) % of samples", said, re.M)
    if not tap.check("record says that Julia's functions are not read", found and float(found[1]) > 90, found[0] if found else ""):
        tap.note(said[-2000:])
    recording = common.Recording([], ["sh", *SPIN], rate=199).wait()
    said = recording.stderr.decode(errors="replace")
    tap.check("record says nothing of the kind of a native program", recording.status == 0 and "are not read" not in said)


def counters_of(port):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/v1/status", timeout=20) as answer:
        return json.load(answer)["sampling"]


def unread_by_the_page(tap, folder, julia):
    port = common.free_port()
    command = [common.WICK, f"--listen=127.0.0.1:{port}", f"--set=exporters.store.path={folder}/store"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as wick, \
            subprocess.Popen([julia, "-c", "while :; do :; done"]) as spinning:
        seen = []
        try:
            for _ in range(60):
                time.sleep(0.5)
                try:
                    seen = [c for c in counters_of(port) if c["name"] == "samples_of_unread_runtimes" and c["of"] == "Julia"]
                except OSError:
                    continue
                if seen and seen[0]["value"] >= 20:
                    break
        finally:
            spinning.kill()
            wick.terminate()
    tap.check("the page's status has Julia with its samples", seen and seen[0]["value"] >= 20, json.dumps(seen))


def reader_that_does_not_start(tap, folder):
    """A library that only LD_LIBRARY_PATH finds: the reader has no environment."""
    listed = subprocess.run(["ldd", common.WICK], capture_output=True, text=True, check=True).stdout
    library = re.search(r"(libzstd\.so\.1) => (\S+)", listed)
    if not library:
        tap.skip("a reader that does not start", "wick is linked without libzstd.so.1")
        return
    with open(common.WICK, "rb") as file:
        bytes_ = file.read()
    path = os.path.join(folder, "wick")
    with open(path, "wb") as file:
        file.write(bytes_.replace(b"\0libzstd.so.1\0", b"\0libzstX.so.1\0"))
    os.chmod(path, 0o755)
    shutil.copy(library[2], os.path.join(folder, "libzstX.so.1"))
    environment = dict(os.environ, LD_LIBRARY_PATH=folder)
    works = subprocess.run([path, "--version"], env=environment, capture_output=True, timeout=20, check=False)
    tap.check("the copy itself starts", works.returncode == 0, works.stderr.decode(errors="replace")[-200:])
    result = subprocess.run([path, "record", "-o", os.path.join(folder, "x.otlp"), "--", "true"], env=environment,
                            capture_output=True, text=True, timeout=60, check=False)
    tap.check("a reader that does not start is one error, with what to do", result.returncode != 0 and
              result.stderr.count("\n") <= 2 and "LD_LIBRARY_PATH" in result.stderr, result.stderr[-400:].strip())


def main():
    tap = common.Tap()
    with tempfile.TemporaryDirectory(prefix="wick-test-") as folder:
        julia = make_julia(folder)
        unread_by_record(tap, julia)
        unread_by_the_page(tap, folder, julia)
        reader_that_does_not_start(tap, folder)
    tap.end()


if __name__ == "__main__":
    main()
